/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device-memory: maps addresses to allocations. */
#pragma once

#include "driver.h"

/* Memory of one device, in bytes. */
#define DEVICE_BYTES ((size_t) 8 << 30)

struct Allocation
{
  uintptr_t start;
  size_t bytes;
  CUmemorytype type; /* device, or pinned host */
  std::shared_ptr<Context> context;
};

/* Finds the allocation that holds the bytes from `at` on: all of them (whole), or only
 * the first of them (part). unknown: CUDA did not allocate this memory. */
enum class Found
{
  unknown,
  part,
  whole
};
Found find_allocation (uintptr_t at, size_t bytes, Allocation *allocation);
