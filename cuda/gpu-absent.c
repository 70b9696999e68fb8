/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu in a build without CUDA: no device is ever found. */
#include "gpu.h"

static bool
absent (Fault *fault)
{
  return fault_set (fault, FAULT_NOT_FOUND, "This build has no CUDA support.");
}

int
gpu_count (Fault *fault)
{
  absent (fault);
  return 0;
}

bool
gpu_versions (int *runtime, int *driver, Fault *fault)
{
  (void) runtime;
  (void) driver;
  return absent (fault);
}

Gpu *
gpu_open (int id, Fault *fault)
{
  (void) id;
  absent (fault);
  return NULL;
}

Gpu *
gpu_open_context (void *context, int id, void (*release) (void *owner),
    void *owner, Fault *fault)
{
  (void) context;
  (void) release;
  (void) owner;
  return gpu_open (id, fault);
}

Gpu *
gpu_ref (Gpu *gpu)
{
  return gpu;
}

void
gpu_close (Gpu *gpu)
{
  (void) gpu;
}

int
gpu_id (const Gpu *gpu)
{
  (void) gpu;
  return -1;
}

void *
gpu_context (const Gpu *gpu)
{
  (void) gpu;
  return NULL;
}

const char *
gpu_name (const Gpu *gpu)
{
  (void) gpu;
  return "none";
}

int
gpu_capability (const Gpu *gpu)
{
  (void) gpu;
  return 0;
}

int
gpu_multiprocessors (const Gpu *gpu)
{
  (void) gpu;
  return 0;
}

void
gpu_limit_multiprocessors (Gpu *gpu, int most)
{
  (void) gpu;
  (void) most;
}

size_t
gpu_shared_memory (const Gpu *gpu)
{
  (void) gpu;
  return 0;
}

bool
gpu_push (Gpu *gpu, Fault *fault)
{
  (void) gpu;
  return absent (fault);
}

void
gpu_pop (Gpu *gpu)
{
  (void) gpu;
}

void *
gpu_malloc_host (size_t bytes, Fault *fault)
{
  (void) bytes;
  absent (fault);
  return NULL;
}

void
gpu_free_host (void *memory)
{
  (void) memory;
}

void *
gpu_malloc (size_t bytes, Fault *fault)
{
  (void) bytes;
  absent (fault);
  return NULL;
}

void
gpu_free (void *memory)
{
  (void) memory;
}

bool
gpu_memory_device (const void *memory, int *id, Fault *fault)
{
  (void) memory;
  *id = -1;
  return absent (fault);
}

bool
gpu_stream_is_captured (GpuStream stream, bool *captured, Fault *fault)
{
  (void) stream;
  *captured = false;
  return absent (fault);
}

bool
gpu_stream_new (GpuStream *stream, Fault *fault)
{
  *stream = NULL;
  return absent (fault);
}

void
gpu_stream_free (GpuStream stream)
{
  (void) stream;
}

bool
gpu_stream_wait_event (GpuStream stream, GpuEvent event, Fault *fault)
{
  (void) stream;
  (void) event;
  return absent (fault);
}

bool
gpu_stream_synchronize (GpuStream stream, Fault *fault)
{
  (void) stream;
  return absent (fault);
}

bool
gpu_event_new (GpuEvent *event, Fault *fault)
{
  *event = NULL;
  return absent (fault);
}

bool
gpu_event_new_untimed (GpuEvent *event, Fault *fault)
{
  *event = NULL;
  return absent (fault);
}

void
gpu_event_free (GpuEvent event)
{
  (void) event;
}

bool
gpu_event_record (GpuEvent event, GpuStream stream, Fault *fault)
{
  (void) event;
  (void) stream;
  return absent (fault);
}

bool
gpu_event_synchronize (GpuEvent event, double nap_ns, Fault *fault)
{
  (void) nap_ns;
  (void) event;
  return absent (fault);
}

bool
gpu_event_poll (GpuEvent event, double ns, bool *done, Fault *fault)
{
  (void) ns;
  return gpu_event_query (event, done, fault);
}

bool
gpu_event_query (GpuEvent event, bool *done, Fault *fault)
{
  (void) event;
  *done = false;
  return absent (fault);
}

bool
gpu_event_elapsed (GpuEvent start, GpuEvent end, double *ns, Fault *fault)
{
  (void) start;
  (void) end;
  *ns = 0.0;
  return absent (fault);
}

bool
gpu_copy_rows (uint8_t *dst, ptrdiff_t dst_stride, const uint8_t *src,
    ptrdiff_t src_stride, size_t row_bytes, int height, GpuCopy kind,
    GpuStream stream, Fault *fault)
{
  (void) dst;
  (void) dst_stride;
  (void) src;
  (void) src_stride;
  (void) row_bytes;
  (void) height;
  (void) kind;
  (void) stream;
  return absent (fault);
}
