/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ring.h"

#include "hostclock.h"
#include "workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Enough for vector loads, and no more than the rows of usual pictures have by
 * themselves: a device image then lies as the host's does, and goes in one copy. */
#define ROW_ALIGNMENT 64

/* Threads that share one frame's copy to or from pinned memory: one moves 14
 * GB/s, the bus takes 50. */
#define COPY_WORKERS 4
/* Bytes worth waking a thread for. */
#define COPY_GRAIN (256 * 1024)

/* The first frames are timed, and then every so many: two time stamps on a copy
 * stream cost it what a tenth of a 3 MB frame takes. */
#define TIMED_FIRST 8
#define TIMED_EVERY 16

/* A frame is slept for by the clock, for this part of the time that it is expected
 * to take, if that is worth it; what is left is for gpu_event_synchronize(). */
#define DOZE_PART 0.9
#define DOZE_MIN_NS 20e3
/* What a guess is multiplied by that proved too long: a frame that is alone is late
 * then, and felt to be; in a series, others are queued behind it, and the waker
 * may be to blame. */
#define EARLIER_ALONE 0.5
#define EARLIER_IN_SERIES 0.97
/* No guess is longer: the gain would be small, and a wrong one felt. */
#define GUESS_MAX_NS 5e6

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
  Image host_src, host_dst; /* pinned, without memory until needed */
  Image device_src, device_dst;
  GpuEvent mark[N_MARKS];
  GpuEvent sliced_up[RING_MAX_SLICES]; /* the slice has come up; untimed */
  GpuEvent sliced_compute[RING_MAX_SLICES];
  GpuEvent finished; /* untimed; what ring_wait() waits for */
  bool timed;        /* this frame records its marks */
  bool alone;        /* no other frame was in flight at submit */
  double submit_ns;
  RingFrame frame;   /* of the last submit */
  Image up, down;    /* what its copies read and write */
  bool copy_out;     /* `down` is the slot's own: wait copies it to frame.dst */
  double compute_ns; /* without a GPU */
};

struct Ring
{
  Gpu *gpu;
  int depth;
  Image src_layout, dst_layout; /* dst_layout without memories: no result */
  GpuStream up, compute, down;
  RingSlot *slots;
  Workers *copy_in;  /* of the submitting thread */
  Workers *copy_out; /* of the waiting thread */

  /* The waiting thread's own. Guesses are low, and 0 while there is none. */
  double alone_ns, series_ns;
  double last_end_ns; /* when the frame before was seen to have ended */

  pthread_mutex_t lock; /* protects all below, from both threads */
  pthread_cond_t freed;
  int next; /* the slot to acquire next */
  int used; /* slots between acquire and release */
  RingStats stats;
};

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

/* The slot's pinned image, made when it is first asked for. */
static bool
pinned_image (const Image *layout, Image *image, Fault *fault)
{
  uint8_t *memory;
  size_t bytes;

  if (image->n_memories > 0)
    return true;
  bytes = image_pack (layout, ROW_ALIGNMENT, NULL, image);
  memory = gpu_malloc_host (bytes, fault);
  if (memory == NULL) {
    image->n_memories = 0;
    return false;
  }
  /* Bytes that belong to no sample travel too. */
  memset (memory, 0, bytes);
  image_pack (layout, ROW_ALIGNMENT, memory, image);
  return true;
}

static bool
slot_init (RingSlot *slot, const Image *src, const Image *dst, Fault *fault)
{
  if (!device_image (src, &slot->device_src, fault)
      || (dst->n_memories > 0 && !device_image (dst, &slot->device_dst, fault)))
    return false;
  for (int i = 0; i < N_MARKS; i++)
    if (!gpu_event_new (&slot->mark[i], fault))
      return false;
  for (int i = 0; i < RING_MAX_SLICES; i++)
    if (!gpu_event_new_untimed (&slot->sliced_up[i], fault)
        || !gpu_event_new_untimed (&slot->sliced_compute[i], fault))
      return false;
  return gpu_event_new_untimed (&slot->finished, fault);
}

static void
slot_clear (RingSlot *slot)
{
  gpu_event_free (slot->finished);
  for (int i = 0; i < RING_MAX_SLICES; i++) {
    gpu_event_free (slot->sliced_compute[i]);
    gpu_event_free (slot->sliced_up[i]);
  }
  for (int i = 0; i < N_MARKS; i++)
    gpu_event_free (slot->mark[i]);
  gpu_free (slot->device_dst.memory[0].data);
  gpu_free (slot->device_src.memory[0].data);
  gpu_free_host (slot->host_dst.memory[0].data);
  gpu_free_host (slot->host_src.memory[0].data);
}

static bool
init_gpu (Ring *ring, Fault *fault)
{
  if (!gpu_stream_new (&ring->up, fault)
      || !gpu_stream_new (&ring->compute, fault)
      || !gpu_stream_new (&ring->down, fault))
    return false;
  for (int i = 0; i < ring->depth; i++)
    if (!slot_init (
            &ring->slots[i], &ring->src_layout, &ring->dst_layout, fault))
      return false;
  ring->copy_in = workers_new (COPY_WORKERS, fault);
  ring->copy_out = workers_new (COPY_WORKERS, fault);
  return ring->copy_in != NULL && ring->copy_out != NULL;
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
      || (dst_layout != NULL && !image_validate (dst_layout, fault)))
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
  ring->src_layout = *src_layout;
  if (dst_layout != NULL)
    ring->dst_layout = *dst_layout;
  pthread_mutex_init (&ring->lock, NULL);
  pthread_cond_init (&ring->freed, NULL);
  if (gpu != NULL && !init_gpu (ring, fault)) {
    ring_free (ring);
    return NULL;
  }
  return ring;
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
    workers_free (ring->copy_out);
    workers_free (ring->copy_in);
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

/* A host copy shared by several threads: the rows of one memory. */
typedef struct
{
  const ImageMemory *to, *from;
} CopyJob;

static void
copy_part (void *user, int worker, int first, int last)
{
  const CopyJob *job = user;
  Image to = { .n_memories = 1 }, from = { .n_memories = 1 };

  (void) worker;
  to.memory[0] = *job->to;
  from.memory[0] = *job->from;
  to.memory[0].data += first * job->to->stride;
  from.memory[0].data += first * job->from->stride;
  to.memory[0].height = from.memory[0].height = last - first;
  image_copy (&to, &from);
}

static void
copy_on_host (Workers *workers, const Image *to, const Image *from)
{
  for (int m = 0; m < from->n_memories; m++) {
    CopyJob job = { &to->memory[m], &from->memory[m] };
    const int grain = (int) (COPY_GRAIN / (from->memory[m].row_bytes + 1)) + 1;

    workers_run (workers, from->memory[m].height, grain, copy_part, &job);
  }
}

/* Whether rows [first, last) of memory m + 1 follow those of memory m directly, on
 * both sides, so that one copy can take both. */
static bool
follows (const Image *dst, const Image *src, const int *first, const int *last,
    int m)
{
  const Image *const images[] = { dst, src };

  for (int i = 0; i < 2; i++) {
    const ImageMemory *a = &images[i]->memory[m], *b = a + 1;

    if (a->stride != (ptrdiff_t) a->row_bytes
        || b->stride != (ptrdiff_t) b->row_bytes
        || b->data + first[m + 1] * b->stride != a->data + last[m] * a->stride)
      return false;
  }
  return last[m] > first[m];
}

/* Copies rows [first[m], last[m]) of every memory. `blocks`: both images lie in
 * one allocation each, so that neighbouring memories may be copied as one. */
static bool
copy_rows (const Image *dst, const Image *src, const int *first,
    const int *last, bool blocks, GpuCopy kind, GpuStream stream, Fault *fault)
{
  for (int m = 0; m < src->n_memories; m++) {
    const ImageMemory *from = &src->memory[m], *to = &dst->memory[m];
    size_t row_bytes = from->row_bytes;
    int rows = last[m] - first[m];
    const int start = m;

    if (blocks && m + 1 < src->n_memories
        && follows (dst, src, first, last, m)) {
      /* One row that holds all of them. */
      row_bytes *= (size_t) rows;
      rows = 1;
      for (; m + 1 < src->n_memories && follows (dst, src, first, last, m); m++)
        row_bytes += src->memory[m + 1].row_bytes
            * (size_t) (last[m + 1] - first[m + 1]);
    }
    if (!gpu_copy_rows (to->data + first[start] * to->stride, to->stride,
            from->data + first[start] * from->stride, from->stride, row_bytes,
            rows, kind, stream, fault))
      return false;
  }
  return true;
}

/* The rows of each memory that slice i of n ends before. */
static void
slice_rows (const Image *image, int i, int n, int *rows)
{
  for (int m = 0; m < image->n_memories; m++)
    rows[m] = (int) ((long long) image->memory[m].height * (i + 1) / n);
}

static void
all_rows (const Image *image, ImageRows *rows)
{
  for (int m = 0; m < image->n_memories; m++)
    rows[m] = (ImageRows){ 0, image->memory[m].height };
}

/* Records a point in time, of a frame that is timed. */
static bool
mark (RingSlot *slot, int point, GpuStream stream, Fault *fault)
{
  return !slot->timed || gpu_event_record (slot->mark[point], stream, fault);
}

/* Queues one slice: up, compute, and down what is finished by then. */
static bool
submit_slice (
    Ring *ring, RingSlot *slot, int i, int *ready, int *done, Fault *fault)
{
  const RingFrame *frame = &slot->frame;
  const bool first = i == 0, last = i == frame->slices - 1;
  const bool mark_end = last && slot->timed;
  const GpuEvent up_end =
      mark_end ? slot->mark[MARK_UP_END] : slot->sliced_up[i];
  const GpuEvent compute_end =
      mark_end ? slot->mark[MARK_COMPUTE_END] : slot->sliced_compute[i];
  /* Pageable memory may be the caller's in any number of pieces. */
  const bool blocks = frame->transfer != RING_PAGEABLE;
  int before[IMAGE_MAX_MEMORIES];
  RingPart part = { .src = &slot->device_src,
    .dst = &slot->device_dst,
    .first = first,
    .last = last,
    .stream = ring->compute,
    .done = done };

  for (int m = 0; m < IMAGE_MAX_MEMORIES; m++)
    before[m] = ready[m];
  slice_rows (&slot->up, i, frame->slices, ready);
  if (!copy_rows (&slot->device_src, &slot->up, before, ready, blocks,
          GPU_COPY_UP, ring->up, fault)
      || !gpu_event_record (up_end, ring->up, fault)
      || !gpu_stream_wait_event (ring->compute, up_end, fault))
    return false;
  if (first && !mark (slot, MARK_COMPUTE_START, ring->compute, fault))
    return false;

  for (int m = 0; m < IMAGE_MAX_MEMORIES; m++) {
    part.fresh[m] = (ImageRows){ before[m], ready[m] };
    before[m] = done[m];
  }
  if (!frame->compute (frame->user, &part, fault)
      || !gpu_event_record (compute_end, ring->compute, fault)
      || !gpu_stream_wait_event (ring->down, compute_end, fault))
    return false;
  if (first && !mark (slot, MARK_DOWN_START, ring->down, fault))
    return false;
  if (last)
    slice_rows (&slot->down, 0, 1, done);
  return copy_rows (&slot->down, &slot->device_dst, before, done, blocks,
      GPU_COPY_DOWN, ring->down, fault);
}

static bool
submit_copying (Ring *ring, RingSlot *slot, Fault *fault)
{
  int ready[IMAGE_MAX_MEMORIES] = { 0 }, done[IMAGE_MAX_MEMORIES] = { 0 };

  if (!mark (slot, MARK_UP_START, ring->up, fault))
    return false;
  for (int i = 0; i < slot->frame.slices; i++)
    if (!submit_slice (ring, slot, i, ready, done, fault))
      return false;
  return mark (slot, MARK_DOWN_END, ring->down, fault)
      && gpu_event_record (slot->finished, ring->down, fault);
}

/* Kernels on host memory: nothing but compute is queued. */
static bool
submit_mapped (Ring *ring, RingSlot *slot, Fault *fault)
{
  int done[IMAGE_MAX_MEMORIES] = { 0 };
  RingPart part = { .src = &slot->up,
    .dst = &slot->down,
    .first = true,
    .last = true,
    .stream = ring->compute,
    .done = done };

  all_rows (&slot->up, part.fresh);
  return mark (slot, MARK_COMPUTE_START, ring->compute, fault)
      && slot->frame.compute (slot->frame.user, &part, fault)
      && mark (slot, MARK_COMPUTE_END, ring->compute, fault)
      && gpu_event_record (slot->finished, ring->compute, fault);
}

/* Decides what the copies read and write, and fills it where it is the slot's. */
static bool
stage (Ring *ring, RingSlot *slot, Fault *fault)
{
  const RingFrame *frame = &slot->frame;
  const bool direct = frame->transfer == RING_PAGEABLE;

  slot->up = frame->src;
  slot->down = frame->dst;
  slot->copy_out = !direct && !frame->dst_pinned && frame->dst.n_memories > 0;
  if (!direct && !frame->src_pinned) {
    if (!pinned_image (&ring->src_layout, &slot->host_src, fault))
      return false;
    copy_on_host (ring->copy_in, &slot->host_src, &frame->src);
    slot->up = slot->host_src;
  }
  if (slot->copy_out) {
    if (!pinned_image (&ring->dst_layout, &slot->host_dst, fault))
      return false;
    slot->down = slot->host_dst;
  }
  return true;
}

static bool
submit_on_host (RingSlot *slot, Fault *fault)
{
  const double start = host_clock_ns ();
  int done[IMAGE_MAX_MEMORIES] = { 0 };
  RingPart part = { .src = &slot->frame.src,
    .dst = &slot->frame.dst,
    .first = true,
    .last = true,
    .done = done };

  all_rows (&slot->frame.src, part.fresh);
  if (!slot->frame.compute (slot->frame.user, &part, fault))
    return false;
  slot->compute_ns = host_clock_ns () - start;
  return true;
}

bool
ring_submit (Ring *ring, RingSlot *slot, const RingFrame *frame, Fault *fault)
{
  const bool copies = ring->gpu != NULL && frame->transfer != RING_MAPPED;

  if (frame->slices < 1 || frame->slices > RING_MAX_SLICES)
    return fault_set (fault, FAULT_SETTINGS,
        "A frame is cut into 1 to %d slices, not %d.", RING_MAX_SLICES,
        frame->slices);
  slot->frame = *frame;
  pthread_mutex_lock (&ring->lock);
  slot->timed = ring->stats.frames_in < TIMED_FIRST
      || ring->stats.frames_in % TIMED_EVERY == 0;
  slot->alone = ring->used == 1;
  pthread_mutex_unlock (&ring->lock);
  slot->submit_ns = host_clock_ns ();
  if (ring->gpu == NULL) {
    slot->timed = true;
    if (!submit_on_host (slot, fault))
      return false;
  } else if (!stage (ring, slot, fault)
      || !(copies ? submit_copying : submit_mapped) (ring, slot, fault)) {
    quiesce (ring);
    return false;
  }

  pthread_mutex_lock (&ring->lock);
  ring->stats.frames_in++;
  if (ring->gpu != NULL) {
    ring->stats.bytes_up += image_bytes (&frame->src);
    ring->stats.bytes_down += image_bytes (&frame->dst);
  }
  if (ring->stats.in_flight_peak < (unsigned) ring->used)
    ring->stats.in_flight_peak = (unsigned) ring->used;
  pthread_mutex_unlock (&ring->lock);
  return true;
}

/* Sleeps for most of `guess_ns` from `start_ns` on. Returns whether it did. */
static bool
doze (double start_ns, double guess_ns)
{
  const double wake = start_ns + DOZE_PART * guess_ns;

  if (wake - host_clock_ns () < DOZE_MIN_NS)
    return false;
  host_clock_sleep_until (wake);
  return true;
}

/* Adapts a guess to a frame that was waited for and took `ns`: it follows the
 * shortest and creeps up. */
static void
learn (double *guess_ns, double ns)
{
  *guess_ns *= 1.02;
  if (*guess_ns == 0.0 || *guess_ns > ns)
    *guess_ns = ns;
  if (*guess_ns > GUESS_MAX_NS)
    *guess_ns = GUESS_MAX_NS;
}

/* Waits for the event that ends the slot's frame. The first frames meet costs of
 * their own, and one submitted to an idle GPU beside a frame that was about to
 * leave tells of neither case. */
static bool
wait_for_end (Ring *ring, RingSlot *slot, bool first, Fault *fault)
{
  const double start = slot->alone ? slot->submit_ns : ring->last_end_ns;
  const bool typical = slot->submit_ns <= start;
  double *guess = slot->alone ? &ring->alone_ns : &ring->series_ns;
  const bool dozed = typical && doze (start, *guess);
  bool done;

  if (!gpu_event_query (slot->finished, &done, fault)
      || (!done && !gpu_event_synchronize (slot->finished, fault)))
    return false;
  ring->last_end_ns = host_clock_ns ();
  if (done && dozed)
    *guess *= slot->alone ? EARLIER_ALONE : EARLIER_IN_SERIES;
  else if (!done && typical && !first)
    learn (guess, ring->last_end_ns - start);
  return true;
}

/* Waits for the slot's frame, and reads its times if it has any. */
static bool
wait_for_gpu (Ring *ring, RingSlot *slot, double *up, double *compute,
    double *down, Fault *fault)
{
  bool first;

  pthread_mutex_lock (&ring->lock);
  first = ring->stats.frames_out < TIMED_FIRST;
  pthread_mutex_unlock (&ring->lock);
  *up = *compute = *down = 0.0;
  if (!wait_for_end (ring, slot, first, fault))
    return false;
  if (!slot->timed)
    return true;
  if (!gpu_event_elapsed (slot->mark[MARK_COMPUTE_START],
          slot->mark[MARK_COMPUTE_END], compute, fault))
    return false;
  return slot->frame.transfer == RING_MAPPED
      || (gpu_event_elapsed (
              slot->mark[MARK_UP_START], slot->mark[MARK_UP_END], up, fault)
          && gpu_event_elapsed (slot->mark[MARK_DOWN_START],
              slot->mark[MARK_DOWN_END], down, fault));
}

bool
ring_wait (Ring *ring, RingSlot *slot, Fault *fault)
{
  double up = 0.0, compute = slot->compute_ns, down = 0.0;

  if (ring->gpu != NULL) {
    if (!wait_for_gpu (ring, slot, &up, &compute, &down, fault))
      return false;
    if (slot->copy_out)
      copy_on_host (ring->copy_out, &slot->frame.dst, &slot->host_dst);
  }

  pthread_mutex_lock (&ring->lock);
  ring->stats.frames_out++;
  ring->stats.frames_timed += slot->timed;
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

int
ring_in_flight (Ring *ring)
{
  int used;

  pthread_mutex_lock (&ring->lock);
  used = ring->used;
  pthread_mutex_unlock (&ring->lock);
  return used;
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
  sum->frames_timed += stats->frames_timed;
  sum->bytes_up += stats->bytes_up;
  sum->bytes_down += stats->bytes_down;
  sum->up_ns += stats->up_ns;
  sum->compute_ns += stats->compute_ns;
  sum->down_ns += stats->down_ns;
  if (sum->in_flight_peak < stats->in_flight_peak)
    sum->in_flight_peak = stats->in_flight_peak;
}
