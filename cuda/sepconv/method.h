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
  double offset; /* for other combinations than SUM: zero + bias * full */
  double border; /* border_value - center */
  /* Only for other combinations than SUM; codes. */
  double zero_offset;    /* center - zero */
  double term_offset[2]; /* a term is its sum over in - c plus this: sum(tx) sum(ty) (c - zero) */
  double threshold;
} SepconvChannel;

/* The taps of one term of a plane; those of SUM with the scale folded into y. Powers of two are moved between x
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
  Image most; /* the layout that it was made for, which has the largest size */
  SepconvBorder border;
  int n_channels;
  SepconvChannel channel[SEPCONV_MAX_CHANNELS]; /* by plane, then by channel */
  SepconvPlaneTaps *taps; /* [layout.n_planes], of the first terms */
  SepconvPlaneTaps *more; /* of the others: sepconv_plan_term() */
  SepconvCombine combine;
  int n_terms[IMAGE_MAX_PLANES]; /* of each plane */
  int most_terms;                /* of any */
  double scale, amount; /* not of SUM, whose scale is in its taps */
  bool float_holds;  /* sepconv_float_holds() of the spec */
  unsigned revision; /* grows with each spec, from 1 */
  unsigned shape;    /* grows with each sepconv_plan_reshape(), from 1 */
  void *state;       /* the method's own */
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
  /* Where set, of each plane: the rest of dst may have any values. For methods of the CPU. */
  const SepconvWindow *window;
} SepconvPart;

/* What a cost is worked out from. An axis of one tap is filtered like any other: the GPU's
 * methods always make both passes. */
typedef struct
{
  int planes;            /* that are filtered */
  double samples;        /* millions of them */
  double x_taps, y_taps; /* on average over the samples, of all terms together */
  int terms;             /* at most */
  SepconvCombine combine;
  double ends;           /* of samples: the share whose taps have ends as box.h */
  double jump;           /* of any axis: the larger of its outermost taps, by its largest one */
  int longest;           /* the most taps of any axis of any plane */
  /* Up to three taps that are the same backwards and small integers times a number, of each axis. */
  bool whole;
  int channels;          /* interleaved, at most */
  int sample_bytes;      /* at most */
  int depth;             /* at most */
  bool packed;           /* the samples of all planes follow each other */
  SepconvBorder border;
  int capability;        /* of the GPU; 0: not known */
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
  /* Whether it takes several terms or other combinations than SUM, those that `supports` does not refuse; else
   * only plain specs. */
  bool combines;
  /* Beyond what sepconv_validate() has already accepted; NULL: everything. */
  bool (*supports) (const SepconvSpec *spec, const Image *layout, Fault *why);
  /* Expected time of a frame in units that the methods of one backend share, for the
   * choice among them. Those of the GPU: microseconds on an H200, fitted to
   * docs/performance's measurements. Those of the CPU: microseconds of one core with
   * AVX-512; with other instruction sets all take longer by about the same factor. */
  double (*cost) (const SepconvWork *work);
  /* Allocates plan->state for the plan's layout, on the CPU also for all smaller ones, and any
   * taps. */
  bool (*prepare) (SepconvPlan *plan, Fault *fault);
  void (*release) (SepconvPlan *plan);
  bool (*run) (SepconvPlan *plan, const SepconvPart *part, Fault *fault);
  /* Whether GPU_BESIDE_KERNELS makes a difference to run(). */
  bool overlaps;
  /* Whether run() can count what the plan writes, planes of the same kind, for another
   * plan; NULL: never. */
  bool (*counts) (SepconvPlan *plan, const HistoPlan *histo);
} SepconvMethodOps;

/* A plan without a method, of a valid spec: the spec as methods see it, for what computes it by
 * kernels of its own. sepconv_plan_free() frees it. */
SepconvPlan *sepconv_plan_new_bare (
    const SepconvSpec *spec, const Image *layout, Fault *fault);

/* Writes a valid spec into a plan that sepconv_plan_has_terms() of it. */
void sepconv_plan_adopt (SepconvPlan *plan, const SepconvSpec *spec);

/* Term t of plane p, 0 <= t < n_terms[p]. */
static inline const SepconvPlaneTaps *
sepconv_plan_term (const SepconvPlan *plan, int p, int t)
{
  return t == 0 ? &plan->taps[p]
                : &plan->more[p * (plan->most_terms - 1) + t - 1];
}

/* The first channel of plane p; its others follow, as many as the layout has. */
static inline const SepconvChannel *
sepconv_plane_channels (const SepconvPlan *plan, int p)
{
  const SepconvChannel *channel = plan->channel;

  for (int i = 0; i < p; i++)
    channel += plan->layout.plane[i].channels;
  return channel;
}

/* Where channel c of an image starts, NULL in a memory that has no rows, and how tall it is. */
static inline uint8_t *
sepconv_channel_data (const SepconvChannel *channel, const Image *image)
{
  uint8_t *data = image->memory[channel->memory].data;

  return data == NULL ? NULL : data + channel->byte_offset;
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

/* The gain that sepconv.h limits. */
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
