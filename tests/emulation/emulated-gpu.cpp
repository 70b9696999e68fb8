/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-gpu: stands in for cuda/gpu.c. One GPU, whose memory is the host's. */
#include "gpu.h"

#include "gpu-check.h"

#include <stdlib.h>
#include <string.h>

/* Of every pointer, as CUDA's allocations have it. */
#define ALIGNMENT 256

struct Gpu
{
  int id;
};

static Gpu the_gpu;

/* Streams and events hold nothing: whatever was queued is done. */
static int anything;

bool
gpu_fault (Fault *fault, int status, const char *call)
{
  fault_set (fault, FAULT_FAILED, "The emulated GPU refuses %s: error %d.",
      call, status);
  return false;
}

int
gpu_count (Fault *)
{
  return 1;
}

Gpu *
gpu_open (int id, Fault *fault)
{
  if (id <= 0)
    return &the_gpu;
  fault_set (fault, FAULT_NOT_FOUND, "There is no GPU %d.", id);
  return NULL;
}

Gpu *
gpu_ref (Gpu *gpu)
{
  return gpu;
}

void
gpu_close (Gpu *)
{
}

int
gpu_id (const Gpu *)
{
  return 0;
}

const char *
gpu_name (const Gpu *)
{
  return "emulated";
}

int
gpu_capability (const Gpu *)
{
  return 90;
}

int
gpu_multiprocessors (const Gpu *)
{
  return 2;
}

size_t
gpu_shared_memory (const Gpu *)
{
  return 227 * 1024;
}

bool
gpu_push (Gpu *, Fault *)
{
  return true;
}

void
gpu_pop (Gpu *)
{
}

void *
gpu_malloc (size_t bytes, Fault *fault)
{
  void *memory = NULL;

  if (posix_memalign (&memory, ALIGNMENT, bytes == 0 ? 1 : bytes) != 0) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for %zu bytes.", bytes);
    return NULL;
  }
  memset (memory, 0, bytes);
  return memory;
}

void
gpu_free (void *memory)
{
  free (memory);
}

void *
gpu_malloc_host (size_t bytes, Fault *fault)
{
  return gpu_malloc (bytes, fault);
}

void
gpu_free_host (void *memory)
{
  free (memory);
}

bool
gpu_stream_new (GpuStream *stream, Fault *)
{
  *stream = (GpuStream) (void *) &anything;
  return true;
}

void
gpu_stream_free (GpuStream)
{
}

bool
gpu_stream_wait_event (GpuStream, GpuEvent, Fault *)
{
  return true;
}

bool
gpu_stream_synchronize (GpuStream, Fault *)
{
  return true;
}

bool
gpu_event_new (GpuEvent *event, Fault *)
{
  *event = (GpuEvent) (void *) &anything;
  return true;
}

bool
gpu_event_new_untimed (GpuEvent *event, Fault *fault)
{
  return gpu_event_new (event, fault);
}

void
gpu_event_free (GpuEvent)
{
}

bool
gpu_event_record (GpuEvent, GpuStream, Fault *)
{
  return true;
}

bool
gpu_event_synchronize (GpuEvent, Fault *)
{
  return true;
}

bool
gpu_event_query (GpuEvent, bool *done, Fault *)
{
  *done = true;
  return true;
}

bool
gpu_event_elapsed (GpuEvent, GpuEvent, double *ns, Fault *)
{
  *ns = 1.0;
  return true;
}

bool
gpu_copy_rows (uint8_t *dst, ptrdiff_t dst_stride, const uint8_t *src,
    ptrdiff_t src_stride, size_t row_bytes, int height, GpuCopy, GpuStream,
    Fault *)
{
  for (int y = 0; y < height; y++)
    memcpy (dst + y * dst_stride, src + y * src_stride, row_bytes);
  return true;
}

cudaError_t
cudaDeviceGetAttribute (int *value, int attribute, int)
{
  static const int values[] = { 512, 32, 2097120, 131072, 65000,
    227 * 1024, 228 * 1024 };

  *value = values[attribute];
  return cudaSuccess;
}
