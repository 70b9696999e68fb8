/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* box-running-simd: box-running on the processor's vector units. */
#define RUNNING_KERNELS running_kernels_baseline
#include "running-kernels.h"

#include "../isa.h"

#include <stdlib.h>

/* Bands for each worker: several, so that no worker waits long for the others. The first row of a
 * band takes a load for each row of its window. So bands are at least as tall as the window; or
 * else there is one for each worker, of at least 1 / WINDOW_SHARE of the window. No band has fewer
 * rows than LEAST_BAND. */
#define BANDS_EACH 4
#define WINDOW_SHARE 8
#define LEAST_BAND 16
/* With fewer samples, one thread runs: waking others takes longer than they save. */
#define LEAST_SHARED 40000

/* The largest error in codes, before the last rounding. */
#define MOST_LOST 0.25
#define MOST_LOST_ABOVE_12_BITS 0.5

/* Bytes of the widest vector. */
#define ALIGNMENT 64
/* Pixels of a line before pixel 0: those that taps reach, and one of zeros, rounded up to whole
 * vectors. */
#define LINE_BEGIN ((TAPS_MAX / 2 + 1 + ALIGNMENT) / ALIGNMENT * ALIGNMENT)

extern const RunningKernels running_kernels_avx2, running_kernels_avx512;

static const RunningKernels *const kernels[ISA_N] = {
  [ISA_BASELINE] = &running_kernels_baseline,
#ifdef __x86_64__
  [ISA_AVX2] = &running_kernels_avx2,
  [ISA_AVX512] = &running_kernels_avx512,
  [ISA_AVX512_VNNI] = &running_kernels_avx512,
  [ISA_AVX512_VBMI] = &running_kernels_avx512,
#endif
};

static RunningWeights
weigh (double factor, const BoxTaps *x)
{
  return (
      RunningWeights){ factor * x->each, factor * x->first, factor * x->last };
}

static void
find_weights (RunningSpec *spec, const BoxTaps *x)
{
  const BoxTaps *y = &spec->y;

  spec->ends = box_has_ends (x) || box_has_ends (y);
  spec->n_lines = !box_has_ends (y) ? 1 : y->first == y->last ? 2 : 3;
  spec->weight[0] = weigh (y->each, x);
  spec->weight[1] = weigh (y->first, x);
  spec->weight[2] = weigh (y->last, x);
}

/* An upper bound of the sum of the magnitudes of a result's terms. */
static double
sum_of_terms (const RowsJob *rows, const BoxTaps *x, const BoxTaps *y)
{
  const double center = rows->channel->center;
  const double weight =
      (fabs (x->each) * rows->x->n + fabs (x->first) + fabs (x->last))
      * (fabs (y->each) * rows->y->n + fabs (y->first) + fabs (y->last));
  double offset = 0.0;

  for (int c = 0; c < rows->step; c++)
    offset = fmax (offset, fabs (rows->channel[c].offset));
  return offset + 0.5 + 2.0 * weight * center;
}

/* Whether floats are exact enough, and sums fit 32 bits. An integer and its weight are rounded when
 * they become floats; up to nine products and additions follow. */
static bool
is_narrow (const RowsJob *rows, const BoxTaps *x, const BoxTaps *y)
{
  const double lost = 13.0 * 0x1p-24 * sum_of_terms (rows, x, y);

  return lost
      < (rows->channel->max_code > 4095 ? MOST_LOST_ABOVE_12_BITS : MOST_LOST)
      && (double) rows->x->n * rows->y->n * rows->channel->center < 0x1p31;
}

/* Finds the pixels of a row that stand for the pixels [first, last), which are beyond its ends.
 * Pixels of a constant border get no edge, and stay 0. */
static void
find_edges (RunningSpec *spec, const RowsJob *rows, int first, int last)
{
  const int width = rows->channel->width;

  while (first < last) {
    const int from = border_index (first, width, rows->border);
    RunningEdge edge = { first, 1, from, 0 };

    if (first + 1 < last)
      edge.by = border_index (first + 1, width, rows->border) - from;
    if (abs (edge.by) > 1)
      edge.by = 0;
    while (first + edge.n < last
        && border_index (first + edge.n, width, rows->border)
            == from + edge.by * edge.n)
      edge.n++;
    if (from >= 0)
      spec->edges[spec->n_edges++] = edge;
    first += edge.n;
  }
}

static void
find_addends (RunningSpec *spec, const RowsJob *rows, const BoxTaps *x)
{
  const double whole =
      box_weight (x, rows->x->n) * box_weight (&spec->y, rows->y->n);

  for (int i = 0; i < rows->n_samples; i++) {
    const SepconvChannel *channel = &rows->channel[i % rows->step];
    const int left = i / rows->step - rows->x->n / 2;
    const double border =
        rows->border == SEPCONV_CONSTANT ? channel->border : 0.0;

    spec->base[i] = channel->offset + 0.5 + border * whole;
    spec->outside[i] =
        border * running_weight_inside (x, left, rows->x->n, channel->width);
  }
}

/* Returns the spec of a job, worked out anew if the plan has changed. */
static const RunningSpec *
find_spec (const SepconvPlan *plan, const RowsJob *rows)
{
  RunningState *state = plan->state;
  RunningSpec *spec = &state->spec[rows->channel - plan->channel];
  const int before = rows->x->n / 2;
  const BoxTaps x = box_describe_taps (rows->x);

  if (spec->revision == plan->revision && spec->shape == plan->shape)
    return spec;
  spec->y = box_describe_taps (rows->y);
  spec->narrow = is_narrow (rows, &x, &spec->y);
  find_weights (spec, &x);
  spec->n_edges = 0;
  find_edges (spec, rows, -before, 0);
  find_edges (spec, rows, rows->channel->width,
      rows->channel->width + rows->x->n - 1 - before);
  find_addends (spec, rows, &x);
  spec->revision = plan->revision;
  spec->shape = plan->shape;
  return spec;
}

static int
count_bands (const RowsJob *rows, int workers)
{
  const int least = max_int (LEAST_BAND, rows->y->n / WINDOW_SHARE);
  const int needed = rows_needed (rows);
  const int tall = needed / max_int (LEAST_BAND, rows->y->n);
  const int bands = max_int (workers, min_int (tall, BANDS_EACH * workers));

  if ((int64_t) rows->n_samples * needed < LEAST_SHARED)
    return 1;
  return max_int (1, min_int (bands, needed / least));
}

/* Fills the row beyond a constant border with the center as code, so that it adds nothing to
 * sums. */
static void
fill_outside (const RunningState *state, const RowsJob *rows)
{
  const SepconvChannel *channel = rows->channel;
  const int raw = (int) channel->center << channel->shift;

  for (int i = 0; i < rows->n_samples; i++)
    image_write_raw (state->outside + (ptrdiff_t) i * channel->sample_bytes,
        raw, channel->sample_bytes);
}

static void
filter_rows (const SepconvPlan *plan, RowsJob *rows)
{
  const RunningState *state = plan->state;
  const RunningJob job = { rows, state, find_spec (plan, rows) };

  if (rows->border == SEPCONV_CONSTANT)
    fill_outside (state, rows);
  rows->bands = count_bands (rows, state->n_workers);
  workers_run (
      state->workers, rows->bands, 1, state->kernels->filter, (void *) &job);
}

static bool
box_running_simd_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  RunningState *state = plan->state;

  if (!rows_run_planes (
          plan, part, &state->planar, state->workers, filter_rows, fault))
    return false;
  rows_planar_scatter (&state->planar, plan, part->dst, state->workers);
  return true;
}

static void
free_memory (RunningMemory *memory)
{
  for (int i = 0; i < RUNNING_LINES; i++)
    free (memory->block[i]);
  free (memory->addends);
  free (memory->times);
}

static void
box_running_simd_release (SepconvPlan *plan)
{
  RunningState *state = plan->state;

  if (state == NULL)
    return;
  workers_free (state->workers);
  rows_planar_release (&state->planar);
  for (int i = 0; state->memory != NULL && i < state->n_workers; i++)
    free_memory (&state->memory[i]);
  for (int i = 0; i < SEPCONV_MAX_CHANNELS; i++) {
    free (state->spec[i].edges);
    free (state->spec[i].base);
    free (state->spec[i].outside);
  }
  free (state->memory);
  free (state->outside);
  free (state);
}

/* Sizes, each the largest of all planes. */
typedef struct
{
  size_t samples;    /* of a row */
  size_t line_begin; /* samples of a line before its first pixel */
  size_t line;       /* and all of them */
  size_t bytes;      /* of a row */
  size_t height;
} Extent;

static Extent
find_extent (const Image *layout)
{
  Extent extent = { 0 };

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];
    const size_t channels = (size_t) plane->channels;
    const size_t samples = (size_t) plane->width * channels;

    extent.samples = max_size (extent.samples, samples);
    extent.line_begin = max_size (extent.line_begin, LINE_BEGIN * channels);
    extent.bytes = max_size (
        extent.bytes, (size_t) plane->width * (size_t) plane->pixel_stride);
    extent.height =
        max_size (extent.height, (size_t) image_plane_height (layout, p));
  }
  extent.line = 2 * extent.line_begin + extent.samples + RUNNING_BLOCK;
  return extent;
}

static void *
new_vectors (size_t bytes)
{
  return aligned_alloc (
      ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static bool
allocate_memory (RunningMemory *memory, const Extent *extent)
{
  for (int i = 0; i < RUNNING_LINES; i++) {
    memory->block[i] = new_vectors (extent->line * sizeof (int32_t));
    if (memory->block[i] == NULL)
      return false;
    memory->line[i] = memory->block[i] + extent->line_begin;
  }
  memory->addends =
      new_vectors ((extent->samples + RUNNING_BLOCK) * sizeof (double));
  memory->times = calloc (extent->height, sizeof *memory->times);
  return memory->addends != NULL && memory->times != NULL;
}

static bool
allocate_spec (RunningSpec *spec, size_t samples)
{
  spec->edges = malloc (TAPS_MAX * sizeof *spec->edges);
  spec->base = malloc (samples * sizeof *spec->base);
  spec->outside = malloc (samples * sizeof *spec->outside);
  return spec->edges != NULL && spec->base != NULL && spec->outside != NULL;
}

static bool
allocate (const SepconvPlan *plan, RunningState *state)
{
  const Extent extent = find_extent (&plan->layout);
  bool ok;

  state->outside = malloc (extent.bytes);
  state->memory = calloc ((size_t) state->n_workers, sizeof *state->memory);
  ok = state->outside != NULL && state->memory != NULL;
  for (int i = 0; ok && i < state->n_workers; i++)
    ok = allocate_memory (&state->memory[i], &extent);
  for (int i = 0; ok && i < plan->n_channels; i++)
    ok = allocate_spec (&state->spec[i], extent.samples);
  return ok;
}

static bool
box_running_simd_prepare (SepconvPlan *plan, Fault *fault)
{
  RunningState *state = calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  state->kernels = kernels[isa_best ()];
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL
      || !rows_planar_prepare (plan, &state->planar, fault))
    return false;
  state->n_workers = workers_count (state->workers);
  if (!allocate (plan, state))
    return fault_set (
        fault, FAULT_NO_SPACE, "Out of memory for the filter's running sums.");
  return true;
}

/* Proportional to the samples: for large frames, simd is cheaper up to about nine taps. With ends
 * that differ, there are up to three sums, of 64 bits above 12-bit depth. Measured like simd's
 * cost. */
static double
box_running_simd_cost (const SepconvWork *work)
{
  const Isa isa = isa_best ();
  const bool deep = work->depth > 12;
  const double plain = isa == ISA_BASELINE ? deep ? 450.0 : 400.0
      : isa == ISA_AVX2                    ? deep ? 350.0 : 260.0
                                           : 310.0;
  const double ends = deep ? 2000.0 : isa < ISA_AVX512 ? 550.0 : 420.0;

  return work->samples
      * (plain + 0.25 * sepconv_mean_taps (work) + ends * work->ends);
}

const SepconvMethodOps sepconv_box_running_simd_ops = {
  .supports = box_supports,
  .cost = box_running_simd_cost,
  .prepare = box_running_simd_prepare,
  .release = box_running_simd_release,
  .run = box_running_simd_run,
};
