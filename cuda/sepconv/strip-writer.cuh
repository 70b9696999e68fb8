/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* strip-writer: writes rows of a strip to the image: results from shared memory, with the
 * unfiltered channels of the source, or the source's rows unchanged. */
#pragma once

#include "strip.cuh"
#include "write-part.cuh"

#include "../histo/tally.cuh"

/* Eight bytes from byte `at` of a source row; bytes from row_bytes on are 0. */
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

/* The eight bytes at byte `at` of a row: `value`, with unfiltered channels taken from `from`. */
__device__ __forceinline__ uint2
strip_keep (const StripPlane &plane, int at, uint2 value, uint2 from)
{
  const uint32_t *keep = plane.keep[(unsigned) at / 8 % STRIP_KEEP];

  return make_uint2 ((value.x & ~keep[0]) | (from.x & keep[0]),
      (value.y & ~keep[1]) | (from.y & keep[1]));
}

/* Writes eight bytes at byte `at`, a multiple of 8, of row y; unfiltered channels are taken
 * from the source. */
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

/* Sixteen bytes of a result in shared memory. With APART 0 they are adjacent. Else they are
 * four pixels of four bytes: first come the first bytes of all pixels, APART bytes further on
 * the second ones, and so on. */
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

/* Writes 16 bytes at byte `at`, or as many as the row still has, of every `step`-th row from y
 * on and before `last`. Their sources are `pitch` bytes apart from `from` on. */
template <int APART>
static __device__ __noinline__ void
strip_write_rows (const StripPlane &plane, int y, int last, int step, int at,
    const uint8_t *from, int pitch)
{
  const bool simple = plane.dst_aligned && !plane.keeps;
  const int n = plane.row_bytes - at;
  uint8_t *to = plane.dst + y * plane.dst_stride + at;

  for (; y < last; y += step, to += step * plane.dst_stride, from += pitch) {
    const uint4 value = strip_result<APART> (from);

    if (simple && n >= 16) {
      *(uint4 *) to = value;
    } else if (simple) {
      write_part (to, n, value);
    } else {
      strip_write_edge (plane, y, at, make_uint2 (value.x, value.y));
      strip_write_edge (plane, y, at + 8, make_uint2 (value.z, value.w));
    }
  }
}

/* Counts the bytes that strip_write_rows() has written; pixels have C bytes. */
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

/* Writes the results of a block, STRIP_ROWS rows of CHUNKS times 16 bytes at a time, each below
 * the ones before, from the layout of strip_result(). If COUNTED is not 0, it is the bytes of a
 * pixel, and the written bytes are counted. */
template <int CHUNKS, int PITCH, int APART, int COUNTED> struct StripWriter
{
  static constexpr int ROWS = STRIP_THREADS / CHUNKS; /* written at once */
  static_assert (STRIP_THREADS % CHUNKS == 0 && STRIP_ROWS % ROWS == 0,
      "a block writes whole rows");

  uint8_t *to; /* this thread's first chunk of the next rows */
  ptrdiff_t stride;
  int at;     /* byte of the row that `to` is */
  bool whole; /* chunks are aligned, and whole or wholly outside */
  bool mine;  /* this thread's bytes are in the image */
  TallyLane<COUNTED> tally; /* begun by the caller */

  /* Begins at row y and at byte `byte` of rows, a multiple of 16. */
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

  /* Where this thread's part of the results at `rows` begins. */
  static __device__ __forceinline__ const uint8_t *
  part_of (const uint8_t *rows)
  {
    return rows + threadIdx.x / CHUNKS * PITCH
        + (APART == 0 ? 16 : 4) * (threadIdx.x % CHUNKS);
  }

  /* Writes STRIP_ROWS rows from y on, whose results lie at `rows`. All rows belong to the
   * place, the block is `whole`, and its plane keeps some of the source's channels. */
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

  /* The same if the plane keeps no channel of the source. */
  __device__ __forceinline__ void
  write_whole (const uint8_t *rows)
  {
    /* All loads come first: they would wait for counting that comes before them. */
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

  /* The same for any block; writes only rows in [first, last). */
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

/* Copies bytes [first, last) of the place's rows, after the kernels before if `order` says so;
 * first is a multiple of 16. */
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
