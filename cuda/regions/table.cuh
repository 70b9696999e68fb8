/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* table: the GPU's copy of the data about a run's regions that kernels read. Each run in flight
 * has its own table, which stays on the GPU for later runs until another one is sent. */
#pragma once

#include "../sepconv/staging.cuh"

#define REGIONS_LEAST_TABLE 65536 /* smallest allocation, bytes */

/* Starts zeroed; staging_clear() frees it. */
struct RegionsTable
{
  Staging staging;
  unsigned revision; /* of the table on the GPU; 0: none */
};

/* Queues the upload of `bytes` bytes, which write (block) fills in, unless the table on the GPU
 * has the same revision. A revision is never 0, and stands for the same bytes each time. */
template <typename Write>
static bool
regions_send_table (RegionsTable *table, unsigned revision, size_t bytes,
    GpuStream stream, Write write, Fault *fault)
{
  uint8_t *block;

  if (table->revision == revision)
    return true;
  table->revision = 0;
  if (!staging_reserve (
          &table->staging, bytes, REGIONS_LEAST_TABLE, stream, fault))
    return false;
  block = (uint8_t *) staging_begin (&table->staging, fault);
  if (block == NULL)
    return false;
  write (block);
  if (!staging_send (&table->staging, bytes, stream, fault))
    return false;
  table->revision = revision;
  return true;
}
