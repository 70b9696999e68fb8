/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* backend: types that overlay.c shares with the backends that draw. Not a public header. */
#pragma once

#include "drawing.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct OverlayBackendOps OverlayBackendOps;

struct OverlayPlan
{
  const OverlayBackendOps *ops;
  Backend backend;
  Image layout;
  int bins;
  /* The plane and channel of each component of the histogram. */
  int plane[OVERLAY_MAX_COMPONENTS], channel[OVERLAY_MAX_COMPONENTS];
  int subsampling_x[IMAGE_MAX_PLANES], subsampling_y[IMAGE_MAX_PLANES];
  unsigned channels[IMAGE_MAX_PLANES];
  OverlayDrawing drawing;
  void *state; /* the backend's own */
};

typedef struct
{
  const uint64_t *counts[OVERLAY_MAX_COMPONENTS];
  const Image *src, *dst;
  OverlayPlane plane[IMAGE_MAX_PLANES]; /* [src->n_planes] */
  GpuStream stream;
} OverlayRun;

struct OverlayBackendOps
{
  /* Allocates plan->state; it depends on the plan's layout and bins, not on the rest of the
   * spec. */
  bool (*prepare) (OverlayPlan *plan, Fault *fault);
  void (*release) (OverlayPlan *plan);
  bool (*run) (OverlayPlan *plan, const OverlayRun *run, Fault *fault);
};

extern const OverlayBackendOps overlay_host_ops, overlay_cuda_ops;

/* Makes all paints of a valid spec, with colours only for the channels that it draws on. */
void overlay_fill_palette (OverlayPaint paint[OVERLAY_N_PAINTS],
    const OverlaySpec *spec, const Image *layout);

/* Whether src and dst have the same rows in a memory. */
static inline bool
overlay_in_place (const OverlayRun *run, int memory)
{
  return run->src->memory[memory].data == run->dst->memory[memory].data
      && run->src->memory[memory].stride == run->dst->memory[memory].stride;
}

#ifdef __cplusplus
}
#endif
