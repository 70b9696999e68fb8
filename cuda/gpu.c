/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu.h"

#include "gpu-check.h"
#include "hostclock.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* The length of a nap before the next query, as a part of the time waited so far. */
#define NAP_PART 0.125
#define NAP_MAX_NS 1e6
/* Pause before each poll: other threads need the driver, too. */
#define POLL_PAUSE_NS 500

/* The runtime is linked statically, and the driver is loaded when first needed, so that
 * a program also starts on a machine without a driver. */
static struct
{
  CUresult (*device_get) (CUdevice *, int);
  CUresult (*context_retain) (CUcontext *, CUdevice);
  CUresult (*context_release) (CUdevice);
  CUresult (*context_push) (CUcontext);
  CUresult (*context_pop) (CUcontext *);
  bool ready;
  pid_t process; /* that loaded the driver */
} driver;

static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

struct Gpu
{
  atomic_int holds;
  int id;
  CUdevice device;
  CUcontext context;
  void (*release) (void *owner); /* NULL: the context is the primary one */
  void *owner;
  char name[256];
  int capability;
  int multiprocessors, multiprocessors_limit; /* limit 0: none */
  size_t shared_memory;
};

bool
gpu_fault (Fault *fault, int status, const char *call)
{
  const cudaError_t error = (cudaError_t) status;
  FaultKind kind = FAULT_FAILED;
  const char *what = "The GPU reported an error";

  if (error == cudaErrorMemoryAllocation) {
    kind = FAULT_NO_SPACE;
    what = "The GPU's driver is out of memory";
  } else if (error == cudaErrorNoKernelImageForDevice) {
    kind = FAULT_NOT_FOUND;
    what = "This build has no kernels for the GPU";
  }
  fault_set (fault, kind, "%s: %s.", what, cudaGetErrorString (error));
  fault_detail (fault, "%s: %s", call, cudaGetErrorName (error));
  /* Clears an error that is not sticky; the next call reports a sticky one again. */
  (void) cudaGetLastError ();
  return false;
}

static void
load_driver (void)
{
  void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CUresult (*init) (unsigned) = NULL;

  driver.process = getpid ();
  if (library == NULL)
    return;
  /* POSIX lets dlsym() results be stored through a void pointer's address. */
  *(void **) &init = dlsym (library, "cuInit");
  *(void **) &driver.device_get = dlsym (library, "cuDeviceGet");
  *(void **) &driver.context_retain =
      dlsym (library, "cuDevicePrimaryCtxRetain");
  *(void **) &driver.context_release =
      dlsym (library, "cuDevicePrimaryCtxRelease_v2");
  *(void **) &driver.context_push = dlsym (library, "cuCtxPushCurrent_v2");
  *(void **) &driver.context_pop = dlsym (library, "cuCtxPopCurrent_v2");
  driver.ready = init != NULL && driver.device_get != NULL
      && driver.context_retain != NULL && driver.context_release != NULL
      && driver.context_push != NULL && driver.context_pop != NULL
      && init (0) == CUDA_SUCCESS;
}

static bool
driver_fault (Fault *fault, CUresult status, const char *call)
{
  fault_set (fault,
      status == CUDA_ERROR_OUT_OF_MEMORY ? FAULT_NO_SPACE : FAULT_FAILED,
      "The GPU's driver reported error %d.", (int) status);
  fault_detail (fault, "%s: CUresult %d", call, (int) status);
  return false;
}

static bool
have_driver (Fault *fault)
{
  pthread_once (&driver_once, load_driver);
  if (!driver.ready) {
    fault_set (fault, FAULT_NOT_FOUND, "There is no working NVIDIA driver.");
    fault_detail (fault, "libcuda.so.1 cannot be loaded or initialised");
    return false;
  }
  /* In a forked process the driver only reports that it is not initialised, and contexts belong
   * to the parent. */
  if (driver.process != getpid ()) {
    fault_set (fault, FAULT_NOT_FOUND,
        "A process that was forked after its parent had used the GPU cannot use it: start a "
        "program of its own instead, as multiprocessing's \"spawn\" does.");
    fault_detail (fault, "forked from process %ld", (long) driver.process);
    return false;
  }
  return true;
}

int
gpu_count (Fault *fault)
{
  int n = 0;
  cudaError_t status;

  if (!have_driver (fault))
    return 0;
  status = cudaGetDeviceCount (&n);
  if (status != cudaSuccess) {
    gpu_fault (fault, status, "cudaGetDeviceCount");
    if (fault != NULL)
      fault->kind = FAULT_NOT_FOUND;
    return 0;
  }
  if (n == 0)
    fault_set (fault, FAULT_NOT_FOUND, "The NVIDIA driver shows no GPU.");
  return n;
}

bool
gpu_versions (int *runtime, int *driver, Fault *fault)
{
  bool ok = false;

  GPU_CHECK (cudaRuntimeGetVersion (runtime), fault);
  GPU_CHECK (cudaDriverGetVersion (driver), fault);
  ok = true;
done:
  return ok;
}

static bool
describe (Gpu *gpu, Fault *fault)
{
  struct cudaDeviceProp properties;
  bool ok = false;

  GPU_CHECK (cudaGetDeviceProperties (&properties, gpu->id), fault);
  gpu->capability = 10 * properties.major + properties.minor;
  gpu->multiprocessors = properties.multiProcessorCount;
  gpu->shared_memory = properties.sharedMemPerBlockOptin;
  for (size_t i = 0; i + 1 < sizeof gpu->name && properties.name[i]; i++)
    gpu->name[i] = properties.name[i];
  ok = true;
done:
  return ok;
}

static Gpu *
new_gpu (int id, Fault *fault)
{
  Gpu *gpu = calloc (1, sizeof *gpu);

  if (gpu == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for a GPU's handle.");
    return NULL;
  }
  atomic_init (&gpu->holds, 1);
  gpu->id = id;
  return gpu;
}

/* Reads the device's properties, and checks that this build's kernels run in the context. */
static bool
examine (Gpu *gpu, Fault *fault)
{
  int code = 0;
  bool ok;

  if (!gpu_push (gpu, fault))
    return false;
  ok = describe (gpu, fault) && gpu_probe (&code, fault);
  /* Code that was compiled for an older GPU lacks the parts that need a newer one. */
  if (ok && code > 0 && code < gpu->capability)
    gpu->capability = code;
  gpu_pop (gpu);
  return ok;
}

/* Opens device `id`, without trying another one after a failure. */
static Gpu *
open_device (int id, Fault *fault)
{
  Gpu *gpu = new_gpu (id, fault);
  const char *call = "cuDeviceGet";
  CUresult status;

  if (gpu == NULL)
    return NULL;
  status = driver.device_get (&gpu->device, id);
  if (status == CUDA_SUCCESS) {
    call = "cuDevicePrimaryCtxRetain";
    status = driver.context_retain (&gpu->context, gpu->device);
  }
  if (status != CUDA_SUCCESS) {
    driver_fault (fault, status, call);
    free (gpu);
    return NULL;
  }
  if (!examine (gpu, fault)) {
    gpu_close (gpu);
    return NULL;
  }
  return gpu;
}

Gpu *
gpu_open (int id, Fault *fault)
{
  const int n = gpu_count (fault);
  Gpu *gpu = NULL;

  if (n == 0)
    return NULL;
  if (id >= n || id < -1) {
    fault_set (fault, FAULT_NOT_FOUND,
        "There is no CUDA device %d; this machine has %d.", id, n);
    return NULL;
  }
  if (id >= 0)
    return open_device (id, fault);
  for (int i = 0; i < n && gpu == NULL; i++)
    gpu = open_device (i, fault);
  return gpu;
}

Gpu *
gpu_open_context (void *context, int id, void (*release) (void *owner),
    void *owner, Fault *fault)
{
  Gpu *gpu;

  if (!have_driver (fault))
    return NULL;
  gpu = new_gpu (id, fault);
  if (gpu == NULL)
    return NULL;
  gpu->context = context;
  if (!examine (gpu, fault)) {
    free (gpu);
    return NULL;
  }
  gpu->release = release;
  gpu->owner = owner;
  return gpu;
}

Gpu *
gpu_ref (Gpu *gpu)
{
  atomic_fetch_add (&gpu->holds, 1);
  return gpu;
}

void
gpu_close (Gpu *gpu)
{
  if (gpu == NULL || atomic_fetch_sub (&gpu->holds, 1) > 1)
    return;
  if (gpu->release != NULL)
    gpu->release (gpu->owner);
  else
    driver.context_release (gpu->device);
  free (gpu);
}

int
gpu_id (const Gpu *gpu)
{
  return gpu->id;
}

void *
gpu_context (const Gpu *gpu)
{
  return gpu->context;
}

const char *
gpu_name (const Gpu *gpu)
{
  return gpu->name;
}

int
gpu_capability (const Gpu *gpu)
{
  return gpu->capability;
}

int
gpu_multiprocessors (const Gpu *gpu)
{
  return gpu->multiprocessors_limit > 0
          && gpu->multiprocessors_limit < gpu->multiprocessors
      ? gpu->multiprocessors_limit
      : gpu->multiprocessors;
}

void
gpu_limit_multiprocessors (Gpu *gpu, int most)
{
  gpu->multiprocessors_limit = most;
}

size_t
gpu_shared_memory (const Gpu *gpu)
{
  return gpu->shared_memory;
}

bool
gpu_push (Gpu *gpu, Fault *fault)
{
  const CUresult status = driver.context_push (gpu->context);

  return status == CUDA_SUCCESS
      || driver_fault (fault, status, "cuCtxPushCurrent");
}

void
gpu_pop (Gpu *gpu)
{
  CUcontext popped;

  (void) gpu;
  driver.context_pop (&popped);
}

/* Clears the error of a failed release or query, so that a later call on this thread does not
 * report it. Nothing else can be done about an object that cannot be freed. */
static void
forget_error (cudaError_t status)
{
  if (status != cudaSuccess)
    (void) cudaGetLastError ();
}

/* Returns the memory if the allocation succeeded, else NULL and a fault with the size that
 * was asked for. */
static void *
allocated (void *memory, cudaError_t status, const char *call, const char *what,
    size_t bytes, Fault *fault)
{
  if (status == cudaSuccess)
    return memory;
  gpu_fault (fault, status, call);
  if (status == cudaErrorMemoryAllocation) {
    fault_set (fault, FAULT_NO_SPACE,
        "Out of %s memory: %zu KiB more cannot be had.", what, bytes >> 10);
    fault_detail (fault, "%s: %s", call, cudaGetErrorName (status));
  }
  return NULL;
}

void *
gpu_malloc_host (size_t bytes, Fault *fault)
{
  void *memory = NULL;
  const cudaError_t status = cudaHostAlloc (
      &memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);

  return allocated (
      memory, status, "cudaHostAlloc", "pinned host", bytes, fault);
}

void
gpu_free_host (void *memory)
{
  if (memory != NULL)
    forget_error (cudaFreeHost (memory));
}

static bool
clear (void *memory, size_t bytes, Fault *fault)
{
  GpuStream stream = NULL;
  bool ok = false;

  if (!gpu_stream_new (&stream, fault))
    return false;
  GPU_CHECK (cudaMemsetAsync (memory, 0, bytes, stream), fault);
  ok = gpu_stream_synchronize (stream, fault);
done:
  gpu_stream_free (stream);
  return ok;
}

void *
gpu_malloc (size_t bytes, Fault *fault)
{
  void *memory = NULL;
  const cudaError_t status = cudaMalloc (&memory, bytes);

  memory = allocated (memory, status, "cudaMalloc", "GPU", bytes, fault);
  if (memory != NULL && !clear (memory, bytes, fault)) {
    gpu_free (memory);
    return NULL;
  }
  return memory;
}

void
gpu_free (void *memory)
{
  if (memory != NULL)
    forget_error (cudaFree (memory));
}

bool
gpu_memory_device (const void *memory, int *id, Fault *fault)
{
  struct cudaPointerAttributes attributes;
  bool ok = false;

  *id = -1;
  GPU_CHECK (cudaPointerGetAttributes (&attributes, memory), fault);
  if (attributes.type == cudaMemoryTypeDevice
      || attributes.type == cudaMemoryTypeManaged)
    *id = attributes.device;
  ok = true;
done:
  return ok;
}

bool
gpu_stream_new (GpuStream *stream, Fault *fault)
{
  bool ok = false;

  *stream = NULL;
  GPU_CHECK (cudaStreamCreateWithFlags (stream, cudaStreamNonBlocking), fault);
  ok = true;
done:
  return ok;
}

void
gpu_stream_free (GpuStream stream)
{
  if (stream != NULL)
    forget_error (cudaStreamDestroy (stream));
}

bool
gpu_stream_wait_event (GpuStream stream, GpuEvent event, Fault *fault)
{
  bool ok = false;

  GPU_CHECK (cudaStreamWaitEvent (stream, event, 0), fault);
  ok = true;
done:
  return ok;
}

bool
gpu_stream_synchronize (GpuStream stream, Fault *fault)
{
  bool ok = false;

  GPU_CHECK (cudaStreamSynchronize (stream), fault);
  ok = true;
done:
  return ok;
}

bool
gpu_stream_is_captured (GpuStream stream, bool *captured, Fault *fault)
{
  enum cudaStreamCaptureStatus status;
  bool ok = false;

  *captured = false;
  GPU_CHECK (cudaStreamIsCapturing (stream, &status), fault);
  *captured = status != cudaStreamCaptureStatusNone;
  ok = true;
done:
  return ok;
}

static bool
new_event (GpuEvent *event, unsigned flags, Fault *fault)
{
  bool ok = false;

  *event = NULL;
  GPU_CHECK (cudaEventCreateWithFlags (event, flags), fault);
  ok = true;
done:
  return ok;
}

bool
gpu_event_new (GpuEvent *event, Fault *fault)
{
  return new_event (event, cudaEventDefault, fault);
}

bool
gpu_event_new_untimed (GpuEvent *event, Fault *fault)
{
  return new_event (event, cudaEventDisableTiming, fault);
}

void
gpu_event_free (GpuEvent event)
{
  if (event != NULL)
    forget_error (cudaEventDestroy (event));
}

bool
gpu_event_record (GpuEvent event, GpuStream stream, Fault *fault)
{
  bool ok = false;

  GPU_CHECK (cudaEventRecord (event, stream), fault);
  ok = true;
done:
  return ok;
}

bool
gpu_event_query (GpuEvent event, bool *done, Fault *fault)
{
  const cudaError_t status = cudaEventQuery (event);

  *done = status == cudaSuccess;
  if (*done)
    return true;
  if (status == cudaErrorNotReady) {
    /* Not a failure; a later call must not report it. */
    forget_error (status);
    return true;
  }
  return gpu_fault (fault, (int) status, "cudaEventQuery");
}

/* Waits by naps, each of which takes 4 us of CPU time. The runtime's own waits either
 * spin, or rely on an interrupt: its handler thread was measured to spin for 110 us an
 * event, and to wake the waiting thread up to 200 us late. */
bool
gpu_event_synchronize (GpuEvent event, double nap_ns, Fault *fault)
{
  const double start = host_clock_ns ();
  bool done;

  for (;;) {
    double now, nap;

    if (!gpu_event_query (event, &done, fault))
      return false;
    if (done)
      return true;
    now = host_clock_ns ();
    nap = NAP_PART * (now - start);
    if (nap < nap_ns)
      nap = nap_ns;
    if (nap > NAP_MAX_NS)
      nap = NAP_MAX_NS;
    host_clock_sleep_until (now + nap);
  }
}

bool
gpu_event_poll (GpuEvent event, double ns, bool *done, Fault *fault)
{
  const double end = host_clock_ns () + ns;

  do {
    const double next = host_clock_ns () + POLL_PAUSE_NS;

    while (host_clock_ns () < next)
      ;
    if (!gpu_event_query (event, done, fault))
      return false;
  } while (!*done && host_clock_ns () < end);
  return true;
}

bool
gpu_event_elapsed (GpuEvent start, GpuEvent end, double *ns, Fault *fault)
{
  float ms = 0.0f;
  bool ok = false;

  GPU_CHECK (cudaEventElapsedTime (&ms, start, end), fault);
  ok = true;
done:
  *ns = 1e6 * (double) ms;
  return ok;
}

bool
gpu_copy_rows (uint8_t *dst, ptrdiff_t dst_stride, const uint8_t *src,
    ptrdiff_t src_stride, size_t row_bytes, int height, GpuCopy kind,
    GpuStream stream, Fault *fault)
{
  static const enum cudaMemcpyKind kinds[] = {
    [GPU_COPY_UP] = cudaMemcpyHostToDevice,
    [GPU_COPY_DOWN] = cudaMemcpyDeviceToHost,
    [GPU_COPY_DEVICE] = cudaMemcpyDeviceToDevice,
  };
  bool ok = false;

  if (height <= 0)
    return true;
  if (height == 1
      || (dst_stride == src_stride && (size_t) src_stride == row_bytes))
    GPU_CHECK (cudaMemcpyAsync (
                   dst, src, row_bytes * (size_t) height, kinds[kind], stream),
        fault);
  else if (dst_stride > 0 && src_stride > 0)
    GPU_CHECK (
        cudaMemcpy2DAsync (dst, (size_t) dst_stride, src, (size_t) src_stride,
            row_bytes, (size_t) height, kinds[kind], stream),
        fault);
  else
    for (int y = 0; y < height; y++)
      GPU_CHECK (cudaMemcpyAsync (dst + y * dst_stride, src + y * src_stride,
                     row_bytes, kinds[kind], stream),
          fault);
  ok = true;
done:
  return ok;
}
