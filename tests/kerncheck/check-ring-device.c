/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ring with images in device memory, on one side or both. Work that others have
 * queued on them comes before a frame's work, and work that they queue after the submit
 * comes after it, without waiting on the host. */
#include "kerncheck.h"

#include "kerncheck-device.h"
#include "ring.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#define N_FRAMES 3

/* One side of a frame. */
typedef struct
{
  RingPlace place;
  GpuStream stream; /* of others; NULL: others have finished */
  Picture picture;  /* on the host; pinned, except for RING_HOST */
  DevicePicture on_device;
} Side;

typedef struct
{
  Device device;
  Image layout;
  bool passes;
  RingTransfer transfer;
  bool own_stream; /* computes on one of `streams`, which dst belongs to */
  int depth;
  GpuStream streams[3];
  Side src, dst;
  uint8_t *seen_before, *seen_after; /* pinned: dst's block, read by others */
  int computed;
  GpuOrder order; /* as compute() got it */
} Crossing;

/* Copies, or only reads. A RingCompute. */
static bool
compute (void *user, const RingPart *part, Fault *fault)
{
  Crossing *crossing = user;

  crossing->computed++;
  crossing->order = part->order;
  for (int m = 0; m < part->dst->n_memories; m++) {
    const ImageMemory *src = &part->src->memory[m];
    const ImageMemory *dst = &part->dst->memory[m];

    if (!gpu_copy_rows (dst->data, dst->stride, src->data, src->stride,
            src->row_bytes, src->height, GPU_COPY_DEVICE, part->stream, fault))
      return false;
  }
  return true;
}

static const char *
place_name (RingPlace place)
{
  static const char *const names[] = { "host", "pinned", "device" };

  return names[place];
}

static void
describe (Check *check, const Crossing *c, const LayoutKind *kind)
{
  check_describe (check, "layout=%s src=%s%s dst=%s%s transfer=%d%s%s",
      kind->name, place_name (c->src.place),
      c->src.stream ? " with a stream" : "", place_name (c->dst.place),
      c->dst.stream ? " with a stream" : "", (int) c->transfer,
      c->passes ? " passes" : "", c->own_stream ? " own-stream" : "");
}

static bool
side_open (Side *side, Crossing *c, RingPlace place, GpuStream stream,
    Random *random, Fault *fault)
{
  side->place = place;
  side->stream = place == RING_DEVICE ? stream : NULL;
  /* Mapped and pinned transfers need rows with a common stride. */
  picture_new (&side->picture, &c->layout, false, random);
  if (place == RING_HOST)
    return true;
  return device_pin_picture (&c->device, &side->picture, fault)
      && (place != RING_DEVICE
          || device_picture_new (
              &side->on_device, &c->device, &side->picture, fault));
}

/* Places the sides, at least one of them on the device, and chooses the streams of
 * others. */
static bool
crossing_open (Crossing *c, Random *random, int index, Fault *fault)
{
  static const RingPlace places[][2] = { { RING_DEVICE, RING_DEVICE },
    { RING_DEVICE, RING_HOST_PINNED }, { RING_HOST_PINNED, RING_DEVICE },
    { RING_DEVICE, RING_HOST }, { RING_HOST, RING_DEVICE } };
  const RingPlace *place = places[index % 5];

  for (int i = 0; i < 3; i++)
    if (!gpu_stream_new (&c->streams[i], fault))
      return false;
  c->passes = random_chance (random, 40);
  c->transfer = (RingTransfer) random_int (random, 0, RING_PAGEABLE);
  c->own_stream = random_chance (random, 40);
  if (!side_open (&c->src, c, place[0],
          random_chance (random, 70) ? c->streams[0] : NULL, random, fault)
      || !side_open (&c->dst, c, place[1],
          c->own_stream                    ? c->streams[2]
              : random_chance (random, 70) ? c->streams[1]
                                           : NULL,
          random, fault))
    return false;
  c->seen_before = gpu_malloc_host (c->dst.picture.bytes, fault);
  c->seen_after = gpu_malloc_host (c->dst.picture.bytes, fault);
  return c->seen_before != NULL && c->seen_after != NULL;
}

static void
side_close (Side *side)
{
  device_picture_clear (&side->on_device);
  picture_clear (&side->picture);
}

static void
crossing_close (Crossing *c)
{
  gpu_free_host (c->seen_after);
  gpu_free_host (c->seen_before);
  side_close (&c->dst);
  side_close (&c->src);
  for (int i = 0; i < 3; i++)
    gpu_stream_free (c->streams[i]);
}

/* Queues a copy of a whole block on a stream, or copies at once if `stream` is NULL. */
static bool
copy_block (const Crossing *c, uint8_t *to, const uint8_t *from, size_t bytes,
    GpuCopy kind, GpuStream stream, Fault *fault)
{
  const GpuStream on = stream != NULL ? stream : c->device.stream;

  return gpu_copy_rows (to, 0, from, 0, bytes, 1, kind, on, fault)
      && (stream != NULL || gpu_stream_synchronize (on, fault));
}

/* Work of others before the frame: they write the source, and read the destination. */
static bool
prepare (Crossing *c, Random *random, Fault *fault)
{
  picture_paint (&c->src.picture, CONTENT_NOISE, random);
  if (c->src.place == RING_DEVICE
      && !copy_block (c, c->src.on_device.block, c->src.picture.block,
          c->src.picture.bytes, GPU_COPY_UP, c->src.stream, fault))
    return false;
  return c->dst.place != RING_DEVICE
      || copy_block (c, c->seen_before, c->dst.on_device.block,
          c->dst.picture.bytes, GPU_COPY_DOWN, c->dst.stream, fault);
}

static void
judge (Check *check, Crossing *c, const uint8_t *before)
{
  Verdict verdict;

  if (c->dst.place == RING_DEVICE) {
    EXPECT (check, memcmp (c->seen_before, before, c->dst.picture.bytes) == 0,
        "the result was written before others had read what was there");
    memcpy (c->dst.picture.block, c->seen_after, c->dst.picture.bytes);
  }
  verdict_same (&verdict, &c->dst.picture.image, &c->src.picture.image);
  EXPECT (check, verdict.ok, "%s", verdict.text);
  verdict_outside_rows (&verdict, &c->dst.picture, before);
  EXPECT (check, verdict.ok, "%s", verdict.text);
}

/* Kernels may overlap if there are enough slots and nothing crosses the bus, unless
 * others use the stream that they run on. */
static GpuOrder
expected_order (const Crossing *c)
{
  const bool shares = c->own_stream
      && (c->src.stream == c->streams[2] || c->dst.stream == c->streams[2]);

  return c->depth >= 3 && c->src.place == RING_DEVICE
          && c->dst.place == RING_DEVICE && !c->passes && !shares
      ? GPU_BESIDE_KERNELS
      : GPU_AFTER_KERNELS;
}

static bool
send (Check *check, Crossing *c, Ring *ring, Random *random, Fault *fault)
{
  uint8_t *before = picture_block_copy (&c->dst.picture);
  RingFrame frame = { .src = c->src.place == RING_DEVICE
        ? c->src.on_device.image
        : c->src.picture.image,
    .dst = c->dst.place == RING_DEVICE ? c->dst.on_device.image
                                       : c->dst.picture.image,
    .src_place = c->src.place,
    .dst_place = c->dst.place,
    .src_stream = c->src.stream,
    .dst_stream = c->dst.stream,
    .passes = c->passes,
    .transfer = c->transfer,
    .slices = random_int (random, 1, RING_MAX_SLICES),
    .compute = c->passes && random_chance (random, 50) ? NULL : compute,
    .user = c };
  RingSlot *slot = ring_acquire (ring);
  bool ok;

  c->computed = 0;
  ok = prepare (c, random, fault) && ring_submit (ring, slot, &frame, fault);
  /* Others read the result without having waited for it. */
  if (ok && c->dst.place == RING_DEVICE && c->dst.stream != NULL)
    ok = copy_block (c, c->seen_after, c->dst.on_device.block,
             c->dst.picture.bytes, GPU_COPY_DOWN, c->dst.stream, fault)
        && gpu_stream_synchronize (c->dst.stream, fault);
  ok = ok && ring_wait (ring, slot, fault);
  if (ok && c->dst.place == RING_DEVICE && c->dst.stream == NULL)
    ok = copy_block (c, c->seen_after, c->dst.on_device.block,
        c->dst.picture.bytes, GPU_COPY_DOWN, NULL, fault);
  ring_release (ring, slot);
  if (ok) {
    judge (check, c, before);
    EXPECT (check, (c->computed > 0) == (frame.compute != NULL),
        "computed %d times", c->computed);
    EXPECT (check, c->computed == 0 || c->order == expected_order (c),
        "of %d slots, the kernels' order is %d", c->depth, (int) c->order);
  }
  free (before);
  return ok;
}

static void
expect_bytes (Check *check, const Crossing *c, Ring *ring)
{
  const uint64_t bytes = N_FRAMES * (uint64_t) image_bytes (&c->layout);
  RingStats stats;

  ring_stats (ring, &stats);
  EXPECT (check,
      stats.bytes_up == (c->src.place == RING_DEVICE ? 0 : bytes)
          && stats.bytes_down == (c->dst.place == RING_DEVICE ? 0 : bytes),
      "%llu bytes up and %llu down", (unsigned long long) stats.bytes_up,
      (unsigned long long) stats.bytes_down);
}

static void
crossing_case (Check *check, Random *random, int index, const void *data)
{
  const LayoutKind *kind = layout_kind_any (random);
  Crossing c = { .device = *(const Device *) data };
  Ring *ring = NULL;
  Fault fault;
  bool ok;

  fault_clear (&fault);
  layout_make (kind, random_int (random, 1, 300), random_int (random, 1, 200),
      &c.layout);
  c.depth = random_int (random, 1, 4);
  ok = crossing_open (&c, random, index, &fault);
  describe (check, &c, kind);
  if (ok) {
    ring = ring_new (c.device.gpu, &c.layout, &c.layout, c.depth,
        c.own_stream ? c.streams[2] : NULL, &fault);
    ok = ring != NULL
        && (random_chance (random, 50)
            || ring_reserve (ring, true, true, &fault));
  }
  for (int i = 0; ok && i < N_FRAMES; i++)
    ok = send (check, &c, ring, random, &fault);
  if (EXPECT (check, ok, "%s (%s)", fault.message, fault.detail))
    expect_bytes (check, &c, ring);
  ring_free (ring);
  crossing_close (&c);
}

static void
check_crossings (Check *check, const void *data)
{
  (void) data;
  device_check_cases (
      check, BACKEND_CUDA, check->quick ? 60 : 600, crossing_case);
}

/* Without a GPU no image is in device memory; frames that pass are copied. */
static void
check_on_host (Check *check, const void *data)
{
  Random random = { check->seed };
  Picture src, dst;
  RingSlot *slot;
  Verdict verdict;
  Image layout;
  Ring *ring;
  Fault fault;

  (void) data;
  check->cases++;
  layout_make (layout_kind_by_name ("planar3"), 51, 33, &layout);
  picture_new (&src, &layout, true, &random);
  picture_new (&dst, &layout, true, &random);
  picture_paint (&src, CONTENT_NOISE, &random);
  ring = ring_new (NULL, &layout, &layout, 1, NULL, &fault);
  if (EXPECT (check, ring != NULL, "no ring: %s", fault.message)) {
    RingFrame frame = {
      .src = src.image, .dst = dst.image, .passes = true, .slices = 1
    };

    EXPECT (
        check, ring_reserve (ring, true, true, &fault), "%s", fault.message);
    slot = ring_acquire (ring);
    EXPECT (check,
        ring_submit (ring, slot, &frame, &fault)
            && ring_wait (ring, slot, &fault),
        "%s", fault.message);
    verdict_same (&verdict, &dst.image, &src.image);
    EXPECT (check, verdict.ok, "%s", verdict.text);
    ring_release (ring, slot);
    for (int side = 0; side < 2; side++) {
      frame.src_place = side == 0 ? RING_DEVICE : RING_HOST;
      frame.dst_place = side == 0 ? RING_HOST : RING_DEVICE;
      slot = ring_acquire (ring);
      EXPECT_FAULT (check, !ring_submit (ring, slot, &frame, &fault), &fault,
          FAULT_SETTINGS, "a frame in the memory of no GPU");
      ring_release (ring, slot);
    }
    ring_free (ring);
  }
  picture_clear (&src);
  picture_clear (&dst);
}

/* Sends frames from an image on the device to another one, or to the host; *timed is the
 * number of frames that were timed with events. */
static bool
count_timed (const Device *device, int depth, RingPlace to, int frames,
    uint64_t *timed, Fault *fault)
{
  Random random = { 1 };
  Crossing c = { .device = *device, .transfer = RING_PINNED, .depth = depth };
  Ring *ring = NULL;
  RingStats stats;
  bool ok;

  layout_make (layout_kind_by_name ("gray8"), 64, 16, &c.layout);
  ok = side_open (&c.src, &c, RING_DEVICE, NULL, &random, fault)
      && side_open (&c.dst, &c, to, NULL, &random, fault)
      && (ring = ring_new (
              device->gpu, &c.layout, &c.layout, depth, NULL, fault))
          != NULL;
  for (int i = 0; ok && i < frames; i++) {
    const RingFrame frame = { .src = c.src.on_device.image,
      .dst = to == RING_DEVICE ? c.dst.on_device.image : c.dst.picture.image,
      .src_place = RING_DEVICE,
      .dst_place = to,
      .transfer = RING_PINNED,
      .slices = 1,
      .compute = compute,
      .user = &c };
    RingSlot *slot = ring_acquire (ring);

    ok = ring_submit (ring, slot, &frame, fault)
        && ring_wait (ring, slot, fault);
    ring_release (ring, slot);
  }
  if (ok) {
    ring_stats (ring, &stats);
    *timed = stats.frames_timed;
  }
  ring_free (ring);
  side_close (&c.dst);
  side_close (&c.src);
  return ok;
}

/* The first 8 frames are timed, then every 16th, but every 256th where kernels
 * overlap. */
static void
check_timed (Check *check, const void *data)
{
  static const struct
  {
    int depth;
    RingPlace to;
    uint64_t timed;
  } cases[] = { { 2, RING_DEVICE, 8 + 18 }, { 4, RING_HOST_PINNED, 8 + 18 },
    { 4, RING_DEVICE, 8 + 1 } };
  Device device;

  (void) data;
  if (!device_enter (check, BACKEND_CUDA, &device))
    return;
  for (int i = 0; i < 3; i++) {
    uint64_t timed = 0;
    Fault fault;

    check->cases++;
    if (EXPECT (check,
            count_timed (
                &device, cases[i].depth, cases[i].to, 300, &timed, &fault),
            "%s (%s)", fault.message, fault.detail))
      EXPECT (check, timed == cases[i].timed,
          "of 300 frames to the %s, %d deep, %llu are timed",
          place_name (cases[i].to), cases[i].depth, (unsigned long long) timed);
  }
  device_leave (&device);
}

/* Frames that take turns, among others that do not. */
#define TURN_FRAMES 64
#define TURN_DEPTH 4
/* The first frames are timed, and so take no turns. */
#define TIMED_FRAMES 8
#define SLOW_BYTES ((size_t) 4 << 20)

typedef struct
{
  Device device;
  Picture picture[TURN_FRAMES + 1];
  DevicePicture on_device[TURN_FRAMES + 1]; /* frame i computes number i + 1 */
  uint8_t *slow;                            /* device */
  GpuStream stream[TURN_FRAMES];
  int turn[TURN_FRAMES];
  int number; /* of the frame that is being submitted */
  int n;      /* turns */
} Turns;

/* Copies, late. A RingCompute. */
static bool
compute_late (void *user, const RingPart *part, Fault *fault)
{
  Turns *turns = user;
  const ImageMemory *src = &part->src->memory[0];
  const ImageMemory *dst = &part->dst->memory[0];

  turns->turn[turns->number] = part->turn;
  turns->stream[turns->number] = part->stream;
  for (int i = 0; i < 4; i++)
    if (!gpu_copy_rows (turns->slow, 0, turns->slow + SLOW_BYTES, 0, SLOW_BYTES,
            1, GPU_COPY_DEVICE, part->stream, fault))
      return false;
  return gpu_copy_rows (dst->data, dst->stride, src->data, src->stride,
      src->row_bytes, src->height, GPU_COPY_DEVICE, part->stream, fault);
}

/* Five frames in six take turns. */
static bool
takes_turns (int i)
{
  return i % 6 != 0;
}

/* A frame that takes no turn reads the result of the frame before it; the others read the result of
 * the last frame that takes none. */
static int
source_of (int i)
{
  return takes_turns (i) ? i - i % 6 + 1 : i;
}

static bool
turns_open (Turns *turns, const Image *layout, Random *random, Fault *fault)
{
  for (int i = 0; i <= TURN_FRAMES; i++) {
    picture_new (&turns->picture[i], layout, false, random);
    picture_paint (&turns->picture[i], CONTENT_NOISE, random);
    if (!device_picture_new (
            &turns->on_device[i], &turns->device, &turns->picture[i], fault))
      return false;
  }
  turns->slow = gpu_malloc (2 * SLOW_BYTES, fault);
  return turns->slow != NULL;
}

static void
turns_close (Turns *turns)
{
  for (int i = 0; i <= TURN_FRAMES; i++) {
    device_picture_clear (&turns->on_device[i]);
    picture_clear (&turns->picture[i]);
  }
  gpu_free (turns->slow);
}

static bool
send_turns (Turns *turns, Ring *ring, Fault *fault)
{
  RingSlot *slot[TURN_DEPTH] = { NULL };
  int sent = 0, waited = 0;
  bool ok = true;

  for (; ok && waited < TURN_FRAMES; waited++) {
    for (; ok && sent < TURN_FRAMES && sent < waited + TURN_DEPTH; sent++) {
      const RingFrame frame = {
        .src = turns->on_device[source_of (sent)].image,
        .dst = turns->on_device[sent + 1].image,
        .src_place = RING_DEVICE,
        .dst_place = RING_DEVICE,
        .slices = 1,
        .turns = takes_turns (sent) ? turns->n : 1,
        .compute = compute_late,
        .user = turns,
      };

      turns->number = sent;
      slot[sent % TURN_DEPTH] = ring_acquire (ring);
      ok = ring_submit (ring, slot[sent % TURN_DEPTH], &frame, fault);
      if (!ok)
        ring_release (ring, slot[sent % TURN_DEPTH]);
    }
    ok = ok && ring_wait (ring, slot[waited % TURN_DEPTH], fault);
    if (waited < sent)
      ring_release (ring, slot[waited % TURN_DEPTH]);
  }
  return ok;
}

static void
judge_turns (Check *check, Turns *turns, Fault *fault)
{
  int next = 0;

  for (int i = 0; i < TURN_FRAMES; i++) {
    Picture *result = &turns->picture[i + 1];
    Verdict verdict;

    if (!EXPECT (check,
            device_picture_fetch (&turns->on_device[i + 1], &turns->device,
                result->block, result->bytes, fault),
            "%s (%s)", fault->message, fault->detail))
      return;
    verdict_same (&verdict, &result->image, &turns->picture[0].image);
    EXPECT (check, verdict.ok, "frame %d: %s", i, verdict.text);
    if (!takes_turns (i) || i < TIMED_FRAMES)
      next = 0;
    EXPECT (check, turns->turn[i] == next, "frame %d has turn %d", i,
        turns->turn[i]);
    if (takes_turns (i) && i >= TIMED_FRAMES)
      next = (next + 1) % turns->n;
    for (int k = 0; k < i; k++)
      EXPECT (check,
          (turns->stream[i] == turns->stream[k])
              == (turns->turn[i] == turns->turn[k]),
          "frames %d and %d of turns %d and %d", i, k, turns->turn[i],
          turns->turn[k]);
  }
}

/* Frames that take turns come after earlier frames that take no turn, and before later
 * ones. */
static void
check_turns (Check *check, const void *data)
{
  Random random = { check->seed };
  Turns *turns = kerncheck_alloc (sizeof *turns);
  Image layout;
  Fault fault;

  (void) data;
  layout_make (layout_kind_by_name ("gray8"), 64, 48, &layout);
  for (int n = 2; n <= GPU_MAX_TURNS; n++) {
    Ring *ring = NULL;
    bool ok;

    memset (turns, 0, sizeof *turns);
    fault_clear (&fault);
    turns->n = n;
    if (!device_enter (check, BACKEND_CUDA, &turns->device))
      break;
    check->cases++;
    ok = turns_open (turns, &layout, &random, &fault)
        && (ring = ring_new (
                turns->device.gpu, &layout, &layout, TURN_DEPTH, NULL, &fault))
            != NULL
        && send_turns (turns, ring, &fault);
    if (EXPECT (check, ok, "%s (%s)", fault.message, fault.detail))
      judge_turns (check, turns, &fault);
    ring_free (ring);
    turns_close (turns);
    device_leave (&turns->device);
  }
  free (turns);
}

void
check_ring_device_add (void)
{
  kerncheck_add (check_on_host, NULL, NULL, "ring/cpu/passes");
  kerncheck_add (check_crossings, NULL, NULL, "ring/cuda/crossings");
  kerncheck_add (check_timed, NULL, NULL, "ring/cuda/timed");
  kerncheck_add (check_turns, NULL, NULL, "ring/cuda/turns");
}
