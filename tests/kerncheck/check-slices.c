/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames that the ring cuts into slices: the rows of each part and, where the driver
 * counts them, the number of copies. */
#include "kerncheck.h"

#include "driver-copies.h"
#include "kerncheck-device.h"
#include "ring.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#define N_LAYOUTS 6

/* The new rows of a part. */
typedef struct
{
  ImageRows fresh[IMAGE_MAX_MEMORIES];
} Cut;

/* One frame, and the parts that its computation received. */
typedef struct
{
  Check *check;
  Image layout;
  Picture src, dst;
  RingFrame frame;
  int lag; /* rows below that a row of dst waits for, if they exist */

  Cut want[RING_MAX_SLICES];
  int n_want;
  int n; /* parts so far */
  int done[IMAGE_MAX_MEMORIES];
  int releases; /* parts that finished rows */
  int copies;   /* made by the computation */
} Voyage;

/* By the rule of ring.h, row by row: a slice gets the rows that fit its share of the
 * bytes, and no part is without a row. */
static void
expect_cuts (Voyage *voyage)
{
  const Image *layout = &voyage->layout;
  const int n = voyage->frame.slices;
  const uint64_t total = image_bytes (layout);
  int ready[IMAGE_MAX_MEMORIES] = { 0 }, m = 0;
  uint64_t taken = 0;

  for (int i = 0; i < n; i++) {
    Cut *cut = &voyage->want[voyage->n_want];
    const uint64_t taken_before = taken;

    for (int k = 0; k < layout->n_memories; k++)
      cut->fresh[k].first = ready[k];
    while (m < layout->n_memories
        && (taken + layout->memory[m].row_bytes) * (uint64_t) n
            <= total * (uint64_t) (i + 1)) {
      taken += layout->memory[m].row_bytes;
      if (++ready[m] == layout->memory[m].height)
        m++;
    }
    for (int k = 0; k < layout->n_memories; k++)
      cut->fresh[k].last = ready[k];
    voyage->n_want += taken > taken_before;
  }
}

static void
expect_part (const Voyage *voyage, const RingPart *part)
{
  const Cut *want = &voyage->want[voyage->n];

  if (!EXPECT (voyage->check, voyage->n < voyage->n_want,
          "a part after all %d of them", voyage->n_want))
    return;
  EXPECT (voyage->check,
      part->first == (voyage->n == 0)
          && part->last == (voyage->n == voyage->n_want - 1),
      "part %d of %d is called%s%s", voyage->n, voyage->n_want,
      part->first ? " first" : "", part->last ? " last" : "");
  for (int m = 0; m < voyage->layout.n_memories; m++) {
    EXPECT (voyage->check,
        part->fresh[m].first == want->fresh[m].first
            && part->fresh[m].last == want->fresh[m].last,
        "part %d of %d, memory %d: rows %d to %d instead of %d to %d",
        voyage->n, voyage->n_want, m, part->fresh[m].first, part->fresh[m].last,
        want->fresh[m].first, want->fresh[m].last);
    EXPECT (voyage->check, part->done[m] == voyage->done[m],
        "part %d, memory %d: done is %d, and was left at %d", voyage->n, m,
        part->done[m], voyage->done[m]);
  }
}

/* A copy that delays the last `lag` rows until all rows of the memory are there. */
static bool
compute (void *user, const RingPart *part, Fault *fault)
{
  Voyage *voyage = user;
  bool releases = false;

  expect_part (voyage, part);
  for (int m = 0; m < part->src->n_memories; m++) {
    const ImageMemory *src = &part->src->memory[m];
    const ImageMemory *dst = &part->dst->memory[m];
    const int first = part->done[m], ready = part->fresh[m].last;
    const int last = ready == src->height ? ready
        : ready > voyage->lag             ? ready - voyage->lag
                                          : 0;

    if (!gpu_copy_rows (dst->data + first * dst->stride, dst->stride,
            src->data + first * src->stride, src->stride, src->row_bytes,
            last - first, GPU_COPY_DEVICE, part->stream, fault))
      return false;
    voyage->copies += last > first;
    releases = releases || last > first;
    voyage->done[m] = part->done[m] = last;
  }
  voyage->releases += releases;
  voyage->n++;
  return true;
}

/* Rows of a multiple of 64 bytes have no padding on the device and on the host. */
static bool
is_seamless (const Voyage *voyage)
{
  for (int m = 0; m < voyage->layout.n_memories; m++)
    if (voyage->layout.memory[m].row_bytes % 64 != 0)
      return false;
  return voyage->frame.transfer == RING_PINNED;
}

static void
expect_copies (const Voyage *voyage, uint64_t before)
{
  uint64_t after;

  if (driver_copies (&after) && is_seamless (voyage))
    EXPECT (voyage->check,
        after - before
            == (uint64_t) (voyage->n_want + voyage->releases + voyage->copies),
        "%llu copies for %d parts up, %d down and %d in between",
        (unsigned long long) (after - before), voyage->n_want, voyage->releases,
        voyage->copies);
}

static bool
send (Voyage *voyage, const Device *device, Fault *fault)
{
  Ring *ring =
      ring_new (device->gpu, &voyage->layout, &voyage->layout, 1, NULL, fault);
  RingStats stats;
  RingSlot *slot;
  bool ok;

  if (ring == NULL)
    return false;
  slot = ring_acquire (ring);
  ok = ring_submit (ring, slot, &voyage->frame, fault)
      && ring_wait (ring, slot, fault);
  ring_release (ring, slot);
  ring_stats (ring, &stats);
  EXPECT (voyage->check, !ok || stats.parts == (uint64_t) voyage->n_want,
      "%llu parts are counted instead of %d", (unsigned long long) stats.parts,
      voyage->n_want);
  ring_free (ring);
  return ok;
}

/* One to four memories, of equal or different heights; half of them without padding of
 * rows on the device; often with fewer rows than slices. */
static void
choose_layout (Voyage *voyage, int index, Random *random)
{
  static const char *const names[N_LAYOUTS] = { "nv12", "planar3", "planar4",
    "p010", "planar3-10", "rgbx" };
  const char *name = names[index % N_LAYOUTS];
  const int width = random_chance (random, 50) ? 256 * random_int (random, 1, 2)
                                               : random_int (random, 1, 300);
  const int height =
      random_int (random, 1, random_chance (random, 30) ? 9 : 90);

  layout_make (layout_kind_by_name (name), width, height, &voyage->layout);
  voyage->lag = random_int (random, 0, random_chance (random, 50) ? 3 : height);
  voyage->frame = (RingFrame){
    .transfer = random_chance (random, 75) ? RING_PINNED : RING_PAGEABLE,
    .slices = random_int (random, 1, RING_MAX_SLICES),
    .compute = compute,
    .user = voyage,
  };
  check_describe (voyage->check, "%s %dx%d, transfer %d, %d slices, lag %d",
      name, width, height, (int) voyage->frame.transfer, voyage->frame.slices,
      voyage->lag);
}

static bool
make_pictures (
    Voyage *voyage, const Device *device, Random *random, Fault *fault)
{
  RingFrame *frame = &voyage->frame;

  picture_new_packed (&voyage->src, &voyage->layout, random);
  picture_new_packed (&voyage->dst, &voyage->layout, random);
  picture_paint (&voyage->src, CONTENT_NOISE, random);
  if (random_chance (random, 70)) {
    frame->src_place = RING_HOST_PINNED;
    if (!device_pin_picture (device, &voyage->src, fault))
      return false;
  }
  if (random_chance (random, 70)) {
    frame->dst_place = RING_HOST_PINNED;
    if (!device_pin_picture (device, &voyage->dst, fault))
      return false;
  }
  frame->src = voyage->src.image;
  frame->dst = voyage->dst.image;
  return true;
}

static void
slices_case (Check *check, Random *random, int index, const void *data)
{
  const Device *device = data;
  Voyage voyage = { .check = check };
  uint8_t *outside;
  uint64_t copies;
  Verdict verdict;
  Fault fault;
  bool ok;

  fault_clear (&fault);
  choose_layout (&voyage, index, random);
  expect_cuts (&voyage);
  ok = make_pictures (&voyage, device, random, &fault);
  outside = picture_block_copy (&voyage.dst);
  driver_copies (&copies);
  ok = ok && send (&voyage, device, &fault);
  if (EXPECT (check, ok, "%s (%s)", fault.message, fault.detail)) {
    EXPECT (check, voyage.n == voyage.n_want, "%d parts instead of %d",
        voyage.n, voyage.n_want);
    expect_copies (&voyage, copies);
    verdict_same (&verdict, &voyage.dst.image, &voyage.src.image);
    EXPECT (check, verdict.ok, "%s", verdict.text);
    verdict_outside_rows (&verdict, &voyage.dst, outside);
    EXPECT (check, verdict.ok, "%s", verdict.text);
  }
  free (outside);
  picture_clear (&voyage.src);
  picture_clear (&voyage.dst);
}

static void
check_slices (Check *check, const void *data)
{
  (void) data;
  device_check_cases (
      check, BACKEND_CUDA, N_LAYOUTS * (check->quick ? 20 : 200), slices_case);
}

/* Small frames are not cut; the larger a frame, the more slices are worthwhile. */
static void
check_slices_alone (Check *check, const void *data)
{
  int last = 1, n;
  Image layout;

  (void) data;
  check->cases++;
  layout_make (layout_kind_by_name ("nv12"), 320, 180, &layout);
  n = ring_slices_alone (&layout);
  EXPECT (check, n == 1, "%d slices of 86 KB", n);
  for (int height = 180; height <= 16384; height *= 2) {
    layout_make (
        layout_kind_by_name ("nv12"), height * 16 / 9, height, &layout);
    n = ring_slices_alone (&layout);
    EXPECT (check, n >= last && n <= RING_MAX_SLICES,
        "%d slices of %d rows, and %d of half as many", n, height, last);
    last = n;
  }
  EXPECT (check, last == RING_MAX_SLICES, "%d slices of the largest", last);
}

void
check_slices_add (void)
{
  kerncheck_add (check_slices_alone, NULL, NULL, "ring/slices-alone");
  kerncheck_add (check_slices, NULL, NULL, "ring/cuda/cuts");
}
