/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device-memory: which addresses are whose. */
#pragma once

#include "driver.h"

/* What one device has. */
#define DEVICE_BYTES ((size_t) 8 << 30)

struct Allocation
{
  uintptr_t start;
  size_t bytes;
  CUmemorytype type; /* device, or pinned host */
  std::shared_ptr<Context> context;
};

/* What holds all of the bytes from `at` on, or at least their start, or NULL for
 * memory that CUDA does not know. */
enum class Found
{
  unknown,
  part,
  whole
};
Found find_allocation (uintptr_t at, size_t bytes, Allocation *allocation);
