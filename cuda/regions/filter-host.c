/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter-host.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64 /* bytes, of rows of the result */
/* Fixed cost of a cut, in units of one sample of a large cut: in a cut of 90 x 90 samples, a sample
 * takes three times as long as in a whole picture. */
#define CUT_COST 2e4

/* A method's plan, and the key of its taps. */
typedef struct
{
  SepconvPlan *plan;
  unsigned revision; /* of the regions' spec */
  double sigma;      /* 0: the spec's own taps */
} Tool;

struct RegionsCuts
{
  Image layout; /* of the largest cut, each plane with its own memory */
  const SepconvMethod *used; /* the last one, or NULL */
  Tool *tools;               /* [sepconv_n_methods()] */
  /* The fastest method, and the revision, sigma and layout of the cut that it was chosen for. */
  const SepconvMethod *chosen;
  unsigned chosen_revision;
  double chosen_sigma;
  Image chosen_layout;
  uint8_t *block; /* the result */
  size_t bytes;
  Image result;                                 /* of the cut */
  int x[IMAGE_MAX_PLANES], y[IMAGE_MAX_PLANES]; /* where the cut begins */
  /* The taps that strength > 0 makes for a revision and sigma, with the filter that borrows
   * them. */
  unsigned made_revision;
  double made_sigma;
  SepconvSpec spec;
  Taps taps[2 * IMAGE_MAX_PLANES];
};

/* The planes of a picture, each with its own memory. */
static Image
set_apart (const Image *image)
{
  Image apart = *image;

  apart.n_memories = image->n_planes;
  for (int p = 0; p < image->n_planes; p++) {
    const ImagePlane *plane = &image->plane[p];
    ImageMemory *memory = &apart.memory[p];

    *memory = image->memory[plane->memory];
    if (memory->data != NULL)
      memory->data += plane->offset;
    apart.plane[p].memory = p;
    apart.plane[p].offset = 0;
    memory->row_bytes = image_plane_row_bytes (&apart.plane[p]);
  }
  return apart;
}

RegionsCuts *
regions_cuts_new (const Image *layout, int most, Fault *fault)
{
  RegionsCuts *cuts = calloc (1, sizeof *cuts);

  if (cuts != NULL)
    cuts->tools = calloc ((size_t) sepconv_n_methods (), sizeof *cuts->tools);
  if (cuts == NULL || cuts->tools == NULL) {
    free (cuts);
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for regions.");
    return NULL;
  }
  cuts->layout = set_apart (layout);
  for (int p = 0; p < layout->n_planes; p++) {
    ImagePlane *plane = &cuts->layout.plane[p];
    ImageMemory *memory = &cuts->layout.memory[p];

    plane->width = plane->width < most ? plane->width : most;
    memory->height = memory->height < most ? memory->height : most;
    memory->row_bytes = image_plane_row_bytes (plane);
  }
  return cuts;
}

void
regions_cuts_free (RegionsCuts *cuts)
{
  if (cuts == NULL)
    return;
  for (int i = 0; i < sepconv_n_methods (); i++)
    sepconv_plan_free (cuts->tools[i].plan);
  free (cuts->tools);
  free (cuts->block);
  free (cuts);
}

static RegionsArea
grow_area (const SepconvSpec *spec, const Image *image, int p, RegionsArea area)
{
  const SepconvPlane *plane = &spec->plane[p];

  area.x = regions_grow_span (area.x, regions_taps_reach (plane, false),
      image->plane[p].width, spec->border);
  area.y = regions_grow_span (area.y, regions_taps_reach (plane, true),
      image_plane_height (image, p), spec->border);
  return area;
}

/* Cuts the areas, with their halos, out of a picture whose planes have a memory each. A plane of
 * which nothing is needed keeps one column and no rows. */
static void
cut (RegionsCuts *cuts, const SepconvSpec *spec, Image *image,
    const RegionsArea area[IMAGE_MAX_PLANES])
{
  for (int p = 0; p < image->n_planes; p++) {
    ImagePlane *plane = &image->plane[p];
    ImageMemory *memory = &image->memory[p];
    RegionsArea grown = { { 0, 1 }, { 0, 0 } };

    if (spec->plane[p].channels != 0 && !regions_area_is_empty (&area[p]))
      grown = grow_area (spec, image, p, area[p]);
    cuts->x[p] = grown.x.first;
    cuts->y[p] = grown.y.first;
    memory->data += grown.y.first * memory->stride
        + (ptrdiff_t) grown.x.first * plane->pixel_stride;
    memory->height = regions_span_size (grown.y);
    plane->width = regions_span_size (grown.x);
    memory->row_bytes = image_plane_row_bytes (plane);
  }
}

/* Makes cuts->result a picture of the cut's layout. */
static bool
make_result (RegionsCuts *cuts, const Image *from, Fault *fault)
{
  const size_t bytes = image_pack (from, ALIGNMENT, NULL, &cuts->result);

  if (bytes > cuts->bytes) {
    free (cuts->block);
    cuts->block = aligned_alloc (ALIGNMENT, bytes);
    cuts->bytes = cuts->block != NULL ? bytes : 0;
    if (cuts->block == NULL)
      return fault_set (fault, FAULT_NO_SPACE,
          "Out of memory: %zu MiB for a filtered region.", bytes >> 20);
  }
  image_pack (from, ALIGNMENT, cuts->block, &cuts->result);
  return true;
}

/* The layout of a cut, in which a memory without rows counts as having one row. */
static Image
layout_of (const Image *image)
{
  Image layout = *image;

  for (int m = 0; m < layout.n_memories; m++)
    if (layout.memory[m].height == 0)
      layout.memory[m].height = 1;
  return layout;
}

static const SepconvMethod *
choose_method (RegionsCuts *cuts, const RegionsPlan *plan,
    const SepconvSpec *spec, const Image *layout, double sigma, Fault *fault)
{
  if (plan->method != NULL)
    return plan->method;
  /* The choice depends on the region alone: results must not depend on earlier regions. */
  if (cuts->chosen == NULL || cuts->chosen_revision != plan->revision
      || cuts->chosen_sigma != sigma
      || !image_same_layout (layout, &cuts->chosen_layout)) {
    cuts->chosen = sepconv_choose_method (
        spec, layout, BACKEND_CPU, NULL, NULL, GPU_AFTER_KERNELS, fault);
    cuts->chosen_revision = plan->revision;
    cuts->chosen_sigma = sigma;
    cuts->chosen_layout = *layout;
  }
  return cuts->chosen;
}

static Tool *
tool_of (RegionsCuts *cuts, const SepconvMethod *method)
{
  int i = 0;

  while (sepconv_method (i) != method)
    i++;
  return &cuts->tools[i];
}

/* The plan of a method, with the spec's taps. */
static SepconvPlan *
find_plan (RegionsCuts *cuts, const RegionsPlan *plan,
    const SepconvMethod *method, const SepconvSpec *spec, double sigma,
    Fault *fault)
{
  Tool *tool = tool_of (cuts, method);

  if (tool->plan != NULL && tool->revision == plan->revision
      && tool->sigma == sigma)
    return tool->plan;
  if (tool->plan != NULL && !sepconv_plan_has_terms (tool->plan, spec)) {
    sepconv_plan_free (tool->plan);
    tool->plan = NULL;
  }
  if (tool->plan == NULL)
    tool->plan = sepconv_plan_new (
        spec, &cuts->layout, BACKEND_CPU, method, NULL, fault);
  else if (!sepconv_plan_update (tool->plan, spec, fault))
    return NULL;
  tool->revision = plan->revision;
  tool->sigma = sigma;
  return tool->plan;
}

/* The spec with the taps of a sigma; sigma 0: with its own taps. */
static const SepconvSpec *
find_spec (
    RegionsCuts *cuts, const RegionsPlan *plan, double sigma, Fault *fault)
{
  if (sigma == 0.0)
    return plan->spec.filter;
  if (cuts->made_revision == plan->revision && cuts->made_sigma == sigma)
    return &cuts->spec;
  cuts->made_revision = 0;
  if (!regions_make_taps (
          &plan->spec, &plan->layout, sigma, &cuts->spec, cuts->taps, fault))
    return NULL;
  cuts->made_revision = plan->revision;
  cuts->made_sigma = sigma;
  return &cuts->spec;
}

double
regions_cuts_cost (const RegionsPlan *plan, const Image *src,
    const RegionsArea area[IMAGE_MAX_PLANES])
{
  double cost = CUT_COST;

  for (int p = 0; p < src->n_planes; p++)
    if (plan->spec.filter->plane[p].channels != 0
        && !regions_area_is_empty (&area[p])) {
      const RegionsArea grown = grow_area (plan->spec.filter, src, p, area[p]);

      cost += (double) regions_span_size (grown.x) * regions_span_size (grown.y)
          * src->plane[p].channels;
    }
  return cost;
}

bool
regions_cuts_filter (RegionsCuts *cuts, const RegionsPlan *plan,
    const Image *src, const RegionsArea area[IMAGE_MAX_PLANES], double sigma,
    Fault *fault)
{
  const SepconvSpec *spec;
  Image image = set_apart (src), layout;
  SepconvWindow window[IMAGE_MAX_PLANES] = { { 0, 0, 0, 0 } };
  const SepconvMethod *method;
  SepconvPlan *filter;

  if (!(plan->spec.strength > 0.0))
    sigma = 0.0;
  spec = find_spec (cuts, plan, sigma, fault);
  if (spec == NULL)
    return false;
  cut (cuts, spec, &image, area);
  for (int p = 0; p < image.n_planes; p++)
    window[p] = (SepconvWindow){ area[p].x.first - cuts->x[p],
      area[p].y.first - cuts->y[p], area[p].x.last - cuts->x[p],
      area[p].y.last - cuts->y[p] };
  layout = layout_of (&image);
  method = choose_method (cuts, plan, spec, &layout, sigma, fault);
  if (method == NULL || !make_result (cuts, &image, fault))
    return false;
  filter = find_plan (cuts, plan, method, spec, sigma, fault);
  cuts->used = method;
  return filter != NULL && sepconv_plan_reshape (filter, &layout, fault)
      && sepconv_plan_run_window (filter, &image, &cuts->result, window, fault);
}

const SepconvMethod *
regions_cuts_method (const RegionsCuts *cuts)
{
  return cuts->used;
}

const uint8_t *
regions_cuts_row (const RegionsCuts *cuts, int plane, int y)
{
  const ImageMemory *memory = &cuts->result.memory[plane];

  return memory->data + (y - cuts->y[plane]) * memory->stride
      - (ptrdiff_t) cuts->x[plane] * cuts->result.plane[plane].pixel_stride;
}
