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

/* If a runtime call fails, fills the fault and jumps to the label `done`. */
#define GPU_CHECK(call, fault) \
  do { \
    const cudaError_t gpu_status = (call); \
    if (gpu_status != cudaSuccess) { \
      gpu_fault ((fault), gpu_status, #call); \
      goto done; \
    } \
  } while (0)

/* Whether this build has a kernel that the current device can run; `capability`: the
 * compute capability, 10 * major + minor, that the kernel's code was made for. */
bool gpu_probe (int *capability, Fault *fault);

#ifdef __cplusplus
}
#endif
