/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

/* What the newest GPUs let a block have. */
#define EMULATED_MAX_THREADS 1024
#define EMULATED_MAX_SHARED (227 * 1024)

/* Runs `thread` as every thread of every block. One call at a time does. */
void emulated_run (
    dim3 grid, dim3 block, size_t shared, const std::function<void ()> &thread);
