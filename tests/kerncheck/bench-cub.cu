/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-cub.h"

#include "gpu-check.h"

#include <cub/device/device_histogram.cuh>

#include <stdio.h>

/* The type of per-channel arguments, by CUB's version. */
#if CUB_VERSION >= 300000
template <typename Value, int CHANNELS>
using PerChannel = cuda::std::array<Value, CHANNELS>;
#else
template <typename Value, int CHANNELS> using PerChannel = Value[CHANNELS];
#endif

typedef cudaError_t (*Count) (void *scratch, size_t *scratch_bytes,
    const Image *src, int plane, int bins, uint32_t *counts, GpuStream stream);

/* For one channel HistogramEven() makes the same call. */
template <typename Sample, int CHANNELS>
static cudaError_t
count (void *scratch, size_t *scratch_bytes, const Image *src, int p, int bins,
    uint32_t *counts, GpuStream stream)
{
  const ImagePlane *plane = &src->plane[p];
  const ImageMemory *memory = &src->memory[plane->memory];
  PerChannel<uint32_t *, CHANNELS> histogram;
  PerChannel<int, CHANNELS> levels, lower, upper;

  for (int c = 0; c < CHANNELS; c++) {
    histogram[c] = counts + (size_t) c * bins;
    levels[c] = bins + 1;
    lower[c] = 0;
    upper[c] = 1 << (plane->depth + plane->shift);
  }
  return cub::DeviceHistogram::MultiHistogramEven<CHANNELS, CHANNELS> (scratch,
      *scratch_bytes, (const Sample *) (memory->data + plane->offset),
      histogram, levels, lower, upper, plane->width, memory->height,
      (size_t) memory->stride, stream);
}

/* NULL: CUB has no histogram for planes like this. */
static Count
count_for (const ImagePlane *plane)
{
  const int bytes = image_sample_bytes (plane);

  if (plane->pixel_stride != bytes * plane->channels)
    return NULL;
  if (bytes == 1)
    switch (plane->channels) {
      case 1:
        return count<uint8_t, 1>;
      case 2:
        return count<uint8_t, 2>;
      case 4:
        return count<uint8_t, 4>;
      default:
        return NULL;
    }
  switch (plane->channels) {
    case 1:
      return count<uint16_t, 1>;
    case 2:
      return count<uint16_t, 2>;
    default:
      return NULL;
  }
}

const char *
bench_cub_version (void)
{
  static char version[32];

  snprintf (version, sizeof version, "%d.%d.%d", CUB_MAJOR_VERSION,
      CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
  return version;
}

bool
bench_cub_count (void *scratch, size_t *scratch_bytes, const Image *src,
    int plane, int bins, uint32_t *counts, GpuStream stream, Fault *fault)
{
  const Count count = count_for (&src->plane[plane]);
  cudaError_t status;
  bool ok = false;

  if (count == NULL)
    return fault_set (fault, FAULT_UNSUPPORTED,
        "CUB is not asked for planes like plane %d.", plane);
  status = count (scratch, scratch_bytes, src, plane, bins, counts, stream);
  if (status == cudaErrorInvalidValue) {
    (void) cudaGetLastError ();
    return fault_set (fault, FAULT_UNSUPPORTED,
        "CUB does not take %d bins of plane %d.", bins, plane);
  }
  GPU_CHECK (status, fault);
  ok = true;
done:
  return ok;
}
