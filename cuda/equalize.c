/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "equalize.h"

#include "equalize/plan.h"
#include "isa.h"
#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const EqualizeOps equalize_host_ops;
#ifdef HAVE_CUDA
extern const EqualizeOps equalize_device_ops;
#endif

/* Finds the only channel with a role; false: there is none, or more than one. */
static bool
find_role (const EqualizeSpec *spec, const Image *layout, EqualizeRole role,
    int *plane, int *channel)
{
  int n = 0;

  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++)
      if (spec->role[p][c] == role) {
        *plane = p;
        *channel = c;
        n++;
      }
  return n == 1;
}

static bool
validate_role (const EqualizeSpec *spec, const Image *layout, int p, int c,
    bool *luma, bool *color, Fault *fault)
{
  const EqualizeRole role = spec->role[p][c];

  if ((unsigned) role > EQUALIZE_BLUE)
    return fault_set (fault, FAULT_SETTINGS,
        "Channel %d of plane %d has the unknown role %d.", c, p, (int) role);
  if (role == EQUALIZE_COPY)
    return true;
  if (p >= layout->n_planes || c >= layout->plane[p].channels)
    return fault_set (fault, FAULT_SETTINGS,
        "Channel %d of plane %d has a role, but is not in the image.", c, p);
  if (role == EQUALIZE_LUMA)
    *luma = true;
  else
    *color = true;
  return true;
}

static bool
validate_colors (const EqualizeSpec *spec, const Image *layout, Fault *fault)
{
  const ImagePlane *first = NULL;
  int height = 0;

  for (int role = EQUALIZE_RED; role <= EQUALIZE_BLUE; role++) {
    const ImagePlane *plane;
    int p, c;

    if (!find_role (spec, layout, (EqualizeRole) role, &p, &c))
      return fault_set (fault, FAULT_SETTINGS,
          "Of red, green and blue there must be one channel each.");
    plane = &layout->plane[p];
    if (first == NULL) {
      first = plane;
      height = image_plane_height (layout, p);
    }
    if (plane->width != first->width || plane->depth != first->depth
        || image_plane_height (layout, p) != height)
      return fault_set (fault, FAULT_SETTINGS,
          "Red, green and blue must have one size and depth.");
  }
  if (!(spec->kr >= 0.0 && spec->kb >= 0.0 && spec->kr + spec->kb <= 1.0))
    return fault_set (fault, FAULT_SETTINGS,
        "The weights of red and blue, %g and %g, must be 0 to 1 together.",
        spec->kr, spec->kb);
  return true;
}

static bool
validate_roles (const EqualizeSpec *spec, const Image *layout, Fault *fault)
{
  bool luma = false, color = false;
  int p, c;

  for (p = 0; p < IMAGE_MAX_PLANES; p++)
    for (c = 0; c < IMAGE_MAX_CHANNELS; c++)
      if (!validate_role (spec, layout, p, c, &luma, &color, fault))
        return false;
  if (luma == color)
    return fault_set (fault, FAULT_SETTINGS,
        "Either luma or red, green and blue are equalised, not %s.",
        luma ? "both" : "nothing");
  if (color)
    return validate_colors (spec, layout, fault);
  if (!find_role (spec, layout, EQUALIZE_LUMA, &p, &c))
    return fault_set (
        fault, FAULT_SETTINGS, "More than one channel is said to be luma.");
  return true;
}

static bool
validate_tiles (const EqualizeSpec *spec, Fault *fault)
{
  if (spec->tiles_x < 1 || spec->tiles_x > EQUALIZE_MAX_TILES
      || spec->tiles_y < 1 || spec->tiles_y > EQUALIZE_MAX_TILES)
    return fault_set (fault, FAULT_SETTINGS,
        "There can be 1 to %d tiles an axis, not %d x %d.", EQUALIZE_MAX_TILES,
        spec->tiles_x, spec->tiles_y);
  if (!(spec->clip_limit >= 0.0 && spec->clip_limit <= EQUALIZE_MAX_CLIP_LIMIT))
    return fault_set (fault, FAULT_SETTINGS, "A clip limit is 0 to %g, not %g.",
        EQUALIZE_MAX_CLIP_LIMIT, spec->clip_limit);
  return true;
}

/* The plane that has the size and depth of luma. */
static int
luma_plane (const EqualizeSpec *spec, const Image *layout)
{
  int p = 0, c;

  if (!find_role (spec, layout, EQUALIZE_LUMA, &p, &c))
    find_role (spec, layout, EQUALIZE_RED, &p, &c);
  return p;
}

static EqualizeAxis
make_axis (int size, int tiles, bool extend)
{
  EqualizeAxis axis = { .size = size, .tiles = tiles };

  axis.tile = size / tiles + (extend ? 1 : 0);
  axis.reciprocal = (1ull << (EQUALIZE_WEIGHT_BITS + EQUALIZE_BITS))
      / (2 * (unsigned) axis.tile);
  return axis;
}

static void
make_tiles (
    const EqualizeSpec *spec, const Image *layout, EqualizeNumbers *numbers)
{
  const bool adaptive = spec->kind == EQUALIZE_CLAHE;
  const int p = luma_plane (spec, layout);
  const int tiles_x = adaptive ? spec->tiles_x : 1;
  const int tiles_y = adaptive ? spec->tiles_y : 1;
  const int width = layout->plane[p].width;
  const int height = image_plane_height (layout, p);
  /* Both axes are extended, even if only one size is not a multiple of its tiles. */
  const bool extend = width % tiles_x != 0 || height % tiles_y != 0;

  numbers->adaptive = adaptive;
  numbers->x = make_axis (width, tiles_x, extend);
  numbers->y = make_axis (height, tiles_y, extend);
}

static double
extended_samples (const EqualizeNumbers *numbers)
{
  return (double) numbers->x.tile * numbers->x.tiles * numbers->y.tile
      * numbers->y.tiles;
}

bool
equalize_validate (const EqualizeSpec *spec, const Image *layout, Fault *fault)
{
  EqualizeNumbers numbers;
  int full;

  if (!image_validate (layout, fault) || !validate_roles (spec, layout, fault))
    return false;
  full = image_full_code (&layout->plane[luma_plane (spec, layout)]);
  if (spec->black < 0 || spec->black >= spec->white || spec->white > full)
    return fault_set (fault, FAULT_SETTINGS,
        "Codes from %d to %d are no range within 0 to %d.", spec->black,
        spec->white, full);
  if (!(spec->strength >= 0.0 && spec->strength <= 1.0))
    return fault_set (
        fault, FAULT_SETTINGS, "A strength is 0 to 1, not %g.", spec->strength);
  if (!(spec->smoothing >= 0.0 && spec->smoothing < 1.0))
    return fault_set (fault, FAULT_SETTINGS,
        "Smoothing is from 0 to less than 1, not %g.", spec->smoothing);
  if (spec->kind != EQUALIZE_GLOBAL && spec->kind != EQUALIZE_CLAHE)
    return fault_set (fault, FAULT_SETTINGS,
        "There is no equalisation of kind %d.", (int) spec->kind);
  if (spec->kind == EQUALIZE_CLAHE && !validate_tiles (spec, fault))
    return false;
  make_tiles (spec, layout, &numbers);
  if (extended_samples (&numbers) > (double) EQUALIZE_MAX_SAMPLES)
    return fault_set (fault, FAULT_SETTINGS,
        "At most %llu samples can be equalised, not %.0f.",
        (unsigned long long) EQUALIZE_MAX_SAMPLES, extended_samples (&numbers));
  return true;
}

static uint32_t
to_fixed (double value)
{
  return (uint32_t) lrint (value * EQUALIZE_ONE);
}

/* Sets the numbers that equalize_plan_update() may change. */
static void
make_settings (const EqualizeSpec *spec, EqualizeNumbers *numbers)
{
  const double clip =
      spec->clip_limit * numbers->tile_samples / numbers->entries;

  numbers->strength = to_fixed (spec->strength);
  numbers->follow = to_fixed (1.0 - spec->smoothing);
  if (numbers->follow < 1)
    numbers->follow = 1;
  numbers->clip = UINT32_MAX;
  if (numbers->adaptive && spec->clip_limit > 0.0 && clip < UINT32_MAX)
    numbers->clip = clip < 1.0 ? 1 : (uint32_t) clip;
}

static EqualizeNumbers
make_numbers (const EqualizeSpec *spec, const Image *layout)
{
  const int p = luma_plane (spec, layout);
  int red_plane, c;
  EqualizeNumbers numbers = { .full = image_full_code (&layout->plane[p]) };

  make_tiles (spec, layout, &numbers);
  numbers.black = spec->black;
  numbers.white = spec->white;
  numbers.entries = spec->white - spec->black + 1;
  numbers.tile_samples = (uint32_t) numbers.x.tile * (uint32_t) numbers.y.tile;
  if (find_role (spec, layout, EQUALIZE_RED, &red_plane, &c)) {
    numbers.red = to_fixed (spec->kr);
    numbers.blue = to_fixed (spec->kb);
    /* If both were rounded up, their sum may exceed 1 by one unit. */
    if (numbers.red + numbers.blue > EQUALIZE_ONE)
      numbers.blue = EQUALIZE_ONE - numbers.red;
    numbers.green = EQUALIZE_ONE - numbers.red - numbers.blue;
  }
  make_settings (spec, &numbers);
  return numbers;
}

static bool
owns_byte (const ImagePlane *plane, int channel, size_t byte)
{
  const size_t begin = (size_t) plane->offset
      + (size_t) channel * (size_t) plane->channel_stride;
  const size_t apart = (size_t) plane->pixel_stride;

  return byte >= begin && (byte - begin) / apart < (size_t) plane->width
      && (byte - begin) % apart < (size_t) image_sample_bytes (plane);
}

static size_t
count_solid_bytes (const Image *layout, int memory)
{
  for (size_t byte = 0; byte < layout->memory[memory].row_bytes; byte++) {
    bool owned = false;

    for (int p = 0; p < layout->n_planes && !owned; p++)
      for (int c = 0; c < layout->plane[p].channels && !owned; c++)
        owned = layout->plane[p].memory == memory
            && owns_byte (&layout->plane[p], c, byte);
    if (!owned)
      return byte;
  }
  return layout->memory[memory].row_bytes;
}

static void
list_channels (EqualizePlan *plan)
{
  static const EqualizeRole roles[] = { EQUALIZE_LUMA, EQUALIZE_RED,
    EQUALIZE_GREEN, EQUALIZE_BLUE };
  const Image *layout = &plan->layout;
  int p, c;

  for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
    if (find_role (&plan->spec, layout, roles[i], &p, &c)) {
      const ImagePlane *plane = &layout->plane[p];

      plan->mapped[plan->n_mapped++] = (EqualizeChannel){
        .memory = plane->memory,
        .byte_offset = plane->offset + c * plane->channel_stride,
        .pixel_stride = plane->pixel_stride,
        .sample_bytes = image_sample_bytes (plane),
        .shift = plane->shift,
      };
    }
  for (p = 0; p < layout->n_planes; p++)
    for (c = 0; c < layout->plane[p].channels; c++)
      if (plan->spec.role[p][c] == EQUALIZE_COPY)
        plan->copies[layout->plane[p].memory] = true;
  for (int m = 0; m < layout->n_memories; m++)
    plan->solid_bytes[m] = count_solid_bytes (layout, m);
}

static const EqualizeOps *
backend_ops (Backend backend)
{
  if (backend == BACKEND_CPU)
    return &equalize_host_ops;
#ifdef HAVE_CUDA
  return &equalize_device_ops;
#else
  return NULL;
#endif
}

EqualizePlan *
equalize_plan_new (const EqualizeSpec *spec, const Image *layout,
    Backend backend, Gpu *gpu, Fault *fault)
{
  const EqualizeOps *ops = backend_ops (backend);
  EqualizePlan *plan;

  if (!equalize_validate (spec, layout, fault)
      || (backend == BACKEND_CPU && !isa_check_environment (fault)))
    return NULL;
  if (ops == NULL) {
    fault_set (fault, FAULT_UNSUPPORTED,
        "Equalisation on a GPU is not in this build.");
    return NULL;
  }
  plan = calloc (1, sizeof *plan);
  if (plan == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for equalisation.");
    return NULL;
  }
  plan->ops = ops;
  plan->backend = backend;
  plan->gpu = gpu;
  plan->layout = *layout;
  plan->spec = *spec;
  plan->numbers = make_numbers (spec, layout);
  plan->first = true;
  list_channels (plan);
  if (!ops->prepare (plan, fault)) {
    equalize_plan_free (plan);
    return NULL;
  }
  return plan;
}

void
equalize_plan_free (EqualizePlan *plan)
{
  if (plan == NULL)
    return;
  plan->ops->release (plan);
  free (plan);
}

/* Whether one plan can serve both specs. */
static bool
same_plan (const EqualizeSpec *a, const EqualizeSpec *b)
{
  return a->kind == b->kind && memcmp (a->role, b->role, sizeof a->role) == 0
      && a->black == b->black && a->white == b->white && a->kr == b->kr
      && a->kb == b->kb && a->tiles_x == b->tiles_x && a->tiles_y == b->tiles_y;
}

bool
equalize_plan_update (
    EqualizePlan *plan, const EqualizeSpec *spec, Fault *fault)
{
  if (!equalize_validate (spec, &plan->layout, fault))
    return false;
  if (!same_plan (spec, &plan->spec))
    return fault_set (fault, FAULT_UNSUPPORTED,
        "Only strength, smoothing and clip limit change while playing.");
  plan->spec = *spec;
  make_settings (spec, &plan->numbers);
  return true;
}

void
equalize_plan_reset (EqualizePlan *plan)
{
  plan->first = true;
}

bool
equalize_plan_run (EqualizePlan *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault)
{
  TRACE_BLOCK (TRACE_EQUALIZE, 0);
  const uint32_t follow = plan->first ? EQUALIZE_ONE : plan->numbers.follow;

  if (!image_same_layout (src, &plan->layout)
      || !image_same_layout (dst, &plan->layout))
    return fault_set (fault, FAULT_SETTINGS,
        "The image does not have the layout that the plan was made for.");
  if (plan->backend == BACKEND_CUDA
      && (!image_suits_gpu (src, fault) || !image_suits_gpu (dst, fault)))
    return false;
  if (!plan->ops->run (plan, src, dst, follow, stream, fault))
    return false;
  plan->first = false;
  return true;
}
