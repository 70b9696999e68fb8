/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The engine with random specs and layouts, valid and invalid. If a validate function accepts
 * them, every CPU method must give the result of kerncheck's oracles or decline; if it refuses
 * them, it must give a sentence. Memories of pictures are as short as allowed, so that
 * AddressSanitizer catches every access beyond them. */
#include "fuzz-bytes.h"
#include "histo.h"
#include "oracle-regions.h"
#include "regions.h"
#include "verdict.h"

#include <stdio.h>

/* Longer inputs find little more. */
#define MAX_BYTES 8192
#define MAX_PRODUCTS 400e3
#define MAX_REGIONS 5

void *
kerncheck_alloc (size_t bytes)
{
  void *memory = calloc (1, bytes);

  FUZZ_EXPECT (memory != NULL, "out of memory");
  return memory;
}

static void
expect_sentence (const Fault *fault)
{
  FUZZ_EXPECT (fault->kind != FAULT_NONE && fault->message[0] != '\0',
      "refused without a word");
}

/* Changes one field of a layout. */
static void
spoil_layout (Bytes *bytes, Image *layout)
{
  ImagePlane *plane = &layout->plane[bytes_int (bytes, 0, 3)];
  ImageMemory *memory = &layout->memory[bytes_int (bytes, 0, 3)];
  int *const fields[] = { &layout->n_planes, &layout->n_memories,
    &plane->memory, &plane->offset, &plane->width, &plane->channels,
    &plane->pixel_stride, &plane->channel_stride, &plane->depth, &plane->shift,
    &memory->height };
  const int n = sizeof fields / sizeof *fields, i = bytes_int (bytes, 0, n);

  if (i < n)
    *fields[i] = bytes_wild_int (bytes, -1, 40);
  else
    memory->row_bytes = (size_t) bytes_wild_int (bytes, 0, 200);
}

/* Makes a layout. Returns true if no two samples overlap; false if the layout was spoilt, so
 * that they may. */
static bool
take_layout (Bytes *bytes, Image *layout)
{
  const LayoutKind *kind =
      layout_kind (bytes_int (bytes, 0, layout_n_kinds () - 1));
  int spoilt = bytes_int (bytes, 0, 7) - 4;

  layout_make (
      kind, bytes_int (bytes, 1, 40), bytes_int (bytes, 1, 24), layout);
  if (spoilt <= 0)
    return true;
  for (; spoilt > 0; spoilt--)
    spoil_layout (bytes, layout);
  return false;
}

static size_t
layout_bytes (const Image *layout)
{
  size_t bytes = 0;

  for (int m = 0; m < layout->n_memories; m++)
    bytes += layout->memory[m].row_bytes * (size_t) layout->memory[m].height;
  return bytes;
}

/* Memory for a valid layout, with random padding of rows. */
static void
image_new (Bytes *bytes, const Image *layout, Image *image)
{
  *image = *layout;
  for (int m = 0; m < image->n_memories; m++) {
    ImageMemory *memory = &image->memory[m];
    const ptrdiff_t rows = memory->height - 1;

    memory->stride = (ptrdiff_t) (memory->row_bytes + 1) / 2 * 2
        + 2 * bytes_int (bytes, 0, 9);
    memory->data =
        kerncheck_alloc ((size_t) (rows * memory->stride) + memory->row_bytes);
    if (bytes_int (bytes, 0, 3) == 0) {
      memory->data += rows * memory->stride;
      memory->stride = -memory->stride;
    }
  }
}

static void
image_free (Image *image)
{
  for (int m = 0; m < image->n_memories; m++) {
    ImageMemory *memory = &image->memory[m];

    free (memory->stride < 0
            ? memory->data + (memory->height - 1) * memory->stride
            : memory->data);
  }
}

/* Random valid codes or their extremes, and noise in the bits below. */
static void
image_paint (Bytes *bytes, const Image *image)
{
  Random random = { bytes_take (bytes, 2) };
  const bool extremes = bytes_int (bytes, 0, 1);

  for (int p = 0; p < image->n_planes; p++) {
    const ImagePlane *plane = &image->plane[p];
    const int full = (1 << plane->depth) - 1;

    for (int y = 0; y < image->memory[plane->memory].height; y++)
      for (int x = 0; x < plane->width; x++)
        for (int c = 0; c < plane->channels; c++) {
          const int code = extremes ? full * random_int (&random, 0, 1)
                                    : random_int (&random, 0, full);
          const int low = random_int (&random, 0, (1 << plane->shift) - 1);

          picture_write_raw (
              image, p, c, x, y, (unsigned) (code << plane->shift | low));
        }
  }
}

/* Taps of all planes and terms; too large for a stack. */
static Taps taps[IMAGE_MAX_PLANES][TAPS_MAX_TERMS][2];

static void
take_taps (Bytes *bytes, Taps *made)
{
  const int kind = bytes_int (bytes, 0, 9);
  const int n = kind == 0 ? bytes_wild_int (bytes, 0, TAPS_MAX + 1)
                          : bytes_int (bytes, 1, kind < 3 ? 40 : 9);
  const int known = n < 1 ? 0 : n > TAPS_MAX ? TAPS_MAX : n;

  made->n = n;
  if (kind == 9) {
    taps_gaussian (
        made, bytes_int (bytes, 0, 40) / 8.0, bytes_int (bytes, 0, 30));
    return;
  }
  for (int i = 0; i < known; i++)
    made->tap[i] =
        kind < 6 ? bytes_wild_double (bytes, 1.0) : 1.0 / (double) known;
}

static void
take_spec (Bytes *bytes, const Image *layout, SepconvSpec *spec)
{
  memset (spec, 0, sizeof *spec);
  spec->border = (SepconvBorder) bytes_wild_int (bytes, 0, SEPCONV_CONSTANT);
  spec->combine = (SepconvCombine) (bytes_int (bytes, 0, 2) > 0
          ? SEPCONV_SUM
          : bytes_wild_int (bytes, 0, SEPCONV_DIRECTION));
  spec->amount = bytes_wild_double (bytes, 2.0);
  spec->threshold = fabs (bytes_wild_double (bytes, 1.0));
  spec->scale = bytes_wild_double (bytes, 2.0);
  spec->bias = bytes_wild_double (bytes, 0.5);
  for (int p = 0; p < IMAGE_MAX_PLANES; p++) {
    SepconvPlane *plane = &spec->plane[p];
    const double full = p < layout->n_planes && layout->plane[p].depth < 17
            && layout->plane[p].depth > 0
        ? (1 << layout->plane[p].depth) - 1
        : 255.0;

    plane->x = &taps[p][0][0];
    plane->y = &taps[p][0][1];
    plane->n_more =
        spec->combine == SEPCONV_MAGNITUDE || spec->combine == SEPCONV_DIRECTION
        ? 1
        : bytes_int (bytes, 0, 3) > 0
        ? 0
        : bytes_wild_int (bytes, 0, TAPS_MAX_TERMS - 1);
    for (int t = 0; t < TAPS_MAX_TERMS; t++) {
      if (t > 0)
        plane->more[t - 1] = (SepconvTerm){ &taps[p][t][0], &taps[p][t][1] };
      if (t == 0 || t <= plane->n_more) {
        take_taps (bytes, &taps[p][t][0]);
        take_taps (bytes, &taps[p][t][1]);
      }
    }
    plane->channels = (unsigned) bytes_wild_int (bytes, 0, 15);
    plane->unbiased = (unsigned) bytes_int (bytes, 0, 15);
    for (int c = 0; c < IMAGE_MAX_CHANNELS; c++) {
      plane->zero[c] = fabs (bytes_wild_double (bytes, full));
      plane->border_value[c] = fabs (bytes_wild_double (bytes, full));
    }
  }
}

/* Products of taps and samples of a valid spec, both axes. */
static double
products (const SepconvSpec *spec, const Image *layout)
{
  double n = 0;

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];
    double taps_of_plane = 0;

    if (spec->plane[p].channels == 0)
      continue;
    for (int t = 0; t < sepconv_n_terms (&spec->plane[p]); t++) {
      const SepconvTerm term = sepconv_term (&spec->plane[p], t);

      taps_of_plane += term.x->n + term.y->n;
    }
    n += taps_of_plane * plane->width * plane->channels
        * layout->memory[plane->memory].height;
  }
  return n;
}

static void
fuzz_sepconv (Bytes *bytes)
{
  Fault fault = { FAULT_NONE, "", "" };
  Image layout, src;
  SepconvSpec spec;
  const bool apart = take_layout (bytes, &layout);

  take_spec (bytes, &layout, &spec);
  if (!sepconv_validate (&spec, &layout, &fault)) {
    expect_sentence (&fault);
    return;
  }
  if (layout_bytes (&layout) > MAX_BYTES
      || products (&spec, &layout) > MAX_PRODUCTS)
    return;
  image_new (bytes, &layout, &src);
  image_paint (bytes, &src);
  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);
    SepconvPlan *plan;
    Verdict verdict;
    Image dst;

    if (method->backend != BACKEND_CPU
        || !sepconv_method_supports (method, &spec, &layout, NULL, &fault))
      continue;
    plan = sepconv_plan_new (&spec, &layout, BACKEND_CPU, method, NULL, &fault);
    FUZZ_EXPECT (plan != NULL, "%s: %s", method->name, fault.message);
    image_new (bytes, &layout, &dst);
    FUZZ_EXPECT (
        sepconv_plan_run (plan, &src, &dst, NULL, GPU_AFTER_KERNELS, &fault),
        "%s: %s", method->name, fault.message);
    if (apart) {
      verdict_by_oracle (&verdict, &spec, &src, &dst);
      FUZZ_EXPECT (verdict.ok, "%s: %s", method->name, verdict.text);
    }
    sepconv_plan_free (plan);
    image_free (&dst);
  }
  image_free (&src);
}

/* Expects a channel's counters to match its samples. */
static void
expect_counts (const HistoResult *result, const Image *src, int p, int c,
    const HistoMethod *method)
{
  const ImagePlane *plane = &src->plane[p];
  const int bins = histo_result_bins (result);
  const uint64_t *counts = histo_result_counts (result, p, c);
  uint64_t *expected = kerncheck_alloc ((size_t) bins * sizeof *expected);

  for (int y = 0; y < src->memory[plane->memory].height; y++)
    for (int x = 0; x < plane->width; x++)
      expected[(int64_t) picture_code (src, p, c, x, y) * bins
          >> plane->depth]++;
  for (int b = 0; b < bins; b++)
    FUZZ_EXPECT (counts[b] == expected[b],
        "%s: plane %d channel %d bin %d of %d counts %llu, not %llu",
        method->name, p, c, b, bins, (unsigned long long) counts[b],
        (unsigned long long) expected[b]);
  free (expected);
}

static void
fuzz_statistics (
    Bytes *bytes, const HistoResult *result, const Image *src, int p, int c)
{
  const int bins = histo_result_bins (result);
  const HistoStatistics statistics = histo_statistics (
      histo_result_counts (result, p, c), bins, src->plane[p].depth,
      bytes_wild_double (bytes, 255.0), bytes_wild_double (bytes, 255.0));

  FUZZ_EXPECT (statistics.min <= statistics.median
          && statistics.median <= statistics.max && statistics.entropy >= 0.0
          && statistics.dark >= 0.0 && statistics.dark <= 1.0
          && statistics.bright >= 0.0 && statistics.bright <= 1.0,
      "min %g median %g max %g entropy %g dark %g bright %g", statistics.min,
      statistics.median, statistics.max, statistics.entropy, statistics.dark,
      statistics.bright);
}

static void
fuzz_histo (Bytes *bytes)
{
  Fault fault = { FAULT_NONE, "", "" };
  Image layout, src;
  HistoSpec spec;

  take_layout (bytes, &layout);
  spec.bins = bytes_wild_int (bytes, 0, 300);
  for (int p = 0; p < IMAGE_MAX_PLANES; p++)
    spec.channels[p] = (unsigned) bytes_wild_int (bytes, 0, 15);
  if (!histo_validate (&spec, &layout, &fault)) {
    expect_sentence (&fault);
    return;
  }
  if (layout_bytes (&layout) > MAX_BYTES)
    return;
  image_new (bytes, &layout, &src);
  image_paint (bytes, &src);
  for (int i = 0; i < histo_n_methods (); i++) {
    const HistoMethod *method = histo_method (i);
    HistoResult *result;
    HistoPlan *plan;

    if (method->backend != BACKEND_CPU
        || !histo_method_supports (method, &spec, &layout, NULL, &fault))
      continue;
    plan = histo_plan_new (&spec, &layout, BACKEND_CPU, method, NULL, &fault);
    FUZZ_EXPECT (plan != NULL, "%s: %s", method->name, fault.message);
    result = histo_result_new (plan, &fault);
    FUZZ_EXPECT (result != NULL, "%s: %s", method->name, fault.message);
    FUZZ_EXPECT (
        histo_plan_run (plan, &src, result, NULL, GPU_AFTER_KERNELS, &fault),
        "%s: %s", method->name, fault.message);
    for (int p = 0; p < layout.n_planes; p++)
      for (int c = 0; c < layout.plane[p].channels; c++)
        if (spec.channels[p] >> c & 1) {
          expect_counts (result, &src, p, c, method);
          fuzz_statistics (bytes, result, &src, p, c);
        }
    histo_plan_free (plan);
    histo_result_free (result);
  }
  image_free (&src);
}

static void
take_regions (Bytes *bytes, Region *regions)
{
  for (int i = 0; i < MAX_REGIONS; i++) {
    const int left = bytes_wild_int (bytes, -8, 48);
    const int top = bytes_wild_int (bytes, -8, 32);
    const bool wild = bytes_int (bytes, 0, 15) == 0;

    regions[i] = (Region){ left, top,
      wild ? bytes_wild_int (bytes, -8, 60)
           : (int) ((unsigned) left + (unsigned) bytes_int (bytes, 1, 30)),
      wild ? bytes_wild_int (bytes, -8, 60)
           : (int) ((unsigned) top + (unsigned) bytes_int (bytes, 1, 30)) };
  }
}

static void
expect_regions (const RegionsSpec *spec, const Region *regions, int n,
    const Image *src, const Image *dst, int p, int c)
{
  const ImagePlane *plane = &src->plane[p];
  RegionsExpected *all = oracle_regions (spec, regions, n, src, 1, p, c),
                  *e = all;

  for (int y = 0; y < src->memory[plane->memory].height; y++)
    for (int x = 0; x < plane->width; x++, e++) {
      const unsigned before = picture_raw (src, p, c, x, y);
      const unsigned raw = picture_raw (dst, p, c, x, y);
      const bool right = !e->touched || (spec->outside && e->kept)
          ? raw == before
          : fabs ((raw >> plane->shift) - e->code) <= e->allowed + 1e-6;

      FUZZ_EXPECT (right,
          "plane %d channel %d at %d,%d is 0x%x, was 0x%x, expected %g +- %g",
          p, c, x, y, raw, before, e->code, e->allowed);
    }
  free (all);
}

static void
take_regions_spec (Bytes *bytes, const SepconvSpec *filter,
    const TapsSettings *settings, RegionsSpec *spec)
{
  memset (spec, 0, sizeof *spec);
  spec->outside = bytes_int (bytes, 0, 3) == 0;
  spec->fill = (RegionsFill) bytes_wild_int (bytes, 0, REGIONS_SOLID);
  spec->shape = (RegionsShape) bytes_wild_int (bytes, 0, REGIONS_ELLIPSE);
  spec->grow = fabs (bytes_wild_double (bytes, 2.0));
  spec->strength =
      bytes_int (bytes, 0, 1) ? fabs (bytes_wild_double (bytes, 1.0)) : 0.0;
  spec->feather =
      bytes_int (bytes, 0, 1) ? fabs (bytes_wild_double (bytes, 1.0)) : 0.0;
  spec->filter = filter;
  spec->taps = settings;
  for (int p = 0; p < IMAGE_MAX_PLANES; p++) {
    spec->subsampling_x[p] = bytes_wild_int (bytes, 1, 2);
    spec->subsampling_y[p] = bytes_wild_int (bytes, 1, 2);
    for (int c = 0; c < IMAGE_MAX_CHANNELS; c++)
      spec->color[p][c] = fabs (bytes_wild_double (bytes, 255.0));
  }
}

/* In place, bytes outside of all boxes stay, and the rest equals the result in a copy. */
static void
expect_in_place (Bytes *bytes, RegionsPlan *plan, const Region *regions, int n,
    const Image *layout, const Image *src, const Image *dst)
{
  Fault fault = { FAULT_NONE, "", "" };
  Image image;

  image_new (bytes, layout, &image);
  image_copy (&image, src);
  FUZZ_EXPECT (
      regions_plan_run_in_place (plan, regions, n, &image, 1, NULL,
          GPU_AFTER_KERNELS, &fault),
      "in place: %s", fault.message);
  for (int m = 0; m < layout->n_memories; m++)
    for (int y = 0; y < layout->memory[m].height; y++)
      FUZZ_EXPECT (memcmp (image.memory[m].data + y * image.memory[m].stride,
                       dst->memory[m].data + y * dst->memory[m].stride,
                       layout->memory[m].row_bytes)
              == 0,
          "in place, row %d of memory %d differs", y, m);
  image_free (&image);
}

static void
fuzz_regions (Bytes *bytes)
{
  const TapsSettings settings = { .kernel = TAPS_GAUSSIAN,
    .sigma_x = bytes_int (bytes, 0, 32) / 8.0,
    .sigma_y = -1.0,
    .radius_x = -1,
    .radius_y = -1 };
  Fault fault = { FAULT_NONE, "", "" };
  Region regions[MAX_REGIONS];
  RegionsPlan *plan = NULL;
  Image layout, src, dst;
  SepconvSpec filter;
  RegionsSpec spec;
  const bool apart = take_layout (bytes, &layout);
  const int n = bytes_int (bytes, 0, MAX_REGIONS);

  take_spec (bytes, &layout, &filter);
  take_regions_spec (bytes, &filter, &settings, &spec);
  take_regions (bytes, regions);
  if (!regions_validate (&spec, &layout, &fault)) {
    expect_sentence (&fault);
    return;
  }
  if (layout_bytes (&layout) > MAX_BYTES
      || products (&filter, &layout) > MAX_PRODUCTS)
    return;
  plan = regions_plan_new (&spec, &layout, BACKEND_CPU, NULL, NULL, &fault);
  if (plan == NULL) {
    expect_sentence (&fault);
    return;
  }
  image_new (bytes, &layout, &src);
  image_new (bytes, &layout, &dst);
  image_paint (bytes, &src);
  if (!regions_plan_run (
          plan, regions, n, &src, &dst, 1, NULL, GPU_AFTER_KERNELS, &fault))
    expect_sentence (&fault);
  else if (apart)
    for (int p = 0; p < layout.n_planes; p++)
      for (int c = 0; c < layout.plane[p].channels; c++)
        if (filter.plane[p].channels >> c & 1)
          expect_regions (&spec, regions, n, &src, &dst, p, c);
  if (fault.kind == FAULT_NONE && apart && !spec.outside)
    expect_in_place (bytes, plan, regions, n, &layout, &src, &dst);
  regions_plan_free (plan);
  image_free (&src);
  image_free (&dst);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Bytes bytes = { data, size };

  switch (bytes_int (&bytes, 0, 3)) {
    case 0:
      fuzz_histo (&bytes);
      break;
    case 1:
      fuzz_regions (&bytes);
      break;
    default:
      fuzz_sepconv (&bytes);
      break;
  }
  return 0;
}
