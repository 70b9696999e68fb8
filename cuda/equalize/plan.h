/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: types that equalize.c and the two backends share. Not a public header. */
#pragma once

#include "../equalize.h"
#include "arithmetic.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EQUALIZE_MAX_MAPPED 3

/* A channel that is mapped: luma; or red, green and blue. */
typedef struct
{
  int memory;
  int byte_offset;  /* of sample (0, 0) in its row */
  int pixel_stride; /* bytes */
  int sample_bytes; /* 1 or 2 */
  int shift;
} EqualizeChannel;

typedef struct EqualizeOps
{
  /* Allocates plan->state. */
  bool (*prepare) (EqualizePlan *plan, Fault *fault);
  void (*release) (EqualizePlan *plan);
  /* `follow`: numbers.follow, or EQUALIZE_ONE for a first frame. */
  bool (*run) (EqualizePlan *plan, const Image *src, const Image *dst,
      uint32_t follow, GpuStream stream, Fault *fault);
} EqualizeOps;

struct EqualizePlan
{
  const EqualizeOps *ops;
  Backend backend;
  Gpu *gpu;
  Image layout;
  EqualizeSpec spec;
  EqualizeNumbers numbers;
  int n_mapped; /* 1 or 3 */
  EqualizeChannel
      mapped[EQUALIZE_MAX_MAPPED]; /* red, green, blue in this order */
  /* Number of bytes of a row of each memory, from its start, that all belong to samples: these
   * may be copied as a block. */
  size_t solid_bytes[IMAGE_MAX_MEMORIES];
  bool copies[IMAGE_MAX_MEMORIES]; /* a channel to be copied lies there */
  bool first;                      /* no frame yet since the start or a reset */
  void *state;                     /* the backend's own */
};

static inline int
equalize_n_tiles (const EqualizeNumbers *numbers)
{
  return numbers->x.tiles * numbers->y.tiles;
}

#ifdef __cplusplus
}
#endif
