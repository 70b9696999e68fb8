/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpucaps: caps of frames in system memory and in the GPU's (memory:CUDAMemory),
 * which the elements take and give in every combination. Any thread. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* What the pads take: all formats in system memory, and those of them that the GPU's
 * memory can hold, where it is available. The caller owns the caps. */
GstCaps *gst_gpu_caps_template (void);

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
