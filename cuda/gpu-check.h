/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu-check: the engine's one way to check a CUDA runtime call. Only for files
 * that are built with the CUDA Toolkit. */
#pragma once

#include "fault.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Turns a cudaError_t into a fault; returns false. */
bool gpu_fault (Fault *fault, int status, const char *call);

/* Leaves for the label `done` with a fault when a runtime call fails. */
#define GPU_CHECK(call, fault) \
  do { \
    const cudaError_t gpu_status = (call); \
    if (gpu_status != cudaSuccess) { \
      gpu_fault ((fault), gpu_status, #call); \
      goto done; \
    } \
  } while (0)

/* Whether this build has a kernel that the current device can run, and the compute
 * capability, 10 * major + minor, that its code was made for. */
bool gpu_probe (int *capability, Fault *fault);

#ifdef __cplusplus
}
#endif
