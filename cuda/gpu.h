/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu: one CUDA device and its context, and the few runtime services that the
 * engine's host code needs, each with its result checked and told in words.
 *
 * A build without CUDA has the same functions; gpu_open() then reports
 * FAULT_NOT_FOUND and nothing else can be reached.
 *
 * The context is the device's primary one, retained, so that it is shared with
 * other CUDA libraries in the process, or one that somebody else made. It is never
 * assumed to be current: wrap every use in gpu_push() and gpu_pop(), on whatever
 * thread. The legacy default
 * stream, cudaSetDevice and device-wide synchronisation are never used.
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

/* Number of devices that the driver shows; 0 and a fault when there are none,
 * no driver, or no CUDA in this build. */
int gpu_count (Fault *fault);

/* CUDA versions, 1000 * major + 10 * minor: of this build's runtime, and what the driver
 * has at most. */
bool gpu_versions (int *runtime, int *driver, Fault *fault);

/* Opens device `id`; -1 takes the first that can run this build's kernels.
 * FAULT_NOT_FOUND: no such device, no driver, or kernels built for other
 * architectures, or a process that was forked after its parent had looked for the driver. The
 * caller owns the result. */
Gpu *gpu_open (int id, Fault *fault);
/* Opens a context (CUcontext) of device `id` that somebody else made. `owner` keeps it
 * alive until `release` is called with it, when the last hold is given up; after a
 * failure it is still the caller's. Faults as those of gpu_open(). */
Gpu *gpu_open_context (void *context, int id, void (*release) (void *owner),
    void *owner, Fault *fault);
/* Another hold on it, for something that may outlive the opener; returns it. */
Gpu *gpu_ref (Gpu *gpu);
/* Gives up one hold; NULL is allowed. With the last one, all streams, events and
 * memory made from it must be gone. */
void gpu_close (Gpu *gpu);

int gpu_id (const Gpu *gpu);
/* The CUcontext. */
void *gpu_context (const Gpu *gpu);
const char *gpu_name (const Gpu *gpu);
/* Compute capability as 10 * major + minor; of the code that this build has for the GPU, if
 * that was made for less. */
int gpu_capability (const Gpu *gpu);
/* Whether kernels for this one run on it; NULL: on one that runs all. `why` says what
 * it has instead. */
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
/* Has launches divided as if the GPU had no more than that, or, with 0, for all that it
 * has: for a GPU that is shared, and tests. Not while another thread launches. */
void gpu_limit_multiprocessors (Gpu *gpu, int most);
/* Bytes of shared memory that one block of threads can have, at most. */
size_t gpu_shared_memory (const Gpu *gpu);

/* Makes the context current on this thread, above whatever was; pushes nest. */
bool gpu_push (Gpu *gpu, Fault *fault);
void gpu_pop (Gpu *gpu);

/* Everything below needs the context pushed. Frees accept NULL. */

/* Pinned host memory, which copy engines and kernels of every device reach at the
 * address that the host uses, and device memory; at least 256-byte aligned.
 * Device memory starts zeroed, so that padding never shows another program's
 * data. FAULT_NO_SPACE says how much was asked for. */
void *gpu_malloc_host (size_t bytes, Fault *fault);
void gpu_free_host (void *memory);
void *gpu_malloc (size_t bytes, Fault *fault);
void gpu_free (void *memory);
/* The number of the device that holds the memory, whoever allocated it; -1: the host does. */
bool gpu_memory_device (const void *memory, int *id, Fault *fault);

/* What a run's kernels wait for, of the kernels that were queued on their stream before
 * them. They always wait for copies, and for events that the stream was told to await. */
typedef enum
{
  GPU_AFTER_KERNELS, /* all of them */
  /* None, where a GPU and a method can do that: of neighbours on the stream, one begins
   * while the other goes on. The caller knows that no kernel that may still be running
   * writes what the run reads or writes, or reads what it writes. Whatever is queued
   * after the run comes after all of them as ever, unless it is queued like this
   * itself. */
  GPU_BESIDE_KERNELS,
} GpuOrder;

/* The compute capability that it takes for a kernel to begin before others end. */
#define GPU_EARLY_CAPABILITY 90

static inline bool
gpu_overlaps_kernels (const Gpu *gpu) /* NULL: no GPU */
{
  return gpu != NULL && gpu_capability (gpu) >= GPU_EARLY_CAPABILITY;
}

/* `order`, or what comes of it on this GPU, or without one. */
static inline GpuOrder
gpu_possible_order (const Gpu *gpu, GpuOrder order)
{
  return gpu_overlaps_kernels (gpu) ? order : GPU_AFTER_KERNELS;
}

/* Streams do not synchronise with the legacy default stream. */
bool gpu_stream_new (GpuStream *stream, Fault *fault);
void gpu_stream_free (GpuStream stream);
bool gpu_stream_wait_event (GpuStream stream, GpuEvent event, Fault *fault);
/* Blocks until the stream's work is done; errors of that work come out here. */
bool gpu_stream_synchronize (GpuStream stream, Fault *fault);
/* Whether what is queued on the stream is captured into a graph. Captured work runs later,
 * perhaps several times, and nothing of it may be waited for before. */
bool gpu_stream_is_captured (GpuStream stream, bool *captured, Fault *fault);

/* Events time the work between them. Those without time cost the stream less. */
bool gpu_event_new (GpuEvent *event, Fault *fault);
bool gpu_event_new_untimed (GpuEvent *event, Fault *fault);
void gpu_event_free (GpuEvent event);
bool gpu_event_record (GpuEvent event, GpuStream stream, Fault *fault);
/* Sleeps until the event has come, looking again after naps, each of some 4 us of CPU time:
 * `nap_ns` long at least, then an eighth of the time waited so far, and never more than
 * a millisecond. Sleeping itself takes some microseconds more. */
#define GPU_NAP_NS 8e3
bool gpu_event_synchronize (GpuEvent event, double nap_ns, Fault *fault);
/* Polls until the event has come, *done, but no longer than `ns`, which takes a core: for
 * what had not come just now, and does sooner than a nap ends. */
bool gpu_event_poll (GpuEvent event, double ns, bool *done, Fault *fault);
/* Whether it has come, without waiting. */
bool gpu_event_query (GpuEvent event, bool *done, Fault *fault);
/* Nanoseconds from one completed event to another. */
bool gpu_event_elapsed (GpuEvent start, GpuEvent end, double *ns, Fault *fault);

typedef enum
{
  GPU_COPY_UP,
  GPU_COPY_DOWN,
  GPU_COPY_DEVICE
} GpuCopy;

/* Copies `height` rows of `row_bytes` each; strides in bytes. Rows that follow
 * each other without a gap on both sides travel as one. Pageable host memory is
 * allowed; the call may then wait for the copy. */
bool gpu_copy_rows (uint8_t *dst, ptrdiff_t dst_stride, const uint8_t *src,
    ptrdiff_t src_stride, size_t row_bytes, int height, GpuCopy kind,
    GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
