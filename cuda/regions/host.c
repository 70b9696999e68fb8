/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host: regions on the CPU. Worker threads copy the picture; then one region follows the other: its
 * fill is made from the source and laid over the result by rows. In place, nothing is copied but what
 * the fill of a region needs and a region before it covers. */
#include "boxes.h"
#include "compose.h"
#include "filter-host.h"

#include "../workers.h"

#include <stdlib.h>
#include <string.h>

#define COPY_ROWS 64 /* that a worker copies at a time */
/* Samples of a region that a worker composes at a time, at least: fewer are not worth a thread's
 * waking. */
#define LEAST_SAMPLES 16384

/* In place, of so many regions each is compared with all before it; of more, all are taken to meet. */
#define MOST_COMPARED 256
#define MOST_SUMMED 65536   /* samples at a time, whose sum has 32 bits */
#define SHADOW_ALIGNMENT 64 /* bytes, of rows */

/* A worker's memory: lines of the widest plane. */
typedef struct
{
  uint32_t *weights;
  uint8_t *line;  /* samples */
  uint64_t *sums; /* of blocks */
} Lines;

typedef struct
{
  Workers *workers;
  Lines *lines;      /* [workers_count()] */
  double *terms;     /* of a region's columns */
  RegionsCuts *cuts; /* NULL: the plan's fill needs none so far */
  RegionsPart part[IMAGE_MAX_PLANES]; /* of the region whose turn it is */
  /* In place: the source where regions cover it that others read; NULL: not needed so far. */
  uint8_t *shadow_block;
  Image shadow;
} State;

/* A region's share of a plane, handed to the workers. */
typedef struct
{
  const RegionsPlan *plan;
  const RegionsRun *run;
  const RegionsPart *part;
  int plane;
} Job;

/* Rows of all memories, one after another. */
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

/* The row of `line` that begins with the plane's sample 0. */
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
  const State *state = job->plan->state;
  ComposeWeights weights = { .keep_low_bits = job->plan->spec.outside };

  compose_weigh (&weights, &job->part->shape, job->part->area.x, state->terms,
      y, lines->weights);
  return weights;
}

/* Lays the filtered picture over dst, or outside of regions the source. */
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
        row.from = regions_cuts_row (state->cuts, job->plane, y)
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

/* Fills a line with the means of the blocks of channel c in rows `rows`, where the region lies. */
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

/* Items are rows of blocks. */
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

/* Runs a job for n items of so many samples each. */
static void
share (const State *state, int n, double samples, WorkersJob job, Job *user)
{
  const double grain = LEAST_SAMPLES / samples;

  workers_run (state->workers, n,
      grain < 1.0     ? 1
          : grain > n ? n
                      : (int) grain,
      job, user);
}

static void
compose_plane (Job *job)
{
  const State *state = job->plan->state;
  const RegionsSpec *spec = &job->plan->spec;
  const RegionsPart *part = job->part;
  const int columns = regions_span_size (part->area.x);
  const int rows = regions_span_size (part->area.y);

  if (spec->filter->plane[job->plane].channels == 0
      || regions_area_is_empty (&part->area))
    return;
  compose_columns (&part->shape, part->area.x, state->terms);
  if (spec->outside || spec->fill == REGIONS_FILTER)
    share (state, rows, columns, compose_picture, job);
  else if (spec->fill == REGIONS_SOLID)
    share (state, rows, columns, compose_color, job);
  else
    share (state,
        regions_block_of (
            part->area.y.last - 1, part->block_y, part->block_height)
            + 1
            - regions_block_of (
                part->area.y.first, part->block_y, part->block_height),
        (double) columns * part->block_height, compose_means, job);
}

/* Enlarges a span by another; both may be empty. */
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

/* Whether one cut around all regions costs no more than one of each, which needs the same taps in
 * all of them; `hull` becomes its areas. */
static bool
share_cut (const RegionsPlan *plan, const RegionsRun *run,
    RegionsArea hull[IMAGE_MAX_PLANES])
{
  double apart = 0.0;

  if (plan->spec.strength > 0.0)
    return false;
  memset (hull, 0, sizeof *hull * IMAGE_MAX_PLANES);
  for (int i = 0; i < run->n; i++) {
    RegionsArea area[IMAGE_MAX_PLANES];

    for (int p = 0; p < run->src->n_planes; p++) {
      area[p] = regions_part (
          &plan->spec, &run->place[i], run->src, p, run->rows_apart)
                    .area;
      if (regions_area_is_empty (&area[p]))
        continue;
      hull[p].x = join (hull[p].x, area[p].x);
      hull[p].y = join (hull[p].y, area[p].y);
    }
    apart += regions_cuts_cost (plan, run->src, area);
  }
  return run->n > 1 && regions_cuts_cost (plan, run->src, hull) <= apart;
}

/* `filtered`: the region's part of the picture is filtered. */
static bool
run_region (RegionsPlan *plan, const RegionsRun *run, const RegionsPlace *place,
    bool filtered, Fault *fault)
{
  State *state = plan->state;
  RegionsArea area[IMAGE_MAX_PLANES];
  bool any = false;

  for (int p = 0; p < run->src->n_planes; p++) {
    state->part[p] =
        regions_part (&plan->spec, place, run->src, p, run->rows_apart);
    area[p] = state->part[p].area;
    any = any
        || (plan->spec.filter->plane[p].channels != 0
            && !regions_area_is_empty (&area[p]));
  }
  if (!any)
    return true;
  if (!filtered && !plan->spec.outside && plan->spec.fill == REGIONS_FILTER
      && !regions_cuts_filter (
          state->cuts, plan, run->src, area, place->sigma, fault))
    return false;
  for (int p = 0; p < run->src->n_planes; p++) {
    Job job = { plan, run, &state->part[p], p };

    compose_plane (&job);
  }
  return true;
}

/* Fills everything with the color. */
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

/* What dst is before the first region. */
static bool
begin (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  const State *state = plan->state;

  if (plan->whole != NULL)
    return sepconv_plan_run (
        plan->whole, run->src, run->dst, NULL, GPU_AFTER_KERNELS, fault);
  copy_picture (state, run);
  for (int p = 0; plan->spec.outside && p < run->src->n_planes; p++) {
    Job job = { plan, run, NULL, p };

    workers_run (state->workers, image_plane_height (run->src, p), COPY_ROWS,
        color_rows, &job);
  }
  return true;
}

/* Whether the fill of region i reads bytes that a region before it writes. */
static bool
reads_covered (const RegionsPlan *plan, const RegionsRun *run, int i)
{
  const int n = run->src->n_memories;

  if (plan->spec.fill == REGIONS_SOLID || i == 0)
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

/* Keeps what the fills of such regions read, before anything is written. */
static bool
keep_source (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  State *state = plan->state;
  const int n = run->src->n_memories;

  for (int i = 0; i < run->n; i++) {
    if (!reads_covered (plan, run, i))
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

/* Covers region i in place; `filtered` as for run_region(). */
static bool
run_region_in_place (RegionsPlan *plan, const RegionsRun *run, int i,
    bool filtered, Fault *fault)
{
  const State *state = plan->state;
  Image shadow = *run->src;
  RegionsRun from_shadow = *run;

  if (filtered || !reads_covered (plan, run, i))
    return run_region (plan, run, &run->place[i], filtered, fault);
  for (int m = 0; m < shadow.n_memories; m++) {
    shadow.memory[m].data = state->shadow.memory[m].data;
    shadow.memory[m].stride = state->shadow.memory[m].stride;
  }
  from_shadow.src = &shadow;
  return run_region (plan, &from_shadow, &run->place[i], false, fault);
}

static bool
host_run (RegionsPlan *plan, const RegionsRun *run, Fault *fault)
{
  const bool cuts = plan->spec.fill == REGIONS_FILTER && !plan->spec.outside;
  State *state = plan->state;
  RegionsArea hull[IMAGE_MAX_PLANES];
  bool shared;

  if (cuts && state->cuts == NULL) {
    state->cuts = regions_cuts_new (&plan->layout, fault);
    if (state->cuts == NULL)
      return false;
  }
  if (!run->in_place && !begin (plan, run, fault))
    return false;
  shared = cuts && share_cut (plan, run, hull);
  if (shared
      && !regions_cuts_filter (state->cuts, plan, run->src, hull, 0.0, fault))
    return false;
  if (run->in_place && !shared && !keep_source (plan, run, fault))
    return false;
  for (int i = 0; i < run->n; i++)
    if (run->in_place ? !run_region_in_place (plan, run, i, shared, fault)
                      : !run_region (plan, run, &run->place[i], shared, fault))
      return false;
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
  free (state->lines);
  free (state->terms);
  regions_cuts_free (state->cuts);
  free (state->shadow_block);
  workers_free (state->workers);
  free (state);
}

static bool
allocate_lines (State *state, size_t width)
{
  const int n = workers_count (state->workers);

  state->terms = malloc (sizeof *state->terms * width);
  state->lines = calloc ((size_t) n, sizeof *state->lines);
  if (state->terms == NULL || state->lines == NULL)
    return false;
  for (int i = 0; i < n; i++) {
    Lines *lines = &state->lines[i];

    lines->weights = malloc (sizeof *lines->weights * width);
    lines->line = malloc (sizeof (uint16_t) * width);
    lines->sums = malloc (sizeof *lines->sums * width);
    if (lines->weights == NULL || lines->line == NULL || lines->sums == NULL)
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
