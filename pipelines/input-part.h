/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* A part of a video: the frames from one key frame up to another, decoded as in a run
 * from the first frame on. Times are stream times. Not thread-safe: the main thread
 * seeks before any frame flows, then one streaming thread calls input_part_place(),
 * and the main thread reads the result. */
struct input_part
{
  GstClockTime from; /* of a key frame, or 0 */
  GstClockTime to;   /* of the next part's first frame; NONE: to the end */

  GstSegment segment;       /* the segment of a run from the first frame on */
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

/* Must be called before the first buffer of the video flows through `pad`. Returns
 * whether the video must wait for a seek. */
gboolean input_part_begin (struct input_part *part, GstPad *pad);

/* Seeks to the place from which the part's first frame can be decoded. Must be called
 * while a probe blocks `pad` and nothing is linked to it, since a decoder that is
 * being set up cannot take a flush. FALSE: the file has no such place. */
gboolean input_part_seek (const struct input_part *part, GstPad *pad);

/* Replaces the events that pass this pad of a converter or decoder: by those of a run
 * from the first frame on, so that frames have the same running times, and by events
 * that a file can store. */
void input_part_prepare_events (struct input_part *part, GstPad *pad);

/* Returns where a frame lies. Must be called for each decoded frame in turn. */
enum input_part_place input_part_place (
    struct input_part *part, const GstBuffer *buffer);

/* After the last frame: whether frames were found at exactly the times of both ends,
 * so that parts beside each other have all frames, and none twice. */
gboolean input_part_is_exact (const struct input_part *part);

/* Returns the times at which a file may be cut into parts of about this length: an
 * array of GstClockTime, to be released with g_array_unref(). MP4, QuickTime, Matroska
 * and WebM files are cut, at key frames; for other files the array is empty. NULL with
 * an error: the file cannot be read. */
GArray *input_part_find_cuts (
    const gchar *path, GstClockTime length, GError **error);

/* Prints the parts between the cuts, one "FROM:TO" a line; without cuts there is one
 * part, "0:". */
void input_part_print_all (const GArray *cuts);
