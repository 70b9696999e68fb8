/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ring.h"

#include "gpu-link.h"
#include "hostclock.h"
#include "trace.h"
#include "workers.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Enough for vector loads. The row length of usual pictures is a multiple of it: a device
 * image then has the strides of the host image, and one copy transfers it. */
#define ROW_ALIGNMENT 64

/* Threads that share one frame's copy to or from pinned memory: one thread copies 14
 * GB/s, the bus 50. */
#define COPY_WORKERS 4
/* Bytes of a copy that are worth waking one more thread. */
#define COPY_GRAIN (256 * 1024)
/* The least number of slots with which kernels of neighbouring frames overlap: with fewer
 * frames in flight, kernels that are laid out for overlap do not fill a GPU. */
#define DEPTH_BESIDE 3

/* The first TIMED_FIRST frames are timed, then one frame in TIMED_EVERY: two time stamps
 * on a copy stream take a tenth of the time of a 3 MB frame. Where kernels overlap, a
 * timed frame runs alone, which costs the time of a few frames: one in
 * TIMED_EVERY_BESIDE. */
#define TIMED_FIRST 8
#define TIMED_EVERY 16
#define TIMED_EVERY_BESIDE 256

/* ring_wait() first sleeps by the clock for DOZE_PART of a frame's expected time, unless
 * that is less than DOZE_MIN_NS; gpu_event_synchronize() waits for the rest. */
#define DOZE_PART 0.9
#define DOZE_MIN_NS 20e3
/* Factors for an expected time that proved too long. A frame that is alone has then been
 * delayed noticeably; in a series, others are queued behind it, and the delay may be due
 * to a late wake-up. */
#define EARLIER_ALONE 0.5
#define EARLIER_IN_SERIES 0.97
/* A frame that is alone is queried more often: such frames are few, and their latency
 * counts. */
#define NAP_ALONE_NS 2e3
/* NAP_TAKES_NS: the time that even a short nap may take. RUN_DRY_NS: the same, plus the time
 * to wake the thread that submits frames until its next frame reaches the GPU. If all
 * frames in flight are expected to end sooner than RUN_DRY_NS, the waiting thread first
 * polls for NAP_TAKES_NS. */
#define NAP_TAKES_NS 30e3
#define RUN_DRY_NS 90e3
/* Longer intervals between frames are clipped to this: they carry no more information,
 * and must not dominate the mean. */
#define PACE_MAX_NS (2.0 * RUN_DRY_NS)
/* The weight of the newest frame in the running mean of the interval between ends. */
#define PACE_PART (1.0 / 16)
/* The longest expected time: a longer sleep would gain little, and an error would be
 * noticed. */
#define GUESS_MAX_NS 5e6

/* With U the time of a frame's copy in one direction, and a fixed cost C of each slice, a
 * lone frame in n slices takes U up, U / n down for the last slice, and n C. This is least
 * at n = sqrt (U / C) = sqrt (frame bytes / bytes copied in the time C). Measured on an
 * H200 with PCIe 5 x16, where C is about 4 us. */
#define SLICE_COST_BYTES 190e3

_Static_assert(
    TRACE_SLICES >= RING_MAX_SLICES, "each slice has labels for its ranges");

/* Row ends before the first row of every memory. */
static const int no_rows[IMAGE_MAX_MEMORIES] = { 0 };

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
  /* Without memory until needed. */
  Image host_src, host_dst; /* pinned */
  Image device_src, device_dst;
  GpuEvent src_ready, dst_ready; /* work queued by others; untimed */
  GpuEvent mark[N_MARKS];
  GpuEvent sliced_up[RING_MAX_SLICES]; /* end of the slice's copy up; untimed */
  GpuEvent sliced_compute[RING_MAX_SLICES];
  GpuEvent finished; /* untimed; ring_wait() waits for it */
  int parts;         /* of this frame, so far */
  GpuOrder order;    /* of its kernels with those of other frames */
  int turn;          /* RingPart.turn */
  GpuStream compute; /* the stream of this turn */
  bool timed;        /* this frame records its marks */
  bool alone;        /* no other frame was in flight at submit */
  double submit_ns;
  uint64_t number; /* of the frame, from 0 on */
  TraceFrame trace;
  RingFrame frame; /* of the last submit */
  /* The copy up reads `up` and writes `source`; the computation reads `source` and writes
   * `result`; the copy down reads `result` and writes `down`. */
  Image up, source, result, down;
  bool copies_up, copies_down;
  /* `down` is the slot's own: ring_wait() copies it to frame.dst */
  bool copy_out;
  /* For a frame in place that was staged in host_src: boxes that ring_wait() copies back to
   * frame.src. */
  ImageBox *back; /* [back_capacity], or NULL */
  int n_back, back_capacity;
  size_t bytes_up, bytes_down; /* over the bus */
  double compute_ns;           /* only without a GPU */
};

struct Ring
{
  Gpu *gpu;
  int depth;
  Image src_layout, dst_layout; /* dst_layout without memories: no result */
  GpuLink *link;                /* owns `up` and `down` */
  GpuStream up, compute, down;
  bool own_compute;
  /* Only of the submitting thread. */
  GpuStream other[GPU_MAX_TURNS - 1]; /* of turns 1, 2...; made when needed */
  GpuEvent crossing; /* on one stream of the turns, for another to wait for */
  int turns; /* of the last frame; 1: all earlier work precedes what `compute` gets next */
  int turn; /* of the next frame, if it takes as many turns */
  RingSlot *slots;
  Workers *copy_in;  /* of the submitting thread */
  Workers *copy_out; /* of the waiting thread */

  /* Only of the waiting thread. Expected times of a frame; 0 while unknown. They tend to be
   * too low. */
  double alone_ns, series_ns;
  double last_end_ns; /* time when the previous frame was seen to have ended */
  double pace_ns;     /* running mean of the interval between ends */

  pthread_mutex_t lock; /* protects all below, from both threads */
  pthread_cond_t freed;
  int next; /* the slot to acquire next */
  int used; /* slots between acquire and release */
  RingStats stats;
};

/* Allocates one of the slot's images when it is first needed, in pinned or device memory.
 * It is cleared, since bytes that belong to no sample are copied too. */
static bool
slot_image (const Image *layout, bool pinned, Image *image, Fault *fault)
{
  uint8_t *memory;
  size_t bytes;

  if (image->n_memories > 0)
    return true;
  bytes = image_pack (layout, ROW_ALIGNMENT, NULL, image);
  memory = pinned ? gpu_malloc_host (bytes, fault) : gpu_malloc (bytes, fault);
  if (memory == NULL) {
    image->n_memories = 0;
    return false;
  }
  if (pinned)
    memset (memory, 0, bytes);
  image_pack (layout, ROW_ALIGNMENT, memory, image);
  return true;
}

static bool
slot_init (RingSlot *slot, Fault *fault)
{
  for (int i = 0; i < N_MARKS; i++)
    if (!gpu_event_new (&slot->mark[i], fault))
      return false;
  for (int i = 0; i < RING_MAX_SLICES; i++)
    if (!gpu_event_new_untimed (&slot->sliced_up[i], fault)
        || !gpu_event_new_untimed (&slot->sliced_compute[i], fault))
      return false;
  return gpu_event_new_untimed (&slot->src_ready, fault)
      && gpu_event_new_untimed (&slot->dst_ready, fault)
      && gpu_event_new_untimed (&slot->finished, fault);
}

static void
slot_clear (RingSlot *slot)
{
  gpu_event_free (slot->finished);
  gpu_event_free (slot->dst_ready);
  gpu_event_free (slot->src_ready);
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
  free (slot->back);
}

static bool
init_gpu (Ring *ring, Fault *fault)
{
  ring->own_compute = ring->compute == NULL;
  ring->link = gpu_link_hold (ring->gpu, fault);
  if (ring->link == NULL
      || (ring->own_compute && !gpu_stream_new (&ring->compute, fault)))
    return false;
  if (ring->own_compute)
    trace_name_stream (ring->compute, "gst-cudasepconv compute");
  ring->up = gpu_link_up (ring->link);
  ring->down = gpu_link_down (ring->link);
  for (int i = 0; i < ring->depth; i++)
    if (!slot_init (&ring->slots[i], fault))
      return false;
  ring->copy_in = workers_new (COPY_WORKERS, fault);
  ring->copy_out = workers_new (COPY_WORKERS, fault);
  return ring->copy_in != NULL && ring->copy_out != NULL;
}

Ring *
ring_new (Gpu *gpu, const Image *src_layout, const Image *dst_layout, int depth,
    GpuStream compute, Fault *fault)
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
  ring->compute = compute;
  ring->depth = depth;
  ring->turns = 1;
  ring->pace_ns = PACE_MAX_NS;
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

void
ring_quiesce (Ring *ring)
{
  if (ring->up != NULL)
    gpu_stream_synchronize (ring->up, NULL);
  if (ring->compute != NULL)
    gpu_stream_synchronize (ring->compute, NULL);
  for (int i = 0; i < GPU_MAX_TURNS - 1; i++)
    if (ring->other[i] != NULL)
      gpu_stream_synchronize (ring->other[i], NULL);
  if (ring->down != NULL)
    gpu_stream_synchronize (ring->down, NULL);
}

void
ring_free (Ring *ring)
{
  if (ring == NULL)
    return;
  if (ring->gpu != NULL) {
    ring_quiesce (ring);
    for (int i = 0; i < ring->depth; i++)
      slot_clear (&ring->slots[i]);
    gpu_event_free (ring->crossing);
    for (int i = 0; i < GPU_MAX_TURNS - 1; i++)
      gpu_stream_free (ring->other[i]);
    gpu_link_release (ring->link);
    if (ring->own_compute)
      gpu_stream_free (ring->compute);
    workers_free (ring->copy_out);
    workers_free (ring->copy_in);
  }
  for (int i = 0; i < ring->depth; i++)
    trace_frame_end (&ring->slots[i].trace);
  pthread_cond_destroy (&ring->freed);
  pthread_mutex_destroy (&ring->lock);
  free (ring->slots);
  free (ring);
}

bool
ring_reserve (Ring *ring, bool src, bool dst, Fault *fault)
{
  if (ring->gpu == NULL)
    return true;
  for (int i = 0; i < ring->depth; i++) {
    RingSlot *slot = &ring->slots[i];

    if ((src
            && !slot_image (&ring->src_layout, false, &slot->device_src, fault))
        || (dst && ring->dst_layout.n_memories > 0
            && !slot_image (
                &ring->dst_layout, false, &slot->device_dst, fault)))
      return false;
  }
  return true;
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

/* A host copy that several threads share: the rows of one memory. */
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

/* The same for the rows of a box. */
typedef struct
{
  const Image *to, *from;
  const ImageBox *box;
} BoxJob;

static void
copy_box_part (void *user, int worker, int first, int last)
{
  const BoxJob *job = user;
  ImageBox part = *job->box;

  (void) worker;
  part.bottom = part.top + last;
  part.top += first;
  image_copy_boxes (job->to, job->from, &part, 1);
}

/* One box after the other, since they may share bytes. */
static void
copy_boxes_on_host (Workers *workers, const Image *to, const Image *from,
    const ImageBox *box, int n)
{
  for (int i = 0; i < n; i++) {
    BoxJob job = { to, from, &box[i] };
    const int bytes = box[i].right - box[i].left;

    if (bytes > 0 && box[i].bottom > box[i].top)
      workers_run (workers, box[i].bottom - box[i].top, COPY_GRAIN / bytes + 1,
          copy_box_part, &job);
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

int
ring_slices_alone (const Image *src)
{
  const int n = (int) sqrt ((double) image_bytes (src) / SLICE_COST_BYTES);

  return n < 1 ? 1 : n < RING_MAX_SLICES ? n : RING_MAX_SLICES;
}

/* Fills in the row of each memory before which slice i of n ends. A slice takes the next
 * n-th of the bytes, memory by memory, and not a share of each memory, so that its rows are
 * contiguous and go in one copy. Cuts are rounded down to whole rows, so that the last
 * slice always has some. */
static void
slice_rows (const Image *image, int i, int n, int *rows)
{
  uint64_t left = (uint64_t) image_bytes (image) * (unsigned) (i + 1)
      / (unsigned) n; /* bytes, up to the cut */

  for (int m = 0; m < image->n_memories; m++) {
    const ImageMemory *memory = &image->memory[m];
    const uint64_t bytes =
        (uint64_t) memory->row_bytes * (unsigned) memory->height;

    rows[m] = left >= bytes ? memory->height : (int) (left / memory->row_bytes);
    left -= left >= bytes ? bytes : left;
  }
}

/* Whether [first, last) has rows in any memory. */
static bool
has_rows (const int *first, const int *last)
{
  for (int m = 0; m < IMAGE_MAX_MEMORIES; m++)
    if (last[m] > first[m])
      return true;
  return false;
}

static void
all_rows (const Image *image, ImageRows *rows)
{
  for (int m = 0; m < image->n_memories; m++)
    rows[m] = (ImageRows){ 0, image->memory[m].height };
}

/* Records a point in time if the frame is timed. */
static bool
mark (RingSlot *slot, int point, GpuStream stream, Fault *fault)
{
  return !slot->timed || gpu_event_record (slot->mark[point], stream, fault);
}

/* Makes the frame's work wait for the work that is queued on `theirs`, an image's stream. */
static bool
follow (Ring *ring, const RingSlot *slot, GpuStream theirs, GpuEvent ready,
    bool up, Fault *fault)
{
  return theirs == NULL
      || (gpu_event_record (ready, theirs, fault)
          && (theirs == slot->compute
              || gpu_stream_wait_event (slot->compute, ready, fault))
          && (!up || gpu_stream_wait_event (ring->up, ready, fault)));
}

/* The event that marks the end of slice i's copy up. */
static GpuEvent
up_end (const RingSlot *slot, int i)
{
  return i == slot->frame.slices - 1 && slot->timed ? slot->mark[MARK_UP_END]
                                                    : slot->sliced_up[i];
}

/* Queues the copy up of rows [before, ready), slice i. */
static bool
submit_up (Ring *ring, RingSlot *slot, int i, const int *before,
    const int *ready, Fault *fault)
{
  const RingFrame *frame = &slot->frame;

  if (!slot->copies_up || !has_rows (before, ready))
    return true;
  TRACE_BLOCK (TRACE_UP, (uint64_t) i);
  /* The caller's pageable memory need not be one block. */
  return copy_rows (&slot->source, &slot->up, before, ready,
             frame->transfer != RING_PAGEABLE, GPU_COPY_UP, ring->up, fault)
      && gpu_event_record (up_end (slot, i), ring->up, fault);
}

/* Queues the copy down of rows [before, done), after slice i. The last slice ends the
 * frame: `down` waits for its work even if there is no row to copy. */
static bool
submit_down (Ring *ring, RingSlot *slot, int i, const int *before,
    const int *done, Fault *fault)
{
  const RingFrame *frame = &slot->frame;
  const bool last = i == frame->slices - 1, mark_end = last && slot->timed;
  const bool down = slot->copies_down && (last || has_rows (before, done));
  const GpuEvent compute_end =
      mark_end ? slot->mark[MARK_COMPUTE_END] : slot->sliced_compute[i];

  if ((mark_end || down)
      && !gpu_event_record (compute_end, slot->compute, fault))
    return false;
  if (!down)
    return true;
  TRACE_BLOCK (TRACE_DOWN, (uint64_t) i);
  return gpu_stream_wait_event (ring->down, compute_end, fault)
      && (has_rows (no_rows, before)
          || mark (slot, MARK_DOWN_START, ring->down, fault))
      && copy_rows (&slot->down, &slot->result, before, done,
          frame->transfer != RING_PAGEABLE,
          frame->dst_place == RING_DEVICE ? GPU_COPY_DEVICE : GPU_COPY_DOWN,
          ring->down, fault);
}

GpuOrder
ring_order (int depth)
{
  return depth < DEPTH_BESIDE ? GPU_AFTER_KERNELS : GPU_BESIDE_KERNELS;
}

/* Frames from or to the host run back to back, except those in place, whose memory kernels access
 * directly. So do frames whose images belong to the compute stream: they may depend on work that
 * others have queued there. */
static GpuOrder
order_of (const Ring *ring, const RingSlot *slot)
{
  const RingFrame *frame = &slot->frame;
  const bool crosses = frame->src_place != RING_DEVICE || slot->copies_down
      || (frame->dst.n_memories > 0 && frame->dst_place != RING_DEVICE);
  const bool shares =
      frame->src_stream == ring->compute || frame->dst_stream == ring->compute;

  if (frame->in_place ? !crosses : crosses || shares)
    return GPU_AFTER_KERNELS;
  return ring_order (ring->depth);
}

/* Makes work that is queued on `to` later wait for all work that is queued on `from`. */
static bool
cross (Ring *ring, GpuStream from, GpuStream to, Fault *fault)
{
  return gpu_event_record (ring->crossing, from, fault)
      && gpu_stream_wait_event (to, ring->crossing, fault);
}

/* Before frames take `turns` turns: makes their streams, and has them wait for earlier frames. */
static bool
part_streams (Ring *ring, int turns, Fault *fault)
{
  if (ring->crossing == NULL && !gpu_event_new_untimed (&ring->crossing, fault))
    return false;
  for (int i = 0; i < turns - 1; i++) {
    if (ring->other[i] == NULL) {
      if (!gpu_stream_new (&ring->other[i], fault))
        return false;
      trace_name_stream (ring->other[i], "gst-cudasepconv compute");
    }
    if (!cross (ring, ring->compute, ring->other[i], fault))
      return false;
  }
  ring->turns = turns;
  ring->turn = 0;
  return true;
}

/* After frames have taken turns: later frames on `compute` come after all of them. */
static bool
join_streams (Ring *ring, Fault *fault)
{
  for (int i = 0; i < ring->turns - 1; i++)
    if (!cross (ring, ring->other[i], ring->compute, fault))
      return false;
  ring->turns = 1;
  return true;
}

/* Gives the frame its turn, and the stream of this turn. A timed frame takes no turn: nothing else
 * may run in the time that it measures. */
static bool
take_turn (Ring *ring, RingSlot *slot, Fault *fault)
{
  const bool alone = slot->timed || slot->order != GPU_BESIDE_KERNELS;
  const int turns = alone || slot->frame.turns < 2 ? 1 : slot->frame.turns;

  if (turns != ring->turns
      && (!join_streams (ring, fault) || !part_streams (ring, turns, fault)))
    return false;
  slot->turn = ring->turn;
  slot->compute = slot->turn == 0 ? ring->compute : ring->other[slot->turn - 1];
  ring->turn = (ring->turn + 1) % turns;
  return true;
}

/* Calls the frame's `compute` to queue its work on rows [before, ready), slice i. */
static bool
submit_compute (RingSlot *slot, int i, const int *before, const int *ready,
    int *done, Fault *fault)
{
  TRACE_BLOCK (TRACE_COMPUTE, (uint64_t) i);
  const RingFrame *frame = &slot->frame;
  const Image nothing = { .n_memories = 0 };
  RingPart part = { .src = &slot->source,
    .dst = frame->passes ? &nothing : &slot->result,
    .first = slot->parts == 0,
    .last = i == frame->slices - 1,
    .stream = slot->compute,
    .order = slot->order,
    .turn = slot->turn,
    .done = done };

  for (int m = 0; m < IMAGE_MAX_MEMORIES; m++)
    part.fresh[m] = (ImageRows){ before[m], ready[m] };
  if ((slot->copies_up
          && !gpu_stream_wait_event (slot->compute, up_end (slot, i), fault))
      || (part.first && !mark (slot, MARK_COMPUTE_START, slot->compute, fault)))
    return false;
  return frame->compute == NULL || frame->compute (frame->user, &part, fault);
}

/* Queues the work that follows the copy up of rows [before, ready), slice i: compute, and
 * the copy down of the rows that are then finished. */
static bool
submit_slice (Ring *ring, RingSlot *slot, int i, const int *before,
    const int *ready, int *done, Fault *fault)
{
  const int n = slot->frame.slices;
  int done_before[IMAGE_MAX_MEMORIES];

  if (!has_rows (before, ready))
    return true;
  memcpy (done_before, done, sizeof done_before);
  if (!submit_compute (slot, i, before, ready, done, fault))
    return false;
  slot->parts++;
  if (i == n - 1)
    slice_rows (&slot->result, i, n, done);
  return submit_down (ring, slot, i, done_before, done, fault);
}

static bool
submit_to_gpu (Ring *ring, RingSlot *slot, Fault *fault)
{
  const RingFrame *frame = &slot->frame;
  const GpuStream last = slot->copies_down ? ring->down : slot->compute;
  /* A copy up straight into dst must wait for dst's stream. */
  const bool up = slot->copies_up && frame->passes;
  const int n = frame->slices;
  /* Slice i has the rows [cut[i], cut[i + 1]). If a frame has fewer rows than slices, some
   * slices are empty. */
  int cut[RING_MAX_SLICES + 1][IMAGE_MAX_MEMORIES] = { { 0 } };
  int done[IMAGE_MAX_MEMORIES] = { 0 };

  for (int i = 0; i < n; i++)
    slice_rows (&slot->source, i, n, cut[i + 1]);
  if (!follow (ring, slot, frame->src_stream, slot->src_ready, false, fault)
      || !follow (ring, slot, frame->dst_stream, slot->dst_ready, up, fault)
      || (slot->copies_up && !mark (slot, MARK_UP_START, ring->up, fault))
      || !submit_up (ring, slot, 0, cut[0], cut[1], fault))
    return false;
  /* The copy up of the next slice is queued before the other work of this one: in a thread
   * that has just slept, queueing may take as long as the copy takes on the bus. */
  for (int i = 0; i < n; i++)
    if ((i + 1 < n
            && !submit_up (ring, slot, i + 1, cut[i + 1], cut[i + 2], fault))
        || !submit_slice (ring, slot, i, cut[i], cut[i + 1], done, fault))
      return false;
  return (!slot->copies_down || mark (slot, MARK_DOWN_END, ring->down, fault))
      && gpu_event_record (slot->finished, last, fault)
      && (frame->dst_stream == NULL || frame->dst_stream == last
          || gpu_stream_wait_event (frame->dst_stream, slot->finished, fault));
}

/* Whether the frame's host images are read and written by kernels. */
static bool
is_mapped (const RingFrame *frame)
{
  return frame->transfer == RING_MAPPED && !frame->passes;
}

/* Decides where the source is read from, and fills the staging buffer if it is used. */
static bool
stage_source (Ring *ring, RingSlot *slot, Fault *fault)
{
  const RingFrame *frame = &slot->frame;

  slot->up = slot->source = frame->src;
  slot->copies_up = frame->src_place != RING_DEVICE && !is_mapped (frame);
  if (frame->src_place == RING_HOST && frame->transfer != RING_PAGEABLE) {
    if (!slot_image (&ring->src_layout, true, &slot->host_src, fault))
      return false;
    TRACE_BLOCK (TRACE_COPY_IN, 0);
    copy_on_host (ring->copy_in, &slot->host_src, &frame->src);
    slot->up = slot->source = slot->host_src;
  }
  if (!slot->copies_up)
    return true;
  if (frame->passes && frame->dst_place == RING_DEVICE) {
    slot->source = frame->dst;
    return true;
  }
  if (!slot_image (&ring->src_layout, false, &slot->device_src, fault))
    return false;
  slot->source = slot->device_src;
  return true;
}

/* Decides where the result is computed, and where it is copied. */
static bool
stage_result (Ring *ring, RingSlot *slot, Fault *fault)
{
  const RingFrame *frame = &slot->frame;
  const bool wanted = frame->dst.n_memories > 0;

  slot->down = slot->result = frame->dst;
  slot->copies_down = slot->copy_out = false;
  if (!wanted)
    return true;
  if (frame->dst_place == RING_HOST && frame->transfer != RING_PAGEABLE) {
    if (!slot_image (&ring->dst_layout, true, &slot->host_dst, fault))
      return false;
    slot->down = slot->result = slot->host_dst;
    slot->copy_out = true;
  }
  if (frame->passes) {
    slot->result = slot->source;
    slot->copies_down = !(slot->copies_up && frame->dst_place == RING_DEVICE);
    return true;
  }
  if (frame->dst_place == RING_DEVICE || is_mapped (frame))
    return true;
  if (!slot_image (&ring->dst_layout, false, &slot->device_dst, fault))
    return false;
  slot->result = slot->device_dst;
  slot->copies_down = true;
  return true;
}

/* Keeps the boxes that ring_wait() copies back. */
static bool
keep_boxes (RingSlot *slot, Fault *fault)
{
  const RingFrame *frame = &slot->frame;

  if (frame->n_boxes > slot->back_capacity) {
    ImageBox *boxes = malloc (sizeof *boxes * 2 * (size_t) frame->n_boxes);

    if (boxes == NULL)
      return fault_set (fault, FAULT_NO_SPACE,
          "Out of memory for %d boxes of a frame.", frame->n_boxes);
    free (slot->back);
    slot->back = boxes;
    slot->back_capacity = 2 * frame->n_boxes;
  }
  if (frame->n_boxes > 0)
    memcpy (slot->back, frame->written,
        sizeof *slot->back * (size_t) frame->n_boxes);
  slot->n_back = frame->n_boxes;
  return true;
}

/* Decides where a frame in place is computed. Pinned memory is staged too if it has samples of two
 * bytes at odd addresses, which kernels cannot access. */
static bool
stage_in_place (Ring *ring, RingSlot *slot, Fault *fault)
{
  const RingFrame *frame = &slot->frame;
  const bool staged = frame->src_place == RING_HOST
      || (frame->src_place == RING_HOST_PINNED
          && !image_suits_gpu (&frame->src, NULL));

  slot->source = frame->src;
  slot->copies_up = slot->copies_down = slot->copy_out = false;
  if (frame->src_place != RING_DEVICE) {
    slot->bytes_up = image_box_bytes (frame->read, frame->n_boxes);
    slot->bytes_down = image_box_bytes (frame->written, frame->n_boxes);
  }
  if (staged) {
    if (!slot_image (&ring->src_layout, true, &slot->host_src, fault)
        || !keep_boxes (slot, fault))
      return false;
    TRACE_BLOCK (TRACE_COPY_IN, 0);
    copy_boxes_on_host (ring->copy_in, &slot->host_src, &frame->src,
        frame->read, frame->n_boxes);
    slot->source = slot->host_src;
  }
  slot->result = slot->source;
  return true;
}

static bool
submit_on_host (RingSlot *slot, Fault *fault)
{
  TRACE_BLOCK (TRACE_COMPUTE, 0);
  const double start = host_clock_ns ();
  const RingFrame *frame = &slot->frame;
  const Image nothing = { .n_memories = 0 };
  int done[IMAGE_MAX_MEMORIES] = { 0 };
  RingPart part = { .src = &frame->src,
    .dst = frame->passes  ? &nothing
        : frame->in_place ? &frame->src
                          : &frame->dst,
    .first = true,
    .last = true,
    .done = done };

  all_rows (&frame->src, part.fresh);
  if (frame->compute != NULL && !frame->compute (frame->user, &part, fault))
    return false;
  if (frame->passes)
    image_copy (&frame->dst, &frame->src);
  slot->compute_ns = host_clock_ns () - start;
  return true;
}

static bool
check_frame (const Ring *ring, const RingFrame *frame, Fault *fault)
{
  if (frame->slices < 1 || frame->slices > RING_MAX_SLICES)
    return fault_set (fault, FAULT_SETTINGS,
        "A frame is cut into 1 to %d slices, not %d.", RING_MAX_SLICES,
        frame->slices);
  if (ring->gpu == NULL
      && (frame->src_place == RING_DEVICE || frame->dst_place == RING_DEVICE))
    return fault_set (fault, FAULT_SETTINGS,
        "Without a GPU there are no frames in its memory.");
  if (frame->passes && frame->dst.n_memories == 0)
    return fault_set (
        fault, FAULT_SETTINGS, "A frame passes into a result, but has none.");
  if (frame->turns < 0 || frame->turns > GPU_MAX_TURNS)
    return fault_set (fault, FAULT_SETTINGS,
        "A frame takes 0 to %d turns, not %d.", GPU_MAX_TURNS, frame->turns);
  if (frame->in_place && (frame->passes || frame->compute == NULL))
    return fault_set (
        fault, FAULT_SETTINGS, "A frame in place is neither passed nor left.");
  return true;
}

/* The bytes of a frame that is copied or mapped as a whole. */
static void
count_bytes (RingSlot *slot)
{
  const RingFrame *frame = &slot->frame;

  if (frame->src_place != RING_DEVICE)
    slot->bytes_up = image_bytes (&frame->src);
  if (frame->dst_place != RING_DEVICE)
    slot->bytes_down = image_bytes (&frame->dst);
}

/* Decides on the slot's images. */
static bool
stage (Ring *ring, RingSlot *slot, Fault *fault)
{
  slot->n_back = 0;
  slot->bytes_up = slot->bytes_down = 0;
  if (slot->frame.in_place)
    return stage_in_place (ring, slot, fault);
  count_bytes (slot);
  return stage_source (ring, slot, fault) && stage_result (ring, slot, fault);
}

/* Queues the work of a slot's frame. */
static bool
submit_frame (Ring *ring, RingSlot *slot, Fault *fault)
{
  TRACE_BLOCK (TRACE_SUBMIT, slot->number);
  unsigned every;

  slot->parts = 0;
  if (ring->gpu == NULL) {
    slot->timed = true;
    slot->parts = 1;
    return submit_on_host (slot, fault);
  }
  if (!stage (ring, slot, fault))
    return false;
  if (!slot->copies_up || !slot->copies_down)
    slot->frame.slices = 1;
  slot->order = order_of (ring, slot);
  every = slot->order == GPU_BESIDE_KERNELS ? TIMED_EVERY_BESIDE : TIMED_EVERY;
  slot->timed = slot->number < TIMED_FIRST || slot->number % every == 0;
  if (slot->timed && slot->frame.in_place)
    slot->order = GPU_AFTER_KERNELS;
  return take_turn (ring, slot, fault) && submit_to_gpu (ring, slot, fault);
}

bool
ring_submit (Ring *ring, RingSlot *slot, const RingFrame *frame, Fault *fault)
{
  if (!check_frame (ring, frame, fault))
    return false;
  slot->frame = *frame;
  pthread_mutex_lock (&ring->lock);
  slot->number = ring->stats.frames_in;
  slot->alone = ring->used == 1;
  pthread_mutex_unlock (&ring->lock);
  slot->trace = trace_frame_begin (slot->number, (int) (slot - ring->slots));
  slot->submit_ns = host_clock_ns ();
  if (!submit_frame (ring, slot, fault)) {
    if (ring->gpu != NULL)
      ring_quiesce (ring);
    return false;
  }

  pthread_mutex_lock (&ring->lock);
  ring->stats.frames_in++;
  ring->stats.parts += (uint64_t) slot->parts;
  ring->stats.bytes_up += slot->bytes_up;
  ring->stats.bytes_down += slot->bytes_down;
  if (ring->stats.in_flight_peak < (unsigned) ring->used)
    ring->stats.in_flight_peak = (unsigned) ring->used;
  pthread_mutex_unlock (&ring->lock);
  return true;
}

/* Sleeps for DOZE_PART of `guess_ns`, counted from `start_ns`. Returns whether it slept. */
static bool
doze (double start_ns, double guess_ns)
{
  const double wake = start_ns + DOZE_PART * guess_ns;

  if (wake - host_clock_ns () < DOZE_MIN_NS)
    return false;
  host_clock_sleep_until (wake);
  return true;
}

/* Adapts an expected time to a frame that was waited for and took `ns`: it follows the
 * shortest time, and otherwise grows slowly. */
static void
learn (double *guess_ns, double ns)
{
  *guess_ns *= 1.02;
  if (*guess_ns == 0.0 || *guess_ns > ns)
    *guess_ns = ns;
  if (*guess_ns > GUESS_MAX_NS)
    *guess_ns = GUESS_MAX_NS;
}

/* Records the end of a frame, now. */
static void
note_end (Ring *ring)
{
  const double now = host_clock_ns ();
  const double ns = fmin (now - ring->last_end_ns, PACE_MAX_NS);

  ring->pace_ns += PACE_PART * (ns - ring->pace_ns);
  ring->last_end_ns = now;
}

/* Whether the GPU may run out of work while this thread naps. */
static bool
is_hurried (const Ring *ring, const RingSlot *slot)
{
  return !slot->alone && (ring->depth - 1) * ring->pace_ns < RUN_DRY_NS;
}

/* Waits for the event that ends the slot's frame, after a query that found it not completed. */
static bool
wait_for_event (const Ring *ring, const RingSlot *slot, Fault *fault)
{
  bool done = false;

  if (is_hurried (ring, slot)
      && !gpu_event_poll (slot->finished, NAP_TAKES_NS, &done, fault))
    return false;
  return done
      || gpu_event_synchronize (
          slot->finished, slot->alone ? NAP_ALONE_NS : GPU_NAP_NS, fault);
}

/* Waits for the end of the slot's frame, and adapts the expected time. Not to the first
 * frames, which have costs of their own; nor to a frame that was submitted in a series
 * after the previous one had ended: it was neither alone nor queued behind another. */
static bool
wait_for_end (Ring *ring, RingSlot *slot, bool first, Fault *fault)
{
  const double start = slot->alone ? slot->submit_ns : ring->last_end_ns;
  const bool typical = slot->submit_ns <= start;
  double *guess = slot->alone ? &ring->alone_ns : &ring->series_ns;
  const bool dozed = typical && doze (start, *guess);
  bool done;

  if (!gpu_event_query (slot->finished, &done, fault)
      || (!done && !wait_for_event (ring, slot, fault)))
    return false;
  note_end (ring);
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
  TRACE_BLOCK (TRACE_WAIT, slot->number);
  bool first;

  pthread_mutex_lock (&ring->lock);
  first = ring->stats.frames_out < TIMED_FIRST;
  pthread_mutex_unlock (&ring->lock);
  *up = *compute = *down = 0.0;
  if (!wait_for_end (ring, slot, first, fault))
    return false;
  if (!slot->timed)
    return true;
  return gpu_event_elapsed (slot->mark[MARK_COMPUTE_START],
             slot->mark[MARK_COMPUTE_END], compute, fault)
      && (!slot->copies_up
          || gpu_event_elapsed (
              slot->mark[MARK_UP_START], slot->mark[MARK_UP_END], up, fault))
      && (!slot->copies_down
          || gpu_event_elapsed (slot->mark[MARK_DOWN_START],
              slot->mark[MARK_DOWN_END], down, fault));
}

bool
ring_wait (Ring *ring, RingSlot *slot, Fault *fault)
{
  double up = 0.0, compute = slot->compute_ns, down = 0.0;

  if (ring->gpu != NULL) {
    if (!wait_for_gpu (ring, slot, &up, &compute, &down, fault)) {
      ring_quiesce (ring);
      return false;
    }
    if (slot->copy_out) {
      TRACE_BLOCK (TRACE_COPY_OUT, 0);
      copy_on_host (ring->copy_out, &slot->frame.dst, &slot->host_dst);
    }
    if (slot->n_back > 0) {
      TRACE_BLOCK (TRACE_COPY_OUT, 0);
      copy_boxes_on_host (ring->copy_out, &slot->frame.src, &slot->host_src,
          slot->back, slot->n_back);
    }
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
  trace_frame_end (&slot->trace);
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
  sum->parts += stats->parts;
  sum->frames_timed += stats->frames_timed;
  sum->bytes_up += stats->bytes_up;
  sum->bytes_down += stats->bytes_down;
  sum->up_ns += stats->up_ns;
  sum->compute_ns += stats->compute_ns;
  sum->down_ns += stats->down_ns;
  if (sum->in_flight_peak < stats->in_flight_peak)
    sum->in_flight_peak = stats->in_flight_peak;
}
