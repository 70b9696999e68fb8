/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-passes: boxes of any layout, depth and length, with ends or without, in two
 * kernels with all row sums in device memory between them. box-running.cu has the formula.
 *
 * Row pass: a block walks along one row with its borders and keeps the prefix sums
 * P of the last nx samples and more in a ring in shared memory; the sum of nx
 * samples is P(x + nx - 1) - P(x - 1). Prefix sums wrap around modulo 2^32, but
 * their differences are exact: nx * max_code < 2^29. A warp's 32 accesses go to
 * neighbouring words of the ring: no bank conflicts.
 *
 * Column pass: a thread walks down a strip of a column; for each row, the row that
 * enters the window is added to the running sums, and the row that leaves it is
 * subtracted. These two rows are also under the last and the first tap. Where ends
 * differ, the thread also sums the two samples under the ends of each row, which it
 * reads from the source. Sums of row sums have 64 bits: ny * nx * max_code < 2^41.
 * The first sums of a strip take ny loads, so strips are at least
 * ny / STRIP_SHARE rows tall. */
#pragma once

#include "box.h"
#include "twopass.cuh"

#define WARP 32
#define WARPS 8
#define CHUNK (WARPS * WARP) /* samples of a row at a time, one per thread */
#define COLUMNS 128          /* of a block of the column pass */

/* The first sums of a strip cost at most this many loads for each of its rows. */
#define STRIP_SHARE 8
#define MIN_STRIP 16
#define BLOCKS_PER_MULTIPROCESSOR 16

static_assert (
    (double) TAPS_MAX * 65535 < 0x1p32, "A row sum does not fit 32 bits.");

/* Constants of a channel's result, in double. */
struct BoxChannel
{
  BoxTaps x, y;
  bool ends;     /* whether ends differ: any first or last is not 0 */
  double whole;  /* the weight of all taps */
  double base;   /* the result where all codes are 0 */
  double border; /* border value */
};

struct BoxFrame : TwopassFrame<float>
{
  BoxChannel box[SEPCONV_MAX_CHANNELS];
  int ring;  /* words, a power of two, at least CHUNK + nx */
  int strip; /* rows */
};

/* Sums of codes over one row of a window, or over all its rows. */
struct BoxSums
{
  uint64_t all;
  uint32_t first,
      last; /* of the samples under the first and the last tap of x */
};

/* A column of results, and the columns of the samples under the first and the
 * last tap of x; -1: outside of the image. */
struct BoxColumn
{
  int x, first, last;
};

/* The row sums of row y, in the buffer that twopass has for float sums. */
static __device__ __forceinline__ uint32_t *
row_sums (const TwopassChannel<float> &channel, int y)
{
  return (uint32_t *) channel.sums + (size_t) y * channel.width;
}

/* The code in column `from` of a row; 0 if from < 0: outside of the image. */
static __device__ __forceinline__ uint32_t
code_at (const TwopassChannel<float> &channel, const uint8_t *row, int from)
{
  return from < 0 ? 0
                  : load_code (row + (ptrdiff_t) from * channel.pixel_stride,
                      channel.sample_bytes, channel.shift);
}

static __global__ void
box_rows (const BoxFrame frame)
{
  GPU_DYNAMIC_SHARED (uint32_t, ring);
  __shared__ uint32_t warp_sum[WARPS];
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const int y = channel.fresh.first + blockIdx.x;
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const int nx = channel.nx, mask = frame.ring - 1;
  const int length = channel.width + nx - 1; /* of the row with its borders */
  const uint8_t *row = channel.src + y * channel.src_stride;
  uint32_t before = 0; /* the sum of all earlier chunks */

  if (!channel.filter || y >= channel.fresh.last)
    return; /* the whole block */

  for (int first = 0; first < length; first += CHUNK) {
    const int at = first + threadIdx.x, x = at - (nx - 1);
    uint32_t sum = 0;

    if (at < length)
      sum = code_at (channel, row,
          border_index (at - nx / 2, channel.width, frame.border));
    for (int step = 1; step < WARP; step *= 2) {
      const uint32_t left = __shfl_up_sync (0xffffffff, sum, step);

      if (lane >= step)
        sum += left;
    }
    if (lane == WARP - 1)
      warp_sum[warp] = sum;
    __syncthreads (); /* also: the ring's last readers are done */
    sum += before;
    for (int i = 0; i < WARPS; i++) {
      if (i < warp)
        sum += warp_sum[i];
      before += warp_sum[i];
    }
    ring[at & mask] = sum;
    __syncthreads (); /* also: the last readers of warp_sum are done */
    if (x >= 0 && x < channel.width)
      row_sums (channel, y)[x] = sum - (x == 0 ? 0 : ring[(at - nx) & mask]);
  }
}

/* Applies the taps of one axis to the sum over `all` samples and to the samples
 * under its ends, or to numbers of samples. */
template <bool Ends>
static __device__ __forceinline__ double
weigh (const BoxTaps &taps, double all, double first, double last)
{
  return Ends ? taps.each * all + taps.first * first + taps.last * last
              : taps.each * all;
}

template <bool Ends>
static __device__ __forceinline__ double
weigh (const BoxTaps &taps, const BoxSums &sums)
{
  return weigh<Ends> (
      taps, (double) sums.all, (double) sums.first, (double) sums.last);
}

/* The weight of the taps inside [0, size), of n taps from position `first` on. */
template <bool Ends>
static __device__ __forceinline__ double
weight_inside (const BoxTaps &taps, int first, int n, int size)
{
  return weigh<Ends> (taps, border_count_inside (first, n, size),
      border_count_inside (first, 1, size),
      border_count_inside (first + n - 1, 1, size));
}

/* Sums the part of row y in the column's window, without samples outside of the
 * image. */
template <bool Ends>
static __device__ __forceinline__ BoxSums
sum_row (const TwopassChannel<float> &channel, const BoxColumn &column, int y,
    SepconvBorder border)
{
  const int from = border_index (y, channel.height, border);
  BoxSums sums = { 0, 0, 0 };

  if (from < 0)
    return sums;
  sums.all = row_sums (channel, from)[column.x];
  if (Ends) {
    const uint8_t *row = channel.src + from * channel.src_stride;

    sums.first = code_at (channel, row, column.first);
    sums.last = code_at (channel, row, column.last);
  }
  return sums;
}

static __device__ __forceinline__ void
add (BoxSums *sums, const BoxSums &row)
{
  sums->all += row.all;
  sums->first += row.first;
  sums->last += row.last;
}

static __device__ __forceinline__ void
take_away (BoxSums *sums, const BoxSums &row)
{
  sums->all -= row.all;
  sums->first -= row.first;
  sums->last -= row.last;
}

/* Makes rows [first, last) of column x. */
template <bool Ends>
static __device__ __forceinline__ void
filter_strip (const BoxFrame &frame, int x, int first, int last)
{
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const BoxChannel &box = frame.box[blockIdx.z];
  const int nx = channel.nx, ny = channel.ny;
  const int left = x - nx / 2, above = ny / 2, below = ny - 1 - above;
  const double inside_x = weight_inside<Ends> (box.x, left, nx, channel.width);
  const BoxColumn column = { x,
    border_index (left, channel.width, frame.border),
    border_index (left + nx - 1, channel.width, frame.border) };
  BoxSums sums = { 0, 0, 0 };

  for (int y = first - above; y < first + below; y++)
    add (&sums, sum_row<Ends> (channel, column, y, frame.border));
  for (int y = first; y < last; y++) {
    const BoxSums top =
        sum_row<Ends> (channel, column, y - above, frame.border);
    const BoxSums bottom =
        sum_row<Ends> (channel, column, y + below, frame.border);
    double result = box.base;

    add (&sums, bottom);
    result += weigh<Ends> (box.y, weigh<Ends> (box.x, sums),
        weigh<Ends> (box.x, top), weigh<Ends> (box.x, bottom));
    if (frame.border == SEPCONV_CONSTANT)
      result += box.border
          * (box.whole
              - inside_x
                  * weight_inside<Ends> (box.y, y - above, ny, channel.height));
    store_code (channel.dst + y * channel.dst_stride
            + (ptrdiff_t) x * channel.pixel_stride,
        round_to_code (result, channel.max_code), channel.sample_bytes,
        channel.shift);
    take_away (&sums, top);
  }
}

/* Ends: some channel has ends that differ. This does not slow down the other
 * channels, as all threads of a block have the same channel. */
template <bool Ends>
static __global__ void
box_columns (const BoxFrame frame)
{
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const int x = blockIdx.x * COLUMNS + threadIdx.x;
  const int first = channel.result.first + blockIdx.y * frame.strip;
  const int last = min (first + frame.strip, channel.result.last);

  if (x >= channel.width || first >= last)
    return;
  if (!channel.filter)
    for (int y = first; y < last; y++)
      copy_sample (channel, x, y);
  else if (Ends && frame.box[blockIdx.z].ends)
    filter_strip<true> (frame, x, first, last);
  else
    filter_strip<false> (frame, x, first, last);
}

/* The height of strips: low enough to keep the device busy, but not so low that
 * their first sums cost more than the rest. */
static int
strip_height (const SepconvPlan *plan, const TwopassExtent *extent, int ny)
{
  const int across = (extent->width + COLUMNS - 1) / COLUMNS * extent->channels;
  const int blocks =
      BLOCKS_PER_MULTIPROCESSOR * gpu_multiprocessors (plan->gpu);
  const int strips = max (1, blocks / across);
  const int strip = (extent->result + strips - 1) / strips;

  return max (strip, max (MIN_STRIP, ny / STRIP_SHARE));
}

/* Returns whether any channel has ends that differ. */
static bool
describe_boxes (
    const SepconvPlan *plan, const TwopassExtent *extent, BoxFrame *frame)
{
  bool ends = false;
  int nx = 1, ny = 1;

  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const SepconvPlaneTaps *taps = &plan->taps[channel->plane];
    BoxChannel *box = &frame->box[i];

    *box = BoxChannel ();
    if (!channel->filter)
      continue;
    box->x = box_describe_taps (&taps->x);
    box->y = box_describe_taps (&taps->y);
    box->ends = box_has_ends (&box->x) || box_has_ends (&box->y);
    box->whole =
        box_weight (&box->x, taps->x.n) * box_weight (&box->y, taps->y.n);
    box->base = channel->offset - channel->center * box->whole;
    box->border = channel->border + channel->center;
    ends = ends || box->ends;
    nx = max (nx, taps->x.n);
    ny = max (ny, taps->y.n);
  }
  for (frame->ring = CHUNK; frame->ring < CHUNK + nx;)
    frame->ring *= 2;
  frame->strip = strip_height (plan, extent, ny);
  return ends;
}

static bool
box_run_passes (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  void (*columns) (BoxFrame) = box_columns<false>;
  TwopassExtent extent;
  BoxFrame frame;
  bool ok = false;

  if (!twopass_begin<float> (plan, part, &frame, &extent, fault))
    return false;
  if (describe_boxes (plan, &extent, &frame))
    columns = box_columns<true>;
  if (extent.fresh > 0)
    GPU_CHECK (gpu_launch (box_rows, dim3 (extent.fresh, 1, extent.channels),
                   CHUNK, sizeof (uint32_t) * frame.ring, part->stream, frame),
        fault);
  if (extent.result > 0)
    GPU_CHECK (gpu_launch (columns,
                   dim3 ((extent.width + COLUMNS - 1) / COLUMNS,
                       (extent.result + frame.strip - 1) / frame.strip,
                       extent.channels),
                   COLUMNS, 0, part->stream, frame),
        fault);
  ok = true;
done:
  return ok;
}

static bool
box_load_passes (Fault *fault)
{
  return twopass_load_kernel ((const void *) box_rows, fault)
      && twopass_load_kernel ((const void *) box_columns<false>, fault)
      && twopass_load_kernel ((const void *) box_columns<true>, fault);
}
