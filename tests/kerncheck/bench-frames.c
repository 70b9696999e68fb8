/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-frames.h"

#include <stdlib.h>
#include <string.h>

/* Strides and planes begin at multiples of this, as in a pool's buffers. */
#define ALIGNMENT 256

static void
fill_noise (uint8_t *bytes, size_t n)
{
  Random random = { 1 };

  for (size_t i = 0; i < n; i += sizeof (uint64_t)) {
    const uint64_t noise = random_next (&random);

    memcpy (bytes + i, &noise, n - i < sizeof noise ? n - i : sizeof noise);
  }
}

static uint8_t *
allocate (const Device *device, size_t bytes, Fault *fault)
{
  uint8_t *block;

  if (device->gpu != NULL)
    return gpu_malloc (bytes, fault);
  block = aligned_alloc (ALIGNMENT, bytes);
  if (block == NULL)
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for %zu bytes.", bytes);
  return block;
}

/* The host maps a page when it is first written to: destinations are, too. */
static void
fill_on_host (BenchFrames *frames, size_t image_size)
{
  for (int i = 0; i < frames->n_pairs; i++) {
    fill_noise (frames->src[i].memory[0].data, image_size);
    memset (frames->dst[i].memory[0].data, 0, image_size);
  }
}

/* The same noise in every source: no cache knows its lines by their content. */
static bool
fill_on_gpu (
    BenchFrames *frames, const Device *device, size_t image_size, Fault *fault)
{
  const ptrdiff_t stride = (ptrdiff_t) image_size;
  uint8_t *noise = kerncheck_alloc (image_size);
  bool ok = true;

  fill_noise (noise, image_size);
  for (int i = 0; i < frames->n_pairs && ok; i++)
    ok = gpu_copy_rows (frames->src[i].memory[0].data, stride, noise, stride,
        image_size, 1, GPU_COPY_UP, device->stream, fault);
  ok = gpu_stream_synchronize (device->stream, ok ? fault : NULL) && ok;
  free (noise);
  return ok;
}

bool
bench_frames_new (BenchFrames *frames, const Device *device,
    const Image *layout, size_t rotation_bytes, Fault *fault)
{
  const size_t pair_bytes = 2 * image_bytes (layout);
  const size_t n = (rotation_bytes + pair_bytes - 1) / pair_bytes;
  const size_t image_size = image_pack (layout, ALIGNMENT, NULL, &(Image){ 0 });

  frames->n_pairs = n < 2 ? 2 : (int) n;
  frames->on_device = device->gpu != NULL;
  frames->block =
      allocate (device, 2 * image_size * (size_t) frames->n_pairs, fault);
  if (frames->block == NULL)
    return false;
  frames->src = kerncheck_alloc ((size_t) frames->n_pairs * sizeof (Image));
  frames->dst = kerncheck_alloc ((size_t) frames->n_pairs * sizeof (Image));
  for (int i = 0; i < frames->n_pairs; i++) {
    uint8_t *pair = frames->block + 2 * image_size * (size_t) i;

    image_pack (layout, ALIGNMENT, pair, &frames->src[i]);
    image_pack (layout, ALIGNMENT, pair + image_size, &frames->dst[i]);
  }
  if (!frames->on_device) {
    fill_on_host (frames, image_size);
  } else if (!fill_on_gpu (frames, device, image_size, fault)) {
    bench_frames_clear (frames);
    return false;
  }
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
