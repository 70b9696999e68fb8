/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "queue.h"

#include <cuda.h>

/* Queues work on a stream of the current context. The stream NULL first waits for all
 * blocking streams, and then, as with `wait`, until the work is done. */
CUresult enqueue (
    CUstream stream, std::function<void ()> work, bool wait = false);
