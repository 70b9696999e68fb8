/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "overlay.h"

#include "divide.h"
#include "overlay/backend.h"
#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool
validate_grid (
    const OverlaySpec *spec, const Image *layout, int p, Fault *fault)
{
  const int sub_x = spec->subsampling_x[p], sub_y = spec->subsampling_y[p];

  if (spec->frame_width > OVERLAY_MAX_FRAME
      || spec->frame_height > OVERLAY_MAX_FRAME)
    return fault_set (fault, FAULT_SETTINGS,
        "A frame has at most %d pixels a side, not %dx%d.", OVERLAY_MAX_FRAME,
        spec->frame_width, spec->frame_height);
  if (sub_x < 1 || sub_x > OVERLAY_MAX_SUBSAMPLING || sub_y < 1
      || sub_y > OVERLAY_MAX_SUBSAMPLING)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d has a pixel for %dx%d of the frame; 1 to %d are possible.", p,
        sub_x, sub_y, OVERLAY_MAX_SUBSAMPLING);
  if (layout->plane[p].width != divide_up (spec->frame_width, sub_x)
      || image_plane_height (layout, p)
          != divide_up (spec->frame_height, sub_y))
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d is %dx%d, which a frame of %dx%d does not have.", p,
        layout->plane[p].width, image_plane_height (layout, p),
        spec->frame_width, spec->frame_height);
  return true;
}

/* NaN fails every comparison. */
static bool
is_between (double value, double low, double high)
{
  return value >= low && value <= high;
}

static bool
validate_color (const OverlaySpec *spec, const Image *layout,
    const OverlayColor *color, Fault *fault)
{
  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++)
      if (spec->channels[p] >> c & 1
          && !is_between (
              color->codes[p][c], 0.0, image_full_code (&layout->plane[p])))
        return fault_set (fault, FAULT_SETTINGS,
            "Code %g is not one of plane %d, channel %d.", color->codes[p][c],
            p, c);
  return true;
}

static bool
validate_components (const OverlaySpec *spec, const Image *layout, Fault *fault)
{
  if (spec->n_components < 1 || spec->n_components > OVERLAY_MAX_COMPONENTS)
    return fault_set (fault, FAULT_SETTINGS,
        "1 to %d components can be drawn, not %d.", OVERLAY_MAX_COMPONENTS,
        spec->n_components);
  for (int k = 0; k < spec->n_components; k++) {
    const OverlayComponent *component = &spec->component[k];

    if (component->plane < 0 || component->plane >= layout->n_planes
        || component->channel < 0
        || component->channel >= layout->plane[component->plane].channels)
      return fault_set (fault, FAULT_SETTINGS,
          "The image has no channel %d in a plane %d.", component->channel,
          component->plane);
    if (isnan (component->dark) || isnan (component->bright))
      return fault_set (fault, FAULT_SETTINGS,
          "What is dark or bright in component %d is not a number.", k);
    if (!validate_color (spec, layout, &component->color, fault))
      return false;
  }
  return true;
}

static bool
validate_geometry (const OverlayGeometry *geometry, Fault *fault)
{
  const int thickness[] = { geometry->line, geometry->padding,
    geometry->outline, geometry->mark };

  if (geometry->width < 1 || geometry->width > OVERLAY_MAX_SIZE
      || geometry->height < 1 || geometry->height > OVERLAY_MAX_SIZE)
    return fault_set (fault, FAULT_SETTINGS,
        "A rectangle is 1x1 to %dx%d, not %dx%d.", OVERLAY_MAX_SIZE,
        OVERLAY_MAX_SIZE, geometry->width, geometry->height);
  if (!is_between (geometry->x, -OVERLAY_MAX_FRAME, OVERLAY_MAX_FRAME)
      || !is_between (geometry->y, -OVERLAY_MAX_FRAME, OVERLAY_MAX_FRAME))
    return fault_set (fault, FAULT_SETTINGS, "A rectangle cannot lie at %d,%d.",
        geometry->x, geometry->y);
  for (int i = 0; i < 4; i++)
    if (thickness[i] < 0 || thickness[i] > OVERLAY_MAX_LINE)
      return fault_set (fault, FAULT_SETTINGS,
          "Lines, padding and marks have 0 to %d pixels, not %d.",
          OVERLAY_MAX_LINE, thickness[i]);
  return true;
}

static bool
validate_shares (const OverlaySpec *spec, Fault *fault)
{
  const double shares[] = { spec->background_opacity, spec->bar_opacity,
    spec->line_opacity, spec->grid_opacity, spec->clip_share };

  for (int i = 0; i < 5; i++)
    if (!is_between (shares[i], 0.0, 1.0))
      return fault_set (fault, FAULT_SETTINGS,
          "Opacities and shares are 0 to 1, not %g.", shares[i]);
  return true;
}

bool
overlay_validate (const OverlaySpec *spec, const Image *layout, Fault *fault)
{
  if (!image_validate (layout, fault))
    return false;
  for (int p = 0; p < layout->n_planes; p++) {
    if (!validate_grid (spec, layout, p, fault))
      return false;
    if (spec->channels[p] >> layout->plane[p].channels != 0)
      return fault_set (fault, FAULT_SETTINGS,
          "Plane %d has %d channels; mask 0x%x selects others.", p,
          layout->plane[p].channels, spec->channels[p]);
  }
  if (spec->bins < HISTO_MIN_BINS || spec->bins > HISTO_MAX_BINS)
    return fault_set (fault, FAULT_SETTINGS,
        "A histogram has %d to %d bins, not %d.", HISTO_MIN_BINS,
        HISTO_MAX_BINS, spec->bins);
  return validate_components (spec, layout, fault)
      && validate_geometry (&spec->geometry, fault)
      && validate_shares (spec, fault)
      && validate_color (spec, layout, &spec->background, fault)
      && validate_color (spec, layout, &spec->line, fault);
}

/* The first bin whose centre is above `code`, or with `not_below`, at or above it. Centres
 * increase with the bin. */
static int
first_bin (double code, bool not_below, int bins, int depth)
{
  int first = 0, last = bins;

  while (first < last) {
    const int middle = (first + last) / 2;
    const double center = histo_bin_center (middle, bins, depth);

    if (center > code || (not_below && center == code))
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

static void
place_graphs (OverlayDrawing *drawing, const OverlaySpec *spec)
{
  const OverlayGeometry *geometry = &spec->geometry;
  const bool stacked = spec->arrangement == OVERLAY_STACKED;
  const int inset = geometry->line + geometry->padding;
  const int n = stacked ? spec->n_components : 1;
  const int width = geometry->width - 2 * inset;
  const int height =
      (geometry->height - 2 * inset - (n - 1) * geometry->padding) / n;
  const int bars = height - geometry->line
      - (geometry->mark > 0 ? geometry->mark + geometry->line : 0);

  drawing->x = geometry->x;
  drawing->y = geometry->y;
  drawing->width = geometry->width;
  drawing->height = geometry->height;
  drawing->line = geometry->line;
  drawing->outline = geometry->outline;
  drawing->mark = geometry->mark;
  drawing->inset = inset;
  drawing->n_graphs = n;
  drawing->n_components = spec->n_components;
  drawing->graph_components = stacked ? 1 : spec->n_components;
  drawing->graph_width = width > 0 ? width : 0;
  drawing->graph_height = height > 0 ? height : 0;
  drawing->graph_pitch = drawing->graph_height + geometry->padding;
  drawing->bar_height = bars > 0 ? bars : 0;
}

static void
take_spec (OverlayPlan *plan, const OverlaySpec *spec)
{
  OverlayDrawing *drawing = &plan->drawing;

  memcpy (plan->subsampling_x, spec->subsampling_x, sizeof plan->subsampling_x);
  memcpy (plan->subsampling_y, spec->subsampling_y, sizeof plan->subsampling_y);
  memcpy (plan->channels, spec->channels, sizeof plan->channels);
  drawing->frame_width = spec->frame_width;
  drawing->frame_height = spec->frame_height;
  drawing->log = spec->scale == OVERLAY_LOG;
  drawing->common_maximum = spec->common_maximum;
  drawing->clip_share =
      (uint32_t) lrint (ldexp (spec->clip_share, OVERLAY_SHARE_BITS));
  place_graphs (drawing, spec);
  for (int k = 0; k < spec->n_components; k++) {
    const OverlayComponent *component = &spec->component[k];
    const int depth = plan->layout.plane[component->plane].depth;

    plan->plane[k] = component->plane;
    plan->channel[k] = component->channel;
    drawing->steps[k] = (OverlaySteps){
      .bins = spec->bins,
      .depth = depth,
      .steps = spec->bins < 1 << depth ? spec->bins : 1 << depth,
      .dark_bins = first_bin (component->dark, false, spec->bins, depth),
      .bright_from = first_bin (component->bright, true, spec->bins, depth),
    };
  }
  overlay_fill_palette (drawing->paint, spec, &plan->layout);
}

static const OverlayBackendOps *
backend_ops (Backend backend)
{
#ifdef HAVE_CUDA
  return backend == BACKEND_CUDA ? &overlay_cuda_ops : &overlay_host_ops;
#else
  return backend == BACKEND_CUDA ? NULL : &overlay_host_ops;
#endif
}

OverlayPlan *
overlay_plan_new (const OverlaySpec *spec, const Image *layout, Backend backend,
    Gpu *gpu, Fault *fault)
{
  const OverlayBackendOps *ops = backend_ops (backend);
  OverlayPlan *plan;

  (void) gpu;
  if (!overlay_validate (spec, layout, fault))
    return NULL;
  if (ops == NULL) {
    fault_set (fault, FAULT_UNSUPPORTED,
        "This build has no CUDA to draw histograms with.");
    return NULL;
  }
  plan = calloc (1, sizeof *plan);
  if (plan == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for an overlay.");
    return NULL;
  }
  plan->ops = ops;
  plan->backend = backend;
  plan->layout = *layout;
  plan->bins = spec->bins;
  take_spec (plan, spec);
  if (!ops->prepare (plan, fault)) {
    overlay_plan_free (plan);
    return NULL;
  }
  return plan;
}

void
overlay_plan_free (OverlayPlan *plan)
{
  if (plan == NULL)
    return;
  plan->ops->release (plan);
  free (plan);
}

bool
overlay_plan_update (OverlayPlan *plan, const OverlaySpec *spec, Fault *fault)
{
  if (!overlay_validate (spec, &plan->layout, fault))
    return false;
  if (spec->bins != plan->bins)
    return fault_set (fault, FAULT_SETTINGS,
        "An overlay of %d bins cannot go on with %d.", plan->bins, spec->bins);
  take_spec (plan, spec);
  return true;
}

/* Clips the rectangle's side [from, from + size) to the frame: [first, last), in pixels of
 * a plane. */
static void
clip_side (
    int from, int size, int frame, int subsampling, int *first, int *last)
{
  const int start = overlay_larger (from, 0);
  const int end = overlay_smaller (from + size, frame);

  *first = start / subsampling;
  *last = end > start ? divide_up (end, subsampling) : *first;
}

static OverlayPlane
describe_plane (
    const OverlayPlan *plan, const Image *src, const Image *dst, int p)
{
  const OverlayDrawing *drawing = &plan->drawing;
  const ImagePlane *plane = &src->plane[p];
  const ImageMemory *from = &src->memory[plane->memory];
  const ImageMemory *to = &dst->memory[plane->memory];
  OverlayPlane described = {
    .src = from->data + plane->offset,
    .dst = to->data + plane->offset,
    .src_stride = from->stride,
    .dst_stride = to->stride,
    .memory = plane->memory,
    .subsampling_x = plan->subsampling_x[p],
    .subsampling_y = plan->subsampling_y[p],
    .pixel_stride = plane->pixel_stride,
    .channel_stride = plane->channel_stride,
    .n_channels = plane->channels,
    .channels = plan->channels[p],
    .sample_bytes = image_sample_bytes (plane),
    .shift = plane->shift,
  };

  clip_side (drawing->x, drawing->width, drawing->frame_width,
      described.subsampling_x, &described.first_x, &described.last_x);
  clip_side (drawing->y, drawing->height, drawing->frame_height,
      described.subsampling_y, &described.first_y, &described.last_y);
  return described;
}

bool
overlay_plan_run (OverlayPlan *plan, const HistoResult *counts,
    const Image *src, const Image *dst, GpuStream stream, Fault *fault)
{
  TRACE_BLOCK (TRACE_OVERLAY, 0);
  OverlayRun run = { .src = src, .dst = dst, .stream = stream };

  if (!image_same_layout (src, &plan->layout)
      || !image_same_layout (dst, &plan->layout))
    return fault_set (fault, FAULT_SETTINGS,
        "The images do not have the layout that the overlay was made for.");
  if (plan->backend == BACKEND_CUDA
      && (!image_suits_gpu (src, fault) || !image_suits_gpu (dst, fault)))
    return false;
  if (histo_result_bins (counts) != plan->bins)
    return fault_set (fault, FAULT_SETTINGS,
        "The histogram has %d bins, and the overlay was made for %d.",
        histo_result_bins (counts), plan->bins);
  for (int k = 0; k < plan->drawing.n_components; k++) {
    run.counts[k] =
        histo_result_counts (counts, plan->plane[k], plan->channel[k]);
    if (run.counts[k] == NULL)
      return fault_set (fault, FAULT_SETTINGS,
          "The histogram does not have channel %d of plane %d.",
          plan->channel[k], plan->plane[k]);
  }
  for (int p = 0; p < src->n_planes; p++)
    run.plane[p] = describe_plane (plan, src, dst, p);
  return plan->ops->run (plan, &run, fault);
}
