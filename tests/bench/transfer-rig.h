/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* transfer-rig: frames of one size in every kind of memory, and a filter, for
 * bench-transfer. */
#pragma once

#include "sepconv.h"

/* Enough sets that no frame is in a cache when it is used again, and as many as a ring
 * has slots. */
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

/* The context of `gpu` must be pushed, here and for all functions below. Source frames
 * hold noise. */
Rig *rig_new (Gpu *gpu, const FrameKind *kind, Fault *fault);
void rig_free (Rig *rig);

/* Makes a plan of the rig's filter, for one stream. */
SepconvPlan *rig_plan (Rig *rig, Fault *fault);

/* Copies a whole frame over the bus. */
bool rig_copy (const Image *dst, const Image *src, GpuCopy kind,
    GpuStream stream, Fault *fault);
