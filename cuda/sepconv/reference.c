/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reference: the specification in plain C, and the CPU backend.
 *
 * Two passes a channel: rows into a plane of sums, then columns of that into
 * codes. Rows of either pass are shared among worker threads. Sums are float
 * where that keeps the promised accuracy for the spec, else double; both come
 * from the same text, reference-passes.h. */
#include "method.h"

#include "../workers.h"
#include "border.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples that the inner loops keep in registers: two to sixteen vectors. */
#define RUN 64

/* Rows that a worker takes at a time, at most. */
#define MAX_GRAIN 64

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED
#endif

/* One build of the inner loops for each generation of vector units; not under
 * sanitizers, which are not up yet when the choice is made. */
#if defined __x86_64__ && defined __has_attribute && !defined SANITIZED
#if __has_attribute(target_clones)
#define MULTIVERSION \
  __attribute__ ((target_clones ("avx512f", "fma", "default")))
#endif
#endif
#ifndef MULTIVERSION
#define MULTIVERSION
#endif

typedef struct
{
  Workers *workers;
  size_t sums_bytes;
  void *sums;            /* one channel: rows of `width` sums, padded */
  void *taps_x, *taps_y; /* of the channel, as the sums' type */
  void *outside;         /* the row of sums beyond the edges, padded */
  size_t line_bytes;
  void *lines; /* a row with its borders, per worker */
} ReferenceState;

/* One channel's share of a run, handed to the workers. */
typedef struct
{
  const ReferenceState *state;
  const SepconvChannel *channel;
  SepconvBorder border;
  const Taps *x, *y;
  int height;
  size_t sums_stride; /* in sums */
  const uint8_t *src;
  ptrdiff_t src_stride;
  uint8_t *dst;
  ptrdiff_t dst_stride;
} ChannelJob;

static size_t
round_up (size_t n, size_t multiple)
{
  return (n + multiple - 1) / multiple * multiple;
}

#define SUM float
#define NAME(name) name##_float
#include "reference-passes.h"
#undef SUM
#undef NAME

#define SUM double
#define NAME(name) name##_double
#include "reference-passes.h"
#undef SUM
#undef NAME

static void
copy_rows (void *user, int worker, int first, int last)
{
  const ChannelJob *job = user;
  const SepconvChannel *channel = job->channel;
  const size_t bytes = (size_t) channel->sample_bytes;

  (void) worker;
  for (int y = first; y < last; y++) {
    const uint8_t *from = job->src + y * job->src_stride;
    uint8_t *to = job->dst + y * job->dst_stride;

    for (int x = 0; x < channel->width; x++)
      memcpy (to + (ptrdiff_t) x * channel->pixel_stride,
          from + (ptrdiff_t) x * channel->pixel_stride, bytes);
  }
}

/* Rows per part: enough work to be worth waking a thread for. */
static int
grain (int width, int n_taps)
{
  const int rows = 65536 / (width * (n_taps < 8 ? 1 : n_taps / 8) + 1);

  return rows < 1 ? 1 : rows > MAX_GRAIN ? MAX_GRAIN : rows;
}

static void
run_channel (const SepconvPlan *plan, ChannelJob *job)
{
  const ReferenceState *state = job->state;
  const SepconvChannel *channel = job->channel;
  const int width = channel->width;

  job->sums_stride = round_up ((size_t) width, RUN);
  if (plan->float_holds) {
    load_taps_float (state->taps_x, job->x);
    load_taps_float (state->taps_y, job->y);
    fill_float (
        state->outside, taps_sum (job->x) * channel->border, job->sums_stride);
  } else {
    load_taps_double (state->taps_x, job->x);
    load_taps_double (state->taps_y, job->y);
    fill_double (
        state->outside, taps_sum (job->x) * channel->border, job->sums_stride);
  }
  workers_run (state->workers, job->height, grain (width, job->x->n),
      plan->float_holds ? row_pass_float : row_pass_double, job);
  workers_run (state->workers, job->height, grain (width, job->y->n),
      plan->float_holds ? column_pass_float : column_pass_double, job);
}

static bool
reference_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  ReferenceState *state = plan->state;
  const Image *src = part->src, *dst = part->dst;

  (void) fault;
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    ChannelJob job = {
      .state = state,
      .channel = channel,
      .border = plan->border,
      .x = &plan->taps[channel->plane].x,
      .y = &plan->taps[channel->plane].y,
      .height = sepconv_channel_height (channel, src),
      .src = sepconv_channel_data (channel, src),
      .src_stride = src->memory[channel->memory].stride,
      .dst = sepconv_channel_data (channel, dst),
      .dst_stride = dst->memory[channel->memory].stride,
    };

    if (channel->filter)
      run_channel (plan, &job);
    else
      workers_run (state->workers, job.height, grain (channel->width, 1),
          copy_rows, &job);
  }
  return true;
}

static void
reference_release (SepconvPlan *plan)
{
  ReferenceState *state = plan->state;

  if (state == NULL)
    return;
  workers_free (state->workers);
  free (state->sums);
  free (state->taps_x);
  free (state->taps_y);
  free (state->outside);
  free (state->lines);
  free (state);
}

static bool
reference_prepare (SepconvPlan *plan, Fault *fault)
{
  ReferenceState *state = calloc (1, sizeof *state);
  size_t sums = 0, line = 0;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;

  for (int p = 0; p < plan->layout.n_planes; p++) {
    const size_t width = round_up ((size_t) plan->layout.plane[p].width, RUN);
    const size_t height = (size_t) image_plane_height (&plan->layout, p);

    if (sums < width * height)
      sums = width * height;
    if (line < width + TAPS_MAX)
      line = round_up (width + TAPS_MAX, RUN);
  }
  state->line_bytes = line * sizeof (double);
  state->sums_bytes = sums * sizeof (double);
  state->sums = malloc (state->sums_bytes);
  state->taps_x = malloc (TAPS_MAX * sizeof (double));
  state->taps_y = malloc (TAPS_MAX * sizeof (double));
  state->outside = malloc (state->line_bytes);
  /* Zeroed, because runs past a line's end are summed and thrown away. */
  state->lines =
      calloc ((size_t) workers_count (state->workers), state->line_bytes);
  if (state->sums == NULL || state->taps_x == NULL || state->taps_y == NULL
      || state->outside == NULL || state->lines == NULL)
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu MiB for the filter's intermediate sums.",
        state->sums_bytes >> 20);
  return true;
}

static double
reference_cost (const SepconvWork *work)
{
  (void) work;
  return 1.0; /* the only one on its backend */
}

const SepconvMethodOps sepconv_reference_ops = {
  .cost = reference_cost,
  .prepare = reference_prepare,
  .release = reference_release,
  .run = reference_run,
};
