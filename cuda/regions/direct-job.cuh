/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* direct-job: finds the work of a block of threads, the regions that touch it, and their filter. */
#pragma once

#include "direct-clip.cuh"

#define DIRECT_FILTER_WORDS ((int) (sizeof (RegionsTaps) / sizeof (uint32_t)))

static_assert (sizeof (RegionsTaps) % sizeof (uint32_t) == 0
        && DIRECT_FILTER_WORDS <= DIRECT_THREADS,
    "each thread copies at most one word of a filter");

/* The work of a block of threads, in shared memory. */
struct DirectJob
{
  int memory, region; /* of a tile */
  int tile_x, tile_y;
  int part; /* the first one */
  /* bit i: region i touches what the block writes */
  unsigned touched[DIRECT_MASKS];
  /* direct_is_filter() */
  DirectTile tile;
  DirectClip clip; /* has all samples that regions cover */
  /* direct_is_filter() or direct_has_lows() */
  int filter; /* index of `taps` among those of all filters; -1: none are loaded */
  RegionsTaps taps;
};

static_assert (sizeof (DirectJob) + DIRECT_SHARED <= 48 << 10,
    "kernels have no more shared memory without asking for it");

/* The samples of a part of the job's tile; parts are numbered through all planes of the tile's
 * memory, and in each plane through its channels. */
__device__ __forceinline__ DirectTile
direct_find_samples (const DirectFrame &frame, const DirectJob &job, int part)
{
  DirectTile tile = { 0, 0, 0, job.tile_y * REGIONS_TILE };

#pragma unroll 1
  for (int p = 0; p < frame.n_planes; p++) {
    const DirectPlane &plane = frame.plane[p];
    const int n =
        plane.memory == job.memory ? plane.halves * plane.of.channels : 0;

    if (part >= 0 && part < n) {
      const int half = plane.halves > 1 && part >= plane.of.channels ? 1 : 0;

      tile.plane = p;
      tile.channel = part - half * plane.of.channels;
      tile.x = (job.tile_x * plane.halves + half) * REGIONS_TILE;
    }
    part -= n;
  }
  return tile;
}

/* Loads the thread's word of a filter; direct_store_filter() puts it into the job. */
__device__ __forceinline__ uint32_t
direct_fetch_filter (const DirectFrame &frame, int filter)
{
  const int i = direct_me ();

  return i < DIRECT_FILTER_WORDS ? ((const uint32_t *) &frame.taps[filter])[i]
                                 : 0;
}

__device__ __forceinline__ void
direct_store_filter (DirectJob *job, int filter, uint32_t word)
{
  const int i = direct_me ();

  if (i < DIRECT_FILTER_WORDS)
    ((uint32_t *) &job->taps)[i] = word;
  if (i == 0)
    job->filter = filter;
}

/* Marks the regions that touch tiles [left, right) x [top, bottom) of memory m. The masks are zero
 * before. Returns whether the region with the thread's number is one of them. */
__device__ __forceinline__ bool
direct_touch (const DirectFrame &frame, DirectJob *job, int m, int left,
    int right, int top, int bottom)
{
  const int i = direct_me ();

  static_assert (DIRECT_MOST_REGIONS <= DIRECT_THREADS, "a thread each");
  if (i < frame.n_regions) {
    const DirectTiles tiles = direct_tiles (frame, m)[i];

    if (tiles.left < right && left < tiles.right && tiles.top < bottom
        && top < tiles.bottom) {
      atomicAdd (&job->touched[i / 32], 1u << i % 32);
      return true;
    }
  }
  return false;
}

/* Widens the job's clip to the samples that region i covers. */
__device__ __forceinline__ void
direct_widen_clip (const DirectFrame &frame, DirectJob *job, int i)
{
  const DirectClip clip =
      direct_clip (frame, direct_regions (frame)[i], job->tile);

  if (direct_is_empty (clip))
    return;
  atomicMin (&job->clip.left, clip.left);
  atomicMax (&job->clip.right, clip.right);
  atomicMin (&job->clip.top, clip.top);
  atomicMax (&job->clip.bottom, clip.bottom);
}

/* Finds the tile and parts of block number `block`; `filters`: also the tile's samples, clip and
 * taps. Returns false where a later region touches the same tile: that region's block does the
 * tile. */
__device__ __forceinline__ bool
direct_find_parts (
    const DirectFrame &frame, DirectJob *job, int block, bool filters)
{
  unsigned later = 0;
  uint32_t word = 0;
  int filter = 0;

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
      if (filters) {
        job->tile = direct_find_samples (frame, *job, job->part);
        job->clip = { REGIONS_TILE, 0, REGIONS_TILE, 0 };
      }
    }
  }
  __syncthreads ();
  if (filters) {
    filter = direct_regions (frame)[job->region].amount + job->tile.plane;
    word = direct_fetch_filter (frame, filter);
  }
  if (direct_touch (frame, job, job->memory, job->tile_x, job->tile_x + 1,
          job->tile_y, job->tile_y + 1)
      && filters)
    direct_widen_clip (frame, job, direct_me ());
  if (filters)
    direct_store_filter (job, filter, word);
  __syncthreads ();
  later = job->touched[job->region / 32] & ~1u << job->region % 32;
#pragma unroll 1
  for (int w = job->region / 32 + 1; w < direct_masks (frame); w++)
    later |= job->touched[w];
  return later == 0;
}
