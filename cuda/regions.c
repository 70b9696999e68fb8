/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "regions.h"

#include "regions/boxes.h"
#include "regions/plan.h"
#include "sepconv/method.h"
#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CUDA
#define CUDA_OPS &regions_cuda_ops
#else
#define CUDA_OPS NULL
#endif

#define MAX_SUBSAMPLING 1024
#define MAX_RATIO 10.0 /* of grow, strength and feather */

/* NaN fails every comparison. */
static bool
is_between (double value, double low, double high)
{
  return value >= low && value <= high;
}

static bool
validate_ranges (const RegionsSpec *spec, Fault *fault)
{
  if ((int) spec->fill < REGIONS_FILTER || spec->fill > REGIONS_SOLID)
    return fault_set (
        fault, FAULT_SETTINGS, "Regions have no fill %d.", (int) spec->fill);
  if ((int) spec->shape < REGIONS_RECTANGLE || spec->shape > REGIONS_ELLIPSE)
    return fault_set (
        fault, FAULT_SETTINGS, "Regions have no shape %d.", (int) spec->shape);
  if (!is_between (spec->grow, 0.0, MAX_RATIO)
      || !is_between (spec->strength, 0.0, MAX_RATIO)
      || !is_between (spec->feather, 0.0, MAX_RATIO))
    return fault_set (fault, FAULT_SETTINGS,
        "Regions grow by %g, with strength %g and feather %g; each is 0 to %g.",
        spec->grow, spec->strength, spec->feather, MAX_RATIO);
  return true;
}

static bool
is_blur (TapsKernel kernel)
{
  return kernel == TAPS_GAUSSIAN || kernel == TAPS_BOX
      || kernel == TAPS_BINOMIAL || kernel == TAPS_UNSHARP;
}

/* Whether the gain stays within its limit for every sigma that a strength gives. The taps that are
 * made for a sigma sum to 1, apart from the rounding errors of up to TAPS_MAX taps. */
static bool
validate_strength_gain (const RegionsSpec *spec, Fault *fault)
{
  static const Taps most = { .n = 1, .tap = { 1.0 + 1e-9 } };
  const SepconvPlane plane = { .x = &most, .y = &most };
  const double gain = sepconv_gain (spec->filter, &plane);

  return gain <= SEPCONV_MAX_GAIN
      || fault_set (fault, FAULT_SETTINGS,
          "Blurs by the strength of regions, and the scale, amplify by up to %g; "
          "less than %g is allowed.",
          gain, SEPCONV_MAX_GAIN);
}

/* Whether the filter's taps can be remade for strength > 0. */
static bool
validate_strength (const RegionsSpec *spec, const Image *layout, Fault *fault)
{
  const SepconvCombine combine = spec->filter->combine;

  if (spec->outside)
    return fault_set (fault, FAULT_SETTINGS,
        "A strength makes the blur of each region; outside of regions there is "
        "none.");
  if (spec->fill != REGIONS_FILTER)
    return true;
  if (!is_blur (spec->taps->kernel)
      || combine
          != (spec->taps->kernel == TAPS_UNSHARP ? SEPCONV_UNSHARP
                                                 : SEPCONV_SUM))
    return fault_set (fault, FAULT_SETTINGS,
        "A strength is for the kernels gaussian, box, binomial and unsharp.");
  for (int p = 0; p < layout->n_planes; p++)
    if (spec->filter->plane[p].n_more != 0)
      return fault_set (
          fault, FAULT_SETTINGS, "A strength is for kernels of one term.");
  return validate_strength_gain (spec, fault);
}

static bool
validate_fill (const RegionsSpec *spec, const Image *layout, Fault *fault)
{
  /* With a strength, `taps` is not needed for sigma; but FILTER needs its kernel. */
  if (spec->taps == NULL
      && (spec->strength > 0.0 ? spec->fill == REGIONS_FILTER
                               : spec->fill == REGIONS_PIXELATE))
    return fault_set (fault, FAULT_SETTINGS,
        "This fill of regions needs the settings of the filter's taps.");
  if (spec->fill == REGIONS_PIXELATE && spec->outside)
    return fault_set (
        fault, FAULT_SETTINGS, "Only the inside of regions can be pixelated.");
  if (spec->fill == REGIONS_PIXELATE && !(spec->strength > 0.0)
      && (!is_between (spec->taps->sigma_x, 0.0, REGIONS_MAX_EDGE)
          || !(spec->taps->sigma_y <= REGIONS_MAX_EDGE)))
    return fault_set (fault, FAULT_SETTINGS,
        "sigma must be a number of pixels from 0 to %d, not %g.",
        REGIONS_MAX_EDGE, spec->taps->sigma_x);
  for (int p = 0; spec->fill == REGIONS_SOLID && p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++)
      if (regions_treats (spec, p, c)
          && !is_between (
              spec->color[p][c], 0.0, image_full_code (&layout->plane[p])))
        return fault_set (fault, FAULT_SETTINGS,
            "Code %g is not one of plane %d, channel %d.", spec->color[p][c], p,
            c);
  return true;
}

bool
regions_validate (const RegionsSpec *spec, const Image *layout, Fault *fault)
{
  if (spec->filter == NULL)
    return fault_set (fault, FAULT_SETTINGS, "Regions need a filter.");
  if (!sepconv_validate (spec->filter, layout, fault)
      || !validate_ranges (spec, fault))
    return false;
  for (int p = 0; p < layout->n_planes; p++)
    if (spec->subsampling_x[p] < 1 || spec->subsampling_x[p] > MAX_SUBSAMPLING
        || spec->subsampling_y[p] < 1
        || spec->subsampling_y[p] > MAX_SUBSAMPLING)
      return fault_set (fault, FAULT_SETTINGS,
          "Plane %d has a sample for %dx%d pixels; 1 to %d are possible.", p,
          spec->subsampling_x[p], spec->subsampling_y[p], MAX_SUBSAMPLING);
  return validate_fill (spec, layout, fault)
      && (!(spec->strength > 0.0) || validate_strength (spec, layout, fault));
}

static bool
same_plane_taps (const RegionsSpec *spec, const Image *layout, int a, int b)
{
  return layout->plane[a].depth == layout->plane[b].depth
      && (!spec->scale_taps
          || (spec->subsampling_x[a] == spec->subsampling_x[b]
              && spec->subsampling_y[a] == spec->subsampling_y[b]));
}

bool
regions_make_taps (const RegionsSpec *from, const Image *layout, double sigma,
    SepconvSpec *spec, Taps made[2 * IMAGE_MAX_PLANES], Fault *fault)
{
  TapsSettings settings = *from->taps;
  int last = -1; /* plane whose taps were made */

  settings.sigma_x = settings.sigma_y = sigma;
  settings.radius_x = settings.radius_y = -1;
  *spec = *from->filter;
  for (int p = 0; p < layout->n_planes; p++) {
    SepconvPlane *plane = &spec->plane[p];

    if (plane->channels == 0)
      continue;
    /* V of YUV takes the taps of U. */
    if (last < 0 || !same_plane_taps (from, layout, last, p)) {
      last = p;
      settings.depth = layout->plane[p].depth;
      if (!taps_make (&settings, from->scale_taps ? from->subsampling_x[p] : 1,
              from->scale_taps ? from->subsampling_y[p] : 1, &made[2 * p],
              &made[2 * p + 1], fault))
        return false;
    }
    plane->x = &made[2 * last];
    plane->y = &made[2 * last + 1];
  }
  return true;
}

static int
count_taps (const SepconvSpec *spec, const Image *layout)
{
  int n = 0;

  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].channels != 0)
      n += 2 * sepconv_n_terms (&spec->plane[p]);
  return n;
}

static const Taps *
copy_taps (Taps **next, const Taps *from)
{
  Taps *to = (*next)++;

  to->n = from->n;
  memcpy (to->tap, from->tap, sizeof to->tap[0] * (size_t) from->n);
  return to;
}

/* Makes room for a copy of the spec's taps. */
static bool
reserve_taps (RegionsFilter *filter, const SepconvSpec *spec,
    const Image *layout, Fault *fault)
{
  const int n = count_taps (spec, layout);
  Taps *taps;

  if (n <= filter->capacity)
    return true;
  taps = malloc (sizeof *taps * (size_t) n);
  if (taps == NULL)
    return fault_set (
        fault, FAULT_NO_SPACE, "Out of memory for the taps of regions.");
  free (filter->taps);
  filter->taps = taps;
  filter->capacity = n;
  return true;
}

/* Copies a filter, after reserve_taps(). */
static void
copy_filter (
    RegionsFilter *filter, const SepconvSpec *spec, const Image *layout)
{
  Taps *next = filter->taps;

  filter->spec = *spec;
  for (int p = 0; p < layout->n_planes; p++) {
    SepconvPlane *plane = &filter->spec.plane[p];

    if (plane->channels == 0)
      continue;
    plane->x = copy_taps (&next, plane->x);
    plane->y = copy_taps (&next, plane->y);
    for (int t = 0; t < plane->n_more; t++) {
      plane->more[t].x = copy_taps (&next, plane->more[t].x);
      plane->more[t].y = copy_taps (&next, plane->more[t].y);
    }
  }
}

/* Adopts a valid spec, after reserve_taps(). */
static void
adopt_spec (RegionsPlan *plan, const RegionsSpec *spec)
{
  copy_filter (&plan->filter, spec->filter, &plan->layout);
  plan->spec = *spec;
  plan->spec.filter = &plan->filter.spec;
  plan->spec.taps = NULL;
  if (spec->taps != NULL) {
    plan->taps = *spec->taps;
    /* Borrowed, and blurs do not need them. */
    plan->taps.custom_x = plan->taps.custom_y = NULL;
    plan->taps.term = NULL;
    plan->spec.taps = &plan->taps;
  }
  plan->revision++;
}

/* Chooses the method of the spec's FILTER, if it is the same for all regions; else leaves it. */
static bool
choose_method (const RegionsPlan *plan, const RegionsSpec *spec,
    const SepconvMethod **chosen, Fault *fault)
{
  if (plan->backend == BACKEND_CUDA && !spec->outside) {
    if (plan->method != NULL)
      return fault_set (fault, FAULT_SETTINGS,
          "Inside of regions a GPU has kernels of its own; method %s cannot be "
          "chosen there.",
          plan->method->name);
    return true;
  }
  if (plan->method != NULL && plan->method->backend != plan->backend)
    return fault_set (fault, FAULT_SETTINGS, "Method %s runs on the %s only.",
        plan->method->name,
        plan->method->backend == BACKEND_CPU ? "CPU" : "GPU");
  if (spec->fill != REGIONS_FILTER || spec->strength > 0.0)
    return true;
  *chosen = sepconv_choose_method (spec->filter, &plan->layout, plan->backend,
      plan->method, plan->gpu, GPU_AFTER_KERNELS, fault);
  return *chosen != NULL;
}

static bool
set_up (RegionsPlan *plan, const RegionsSpec *spec, Fault *fault)
{
  if (plan->ops == NULL)
    return fault_set (
        fault, FAULT_UNSUPPORTED, "This build has no regions on a GPU.");
  if (!choose_method (plan, spec, &plan->used, fault)
      || !reserve_taps (&plan->filter, spec->filter, &plan->layout, fault))
    return false;
  adopt_spec (plan, spec);
  if (spec->outside && spec->fill == REGIONS_FILTER) {
    plan->whole = sepconv_plan_new (spec->filter, &plan->layout, plan->backend,
        plan->used, plan->gpu, fault);
    if (plan->whole == NULL)
      return false;
  }
  return plan->ops->prepare (plan, fault);
}

RegionsPlan *
regions_plan_new (const RegionsSpec *spec, const Image *layout, Backend backend,
    const SepconvMethod *method, Gpu *gpu, Fault *fault)
{
  RegionsPlan *plan;

  if (!regions_validate (spec, layout, fault))
    return NULL;
  plan = calloc (1, sizeof *plan);
  if (plan == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for regions.");
    return NULL;
  }
  plan->ops = backend == BACKEND_CPU ? &regions_host_ops : CUDA_OPS;
  plan->backend = backend;
  plan->gpu = gpu;
  plan->method = method;
  plan->layout = *layout;
  if (!set_up (plan, spec, fault)) {
    regions_plan_free (plan);
    return NULL;
  }
  return plan;
}

void
regions_plan_free (RegionsPlan *plan)
{
  if (plan == NULL)
    return;
  if (plan->ops != NULL)
    plan->ops->release (plan);
  sepconv_plan_free (plan->whole);
  free (plan->filter.taps);
  free (plan->placed);
  free (plan->spare);
  free (plan->place);
  free (plan->boxes);
  free (plan);
}

bool
regions_plan_update (RegionsPlan *plan, const RegionsSpec *spec, Fault *fault)
{
  const bool whole = spec->outside && spec->fill == REGIONS_FILTER;
  const SepconvMethod *used = NULL;

  if (!regions_validate (spec, &plan->layout, fault))
    return false;
  if (spec->outside != plan->spec.outside || whole != (plan->whole != NULL))
    return fault_set (fault, FAULT_UNSUPPORTED,
        "A plan stays inside or outside of regions, and keeps or lacks a filter "
        "of the whole picture.");
  if (!choose_method (plan, spec, &used, fault)
      || !reserve_taps (&plan->filter, spec->filter, &plan->layout, fault))
    return false;
  if (plan->whole != NULL) {
    if (!sepconv_plan_update (plan->whole, spec->filter, fault))
      return false;
    used = sepconv_plan_method (plan->whole);
  }
  if (used != NULL || spec->fill != REGIONS_FILTER)
    plan->used = used;
  adopt_spec (plan, spec);
  return true;
}

/* Whether an image has the plan's planes, and no more rows. */
static bool
fits_plan (const RegionsPlan *plan, const Image *image)
{
  const Image *layout = &plan->layout;

  if (image->n_planes != layout->n_planes
      || image->n_memories != layout->n_memories)
    return false;
  for (int m = 0; m < layout->n_memories; m++)
    if (image->memory[m].height < 0
        || image->memory[m].height > layout->memory[m].height
        || image->memory[m].row_bytes > layout->memory[m].row_bytes)
      return false;
  return memcmp (image->plane, layout->plane,
             sizeof image->plane[0] * (size_t) layout->n_planes)
      == 0;
}

static bool
validate_regions (const Region *regions, int n, int rows_apart, Fault *fault)
{
  if (rows_apart != 1 && rows_apart != 2)
    return fault_set (fault, FAULT_SETTINGS,
        "Rows are 1 or 2 pixels apart, not %d.", rows_apart);
  if (n < 0 || (n > 0 && regions == NULL))
    return fault_set (fault, FAULT_SETTINGS, "There are %d regions.", n);
  for (int i = 0; i < n; i++) {
    const Region *r = &regions[i];

    if (r->right <= r->left || r->bottom <= r->top
        || r->left < -REGIONS_MAX_EDGE || r->top < -REGIONS_MAX_EDGE
        || r->right > REGIONS_MAX_EDGE || r->bottom > REGIONS_MAX_EDGE)
      return fault_set (fault, FAULT_SETTINGS,
          "Region %d, from %d,%d to %d,%d, is empty or beyond %d pixels.", i,
          r->left, r->top, r->right, r->bottom, REGIONS_MAX_EDGE);
  }
  return true;
}

static bool
validate_run (const RegionsPlan *plan, const Region *regions, int n,
    const RegionsRun *run, Fault *fault)
{
  if (!fits_plan (plan, run->src) || !image_same_layout (run->src, run->dst))
    return fault_set (fault, FAULT_SETTINGS,
        "The images do not have the layout that the regions were made for.");
  if (!validate_regions (regions, n, run->rows_apart, fault))
    return false;
  if (plan->backend == BACKEND_CPU)
    return true;
  return image_suits_gpu (run->src, fault) && image_suits_gpu (run->dst, fault);
}

static bool
reserve_places (RegionsPlan *plan, int n, Fault *fault)
{
  RegionsPlace *place, *spare;
  Region *placed;

  if (n <= plan->capacity)
    return true;
  place = malloc (sizeof *place * (size_t) n);
  spare = malloc (sizeof *spare * (size_t) n);
  placed = malloc (sizeof *placed * (size_t) n);
  if (place == NULL || spare == NULL || placed == NULL) {
    free (place);
    free (spare);
    free (placed);
    return fault_set (
        fault, FAULT_NO_SPACE, "Out of memory for %d regions.", n);
  }
  free (plan->place);
  free (plan->spare);
  free (plan->placed);
  plan->place = place;
  plan->spare = spare;
  plan->placed = placed;
  plan->capacity = n;
  plan->placed_revision = 0;
  return true;
}

/* Whether the places were made from these regions. A frame needs its places up to three times, and
 * zones are the same in every frame. */
static bool
are_placed (const RegionsPlan *plan, const Region *regions, int n)
{
  return plan->placed_revision == plan->revision && plan->n_placed == n
      && (n == 0
          || memcmp (plan->placed, regions, sizeof *regions * (size_t) n) == 0);
}

/* Grows the valid regions into the places of the run. */
static bool
place_regions (
    RegionsPlan *plan, const Region *regions, RegionsRun *run, Fault *fault)
{
  const int n = run->n;

  if (!reserve_places (plan, n, fault))
    return false;
  if (!are_placed (plan, regions, n)) {
    regions_place (&plan->spec, regions, n, plan->place, plan->spare);
    if (n > 0)
      memcpy (plan->placed, regions, sizeof *regions * (size_t) n);
    plan->n_placed = n;
    plan->placed_revision = plan->revision;
    plan->placements++;
    plan->boxed = false;
  }
  run->place = plan->place;
  return true;
}

static bool
reserve_boxes (RegionsPlan *plan, int n, Fault *fault)
{
  ImageBox *boxes;

  if (2 * n <= plan->box_capacity)
    return true;
  boxes = malloc (sizeof *boxes * 4 * (size_t) n);
  if (boxes == NULL)
    return fault_set (
        fault, FAULT_NO_SPACE, "Out of memory for the boxes of regions.");
  free (plan->boxes);
  plan->boxes = boxes;
  plan->box_capacity = 4 * n;
  plan->boxed = false;
  return true;
}

/* Fills in the boxes of a run, for an image with the rows of `layout`. */
static bool
find_boxes (
    RegionsPlan *plan, const Image *layout, RegionsRun *run, Fault *fault)
{
  const bool whole =
      run->rows_apart == 1 && image_same_layout (layout, &plan->layout);
  const int n = run->n * layout->n_memories;

  run->n_boxes = n;
  if (n == 0)
    return true;
  if (!reserve_boxes (plan, n, fault))
    return false;
  run->read = plan->boxes;
  run->written = plan->boxes + n;
  if (whole && plan->boxed)
    return true;
  for (int i = 0; i < run->n; i++)
    regions_find_boxes (plan, &run->place[i], layout, run->rows_apart,
        &plan->boxes[i * layout->n_memories],
        &plan->boxes[n + i * layout->n_memories]);
  plan->boxed = whole;
  return true;
}

bool
regions_plan_run (RegionsPlan *plan, const Region *regions, int n,
    const Image *src, const Image *dst, int rows_apart, GpuStream stream,
    GpuOrder order, Fault *fault)
{
  TRACE_BLOCK (TRACE_REGIONS, 0);
  RegionsRun run = { .n = n,
    .src = src,
    .dst = dst,
    .rows_apart = rows_apart,
    .stream = stream,
    .order = order };

  return validate_run (plan, regions, n, &run, fault)
      && place_regions (plan, regions, &run, fault)
      && (plan->backend != BACKEND_CPU || find_boxes (plan, src, &run, fault))
      && plan->ops->run (plan, &run, fault);
}

/* Turns the rows of a field into rows of the whole picture, of both fields. */
static void
spread_rows (ImageBox *box, int n, const Image *layout)
{
  for (int i = 0; i < n; i++) {
    const int height = layout->memory[box[i].memory].height;

    box[i].top *= 2;
    box[i].bottom = 2 * box[i].bottom < height ? 2 * box[i].bottom : height;
  }
}

bool
regions_plan_find_boxes (RegionsPlan *plan, const Region *regions, int n,
    int rows_apart, RegionsBoxes *boxes, Fault *fault)
{
  RegionsRun run = { .n = n, .rows_apart = rows_apart };
  Image field = plan->layout;

  if (rows_apart == 2)
    image_field (&plan->layout, 0, &field);
  if (!validate_regions (regions, n, rows_apart, fault)
      || !place_regions (plan, regions, &run, fault)
      || !find_boxes (plan, &field, &run, fault))
    return false;
  if (rows_apart == 2)
    spread_rows (plan->boxes, 2 * run.n_boxes, &plan->layout);
  *boxes = (RegionsBoxes){ run.read, run.written, run.n_boxes };
  return true;
}

/* Whether runs in place can be of use for pictures of the plan's size. */
static bool
suits_size (const RegionsPlan *plan, bool in_gpu_memory)
{
  const size_t bytes = image_bytes (&plan->layout);

  return !plan->spec.outside && bytes < REGIONS_MOST_IN_PLACE
      && (!in_gpu_memory || bytes >= REGIONS_LEAST_IN_PLACE);
}

bool
regions_plan_reserve_in_place (
    RegionsPlan *plan, bool in_gpu_memory, GpuOrder order, Fault *fault)
{
  return plan->ops->reserve_in_place == NULL
      || !suits_size (plan, in_gpu_memory)
      || plan->ops->reserve_in_place (plan, in_gpu_memory, order, fault);
}

bool
regions_plan_suits_place (
    const RegionsPlan *plan, const RegionsBoxes *boxes, bool in_gpu_memory)
{
  return suits_size (plan, in_gpu_memory)
      && 2 * image_box_bytes (boxes->read, boxes->n)
      <= image_bytes (&plan->layout);
}

bool
regions_plan_run_in_place (RegionsPlan *plan, const Region *regions, int n,
    const Image *image, int rows_apart, GpuStream stream, GpuOrder order,
    Fault *fault)
{
  TRACE_BLOCK (TRACE_REGIONS, 0);
  RegionsRun run = { .n = n,
    .src = image,
    .dst = image,
    .in_place = true,
    .rows_apart = rows_apart,
    .stream = stream,
    .order = order };

  if (plan->spec.outside)
    return fault_set (fault, FAULT_UNSUPPORTED,
        "Only the inside of regions can be covered in place.");
  if (image_bytes (&plan->layout) >= REGIONS_MOST_IN_PLACE)
    return fault_set (fault, FAULT_UNSUPPORTED,
        "Pictures of 1 GiB and more cannot be covered in place.");
  return validate_run (plan, regions, n, &run, fault)
      && place_regions (plan, regions, &run, fault)
      && find_boxes (plan, image, &run, fault)
      && plan->ops->run (plan, &run, fault);
}

const char *
regions_plan_method_name (const RegionsPlan *plan)
{
  return plan->used != NULL ? plan->used->name : "regions";
}
