/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ring, with and without a GPU. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "ring.h"
#include "verdict.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_DEPTH 8
#define MAX_FRAMES 60

static void
sleep_ms (int ms)
{
  const struct timespec time = { ms / 1000, (long) (ms % 1000) * 1000000L };

  nanosleep (&time, NULL);
}

/* Copies src to dst, on the device or on the host. Not for RING_MAPPED: the copies are
 * within the device. */
static bool
compute_copy (void *user, const RingPart *part, Fault *fault)
{
  (void) user;
  if (part->stream == NULL) {
    image_copy (part->dst, part->src);
    return true;
  }
  for (int m = 0; m < part->src->n_memories; m++) {
    const ImageMemory *src = &part->src->memory[m];
    const ImageMemory *dst = &part->dst->memory[m];
    const int first = part->done[m];

    if (!gpu_copy_rows (dst->data + first * dst->stride, dst->stride,
            src->data + first * src->stride, src->stride, src->row_bytes,
            part->fresh[m].last - first, GPU_COPY_DEVICE, part->stream, fault))
      return false;
    part->done[m] = part->fresh[m].last;
  }
  return true;
}

/* Filters with a plan. */
static bool
compute_filter (void *user, const RingPart *part, Fault *fault)
{
  SepconvPlan *plan = user;

  return sepconv_plan_advance (plan, part->src, part->dst, part->fresh,
      part->done, part->stream, part->order, fault);
}

static bool
compute_slowly (void *user, const RingPart *part, Fault *fault)
{
  sleep_ms (2);
  return compute_copy (user, part, fault);
}

static bool
compute_nothing (void *user, const RingPart *part, Fault *fault)
{
  (void) user;
  (void) part;
  return fault_set (fault, FAULT_UNSUPPORTED, "not today");
}

/* Fails when the rest of the frame is already queued. */
static bool
compute_partly (void *user, const RingPart *part, Fault *fault)
{
  return part->last ? compute_nothing (user, part, fault)
                    : compute_copy (user, part, fault);
}

/* A frame in flight: submitted by one thread, waited for by the other. */
typedef struct
{
  Picture src, dst;
  Picture original; /* the source, which may be reused after submit */
  uint8_t *before;
  RingFrame route; /* everything except src, dst, and the computation */
  RingSlot *slot;
  Case *c; /* the filter, or NULL for a copy */
  Verdict verdict;
} Frame;

typedef struct
{
  Ring *ring;
  Gpu *gpu;
  int n;
  Frame frames[MAX_FRAMES];
  Random pace;  /* of the thread that waits */
  bool hurries; /* that thread never sleeps between frames */

  pthread_mutex_t lock; /* protects the two below */
  pthread_cond_t grown;
  int submitted;
  bool stopped;
} Flow;

static void
finish_frame (Flow *flow, Frame *frame)
{
  Fault fault;

  fault_clear (&fault);
  if (!ring_wait (flow->ring, frame->slot, &fault)) {
    frame->verdict.ok = false;
    memcpy (frame->verdict.text, fault.message, sizeof frame->verdict.text - 1);
  } else if (frame->c == NULL) {
    verdict_same (&frame->verdict, &frame->dst.image, &frame->original.image);
  } else {
    verdict_by_oracle (&frame->verdict, &frame->c->spec, &frame->original.image,
        &frame->dst.image);
  }
  if (!flow->hurries && random_chance (&flow->pace, 10))
    sleep_ms (1);
  ring_release (flow->ring, frame->slot);
}

static void *
finish_frames (void *data)
{
  Flow *flow = data;
  const bool pushed = flow->gpu != NULL && gpu_push (flow->gpu, NULL);

  for (int i = 0; i < flow->n; i++) {
    bool there;

    pthread_mutex_lock (&flow->lock);
    while (flow->submitted <= i && !flow->stopped)
      pthread_cond_wait (&flow->grown, &flow->lock);
    there = flow->submitted > i;
    pthread_mutex_unlock (&flow->lock);
    if (!there)
      break;
    finish_frame (flow, &flow->frames[i]);
  }
  if (pushed)
    gpu_pop (flow->gpu);
  return NULL;
}

static bool
submit_frame (Check *check, Flow *flow, int i, RingCompute compute, void *user,
    Random *random)
{
  Frame *frame = &flow->frames[i];
  RingFrame submitted = frame->route;
  Fault fault;

  fault_clear (&fault);
  submitted.src = frame->src.image;
  submitted.dst = frame->dst.image;
  submitted.compute = compute;
  submitted.user = user;
  frame->slot = ring_acquire (flow->ring);
  if (!EXPECT (check, ring_submit (flow->ring, frame->slot, &submitted, &fault),
          "frame %d: %s (%s)", i, fault.message, fault.detail)) {
    ring_release (flow->ring, frame->slot);
    return false;
  }
  if (submitted.transfer == RING_PINNED && submitted.src_place == RING_HOST)
    picture_paint (&frame->src, CONTENT_NOISE, random);
  pthread_mutex_lock (&flow->lock);
  flow->submitted++;
  pthread_cond_signal (&flow->grown);
  pthread_mutex_unlock (&flow->lock);
  return true;
}

/* Chooses a random transfer; half of the frames take the default one. */
static void
choose_route (Check *check, Frame *frame, const Device *device, Random *random)
{
  Fault fault;

  fault_clear (&fault);
  frame->route = (RingFrame){ .slices = 1 };
  if (random_chance (random, 50))
    return;
  frame->route.transfer = (RingTransfer) random_int (random, 0, RING_PAGEABLE);
  if (frame->c == NULL && frame->route.transfer == RING_MAPPED)
    frame->route.transfer = RING_PINNED;
  frame->route.slices = random_int (random, 1, RING_MAX_SLICES);
  if (random_chance (random, 50))
    frame->route.src_place = RING_HOST_PINNED;
  if (random_chance (random, 50))
    frame->route.dst_place = RING_HOST_PINNED;
  EXPECT (check,
      (frame->route.src_place == RING_HOST
          || device_pin_picture (device, &frame->src, &fault))
          && (frame->route.dst_place == RING_HOST
              || device_pin_picture (device, &frame->dst, &fault)),
      "%s (%s)", fault.message, fault.detail);
}

static void
prepare_frame (Check *check, Frame *frame, const Device *device,
    const Image *layout, const Case *c, Random *random)
{
  frame->verdict.ok = true;
  frame->c = c == NULL ? NULL : case_copy (c);
  picture_new (&frame->src, layout, true, random);
  picture_new (&frame->dst, layout, true, random);
  picture_new (&frame->original, layout, true, random);
  picture_paint (&frame->src, CONTENT_NOISE, random);
  image_copy (&frame->original.image, &frame->src.image);
  frame->before = picture_block_copy (&frame->dst);
  choose_route (check, frame, device, random);
}

/* Results are copied by rows: bytes in rows that belong to no sample may differ. */
static void
judge_frame (Check *check, const Frame *frame, int i)
{
  Verdict verdict;

  EXPECT (check, frame->verdict.ok, "frame %d: %s", i, frame->verdict.text);
  verdict_outside_rows (&verdict, &frame->dst, frame->before);
  EXPECT (check, verdict.ok, "frame %d: %s", i, verdict.text);
}

static void
clear_frame (Frame *frame)
{
  picture_clear (&frame->src);
  picture_clear (&frame->dst);
  picture_clear (&frame->original);
  free (frame->before);
  case_free (frame->c);
}

static Flow *
flow_new (Check *check, const Device *device, const Image *layout, int depth,
    int n, Random *random)
{
  Flow *flow = kerncheck_alloc (sizeof *flow);
  Fault fault;

  flow->gpu = device->gpu;
  flow->n = n;
  flow->pace.state = random_next (random);
  pthread_mutex_init (&flow->lock, NULL);
  pthread_cond_init (&flow->grown, NULL);
  flow->ring = ring_new (device->gpu, layout, layout, depth, NULL, &fault);
  if (EXPECT (check, flow->ring != NULL, "no ring: %s", fault.message))
    return flow;
  free (flow);
  return NULL;
}

static void
flow_free (Check *check, Flow *flow)
{
  RingStats stats;

  ring_stats (flow->ring, &stats);
  EXPECT (check,
      stats.frames_in == (uint64_t) flow->submitted
          && stats.frames_out == stats.frames_in,
      "%llu frames in and %llu out instead of %d",
      (unsigned long long) stats.frames_in,
      (unsigned long long) stats.frames_out, flow->submitted);
  for (int i = 0; i < flow->n; i++) {
    judge_frame (check, &flow->frames[i], i);
    clear_frame (&flow->frames[i]);
  }
  ring_free (flow->ring);
  pthread_cond_destroy (&flow->grown);
  pthread_mutex_destroy (&flow->lock);
  free (flow);
}

/* Submits from this thread and waits on another. `plan` NULL: copies. Otherwise each
 * frame has its own spec. */
static void
run_flow (Check *check, Flow *flow, SepconvPlan *plan, Random *random)
{
  pthread_t thread;
  Fault fault;
  bool ok = true;

  if (pthread_create (&thread, NULL, finish_frames, flow) != 0) {
    EXPECT (check, false, "a thread cannot be made");
    return;
  }
  for (int i = 0; i < flow->n && ok; i++) {
    Frame *frame = &flow->frames[i];

    if (plan != NULL)
      ok = EXPECT (check, sepconv_plan_update (plan, &frame->c->spec, &fault),
          "frame %d: %s", i, fault.message);
    ok = ok
        && submit_frame (check, flow, i,
            plan == NULL ? compute_copy : compute_filter, plan, random);
  }
  pthread_mutex_lock (&flow->lock);
  flow->stopped = true;
  pthread_cond_signal (&flow->grown);
  pthread_mutex_unlock (&flow->lock);
  pthread_join (thread, NULL);
}

/* Copies n frames; `hurries`: the waiting thread does not sleep between frames. */
static void
copy_frames (Check *check, const Device *device, const Image *layout, int depth,
    int n, bool hurries, Random *random)
{
  Flow *flow = flow_new (check, device, layout, depth, n, random);

  if (flow == NULL)
    return;
  flow->hurries = hurries;
  for (int i = 0; i < n; i++)
    prepare_frame (check, &flow->frames[i], device, layout, NULL, random);
  run_flow (check, flow, NULL, random);
  flow_free (check, flow);
}

static void
copy_case (Check *check, Random *random, int index, const void *data)
{
  const LayoutKind *kind = layout_kind_any (random);
  const int depth = index % MAX_DEPTH + 1;
  Image layout;

  layout_make (kind, random_int (random, 1, check->quick ? 40 : 500),
      random_int (random, 1, check->quick ? 30 : 200), &layout);
  check_describe (check, "depth %d of %s %dx%d", depth, kind->name,
      layout.plane[0].width, layout.memory[0].height);
  copy_frames (check, data, &layout, depth, check->quick ? 12 : MAX_FRAMES,
      false, random);
}

static void
check_order (Check *check, const void *data)
{
  device_check_cases (check, *(const Backend *) data, MAX_DEPTH, copy_case);
}

/* A series of tiny frames, for which the waiting thread polls instead of sleeping. */
static void
series_case (Check *check, Random *random, int index, const void *data)
{
  const int depth = index % MAX_DEPTH + 1;
  Image layout;

  layout_make (layout_kind_by_name ("gray8"), 16, 4, &layout);
  check_describe (check, "depth %d", depth);
  copy_frames (check, data, &layout, depth, MAX_FRAMES, true, random);
}

static void
check_series (Check *check, const void *data)
{
  device_check_cases (check, *(const Backend *) data,
      check->quick ? MAX_DEPTH : 10 * MAX_DEPTH, series_case);
}

static void
filter_case (Check *check, Random *random, int index, const void *data)
{
  const Effort effort = { check->quick ? 40 : 300, check->quick ? 30 : 100,
    check->quick ? 1e5 : 1e6 };
  const Device *device = data;
  const int depth = index % MAX_DEPTH + 1, n = check->quick ? 6 : 24;
  Case *c = case_new ();
  SepconvPlan *plan = NULL;
  Fault fault;
  Flow *flow;

  case_any_size (c, layout_kind_any (random), &effort, random);
  case_make_spec (c, SEPCONV_REFLECT, &effort, random);
  case_describe (check, c);
  fault_clear (&fault);
  flow = flow_new (check, device, &c->layout, depth, n, random);
  if (flow != NULL)
    plan = sepconv_plan_new (&c->spec, &c->layout,
        device->gpu == NULL ? BACKEND_CPU : BACKEND_CUDA, NULL, device->gpu,
        &fault);
  if (flow != NULL
      && EXPECT (check, plan != NULL, "no plan: %s", fault.message)) {
    for (int i = 0; i < n; i++) {
      Case *next = case_copy (c);

      /* If the plan's method does not support the new spec, the first one stays. */
      case_make_spec (next,
          (SepconvBorder) random_int (random, 0, N_BORDERS - 1), &effort,
          random);
      prepare_frame (check, &flow->frames[i], device, &c->layout,
          sepconv_method_supports (sepconv_plan_method (plan), &next->spec,
              &next->layout, NULL, NULL)
              ? next
              : c,
          random);
      case_free (next);
    }
    run_flow (check, flow, plan, random);
    flow_free (check, flow);
  }
  sepconv_plan_free (plan);
  case_free (c);
}

static void
check_filter (Check *check, const void *data)
{
  device_check_cases (check, *(const Backend *) data, MAX_DEPTH, filter_case);
}

/* A small source and result, for checks that are not about pixels. */
typedef struct
{
  Image layout;
  Picture src, dst;
} Pair;

static void
pair_new (Pair *pair, Random *random)
{
  layout_make (layout_kind_by_name ("nv12"), 37, 21, &pair->layout);
  picture_new (&pair->src, &pair->layout, true, random);
  picture_new (&pair->dst, &pair->layout, true, random);
  picture_paint (&pair->src, CONTENT_NOISE, random);
}

static RingFrame
pair_frame (const Pair *pair, RingCompute compute)
{
  return (RingFrame){ .src = pair->src.image,
    .dst = pair->dst.image,
    .slices = 1,
    .compute = compute };
}

static void
pair_clear (Pair *pair)
{
  picture_clear (&pair->src);
  picture_clear (&pair->dst);
}

typedef struct
{
  Ring *ring;
  RingSlot *slot;
  atomic_bool acquired;
} Waiter;

static void *
acquire_one (void *data)
{
  Waiter *waiter = data;

  waiter->slot = ring_acquire (waiter->ring);
  atomic_store (&waiter->acquired, true);
  return NULL;
}

static void
expect_blocking (Check *check, const Device *device, Pair *pair, int depth)
{
  const RingFrame frame = pair_frame (pair, compute_copy);
  Waiter waiter = { .slot = NULL };
  RingSlot *slots[MAX_DEPTH];
  pthread_t thread;
  Fault fault;

  fault_clear (&fault);
  atomic_init (&waiter.acquired, false);
  waiter.ring =
      ring_new (device->gpu, &pair->layout, &pair->layout, depth, NULL, &fault);
  if (!EXPECT (check, waiter.ring != NULL, "no ring: %s", fault.message))
    return;
  for (int i = 0; i < depth; i++) {
    slots[i] = ring_acquire (waiter.ring);
    for (int k = 0; k < i; k++)
      EXPECT (check, slots[k] != slots[i], "slot %d was given out twice", k);
    EXPECT (check,
        ring_in_flight (waiter.ring) == i + 1
            && ring_submit (waiter.ring, slots[i], &frame, &fault)
            && ring_in_flight (waiter.ring) == i + 1,
        "%d in flight of %d: %s", ring_in_flight (waiter.ring), i + 1,
        fault.message);
  }
  if (pthread_create (&thread, NULL, acquire_one, &waiter) != 0) {
    EXPECT (check, false, "a thread cannot be made");
    exit (1);
  }
  sleep_ms (20);
  EXPECT (check, !atomic_load (&waiter.acquired),
      "a ring of %d gave out a slot more", depth);
  EXPECT (
      check, ring_wait (waiter.ring, slots[0], &fault), "%s", fault.message);
  EXPECT (check, !atomic_load (&waiter.acquired),
      "a slot was given out again before it was released");
  EXPECT (check, ring_in_flight (waiter.ring) == depth,
      "%d in flight of %d, none of them released", ring_in_flight (waiter.ring),
      depth);
  ring_release (waiter.ring, slots[0]);
  for (int i = 0; i < 1000 && !atomic_load (&waiter.acquired); i++)
    sleep_ms (5);
  if (!EXPECT (check, atomic_load (&waiter.acquired),
          "nobody was woken when a slot was released"))
    exit (1); /* the thread still uses the ring */
  pthread_join (thread, NULL);
  EXPECT (check, waiter.slot == slots[0],
      "the slot given out is not the one released");
  for (int i = 1; i < depth; i++) {
    EXPECT (
        check, ring_wait (waiter.ring, slots[i], &fault), "%s", fault.message);
    ring_release (waiter.ring, slots[i]);
  }
  EXPECT (check, ring_in_flight (waiter.ring) == 1, "%d in flight instead of 1",
      ring_in_flight (waiter.ring));
  ring_release (waiter.ring, waiter.slot);
  EXPECT (check, ring_in_flight (waiter.ring) == 0, "%d in flight instead of 0",
      ring_in_flight (waiter.ring));
  ring_free (waiter.ring);
}

static void
check_full (Check *check, const void *data)
{
  Random random = { check->seed };
  Device device;
  Pair pair;

  if (!device_enter (check, *(const Backend *) data, &device))
    return;
  check->cases++;
  pair_new (&pair, &random);
  for (int depth = 1; depth <= MAX_DEPTH; depth += 3)
    expect_blocking (check, &device, &pair, depth);
  pair_clear (&pair);
  device_leave (&device);
}

/* One frame from acquire to release. */
static bool
pass_frame (Ring *ring, const RingFrame *frame, Fault *fault)
{
  RingSlot *slot = ring_acquire (ring);
  const bool ok =
      ring_submit (ring, slot, frame, fault) && ring_wait (ring, slot, fault);

  ring_release (ring, slot);
  return ok;
}

/* A ring for such a pair, on a device. */
typedef struct
{
  Random random;
  Device device;
  Pair pair;
  Ring *ring;
  Fault fault;
} Rig;

static void
rig_end (Rig *rig)
{
  ring_free (rig->ring);
  pair_clear (&rig->pair);
  device_leave (&rig->device);
}

/* Returns false where the check cannot run or has failed; then there is nothing to
 * end. */
static bool
rig_begin (Rig *rig, Check *check, const void *data, int depth)
{
  rig->random = (Random){ check->seed };
  if (!device_enter (check, *(const Backend *) data, &rig->device))
    return false;
  check->cases++;
  pair_new (&rig->pair, &rig->random);
  fault_clear (&rig->fault);
  rig->ring = ring_new (rig->device.gpu, &rig->pair.layout, &rig->pair.layout,
      depth, NULL, &rig->fault);
  if (EXPECT (check, rig->ring != NULL, "no ring: %s", rig->fault.message))
    return true;
  rig_end (rig);
  return false;
}

static void
expect_stats (
    Check *check, const Rig *rig, uint64_t in, uint64_t out, unsigned peak)
{
  const bool on_host = rig->device.gpu == NULL;
  const uint64_t bytes =
      on_host ? 0 : in * (uint64_t) image_bytes (&rig->pair.layout);
  RingStats stats;

  ring_stats (rig->ring, &stats);
  EXPECT (check, stats.frames_in == in && stats.frames_out == out,
      "%llu frames in, %llu out instead of %llu, %llu",
      (unsigned long long) stats.frames_in,
      (unsigned long long) stats.frames_out, (unsigned long long) in,
      (unsigned long long) out);
  EXPECT (check, stats.in_flight_peak == peak, "a peak of %u instead of %u",
      stats.in_flight_peak, peak);
  EXPECT (check, stats.bytes_up == bytes && stats.bytes_down == bytes,
      "%llu bytes up, %llu down instead of %llu",
      (unsigned long long) stats.bytes_up,
      (unsigned long long) stats.bytes_down, (unsigned long long) bytes);
  if (on_host)
    EXPECT (check,
        stats.up_ns == 0.0 && stats.down_ns == 0.0
            && stats.compute_ns >= 2e6 * (double) out,
        "times of %g, %g and %g ns for %llu frames", stats.up_ns,
        stats.compute_ns, stats.down_ns, (unsigned long long) out);
  else if (out > 0)
    EXPECT (check,
        stats.up_ns > 0.0 && stats.compute_ns > 0.0 && stats.down_ns > 0.0,
        "times of %g, %g and %g ns for %llu frames", stats.up_ns,
        stats.compute_ns, stats.down_ns, (unsigned long long) out);
}

static void
check_stats (Check *check, const void *data)
{
  RingSlot *slots[3];
  RingFrame frame;
  Rig rig;

  if (!rig_begin (&rig, check, data, 5))
    return;
  frame = pair_frame (&rig.pair, compute_slowly);
  expect_stats (check, &rig, 0, 0, 0);
  for (int i = 0; i < 7; i++)
    EXPECT (check, pass_frame (rig.ring, &frame, &rig.fault), "%s",
        rig.fault.message);
  expect_stats (check, &rig, 7, 7, 1);
  for (int i = 0; i < 3; i++) {
    slots[i] = ring_acquire (rig.ring);
    EXPECT (check, ring_submit (rig.ring, slots[i], &frame, &rig.fault), "%s",
        rig.fault.message);
  }
  expect_stats (check, &rig, 10, 7, 3);
  for (int i = 0; i < 3; i++) {
    EXPECT (check, ring_wait (rig.ring, slots[i], &rig.fault), "%s",
        rig.fault.message);
    ring_release (rig.ring, slots[i]);
  }
  expect_stats (check, &rig, 10, 10, 3);
  rig_end (&rig);
}

static void
check_stats_add (Check *check, const void *data)
{
  RingStats sum = { 1, 2, 8, 3, 4, 5, 5.0, 6.0, 7.0, 3 };
  const RingStats more = { 10, 20, 80, 30, 40, 50, 50.0, 60.0, 70.0, 2 };

  (void) data;
  check->cases++;
  ring_stats_add (&sum, &more);
  EXPECT (check,
      sum.frames_in == 11 && sum.frames_out == 22 && sum.parts == 88
          && sum.bytes_up == 33 && sum.bytes_down == 44
          && sum.frames_timed == 55 && sum.up_ns == 55.0
          && sum.compute_ns == 66.0 && sum.down_ns == 77.0
          && sum.in_flight_peak == 3,
      "sums are wrong");
}

/* A frame that cannot be computed does not affect others. */
static void
check_failure (Check *check, const void *data)
{
  Verdict verdict;
  Rig rig;

  if (!rig_begin (&rig, check, data, 2))
    return;
  for (int i = 0; i < 24; i++) {
    RingFrame frame = pair_frame (&rig.pair, compute_slowly);

    frame.slices = i % RING_MAX_SLICES + 1;
    frame.transfer = i % 3 == 0 ? RING_PAGEABLE : RING_PINNED;
    if (i % 4 == 3) {
      picture_paint (&rig.pair.src, CONTENT_NOISE, &rig.random);
      EXPECT (check, pass_frame (rig.ring, &frame, &rig.fault),
          "a frame after one that failed: %s (%s)", rig.fault.message,
          rig.fault.detail);
      verdict_same (&verdict, &rig.pair.dst.image, &rig.pair.src.image);
      EXPECT (
          check, verdict.ok, "a frame after one that failed: %s", verdict.text);
      continue;
    }
    frame.compute = i % 2 ? compute_nothing : compute_partly;
    fault_clear (&rig.fault);
    if (EXPECT_FAULT (check, !pass_frame (rig.ring, &frame, &rig.fault),
            &rig.fault, FAULT_UNSUPPORTED, "a frame that cannot be computed"))
      EXPECT (check, strcmp (rig.fault.message, "not today") == 0,
          "the fault is not the one of the computation: %s", rig.fault.message);
    EXPECT (check, ring_in_flight (rig.ring) == 0, "%d in flight instead of 0",
        ring_in_flight (rig.ring));
  }
  expect_stats (check, &rig, 6, 6, 1);
  rig_end (&rig);
}

static void
check_limits (Check *check, const void *data)
{
  static const int wrong[] = { 0, -1, RING_MAX_DEPTH + 1, 2147483647 };
  static const int right[] = { 1, RING_MAX_DEPTH };
  Device device;
  Image layout, bad;
  Ring *ring;
  Fault fault;

  if (!device_enter (check, *(const Backend *) data, &device))
    return;
  check->cases++;
  layout_make (layout_kind_by_name ("rgb24"), 9, 5, &layout);
  bad = layout;
  bad.plane[0].width = 0;
  for (int i = 0; i < 4; i++) {
    fault_clear (&fault);
    ring = ring_new (device.gpu, &layout, &layout, wrong[i], NULL, &fault);
    EXPECT_FAULT (check, ring == NULL, &fault, FAULT_SETTINGS, "a bad depth");
    ring_free (ring);
  }
  for (int i = 0; i < 2; i++) {
    ring = ring_new (device.gpu, &layout, &layout, right[i], NULL, &fault);
    EXPECT (check, ring != NULL, "depth %d: %s", right[i], fault.message);
    ring_free (ring);
  }
  for (int i = 0; i < 2; i++) {
    fault_clear (&fault);
    ring = ring_new (
        device.gpu, i ? &bad : &layout, i ? &layout : &bad, 4, NULL, &fault);
    EXPECT_FAULT (check, ring == NULL, &fault, FAULT_SETTINGS, "a bad layout");
    ring_free (ring);
  }
  ring_free (NULL);
  device_leave (&device);
}

static bool
compute_never (void *user, const RingPart *part, Fault *fault)
{
  (void) part;
  *(bool *) user = true;
  return fault_set (fault, FAULT_FAILED, "this was not to be computed");
}

/* Invalid slices and a missing result are refused before anything is queued. */
static void
check_refusals (Check *check, const void *data)
{
  static const int wrong[] = { 0, -1, RING_MAX_SLICES + 1, 2147483647 };
  static const int right[] = { 1, RING_MAX_SLICES };
  bool computed = false;
  RingFrame frame;
  Verdict verdict;
  Rig rig;

  if (!rig_begin (&rig, check, data, 2))
    return;
  frame = pair_frame (&rig.pair, compute_never);
  frame.user = &computed;
  for (int i = 0; i < 12; i++) {
    frame.slices = wrong[i % 4];
    frame.transfer = (RingTransfer) (i / 4);
    fault_clear (&rig.fault);
    EXPECT_FAULT (check, !pass_frame (rig.ring, &frame, &rig.fault), &rig.fault,
        FAULT_SETTINGS, "a wrong number of slices");
  }
  frame.slices = 1;
  frame.passes = true;
  frame.dst.n_memories = 0;
  fault_clear (&rig.fault);
  EXPECT_FAULT (check, !pass_frame (rig.ring, &frame, &rig.fault), &rig.fault,
      FAULT_SETTINGS, "a frame that passes into nothing");
  EXPECT (check, !computed, "a frame that was refused was computed");
  expect_stats (check, &rig, 0, 0, 0);
  frame = pair_frame (&rig.pair, compute_slowly);
  for (int i = 0; i < 2; i++) {
    frame.slices = right[i];
    picture_paint (&rig.pair.src, CONTENT_NOISE, &rig.random);
    EXPECT (check, pass_frame (rig.ring, &frame, &rig.fault), "%d slices: %s",
        right[i], rig.fault.message);
    verdict_same (&verdict, &rig.pair.dst.image, &rig.pair.src.image);
    EXPECT (check, verdict.ok, "%d slices: %s", right[i], verdict.text);
  }
  expect_stats (check, &rig, 2, 2, 1);
  rig_end (&rig);
}

/* Frames that are submitted but never waited for. */
static void
check_abandon (Check *check, const void *data)
{
  Rig rig;

  if (!rig_begin (&rig, check, data, 4))
    return;
  for (int i = 0; i < 3; i++) {
    RingFrame frame = pair_frame (&rig.pair, compute_copy);

    frame.slices = 7 * i + 1;
    EXPECT (check,
        ring_submit (rig.ring, ring_acquire (rig.ring), &frame, &rig.fault),
        "%s", rig.fault.message);
  }
  rig_end (&rig);
}

void
check_ring_add (void)
{
  static const Backend backends[] = { BACKEND_CPU, BACKEND_CUDA };

  kerncheck_add (check_stats_add, NULL, NULL, "ring/stats-add");
  for (int i = 0; i < 2; i++) {
    const char *prefix = i == 0 ? "ring" : "ring/cuda";
    const Backend *where = &backends[i];

    kerncheck_add (check_order, where, NULL, "%s/order", prefix);
    kerncheck_add (check_series, where, NULL, "%s/series", prefix);
    kerncheck_add (check_filter, where, NULL, "%s/filter", prefix);
    kerncheck_add (check_full, where, NULL, "%s/full", prefix);
    kerncheck_add (check_stats, where, NULL, "%s/stats", prefix);
    kerncheck_add (check_failure, where, NULL, "%s/failure", prefix);
    kerncheck_add (check_limits, where, NULL, "%s/limits", prefix);
    kerncheck_add (check_refusals, where, NULL, "%s/refusals", prefix);
    kerncheck_add (check_abandon, where, NULL, "%s/abandon", prefix);
  }
}
