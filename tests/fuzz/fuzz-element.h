/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fuzz-element: an element of the plugin, which is linked into the program, in a harness. A
 * critical message of GLib ends the process. */
#pragma once

#include "fuzz-bytes.h"

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

/* Set while GStreamer parses caps, during which critical messages are allowed; atomic. */
extern gint fuzz_parses;
/* Initialises GStreamer, once. */
void fuzz_set_up (void);
/* Makes a harness with the element of this factory, "cudasepconv" or "cudahisto", on the CPU
 * and not started. The caller owns the harness. */
GstHarness *fuzz_harness_new (const char *factory);
/* Sends caps, whose ownership it takes, and a segment. Returns whether the element has accepted
 * them. */
gboolean fuzz_send_caps (GstHarness *harness, GstCaps *caps);
/* Pushes a buffer, whose ownership it takes. */
GstFlowReturn fuzz_push (GstHarness *harness, GstBuffer *buffer);
/* Sends EOS, so that all frames are computed, drops the output, and frees the harness. */
void fuzz_harness_free (GstHarness *harness);
