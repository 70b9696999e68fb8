/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* simd: the processor's vector units, of the best instruction set that it has. Samples of up to
 * 12 bits are filtered by 16-bit averages or products where those are exact enough, all else by
 * sums of floats or doubles. */
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

/* Whether taps are likely to be summed from smoothed samples: those of a long gaussian, of bytes. */
static bool
are_smoothed (const SepconvWork *work, double taps)
{
  return work->depth <= 8 && work->jump < 0.05
      && taps >= 2 * ROWS_FIT_LEAST_REACH + 1
      && work->longest <= 2 * ROWS_FIT_MOST_REACH + 1;
}

/* Picoseconds a sample with two threads, where samples deeper than 12 bits are summed as floats. Baseline
 * and AVX2 are measured with 8, 10 and 16 bits. AVX-512's integers are older figures, and its floats are taken as
 * half of AVX2's. Those of smoothed samples, and of multirate-simd, are from a newer machine, by their ratios to
 * the others. */
static double
simd_cost (const SepconvWork *work)
{
  const Isa isa = isa_best ();
  const double taps = sepconv_mean_taps (work);
  const bool floats = work->depth > 12, smoothed = are_smoothed (work, taps);
  double each;

  if (isa >= ISA_AVX512)
    each = floats  ? 250.0 + 21.0 * taps
        : smoothed ? 170.0 + 12.6 * taps
                   : 100.0 + 18.0 * taps;
  else if (isa == ISA_AVX2)
    each = floats  ? 500.0 + 42.0 * taps
        : smoothed ? 200.0 + 9.6 * taps
                   : 60.0 + 20.0 * taps;
  else
    each = floats  ? 900.0 + 80.0 * taps
        : smoothed ? 350.0 + 17.5 * taps
                   : 60.0 + 40.0 * taps;
  return work->samples * each;
}

const SepconvMethodOps sepconv_simd_ops = {
  .cost = simd_cost,
  .prepare = simd_prepare,
  .release = rows_release,
  .run = rows_run,
};
