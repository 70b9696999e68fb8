/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* backend: what overlay.c shares with those that draw. Not a public header. */
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
  /* Of the histogram, by component. */
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
  /* Allocates plan->state for the plan's layout and bins, and any other spec. */
  bool (*prepare) (OverlayPlan *plan, Fault *fault);
  void (*release) (OverlayPlan *plan);
  bool (*run) (OverlayPlan *plan, const OverlayRun *run, Fault *fault);
};

extern const OverlayBackendOps overlay_host_ops, overlay_cuda_ops;

/* All paints of a valid spec; their colours are those of channels that it draws. */
void overlay_fill_palette (OverlayPaint paint[OVERLAY_N_PAINTS],
    const OverlaySpec *spec, const Image *layout);

/* Whether the rows of a memory are the same on both sides. */
static inline bool
overlay_in_place (const OverlayRun *run, int memory)
{
  return run->src->memory[memory].data == run->dst->memory[memory].data
      && run->src->memory[memory].stride == run->dst->memory[memory].stride;
}

#ifdef __cplusplus
}
#endif
