/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "light/plan.h"

#include "divide.h"
#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORK_ALIGNMENT 64

/* The channel that has a role in a spec. */
typedef struct
{
  int n; /* number of channels with the role */
  int plane, channel;
} Place;

static void
find_places (
    const LightSpec *spec, const Image *layout, Place place[LIGHT_N_ROLES])
{
  memset (place, 0, LIGHT_N_ROLES * sizeof place[0]);
  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++) {
      Place *at = &place[spec->role[p][c]];

      at->n++;
      at->plane = p;
      at->channel = c;
    }
}

/* The channel that has a sample for each pixel: red, or Y of YUV or grey. */
static Place
first_place (const Place place[LIGHT_N_ROLES])
{
  return place[LIGHT_RED].n > 0 ? place[LIGHT_RED] : place[LIGHT_Y];
}

static bool
validate_roles (const LightSpec *spec, const Image *layout, Fault *fault)
{
  Place place[LIGHT_N_ROLES];
  int rgb, yuv;

  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++)
      if ((int) spec->role[p][c] < 0 || spec->role[p][c] >= LIGHT_N_ROLES)
        return fault_set (fault, FAULT_SETTINGS,
            "Channel %d of plane %d has no role %d.", c, p,
            (int) spec->role[p][c]);
  find_places (spec, layout, place);
  for (int role = LIGHT_RED; role < LIGHT_N_ROLES; role++)
    if (place[role].n > 1)
      return fault_set (
          fault, FAULT_SETTINGS, "Two channels have the role %d.", role);
  rgb = place[LIGHT_RED].n + place[LIGHT_GREEN].n + place[LIGHT_BLUE].n;
  yuv = place[LIGHT_Y].n + place[LIGHT_CB].n + place[LIGHT_CR].n;
  if (!(rgb == 3 && yuv == 0)
      && !(rgb == 0 && place[LIGHT_Y].n == 1 && (yuv == 1 || yuv == 3)))
    return fault_set (fault, FAULT_FORMAT,
        "The channels are neither red, green and blue, nor Y, Cb and Cr, nor "
        "grey.");
  if ((spec->premultiply || spec->write_alpha) && place[LIGHT_ALPHA].n == 0)
    return fault_set (fault, FAULT_FORMAT,
        "Colour cannot be weighted by alpha in a format without alpha.");
  return true;
}

static bool
is_subsampling (int pixels)
{
  return pixels == 1 || pixels == 2 || pixels == 4;
}

/* Whether the plane of a role has the size of `first`, red or Y, divided by the subsampling. */
static bool
validate_grid (const Image *layout, Place first, Place place, int sub_x,
    int sub_y, Fault *fault)
{
  const int width = layout->plane[first.plane].width;
  const int height = image_plane_height (layout, first.plane);

  if (is_subsampling (sub_x) && is_subsampling (sub_y)
      && layout->plane[place.plane].width == divide_up (width, sub_x)
      && image_plane_height (layout, place.plane) == divide_up (height, sub_y))
    return true;
  return fault_set (fault, FAULT_FORMAT,
      "Plane %d has %dx%d samples, which do not fit %dx%d subsampled by %d and "
      "%d.",
      place.plane, layout->plane[place.plane].width,
      image_plane_height (layout, place.plane), width, height, sub_x, sub_y);
}

static bool
validate_depth (const Image *layout, Place first, Place place, Fault *fault)
{
  const int depth = layout->plane[place.plane].depth;

  if (depth < 8 || depth != layout->plane[first.plane].depth)
    return fault_set (fault, FAULT_FORMAT,
        "Colours have 8 to 16 bits, all the same, not %d.", depth);
  return true;
}

static bool
validate_channels (const LightSpec *spec, const Image *layout, Fault *fault)
{
  Place place[LIGHT_N_ROLES], first;

  find_places (spec, layout, place);
  first = first_place (place);
  for (int role = LIGHT_RED; role < LIGHT_N_ROLES; role++) {
    const bool chroma = role == LIGHT_CB || role == LIGHT_CR;
    /* The subsampling of Cb's plane counts for both chroma planes. */
    const int p = place[LIGHT_CB].plane;

    if (place[role].n == 0)
      continue;
    if (!validate_grid (layout, first, place[role],
            chroma ? spec->subsampling_x[p] : 1,
            chroma ? spec->subsampling_y[p] : 1, fault)
        || (role != LIGHT_ALPHA
            && !validate_depth (layout, first, place[role], fault)))
      return false;
  }
  return true;
}

static bool
validate_levels (const LightSpec *spec, const Image *layout, Fault *fault)
{
  Place place[LIGHT_N_ROLES];
  int depth, full;

  find_places (spec, layout, place);
  depth = layout->plane[first_place (place).plane].depth;
  full = (1 << depth) - 1;

  if (spec->black < 0 || 8 * spec->black > full || 5 * spec->range < 4 * full
      || spec->black + spec->range > full)
    return fault_set (fault, FAULT_SETTINGS,
        "Levels from %d on over %d codes are no range of %d bits.", spec->black,
        spec->range, depth);
  if (place[LIGHT_CB].n > 0
      && (spec->neutral != 1 << (depth - 1) || 5 * spec->chroma_range < 4 * full
          || spec->chroma_range > full))
    return fault_set (fault, FAULT_SETTINGS,
        "Chroma around %d over %d codes is no range of %d bits.", spec->neutral,
        spec->chroma_range, depth);
  return true;
}

static bool
validate_colors (const LightSpec *spec, const Image *layout, Fault *fault)
{
  Place place[LIGHT_N_ROLES];

  find_places (spec, layout, place);
  if (place[LIGHT_Y].n > 0
      && !(spec->kr >= 0.0 && spec->kb >= 0.0 && spec->kr + spec->kb <= 0.75))
    return fault_set (fault, FAULT_SETTINGS,
        "Kr %g and Kb %g are no weights of red and blue in luma.", spec->kr,
        spec->kb);
  for (int i = 0; i < 4; i++)
    if (!(spec->border_color[i] >= 0.0 && spec->border_color[i] <= 1.0))
      return fault_set (fault, FAULT_SETTINGS,
          "A border colour has parts of 0 to 1, not %g.",
          spec->border_color[i]);
  return true;
}

static bool
validate_decoding (const LightSpec *spec, Fault *fault)
{
  int n, most, equal = 1;

  if (spec->decode == NULL)
    return true;
  if (spec->decode_bits < LIGHT_MIN_DECODE_BITS
      || spec->decode_bits > LIGHT_MAX_DECODE_BITS)
    return fault_set (fault, FAULT_SETTINGS,
        "A table of light has 2^%d to 2^%d entries, not 2^%d.",
        LIGHT_MIN_DECODE_BITS, LIGHT_MAX_DECODE_BITS, spec->decode_bits);
  n = 1 << spec->decode_bits;
  most = spec->decode[0];
  for (int i = 1; i < n; i++) {
    equal = spec->decode[i] <= most ? equal + 1 : 1;
    if (most < spec->decode[i])
      most = spec->decode[i];
    if (equal > n / 64)
      return fault_set (fault, FAULT_FORMAT,
          "The steps of this transfer function are too small for linear light "
          "in 16 bits: it cannot tell more than 1 in 64 of its codes apart.");
  }
  return true;
}

/* The layout of the work picture, for a layout and a spec whose roles and channels are valid. */
static Image
make_work_layout (const LightSpec *spec, const Image *layout)
{
  Place place[LIGHT_N_ROLES], first;
  Image work = { 0 };
  int n;

  find_places (spec, layout, place);
  first = first_place (place);
  n = place[LIGHT_RED].n + place[LIGHT_CB].n > 0 ? 3 : 1;
  n += spec->premultiply || spec->write_alpha;
  work.n_memories = work.n_planes = n;
  for (int p = 0; p < n; p++) {
    work.plane[p] = (ImagePlane){ .memory = p,
      .width = layout->plane[first.plane].width,
      .channels = 1,
      .pixel_stride = 2,
      .channel_stride = 2,
      .depth = 16 };
    work.memory[p].row_bytes = image_plane_row_bytes (&work.plane[p]);
    work.memory[p].height = image_plane_height (layout, first.plane);
  }
  return work;
}

/* The codes of the border colour in the work picture. */
static void
make_border (const LightSpec *spec, int n_colors, int border[LIGHT_MAX_WORK])
{
  const double *color = spec->border_color;
  const double grey = spec->kr * color[0]
      + (1.0 - spec->kr - spec->kb) * color[1] + spec->kb * color[2];
  const int alpha = (int) floor (color[3] * (LIGHT_CODES - 1) + 0.5);

  for (int i = 0; i < n_colors; i++) {
    border[i] = light_linear_code (spec, n_colors == 1 ? grey : color[i]);
    if (spec->premultiply)
      border[i] = (int) light_multiply ((uint32_t) border[i], (uint32_t) alpha);
  }
  border[n_colors] = alpha;
}

static void
make_filter (const LightSpec *spec, const Image *work, SepconvSpec *filter)
{
  int border[LIGHT_MAX_WORK];

  *filter = *spec->filter;
  make_border (spec, work->n_planes >= 3 ? 3 : 1, border);
  for (int p = 0; p < work->n_planes; p++) {
    filter->plane[p] = spec->filter->plane[0];
    filter->plane[p].channels = 1;
    filter->plane[p].unbiased = 0;
    filter->plane[p].zero[0] = 0.0;
    filter->plane[p].border_value[0] = border[p];
  }
}

static bool
validate_filter (const LightSpec *spec, const Image *layout, Fault *fault)
{
  const SepconvCombine combine = spec->filter->combine;
  const Image work = make_work_layout (spec, layout);
  Place place[LIGHT_N_ROLES];
  SepconvSpec filter;

  find_places (spec, layout, place);
  if (combine == SEPCONV_DIRECTION && place[LIGHT_CB].n > 0)
    return fault_set (fault, FAULT_FORMAT,
        "The direction of a gradient of red, green and blue is no colour that "
        "YUV video can show.");
  if (combine == SEPCONV_DIRECTION && spec->write_alpha)
    return fault_set (fault, FAULT_SETTINGS,
        "The direction of a gradient of alpha cannot be written together with "
        "that of light.");
  if (spec->premultiply
      && (combine == SEPCONV_MAGNITUDE || combine == SEPCONV_DIRECTION))
    return fault_set (fault, FAULT_SETTINGS,
        "A gradient is no colour that could be divided by alpha.");
  make_filter (spec, &work, &filter);
  return sepconv_validate (&filter, &work, fault);
}

bool
light_validate (const LightSpec *spec, const Image *layout, Fault *fault)
{
  return image_validate (layout, fault) && validate_roles (spec, layout, fault)
      && validate_channels (spec, layout, fault)
      && validate_levels (spec, layout, fault)
      && validate_colors (spec, layout, fault)
      && validate_decoding (spec, fault)
      && validate_filter (spec, layout, fault);
}

static LightChannel
describe_channel (const Image *layout, int p, int c)
{
  const ImagePlane *plane = &layout->plane[p];

  return (LightChannel){ .memory = plane->memory,
    .byte_offset = plane->offset + c * plane->channel_stride,
    .pixel_stride = plane->pixel_stride,
    .sample_bytes = image_sample_bytes (plane),
    .shift = plane->shift,
    .full = image_full_code (plane),
    .width = plane->width };
}

/* Lists the plan's channels. Alpha that is not written is copied, also if it weights colour. */
static void
list_channels (LightPlan *plan)
{
  static const int slot[LIGHT_N_ROLES] = { [LIGHT_RED] = 0,
    [LIGHT_GREEN] = 1,
    [LIGHT_BLUE] = 2,
    [LIGHT_Y] = 0,
    [LIGHT_CB] = 1,
    [LIGHT_CR] = 2 };

  for (int p = 0; p < plan->layout.n_planes; p++)
    for (int c = 0; c < plan->layout.plane[p].channels; c++) {
      const LightChannel channel = describe_channel (&plan->layout, p, c);
      const LightRole role = plan->spec.role[p][c];

      if (role == LIGHT_ALPHA)
        plan->alpha = channel;
      else if (role != LIGHT_COPY)
        plan->color[slot[role]] = channel;
      if (role == LIGHT_COPY
          || (role == LIGHT_ALPHA && !plan->spec.write_alpha))
        plan->copy[plan->n_copies++] = channel;
    }
}

/* Makes the table T, and the plan's own spec, which refers to it. */
static bool
copy_decoding (LightPlan *plan, const LightSpec *spec, Fault *fault)
{
  plan->spec = *spec;
  if (spec->decode == NULL)
    return true;
  plan->decode = malloc (sizeof (uint16_t) << spec->decode_bits);
  if (plan->decode == NULL)
    return fault_set (
        fault, FAULT_NO_SPACE, "Out of memory for tables of light.");
  for (int i = 0, most = 0; i < 1 << spec->decode_bits; i++) {
    if (most < spec->decode[i])
      most = spec->decode[i];
    plan->decode[i] = (uint16_t) most;
  }
  plan->spec.decode = plan->decode;
  return true;
}

static bool
make_conversion (LightPlan *plan, Fault *fault)
{
  const LightSpec *spec = &plan->spec;
  Place place[LIGHT_N_ROLES];
  int chroma, depth, alpha_depth;

  find_places (spec, &plan->layout, place);
  chroma = place[LIGHT_CB].plane;
  depth = plan->layout.plane[first_place (place).plane].depth;
  alpha_depth = plan->layout.plane[place[LIGHT_ALPHA].plane].depth;
  plan->numbers = light_make_numbers (spec, depth, alpha_depth,
      place[LIGHT_CB].n > 0 ? spec->subsampling_x[chroma] : 1,
      place[LIGHT_CB].n > 0 ? spec->subsampling_y[chroma] : 1);
  list_channels (plan);
  return light_tables_make (
      &plan->tables, spec, &plan->numbers, depth, alpha_depth, fault);
}

static bool
make_filter_plan (LightPlan *plan, Fault *fault)
{
  const Image work = make_work_layout (&plan->spec, &plan->layout);
  SepconvSpec filter;

  make_filter (&plan->spec, &work, &filter);
  plan->filter = sepconv_plan_new (
      &filter, &work, plan->backend, plan->method, plan->gpu, fault);
  return plan->filter != NULL;
}

static bool
takes_one_step (const LightPlan *plan)
{
  return plan->ops->takes_one_step != NULL && plan->ops->takes_one_step (plan);
}

/* Allocates the work picture and its result, unless they exist or are not needed. */
static bool
make_work (LightPlan *plan, Fault *fault)
{
  const Image work = make_work_layout (&plan->spec, &plan->layout);
  size_t bytes;

  if (plan->block[1] != NULL || takes_one_step (plan))
    return true;
  bytes = image_pack (&work, WORK_ALIGNMENT, NULL, &plan->work);
  if (!plan->ops->make_work (plan, bytes, fault)) {
    plan->ops->drop_work (plan);
    return false;
  }
  image_pack (&work, WORK_ALIGNMENT, plan->block[0], &plan->work);
  image_pack (&work, WORK_ALIGNMENT, plan->block[1], &plan->result);
  return true;
}

static const LightOps *
backend_ops (Backend backend)
{
  if (backend == BACKEND_CPU)
    return &light_host_ops;
#ifdef HAVE_CUDA
  return &light_device_ops;
#else
  return NULL;
#endif
}

LightPlan *
light_plan_new (const LightSpec *spec, const Image *layout, Backend backend,
    const SepconvMethod *method, Gpu *gpu, Fault *fault)
{
  const LightOps *ops = backend_ops (backend);
  LightPlan *plan;

  if (!light_validate (spec, layout, fault))
    return NULL;
  if (ops == NULL) {
    fault_set (fault, FAULT_UNSUPPORTED,
        "Linear light on a GPU is not in this build.");
    return NULL;
  }
  plan = calloc (1, sizeof *plan);
  if (plan == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for linear light.");
    return NULL;
  }
  plan->ops = ops;
  plan->backend = backend;
  plan->gpu = gpu;
  plan->method = method;
  plan->layout = *layout;
  if (!copy_decoding (plan, spec, fault) || !make_conversion (plan, fault)
      || !plan->ops->prepare (plan, fault) || !make_filter_plan (plan, fault)
      || !make_work (plan, fault)) {
    light_plan_free (plan);
    return NULL;
  }
  plan->spec.filter = NULL;
  return plan;
}

void
light_plan_free (LightPlan *plan)
{
  if (plan == NULL)
    return;
  sepconv_plan_free (plan->filter);
  plan->ops->drop_work (plan);
  plan->ops->release (plan);
  light_tables_clear (&plan->tables);
  free (plan->decode);
  free (plan);
}

static bool
same_decoding (const LightPlan *plan, const LightSpec *spec)
{
  if (plan->decode == NULL || spec->decode == NULL)
    return plan->decode == NULL && spec->decode == NULL;
  if (plan->spec.decode_bits != spec->decode_bits)
    return false;
  for (int i = 0, most = 0; i < 1 << spec->decode_bits; i++) {
    if (most < spec->decode[i])
      most = spec->decode[i];
    if (plan->decode[i] != most)
      return false;
  }
  return true;
}

static bool
same_conversion (const LightPlan *plan, const LightSpec *spec)
{
  const LightSpec *mine = &plan->spec;

  return memcmp (mine->role, spec->role, sizeof spec->role) == 0
      && memcmp (mine->subsampling_x, spec->subsampling_x,
             sizeof spec->subsampling_x)
      == 0
      && memcmp (mine->subsampling_y, spec->subsampling_y,
             sizeof spec->subsampling_y)
      == 0
      && mine->black == spec->black && mine->range == spec->range
      && mine->neutral == spec->neutral
      && mine->chroma_range == spec->chroma_range && mine->kr == spec->kr
      && mine->kb == spec->kb && mine->premultiply == spec->premultiply
      && mine->write_alpha == spec->write_alpha
      && mine->neutral_chroma == spec->neutral_chroma
      && same_decoding (plan, spec);
}

bool
light_plan_update (LightPlan *plan, const LightSpec *spec,
    const SepconvMethod *method, Fault *fault)
{
  const SepconvMethod *chosen;
  LightSpec adopted = *spec;
  SepconvSpec filter;
  Image work;

  if (!light_validate (spec, &plan->layout, fault))
    return false;
  if (!same_conversion (plan, spec))
    return fault_set (
        fault, FAULT_UNSUPPORTED, "A plan keeps its conversion of light.");
  adopted.decode = plan->decode;
  work = make_work_layout (&adopted, &plan->layout);
  make_filter (&adopted, &work, &filter);
  chosen = sepconv_choose_method (&filter, &work, plan->backend, method,
      plan->gpu, GPU_AFTER_KERNELS, fault);
  if (chosen == NULL)
    return false;
  if (chosen != sepconv_plan_method (plan->filter))
    return fault_set (fault, FAULT_UNSUPPORTED,
        "Another method can do this faster: a plan keeps its own.");
  if (!sepconv_plan_update (plan->filter, &filter, fault))
    return false;
  plan->method = method;
  return true;
}

/* Whether an image has the plan's planes, and heights that fit together. */
static bool
fits_plan (const LightPlan *plan, const Image *image)
{
  const Image *layout = &plan->layout;
  int height;

  if (image->n_planes != layout->n_planes
      || image->n_memories != layout->n_memories
      || memcmp (image->plane, layout->plane,
             sizeof image->plane[0] * (size_t) layout->n_planes)
          != 0)
    return false;
  for (int m = 0; m < layout->n_memories; m++)
    if (image->memory[m].height < 0
        || image->memory[m].height > layout->memory[m].height)
      return false;
  height = light_channel_height (&plan->color[0], image);
  for (int i = 1; i < plan->numbers.n_colors; i++) {
    const int rows = light_channel_height (&plan->color[i], image);

    if (plan->numbers.yuv ? rows > divide_up (height, plan->numbers.sub_y)
                          : rows != height)
      return false;
  }
  return !plan->numbers.has_alpha
      || light_channel_height (&plan->alpha, image) == height;
}

bool
light_plan_run (LightPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  TRACE_BLOCK (TRACE_LIGHT, 0);
  if (!fits_plan (plan, src) || !image_same_layout (src, dst))
    return fault_set (fault, FAULT_SETTINGS,
        "The images do not have the layout that the plan was made for.");
  if (plan->backend == BACKEND_CUDA
      && (!image_suits_gpu (src, fault) || !image_suits_gpu (dst, fault)))
    return false;
  if (takes_one_step (plan))
    return plan->ops->run (plan, src, dst, stream, order, fault);
  /* An update may have made the work picture necessary. */
  if (!make_work (plan, fault))
    return false;
  for (int p = 0; p < plan->work.n_planes; p++)
    plan->work.memory[p].height = plan->result.memory[p].height =
        light_channel_height (&plan->color[0], src);
  return plan->ops->decode (plan, src, stream, fault)
      && sepconv_plan_run (plan->filter, &plan->work, &plan->result, stream,
          GPU_AFTER_KERNELS, fault)
      && plan->ops->encode (plan, src, dst, stream, fault);
}

const char *
light_plan_method_name (const LightPlan *plan)
{
  return takes_one_step (plan) ? "tensor"
                               : sepconv_plan_method (plan->filter)->name;
}
