/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* instructions: GPU instructions that CUDA C++ has no function for. Source: PTX ISA 8, the
 * sections on mma.m16n8k16, mma.m16n8k32, ldmatrix, stmatrix, cp.async, cvt, cvt.pack, dp4a
 * and dp2a.
 *
 * Lane l of a warp has g = l / 4 and t = l % 4. Fragments of FP16 matrices have two
 * neighbours of a row in one register, the left one in the low half. As (row, column):
 *
 *   A 16 x 16  x (g, 2t..)  y (g + 8, 2t..)  z (g, 2t + 8..)  w (g + 8, 2t + 8..)
 *   B 16 x 8   low (2t.., g)  high (2t + 8.., g): neighbours of a column
 *   C 16 x 8   0, 1 (g, 2t..)  2, 3 (g + 8, 2t..), single precision
 *
 * Fragments of matrices of bytes have four neighbours of a row of A, or of a column of B, in one
 * register:
 *
 *   A 16 x 32  x (g, 4t..)  y (g + 8, 4t..)  z (g, 4t + 16..)  w (g + 8, 4t + 16..)
 *   B 32 x 8   low (4t.., g)  high (4t + 16.., g)
 *   C 16 x 8   as above, integers */
#ifndef INSTRUCTIONS_CUH
#define INSTRUCTIONS_CUH

#include "../gpu-launch.cuh"

#include <stdint.h>

/* The compute capability of tensor cores with these shapes, and of copies that bypass registers. */
#define INSTRUCTIONS_CAPABILITY 80

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* The address row + y * stride, in one instruction. */
__device__ __forceinline__ const uint8_t *
row_address (const uint8_t *row, int y, int stride)
{
  const uint8_t *address;

  asm("mad.wide.s32 %0, %1, %2, %3;"
      : "=l"(address)
      : "r"(y), "r"(stride), "l"(row));
  return address;
}

/* Starts a copy of the first `bytes` of 16 bytes, and zeroes the rest. The L2 fetches the 128 bytes
 * around them, as neighbouring threads need the others. */
__device__ __forceinline__ void
copy_async (void *shared, const void *global, int bytes)
{
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
                   gpu_shared_address (shared)),
               "l"(global), "r"(bytes)
               : "memory");
}

/* Starts a copy of 16 bytes, in fewer instructions. */
__device__ __forceinline__ void
copy_async_whole (void *shared, const void *global)
{
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                   gpu_shared_address (shared)),
               "l"(global)
               : "memory");
}

/* Starts a copy of the first `bytes` of a word, and zeroes the rest. */
__device__ __forceinline__ void
copy_async_word (void *shared, const void *global, int bytes)
{
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                   gpu_shared_address (shared)),
               "l"(global), "r"(bytes)
               : "memory");
}

/* Ends a group of copies that this thread has started. */
__device__ __forceinline__ void
copy_async_commit ()
{
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until no more than N groups of this thread are in flight. */
template <int N>
__device__ __forceinline__ void
copy_async_wait ()
{
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Loads 8 x 8 matrices of FP16. `row` is the address of a row of 16 bytes: lanes 0 to 7 give
 * the rows of the first matrix, the next 8 lanes those of the second, and so on. Of each
 * matrix, lane l gets bytes 4t to 4t + 3 of row g. */
__device__ __forceinline__ void
load_matrices (uint32_t (&to)[4], const void *row)
{
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
      : "r"(gpu_shared_address (row))
      : "memory");
}

__device__ __forceinline__ void
load_matrices (uint32_t (&to)[2], const void *row)
{
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(gpu_shared_address (row))
               : "memory");
}

/* Whether the GPU has an instruction for store_matrices(). */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define STORES_MATRICES true
#else
#define STORES_MATRICES false
#endif

/* store_matrices() stores four such matrices: COLUMNS side by side, the others 8 rows below, with
 * rows PITCH bytes apart. AT_ONCE: by one instruction, if there is one. `to` is, for each lane, the
 * first byte of all plus matrices_offset(). */
template <int PITCH, int COLUMNS, bool AT_ONCE>
__device__ __forceinline__ int
matrices_offset (int lane)
{
  const int m = lane / 8;

  return STORES_MATRICES && AT_ONCE
      ? (lane % 8 + m / COLUMNS * 8) * PITCH + m % COLUMNS * 16
      : lane / 4 * PITCH + lane % 4 * 4;
}

template <int PITCH, int COLUMNS, bool AT_ONCE>
__device__ __forceinline__ void
store_matrices (uint8_t *to, const uint32_t (&from)[4])
{
  if constexpr (STORES_MATRICES && AT_ONCE)
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::
            "r"(gpu_shared_address (to)),
        "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
        : "memory");
  else
#pragma unroll
    for (int i = 0; i < 4; i++)
      *(uint32_t *) (to + i / COLUMNS * 8 * PITCH + i % COLUMNS * 16) = from[i];
}

/* to += a * b */
__device__ __forceinline__ void
multiply_matrices_add (
    float (&to)[4], const uint4 &a, uint32_t low, uint32_t high)
{
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(low), "r"(high));
}

/* to = start + a * b, where a has unsigned bytes and b signed ones. */
__device__ __forceinline__ void
multiply_bytes_add (int (&to)[4], const int (&start)[4], const uint4 &a,
    uint32_t low, uint32_t high)
{
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(low), "r"(high),
      "r"(start[0]), "r"(start[1]), "r"(start[2]), "r"(start[3]));
}

/* to += a * b, where both have unsigned bytes. */
__device__ __forceinline__ void
multiply_unsigned_bytes_add (
    int (&to)[4], const uint4 &a, uint32_t low, uint32_t high)
{
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(to[0]), "+r"(to[1]), "+r"(to[2]), "+r"(to[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(low), "r"(high));
}

/* The sum of `sum` and the products of four unsigned bytes and four signed ones. */
__device__ __forceinline__ uint32_t
add_products_of_bytes (uint32_t bytes, uint32_t by, uint32_t sum)
{
  asm("dp4a.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(bytes), "r"(by));
  return sum;
}

/* The same for two unsigned 16-bit integers and the two low bytes of `by`. */
__device__ __forceinline__ uint32_t
add_products_of_pair (uint32_t pair, uint32_t by, uint32_t sum)
{
  asm("dp2a.lo.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(pair), "r"(by));
  return sum;
}

/* Two floats as FP16 numbers ("halves"), `low` in the low half of the word. */
__device__ __forceinline__ uint32_t
pack_halves (float low, float high)
{
  uint32_t packed;

  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/* Two halves as floats. */
__device__ __forceinline__ void
floats_of_halves (uint32_t halves, float &low, float &high)
{
  asm("{\n"
      ".reg .b16 low, high;\n"
      "mov.b32 {low, high}, %2;\n"
      "cvt.f32.f16 %0, low;\n"
      "cvt.f32.f16 %1, high;\n"
      "}"
      : "=f"(low), "=f"(high)
      : "r"(halves));
}

/* The lower part of the FP16 hi/lo split of two floats, as halves: the floats less `halves`, which
 * pack_halves() made of them. */
__device__ __forceinline__ uint32_t
rest_of_halves (uint32_t halves, float low, float high)
{
  float of_low, of_high;

  floats_of_halves (halves, of_low, of_high);
  return pack_halves (low - of_low, high - of_high);
}

/* The sum of the two halves of a word. */
__device__ __forceinline__ float
sum_of_halves (uint32_t halves)
{
  float low, high;

  floats_of_halves (halves, low, high);
  return low + high;
}

/* a * b for two halves each, rounded. */
__device__ __forceinline__ uint32_t
multiply_halves (uint32_t a, uint32_t b)
{
  uint32_t product;

  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}

/* a + b for two halves each, rounded. */
__device__ __forceinline__ uint32_t
add_halves (uint32_t a, uint32_t b)
{
  uint32_t sum;

  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}

/* a - b for two halves each, rounded. */
__device__ __forceinline__ uint32_t
subtract_halves (uint32_t a, uint32_t b)
{
  uint32_t difference;

  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(difference) : "r"(a), "r"(b));
  return difference;
}

/* a * b + c for two halves each, rounded once. */
__device__ __forceinline__ uint32_t
multiply_add_halves (uint32_t a, uint32_t b, uint32_t c)
{
  uint32_t sum;

  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}

/* pack_halves() of max (value, 0). */
__device__ __forceinline__ uint32_t
pack_halves_above_zero (float low, float high)
{
  uint32_t packed;

  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/* Whether pack_bytes() is one instruction. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 860
#define PACKS_BYTES true
#else
#define PACKS_BYTES false
#endif

/* Two floats, rounded and saturated to 0 to 255, as the two low bytes of a word, `low` as the
 * lowest; the lower half of `rest` becomes the upper half. */
__device__ __forceinline__ uint32_t
pack_bytes (float low, float high, uint32_t rest)
{
  uint32_t packed;

  asm("{\n"
      ".reg .s32 low, high;\n"
      "cvt.rni.s32.f32 low, %1;\n"
      "cvt.rni.s32.f32 high, %2;\n"
      "cvt.pack.sat.u8.s32.b32 %0, high, low, %3;\n"
      "}"
      : "=r"(packed)
      : "f"(low), "f"(high), "r"(rest));
  return packed;
}

/* One half of a register, 0 the low one, as a float. */
template <int I>
__device__ __forceinline__ float
half_of (uint32_t halves)
{
  float value;

  static_assert (I == 0 || I == 1, "a register has two halves");
  if constexpr (I == 0)
    asm("{\n"
        ".reg .f16 low, high;\n"
        "mov.b32 {low, high}, %1;\n"
        "cvt.f32.f16 %0, low;\n"
        "}"
        : "=f"(value)
        : "r"(halves));
  else
    asm("{\n"
        ".reg .f16 low, high;\n"
        "mov.b32 {low, high}, %1;\n"
        "cvt.f32.f16 %0, high;\n"
        "}"
        : "=f"(value)
        : "r"(halves));
  return value;
}

/* The reciprocal, off by at most 1 ulp. */
__device__ __forceinline__ float
approximate_reciprocal (float value)
{
  float reciprocal;

  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(value));
  return reciprocal;
}

/* The square root, off by at most 1 or 2 ulp. */
__device__ __forceinline__ float
approximate_root (float value)
{
  float root;

  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(value));
  return root;
}

/* Turns two halves, not below zero, into two 16-bit integers: each half less 1024, clamped to
 * 0 to `most`, which has two integers up to 1023. Halves above 1024 are integers already. Only the
 * low 10 bits of each result are valid. */
__device__ __forceinline__ uint32_t
codes_of_halves (uint32_t halves, uint32_t most)
{
#if __CUDA_ARCH__ >= 900
  /* Subtracts 0x6400, the bits of 1024, from each. */
  return __viaddmin_s16x2_relu (halves, 0x9c009c00u, most);
#else
  constexpr uint32_t zero = 0x64006400u;
  uint32_t codes;

  asm("max.f16x2 %0, %1, %2;" : "=r"(codes) : "r"(halves), "r"(zero));
  asm("min.f16x2 %0, %0, %1;" : "+r"(codes) : "r"(zero | most));
  return codes;
#endif
}

#endif

#endif
