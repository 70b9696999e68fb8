/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstcudahistogrammeta: the functions of the header as symbols of the library that the typelib
 * names. C applications compile them inline instead. */
#define GST_CUDA_HISTOGRAM_META_FUNCTION \
  __attribute__ ((visibility ("default")))
#include "gstcudahistogrammeta.h"
