/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transfer-rig.h"

#include <stdlib.h>
#include <string.h>

/* Row alignment on the device as in the ring, on the host as in GStreamer. */
#define DEVICE_ALIGNMENT 256
#define HOST_ALIGNMENT 4

#define SIGMA 2.0

static void
set_layout (Image *image, const FrameKind *kind)
{
  const int channels = kind->rgba ? 4 : 1;

  memset (image, 0, sizeof *image);
  image->n_memories = image->n_planes = kind->rgba ? 1 : 2;
  image->memory[0].height = kind->height;
  image->plane[0] = (ImagePlane){ .width = kind->width,
    .channels = channels,
    .pixel_stride = channels,
    .channel_stride = 1,
    .depth = 8 };
  if (!kind->rgba) {
    image->memory[1].height = kind->height / 2;
    image->plane[1] = (ImagePlane){ .memory = 1,
      .width = kind->width / 2,
      .channels = 2,
      .pixel_stride = 2,
      .channel_stride = 1,
      .depth = 8 };
  }
  for (int m = 0; m < image->n_memories; m++) {
    image->memory[m].row_bytes = image_plane_row_bytes (&image->plane[m]);
    image->memory[m].stride = (ptrdiff_t) image->memory[m].row_bytes;
  }
}

size_t
frame_kind_bytes (const FrameKind *kind)
{
  Image image;

  set_layout (&image, kind);
  return image_bytes (&image);
}

/* Filters all channels but alpha, and NV12's chroma with half the sigma. */
static void
set_spec (Rig *rig)
{
  taps_gaussian (&rig->luma, SIGMA, 6);
  taps_gaussian (&rig->chroma, SIGMA / 2, 3);
  rig->spec.border = SEPCONV_REPLICATE;
  rig->spec.scale = 1.0;
  for (int p = 0; p < rig->layout.n_planes; p++) {
    SepconvPlane *plane = &rig->spec.plane[p];

    plane->x = plane->y = p == 0 ? &rig->luma : &rig->chroma;
    plane->channels = rig->kind->rgba ? 7 : p == 0 ? 1 : 3;
  }
}

/* xorshift noise: the bus is as fast with noise as with any picture. */
static void
fill (uint8_t *memory, size_t bytes)
{
  uint32_t state = 0x9e3779b9;

  for (size_t i = 0; i < bytes; i++) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    memory[i] = (uint8_t) state;
  }
}

typedef void *(*Allocate) (size_t bytes, Fault *fault);

static void *
pageable_malloc (size_t bytes, Fault *fault)
{
  void *memory = malloc (bytes);

  if (memory == NULL)
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for frames.");
  else
    memset (memory, 0, bytes); /* maps its pages */
  return memory;
}

static bool
make_image (const Rig *rig, size_t alignment, Allocate allocate, Image *image,
    Fault *fault)
{
  uint8_t *memory =
      allocate (image_pack (&rig->layout, alignment, NULL, image), fault);

  if (memory == NULL) {
    memset (image, 0, sizeof *image);
    return false;
  }
  image_pack (&rig->layout, alignment, memory, image);
  return true;
}

static bool
make_set (Rig *rig, int i, Fault *fault)
{
  return make_image (
             rig, HOST_ALIGNMENT, gpu_malloc_host, &rig->pinned_src[i], fault)
      && make_image (
          rig, HOST_ALIGNMENT, gpu_malloc_host, &rig->pinned_dst[i], fault)
      && make_image (
          rig, HOST_ALIGNMENT, pageable_malloc, &rig->pageable_src[i], fault)
      && make_image (
          rig, HOST_ALIGNMENT, pageable_malloc, &rig->pageable_dst[i], fault)
      && make_image (
          rig, DEVICE_ALIGNMENT, gpu_malloc, &rig->device_src[i], fault)
      && make_image (
          rig, DEVICE_ALIGNMENT, gpu_malloc, &rig->device_dst[i], fault);
}

Rig *
rig_new (Gpu *gpu, const FrameKind *kind, Fault *fault)
{
  Rig *rig = calloc (1, sizeof *rig);

  if (rig == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory.");
    return NULL;
  }
  rig->gpu = gpu;
  rig->kind = kind;
  set_layout (&rig->layout, kind);
  rig->bytes = image_bytes (&rig->layout);
  set_spec (rig);
  for (int i = 0; i < RIG_SETS; i++)
    if (!make_set (rig, i, fault)) {
      rig_free (rig);
      return NULL;
    }
  for (int m = 0; m < rig->layout.n_memories; m++) {
    const ImageMemory *memory = &rig->pinned_src[0].memory[m];

    fill (memory->data, (size_t) memory->stride * (size_t) memory->height);
  }
  for (int i = 0; i < RIG_SETS; i++) {
    if (i > 0)
      image_copy (&rig->pinned_src[i], &rig->pinned_src[0]);
    image_copy (&rig->pageable_src[i], &rig->pinned_src[0]);
  }
  return rig;
}

void
rig_free (Rig *rig)
{
  if (rig == NULL)
    return;
  for (int i = 0; i < RIG_SETS; i++) {
    gpu_free_host (rig->pinned_src[i].memory[0].data);
    gpu_free_host (rig->pinned_dst[i].memory[0].data);
    free (rig->pageable_src[i].memory[0].data);
    free (rig->pageable_dst[i].memory[0].data);
    gpu_free (rig->device_src[i].memory[0].data);
    gpu_free (rig->device_dst[i].memory[0].data);
  }
  free (rig);
}

SepconvPlan *
rig_plan (Rig *rig, Fault *fault)
{
  return sepconv_plan_new (
      &rig->spec, &rig->layout, BACKEND_CUDA, NULL, rig->gpu, fault);
}

bool
rig_copy (const Image *dst, const Image *src, GpuCopy kind, GpuStream stream,
    Fault *fault)
{
  for (int m = 0; m < src->n_memories; m++) {
    const ImageMemory *to = &dst->memory[m], *from = &src->memory[m];

    if (!gpu_copy_rows (to->data, to->stride, from->data, from->stride,
            from->row_bytes, from->height, kind, stream, fault))
      return false;
  }
  return true;
}
