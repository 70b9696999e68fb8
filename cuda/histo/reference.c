/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reference: the specification of all methods: one sample after the other, on one thread. */
#include "method.h"

#include <string.h>

static void
count_row (const HistoChannel *channel, int bins, const uint8_t *row, int width,
    uint64_t *counts)
{
  for (int x = 0; x < width; x++) {
    const uint32_t raw = (uint32_t) image_read_raw (
        row + (ptrdiff_t) x * channel->pixel_stride, channel->sample_bytes);

    counts[((raw & histo_raw_mask (channel)) * (uint32_t) bins)
        >> (channel->depth + channel->shift)]++;
  }
}

static bool
reference_run (HistoPlan *plan, const Image *src, HistoResult *result,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  (void) stream;
  (void) order;
  (void) fault;
  memset (result->counts, 0,
      (size_t) plan->n_channels * (size_t) plan->bins * sizeof (uint64_t));
  for (int i = 0; i < plan->n_channels; i++) {
    const HistoChannel *channel = &plan->channel[i];

    for (int y = 0; y < histo_channel_height (channel, src); y++)
      count_row (channel, plan->bins,
          histo_channel_data (channel, src)
              + y * src->memory[channel->memory].stride,
          histo_channel_width (channel, src),
          result->counts + (size_t) i * (size_t) plan->bins);
  }
  return true;
}

static bool
reference_prepare (HistoPlan *plan, Fault *fault)
{
  (void) plan;
  (void) fault;
  return true;
}

static void
reference_release (HistoPlan *plan)
{
  (void) plan;
}

static double
reference_cost (const HistoSpec *spec, const Image *layout)
{
  (void) spec;
  (void) layout;
  return 1.0;
}

const HistoMethodOps histo_reference_ops = {
  .cost = reference_cost,
  .prepare = reference_prepare,
  .release = reference_release,
  .run = reference_run,
};
