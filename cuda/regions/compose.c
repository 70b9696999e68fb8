/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compose.h"

#define INLINE static inline __attribute__ ((always_inline))

void
compose_columns (
    const RegionsShapeInPlane *shape, RegionsSpan span, double *terms)
{
  for (int x = span.first; x < span.last; x++)
    terms[x - span.first] = regions_axis_term (&shape->x, x);
}

/* The samples of a row with the weight 1. They are contiguous: terms fall until the centre and rise
 * after it. */
static RegionsSpan
find_whole (const RegionsShapeInPlane *shape, RegionsSpan span,
    const double *terms, double row)
{
  RegionsSpan whole = span;

  while (whole.first < whole.last
      && terms[whole.first - span.first] + row > shape->inside)
    whole.first++;
  while (whole.last > whole.first
      && terms[whole.last - 1 - span.first] + row > shape->inside)
    whole.last--;
  return whole;
}

static void
weigh (const RegionsShapeInPlane *shape, const double *terms, double row,
    RegionsSpan span, int first, int last, uint32_t *weights)
{
  for (int x = first; x < last; x++)
    weights[x] = regions_weight (shape, terms[x - span.first] + row);
}

void
compose_weigh (ComposeWeights *row, const RegionsShapeInPlane *shape,
    RegionsSpan span, const double *terms, int y, uint32_t *weights)
{
  const double term = regions_axis_term (&shape->y, y);

  row->whole = find_whole (shape, span, terms, term);
  row->span = shape->reach > 0.0 ? span : row->whole;
  row->weights = weights;
  weigh (shape, terms, term, span, row->span.first, row->whole.first, weights);
  weigh (shape, terms, term, span, row->whole.last, row->span.last, weights);
}

INLINE void
blend_of (const ComposeRow *row, uint32_t mask,
    const uint32_t *restrict weights, int first, int last,
    const int from_distance, const int to_distance, const int bytes,
    const int shift)
{
  const uint8_t *restrict from = row->from;
  uint8_t *restrict to = row->to;

  for (int x = first; x < last; x++) {
    const uint32_t weight = weights[x];
    uint8_t *at = to + (ptrdiff_t) x * to_distance;
    const uint32_t raw = (uint32_t) image_read_raw (at, bytes);
    const uint32_t fill =
        (uint32_t) image_read_raw (from + (ptrdiff_t) x * from_distance, bytes);
    const uint32_t code = regions_compose (raw >> shift, fill >> shift, weight);
    /* A sample whose code does not change keeps the bits below it. */
    const uint32_t blended = code == raw >> shift ? raw : code << shift;

    image_write_raw (
        at, (int) (weight == REGIONS_WHOLE ? fill & mask : blended), bytes);
  }
}

INLINE void
store_of (const ComposeRow *row, uint32_t mask, int first, int last,
    const int from_distance, const int to_distance, const int bytes)
{
  const uint8_t *restrict from = row->from;
  uint8_t *restrict to = row->to;

  for (int x = first; x < last; x++)
    image_write_raw (to + (ptrdiff_t) x * to_distance,
        image_read_raw (from + (ptrdiff_t) x * from_distance, bytes)
            & (int) mask,
        bytes);
}

/* Calls f (arguments..., distances, bytes, rest), with constant distances and bytes for common
 * layouts. */
#define WITH_LAYOUT(row, f, rest, ...) \
  do { \
    const int from_ = (row)->from_distance, to_ = (row)->to_distance; \
    const int bytes_ = (row)->sample_bytes; \
    if (bytes_ == 1 && from_ == 1 && to_ == 1) \
      f (__VA_ARGS__, 1, 1, 1 rest); \
    else if (bytes_ == 1 && from_ == 2 && to_ == 2) \
      f (__VA_ARGS__, 2, 2, 1 rest); \
    else if (bytes_ == 1 && from_ == 4 && to_ == 4) \
      f (__VA_ARGS__, 4, 4, 1 rest); \
    else if (bytes_ == 2 && from_ == 2 && to_ == 2) \
      f (__VA_ARGS__, 2, 2, 2 rest); \
    else \
      f (__VA_ARGS__, from_, to_, bytes_ rest); \
  } while (0)

#define COMMA_SHIFT , row->shift

static void
blend (const ComposeRow *row, uint32_t mask, const uint32_t *weights, int first,
    int last)
{
  WITH_LAYOUT (row, blend_of, COMMA_SHIFT, row, mask, weights, first, last);
}

static void
store (const ComposeRow *row, uint32_t mask, int first, int last)
{
  WITH_LAYOUT (row, store_of, , row, mask, first, last);
}

void
compose_row (const ComposeRow *row, const ComposeWeights *weights)
{
  const RegionsSpan span = weights->span, whole = weights->whole;
  const uint32_t mask =
      weights->keep_low_bits ? 0xffff : (0xffffu << row->shift) & 0xffff;

  blend (row, mask, weights->weights, span.first, whole.first);
  store (row, mask, whole.first, whole.last);
  blend (row, mask, weights->weights, whole.last, span.last);
}

INLINE void
sum_of (const ComposeRow *row, uint32_t *sum, int first, int last,
    const int from_distance, const int to_distance, const int bytes)
{
  const uint8_t *from = row->from;
  const int shift = row->shift;
  uint32_t total = 0;

  (void) to_distance;
  for (int x = first; x < last; x++)
    total +=
        (uint32_t) image_read_raw (from + (ptrdiff_t) x * from_distance, bytes)
        >> shift;
  *sum = total;
}

uint32_t
compose_sum (const ComposeRow *row, int first, int last)
{
  uint32_t sum;

  WITH_LAYOUT (row, sum_of, , row, &sum, first, last);
  return sum;
}
