/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-simd: long smooth kernels at a lower sampling rate, by the processor's vector units:
 * multirate-plan.h has the formula, multirate-rows.h the order of the steps. All sums are
 * floats. */
#define MULTIRATE_KERNELS multirate_kernels_baseline
#include "multirate-kernels.h"

#include "../isa.h"

#include <stdlib.h>

extern const MultirateKernels multirate_kernels_avx2, multirate_kernels_avx512;

static const MultirateKernels *const kernels[ISA_N] = {
  [ISA_BASELINE] = &multirate_kernels_baseline,
#ifdef __x86_64__
  [ISA_AVX2] = &multirate_kernels_avx2,
  [ISA_AVX512] = &multirate_kernels_avx512,
  [ISA_AVX512_VNNI] = &multirate_kernels_avx512,
  [ISA_AVX512_VBMI] = &multirate_kernels_avx512,
#endif
};

/* Parts of a plane for each worker: several, so that no worker waits long for the others. */
#define PARTS_EACH 4
/* Planes with fewer samples run on one thread: waking others takes longer than they save. */
#define LEAST_SHARED 60000

/* Floats of each buffer, and entries of `edges`. */
typedef struct
{
  size_t small, wide, phases, low, sums, edges;
} Sizes;

typedef struct
{
  const MultirateKernels *kernels;
  Workers *workers;
  RowsPlanar planar;
  unsigned revision;     /* of the plan, when `plane` was planned; 0: never */
  unsigned shape;        /* of the plan, when `sizes` were found */
  MultiratePlane *plane; /* [layout.n_planes] */
  Sizes sizes;           /* of the buffers */
  float *memory;
  MultirateWorker *worker; /* [workers_count()] */
  float *small;
  int *edges;
} State;

/* Fills in the fields that depend on a plane's size and plan. */
static void
lay_out (MultirateJob *job)
{
  const MultirateAxis *x = &job->plan->x, *y = &job->plan->y;
  const int width = job->rows.n_samples / job->rows.step;
  const int cells = multirate_lows (x, width) + MULTIRATE_REACH - 1;
  const MultirateLows rows =
      multirate_distinct_lows (y, job->rows.height, job->rows.border);

  job->columns = multirate_sums (x, width);
  job->small_line = multirate_line ((size_t) job->columns);
  job->first_row = rows.first;
  job->last_row = rows.first + rows.n - 1;
  job->left = -(x->first - 3) * x->factor * job->rows.step;
  job->inside = job->rows.n_samples;
  job->right = cells * x->factor * job->rows.step - job->left - job->inside;
}

/* Raises sizes to at least those that a plane needs. */
static void
add_sizes (Sizes *sizes, const MultirateJob *job)
{
  const size_t step = (size_t) job->rows.step;
  const size_t factor = (size_t) job->plan->x.factor;
  const size_t wide = (size_t) (job->left + job->inside + job->right);
  const size_t lows = wide / (step * factor);

  sizes->small = max_size (sizes->small,
      (size_t) (job->last_row - job->first_row + 1)
          * (size_t) job->plan->n_terms * step * job->small_line);
  sizes->wide = max_size (sizes->wide, multirate_line (wide));
  sizes->phases =
      max_size (sizes->phases, factor * step * multirate_line (lows));
  sizes->low = max_size (sizes->low,
      max_size (multirate_line (lows), step * job->small_line) + MULTIRATE_PAD);
  sizes->sums = max_size (
      sizes->sums, multirate_line ((size_t) job->columns * factor * step));
  sizes->edges = max_size (sizes->edges, (size_t) (job->left + job->right));
}

static void
free_memory (State *state)
{
  free (state->memory);
  free (state->edges);
  state->memory = NULL;
  state->edges = NULL;
  state->sizes = (Sizes){ 0 };
}

/* Makes new buffers of these sizes. */
static bool
grow (State *state, Sizes need, Fault *fault)
{
  const int n = workers_count (state->workers);
  const size_t each = MULTIRATE_GROUP * need.wide + need.phases + need.low
      + MULTIRATE_REACH * need.sums;
  const size_t floats = multirate_line (need.small) + (size_t) n * each;
  float *at;

  free_memory (state);
  state->memory = aligned_alloc (64, floats * sizeof (float));
  state->edges = malloc (need.edges * sizeof *state->edges);
  if (state->memory == NULL || state->edges == NULL) {
    free_memory (state);
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu MiB for the filter's intermediate sums.",
        floats * sizeof (float) >> 20);
  }
  /* Floats behind the ends of lines are summed, too, though never used: they must be
   * initialised. */
  memset (state->memory, 0, floats * sizeof (float));
  at = state->small = state->memory;
  at += multirate_line (need.small);
  for (int i = 0; i < n; i++) {
    MultirateWorker *worker = &state->worker[i];

    for (int k = 0; k < MULTIRATE_GROUP; k++, at += need.wide)
      worker->wide[k] = at;
    worker->phases = at;
    at += need.phases;
    worker->low = at;
    at += need.low;
    for (int k = 0; k < MULTIRATE_REACH; k++, at += need.sums)
      worker->sums[k] = at;
  }
  state->sizes = need;
  return true;
}

/* If the plan's taps or size are new, plans the planes for the taps, and makes larger buffers if
 * they need them. */
static bool
adopt_taps (SepconvPlan *plan, Fault *fault)
{
  State *state = plan->state;
  const bool fresh = state->revision != plan->revision;
  Sizes need = state->sizes;

  if (!fresh && state->shape == plan->shape)
    return true;
  if (fresh)
    multirate_plan_planes (state->plane, plan, MULTIRATE_ANY_FACTOR);
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *plane = &plan->layout.plane[p];
    MultirateJob job = { .plan = &state->plane[p],
      .rows = { .border = plan->border,
          .step = plane->channels,
          .n_samples = plane->width * plane->channels,
          .height = image_plane_height (&plan->layout, p) } };

    if (plan->taps[p].x.n == 0)
      continue;
    lay_out (&job);
    add_sizes (&need, &job);
  }
  if (memcmp (&need, &state->sizes, sizeof need) != 0
      && !grow (state, need, fault))
    return false;
  state->revision = plan->revision;
  state->shape = plan->shape;
  return true;
}

static void
filter_plane (const SepconvPlan *plan, RowsJob *rows)
{
  const MultirateMix mix = multirate_plan_mix (plan);
  State *state = plan->state;
  MultirateJob job = { .rows = *rows,
    .plan = &state->plane[rows->channel->plane],
    .adds = mix.adds,
    .compares = mix.compares,
    .weight = (float) mix.weight,
    .keep = (float) mix.keep,
    .threshold = (float) multirate_threshold (plan, rows->channel),
    .workers = state->worker,
    .small = state->small,
    .edges = state->edges };
  const int parts = (int64_t) rows->n_samples * rows->height < LEAST_SHARED
      ? 1
      : PARTS_EACH * workers_count (state->workers);
  const SepconvWindow *window = &rows->window;
  const int factor_x = job.plan->x.factor, factor_y = job.plan->y.factor;
  int groups, cells;

  lay_out (&job);
  job.first_cell_x = window->left / factor_x;
  job.cells_x = (window->right - 1) / factor_x + 1 - job.first_cell_x;
  job.first_cell_y = window->top / factor_y;
  for (int c = 0; c < rows->step; c++) {
    job.offset[c] = (float) multirate_offset (plan, &rows->channel[c]);
    job.last[c] = (float) multirate_last (plan, &rows->channel[c]);
  }
  for (int k = 0; k < job.left; k++)
    state->edges[k] = rows_edge_index (rows, k - job.left);
  for (int k = 0; k < job.right; k++)
    state->edges[job.left + k] = rows_edge_index (rows, rows->n_samples + k);
  groups = (job.last_row - job.first_row) / MULTIRATE_GROUP + 1;
  workers_run (state->workers, groups, (groups + parts - 1) / parts,
      state->kernels->narrow, &job);
  cells = (window->bottom - 1) / factor_y + 1 - job.first_cell_y;
  workers_run (state->workers, cells, (cells + parts - 1) / parts,
      state->kernels->widen, &job);
}

static bool
multirate_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  State *state = plan->state;

  if (!adopt_taps (plan, fault))
    return false;
  if (!rows_run_planes (
          plan, part, &state->planar, state->workers, filter_plane, fault))
    return false;
  rows_planar_scatter (&state->planar, plan, part->dst, state->workers);
  return true;
}

static void
multirate_release (SepconvPlan *plan)
{
  State *state = plan->state;

  if (state == NULL)
    return;
  free_memory (state);
  workers_free (state->workers);
  rows_planar_release (&state->planar);
  free (state->worker);
  free (state->plane);
  free (state);
}

static bool
multirate_prepare (SepconvPlan *plan, Fault *fault)
{
  State *state = calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  state->kernels = kernels[isa_best ()];
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL
      || !rows_planar_prepare (plan, &state->planar, fault))
    return false;
  state->worker =
      calloc ((size_t) workers_count (state->workers), sizeof *state->worker);
  state->plane = calloc ((size_t) plan->layout.n_planes, sizeof *state->plane);
  if (state->worker == NULL || state->plane == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  return adopt_taps (plan, fault);
}

/* From about this number of taps on, taps that end with a large jump get larger factors: mostly 3
 * instead of 2 for gaussians that are cut at 3 sigma. */
#define MORE_DECIMATED_TAPS 105

/* The cost with the fewest taps at which this method should be taken instead of simd; more taps
 * cost less. Interleaved channels have to be taken apart; three of them take longest. The larger
 * the jump that taps end with, the smaller are the factors: gaussians of the default radius have no
 * jump from 57 taps on; those that are cut at 3 sigma have a large one. Measured like simd's
 * cost. */
static double
multirate_cost (const SepconvWork *work)
{
  static const struct
  {
    double each,
        channel; /* up to 8 bits: of one channel; added for each further one */
    double small_jump, large_jump, large_jump_of_long; /* added to these */
    double deep, deep_channel, deep_jump; /* likewise, of more than 8 bits */
  } costs[] = {
    { 1120.0, 5.0, 300.0, 1100.0, 740.0, 1750.0, 30.0, 0.0 },
    { 470.0, 40.0, 110.0, 560.0, 330.0, 840.0, 8.0, 0.0 },
    { 640.0, 90.0, 180.0, 760.0, 510.0, 500.0, 120.0, 400.0 },
  };
  const Isa isa = isa_best ();
  const int i = isa == ISA_BASELINE ? 0 : isa == ISA_AVX2 ? 1 : 2;
  const int more = work->channels - 1;
  double each;

  if (work->depth > 8)
    each = costs[i].deep + costs[i].deep_channel * more
        + (work->jump > 0.0006 ? costs[i].deep_jump : 0.0);
  else
    each = costs[i].each + costs[i].channel * more
        + (work->jump < 0.0012       ? 0.0
                : work->jump < 0.003 ? costs[i].small_jump
                : work->longest < MORE_DECIMATED_TAPS
                ? costs[i].large_jump
                : costs[i].large_jump_of_long);
  /* A second term needs a second small picture. */
  each *= 1.0 + 0.3 * (work->terms - 1);
  return 30.0 * work->planes + work->samples * each;
}

static bool
multirate_simd_supports (
    const SepconvSpec *spec, const Image *layout, Fault *why)
{
  return multirate_supports (spec, layout, MULTIRATE_ANY_FACTOR, why);
}

const SepconvMethodOps sepconv_multirate_simd_ops = {
  .combines = true,
  .supports = multirate_simd_supports,
  .cost = multirate_cost,
  .prepare = multirate_prepare,
  .release = multirate_release,
  .run = multirate_run,
};
