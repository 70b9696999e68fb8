/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu: one CUDA device and its context, and the few runtime services that the
 * engine's host code needs. Each checks its result and reports failure as a Fault.
 *
 * A build without CUDA has the same functions: gpu_open() then reports
 * FAULT_NOT_FOUND, so that no other function can be used.
 *
 * The context is the device's primary one, retained, so that it is shared with
 * other CUDA libraries in the process; or one that the caller brings. It is never
 * assumed to be current: wrap every use in gpu_push() and gpu_pop(), on every
 * thread. The legacy default stream, cudaSetDevice and device-wide synchronisation
 * are never used.
 *
 * Thread safety: a Gpu may be used from any number of threads at once; streams,
 * events and memory as CUDA allows. */
#pragma once

#include "fault.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Gpu Gpu;
/* The CUDA runtime's own handle types, without its headers. */
typedef struct CUstream_st *GpuStream;
typedef struct CUevent_st *GpuEvent;

/* Number of devices that the driver reports; 0 and a fault if there are no devices,
 * no driver, or no CUDA in this build. */
int gpu_count (Fault *fault);

/* CUDA versions, 1000 * major + 10 * minor: this build's runtime, and the newest one that
 * the driver supports. */
bool gpu_versions (int *runtime, int *driver, Fault *fault);

/* Opens device `id`; -1: the first one that can run this build's kernels.
 * FAULT_NOT_FOUND: no such device, no driver, kernels built for other architectures, or
 * a process that was forked after its parent had loaded the driver. The caller owns the
 * result. */
Gpu *gpu_open (int id, Fault *fault);
/* Opens a context (CUcontext) of device `id` that the caller brings. `owner` keeps the
 * context alive; release (owner) is called when the last reference is dropped. After a
 * failure the caller still has `owner`. Faults as for gpu_open(). */
Gpu *gpu_open_context (void *context, int id, void (*release) (void *owner),
    void *owner, Fault *fault);
/* Adds a reference, for an object that may outlive the opener; returns `gpu`. */
Gpu *gpu_ref (Gpu *gpu);
/* Drops one reference; NULL is allowed. Before the last one is dropped, all streams,
 * events and memory made from the Gpu must have been freed. */
void gpu_close (Gpu *gpu);

int gpu_id (const Gpu *gpu);
/* The CUcontext. */
void *gpu_context (const Gpu *gpu);
const char *gpu_name (const Gpu *gpu);
/* Compute capability as 10 * major + minor: the GPU's, or the one that this build's code for
 * the GPU was made for, if that is lower. */
int gpu_capability (const Gpu *gpu);
/* Whether kernels for `capability` run on the GPU; NULL: assume one that runs all. If
 * not, `why` names the GPU's capability. */
static inline bool
gpu_has_capability (const Gpu *gpu, int capability, Fault *why)
{
  if (gpu != NULL && gpu_capability (gpu) < capability)
    return fault_set (why, FAULT_UNSUPPORTED,
        "it needs compute capability %d.%d, and %s has %d.%d", capability / 10,
        capability % 10, gpu_name (gpu), gpu_capability (gpu) / 10,
        gpu_capability (gpu) % 10);
  return true;
}
int gpu_multiprocessors (const Gpu *gpu);
/* Makes launches divide their work as if the GPU had at most this many multiprocessors;
 * 0: all. For shared GPUs and tests. Do not call it while another thread launches. */
void gpu_limit_multiprocessors (Gpu *gpu, int most);
/* The most bytes of shared memory that one block can have. */
size_t gpu_shared_memory (const Gpu *gpu);

/* Makes the context current on this thread, on top of the current one; pushes nest. */
bool gpu_push (Gpu *gpu, Fault *fault);
void gpu_pop (Gpu *gpu);

/* Everything below needs the context pushed. Frees accept NULL. */

/* Allocates pinned host memory, which copy engines and kernels of every device access at
 * its host address; or device memory. Both are at least 256-byte aligned. Device memory
 * starts zeroed, so that padding never shows another program's data. FAULT_NO_SPACE
 * reports the size that was asked for. */
void *gpu_malloc_host (size_t bytes, Fault *fault);
void gpu_free_host (void *memory);
void *gpu_malloc (size_t bytes, Fault *fault);
void gpu_free (void *memory);
/* The id of the device that holds the memory, whoever allocated it; -1: host memory. */
bool gpu_memory_device (const void *memory, int *id, Fault *fault);

/* The order of a run's kernels with kernels that were queued on their stream before. A run
 * always waits for earlier copies, and for events that the stream waits for. */
typedef enum
{
  GPU_AFTER_KERNELS, /* back to back: waits for all of them */
  /* Waits for none of them, where GPU and method support this: neighbouring kernels on
   * the stream overlap. The caller guarantees that no kernel that may still be running
   * writes memory that the run reads or writes, or reads memory that it writes. Work that
   * is queued after the run waits for all these kernels as usual, unless it is queued with
   * GPU_BESIDE_KERNELS itself. */
  GPU_BESIDE_KERNELS,
} GpuOrder;

/* The least compute capability for programmatic dependent launch, by which a kernel
 * begins before earlier ones end. */
#define GPU_EARLY_CAPABILITY 90

static inline bool
gpu_overlaps_kernels (const Gpu *gpu) /* NULL: no GPU */
{
  return gpu != NULL && gpu_capability (gpu) >= GPU_EARLY_CAPABILITY;
}

/* `order`, or GPU_AFTER_KERNELS where kernels cannot overlap; NULL: no GPU. */
static inline GpuOrder
gpu_possible_order (const Gpu *gpu, GpuOrder order)
{
  return gpu_overlaps_kernels (gpu) ? order : GPU_AFTER_KERNELS;
}

/* The most streams on which work of successive frames is queued in turn. */
#define GPU_MAX_TURNS 4

/* Streams do not synchronise with the legacy default stream. */
bool gpu_stream_new (GpuStream *stream, Fault *fault);
void gpu_stream_free (GpuStream stream);
bool gpu_stream_wait_event (GpuStream stream, GpuEvent event, Fault *fault);
/* Blocks until the stream's work is done; reports errors of that work. */
bool gpu_stream_synchronize (GpuStream stream, Fault *fault);
/* Whether work that is queued on the stream is being captured into a graph. Captured work
 * runs later, perhaps several times, and must not be waited for during the capture. */
bool gpu_stream_is_captured (GpuStream stream, bool *captured, Fault *fault);

/* Two timed events measure the work between them. Untimed events cost the stream less. */
bool gpu_event_new (GpuEvent *event, Fault *fault);
bool gpu_event_new_untimed (GpuEvent *event, Fault *fault);
void gpu_event_free (GpuEvent event);
bool gpu_event_record (GpuEvent event, GpuStream stream, Fault *fault);
/* Waits until the event has completed, by queries with naps between them. A nap lasts an
 * eighth of the time waited so far, at least `nap_ns` and at most 1 ms, costs about 4 us of
 * CPU time, and ends some microseconds late. */
#define GPU_NAP_NS 8e3
bool gpu_event_synchronize (GpuEvent event, double nap_ns, Fault *fault);
/* Polls until the event has completed, or for `ns`; *done reports which. Keeps a core busy:
 * for events that are likely to complete before a nap would end. */
bool gpu_event_poll (GpuEvent event, double ns, bool *done, Fault *fault);
/* Whether the event has completed, without waiting. */
bool gpu_event_query (GpuEvent event, bool *done, Fault *fault);
/* Nanoseconds from one completed event to another. */
bool gpu_event_elapsed (GpuEvent start, GpuEvent end, double *ns, Fault *fault);

typedef enum
{
  GPU_COPY_UP,
  GPU_COPY_DOWN,
  GPU_COPY_DEVICE
} GpuCopy;

/* Queues the copy of `height` rows of `row_bytes` each; strides in bytes. Rows without a
 * gap on both sides go in one copy. Pageable host memory is allowed; the call may then
 * wait for the copy. */
bool gpu_copy_rows (uint8_t *dst, ptrdiff_t dst_stride, const uint8_t *src,
    ptrdiff_t src_stride, size_t row_bytes, int height, GpuCopy kind,
    GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
