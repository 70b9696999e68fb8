/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of the CUDA runtime that the engine uses, on top of the emulated driver.
 * Unlike the real one, it never makes a device's primary context current by itself: a
 * call without a current context fails. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The driver's numbers. */
typedef enum cudaError
{
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorDeviceUninitialized = 201,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorNotReady = 600
} cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

cudaError_t cudaGetLastError (void);
const char *cudaGetErrorName (cudaError_t error);
const char *cudaGetErrorString (cudaError_t error);

struct cudaDeviceProp
{
  char name[256];
  int major, minor, multiProcessorCount;
  size_t sharedMemPerBlockOptin;
};

/* The driver's numbers. */
enum cudaDeviceAttr
{
  cudaDevAttrTextureAlignment = 14,
  cudaDevAttrTexturePitchAlignment = 51,
  cudaDevAttrMaxTexture2DLinearWidth = 70,
  cudaDevAttrMaxTexture2DLinearHeight = 71,
  cudaDevAttrMaxTexture2DLinearPitch = 72,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};

cudaError_t cudaGetDeviceCount (int *count);
cudaError_t cudaRuntimeGetVersion (int *version);
cudaError_t cudaDriverGetVersion (int *version);
cudaError_t cudaGetDeviceProperties (
    struct cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute (
    int *value, enum cudaDeviceAttr attribute, int device);

enum
{
  cudaHostAllocPortable = 1,
  cudaHostAllocMapped = 2
};

enum cudaMemoryType
{
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3
};

struct cudaPointerAttributes
{
  enum cudaMemoryType type;
  int device;
};

enum cudaMemcpyKind
{
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3
};

cudaError_t cudaMalloc (void **memory, size_t bytes);
cudaError_t cudaFree (void *memory);
cudaError_t cudaHostAlloc (void **memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost (void *memory);
cudaError_t cudaPointerGetAttributes (
    struct cudaPointerAttributes *attributes, const void *pointer);
cudaError_t cudaMemsetAsync (
    void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpyAsync (void *to, const void *from, size_t bytes,
    enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync (void *to, size_t to_pitch, const void *from,
    size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
    cudaStream_t stream);

enum
{
  cudaStreamNonBlocking = 1
};

enum
{
  cudaEventDefault = 0,
  cudaEventDisableTiming = 2
};

cudaError_t cudaStreamCreateWithFlags (cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy (cudaStream_t stream);
cudaError_t cudaStreamSynchronize (cudaStream_t stream);

enum cudaStreamCaptureStatus
{
  cudaStreamCaptureStatusNone = 0
};

cudaError_t cudaStreamIsCapturing (
    cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaStreamWaitEvent (
    cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags (cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy (cudaEvent_t event);
cudaError_t cudaEventRecord (cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery (cudaEvent_t event);
cudaError_t cudaEventElapsedTime (
    float *ms, cudaEvent_t start, cudaEvent_t end);

struct cudaFuncAttributes
{
  size_t sharedSizeBytes;
  int ptxVersion;
};

enum cudaFuncAttribute
{
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

enum cudaSharedCarveout
{
  cudaSharedmemCarveoutMaxShared = 100
};

cudaError_t cudaFuncGetAttributes (
    struct cudaFuncAttributes *attributes, const void *kernel);
cudaError_t cudaFuncSetAttribute (
    const void *kernel, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor (
    int *blocks, const void *kernel, int threads, size_t shared);

/* Textures over pitched memory, point sampled, texels not converted. */
enum cudaTextureAddressMode
{
  cudaAddressModeWrap,
  cudaAddressModeClamp,
  cudaAddressModeMirror,
  cudaAddressModeBorder
};

enum cudaTextureFilterMode
{
  cudaFilterModePoint
};

enum cudaTextureReadMode
{
  cudaReadModeElementType
};

enum cudaResourceType
{
  cudaResourceTypePitch2D = 3
};

enum cudaChannelFormatKind
{
  cudaChannelFormatKindUnsigned = 1
};

struct cudaChannelFormatDesc
{
  int x, y, z, w;
  enum cudaChannelFormatKind f;
};

struct cudaResourceDesc
{
  enum cudaResourceType resType;
  struct
  {
    struct
    {
      void *devPtr;
      struct cudaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};

struct cudaTextureDesc
{
  enum cudaTextureAddressMode addressMode[3];
  enum cudaTextureFilterMode filterMode;
  enum cudaTextureReadMode readMode;
  int normalizedCoords;
};

typedef unsigned long long cudaTextureObject_t;

struct cudaChannelFormatDesc cudaCreateChannelDesc (
    int x, int y, int z, int w, enum cudaChannelFormatKind kind);
cudaError_t cudaCreateTextureObject (cudaTextureObject_t *object,
    const struct cudaResourceDesc *resource,
    const struct cudaTextureDesc *texture, const void *view);
cudaError_t cudaDestroyTextureObject (cudaTextureObject_t object);

#ifdef __cplusplus
}
#include "emulated-language.h"
#endif
