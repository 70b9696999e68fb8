/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstvideohistogrammeta: the former names of the declarations in gstcudahistogrammeta.h, so
 * that applications that use them still compile. */
#pragma once

#include "gstcudahistogrammeta.h"

#define GstVideoHistogramMeta GstCudaHistogramMeta
#define GstVideoHistogramComponent GstCudaHistogramComponent
#define gst_buffer_get_video_histogram_meta gst_buffer_get_cuda_histogram_meta
#define GST_VIDEO_HISTOGRAM_META_API_NAME GST_CUDA_HISTOGRAM_META_API_NAME
#define GST_VIDEO_HISTOGRAM_META_IMPL_NAME GST_CUDA_HISTOGRAM_META_IMPL_NAME
#define GST_VIDEO_HISTOGRAM_MAX_COMPONENTS GST_CUDA_HISTOGRAM_MAX_COMPONENTS
