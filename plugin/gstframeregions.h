/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstframeregions: the regions of each frame. They are objects that metas of the buffer report,
 * objects that earlier buffers have reported a short time ago, and fixed zones. One thread. */
#pragma once

#include <gst/video/video.h>

#include "gstsepconvregions.h"

G_BEGIN_DECLS

typedef struct
{
  GArray *regions;  /* of Region; of the last collected frame */
  GArray *reported; /* objects of this frame */
  GArray *held;     /* objects of earlier frames */
  gint width, height;
} GstFrameRegions;

void gst_frame_regions_init (GstFrameRegions *self);
void gst_frame_regions_clear (GstFrameRegions *self);

/* Forgets the objects of earlier frames: the next frame does not follow them. */
void gst_frame_regions_forget (GstFrameRegions *self);

/* Fills `regions` with the regions of a frame, in pixels of this frame; they may lie partly or
 * wholly outside of it. A field in a buffer of its own counts as a frame. The lock of the
 * settings must be held, and gst_sepconv_regions_check() must have accepted them.
 *
 * An object is held for the time of the setting, counted in stream time, or in timestamps
 * where there is no stream time, or by the clock for a frame without a timestamp. It is not
 * held in frames that lie before it in the order of playback. An object of the frame replaces
 * a held object of the same type if both have the same id (0, the id that GStreamer presets,
 * is none), or if the centre of one lies in the other. */
void gst_frame_regions_collect (GstFrameRegions *self, GstBuffer *buffer,
    const GstVideoInfo *info, const GstSegment *segment,
    const GstSepconvRegions *settings);

G_END_DECLS
