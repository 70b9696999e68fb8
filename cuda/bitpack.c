/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bitpack.h"

#include "bitpack/plan.h"
#include "divide.h"

#include <stdlib.h>

#define ROW_ALIGNMENT 256

static const BitpackShape shapes[BITPACK_N_FORMATS] = {
  [BITPACK_V210] = { .name = "v210",
      .kind = BITPACK_SIXES,
      .n_planes = 3,
      .group_pixels = 6,
      .group_bytes = 16 },
  [BITPACK_UYVP] = { .name = "UYVP",
      .kind = BITPACK_PAIRS,
      .n_planes = 3,
      .group_pixels = 2,
      .group_bytes = 5 },
  [BITPACK_Y410] = { .name = "Y410",
      .kind = BITPACK_WORDS,
      .n_planes = 4,
      .group_pixels = 1,
      .group_bytes = 4,
      .bit = { 10, 0, 20, 30 } },
  [BITPACK_RGB10A2_LE] = { .name = "RGB10A2_LE",
      .kind = BITPACK_WORDS,
      .n_planes = 4,
      .group_pixels = 1,
      .group_bytes = 4,
      .bit = { 0, 10, 20, 30 } },
  [BITPACK_BGR10A2_LE] = { .name = "BGR10A2_LE",
      .kind = BITPACK_WORDS,
      .n_planes = 4,
      .group_pixels = 1,
      .group_bytes = 4,
      .bit = { 20, 10, 0, 30 } },
  [BITPACK_R210] = { .name = "r210",
      .kind = BITPACK_WORDS,
      .n_planes = 3,
      .group_pixels = 1,
      .group_bytes = 4,
      .bit = { 20, 10, 0 },
      .big_endian = true },
  [BITPACK_RGB16] = { .name = "RGB16",
      .kind = BITPACK_HALFWORDS,
      .n_planes = 3,
      .group_pixels = 1,
      .group_bytes = 2,
      .bit = { 11, 5, 0 },
      .green_bits = 6 },
  [BITPACK_BGR16] = { .name = "BGR16",
      .kind = BITPACK_HALFWORDS,
      .n_planes = 3,
      .group_pixels = 1,
      .group_bytes = 2,
      .bit = { 0, 5, 11 },
      .green_bits = 6 },
  [BITPACK_RGB15] = { .name = "RGB15",
      .kind = BITPACK_HALFWORDS,
      .n_planes = 3,
      .group_pixels = 1,
      .group_bytes = 2,
      .bit = { 10, 5, 0 },
      .green_bits = 5 },
  [BITPACK_BGR15] = { .name = "BGR15",
      .kind = BITPACK_HALFWORDS,
      .n_planes = 3,
      .group_pixels = 1,
      .group_bytes = 2,
      .bit = { 0, 5, 10 },
      .green_bits = 5 },
  [BITPACK_GRAY10_LE32] = { .name = "GRAY10_LE32",
      .kind = BITPACK_THREES,
      .group_pixels = 3,
      .group_bytes = 4 },
  [BITPACK_NV12_10LE32] = { .name = "NV12_10LE32",
      .kind = BITPACK_THREES,
      .group_pixels = 6,
      .group_bytes = 8 },
  [BITPACK_NV16_10LE32] = { .name = "NV16_10LE32",
      .kind = BITPACK_THREES,
      .group_pixels = 6,
      .group_bytes = 8 },
  [BITPACK_NV12_10LE40] = { .name = "NV12_10LE40",
      .kind = BITPACK_FOURS,
      .group_pixels = 4,
      .group_bytes = 5 },
  [BITPACK_BIG_ENDIAN] = { .name = "big-endian",
      .kind = BITPACK_SWAPPED,
      .group_pixels = 1,
      .group_bytes = 2 },
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

/* Bytes of a packed row of `n` pixels, or of `n` samples for formats packed by memories. */
static size_t
find_row_bytes (const BitpackShape *shape, int n)
{
  size_t bytes;

  switch (shape->kind) {
    case BITPACK_THREES:
      return (size_t) divide_up (n, 3) * sizeof (uint32_t);
    case BITPACK_FOURS:
      return ((size_t) n * 10 + 7) / 8;
    case BITPACK_SWAPPED:
      return (size_t) n * sizeof (uint16_t);
    default:
      break;
  }
  bytes =
      (size_t) divide_up (n, shape->group_pixels) * (size_t) shape->group_bytes;
  return shape->kind == BITPACK_PAIRS && n % 2 != 0 ? bytes - 1 : bytes;
}

static void
add_rows (Image *packed, size_t bytes, int height)
{
  packed->plane[packed->n_planes] = (ImagePlane){
    .memory = packed->n_memories,
    .width = (int) bytes,
    .channels = 1,
    .pixel_stride = 1,
    .channel_stride = 1,
    .depth = 8,
  };
  packed->memory[packed->n_memories] = (ImageMemory){
    .row_bytes = bytes,
    .stride = (ptrdiff_t) bytes,
    .height = height,
  };
  packed->n_planes++;
  packed->n_memories++;
}

static void
describe_packed (const BitpackShape *shape, const Image *planes, Image *packed)
{
  memset (packed, 0, sizeof *packed);
  if (!bitpack_goes_by_memories (shape->kind)) {
    add_rows (packed, find_row_bytes (shape, planes->plane[0].width),
        image_plane_height (planes, 0));
    return;
  }
  for (int m = 0; m < planes->n_memories; m++)
    add_rows (packed, find_row_bytes (shape, bitpack_row_samples (planes, m)),
        planes->memory[m].height);
}

void
bitpack_layout (BitpackFormat format, const Image *planes, Image *packed)
{
  describe_packed (&shapes[format], planes, packed);
}

static bool
have_own_memories (const Image *planes)
{
  bool ok = planes->n_memories == planes->n_planes;

  for (int p = 0; p < planes->n_planes; p++)
    for (int other = 0; other < p; other++)
      ok = ok && planes->plane[other].memory != planes->plane[p].memory;
  return ok;
}

/* Whether the plane fills the rows of its memory. */
static bool
fills_rows (const Image *planes, int p)
{
  const ImagePlane *plane = &planes->plane[p];

  return plane->depth == 10 && plane->offset == 0 && image_is_packed (plane)
      && image_plane_row_bytes (plane)
      == planes->memory[plane->memory].row_bytes;
}

static bool
are_rows_of (const BitpackShape *shape, const Image *planes)
{
  const bool any = shape->kind == BITPACK_SWAPPED;
  bool ok = any || have_own_memories (planes);

  for (int p = 0; ok && p < planes->n_planes; p++)
    ok = image_sample_bytes (&planes->plane[p]) == 2
        && (any || fills_rows (planes, p));
  for (int m = 0; ok && m < planes->n_memories; m++)
    ok = planes->memory[m].row_bytes % sizeof (uint16_t) == 0;
  return ok;
}

static bool
are_channels_of (const BitpackShape *shape, const Image *planes)
{
  const int width = planes->plane[0].width;
  const int height = image_plane_height (planes, 0);
  const int depth = shape->kind == BITPACK_HALFWORDS ? 8 : 10;
  const bool is_422 =
      shape->kind == BITPACK_SIXES || shape->kind == BITPACK_PAIRS;
  bool ok = planes->n_planes == shape->n_planes && have_own_memories (planes)
      && width <= find_max_width (shape);

  for (int p = 0; ok && p < shape->n_planes; p++) {
    const ImagePlane *plane = &planes->plane[p];
    const bool half = is_422 && p > 0;

    ok = plane->channels == 1 && plane->depth == depth && plane->shift == 0
        && plane->pixel_stride == image_sample_bytes (plane)
        && plane->offset == 0
        && plane->width == (half ? divide_up (width, 2) : width)
        && image_plane_height (planes, p) == height;
  }
  return ok;
}

static bool
are_planes_of (const BitpackShape *shape, const Image *planes)
{
  return bitpack_goes_by_memories (shape->kind)
      ? are_rows_of (shape, planes)
      : are_channels_of (shape, planes);
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
  describe_packed (shape, planes, &plan->packed);
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

/* Whether both images have the size of the plan. */
static bool
have_size (const BitpackPlan *plan, const Image *packed, const Image *planes,
    Fault *fault)
{
  return (image_same_layout (planes, &plan->source)
             && image_same_layout (packed, &plan->packed))
      || fault_set (fault, FAULT_SETTINGS,
          "A frame of %s does not have the size of its plan, %dx%d.",
          plan->shape->name, plan->width,
          image_plane_height (&plan->source, 0));
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
