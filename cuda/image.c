/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image.h"

#include <string.h>

size_t
image_plane_row_bytes (const ImagePlane *plane)
{
  return (size_t) plane->offset
      + (size_t) (plane->width - 1) * (size_t) plane->pixel_stride
      + (size_t) (plane->channels - 1) * (size_t) plane->channel_stride
      + (size_t) image_sample_bytes (plane);
}

static bool
validate_plane (const Image *image, int index, Fault *fault)
{
  const ImagePlane *plane = &image->plane[index];
  size_t end;

  if (plane->memory < 0 || plane->memory >= image->n_memories)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d lies in memory %d of %d.", index, plane->memory,
        image->n_memories);
  if (plane->width < 1)
    return fault_set (fault, FAULT_SETTINGS, "Plane %d is %d pixels wide.",
        index, plane->width);
  if (plane->channels < 1 || plane->channels > IMAGE_MAX_CHANNELS)
    return fault_set (fault, FAULT_SETTINGS, "Plane %d has %d channels.", index,
        plane->channels);
  if (plane->depth < 1 || plane->depth > 16 || plane->shift < 0
      || plane->shift > 16 - plane->depth)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d has %d-bit samples shifted by %d bits.", index, plane->depth,
        plane->shift);
  if (plane->offset < 0 || plane->pixel_stride < 1 || plane->channel_stride < 0)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d has a negative offset or pixel stride.", index);
  if (image_sample_bytes (plane) == 2
      && (plane->offset % 2 != 0 || plane->pixel_stride % 2 != 0
          || plane->channel_stride % 2 != 0))
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d has samples of two bytes at odd offsets.", index);
  if (plane->channels > 1 && plane->channel_stride < image_sample_bytes (plane))
    return fault_set (
        fault, FAULT_SETTINGS, "The channels of plane %d overlap.", index);
  end = image_plane_row_bytes (plane);
  if (end > image->memory[plane->memory].row_bytes)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d reaches %zu bytes into rows of %zu.", index, end,
        image->memory[plane->memory].row_bytes);
  return true;
}

bool
image_validate (const Image *image, Fault *fault)
{
  if (image->n_planes < 1 || image->n_planes > IMAGE_MAX_PLANES
      || image->n_memories < 1 || image->n_memories > IMAGE_MAX_MEMORIES)
    return fault_set (fault, FAULT_SETTINGS,
        "An image has 1 to %d planes and memories, not %d and %d.",
        IMAGE_MAX_PLANES, image->n_planes, image->n_memories);
  for (int m = 0; m < image->n_memories; m++)
    if (image->memory[m].height < 1
        || image->memory[m].height > IMAGE_MAX_HEIGHT
        || image->memory[m].row_bytes > IMAGE_MAX_ROW_BYTES)
      return fault_set (fault, FAULT_SETTINGS,
          "Memory %d has %d rows of %zu bytes, of at most %d and %d.", m,
          image->memory[m].height, image->memory[m].row_bytes, IMAGE_MAX_HEIGHT,
          IMAGE_MAX_ROW_BYTES);
  for (int p = 0; p < image->n_planes; p++)
    if (!validate_plane (image, p, fault))
      return false;
  return true;
}

bool
image_same_layout (const Image *a, const Image *b)
{
  if (a->n_planes != b->n_planes || a->n_memories != b->n_memories)
    return false;
  for (int m = 0; m < a->n_memories; m++)
    if (a->memory[m].height != b->memory[m].height
        || a->memory[m].row_bytes != b->memory[m].row_bytes)
      return false;
  for (int p = 0; p < a->n_planes; p++)
    if (memcmp (&a->plane[p], &b->plane[p], sizeof a->plane[p]) != 0)
      return false;
  return true;
}

bool
image_plane_suits_gpu (const Image *image, int plane, Fault *fault)
{
  const ImageMemory *memory = &image->memory[image->plane[plane].memory];

  if (image_sample_bytes (&image->plane[plane]) == 2
      && ((uintptr_t) memory->data % 2 != 0 || memory->stride % 2 != 0))
    return fault_set (
        fault, FAULT_SETTINGS, "Samples of two bytes lie at odd addresses.");
  return true;
}

bool
image_suits_gpu (const Image *image, Fault *fault)
{
  for (int p = 0; p < image->n_planes; p++)
    if (!image_plane_suits_gpu (image, p, fault))
      return false;
  return true;
}

/* The addresses of the first byte of a memory, and of the byte after its last. */
static void
find_extent (const ImageMemory *memory, intptr_t *first, intptr_t *last)
{
  const intptr_t rows = (memory->height - 1) * (intptr_t) memory->stride;

  *first = (intptr_t) memory->data + (rows < 0 ? rows : 0);
  *last = (intptr_t) memory->data + (rows > 0 ? rows : 0)
      + (intptr_t) memory->row_bytes;
}

bool
image_is_apart (const Image *image)
{
  for (int m = 0; m < image->n_memories; m++) {
    const ImageMemory *memory = &image->memory[m];
    intptr_t first, last;

    if (memory->height > 1
        && (size_t) (memory->stride < 0 ? -memory->stride : memory->stride)
            < memory->row_bytes)
      return false;
    find_extent (memory, &first, &last);
    for (int other = 0; other < m; other++) {
      intptr_t other_first, other_last;

      find_extent (&image->memory[other], &other_first, &other_last);
      if (first < other_last && other_first < last)
        return false;
    }
  }
  return true;
}

bool
image_field (const Image *image, int parity, Image *field)
{
  bool any = false;

  *field = *image;
  for (int m = 0; m < image->n_memories; m++) {
    ImageMemory *memory = &field->memory[m];

    memory->height = (memory->height + 1 - parity) / 2;
    if (memory->data != NULL)
      memory->data += parity * memory->stride;
    memory->stride *= 2;
    any = any || memory->height > 0;
  }
  return any;
}

size_t
image_bytes (const Image *image)
{
  size_t bytes = 0;

  for (int m = 0; m < image->n_memories; m++)
    bytes += image->memory[m].row_bytes * (size_t) image->memory[m].height;
  return bytes;
}

void
image_copy (const Image *dst, const Image *src)
{
  for (int m = 0; m < src->n_memories; m++) {
    const ImageMemory *from = &src->memory[m], *to = &dst->memory[m];

    if (from->stride == to->stride
        && from->stride == (ptrdiff_t) from->row_bytes) {
      memcpy (to->data, from->data, from->row_bytes * (size_t) from->height);
      continue;
    }
    for (int y = 0; y < from->height; y++)
      memcpy (to->data + y * to->stride, from->data + y * from->stride,
          from->row_bytes);
  }
}

size_t
image_box_bytes (const ImageBox *box, int n)
{
  size_t bytes = 0;

  for (int i = 0; i < n; i++)
    if (box[i].right > box[i].left && box[i].bottom > box[i].top)
      bytes += (size_t) (box[i].right - box[i].left)
          * (size_t) (box[i].bottom - box[i].top);
  return bytes;
}

void
image_copy_boxes (
    const Image *dst, const Image *src, const ImageBox *box, int n)
{
  for (int i = 0; i < n; i++) {
    const ImageMemory *to = &dst->memory[box[i].memory];
    const ImageMemory *from = &src->memory[box[i].memory];

    for (int y = box[i].top; y < box[i].bottom && box[i].right > box[i].left;
         y++)
      memcpy (to->data + y * to->stride + box[i].left,
          from->data + y * from->stride + box[i].left,
          (size_t) (box[i].right - box[i].left));
  }
}

size_t
image_pack (const Image *layout, size_t alignment, uint8_t *base, Image *packed)
{
  size_t end = 0;

  *packed = *layout;
  for (int m = 0; m < layout->n_memories; m++) {
    ImageMemory *memory = &packed->memory[m];
    size_t stride = (memory->row_bytes + alignment - 1) & ~(alignment - 1);

    memory->stride = (ptrdiff_t) stride;
    memory->data = base == NULL ? NULL : base + end;
    end += stride * (size_t) memory->height;
  }
  return end;
}
