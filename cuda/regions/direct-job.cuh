/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-job: finds the work of a block of threads, and the regions that touch it. */
#pragma once

#include "direct.cuh"

/* Marks the regions that touch tiles [left, right) x [top, bottom) of memory m. The masks are zero
 * before. */
__device__ __forceinline__ void
direct_touch (const DirectFrame &frame, DirectJob *job, int m, int left,
    int right, int top, int bottom)
{
  const int i = direct_me ();

  static_assert (DIRECT_MOST_REGIONS <= DIRECT_THREADS, "a thread each");
  if (i < frame.n_regions) {
    const DirectTiles tiles = direct_tiles (frame, m)[i];

    if (tiles.left < right && left < tiles.right && tiles.top < bottom
        && top < tiles.bottom)
      atomicAdd (&job->touched[i / 32], 1u << i % 32);
  }
}

/* Finds the tile and parts of block number `block`. Returns false where a later region touches the
 * same tile: that region's block does the tile. */
__device__ __forceinline__ bool
direct_find_parts (const DirectFrame &frame, DirectJob *job, int block)
{
  unsigned later = 0;

  for (int i = direct_me (); i < frame.n_memories * frame.n_regions;
       i += DIRECT_THREADS) {
    const DirectTiles tiles = direct_tiles (frame, 0)[i];
    const int across = tiles.right - tiles.left;
    const int down = tiles.bottom - tiles.top;
    const int m = i / frame.n_regions;
    const int blocks = frame.memory[m].blocks;

    if (block >= tiles.first && block - tiles.first < across * down * blocks) {
      const int tile = (block - tiles.first) / blocks;

      job->memory = m;
      job->region = i % frame.n_regions;
      job->tile_x = tiles.left + tile % across;
      job->tile_y = tiles.top + tile / across;
      job->part = (block - tiles.first) % blocks * frame.together;
    }
  }
  __syncthreads ();
  direct_touch (frame, job, job->memory, job->tile_x, job->tile_x + 1,
      job->tile_y, job->tile_y + 1);
  __syncthreads ();
  later = job->touched[job->region / 32] & ~1u << job->region % 32;
#pragma unroll 1
  for (int w = job->region / 32 + 1; w < direct_masks (frame); w++)
    later |= job->touched[w];
  return later == 0;
}
