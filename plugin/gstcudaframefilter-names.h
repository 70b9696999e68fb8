/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstcudaframefilter-names: other names for the types that the library of GstCudaFrameFilter and
 * the plugin both compile. A process may load the two, and a name of a GType can be registered
 * once. The build includes this header before all files of the library. */
#pragma once

#define GstGpuFilter GstCudaFrameFilterBase
#define _GstGpuFilter _GstCudaFrameFilterBase
#define GstGpuFilterClass GstCudaFrameFilterBaseClass
#define _GstGpuFilterClass _GstCudaFrameFilterBaseClass
#define GstGpuFilterPrivate GstCudaFrameFilterBasePrivate

#define GstPinnedAllocator GstCudaFrameAllocator
#define _GstPinnedAllocator _GstCudaFrameAllocator
#define GstPinnedAllocatorClass GstCudaFrameAllocatorClass

#define GstPinnedPool GstCudaFramePool
#define _GstPinnedPool _GstCudaFramePool
#define GstPinnedPoolClass GstCudaFramePoolClass

#define GST_GPU_ENUM_PREFIX "GstCudaFrame"
