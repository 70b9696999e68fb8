/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* method: types that histo.c and the methods share. Not a public header. */
#pragma once

#include "../histo.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HISTO_MAX_CHANNELS (IMAGE_MAX_PLANES * IMAGE_MAX_CHANNELS)

/* One selected channel. `width` is that of the plan's layout; histo_channel_width() returns
 * that of a run's image. */
typedef struct
{
  int plane, channel; /* as in the spec */
  int memory;
  int byte_offset;  /* of sample (0, 0) in its row */
  int pixel_stride; /* bytes */
  int width;        /* pixels */
  int sample_bytes; /* 1 or 2 */
  int depth, shift;
} HistoChannel;

struct HistoPlan
{
  const HistoMethod *method;
  Gpu *gpu;
  Image layout;
  int bins;
  int n_channels;
  HistoChannel channel[HISTO_MAX_CHANNELS]; /* by plane, then by channel */
  void *state;                              /* the method's own */
};

struct HistoResult
{
  Backend backend;
  int bins;
  int n_channels;
  HistoChannel channel[HISTO_MAX_CHANNELS];
  uint64_t *counts; /* [n_channels][bins]; pinned for BACKEND_CUDA */
};

typedef struct HistoMethodOps
{
  /* Least compute capability, 10 * major + minor; 0: any, or a CPU method. */
  int min_capability;
  /* Whether the method supports a spec that histo_validate() has accepted; NULL: always. `gpu`
   * may be NULL: a GPU that can run every method. */
  bool (*supports) (
      const HistoSpec *spec, const Image *layout, const Gpu *gpu, Fault *why);
  /* Expected time per sample in arbitrary but common units, for the choice among
   * the methods of one backend. */
  double (*cost) (const HistoSpec *spec, const Image *layout);
  /* Allocates plan->state. */
  bool (*prepare) (HistoPlan *plan, Fault *fault);
  void (*release) (HistoPlan *plan);
  /* Overwrites all counters of the result. */
  bool (*run) (HistoPlan *plan, const Image *src, HistoResult *result,
      GpuStream stream, GpuOrder order, Fault *fault);
  /* Whether GPU_BESIDE_KERNELS makes a difference to run(). */
  bool overlaps;
} HistoMethodOps;

/* Lists the selected channels of a valid spec; returns their number. */
int histo_list_channels (const HistoSpec *spec, const Image *layout,
    HistoChannel channel[HISTO_MAX_CHANNELS]);

/* The first sample of a channel in an image, and the channel's size. */
static inline const uint8_t *
histo_channel_data (const HistoChannel *channel, const Image *image)
{
  return image->memory[channel->memory].data + channel->byte_offset;
}

static inline int
histo_channel_width (const HistoChannel *channel, const Image *image)
{
  return image->plane[channel->plane].width;
}

static inline int
histo_channel_height (const HistoChannel *channel, const Image *image)
{
  return image->memory[channel->memory].height;
}

/* The mask of a raw sample's code bits. The bin is (raw & mask) * bins >> (depth + shift); the
 * product is below 2^32. */
static inline uint32_t
histo_raw_mask (const HistoChannel *channel)
{
  return ((1u << channel->depth) - 1) << channel->shift;
}

/* The index, among n selected channels, of a plane's channel of the image, or -1. */
int histo_find_channel (
    const HistoChannel *channels, int n, int plane, int channel);

/* Whether a run on `src` into `result` may begin; sets the fault if not. */
bool histo_plan_accepts (const HistoPlan *plan, const Image *src,
    const HistoResult *result, Fault *fault);

/* Whether a block of threads can have `bytes` bytes of counters in shared memory on this GPU;
 * NULL: on the GPU with the most that is known. */
bool histo_fits_shared (size_t bytes, const Gpu *gpu, Fault *why);

#ifdef __cplusplus
}
#endif
