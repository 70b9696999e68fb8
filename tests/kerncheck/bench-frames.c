/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-frames.h"

#include <stdlib.h>
#include <string.h>

/* Alignment of strides and planes: on a GPU as in a pool's buffers. On the host, rows of all usual
 * widths have no padding, as in GStreamer's own buffers and in the arrays that peers get. */
#define ALIGNMENT_ON_GPU 256
#define ALIGNMENT_ON_HOST 32
/* Overlapped runs use pairs that share no memory. */
#define MIN_PAIRS 4

static bool
paint_noise (const Image *picture, void *user, Fault *fault)
{
  const BenchFrames *frames = user;
  uint8_t *bytes = picture->memory[0].data;
  const size_t n = frames->image_size;
  Random random = { 1 };

  (void) fault;
  for (size_t i = 0; i < n; i += sizeof (uint64_t)) {
    const uint64_t noise = random_next (&random);

    memcpy (bytes + i, &noise, n - i < sizeof noise ? n - i : sizeof noise);
  }
  return true;
}

static size_t
alignment_of (const Device *device)
{
  return device->gpu != NULL ? ALIGNMENT_ON_GPU : ALIGNMENT_ON_HOST;
}

static uint8_t *
allocate (const Device *device, size_t bytes, Fault *fault)
{
  uint8_t *block;

  if (device->gpu != NULL)
    return gpu_malloc (bytes, fault);
  block = aligned_alloc (ALIGNMENT_ON_GPU, bytes);
  if (block == NULL)
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for %zu bytes.", bytes);
  return block;
}

static bool
paint_on_host (BenchFrames *frames, BenchPaint paint, void *user, Fault *fault)
{
  if (!paint (&frames->src[0], user, fault))
    return false;
  for (int i = 1; i < frames->n_pairs; i++)
    memcpy (frames->src[i].memory[0].data, frames->src[0].memory[0].data,
        frames->image_size);
  return true;
}

static bool
paint_on_gpu (BenchFrames *frames, const Device *device, BenchPaint paint,
    void *user, Fault *fault)
{
  const ptrdiff_t stride = (ptrdiff_t) frames->image_size;
  uint8_t *block = kerncheck_alloc (frames->image_size);
  Image picture;
  bool ok;

  image_pack (&frames->src[0], ALIGNMENT_ON_GPU, block, &picture);
  ok = paint (&picture, user, fault);
  for (int i = 0; i < frames->n_pairs && ok; i++)
    ok = gpu_copy_rows (frames->src[i].memory[0].data, stride, block, stride,
        frames->image_size, 1, GPU_COPY_UP, device->stream, fault);
  ok = gpu_stream_synchronize (device->stream, ok ? fault : NULL) && ok;
  free (block);
  return ok;
}

bool
bench_frames_paint (BenchFrames *frames, const Device *device, BenchPaint paint,
    void *user, Fault *fault)
{
  return frames->on_device ? paint_on_gpu (frames, device, paint, user, fault)
                           : paint_on_host (frames, paint, user, fault);
}

/* `images`: 2 for pairs, 1 for sources. */
static bool
make (BenchFrames *frames, const Device *device, const Image *layout,
    size_t images, size_t rotation_bytes, Fault *fault)
{
  const size_t turn_bytes = images * image_bytes (layout);
  const size_t n = (rotation_bytes + turn_bytes - 1) / turn_bytes;
  const size_t alignment = alignment_of (device);
  const size_t image_size = image_pack (layout, alignment, NULL, &(Image){ 0 });

  memset (frames, 0, sizeof *frames);
  frames->n_pairs = n < MIN_PAIRS ? MIN_PAIRS : (int) n;
  frames->image_size = image_size;
  frames->on_device = device->gpu != NULL;
  frames->block =
      allocate (device, images * image_size * (size_t) frames->n_pairs, fault);
  if (frames->block == NULL)
    return false;
  frames->src = kerncheck_alloc ((size_t) frames->n_pairs * sizeof (Image));
  if (images == 2)
    frames->dst = kerncheck_alloc ((size_t) frames->n_pairs * sizeof (Image));
  for (int i = 0; i < frames->n_pairs; i++) {
    uint8_t *at = frames->block + images * image_size * (size_t) i;

    image_pack (layout, alignment, at, &frames->src[i]);
    if (images == 2)
      image_pack (layout, alignment, at + image_size, &frames->dst[i]);
  }
  return true;
}

bool
bench_frames_new_sources (BenchFrames *frames, const Device *device,
    const Image *layout, size_t rotation_bytes, Fault *fault)
{
  return make (frames, device, layout, 1, rotation_bytes, fault);
}

bool
bench_frames_new (BenchFrames *frames, const Device *device,
    const Image *layout, size_t rotation_bytes, Fault *fault)
{
  if (!make (frames, device, layout, 2, rotation_bytes, fault))
    return false;
  if (!bench_frames_paint (frames, device, paint_noise, frames, fault)) {
    bench_frames_clear (frames);
    return false;
  }
  /* Writes to every page, as the host maps a page at its first write. */
  for (int i = 0; i < frames->n_pairs && !frames->on_device; i++)
    memset (frames->dst[i].memory[0].data, 0, frames->image_size);
  return true;
}

void
bench_frames_clear (BenchFrames *frames)
{
  if (frames->on_device)
    gpu_free (frames->block);
  else
    free (frames->block);
  free (frames->src);
  free (frames->dst);
  memset (frames, 0, sizeof *frames);
}
