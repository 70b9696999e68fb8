/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-filter: the filter's codes of a tile of a channel. Samples under the taps are loaded
 * into shared memory as floats, in strips of rows; each thread sums four neighbours along x at a
 * time and, once all sums are ready, four along y. */
#pragma once

#include "direct-job.cuh"
#include "fill-kernels.cuh"

#define DIRECT_TAP_FOURS (DIRECT_MOST_TAPS / 4)
/* Groups of four taps whose products are summed apart before they are added to the total. */
#define DIRECT_SUM_FOURS (SEPCONV_SUM_BLOCK / 4)
#define DIRECT_TILE_FOURS (REGIONS_TILE / 4)

/* The block's shared memory for a term. Taps are padded with zeros to groups of four. */
struct DirectTerm
{
  const float4 *tap_x, *tap_y;
  int fours_x, fours_y;
  float4 *sums;    /* [rows][DIRECT_TILE_FOURS] */
  float4 *samples; /* [strip][DIRECT_TILE_FOURS + fours_x] */
  int rows, strip;
};

__device__ __forceinline__ void
direct_load_taps (float *to, const float *from, int n)
{
  const int i = direct_me ();

  if (i < DIRECT_MOST_TAPS)
    to[i] = i < n ? from[i] : 0.0f;
}

__device__ __forceinline__ DirectTerm
direct_lay_out (const DirectFrame &frame, const RegionsTerm &of, float4 *shared)
{
  DirectTerm term;
  int left = frame.shared / (int) sizeof (float4), pitch;

  term.fours_x = (of.nx + 3) / 4;
  term.fours_y = (of.ny + 3) / 4;
  term.rows = REGIONS_TILE + 4 * term.fours_y;
  term.tap_x = shared;
  term.tap_y = shared + DIRECT_TAP_FOURS;
  term.sums = shared + 2 * DIRECT_TAP_FOURS;
  term.samples = term.sums + term.rows * DIRECT_TILE_FOURS;
  left -= (int) (term.samples - shared);
  pitch = DIRECT_TILE_FOURS + term.fours_x;
  term.strip = term.rows * pitch <= left ? term.rows : left / pitch;
  return term;
}

/* Four pixels of PIXEL bytes each, which one load brings. */
template <int PIXEL> struct alignas (4 * PIXEL) DirectFour
{
  uint32_t word[PIXEL];
};

/* The sample of pixel k, which begins at byte `at` of its pixel. */
template <typename Sample, int PIXEL>
__device__ __forceinline__ Sample
direct_pick (const DirectFour<PIXEL> &four, int k, int at)
{
  return (Sample) (four.word[k * PIXEL / 4] >> 8 * (k * PIXEL % 4 + at));
}

/* direct_load_strip() by loads of four pixels of PIXEL bytes each: the strip lies within the plane,
 * also if it begins `lead` pixels earlier, at a multiple of four, and ends at one. */
template <typename Sample, int PIXEL>
__device__ __forceinline__ void
direct_load_fours (const RegionsDevicePlane &plane, const DirectTile &tile,
    float center, float *samples, int pitch, int columns, int x, int y, int n)
{
  const int at_once = PIXEL <= 2 ? 4 : 2; /* loads of a thread in flight */
  const int lead = x & 3;
  const int across = (lead + columns + 3) / 4;
  const int lanes = across > 16 ? 32 : 16, apart = DIRECT_THREADS / lanes;
  const int top = direct_me () / lanes;
  const ptrdiff_t step = apart * plane.src_stride;
  const uint8_t *const first = plane.src + tile.channel * plane.channel_stride;
  const int at = (int) ((uintptr_t) first & (PIXEL - 1));

#pragma unroll 1
  for (int i = direct_me () % lanes; i < across; i += lanes) {
    const int column = 4 * i - lead;
    const uint8_t *from = first - at + (y + top) * plane.src_stride
        + (ptrdiff_t) (x + column) * PIXEL;
    float *to = samples + top * pitch + column;

#pragma unroll 1
    for (int row = top; row < n; row += at_once * apart) {
      DirectFour<PIXEL> four[at_once] = {};

#pragma unroll
      for (int k = 0; k < at_once; k++, from += step)
        if (row + k * apart < n)
          four[k] = *(const DirectFour<PIXEL> *) from;
#pragma unroll
      for (int k = 0; k < at_once; k++, to += apart * pitch) {
        float level[4];

        if (row + k * apart >= n)
          continue;
#pragma unroll
        for (int j = 0; j < 4; j++)
          level[j] = (float) (direct_pick<Sample, PIXEL> (four[k], j, at)
                         >> plane.shift)
              - center;
        if (lead == 0)
          *(float4 *) to = make_float4 (level[0], level[1], level[2], level[3]);
        else
#pragma unroll
          for (int j = 0; j < 4; j++)
            if (column + j >= 0 && column + j < columns)
              to[j] = level[j];
      }
    }
  }
}

/* direct_load_strip() sample by sample, for a strip that lies within the plane. */
template <typename Sample>
__device__ __forceinline__ void
direct_load_inside (const RegionsDevicePlane &plane, const DirectTile &tile,
    float center, float *samples, int pitch, int columns, int x, int y, int n)
{
  const int lane = (int) threadIdx.x, warp = (int) threadIdx.y;
  const uint8_t *from = plane.src + (y + warp) * plane.src_stride
      + (ptrdiff_t) (x + lane) * plane.pixel_stride
      + tile.channel * plane.channel_stride;
  float *to = samples + warp * pitch + lane;

#pragma unroll 4
  for (int row = warp; row < n; row += DIRECT_ROWS) {
    const int apart = DIRECT_COLUMNS * plane.pixel_stride;

    if (lane < columns)
      to[0] = (float) (*(const Sample *) from >> plane.shift) - center;
    if (lane + DIRECT_COLUMNS < columns)
      to[DIRECT_COLUMNS] =
          (float) (*(const Sample *) (from + apart) >> plane.shift) - center;
#pragma unroll 1
    for (int i = lane + 2 * DIRECT_COLUMNS, k = 2; i < columns;
         i += DIRECT_COLUMNS, k++)
      to[k * DIRECT_COLUMNS] =
          (float) (*(const Sample *) (from + k * apart) >> plane.shift)
          - center;
    from += DIRECT_ROWS * plane.src_stride;
    to += DIRECT_ROWS * pitch;
  }
}

/* Loads n rows and `columns` columns of samples, less the center, from (x, y) on into a strip, each
 * row by one warp. */
__device__ __forceinline__ void
direct_load_pixels (const DirectFrame &frame, const DirectTile &tile,
    const SepconvChannel &channel, float *samples, int pitch, int columns,
    int x, int y, int n)
{
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const float center = (float) channel.center, border = (float) channel.border;

  for (int row = threadIdx.y; row < n; row += DIRECT_ROWS) {
    const int from = border_index (y + row, plane.height, frame.border);
    const uint8_t *line = plane.src + from * plane.src_stride
        + tile.channel * plane.channel_stride;

    for (int i = threadIdx.x; i < columns; i += DIRECT_COLUMNS) {
      const int column = border_index (x + i, plane.width, frame.border);

      samples[row * pitch + i] = from < 0 || column < 0
          ? border
          : (float) load_code (line + (ptrdiff_t) column * plane.pixel_stride,
                plane.sample_bytes, plane.shift)
              - center;
    }
  }
}

/* direct_load_pixels() in the fastest way that the strip allows. */
__device__ __forceinline__ void
direct_load_strip (const DirectFrame &frame, const DirectTile &tile,
    const SepconvChannel &channel, float *samples, int pitch, int columns,
    int x, int y, int n)
{
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const float center = (float) channel.center;
  const bool inside =
      x >= 0 && y >= 0 && x + columns <= plane.width && y + n <= plane.height;
  const bool fours =
      ((x + columns + 3) & ~3) <= frame.plane[tile.plane].by_fours;
  const int kind = plane.sample_bytes * 16 + plane.pixel_stride;

  if (!inside)
    direct_load_pixels (frame, tile, channel, samples, pitch, columns, x, y, n);
  else if (!fours && plane.sample_bytes == 1)
    direct_load_inside<uint8_t> (
        plane, tile, center, samples, pitch, columns, x, y, n);
  else if (!fours)
    direct_load_inside<uint16_t> (
        plane, tile, center, samples, pitch, columns, x, y, n);
  else if (kind == 16 + 1)
    direct_load_fours<uint8_t, 1> (
        plane, tile, center, samples, pitch, columns, x, y, n);
  else if (kind == 16 + 2)
    direct_load_fours<uint8_t, 2> (
        plane, tile, center, samples, pitch, columns, x, y, n);
  else if (kind == 16 + 4)
    direct_load_fours<uint8_t, 4> (
        plane, tile, center, samples, pitch, columns, x, y, n);
  else if (kind == 32 + 2)
    direct_load_fours<uint16_t, 2> (
        plane, tile, center, samples, pitch, columns, x, y, n);
  else
    direct_load_fours<uint16_t, 4> (
        plane, tile, center, samples, pitch, columns, x, y, n);
}

/* Adds the products of four taps to the sums of four neighbours; samples b follow samples a. */
__device__ __forceinline__ void
direct_add_products (float (&sum)[4], const float4 &tap, const float (&a)[4],
    const float (&b)[4])
{
  const float in[7] = { a[0], a[1], a[2], a[3], b[0], b[1], b[2] };

#pragma unroll
  for (int k = 0; k < 4; k++) {
    sum[k] = multiply_add (tap.x, in[k], sum[k]);
    sum[k] = multiply_add (tap.y, in[k + 1], sum[k]);
    sum[k] = multiply_add (tap.z, in[k + 2], sum[k]);
    sum[k] = multiply_add (tap.w, in[k + 3], sum[k]);
  }
}

/* Adds to the sums of four neighbours; `load (i, in)` loads four samples, from sample 4 i on. */
template <typename Load>
__device__ __forceinline__ void
direct_sum_fours (
    float (&sum)[4], const float4 *tap, int fours, const Load &load)
{
  float a[4], b[4];

  load (0, a);
  for (int first = 0; first < fours; first += DIRECT_SUM_FOURS) {
    const int last = min (first + DIRECT_SUM_FOURS, fours);
    float some[4] = {};

    for (int i = first; i < last; i++) {
      load (i + 1, b);
      direct_add_products (some, tap[i], a, b);
#pragma unroll
      for (int k = 0; k < 4; k++)
        a[k] = b[k];
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
      sum[k] += some[k];
  }
}

/* Makes the sums along x of rows [0, n) of a strip, which are rows [first, first + n) of the
 * sums, for groups of four [left, right) of each row. */
__device__ __forceinline__ void
direct_sum_rows (const DirectTerm &term, int first, int n, int left, int right)
{
  const int pitch = DIRECT_TILE_FOURS + term.fours_x;
  const int across = right - left;
  /* 1 / across in 65536ths: exact for the few sums that there are. */
  const int by = across > 0 ? 65536 / across + 1 : 0;

  for (int i = direct_me (); i < n * across; i += DIRECT_THREADS) {
    const int row = i * by >> 16, four = left + i - row * across;
    const float4 *in = term.samples + row * pitch + four;
    float sum[4] = {};

    direct_sum_fours (
        sum, term.tap_x, term.fours_x, [in] (int at, float (&to)[4]) {
          const float4 four = in[at];

          to[0] = four.x;
          to[1] = four.y;
          to[2] = four.z;
          to[3] = four.w;
        });
    term.sums[(first + row) * DIRECT_TILE_FOURS + four] =
        make_float4 (sum[0], sum[1], sum[2], sum[3]);
  }
}

/* Adds the sums of term t for the thread's four samples. */
__device__ __forceinline__ void
direct_sum_term (const DirectFrame &frame, const DirectJob &job, int t,
    float4 *shared, float (&sum)[4])
{
  const DirectTile &tile = job.tile;
  const DirectClip &clip = job.clip;
  const RegionsTerm &of = job.taps.term[t];
  const DirectTerm term = direct_lay_out (frame, of, shared);
  const int left = clip.left / 4, right = (clip.right + 3) / 4;
  const int top = clip.top / DIRECT_EACH * DIRECT_EACH;
  const int last = (clip.bottom + 3) / 4 * 4 + 4 * term.fours_y;
  const float *in;

  static_assert (DIRECT_EACH == 4, "rows of a thread in the sums along y");
  /* Other threads may still read the previous contents. */
  __syncthreads ();
  direct_load_taps ((float *) term.tap_x, frame.tap + of.x, of.nx);
  direct_load_taps ((float *) term.tap_y, frame.tap + of.y, of.ny);
  for (int first = top; first < last; first += term.strip) {
    const int n = min (term.strip, last - first);

    if (first > top)
      __syncthreads ();
    direct_load_strip (frame, tile, job.taps.channel[tile.channel],
        (float *) (term.samples + left), REGIONS_TILE + 4 * term.fours_x,
        4 * (right - left + term.fours_x), tile.x - of.nx / 2 + 4 * left,
        tile.y - of.ny / 2 + first, n);
    __syncthreads ();
    direct_sum_rows (term, first, n, left, right);
  }
  __syncthreads ();
  if (DIRECT_EACH * (int) threadIdx.y >= clip.bottom
      || DIRECT_EACH * ((int) threadIdx.y + 1) <= clip.top)
    return;
  in = (const float *) term.sums + DIRECT_EACH * threadIdx.y * REGIONS_TILE
      + threadIdx.x;
  direct_sum_fours (
      sum, term.tap_y, term.fours_y, [in] (int at, float (&to)[4]) {
#pragma unroll
        for (int k = 0; k < 4; k++)
          to[k] = in[(4 * at + k) * REGIONS_TILE];
      });
}

/* The code of the sample at (x, y), from its sums. */
template <DirectKind KIND>
__device__ __forceinline__ int
direct_combine (const DirectFrame &frame, const DirectJob &job, float first,
    float second, int x, int y)
{
  const DirectTile &tile = job.tile;
  const RegionsDevicePlane &plane = frame.plane[tile.plane].of;
  const SepconvChannel &channel = job.taps.channel[tile.channel];
  const double sums[2] = { first, second };
  double value;

  if (KIND != DIRECT_COMBINED)
    return round_to_code (first + (float) channel.offset, channel.max_code);
  if (x >= plane.width || y >= plane.height)
    return 0;
  value = combine_sums (&job.taps.how, &channel,
      regions_load_code (
          plane, plane.src + y * plane.src_stride, x, tile.channel)
          - channel.center,
      sums);
  if (job.taps.how.combine == SEPCONV_DIRECTION)
    return __double2int_rn (value) & channel.max_code;
  return round_to_code (value, channel.max_code);
}

/* Loads a filter, unless the job has it. All threads of the block must call it. */
__device__ __forceinline__ void
direct_use_filter (const DirectFrame &frame, DirectJob *job, int filter)
{
  if (job->filter == filter)
    return;
  __syncthreads ();
  direct_store_filter (job, filter, direct_fetch_filter (frame, filter));
  __syncthreads ();
}

/* The codes that the job's filter gives the thread's samples within the job's clip, which is not
 * empty: DIRECT_EACH rows of column threadIdx.x of the tile. All threads of the block must call
 * it. */
template <DirectKind KIND>
__device__ __forceinline__ void
direct_filter (const DirectFrame &frame, DirectJob *job, float4 *shared,
    int (&code)[DIRECT_EACH])
{
  float first[4] = {}, second[4] = {};

  for (int t = 0; t < job->taps.n_terms; t++) {
    float sum[4] = {};

    direct_sum_term (frame, *job, t, shared, sum);
#pragma unroll
    for (int k = 0; k < DIRECT_EACH; k++)
      if (KIND != DIRECT_COMBINED || t == 0)
        first[k] += sum[k];
      else
        second[k] = sum[k];
  }
#pragma unroll
  for (int k = 0; k < DIRECT_EACH; k++)
    code[k] = direct_combine<KIND> (frame, *job, first[k], second[k],
        job->tile.x + (int) threadIdx.x,
        job->tile.y + DIRECT_EACH * (int) threadIdx.y + k);
}
