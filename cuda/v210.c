/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "v210.h"

#include "divide.h"
#include "v210/plan.h"

#include <stdlib.h>

#define ROW_ALIGNMENT 256

void
v210_layout (int width, int height, Image *packed)
{
  const int groups = divide_up (width, V210_GROUP_PIXELS);

  memset (packed, 0, sizeof *packed);
  packed->n_memories = packed->n_planes = 1;
  packed->plane[0] = (ImagePlane){
    .width = groups * (V210_GROUP_BYTES / 4),
    .channels = 4,
    .pixel_stride = 4,
    .channel_stride = 1,
    .depth = 8,
  };
  packed->memory[0] = (ImageMemory){
    .row_bytes = (size_t) groups * V210_GROUP_BYTES,
    .stride = (ptrdiff_t) groups * V210_GROUP_BYTES,
    .height = height,
  };
}

static bool
validate (const Image *planes, Fault *fault)
{
  const int width = planes->plane[0].width;
  const int height = planes->memory[0].height;
  bool ok = planes->n_planes == 3 && planes->n_memories == 3
      && width <= V210_MAX_WIDTH;

  if (!image_validate (planes, fault))
    return false;
  for (int p = 0; ok && p < 3; p++) {
    const ImagePlane *plane = &planes->plane[p];

    ok = plane->memory == p && plane->channels == 1 && plane->depth == 10
        && plane->shift == 0 && plane->pixel_stride == 2 && plane->offset == 0
        && plane->width == (p == 0 ? width : divide_up (width, 2))
        && planes->memory[p].height == height;
  }
  return ok
      || fault_set (fault, FAULT_SETTINGS,
          "These are not the planes of 4:2:2 video with 10 bits.");
}

static const V210Ops *
backend_ops (Backend backend)
{
  if (backend == BACKEND_CPU)
    return &v210_host_ops;
#ifdef HAVE_CUDA
  return &v210_device_ops;
#else
  return NULL;
#endif
}

static bool
make_image (
    V210Plan *plan, const Image *planes, int which, Image *image, Fault *fault)
{
  const size_t bytes = image_pack (planes, ROW_ALIGNMENT, NULL, image);

  plan->block[which] = plan->ops->allocate (bytes, fault);
  if (plan->block[which] == NULL)
    return false;
  image_pack (planes, ROW_ALIGNMENT, plan->block[which], image);
  return true;
}

V210Plan *
v210_plan_new (const Image *planes, bool has_result, Backend backend, Gpu *gpu,
    Fault *fault)
{
  const V210Ops *ops = backend_ops (backend);
  V210Plan *plan;

  (void) gpu;
  if (!validate (planes, fault))
    return NULL;
  if (ops == NULL) {
    fault_set (fault, FAULT_UNSUPPORTED,
        "This build has no CUDA to unpack v210 with.");
    return NULL;
  }
  plan = calloc (1, sizeof *plan);
  if (plan == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory to unpack v210.");
    return NULL;
  }
  plan->ops = ops;
  plan->width = planes->plane[0].width;
  if (!ops->prepare (plan, fault)
      || !make_image (plan, planes, 0, &plan->source, fault)
      || (has_result && !make_image (plan, planes, 1, &plan->result, fault))) {
    v210_plan_free (plan);
    return NULL;
  }
  return plan;
}

void
v210_plan_free (V210Plan *plan)
{
  if (plan == NULL)
    return;
  for (int i = 0; i < 2; i++)
    plan->ops->free (plan->block[i]);
  plan->ops->release (plan);
  free (plan);
}

const Image *
v210_plan_source (const V210Plan *plan)
{
  return &plan->source;
}

const Image *
v210_plan_result (const V210Plan *plan)
{
  return &plan->result;
}

/* Whether both have the size that the plan is for. */
static bool
have_size (const V210Plan *plan, const Image *packed, const Image *planes,
    Fault *fault)
{
  const ImageMemory *source = &plan->source.memory[0];
  const size_t row_bytes =
      (size_t) divide_up (plan->width, V210_GROUP_PIXELS) * V210_GROUP_BYTES;

  return (image_same_layout (planes, &plan->source) && packed->n_memories == 1
             && packed->memory[0].height == source->height
             && packed->memory[0].row_bytes == row_bytes)
      || fault_set (fault, FAULT_SETTINGS,
          "A frame of v210 does not have the size of its plan, %dx%d.",
          plan->width, source->height);
}

bool
v210_unpack (V210Plan *plan, const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault)
{
  return have_size (plan, packed, planes, fault)
      && plan->ops->unpack (plan, packed, planes, stream, fault);
}

bool
v210_pack (V210Plan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault)
{
  return have_size (plan, packed, planes, fault)
      && plan->ops->pack (plan, planes, packed, stream, fault);
}
