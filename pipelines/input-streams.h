/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gst/gst.h>

/* The error of a file without video, once all of its streams are known. */
#define INPUT_STREAMS_NO_VIDEO "There is no video in it that can be decoded."

/* Seconds that a file may take until its first data flows. parsebin may lose a
 * demuxer's error, and a read may never return: the state of the pipeline cannot be
 * changed then, and the pipeline is left to the end of the process. */
#define INPUT_STREAMS_LIMIT 30
#define INPUT_STREAMS_LATE \
  "no data of it has come within " G_STRINGIFY (INPUT_STREAMS_LIMIT) " s"

/* The streams of a file as parsebin finds them. The first video goes to a decoder.
 * Sound and subtitles go to a muxer as they are. Streams that the muxer cannot take
 * are left out, and so is other video, since it would pass without the filter. */
struct input_streams
{
  GstElement *queue; /* multiqueue; every stream that is used goes through it */
  GstElement *decoder; /* decodebin */
  GstElement *muxer;   /* NULL: the result holds the video alone */

  gboolean have_video;
  guint n_audio;   /* sound streams, passed or left out */
  gchar *passed;   /* names such as "Opus audio, timed text", NULL: none */
  gchar *left_out; /* names of the streams that were left out, likewise */
};

/* Whether the stream of a parsebin's pad is video or a picture. */
gboolean input_streams_is_video (GstPad *pad);

/* For a probe of GST_PAD_PROBE_TYPE_DATA_DOWNSTREAM on a pad of parsebin: whether data
 * flows, or the stream ends without any. parsebin has added all pads then. */
gboolean input_streams_begin (const GstPadProbeInfo *info);

/* Links one stream, to the decoder or the muxer, or leaves it out. For the signal
 * "pad-added" of parsebin. */
void input_streams_link (struct input_streams *streams, GstPad *pad);

void input_streams_clear (struct input_streams *streams);
