/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "gstgpufilter.h"

G_BEGIN_DECLS

#define GST_TYPE_CUDA_SEPCONV (gst_cuda_sepconv_get_type ())
G_DECLARE_FINAL_TYPE (
    GstCudaSepconv, gst_cuda_sepconv, GST, CUDA_SEPCONV, GstGpuFilter)

GST_ELEMENT_REGISTER_DECLARE (cudasepconv)

G_END_DECLS
