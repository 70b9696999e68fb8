/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* filter-fixture: an element, alone or in a harness, and the messages on its bus.
 *
 * Settings are written as on a launch line, "kernel=box radius=3", separated by single spaces and
 * without spaces inside. The element's name may come first, "cudahisto bins=16"; the default is
 * cudasepconv. Without backend=, the element gets the backend that the test runs for. */
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
/* Lets warnings about settings without effect reach the bus. By default they are dropped, since
 * they would disturb tests of other things. */
void filter_let_hints_through (Filter *filter);
/* A sync handler for a bus, which drops these warnings. */
GstBusSyncReply bus_drop_hints (
    GstBus *bus, GstMessage *message, gpointer user);
/* filter_make(), and also links the element into a harness and sets it to PLAYING, which must
 * succeed. */
void filter_open (Filter *filter, const char *settings);
/* filter_open() and caps, with their info; `more` as for video_caps(). */
void filter_start (Filter *filter, const char *settings, GstVideoInfo *info,
    const char *format, int width, int height, const char *more);
/* The two halves of filter_open(), for settings that may make it fail. */
void filter_plug (Filter *filter);
void filter_close (Filter *filter);

/* All formats that the elements support, ended by NULL. */
extern const char *const video_formats[];

/* Makes an element, which the caller owns, or ends the test. */
GstElement *element_make (const char *name);
/* Returns a property, which must exist. */
GParamSpec *element_spec (GstElement *element, const char *property);
/* Returns the property `stats`, which the caller frees, and a 64-bit counter of it. */
GstStructure *element_stats (GstElement *element);
guint64 element_count (GstElement *element, const char *stat);

/* Expectations on the data that gst-inspect-1.0 shows of an element: its pad templates list
 * video_formats, its metadata and rank, and values that an enum must have, ended by NULL. */
void element_expect_formats (const char *name);
void element_expect_metadata (const char *name, const char *klass);
void element_expect_nicks (
    GstElement *element, const char *property, const char *const *nicks);

/* Whether all memories of a buffer are of the pinned memory kind. */
gboolean buffer_is_pinned (GstBuffer *buffer);

/* Returns the value of `key` in settings, which the caller frees, or NULL. */
char *settings_get (const char *settings, const char *key);
/* Sets every property that the settings name. */
void settings_apply (GstElement *element, const char *settings);

/* Caps of one format and size, 30/1 fps; `more` adds fields ("interlace-mode=
 * mixed, colorimetry=bt709") or is NULL. */
GstCaps *video_caps (
    const char *format, int width, int height, const char *more);
void video_info (GstVideoInfo *info, const char *format, int width, int height,
    const char *more);

/* Sends stream-start if it was not sent yet, caps and a time segment. Takes ownership of the caps;
 * returns whether they were accepted. */
gboolean filter_caps (Filter *filter, GstCaps *caps);
/* Pushes a buffer, whose ownership it takes, and returns the output, which must be one buffer. */
GstBuffer *filter_process (Filter *filter, GstBuffer *in);
/* Returns the output of a new filter with these settings for a buffer; keeps the buffer. */
GstBuffer *filter_process_alone (
    const char *settings, const GstVideoInfo *info, GstBuffer *in);
/* Sets the element to NULL and PLAYING; then caps must be sent anew. */
void filter_restart (Filter *filter);

/* A probe that adds 1 to the gint at `user`. */
GstPadProbeReturn count_buffer (
    GstPad *pad, GstPadProbeInfo *probe, gpointer user);
/* Has `callback` called with `user` for each buffer that reaches the sink of this name. */
void watch_sink (GstElement *pipeline, const char *name,
    GstPadProbeCallback callback, gpointer user);
/* Sets a pipeline to PLAYING and waits for its end, which must come within the time limit and
 * before any message of the types in `complaints`: errors, warnings, or both. */
void pipeline_run_to_end (
    GstElement *pipeline, GstClockTime patience, GstMessageType complaints);
/* Returns the error of an error or warning message, and its debug text or NULL; the caller frees
 * both. */
void message_parse (GstMessage *message, GError **error, char **debug);
/* Takes all messages off the bus, and returns the number of those of a type. If there was one and
 * `first` is not NULL, *first gets the first one; all others are dropped. */
int filter_drain_bus (Filter *filter, GstMessageType type, GstMessage **first);
/* Expects exactly one error message, of this domain and code, with text and
 * debug text, and no warning. */
void filter_expect_error (Filter *filter, GQuark domain, int code);
/* Expects neither errors nor warnings. */
void filter_expect_silence (Filter *filter);

/* Returns a property as a string, which the caller frees; enums and flags by nick. */
char *filter_get (Filter *filter, const char *property);

/* Asks the element itself whether it filters with backend=cuda. Returns FALSE only if the element
 * reports that there is no device; any other failure is left for the tests to report. */
gboolean filter_cuda_is_usable (void);
