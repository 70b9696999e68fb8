/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the CUDA driver API that the engine, GStreamer's CUDA library and the
 * emulated runtime use. Numbers and layouts are those of the real driver, since
 * programs built for it must run on the emulation, too. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define CUDAAPI
#define CUDA_VERSION 12000

typedef int CUdevice;

typedef struct
{
  char bytes[16];
} CUuuid;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUtexObject;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUarray_st *CUarray;
typedef struct CUgraphicsResource_st *CUgraphicsResource;

/* Only named in signatures: functions that take it are not emulated. */
typedef struct CUDA_RESOURCE_DESC_st CUDA_RESOURCE_DESC;
typedef struct CUDA_RESOURCE_VIEW_DESC_st CUDA_RESOURCE_VIEW_DESC;
typedef struct CUDA_TEXTURE_DESC_st CUDA_TEXTURE_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
typedef struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
typedef struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;
typedef struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;
typedef struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;
typedef struct CUextMemory_st *CUexternalMemory;
typedef struct CUextSemaphore_st *CUexternalSemaphore;
typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUmemPoolProps_st CUmemPoolProps;
typedef struct CUmemAllocationProp_st CUmemAllocationProp;
typedef struct CUmemAccessDesc_st CUmemAccessDesc;
typedef struct CUmemLocation_st CUmemLocation;
typedef struct CUipcEventHandle_st CUipcEventHandle;
typedef struct CUipcMemHandle_st CUipcMemHandle;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef int CUmemPool_attribute;
typedef int CUmemAllocationHandleType;
typedef int CUmemAllocationGranularity_flags;
typedef int CUfilter_mode;

typedef enum
{
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_ALREADY_MAPPED = 208,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef enum
{
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
  CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71,
  CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115
} CUdevice_attribute;

typedef enum
{
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4
} CUmemorytype;

typedef enum
{
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12
} CUpointer_attribute;

typedef enum
{
  CU_LIMIT_STACK_SIZE = 0
} CUlimit;

enum
{
  CU_STREAM_DEFAULT = 0,
  CU_STREAM_NON_BLOCKING = 1
};

enum
{
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2
};

enum
{
  CU_MEMHOSTALLOC_PORTABLE = 1,
  CU_MEMHOSTALLOC_DEVICEMAP = 2,
  CU_MEMHOSTALLOC_WRITECOMBINED = 4
};

typedef enum
{
  CU_GRAPHICS_REGISTER_FLAGS_NONE = 0
} CUgraphicsRegisterFlags;

typedef enum
{
  CU_GRAPHICS_MAP_RESOURCE_FLAGS_NONE = 0,
  CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY = 1,
  CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 2
} CUgraphicsMapResourceFlags;

typedef struct
{
  size_t srcXInBytes, srcY;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  size_t srcPitch;

  size_t dstXInBytes, dstY;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  size_t dstPitch;

  size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

/* The second versions of functions, under the names that programs use. */
#define cuCtxCreate cuCtxCreate_v2
#define cuCtxDestroy cuCtxDestroy_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemAllocPitch cuMemAllocPitch_v2
#define cuMemFree cuMemFree_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemcpy2D cuMemcpy2D_v2
#define cuMemcpy2DAsync cuMemcpy2DAsync_v2
#define cuMemcpyDtoD cuMemcpyDtoD_v2
#define cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemsetD2D16 cuMemsetD2D16_v2
#define cuMemsetD2D32 cuMemsetD2D32_v2
#define cuMemsetD2D8 cuMemsetD2D8_v2
#define cuMemsetD8 cuMemsetD8_v2
#define cuStreamDestroy cuStreamDestroy_v2

CUresult cuInit (unsigned flags);
CUresult cuDriverGetVersion (int *version);
CUresult cuGetErrorName (CUresult error, const char **name);
CUresult cuGetErrorString (CUresult error, const char **text);

CUresult cuDeviceGet (CUdevice *device, int ordinal);
CUresult cuDeviceGetCount (int *count);
CUresult cuDeviceGetName (char *name, int size, CUdevice device);
CUresult cuDeviceGetAttribute (
    int *value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDeviceGetUuid (CUuuid *uuid, CUdevice device);
CUresult cuDeviceTotalMem (size_t *bytes, CUdevice device);
CUresult cuDeviceCanAccessPeer (int *can, CUdevice device, CUdevice peer);

CUresult cuDevicePrimaryCtxRetain (CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease (CUdevice device);
CUresult cuDevicePrimaryCtxGetState (
    CUdevice device, unsigned *flags, int *active);
CUresult cuCtxCreate (CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxDestroy (CUcontext context);
CUresult cuCtxPushCurrent (CUcontext context);
CUresult cuCtxPopCurrent (CUcontext *context);
CUresult cuCtxGetCurrent (CUcontext *context);
CUresult cuCtxSetCurrent (CUcontext context);
CUresult cuCtxGetDevice (CUdevice *device);
CUresult cuCtxSynchronize (void);
CUresult cuCtxGetLimit (size_t *value, CUlimit limit);
CUresult cuCtxSetLimit (CUlimit limit, size_t value);
CUresult cuCtxEnablePeerAccess (CUcontext peer, unsigned flags);
CUresult cuCtxDisablePeerAccess (CUcontext peer);

CUresult cuMemAlloc (CUdeviceptr *memory, size_t bytes);
CUresult cuMemAllocPitch (CUdeviceptr *memory, size_t *pitch, size_t width,
    size_t height, unsigned element);
CUresult cuMemFree (CUdeviceptr memory);
CUresult cuMemAllocHost (void **memory, size_t bytes);
CUresult cuMemHostAlloc (void **memory, size_t bytes, unsigned flags);
CUresult cuMemFreeHost (void *memory);
CUresult cuMemHostGetDevicePointer (
    CUdeviceptr *device, void *host, unsigned flags);
CUresult cuMemGetInfo (size_t *free, size_t *total);
CUresult cuPointerGetAttribute (
    void *value, CUpointer_attribute attribute, CUdeviceptr pointer);

CUresult cuMemcpy2D (const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2DAsync (const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpyHtoD (CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyHtoDAsync (
    CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoH (void *to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoHAsync (
    void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoD (CUdeviceptr to, CUdeviceptr from, size_t bytes);
CUresult cuMemcpyDtoDAsync (
    CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult cuMemsetD8 (CUdeviceptr to, unsigned char value, size_t n);
CUresult cuMemsetD8Async (
    CUdeviceptr to, unsigned char value, size_t n, CUstream stream);
CUresult cuMemsetD2D8 (CUdeviceptr to, size_t pitch, unsigned char value,
    size_t width, size_t height);
CUresult cuMemsetD2D8Async (CUdeviceptr to, size_t pitch, unsigned char value,
    size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D16 (CUdeviceptr to, size_t pitch, unsigned short value,
    size_t width, size_t height);
CUresult cuMemsetD2D16Async (CUdeviceptr to, size_t pitch, unsigned short value,
    size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D32 (
    CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height);
CUresult cuMemsetD2D32Async (CUdeviceptr to, size_t pitch, unsigned value,
    size_t width, size_t height, CUstream stream);

CUresult cuStreamCreate (CUstream *stream, unsigned flags);
CUresult cuStreamDestroy (CUstream stream);
CUresult cuStreamQuery (CUstream stream);
CUresult cuStreamSynchronize (CUstream stream);
CUresult cuStreamWaitEvent (CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamGetCtx (CUstream stream, CUcontext *context);
CUresult cuEventCreate (CUevent *event, unsigned flags);
CUresult cuEventDestroy (CUevent event);
CUresult cuEventRecord (CUevent event, CUstream stream);
CUresult cuEventQuery (CUevent event);
CUresult cuEventSynchronize (CUevent event);
CUresult cuEventElapsedTime (float *ms, CUevent start, CUevent end);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
