/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-runtime: the CUDA runtime's functions, by those of the emulated driver. */
#include "emulated-runtime.h"

#include "emulated-faults.h"

static thread_local cudaError_t last_error;

cudaError_t
emulated_result (CUresult status)
{
  if (status != CUDA_SUCCESS)
    last_error = (cudaError_t) status;
  return (cudaError_t) status;
}

bool
emulated_context_is_current ()
{
  CUdevice device;

  return cuCtxGetDevice (&device) == CUDA_SUCCESS;
}

cudaError_t
cudaGetLastError ()
{
  const cudaError_t error = last_error;

  last_error = cudaSuccess;
  return error;
}

const char *
cudaGetErrorName (cudaError_t error)
{
  const char *name;

  return cuGetErrorName ((CUresult) error, &name) == CUDA_SUCCESS ? name : "?";
}

const char *
cudaGetErrorString (cudaError_t error)
{
  const char *text;

  return cuGetErrorString ((CUresult) error, &text) == CUDA_SUCCESS ? text
                                                                    : "?";
}

cudaError_t
cudaGetDeviceCount (int *count)
{
  if (emulated_fault (EMULATED_FAULT_CONTEXT, "cudaGetDeviceCount"))
    return emulated_result (CUDA_ERROR_UNKNOWN);
  return emulated_result (cuDeviceGetCount (count));
}

cudaError_t
cudaRuntimeGetVersion (int *version)
{
  return emulated_result (cuDriverGetVersion (version));
}

cudaError_t
cudaDriverGetVersion (int *version)
{
  return emulated_result (cuDriverGetVersion (version));
}

cudaError_t
cudaDeviceGetAttribute (int *value, cudaDeviceAttr attribute, int device)
{
  return emulated_result (
      cuDeviceGetAttribute (value, (CUdevice_attribute) attribute, device));
}

cudaError_t
cudaGetDeviceProperties (cudaDeviceProp *properties, int device)
{
  const struct
  {
    CUdevice_attribute attribute;
    int *value;
  } table[] = {
    { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &properties->major },
    { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &properties->minor },
    { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        &properties->multiProcessorCount },
  };
  int shared = 0;

  if (emulated_fault (EMULATED_FAULT_CONTEXT, "cudaGetDeviceProperties"))
    return emulated_result (CUDA_ERROR_UNKNOWN);

  CUresult status =
      cuDeviceGetName (properties->name, sizeof properties->name, device);

  for (const auto &row : table)
    if (status == CUDA_SUCCESS)
      status = cuDeviceGetAttribute (row.value, row.attribute, device);
  if (status == CUDA_SUCCESS)
    status = cuDeviceGetAttribute (
        &shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  properties->sharedMemPerBlockOptin = (size_t) shared;
  return emulated_result (status);
}

cudaError_t
cudaMalloc (void **memory, size_t bytes)
{
  CUdeviceptr allocated = 0;
  const CUresult status = cuMemAlloc (&allocated, bytes);

  *memory = (void *) (uintptr_t) allocated;
  return emulated_result (status);
}

cudaError_t
cudaFree (void *memory)
{
  return emulated_result (cuMemFree ((uintptr_t) memory));
}

cudaError_t
cudaHostAlloc (void **memory, size_t bytes, unsigned flags)
{
  return emulated_result (cuMemHostAlloc (memory, bytes, flags));
}

cudaError_t
cudaFreeHost (void *memory)
{
  return emulated_result (cuMemFreeHost (memory));
}

/* Memory that CUDA does not know is an answer here. */
cudaError_t
cudaPointerGetAttributes (
    cudaPointerAttributes *attributes, const void *pointer)
{
  unsigned type = cudaMemoryTypeUnregistered;
  const CUresult status = cuPointerGetAttribute (
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t) pointer);

  attributes->type = (cudaMemoryType) type;
  attributes->device = -1;
  if (status == CUDA_SUCCESS)
    (void) cuPointerGetAttribute (&attributes->device,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (uintptr_t) pointer);
  return emulated_result (
      status == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : status);
}

cudaError_t
cudaMemsetAsync (void *memory, int value, size_t bytes, cudaStream_t stream)
{
  return emulated_result (cuMemsetD8Async (
      (uintptr_t) memory, (unsigned char) value, bytes, stream));
}

cudaError_t
cudaMemcpy2DAsync (void *to, size_t to_pitch, const void *from,
    size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind,
    cudaStream_t stream)
{
  CUDA_MEMCPY2D copy = {};

  if (to_pitch < width || from_pitch < width)
    return emulated_result (CUDA_ERROR_INVALID_VALUE);
  copy.srcMemoryType = kind == cudaMemcpyHostToDevice ? CU_MEMORYTYPE_HOST
                                                      : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = from;
  copy.srcDevice = (uintptr_t) from;
  copy.srcPitch = from_pitch;
  copy.dstMemoryType = kind == cudaMemcpyDeviceToHost ? CU_MEMORYTYPE_HOST
                                                      : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = to;
  copy.dstDevice = (uintptr_t) to;
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return emulated_result (cuMemcpy2DAsync (&copy, stream));
}

cudaError_t
cudaMemcpyAsync (void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
    cudaStream_t stream)
{
  return cudaMemcpy2DAsync (to, bytes, from, bytes, bytes, 1, kind, stream);
}

cudaError_t
cudaStreamCreateWithFlags (cudaStream_t *stream, unsigned flags)
{
  return emulated_result (cuStreamCreate (stream, flags));
}

cudaError_t
cudaStreamDestroy (cudaStream_t stream)
{
  return emulated_result (cuStreamDestroy (stream));
}

/* There are no graphs here. */
cudaError_t
cudaStreamIsCapturing (cudaStream_t stream, cudaStreamCaptureStatus *status)
{
  *status = cudaStreamCaptureStatusNone;
  return emulated_result (cuStreamQuery (stream) == CUDA_ERROR_INVALID_HANDLE
          ? CUDA_ERROR_INVALID_HANDLE
          : CUDA_SUCCESS);
}

cudaError_t
cudaStreamSynchronize (cudaStream_t stream)
{
  return emulated_result (cuStreamSynchronize (stream));
}

cudaError_t
cudaStreamWaitEvent (cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
  return emulated_result (cuStreamWaitEvent (stream, event, flags));
}

cudaError_t
cudaEventCreateWithFlags (cudaEvent_t *event, unsigned flags)
{
  return emulated_result (cuEventCreate (event, flags));
}

cudaError_t
cudaEventDestroy (cudaEvent_t event)
{
  return emulated_result (cuEventDestroy (event));
}

cudaError_t
cudaEventRecord (cudaEvent_t event, cudaStream_t stream)
{
  return emulated_result (cuEventRecord (event, stream));
}

cudaError_t
cudaEventQuery (cudaEvent_t event)
{
  return emulated_result (cuEventQuery (event));
}

cudaError_t
cudaEventElapsedTime (float *ms, cudaEvent_t start, cudaEvent_t end)
{
  return emulated_result (cuEventElapsedTime (ms, start, end));
}
