/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* Returns the caps of the subtitles as a file stores them, if `caps` are of plain text
 * that matroskademux has converted to Pango markup; else NULL. The caller owns the
 * caps. */
GstCaps *subtitle_text_stored_caps (const GstCaps *caps);

/* Converts the buffers and caps that leave a pad back to the stored text. */
void subtitle_text_restore (GstPad *source);
