/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ring: frames in flight through the GPU, in order.
 *
 * A ring has `depth` slots. Each holds a device copy of one source and one
 * result image, if it needs them, and passes through
 *
 *   acquire -> submit (copy up, compute, copy down are queued) -> wait -> release
 *
 * Copies up, kernels and copies down run on three streams joined by events, so
 * that the stages of neighbouring slots overlap. Within one frame they overlap
 * too when it is cut into slices. Slots are acquired, and must be waited for and
 * released, in one order.
 *
 * The copy streams are those of gpu-link.h, which all rings of a context share: frames
 * cross the bus in the order of submission, so that no ring starves while another keeps
 * the bus busy.
 *
 * Kernels of neighbouring frames may overlap, too: see ring_order(). They do not where
 * an image belongs to the compute stream, since its owner may have queued work there.
 * Successive frames that take turns are computed on different streams.
 *
 * Images in pinned memory (gpu_malloc_host) are read and written where they lie. Other
 * host images go through a pinned staging buffer of the slot, which is allocated when
 * first needed, unless the transfer is RING_PAGEABLE. Images in device memory, on either
 * side, are not copied at all.
 *
 * Without a GPU the same interface computes on the host, during submit, straight
 * from the source to the result.
 *
 * Thread safety: one thread at a time acquires and submits; one at a time, the same or
 * another, waits and releases; ring_stats() and ring_in_flight() may be called from any
 * thread. With a GPU, its context must be pushed on the thread of each call except
 * ring_acquire(), ring_release(), ring_stats() and ring_in_flight(). */
#pragma once

#include "gpu.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RING_MAX_DEPTH 64
#define RING_MAX_SLICES 16

typedef struct Ring Ring;
typedef struct RingSlot RingSlot;

/* How frames cross the bus. */
typedef enum
{
  RING_PINNED, /* copy engines, from and to pinned memory */
  RING_MAPPED, /* kernels read and write pinned memory themselves: no copies */
  RING_PAGEABLE, /* copy engines, directly from and to the caller's memory */
} RingTransfer;

/* One part of one frame, for RingCompute: one of the slices that the frame is cut into.
 * Slices are shares of its bytes in the order of its memories: first all rows of memory
 * 0 from the top, then those of memory 1, and so on. Cuts lie between rows. Slices
 * without a row are left out, so a frame of few rows has fewer parts than slices. */
typedef struct
{
  const Image *src, *dst; /* dst without memories: no result to be filled;
                           * dst with the addresses of src: in place */
  /* Rows of each memory of src that have arrived since the previous part when the
   * stream reaches this one; the rows above them arrived earlier. Empty at the top,
   * [0, 0), for a memory that has not begun to arrive; empty at the bottom for one that
   * was complete before. After the last part all memories are complete. */
  ImageRows fresh[IMAGE_MAX_MEMORIES];
  bool first, last; /* both true for the only part of a frame */
  /* NULL: no GPU; the work must be done on return. */
  GpuStream stream;
  /* The order of the work with earlier kernels. Valid if the work reads only src and
   * writes only dst: no other frame in the ring uses their memory. */
  GpuOrder order;
  /* 0, or a number below RingFrame.turns. The work of each turn has a stream of its own, so that
   * work of different turns may run at the same time. */
  int turn;
  /* Output: rows [0, done[m]) of memory m of dst are finished once the stream has done
   * this part's work; a complete memory should be reported as early as possible. 0
   * before the first part, later the value that the previous part left. After the last
   * part the ring takes all rows as finished. */
  int *done;
} RingPart;

/* Queues the work of one part. Called within ring_submit(), on its thread, once for each
 * part, in order. */
typedef bool (*RingCompute) (void *user, const RingPart *part, Fault *fault);

/* Where an image of a frame lies. */
typedef enum
{
  RING_HOST,        /* at host addresses */
  RING_HOST_PINNED, /* likewise, in one block of gpu_malloc_host() */
  /* In memory of the ring's context, and in one allocation; never without a GPU. */
  RING_DEVICE,
} RingPlace;

typedef struct
{
  Image src, dst; /* layouts as the ring's */
  RingPlace src_place, dst_place;
  /* Streams that use an image on the device, or NULL. The frame's work comes after all
   * work that is queued on them at ring_submit(); work that is queued on dst_stream
   * later comes after the frame. */
  GpuStream src_stream, dst_stream;
  /* dst, which must exist, becomes an unchanged copy of src; `compute` only reads src. */
  bool passes;
  /* src is its own result, and there is no dst. One part has all rows; `compute` reads only the
   * boxes `read` of src and changes only the boxes `written`. Kernels access pinned memory
   * directly, whatever the transfer, if image_suits_gpu(). Of other host memory these boxes are
   * copied to the slot's staging buffer and, in ring_wait(), back. The box arrays may be reused
   * once `compute` has returned. After a failure src may have been changed, unless it was
   * staged. */
  bool in_place;
  const ImageBox *read, *written; /* [n_boxes] each */
  int n_boxes;
  RingTransfer transfer; /* of images that are not on the device */
  /* 1..RING_MAX_SLICES; 1 = whole. A frame that is not copied both up and down (without
   * a GPU, with RING_MAPPED, or on the device) is always whole. With RING_PINNED a slice
   * is one copy each way if the bytes of a row are a multiple of 64, and if the pinned
   * memories, where they are the caller's, follow each other without a gap. */
  int slices;
  /* The number of turns that the frame and its neighbours take, at most GPU_MAX_TURNS. Only frames
   * whose order is GPU_BESIDE_KERNELS take turns; all others have turn 0. 0 is 1. */
  int turns;
  RingCompute compute; /* NULL: no work; only with `passes` */
  void *user;          /* for compute */
} RingFrame;

/* The number of slices with about the lowest latency for a frame like this, alone in the
 * ring: 1..RING_MAX_SLICES. Any thread. */
int ring_slices_alone (const Image *src);

/* Sums since ring_new(), or over several rings by ring_stats_add(). Times with a GPU are
 * device times, from the start of a frame's first part to the end of its last one. Only
 * the first frames and some later ones are timed, since time stamps delay the streams.
 * Without a GPU they are host times of all frames. */
typedef struct
{
  uint64_t frames_in, frames_out;    /* submitted; waited for */
  uint64_t parts;                    /* of the submitted frames */
  uint64_t bytes_up, bytes_down;     /* over the bus */
  uint64_t frames_timed;             /* of frames_out */
  double up_ns, compute_ns, down_ns; /* of all frames_timed */
  unsigned in_flight_peak;
} RingStats;

/* `gpu` may be NULL and must outlive the ring. `depth` 1..RING_MAX_DEPTH. The
 * layouts give the sizes of source and result frames; dst_layout NULL: there is no
 * result, frames are only copied up, and the dst of frames and parts has no memories.
 * `compute` is a stream of the caller to compute on, which must outlive the ring;
 * NULL: one of the ring's own. Streams and events are created here. */
Ring *ring_new (Gpu *gpu, const Image *src_layout, const Image *dst_layout,
    int depth, GpuStream compute, Fault *fault);
/* The order of a frame's kernels with those of earlier frames, in a ring of `depth` slots. It holds
 * for frames in device memory on both sides, whose streams are not the compute stream, and for
 * untimed frames in place on the host. All other frames run back to back: GPU_AFTER_KERNELS. */
GpuOrder ring_order (int depth);
/* Allocates the device memory that host frames need for src, dst or both, for all slots.
 * Otherwise the first frame in a slot that needs it allocates it, and is delayed. */
bool ring_reserve (Ring *ring, bool src, bool dst, Fault *fault);
/* Waits until all submitted work has finished. NULL is allowed. */
void ring_free (Ring *ring);

/* Blocks until a slot is free. */
RingSlot *ring_acquire (Ring *ring);

/* Queues the copy up of src, the work of `compute`, and the copy down. Images in pinned
 * or device memory, and all images of a RING_MAPPED or RING_PAGEABLE frame, must stay
 * until ring_wait(); any other src may be reused on return. After a failure the slot is
 * idle, apart from the exception at ring_quiesce(), and must be released without
 * ring_wait(). */
bool ring_submit (
    Ring *ring, RingSlot *slot, const RingFrame *frame, Fault *fault);

/* Blocks until the slot's result is in its dst. On failure dst is undefined, and is not
 * written any more, apart from the exception at ring_quiesce(). */
bool ring_wait (Ring *ring, RingSlot *slot, Fault *fault);

/* Blocks until no queued work can access a slot or an image any more, also after errors.
 * Exception: a GPU that cannot be waited for, such as one whose context was lost, may go on for a
 * while. */
void ring_quiesce (Ring *ring);

void ring_release (Ring *ring, RingSlot *slot);

/* Slots between acquire and release. */
int ring_in_flight (Ring *ring);

void ring_stats (Ring *ring, RingStats *stats);
/* sum += stats, to keep statistics across rings. */
void ring_stats_add (RingStats *sum, const RingStats *stats);

#ifdef __cplusplus
}
#endif
