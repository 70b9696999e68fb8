/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bitpack.h"

#include "bitpack/plan.h"
#include "divide.h"

#include <stdlib.h>

#define ROW_ALIGNMENT 256

static const BitpackShape shapes[BITPACK_N_FORMATS] = {
  [BITPACK_V210] = { "v210", BITPACK_SIXES, 3, 6, 16, { 0 }, false },
  [BITPACK_UYVP] = { "UYVP", BITPACK_PAIRS, 3, 2, 5, { 0 }, false },
  [BITPACK_Y410] = { "Y410", BITPACK_WORDS, 4, 1, 4, { 10, 0, 20, 30 }, false },
  [BITPACK_RGB10A2_LE] = { "RGB10A2_LE", BITPACK_WORDS, 4, 1, 4,
      { 0, 10, 20, 30 }, false },
  [BITPACK_BGR10A2_LE] = { "BGR10A2_LE", BITPACK_WORDS, 4, 1, 4,
      { 20, 10, 0, 30 }, false },
  [BITPACK_R210] = { "r210", BITPACK_WORDS, 3, 1, 4, { 20, 10, 0 }, true },
};

const char *
bitpack_name (BitpackFormat format)
{
  return shapes[format].name;
}

int
bitpack_group_pixels (BitpackFormat format)
{
  return shapes[format].group_pixels;
}

int
bitpack_group_bytes (BitpackFormat format)
{
  return shapes[format].group_bytes;
}

static int
find_max_width (const BitpackShape *shape)
{
  return IMAGE_MAX_ROW_BYTES / shape->group_bytes * shape->group_pixels;
}

int
bitpack_max_width (BitpackFormat format)
{
  return find_max_width (&shapes[format]);
}

static size_t
find_row_bytes (const BitpackShape *shape, int width)
{
  const size_t bytes = (size_t) divide_up (width, shape->group_pixels)
      * (size_t) shape->group_bytes;

  return shape->kind == BITPACK_PAIRS && width % 2 != 0 ? bytes - 1 : bytes;
}

void
bitpack_layout (BitpackFormat format, int width, int height, Image *packed)
{
  const size_t bytes = find_row_bytes (&shapes[format], width);

  memset (packed, 0, sizeof *packed);
  packed->n_memories = packed->n_planes = 1;
  packed->plane[0] = (ImagePlane){
    .width = (int) bytes,
    .channels = 1,
    .pixel_stride = 1,
    .channel_stride = 1,
    .depth = 8,
  };
  packed->memory[0] = (ImageMemory){
    .row_bytes = bytes,
    .stride = (ptrdiff_t) bytes,
    .height = height,
  };
}

static bool
are_planes_of (const BitpackShape *shape, const Image *planes)
{
  const int width = planes->plane[0].width;
  const int height = image_plane_height (planes, 0);
  bool ok = planes->n_planes == shape->n_planes
      && planes->n_memories == shape->n_planes
      && width <= find_max_width (shape);

  for (int p = 0; ok && p < shape->n_planes; p++) {
    const ImagePlane *plane = &planes->plane[p];
    const bool half = shape->kind != BITPACK_WORDS && p > 0;

    ok = plane->channels == 1 && plane->depth == 10 && plane->shift == 0
        && plane->pixel_stride == 2 && plane->offset == 0
        && plane->width == (half ? divide_up (width, 2) : width)
        && image_plane_height (planes, p) == height;
    for (int other = 0; other < p; other++)
      ok = ok && planes->plane[other].memory != plane->memory;
  }
  return ok;
}

static bool
validate (const BitpackShape *shape, const Image *planes, Fault *fault)
{
  return image_validate (planes, fault)
      && (are_planes_of (shape, planes)
          || fault_set (fault, FAULT_SETTINGS,
              "These are not the planes of %s.", shape->name));
}

static const BitpackOps *
backend_ops (Backend backend)
{
  if (backend == BACKEND_CPU)
    return &bitpack_host_ops;
#ifdef HAVE_CUDA
  return &bitpack_device_ops;
#else
  return NULL;
#endif
}

static bool
make_image (BitpackPlan *plan, const Image *planes, int which, Image *image,
    Fault *fault)
{
  const size_t bytes = image_pack (planes, ROW_ALIGNMENT, NULL, image);

  plan->block[which] = plan->ops->allocate (bytes, fault);
  if (plan->block[which] == NULL)
    return false;
  image_pack (planes, ROW_ALIGNMENT, plan->block[which], image);
  return true;
}

BitpackPlan *
bitpack_plan_new (BitpackFormat format, const Image *planes, bool has_result,
    Backend backend, Gpu *gpu, Fault *fault)
{
  const BitpackShape *shape = &shapes[format];
  const BitpackOps *ops = backend_ops (backend);
  BitpackPlan *plan;

  (void) gpu;
  if (!validate (shape, planes, fault))
    return NULL;
  if (ops == NULL) {
    fault_set (fault, FAULT_UNSUPPORTED,
        "This build has no CUDA to unpack %s with.", shape->name);
    return NULL;
  }
  plan = calloc (1, sizeof *plan);
  if (plan == NULL) {
    fault_set (
        fault, FAULT_NO_SPACE, "Out of memory to unpack %s.", shape->name);
    return NULL;
  }
  plan->ops = ops;
  plan->shape = shape;
  plan->width = planes->plane[0].width;
  plan->row_bytes = find_row_bytes (shape, plan->width);
  if (!ops->prepare (plan, fault)
      || !make_image (plan, planes, 0, &plan->source, fault)
      || (has_result && !make_image (plan, planes, 1, &plan->result, fault))) {
    bitpack_plan_free (plan);
    return NULL;
  }
  return plan;
}

void
bitpack_plan_free (BitpackPlan *plan)
{
  if (plan == NULL)
    return;
  for (int i = 0; i < 2; i++)
    plan->ops->free (plan->block[i]);
  plan->ops->release (plan);
  free (plan);
}

const Image *
bitpack_plan_source (const BitpackPlan *plan)
{
  return &plan->source;
}

const Image *
bitpack_plan_result (const BitpackPlan *plan)
{
  return &plan->result;
}

/* Whether both have the size that the plan is for. */
static bool
have_size (const BitpackPlan *plan, const Image *packed, const Image *planes,
    Fault *fault)
{
  const int height = image_plane_height (&plan->source, 0);

  return (image_same_layout (planes, &plan->source) && packed->n_memories == 1
             && packed->memory[0].height == height
             && packed->memory[0].row_bytes == plan->row_bytes)
      || fault_set (fault, FAULT_SETTINGS,
          "A frame of %s does not have the size of its plan, %dx%d.",
          plan->shape->name, plan->width, height);
}

bool
bitpack_unpack (BitpackPlan *plan, const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault)
{
  return have_size (plan, packed, planes, fault)
      && plan->ops->unpack (plan, packed, planes, stream, fault);
}

bool
bitpack_pack (BitpackPlan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault)
{
  return have_size (plan, packed, planes, fault)
      && plan->ops->pack (plan, planes, packed, stream, fault);
}
