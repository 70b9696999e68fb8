/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: types that bitpack.c shares with the backends. Not a public header. */
#pragma once

#include "../bitpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BITPACK_ALPHA 3 /* the plane of alpha */
/* A code of 10 bits for each step of alpha's 2 bits: 1023 / 3. */
#define BITPACK_ALPHA_STEP 341

/* How samples are packed. Tables of both backends are in this order. */
typedef enum
{
  BITPACK_SIXES,     /* as in v210 */
  BITPACK_PAIRS,     /* as in UYVP */
  BITPACK_WORDS,     /* one word per pixel */
  BITPACK_HALFWORDS, /* one word of 16 bits per pixel */
  /* Each memory on its own, with rows of samples: */
  BITPACK_THREES,  /* three in a word */
  BITPACK_FOURS,   /* four in five bytes */
  BITPACK_SWAPPED, /* each in two bytes, the higher one first */
  BITPACK_N_KINDS
} BitpackKind;

static inline bool
bitpack_goes_by_memories (BitpackKind kind)
{
  return kind >= BITPACK_THREES;
}

typedef struct
{
  const char *name;
  BitpackKind kind;
  int n_planes; /* not used by kinds that go by memories */
  int group_pixels, group_bytes;
  /* WORDS and HALFWORDS: the lowest bit of each plane's sample. */
  int bit[IMAGE_MAX_PLANES];
  int green_bits;  /* HALFWORDS: 5 or 6; red and blue have 5 */
  bool big_endian; /* WORDS: the highest byte comes first */
} BitpackShape;

typedef struct BitpackOps BitpackOps;

struct BitpackPlan
{
  const BitpackOps *ops;
  const BitpackShape *shape;
  int width;            /* of frames, in pixels */
  Image packed;         /* their layout */
  Image source, result; /* unpacked pictures */
  uint8_t *block[2];    /* memory of source and result */
  void *state;          /* the backend's own */
};

struct BitpackOps
{
  bool (*prepare) (BitpackPlan *plan, Fault *fault);
  void (*release) (BitpackPlan *plan);
  /* Returns zeroed memory. */
  uint8_t *(*allocate) (size_t bytes, Fault *fault);
  void (*free) (uint8_t *block);
  bool (*unpack) (BitpackPlan *plan, const Image *packed, const Image *planes,
      GpuStream stream, Fault *fault);
  bool (*pack) (BitpackPlan *plan, const Image *planes, const Image *packed,
      GpuStream stream, Fault *fault);
};

/* HALFWORDS: the bits of a sample of plane p. */
static inline int
bitpack_sample_bits (const BitpackShape *shape, int p)
{
  return p == 1 ? shape->green_bits : 5;
}

extern const BitpackOps bitpack_host_ops, bitpack_device_ops;

/* The number of samples of a row of memory m. */
static inline int
bitpack_row_samples (const Image *planes, int m)
{
  return (int) (planes->memory[m].row_bytes / sizeof (uint16_t));
}

/* The shift, in bits, of the codes of memory m, which has one plane; 0 for samples whose bytes
 * are only swapped. */
static inline int
bitpack_shift (const BitpackShape *shape, const Image *planes, int m)
{
  if (shape->kind == BITPACK_SWAPPED)
    return 0;
  for (int p = 0; p < planes->n_planes; p++)
    if (planes->plane[p].memory == m)
      return planes->plane[p].shift;
  return 0;
}

static inline const ImageMemory *
bitpack_memory (const Image *planes, int p)
{
  return &planes->memory[planes->plane[p].memory];
}

#ifdef __cplusplus
}
#endif
