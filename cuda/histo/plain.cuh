/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plain: common code of the methods that read one sample at a time.
 *
 * Blocks take rows in turn, and their threads the samples of a row; blockIdx.y is the
 * channel. The methods differ in the counters: a Place defines where they are, and how much
 * shared memory they take. */
#pragma once

#include "counters.cuh"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"

#define PLAIN_THREADS 256

struct PlainState : CountersState
{
  int blocks; /* of one channel */
};

struct PlainChannel
{
  const uint8_t *data;
  ptrdiff_t stride;
  int pixel_stride, width, height;
  int sample_bytes;
  uint32_t mask;
  int shift; /* depth and shift */
};

struct PlainFrame
{
  Counters counters;
  int bins;
  PlainChannel channel[HISTO_MAX_CHANNELS];
};

/* Counters in shared memory, one set for each Threads threads: a block or a warp. */
template <int Threads> struct PlainShared
{
  static const int copies = PLAIN_THREADS / Threads;

  template <typename Sums>
  static __device__ __forceinline__ void
  count (Sums *, uint32_t *shared, int bins, uint32_t bin)
  {
    atomicAdd (&shared[(int) threadIdx.x / Threads * bins + bin], 1u);
  }
};

/* No counters: samples count in the plan's sums themselves. */
struct PlainGlobal
{
  static const int copies = 0;

  template <typename Sums>
  static __device__ __forceinline__ void
  count (Sums *sums, uint32_t *, int, uint32_t bin)
  {
    atomicAdd (&sums[bin], (Sums) 1);
  }
};

template <typename Place>
__device__ __forceinline__ void
plain_count (const PlainChannel &channel, unsigned long long *sums,
    uint32_t *shared, int bins)
{
  for (int y = blockIdx.x; y < channel.height; y += gridDim.x) {
    const uint8_t *row = channel.data + y * channel.stride;

    for (int x = threadIdx.x; x < channel.width; x += PLAIN_THREADS) {
      const uint8_t *sample = row + (ptrdiff_t) x * channel.pixel_stride;
      const uint32_t raw =
          channel.sample_bytes == 1 ? *sample : *(const uint16_t *) sample;

      Place::count (sums, shared, bins,
          (raw & channel.mask) * (uint32_t) bins >> channel.shift);
    }
  }
}

template <typename Place>
__global__ void
__launch_bounds__ (PLAIN_THREADS) plain_kernel (PlainFrame frame)
{
  GPU_DYNAMIC_SHARED (uint32_t, shared);
  const int bins = frame.bins;
  unsigned long long *sums =
      frame.counters.sums + (size_t) blockIdx.y * (size_t) bins;

  for (int i = threadIdx.x; i < Place::copies * bins; i += PLAIN_THREADS)
    shared[i] = 0;
  __syncthreads ();
  plain_count<Place> (frame.channel[blockIdx.y], sums, shared, bins);
  __syncthreads ();
  for (int bin = threadIdx.x; bin < bins && Place::copies > 0;
       bin += PLAIN_THREADS) {
    uint32_t n = 0;

    for (int copy = 0; copy < Place::copies; copy++)
      n += shared[copy * bins + bin];
    if (n > 0)
      atomicAdd (&sums[bin], (unsigned long long) n);
  }
  counters_finish (frame.counters, gridDim.x * gridDim.y);
}

template <typename Place>
static size_t
plain_shared_bytes (int bins)
{
  return (size_t) Place::copies * (size_t) bins * sizeof (uint32_t);
}

template <typename Place>
static bool
plain_supports (
    const HistoSpec *spec, const Image *layout, const Gpu *gpu, Fault *why)
{
  (void) layout;
  return histo_fits_shared (plain_shared_bytes<Place> (spec->bins), gpu, why);
}

template <typename Place>
static bool
plain_prepare (HistoPlan *plan, Fault *fault)
{
  if (!counters_prepare_state (plan, sizeof (PlainState), fault)
      || !counters_load_kernel (
          (const void *) plain_kernel<Place>, plan->gpu, fault))
    return false;
  ((PlainState *) plan->state)->blocks = 2 * gpu_multiprocessors (plan->gpu);
  return true;
}

static PlainChannel
plain_channel (const HistoChannel *channel, const Image *src)
{
  PlainChannel plain;

  plain.data = histo_channel_data (channel, src);
  plain.stride = src->memory[channel->memory].stride;
  plain.pixel_stride = channel->pixel_stride;
  plain.width = histo_channel_width (channel, src);
  plain.height = histo_channel_height (channel, src);
  plain.sample_bytes = channel->sample_bytes;
  plain.mask = histo_raw_mask (channel);
  plain.shift = channel->depth + channel->shift;
  return plain;
}

template <typename Place>
static bool
plain_run (HistoPlan *plan, const Image *src, HistoResult *result,
    GpuStream stream, GpuOrder, Fault *fault)
{
  const dim3 grid (
      ((const PlainState *) plan->state)->blocks, plan->n_channels);
  const size_t shared_bytes = plain_shared_bytes<Place> (plan->bins);
  PlainFrame frame;
  bool ok = false;

  frame.counters = counters_for (plan, result);
  frame.bins = plan->bins;
  for (int i = 0; i < plan->n_channels; i++)
    frame.channel[i] = plain_channel (&plan->channel[i], src);
  GPU_CHECK (gpu_launch (plain_kernel<Place>, grid, PLAIN_THREADS, shared_bytes,
                 stream, frame),
      fault);
  ok = true;
done:
  return ok;
}
