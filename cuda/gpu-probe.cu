/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A kernel that does nothing, to learn whether the device can run any. */
#include "gpu-check.h"

static __global__ void
probe ()
{
}

bool
gpu_probe (Fault *fault)
{
  struct cudaFuncAttributes attributes;
  bool ok = false;

  GPU_CHECK (cudaFuncGetAttributes (&attributes, (const void *) probe), fault);
  ok = true;
done:
  return ok;
}
