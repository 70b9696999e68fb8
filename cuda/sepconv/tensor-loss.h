/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-loss: upper bounds of the error of sums of products on tensor cores. Plain C, so
 * that tests can check the mathematics.
 *
 * A product mma.m16n8k16 of FP16 with FP32 sums, as compute capability 8.x does it, is two
 * additions one after the other, each of 8 products to the sum. In such an addition
 *
 * - products are exact, and the largest of the 9 addends has an exponent e;
 * - each addend is truncated towards zero to a multiple of 2^(e - 24);
 * - the addends are added exactly, and the result is truncated towards zero to 24 bits.
 *
 * Capabilities 9.0, 10.x and 12.0 add all 16 products at once, truncated to 2^(e - 25), and
 * so lose less. An addend that is zero loses nothing, nor does the largest one.
 *
 * Sources: Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ
 * Computer Science 7:e330, 2021 (7.0 to 8.0); Khattak, Mikaitis, Accurate models of NVIDIA
 * tensor cores, arXiv:2512.07004, 2025 (to 10.0); Xie et al., MMA-Sim, arXiv:2511.10909, 2025
 * (to 12.0, bit by bit, including 8.6 and 8.9). */
#pragma once

#include <math.h>

/* Samples of one product. */
#define TENSOR_LOSS_STEP 16

/* A pass over n taps, as products of FP16 samples of a window and FP16 taps. */
typedef struct
{
  int n;
  /* For each tap, the sum of the sizes of its FP16 parts, and how many of them are not
   * zero. */
  const double *size;
  const int *halves;
  int steps, parts; /* products one after another, for each part of a tap */
  double sample;    /* largest size of a sample as a factor */
  /* Bound of the sum after each addition: `always`, plus `before` times the size of each tap
   * whose step is not done yet. */
  double always, before;
} TensorPass;

/* The unit of the last of 24 bits in numbers up to `largest`. The margin of 2^-10 allows for
 * errors of sums and FP16 values that the caller's bound leaves out. */
static inline double
tensor_loss_unit (double largest)
{
  return largest > 0.0 ? ldexp (1.0, ilogb (largest * (1.0 + 0x1p-10)) - 23)
                       : 0.0;
}

/* Upper bound of the error of a pass. Its start value is a float, off by half a unit. Each
 * FP16 part of a tap loses up to half a unit of the largest addend, and each addition up to
 * one unit of its result. */
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
  /* Results differ in the first tap of their first step, so a step may end at any tap. The
   * sum is largest if the first step has one tap; for each tap's own step, if the step also
   * has the 15 taps before it. */
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
