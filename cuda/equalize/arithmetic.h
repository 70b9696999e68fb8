/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* arithmetic: the formulas of equalize.h, for host and device. Every function gives the same
 * bits on both. Not a public header. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define EQUALIZE_FUNCTION static __host__ __device__ __forceinline__
#else
#define EQUALIZE_FUNCTION static inline
#endif

/* Fraction bits of the fixed-point numbers. EQUALIZE_BITS: strengths, weights of colours, and
 * smoothed codes. EQUALIZE_WEIGHT_BITS: weights of tiles. EQUALIZE_RESULT_BITS: interpolated
 * codes before they are rounded. */
#define EQUALIZE_BITS 16
#define EQUALIZE_ONE (1u << EQUALIZE_BITS)
#define EQUALIZE_WEIGHT_BITS 24
#define EQUALIZE_WEIGHT_ONE (1u << EQUALIZE_WEIGHT_BITS)
#define EQUALIZE_RESULT_BITS 8

/* The tiles along one axis; one tile for a global table. If the size is not a multiple of the
 * tile, the last tile extends past the picture. */
typedef struct
{
  int size; /* pixels of the picture */
  int tiles;
  int tile;            /* pixels of a tile */
  uint64_t reciprocal; /* 2^(WEIGHT_BITS + BITS) / (2 tile) */
} EqualizeAxis;

/* The spec in integers. equalize_plan_update() changes it. */
typedef struct
{
  bool adaptive;
  int full, black, white;    /* codes; full is the largest */
  int entries;               /* white - black + 1 */
  uint32_t red, green, blue; /* weights; their sum is EQUALIZE_ONE */
  uint32_t strength;         /* 0..EQUALIZE_ONE */
  uint32_t follow;           /* EQUALIZE_ONE (1 - smoothing), at least 1 */
  EqualizeAxis x, y;
  uint32_t tile_samples;
  uint32_t clip; /* most counts that a bin keeps; UINT32_MAX: all */
} EqualizeNumbers;

EQUALIZE_FUNCTION int
equalize_clamp (int value, int low, int high)
{
  return value < low ? low : value > high ? high : value;
}

EQUALIZE_FUNCTION int
equalize_luma (const EqualizeNumbers *numbers, int r, int g, int b)
{
  return (int) ((numbers->red * (uint32_t) r + numbers->green * (uint32_t) g
                    + numbers->blue * (uint32_t) b + EQUALIZE_ONE / 2)
      >> EQUALIZE_BITS);
}

/* The code of red, green or blue when luma changes by `change`. */
EQUALIZE_FUNCTION int
equalize_shifted (const EqualizeNumbers *numbers, int code, int change)
{
  const int low = code < numbers->black ? code : numbers->black;
  const int high = code > numbers->white ? code : numbers->white;

  return equalize_clamp (code + change, low, high);
}

EQUALIZE_FUNCTION int
equalize_bin (const EqualizeNumbers *numbers, int code)
{
  return equalize_clamp (code, numbers->black, numbers->white) - numbers->black;
}

/* The index of the sample that position i >= 0 mirrors to, in a line of n samples. The line is
 * reflected about its last sample, which is not repeated. */
EQUALIZE_FUNCTION int
equalize_reflect (int i, int n)
{
  if (i < n)
    return i;
  if (n == 1)
    return 0;
  i %= 2 * n - 2;
  return i < n ? i : 2 * n - 2 - i;
}

/* How the clipped counts are redistributed: `each` to every bin, and one more to `rest` bins
 * that are `step` apart. */
typedef struct
{
  uint32_t each, rest, step;
} EqualizeShares;

EQUALIZE_FUNCTION EqualizeShares
equalize_share_out (const EqualizeNumbers *numbers, uint32_t clipped)
{
  const uint32_t entries = (uint32_t) numbers->entries;
  EqualizeShares shares;

  shares.each = clipped / entries;
  shares.rest = clipped % entries;
  shares.step = shares.rest > 0 ? entries / shares.rest : 1;
  return shares;
}

/* h' of equalize.h. */
EQUALIZE_FUNCTION uint32_t
equalize_limited (const EqualizeNumbers *numbers, const EqualizeShares *shares,
    uint32_t count, int bin)
{
  const uint32_t i = (uint32_t) bin;
  const uint32_t kept = count < numbers->clip ? count : numbers->clip;
  const bool more = i < shares->rest * shares->step && i % shares->step == 0;

  return kept + shares->each + (more ? 1 : 0);
}

/* Maps prefix sums of counts to codes. `lowest` is the count of the lowest bin that occurs for a
 * global table, and 0 for tiles. */
typedef struct
{
  uint32_t lowest;
  bool flat; /* only the lowest bin occurs */
  float scale;
} EqualizeCurve;

EQUALIZE_FUNCTION EqualizeCurve
equalize_curve (const EqualizeNumbers *numbers, uint32_t lowest)
{
  const uint32_t rest = numbers->tile_samples - lowest;
  EqualizeCurve curve;

  curve.lowest = lowest;
  curve.flat = rest == 0;
  curve.scale =
      (float) (numbers->entries - 1) / (float) (curve.flat ? 1 : rest);
  return curve;
}

/* T of equalize.h. */
EQUALIZE_FUNCTION int
equalize_frame_code (const EqualizeNumbers *numbers, const EqualizeCurve *curve,
    uint32_t sum, int bin)
{
  const uint32_t above = sum > curve->lowest ? sum - curve->lowest : 0;
  const int code =
      curve->flat ? bin : (int) rintf ((float) above * curve->scale);

  return numbers->black + equalize_clamp (code, 0, numbers->entries - 1);
}

/* S of equalize.h, with EQUALIZE_BITS fraction bits. */
EQUALIZE_FUNCTION uint32_t
equalize_follow (uint32_t state, int frame_code, uint32_t follow)
{
  const uint64_t target = (uint64_t) frame_code << EQUALIZE_BITS;

  return (uint32_t) (((uint64_t) state * (EQUALIZE_ONE - follow)
                         + target * follow + EQUALIZE_ONE / 2)
      >> EQUALIZE_BITS);
}

/* F of equalize.h. */
EQUALIZE_FUNCTION int
equalize_mix (const EqualizeNumbers *numbers, int code, uint32_t state)
{
  const uint64_t own = (uint64_t) code << EQUALIZE_BITS;

  return (int) ((own * (EQUALIZE_ONE - numbers->strength)
                    + (uint64_t) state * numbers->strength + (1u << 31))
      >> 2 * EQUALIZE_BITS);
}

/* The position of a pixel between tiles along one axis: `rest` half pixels past the centre of
 * tile next - 1. */
typedef struct
{
  int next;
  unsigned rest;
} EqualizePlace;

EQUALIZE_FUNCTION EqualizePlace
equalize_place (const EqualizeAxis *axis, int i)
{
  const unsigned past = 2 * (unsigned) i + (unsigned) axis->tile;
  EqualizePlace place;

  place.next = (int) (past / (2 * (unsigned) axis->tile));
  place.rest = past % (2 * (unsigned) axis->tile);
  return place;
}

/* Advances to the next pixel's place. */
EQUALIZE_FUNCTION void
equalize_step (const EqualizeAxis *axis, EqualizePlace *place)
{
  place->rest += 2;
  if (place->rest >= 2 * (unsigned) axis->tile) {
    place->rest -= 2 * (unsigned) axis->tile;
    place->next++;
  }
}

/* The tiles on either side; the same one at the edges of the picture. */
EQUALIZE_FUNCTION int
equalize_tile_before (const EqualizePlace *place)
{
  return place->next > 0 ? place->next - 1 : 0;
}

EQUALIZE_FUNCTION int
equalize_tile_after (const EqualizeAxis *axis, const EqualizePlace *place)
{
  return place->next < axis->tiles ? place->next : axis->tiles - 1;
}

/* The weight of the tile after; that of the tile before is EQUALIZE_WEIGHT_ONE less this. */
EQUALIZE_FUNCTION uint32_t
equalize_weight (const EqualizeAxis *axis, const EqualizePlace *place)
{
  return (uint32_t) ((place->rest * axis->reciprocal + EQUALIZE_ONE / 2)
      >> EQUALIZE_BITS);
}

EQUALIZE_FUNCTION uint32_t
equalize_between (uint32_t before, uint32_t after, uint32_t weight)
{
  const int32_t way = (int32_t) after - (int32_t) before;

  /* Shifts of negative numbers round down. */
  return (uint32_t) ((int32_t) before
      + (int32_t) (((int64_t) way * (int32_t) weight + EQUALIZE_WEIGHT_ONE / 2)
          >> EQUALIZE_WEIGHT_BITS));
}

/* One code from the codes of four tiles. With small tiles the result is often halfway between
 * two codes. It is rounded to the even one, after the weights' last bits, which are not exact,
 * are dropped. */
EQUALIZE_FUNCTION int
equalize_interpolate (int top_left, int top_right, int bottom_left,
    int bottom_right, uint32_t weight_x, uint32_t weight_y)
{
  const uint32_t top =
      equalize_between ((uint32_t) top_left << EQUALIZE_RESULT_BITS,
          (uint32_t) top_right << EQUALIZE_RESULT_BITS, weight_x);
  const uint32_t bottom =
      equalize_between ((uint32_t) bottom_left << EQUALIZE_RESULT_BITS,
          (uint32_t) bottom_right << EQUALIZE_RESULT_BITS, weight_x);
  const uint32_t result = equalize_between (top, bottom, weight_y);
  const uint32_t odd = result >> EQUALIZE_RESULT_BITS & 1;

  return (int) ((result + (1u << (EQUALIZE_RESULT_BITS - 1)) - 1 + odd)
      >> EQUALIZE_RESULT_BITS);
}
