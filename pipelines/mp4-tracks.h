/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <glib.h>

/* The number of sound tracks that the header of an MP4 or QuickTime file lists; 0 for other
 * files. GStreamer's demuxer takes a track that is shorter than a fifth of a short clip for a
 * preview, and leaves it out without a message. */
guint mp4_count_sound_tracks (const gchar *path);
