/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* place: where an overlay goes, and how thick its lines are. */
#include "drawing.h"

#include <math.h>

/* The frame's shorter side, in lines' thicknesses: a line is one pixel up to 810
 * rows, two at 1080, four at 2160. */
#define LINES_A_SIDE 540.0
/* In lines' thicknesses. */
#define PADDING 3
#define MARK 7
/* What a graph needs to be read, in pixels and in lines' thicknesses; on a frame of
 * 320x240 still a part of it. */
#define LEAST_COLUMNS 96
#define LEAST_BARS 20

/* Pixels that a share of a side is; never so many that they do not fit an int. */
static int
part_of (double share, int side)
{
  return (int) lrint (fmin (fmax (share, 0.0), 1.0) * side);
}

static int
clamp (int value, int low, int high)
{
  return overlay_larger (overlay_smaller (value, high), low);
}

static int
most_steps (const OverlaySpec *spec, const Image *layout)
{
  int most = 1;

  for (int k = 0; k < spec->n_components; k++) {
    const int codes = 1 << layout->plane[spec->component[k].plane].depth;

    most = overlay_larger (most, overlay_smaller (spec->bins, codes));
  }
  return most;
}

/* The nearest multiple of the steps, as far as it fits and is near. */
static int
choose_columns (int wanted, int room, int steps)
{
  int columns = (wanted + steps / 2) / steps * steps;

  while (columns > room)
    columns -= steps;
  return columns > 0 && 4 * columns >= 3 * wanted ? columns
                                                  : clamp (wanted, 0, room);
}

static int
largest_of (const int *values, int n)
{
  int largest = 1;

  for (int i = 0; i < n; i++)
    largest = overlay_larger (largest, values[i]);
  return largest;
}

/* The place of a side of `size` pixels along a frame: at its start (0), in the
 * middle (1) or at its end (2). */
static int
align (int third, int size, int frame, int margin, int grid)
{
  const int at = third == 0 ? margin
      : third == 1          ? (frame - size) / 2
                            : frame - margin - size;

  return overlay_larger (at, 0) / grid * grid;
}

void
overlay_place (OverlaySpec *spec, const Image *layout, OverlayPosition position,
    double width, double height, double margin)
{
  OverlayGeometry *geometry = &spec->geometry;
  const int frame_width = spec->frame_width, frame_height = spec->frame_height;
  const int side = overlay_smaller (frame_width, frame_height);
  const int line = overlay_larger ((int) lrint (side / LINES_A_SIDE), 1);
  const int padding = PADDING * line, inset = 2 * (line + padding);
  const int away = part_of (fmin (margin, 0.5), side);
  const int n = spec->arrangement == OVERLAY_STACKED ? spec->n_components : 1;
  const int around = inset + (n - 1) * padding;
  const int extra = (2 + MARK) * line; /* of a graph: all but its bars */
  const int room_x = frame_width - 2 * away - inset;
  const int room_y = (frame_height - 2 * away - around) / n;
  int columns, rows;

  columns =
      overlay_larger (part_of (width, frame_width) - inset, LEAST_COLUMNS);
  columns = choose_columns (columns, room_x, most_steps (spec, layout));
  rows = overlay_larger (
      (part_of (height, frame_height) - around) / n, LEAST_BARS * line + extra);
  rows = clamp (rows, 0, room_y);
  *geometry = (OverlayGeometry){
    .width = clamp (columns + inset, 1, OVERLAY_MAX_SIZE),
    .height = clamp (n * rows + around, 1, OVERLAY_MAX_SIZE),
    .line = line,
    .padding = padding,
    .outline = line,
    .mark = MARK * line,
  };
  geometry->x = align ((int) position % 3, geometry->width, frame_width, away,
      largest_of (spec->subsampling_x, layout->n_planes));
  geometry->y = align ((int) position / 3, geometry->height, frame_height, away,
      largest_of (spec->subsampling_y, layout->n_planes));
}
