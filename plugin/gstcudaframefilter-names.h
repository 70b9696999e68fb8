/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstcudaframefilter-names: other names for the types that both the library of
 * GstCudaFrameFilter and the plugin compile. A process may load both, and each GType name can
 * be registered only once. The build includes this header before all files of the library. */
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
