/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* devices: the GPUs that were used, opened once in a process. Any thread, without the GIL. */
#pragma once

#include "gpu.h"

/* Its primary context is that of CuPy, PyTorch and the CUDA runtime. `id` -1: the first that
 * can run this build's kernels. Never closed. */
Gpu *device_open (int id, Fault *fault);
/* The device that memory lies on; a fault if that is none. */
bool device_of_memory (const void *memory, int *id, Fault *fault);
