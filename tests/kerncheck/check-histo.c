/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Histograms: every method, compared with naive counting, for everything that histo.h
 * allows. */
#include "kerncheck.h"

#include "histo-cases.h"

#include <stdlib.h>
#include <string.h>

#define IN_FLIGHT 4

static const HistoEffort normal_effort = { 400, 60 };
static const HistoEffort quick_effort = { 40, 30 };
static const HistoEffort large_effort = { 1283, 719 };

/* A method on a layout. */
typedef struct
{
  const HistoMethod *method;
  const LayoutKind *kind;
  const Device *device; /* while the check runs */
} Subject;

static HistoPlan *
new_plan (const HistoCase *c, const Subject *subject, Fault *fault)
{
  return histo_plan_new (&c->spec, &c->layout, subject->method->backend,
      subject->method, subject->device->gpu, fault);
}

/* True when the method supports the case; a refusal must have a sentence. */
static bool
is_supported (Check *check, const HistoCase *c, const Subject *subject)
{
  HistoPlan *plan;
  Fault fault;

  fault_clear (&fault);
  if (!EXPECT (check, histo_validate (&c->spec, &c->layout, &fault),
          "a valid spec was refused: %s", fault.message))
    return false;
  if (histo_method_supports (
          subject->method, &c->spec, &c->layout, subject->device->gpu, &fault))
    return true;
  check->unsupported++;
  EXPECT_FAULT (check, true, &fault, FAULT_UNSUPPORTED, "an unsupported spec");
  fault_clear (&fault);
  plan = new_plan (c, subject, &fault);
  EXPECT_FAULT (check, plan == NULL, &fault, FAULT_UNSUPPORTED,
      "a plan for an unsupported spec");
  histo_plan_free (plan);
  return false;
}

/* Makes a plan and a result for a supported case; false if either fails. */
static bool
begin (Check *check, const HistoCase *c, const Subject *subject,
    HistoPlan **plan, HistoResult **result)
{
  Fault fault;

  *plan = NULL;
  *result = NULL;
  histo_case_describe (check, c);
  if (!is_supported (check, c, subject))
    return false;
  fault_clear (&fault);
  *plan = new_plan (c, subject, &fault);
  if (!EXPECT (check, *plan != NULL, "no plan: %s (%s)", fault.message,
          fault.detail))
    return false;
  EXPECT (check, histo_plan_method (*plan) == subject->method,
      "the plan has another method");
  *result = histo_result_new (*plan, &fault);
  if (EXPECT (check, *result != NULL, "no result: %s", fault.message))
    return true;
  histo_plan_free (*plan);
  return false;
}

/* Runs and waits; the source must not change. */
static bool
run (Check *check, const Device *device, HistoPlan *plan, const Picture *src,
    const Image *image, HistoResult *result)
{
  DevicePicture on_device = { .block = NULL };
  uint8_t *before = picture_block_copy (src);
  uint8_t *after =
      device->gpu == NULL ? src->block : kerncheck_alloc (src->bytes);
  Image moved = *image;
  Fault fault;
  bool ok;

  fault_clear (&fault);
  ok = device_picture_new (&on_device, device, src, &fault);
  for (int m = 0; m < moved.n_memories && on_device.block != NULL; m++)
    moved.memory[m].data =
        on_device.block + (moved.memory[m].data - src->block);
  ok = ok
      && histo_plan_run (
          plan, &moved, result, device->stream, GPU_AFTER_KERNELS, &fault)
      && device_picture_fetch (&on_device, device, after, src->bytes, &fault);
  ok =
      EXPECT (check, ok, "the run failed: %s (%s)", fault.message, fault.detail)
      && EXPECT (check, memcmp (before, after, src->bytes) == 0,
          "the source was written to");
  device_picture_clear (&on_device);
  if (after != src->block)
    free (after);
  free (before);
  return ok;
}

static void
run_one (
    Check *check, const HistoCase *c, const Subject *subject, Random *random)
{
  HistoPlan *plan;
  HistoResult *result;
  Picture src;

  if (!begin (check, c, subject, &plan, &result))
    return;
  histo_case_picture (c, &src, random);
  if (run (check, subject->device, plan, &src, &src.image, result)) {
    histo_expect_counts (check, &c->spec, &src.image, result);
    histo_expect_reverse (check, &c->spec, &src.image, result);
  }
  /* The same codes with other noise around them give the same counters. */
  picture_scramble_guards (&src, random);
  picture_scramble_low_bits (&src, NULL, random);
  if (run (check, subject->device, plan, &src, &src.image, result))
    histo_expect_counts (check, &c->spec, &src.image, result);
  picture_clear (&src);
  histo_plan_free (plan);
  histo_result_free (result);
}

static void
layout_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  HistoCase c;

  histo_case_make (&c, subject->kind, index,
      check->quick ? &quick_effort : &normal_effort, random);
  run_one (check, &c, subject, random);
}

static void
large_case (Check *check, Random *random, int index, const void *data)
{
  const HistoEffort *effort = check->quick ? &quick_effort : &large_effort;
  HistoCase c;

  histo_case_make (&c, layout_kind_any (random), index, effort, random);
  c.width = effort->max_width;
  c.height = effort->max_height;
  layout_make (c.kind, c.width, c.height, &c.layout);
  run_one (check, &c, data, random);
}

/* All contents, with numbers of bins that have fast paths. */
static void
contents_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const names[] = { "gray8", "rgba64", "ayuv", "rgb24",
    "nv12", "p010" };
  const HistoEffort *effort = check->quick ? &quick_effort : &normal_effort;
  HistoCase c;

  histo_case_make (&c, layout_kind_by_name (names[index / N_CONTENTS]), index,
      effort, random);
  c.content = (Content) (index % N_CONTENTS);
  c.spec.bins = 256;
  histo_case_select_all (&c);
  run_one (check, &c, data, random);
}

/* Each number of bins, with samples of one and of two bytes. */
static void
bins_case (Check *check, Random *random, int index, const void *data)
{
  HistoCase c;

  histo_case_make (&c, layout_kind_by_name (index % 2 ? "gray16" : "gray8"),
      index, &quick_effort, random);
  c.spec.bins = histo_some_bins (index / 2);
  c.content = CONTENT_NOISE;
  run_one (check, &c, data, random);
}

/* A plan counts pictures of any size up to its own, and fields. */
static void
smaller_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  HistoPlan *plan;
  HistoResult *result;
  HistoCase c, small;

  histo_case_make (
      &c, layout_kind_any (random), index + 100, &quick_effort, random);
  if (!begin (check, &c, subject, &plan, &result))
    return;
  small = c;
  for (int i = 0; i < 4; i++) {
    Picture src;
    Image field;

    small.width = random_int (random, 1, c.width);
    small.height = random_int (random, 1, i == 0 ? 1 : c.height);
    layout_make (small.kind, small.width, small.height, &small.layout);
    histo_case_picture (&small, &src, random);
    if (run (check, subject->device, plan, &src, &src.image, result))
      histo_expect_counts (check, &c.spec, &src.image, result);
    for (int parity = 0; parity < 2; parity++)
      if (image_field (&src.image, parity, &field)
          && run (check, subject->device, plan, &src, &field, result))
        histo_expect_counts (check, &c.spec, &field, result);
    picture_clear (&src);
  }
  histo_plan_free (plan);
  histo_result_free (result);
}

/* Pictures, their copies on the device and their results. */
typedef struct
{
  Picture src[IN_FLIGHT];
  DevicePicture on_device[IN_FLIGHT];
  HistoResult *result[IN_FLIGHT];
} Flight;

static bool
flight_new (Flight *flight, const HistoCase *c, const Subject *subject,
    HistoPlan *plan, Random *random, Fault *fault)
{
  HistoCase other = *c;
  bool ok = true;

  memset (flight, 0, sizeof *flight);
  for (int i = 0; i < IN_FLIGHT; i++) {
    other.content = (Content) random_int (random, 0, N_CONTENTS - 1);
    histo_case_picture (&other, &flight->src[i], random);
    ok = ok
        && device_picture_new (
            &flight->on_device[i], subject->device, &flight->src[i], fault);
    flight->result[i] = ok ? histo_result_new (plan, fault) : NULL;
    ok = ok && flight->result[i] != NULL;
  }
  return ok;
}

static void
flight_free (Flight *flight)
{
  for (int i = 0; i < IN_FLIGHT; i++) {
    picture_clear (&flight->src[i]);
    device_picture_clear (&flight->on_device[i]);
    histo_result_free (flight->result[i]);
  }
}

/* Several runs before the first is waited for. Each result is used twice, the second
 * time for the next picture. */
static void
flight_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  HistoPlan *plan;
  HistoResult *first;
  HistoCase c;
  Flight flight;
  Fault fault;
  bool ok;

  histo_case_make (&c, layout_kind_any (random), index, &quick_effort, random);
  if (!begin (check, &c, subject, &plan, &first))
    return;
  histo_result_free (first);
  fault_clear (&fault);
  ok = flight_new (&flight, &c, subject, plan, random, &fault);
  for (int i = 0; i < 2 * IN_FLIGHT && ok; i++)
    ok = histo_plan_run (plan,
        &flight.on_device[(i / IN_FLIGHT + i) % IN_FLIGHT].image,
        flight.result[i % IN_FLIGHT], subject->device->stream,
        i % 3 == 0 ? GPU_AFTER_KERNELS : GPU_BESIDE_KERNELS, &fault);
  if (ok && subject->device->gpu != NULL)
    ok = gpu_stream_synchronize (subject->device->stream, &fault);
  EXPECT (check, ok, "%s (%s)", fault.message, fault.detail);
  histo_plan_free (plan); /* results outlive the plan */
  for (int i = 0; i < IN_FLIGHT && ok; i++)
    histo_expect_counts (check, &c.spec, &flight.src[(i + 1) % IN_FLIGHT].image,
        flight.result[i]);
  flight_free (&flight);
}

static void
run_subject (Check *check, const Subject *subject, int n, CheckCase function)
{
  Device device;
  Subject running = *subject;

  if (!device_enter_histo (check, subject->method, &device))
    return;
  running.device = &device;
  check_cases (check, n, function, &running);
  device_leave (&device);
  check_skip_unsupported (check, subject->method->name);
}

static void
check_layout (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 10 : 60, layout_case);
}

static void
check_large (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 4 : 12, large_case);
}

static void
check_contents (Check *check, const void *data)
{
  run_subject (check, data, 6 * N_CONTENTS, contents_case);
}

static void
check_bins (Check *check, const void *data)
{
  run_subject (check, data, 2 * N_HISTO_BINS, bins_case);
}

static void
check_smaller (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 8 : 60, smaller_case);
}

static void
check_in_flight (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 8 : 60, flight_case);
}

void
check_histo_add (void)
{
  static const struct
  {
    const char *name;
    CheckFunction function;
  } rows[] = { { "large", check_large }, { "contents", check_contents },
    { "bins", check_bins }, { "smaller", check_smaller },
    { "in-flight", check_in_flight } };
  const int n_rows = (int) (sizeof rows / sizeof rows[0]);
  static Subject *subjects; /* for the table, until the process ends */
  Subject *subject;

  subjects = kerncheck_alloc (sizeof *subjects
      * (size_t) (histo_n_methods () * (layout_n_kinds () + 1)));
  subject = subjects;
  for (int i = 0; i < histo_n_methods (); i++) {
    const HistoMethod *method = histo_method (i);

    for (int k = 0; k < layout_n_kinds (); k++, subject++) {
      subject->method = method;
      subject->kind = layout_kind (k);
      kerncheck_add (check_layout, subject, NULL, "histo/%s/%s", method->name,
          subject->kind->name);
    }
    subject->method = method;
    for (int k = 0; k < n_rows; k++)
      kerncheck_add (rows[k].function, subject, NULL, "histo/%s/%s",
          method->name, rows[k].name);
    subject++;
  }
}
