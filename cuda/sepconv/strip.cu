/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "strip.cuh"

#include <math.h>

/* Fitted to times on an H200, as is StripLoad::least. Where all blocks run at once, the
 * slowest of them, at the sides, sets the pace. */
#define SLOWEST_BLOCK 1.5
/* Of the time that the blocks of a multiprocessor take, what the end of a launch of more
 * than those loses. */
#define LAST_BLOCKS 0.8

bool
strip_is_packed (const ImagePlane *plane, Fault *why)
{
  const int bytes = image_sample_bytes (plane);

  if (plane->pixel_stride == plane->channels * bytes
      && (plane->channels == 1 || plane->channel_stride == bytes))
    return true;
  return fault_set (why, FAULT_UNSUPPORTED,
      "the samples of a plane do not follow each other directly");
}

static bool
is_aligned (const uint8_t *data, ptrdiff_t stride, int bytes)
{
  return (uintptr_t) data % (uintptr_t) bytes == 0 && stride % bytes == 0;
}

/* The bits that belong to channels that are not filtered. */
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

void
strip_describe (
    const SepconvPlan *plan, const SepconvPart *part, int p, StripPlane *plane)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const ImageMemory *src = &part->src->memory[layout->memory];
  const ImageMemory *dst = &part->dst->memory[layout->memory];
  int c = 0;

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
  plane->src_aligned = is_aligned (plane->src, src->stride, 16);
  plane->dst_aligned = is_aligned (plane->dst, dst->stride, 8);
  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];

    if (channel->plane != p)
      continue;
    if (channel->filter)
      plane->filter = true;
    else
      mark_kept (plane, c);
    plane->border[c] =
        (uint16_t) ((int) (channel->border + channel->center) << layout->shift);
    c++;
  }
  /* A plane of none is copied as it is. */
  if (!plane->filter)
    plane->keeps = false;
}

static int
count_blocks (StripPlane *const *planes, int n_planes, int strip_rows)
{
  int blocks = 0;

  for (int p = 0; p < n_planes; p++) {
    const int rows = planes[p]->result.last - planes[p]->result.first;

    planes[p]->first_block = blocks;
    planes[p]->strip_rows = strip_rows;
    blocks += planes[p]->columns * ((rows + strip_rows - 1) / strip_rows);
  }
  return blocks;
}

int
strip_lay_out (StripPlane *const *planes, int n_planes, int overhead,
    StripLoad load, int multiprocessors)
{
  int rows = 0, best = STRIP_ROWS;
  double best_cost = INFINITY;

  for (int p = 0; p < n_planes; p++)
    rows = max (rows, planes[p]->result.last - planes[p]->result.first);
  for (int n = 1; n <= (rows + STRIP_ROWS - 1) / STRIP_ROWS; n++) {
    const int exact = (rows + n - 1) / n;
    const int height = (exact + STRIP_ROWS - 1) / STRIP_ROWS * STRIP_ROWS;
    const int blocks = count_blocks (planes, n_planes, height);
    const double each = (double) blocks / multiprocessors;
    const double turns = each <= load.at_once
        ? SLOWEST_BLOCK * fmax (ceil (each), fmin (load.least, load.at_once))
        : each + LAST_BLOCKS * load.at_once;
    const double cost = turns * (height + overhead);

    if (cost < best_cost) {
      best = height;
      best_cost = cost;
    }
  }
  return count_blocks (planes, n_planes, best);
}
