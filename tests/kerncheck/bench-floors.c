/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-floors.h"

#include "bench-cuda.h"
#include "bench-timer.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const BenchFrames *frames;
  size_t bytes; /* of a frame, without what pads its rows */
} Copy;

static bool
launch_memcpy (void *user, int pair, GpuStream stream, Fault *fault)
{
  const Copy *copy = user;
  uint8_t *dst = copy->frames->dst[pair].memory[0].data;
  const uint8_t *src = copy->frames->src[pair].memory[0].data;
  const ptrdiff_t stride = (ptrdiff_t) copy->bytes;

  if (copy->frames->on_device)
    return gpu_copy_rows (dst, stride, src, stride, copy->bytes, 1,
        GPU_COPY_DEVICE, stream, fault);
  memcpy (dst, src, copy->bytes);
  return true;
}

static bool
launch_kernel (void *user, int pair, GpuStream stream, Fault *fault)
{
  const Copy *copy = user;

  return bench_copy_kernel (copy->frames->dst[pair].memory[0].data,
      copy->frames->src[pair].memory[0].data, copy->bytes, stream, fault);
}

bool
bench_floors_measure (const Device *device, const BenchFrames *frames,
    BenchFloors *floors, Fault *fault)
{
  Copy copy = { frames, image_bytes (&frames->src[0]) };
  BenchTime time;

  if (!bench_time (device, launch_memcpy, &copy, frames->n_pairs, &time, fault))
    return false;
  floors->memcpy_us = floors->copy_us = time.us.median;
  floors->kernel_us = NAN;
  if (device->gpu == NULL)
    return true;
  if (!bench_time (device, launch_kernel, &copy, frames->n_pairs, &time, fault))
    return false;
  floors->kernel_us = time.us.median;
  floors->copy_us = fmin (floors->memcpy_us, floors->kernel_us);
  return true;
}
