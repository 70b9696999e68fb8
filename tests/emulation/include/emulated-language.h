/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of CUDA C++ that the engine's kernels use, on the host. */
#pragma once

#include <cuda_runtime_api.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__ ((noinline))
#define __launch_bounds__(...)

struct uint3
{
  unsigned x, y, z;
};

struct alignas (8) uint2
{
  unsigned x, y;
};

struct alignas (16) uint4
{
  unsigned x, y, z, w;
};

struct dim3
{
  unsigned x, y, z;

  dim3 (unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1)
      : x (x_), y (y_), z (z_)
  {
  }
};

struct alignas (8) float2
{
  float x, y;
};

struct alignas (16) float4
{
  float x, y, z, w;
};

static inline float2
make_float2 (float x, float y)
{
  return { x, y };
}

static inline float4
make_float4 (float x, float y, float z, float w)
{
  return { x, y, z, w };
}

static inline uint2
make_uint2 (unsigned x, unsigned y)
{
  return { x, y };
}

static inline uint4
make_uint4 (unsigned x, unsigned y, unsigned z, unsigned w)
{
  return { x, y, z, w };
}

/* Hidden, so that they are not bound to another library's symbols at run time. */
#pragma GCC visibility push(hidden)

/* Indices of the emulated thread that is running. */
extern uint3 threadIdx, blockIdx;
extern dim3 gridDim, blockDim;

/* All threads of the block, or of the warp, must reach these, and each must call them
 * equally often. */
void __syncthreads ();
void __syncwarp (unsigned mask = 0xffffffffu);
int __shfl_sync (unsigned mask, int value, int lane);
unsigned __shfl_up_sync (unsigned mask, unsigned value, unsigned step);

#pragma GCC visibility pop

/* Not atomic: emulated threads switch only at barriers. */
template <typename T>
static inline T
atomicAdd (T *at, T value)
{
  const T before = *at;

  *at += value;
  return before;
}

static inline int
atomicMin (int *at, int value)
{
  const int before = *at;

  *at = value < before ? value : before;
  return before;
}

static inline int
atomicMax (int *at, int value)
{
  const int before = *at;

  *at = value > before ? value : before;
  return before;
}

template <typename T>
static inline T
atomicExch (T *at, T value)
{
  const T before = *at;

  *at = value;
  return before;
}

static inline void
__threadfence ()
{
}

/* Shifts the 64-bit word high:low right by up to 31 bits and returns its low word. */
static inline uint32_t
__funnelshift_r (uint32_t low, uint32_t high, uint32_t bits)
{
  return (uint32_t) (((uint64_t) high << 32 | low) >> (bits & 31));
}

/* Position of the lowest set bit, counted from 1; 0: no bit is set. */
static inline int
__ffs (int bits)
{
  return __builtin_ffs (bits);
}

/* The number of zero bits above the highest set bit; 32: no bit is set. */
static inline int
__clz (int bits)
{
  return bits == 0 ? 32 : __builtin_clz ((unsigned) bits);
}

/* The number of bits that are set. */
static inline int
__popc (unsigned bits)
{
  return __builtin_popcount (bits);
}

/* c plus the sum of the products of the words' bytes. */
static inline uint32_t
__dp4a (uint32_t a, uint32_t b, uint32_t c)
{
  for (int i = 0; i < 32; i += 8)
    c += (a >> i & 0xff) * (b >> i & 0xff);
  return c;
}

/* Whether the running kernel was launched early (programmatic dependent launch): memory
 * may then have changed since the kernel began, so that it must not read through the
 * non-coherent path. */
extern bool emulated_is_early __attribute__ ((visibility ("hidden")));

template <typename T>
static inline T
__ldg (const T *at)
{
  /* A GPU would trap, or read stale data. */
  if ((uintptr_t) at % alignof (T) != 0 || emulated_is_early)
    abort ();
  return *at;
}

static inline float
__fmaf_rn (float a, float b, float c)
{
  return fmaf (a, b, c);
}

static inline double
__fma_rn (double a, double b, double c)
{
  return fma (a, b, c);
}

/* Conversions saturate. */
static inline int
__double2int_rn (double a)
{
  return a >= 2147483647.0 ? 2147483647
      : a <= -2147483648.0 ? -2147483647 - 1
                           : (int) rint (a);
}

static inline int
__float2int_rn (float a)
{
  return __double2int_rn (a);
}

/* NaN becomes 0. */
static inline float
__saturatef (float a)
{
  return a > 0.0f ? a < 1.0f ? a : 1.0f : 0.0f;
}

static inline float
__uint_as_float (uint32_t bits)
{
  float a;

  memcpy (&a, &bits, sizeof a);
  return a;
}

static inline uint32_t
__float_as_uint (float a)
{
  uint32_t bits;

  memcpy (&bits, &a, sizeof bits);
  return bits;
}

/* Byte i of the result is the one of the eight bytes of a and b that nibble i of
 * `selector` selects. */
static inline uint32_t
__byte_perm (uint32_t a, uint32_t b, uint32_t selector)
{
  const uint64_t bytes = a | (uint64_t) b << 32;
  uint32_t result = 0;

  for (int i = 0; i < 4; i++)
    result |= (uint32_t) (bytes >> (8 * (selector >> 4 * i & 7)) & 0xff)
        << 8 * i;
  return result;
}

template <typename T>
static inline T
min (T a, T b)
{
  return a < b ? a : b;
}

template <typename T>
static inline T
max (T a, T b)
{
  return a > b ? a : b;
}

/* Reads an unconverted texel of a texture of cudaCreateTextureObject(). */
uint4 emulated_fetch (cudaTextureObject_t object, float x, float y);

template <typename T>
static inline T
tex2D (cudaTextureObject_t object, float x, float y)
{
  /* The same restriction as for __ldg(). */
  if (emulated_is_early)
    abort ();
  return emulated_fetch (object, x, y);
}
