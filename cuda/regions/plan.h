/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: what regions.c and the two backends share. Not a public header. */
#pragma once

#include "place.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REGIONS_OVERLAPPING 3 /* runs, on pinned memory */

/* A run on a stream of its own, which others may overlap. */
typedef struct
{
  int set;         /* whose memory it uses, 0..REGIONS_OVERLAPPING - 1 */
  GpuStream after; /* what is queued here comes after all runs */
  GpuEvent event;
  bool
      alone; /* the run waits for all before it, and all behind it wait for it */
} RegionsBeside;

/* One frame's work. */
typedef struct
{
  const RegionsPlace
      *place; /* [n], in the order in which they follow one another */
  int n;
  const Image *src, *dst;
  bool in_place; /* src is dst */
  /* In place, and on the CPU: n_boxes of read bytes and as many of written ones, those of place i
   * from i * n_memories on. */
  const ImageBox *read, *written;
  int n_boxes;
  int rows_apart;
  GpuStream stream;
  GpuOrder order;
  RegionsBeside *beside; /* NULL: no run of the plan overlaps this one */
} RegionsRun;

typedef struct
{
  /* Allocates plan->state. */
  bool (*prepare) (RegionsPlan *plan, Fault *fault);
  void (*release) (RegionsPlan *plan);
  bool (*run) (RegionsPlan *plan, const RegionsRun *run, Fault *fault);
  /* As regions_plan_reserve_in_place(), for pictures that suit; NULL: there is nothing to do. */
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
  RegionsSpec spec; /* that points at what follows */
  RegionsFilter filter;
  TapsSettings taps;
  unsigned revision;  /* grows with each spec, from 1 */
  SepconvPlan *whole; /* outside FILTER: of the whole picture; else NULL */
  const SepconvMethod *used;   /* the last one that computed FILTER, or NULL */
  RegionsPlace *place, *spare; /* [capacity] */
  Region *placed;              /* [capacity]: what the places were grown from */
  int capacity;
  int n_placed;
  unsigned placed_revision; /* of the spec then; 0: there are none */
  unsigned placements;      /* grows with each change of the places, from 1 */
  bool boxed; /* `boxes` are those of the places, of pictures of `layout` */
  ImageBox *
      boxes; /* [box_capacity], of which the second half are of written bytes */
  int box_capacity;
  void *state; /* the backend's own */
};

extern const RegionsOps regions_host_ops, regions_cuda_ops;

/* The taps that strength > 0 makes for a sigma: `spec` becomes the filter with taps in `made`,
 * which it borrows, x and y of each plane. */
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
