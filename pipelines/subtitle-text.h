/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* Returns the caps of the same subtitles as a file stores them, if `caps` are of text that
 * matroskademux has made Pango markup of; else NULL. */
GstCaps *subtitle_text_stored_caps (const GstCaps *caps);

/* Makes the buffers and caps that leave a pad stored text again. */
void subtitle_text_restore (GstPad *source);
