/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* palette: the colours of a spec as integer weights. Only the host computes it, so doubles cannot
 * make host and device differ. */
#include "backend.h"

#include <math.h>
#include <string.h>

static uint32_t
fixed_point (double share)
{
  return (uint32_t) lrint (share * OVERLAY_ONE);
}

/* A paint whose colour is the mean of n colours, over the background. */
static void
mix_paint (OverlayPaint *paint, const OverlaySpec *spec, const Image *layout,
    double opacity, const OverlayColor *const *colors, int n)
{
  const uint32_t over = fixed_point (opacity);
  const uint32_t under =
      (fixed_point (spec->background_opacity) * (uint64_t) (OVERLAY_ONE - over)
          + OVERLAY_ONE / 2)
      / OVERLAY_ONE;

  paint->weight = over + under;
  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++) {
      uint64_t sum = 0;

      if (!(spec->channels[p] >> c & 1))
        continue;
      for (int i = 0; i < n; i++)
        sum += (uint64_t) lrint (colors[i]->codes[p][c]);
      paint->color[p][c] = (uint32_t) (over * sum / (uint64_t) n
          + under * (uint64_t) lrint (spec->background.codes[p][c]));
    }
}

void
overlay_fill_palette (OverlayPaint paint[OVERLAY_N_PAINTS],
    const OverlaySpec *spec, const Image *layout)
{
  const OverlayColor *color = &spec->background;

  memset (paint, 0, OVERLAY_N_PAINTS * sizeof *paint);
  mix_paint (&paint[OVERLAY_PAINT_BACKGROUND], spec, layout, 0.0, &color, 1);
  color = &spec->line;
  mix_paint (
      &paint[OVERLAY_PAINT_LINE], spec, layout, spec->line_opacity, &color, 1);
  mix_paint (
      &paint[OVERLAY_PAINT_GRID], spec, layout, spec->grid_opacity, &color, 1);
  for (int set = 1; set < 1 << spec->n_components; set++) {
    const OverlayColor *colors[OVERLAY_MAX_COMPONENTS];
    int n = 0;

    for (int k = 0; k < spec->n_components; k++)
      if (set >> k & 1)
        colors[n++] = &spec->component[k].color;
    mix_paint (&paint[OVERLAY_PAINT_BARS + set], spec, layout,
        spec->bar_opacity, colors, n);
    mix_paint (&paint[OVERLAY_PAINT_OUTLINES + set], spec, layout,
        spec->line_opacity, colors, n);
  }
}
