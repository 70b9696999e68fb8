/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strip-reader: loads the source's rows of a strip, as stages in shared memory.
 *
 * The rows go through a ring of stages, as the bytes of the source. Pixels outside the image
 * are filled in there, so that the arithmetic needs no borders. Rows at multiples of 16 bytes
 * are copied by chunks of 16 bytes, asynchronously where the GPU can (capability 8.0). */
#pragma once

#include "strip.cuh"

#include "border.h"
#include "instructions.cuh"

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

/* Waits until at most N groups of this thread are in flight. */
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

/* Fills a stage whose first pixel is (x0, y0), pixel by pixel. */
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

    strip_copy_bytes (to,
        x < 0 || y < 0 ? plane.border
                       : plane.src + y * plane.src_stride + x * pixel,
        pixel);
  }
}

/* Whether chunks beyond one end of a row are whole chunks at its other end. */
__device__ __forceinline__ bool
strip_wraps_chunks (SepconvBorder border, int row_bytes)
{
  return border == SEPCONV_WRAP && row_bytes % 16 == 0;
}

/* Starts to load a stage whose first row is y0, where some rows lie outside the image, or
 * chunks are cut or wrapped. `from` is this lane's first chunk of the warp's first row, at byte
 * `first` of the row. All arguments are by value: to read from a plane here takes longer than
 * the copies. */
static __device__ __noinline__ void
strip_load_edge (const uint8_t *from, ptrdiff_t stride, int height,
    int row_bytes, SepconvBorder border, int first, int y0, uint8_t *stage,
    StripStage size)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  /* How far below `from` the image has each of the warp's rows: a lane finds it for each row. */
  const int y = y0 + warp + min (lane * STRIP_WARPS, size.rows - STRIP_WARPS);
  const int below = max (border_index (y, height, border), 0) - y0 - warp;
  const int wrapped = strip_wraps_chunks (border, row_bytes) ? row_bytes : 0;

  stage += warp * size.pitch + 16 * lane;
#pragma unroll 1
  for (int c = lane; c - lane < size.chunks; c += 32) {
    const int over = first < 0 ? wrapped : first >= row_bytes ? -wrapped : 0;
    const int at = first + over;
    const int n = c < size.chunks && at >= 0 ? min (row_bytes - at, 16) : 0;

#pragma unroll
    for (int r = 0; r < STRIP_ROWS; r += STRIP_WARPS) {
      const uint8_t *chunk = from + over
          + __shfl_sync (0xffffffffu, below, r / STRIP_WARPS) * stride;

      if (n > 0 && r < size.rows)
        strip_copy_chunk (stage + r * size.pitch, chunk, n);
    }
    first += 16 * 32;
    from += 16 * 32;
    stage += 16 * 32;
  }
}

template <int PIXEL>
__device__ __forceinline__ void
strip_copy_pixel (uint8_t *to, const uint8_t *from)
{
  if constexpr (PIXEL % 4 == 0)
    for (int i = 0; i < PIXEL; i += 4)
      *(uint32_t *) (to + i) = *(const uint32_t *) (from + i);
  else if constexpr (PIXEL % 2 == 0)
    for (int i = 0; i < PIXEL; i += 2)
      *(uint16_t *) (to + i) = *(const uint16_t *) (from + i);
  else
    strip_copy_bytes (to, from, PIXEL);
}

/* The pixels of a window, n wide from x0 on, that lie outside the image and that results depend
 * on: [first, left) and [right, last). */
struct StripOutside
{
  int first, left, right, last;

  __device__ __forceinline__
  StripOutside (const StripPlane &plane, int x0, int n)
  {
    first = min (max (-plane.margin - x0, 0), n);
    last = max (min (plane.width + plane.margin - x0, n), first);
    left = min (max (-x0, first), last);
    right = min (max (plane.width - x0, left), last);
  }

  __device__ __forceinline__ int
  count () const
  {
    return left - first + last - right;
  }

  /* Where the k-th of these pixels is. */
  __device__ __forceinline__ int
  at (int k) const
  {
    return first + k < left ? first + k : right + first + k - left;
  }
};

/* Fills the rows of a stage that lie outside the image with the constant border. */
__device__ __forceinline__ void
strip_color_rows (
    const StripPlane &plane, int y0, uint8_t *stage, StripStage size)
{
  const uint2 two = *(const uint2 *) plane.border;

  for (int r = threadIdx.x / 32; r < size.rows; r += STRIP_WARPS)
    if ((unsigned) (y0 + r) >= (unsigned) plane.height)
      for (int c = threadIdx.x % 32; c < size.chunks; c += 32)
        ((uint4 *) (stage + r * size.pitch))[c] =
            make_uint4 (two.x, two.y, two.x, two.y);
}

/* Fills the pixels outside the image that results depend on, of a loaded stage whose first
 * pixel is (x0, y0). The whole block calls this, with a barrier before and after. */
template <int PIXEL>
static __device__ __noinline__ void
strip_fill (const StripPlane &plane, SepconvBorder border, int x0, int y0,
    uint8_t *stage, StripStage size)
{
  constexpr bool COLORS_ROWS = sizeof plane.border % PIXEL == 0;
  const int n = size.chunks * 16 / PIXEL;
  StripOutside outside (plane, x0, n);

  /* Rows outside the image have the border's colour everywhere. */
  if (border == SEPCONV_CONSTANT && (y0 < 0 || y0 + size.rows > plane.height)) {
    if constexpr (COLORS_ROWS)
      strip_color_rows (plane, y0, stage, size);
    else
      outside.left = outside.right = outside.last;
  }
  for (int k = threadIdx.x % 32; k < outside.count (); k += 32) {
    const int p = outside.at (k);
    const int x = border_index (x0 + p, plane.width, border);

    for (int r = threadIdx.x / 32; r < size.rows; r += STRIP_WARPS) {
      const int y = border_index (y0 + r, plane.height, border);
      uint8_t *to = stage + r * size.pitch + p * PIXEL;

      if (y < 0 && COLORS_ROWS)
        continue;
      if (x < 0 || y < 0)
        strip_copy_pixel<PIXEL> (to, plane.border);
      else if (x >= x0 && x < x0 + n)
        strip_copy_pixel<PIXEL> (to, to + (x - x0 - p) * PIXEL);
      else
        strip_copy_bytes (
            to, plane.src + y * plane.src_stride + x * PIXEL, PIXEL);
    }
  }
}

/* Whether the pixels left and right of the image are whole chunks of the constant border's
 * colour, which no load touches. */
__device__ __forceinline__ bool
strip_can_color_sides (const StripPlane &plane, SepconvBorder border)
{
  return border == SEPCONV_CONSTANT && plane.src_aligned
      && plane.row_bytes % 16 == 0;
}

/* Fills these chunks, if there are any, once for all stages. The first pixel of each row is x0;
 * `size` has the rows of all stages. The whole block calls this, with a barrier after. */
template <int PIXEL>
static __device__ __noinline__ void
strip_color_sides (
    const StripPlane &plane, int x0, uint8_t *stages, StripStage size)
{
  const StripOutside outside (plane, x0, size.chunks * 16 / PIXEL);

  if (!strip_can_color_sides (plane, SEPCONV_CONSTANT))
    return;
  for (int k = threadIdx.x % 32; k < outside.count (); k += 32)
    for (int r = threadIdx.x / 32; r < size.rows; r += STRIP_WARPS)
      strip_copy_pixel<PIXEL> (
          stages + r * size.pitch + outside.at (k) * PIXEL, plane.border);
}

/* Fills one pixel outside the image, in all rows of a stage. The low 16 bits of `which` are its
 * byte offset in a row, the bits above those of its mirror image; negative: there is none. A
 * warp takes every STRIP_WARPS-th row. */
template <int PIXEL>
__device__ __forceinline__ void
strip_mirror_pixel (int which, uint8_t *stage, StripStage size)
{
  uint8_t *row = stage + threadIdx.x / 32 * size.pitch;

  if (which >= 0)
#pragma unroll
    for (int r = 0; r < size.rows; r += STRIP_WARPS)
      strip_copy_pixel<PIXEL> (row + r * size.pitch + (which & 0xffff),
          row + r * size.pitch + (which >> 16));
}

/* `which` for pixel p of a window from x0 on; its mirror image must be in the window, too. */
template <int PIXEL>
__device__ __forceinline__ int
strip_mirror_of (const StripPlane &plane, SepconvBorder border, int x0, int p)
{
  return p * PIXEL
      | (border_index (x0 + p, plane.width, border) - x0) * PIXEL << 16;
}

/* Fills the pixels left and right of the image, from the k-th one of a row on; all mirror
 * images must be in the stage. The whole block calls this, with a barrier before and after. */
template <int PIXEL>
static __device__ __noinline__ void
strip_mirror (const StripPlane &plane, SepconvBorder border, int x0, int k,
    uint8_t *stage, StripStage size)
{
  const StripOutside outside (plane, x0, size.chunks * 16 / PIXEL);

  for (k += threadIdx.x % 32; k < outside.count (); k += 32)
    strip_mirror_pixel<PIXEL> (
        strip_mirror_of<PIXEL> (plane, border, x0, outside.at (k)), stage,
        size);
}

/* Loads the stages of a strip, each below the one before. A function that is not inline would
 * force the whole strip to other registers: all that happens at every step of a strip at the
 * side is inline, for up to MIRRORS pixels outside the image a lane. */
template <int PIXEL, int MIRRORS = 1> struct StripReader
{
  const uint8_t *from; /* this thread's first chunk of the next stage */
  ptrdiff_t stride;
  int y;         /* the next stage's first row */
  int first;     /* byte of a row that `from` is */
  int row_bytes; /* of the plane */
  bool whole;    /* each chunk of the block is whole, or wholly outside */
  bool sides;    /* pixels left or right of the image are left to fill() */
  bool mirrored; /* their mirror images are all in the stage */
  bool fills;    /* some stages need fill() */
  bool many;     /* a lane has more than MIRRORS outside pixels */
  /* strip_mirror_of() of this lane's first pixels outside the image; -1: none. */
  int mirror[MIRRORS];

  /* Begins with the stage whose first pixel is (x0, y0); x0 is at a multiple of 16 bytes.
   * `colored`: with a constant border, strip_color_sides() was called, and nothing else is
   * written to the stages. */
  __device__ __forceinline__ void
  begin (const StripPlane &plane, SepconvBorder border, int x0, int y0,
      StripStage size, bool colored = false)
  {
    const int n = size.chunks * 16 / PIXEL, end = (x0 + n) * PIXEL;

    y = y0;
    stride = plane.src_stride;
    row_bytes = plane.row_bytes;
    first = x0 * PIXEL + 16 * ((int) threadIdx.x % 32);
    from = plane.src + (y0 + (int) threadIdx.x / 32) * stride + first;
    whole = plane.src_aligned && (row_bytes % 16 == 0 || end <= row_bytes);
    sides = plane.src_aligned && (x0 < 0 || end > row_bytes)
        && !(colored && strip_can_color_sides (plane, border));
    if (sides && strip_wraps_chunks (border, row_bytes)
        && x0 >= -plane.width && x0 + n <= 2 * plane.width)
      whole = sides = false; /* strip_load_edge() loads them */
    mirrored = border != SEPCONV_CONSTANT && border != SEPCONV_WRAP
        && plane.width > plane.margin && x0 + n > plane.margin
        && x0 < plane.width - plane.margin;
    fills = sides || (border == SEPCONV_CONSTANT && plane.src_aligned);
    many = false;
#pragma unroll
    for (int i = 0; i < MIRRORS; i++)
      mirror[i] = -1;
    if (sides && mirrored) {
      const StripOutside outside (plane, x0, n);

      many = outside.count () > 32 * MIRRORS;
#pragma unroll
      for (int i = 0; i < MIRRORS; i++) {
        const int k = 32 * i + threadIdx.x % 32;

        if (k < outside.count ())
          mirror[i] =
              strip_mirror_of<PIXEL> (plane, border, x0, outside.at (k));
      }
    }
  }

  /* Calls gpu_await_previous(). Before, the launch's first `early` blocks prefetch the source
   * of their first n stages to the L2; other blocks find nothing to wait for. The whole block
   * calls this, before the first load(). */
  __device__ __forceinline__ void
  await (const StripPlane &plane, int early, int n, StripStage size) const
  {
    /* Cache lines of a row at any alignment. */
    const int lines = size.chunks / (GPU_PREFETCH_BYTES / 16) + 1;
    const int left = first - 16 * (int) (threadIdx.x % 32);
    const int all = (int) blockIdx.x < early ? n * size.rows * lines : 0;

    for (int i = threadIdx.x; i < all; i += STRIP_THREADS) {
      const int row = y + i / lines;
      const int at = left + GPU_PREFETCH_BYTES * (i % lines);

      if (row >= 0 && row < plane.height)
        gpu_prefetch (
            plane.src + row * stride + min (max (at, 0), row_bytes - 1));
    }
    gpu_await_previous ();
  }

  /* Starts to load the next stage. Pixels outside the image are left to fill(). The whole block
   * calls this. */
  __device__ __forceinline__ void
  load (const StripPlane &plane, SepconvBorder border, uint8_t *stage,
      StripStage size)
  {
    if (whole && y >= 0 && y + size.rows <= plane.height)
      copy (stage, size);
    else if (plane.src_aligned)
      strip_load_edge (
          from, stride, plane.height, row_bytes, border, first, y, stage, size);
    else
      strip_gather (plane, border,
          (first - 16 * (int) (threadIdx.x % 32)) / PIXEL, y, stage, size);
    skip (size);
  }

  /* Skips the next stage. */
  __device__ __forceinline__ void
  skip (StripStage size)
  {
    y += size.rows;
    from += size.rows * stride;
  }

  /* Copies the next stage of a block that is `whole`, where all rows are in the image. */
  __device__ __forceinline__ void
  copy (uint8_t *stage, StripStage size) const
  {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint8_t *to = stage + warp * size.pitch + 16 * lane;

#pragma unroll
    for (int c = 0; c < size.chunks; c += 32)
      if ((c + 32 <= size.chunks || c + lane < size.chunks)
          && (unsigned) (first + 16 * c) < (unsigned) row_bytes)
#pragma unroll
        for (int r = 0; r < size.rows; r += STRIP_WARPS)
          strip_copy_chunk (
              to + r * size.pitch + 16 * c, from + r * stride + 16 * c, 16);
  }

  /* Whether fill_mirrors() fills all that there is to fill where all rows are in the image. */
  __device__ __forceinline__ bool
  fills_simply () const
  {
    return !sides || (mirrored && !many);
  }

  /* Fills the pixels of `mirror` in all rows of a stage. */
  __device__ __forceinline__ void
  fill_mirrors (uint8_t *stage, StripStage size) const
  {
#pragma unroll
    for (int i = 0; i < MIRRORS; i++)
      strip_mirror_pixel<PIXEL> (mirror[i], stage, size);
  }

  /* Fills the pixels that load() left out of the stage that begins with row y0, if `fills`. The
   * whole block calls this, with a barrier before and after. */
  __device__ __forceinline__ void
  fill (const StripPlane &plane, SepconvBorder border, int y0, uint8_t *stage,
      StripStage size) const
  {
    const int lane = threadIdx.x % 32;

    if (sides && mirrored) {
      fill_mirrors (stage, size);
      if (many)
        strip_mirror<PIXEL> (plane, border, (first - 16 * lane) / PIXEL,
            32 * MIRRORS, stage, size);
    } else if (sides || y0 < 0 || y0 + size.rows > plane.height) {
      strip_fill<PIXEL> (
          plane, border, (first - 16 * lane) / PIXEL, y0, stage, size);
    }
  }
};
