/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* terms-simd: several separable kernels at once, summed or combined with the picture, by the
 * processor's vector units: terms-rows.h has the order of the steps. Sums are floats, or doubles
 * where floats are not accurate enough; for samples of up to 12 bits they are 16-bit integers where
 * these are accurate enough. */
#define TERMS_KERNELS terms_kernels_baseline
#include "terms-kernels.h"

#include "../isa.h"

#include <stdlib.h>

extern const TermsKernels terms_kernels_avx2, terms_kernels_avx512,
    terms_kernels_avx512_vnni;

static const TermsKernels *const kernels[ISA_N] = {
  [ISA_BASELINE] = &terms_kernels_baseline,
#ifdef __x86_64__
  [ISA_AVX2] = &terms_kernels_avx2,
  [ISA_AVX512] = &terms_kernels_avx512,
  [ISA_AVX512_VNNI] = &terms_kernels_avx512_vnni,
  [ISA_AVX512_VBMI] = &terms_kernels_avx512_vnni,
#endif
};

/* The sums that are kept of a strip should fit the first-level cache, unless the strip would be
 * narrower than a run. */
#define SUMS_BYTES (24 * 1024)
#define MAX_SLAB_RUNS 8
/* Parts of a plane per worker, so that no worker waits long for the others; and the fewest rows of
 * a band per row of a window, since two neighbouring bands both sum the rows of a window. */
#define PARTS_EACH 4
#define BAND_WINDOWS 8
/* Samples times taps, plus TAPS_OF_SAMPLE for reading and writing each, below which waking a thread
 * takes longer than it saves. */
#define LEAST_SHARED 2000000
#define TAPS_OF_SAMPLE 16

/* The sizes that the memory of a plan has. */
typedef struct
{
  size_t worker_bytes, edges;
} Sizes;

typedef struct
{
  const TermsKernels *kernels;
  Workers *workers;
  RowsPlanar planar;
  unsigned revision; /* the plan's revision with memory; 0: none */
  unsigned shape;    /* the same for its shape */
  Sizes sizes;
  uint8_t *memory;
  int *edges;
  TermsAddends addends;
  RowsState edges_of[TERMS_MAX_CODED];    /* of a job's terms */
  TermsCodes codes[SEPCONV_MAX_CHANNELS]; /* by the first of a job's channels */
  TermsStrips *strips; /* [workers_count()]; NULL: no kernels for codes */
  struct RowsAveragesState averages;
} State;

/* Finds how far the terms reach in each direction. */
static void
find_reach (TermsJob *job)
{
  for (int t = 0; t < job->n_terms; t++) {
    const int nx = job->term[t]->x.n, ny = job->term[t]->y.n;

    job->before = max_int (job->before, nx / 2 * job->rows.step);
    job->after = max_int (job->after, (nx - 1 - nx / 2) * job->rows.step);
    job->above = max_int (job->above, ny / 2);
    job->below = max_int (job->below, ny - 1 - ny / 2);
  }
  job->lines = job->above + job->below + 1;
  job->whole = job->lines >= job->rows.height;
  if (job->whole)
    job->lines = job->rows.height;
}

/* Divides the plane into strips and bands for `parts`. The width of strips follows from the height
 * of the plan's plane even for lower pictures, so that these need no more memory. */
static void
divide (TermsJob *job, const SepconvPlan *plan, int parts)
{
  RowsJob *rows = &job->rows;
  const int lines = min_int (job->above + job->below + 1,
      image_plane_height (&plan->layout, rows->channel->plane));
  const size_t sample = (size_t) (job->n_terms * (lines + 1))
      * (job->wide ? sizeof (double) : sizeof (float));
  const size_t fit = SUMS_BYTES / (sample * ROWS_RUN);
  const int runs = fit < 1  ? 1
      : fit < MAX_SLAB_RUNS ? (int) fit
                            : MAX_SLAB_RUNS;
  int strips;

  rows->slab = runs * ROWS_RUN;
  strips = (rows->n_samples + rows->slab - 1) / rows->slab;
  rows->bands = job->whole
      ? 1
      : max_int (1,
          min_int ((parts + strips - 1) / strips,
              rows_needed (rows) / (BAND_WINDOWS * job->lines)));
}

static int
count_parts (const TermsJob *job, const State *state)
{
  int64_t taps = TAPS_OF_SAMPLE;

  for (int t = 0; t < job->n_terms; t++)
    taps += job->term[t]->x.n + job->term[t]->y.n;
  return taps * job->rows.n_samples * rows_needed (&job->rows) < LEAST_SHARED
      ? 1
      : PARTS_EACH * workers_count (state->workers);
}

/* The job of a plane, or of one channel, without its addresses. */
static TermsJob
plan_job (const SepconvPlan *plan, const RowsJob *rows)
{
  const int p = rows->channel->plane;
  TermsJob job = { .rows = *rows,
    .combine = plan->combine,
    .wide = !plan->float_holds,
    .n_terms = plan->n_terms[p],
    .y_factor = plan->combine == SEPCONV_MAGNITUDE ? fabs (plan->scale) : 1.0,
    .sign = plan->scale < 0.0 ? -1.0 : 1.0,
    .keep = plan->scale,
    .sharpen = plan->scale * plan->amount };

  for (int t = 0; t < job.n_terms; t++)
    job.term[t] = sepconv_plan_term (plan, p, t);
  find_reach (&job);
  return job;
}

/* Fills in the constants of each channel: see combine.h. */
static void
fill_addends (TermsAddends *addends, const TermsJob *job)
{
  for (int i = 0; i < TERMS_ADDENDS; i++) {
    const SepconvChannel *channel = &job->rows.channel[i % job->rows.step];

    addends->result[i] = channel->offset;
    for (int t = 0; t < 2; t++)
      addends->term[t][i] = job->y_factor * channel->term_offset[t];
    if (job->combine == SEPCONV_UNSHARP) {
      addends->result[i] += job->keep * channel->zero_offset;
      addends->term[0][i] = channel->zero_offset - channel->term_offset[0];
    } else if (job->combine == SEPCONV_DIRECTION) {
      addends->result[i] = channel->center - channel->zero_offset;
    }
  }
}

/* Sets up a job for integer terms; returns whether these are exact enough. */
static bool
take_codes (TermsJob *job, const SepconvPlan *plan)
{
  State *state = plan->state;
  TermsCodes *codes = &state->codes[job->rows.channel - plan->channel];

  if (state->strips == NULL || job->n_terms > TERMS_MAX_CODED)
    return false;
  for (int t = 0; t < job->n_terms; t++) {
    RowsJob *coded = &job->coded[t];

    *coded = job->rows;
    coded->x = &job->term[t]->x;
    coded->y = &job->term[t]->y;
    coded->codes = &codes->taps[t];
    coded->state = &state->edges_of[t];
    state->edges_of[t].left =
        state->edges + (job->before - coded->x->n / 2 * coded->step);
    state->edges_of[t].right = state->edges + job->before;
  }
  if (codes->revision != plan->revision) {
    codes->hold = terms_plan_codes (codes, job);
    codes->revision = plan->revision;
  }
  job->codes = codes;
  job->strips = state->strips;
  return codes->hold;
}

/* Error in codes of the difference of a sample from its blur, and of the sum of sample and
 * difference, where the blur's taps are taken to sum to 1. */
static double
sharpen_offset (const RowsJob *rows)
{
  double offset = fabs (taps_sum (rows->x) * taps_sum (rows->y) - 1.0) * 255.0;

  for (int c = 0; c < rows->step; c++) {
    const SepconvChannel *channel = &rows->channel[c];

    if (channel->filter)
      offset = fmax (offset,
          fabs (channel->zero_offset - channel->term_offset[0])
              + fabs (
                  channel->offset + channel->zero_offset - channel->center));
  }
  return offset;
}

/* The integers for subtracting a blur from the picture; NULL: another way is faster, or they are
 * not exact enough. */
static const RowsAverages *
find_averages (const SepconvPlan *plan, RowsJob *rows)
{
  State *state = plan->state;
  RowsAveragesPlan *planned =
      &state->averages.planned[rows->channel - plan->channel];

  if (state->strips == NULL || plan->combine != SEPCONV_UNSHARP
      || plan->scale != 1.0)
    return NULL;
  rows->x = &sepconv_plan_term (plan, rows->channel->plane, 0)->x;
  rows->y = &sepconv_plan_term (plan, rows->channel->plane, 0)->y;
  if (!rows_suit_averages (rows, state->kernels->averages))
    return NULL;
  if (rows_averages_renew (planned, plan->revision, rows))
    planned->hold = rows_plan_sharpen (rows, state->kernels->averages,
        plan->amount, rows->channel->threshold, sharpen_offset (rows),
        &planned->integers);
  return planned->hold ? &planned->integers : NULL;
}

static void
filter_plane (const SepconvPlan *plan, RowsJob *rows)
{
  State *state = plan->state;
  TermsJob job;
  int parts, items;

  rows->averages = find_averages (plan, rows);
  if (rows->averages != NULL) {
    state->averages.run.job[state->averages.run.n++] = *rows;
    return;
  }
  job = plan_job (plan, rows);
  parts = count_parts (&job, state);

  divide (&job, plan, parts);
  job.edges = state->edges;
  job.addends = &state->addends;
  job.memory = state->memory;
  job.worker_bytes = state->sizes.worker_bytes;
  for (int k = 0; k < job.before; k++)
    state->edges[k] = rows_edge_index (rows, k - job.before);
  for (int k = 0; k < job.after; k++)
    state->edges[job.before + k] = rows_edge_index (rows, rows->n_samples + k);
  fill_addends (&state->addends, &job);
  if (take_codes (&job, plan)) {
    rows_run_codes (&job.rows, job.n_terms * (job.above + job.below + 1),
        state->workers, state->kernels->filter_codes, &job);
    return;
  }
  items =
      (rows->n_samples + job.rows.slab - 1) / job.rows.slab * job.rows.bands;
  workers_run (state->workers, items, parts == 1 ? items : 1,
      job.wide ? state->kernels->filter_double : state->kernels->filter_float,
      &job);
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

static bool
grow (State *state, Sizes need, Fault *fault)
{
  const size_t bytes =
      (size_t) workers_count (state->workers) * need.worker_bytes;

  free_memory (state);
  state->memory = aligned_alloc (64, bytes);
  state->edges = malloc (need.edges * sizeof *state->edges);
  if (state->memory == NULL || state->edges == NULL) {
    free_memory (state);
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu MiB for the filter's intermediate sums.",
        bytes >> 20);
  }
  /* Values beyond the ends of lines are summed, too, and the results discarded. */
  memset (state->memory, 0, bytes);
  state->sizes = need;
  return true;
}

/* Raises sizes to what a plane's channels need, together or one by one. */
static void
add_sizes (Sizes *sizes, const SepconvPlan *plan, int p, int step)
{
  const RowsJob rows = { .border = plan->border,
    .height = image_plane_height (&plan->layout, p),
    .step = step,
    .n_samples = plan->layout.plane[p].width * step,
    .channel = sepconv_plane_channels (plan, p) };
  TermsJob job = plan_job (plan, &rows);

  divide (&job, plan, 1);
  sizes->worker_bytes = max_size (sizes->worker_bytes, terms_layout (&job).end);
  sizes->edges = max_size (sizes->edges, (size_t) (job.before + job.after + 1));
}

/* Makes enough memory for the plan's taps, if they are new. */
static bool
adopt_taps (SepconvPlan *plan, Fault *fault)
{
  State *state = plan->state;
  Sizes need = state->sizes;

  if (state->revision == plan->revision && state->shape == plan->shape)
    return true;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    if (plan->taps[p].x.n == 0)
      continue;
    add_sizes (&need, plan, p, 1);
    add_sizes (&need, plan, p, plan->layout.plane[p].channels);
  }
  if (memcmp (&need, &state->sizes, sizeof need) != 0
      && !grow (state, need, fault))
    return false;
  state->revision = plan->revision;
  state->shape = plan->shape;
  return true;
}

static bool
terms_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  State *state = plan->state;

  if (!adopt_taps (plan, fault))
    return false;
  state->averages.run.n = 0;
  if (!rows_run_planes (
          plan, part, &state->planar, state->workers, filter_plane, fault))
    return false;
  rows_run_averages (
      &state->averages.run, state->workers, state->kernels->averages);
  rows_planar_scatter (&state->planar, plan, part->dst, state->workers);
  return true;
}

static void
terms_release (SepconvPlan *plan)
{
  State *state = plan->state;

  if (state == NULL)
    return;
  free_memory (state);
  workers_free (state->workers);
  rows_planar_release (&state->planar);
  free (state->strips);
  free (state);
}

/* Makes memory for integer terms, if the terms of these taps or of later ones may be integers. */
static bool
make_strips (State *state, const SepconvPlan *plan, Fault *fault)
{
  const int n = workers_count (state->workers);
  const size_t bytes = (size_t) n * sizeof *state->strips;

  if (state->kernels->filter_codes == NULL || plan->most_terms > TERMS_MAX_CODED
      || plan->combine == SEPCONV_DIRECTION)
    return true;
  state->strips = aligned_alloc (_Alignof(TermsStrips), bytes);
  if (state->strips == NULL)
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu MiB for the filter's lines.", bytes >> 20);
  /* Values beyond the end of a line are read, too, and the results discarded. */
  for (int i = 0; i < n; i++) {
    memset (state->strips[i].in, 0, sizeof state->strips[i].in);
    for (int t = 0; t < plan->most_terms; t++)
      memset (state->strips[i].term[t].line, 0,
          sizeof state->strips[i].term[t].line);
  }
  state->averages.run.strips = (uint8_t *) state->strips;
  state->averages.run.strip_bytes = sizeof *state->strips;
  return true;
}

static bool
terms_prepare (SepconvPlan *plan, Fault *fault)
{
  State *state = calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  state->kernels = kernels[isa_best ()];
  state->workers = workers_new (WORKERS_MAX, fault);
  return state->workers != NULL
      && rows_planar_prepare (plan, &state->planar, fault)
      && make_strips (state, plan, fault) && adopt_taps (plan, fault);
}

/* Higher than the cost of `simd` with any instruction set, since that is nearly always faster where
 * it can do the work. This method gets the rest, which only `reference` could do, too. */
static double
terms_cost (const SepconvWork *work)
{
  return work->samples * (1000.0 + 90.0 * sepconv_mean_taps (work));
}

const SepconvMethodOps sepconv_terms_simd_ops = {
  .combines = true,
  .cost = terms_cost,
  .prepare = terms_prepare,
  .release = terms_release,
  .run = terms_run,
};
