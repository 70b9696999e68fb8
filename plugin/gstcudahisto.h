/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgpufilter.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_HISTO (gst_cuda_histo_get_type ())
G_DECLARE_FINAL_TYPE (
    GstCudaHisto, gst_cuda_histo, GST, CUDA_HISTO, GstGpuFilter)

GST_ELEMENT_REGISTER_DECLARE (cudahisto)

G_END_DECLS
