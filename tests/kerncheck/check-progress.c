/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames filtered while they arrive: sepconv_plan_advance(). */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "oracle.h"
#include "sepconv/method.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#define N_FRAMES 2 /* by one plan, the second after the first */
#define ATTEMPTS 100

static const Effort normal_effort = { 120, 90, 2e6 };
static const Effort quick_effort = { 30, 24, 1e5 };
/* For one multiprocessor, whose blocks process many rows. */
static const Effort normal_tall = { 900, 200, 5e6 };
static const Effort quick_tall = { 300, 150, 1e6 };

/* A frame that arrives row by row. Rows that have not arrived hold noise. */
typedef struct
{
  const MethodSubject *subject;
  const Case *c;
  /* Heights of the filtered images, which may be lower than the layout and, like
   * fields, have no row in some memory. */
  int height[IMAGE_MAX_MEMORIES];
  Picture source, expected; /* whole */
  Picture coming, dst;
  DevicePicture from, to;       /* of these two */
  uint8_t *mirror;              /* expected `coming`: source and noise */
  uint8_t *before;              /* of dst */
  int pace[IMAGE_MAX_MEMORIES]; /* a Pace for each memory */
  int ready[IMAGE_MAX_MEMORIES], done[IMAGE_MAX_MEMORIES];
} Arrival;

typedef enum
{
  PACE_STEADY,
  PACE_SLOW,  /* often without a row */
  PACE_LATE,  /* all rows with the last part */
  PACE_EARLY, /* all rows with the first part */
  N_PACES
} Pace;

static Image
cut (const Image *image, const int *height)
{
  Image lower = *image;

  for (int m = 0; m < image->n_memories; m++)
    lower.memory[m].height = height[m];
  return lower;
}

static int
smaller (int a, int b)
{
  return a < b ? a : b;
}

/* A case that the method supports; about half of them with so few taps along y that
 * some rows can be finished early. */
static Case *
random_case (
    Check *check, const SepconvMethod *method, Random *random, int index)
{
  const Effort *effort = check->quick ? &quick_effort : &normal_effort;
  Case *c = case_new ();

  for (int i = 0; i < ATTEMPTS; i++) {
    case_make_layout (c, layout_kind_any (random), random_int (random, 0, 100),
        effort, random);
    case_make_spec (c, (SepconvBorder) (index % N_BORDERS), effort, random);
    if (random_chance (random, 60))
      case_set_rows (
          c, random_int (random, 1, smaller (c->height, 60) / 2 + 1), random);
    if (sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      return c;
  }
  case_free (c);
  return NULL;
}

static Case *
tall_case (Check *check, const SepconvMethod *method, Random *random, int index)
{
  Case *c = case_new ();

  if (case_make_tall (c, method, (SepconvBorder) (index % N_BORDERS),
          check->quick ? &quick_tall : &normal_tall, random))
    return c;
  case_free (c);
  return NULL;
}

static void
choose_heights (Arrival *arrival, Random *random)
{
  const Image *layout = &arrival->c->layout;
  const bool whole = random_chance (random, 70);
  int most = 0;

  for (int m = 0; m < layout->n_memories; m++) {
    const int height = layout->memory[m].height;

    arrival->height[m] = whole       ? height
        : random_chance (random, 20) ? 0
                                     : random_int (random, 1, height);
    most = most < arrival->height[m] ? arrival->height[m] : most;
    arrival->pace[m] = random_int (random, 0, N_PACES - 1);
    if (random_chance (random, 50))
      arrival->pace[m] = PACE_STEADY;
  }
  if (most == 0)
    arrival->height[0] = layout->memory[0].height;
}

/* The result of sepconv_plan_run() for the whole source, by another plan. */
static bool
compute_expected (Check *check, Arrival *arrival)
{
  const MethodSubject *subject = arrival->subject;
  const Device *device = subject->device;
  const Case *c = arrival->c;
  const Image whole = cut (&arrival->source.image, arrival->height);
  DevicePicture from = { .block = NULL }, to = { .block = NULL };
  SepconvPlan *plan;
  Image src, dst;
  Verdict verdict;
  Fault fault;
  bool ok;

  fault_clear (&fault);
  plan = sepconv_plan_new (&c->spec, &c->layout, subject->method->backend,
      subject->method, device->gpu, &fault);
  ok = plan != NULL
      && device_picture_new (&from, device, &arrival->source, &fault)
      && device_picture_new (&to, device, &arrival->expected, &fault);
  src = cut (&from.image, arrival->height);
  dst = cut (&to.image, arrival->height);
  ok = ok
      && sepconv_plan_run (
          plan, &src, &dst, device->stream, GPU_AFTER_KERNELS, &fault)
      && device_picture_fetch (&to, device, arrival->expected.block,
          arrival->expected.bytes, &fault);
  EXPECT (check, ok, "the whole frame: %s (%s)", fault.message, fault.detail);
  if (ok) {
    dst = cut (&arrival->expected.image, arrival->height);
    verdict_by_oracle (&verdict, &c->spec, &whole, &dst);
    ok = EXPECT (check, verdict.ok, "the whole frame: %s", verdict.text);
  }
  device_picture_clear (&from);
  device_picture_clear (&to);
  sepconv_plan_free (plan);
  return ok;
}

static bool
arrival_begin (
    Check *check, Arrival *arrival, const Image *layout, Random *random)
{
  const Device *device = arrival->subject->device;
  const bool on_host = device->gpu == NULL;
  Fault fault;

  fault_clear (&fault);
  choose_heights (arrival, random);
  picture_new (&arrival->source, layout, on_host, random);
  picture_new (&arrival->expected, layout, on_host, random);
  picture_new (&arrival->coming, layout, on_host, random);
  picture_new (&arrival->dst, layout, on_host, random);
  picture_paint (&arrival->source, arrival->c->content, random);
  arrival->mirror = picture_block_copy (&arrival->coming);
  arrival->before = picture_block_copy (&arrival->dst);
  return compute_expected (check, arrival)
      && EXPECT (check,
          device_picture_new (&arrival->from, device, &arrival->coming, &fault)
              && device_picture_new (
                  &arrival->to, device, &arrival->dst, &fault),
          "%s (%s)", fault.message, fault.detail);
}

static void
arrival_end (Arrival *arrival)
{
  device_picture_clear (&arrival->from);
  device_picture_clear (&arrival->to);
  picture_clear (&arrival->source);
  picture_clear (&arrival->expected);
  picture_clear (&arrival->coming);
  picture_clear (&arrival->dst);
  free (arrival->mirror);
  free (arrival->before);
}

/* Rows [first, last) of a memory arrive, on the stream where there is one. */
static bool
bring_rows (Arrival *arrival, int m, int first, int last, Fault *fault)
{
  const Device *device = arrival->subject->device;
  const ImageMemory *source = &arrival->source.image.memory[m];
  const ImageMemory *coming = &arrival->coming.image.memory[m];
  const ImageMemory *from = &arrival->from.image.memory[m];

  for (int y = first; y < last; y++) {
    const uint8_t *row = source->data + y * source->stride;
    uint8_t *to = coming->data + y * coming->stride;

    memcpy (
        arrival->mirror + (to - arrival->coming.block), row, source->row_bytes);
    if (device->gpu == NULL)
      memcpy (to, row, source->row_bytes);
  }
  return device->gpu == NULL
      || gpu_copy_rows (from->data + first * from->stride, from->stride,
          source->data + first * source->stride, source->stride,
          source->row_bytes, last - first, GPU_COPY_UP, device->stream, fault);
}

static int
next_ready (const Arrival *arrival, int m, Random *random)
{
  const int height = arrival->height[m], ready = arrival->ready[m];
  const int step = random_int (random, 1, height / 4 + 1);

  switch (arrival->pace[m]) {
    case PACE_EARLY:
      return height;
    case PACE_LATE:
      return ready;
    case PACE_SLOW:
      if (random_chance (random, 60))
        return ready;
      /* fall through */
    default:
      return smaller (height, ready + step);
  }
}

/* Number of rows of a memory of dst, from the top, that need no source row from `ready`
 * on. */
static int
rows_that_can_be_done (const Arrival *arrival, int m)
{
  const Case *c = arrival->c;
  const int height = arrival->height[m], ready = arrival->ready[m];
  int rows = ready;

  for (int p = 0; p < c->layout.n_planes; p++) {
    const int n = c->spec.plane[p].channels == 0 ? 0 : c->y[p].n;
    int *map;

    if (c->layout.plane[p].memory != m || n == 0 || height == 0)
      continue;
    map = kerncheck_alloc (sizeof *map * (size_t) (height + n));
    oracle_walk (map, height, n / 2, n - 1 - n / 2, c->spec.border);
    for (int y = 0; y < rows; y++)
      for (int j = 0; j < n; j++)
        if (map[y + j] >= ready)
          rows = y;
    free (map);
  }
  return rows;
}

/* Most taps above the middle one. */
static int
most_above (const Case *c, int m)
{
  int most = 0;

  for (int p = 0; p < c->layout.n_planes; p++)
    if (c->layout.plane[p].memory == m && c->spec.plane[p].channels != 0
        && most < c->y[p].n / 2)
      most = c->y[p].n / 2;
  return most;
}

/* Bounds of `done`: never more rows than can be done. A method that works in parts must
 * also do all of these, except as many rows as its taps reach above the middle. */
static void
expect_progress (Check *check, const Arrival *arrival, const int *done_before)
{
  const SepconvMethod *method = arrival->subject->method;
  const Case *c = arrival->c;
  bool all = true;

  for (int m = 0; m < c->layout.n_memories; m++)
    all = all && arrival->ready[m] == arrival->height[m];
  for (int m = 0; m < c->layout.n_memories; m++) {
    const int done = arrival->done[m], height = arrival->height[m];
    const int possible = rows_that_can_be_done (arrival, m);

    EXPECT (check, done >= done_before[m] && done <= possible,
        "memory %d: with %d of %d rows, %d are called done after %d; %d can be",
        m, arrival->ready[m], height, done, done_before[m], possible);
    if (all)
      EXPECT (check, done == height, "memory %d: %d of %d rows at the end", m,
          done, height);
    if (method->ops->in_parts && c->spec.border != SEPCONV_WRAP)
      EXPECT (check, done >= possible - most_above (c, m),
          "memory %d: with %d of %d rows, only %d are done where %d can be", m,
          arrival->ready[m], height, done, possible);
  }
}

/* Expects the rows that are reported as done to be complete at this moment. */
static bool
expect_done_rows (Check *check, Arrival *arrival)
{
  Verdict verdict;
  Image done, expected;
  Fault fault;

  fault_clear (&fault);
  if (!EXPECT (check,
          device_picture_fetch (&arrival->to, arrival->subject->device,
              arrival->dst.block, arrival->dst.bytes, &fault),
          "%s (%s)", fault.message, fault.detail))
    return false;
  done = cut (&arrival->dst.image, arrival->done);
  expected = cut (&arrival->expected.image, arrival->done);
  verdict_same (&verdict, &done, &expected);
  return EXPECT (
      check, verdict.ok, "of the rows that are called done, %s", verdict.text);
}

/* One part. Returns false after the last one, and after a failure. */
static bool
advance (Check *check, Arrival *arrival, SepconvPlan *plan, bool last,
    Random *random)
{
  const Image src = cut (&arrival->from.image, arrival->height);
  const Image dst = cut (&arrival->to.image, arrival->height);
  ImageRows fresh[IMAGE_MAX_MEMORIES] = { { 0 } };
  int done_before[IMAGE_MAX_MEMORIES];
  bool ok = true, all = true;
  Fault fault;

  fault_clear (&fault);
  memcpy (done_before, arrival->done, sizeof done_before);
  for (int m = 0; m < src.n_memories; m++) {
    const int ready =
        last ? arrival->height[m] : next_ready (arrival, m, random);

    ok = ok && bring_rows (arrival, m, arrival->ready[m], ready, &fault);
    fresh[m] = (ImageRows){ arrival->ready[m], ready };
    arrival->ready[m] = ready;
    all = all && ready == arrival->height[m];
  }
  if (!EXPECT (check,
          ok
              && sepconv_plan_advance (plan, &src, &dst, fresh, arrival->done,
                  arrival->subject->device->stream, GPU_BESIDE_KERNELS, &fault),
          "%s (%s)", fault.message, fault.detail))
    return false;
  expect_progress (check, arrival, done_before);
  return !check->case_failed && expect_done_rows (check, arrival) && !all;
}

/* Everything equals a whole run, and nothing else was written. */
static void
judge_arrival (Check *check, Arrival *arrival)
{
  const Device *device = arrival->subject->device;
  uint8_t *after = picture_block_copy (&arrival->coming);
  Verdict verdict;
  Fault fault;

  fault_clear (&fault);
  verdict_guards (&verdict, &arrival->dst, arrival->before);
  EXPECT (check, verdict.ok, "%s", verdict.text);
  EXPECT (check,
      device_picture_fetch (
          &arrival->from, device, after, arrival->coming.bytes, &fault),
      "%s (%s)", fault.message, fault.detail);
  EXPECT (check, memcmp (after, arrival->mirror, arrival->coming.bytes) == 0,
      "the source was written to");
  free (after);
}

static void
frame_case (Check *check, const MethodSubject *subject, const Case *c,
    SepconvPlan *plan, Random *random)
{
  const int n_parts = random_int (random, 1, 12);
  Arrival *arrival = kerncheck_alloc (sizeof *arrival);

  arrival->subject = subject;
  arrival->c = c;
  if (arrival_begin (check, arrival, &c->layout, random)) {
    for (int i = 0; i < n_parts; i++)
      if (!advance (check, arrival, plan, i == n_parts - 1, random))
        break;
    if (!check->case_failed)
      judge_arrival (check, arrival);
  }
  arrival_end (arrival);
  free (arrival);
}

static void
progress_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  const bool tall = subject->device->gpu != NULL && index / N_BORDERS % 2 == 1;
  Case *c = tall ? tall_case (check, subject->method, random, index)
                 : random_case (check, subject->method, random, index);
  SepconvPlan *plan;
  Fault fault;

  if (c == NULL) {
    check->unsupported++;
    return;
  }
  case_describe (check, c);
  fault_clear (&fault);
  plan = sepconv_plan_new (&c->spec, &c->layout, subject->method->backend,
      subject->method, subject->device->gpu, &fault);
  if (tall)
    gpu_limit_multiprocessors (subject->device->gpu, 1);
  if (EXPECT (check, plan != NULL, "no plan: %s", fault.message))
    for (int i = 0; i < N_FRAMES && !check->case_failed; i++)
      frame_case (check, subject, c, plan, random);
  if (tall)
    gpu_limit_multiprocessors (subject->device->gpu, 0);
  sepconv_plan_free (plan);
  case_free (c);
}

static void
check_progress (Check *check, const void *data)
{
  device_check_method (
      check, data, (check->quick ? 4 : 12) * N_BORDERS, progress_case);
}

void
check_progress_add (void)
{
  device_add_for_methods (check_progress, "progress", false);
}
