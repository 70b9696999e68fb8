/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compose: lays rows of samples over others by the weights of a region, on the CPU. */
#pragma once

#include "place.h"

/* One channel of a row, from the plane's sample 0 on. */
typedef struct
{
  const uint8_t *from;
  uint8_t *to;
  int from_distance, to_distance; /* bytes from sample to sample */
  int sample_bytes, shift;
} ComposeRow;

/* A row of a region, whose samples [whole.first, whole.last) have the weight 1. */
typedef struct
{
  RegionsSpan span, whole;
  const uint32_t *weights; /* of the plane's sample 0 on; not set in `whole` */
  bool keep_low_bits;      /* of samples with the weight 1 */
} ComposeWeights;

/* The terms of the columns in `span`; terms[0] is that of sample span.first. */
void compose_columns (
    const RegionsShapeInPlane *shape, RegionsSpan span, double *terms);

/* Fills in what a row's weights are; `weights` has room for a row of the plane. */
void compose_weigh (ComposeWeights *row, const RegionsShapeInPlane *shape,
    RegionsSpan span, const double *terms, int y, uint32_t *weights);

void compose_row (const ComposeRow *row, const ComposeWeights *weights);

/* The sum of the codes of samples [first, last) of row->from, which are at most 2^32 / 65535. */
uint32_t compose_sum (const ComposeRow *row, int first, int last);
