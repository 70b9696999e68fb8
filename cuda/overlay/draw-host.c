/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* draw-host: on the CPU. Columns are made by the caller's thread; rows are copied
 * and drawn into by all workers. */
#include "backend.h"

#include "../workers.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that are worth waking a thread for. */
#define GRAIN_BYTES 65536

typedef struct
{
  Workers *workers;
  OverlayColumns columns; /* of OVERLAY_MAX_COMPONENTS * OVERLAY_MAX_SIZE */
  uint32_t marks;
  uint64_t *levels; /* of as many columns, while heights are made */
} HostState;

/* One memory's share of a run, handed to the workers. */
typedef struct
{
  const OverlayPlan *plan;
  const OverlayRun *run;
  int memory;
} RowsJob;

static uint64_t
make_levels (const OverlayDrawing *drawing, const OverlaySteps *steps,
    const uint64_t *counts, uint64_t *levels)
{
  uint64_t largest = 0;

  for (int i = 0; i < drawing->graph_width; i++) {
    levels[i] = overlay_level (steps, counts, drawing->graph_width, i);
    if (largest < levels[i])
      largest = levels[i];
  }
  return largest;
}

static uint32_t
make_marks (const OverlayDrawing *drawing, const OverlaySteps *steps,
    const uint64_t *counts)
{
  uint64_t dark = 0, bright = 0, all = 0;

  for (int bin = 0; bin < steps->bins; bin++) {
    all += counts[bin];
    if (bin < steps->dark_bins)
      dark += counts[bin];
    if (bin >= steps->bright_from)
      bright += counts[bin];
  }
  return (overlay_is_clipped (drawing, dark, all) ? 1u : 0)
      | (overlay_is_clipped (drawing, bright, all) ? 2u : 0);
}

static void
make_columns (
    HostState *state, const OverlayDrawing *drawing, const OverlayRun *run)
{
  const int n = drawing->n_components, width = drawing->graph_width;
  uint64_t largest[OVERLAY_MAX_COMPONENTS], of_all = 0;

  state->marks = 0;
  for (int k = 0; k < n; k++) {
    const OverlaySteps *steps = &drawing->steps[k];

    largest[k] =
        make_levels (drawing, steps, run->counts[k], state->levels + k * width);
    if (of_all < largest[k])
      of_all = largest[k];
    state->marks |= make_marks (drawing, steps, run->counts[k]) << 2 * k;
  }
  for (int k = 0; k < n; k++) {
    const uint64_t *levels = state->levels + k * width;
    uint16_t *height = state->columns.height + k * width;

    for (int i = 0; i < width; i++)
      height[i] = (uint16_t) overlay_height (
          drawing, levels[i], drawing->common_maximum ? of_all : largest[k]);
    for (int i = 0; i < width; i++)
      state->columns.inner[k * width + i] =
          (uint16_t) overlay_inner (drawing, height, i);
  }
}

static void
draw_row (const OverlayPlan *plan, const OverlayPlane *plane, int index, int y)
{
  const OverlayDrawing *drawing = &plan->drawing;
  const HostState *state = plan->state;
  const int n_rows = overlay_rows (drawing, plane, y);
  OverlayRow rows[OVERLAY_MAX_SUBSAMPLING];

  for (int v = 0; v < n_rows; v++)
    rows[v] = overlay_row_at (drawing, y * plane->subsampling_y + v);
  for (int x = plane->first_x; x < plane->last_x; x++) {
    OverlaySum sum = { 0, { 0 } };

    for (int v = 0; v < n_rows; v++)
      overlay_add_row (
          &sum, drawing, &state->columns, &rows[v], plane, index, x);
    overlay_write (&sum, drawing, plane, n_rows, x, y);
  }
}

static void
draw_rows (void *user, int worker, int first, int last)
{
  const RowsJob *job = user;
  const OverlayRun *run = job->run;
  const ImageMemory *src = &run->src->memory[job->memory];
  const ImageMemory *dst = &run->dst->memory[job->memory];
  const bool copy = !overlay_in_place (run, job->memory);

  (void) worker;
  for (int y = first; y < last; y++) {
    if (copy)
      memcpy (dst->data + y * dst->stride, src->data + y * src->stride,
          dst->row_bytes);
    for (int p = 0; p < run->src->n_planes; p++) {
      const OverlayPlane *plane = &run->plane[p];

      if (plane->memory == job->memory && y >= plane->first_y
          && y < plane->last_y)
        draw_row (job->plan, plane, p, y);
    }
  }
}

static bool
host_run (OverlayPlan *plan, const OverlayRun *run, Fault *fault)
{
  HostState *state = plan->state;

  (void) fault;
  make_columns (state, &plan->drawing, run);
  for (int m = 0; m < run->src->n_memories; m++) {
    const ImageMemory *memory = &run->src->memory[m];
    RowsJob job = { .plan = plan, .run = run, .memory = m };

    workers_run (state->workers, memory->height,
        1 + (int) (GRAIN_BYTES / (memory->row_bytes + 1)), draw_rows, &job);
  }
  return true;
}

static void
host_release (OverlayPlan *plan)
{
  HostState *state = plan->state;

  if (state == NULL)
    return;
  workers_free (state->workers);
  free (state->columns.height);
  free (state->columns.inner);
  free (state->levels);
  free (state);
}

static bool
host_prepare (OverlayPlan *plan, Fault *fault)
{
  const size_t n = OVERLAY_MAX_COMPONENTS * OVERLAY_MAX_SIZE;
  HostState *state = calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for an overlay.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  state->columns.height = calloc (n, sizeof *state->columns.height);
  state->columns.inner = calloc (n, sizeof *state->columns.inner);
  state->columns.marks = &state->marks;
  state->levels = calloc (n, sizeof *state->levels);
  if (state->columns.height == NULL || state->columns.inner == NULL
      || state->levels == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for an overlay.");
  return true;
}

const OverlayBackendOps overlay_host_ops = {
  .prepare = host_prepare,
  .release = host_release,
  .run = host_run,
};
