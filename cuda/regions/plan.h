/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: types that regions.c and the two backends share. Not a public header. */
#pragma once

#include "place.h"

#ifdef __cplusplus
extern "C" {
#endif

/* most runs in flight at once, on pinned memory */
#define REGIONS_OVERLAPPING 3

/* An overlapped run, on a stream of its own. */
typedef struct
{
  int set; /* index of the memory that it uses, 0..REGIONS_OVERLAPPING - 1 */
  GpuStream after; /* the caller's stream, which waits for every run */
  GpuEvent event;
  /* the run waits for all runs before it, and all later ones wait for it */
  bool alone;
} RegionsBeside;

/* One frame's work. */
typedef struct
{
  const RegionsPlace
      *place; /* [n], in the order in which they follow one another */
  int n;
  const Image *src, *dst;
  bool in_place; /* src is dst */
  /* Set for runs in place and for all runs on the CPU: n_boxes boxes of read bytes and n_boxes of
   * written bytes; those of place i begin at i * n_memories. */
  const ImageBox *read, *written;
  int n_boxes;
  int rows_apart;
  GpuStream stream;
  GpuOrder order;
  RegionsBeside *beside; /* NULL: the run is not overlapped */
} RegionsRun;

typedef struct
{
  /* Allocates plan->state. */
  bool (*prepare) (RegionsPlan *plan, Fault *fault);
  void (*release) (RegionsPlan *plan);
  bool (*run) (RegionsPlan *plan, const RegionsRun *run, Fault *fault);
  /* As regions_plan_reserve_in_place(), for supported pictures; NULL: there is nothing to do. */
  bool (*reserve_in_place) (
      RegionsPlan *plan, bool in_gpu_memory, GpuOrder order, Fault *fault);
} RegionsOps;

/* A filter with taps of its own. */
typedef struct
{
  SepconvSpec spec;
  Taps *taps;
  int capacity; /* of taps */
} RegionsFilter;

struct RegionsPlan
{
  const RegionsOps *ops;
  Backend backend;
  Gpu *gpu;
  const SepconvMethod *method; /* NULL: any */
  Image layout;
  RegionsSpec spec; /* points at `filter` and `taps` */
  RegionsFilter filter;
  TapsSettings taps;
  unsigned revision;  /* grows with each spec, from 1 */
  /* FILTER with spec.outside: filters the whole picture; else NULL */
  SepconvPlan *whole;
  const SepconvMethod *used;   /* the last one that computed FILTER, or NULL */
  RegionsPlace *place, *spare; /* [capacity] */
  Region *placed; /* [capacity]: the regions that the places were grown from */
  int capacity;
  int n_placed;
  /* of the spec that they were grown by; 0: no places */
  unsigned placed_revision;
  unsigned placements;      /* grows with each change of the places, from 1 */
  bool boxed; /* `boxes` are those of the places, of pictures of `layout` */
  /* [box_capacity]: of a run's read bytes, then of its written bytes */
  ImageBox *boxes;
  int box_capacity;
  void *state; /* the backend's own */
};

extern const RegionsOps regions_host_ops, regions_cuda_ops;

/* Makes the taps that strength > 0 needs for a sigma: `made` becomes x and y taps of each plane,
 * and `spec` the filter with them, which borrows `made`. */
bool regions_make_taps (const RegionsSpec *from, const Image *layout,
    double sigma, SepconvSpec *spec, Taps made[2 * IMAGE_MAX_PLANES],
    Fault *fault);

/* Whether channel c of plane p is treated. */
static inline bool
regions_treats (const RegionsSpec *spec, int p, int c)
{
  return spec->filter->plane[p].channels >> c & 1;
}

#ifdef __cplusplus
}
#endif
