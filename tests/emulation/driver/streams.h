/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "queue.h"

#include <cuda.h>

/* Queues work on a stream of the current context; NULL waits for it, and before it
 * for the streams that NULL waits for. */
CUresult enqueue (
    CUstream stream, std::function<void ()> work, bool wait = false);
