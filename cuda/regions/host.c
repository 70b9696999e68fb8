/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host: regions on the CPU. Worker threads copy the picture; then each region's fill is made from
 * the source and laid over the result by rows. Small regions that do not touch are covered in
 * parallel, one by each worker. Large or touching regions run one after another, each with its
 * rows spread over all workers. In place, only source bytes that an earlier region covers and a
 * later region's fill reads are copied. */
#include "boxes.h"
#include "compose.h"
#include "filter-host.h"

#include "../workers.h"

#include <stdlib.h>
#include <string.h>

#define COPY_ROWS 64 /* rows that a worker copies at a time */
/* Least number of samples of a region that a worker composes at a time: fewer are not worth waking
 * a thread. */
#define LEAST_SAMPLES 16384

/* In place, at most so many regions are compared in pairs; if a run has more, all are assumed to
 * overlap. It is also the most regions that are covered at the same time. */
#define MOST_COMPARED 256
/* The most samples that one worker covers alone. */
#define MOST_ALONE (8 * LEAST_SAMPLES)
/* Largest width and height, in samples and with the halo, of a part of a plane that one worker
 * filters alone. */
#define MOST_ALONE_SIDE 768
/* Most workers that cover regions alone: each has memory of its own. */
#define MOST_CREWS 16
#define MOST_SUMMED 65536   /* samples of 16 bits whose sum fits 32 bits */
#define SHADOW_ALIGNMENT 64 /* bytes, of rows */

/* A worker's memory: lines of the widest plane. */
typedef struct
{
  uint32_t *weights;
  uint8_t *line;  /* samples */
  uint64_t *sums; /* of blocks */
} Lines;

/* The workers that cover one region at a time, all or one, and their memory. */
typedef struct
{
  int worker;        /* index of the one worker; -1: all */
  double *terms;     /* of the region's columns */
  RegionsCuts *cuts; /* NULL: not needed so far */
  RegionsPart part[IMAGE_MAX_PLANES]; /* of the current region */
  int filtered; /* the last region of the run that `cuts` filtered; -1: none */
  /* For one worker: whether a region of this run has failed, and why. */
  bool failed;
  Fault fault;
} Crew;

typedef struct
{
  Workers *workers;
  Lines *lines; /* [workers_count()] */
  Crew together;
  /* each covers a region alone; the same as `workers`, or fewer */
  Workers *loners;
  Crew *alone;     /* [workers_count (loners)] */
  /* [capacity], for each region of a run: the fill is made from the shadow; the region is too large
   * for one worker. */
  bool *covered, *large;
  int capacity;
  bool reads; /* in this run, fills may read bytes that other regions write */
  /* In place: a copy of source bytes that one region covers and another one's fill reads; NULL: not
   * needed so far. */
  uint8_t *shadow_block;
  Image shadow;
} State;

/* The part of a region in one plane, as passed to the workers. */
typedef struct
{
  const RegionsPlan *plan;
  const RegionsRun *run;
  const Crew *crew;
  const RegionsCuts *cuts; /* FILTER: with the region's part of the picture */
  const RegionsPart *part;
  int plane;
} Job;

/* Copies rows [first, last); rows are counted through all memories. */
static void
copy_rows (void *user, int worker, int first, int last)
{
  const RegionsRun *run = user;
  int m = 0, y = first;

  (void) worker;
  for (int i = first; i < last; i++, y++) {
    const ImageMemory *from, *to;

    while (y >= run->src->memory[m].height)
      y -= run->src->memory[m++].height;
    from = &run->src->memory[m];
    to = &run->dst->memory[m];
    memcpy (to->data + y * to->stride, from->data + y * from->stride,
        from->row_bytes);
  }
}

static void
copy_picture (const State *state, const RegionsRun *run)
{
  int rows = 0;

  for (int m = 0; m < run->src->n_memories; m++)
    rows += run->src->memory[m].height;
  workers_run (state->workers, rows, COPY_ROWS, copy_rows, (void *) run);
}

static const uint8_t *
row_of (const Image *image, int p, int y)
{
  const ImagePlane *plane = &image->plane[p];
  const ImageMemory *memory = &image->memory[plane->memory];

  return memory->data + plane->offset + y * memory->stride;
}

static ComposeRow
describe_row (const Job *job, int c, int y)
{
  const ImagePlane *plane = &job->run->src->plane[job->plane];
  const int at = c * plane->channel_stride;

  return (ComposeRow){
    .from = row_of (job->run->src, job->plane, y) + at,
    .to = (uint8_t *) row_of (job->run->dst, job->plane, y) + at,
    .from_distance = plane->pixel_stride,
    .to_distance = plane->pixel_stride,
    .sample_bytes = image_sample_bytes (plane),
    .shift = plane->shift,
  };
}

/* Makes the row read from `line`, whose first sample is the plane's sample 0. */
static void
take_line (ComposeRow *row, const uint8_t *line)
{
  row->from = line;
  row->from_distance = row->sample_bytes;
}

static void
fill_line (const ComposeRow *row, uint8_t *line, RegionsSpan span, int code)
{
  for (int x = span.first; x < span.last; x++)
    image_write_raw (line + (ptrdiff_t) x * row->sample_bytes,
        code << row->shift, row->sample_bytes);
}

static ComposeWeights
weigh (const Job *job, const Lines *lines, int y)
{
  ComposeWeights weights = { .keep_low_bits = job->plan->spec.outside };

  compose_weigh (&weights, &job->part->shape, job->part->area.x,
      job->crew->terms, y, lines->weights);
  return weights;
}

/* Lays the filtered picture over dst or, with spec.outside, the source. */
static void
compose_picture (void *user, int worker, int first, int last)
{
  const Job *job = user;
  const State *state = job->plan->state;
  const RegionsSpec *spec = &job->plan->spec;
  const ImagePlane *plane = &job->run->src->plane[job->plane];

  for (int i = first; i < last; i++) {
    const int y = job->part->area.y.first + i;
    const ComposeWeights weights = weigh (job, &state->lines[worker], y);

    for (int c = 0; c < plane->channels; c++) {
      ComposeRow row = describe_row (job, c, y);

      if (!regions_treats (spec, job->plane, c))
        continue;
      if (!spec->outside)
        row.from = regions_cuts_row (job->cuts, job->plane, y)
            + c * plane->channel_stride;
      compose_row (&row, &weights);
    }
  }
}

static int
color_code (const RegionsSpec *spec, int p, int c)
{
  return (int) (spec->color[p][c] + 0.5);
}

static void
compose_color (void *user, int worker, int first, int last)
{
  const Job *job = user;
  const Lines *lines = &((const State *) job->plan->state)->lines[worker];

  for (int c = 0; c < job->run->src->plane[job->plane].channels; c++) {
    if (!regions_treats (&job->plan->spec, job->plane, c))
      continue;
    for (int i = first; i < last; i++) {
      const int y = job->part->area.y.first + i;
      const ComposeWeights weights = weigh (job, lines, y);
      ComposeRow row = describe_row (job, c, y);

      if (i == first)
        fill_line (&row, lines->line, job->part->area.x,
            color_code (&job->plan->spec, job->plane, c));
      take_line (&row, lines->line);
      compose_row (&row, &weights);
    }
  }
}

/* Fills a line with the means of channel c of one row of blocks, which has the sample rows `rows`;
 * only within the region's columns. */
static void
fill_means (const Job *job, const Lines *lines, int c, RegionsSpan rows)
{
  const RegionsPart *part = job->part;
  const RegionsSpan area = part->area.x;
  const ImagePlane *plane = &job->run->src->plane[job->plane];
  const int first =
      regions_block_of (area.first, part->block_x, part->block_width);
  const int last =
      regions_block_of (area.last - 1, part->block_x, part->block_width);
  ComposeRow row = describe_row (job, c, rows.first);

  memset (lines->sums, 0, sizeof *lines->sums * (size_t) (last - first + 1));
  for (int y = rows.first; y < rows.last; y++) {
    row = describe_row (job, c, y);
    for (int b = first; b <= last; b++) {
      const RegionsSpan span = regions_block_span (
          b, part->block_x, part->block_width, plane->width);

      for (int x = span.first; x < span.last; x += MOST_SUMMED)
        lines->sums[b - first] += compose_sum (
            &row, x, x + MOST_SUMMED < span.last ? x + MOST_SUMMED : span.last);
    }
  }
  for (int b = first; b <= last; b++) {
    const RegionsSpan span =
        regions_block_span (b, part->block_x, part->block_width, plane->width);
    const uint64_t n = (uint64_t) regions_span_size (span)
        * (uint64_t) regions_span_size (rows);
    const RegionsSpan shown = { span.first > area.first ? span.first
                                                        : area.first,
      span.last < area.last ? span.last : area.last };

    fill_line (&row, lines->line, shown,
        (int) ((2 * lines->sums[b - first] + n) / (2 * n)));
  }
}

/* A WorkersJob whose items are rows of blocks. */
static void
compose_means (void *user, int worker, int first, int last)
{
  const Job *job = user;
  const RegionsPart *part = job->part;
  const Lines *lines = &((const State *) job->plan->state)->lines[worker];
  const int top =
      regions_block_of (part->area.y.first, part->block_y, part->block_height);

  for (int c = 0; c < job->run->src->plane[job->plane].channels; c++) {
    if (!regions_treats (&job->plan->spec, job->plane, c))
      continue;
    for (int i = first; i < last; i++) {
      const RegionsSpan rows = regions_block_span (top + i, part->block_y,
          part->block_height, image_plane_height (job->run->src, job->plane));

      fill_means (job, lines, c, rows);
      for (int y = rows.first; y < rows.last; y++) {
        const ComposeWeights weights = weigh (job, lines, y);
        ComposeRow row = describe_row (job, c, y);

        if (y < part->area.y.first || y >= part->area.y.last)
          continue;
        take_line (&row, lines->line);
        compose_row (&row, &weights);
      }
    }
  }
}

/* Runs a function for n items of `samples` samples each. */
static void
share (Job *job, int n, double samples, WorkersJob function)
{
  const State *state = job->plan->state;
  const double grain = LEAST_SAMPLES / samples;

  if (job->crew->worker >= 0)
    function (job, job->crew->worker, 0, n);
  else
    workers_run (state->workers, n,
        grain < 1.0     ? 1
            : grain > n ? n
                        : (int) grain,
        function, job);
}

static void
compose_plane (Job *job)
{
  const RegionsSpec *spec = &job->plan->spec;
  const RegionsPart *part = job->part;
  const int columns = regions_span_size (part->area.x);
  const int rows = regions_span_size (part->area.y);

  if (spec->filter->plane[job->plane].channels == 0
      || regions_area_is_empty (&part->area))
    return;
  compose_columns (&part->shape, part->area.x, job->crew->terms);
  if (spec->outside || spec->fill == REGIONS_FILTER)
    share (job, rows, columns, compose_picture);
  else if (spec->fill == REGIONS_SOLID)
    share (job, rows, columns, compose_color);
  else
    share (job,
        regions_block_of (
            part->area.y.last - 1, part->block_y, part->block_height)
            + 1
            - regions_block_of (
                part->area.y.first, part->block_y, part->block_height),
        (double) columns * part->block_height, compose_means);
}

/* The smallest span that has both; either may be empty. */
static RegionsSpan
join (RegionsSpan a, RegionsSpan b)
{
  if (regions_span_size (b) == 0)
    return a;
  if (regions_span_size (a) == 0)
    return b;
  return (RegionsSpan){ a.first < b.first ? a.first : b.first,
    a.last > b.last ? a.last : b.last };
}

/* Whether one cut around all regions costs no more than one cut for each; `hull` becomes the
 * areas of that cut. Regions can share a cut only if all have the same taps, so not with a
 * strength. */
static bool
share_cut (const RegionsPlan *plan, const RegionsRun *run,
    RegionsArea hull[IMAGE_MAX_PLANES])
{
  double apart = 0.0;
  int n = 0;

  if (plan->spec.strength > 0.0)
    return false;
  memset (hull, 0, sizeof *hull * IMAGE_MAX_PLANES);
  for (int i = 0; i < run->n; i++) {
    RegionsArea area[IMAGE_MAX_PLANES];
    bool any = false;

    for (int p = 0; p < run->src->n_planes; p++) {
      area[p] = regions_part (
          &plan->spec, &run->place[i], run->src, p, run->rows_apart)
                    .area;
      if (plan->spec.filter->plane[p].channels == 0
          || regions_area_is_empty (&area[p]))
        continue;
      any = true;
      hull[p].x = join (hull[p].x, area[p].x);
      hull[p].y = join (hull[p].y, area[p].y);
    }
    if (!any)
      continue;
    apart += regions_cuts_cost (plan, run->src, area);
    n++;
  }
  return n > 1 && regions_cuts_cost (plan, run->src, hull) <= apart;
}

/* Makes the crew's cuts if there are none yet. */
static bool
reserve_cuts (const RegionsPlan *plan, Crew *crew, Fault *fault)
{
  const int most = crew->worker >= 0 ? MOST_ALONE_SIDE : IMAGE_MAX_HEIGHT;

  if (crew->cuts == NULL)
    crew->cuts = regions_cuts_new (&plan->layout, most, fault);
  return crew->cuts != NULL;
}

/* `hull`: cuts that already have the region filtered; NULL: this call filters it. */
static bool
run_region (const RegionsPlan *plan, const RegionsRun *run, int i, Crew *crew,
    const RegionsCuts *hull, Fault *fault)
{
  const RegionsPlace *place = &run->place[i];
  const bool filters =
      !plan->spec.outside && plan->spec.fill == REGIONS_FILTER && hull == NULL;
  RegionsArea area[IMAGE_MAX_PLANES];
  bool any = false;

  for (int p = 0; p < run->src->n_planes; p++) {
    crew->part[p] =
        regions_part (&plan->spec, place, run->src, p, run->rows_apart);
    area[p] = crew->part[p].area;
    any = any
        || (plan->spec.filter->plane[p].channels != 0
            && !regions_area_is_empty (&area[p]));
  }
  if (!any)
    return true;
  if (filters
      && (!reserve_cuts (plan, crew, fault)
          || !regions_cuts_filter (
              crew->cuts, plan, run->src, area, place->sigma, fault)))
    return false;
  if (filters)
    crew->filtered = i;
  for (int p = 0; p < run->src->n_planes; p++) {
    Job job = { plan, run, crew, hull != NULL ? hull : crew->cuts,
      &crew->part[p], p };

    compose_plane (&job);
  }
  return true;
}

/* Fills rows [first, last) of the plane with the color. */
static void
color_rows (void *user, int worker, int first, int last)
{
  const Job *job = user;
  const Lines *lines = &((const State *) job->plan->state)->lines[worker];
  const ImagePlane *plane = &job->run->src->plane[job->plane];
  const ComposeWeights whole = { .span = { 0, plane->width },
    .whole = { 0, plane->width } };

  for (int c = 0; c < plane->channels; c++)
    for (int y = first; y < last; y++) {
      ComposeRow row = describe_row (job, c, y);

      if (!regions_treats (&job->plan->spec, job->plane, c))
        continue;
      if (y == first)
        fill_line (&row, lines->line, whole.span,
            color_code (&job->plan->spec, job->plane, c));
      take_line (&row, lines->line);
      compose_row (&row, &whole);
    }
}

/* Makes dst as it is before the first region: filtered, or a copy, and with spec.outside the
 * color. */
static bool
begin (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  const State *state = plan->state;

  if (plan->whole != NULL)
    return sepconv_plan_run (
        plan->whole, run->src, run->dst, NULL, GPU_AFTER_KERNELS, fault);
  copy_picture (state, run);
  for (int p = 0; plan->spec.outside && p < run->src->n_planes; p++) {
    Job job = { plan, run, &state->together, NULL, NULL, p };

    workers_run (state->workers, image_plane_height (run->src, p), COPY_ROWS,
        color_rows, &job);
  }
  return true;
}

/* Whether the fill of region i reads bytes that a region before it writes. */
static bool
reads_covered (const RegionsRun *run, int i)
{
  const int n = run->src->n_memories;

  if (i == 0)
    return false;
  if (run->n > MOST_COMPARED)
    return true;
  for (int earlier = 0; earlier < i; earlier++)
    for (int m = 0; m < n; m++)
      if (regions_boxes_meet (
              &run->written[earlier * n + m], &run->read[i * n + m]))
        return true;
  return false;
}

/* Whether a region is too large for one worker; `filters`: the worker also filters it, which
 * needs the halo. */
static bool
is_large (const RegionsPlan *plan, const RegionsRun *run, int i, bool filters)
{
  int64_t samples = 0;

  for (int p = 0; p < run->src->n_planes; p++) {
    const RegionsPart part = regions_part (
        &plan->spec, &run->place[i], run->src, p, run->rows_apart);

    if (plan->spec.filter->plane[p].channels == 0
        || regions_area_is_empty (&part.area))
      continue;
    samples += (int64_t) regions_span_size (part.area.x)
        * regions_span_size (part.area.y) * run->src->plane[p].channels;
    if (filters) {
      const RegionsArea read =
          regions_read_area (plan, &run->place[i], &part, run->src, p);

      if (regions_span_size (read.x) > MOST_ALONE_SIDE
          || regions_span_size (read.y) > MOST_ALONE_SIDE)
        return true;
    }
  }
  return samples > MOST_ALONE;
}

static bool
reserve_regions (State *state, int n, Fault *fault)
{
  if (n <= state->capacity)
    return true;
  free (state->covered);
  state->covered = malloc (2 * sizeof *state->covered * (size_t) n);
  state->capacity = state->covered != NULL ? n : 0;
  state->large = state->covered + state->capacity;
  return state->covered != NULL
      || fault_set (fault, FAULT_NO_SPACE, "Out of memory for %d regions.", n);
}

/* Copies to the shadow what the fills of `covered` regions read, before anything is written. */
static bool
keep_source (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  State *state = plan->state;
  const int n = run->src->n_memories;

  for (int i = 0; i < run->n; i++) {
    if (!state->covered[i])
      continue;
    if (state->shadow_block == NULL) {
      const size_t bytes =
          image_pack (&plan->layout, SHADOW_ALIGNMENT, NULL, &state->shadow);

      state->shadow_block = aligned_alloc (SHADOW_ALIGNMENT, bytes);
      if (state->shadow_block == NULL)
        return fault_set (fault, FAULT_NO_SPACE,
            "Out of memory: %zu MiB for regions over one another.",
            bytes >> 20);
      image_pack (
          &plan->layout, SHADOW_ALIGNMENT, state->shadow_block, &state->shadow);
    }
    image_copy_boxes (&state->shadow, run->src, &run->read[i * n], n);
  }
  return true;
}

/* Covers region i, from the shadow if the region is `covered`. */
static bool
cover_region (const RegionsPlan *plan, const RegionsRun *run, int i, Crew *crew,
    const RegionsCuts *hull, Fault *fault)
{
  const State *state = plan->state;
  Image shadow = *run->src;
  RegionsRun from_shadow = *run;

  if (!state->covered[i])
    return run_region (plan, run, i, crew, hull, fault);
  for (int m = 0; m < shadow.n_memories; m++) {
    shadow.memory[m].data = state->shadow.memory[m].data;
    shadow.memory[m].stride = state->shadow.memory[m].stride;
  }
  from_shadow.src = &shadow;
  return run_region (plan, &from_shadow, i, crew, hull, fault);
}

static bool
boxes_meet (const ImageBox *a, const ImageBox *b, int n)
{
  for (int m = 0; m < n; m++)
    if (regions_boxes_meet (&a[m], &b[m]))
      return true;
  return false;
}

/* Whether region i has to wait for one of regions [first, i): both write the same bytes, or
 * region i writes bytes that the other reads. Bytes that region i reads and they write are in the
 * shadow. */
static bool
has_to_wait (const RegionsPlan *plan, const RegionsRun *run, int first, int i)
{
  const State *state = plan->state;
  const int n = run->src->n_memories;
  const ImageBox *written = &run->written[i * n];

  for (int k = first; k < i; k++)
    if (boxes_meet (written, &run->written[k * n], n)
        || (state->reads && !state->covered[k]
            && boxes_meet (written, &run->read[k * n], n)))
      return true;
  return false;
}

/* The `end` of the longest group [first, end) of regions that may be covered at the same time. */
static int
find_end (const RegionsPlan *plan, const RegionsRun *run, int first)
{
  const State *state = plan->state;
  int end = first + 1;

  if (state->large[first])
    return end;
  while (end < run->n && end - first < MOST_COMPARED && !state->large[end]
      && !has_to_wait (plan, run, first, end))
    end++;
  return end;
}

/* Regions from `first` on that workers cover at the same time, one by each worker. */
typedef struct
{
  const RegionsPlan *plan;
  const RegionsRun *run;
  const RegionsCuts *hull;
  int first;
} Group;

static void
cover_alone (void *user, int worker, int first, int last)
{
  const Group *group = user;
  const State *state = group->plan->state;
  Crew *crew = &state->alone[worker];
  /* A plan that is made here has no threads of its own. */
  const int limit = workers_limit (1);

  for (int i = first; i < last && !crew->failed; i++)
    crew->failed = !cover_region (group->plan, group->run, group->first + i,
        crew, group->hull, &crew->fault);
  workers_limit (limit);
}

/* Covers regions [first, end) at the same time. */
static bool
cover_group (RegionsPlan *plan, const RegionsRun *run, int first, int end,
    const RegionsCuts *hull, Fault *fault)
{
  State *state = plan->state;
  Group group = { plan, run, hull, first };

  if (end - first == 1)
    return cover_region (plan, run, first, &state->together, hull, fault);
  workers_run (state->loners, end - first, 1, cover_alone, &group);
  for (int w = 0; w < workers_count (state->loners); w++)
    if (state->alone[w].failed) {
      if (fault != NULL)
        *fault = state->alone[w].fault;
      return false;
    }
  return true;
}

/* Finds which regions read the shadow, and which are large. */
static bool
sort_out (RegionsPlan *plan, const RegionsRun *run, bool shared, Fault *fault)
{
  State *state = plan->state;
  const bool one_by_one = workers_count (state->loners) == 1;
  const bool filters =
      !shared && !plan->spec.outside && plan->spec.fill == REGIONS_FILTER;

  if (!reserve_regions (state, run->n, fault))
    return false;
  state->reads = run->in_place && !shared && plan->spec.fill != REGIONS_SOLID;
  for (int i = 0; i < run->n; i++) {
    state->covered[i] = state->reads && reads_covered (run, i);
    state->large[i] = one_by_one || is_large (plan, run, i, filters);
  }
  return true;
}

/* Sets plan->used to the method that filtered the last region. */
static void
report_method (RegionsPlan *plan)
{
  const State *state = plan->state;
  const Crew *last = &state->together;

  for (int w = 0; w < workers_count (state->loners); w++)
    if (state->alone[w].filtered > last->filtered)
      last = &state->alone[w];
  if (last->filtered >= 0)
    plan->used = regions_cuts_method (last->cuts);
}

static void
begin_crews (State *state)
{
  state->together.filtered = -1;
  for (int w = 0; w < workers_count (state->loners); w++) {
    state->alone[w].filtered = -1;
    state->alone[w].failed = false;
  }
}

static bool
host_run (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  const bool cuts = plan->spec.fill == REGIONS_FILTER && !plan->spec.outside;
  State *state = plan->state;
  Crew *together = &state->together;
  RegionsArea hull[IMAGE_MAX_PLANES];
  bool shared;

  if (!run->in_place && !begin (plan, run, fault))
    return false;
  begin_crews (state);
  shared = cuts && share_cut (plan, run, hull);
  if (shared
      && (!reserve_cuts (plan, together, fault)
          || !regions_cuts_filter (
              together->cuts, plan, run->src, hull, 0.0, fault)))
    return false;
  if (shared)
    together->filtered = run->n - 1;
  if (!sort_out (plan, run, shared, fault) || !keep_source (plan, run, fault))
    return false;
  for (int i = 0, end; i < run->n; i = end) {
    end = find_end (plan, run, i);
    if (!cover_group (plan, run, i, end, shared ? together->cuts : NULL, fault))
      return false;
  }
  report_method (plan);
  return true;
}

static void
host_release (RegionsPlan *plan)
{
  State *state = plan->state;

  if (state == NULL)
    return;
  for (int i = 0; state->lines != NULL && i < workers_count (state->workers);
       i++) {
    free (state->lines[i].weights);
    free (state->lines[i].line);
    free (state->lines[i].sums);
  }
  for (int i = 0; state->alone != NULL && i < workers_count (state->loners);
       i++) {
    free (state->alone[i].terms);
    regions_cuts_free (state->alone[i].cuts);
  }
  free (state->lines);
  free (state->alone);
  free (state->covered);
  free (state->together.terms);
  regions_cuts_free (state->together.cuts);
  free (state->shadow_block);
  if (state->loners != state->workers)
    workers_free (state->loners);
  workers_free (state->workers);
  free (state);
}

static bool
allocate_lines (State *state, size_t width)
{
  const int n = workers_count (state->workers);
  const int n_alone = workers_count (state->loners);

  state->together.worker = -1;
  state->together.terms = malloc (sizeof (double) * width);
  state->lines = calloc ((size_t) n, sizeof *state->lines);
  state->alone = calloc ((size_t) n_alone, sizeof *state->alone);
  if (state->together.terms == NULL || state->lines == NULL
      || state->alone == NULL)
    return false;
  for (int i = 0; i < n; i++) {
    Lines *lines = &state->lines[i];

    lines->weights = malloc (sizeof *lines->weights * width);
    lines->line = malloc (sizeof (uint16_t) * width);
    lines->sums = malloc (sizeof *lines->sums * width);
    if (lines->weights == NULL || lines->line == NULL || lines->sums == NULL)
      return false;
  }
  for (int i = 0; i < n_alone; i++) {
    state->alone[i].worker = i;
    state->alone[i].terms = malloc (sizeof (double) * width);
    if (state->alone[i].terms == NULL)
      return false;
  }
  return true;
}

static bool
host_prepare (RegionsPlan *plan, Fault *fault)
{
  State *state = calloc (1, sizeof *state);
  int width = 1;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for regions.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  state->loners = workers_count (state->workers) > MOST_CREWS
      ? workers_new (MOST_CREWS, fault)
      : state->workers;
  if (state->loners == NULL)
    return false;
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (width < plan->layout.plane[p].width)
      width = plan->layout.plane[p].width;
  return allocate_lines (state, (size_t) width)
      || fault_set (
          fault, FAULT_NO_SPACE, "Out of memory for the lines of regions.");
}

const RegionsOps regions_host_ops = {
  .prepare = host_prepare,
  .release = host_release,
  .run = host_run,
};
