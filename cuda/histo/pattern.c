/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pattern.h"

/* The distance of a channel's pixels in samples; 0: too far, or not a whole number. */
static int
pixel_samples (const HistoChannel *channel)
{
  const int64_t end =
      (int64_t) channel->width * channel->pixel_stride + channel->byte_offset;
  const int samples = channel->pixel_stride / channel->sample_bytes;

  if (channel->pixel_stride % channel->sample_bytes != 0
      || samples > HISTO_MAX_PERIOD || end > HISTO_MAX_ROW_BYTES)
    return 0;
  return samples;
}

static int
common_period (int a, int b)
{
  for (int period = a;; period += a)
    if (period % b == 0)
      return period;
}

/* Adds channel i to a pattern, if both have the same memory and sample format and no other
 * channel has its samples. */
static bool
join (HistoPattern *pattern, const HistoChannel *channel, int i)
{
  const int samples = pixel_samples (channel);
  HistoPattern joined = *pattern;

  if (pattern->memory != channel->memory
      || pattern->sample_bytes != channel->sample_bytes
      || pattern->depth != channel->depth || pattern->shift != channel->shift
      || pattern->period == 0 || samples == 0)
    return false;
  joined.period = common_period (pattern->period, samples);
  if (joined.period > HISTO_MAX_PERIOD)
    return false;
  for (int k = 0; k < joined.period; k++) {
    joined.channel[k] = pattern->channel[k % pattern->period];
    if (k % samples != channel->byte_offset / channel->sample_bytes % samples)
      continue;
    if (joined.channel[k] >= 0)
      return false;
    joined.channel[k] = i;
  }
  *pattern = joined;
  return true;
}

int
histo_find_patterns (const HistoChannel *channel, int n,
    HistoPattern pattern[HISTO_MAX_CHANNELS])
{
  int found = 0;

  for (int i = 0; i < n; i++) {
    HistoPattern alone = {
      .memory = channel[i].memory,
      .sample_bytes = channel[i].sample_bytes,
      .depth = channel[i].depth,
      .shift = channel[i].shift,
      .period = 1,
      .channel = { -1, -1, -1, -1 },
    };
    int k = 0;

    while (k < found && !join (&pattern[k], &channel[i], i))
      k++;
    if (k < found)
      continue;
    if (!join (&alone, &channel[i], i)) {
      alone.period = 0;
      alone.channel[0] = i;
    }
    pattern[found++] = alone;
  }
  return found;
}
