/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* rows-fit: a long blur as a shorter one of a smoothed picture, with half of the products. The
 * picture is smoothed by (1, 4, 6, 4, 1) / 16, and taps weigh every second smoothed sample. The
 * outermost samples at each end are weighed unsmoothed, since a blur may end with a jump
 * (Neuvo, Dong and Mitra, Interpolated finite impulse response filters, IEEE Transactions on
 * Acoustics, Speech, and Signal Processing 32(3), 1984):
 *
 *   smooth[k] = (in[k-2] + 4 in[k-1] + 6 in[k] + 4 in[k+1] + in[k+2]) / 16
 *   result[k] = tap[0] * smooth[k]
 *     + sum over i in [1, radius] of tap[i] * (smooth[k - 2i] + smooth[k + 2i])
 *     + sum over e in [0, edges) of edge[e] * (in[k - (reach - e)] + in[k + (reach - e)])
 */
#pragma once

#include "../taps.h"

/* Samples to either side that a smoothed sample is made of. */
#define ROWS_SMOOTHING_REACH 2
/* Distance in samples between the smoothed samples of neighbouring taps. */
#define ROWS_SMOOTHED_STEP 2

/* Radii of blurs that may be fitted. */
#define ROWS_FIT_LEAST_REACH 12
#define ROWS_FIT_MOST_REACH 64
#define ROWS_FIT_MOST_RADIUS (ROWS_FIT_MOST_REACH / ROWS_SMOOTHED_STEP - 1)
#define ROWS_FIT_MOST_EDGES 3

typedef struct
{
  int reach; /* the radius of the blur */
  int radius; /* of the taps of smoothed samples: 2 radius + 2 is at most `reach` */
  int edges;
  double tap[ROWS_FIT_MOST_RADIUS + 1];
  double edge[ROWS_FIT_MOST_EDGES];
} RowsFit;

/* Fits the taps to those of a blur by least squares; they sum to about the same, and negative
 * ones become 0. The blur is symmetric, and its radius is ROWS_FIT_LEAST_REACH to
 * ROWS_FIT_MOST_REACH. Returns false if its taps are so unusual that there is no solution. */
bool rows_fit (RowsFit *fit, const Taps *taps);

/* The effective weight of a sample at `distance`, 0 to `reach`, from the result. */
double rows_fit_effective (const RowsFit *fit, int distance);
