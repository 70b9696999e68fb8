/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The ring with in-place frames: regions of them are covered, in memory of every kind, with other
 * frames in flight. */
#include "kerncheck.h"

#include "kerncheck-device.h"
#include "regions.h"
#include "ring.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 4
#define N_FRAMES 20 /* the ring times the first ones, not overlapped */
#define N_SPECS 2
#define N_REGIONS 4

/* A frame of a case. */
typedef struct
{
  Picture picture;   /* on the host; pinned, except for RING_HOST */
  Picture expected;  /* the frame's result alone, as a copy */
  uint8_t *original; /* the block of `picture` before */
  int spec;          /* index of the course's spec */
  DevicePicture on_device;
  Region regions[N_REGIONS];
  RingSlot *slot;
  uint64_t bytes_up, bytes_down;
} Frame;

typedef struct
{
  const Device *device;
  const LayoutKind *kind;
  Image layout;
  SepconvSpec filter[N_SPECS];
  Taps x[N_SPECS], y[N_SPECS];
  TapsSettings taps[N_SPECS];
  RegionsSpec spec[N_SPECS];
  int followed; /* index of the plan's spec */
  RegionsPlan *plan;
  RingPlace place;
  GpuStream stream; /* of others, for RING_DEVICE; or NULL */
  Frame frames[N_FRAMES];
  Frame *current; /* the frame that is submitted */
} Course;

/* Spec i, which differs from the others only in its sigmas. */
static void
make_spec (Course *course, int i, int radius_x, int radius_y)
{
  SepconvSpec *filter = &course->filter[i];
  RegionsSpec *spec = &course->spec[i];

  taps_gaussian (&course->x[i], 2.0 + i, radius_x);
  taps_gaussian (&course->y[i], 1.0 + i, radius_y);
  *filter = course->filter[0];
  course->taps[i] = (TapsSettings){ .sigma_x = 1.5 + i, .sigma_y = -1.0 };
  *spec = course->spec[0];
  spec->filter = filter;
  spec->taps = &course->taps[i];
  for (int p = 0; p < course->layout.n_planes; p++) {
    filter->plane[p].channels = (1u << course->layout.plane[p].channels) - 1;
    filter->plane[p].x = &course->x[i];
    filter->plane[p].y = &course->y[i];
    spec->subsampling_x[p] = course->kind->plane[p].sub_x;
    spec->subsampling_y[p] = course->kind->sub_y[course->kind->plane[p].memory];
  }
}

static void
make_specs (Course *course, Random *random)
{
  const int radius_x = random_int (random, 0, 8);
  const int radius_y = random_int (random, 0, 4);
  /* The last one needs more taps than one kernel takes. */
  static const double strengths[] = { 0.0, 0.0, 0.1, 2.5 };

  course->filter[0] = (SepconvSpec){ .scale = 1.0,
    .border = (SepconvBorder) random_int (random, 0, N_BORDERS - 1) };
  course->spec[0] = (RegionsSpec){ .fill = (RegionsFill) random_int (
                                       random, 0, REGIONS_SOLID),
    .feather = random_chance (random, 50) ? 0.0 : 0.3,
    .strength = strengths[random_int (random, 0, 3)] };
  for (int i = 0; i < N_SPECS; i++)
    make_spec (course, i, radius_x, radius_y);
}

/* An update uploads the filters again, even if they are the same. */
static bool
follow_spec (Course *course, const Frame *frame, Fault *fault)
{
  if (frame->spec == course->followed)
    return true;
  course->followed = frame->spec;
  return regions_plan_update (course->plan, &course->spec[frame->spec], fault);
}

/* A DeviceRun. */
static bool
cover_copy (void *user, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  Course *course = user;
  const Frame *frame = course->current;

  return follow_spec (course, frame, fault)
      && regions_plan_run (course->plan, frame->regions, N_REGIONS, src, dst, 1,
          stream, GPU_AFTER_KERNELS, fault);
}

/* `before` is the previous frame, or NULL. */
static void
place_regions (
    const Course *course, Frame *frame, const Frame *before, Random *random)
{
  if (before != NULL && random_chance (random, 60)) {
    memcpy (frame->regions, before->regions, sizeof frame->regions);
    frame->spec = before->spec;
    return;
  }
  frame->spec = random_int (random, 0, N_SPECS - 1);
  for (int i = 0; i < N_REGIONS; i++) {
    const int x = random_int (random, -10, course->layout.plane[0].width);
    const int y = random_int (random, -10, course->layout.memory[0].height);

    frame->regions[i] = (Region){ x, y, x + random_int (random, 1, 30),
      y + random_int (random, 1, 20) };
  }
}

static bool
open_frame (Course *course, Frame *frame, const Frame *before, Random *random,
    Fault *fault)
{
  bool changed;

  place_regions (course, frame, before, random);
  picture_new (&frame->picture, &course->layout, false, random);
  picture_new (&frame->expected, &course->layout, false, random);
  picture_paint (&frame->picture, CONTENT_NOISE, random);
  frame->original = picture_block_copy (&frame->picture);
  course->current = frame;
  return device_run (course->device, cover_copy, course, &frame->picture,
             &frame->expected, &changed, fault)
      && (course->place == RING_HOST
          || device_pin_picture (course->device, &frame->picture, fault))
      && (course->place != RING_DEVICE
          || device_picture_new (
              &frame->on_device, course->device, &frame->picture, fault));
}

static void
close_frame (Frame *frame)
{
  device_picture_clear (&frame->on_device);
  picture_clear (&frame->picture);
  picture_clear (&frame->expected);
  free (frame->original);
}

/* A RingCompute. */
static bool
cover (void *user, const RingPart *part, Fault *fault)
{
  const Course *course = user;

  return part->src->memory[0].data == part->dst->memory[0].data && part->first
      && part->last
      && (part->order == GPU_AFTER_KERNELS || course->place != RING_DEVICE)
      && regions_plan_run_in_place (course->plan, course->current->regions,
          N_REGIONS, part->dst, 1, part->stream, part->order, fault);
}

static bool
submit (Course *course, Ring *ring, Frame *frame, Fault *fault)
{
  const bool on_device = course->place == RING_DEVICE;
  RingFrame submitted = { .src = on_device ? frame->on_device.image
                                           : frame->picture.image,
    .src_place = course->place,
    .src_stream = on_device ? course->stream : NULL,
    .dst_stream = on_device ? course->stream : NULL,
    .in_place = true,
    .slices = 1,
    .compute = cover,
    .user = course };
  RegionsBoxes boxes;

  course->current = frame;
  frame->slot = ring_acquire (ring);
  if (!follow_spec (course, frame, fault)
      || !regions_plan_find_boxes (
          course->plan, frame->regions, N_REGIONS, 1, &boxes, fault))
    return false;
  submitted.read = boxes.read;
  submitted.written = boxes.written;
  submitted.n_boxes = boxes.n;
  if (course->device->gpu != NULL && !on_device) {
    frame->bytes_up = image_box_bytes (boxes.read, boxes.n);
    frame->bytes_down = image_box_bytes (boxes.written, boxes.n);
  }
  return ring_submit (ring, frame->slot, &submitted, fault);
}

static bool
finish (Check *check, Course *course, Ring *ring, Frame *frame, Fault *fault)
{
  Picture *picture = &frame->picture;
  Verdict verdict;
  bool ok = ring_wait (ring, frame->slot, fault)
      && (course->place != RING_DEVICE
          || device_picture_fetch (&frame->on_device, course->device,
              picture->block, picture->bytes, fault));

  ring_release (ring, frame->slot);
  if (!ok)
    return false;
  verdict_same (&verdict, &picture->image, &frame->expected.image);
  EXPECT (check, verdict.ok, "%s", verdict.text);
  verdict_outside_rows (&verdict, picture, frame->original);
  EXPECT (check, verdict.ok, "%s", verdict.text);
  return true;
}

/* DEPTH frames are in flight. */
static bool
send_all (Check *check, Course *course, Ring *ring, Fault *fault)
{
  for (int i = 0; i < N_FRAMES + DEPTH - 1; i++) {
    if (i < N_FRAMES && !submit (course, ring, &course->frames[i], fault))
      return false;
    if (i >= DEPTH - 1
        && !finish (
            check, course, ring, &course->frames[i - (DEPTH - 1)], fault))
      return false;
  }
  return true;
}

static void
expect_bytes (Check *check, const Course *course, Ring *ring)
{
  uint64_t up = 0, down = 0;
  RingStats stats;

  for (int i = 0; i < N_FRAMES; i++) {
    up += course->frames[i].bytes_up;
    down += course->frames[i].bytes_down;
  }
  ring_stats (ring, &stats);
  EXPECT (check, stats.bytes_up == up && stats.bytes_down == down,
      "%llu bytes up and %llu down, not %llu and %llu",
      (unsigned long long) stats.bytes_up,
      (unsigned long long) stats.bytes_down, (unsigned long long) up,
      (unsigned long long) down);
}

/* A frame cannot pass and be in place at the same time, and in place something must be
 * computed. */
static void
expect_refusals (Check *check, Course *course, Ring *ring)
{
  for (int i = 0; i < 2; i++) {
    const RingFrame frame = { .src = course->frames[0].picture.image,
      .dst = course->frames[0].expected.image,
      .in_place = true,
      .passes = i == 0,
      .slices = 1,
      .compute = i == 0 ? cover : NULL };
    RingSlot *slot = ring_acquire (ring);
    Fault fault;

    fault_clear (&fault);
    EXPECT_FAULT (check, !ring_submit (ring, slot, &frame, &fault), &fault,
        FAULT_SETTINGS, "a frame in place that is passed, or left");
    ring_release (ring, slot);
  }
}

static void
course_case (Check *check, Random *random, int index, const void *data)
{
  Course *course = kerncheck_alloc (sizeof *course);
  const Device *device = data;
  Ring *ring = NULL;
  Fault fault;
  bool ok;

  memset (course, 0, sizeof *course);
  fault_clear (&fault);
  course->device = device;
  course->kind = layout_kind_any (random);
  course->place = device->gpu == NULL ? RING_HOST : (RingPlace) (index % 3);
  layout_make (course->kind, random_int (random, 1, 200),
      random_int (random, 1, 120), &course->layout);
  make_specs (course, random);
  check_describe (check,
      "layout=%s %dx%d memory %d fill %d strength %g border %d",
      course->kind->name, course->layout.plane[0].width,
      course->layout.memory[0].height, (int) course->place,
      (int) course->spec[0].fill, course->spec[0].strength,
      (int) course->filter[0].border);
  course->plan = regions_plan_new (&course->spec[0], &course->layout,
      device->gpu == NULL ? BACKEND_CPU : BACKEND_CUDA, NULL, device->gpu,
      &fault);
  ok = course->plan != NULL
      && (ring = ring_new (device->gpu, &course->layout, &course->layout, DEPTH,
              NULL, &fault))
          != NULL
      && (device->gpu == NULL || random_chance (random, 50)
          || gpu_stream_new (&course->stream, &fault));
  for (int i = 0; ok && i < N_FRAMES; i++)
    ok = open_frame (course, &course->frames[i],
        i > 0 ? &course->frames[i - 1] : NULL, random, &fault);
  ok = ok && send_all (check, course, ring, &fault);
  if (EXPECT (check, ok, "%s (%s)", fault.message, fault.detail)) {
    expect_bytes (check, course, ring);
    expect_refusals (check, course, ring);
  }
  ring_free (ring);
  for (int i = 0; i < N_FRAMES; i++)
    close_frame (&course->frames[i]);
  gpu_stream_free (course->stream);
  regions_plan_free (course->plan);
  free (course);
}

static void
check_in_place (Check *check, const void *data)
{
  device_check_cases (
      check, *(const Backend *) data, check->quick ? 20 : 200, course_case);
}

/* Covers the regions of the course's first frame, alone. */
static bool
cover_one (Course *course, Fault *fault)
{
  Frame *frame = &course->frames[0];
  Ring *ring = ring_new (
      course->device->gpu, &course->layout, &course->layout, 1, NULL, fault);
  bool ok;

  if (ring == NULL)
    return false;
  ok = submit (course, ring, frame, fault)
      && ring_wait (ring, frame->slot, fault);
  ring_release (ring, frame->slot);
  ring_free (ring);
  return ok;
}

/* Samples of two bytes at odd addresses, which no kernel can access. */
static void
check_odd (Check *check, const void *data)
{
  Course *course;
  Device device;
  Random random = { check->seed };
  uint8_t *block;
  Image image;
  Fault fault;

  (void) data;
  if (!device_enter (check, BACKEND_CUDA, &device))
    return;
  check->cases++;
  fault_clear (&fault);
  course = kerncheck_alloc (sizeof *course);
  memset (course, 0, sizeof *course);
  course->device = &device;
  course->kind = layout_kind_by_name ("gray16");
  layout_make (course->kind, 64, 16, &course->layout);
  make_specs (course, &random);
  course->spec[0].fill = REGIONS_SOLID;
  course->spec[0].feather = 0.0;
  course->place = RING_HOST_PINNED;
  for (int i = 0; i < N_REGIONS; i++)
    course->frames[0].regions[i] = (Region){ 8, 4, 20, 9 };
  course->plan = regions_plan_new (&course->spec[0], &course->layout,
      BACKEND_CUDA, NULL, device.gpu, &fault);
  block = gpu_malloc_host (64 * 2 * 16 + 1, &fault);
  if (EXPECT (check, course->plan != NULL && block != NULL, "%s (%s)",
          fault.message, fault.detail)) {
    memset (block, 0x5a, 64 * 2 * 16 + 1);
    image_pack (&course->layout, 2, block, &image);
    image.memory[0].data++;
    course->frames[0].picture.image = image;
    EXPECT (check, cover_one (course, &fault), "%s (%s)", fault.message,
        fault.detail);
    for (int y = 0; y < 16; y++)
      for (int x = 0; x < 64; x++) {
        const bool in = x >= 8 && x < 20 && y >= 4 && y < 9;
        const int raw = image_read_raw (
            image.memory[0].data + y * image.memory[0].stride + 2 * x, 2);

        EXPECT (check, raw == (in ? 0 : 0x5a5a), "%d,%d is 0x%x", x, y, raw);
      }
  }
  gpu_free_host (block);
  regions_plan_free (course->plan);
  free (course);
  device_leave (&device);
}

void
check_ring_in_place_add (void)
{
  static const Backend cpu = BACKEND_CPU, cuda = BACKEND_CUDA;

  kerncheck_add (check_in_place, &cpu, NULL, "ring/cpu/in-place");
  kerncheck_add (check_in_place, &cuda, NULL, "ring/cuda/in-place");
  kerncheck_add (check_odd, NULL, NULL, "ring/cuda/in-place-odd");
}
