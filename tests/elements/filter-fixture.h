/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filter-fixture: an element, alone or in a harness, and what it says on its bus.
 *
 * Settings are written as on a launch line, "kernel=box radius=3", separated by
 * single spaces and without spaces inside. The element's name may come first,
 * "cudahisto bins=16"; it is cudasepconv otherwise. Unless they say backend=, the
 * filter gets the backend that the test runs for. */
#pragma once

#include "elements-main.h"

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

typedef struct
{
  GstElement *element;
  GstBus *bus;
  GstHarness *harness; /* NULL before filter_open() */
} Filter;

/* Makes the element in state NULL, with a bus. */
void filter_make (Filter *filter, const char *settings);
/* Lets warnings of settings without effect through to its bus, which tests of other
 * things would only trip over. */
void filter_let_hints_through (Filter *filter);
/* A bus's sync handler that drops them. */
GstBusSyncReply bus_drop_hints (
    GstBus *bus, GstMessage *message, gpointer user);
/* Also links it into a harness and sets it to PLAYING, which must succeed. */
void filter_open (Filter *filter, const char *settings);
/* filter_open() and caps, with their info; `more` as for video_caps(). */
void filter_start (Filter *filter, const char *settings, GstVideoInfo *info,
    const char *format, int width, int height, const char *more);
/* The two halves of filter_open(), for settings with which it might not. */
void filter_plug (Filter *filter);
void filter_close (Filter *filter);

/* Every format that the elements promise, ended by NULL. */
extern const char *const video_formats[];

/* Makes an element, which is the caller's, or ends the test. */
GstElement *element_make (const char *name);
/* A property that it must have. */
GParamSpec *element_spec (GstElement *element, const char *property);
/* Its property stats, to be freed, and a counter of 64 bits out of it. */
GstStructure *element_stats (GstElement *element);
guint64 element_count (GstElement *element, const char *stat);

/* What gst-inspect-1.0 shows of it: that its pads promise video_formats, its
 * metadata and rank, and values that an enum must have, ended by NULL. */
void element_expect_formats (const char *name);
void element_expect_metadata (const char *name, const char *klass);
void element_expect_nicks (
    GstElement *element, const char *property, const char *const *nicks);

/* Whether all memories of a buffer are of the pinned kind. */
gboolean buffer_is_pinned (GstBuffer *buffer);

/* The value of `key` in settings, to be freed, or NULL. */
char *settings_get (const char *settings, const char *key);
/* Sets every property that the settings name. */
void settings_apply (GstElement *element, const char *settings);

/* Caps of one format and size, 30/1 fps; `more` adds fields ("interlace-mode=
 * mixed, colorimetry=bt709") or is NULL. */
GstCaps *video_caps (
    const char *format, int width, int height, const char *more);
void video_info (GstVideoInfo *info, const char *format, int width, int height,
    const char *more);

/* Sends stream-start if need be, caps and a time segment. Takes the caps;
 * returns whether they were accepted. */
gboolean filter_caps (Filter *filter, GstCaps *caps);
/* Pushes a buffer (taken) and returns what comes out, which must be one buffer. */
GstBuffer *filter_process (Filter *filter, GstBuffer *in);
/* What a new filter of these settings makes of a buffer; keeps the buffer. */
GstBuffer *filter_process_alone (
    const char *settings, const GstVideoInfo *info, GstBuffer *in);
/* NULL to PLAYING again, after which caps must be sent anew. */
void filter_restart (Filter *filter);

/* A probe that adds 1 to the gint at `user`. */
GstPadProbeReturn count_buffer (
    GstPad *pad, GstPadProbeInfo *probe, gpointer user);
/* Has `callback` called with `user` for each buffer that reaches the sink of this name. */
void watch_sink (GstElement *pipeline, const char *name,
    GstPadProbeCallback callback, gpointer user);
/* Sets a pipeline to PLAYING and waits for its end, which must come in time and before any message of
 * the types of `complaints`: errors, warnings, or both. */
void pipeline_run_to_end (
    GstElement *pipeline, GstClockTime patience, GstMessageType complaints);
/* The error, and the debug text or NULL, both to be freed, of an error or a warning. */
void message_parse (GstMessage *message, GError **error, char **debug);
/* Counts messages of a type that have arrived, and drops every other one with
 * it; when there was one and `first` is not NULL, it gets the first. */
int filter_drain_bus (Filter *filter, GstMessageType type, GstMessage **first);
/* Expects exactly one error message, of this domain and code, with text and
 * debug text, and no warning. */
void filter_expect_error (Filter *filter, GQuark domain, int code);
/* Expects neither errors nor warnings. */
void filter_expect_silence (Filter *filter);

/* A property as a string, to be freed; enums and flags by nick. */
char *filter_get (Filter *filter, const char *property);

/* Asks the element itself: does it filter with backend=cuda? FALSE only if it
 * says that there is no device; whatever else goes wrong is for the tests to
 * tell. */
gboolean filter_cuda_is_usable (void);
