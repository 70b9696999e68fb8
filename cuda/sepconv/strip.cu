/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "strip.cuh"

#include "../gpu-check.h"

#include <math.h>
#include <string.h>

/* All figures are fitted to times on an H200. Blocks that all run at once take at least as long
 * as this share of the most blocks that can run at once. */
#define LEAST_LOAD 0.95
/* They also take this much longer than on equal multiprocessors: further blocks would even out
 * the differences. */
#define UNEVEN 1.05
/* Extra time where blocks run in several turns, in turns. */
#define LAST_TURN 0.1
/* Blocks at the sides, which fill in pixels outside the image, take this much longer: their
 * strips may be lower by an eighth, in whole units. */
#define SIDE_FACTOR 1.08
/* When launches overlap, other launches use what a launch's blocks leave idle: the total work
 * counts, not the end of the last block, and strips are as high as possible. Two lower limits
 * for the number of blocks: a share of the blocks that run at once, so that few launches fill a
 * GPU, and blocks for each multiprocessor, so that one launch alone does not take too long. */
#define LEAST_LOAD_BESIDE 0.4
#define LEAST_BLOCKS_BESIDE 0.8
/* LEAST_LOAD_BESIDE for blocks that count: the fewer blocks, the fewer counters they add at
 * their ends. */
#define LEAST_LOAD_COUNTING 0.3
/* Time, in rows, that a strip takes to begin, and for each row that it sums above its own. */
#define BEGIN_ROWS (0.5 * STRIP_ROWS)
#define ABOVE_ROWS 0.6

bool
strip_is_packed (const ImagePlane *plane, Fault *why)
{
  return image_is_packed (plane)
      || fault_set (why, FAULT_UNSUPPORTED,
          "the samples of a plane do not follow each other directly");
}

bool
strip_border_is_code (const SepconvPlan *plan, const SepconvChannel *channel)
{
  const double border = channel->border + channel->center;

  return plan->border != SEPCONV_CONSTANT || border == floor (border);
}

/* Sets the bits of an unfiltered channel in plane->keep. */
static void
mark_kept (StripPlane *plane, int channel)
{
  uint8_t *keep = (uint8_t *) plane->keep;
  const int pixel = plane->channels * plane->sample_bytes;

  plane->keeps = true;
  for (int i = 0; i < (int) sizeof plane->keep; i++)
    if (i % pixel / plane->sample_bytes == channel)
      keep[i] = 0xff;
}

/* Sets the sample of a channel in all pixels of plane->border. */
static void
put_border (StripPlane *plane, int channel, int sample)
{
  const int n = (int) sizeof plane->border / plane->sample_bytes;

  for (int i = channel; i < n; i += plane->channels)
    if (plane->sample_bytes == 1)
      plane->border[i] = (uint8_t) sample;
    else
      ((uint16_t *) plane->border)[i] = (uint16_t) sample;
}

void
strip_describe (
    const SepconvPlan *plan, const SepconvPart *part, int p, StripPlane *plane)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const ImageMemory *src = &part->src->memory[layout->memory];
  const ImageMemory *dst = &part->dst->memory[layout->memory];
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);

  *plane = StripPlane ();
  plane->src = src->data + layout->offset;
  plane->dst = dst->data + layout->offset;
  plane->src_stride = src->stride;
  plane->dst_stride = dst->stride;
  plane->width = layout->width;
  plane->height = src->height;
  plane->row_bytes = layout->width * layout->pixel_stride;
  plane->result = part->result[layout->memory];
  plane->channels = layout->channels;
  plane->sample_bytes = image_sample_bytes (layout);
  plane->shift = layout->shift;
  plane->max_code = image_full_code (layout);
  plane->margin = plan->taps[p].x.n / 2;
  plane->src_aligned = image_is_aligned (plane->src, src->stride, 16);
  plane->dst_aligned = image_is_aligned (plane->dst, dst->stride, 16);
  for (int c = 0; c < layout->channels; c++) {
    if (channel[c].filter)
      plane->filter = true;
    else
      mark_kept (plane, c);
    put_border (plane, c,
        (int) (channel[c].border + channel[c].center) << layout->shift);
  }
  /* A plane without filtered channels is copied as a whole. */
  if (!plane->filter)
    plane->keeps = false;
}

bool
strip_occupancy (
    StripOccupancy *last, const void *kernel, int shared, Fault *fault)
{
  bool ok = false;

  if (last->kernel == kernel && last->shared == shared)
    return true;
  GPU_CHECK (cudaOccupancyMaxActiveBlocksPerMultiprocessor (
                 &last->blocks, kernel, STRIP_THREADS, (size_t) shared),
      fault);
  last->blocks = max (last->blocks, 1);
  last->kernel = kernel;
  last->shared = shared;
  ok = true;
done:
  return ok;
}

static int
count_strips (int rows, int strip_rows)
{
  return (rows + strip_rows - 1) / strip_rows;
}

/* Lays out strips of strip_rows rows, at the sides of side_rows; returns the number of blocks. */
static int
set_strips (
    StripPlane *const *planes, int n_planes, int strip_rows, int side_rows)
{
  int blocks = 0;

  for (int p = 0; p < n_planes; p++) {
    StripPlane *plane = planes[p];
    const int rows = plane->result.last - plane->result.first;

    plane->first_block = blocks;
    plane->strip_rows = strip_rows;
    plane->side_rows = side_rows;
    plane->sides = min (plane->columns, 2);
    plane->side_blocks = plane->sides * count_strips (rows, side_rows);
    blocks += plane->side_blocks
        + (plane->columns - plane->sides) * count_strips (rows, strip_rows);
  }
  return blocks;
}

/* Approximate time of columns of `rows` rows, in rows of one block; each strip takes the time
 * of `begin` rows more. */
static double
work_of_columns (int columns, int rows, int strip_rows, double begin)
{
  return columns * (rows + count_strips (rows, strip_rows) * begin);
}

/* The same for all planes, as set_strips() has laid them out. */
static double
work_of_strips (StripPlane *const *planes, int n_planes, double begin)
{
  double work = 0.0;

  for (int p = 0; p < n_planes; p++) {
    const StripPlane *plane = planes[p];
    const int rows = plane->result.last - plane->result.first;

    work += work_of_columns (
                plane->columns - plane->sides, rows, plane->strip_rows, begin)
        + SIDE_FACTOR
            * work_of_columns (plane->sides, rows, plane->side_rows, begin);
  }
  return work;
}

/* Lays out strips as set_strips() does; returns the approximate time that they take, in rows of
 * one block on each multiprocessor. */
static double
cost_of_strips (StripPlane *const *planes, int n_planes, int strip_rows,
    int side_rows, const StripLoad *load)
{
  const double each =
      (double) set_strips (planes, n_planes, strip_rows, side_rows)
      / load->multiprocessors;
  const double begin = BEGIN_ROWS + ABOVE_ROWS * load->above;
  double blocks;

  if (load->order == GPU_BESIDE_KERNELS) {
    const double part = load->counts ? LEAST_LOAD_COUNTING : LEAST_LOAD_BESIDE;
    const double least = fmax (part * load->at_once, LEAST_BLOCKS_BESIDE);

    return work_of_strips (planes, n_planes, begin) / load->multiprocessors
        * fmax (1.0, least / each);
  }
  blocks = each <= load->at_once
      ? UNEVEN * fmax (ceil (each), LEAST_LOAD * load->at_once)
      : load->at_once * (ceil (each / load->at_once) + LAST_TURN);
  return blocks * fmax (strip_rows + begin, SIDE_FACTOR * (side_rows + begin));
}

static void
find_heights (StripPlane *const *planes, StripHeights *heights)
{
  const StripTask *task = &heights->task;
  const int unit = task->load.unit > 0 ? task->load.unit : STRIP_ROWS;
  double least = INFINITY;
  int rows = 0, height = 0;

  for (int p = 0; p < task->n_planes; p++)
    rows = max (rows, task->rows[p]);
  /* Tries one strip for all rows, two strips, and so on, down to strips of one unit. */
  for (int n = 1; height != unit; n++) {
    const int last = height;
    int side[2];

    height = count_strips (count_strips (rows, n), unit) * unit;
    if (height == last
        || (task->load.most_rows > 0 && height > task->load.most_rows))
      continue;
    side[0] = height;
    side[1] = height * 7 / 8 / unit * unit;
    for (int i = 0; i < 2 && side[i] > 0; i++) {
      const double cost =
          cost_of_strips (planes, task->n_planes, height, side[i], &task->load);

      if (cost < least) {
        heights->strip_rows = height;
        heights->side_rows = side[i];
        least = cost;
      }
    }
  }
}

int
strip_lay_out (StripPlane *const *planes, int n_planes, const StripLoad *load,
    StripHeights *last)
{
  StripTask task = StripTask ();

  if (n_planes == 0)
    return 0;
  task.load = *load;
  task.n_planes = n_planes;
  for (int p = 0; p < n_planes; p++) {
    task.columns[p] = planes[p]->columns;
    task.rows[p] = planes[p]->result.last - planes[p]->result.first;
  }
  if (memcmp (&task, &last->task, sizeof task) != 0) {
    last->task = task;
    find_heights (planes, last);
  }
  return set_strips (planes, n_planes, last->strip_rows, last->side_rows);
}
