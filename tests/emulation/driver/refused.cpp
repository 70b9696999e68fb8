/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* refused: what GStreamer's CUDA library looks for and can do without: other
 * interfaces' memory, memory shared with other processes, memory in pools and by
 * pages, and kernels in modules. */
#include <cuda.h>

/* Whatever they are given, it is left alone. */
#define REFUSE(name) \
  extern "C" __attribute__ ((visibility ("default"))) CUresult name (...) \
  { \
    return CUDA_ERROR_NOT_SUPPORTED; \
  }

REFUSE (cuDestroyExternalMemory)
REFUSE (cuDestroyExternalSemaphore)
REFUSE (cuExternalMemoryGetMappedBuffer)
REFUSE (cuExternalMemoryGetMappedMipmappedArray)
REFUSE (cuImportExternalMemory)
REFUSE (cuImportExternalSemaphore)
REFUSE (cuSignalExternalSemaphoresAsync)
REFUSE (cuWaitExternalSemaphoresAsync)

REFUSE (cuGLGetDevices_v2)
REFUSE (cuGraphicsEGLRegisterImage)
REFUSE (cuGraphicsGLRegisterBuffer)
REFUSE (cuGraphicsGLRegisterImage)
REFUSE (cuGraphicsMapResources)
REFUSE (cuGraphicsResourceGetMappedEglFrame)
REFUSE (cuGraphicsResourceGetMappedPointer_v2)
REFUSE (cuGraphicsResourceSetMapFlags_v2)
REFUSE (cuGraphicsSubResourceGetMappedArray)
REFUSE (cuGraphicsUnmapResources)
REFUSE (cuGraphicsUnregisterResource)

REFUSE (cuIpcCloseMemHandle)
REFUSE (cuIpcGetEventHandle)
REFUSE (cuIpcGetMemHandle)
REFUSE (cuIpcOpenEventHandle)
REFUSE (cuIpcOpenMemHandle)
REFUSE (cuIpcOpenMemHandle_v2)

REFUSE (cuMemAddressFree)
REFUSE (cuMemAddressReserve)
REFUSE (cuMemCreate)
REFUSE (cuMemExportToShareableHandle)
REFUSE (cuMemGetAccess)
REFUSE (cuMemGetAllocationGranularity)
REFUSE (cuMemGetAllocationPropertiesFromHandle)
REFUSE (cuMemImportFromShareableHandle)
REFUSE (cuMemMap)
REFUSE (cuMemRelease)
REFUSE (cuMemRetainAllocationHandle)
REFUSE (cuMemSetAccess)
REFUSE (cuMemUnmap)

REFUSE (cuMemAllocAsync)
REFUSE (cuMemAllocFromPoolAsync)
REFUSE (cuMemFreeAsync)
REFUSE (cuMemPoolCreate)
REFUSE (cuMemPoolDestroy)
REFUSE (cuMemPoolGetAttribute)
REFUSE (cuMemPoolSetAttribute)

REFUSE (cuLaunchKernel)
REFUSE (cuModuleGetFunction)
REFUSE (cuModuleLoadData)
REFUSE (cuModuleUnload)
REFUSE (cuTexObjectCreate)
REFUSE (cuTexObjectDestroy)
