/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A kernel that does nothing, to learn whether the device can run any, and which code of
 * this build it then runs. */
#include "gpu-check.h"

static __global__ void
probe ()
{
}

bool
gpu_probe (int *capability, Fault *fault)
{
  struct cudaFuncAttributes attributes;
  bool ok = false;

  GPU_CHECK (cudaFuncGetAttributes (&attributes, (const void *) probe), fault);
  *capability = attributes.ptxVersion;
  ok = true;
done:
  return ok;
}
