/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows-fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_UNKNOWNS (ROWS_FIT_MOST_RADIUS + 1 + ROWS_FIT_MOST_EDGES)
/* Weight of the sum in the least squares, compared with a tap: so that the sum is nearly kept. */
#define SUM_WEIGHT 1e3

/* The weights of smoothing, by the distance from the smoothed sample. */
static const double smoothing[ROWS_SMOOTHING_REACH + 1] = { 6.0 / 16.0,
  4.0 / 16.0, 1.0 / 16.0 };

/* The unknowns: taps, then edges. */
static int
count_unknowns (const RowsFit *fit)
{
  return fit->radius + 1 + fit->edges;
}

/* The weight of a sample at `distance` from the result if unknown number `i` is 1 and all
 * others are 0. */
static double
base (const RowsFit *fit, int i, int distance)
{
  const int at = ROWS_SMOOTHED_STEP * i;
  double weight = 0.0;

  if (i > fit->radius)
    return distance == fit->reach - (i - fit->radius - 1) ? 1.0 : 0.0;
  if (abs (distance - at) <= ROWS_SMOOTHING_REACH)
    weight += smoothing[abs (distance - at)];
  if (i > 0 && distance + at <= ROWS_SMOOTHING_REACH)
    weight += smoothing[distance + at];
  return weight;
}

/* Solves matrix * x = b for a symmetric matrix by Cholesky's decomposition, which overwrites
 * the matrix. On entry `x` holds b. Returns false if the matrix is singular. */
static bool
solve (double matrix[MOST_UNKNOWNS][MOST_UNKNOWNS], double *x, int n)
{
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) {
      double sum = matrix[i][j];

      for (int k = 0; k < j; k++)
        sum -= matrix[i][k] * matrix[j][k];
      if (j < i)
        matrix[i][j] = sum / matrix[j][j];
      else if (sum > 0.0)
        matrix[i][i] = sqrt (sum);
      else
        return false;
    }
    for (int k = 0; k < i; k++)
      x[i] -= matrix[i][k] * x[k];
    x[i] /= matrix[i][i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++)
      x[i] -= matrix[k][i] * x[k];
    x[i] /= matrix[i][i];
  }
  return true;
}

bool
rows_fit (RowsFit *fit, const Taps *taps)
{
  double matrix[MOST_UNKNOWNS][MOST_UNKNOWNS] = { { 0.0 } };
  double x[MOST_UNKNOWNS] = { 0.0 };
  int n;

  memset (fit, 0, sizeof *fit);
  fit->reach = taps->n / 2;
  fit->radius = fit->reach / ROWS_SMOOTHED_STEP - 1;
  /* Two; and if `reach` is odd a third, since smoothed samples do not reach the outermost
   * sample. */
  fit->edges = 2 + fit->reach % ROWS_SMOOTHED_STEP;
  n = count_unknowns (fit);
  /* The equations of the least squares: one for the weight at each distance, and one for the
   * sum of the weights. */
  for (int row = 0; row <= fit->reach + 1; row++) {
    const bool sum = row > fit->reach;
    const double weight = sum ? SUM_WEIGHT : row > 0 ? 2.0 : 1.0;
    const double wanted = sum ? taps_sum (taps) : taps->tap[fit->reach + row];
    double of[MOST_UNKNOWNS];

    for (int i = 0; i < n; i++)
      of[i] = sum ? (i > 0 ? 2.0 : 1.0) : base (fit, i, row);
    for (int i = 0; i < n; i++) {
      /* Few smoothed samples contain the sample at this distance. */
      if (of[i] == 0.0)
        continue;
      x[i] += weight * of[i] * wanted;
      for (int j = 0; j <= i; j++)
        matrix[i][j] += weight * of[i] * of[j];
    }
  }
  if (!solve (matrix, x, n))
    return false;
  for (int i = 0; i <= fit->radius; i++)
    fit->tap[i] = fmax (x[i], 0.0);
  for (int e = 0; e < fit->edges; e++)
    fit->edge[e] = fmax (x[fit->radius + 1 + e], 0.0);
  return true;
}

double
rows_fit_effective (const RowsFit *fit, int distance)
{
  double weight = 0.0;

  for (int i = 0; i <= fit->radius; i++)
    weight += fit->tap[i] * base (fit, i, distance);
  for (int e = 0; e < fit->edges; e++)
    weight += fit->edge[e] * base (fit, fit->radius + 1 + e, distance);
  return weight;
}
