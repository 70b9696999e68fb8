/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ring: frames on their way through the GPU, in order.
 *
 * A ring has `depth` slots. Each holds a pinned host copy and a device copy of
 * one source and one result image, and passes through
 *
 *   acquire -> submit (copy up, compute, copy down are queued) -> wait -> release
 *
 * Copies up, kernels and copies down run on three streams joined by events, so
 * that the stages of neighbouring slots overlap. Slots are acquired, and must be
 * waited for and released, in one order.
 *
 * Without a GPU the same interface computes on the host, during submit, straight
 * from the source to the result.
 *
 * Thread safety: one thread acquires and submits, one (the same or another)
 * waits and releases; ring_stats() may be called from any. With a GPU its
 * context must be pushed on the thread of each call but ring_acquire(),
 * ring_release() and ring_stats(). */
#pragma once

#include "gpu.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RING_MAX_DEPTH 64

typedef struct Ring Ring;
typedef struct RingSlot RingSlot;

/* Queues the work of one frame on `stream`, or does it at once when `stream` is
 * NULL (no GPU). Called during ring_submit(), on its thread. */
typedef bool (*RingCompute) (void *user, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault);

/* Sums since ring_new(), or since the last of several rings they were added up
 * from. Times are of the device for a GPU, of the host's clock without. */
typedef struct
{
  uint64_t frames_in, frames_out;    /* submitted; waited for */
  uint64_t bytes_up, bytes_down;     /* over the bus; 0 without a GPU */
  double up_ns, compute_ns, down_ns; /* of all frames_out */
  unsigned in_flight_peak;
} RingStats;

/* `gpu` may be NULL and must outlive the ring. `depth` 1..RING_MAX_DEPTH. The
 * layouts give the sizes of source and result frames. All memory, streams and
 * events are made here. */
Ring *ring_new (Gpu *gpu, const Image *src_layout, const Image *dst_layout,
    int depth, Fault *fault);
/* Waits for the device to finish what was submitted. NULL is allowed. */
void ring_free (Ring *ring);

/* Blocks until a slot is free. */
RingSlot *ring_acquire (Ring *ring);

/* Copies src up, has `compute` queue its work, and queues the copy down. The
 * host's src may be reused on return; dst must stay until ring_wait(). Their
 * layouts must be the ring's. After a failure the slot is idle and must be
 * released without waiting. */
bool ring_submit (Ring *ring, RingSlot *slot, const Image *src,
    const Image *dst, RingCompute compute, void *user, Fault *fault);

/* Blocks until the slot's result is in its dst. On failure dst is undefined. */
bool ring_wait (Ring *ring, RingSlot *slot, Fault *fault);

void ring_release (Ring *ring, RingSlot *slot);

void ring_stats (Ring *ring, RingStats *stats);
/* sum += stats, for keeping count across rings. */
void ring_stats_add (RingStats *sum, const RingStats *stats);

#ifdef __cplusplus
}
#endif
