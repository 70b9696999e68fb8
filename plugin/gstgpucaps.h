/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpucaps: caps of frames in system memory and in GPU memory (memory:CUDAMemory). The two
 * pads of an element may have any combination of both. Any thread. */
#pragma once

#include <gst/video/video.h>

#include "fault.h"

G_BEGIN_DECLS

/* Returns the caps of the pad templates: all formats in system memory, and, where GPU memory
 * is available, the formats that it can hold. The caller owns the caps. */
GstCaps *gst_gpu_caps_template (void);

/* Returns such caps for documentation, the same on every machine: their formats in GPU memory
 * are those of the newest GStreamer. The caller owns the caps. */
GstCaps *gst_gpu_caps_documentation (void);

/* Whether an element can work on frames of a format. If not, `why`, which may be NULL, is set
 * to a sentence that says why. */
typedef gboolean (*GstGpuCapsTakes) (
    gpointer element, const GstVideoFormatInfo *format, Fault *why);

/* Removes those frames from `caps` that the element cannot work on: formats for which `takes`
 * returns FALSE, and fields or views that are stored as pictures of their own. `takes` NULL: all
 * formats stay. Takes `caps`, and returns the new ones. */
GstCaps *gst_gpu_caps_restrict (
    GstCaps *caps, GstGpuCapsTakes takes, gpointer element);

/* Whether gst_gpu_caps_restrict() keeps these fixed caps. If not, `why` is set to the reason. */
gboolean gst_gpu_caps_check (
    GstCaps *caps, GstGpuCapsTakes takes, gpointer element, Fault *why);

/* Whether the first structure is of frames in GPU memory. */
gboolean gst_gpu_caps_are_on_gpu (GstCaps *caps);

/* Returns the possible caps of the other pad if the pad of `direction` has `caps`: the same
 * frames in both kinds of memory. For the source pad, the kind of `caps` comes first, which
 * saves a copy; for the sink pad, GPU memory comes first, so that upstream gives GPU memory if
 * it can. `gpu` FALSE: the element has no GPU memory. The caller owns the caps. */
GstCaps *gst_gpu_caps_transform (
    GstCaps *caps, GstPadDirection direction, gboolean gpu);

/* Sorts the formats of each structure that has at least 24 of the elements' formats: the
 * cheapest and most usual one comes first. A neighbour that takes any format lists formats by
 * quality, from 64 bits a pixel down, and a source takes the first one. A shorter list is the
 * preference of a neighbour, and keeps its order. Takes `caps`, and returns the new ones. */
GstCaps *gst_gpu_caps_prefer_usual (GstCaps *caps);

/* Moves structures of frames in GPU memory to the front. Takes `caps`, and returns the new
 * ones. */
GstCaps *gst_gpu_caps_prefer_gpu (GstCaps *caps);

/* Moves structures of frames in GPU memory to the end. Takes `caps`, and returns the new ones. */
GstCaps *gst_gpu_caps_prefer_system (GstCaps *caps);

G_END_DECLS
