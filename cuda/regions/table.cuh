/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* table: what kernels are told of a run's regions, on the GPU. Runs that overlap have tables of their own,
 * and one stays there for further runs until another is sent. */
#pragma once

#include "../sepconv/staging.cuh"

#define REGIONS_LEAST_TABLE 65536 /* bytes that there is room for */

/* Starts zeroed; staging_clear() frees it. */
struct RegionsTable
{
  Staging staging;
  unsigned revision; /* of what is there; 0: nothing */
};

/* Queues `bytes` that write (block) fills, unless they are there: a revision is never 0, and the same bytes
 * each time. */
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
