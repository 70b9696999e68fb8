/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* The frames of a video from one key frame up to another, as a run from the first frame on
 * decodes them. Times are stream times. Not thread-safe: the main thread seeks before any frame
 * flows, then one streaming thread asks for places, and the main thread looks at the result. */
struct input_part
{
  GstClockTime from; /* of a key frame, or 0 */
  GstClockTime to;   /* of the next part's first frame; NONE: to the end */

  GstSegment segment;       /* that of a run from the first frame on */
  gboolean saw_from, ended; /* the frames at both times have come */
};

enum input_part_place
{
  INPUT_PART_BEFORE,
  INPUT_PART_INSIDE,
  INPUT_PART_AFTER
};

/* Reads "FROM:TO" or "FROM:" in nanoseconds; FALSE: it is neither. */
gboolean input_part_parse (struct input_part *part, const gchar *text);

/* Before the first buffer of the video flows through `pad`. Whether it has to wait for a seek. */
gboolean input_part_begin (struct input_part *part, GstPad *pad);

/* Seeks to where the part's first frame can be decoded from, while a probe blocks `pad`, and nothing is linked to it: a
 * decoder that is being set up does not bear a flush. FALSE: the file has no such place. */
gboolean input_part_seek (const struct input_part *part, GstPad *pad);

/* Events that pass this pad of a converter or decoder become those of a run from the first frame
 * on, so that frames have the same running times; and such as a file of events can hold. */
void input_part_prepare_events (struct input_part *part, GstPad *pad);

/* For each decoded frame in turn. */
enum input_part_place input_part_place (
    struct input_part *part, const GstBuffer *buffer);

/* After the last frame: whether both ends were found exactly where they should be, so that parts
 * beside each other have all frames, and none twice. */
gboolean input_part_is_exact (const struct input_part *part);

/* The times at which a file may be cut into parts of about such a length: an array of
 * GstClockTime, to be released with g_array_unref(). MP4, QuickTime, Matroska and WebM files are
 * cut, at key frames; for others it is empty. NULL with an error: the file cannot be read. */
GArray *input_part_find_cuts (
    const gchar *path, GstClockTime length, GError **error);

/* Prints the parts between these, one "FROM:TO" a line; without cuts it is one, "0:". */
void input_part_print_all (const GArray *cuts);
