/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "strip.cuh"

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

/* The bits of eight bytes that belong to channels that are not filtered. */
static void
mark_kept (StripPlane *plane, int channel)
{
  uint8_t *keep = (uint8_t *) plane->keep;
  const int pixel = plane->channels * plane->sample_bytes;

  plane->keeps = true;
  for (int i = 0; i < 8; i++)
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
