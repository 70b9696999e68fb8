/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-runtime: declarations that the runtime's parts share. */
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

bool emulated_context_is_current ();

/* Converts a status; the numbers are equal. A failure is stored for
 * cudaGetLastError(). */
cudaError_t emulated_result (CUresult status);
