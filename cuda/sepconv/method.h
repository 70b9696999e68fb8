/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* method: declarations that sepconv.c and the methods share. Not a public header. */
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

/* Of the GPU that costs were fitted on. */
#define SEPCONV_COST_MULTIPROCESSORS 132

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
  double offset; /* for combinations other than SUM: zero + bias * full */
  double border; /* border_value - center */
  /* In codes; used for combinations other than SUM only. A term is its sum over in - c plus its
   * term_offset, sum(tx) sum(ty) (c - zero). */
  double zero_offset; /* center - zero */
  double term_offset[2];
  double threshold;
} SepconvChannel;

/* The taps of one term of a plane. For SUM, y includes the scale. Powers of two are moved between
 * x and y so that sum|x| is in [1, 2): the taps of both axes then fit float, however lopsided the
 * spec is. */
typedef struct
{
  Taps x, y;
} SepconvPlaneTaps;

struct SepconvPlan
{
  const SepconvMethod *method;
  Gpu *gpu;
  Image layout;
  Image most; /* the layout that the plan was made for: the largest size */
  SepconvBorder border;
  int n_channels;
  SepconvChannel channel[SEPCONV_MAX_CHANNELS]; /* by plane, then by channel */
  SepconvPlaneTaps *taps; /* [layout.n_planes]: each plane's first term */
  SepconvPlaneTaps *more; /* all other terms: sepconv_plan_term() */
  SepconvCombine combine;
  int n_terms[IMAGE_MAX_PLANES]; /* of each plane */
  int most_terms;                /* the largest of these */
  double scale, amount;          /* not for SUM, whose taps include the scale */
  bool float_holds;  /* sepconv_float_holds() of the spec */
  unsigned revision; /* starts at 1, increases with each spec */
  unsigned shape; /* starts at 1, increases with each sepconv_plan_reshape() */
  void *state;       /* the method's own */
  /* The same for turns 1, 2...; NULL: no run yet. */
  void *other_state[GPU_MAX_TURNS - 1];
};

/* One run: a frame, or a part of one. Rows fresh[m] of memory m of src have
 * arrived since the last call for this frame. Rows result[m] of dst are to be
 * written; they depend only on rows of src that have arrived. */
typedef struct
{
  const Image *src, *dst;
  ImageRows fresh[IMAGE_MAX_MEMORIES];
  ImageRows result[IMAGE_MAX_MEMORIES];
  GpuStream stream;
  /* Relative to the kernels before. The parts of one frame need no order: they write different
   * rows. */
  GpuOrder order;
  /* If set, run() also counts the result, a whole frame, into `counted`. */
  HistoPlan *histo;
  HistoResult *counted;
  /* If set, [plane]: the pixels of dst that are needed; all others may have any values afterwards.
   * For CPU methods only. */
  const SepconvWindow *window;
} SepconvPart;

/* Input of SepconvMethodOps.cost(). An axis of one tap counts like any other: the GPU methods
 * always run both passes. */
typedef struct
{
  int planes;            /* filtered planes; all below is about these alone */
  double samples;        /* of all planes, in millions */
  double x_taps, y_taps; /* sum over a plane's terms; mean over all samples */
  int terms;             /* largest of any plane */
  SepconvCombine combine;
  /* share of the samples whose taps have ends that differ: box.h */
  double ends;
  /* largest of any axis: its larger outermost tap / its largest tap */
  double jump;
  int longest;           /* the most taps of any axis of any plane */
  /* Each axis has one or two taps, or three: a, b, a, where b / a or a / b is an integer below 32,
   * or a or b is 0. */
  bool whole;
  int channels;     /* interleaved; largest of any plane */
  int sample_bytes; /* largest of any plane */
  int depth;        /* largest of any plane */
  bool packed;      /* in all planes, samples follow each other without gaps */
  SepconvBorder border;
  int capability;        /* of the GPU; 0: not known */
  /* of most runs; changes the cost only if the method `overlaps` */
  GpuOrder order;
} SepconvWork;

/* The mean number of taps of the two axes, for methods whose time per tap is about the same in
 * both passes. */
static inline double
sepconv_mean_taps (const SepconvWork *work)
{
  return 0.5 * (work->x_taps + work->y_taps);
}

/* For SepconvMethodOps.turns(): `most` for frames of at least `least` samples for each multiprocessor
 * of the GPU, else 1. The GPU filters smaller frames faster than the host queues them, which takes
 * longer on several streams. */
int sepconv_turns_of_size (const SepconvPlan *plan, int most, double least);

/* Whether a method that calls sepconv_turns_of_size() with this `least` has turns on the GPU of the
 * costs, an H200. */
static inline bool
sepconv_work_takes_turns (const SepconvWork *work, double least)
{
  return work->order == GPU_BESIDE_KERNELS
      && 1e6 * work->samples >= least * SEPCONV_COST_MULTIPROCESSORS;
}

/* The input of cost() for a valid spec; the capability is left 0. */
SepconvWork sepconv_work (
    const SepconvSpec *spec, const Image *layout, GpuOrder order);

typedef struct SepconvMethodOps
{
  /* Compute capability, 10 * major + minor, that the method needs; 0: any, or a CPU method. */
  int min_capability;
  /* Whether a frame may come in several parts; else run() always gets whole frames. */
  bool in_parts;
  /* Whether the method takes several terms, and combinations other than SUM, where supports()
   * accepts them; else it takes plain specs only. */
  bool combines;
  /* Whether the method can compute a spec that sepconv_validate() has accepted; if not, `why` gives
   * the reason. NULL: it can compute every spec. */
  bool (*supports) (const SepconvSpec *spec, const Image *layout, Fault *why);
  /* Expected time of a frame, for the choice among the methods of one backend, which share its
   * unit. GPU: microseconds on an H200, fitted to the measurements in docs/performance. CPU:
   * microseconds of one core with AVX-512; with other instruction sets all methods take longer by
   * about the same factor. */
  double (*cost) (const SepconvWork *work);
  /* Allocates plan->state, for any taps, and for the plan's layout; on the CPU for all smaller
   * layouts, too. */
  bool (*prepare) (SepconvPlan *plan, Fault *fault);
  void (*release) (SepconvPlan *plan);
  bool (*run) (SepconvPlan *plan, const SepconvPart *part, Fault *fault);
  /* Whether GPU_BESIDE_KERNELS makes a difference to run(). */
  bool overlaps;
  /* The number of streams on which frames that are filtered in turn take the least time; NULL: 1.
   * Each turn has a state, and thereby device memory, of its own. */
  int (*turns) (const SepconvPlan *plan);
  /* Whether run() can also count its result for `histo`, a plan for planes of the same kind;
   * NULL: never. */
  bool (*counts) (SepconvPlan *plan, const HistoPlan *histo);
} SepconvMethodOps;

/* A plan of a valid spec, without a method: the spec as methods see it, for callers that compute it
 * with kernels of their own. The caller owns it, and frees it by sepconv_plan_free(). */
SepconvPlan *sepconv_plan_new_bare (
    const SepconvSpec *spec, const Image *layout, Fault *fault);

/* Writes a valid spec into a plan; sepconv_plan_has_terms() must be true of both. */
void sepconv_plan_adopt (SepconvPlan *plan, const SepconvSpec *spec);

/* Term t of plane p, 0 <= t < n_terms[p]. */
static inline const SepconvPlaneTaps *
sepconv_plan_term (const SepconvPlan *plan, int p, int t)
{
  return t == 0 ? &plan->taps[p]
                : &plan->more[p * (plan->most_terms - 1) + t - 1];
}

/* Whether runs of the plan take turns: there is a state for a second one. */
static inline bool
sepconv_has_turns (const SepconvPlan *plan)
{
  return plan->other_state[0] != NULL;
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

/* The address of a channel's sample (0, 0) in an image, NULL if its memory has no rows; and the
 * channel's height. */
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

/* The scale from the spec's taps of a plane to the plan's taps: x taps times
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
