/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-neon: rows-vectors.h for 64-bit Arm. Ints is two registers, since products of the 16-bit
 * lanes of one register fill two registers of 32-bit sums. The two 16-bit factors that share a
 * 32-bit lane elsewhere lie in one register each. */
#include <arm_neon.h>

#define SHORTS 16
#define SUMS 8

typedef struct
{
  int32x4_t low, high;
} Ints;

static inline Ints
ints_of_shorts (int16x8_t low, int16x8_t high)
{
  return (Ints){ vreinterpretq_s32_s16 (low), vreinterpretq_s32_s16 (high) };
}

static inline int16x8_t
low_shorts (Ints a)
{
  return vreinterpretq_s16_s32 (a.low);
}

static inline int16x8_t
high_shorts (Ints a)
{
  return vreinterpretq_s16_s32 (a.high);
}

static inline Ints
load_sums (const int32_t *from)
{
  return (Ints){ vld1q_s32 (from), vld1q_s32 (from + 4) };
}
#define LOAD_SUMS(p) load_sums (p)

/* Loads eight pairs, their first values to `low` and their second ones to `high`. */
static inline Ints
load_pairs (const int16_t *from)
{
  const int16x8x2_t pairs = vld2q_s16 (from);

  return ints_of_shorts (pairs.val[0], pairs.val[1]);
}
#define LOAD_PAIRS(p) load_pairs (p)

static inline void
store_shorts (int16_t *to, Ints a)
{
  vst1q_s16 (to, low_shorts (a));
  vst1q_s16 (to + 8, high_shorts (a));
}
#define STORE_SHORTS(p, a) store_shorts (p, a)

#define SPREAD(x) ((Ints){ vdupq_n_s32 (x), vdupq_n_s32 (x) })

static inline Ints
add_products (Ints sum, Ints pairs, Ints taps)
{
  const int16x8_t first = low_shorts (pairs), second = high_shorts (pairs);
  const int16x8_t tap = low_shorts (taps);

  sum.low = vmlal_laneq_s16 (sum.low, vget_low_s16 (first), tap, 0);
  sum.high = vmlal_high_laneq_s16 (sum.high, first, tap, 0);
  sum.low = vmlal_laneq_s16 (sum.low, vget_low_s16 (second), tap, 1);
  sum.high = vmlal_high_laneq_s16 (sum.high, second, tap, 1);
  return sum;
}
#define ADD_PRODUCTS(sum, a, b) add_products (sum, a, b)

#define COUNT(x) SPREAD (-(x))
#define SHIFT(a, count) \
  ((Ints){ \
      vshlq_s32 ((a).low, (count).low), vshlq_s32 ((a).high, (count).high) })

static inline void
pairs_of_rows (
    const uint8_t *upper, const uint8_t *lower, Ints *low, Ints *high)
{
  const uint8x16_t a = vld1q_u8 (upper), b = vld1q_u8 (lower);

  *low = ints_of_shorts (vreinterpretq_s16_u16 (vmovl_u8 (vget_low_u8 (a))),
      vreinterpretq_s16_u16 (vmovl_u8 (vget_low_u8 (b))));
  *high = ints_of_shorts (vreinterpretq_s16_u16 (vmovl_high_u8 (a)),
      vreinterpretq_s16_u16 (vmovl_high_u8 (b)));
}

static inline void
pairs_of_long_rows (const uint8_t *upper, const uint8_t *lower, int shift,
    Ints *low, Ints *high)
{
  const int16x8_t count = vdupq_n_s16 ((int16_t) -shift);
  int16x8_t at[2][2];

  for (int i = 0; i < 2; i++) {
    at[0][i] = vreinterpretq_s16_u16 (
        vshlq_u16 (vreinterpretq_u16_u8 (vld1q_u8 (upper + 16 * i)), count));
    at[1][i] = vreinterpretq_s16_u16 (
        vshlq_u16 (vreinterpretq_u16_u8 (vld1q_u8 (lower + 16 * i)), count));
  }
  *low = ints_of_shorts (at[0][0], at[1][0]);
  *high = ints_of_shorts (at[0][1], at[1][1]);
}

static inline int16x8_t
narrowed (Ints a)
{
  return vqmovn_high_s32 (vqmovn_s32 (a.low), a.high);
}

static inline Ints
shorts_of_sums (Ints low, Ints high, int bytes)
{
  (void) bytes;
  return ints_of_shorts (narrowed (low), narrowed (high));
}

static inline int16x8_t
in_order (int16x8_t a, uint8x16_t order)
{
  return vreinterpretq_s16_u8 (vqtbl1q_u8 (vreinterpretq_u8_s16 (a), order));
}

static inline Ints
pairs_of_pixels (Ints pixels, int channels)
{
  static const uint8_t of_two[] = { 0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10,
    11, 14, 15 };
  static const uint8_t of_four[] = { 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6,
    7, 14, 15 };
  uint8x16_t order;

  if (channels == 1)
    return pixels;
  order = vld1q_u8 (channels == 2 ? of_two : of_four);
  return ints_of_shorts (in_order (low_shorts (pixels), order),
      in_order (high_shorts (pixels), order));
}

static inline Ints
pixels_of_pairs (Ints first, Ints second, int channels)
{
  const int16x8_t a = narrowed (first), b = narrowed (second);

  switch (channels) {
    case 2: {
      const int32x4_t x = vreinterpretq_s32_s16 (a);
      const int32x4_t y = vreinterpretq_s32_s16 (b);

      return (Ints){ vzip1q_s32 (x, y), vzip2q_s32 (x, y) };
    }
    case 4: {
      const int64x2_t x = vreinterpretq_s64_s16 (a);
      const int64x2_t y = vreinterpretq_s64_s16 (b);

      return (Ints){ vreinterpretq_s32_s64 (vzip1q_s64 (x, y)),
        vreinterpretq_s32_s64 (vzip2q_s64 (x, y)) };
    }
    default:
      return ints_of_shorts (vzip1q_s16 (a, b), vzip2q_s16 (a, b));
  }
}

static inline void
store_bytes (uint8_t *to, Ints a, Ints b)
{
  vst1q_u8 (
      to, vqmovun_high_s16 (vqmovun_s16 (low_shorts (a)), high_shorts (a)));
  vst1q_u8 (to + 16,
      vqmovun_high_s16 (vqmovun_s16 (low_shorts (b)), high_shorts (b)));
}

static inline void
store_codes (uint8_t *to, Ints a, int top, int shift)
{
  const int16x8_t count = vdupq_n_s16 ((int16_t) shift);
  const int16x8_t most = vdupq_n_s16 ((int16_t) top);
  const int16x8_t zero = vdupq_n_s16 (0);

  store_shorts ((int16_t *) to,
      ints_of_shorts (
          vshlq_s16 (vminq_s16 (vmaxq_s16 (low_shorts (a), zero), most), count),
          vshlq_s16 (
              vminq_s16 (vmaxq_s16 (high_shorts (a), zero), most), count)));
}

/* 16 bytes, of which the first 12 are two pixels of shorts, or two pairs of pixels of bytes. */
typedef uint8x16_t Threes;
#define LOAD_THREES(p) vld1q_u8 ((const uint8_t *) (p))
#define STORE_THREES(p, a) vst1q_u8 ((uint8_t *) (p), a)
#define THREES_IN_ORDER(a, order) vqtbl1q_u8 (a, vld1q_u8 (order))
