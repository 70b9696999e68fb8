/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strip: what the methods share that do both passes in one kernel.
 *
 * All planes of a frame go into one launch. A plane is cut into columns, and each
 * column into strips; a block marches down its strip, a stage of rows at a time.
 * The rows come through a ring of stages in shared memory, as bytes as they lie in
 * the source: pixels outside the image are put in there, so that the arithmetic
 * knows no borders.
 *
 * Planes must be packed: the pixels of a row follow each other without a gap, and so
 * do the channels of a pixel. Rows at multiples of 16 bytes are copied as such, in the
 * background where the GPU can (capability 8.0). */
#pragma once

#include "method.h"

#include "border.h"
#include "instructions.cuh"

#define STRIP_WARPS 4
#define STRIP_THREADS (32 * STRIP_WARPS)
#define STRIP_ROWS 16
/* Rows on their way: enough for the latency of memory with a few blocks. */
#define STRIP_STAGES 4

/* What is copied of a row repeats after so many times eight bytes, whatever the size of
 * a pixel. */
#define STRIP_KEEP 3

/* A kernel's parameter that functions take the address of. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define STRIP_PARAMETER const __grid_constant__
#else
#define STRIP_PARAMETER const
#endif

struct StripPlane
{
  const uint8_t *src;
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int width, height; /* pixels, rows of the source */
  int row_bytes;     /* that are the plane's */
  ImageRows result;
  int channels, sample_bytes, shift, max_code;
  bool filter;                  /* any channel; else the plane is copied */
  bool src_aligned;             /* to 16 bytes, all rows */
  bool dst_aligned;             /* to 8 */
  bool keeps;                   /* some bits of `keep` are set */
  uint32_t keep[STRIP_KEEP][2]; /* of 24 bytes, the bits that are copied */
  uint16_t border[4];           /* raw samples outside, for SEPCONV_CONSTANT */
  int margin; /* pixels left and right of the image that results depend on */

  int first_block; /* of the launch */
  int columns;     /* blocks side by side */
  int strip_rows;  /* rows of one strip, a multiple of STRIP_ROWS */
};

/* The size of a stage: `chunks` times 16 bytes of each row, rows `pitch` bytes apart;
 * whole pixels. */
struct StripStage
{
  int rows, chunks, pitch;
};

/* An odd multiple of 16 bytes, so that ldmatrix finds 8 rows in different banks. */
static __host__ __device__ constexpr int
strip_pitch (int chunks)
{
  return 16 * (chunks | 1);
}

/* Which part of a plane a block has. */
struct StripPlace
{
  int column;
  int first, last; /* rows of the result */
};

__device__ __forceinline__ StripPlace
strip_place (const StripPlane &plane)
{
  const int block = blockIdx.x - plane.first_block;
  const int strip = block / plane.columns;
  StripPlace place;

  place.column = block - strip * plane.columns;
  place.first = plane.result.first + strip * plane.strip_rows;
  place.last = min (place.first + plane.strip_rows, plane.result.last);
  return place;
}

__device__ __forceinline__ void
strip_copy_bytes (uint8_t *to, const uint8_t *from, int n)
{
  for (int i = 0; i < n; i++)
    to[i] = from[i];
}

/* Writes one pixel of the constant border. */
__device__ __forceinline__ void
strip_put_border (const StripPlane &plane, uint8_t *to)
{
  for (int c = 0; c < plane.channels; c++)
    if (plane.sample_bytes == 1)
      to[c] = (uint8_t) plane.border[c];
    else
      ((uint16_t *) to)[c] = plane.border[c];
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* Starts a copy of the first `bytes` of 16, and zeroes the rest. */
__device__ __forceinline__ void
strip_copy_chunk (uint8_t *to, const uint8_t *from, int bytes)
{
  copy_async (to, from, bytes);
}

/* Ends a group of copies that this thread has started. */
__device__ __forceinline__ void
strip_commit ()
{
  copy_async_commit ();
}

/* Waits until no more than N groups of this thread are under way. */
template <int N>
__device__ __forceinline__ void
strip_wait ()
{
  copy_async_wait<N> ();
}

#else

__device__ __forceinline__ void
strip_copy_chunk (uint8_t *to, const uint8_t *from, int bytes)
{
  if (bytes == 16)
    *(uint4 *) to = *(const uint4 *) from;
  else
    strip_copy_bytes (to, from, bytes);
}

__device__ __forceinline__ void
strip_commit ()
{
}

template <int N>
__device__ __forceinline__ void
strip_wait ()
{
}

#endif

/* Puts a stage in whose first pixel is (x0, y0), pixel by pixel. */
static __device__ __noinline__ void
strip_gather (const StripPlane &plane, SepconvBorder border, int x0, int y0,
    uint8_t *stage, StripStage size)
{
  const int pixel = plane.channels * plane.sample_bytes;
  const int n = size.chunks * 16 / pixel;

  for (int i = threadIdx.x; i < size.rows * n; i += STRIP_THREADS) {
    const int r = i / n, p = i - r * n;
    const int x = border_index (x0 + p, plane.width, border);
    const int y = border_index (y0 + r, plane.height, border);
    uint8_t *to = stage + r * size.pitch + p * pixel;

    if (x < 0 || y < 0)
      strip_put_border (plane, to);
    else
      strip_copy_bytes (
          to, plane.src + y * plane.src_stride + x * pixel, pixel);
  }
}

/* strip_load() where some rows lie outside, or rows are not aligned. */
static __device__ __noinline__ void
strip_load_edge (const StripPlane &plane, SepconvBorder border, int x0, int y0,
    uint8_t *stage, StripStage size)
{
  const int pixel = plane.channels * plane.sample_bytes;

  if (!plane.src_aligned) {
    strip_gather (plane, border, x0, y0, stage, size);
    return;
  }
  for (int r = threadIdx.x / 32; r < size.rows; r += STRIP_WARPS) {
    const int y = border_index (y0 + r, plane.height, border);
    const uint8_t *row = plane.src + max (y, 0) * plane.src_stride;

    for (int c = threadIdx.x % 32; c < size.chunks; c += 32) {
      const int at = x0 * pixel + 16 * c;
      const int n = min (plane.row_bytes - at, 16);

      if (at >= 0 && n > 0)
        strip_copy_chunk (stage + r * size.pitch + 16 * c, row + at, n);
    }
  }
}

/* Starts to load a stage whose first pixel is (x0, y0), x0 at a multiple of 16 bytes.
 * What lies outside the image is left to strip_fill(). The whole block. */
__device__ __forceinline__ void
strip_load (const StripPlane &plane, SepconvBorder border, int x0, int y0,
    uint8_t *stage, StripStage size)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first = x0 * plane.channels * plane.sample_bytes + 16 * lane;
  const uint8_t *from = plane.src + (y0 + warp) * plane.src_stride + first;
  uint8_t *to = stage + warp * size.pitch + 16 * lane;

  if (!plane.src_aligned || y0 < 0 || y0 + size.rows > plane.height) {
    strip_load_edge (plane, border, x0, y0, stage, size);
    return;
  }
#pragma unroll
  for (int c = 0; c < size.chunks; c += 32) {
    const int n = min (plane.row_bytes - (first + 16 * c), 16);

    if (c + lane < size.chunks && first + 16 * c >= 0 && n > 0)
#pragma unroll
      for (int r = 0; r < size.rows; r += STRIP_WARPS)
        strip_copy_chunk (
            to + r * size.pitch + 16 * c, from + r * plane.src_stride + 16 * c, n);
  }
}

/* Whether a stage has pixels that strip_load() does not load. */
__device__ __forceinline__ bool
strip_has_outside (const StripPlane &plane, SepconvBorder border, int x0,
    int y0, StripStage size)
{
  const int pixel = plane.channels * plane.sample_bytes;

  return plane.src_aligned
      && (x0 < 0 || x0 + size.chunks * 16 / pixel > plane.width
          || (border == SEPCONV_CONSTANT
              && (y0 < 0 || y0 + size.rows > plane.height)));
}

/* Puts in what lies outside the image, of a stage that has been loaded. The whole
 * block; a barrier must come before and after. */
static __device__ __noinline__ void
strip_fill (const StripPlane &plane, SepconvBorder border, int x0, int y0,
    uint8_t *stage, StripStage size)
{
  const int pixel = plane.channels * plane.sample_bytes;
  const int n = size.chunks * 16 / pixel;
  /* Rows outside are constant through and through. */
  const bool whole =
      border == SEPCONV_CONSTANT && (y0 < 0 || y0 + size.rows > plane.height);
  /* What lies further out counts for no result. */
  const int first = min (max (-plane.margin - x0, 0), n);
  const int last = max (min (plane.width + plane.margin - x0, n), first);
  const int left = whole ? last : min (max (-x0, first), last);
  const int right = min (max (plane.width - x0, left), last);
  const int outside = left - first + last - right;

  /* A thread has one column of every STRIP_WARPS-th row: long kernels have so much
   * outside that finding it once for several rows is worth it. */
  for (int i = threadIdx.x; i < STRIP_WARPS * outside; i += STRIP_THREADS) {
    const int k = first + i / STRIP_WARPS;
    const int p = k < left ? k : right + k - left;
    const int x = border_index (x0 + p, plane.width, border);

    for (int r = i % STRIP_WARPS; r < size.rows; r += STRIP_WARPS) {
      const int y = border_index (y0 + r, plane.height, border);
      uint8_t *to = stage + r * size.pitch + p * pixel;

      if (x < 0 || y < 0)
        strip_put_border (plane, to);
      else if (x >= x0 && x < x0 + n)
        strip_copy_bytes (to, stage + r * size.pitch + (x - x0) * pixel, pixel);
      else
        strip_copy_bytes (
            to, plane.src + y * plane.src_stride + x * pixel, pixel);
    }
  }
}

/* Eight bytes of the source's row, of which those in [0, row_bytes) exist. */
__device__ __forceinline__ uint2
strip_read (const StripPlane &plane, const uint8_t *row, int at)
{
  uint2 value = make_uint2 (0, 0);

  if (plane.src_aligned && at >= 0 && at + 8 <= plane.row_bytes)
    return *(const uint2 *) (row + at);
  for (int i = 0; i < 8; i++)
    if (at + i >= 0 && at + i < plane.row_bytes)
      ((uint8_t *) &value)[i] = row[at + i];
  return value;
}

/* Writes eight bytes at byte `at` of row y, a multiple of 8; what is not to be filtered
 * is taken from the source. */
static __device__ __noinline__ void
strip_write_edge (const StripPlane &plane, int y, int at, uint2 value)
{
  uint8_t *row = plane.dst + y * plane.dst_stride;

  if (plane.keeps) {
    const uint2 from = strip_read (plane, plane.src + y * plane.src_stride, at);
    const uint32_t *keep = plane.keep[(unsigned) at / 8 % STRIP_KEEP];

    value.x = (value.x & ~keep[0]) | (from.x & keep[0]);
    value.y = (value.y & ~keep[1]) | (from.y & keep[1]);
  }
  if (plane.dst_aligned && at >= 0 && at + 8 <= plane.row_bytes) {
    *(uint2 *) (row + at) = value;
    return;
  }
  for (int i = 0; i < 8; i++)
    if (at + i >= 0 && at + i < plane.row_bytes)
      row[at + i] = (uint8_t) ((i < 4 ? value.x : value.y) >> (8 * (i % 4)));
}

__device__ __forceinline__ void
strip_write (const StripPlane &plane, int y, int at, uint2 value)
{
  if (plane.dst_aligned && !plane.keeps && at >= 0 && at + 8 <= plane.row_bytes)
    *(uint2 *) (plane.dst + y * plane.dst_stride + at) = value;
  else
    strip_write_edge (plane, y, at, value);
}

/* Writes STRIP_ROWS rows of CHUNKS times 16 bytes from a warp's buffer to row y and
 * byte `at`, a multiple of 8, as far as they are in rows [first, last) and in the
 * image. The whole warp. */
template <int CHUNKS, int PITCH>
__device__ __forceinline__ void
strip_write_rows (const StripPlane &plane, const uint8_t *rows, int y,
    int first, int last, int at)
{
  const int n = 2 * CHUNKS, step = 32 / n; /* pieces and rows of a warp */
  const int lane = threadIdx.x % 32;
  const int r0 = lane / n, k = lane % n;
  const uint8_t *from = rows + r0 * PITCH + 8 * k;
  uint8_t *to = plane.dst + (y + r0) * plane.dst_stride + at + 8 * k;

  static_assert (32 % n == 0, "a warp writes whole rows");
  if (plane.dst_aligned && !plane.keeps && y >= first && y + STRIP_ROWS <= last
      && at >= 0 && at + 16 * CHUNKS <= plane.row_bytes) {
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; r += step) {
      *(uint2 *) to = *(const uint2 *) (from + r * PITCH);
      to += step * plane.dst_stride;
    }
    return;
  }
  for (int r = r0; r < STRIP_ROWS && y + r < last; r += step)
    if (y + r >= first && at + 8 * k < plane.row_bytes)
      strip_write_edge (plane, y + r, at + 8 * k,
          *(const uint2 *) (rows + r * PITCH + 8 * k));
}

/* Copies bytes [first, last) of the place's rows; first is a multiple of 8. */
__device__ __forceinline__ void
strip_copy (
    const StripPlane &plane, const StripPlace &place, int first, int last)
{
  const int n = (last - first + 7) / 8;
  const int rows = place.last - place.first;

  for (int i = threadIdx.x; i < rows * n; i += STRIP_THREADS) {
    const int r = i / n, y = place.first + r;
    const int at = first + 8 * (i - r * n);

    strip_write (
        plane, y, at, strip_read (plane, plane.src + y * plane.src_stride, at));
  }
}

/* Whether a plane is packed; `why` says that it is not. */
bool strip_is_packed (const ImagePlane *plane, Fault *why);

/* Fills in all but the last three members. */
void strip_describe (
    const SepconvPlan *plan, const SepconvPart *part, int p, StripPlane *plane);

/* Cuts planes, whose columns are known, into strips of the height that is expected to
 * take least time, and fills in the other two members. `overhead`: rows whose time a
 * strip takes above those of its result. Fewer than `least` blocks leave a
 * multiprocessor idle part of the time. Returns the number of blocks. */
int strip_lay_out (StripPlane *const *planes, int n_planes, int overhead,
    int least, int multiprocessors);
