/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensor-kernel: the kernel, and the table of its variants. */
#pragma once

#include "tensor-counting.cuh"
#include "tensor-march.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * GPU_EARLY_CAPABILITY
#define MAY_COUNT true
#else
#define MAY_COUNT false
#endif

/* FOUR: for planes of four channels, which need other numbers of registers than the
 * others. COUNTS: whether and when the result, which then is a whole image, is counted on
 * the way; the kernel is empty where no launch MAY_COUNT. */
template <int KS, int PARTS, int BYTES, bool FOUR, bool WIDE, Counting COUNTS,
    bool DEEP>
static __global__ void
__launch_bounds__ (STRIP_THREADS, blocks_at_once (KS, BYTES, FOUR, WIDE, DEEP))
    tensor_strips (GPU_PARAMETER TensorFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  if constexpr (MAY_COUNT || COUNTS == COUNT_NOT) {
    GPU_DYNAMIC_SHARED (uint8_t, memory);
    uint32_t *const counters = (uint32_t *) memory;
    uint8_t *const shared = memory + counting_bytes (COUNTS);
    unsigned turns;

    gpu_admit_next ();
    const TensorPlane &plane = frame.plane[FOUR ? 0 : strip_find_plane (frame)];

    if constexpr (FOUR)
      turns = march<Shape<KS, PARTS, BYTES, 4, WIDE, DEEP>,
          CountingSink<COUNTS, 4>> (frame, plane, shared, counters);
    else if (plane.strip.channels == 1)
      turns = march<Shape<KS, PARTS, BYTES, 1, WIDE, DEEP>,
          CountingSink<COUNTS, 1>> (frame, plane, shared, counters);
    else
      turns = march<Shape<KS, PARTS, BYTES, 2, WIDE, DEEP>,
          CountingSink<COUNTS, 2>> (frame, plane, shared, counters);
    if constexpr (COUNTS == COUNT_NOT)
      gpu_end_in_turn ();
    else if constexpr (FOUR)
      CountingSink<COUNTS, 4>::end (frame.tally, plane, turns, counters);
    else if (plane.strip.channels == 1)
      CountingSink<COUNTS, 1>::end (frame.tally, plane, turns, counters);
    else
      CountingSink<COUNTS, 2>::end (frame.tally, plane, turns, counters);
  }
#endif
}

/* Bytes of shared memory: the most that a block can have on every GPU of
 * INSTRUCTIONS_CAPABILITY, and the bytes that each block takes beside its own. */
#define LEAST_SHARED (99 * 1024)
#define SHARED_OF_SYSTEM 1024

struct Variant
{
  /* By counting mode; NULL: there is none. Kernels that count need TALLY_SHARED_BYTES
   * more. */
  void (*kernel[N_COUNTINGS]) (TensorFrame);
  int steps, parts, sample_bytes;
  bool four;       /* whether planes have four channels; else one or two */
  bool wide, deep; /* as Shape has them */
  int shared;      /* bytes per block */
  int pixels[IMAGE_MAX_CHANNELS + 1]; /* per block, by channels; or 0 */
};

/* Only the most common variants can count: samples of bytes, and taps that need no second
 * part; and only launches that overlap, since launches in order gain nothing. */
template <int KS, int PARTS, int BYTES, bool FOUR, bool WIDE, Counting COUNTS>
static constexpr auto
counting_kernel () -> void (*) (TensorFrame)
{
  if constexpr (PARTS == 1 && BYTES == 1
      && (COUNTS == COUNT_WRITTEN || counts_put (KS)))
    return tensor_strips<KS, PARTS, BYTES, FOUR, WIDE, COUNTS, false>;
  else
    return NULL;
}

template <int KS, int PARTS, int BYTES, bool WIDE = false, bool DEEP = false>
static constexpr Variant
variant ()
{
  typedef Shape<KS, PARTS, BYTES, 1, WIDE, DEEP> S1;
  typedef Shape<KS, PARTS, BYTES, 2, WIDE, DEEP> S2;
  constexpr int shared = S1::SHARED > S2::SHARED ? S1::SHARED : S2::SHARED;

  static_assert (WIDE || shared <= LEAST_SHARED, "all GPUs have it");
  return { { tensor_strips<KS, PARTS, BYTES, false, WIDE, COUNT_NOT, DEEP>,
               counting_kernel<KS, PARTS, BYTES, false, WIDE, COUNT_WRITTEN> (),
               counting_kernel<KS, PARTS, BYTES, false, WIDE, COUNT_PUT> () },
    KS, PARTS, BYTES, false, WIDE, DEEP, shared,
    { 0, S1::PIXELS, S2::PIXELS, 0, 0 } };
}

template <int KS, int PARTS, bool WIDE = false, bool DEEP = false>
static constexpr Variant
variant_of_four ()
{
  constexpr int bytes = DEEP ? 2 : 1;
  typedef Shape<KS, PARTS, bytes, 4, WIDE, DEEP> S;

  static_assert (WIDE || S::SHARED <= LEAST_SHARED, "all GPUs have it");
  return { { tensor_strips<KS, PARTS, bytes, true, WIDE, COUNT_NOT, DEEP>,
               counting_kernel<KS, PARTS, bytes, true, WIDE, COUNT_WRITTEN> (),
               counting_kernel<KS, PARTS, bytes, true, WIDE, COUNT_PUT> () },
    KS, PARTS, bytes, true, WIDE, DEEP, S::SHARED, { 0, 0, 0, 0, S::PIXELS } };
}

template <int KS>
static constexpr Variant
deep_variant ()
{
  return variant<KS, 2, 2, false, true> ();
}

template <int KS>
static constexpr Variant
deep_variant_of_four ()
{
  return variant_of_four<KS, 2, false, true> ();
}

/* Ordered by parts, then by steps, wide ones before the others: the first that suits is taken.
 * Taps for samples of two bytes always have two parts: 10 bits need them. */
static const Variant variants[] = {
  variant<2, 1, 1> (),
  variant<3, 1, 1> (),
  variant<5, 1, 1> (),
  variant<9, 1, 1, true> (),
  variant<9, 1, 1> (),
  variant<2, 2, 1> (),
  variant<3, 2, 1> (),
  variant<5, 2, 1> (),
  variant<9, 2, 1, true> (),
  variant<9, 2, 1> (),
  variant<2, 2, 2> (),
  variant<3, 2, 2> (),
  variant<5, 2, 2> (),
  variant<9, 2, 2, true> (),
  variant<9, 2, 2> (),
  variant_of_four<2, 1> (),
  variant_of_four<3, 1, true> (),
  variant_of_four<3, 1> (),
  variant_of_four<5, 1> (),
  variant_of_four<9, 1> (),
  variant_of_four<2, 2> (),
  variant_of_four<3, 2, true> (),
  variant_of_four<3, 2> (),
  variant_of_four<5, 2> (),
  variant_of_four<9, 2> (),
  deep_variant<2> (),
  deep_variant<3> (),
  deep_variant<5> (),
  deep_variant<9> (),
  deep_variant_of_four<2> (),
  deep_variant_of_four<3> (),
  deep_variant_of_four<5> (),
  deep_variant_of_four<9> (),
};

#define N_VARIANTS ((int) (sizeof variants / sizeof variants[0]))
