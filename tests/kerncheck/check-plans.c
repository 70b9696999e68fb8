/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans over their life: new specs between runs, fields, several threads. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "verdict.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More runs than any plan can have queued at once. */
#define N_RUNS 11
#define N_THREADS 2

static const Effort effort = { 150, 90, 4e6 };
static const Effort quick_effort = { 40, 30, 2e5 };

#define ATTEMPTS 100

/* A case that the method supports, or NULL if none was found. */
static Case *
random_case (
    const SepconvMethod *method, const Effort *limit, Random *random, int index)
{
  Case *c = case_new ();

  for (int i = 0; i < ATTEMPTS; i++) {
    case_make_layout (c, layout_kind_any (random), index, limit, random);
    case_make_spec (c, (SepconvBorder) random_int (random, 0, N_BORDERS - 1),
        limit, random);
    if (sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      return c;
  }
  case_free (c);
  return NULL;
}

/* Keeps the stream busy, so that later work waits and the host runs ahead of it. */
static bool
keep_busy (const Device *device, bool quick, uint8_t **memory, Fault *fault)
{
  const size_t half = (size_t) (quick ? 1 : 64) << 20;

  *memory = NULL;
  if (device->gpu == NULL)
    return true;
  *memory = gpu_malloc (2 * half, fault);
  if (*memory == NULL)
    return false;
  for (int i = 0; i < 40; i++)
    if (!gpu_copy_rows (*memory, (ptrdiff_t) half, *memory + half,
            (ptrdiff_t) half, half, 1, GPU_COPY_DEVICE, device->stream, fault))
      return false;
  return true;
}

/* One of several runs queued without waiting. */
typedef struct
{
  Case *c; /* its spec */
  Picture dst;
  DevicePicture to;
  uint8_t *before;
} Run;

/* A plan may borrow a spec's taps only during the call: it gets a copy, which is spoilt
 * when the call returns. */
static bool
update_plan (SepconvPlan *plan, const Case *c, Fault *fault)
{
  Case *copy = case_copy (c);
  const bool ok = sepconv_plan_update (plan, &copy->spec, fault);

  case_spoil (copy);
  return ok;
}

static SepconvPlan *
new_plan (const Case *c, const MethodSubject *subject, Fault *fault)
{
  Case *copy = case_copy (c);
  SepconvPlan *plan = sepconv_plan_new (&copy->spec, &copy->layout,
      subject->method->backend, subject->method, subject->device->gpu, fault);

  case_spoil (copy);
  return plan;
}

/* Updates the plan to a random spec. Returns the spec that the plan has then, which is
 * still the last one if the new one is refused. */
static Case *
next_spec (Check *check, SepconvPlan *plan, const Case *last,
    const MethodSubject *subject, Random *random)
{
  const Effort *limit = check->quick ? &quick_effort : &effort;
  Case *next = case_copy (last);
  bool supported;
  Fault fault;

  if (random_chance (random, 25))
    return next;
  if (random_chance (random, 15)) {
    next->spec.scale = 2.0 * SEPCONV_MAX_GAIN;
    next->spec.bias = 2.0 * SEPCONV_MAX_BIAS;
    fault_clear (&fault);
    EXPECT_FAULT (check, !update_plan (plan, next, &fault), &fault,
        FAULT_SETTINGS, "an update out of range");
    case_free (next);
    return case_copy (last);
  }
  case_make_spec (next, (SepconvBorder) random_int (random, 0, N_BORDERS - 1),
      limit, random);
  next->content = last->content;
  fault_clear (&fault);
  supported = sepconv_method_supports (
      subject->method, &next->spec, &next->layout, NULL, NULL);
  if (supported) {
    EXPECT (check, update_plan (plan, next, &fault), "the update failed: %s",
        fault.message);
    return next;
  }
  EXPECT_FAULT (check, !update_plan (plan, next, &fault), &fault,
      FAULT_UNSUPPORTED, "an update to an unsupported spec");
  case_free (next);
  return case_copy (last);
}

static void
judge_run (Check *check, const MethodSubject *subject, Run *run,
    const Picture *src, int number)
{
  Verdict verdict;
  Fault fault;

  case_describe (check, run->c);
  if (!EXPECT (check,
          device_picture_fetch (&run->to, subject->device, run->dst.block,
              run->dst.bytes, &fault),
          "run %d failed: %s (%s)", number, fault.message, fault.detail))
    return;
  verdict_guards (&verdict, &run->dst, run->before);
  EXPECT (check, verdict.ok, "run %d: %s", number, verdict.text);
  verdict_by_oracle (&verdict, &run->c->spec, &src->image, &run->dst.image);
  EXPECT (check, verdict.ok, "run %d does not have its own spec: %s", number,
      verdict.text);
}

/* Queues run number i, of `turns` turns: each has a stream of its own. */
static bool
queue_run (SepconvPlan *plan, const Image *src, const Image *dst, int i,
    int turns, const GpuStream stream[GPU_MAX_TURNS], Fault *fault)
{
  const int turn = i % turns;
  const GpuOrder order =
      i / turns % 3 == 0 ? GPU_AFTER_KERNELS : GPU_BESIDE_KERNELS;

  return sepconv_plan_run_in_turn (
      plan, src, dst, turn, stream[turn], order, fault);
}

static void
expect_no_turn (Check *check, SepconvPlan *plan, const Image *src,
    const Image *dst, GpuStream stream)
{
  const int wrong[] = { -1, GPU_MAX_TURNS };

  for (int i = 0; i < 2; i++) {
    Fault fault;

    fault_clear (&fault);
    EXPECT_FAULT (check,
        !sepconv_plan_run_in_turn (
            plan, src, dst, wrong[i], stream, GPU_BESIDE_KERNELS, &fault),
        &fault, FAULT_SETTINGS, "a turn that there is not");
  }
}

static void
update_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  const bool on_host = subject->device->gpu == NULL;
  Case *last = random_case (
      subject->method, check->quick ? &quick_effort : &effort, random, index);
  Run runs[N_RUNS] = { { .c = NULL } };
  DevicePicture from = { .block = NULL };
  uint8_t *busy = NULL;
  GpuStream stream[GPU_MAX_TURNS] = { subject->device->stream };
  SepconvPlan *plan;
  Picture src;
  Fault fault;
  int turns = 1;
  bool ok;

  if (last == NULL) {
    check->unsupported++;
    return;
  }
  case_describe (check, last);
  fault_clear (&fault);
  picture_new (&src, &last->layout, on_host, random);
  picture_paint (&src, CONTENT_NOISE, random);
  plan = new_plan (last, subject, &fault);
  if (index % 2 == 1)
    turns = GPU_MAX_TURNS;
  ok = EXPECT (check, plan != NULL, "no plan: %s", fault.message)
      && EXPECT (check,
          device_picture_new (&from, subject->device, &src, &fault), "%s",
          fault.message);
  for (int i = 0; i < N_RUNS && ok; i++) {
    picture_new (&runs[i].dst, &last->layout, on_host, random);
    runs[i].before = picture_block_copy (&runs[i].dst);
    ok = EXPECT (check,
        device_picture_new (&runs[i].to, subject->device, &runs[i].dst, &fault),
        "%s", fault.message);
  }
  ok = ok
      && EXPECT (check,
          keep_busy (subject->device, check->quick, &busy, &fault), "%s",
          fault.message);
  for (int i = 1; i < turns && ok && !on_host; i++)
    ok = EXPECT (
        check, gpu_stream_new (&stream[i], &fault), "%s", fault.message);
  if (ok)
    expect_no_turn (check, plan, &from.image, &runs[0].to.image, stream[0]);
  for (int i = 0; i < N_RUNS && ok; i++) {
    runs[i].c = i == 0
        ? case_copy (last)
        : next_spec (check, plan, runs[i - 1].c, subject, random);
    ok = EXPECT (check,
        queue_run (
            plan, &from.image, &runs[i].to.image, i, turns, stream, &fault),
        "run %d failed: %s (%s)", i, fault.message, fault.detail);
  }
  for (int i = 1; i < turns; i++)
    if (stream[i] != NULL)
      gpu_stream_synchronize (stream[i], NULL);
  for (int i = 0; i < N_RUNS && ok; i++)
    judge_run (check, subject, &runs[i], &src, i);

  if (!on_host)
    gpu_stream_synchronize (subject->device->stream, NULL);
  for (int i = 1; i < turns; i++)
    gpu_stream_free (stream[i]);
  sepconv_plan_free (plan);
  gpu_free (busy);
  for (int i = 0; i < N_RUNS; i++) {
    case_free (runs[i].c);
    device_picture_clear (&runs[i].to);
    picture_clear (&runs[i].dst);
    free (runs[i].before);
  }
  device_picture_clear (&from);
  picture_clear (&src);
  case_free (last);
}

static void
judge_field (Check *check, const Case *c, const Picture *src,
    const Picture *dst, int parity)
{
  Image src_field, dst_field;
  Verdict verdict;

  if (!image_field (&src->image, parity, &src_field)
      || !image_field (&dst->image, parity, &dst_field))
    return;
  verdict_by_oracle (&verdict, &c->spec, &src_field, &dst_field);
  EXPECT (check, verdict.ok, "field %d: %s", parity, verdict.text);
}

/* Both fields of a frame, with one plan that was made for the frame. */
static void
field_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  const bool on_host = subject->device->gpu == NULL;
  Case *c = random_case (
      subject->method, check->quick ? &quick_effort : &effort, random, index);
  DevicePicture from = { .block = NULL }, to = { .block = NULL };
  SepconvPlan *plan;
  uint8_t *before;
  Picture src, dst;
  Verdict verdict;
  Fault fault;
  bool ok;

  if (c == NULL) {
    check->unsupported++;
    return;
  }
  /* Frames with few rows, in which some planes have no second field. */
  if (random_chance (random, 30)) {
    c->height = random_int (random, 1, 4);
    layout_make (c->kind, c->width, c->height, &c->layout);
  }
  case_describe (check, c);
  fault_clear (&fault);
  picture_new (&src, &c->layout, on_host, random);
  picture_new (&dst, &c->layout, on_host, random);
  picture_paint (&src, c->content, random);
  before = picture_block_copy (&dst);
  plan = new_plan (c, subject, &fault);
  ok = EXPECT (check, plan != NULL, "no plan: %s", fault.message)
      && EXPECT (check,
          device_picture_new (&from, subject->device, &src, &fault)
              && device_picture_new (&to, subject->device, &dst, &fault),
          "%s", fault.message);
  for (int parity = 0; parity < 2 && ok; parity++) {
    Image src_field, dst_field;

    if (image_field (&from.image, parity, &src_field)
        && image_field (&to.image, parity, &dst_field))
      ok = EXPECT (check,
          sepconv_plan_run (plan, &src_field, &dst_field,
              subject->device->stream, GPU_BESIDE_KERNELS, &fault),
          "field %d: %s (%s)", parity, fault.message, fault.detail);
  }
  ok = ok
      && EXPECT (check,
          device_picture_fetch (
              &to, subject->device, dst.block, dst.bytes, &fault),
          "%s (%s)", fault.message, fault.detail);
  if (ok) {
    verdict_guards (&verdict, &dst, before);
    EXPECT (check, verdict.ok, "%s", verdict.text);
    judge_field (check, c, &src, &dst, 0);
    judge_field (check, c, &src, &dst, 1);
  }
  sepconv_plan_free (plan);
  device_picture_clear (&from);
  device_picture_clear (&to);
  picture_clear (&src);
  picture_clear (&dst);
  free (before);
  case_free (c);
}

/* A thread with its own device, plan and pictures. */
typedef struct
{
  pthread_t thread;
  const SepconvMethod *method;
  Case *c;
  Picture src, dst;
  int n_runs;
  Verdict verdict; /* read by the check's thread */
} Worker;

static void
fail (Worker *worker, const char *what, const Fault *fault)
{
  worker->verdict.ok = false;
  snprintf (worker->verdict.text, sizeof worker->verdict.text,
      "%s: %.100s "
      "(%.100s)",
      what, fault->message, fault->detail);
}

static void *
work (void *data)
{
  Worker *worker = data;
  Device device = { NULL, NULL };
  const MethodSubject subject = { worker->method, &device };
  SepconvPlan *plan;
  bool changed;
  Fault fault;

  worker->verdict.ok = true;
  fault_clear (&fault);
  if (worker->method->backend == BACKEND_CUDA
      && !device_open (&device, &fault)) {
    fail (worker, "the GPU cannot be opened", &fault);
    return NULL;
  }
  plan = new_plan (worker->c, &subject, &fault);
  if (plan == NULL)
    fail (worker, "no plan", &fault);
  for (int i = 0; i < worker->n_runs && worker->verdict.ok; i++) {
    if (!device_run (&device, device_sepconv, plan, &worker->src, &worker->dst,
            &changed, &fault))
      fail (worker, "the run failed", &fault);
    else if (i == 0 || i == worker->n_runs - 1)
      verdict_by_oracle (&worker->verdict, &worker->c->spec, &worker->src.image,
          &worker->dst.image);
  }
  sepconv_plan_free (plan);
  device_shut (&device);
  return NULL;
}

static void
worker_clear (Worker *worker)
{
  picture_clear (&worker->src);
  picture_clear (&worker->dst);
  case_free (worker->c);
}

static void
thread_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  Worker workers[N_THREADS] = { { .n_runs = 0 } };

  for (int i = 0; i < N_THREADS; i++) {
    Worker *worker = &workers[i];

    worker->method = subject->method;
    worker->n_runs = check->quick ? 4 : 20;
    worker->c = random_case (subject->method, &quick_effort, random, index);
    if (worker->c == NULL) {
      check->unsupported++;
      for (int k = 0; k < i; k++)
        worker_clear (&workers[k]);
      return;
    }
    picture_new (&worker->src, &worker->c->layout, false, random);
    picture_new (&worker->dst, &worker->c->layout, false, random);
    picture_paint (&worker->src, worker->c->content, random);
  }
  case_describe (check, workers[0].c);
  for (int i = 0; i < N_THREADS; i++)
    if (pthread_create (&workers[i].thread, NULL, work, &workers[i]) != 0) {
      EXPECT (check, false, "a thread cannot be made");
      exit (1);
    }
  for (int i = 0; i < N_THREADS; i++) {
    pthread_join (workers[i].thread, NULL);
    EXPECT (check, workers[i].verdict.ok, "thread %d: %s", i,
        workers[i].verdict.text);
    worker_clear (&workers[i]);
  }
}

static void
random_span (Random *random, int size, int *first, int *last)
{
  *first = random_int (random, 0, size - 1);
  *last = random_int (random, *first + 1, size);
}

/* Whether a window of each plane is the same in both pictures. */
static void
expect_same_windows (Check *check, const Image *a, const Image *b,
    const SepconvWindow window[IMAGE_MAX_PLANES])
{
  for (int p = 0; p < a->n_planes; p++)
    for (int y = window[p].top; y < window[p].bottom; y++)
      for (int x = window[p].left; x < window[p].right; x++)
        for (int c = 0; c < a->plane[p].channels; c++)
          if (!EXPECT (check,
                  picture_raw (a, p, c, x, y) == picture_raw (b, p, c, x, y),
                  "plane %d, channel %d, %d,%d is %u instead of %u in the "
                  "window %d,%d to %d,%d",
                  p, c, x, y, picture_raw (b, p, c, x, y),
                  picture_raw (a, p, c, x, y), window[p].left, window[p].top,
                  window[p].right, window[p].bottom))
            return;
}

/* The case with long gaussians instead, if the method supports that. */
static Case *
blurred_case (const SepconvMethod *method, Case *c, Random *random)
{
  Case *blurred = case_copy (c);

  case_make_blurs (blurred, random);
  if (!sepconv_method_supports (
          method, &blurred->spec, &blurred->layout, NULL, NULL)) {
    case_free (blurred);
    return c;
  }
  case_free (c);
  return blurred;
}

/* Windows of a frame, filtered one after the other by the same plan, equal those of the
 * whole frame. */
static void
window_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  const Effort *limit = check->quick ? &quick_effort : &effort;
  Case *c = random_case (subject->method, limit, random, index);
  Picture src, whole, part;
  SepconvPlan *plan;
  Fault fault;

  if (c == NULL)
    return;
  if (index % 2 != 0)
    c = blurred_case (subject->method, c, random);
  case_describe (check, c);
  picture_new (&src, &c->layout, true, random);
  picture_new (&whole, &c->layout, true, random);
  picture_new (&part, &c->layout, true, random);
  picture_paint (&src, c->content, random);
  fault_clear (&fault);
  plan = new_plan (c, subject, &fault);
  if (EXPECT (check, plan != NULL, "no plan: %s", fault.message)
      && device_run_cleanly (
          check, subject->device, device_sepconv, plan, &src, &whole))
    for (int i = 0; i < 5; i++) {
      SepconvWindow window[IMAGE_MAX_PLANES];
      uint8_t *before = picture_block_copy (&part);
      Verdict verdict;

      for (int p = 0; p < c->layout.n_planes; p++) {
        random_span (random, c->layout.plane[p].width, &window[p].left,
            &window[p].right);
        random_span (random, image_plane_height (&c->layout, p), &window[p].top,
            &window[p].bottom);
      }
      EXPECT (check,
          sepconv_plan_run_window (
              plan, &src.image, &part.image, window, &fault),
          "the run failed: %s", fault.message);
      expect_same_windows (check, &whole.image, &part.image, window);
      verdict_guards (&verdict, &part, before);
      EXPECT (check, verdict.ok, "%s", verdict.text);
      free (before);
    }
  sepconv_plan_free (plan);
  picture_clear (&src);
  picture_clear (&whole);
  picture_clear (&part);
  case_free (c);
}

static void
check_window (Check *check, const void *data)
{
  device_check_method (check, data, check->quick ? 6 : 30, window_case);
}

static void
check_update (Check *check, const void *data)
{
  device_check_method (check, data, check->quick ? 3 : 15, update_case);
}

static void
check_fields (Check *check, const void *data)
{
  device_check_method (check, data, check->quick ? 6 : 40, field_case);
}

static void
check_threads (Check *check, const void *data)
{
  device_check_method (check, data, check->quick ? 1 : 3, thread_case);
}

void
check_plans_add (void)
{
  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);

    kerncheck_add (
        check_update, method, method, "sepconv/%s/update", method->name);
    kerncheck_add (
        check_fields, method, method, "sepconv/%s/fields", method->name);
    kerncheck_add (
        check_threads, method, method, "sepconv/%s/threads", method->name);
    if (method->backend == BACKEND_CPU)
      kerncheck_add (
          check_window, method, method, "sepconv/%s/window", method->name);
  }
}
