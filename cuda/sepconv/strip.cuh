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

#include "../gpu-launch.cuh"
#include "../histo/tally.cuh"
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

/* First what a block needs first: kernels get this as constants, which come in lines of
 * 64 bytes. */
struct StripPlane
{
  int first_block; /* of the launch */
  int columns;     /* blocks side by side */
  int strip_rows;  /* rows of one strip, a multiple of STRIP_ROWS */
  int sides;       /* columns, the first and the last, that have other strips */
  int side_blocks; /* theirs, which come first */
  int side_rows;
  ImageRows result;
  int width, height; /* pixels, rows of the source */
  int row_bytes;     /* that are the plane's */
  const uint8_t *src;
  ptrdiff_t src_stride;
  int margin;  /* pixels left and right of the image that results depend on */
  bool filter; /* any channel; else the plane is copied */
  bool src_aligned; /* to 16 bytes, all rows */
  bool dst_aligned; /* likewise */
  bool keeps;       /* some bits of `keep` are set */

  uint8_t *dst;
  ptrdiff_t dst_stride;
  int channels, sample_bytes, shift, max_code;
  uint32_t keep[STRIP_KEEP][2]; /* of 24 bytes, the bits that are copied */
  uint16_t border[4];           /* raw samples outside, for SEPCONV_CONSTANT */
};

/* The size of a stage: `chunks` times 16 bytes of each row, rows `pitch` bytes apart;
 * whole pixels. Of rows a multiple of STRIP_WARPS, and up to STRIP_ROWS. */
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
  int block = blockIdx.x - plane.first_block;
  const bool side = block < plane.side_blocks;
  const int columns = side ? plane.sides : plane.columns - plane.sides;
  const int rows = side ? plane.side_rows : plane.strip_rows;
  StripPlace place;
  int strip;

  if (!side)
    block -= plane.side_blocks;
  strip = block / columns;
  place.column = block - strip * columns;
  if (side)
    place.column *= plane.columns - 1;
  else if (plane.sides > 0)
    place.column++;
  place.first = plane.result.first + strip * rows;
  place.last = min (place.first + rows, plane.result.last);
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

/* Starts to load a stage whose first row is y0, where some rows lie outside, or chunks
 * are cut. `from` is this lane's first chunk of the warp's first row, byte `first` of it.
 * All by value: to read from a plane in here takes longer than the copies. */
static __device__ __noinline__ void
strip_load_edge (const uint8_t *from, ptrdiff_t stride, int height,
    int row_bytes, SepconvBorder border, int first, int y0, uint8_t *stage,
    StripStage size)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  /* How far below `from` the warp's rows are in the image: a lane finds that for each. */
  const int y = y0 + warp + min (lane * STRIP_WARPS, size.rows - STRIP_WARPS);
  const int below = max (border_index (y, height, border), 0) - y0 - warp;

  stage += warp * size.pitch + 16 * lane;
#pragma unroll 1
  for (int c = lane; c - lane < size.chunks; c += 32) {
    const int n =
        c < size.chunks && first >= 0 ? min (row_bytes - first, 16) : 0;

#pragma unroll
    for (int r = 0; r < STRIP_ROWS; r += STRIP_WARPS) {
      const uint8_t *chunk =
          from + __shfl_sync (0xffffffffu, below, r / STRIP_WARPS) * stride;

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

/* Which pixels of a window, n wide from x0 on, lie outside the image and count for a
 * result: some from `first` on, and then some from `right` on. */
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

  /* Where the k-th of them is. */
  __device__ __forceinline__ int
  at (int k) const
  {
    return first + k < left ? first + k : right + first + k - left;
  }
};

/* Puts in what lies outside the image, of a stage that has been loaded and whose first
 * pixel is (x0, y0), as far as results depend on it. The whole block; a barrier must
 * come before and after. */
template <int PIXEL>
static __device__ __noinline__ void
strip_fill (const StripPlane &plane, SepconvBorder border, int x0, int y0,
    uint8_t *stage, StripStage size)
{
  const int n = size.chunks * 16 / PIXEL;
  StripOutside outside (plane, x0, n);

  /* Rows outside are constant through and through. */
  if (border == SEPCONV_CONSTANT && (y0 < 0 || y0 + size.rows > plane.height))
    outside.left = outside.right = outside.last;
  for (int k = threadIdx.x % 32; k < outside.count (); k += 32) {
    const int p = outside.at (k);
    const int x = border_index (x0 + p, plane.width, border);

    for (int r = threadIdx.x / 32; r < size.rows; r += STRIP_WARPS) {
      const int y = border_index (y0 + r, plane.height, border);
      uint8_t *to = stage + r * size.pitch + p * PIXEL;

      if (x < 0 || y < 0)
        strip_put_border (plane, to);
      else if (x >= x0 && x < x0 + n)
        strip_copy_pixel<PIXEL> (to, to + (x - x0 - p) * PIXEL);
      else
        strip_copy_bytes (
            to, plane.src + y * plane.src_stride + x * PIXEL, PIXEL);
    }
  }
}

/* Puts one pixel outside in, of all rows of a stage; `which` is where it lies in a row
 * and, above 16 bits, its mirror image. A warp takes every STRIP_WARPS-th row. */
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

/* Which for pixel p of a window from x0 on, whose mirror image is in the window too. */
template <int PIXEL>
__device__ __forceinline__ int
strip_mirror_of (const StripPlane &plane, SepconvBorder border, int x0, int p)
{
  return p * PIXEL
      | (border_index (x0 + p, plane.width, border) - x0) * PIXEL << 16;
}

/* Puts in what lies outside the image left and right, from the k-th pixel of a row on,
 * where all mirror images are in the stage. The whole block; a barrier must come before
 * and after. */
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

/* Loads the stages of a strip, each below the one before. A function that is called
 * would make the whole strip keep its registers elsewhere: what happens at every step
 * of a strip at the side is inline, for MIRRORS pixels outside of a lane. */
template <int PIXEL, int MIRRORS = 1> struct StripReader
{
  const uint8_t *from; /* this thread's first chunk of the next stage */
  ptrdiff_t stride;
  int y;         /* the next stage's first row */
  int first;     /* byte of a row that `from` is */
  int row_bytes; /* of the plane */
  bool whole;    /* the block's chunks are whole ones, or wholly outside */
  bool sides;    /* the block has pixels left or right of the image */
  bool mirrored; /* each of them is one of the stage's */
  bool fills;    /* some stages have something to put in */
  bool many;     /* a lane has more than MIRRORS pixels outside */
  /* The first of them, as strip_mirror_of() has them; or -1. */
  int mirror[MIRRORS];

  /* For stages whose first pixel is (x0, y0) and so on; x0 is at a multiple of 16
   * bytes. */
  __device__ __forceinline__ void
  begin (const StripPlane &plane, SepconvBorder border, int x0, int y0,
      StripStage size)
  {
    const int n = size.chunks * 16 / PIXEL, end = (x0 + n) * PIXEL;

    y = y0;
    stride = plane.src_stride;
    row_bytes = plane.row_bytes;
    first = x0 * PIXEL + 16 * ((int) threadIdx.x % 32);
    from = plane.src + (y0 + (int) threadIdx.x / 32) * stride + first;
    whole = plane.src_aligned && (row_bytes % 16 == 0 || end <= row_bytes);
    sides = plane.src_aligned && (x0 < 0 || end > row_bytes);
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

  /* What gpu_await_previous() is for. Until then, the first n stages' part of the source
   * comes as near as it may, for the launch's first `early` blocks: others find nothing
   * to wait for. The whole block, before the first load(). */
  __device__ __forceinline__ void
  await (const StripPlane &plane, int early, int n, StripStage size) const
  {
    /* Of a row, however they lie. */
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

  /* Starts to load the next stage. What lies outside the image is left to fill(). The
   * whole block. */
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

  /* Past the next stage. */
  __device__ __forceinline__ void
  skip (StripStage size)
  {
    y += size.rows;
    from += size.rows * stride;
  }

  /* The copies of a block that is whole, where all rows are in the image. */
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

  /* Whether fill_mirrors() puts in all, if anything, where all rows are in the image. */
  __device__ __forceinline__ bool
  fills_simply () const
  {
    return !sides || (mirrored && !many);
  }

  /* Puts in what `mirror` tells of, of all rows of a stage. */
  __device__ __forceinline__ void
  fill_mirrors (uint8_t *stage, StripStage size) const
  {
#pragma unroll
    for (int i = 0; i < MIRRORS; i++)
      strip_mirror_pixel<PIXEL> (mirror[i], stage, size);
  }

  /* Puts in what load() left out of the stage that begins with row y0, if `fills`. The
   * whole block; a barrier must come before and after. */
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

/* Eight bytes of the source's row, of which those before row_bytes exist. */
__device__ __forceinline__ uint2
strip_read (const StripPlane &plane, const uint8_t *row, int at)
{
  uint2 value = make_uint2 (0, 0);

  if (plane.src_aligned && at + 8 <= plane.row_bytes)
    return *(const uint2 *) (row + at);
  for (int i = 0; i < 8; i++)
    if (at + i < plane.row_bytes)
      ((uint8_t *) &value)[i] = row[at + i];
  return value;
}

/* The eight bytes at byte `at` of a row, with those of the source that are not to be
 * filtered. */
__device__ __forceinline__ uint2
strip_keep (const StripPlane &plane, int at, uint2 value, uint2 from)
{
  const uint32_t *keep = plane.keep[(unsigned) at / 8 % STRIP_KEEP];

  return make_uint2 ((value.x & ~keep[0]) | (from.x & keep[0]),
      (value.y & ~keep[1]) | (from.y & keep[1]));
}

/* Writes eight bytes at byte `at` of row y, a multiple of 8; what is not to be filtered
 * is taken from the source. */
static __device__ __noinline__ void
strip_write_edge (const StripPlane &plane, int y, int at, uint2 value)
{
  uint8_t *row = plane.dst + y * plane.dst_stride;

  if (plane.keeps)
    value = strip_keep (plane, at, value,
        strip_read (plane, plane.src + y * plane.src_stride, at));
  if (plane.dst_aligned && at + 8 <= plane.row_bytes) {
    *(uint2 *) (row + at) = value;
    return;
  }
  for (int i = 0; i < 8; i++)
    if (at + i < plane.row_bytes)
      row[at + i] = (uint8_t) ((i < 4 ? value.x : value.y) >> (8 * (i % 4)));
}

__device__ __forceinline__ void
strip_write (const StripPlane &plane, int y, int at, uint2 value)
{
  uint2 *to = (uint2 *) (plane.dst + y * plane.dst_stride + at);

  if (!plane.dst_aligned || at + 8 > plane.row_bytes
      || (plane.keeps && !plane.src_aligned))
    strip_write_edge (plane, y, at, value);
  else if (plane.keeps)
    *to = strip_keep (plane, at, value,
        *(const uint2 *) (plane.src + y * plane.src_stride + at));
  else
    *to = value;
}

/* Sixteen bytes of a result as they lie in shared memory: together, or, of pixels of
 * four bytes that are APART, the first bytes of the pixels, then the second ones and so
 * on, each APART after those before. */
template <int APART>
__device__ __forceinline__ uint4
strip_result (const uint8_t *from)
{
  if constexpr (APART == 0) {
    return *(const uint4 *) from;
  } else {
    uint32_t byte[4], pair[2][2];

#pragma unroll
    for (int i = 0; i < 4; i++)
      byte[i] = *(const uint32_t *) (from + i * APART);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      pair[i][0] = __byte_perm (byte[2 * i], byte[2 * i + 1], 0x5140);
      pair[i][1] = __byte_perm (byte[2 * i], byte[2 * i + 1], 0x7362);
    }
    return make_uint4 (__byte_perm (pair[0][0], pair[1][0], 0x5410),
        __byte_perm (pair[0][0], pair[1][0], 0x7632),
        __byte_perm (pair[0][1], pair[1][1], 0x5410),
        __byte_perm (pair[0][1], pair[1][1], 0x7632));
  }
}

/* Writes 16 bytes at byte `at` of every `step`-th row in [y, last), as far as they are the
 * plane's; they lie at `from` and so on, `pitch` apart. */
template <int APART>
static __device__ __noinline__ void
strip_write_rows (const StripPlane &plane, int y, int last, int step, int at,
    const uint8_t *from, int pitch)
{
  const bool whole =
      plane.dst_aligned && !plane.keeps && at + 16 <= plane.row_bytes;

  for (; y < last; y += step, from += pitch) {
    const uint4 value = strip_result<APART> (from);

    if (whole) {
      *(uint4 *) (plane.dst + y * plane.dst_stride + at) = value;
    } else {
      strip_write_edge (plane, y, at, make_uint2 (value.x, value.y));
      strip_write_edge (plane, y, at + 8, make_uint2 (value.z, value.w));
    }
  }
}

/* Counts what strip_write_rows() has written, of pixels of C bytes. */
template <int C>
static __device__ __noinline__ void
strip_count_rows (const StripPlane &plane, int y, int last, int step, int at,
    uint32_t *counters, int skipped)
{
  const int n = min (plane.row_bytes - at, 16);

  for (; y < last; y += step) {
    const uint8_t *row = plane.dst + y * plane.dst_stride + at;

    for (int i = 0; i < n; i++)
      tally_count_byte<C> (counters, row[i], i % C, skipped);
  }
}

/* Writes the results of a block, STRIP_ROWS rows of CHUNKS times 16 bytes at a time,
 * each below the ones before. They lie as strip_result() takes them. What it writes is
 * counted if COUNTED, the bytes of a pixel then, is not 0. */
template <int CHUNKS, int PITCH, int APART, int COUNTED> struct StripWriter
{
  static constexpr int ROWS = STRIP_THREADS / CHUNKS; /* written at once */
  static_assert (STRIP_THREADS % CHUNKS == 0 && STRIP_ROWS % ROWS == 0,
      "a block writes whole rows");

  uint8_t *to; /* this thread's first chunk of the next rows */
  ptrdiff_t stride;
  int at;     /* byte of the row that `to` is */
  bool whole; /* chunks are aligned, and whole or wholly outside */
  bool mine;  /* this thread's are in the image */
  TallyLane<COUNTED> tally; /* begun by the caller */

  /* For rows from y on and from byte `byte` on, a multiple of 16. */
  __device__ __forceinline__ void
  begin (const StripPlane &plane, int y, int byte)
  {
    at = byte + 16 * (int) (threadIdx.x % CHUNKS);
    stride = plane.dst_stride;
    to = plane.dst + (y + (int) threadIdx.x / CHUNKS) * stride + at;
    whole = plane.dst_aligned && (!plane.keeps || plane.src_aligned)
        && (plane.row_bytes % 16 == 0 || byte + 16 * CHUNKS <= plane.row_bytes);
    mine = at < plane.row_bytes;
  }

  /* This thread's part of what lies at `rows`. */
  static __device__ __forceinline__ const uint8_t *
  part_of (const uint8_t *rows)
  {
    return rows + threadIdx.x / CHUNKS * PITCH
        + (APART == 0 ? 16 : 4) * (threadIdx.x % CHUNKS);
  }

  /* Writes the rows that lie at `rows`, row y and below, all of the place, of a block
   * that is whole and whose plane keeps some of the source's channels. */
  __device__ __forceinline__ void
  write_kept (const StripPlane &plane, const uint8_t *rows, int y)
  {
    const uint8_t *from = part_of (rows);
    const uint8_t *src =
        plane.src + (y + (int) threadIdx.x / CHUNKS) * plane.src_stride + at;

    if (mine)
#pragma unroll
      for (int r = 0; r < STRIP_ROWS; r += ROWS) {
        const uint4 value = strip_result<APART> (from + r * PITCH);
        const uint4 kept = *(const uint4 *) (src + r * plane.src_stride);
        const uint2 low = strip_keep (plane, at, make_uint2 (value.x, value.y),
            make_uint2 (kept.x, kept.y));
        const uint2 high = strip_keep (plane, at + 8,
            make_uint2 (value.z, value.w), make_uint2 (kept.z, kept.w));

        *(uint4 *) (to + r * stride) =
            make_uint4 (low.x, low.y, high.x, high.y);
        tally.count (make_uint4 (low.x, low.y, high.x, high.y));
      }
    to += STRIP_ROWS * stride;
  }

  /* The same where the plane keeps none. */
  __device__ __forceinline__ void
  write_whole (const uint8_t *rows)
  {
    /* Loads wait for what was counted before them. */
    constexpr int AT_ONCE = COUNTED > 0 ? STRIP_ROWS / ROWS : 1;
    const uint8_t *from = part_of (rows);
    uint4 value[AT_ONCE];

    if (mine)
#pragma unroll
      for (int r = 0; r < STRIP_ROWS; r += AT_ONCE * ROWS) {
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
          value[i] = strip_result<APART> (from + (r + i * ROWS) * PITCH);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
          *(uint4 *) (to + (r + i * ROWS) * stride) = value[i];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
          tally.count (value[i]);
      }
    to += STRIP_ROWS * stride;
  }

  /* The same of any block, as far as the rows are in [first, last). */
  __device__ __forceinline__ void
  write (
      const StripPlane &plane, const uint8_t *rows, int y, int first, int last)
  {
    int r = threadIdx.x / CHUNKS;

    if (whole && y >= first && y + STRIP_ROWS <= last) {
      if (plane.keeps)
        write_kept (plane, rows, y);
      else
        write_whole (rows);
      return;
    }
    while (y + r < first)
      r += ROWS;
    if (mine) {
      strip_write_rows<APART> (plane, y + r, min (last, y + STRIP_ROWS), ROWS,
          at, part_of (rows) + (r - (int) threadIdx.x / CHUNKS) * PITCH,
          ROWS * PITCH);
      if constexpr (COUNTED > 0)
        strip_count_rows<COUNTED> (plane, y + r, min (last, y + STRIP_ROWS),
            ROWS, at, tally.counters, tally.skipped);
    }
    to += STRIP_ROWS * stride;
  }
};

/* In the launch's order, copies bytes [first, last) of the place's rows; first is a
 * multiple of 16. */
__device__ __forceinline__ void
strip_copy (GpuOrder order, const StripPlane &plane, const StripPlace &place,
    int first, int last)
{
  constexpr int AT_ONCE = 4; /* for the latency of memory */
  const int n = (last - first + 15) / 16;
  const int all = (place.last - place.first) * n;
  const bool aligned = plane.src_aligned && plane.dst_aligned;

  if (order == GPU_AFTER_KERNELS)
    gpu_await_previous ();
  for (int i = threadIdx.x; i < all; i += AT_ONCE * STRIP_THREADS) {
    uint4 chunk[AT_ONCE];
    int y[AT_ONCE], at[AT_ONCE];

#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      const int j = min (i + k * STRIP_THREADS, all - 1);

      y[k] = place.first + j / n;
      at[k] = first + 16 * (j % n);
      if (aligned && at[k] + 16 <= plane.row_bytes)
        chunk[k] =
            *(const uint4 *) (plane.src + y[k] * plane.src_stride + at[k]);
    }
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++) {
      if (i + k * STRIP_THREADS >= all)
        continue;
      if (aligned && at[k] + 16 <= plane.row_bytes)
        *(uint4 *) (plane.dst + y[k] * plane.dst_stride + at[k]) = chunk[k];
      else
        strip_copy_bytes (plane.dst + y[k] * plane.dst_stride + at[k],
            plane.src + y[k] * plane.src_stride + at[k],
            min (plane.row_bytes - at[k], 16));
    }
  }
}

/* Whether a plane is packed; `why` says that it is not. */
bool strip_is_packed (const ImagePlane *plane, Fault *why);

/* Fills in all but how a launch is divided. */
void strip_describe (
    const SepconvPlan *plan, const SepconvPart *part, int p, StripPlane *plane);

/* How many blocks of a kernel run on a multiprocessor at once, as found last. */
struct StripOccupancy
{
  const void *kernel;
  int shared; /* bytes of a block */
  int blocks;
};

/* Finds it for another kernel or other bytes of shared memory. */
bool strip_occupancy (
    StripOccupancy *last, const void *kernel, int shared, Fault *fault);

/* What the time of a launch depends on. */
struct StripLoad
{
  GpuOrder order;
  int counts;    /* whether a block adds what it has counted at its end */
  int above;     /* rows that a strip sums above those of its result */
  int most_rows; /* of a strip, at least STRIP_ROWS; 0: any */
  int at_once;   /* blocks on a multiprocessor */
  int multiprocessors;
};

/* What the heights of strips depend on: nothing but integers, to be compared as bytes. */
struct StripTask
{
  StripLoad load;
  int n_planes;
  int columns[IMAGE_MAX_PLANES], rows[IMAGE_MAX_PLANES];
};

/* The heights that were found last, and what for. Starts zeroed. */
struct StripHeights
{
  StripTask task;
  int strip_rows, side_rows;
};

/* Cuts planes, whose columns are known, into strips of the heights that are expected to
 * take least time. Returns the number of blocks. */
int strip_lay_out (StripPlane *const *planes, int n_planes,
    const StripLoad *load, StripHeights *last);
