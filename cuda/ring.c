/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Rows start on the alignment that device copies and vector loads like best. */
#define ROW_ALIGNMENT 256

/* The points in time of one frame, in order. */
enum
{
  MARK_UP_START,
  MARK_UP_END,
  MARK_COMPUTE_START,
  MARK_COMPUTE_END,
  MARK_DOWN_START,
  MARK_DOWN_END,
  N_MARKS
};

struct RingSlot
{
  Image host_src, host_dst; /* pinned */
  Image device_src, device_dst;
  Image result; /* the caller's dst */
  GpuEvent mark[N_MARKS];
  double compute_ns; /* without a GPU */
};

struct Ring
{
  Gpu *gpu;
  int depth;
  GpuStream up, compute, down;
  RingSlot *slots;
  size_t src_bytes, dst_bytes;

  pthread_mutex_t lock; /* protects all below, from both threads */
  pthread_cond_t freed;
  int next; /* the slot to acquire next */
  int used; /* slots between acquire and release */
  RingStats stats;
};

static double
host_time_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

static bool
host_image (const Image *layout, Image *image, Fault *fault)
{
  uint8_t *memory =
      gpu_malloc_host (image_pack (layout, ROW_ALIGNMENT, NULL, image), fault);

  if (memory == NULL)
    return false;
  image_pack (layout, ROW_ALIGNMENT, memory, image);
  return true;
}

static bool
device_image (const Image *layout, Image *image, Fault *fault)
{
  uint8_t *memory =
      gpu_malloc (image_pack (layout, ROW_ALIGNMENT, NULL, image), fault);

  if (memory == NULL)
    return false;
  image_pack (layout, ROW_ALIGNMENT, memory, image);
  return true;
}

static bool
slot_init (RingSlot *slot, const Image *src, const Image *dst, Fault *fault)
{
  if (!host_image (src, &slot->host_src, fault)
      || !host_image (dst, &slot->host_dst, fault)
      || !device_image (src, &slot->device_src, fault)
      || !device_image (dst, &slot->device_dst, fault))
    return false;
  for (int i = 0; i < N_MARKS; i++)
    if (!gpu_event_new (&slot->mark[i], fault))
      return false;
  return true;
}

static void
slot_clear (RingSlot *slot)
{
  for (int i = 0; i < N_MARKS; i++)
    gpu_event_free (slot->mark[i]);
  gpu_free (slot->device_dst.memory[0].data);
  gpu_free (slot->device_src.memory[0].data);
  gpu_free_host (slot->host_dst.memory[0].data);
  gpu_free_host (slot->host_src.memory[0].data);
}

Ring *
ring_new (Gpu *gpu, const Image *src_layout, const Image *dst_layout, int depth,
    Fault *fault)
{
  Ring *ring;

  if (depth < 1 || depth > RING_MAX_DEPTH) {
    fault_set (fault, FAULT_SETTINGS, "A ring has 1 to %d slots, not %d.",
        RING_MAX_DEPTH, depth);
    return NULL;
  }
  if (!image_validate (src_layout, fault)
      || !image_validate (dst_layout, fault))
    return NULL;

  ring = calloc (1, sizeof *ring);
  if (ring != NULL)
    ring->slots = calloc ((size_t) depth, sizeof *ring->slots);
  if (ring == NULL || ring->slots == NULL) {
    free (ring);
    fault_set (
        fault, FAULT_NO_SPACE, "Out of memory for %d frames in flight.", depth);
    return NULL;
  }
  ring->gpu = gpu;
  ring->depth = depth;
  ring->src_bytes = image_bytes (src_layout);
  ring->dst_bytes = image_bytes (dst_layout);
  pthread_mutex_init (&ring->lock, NULL);
  pthread_cond_init (&ring->freed, NULL);
  if (gpu == NULL)
    return ring;

  if (!gpu_stream_new (&ring->up, fault)
      || !gpu_stream_new (&ring->compute, fault)
      || !gpu_stream_new (&ring->down, fault))
    goto fail;
  for (int i = 0; i < depth; i++)
    if (!slot_init (&ring->slots[i], src_layout, dst_layout, fault))
      goto fail;
  return ring;

fail:
  ring_free (ring);
  return NULL;
}

/* Returns when no queued work can touch a slot any more, even after errors. */
static void
quiesce (Ring *ring)
{
  if (ring->up != NULL)
    gpu_stream_synchronize (ring->up, NULL);
  if (ring->compute != NULL)
    gpu_stream_synchronize (ring->compute, NULL);
  if (ring->down != NULL)
    gpu_stream_synchronize (ring->down, NULL);
}

void
ring_free (Ring *ring)
{
  if (ring == NULL)
    return;
  if (ring->gpu != NULL) {
    quiesce (ring);
    for (int i = 0; i < ring->depth; i++)
      slot_clear (&ring->slots[i]);
    gpu_stream_free (ring->down);
    gpu_stream_free (ring->compute);
    gpu_stream_free (ring->up);
  }
  pthread_cond_destroy (&ring->freed);
  pthread_mutex_destroy (&ring->lock);
  free (ring->slots);
  free (ring);
}

RingSlot *
ring_acquire (Ring *ring)
{
  RingSlot *slot;

  pthread_mutex_lock (&ring->lock);
  while (ring->used == ring->depth)
    pthread_cond_wait (&ring->freed, &ring->lock);
  slot = &ring->slots[ring->next];
  ring->next = (ring->next + 1) % ring->depth;
  ring->used++;
  pthread_mutex_unlock (&ring->lock);
  return slot;
}

static bool
copy_image (const Image *dst, const Image *src, GpuCopy kind, GpuStream stream,
    Fault *fault)
{
  for (int m = 0; m < src->n_memories; m++) {
    const ImageMemory *from = &src->memory[m], *to = &dst->memory[m];

    if (!gpu_copy_rows (to->data, (size_t) to->stride, from->data,
            (size_t) from->stride, from->row_bytes, from->height, kind, stream,
            fault))
      return false;
  }
  return true;
}

static bool
submit_to_gpu (
    Ring *ring, RingSlot *slot, RingCompute compute, void *user, Fault *fault)
{
  return gpu_event_record (slot->mark[MARK_UP_START], ring->up, fault)
      && copy_image (
          &slot->device_src, &slot->host_src, GPU_COPY_UP, ring->up, fault)
      && gpu_event_record (slot->mark[MARK_UP_END], ring->up, fault)
      && gpu_stream_wait_event (ring->compute, slot->mark[MARK_UP_END], fault)
      && gpu_event_record (slot->mark[MARK_COMPUTE_START], ring->compute, fault)
      && compute (
          user, &slot->device_src, &slot->device_dst, ring->compute, fault)
      && gpu_event_record (slot->mark[MARK_COMPUTE_END], ring->compute, fault)
      && gpu_stream_wait_event (ring->down, slot->mark[MARK_COMPUTE_END], fault)
      && gpu_event_record (slot->mark[MARK_DOWN_START], ring->down, fault)
      && copy_image (
          &slot->host_dst, &slot->device_dst, GPU_COPY_DOWN, ring->down, fault)
      && gpu_event_record (slot->mark[MARK_DOWN_END], ring->down, fault);
}

bool
ring_submit (Ring *ring, RingSlot *slot, const Image *src, const Image *dst,
    RingCompute compute, void *user, Fault *fault)
{
  slot->result = *dst;
  if (ring->gpu == NULL) {
    const double start = host_time_ns ();

    if (!compute (user, src, dst, NULL, fault))
      return false;
    slot->compute_ns = host_time_ns () - start;
  } else {
    image_copy (&slot->host_src, src);
    if (!submit_to_gpu (ring, slot, compute, user, fault)) {
      quiesce (ring);
      return false;
    }
  }

  pthread_mutex_lock (&ring->lock);
  ring->stats.frames_in++;
  if (ring->gpu != NULL) {
    ring->stats.bytes_up += ring->src_bytes;
    ring->stats.bytes_down += ring->dst_bytes;
  }
  if (ring->stats.in_flight_peak < (unsigned) ring->used)
    ring->stats.in_flight_peak = (unsigned) ring->used;
  pthread_mutex_unlock (&ring->lock);
  return true;
}

bool
ring_wait (Ring *ring, RingSlot *slot, Fault *fault)
{
  double up = 0.0, compute = slot->compute_ns, down = 0.0;

  if (ring->gpu != NULL) {
    if (!gpu_event_synchronize (slot->mark[MARK_DOWN_END], fault)
        || !gpu_event_elapsed (
            slot->mark[MARK_UP_START], slot->mark[MARK_UP_END], &up, fault)
        || !gpu_event_elapsed (slot->mark[MARK_COMPUTE_START],
            slot->mark[MARK_COMPUTE_END], &compute, fault)
        || !gpu_event_elapsed (slot->mark[MARK_DOWN_START],
            slot->mark[MARK_DOWN_END], &down, fault))
      return false;
    image_copy (&slot->result, &slot->host_dst);
  }

  pthread_mutex_lock (&ring->lock);
  ring->stats.frames_out++;
  ring->stats.up_ns += up;
  ring->stats.compute_ns += compute;
  ring->stats.down_ns += down;
  pthread_mutex_unlock (&ring->lock);
  return true;
}

void
ring_release (Ring *ring, RingSlot *slot)
{
  (void) slot;
  pthread_mutex_lock (&ring->lock);
  ring->used--;
  pthread_cond_signal (&ring->freed);
  pthread_mutex_unlock (&ring->lock);
}

void
ring_stats (Ring *ring, RingStats *stats)
{
  pthread_mutex_lock (&ring->lock);
  *stats = ring->stats;
  pthread_mutex_unlock (&ring->lock);
}

void
ring_stats_add (RingStats *sum, const RingStats *stats)
{
  sum->frames_in += stats->frames_in;
  sum->frames_out += stats->frames_out;
  sum->bytes_up += stats->bytes_up;
  sum->bytes_down += stats->bytes_down;
  sum->up_ns += stats->up_ns;
  sum->compute_ns += stats->compute_ns;
  sum->down_ns += stats->down_ns;
  if (sum->in_flight_peak < stats->in_flight_peak)
    sum->in_flight_peak = stats->in_flight_peak;
}
