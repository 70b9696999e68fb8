/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fuzz-element: an element of the plugin, which is linked into the program, between two pads of
 * a harness. A critical message of GLib ends the process. */
#pragma once

#include "fuzz-bytes.h"

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

/* Whether GStreamer parses caps, and may be critical of them; atomic. */
extern gint fuzz_parses;
/* Initialises GStreamer, once. */
void fuzz_set_up (void);
/* The element's factory, "cudasepconv" or "cudahisto"; the caller owns the harness, whose
 * element is on the CPU and not started yet. */
GstHarness *fuzz_harness_new (const char *factory);
/* Sends caps, which it takes, and a segment. Returns whether the element has taken them. */
gboolean fuzz_send_caps (GstHarness *harness, GstCaps *caps);
/* Pushes a buffer, which it takes. */
GstFlowReturn fuzz_push (GstHarness *harness, GstBuffer *buffer);
/* Sends EOS, so that everything is computed, drops what came out, and frees all. */
void fuzz_harness_free (GstHarness *harness);
