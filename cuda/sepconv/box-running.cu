/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running: running sums for kernels whose taps are all equal, at a cost that
 * does not grow with their number.
 *
 * With one weight for the whole window the filter is a sum of codes: integers,
 * summed without any rounding, and multiplied once.
 *
 *   sum_j ty sum_i tx (in - c) = tx ty (sum of codes inside - c * inside
 *                                       + outside * (border_value - c))
 *
 * where `inside` and `outside` count the samples of the window within the image
 * and beyond it; `outside` is 0 for all borders but constant.
 *
 * Row pass: a block walks along one row with its borders and keeps the prefix sums
 * P of the last nx samples and more in a ring in shared memory; the sum of nx
 * samples is P(x + nx - 1) - P(x - 1). Prefix sums wrap around modulo 2^32, which
 * their differences don't notice: nx * max_code < 2^29. A warp's 32 accesses go
 * to neighbouring words of the ring: no bank conflicts.
 *
 * Column pass: a thread walks down a strip of a column; from one row to the next
 * the row sum that comes into the window is added, and the one that goes is taken
 * away. Sums are 64 bits wide: ny * nx * max_code < 2^41. The first sum of a strip
 * takes ny loads, so strips are at least a part of ny tall. */
#include "twopass.cuh"

#include <math.h>

#define WARP 32
#define WARPS 8
#define CHUNK (WARPS * WARP) /* samples of a row at a time, one a thread */
#define COLUMNS 128          /* a block of the column pass */

/* A strip's first sum costs no more than this many loads a row. */
#define STRIP_SHARE 8
#define MIN_STRIP 16
#define BLOCKS_PER_MULTIPROCESSOR 16

/* The largest relative difference of taps that count as equal: it moves results
 * by less than 0.1 code values at the largest gain. */
#define EQUAL_TAPS 1e-12

static_assert (
    (double) TAPS_MAX * 65535 < 0x1p32, "A row sum does not fit 32 bits.");

/* What is needed to finish a channel, in double. */
struct BoxChannel
{
  double weight, offset;
  double border; /* border value, less the center */
};

struct BoxFrame : TwopassFrame<float>
{
  BoxChannel box[SEPCONV_MAX_CHANNELS];
  int ring;  /* words, a power of two, at least CHUNK + nx */
  int strip; /* rows */
};

/* Row sums take the place of the float sums. */
static __device__ __forceinline__ uint32_t *
row_sums (const TwopassChannel<float> &channel, int y)
{
  return (uint32_t *) channel.sums + (size_t) y * channel.width;
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

    if (at < length) {
      const int from = border_index (at - nx / 2, channel.width, frame.border);

      if (from >= 0)
        sum = load_code (row + (ptrdiff_t) from * channel.pixel_stride,
            channel.sample_bytes, channel.shift);
    }
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

/* How many of n samples from `first` on lie in [0, size). */
static __device__ __forceinline__ int
count_inside (int first, int n, int size)
{
  return max (0, min (first + n, size) - max (first, 0));
}

/* Of column x, the sum of row y, without samples outside of the image. */
static __device__ __forceinline__ uint32_t
row_sum (
    const TwopassChannel<float> &channel, int x, int y, SepconvBorder border)
{
  const int from = border_index (y, channel.height, border);

  return from < 0 ? 0 : row_sums (channel, from)[x];
}

/* Finishes sample (x, y), whose window has codes of that sum inside the image. */
static __device__ __forceinline__ void
store_box (const BoxFrame &frame, int x, int y, uint64_t codes)
{
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const BoxChannel &box = frame.box[blockIdx.z];
  const int nx = channel.nx, ny = channel.ny;
  int64_t inside = (int64_t) nx * ny;
  int64_t outside = 0;
  double sum;

  if (frame.border == SEPCONV_CONSTANT) {
    inside = (int64_t) count_inside (x - nx / 2, nx, channel.width)
        * count_inside (y - ny / 2, ny, channel.height);
    outside = (int64_t) nx * ny - inside;
  }
  sum = (double) ((int64_t) codes - (int64_t) channel.center * inside)
      + box.border * (double) outside;
  store_code (channel.dst + y * channel.dst_stride
          + (ptrdiff_t) x * channel.pixel_stride,
      round_to_code (box.weight * sum + box.offset, channel.max_code),
      channel.sample_bytes, channel.shift);
}

static __global__ void
box_columns (const BoxFrame frame)
{
  const TwopassChannel<float> &channel = frame.channel[blockIdx.z];
  const int x = blockIdx.x * COLUMNS + threadIdx.x;
  const int first = channel.result.first + blockIdx.y * frame.strip;
  const int last = min (first + frame.strip, channel.result.last);
  const int above = channel.ny / 2, below = channel.ny - 1 - above;
  uint64_t sum = 0;

  if (x >= channel.width || first >= last)
    return;
  if (!channel.filter) {
    for (int y = first; y < last; y++)
      copy_sample (channel, x, y);
    return;
  }
  for (int y = first - above; y <= first + below; y++)
    sum += row_sum (channel, x, y, frame.border);
  store_box (frame, x, first, sum);
  for (int y = first + 1; y < last; y++) {
    sum += row_sum (channel, x, y + below, frame.border);
    sum -= row_sum (channel, x, y - above - 1, frame.border);
    store_box (frame, x, y, sum);
  }
}

/* Enough strips to keep the device busy, and not so many that their first sums
 * cost more than the rest. */
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

static void
describe_boxes (
    const SepconvPlan *plan, const TwopassExtent *extent, BoxFrame *frame)
{
  int nx = 1, ny = 1;

  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const SepconvPlaneTaps *taps = &plan->taps[channel->plane];

    frame->box[i] = BoxChannel ();
    if (!channel->filter)
      continue;
    frame->box[i].weight =
        taps_sum (&taps->x) / taps->x.n * (taps_sum (&taps->y) / taps->y.n);
    frame->box[i].offset = channel->offset;
    frame->box[i].border = channel->border;
    nx = max (nx, taps->x.n);
    ny = max (ny, taps->y.n);
  }
  for (frame->ring = CHUNK; frame->ring < CHUNK + nx;)
    frame->ring *= 2;
  frame->strip = strip_height (plan, extent, ny);
}

static bool
box_running_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  TwopassExtent extent;
  BoxFrame frame;
  bool ok = false;

  if (!twopass_begin<float> (plan, part, &frame, &extent, fault))
    return false;
  describe_boxes (plan, &extent, &frame);
  if (extent.fresh > 0)
    GPU_CHECK (gpu_launch (box_rows, dim3 (extent.fresh, 1, extent.channels),
                   CHUNK, sizeof (uint32_t) * frame.ring, part->stream, frame),
        fault);
  if (extent.result > 0)
    GPU_CHECK (gpu_launch (box_columns,
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
are_equal (const Taps *taps)
{
  for (int i = 1; i < taps->n; i++)
    if (!(fabs (taps->tap[i] - taps->tap[0])
            <= EQUAL_TAPS * fabs (taps->tap[0])))
      return false;
  return true;
}

static bool
box_running_supports (const SepconvSpec *spec, const Image *layout, Fault *why)
{
  for (int p = 0; p < layout->n_planes; p++) {
    const SepconvPlane *plane = &spec->plane[p];

    if (plane->channels != 0 && !(are_equal (plane->x) && are_equal (plane->y)))
      return fault_set (why, FAULT_UNSUPPORTED,
          "the taps of plane %d are not all equal along each axis", p);
  }
  return true;
}

static bool
box_running_prepare (SepconvPlan *plan, Fault *fault)
{
  return twopass_prepare (plan, fault)
      && twopass_load_kernel ((const void *) box_rows, fault)
      && twopass_load_kernel ((const void *) box_columns, fault);
}

/* Does not really grow with the taps; held above the methods whose times were
 * measured for as long as its own are not. */
static double
box_running_cost (const SepconvSpec *spec, const Image *layout)
{
  return twopass_cost (spec, layout, 1.5);
}

extern "C" const SepconvMethodOps sepconv_box_running_ops = {
  0,
  true,
  box_running_supports,
  box_running_cost,
  box_running_prepare,
  twopass_release,
  box_running_run,
};
