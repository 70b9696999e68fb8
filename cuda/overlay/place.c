/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* place: computes an overlay's position and size, and the thickness of its lines. */
#include "drawing.h"

#include <math.h>

/* The frame's shorter side, in units of a line's thickness: a line is one pixel up to 810 rows,
 * two at 1080, four at 2160. */
#define LINES_A_SIDE 540.0
/* In units of a line's thickness. */
#define PADDING 3
#define MARK 7
/* The least size of a readable graph, in pixels and in units of a line's thickness; even on a
 * frame of 320x240 it does not fill the frame. */
#define LEAST_COLUMNS 96
#define LEAST_BARS 20

/* A share of a side in pixels; the share is clamped to [0, 1], so that the result fits an int. */
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

/* The number of columns: the multiple of `steps` nearest to `wanted` that fits into `room`, if
 * it is at least three quarters of `wanted`; else `wanted`, clamped to the room. */
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

/* The position of a side of `size` pixels along a frame: at its start (`third` 0), in the
 * middle (1) or at its end (2); a multiple of `grid`. */
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
  const int extra =
      (2 + MARK) * line; /* rows of a graph above and below its bars */
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
