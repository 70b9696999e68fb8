/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compose: blends rows of samples over others by the weights of a region, on the CPU. */
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
  /* from the plane's sample 0 on; not set in `whole` */
  const uint32_t *weights;
  bool keep_low_bits; /* copies bits below the code where the weight is 1 */
} ComposeWeights;

/* The terms of the columns in `span`; terms[0] is that of sample span.first. */
void compose_columns (
    const RegionsShapeInPlane *shape, RegionsSpan span, double *terms);

/* Fills in the spans and weights of row y; `weights` has room for a row of the plane. */
void compose_weigh (ComposeWeights *row, const RegionsShapeInPlane *shape,
    RegionsSpan span, const double *terms, int y, uint32_t *weights);

void compose_row (const ComposeRow *row, const ComposeWeights *weights);

/* The sum of the codes of samples [first, last) of row->from; at most 65536 samples. */
uint32_t compose_sum (const ComposeRow *row, int first, int last);
