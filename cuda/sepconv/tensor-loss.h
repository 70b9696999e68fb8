/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-loss: what a sum of products on tensor cores may be off by. Plain C, to be checked
 * as mathematics.
 *
 * A product mma.m16n8k16 of halves with sums in single precision, as compute capability 8.x
 * does it, is two additions one after the other, each of 8 products to the sum. In such an
 * addition
 *
 * - products are exact, and the largest of the 9 addends has an exponent e;
 * - each addend is cut off, towards zero, to a multiple of 2^(e - 24);
 * - the addends are added exactly, and the result is cut off, towards zero, to 24 bits.
 *
 * Capabilities 9.0, 10.x and 12.0 add all 16 products at once, cut off to 2^(e - 25), and so
 * lose less. An addend that is zero loses nothing, nor does the largest.
 *
 * Sources: Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ
 * Computer Science 7:e330, 2021 (7.0 to 8.0); Khattak, Mikaitis, Accurate models of NVIDIA
 * tensor cores, arXiv:2512.07004, 2025 (to 10.0); Xie et al., MMA-Sim, arXiv:2511.10909, 2025
 * (to 12.0, bit by bit, 8.6 and 8.9 too). */
#pragma once

#include <math.h>

/* Neighbours that a product takes in. */
#define TENSOR_LOSS_STEP 16

/* A pass over n taps, by products of the samples of a window and taps as halves. */
typedef struct
{
  int n;
  /* For each tap, the sum of the sizes of its halves, and how many are not zero. */
  const double *size;
  const int *halves;
  int steps, parts; /* products one after the other, for each part of a tap */
  double sample;    /* the largest size of a sample as it is multiplied */
  /* A bound of the sum after any of the additions: what it is in any case, and what each
   * tap adds to that until its step is done, in samples. */
  double always, before;
} TensorPass;

/* What the last of 24 bits is worth in numbers up to `largest`, which the errors of sums and
 * halves that it was worked out without may make a little larger. */
static inline double
tensor_loss_unit (double largest)
{
  return largest > 0.0 ? ldexp (1.0, ilogb (largest * (1.0 + 0x1p-10)) - 23)
                       : 0.0;
}

/* The most that a pass may lose. What it starts with is a float, and off by half a unit;
 * each half loses up to half a unit of the largest addend, and each addition up to one of
 * its result. */
static inline double
tensor_pass_loss (const TensorPass *pass)
{
  double left = 0.0, largest_tap = 0.0, loss;
  int at = 0;

  for (int i = 0; i < pass->n; i++) {
    left += pass->size[i];
    largest_tap = fmax (largest_tap, pass->size[i]);
  }
  loss = 0.5 * tensor_loss_unit (pass->always + pass->before * left);
  /* Steps end anywhere among the taps, as results differ in the first tap of their first
   * step. The sum is largest if that step has one tap; and a tap's own step, if it has the
   * 15 taps before it. */
  for (int i = 0; i < pass->n || i < pass->steps * TENSOR_LOSS_STEP; i++) {
    const double largest = fmax (pass->always + pass->before * fmax (left, 0.0),
        largest_tap * pass->sample);
    const double unit = tensor_loss_unit (largest);

    if (i < pass->n)
      loss += 0.5 * pass->halves[i] * unit;
    if (i % TENSOR_LOSS_STEP == 0 && i / TENSOR_LOSS_STEP < pass->steps)
      loss += 2.0 * pass->parts * unit;
    if (i + 1 >= TENSOR_LOSS_STEP && at < pass->n)
      left -= pass->size[at++];
  }
  return loss;
}
