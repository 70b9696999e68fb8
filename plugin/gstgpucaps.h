/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpucaps: caps of frames in system memory and in the GPU's (memory:CUDAMemory),
 * which the elements take and give in every combination. Any thread. */
#pragma once

#include <gst/video/video.h>

#include "fault.h"

G_BEGIN_DECLS

/* What the pads take: all formats in system memory, and those of them that the GPU's
 * memory can hold, where it is available. The caller owns the caps. */
GstCaps *gst_gpu_caps_template (void);

/* The same on every machine, for documentation: also formats in the GPU's memory that
 * only another GStreamer can hold there. The caller owns the caps. */
GstCaps *gst_gpu_caps_documentation (void);

/* Whether an element can work on frames of a format; if not, `why` says it in a
 * sentence. `why` may be NULL. */
typedef gboolean (*GstGpuCapsTakes) (
    gpointer element, const GstVideoFormatInfo *format, Fault *why);

/* Leaves out of `caps` the frames that the element cannot work on: formats that `takes`
 * declines, fields that lie apart, and views that lie apart. `takes` NULL: all formats stay.
 * Takes `caps`, and returns others. */
GstCaps *gst_gpu_caps_restrict (
    GstCaps *caps, GstGpuCapsTakes takes, gpointer element);

/* Whether gst_gpu_caps_restrict() keeps these fixed caps; if not, `why` says why not. */
gboolean gst_gpu_caps_check (
    GstCaps *caps, GstGpuCapsTakes takes, gpointer element, Fault *why);

/* Whether the first structure is of frames in the GPU's memory. */
gboolean gst_gpu_caps_are_on_gpu (GstCaps *caps);

/* What the other pad can have if one has `caps`: the same in both kinds of memory.
 * Of the source pad (`direction` is that of the pad that has `caps`), the same kind
 * comes first, which spares a copy; of the sink pad, the GPU's, so that elements
 * that can hand it over do. `gpu` FALSE: nothing is asked for, or given, in the GPU's
 * memory. The caller owns the caps. */
GstCaps *gst_gpu_caps_transform (
    GstCaps *caps, GstPadDirection direction, gboolean gpu);

/* Sorts the formats of each structure that has most of ours, the cheapest and most usual
 * first: neighbours that take anything list formats by quality, from 64 bits a pixel
 * down, and a source takes the first. The order of shorter lists is somebody's
 * preference, and stays. Takes `caps`, and returns others. */
GstCaps *gst_gpu_caps_prefer_usual (GstCaps *caps);

/* Puts what is in the GPU's memory first. Takes `caps`, and returns others. */
GstCaps *gst_gpu_caps_prefer_gpu (GstCaps *caps);

G_END_DECLS
