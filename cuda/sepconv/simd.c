/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* simd: the processor's vector units, with the best instruction set that it has. Samples of up
 * to 12 bits are filtered by 16-bit averages or products where those are exact enough, all
 * others by sums of floats or doubles. */
#define ROWS_KERNELS simd_kernels_baseline
#include "rows-kernels.h"

#include "../isa.h"
#include "rows-fit.h"

extern const RowsKernels simd_kernels_avx2, simd_kernels_avx512,
    simd_kernels_avx512_vnni;

static const RowsKernels *const kernels[ISA_N] = {
  [ISA_BASELINE] = &simd_kernels_baseline,
#ifdef __x86_64__
  [ISA_AVX2] = &simd_kernels_avx2,
  [ISA_AVX512] = &simd_kernels_avx512,
  [ISA_AVX512_VNNI] = &simd_kernels_avx512_vnni,
  [ISA_AVX512_VBMI] = &simd_kernels_avx512_vnni,
#endif
};

static bool
simd_prepare (SepconvPlan *plan, Fault *fault)
{
  return rows_prepare (plan, kernels[isa_best ()], fault);
}

/* The cost of an axis, as a number of taps of unsmoothed samples. n taps that may be fitted to
 * smoothed samples, as those of a long gaussian of bytes, cost as much as more + part * n such
 * taps. A large jump does not count if the other axis has few taps: it may be that axis's. */
static double
taps_of_axis (const SepconvWork *work, double taps, double other, double part,
    double more)
{
  const double least = 2 * ROWS_FIT_LEAST_REACH + 1;

  return work->depth <= 8 && (work->jump < 0.05 || other < least)
          && taps >= least && work->longest <= 2 * ROWS_FIT_MOST_REACH + 1
      ? more + part * taps
      : taps;
}

/* Picoseconds a sample with two threads; samples deeper than 12 bits are summed as floats.
 * Baseline and AVX2 are measured with 8, 10 and 16 bits; AVX-512's integers are older figures.
 * The figures of floats, of smoothed samples and of multirate-simd are from a newer machine, by
 * their ratios to the others. */
static double
simd_cost (const SepconvWork *work)
{
  static const struct
  {
    double each, tap, part, more; /* of integers; taps_of_axis() */
    double float_each, float_tap;
  } costs[] = {
    { 60.0, 40.0, 0.44, 7.2, 560.0, 82.0 },
    { 60.0, 20.0, 0.48, 7.0, 420.0, 38.0 },
    { 100.0, 18.0, 0.70, 3.9, 350.0, 23.0 },
  };
  const Isa isa = isa_best ();
  const int i = isa == ISA_BASELINE ? 0 : isa == ISA_AVX2 ? 1 : 2;
  const double x = taps_of_axis (
      work, work->x_taps, work->y_taps, costs[i].part, costs[i].more);
  const double y = taps_of_axis (
      work, work->y_taps, work->x_taps, costs[i].part, costs[i].more);

  return work->samples
      * (work->depth > 12 ? costs[i].float_each
                  + costs[i].float_tap * sepconv_mean_taps (work)
                          : costs[i].each + costs[i].tap * 0.5 * (x + y));
}

const SepconvMethodOps sepconv_simd_ops = {
  .cost = simd_cost,
  .prepare = simd_prepare,
  .release = rows_release,
  .run = rows_run,
};
