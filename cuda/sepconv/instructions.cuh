/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* instructions: those of the GPU that C++ has no name for. Source: PTX ISA 8, the
 * sections on mma.m16n8k16, ldmatrix, cp.async and cvt.
 *
 * Lane l of a warp is g = l / 4, t = l % 4. Fragments of half-precision matrices,
 * two neighbours of a row in one register, the left one in the low half:
 *
 *   A 16 x 16  x (g, 2t..)  y (g + 8, 2t..)  z (g, 2t + 8..)  w (g + 8, 2t + 8..)
 *   B 16 x 8   low (2t.., g)  high (2t + 8.., g): neighbours of a column
 *   C 16 x 8   0, 1 (g, 2t..)  2, 3 (g + 8, 2t..), single precision */
#ifndef INSTRUCTIONS_CUH
#define INSTRUCTIONS_CUH

#include "../gpu-launch.cuh"

#include <stdint.h>

/* Tensor cores with these shapes, and copies that bypass registers. */
#define INSTRUCTIONS_CAPABILITY 80

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* Starts a copy of the first `bytes` of 16, and zeroes the rest. Memory is asked for the
 * 128 bytes around them: neighbours want the others. */
__device__ __forceinline__ void
copy_async (void *shared, const void *global, int bytes)
{
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
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

/* Waits until no more than N groups of this thread are under way. */
template <int N>
__device__ __forceinline__ void
copy_async_wait ()
{
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* Each 8 x 8 matrix has its rows of 16 bytes at the addresses that 8 lanes give,
 * lanes 0 to 7 for the first; lane l gets bytes 4t to 4t + 3 of row g. */
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

/* Two floats as halves, `low` in the low half. */
__device__ __forceinline__ uint32_t
pack_halves (float low, float high)
{
  uint32_t packed;

  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/* The same of max (value, 0). */
__device__ __forceinline__ uint32_t
pack_halves_above_zero (float low, float high)
{
  uint32_t packed;

  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/* Two halves not below zero as codes: what each is above 1024, rounded as it was to a
 * half, from 0 to `most`, two integers up to 1023. Above their low 10 bits is nothing
 * to rely on. */
__device__ __forceinline__ uint32_t
codes_of_halves (uint32_t halves, uint32_t most)
{
#if __CUDA_ARCH__ >= 900
  /* Less 0x6400, the bits of 1024. */
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
