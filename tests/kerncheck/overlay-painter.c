/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "overlay-painter.h"

#include "pictures.h"

#include <math.h>
#include <stdlib.h>

#define ONE 65536

typedef enum
{
  NOTHING,
  BACKGROUND,
  GRID,
  BARS,
  OUTLINE,
  LINE
} What;

/* The paint of a pixel of the canvas. */
typedef struct
{
  What what;
  int components; /* mask of the components of BARS and OUTLINE */
} Paint;

typedef struct
{
  const OverlaySpec *spec;
  const uint64_t *const *counts;
  Paint *pixels; /* [frame_height][frame_width] */
} Canvas;

/* A graph on the canvas; its first component is number `first`. */
typedef struct
{
  int left, top, width, height, bars;
  int first, n;
} Graph;

static Paint *
pixel (const Canvas *canvas, int x, int y)
{
  const int width = canvas->spec->frame_width;

  if (x < 0 || y < 0 || x >= width || y >= canvas->spec->frame_height)
    return NULL;
  return &canvas->pixels[(size_t) y * (size_t) width + (size_t) x];
}

static void
fill (const Canvas *canvas, int x, int y, int width, int height, Paint paint)
{
  for (int v = y; v < y + height; v++)
    for (int u = x; u < x + width; u++)
      if (pixel (canvas, u, v) != NULL)
        *pixel (canvas, u, v) = paint;
}

static int
not_negative (int n)
{
  return n < 0 ? 0 : n;
}

static uint64_t
step_count (
    const OverlaySpec *spec, const uint64_t *counts, int depth, int step)
{
  /* With more bins than codes, most bins are empty. */
  if (spec->bins > 1 << depth)
    return counts[(int64_t) step * spec->bins / (1 << depth)];
  return counts[step];
}

/* Columns and steps are cut into parts of equal size: a column has as many parts as
 * there are steps, and a step as many as there are columns. */
static uint64_t
column_level (const OverlaySpec *spec, const uint64_t *counts, int depth,
    int width, int column)
{
  const int64_t n = spec->bins < 1 << depth ? spec->bins : 1 << depth;
  uint64_t sum = 0;

  if (n <= width)
    return ONE
        * step_count (spec, counts, depth,
            (int) floor ((column + 0.5) * (double) n / width));
  for (int64_t part = column * n; part < (column + 1) * n; part++)
    sum += step_count (spec, counts, depth, (int) (part / width));
  return sum * ONE / (uint64_t) n;
}

/* In doubles, which represent all these numbers exactly. */
static double
log2_in_lines (double v)
{
  const int exponent = (int) floor (log2 (v));
  const double steps = floor (ONE * (v / exp2 (exponent) - 1.0));

  return exponent + steps / ONE;
}

static int
bar_height (const OverlaySpec *spec, uint64_t level, uint64_t largest, int rows)
{
  double height;

  if (level == 0 || rows == 0)
    return 0;
  if (spec->scale == OVERLAY_LOG) {
    const double share = (double) (level * ONE / largest) / ONE;

    height = floor (rows * log2_in_lines (1.0 + 1023.0 * share) / 10.0 + 0.5);
  } else {
    height = (double) ((level * (uint64_t) rows * 2 + largest) / 2 / largest);
  }
  return height < 1.0 ? 1 : (int) height;
}

/* Heights of all components' columns: [component][graph_width]. */
static int *
all_heights (const Canvas *canvas, const Image *image, int width, int rows)
{
  const OverlaySpec *spec = canvas->spec;
  const size_t n = (size_t) spec->n_components * (size_t) width;
  uint64_t *level = kerncheck_alloc (n * sizeof *level);
  uint64_t largest[OVERLAY_MAX_COMPONENTS] = { 0 }, of_all = 0;
  int *height = kerncheck_alloc (n * sizeof *height);

  for (int k = 0; k < spec->n_components; k++)
    for (int i = 0; i < width; i++) {
      const uint64_t here = column_level (spec, canvas->counts[k],
          image->plane[spec->component[k].plane].depth, width, i);

      level[k * width + i] = here;
      largest[k] = here > largest[k] ? here : largest[k];
      of_all = here > of_all ? here : of_all;
    }
  for (size_t i = 0; i < n; i++)
    height[i] = bar_height (spec, level[i],
        spec->common_maximum ? of_all : largest[i / (size_t) width], rows);
  free (level);
  return height;
}

static bool
is_clipped (const OverlaySpec *spec, const uint64_t *counts,
    const OverlayComponent *component, int depth, bool dark)
{
  const uint64_t share = (uint64_t) floor (spec->clip_share * 0x1p24 + 0.5);
  uint64_t clipped = 0, all = 0;

  for (int bin = 0; bin < spec->bins; bin++) {
    const double center = histo_bin_center (bin, spec->bins, depth);

    all += counts[bin];
    if (dark ? center <= component->dark : center >= component->bright)
      clipped += counts[bin];
  }
  return clipped * ((uint64_t) 1 << 24) > share * all;
}

static void
add_component (const Canvas *canvas, int x, int y, What what, int k)
{
  Paint *at = pixel (canvas, x, y);

  if (at == NULL)
    return;
  if (at->what != what)
    *at = (Paint){ what, 0 };
  at->components |= 1 << k;
}

static void
paint_bars (const Canvas *canvas, const Graph *graph, const int *height)
{
  const int floor_y = graph->top + graph->height - canvas->spec->geometry.line;

  for (int k = graph->first; k < graph->first + graph->n; k++)
    for (int i = 0; i < graph->width; i++)
      for (int row = 0; row < height[k * graph->width + i]; row++)
        add_component (canvas, graph->left + i, floor_y - 1 - row, BARS, k);
}

/* Pixels of a bar within `outline` pixels of its top or its sides. */
static void
paint_outlines (const Canvas *canvas, const Graph *graph, const int *height)
{
  const int outline = canvas->spec->geometry.outline;
  const int floor_y = graph->top + graph->height - canvas->spec->geometry.line;

  for (int k = graph->first; k < graph->first + graph->n; k++)
    for (int i = 0; i < graph->width; i++)
      for (int row = 0; row < height[k * graph->width + i]; row++) {
        bool edge = row + outline >= height[k * graph->width + i];

        for (int j = i - outline; j <= i + outline && !edge; j++)
          edge =
              j >= 0 && j < graph->width && row >= height[k * graph->width + j];
        if (edge)
          add_component (
              canvas, graph->left + i, floor_y - 1 - row, OUTLINE, k);
      }
}

/* A triangle with its tip at column `tip`, which grows in direction `step`. */
static void
paint_mark (const Canvas *canvas, const Graph *graph, int tip, int step, int k)
{
  const int size = canvas->spec->geometry.mark;

  for (int rows = size % 2 ? 1 : 2; rows <= size; rows += 2, tip += step)
    for (int v = (size - rows) / 2; v < (size + rows) / 2; v++)
      if (tip >= 0 && tip < graph->width && v < graph->height)
        fill (canvas, graph->left + tip, graph->top + v, 1, 1,
            (Paint){ OUTLINE, 1 << k });
}

/* Marks begin at the corners. They are painted from the last to the first, which covers
 * others. */
static void
paint_marks (const Canvas *canvas, const Graph *graph, const Image *image)
{
  const OverlaySpec *spec = canvas->spec;
  bool shown[OVERLAY_MAX_COMPONENTS][2];

  for (int k = graph->first; k < graph->first + graph->n; k++)
    for (int side = 0; side < 2; side++)
      shown[k][side] = is_clipped (spec, canvas->counts[k], &spec->component[k],
          image->plane[spec->component[k].plane].depth, side == 0);
  for (int k = graph->first + graph->n - 1; k >= graph->first; k--)
    for (int side = 0; side < 2; side++) {
      int away = 0;

      for (int before = graph->first; before < k; before++)
        away += shown[before][side] ? spec->geometry.mark : 0;
      if (shown[k][side] && side == 0)
        paint_mark (canvas, graph, away, 1, k);
      else if (shown[k][side])
        paint_mark (canvas, graph, graph->width - 1 - away, -1, k);
    }
}

static void
paint_graph (const Canvas *canvas, const Graph *graph, const Image *image,
    const int *height)
{
  const OverlayGeometry *geometry = &canvas->spec->geometry;

  for (int quarter = 1; quarter < 4; quarter++)
    for (int i = 0; i < geometry->line; i++) {
      const int at = quarter * graph->width / 4 - geometry->line / 2 + i;

      if (at >= 0 && at < graph->width)
        fill (canvas, graph->left + at, graph->top, 1, graph->height,
            (Paint){ GRID, 0 });
    }
  paint_bars (canvas, graph, height);
  paint_outlines (canvas, graph, height);
  paint_marks (canvas, graph, image);
  for (int i = 0; i < geometry->line && i < graph->height; i++)
    fill (canvas, graph->left, graph->top + graph->height - 1 - i, graph->width,
        1, (Paint){ LINE, 0 });
}

static void
paint_graphs (const Canvas *canvas, const Image *image)
{
  const OverlaySpec *spec = canvas->spec;
  const OverlayGeometry *geometry = &spec->geometry;
  const int inset = geometry->line + geometry->padding;
  const int n = spec->arrangement == OVERLAY_STACKED ? spec->n_components : 1;
  const int room = geometry->height - 2 * inset - (n - 1) * geometry->padding;
  Graph graph = {
    .left = geometry->x + inset,
    .top = geometry->y + inset,
    .width = not_negative (geometry->width - 2 * inset),
    .height = not_negative (room) / n,
    .n = spec->n_components / n,
  };
  int *height;

  graph.bars = not_negative (graph.height - geometry->line
      - (geometry->mark > 0 ? geometry->mark + geometry->line : 0));
  if (graph.width == 0 || graph.height == 0)
    return;
  height = all_heights (canvas, image, graph.width, graph.bars);
  for (int i = 0; i < n; i++) {
    graph.first = i * graph.n;
    paint_graph (canvas, &graph, image, height);
    graph.top += graph.height + geometry->padding;
  }
  free (height);
}

static void
paint_rectangle (const Canvas *canvas)
{
  const OverlayGeometry *g = &canvas->spec->geometry;
  const int inner_width = not_negative (g->width - 2 * g->line);
  const int inner_height = not_negative (g->height - 2 * g->line);

  fill (canvas, g->x, g->y, g->width, g->height, (Paint){ LINE, 0 });
  fill (canvas, g->x + g->line, g->y + g->line, inner_width, inner_height,
      (Paint){ BACKGROUND, 0 });
}

/* Opacity of a pixel's paint, in 65536ths; and below, the code of its colour times that
 * number. */
static int64_t
paint_opacity (const OverlaySpec *spec, const Paint *paint)
{
  const double opacity[] = { [NOTHING] = 0.0,
    [BACKGROUND] = 0.0,
    [GRID] = spec->grid_opacity,
    [BARS] = spec->bar_opacity,
    [OUTLINE] = spec->line_opacity,
    [LINE] = spec->line_opacity };

  return (int64_t) rint (opacity[paint->what] * ONE);
}

static int64_t
paint_color (const OverlaySpec *spec, const Paint *paint, int p, int c)
{
  const int64_t opacity = paint_opacity (spec, paint);
  int64_t sum = 0, n = 0;

  if (paint->what == GRID || paint->what == LINE)
    return opacity * (int64_t) rint (spec->line.codes[p][c]);
  for (int k = 0; k < spec->n_components; k++)
    if (paint->components >> k & 1) {
      sum += (int64_t) rint (spec->component[k].color.codes[p][c]);
      n++;
    }
  return n == 0 ? 0 : opacity * sum / n;
}

/* Blends the paint of a sample's pixels into the sample: see overlay.h's formula. */
static void
blend_sample (
    const Canvas *canvas, const Image *dst, int p, int c, int x, int y)
{
  const OverlaySpec *spec = canvas->spec;
  const int sub_x = spec->subsampling_x[p], sub_y = spec->subsampling_y[p];
  const int64_t in = picture_code (dst, p, c, x, y);
  int64_t opacity = 0, difference = 0, pixels = 0, code;

  for (int v = y * sub_y; v < (y + 1) * sub_y; v++)
    for (int u = x * sub_x; u < (x + 1) * sub_x; u++) {
      const Paint *paint = pixel (canvas, u, v);
      int64_t over, under;

      if (paint == NULL)
        continue;
      pixels++;
      if (paint->what == NOTHING)
        continue;
      over = paint_opacity (spec, paint);
      under = (int64_t) floor (
          rint (spec->background_opacity * ONE) * (double) (ONE - over) / ONE
          + 0.5);
      opacity += over + under;
      difference += paint_color (spec, paint, p, c) - over * in
          + under * ((int64_t) rint (spec->background.codes[p][c]) - in);
    }
  if (opacity == 0)
    return;
  code = (int64_t) floor (
      ((double) difference / ((double) pixels * ONE)) + (double) in + 0.5);
  picture_write_code (dst, p, c, x, y, (int) code);
}

void
overlay_painter_draw (const OverlaySpec *spec,
    const uint64_t *const counts[OVERLAY_MAX_COMPONENTS], const Image *dst)
{
  const Canvas canvas = {
    .spec = spec,
    .counts = counts,
    .pixels = kerncheck_alloc ((size_t) spec->frame_width
        * (size_t) spec->frame_height * sizeof (Paint)),
  };

  paint_rectangle (&canvas);
  paint_graphs (&canvas, dst);
  for (int p = 0; p < dst->n_planes; p++)
    for (int c = 0; c < dst->plane[p].channels; c++)
      for (int y = 0; y < image_plane_height (dst, p); y++)
        for (int x = 0; x < dst->plane[p].width; x++)
          if (spec->channels[p] >> c & 1)
            blend_sample (&canvas, dst, p, c, x, y);
  free (canvas.pixels);
}
