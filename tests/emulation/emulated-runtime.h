/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-runtime: what the runtime's parts share. */
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

bool emulated_context_is_current ();

/* The same number; cudaGetLastError() tells of a failure once more. */
cudaError_t emulated_result (CUresult status);
