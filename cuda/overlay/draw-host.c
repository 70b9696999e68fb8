/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* draw-host: the CPU backend. The caller's thread makes the columns; workers copy rows and draw
 * into them: first they find the paints of a row of the frame, then sum these for a row of
 * samples, then blend the samples. */
#include "backend.h"

#include "../workers.h"

#include <stdlib.h>
#include <string.h>

/* Least number of bytes that are worth waking a thread for. */
#define GRAIN_BYTES 65536
/* Columns of the frame that are painted at a time. */
#define CHUNK 512
/* Most samples from a pixel to the next for draw_samples(). */
#define MAX_PERIOD 4

/* For a loop that is written once, and compiled for several constants. */
#define INNER static inline __attribute__ ((always_inline))

typedef struct
{
  Workers *workers;
  OverlayColumns columns; /* of OVERLAY_MAX_COMPONENTS * OVERLAY_MAX_SIZE */
  uint32_t marks;
  uint64_t *levels; /* as many; used only while heights are made */
  /* For the run: each channel's weight of each paint in the lower 32 bits, and its weighted
   * colour in the upper 32. */
  uint64_t taken[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS][OVERLAY_N_PAINTS];
} HostState;

/* A run, as passed to the workers. */
typedef struct
{
  const OverlayPlan *plan;
  const OverlayRun *run;
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

/* Paints those of the frame's columns [from, to) that lie in [x, x + n); paint[0] is column x. */
static void
fill (uint8_t *paint, int x, int n, int from, int to, int with)
{
  from = overlay_larger (from - x, 0);
  to = overlay_smaller (to - x, n);
  if (from < to)
    memset (paint + from, with, (size_t) (to - from));
}

/* Adds component k's bars and outlines to n columns of a graph. */
static void
add_bars (uint8_t *bars, uint8_t *outlines, const uint16_t *height,
    const uint16_t *inner, int row, int k, int n)
{
  const uint16_t at = (uint16_t) row;
  const uint8_t bit = (uint8_t) (1 << k);

  for (int i = 0; i < n; i++) {
    const uint8_t bar = at < height[i] ? bit : 0;

    bars[i] |= bar;
    outlines[i] |= at >= inner[i] ? bar : 0;
  }
}

/* Paints marks in the graph's corners; each component has at most one in each corner, side by
 * side. */
static void
paint_marks (uint8_t *paint, const OverlayDrawing *drawing, uint32_t marks,
    const OverlayRow *row, int column, int n)
{
  const int first = row->graph * drawing->graph_components;
  const int reach = drawing->mark * drawing->graph_components;

  for (int i = 0; i < n; i++) {
    int mark;

    if (column + i >= reach && column + i < drawing->graph_width - reach) {
      i = drawing->graph_width - reach - column - 1;
      continue;
    }
    mark = overlay_mark (drawing, marks, first, column + i, row->row);
    if (mark >= 0)
      paint[i] = (uint8_t) (OVERLAY_PAINT_OUTLINES + (1 << mark));
  }
}

/* overlay_graph_paint() of columns [column, column + n); n is at most CHUNK. */
static void
paint_graph (uint8_t *paint, const HostState *state,
    const OverlayDrawing *drawing, const OverlayRow *row, int column, int n)
{
  const int first = row->graph * drawing->graph_components;
  const int bar_row = drawing->graph_height - 1 - row->row - drawing->line;
  uint8_t outlines[CHUNK];

  if (bar_row < 0) {
    memset (paint, OVERLAY_PAINT_LINE, (size_t) n);
    return;
  }
  memset (paint, 0, (size_t) n);
  memset (outlines, 0, (size_t) n);
  for (int k = first; k < first + drawing->graph_components; k++) {
    const int at = k * drawing->graph_width + column;

    add_bars (paint, outlines, state->columns.height + at,
        state->columns.inner + at, bar_row, k, n);
  }
  for (int i = 0; i < n; i++)
    paint[i] =
        (uint8_t) (outlines[i] != 0 ? OVERLAY_PAINT_OUTLINES + outlines[i]
                                    : OVERLAY_PAINT_BARS + paint[i]);
  for (int quarter = 1; quarter < 4; quarter++) {
    const int line = overlay_grid_line (drawing, quarter) - column;

    for (int i = overlay_larger (line, 0);
         i < overlay_smaller (line + drawing->line, n); i++)
      if (paint[i] == OVERLAY_PAINT_BACKGROUND)
        paint[i] = OVERLAY_PAINT_GRID;
  }
  if (row->row < drawing->mark && state->marks != 0)
    paint_marks (paint, drawing, state->marks, row, column, n);
}

/* overlay_paint_at() of the frame's columns [x, x + n); n is at most CHUNK. */
static void
paint_row (uint8_t *paint, const HostState *state,
    const OverlayDrawing *drawing, const OverlayRow *row, int x, int n)
{
  const int left = drawing->x, right = drawing->x + drawing->width;
  const int graph = left + drawing->inset;
  const int from = overlay_larger (graph, x);
  const int to = overlay_smaller (graph + drawing->graph_width, x + n);

  memset (paint, OVERLAY_PAINT_NOTHING, (size_t) n);
  if (row->beside == OVERLAY_PAINT_NOTHING)
    return;
  fill (paint, x, n, left, right, row->beside);
  if (row->graph >= 0 && from < to)
    paint_graph (
        paint + (from - x), state, drawing, row, from - graph, to - from);
  fill (paint, x, n, left, overlay_smaller (left + drawing->line, right),
      OVERLAY_PAINT_LINE);
  fill (paint, x, n, overlay_larger (right - drawing->line, left), right,
      OVERLAY_PAINT_LINE);
}

/* Sums of weights and colours, as in HostState.taken, for each sample of a row. They are 0 for
 * samples of other planes that lie between. */
typedef struct
{
  uint64_t sum[CHUNK * MAX_PERIOD];
} RowSums;

/* Adds the paints of a row of the frame to the sums of n pixels, each `across` columns wide;
 * inlined, for constants. */
INNER void
add_paints_as (uint64_t *sum, const uint64_t *taken, const uint8_t *paint,
    int n, int across, int period)
{
  for (int x = 0; x < n; x++)
    for (int u = 0; u < across; u++)
      sum[x * period] += taken[paint[x * across + u]];
}

static void
add_paints (uint64_t *sum, const uint64_t *taken, const uint8_t *paint, int n,
    int across, int period)
{
  if (across == 1)
    add_paints_as (sum, taken, paint, n, 1, period);
  else if (across == 2)
    add_paints_as (sum, taken, paint, n, 2, period);
  else
    add_paints_as (sum, taken, paint, n, across, period);
}

/* overlay_blend() of n samples in 32 bits, with sums over 1 << log pixels; inlined, for each kind
 * of sample. */
INNER void
blend_as (
    uint8_t *samples, const RowSums *sums, int n, int log, int shift, int bytes)
{
  const uint32_t whole = (uint32_t) OVERLAY_ONE << log;

  for (int i = 0; i < n; i++) {
    const uint32_t weight = (uint32_t) sums->sum[i];
    const uint32_t color = (uint32_t) (sums->sum[i] >> 32);
    const uint32_t raw =
        (uint32_t) image_read_raw (samples + (ptrdiff_t) i * bytes, bytes);
    const uint32_t code =
        ((raw >> shift) * (whole - weight) + color + whole / 2) / OVERLAY_ONE
        >> log;

    image_write_raw (samples + (ptrdiff_t) i * bytes,
        (int) (weight > 0 ? code << shift : raw), bytes);
  }
}

static void
blend (uint8_t *samples, const RowSums *sums, int n, int log,
    const OverlayPlane *plane)
{
  if (plane->sample_bytes == 2)
    blend_as (samples, sums, n, log, plane->shift, 2);
  else if (plane->shift == 0)
    blend_as (samples, sums, n, log, 0, 1);
  else
    blend_as (samples, sums, n, log, plane->shift, 1);
}

/* The base 2 logarithm of the number of pixels that a sample stands for; -1: no power of two. */
static int
log2_of (int pixels)
{
  int log = 0;

  while (1 << log < pixels)
    log++;
  return 1 << log == pixels ? log : -1;
}

/* Whether draw_samples() can draw a plane whose samples stand for `1 << log` pixels: products
 * must fit 32 bits, and few other samples may lie between a row's samples. */
static bool
suits_rows (
    const OverlayPlan *plan, const OverlayPlane *plane, int index, int log)
{
  const int period = plane->pixel_stride / plane->sample_bytes;

  return log >= 0 && log + plan->layout.plane[index].depth <= 16
      && period <= MAX_PERIOD
      && (plane->n_channels - 1) * plane->channel_stride < plane->pixel_stride;
}

/* Makes the sums of pixels [x, x + n) of row y. */
static void
sum_paints (RowSums *sums, const OverlayPlan *plan, const OverlayPlane *plane,
    int index, int y, int x, int n)
{
  const HostState *state = plan->state;
  const OverlayDrawing *drawing = &plan->drawing;
  const int across = plane->subsampling_x, down = plane->subsampling_y;
  const int period = plane->pixel_stride / plane->sample_bytes;
  const int apart = plane->channel_stride / plane->sample_bytes;
  uint8_t paint[CHUNK];

  memset (sums->sum, 0, (size_t) (n * period) * sizeof sums->sum[0]);
  for (int v = 0; v < down && y * down + v < drawing->frame_height; v++) {
    const OverlayRow row = overlay_row_at (drawing, y * down + v);

    paint_row (paint, state, drawing, &row, x * across, n * across);
    for (int c = 0; c < plane->n_channels; c++)
      if (plane->channels >> c & 1)
        add_paints (sums->sum + c * apart, state->taken[index][c], paint, n,
            across, period);
  }
}

/* Draws pixels [first, last) of row y, each of which stands for `1 << log` pixels of the frame.
 * dst has the source's samples already. */
static void
draw_samples (const OverlayPlan *plan, const OverlayPlane *plane, int index,
    int y, int first, int last, int log)
{
  const int period = plane->pixel_stride / plane->sample_bytes;
  const int apart = plane->channel_stride / plane->sample_bytes;
  /* Samples after the last pixel's own, which are not touched. */
  const int behind = period - 1 - (plane->n_channels - 1) * apart;
  RowSums sums;
  int n;

  for (int x = first; x < last; x += n) {
    n = overlay_smaller (CHUNK / plane->subsampling_x, last - x);
    sum_paints (&sums, plan, plane, index, y, x, n);
    blend (plane->dst + y * plane->dst_stride
            + (ptrdiff_t) x * plane->pixel_stride,
        &sums, n * period - behind, log, plane);
  }
}

/* Draws pixels [first, last) of row y one by one, for any layout. */
static void
draw_pixels (const OverlayPlan *plan, const OverlayPlane *plane, int index,
    int y, int first, int last)
{
  const OverlayDrawing *drawing = &plan->drawing;
  const HostState *state = plan->state;
  const int n_rows = overlay_rows (drawing, plane, y);
  OverlayRow rows[OVERLAY_MAX_SUBSAMPLING];

  for (int v = 0; v < n_rows; v++)
    rows[v] = overlay_row_at (drawing, y * plane->subsampling_y + v);
  for (int x = first; x < last; x++) {
    OverlaySum sum = { 0, { 0 } };

    for (int v = 0; v < n_rows; v++)
      overlay_add_row (
          &sum, drawing, &state->columns, &rows[v], plane, index, x);
    overlay_write (&sum, drawing, plane, n_rows, x, y);
  }
}

/* Draws row y of a plane. Its last pixel may stand for fewer pixels of the frame than the
 * others. */
static void
draw_row (const OverlayPlan *plan, const OverlayPlane *plane, int index, int y)
{
  const int rows = overlay_rows (&plan->drawing, plane, y);
  const int log = log2_of (plane->subsampling_x * rows);
  int whole = overlay_smaller (
      plane->last_x, plan->drawing.frame_width / plane->subsampling_x);

  if (plane->channels == 0)
    return;
  if (whole < plane->first_x || !suits_rows (plan, plane, index, log))
    whole = plane->first_x;
  if (whole > plane->first_x)
    draw_samples (plan, plane, index, y, plane->first_x, whole, log);
  draw_pixels (plan, plane, index, y, whole, plane->last_x);
}

/* Copies and draws rows [first, last) of a memory. */
static void
draw_memory (
    const OverlayPlan *plan, const OverlayRun *run, int m, int first, int last)
{
  const ImageMemory *src = &run->src->memory[m], *dst = &run->dst->memory[m];
  const bool copy = !overlay_in_place (run, m);

  for (int y = first; y < last; y++) {
    if (copy)
      memcpy (dst->data + y * dst->stride, src->data + y * src->stride,
          dst->row_bytes);
    for (int p = 0; p < run->src->n_planes; p++) {
      const OverlayPlane *plane = &run->plane[p];

      if (plane->memory == m && y >= plane->first_y && y < plane->last_y)
        draw_row (plan, plane, p, y);
    }
  }
}

/* Copies and draws rows [first, last); rows are counted through all memories. */
static void
draw_rows (void *user, int worker, int first, int last)
{
  const RowsJob *job = user;

  (void) worker;
  for (int m = 0; m < job->run->src->n_memories && last > 0; m++) {
    const int height = job->run->src->memory[m].height;

    if (first < height)
      draw_memory (job->plan, job->run, m, overlay_larger (first, 0),
          overlay_smaller (last, height));
    first -= height;
    last -= height;
  }
}

static void
list_paints (HostState *state, const OverlayDrawing *drawing)
{
  for (int i = 0; i < OVERLAY_N_PAINTS; i++) {
    const OverlayPaint *paint = &drawing->paint[i];

    for (int p = 0; p < IMAGE_MAX_PLANES; p++)
      for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
        state->taken[p][c][i] =
            paint->weight | (uint64_t) paint->color[p][c] << 32;
  }
}

static bool
host_run (OverlayPlan *plan, const OverlayRun *run, Fault *fault)
{
  HostState *state = plan->state;
  RowsJob job = { .plan = plan, .run = run };
  size_t bytes = 1;
  int rows = 0;

  (void) fault;
  make_columns (state, &plan->drawing, run);
  list_paints (state, &plan->drawing);
  for (int m = 0; m < run->src->n_memories; m++) {
    const ImageMemory *memory = &run->src->memory[m];

    rows += memory->height;
    bytes += (size_t) memory->height * memory->row_bytes;
  }
  workers_run (state->workers, rows,
      1 + (int) (GRAIN_BYTES * (double) rows / (double) bytes), draw_rows,
      &job);
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
