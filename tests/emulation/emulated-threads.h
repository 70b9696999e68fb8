/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

/* The maximum threads per block of current GPUs. */
#define EMULATED_MAX_THREADS 1024
#define EMULATED_MAX_SHARED (227 * 1024)

/* Runs `thread` as every thread of every block. Only one call may run at a time. */
void emulated_run (
    dim3 grid, dim3 block, size_t shared, const std::function<void ()> &thread);
