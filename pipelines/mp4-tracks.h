/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <glib.h>

/* Returns the number of sound tracks that the header of an MP4 or QuickTime file
 * lists; 0 for other files. GStreamer's demuxer leaves out a track that is shorter
 * than a fifth of a short clip, as a preview, without a message. */
guint mp4_count_sound_tracks (const gchar *path);
