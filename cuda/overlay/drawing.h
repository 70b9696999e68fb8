/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* drawing: the definitions of overlay.h, as integer functions of one column or one pixel. Host
 * and device compile the same code, and so agree in every bit. */
#pragma once

#include "../overlay.h"

#ifdef __CUDACC__
#define OVERLAY_FUNCTION static __host__ __device__ __forceinline__
#else
#define OVERLAY_FUNCTION static inline
#endif

/* 1 in fixed point, for opacities, levels and logarithms. */
#define OVERLAY_ONE 65536
#define OVERLAY_SHARE_BITS 24
/* The number of sets of components. */
#define OVERLAY_N_SETS (1 << OVERLAY_MAX_COMPONENTS)

/* The paints of a pixel: indices into the palette. */
enum
{
  OVERLAY_PAINT_NOTHING,
  OVERLAY_PAINT_BACKGROUND,
  /* Plus a set of components, bit k for component k: the set's bars; the empty set is the
   * background. */
  OVERLAY_PAINT_BARS = OVERLAY_PAINT_BACKGROUND,
  /* Plus a set of components that is not empty: the set's outlines. */
  OVERLAY_PAINT_OUTLINES = OVERLAY_PAINT_BARS + OVERLAY_N_SETS - 1,
  OVERLAY_PAINT_LINE = OVERLAY_PAINT_OUTLINES + OVERLAY_N_SETS,
  OVERLAY_PAINT_GRID,
  OVERLAY_N_PAINTS
};

/* A paint, including the background under it: out = in + sum w (code - in) / OVERLAY_ONE. */
typedef struct
{
  uint32_t weight;                                      /* sum w */
  uint32_t color[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS]; /* sum w code */
} OverlayPaint;

/* How a component's counters become columns. */
typedef struct
{
  int bins, depth;
  int steps;       /* overlay.h's n */
  int dark_bins;   /* number of first bins, whose samples are dark */
  int bright_from; /* first bin whose samples are bright */
} OverlaySteps;

typedef struct
{
  int frame_width, frame_height;
  int x, y, width, height;
  int line, outline, mark;
  int inset; /* of the graphs from the rectangle's edges */
  int n_graphs, n_components, graph_components;
  int graph_width, graph_height, graph_pitch, bar_height;
  bool log, common_maximum;
  uint32_t clip_share; /* times 2^OVERLAY_SHARE_BITS */
  OverlaySteps steps[OVERLAY_MAX_COMPONENTS];
  OverlayPaint paint[OVERLAY_N_PAINTS];
} OverlayDrawing;

/* Results that a run computes before it draws: `height` and `inner` are
 * [n_components][graph_width]; in *marks bits 2 k and 2 k + 1 are the dark and the bright mark of
 * component k. */
typedef struct
{
  uint16_t *height, *inner;
  uint32_t *marks;
} OverlayColumns;

/* Values common to all pixels of a row of the frame. */
typedef struct
{
  int beside; /* the paint beside the graphs, within the border */
  int graph;  /* index of the graph that the row crosses, or -1 */
  int row;    /* in the graph, from its top */
} OverlayRow;

/* Weights and colours of the pixels that a sample stands for, by channel. */
typedef struct
{
  uint64_t weight, color[IMAGE_MAX_CHANNELS];
} OverlaySum;

/* A plane of the frame, and its pixels that the rectangle touches. */
typedef struct
{
  const uint8_t *src;
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int memory;
  int first_x, last_x, first_y, last_y; /* [first, last) */
  int subsampling_x, subsampling_y;
  int pixel_stride, channel_stride, n_channels;
  unsigned channels; /* to be drawn on */
  int sample_bytes, shift;
} OverlayPlane;

OVERLAY_FUNCTION int
overlay_smaller (int a, int b)
{
  return a < b ? a : b;
}

OVERLAY_FUNCTION int
overlay_larger (int a, int b)
{
  return a > b ? a : b;
}

OVERLAY_FUNCTION uint64_t
overlay_count (const OverlaySteps *steps, const uint64_t *counts, int step)
{
  return counts[steps->bins > steps->steps
          ? (uint32_t) step * (uint32_t) steps->bins >> steps->depth
          : (uint32_t) step];
}

/* The level of a column, below 2^48, as counts sum to less than 2^32. On a line on which column
 * c covers [c n, (c + 1) n), step s covers [s G, (s + 1) G); n is `steps`, G is the graph's
 * width. */
OVERLAY_FUNCTION uint64_t
overlay_level (const OverlaySteps *steps, const uint64_t *counts,
    int graph_width, int column)
{
  const int left = column * steps->steps, right = left + steps->steps;
  uint64_t sum = 0;

  if (steps->steps <= graph_width)
    return overlay_count (steps, counts, (left + right) / (2 * graph_width))
        * OVERLAY_ONE;
  for (int step = left / graph_width; step * graph_width < right; step++) {
    const int from = overlay_larger (left, step * graph_width);
    const int to = overlay_smaller (right, (step + 1) * graph_width);

    sum += overlay_count (steps, counts, step) * (uint64_t) (to - from);
  }
  return sum * OVERLAY_ONE / (uint64_t) steps->steps;
}

/* log2 (v) for v >= 1, linear between powers of two; both in units of 1 / OVERLAY_ONE. */
OVERLAY_FUNCTION uint64_t
overlay_log2 (uint64_t v)
{
  uint64_t exponent = 0;

  for (; v >= 2 * OVERLAY_ONE; v >>= 1)
    exponent++;
  return exponent * OVERLAY_ONE + v - OVERLAY_ONE;
}

OVERLAY_FUNCTION int
overlay_height (const OverlayDrawing *drawing, uint64_t level, uint64_t largest)
{
  const uint64_t rows = (uint64_t) drawing->bar_height;
  uint64_t part = level, whole = largest;

  if (level == 0 || rows == 0)
    return 0;
  if (drawing->log) {
    part = overlay_log2 (OVERLAY_ONE
        + level * OVERLAY_ONE / largest * ((1 << OVERLAY_LOG_BITS) - 1));
    whole = OVERLAY_LOG_BITS * OVERLAY_ONE;
  }
  return overlay_larger ((int) ((2 * rows * part + whole) / (2 * whole)), 1);
}

/* The number of a column's rows below its outline; `heights` are those of the component. */
OVERLAY_FUNCTION int
overlay_inner (
    const OverlayDrawing *drawing, const uint16_t *heights, int column)
{
  const int first = overlay_larger (column - drawing->outline, 0);
  const int last =
      overlay_smaller (column + drawing->outline, drawing->graph_width - 1);
  int inner = heights[column] - drawing->outline;

  for (int i = first; i <= last; i++)
    inner = overlay_smaller (inner, heights[i]);
  return overlay_larger (inner, 0);
}

OVERLAY_FUNCTION bool
overlay_is_clipped (
    const OverlayDrawing *drawing, uint64_t clipped, uint64_t all)
{
  return clipped << OVERLAY_SHARE_BITS > drawing->clip_share * all;
}

/* Whether (column, row) lies in the triangle of a mark, whose tip is in column 0. */
OVERLAY_FUNCTION bool
overlay_in_triangle (int column, int row, int size)
{
  const int off_middle = 2 * row + 1 - size;

  return column >= 0 && 2 * column < size
      && (off_middle < 0 ? -off_middle : off_middle)
      <= 2 * column + 1 - size % 2;
}

/* The component whose mark covers (column, row) of a graph, or -1; `row` counts from the graph's
 * top. `first` is the graph's first component. */
OVERLAY_FUNCTION int
overlay_mark (const OverlayDrawing *drawing, uint32_t marks, int first,
    int column, int row)
{
  const int last = first + drawing->graph_components;
  int left = column, right = drawing->graph_width - 1 - column;

  if (row >= drawing->mark)
    return -1;
  for (int k = first; k < last; k++) {
    const uint32_t shown = marks >> 2 * k;

    if ((shown & 1 && overlay_in_triangle (left, row, drawing->mark))
        || (shown & 2 && overlay_in_triangle (right, row, drawing->mark)))
      return k;
    left -= shown & 1 ? drawing->mark : 0;
    right -= shown & 2 ? drawing->mark : 0;
  }
  return -1;
}

/* The first column of the grid line at `quarter` quarters of the graph's width. */
OVERLAY_FUNCTION int
overlay_grid_line (const OverlayDrawing *drawing, int quarter)
{
  return quarter * drawing->graph_width / 4 - drawing->line / 2;
}

OVERLAY_FUNCTION bool
overlay_on_grid (const OverlayDrawing *drawing, int column)
{
  for (int quarter = 1; quarter < 4; quarter++) {
    const int from = overlay_grid_line (drawing, quarter);

    if (column >= from && column < from + drawing->line)
      return true;
  }
  return false;
}

/* The paint at (column, row) of a graph; `row` counts from its top. */
OVERLAY_FUNCTION int
overlay_graph_paint (const OverlayDrawing *drawing,
    const OverlayColumns *columns, int graph, int column, int row)
{
  const int first = graph * drawing->graph_components;
  const int bar_row = drawing->graph_height - 1 - row - drawing->line;
  int marked, bars = 0, outlines = 0;

  if (bar_row < 0)
    return OVERLAY_PAINT_LINE;
  marked = overlay_mark (drawing, *columns->marks, first, column, row);
  if (marked >= 0)
    return OVERLAY_PAINT_OUTLINES + (1 << marked);
  for (int k = first; k < first + drawing->graph_components; k++) {
    const int at = k * drawing->graph_width + column;

    if (bar_row < columns->height[at])
      bars |= 1 << k;
    if (bar_row < columns->height[at] && bar_row >= columns->inner[at])
      outlines |= 1 << k;
  }
  if (outlines != 0)
    return OVERLAY_PAINT_OUTLINES + outlines;
  if (bars == 0 && overlay_on_grid (drawing, column))
    return OVERLAY_PAINT_GRID;
  return OVERLAY_PAINT_BARS + bars;
}

OVERLAY_FUNCTION OverlayRow
overlay_row_at (const OverlayDrawing *drawing, int y)
{
  const int top = y - drawing->y, bottom = drawing->height - 1 - top;
  const int below = top - drawing->inset;
  OverlayRow at = { OVERLAY_PAINT_BACKGROUND, -1, 0 };

  if (top < 0 || bottom < 0)
    at.beside = OVERLAY_PAINT_NOTHING;
  else if (top < drawing->line || bottom < drawing->line)
    at.beside = OVERLAY_PAINT_LINE;
  else if (below >= 0 && drawing->graph_height > 0
      && below / drawing->graph_pitch < drawing->n_graphs
      && below % drawing->graph_pitch < drawing->graph_height) {
    at.graph = below / drawing->graph_pitch;
    at.row = below % drawing->graph_pitch;
  }
  return at;
}

/* The paint at a pixel of the frame, given its row. */
OVERLAY_FUNCTION int
overlay_paint_at (const OverlayDrawing *drawing, const OverlayColumns *columns,
    const OverlayRow *row, int x)
{
  const int left = x - drawing->x, right = drawing->width - 1 - left;
  const int column = left - drawing->inset;

  if (left < 0 || right < 0 || row->beside == OVERLAY_PAINT_NOTHING)
    return OVERLAY_PAINT_NOTHING;
  if (left < drawing->line || right < drawing->line)
    return OVERLAY_PAINT_LINE;
  if (row->graph < 0 || column < 0 || column >= drawing->graph_width)
    return row->beside;
  return overlay_graph_paint (drawing, columns, row->graph, column, row->row);
}

/* Blends sums over `pixels` pixels with a code. The two divisions equal one by
 * pixels * OVERLAY_ONE, as both round down. */
OVERLAY_FUNCTION uint32_t
overlay_blend (uint32_t in, uint64_t weight, uint64_t color, uint32_t pixels)
{
  const uint64_t whole = (uint64_t) pixels * OVERLAY_ONE;

  return (uint32_t) ((in * (whole - weight) + color + whole / 2) / OVERLAY_ONE)
      / pixels;
}

OVERLAY_FUNCTION uint32_t
overlay_load (const uint8_t *sample, int sample_bytes)
{
#ifdef __CUDA_ARCH__
  return sample_bytes == 1 ? *sample : *(const uint16_t *) sample;
#else
  return (uint32_t) image_read_raw (sample, sample_bytes);
#endif
}

OVERLAY_FUNCTION void
overlay_store (uint8_t *sample, uint32_t raw, int sample_bytes)
{
#ifdef __CUDA_ARCH__
  if (sample_bytes == 1)
    *sample = (uint8_t) raw;
  else
    *(uint16_t *) sample = (uint16_t) raw;
#else
  image_write_raw (sample, (int) raw, sample_bytes);
#endif
}

/* Adds the paints of the pixels of a row of the frame that pixel x of plane `index` covers. */
OVERLAY_FUNCTION void
overlay_add_row (OverlaySum *sum, const OverlayDrawing *drawing,
    const OverlayColumns *columns, const OverlayRow *row,
    const OverlayPlane *plane, int index, int x)
{
  const int first = x * plane->subsampling_x;
  const int last =
      overlay_smaller (first + plane->subsampling_x, drawing->frame_width);

  for (int u = first; u < last; u++) {
    const OverlayPaint *paint =
        &drawing->paint[overlay_paint_at (drawing, columns, row, u)];

    sum->weight += paint->weight;
    for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
      if (c < plane->n_channels)
        sum->color[c] += paint->color[index][c];
  }
}

/* The number of the frame's rows that row y of a plane covers. */
OVERLAY_FUNCTION int
overlay_rows (const OverlayDrawing *drawing, const OverlayPlane *plane, int y)
{
  return overlay_smaller (
      plane->subsampling_y, drawing->frame_height - y * plane->subsampling_y);
}

/* Writes pixel (x, y) of a plane, given the sum over `rows` rows of the frame; copies samples
 * that are not drawn on. */
OVERLAY_FUNCTION void
overlay_write (const OverlaySum *sum, const OverlayDrawing *drawing,
    const OverlayPlane *plane, int rows, int x, int y)
{
  const int width = overlay_smaller (
      plane->subsampling_x, drawing->frame_width - x * plane->subsampling_x);

  for (int c = 0; c < IMAGE_MAX_CHANNELS; c++) {
    const ptrdiff_t at = (ptrdiff_t) x * plane->pixel_stride
        + (ptrdiff_t) c * plane->channel_stride;
    uint32_t raw;

    if (c >= plane->n_channels)
      break;
    raw = overlay_load (
        plane->src + y * plane->src_stride + at, plane->sample_bytes);
    if (plane->channels >> c & 1 && sum->weight > 0)
      raw = overlay_blend (raw >> plane->shift, sum->weight, sum->color[c],
                (uint32_t) (width * rows))
          << plane->shift;
    overlay_store (
        plane->dst + y * plane->dst_stride + at, raw, plane->sample_bytes);
  }
}
