/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstcudahistogrammeta: the functions of the header as symbols of a library, which a
 * typelib can name. C compiles them into the application instead. */
#define GST_CUDA_HISTOGRAM_META_FUNCTION \
  __attribute__ ((visibility ("default")))
#include "gstcudahistogrammeta.h"
