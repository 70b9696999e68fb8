/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ring: frames on their way through the GPU, in order.
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
 * The streams of the copies are those of gpu-link.h, which all rings of a context share: their
 * frames cross the bus in the order in which they are submitted, so that no ring waits
 * for ever while another keeps the bus busy.
 *
 * Kernels of neighbouring frames may overlap, too, if those lie in device memory on both
 * sides and there are slots enough; but not where images belong to the stream that the
 * kernels run on, as others may have queued something there.
 *
 * Frames in pinned memory (gpu_malloc_host) are read and written where they lie;
 * others go through pinned memory of the slot, which is made when first needed.
 * Images in device memory, on either side, are not copied at all.
 *
 * Without a GPU the same interface computes on the host, during submit, straight
 * from the source to the result.
 *
 * Thread safety: one thread acquires and submits, one at a time (the same or
 * another) waits and releases; ring_stats() and ring_in_flight() may be called
 * from any.
 * With a GPU its context must be pushed on the thread of each call but
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
  RING_PAGEABLE, /* copy engines, from and to the caller's memory as it is */
} RingTransfer;

/* One part of one frame, for RingCompute. The parts of a frame are the slices that it
 * is cut into, shares of its bytes in the order of its memories: first all rows of
 * memory 0 from the top, then those of memory 1, and so on. Cuts lie between rows; a
 * frame of few rows has fewer parts than slices, since none is without a row. */
typedef struct
{
  const Image *src, *dst; /* dst without memories: there is none to be filled;
                           * the same addresses as src: in place */
  /* Rows of each memory of src that have come in since the last part, when the stream
   * gets here; those before them came earlier. [0, 0) of a memory that is still to
   * come, empty at the bottom of one that is complete; in the last part none is
   * left. */
  ImageRows fresh[IMAGE_MAX_MEMORIES];
  bool first, last; /* both, if it is the only one */
  /* NULL: no GPU, the work is to be done at once. */
  GpuStream stream;
  /* That of the work, as long as it reads nothing but src and writes nothing but dst:
   * no other frame in the ring has to do with their memory. */
  GpuOrder order;
  /* To be filled: rows [0, done[m]) of dst are finished when the stream has done
   * this part's work, all of a memory's as soon as that can be. Starts at 0, and then
   * as the part before left it; after the last part all rows count as finished. */
  int *done;
} RingPart;

/* Queues the work of a part; called during ring_submit(), on its thread, once a
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
  /* Of images on the device: what is queued on these streams by now comes before the
   * frame's work, and what is queued on dst_stream after ring_submit() comes after
   * it. NULL: no stream has anything to do with the image. */
  GpuStream src_stream, dst_stream;
  /* dst, which there is then, becomes src as it is; `compute` only reads it. */
  bool passes;
  /* src is its own result, and there is no dst: `compute` reads only the boxes `read` and
   * changes only the boxes `written` of it, and one part has all rows. Kernels reach pinned
   * memory themselves, whatever the transfer, if image_suits_gpu(); of other memory on the host
   * these boxes are copied to pinned memory of the slot and, in ring_wait(), back. The boxes need not
   * stay beyond the call of `compute`. After a failure src may have been changed, but not if it
   * was copied. */
  bool in_place;
  const ImageBox *read, *written; /* [n_boxes] each */
  int n_boxes;
  RingTransfer transfer; /* of images that are not on the device */
  /* 1..RING_MAX_SLICES; 1 = whole. What does not go up and down, that is without a
   * GPU, for RING_MAPPED and on the device, is always whole. For RING_PINNED a slice is
   * one copy each way, if rows are of whole 64 bytes and the pinned memories, if they
   * are the caller's, follow each other without a gap. */
  int slices;
  RingCompute compute; /* NULL: nothing; only with `passes` */
  void *user;          /* for compute */
} RingFrame;

/* The number of slices that a frame like this, alone in the ring, comes through in
 * about the shortest time: 1..RING_MAX_SLICES. Any thread. */
int ring_slices_alone (const Image *src);

/* Sums since ring_new(), or since the last of several rings they were added up
 * from. Times are of the device for a GPU, from the first part's start to the
 * last part's end, of the first frames and of some of the later ones, since time
 * stamps hold up the streams; without a GPU they are the host's, of all frames. */
typedef struct
{
  uint64_t frames_in, frames_out;    /* submitted; waited for */
  uint64_t parts;                    /* that the submitted ones came in */
  uint64_t bytes_up, bytes_down;     /* over the bus */
  uint64_t frames_timed;             /* of frames_out */
  double up_ns, compute_ns, down_ns; /* of all frames_timed */
  unsigned in_flight_peak;
} RingStats;

/* `gpu` may be NULL and must outlive the ring. `depth` 1..RING_MAX_DEPTH. The
 * layouts give the sizes of source and result frames; dst_layout NULL: there is no
 * result, frames only go up, and the dst of frames and parts has no memories.
 * `compute` is a stream of the caller's to compute on, which must outlive the ring;
 * NULL: one of the ring's own. Streams and events are made here. */
Ring *ring_new (Gpu *gpu, const Image *src_layout, const Image *dst_layout,
    int depth, GpuStream compute, Fault *fault);
/* What kernels wait for, of those of frames before, in a ring of so many slots: for frames in device
 * memory on both sides, whose streams are not the ring's, and for frames in place on the host. Others
 * wait for all, and so do frames in place that are timed. */
GpuOrder ring_order (int depth);
/* Makes the device memory that frames on the host need for src, dst or both; what is
 * not made here is when a frame first needs it, which holds it up. */
bool ring_reserve (Ring *ring, bool src, bool dst, Fault *fault);
/* Waits for the device to finish what was submitted. NULL is allowed. */
void ring_free (Ring *ring);

/* Blocks until a slot is free. */
RingSlot *ring_acquire (Ring *ring);

/* Copies src up, has `compute` queue its work, and queues the copy down. What is
 * pinned or on the device, and all of a RING_MAPPED or RING_PAGEABLE frame, must stay
 * until ring_wait(); any other src may be reused on return. After a failure the slot
 * is idle, but for what ring_quiesce() says, and must be released without waiting. */
bool ring_submit (
    Ring *ring, RingSlot *slot, const RingFrame *frame, Fault *fault);

/* Blocks until the slot's result is in its dst. On failure dst is undefined; nothing
 * writes to it any more, but for what ring_quiesce() says. */
bool ring_wait (Ring *ring, RingSlot *slot, Fault *fault);

/* Blocks until no queued work can touch a slot or an image any more, also after errors. Only
 * a GPU that refuses to be waited for, as one whose context was lost, may go on for a while. */
void ring_quiesce (Ring *ring);

void ring_release (Ring *ring, RingSlot *slot);

/* Slots between acquire and release. */
int ring_in_flight (Ring *ring);

void ring_stats (Ring *ring, RingStats *stats);
/* sum += stats, for keeping count across rings. */
void ring_stats_add (RingStats *sum, const RingStats *stats);

#ifdef __cplusplus
}
#endif
