/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-rig: frames of one size in every kind of memory, and a filter, for
 * bench-transfer. */
#pragma once

#include "sepconv.h"

/* More than lie in a cache between two uses, and as many as a ring is deep. */
#define RIG_SETS 4

typedef struct
{
  const char *name;
  int width, height;
  bool rgba; /* else NV12 */
} FrameKind;

typedef struct
{
  Gpu *gpu;
  const FrameKind *kind;
  Image layout;
  size_t bytes; /* of one frame */
  Image pinned_src[RIG_SETS], pinned_dst[RIG_SETS];
  Image pageable_src[RIG_SETS], pageable_dst[RIG_SETS];
  Image device_src[RIG_SETS], device_dst[RIG_SETS];
  SepconvSpec spec;
  Taps luma, chroma;
} Rig;

size_t frame_kind_bytes (const FrameKind *kind);

/* The context of `gpu` must be pushed, here and for all below. Source frames
 * hold noise. */
Rig *rig_new (Gpu *gpu, const FrameKind *kind, Fault *fault);
void rig_free (Rig *rig);

/* The filter, for one stream. */
SepconvPlan *rig_plan (Rig *rig, Fault *fault);

/* Whole frames over the bus. */
bool rig_copy (const Image *dst, const Image *src, GpuCopy kind,
    GpuStream stream, Fault *fault);
