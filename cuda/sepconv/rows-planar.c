/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows.h"

#include <assert.h>
#include <stdlib.h>

#define ALIGNMENT 64
/* Rows that a thread takes at a time. */
#define ROWS 16

typedef struct
{
  const RowsPlanar *planar;
  const SepconvPlan *plan;
  const Image *image;
} Move;

static size_t
padded (int samples, int bytes)
{
  return ((size_t) samples * (size_t) bytes + ALIGNMENT - 1) / ALIGNMENT
      * ALIGNMENT;
}

/* Bit mask of the image's memories that have rows of non-adjacent samples. */
static unsigned
find_apart (const SepconvPlan *plan)
{
  unsigned apart = 0;

  for (int i = 0; i < plan->n_channels;) {
    const SepconvChannel *channel = &plan->channel[i];

    if (channel->pixel_stride / rows_even_channels (plan, i)
        != channel->sample_bytes)
      apart |= 1u << channel->memory;
    i += plan->layout.plane[channel->plane].channels;
  }
  return apart;
}

/* Most bytes that the memories in the mask `apart` need; SIZE_MAX on overflow. */
static size_t
most_bytes (const SepconvPlan *plan, unsigned apart)
{
  size_t bytes = 0;

  for (int i = 0; i < plan->n_channels; i++) {
    const SepconvChannel *channel = &plan->channel[i];
    const ImagePlane *most = &plan->most.plane[channel->plane];
    const size_t stride = padded (most->width, channel->sample_bytes);
    const int height = plan->most.memory[channel->memory].height;
    size_t plane;

    if ((apart >> channel->memory & 1) != 0
        && (__builtin_mul_overflow (2 * stride, height, &plane)
            || __builtin_add_overflow (bytes, plane, &bytes)))
      return SIZE_MAX;
  }
  return bytes;
}

/* Allocates the memory if there is none, or too little, as when a plan begins to filter one
 * channel of several. */
static bool
make_memory (
    const SepconvPlan *plan, RowsPlanar *planar, unsigned apart, Fault *fault)
{
  const size_t bytes = most_bytes (plan, apart);

  if (bytes <= planar->bytes)
    return true;
  free (planar->memory);
  planar->memory = bytes < SIZE_MAX ? aligned_alloc (ALIGNMENT, bytes) : NULL;
  planar->bytes = planar->memory != NULL ? bytes : 0;
  return planar->memory != NULL
      || fault_set (fault, FAULT_NO_SPACE,
          "Out of memory: %zu MiB for a frame's planes.", bytes >> 20);
}

bool
rows_planar_prepare (const SepconvPlan *plan, RowsPlanar *planar, Fault *fault)
{
  planar->loops = strided_loops ();
  return make_memory (plan, planar, find_apart (plan), fault);
}

/* Sets the places of all rows in the memory. Which channels share a row depends on which
 * channels are filtered and may change from frame to frame; they never need more memory than
 * with one row for each channel. */
static void
lay_out (RowsPlanar *planar, const SepconvPlan *plan, unsigned apart)
{
  size_t bytes = 0;

  memset (planar->row, 0, sizeof planar->row);
  for (int i = 0; i < plan->n_channels;) {
    const SepconvChannel *channel = &plan->channel[i];
    const int n = rows_even_channels (plan, i);
    const int channels = plan->layout.plane[channel->plane].channels;
    const size_t stride = padded (channel->width * n, channel->sample_bytes);
    const size_t plane =
        stride * (size_t) plan->layout.memory[channel->memory].height;

    for (int c = 0; c < channels && (apart >> channel->memory & 1) != 0;
         c += n, bytes += 2 * plane)
      planar->row[i + c] = (RowsPlanarRow){ .src = bytes,
        .dst = bytes + plane,
        .stride = (ptrdiff_t) stride,
        .n = n,
        .distance = channel->pixel_stride / n };
    i += channels;
  }
  assert (bytes <= planar->bytes);
}

void
rows_planar_release (RowsPlanar *planar)
{
  free (planar->memory);
}

static inline void
move_rows (const Move *move, int first, int last, const bool gathers)
{
  const RowsPlanar *planar = move->planar;

  for (int y = first; y < last; y++)
    for (int i = 0; i < move->plan->n_channels; i++) {
      const SepconvChannel *channel = &move->plan->channel[i];
      const RowsPlanarRow *row = &planar->row[i];
      const ImageMemory *memory = &move->image->memory[channel->memory];
      const int n = channel->width * row->n;
      uint8_t *close, *apart;

      if (n == 0 || y >= memory->height)
        continue;
      close =
          planar->memory + (gathers ? row->src : row->dst) + y * row->stride;
      apart = memory->data + channel->byte_offset + y * memory->stride;
      if (gathers)
        planar->loops->gather (
            close, apart, n, channel->sample_bytes, row->distance);
      else
        planar->loops->scatter (
            apart, close, n, channel->sample_bytes, row->distance);
    }
}

/* WorkersJobs. */
static void
gather_rows (void *user, int worker, int first, int last)
{
  (void) worker;
  move_rows (user, first, last, true);
}

static void
scatter_rows (void *user, int worker, int first, int last)
{
  (void) worker;
  move_rows (user, first, last, false);
}

static void
run_move (const RowsPlanar *planar, const SepconvPlan *plan, const Image *image,
    Workers *workers, WorkersJob job)
{
  Move move = { planar, plan, image };
  int height = 0;

  for (int m = 0; m < image->n_memories; m++)
    height = max_int (height, image->memory[m].height);
  if (height > 0)
    workers_run (workers, height, ROWS, job, &move);
}

bool
rows_planar_gather (RowsPlanar *planar, const SepconvPlan *plan,
    const Image *src, Workers *workers, Fault *fault)
{
  const unsigned apart = find_apart (plan);

  planar->used = apart != 0;
  if (!make_memory (plan, planar, apart, fault))
    return false;
  lay_out (planar, plan, apart);
  if (planar->used)
    run_move (planar, plan, src, workers, gather_rows);
  return true;
}

void
rows_planar_scatter (const RowsPlanar *planar, const SepconvPlan *plan,
    const Image *dst, Workers *workers)
{
  if (planar->used)
    run_move (planar, plan, dst, workers, scatter_rows);
}
