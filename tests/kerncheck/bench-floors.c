/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-floors.h"

#include "bench-cuda.h"
#include "bench-grid.h"
#include "bench-measure.h"
#include "bench-timer.h"

#include <math.h>
#include <string.h>

/* Loads in flight per thread of bench_read_kernel(). More have no effect: the compiler
 * delays loads that would take registers from other threads. */
#define MAX_LOADS 4

typedef struct
{
  const Gpu *gpu;
  const BenchFrames *frames;
  size_t bytes; /* bytes of a frame, without the padding of rows */
  GpuOrder order;
} Copy;

static bool
launch_memcpy (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const Copy *copy = user;
  uint8_t *dst = copy->frames->dst[pair].memory[0].data;
  const uint8_t *src = copy->frames->src[pair].memory[0].data;
  const ptrdiff_t stride = (ptrdiff_t) copy->bytes;

  (void) turn;
  if (copy->frames->on_device)
    return gpu_copy_rows (dst, stride, src, stride, copy->bytes, 1,
        GPU_COPY_DEVICE, stream, fault);
  memcpy (dst, src, copy->bytes);
  return true;
}

static bool
launch_kernel (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const Copy *copy = user;

  (void) turn;
  return bench_copy_kernel (copy->gpu, copy->frames->dst[pair].memory[0].data,
      copy->frames->src[pair].memory[0].data, copy->bytes, stream, copy->order,
      fault);
}

bool
bench_floors_measure (const Device *device, const BenchFrames *frames,
    BenchFloors *floors, Fault *fault)
{
  Copy copy = { device->gpu, frames, image_bytes (&frames->src[0]),
    GPU_AFTER_KERNELS };
  const BenchWork by_memcpy = { launch_memcpy, &copy, frames->n_pairs, 1 };
  const BenchWork by_kernel = { launch_kernel, &copy, frames->n_pairs, 1 };
  BenchTime time;

  if (!bench_time (device, &by_memcpy, &time, fault))
    return false;
  floors->memcpy_us = floors->copy_us = time.us.median;
  floors->kernel_us = floors->overlapping_us = NAN;
  if (device->gpu == NULL)
    return true;
  if (!bench_time (device, &by_kernel, &time, fault))
    return false;
  floors->kernel_us = time.us.median;
  floors->copy_us = fmin (floors->memcpy_us, floors->kernel_us);
  copy.order = GPU_BESIDE_KERNELS;
  if (!bench_time (device, &by_kernel, &time, fault))
    return false;
  floors->overlapping_us = time.us.median;
  return true;
}

bool
bench_floors_sustain (const Device *device, const BenchFrames *frames,
    double seconds, BenchSustainedFloors *floors, Fault *fault)
{
  Copy copy = { device->gpu, frames, image_bytes (&frames->src[0]),
    GPU_AFTER_KERNELS };
  const BenchWork by_memcpy = { launch_memcpy, &copy, frames->n_pairs, 1 };
  const BenchWork by_kernel = { launch_kernel, &copy, frames->n_pairs, 1 };
  double kernel_us;

  floors->overlapped_us = NAN;
  if (!bench_time_sustained (
          device, &by_memcpy, seconds, &floors->back_to_back_us, fault))
    return false;
  if (device->gpu == NULL)
    return true;
  if (!bench_time_sustained (device, &by_kernel, seconds, &kernel_us, fault))
    return false;
  floors->back_to_back_us = fmin (floors->back_to_back_us, kernel_us);
  copy.order = GPU_BESIDE_KERNELS;
  return bench_time_sustained (
      device, &by_kernel, seconds, &floors->overlapped_us, fault);
}

typedef struct
{
  const Gpu *gpu;
  const BenchFrames *frames;
  size_t bytes; /* as for a copy */
  int loads;
  uint32_t *sums; /* [BENCH_READ_SUMS] */
  GpuOrder order;
} Read;

static bool
launch_read (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const Read *read = user;

  (void) turn;
  return bench_read_kernel (read->gpu, read->frames->src[pair].memory[0].data,
      read->bytes, read->loads, read->sums, stream, read->order, fault);
}

/* The fastest number of loads, in the order of `read`. */
static bool
time_reads (
    const Device *device, Read *read, double *us, int *loads, Fault *fault)
{
  BenchTime time;

  *us = INFINITY;
  for (read->loads = 1; read->loads <= MAX_LOADS; read->loads *= 2) {
    if (!bench_time (device,
            &(BenchWork){ launch_read, read, read->frames->n_pairs, 1 }, &time,
            fault))
      return false;
    if (time.us.median < *us) {
      *us = time.us.median;
      *loads = read->loads;
    }
  }
  return true;
}

bool
bench_floors_read (const Device *device, const BenchFrames *frames,
    BenchRead *fastest, Fault *fault)
{
  Read read = { device->gpu, frames, image_bytes (&frames->src[0]), 0, NULL,
    GPU_AFTER_KERNELS };
  int loads;
  bool ok;

  *fastest = (BenchRead){ NAN, 0, NAN };
  if (device->gpu == NULL)
    return true;
  read.sums = gpu_malloc (BENCH_READ_SUMS * sizeof *read.sums, fault);
  ok = read.sums != NULL
      && time_reads (device, &read, &fastest->us, &fastest->loads, fault);
  read.order = GPU_BESIDE_KERNELS;
  ok =
      ok && time_reads (device, &read, &fastest->overlapping_us, &loads, fault);
  gpu_free (read.sums);
  return ok;
}

bool
bench_warm_up (
    const Device *device, const BenchFrames *frames, bool *warm, Fault *fault)
{
  const double start = bench_now_ns ();
  BenchFloors floors;
  BenchRead read;

  while (device->gpu != NULL && !*warm) {
    if (!(frames->dst == NULL
                ? bench_floors_read (device, frames, &read, fault)
                : bench_floors_measure (device, frames, &floors, fault)))
      return false;
    *warm = bench_now_ns () - start > BENCH_WARM_NS;
  }
  return true;
}
