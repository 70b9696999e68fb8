/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "histo-cases.h"

#include <stdlib.h>
#include <string.h>

int
histo_some_bins (int index)
{
  static const int bins[N_HISTO_BINS] = { 256, 2, 3, 16, 255, 257, 1000, 1024,
    4096, 10007, 65536 };

  return bins[index % N_HISTO_BINS];
}

void
histo_case_select_all (HistoCase *c)
{
  for (int p = 0; p < c->layout.n_planes; p++)
    c->spec.channels[p] = (1u << c->layout.plane[p].channels) - 1;
}

/* Selects random channels, at least one. */
static void
select_some (HistoCase *c, Random *random)
{
  unsigned any = 0;

  histo_case_select_all (c);
  if (random_chance (random, 40))
    return;
  for (int p = 0; p < c->layout.n_planes; p++) {
    c->spec.channels[p] &= (unsigned) random_next (random);
    any |= c->spec.channels[p];
  }
  if (any == 0)
    histo_case_select_all (c);
}

void
histo_case_make (HistoCase *c, const LayoutKind *kind, int index,
    const HistoEffort *effort, Random *random)
{
  memset (c, 0, sizeof *c);
  c->kind = kind;
  c->width = index == 0 || index == 1 ? 1
      : index == 3                    ? 16
                   : random_int (random, 1, effort->max_width);
  c->height =
      index == 0 || index == 2 ? 1 : random_int (random, 1, effort->max_height);
  layout_make (kind, c->width, c->height, &c->layout);
  c->spec.bins = random_chance (random, 10)
      ? random_int (random, HISTO_MIN_BINS, 3000)
      : histo_some_bins (random_chance (random, 40)
              ? 0
              : random_int (random, 0, N_HISTO_BINS - 1));
  c->content = (Content) random_int (random, 0, N_CONTENTS - 1);
  select_some (c, random);
}

void
histo_case_describe (Check *check, const HistoCase *c)
{
  check_describe (check, "%s %dx%d, %d bins, channels 0x%x 0x%x 0x%x 0x%x, %s",
      c->kind->name, c->width, c->height, c->spec.bins, c->spec.channels[0],
      c->spec.channels[1], c->spec.channels[2], c->spec.channels[3],
      content_name (c->content));
}

void
histo_case_picture (const HistoCase *c, Picture *picture, Random *random)
{
  if (random_chance (random, 40))
    picture_new_packed (picture, &c->layout, random);
  else
    picture_new (picture, &c->layout, true, random);
  picture_paint (picture, c->content, random);
}

static bool
expect_channel (Check *check, const Image *image, int p, int channel, int bins,
    const uint64_t *counts)
{
  uint64_t *expected = kerncheck_alloc ((size_t) bins * sizeof *expected);
  uint64_t samples = 0;
  bool ok = true;

  for (int y = 0; y < image_plane_height (image, p); y++)
    for (int x = 0; x < image->plane[p].width; x++)
      expected[(uint64_t) picture_code (image, p, channel, x, y)
          * (uint64_t) bins / (1u << image->plane[p].depth)]++;
  for (int bin = 0; bin < bins && ok; bin++)
    ok = EXPECT (check, counts[bin] == expected[bin],
        "plane %d, channel %d, bin %d: %llu samples instead of %llu", p,
        channel, bin, (unsigned long long) counts[bin],
        (unsigned long long) expected[bin]);
  for (int bin = 0; bin < bins; bin++)
    samples += counts[bin];
  ok = EXPECT (check,
           samples
               == (uint64_t) image->plane[p].width
                   * (uint64_t) image_plane_height (image, p),
           "plane %d, channel %d: the bins add up to %llu samples", p, channel,
           (unsigned long long) samples)
      && ok;
  free (expected);
  return ok;
}

bool
histo_expect_counts (Check *check, const HistoSpec *spec, const Image *image,
    const HistoResult *result)
{
  bool ok = EXPECT (check, histo_result_bins (result) == spec->bins,
      "the result has %d bins", histo_result_bins (result));

  for (int p = 0; p < image->n_planes && ok; p++)
    for (int channel = 0; channel < IMAGE_MAX_CHANNELS && ok; channel++) {
      const uint64_t *counts = histo_result_counts (result, p, channel);
      const bool selected = spec->channels[p] >> channel & 1;

      ok = EXPECT (check, (counts != NULL) == selected,
          "plane %d, channel %d: %s", p, channel,
          selected ? "no counters" : "counters of no channel");
      if (ok && selected)
        ok = expect_channel (check, image, p, channel, spec->bins, counts);
    }
  return ok;
}

/* The bin of each code: a bin begins where the code's share of all codes reaches the
 * bin's share of all bins. The caller frees the array. */
static int *
walk_bins (int depth, int bins)
{
  const int codes = 1 << depth;
  int *bin_of = kerncheck_alloc ((size_t) codes * sizeof *bin_of);
  long long ahead = 0; /* code * bins - bin * codes */
  int bin = 0;

  for (int code = 0; code < codes; code++, ahead += bins) {
    for (; ahead >= codes; ahead -= codes)
      bin++;
    bin_of[code] = bin;
  }
  return bin_of;
}

bool
histo_expect_reverse (Check *check, const HistoSpec *spec, const Image *image,
    const HistoResult *result)
{
  const size_t bytes = (size_t) spec->bins * sizeof (uint64_t);
  bool ok = true;

  for (int p = 0; p < image->n_planes; p++)
    for (int channel = 0; channel < image->plane[p].channels; channel++) {
      uint64_t *left;
      int *bin_of;

      if (!(spec->channels[p] >> channel & 1))
        continue;
      left = kerncheck_alloc (bytes);
      bin_of = walk_bins (image->plane[p].depth, spec->bins);
      memcpy (left, histo_result_counts (result, p, channel), bytes);
      for (int y = 0; y < image_plane_height (image, p); y++)
        for (int x = 0; x < image->plane[p].width; x++)
          left[bin_of[picture_code (image, p, channel, x, y)]]--;
      for (int bin = 0; bin < spec->bins && ok; bin++)
        ok = EXPECT (check, left[bin] == 0,
            "plane %d, channel %d, bin %d: %lld more than the picture has", p,
            channel, bin, (long long) left[bin]);
      free (left);
      free (bin_of);
    }
  return ok;
}
