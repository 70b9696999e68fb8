/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-content.h"

#include "kerncheck-random.h"
#include "kerncheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tile of smooth noise is repeated over the picture. Its side is prime, so that a
 * warp does not meet the same columns again and again. */
#define TILE 509
/* Three passes of a box filter of this radius are nearly a gaussian, here with a sigma
 * of 8.5 samples. */
#define BLUR_RADIUS 8
#define BLUR_PASSES 3
/* Mean and standard deviation of the codes, and amplitude of the grain, as shares of
 * full scale: a normally exposed picture of a camera. */
#define MEAN 0.45
#define DEVIATION 0.16
#define GRAIN 0.008
/* Channels show the same things, shifted by this. */
#define CHANNEL_SHIFT 17

const char *
bench_content_name (BenchContent content)
{
  static const char *const names[BENCH_N_CONTENTS] = {
    [BENCH_NOISE] = "noise",
    [BENCH_CONSTANT] = "constant",
    [BENCH_TWO] = "two",
    [BENCH_RAMP] = "ramp",
    [BENCH_NATURAL] = "natural",
  };

  return names[content];
}

bool
bench_content_by_name (const char *name, BenchContent *content)
{
  for (int i = 0; i < BENCH_N_CONTENTS; i++)
    if (strcmp (bench_content_name ((BenchContent) i), name) == 0) {
      *content = (BenchContent) i;
      return true;
    }
  return false;
}

/* A box filter along one axis, with wrapped edges: `step` between neighbours, `line`
 * between lines. */
static void
blur_lines (const double *from, double *to, int step, int line)
{
  for (int l = 0; l < TILE; l++) {
    double sum = 0.0;

    for (int i = -BLUR_RADIUS; i < BLUR_RADIUS; i++)
      sum += from[l * line + (i + TILE) % TILE * step];
    for (int i = 0; i < TILE; i++) {
      sum += from[l * line + (i + BLUR_RADIUS) % TILE * step];
      to[l * line + i * step] = sum;
      sum -= from[l * line + (i - BLUR_RADIUS + TILE) % TILE * step];
    }
  }
}

static void
normalise (double *tile)
{
  const int n = TILE * TILE;
  double sum = 0.0, squares = 0.0;

  for (int i = 0; i < n; i++) {
    sum += tile[i];
    squares += tile[i] * tile[i];
  }
  sum /= n;
  squares = sqrt (squares / n - sum * sum);
  for (int i = 0; i < n; i++)
    tile[i] = (tile[i] - sum) / squares;
}

/* Samples as shares of full scale, [TILE][TILE], which the caller frees with free(). */
static double *
make_tile (void)
{
  const size_t bytes = (size_t) TILE * TILE * sizeof (double);
  double *tile = kerncheck_alloc (bytes), *half = kerncheck_alloc (bytes);
  Random random = { 2 };

  for (int i = 0; i < TILE * TILE; i++)
    tile[i] = random_double (&random, -1.0, 1.0);
  for (int i = 0; i < BLUR_PASSES; i++) {
    blur_lines (tile, half, 1, TILE);
    blur_lines (half, tile, TILE, 1);
  }
  free (half);
  normalise (tile);
  for (int i = 0; i < TILE * TILE; i++)
    tile[i] = fmin (1.0,
        fmax (0.0,
            MEAN + DEVIATION * tile[i]
                + random_double (&random, -GRAIN, GRAIN)));
  return tile;
}

/* One plane of a picture. */
typedef struct
{
  BenchContent content;
  unsigned full;
  int width;
  const double *tile;
  Random random;
} Painter;

static unsigned
code_at (Painter *painter, int channel, int x, int y)
{
  const unsigned full = painter->full;

  switch (painter->content) {
    case BENCH_NOISE:
      return (unsigned) (random_next (&painter->random) >> 32) & full;
    case BENCH_CONSTANT:
      return full / 3;
    case BENCH_TWO:
      return random_next (&painter->random) >> 63 ? full / 4 * 3 : full / 4;
    case BENCH_RAMP:
      return (unsigned) ((uint64_t) full * (uint64_t) x
          / (uint64_t) painter->width);
    default:
      x = (x + channel * CHANNEL_SHIFT) % TILE;
      return (unsigned) (painter->tile[y % TILE * TILE + x] * full + 0.5);
  }
}

static void
paint_row (Painter *painter, const ImagePlane *plane, uint8_t *row, int y)
{
  const bool is_byte = image_sample_bytes (plane) == 1;

  for (int x = 0; x < plane->width; x++, row += plane->pixel_stride)
    for (int c = 0; c < plane->channels; c++) {
      const uint16_t raw =
          (uint16_t) (code_at (painter, c, x, y) << plane->shift);
      uint8_t *sample = row + c * plane->channel_stride;

      if (is_byte)
        *sample = (uint8_t) raw;
      else
        memcpy (sample, &raw, sizeof raw);
    }
}

void
bench_content_paint (const Image *image, BenchContent content)
{
  double *tile = content == BENCH_NATURAL ? make_tile () : NULL;

  for (int p = 0; p < image->n_planes; p++) {
    const ImagePlane *plane = &image->plane[p];
    const ImageMemory *memory = &image->memory[plane->memory];
    Painter painter = {
      .content = content,
      .full = (unsigned) image_full_code (plane),
      .width = plane->width,
      .tile = tile,
      .random = { (uint64_t) p },
    };

    for (int y = 0; y < memory->height; y++)
      paint_row (&painter, plane,
          memory->data + y * memory->stride + plane->offset, y);
  }
  free (tile);
}
