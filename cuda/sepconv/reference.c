/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reference: the specification in plain C, and the CPU backend.
 *
 * A plane is cut into slabs of columns, which worker threads share. In a slab, rows
 * become sums, and columns of those become codes, while the sums are still in a core's
 * cache. Interleaved channels at even distances are one row of samples, whose taps are
 * as many samples apart as there are channels. Sums are float where that keeps the
 * promised accuracy for the spec, else double; both come from the same text,
 * reference-passes.h. */
#include "method.h"

#include "../workers.h"
#include "border.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples that the inner loops keep in registers: two to sixteen vectors. */
#define RUN 64

/* A slab's sums are to fit a core's second-level cache, and its samples are RUN, or up to
 * so many RUNs: the more, the fewer are unpacked twice. */
#define SLAB_BYTES (576 * 1024)
#define MAX_SLAB_RUNS 4
#define SLABS_EACH 3 /* of a worker, at least, while there are several RUNs */

/* Rows that a worker copies at a time. */
#define COPY_ROWS 64

/* Rows that columns are summed for at a time: theirs fit the first-level cache. */
#define COLUMN_ROWS 64

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
  void *taps_x, *taps_y; /* of the plane, as the sums' type */
  /* A row: of what the sums' samples add up to with the rest, and of sums beyond the
   * edges. */
  void *offsets, *outside;
  int *left, *right; /* edge_index() of samples beyond a row's ends */
  size_t sums_bytes, line_bytes;
  uint8_t *sums;  /* a slab, per worker */
  uint8_t *lines; /* a slab's part of a row with what taps reach, per worker */
} ReferenceState;

/* One plane's share of a run, or one channel's, handed to the workers. */
typedef struct
{
  const ReferenceState *state;
  SepconvBorder border;
  const Taps *x, *y;
  int height;
  int step;      /* channels: samples from one tap's to the next one's */
  int n_samples; /* of a row */
  int slab;      /* samples, a multiple of RUN */
  const SepconvChannel *channel; /* [step]; what they do not share is below */
  int distance;                  /* bytes from sample to sample */
  const uint8_t *src;
  ptrdiff_t src_stride;
  uint8_t *dst;
  ptrdiff_t dst_stride;
} PlaneJob;

static size_t
round_up (size_t n, size_t multiple)
{
  return (n + multiple - 1) / multiple * multiple;
}

static size_t
max_size (size_t a, size_t b)
{
  return a > b ? a : b;
}

static int
min_int (int a, int b)
{
  return a < b ? a : b;
}

/* Copies the samples of rows [first, last) that belong to channels that are not
 * filtered, those from `begin` on. */
static void
copy_kept (const PlaneJob *job, int first, int last, int begin, int n)
{
  const size_t bytes = (size_t) job->channel->sample_bytes;

  for (int c = 0; c < job->step; c++) {
    if (job->channel[c].filter)
      continue;
    for (int y = first; y < last; y++) {
      const uint8_t *from = job->src + y * job->src_stride;
      uint8_t *to = job->dst + y * job->dst_stride;

      for (int i = begin + (c - begin % job->step + job->step) % job->step;
           i < begin + n; i += job->step)
        memcpy (to + (ptrdiff_t) i * job->distance,
            from + (ptrdiff_t) i * job->distance, bytes);
    }
  }
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
  const PlaneJob *job = user;
  const size_t bytes = (size_t) job->channel->sample_bytes;

  (void) worker;
  if (job->distance != (int) bytes) {
    copy_kept (job, first, last, 0, job->n_samples);
    return;
  }
  for (int y = first; y < last; y++)
    memcpy (job->dst + y * job->dst_stride, job->src + y * job->src_stride,
        (size_t) job->n_samples * bytes);
}

/* What stands for the sample that is `i` from a row's first one: which one does, or -1
 * less the channel whose border value is meant. */
static int
edge_index (const PlaneJob *job, int i)
{
  const int channel = (i % job->step + job->step) % job->step;
  const int x = border_index (
      (i - channel) / job->step, job->channel->width, job->border);

  return x < 0 ? -1 - channel : x * job->step + channel;
}

static void
find_edges (const PlaneJob *job)
{
  const int before = job->x->n / 2 * job->step;
  const int after = (job->x->n - 1) * job->step - before;

  for (int i = 0; i < before; i++)
    job->state->left[i] = edge_index (job, i - before);
  for (int i = 0; i < after; i++)
    job->state->right[i] = edge_index (job, job->n_samples + i);
}

/* Samples of a slab of a plane whose rows have so many, in sums of so many bytes. */
static int
slab_samples (int n_samples, int height, size_t sum_bytes, int workers)
{
  const size_t fit = SLAB_BYTES / ((size_t) height * RUN * sum_bytes);
  int runs = fit < 1 ? 1 : fit < MAX_SLAB_RUNS ? (int) fit : MAX_SLAB_RUNS;

  /* As many as keep all workers busy to the end. */
  while (runs > 1 && n_samples < SLABS_EACH * workers * runs * RUN)
    runs--;
  return runs * RUN;
}

/* Bytes of its sums. */
static size_t
slab_bytes (int n_samples, int height, size_t sum_bytes, int workers)
{
  return (size_t) height * sum_bytes
      * (size_t) slab_samples (n_samples, height, sum_bytes, workers);
}

static void
filter_plane (const SepconvPlan *plan, PlaneJob *job)
{
  const int height = image_plane_height (&plan->layout, job->channel->plane);

  job->slab = slab_samples (job->n_samples, height,
      plan->float_holds ? sizeof (float) : sizeof (double),
      workers_count (job->state->workers));
  find_edges (job);
  if (plan->float_holds)
    prepare_float (job);
  else
    prepare_double (job);
  workers_run (job->state->workers,
      (job->n_samples + job->slab - 1) / job->slab, 1,
      plan->float_holds ? filter_slabs_float : filter_slabs_double, job);
}

static int
count_filtered (const SepconvChannel *channel, int n)
{
  int filtered = 0;

  for (int c = 0; c < n; c++)
    filtered += channel[c].filter;
  return filtered;
}

/* `n` channels from `channel` on, as one row of samples. */
static void
run_channels (const SepconvPlan *plan, const SepconvPart *part,
    const SepconvChannel *channel, int n, int distance)
{
  const Image *src = part->src, *dst = part->dst;
  PlaneJob job = {
    .state = plan->state,
    .border = plan->border,
    .x = &plan->taps[channel->plane].x,
    .y = &plan->taps[channel->plane].y,
    .height = sepconv_channel_height (channel, src),
    .step = n,
    .n_samples = channel->width * n,
    .channel = channel,
    .distance = distance,
    .src = sepconv_channel_data (channel, src),
    .src_stride = src->memory[channel->memory].stride,
    .dst = sepconv_channel_data (channel, dst),
    .dst_stride = dst->memory[channel->memory].stride,
  };

  if (count_filtered (channel, n) > 0)
    filter_plane (plan, &job);
  else
    workers_run (job.state->workers, job.height, COPY_ROWS, copy_rows, &job);
}

/* Whether n channels are a row of samples at even distances, and enough of them are to be
 * filtered for the others to be filtered in vain. */
static bool
are_even (const SepconvChannel *channel, int n, int distance)
{
  const int filtered = count_filtered (channel, n);

  for (int c = 0; c < n; c++)
    if (channel[c].byte_offset != channel->byte_offset + c * distance)
      return false;
  return channel->pixel_stride == n * distance
      && (filtered == 0 || 2 * filtered >= n);
}

static bool
reference_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  (void) fault;
  for (int i = 0; i < plan->n_channels;) {
    const SepconvChannel *channel = &plan->channel[i];
    const int n = plan->layout.plane[channel->plane].channels;
    const int distance = channel->pixel_stride / n;

    if (are_even (channel, n, distance))
      run_channels (plan, part, channel, n, distance);
    else
      for (int c = 0; c < n; c++)
        run_channels (plan, part, channel + c, 1, channel->pixel_stride);
    i += n;
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
  free (state->lines);
  free (state->sums);
  free (state->right);
  free (state->left);
  free (state->outside);
  free (state->offsets);
  free (state->taps_y);
  free (state->taps_x);
  free (state);
}

/* For so many sums, a multiple of RUN: no vector of them lies in two lines of a cache. */
static void *
row_new (size_t n)
{
  return aligned_alloc (64, n * sizeof (double));
}

static bool
reference_prepare (SepconvPlan *plan, Fault *fault)
{
  ReferenceState *state = calloc (1, sizeof *state);
  size_t row = 0, reach = 0;
  int workers;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  workers = workers_count (state->workers);

  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *plane = &plan->layout.plane[p];
    const int height = image_plane_height (&plan->layout, p);
    const int samples = plane->width * plane->channels;

    row = max_size (row, round_up ((size_t) samples, RUN));
    reach = max_size (reach, TAPS_MAX * (size_t) plane->channels);
    state->sums_bytes = max_size (state->sums_bytes,
        max_size (slab_bytes (samples, height, sizeof (float), workers),
            slab_bytes (samples, height, sizeof (double), workers)));
  }
  state->line_bytes = (MAX_SLAB_RUNS * RUN + reach) * sizeof (double);
  state->taps_x = malloc (TAPS_MAX * sizeof (double));
  state->taps_y = malloc (TAPS_MAX * sizeof (double));
  state->offsets = row_new (row + MAX_SLAB_RUNS * RUN);
  state->outside = row_new (row + MAX_SLAB_RUNS * RUN);
  state->left = malloc (reach * sizeof *state->left);
  state->right = malloc (reach * sizeof *state->right);
  state->sums =
      row_new ((size_t) workers * state->sums_bytes / sizeof (double));
  /* Zeroed, because runs past a line's end are summed and thrown away. */
  state->lines = calloc ((size_t) workers, state->line_bytes);
  if (state->taps_x == NULL || state->taps_y == NULL || state->offsets == NULL
      || state->outside == NULL || state->left == NULL || state->right == NULL
      || state->sums == NULL || state->lines == NULL)
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu MiB for the filter's intermediate sums.",
        (size_t) workers * state->sums_bytes >> 20);
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
