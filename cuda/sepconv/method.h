/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* method: what sepconv.c and the methods share. Not a public header. */
#pragma once

#include "../histo/method.h"
#include "../sepconv.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SEPCONV_MAX_CHANNELS (IMAGE_MAX_PLANES * IMAGE_MAX_CHANNELS)

/* Methods sum taps in blocks of this many, then the blocks: rounding errors
 * grow with block + n / block instead of n. */
#define SEPCONV_SUM_BLOCK 32

/* One channel of one plane, with the formula rearranged around the middle of the
 * code range, c = 2^(depth-1), which halves the numbers that floats must hold:
 *
 *   out = offset + sum_j ty'[j] sum_i tx'[i] * (in - c)
 *   tx' ty' = scale * tx * ty
 *   offset = zero + bias * full + scale * sum(tx) * sum(ty) * (c - zero)
 */
typedef struct
{
  int plane, memory;
  int byte_offset;  /* of sample (0, 0) in its row */
  int pixel_stride; /* bytes */
  int width;        /* pixels */
  int sample_bytes; /* 1 or 2 */
  int shift;
  int max_code; /* 2^depth - 1 */
  bool filter;  /* else copy the raw sample */
  double center;
  double offset;
  double border; /* border_value - center */
} SepconvChannel;

/* The taps of one plane, scale folded into y. Powers of two are moved between x
 * and y so that sum|x| is in [1, 2): however lopsided the spec, both fit float. */
typedef struct
{
  Taps x, y;
} SepconvPlaneTaps;

struct SepconvPlan
{
  const SepconvMethod *method;
  Gpu *gpu;
  Image layout;
  SepconvBorder border;
  int n_channels;
  SepconvChannel channel[SEPCONV_MAX_CHANNELS];
  SepconvPlaneTaps *taps; /* [layout.n_planes] */
  bool float_holds;       /* sepconv_float_holds() of the spec */
  unsigned revision;      /* grows with each spec, from 1 */
  void *state;            /* the method's own */
};

/* A frame's work, or a part of it: rows fresh[m] of memory m have come in since
 * the last call for this frame; rows result[m] of dst depend on none that have
 * not. */
typedef struct
{
  const Image *src, *dst;
  ImageRows fresh[IMAGE_MAX_MEMORIES];
  ImageRows result[IMAGE_MAX_MEMORIES];
  GpuStream stream;
  GpuOrder order; /* parts of one frame need none: they write other rows */
  /* Where set, the result, a whole frame, is counted on the way. */
  HistoPlan *histo;
  HistoResult *counted;
} SepconvPart;

/* What a cost is worked out from. An axis of one tap is filtered like any other: the GPU's
 * methods always make both passes. */
typedef struct
{
  int planes;            /* that are filtered */
  double samples;        /* millions of them */
  double x_taps, y_taps; /* on average over the samples */
  int longest;           /* the most taps of any axis of any plane */
  int channels;          /* interleaved, at most */
  int sample_bytes;      /* at most */
  GpuOrder order; /* of most runs; only a method that overlaps has two times */
} SepconvWork;

/* For methods whose passes each take their own time for each tap, of both about the same:
 * the taps that both axes would have in the same time. */
static inline double
sepconv_mean_taps (const SepconvWork *work)
{
  return 0.5 * (work->x_taps + work->y_taps);
}

/* The work that a valid spec is. */
SepconvWork sepconv_work (
    const SepconvSpec *spec, const Image *layout, GpuOrder order);

typedef struct SepconvMethodOps
{
  /* Compute capability, 10 * major + minor, that it needs; 0: any, or a CPU. */
  int min_capability;
  /* Whether a frame may come in several parts; else it is always whole. */
  bool in_parts;
  /* Beyond what sepconv_validate() has already accepted; NULL: everything. */
  bool (*supports) (const SepconvSpec *spec, const Image *layout, Fault *why);
  /* Expected time of a frame in units that the methods of one backend share, for the
   * choice among them. Those of the GPU: microseconds on an H200, fitted to
   * docs/performance's measurements. */
  double (*cost) (const SepconvWork *work);
  /* Allocates plan->state for the plan's layout and any taps. */
  bool (*prepare) (SepconvPlan *plan, Fault *fault);
  void (*release) (SepconvPlan *plan);
  bool (*run) (SepconvPlan *plan, const SepconvPart *part, Fault *fault);
  /* Whether GPU_BESIDE_KERNELS makes a difference to run(). */
  bool overlaps;
  /* Whether run() can count what the plan writes, planes of the same kind, for another
   * plan; NULL: never. */
  bool (*counts) (SepconvPlan *plan, const HistoPlan *histo);
} SepconvMethodOps;

/* Where channel c of an image starts, and how tall it is. */
static inline uint8_t *
sepconv_channel_data (const SepconvChannel *channel, const Image *image)
{
  return image->memory[channel->memory].data + channel->byte_offset;
}

static inline int
sepconv_channel_height (const SepconvChannel *channel, const Image *image)
{
  return image->memory[channel->memory].height;
}

/* By what the spec's taps of a plane become those of the plan: x taps times
 * 2^x_exponent, y taps times y_factor * 2^y_exponent. */
typedef struct
{
  int x_exponent, y_exponent;
  double y_factor;
} SepconvTapScale;

SepconvTapScale sepconv_tap_scale (
    const SepconvSpec *spec, const SepconvPlane *plane);

/* The bias of channel c of plane p. */
double sepconv_bias (const SepconvSpec *spec, int p, int c);

/* |scale| * sum|tx| * sum|ty| */
double sepconv_gain (const SepconvSpec *spec, const SepconvPlane *plane);

/* An upper bound, in code values and before the final rounding, on the error of
 * a two-pass sum in floating point with unit roundoff `unit` (2^-24 for float)
 * and blocks of SEPCONV_SUM_BLOCK taps; the largest over all channels. */
double sepconv_rounding_bound (
    const SepconvSpec *spec, const Image *layout, double unit);

/* Whether two-pass float arithmetic keeps the promised accuracy. */
bool sepconv_float_holds (
    const SepconvSpec *spec, const Image *layout, Fault *why);

#ifdef __cplusplus
}
#endif
