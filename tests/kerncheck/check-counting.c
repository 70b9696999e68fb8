/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filters with a histogram of their result: the picture is the same, and the histogram is
 * correct, in series of runs that overlap, with other runs among them; or the plan
 * declines. */
#include "kerncheck.h"

#include "cases.h"
#include "histo-cases.h"
#include "histo/turns.h"

#include <string.h>

/* Enough runs that launches reuse sums of launches before the last one while that one
 * runs. */
#define N_RUNS 7
/* The run that is counted afterwards, not on the way. */
#define COUNTED_AFTER 2

static const Effort normal_effort = { 900, 160, 8e6 };
static const Effort quick_effort = { 300, 60, 4e5 };

typedef struct
{
  int n_runs;     /* at most N_RUNS */
  bool any_noise; /* most pictures are noise, whatever the content */
  SepconvPlan *plan;
  HistoPlan *histo;
  HistoSpec spec;
  HistoResult *result[N_RUNS];
  Picture src[N_RUNS], dst[N_RUNS];
  DevicePicture from[N_RUNS], to[N_RUNS];
} Series;

/* Taps of up to 129 an axis; most of them fit FP16 without a lo part. */
static void
make_case (Case *c, int index, const Effort *effort, Random *random)
{
  static const char *const kinds[] = { "gray8", "two8", "nv12", "rgbx", "ayuv",
    "planar3" };
  const LayoutKind *kind = random_chance (random, 85)
      ? layout_kind_by_name (kinds[random_int (random, 0, 5)])
      : layout_kind_any (random);

  case_any_row (c, kind, effort->max_width,
      random_int (random, 1, effort->max_height), random);
  /* Widths that blocks of threads divide evenly. */
  if (random_chance (random, 50))
    case_set_layout (c, kind, (c->width + 63) / 64 * 64, c->height);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), effort, random);
  if (random_chance (random, 10))
    return;
  c->shape = "blur";
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  for (int p = 0; p < c->layout.n_planes; p++) {
    const int radius = random_chance (random, 50) ? random_int (random, 1, 7)
                                                  : random_int (random, 8, 64);

    if (random_chance (random, 80)) {
      c->spec.plane[p].channels = (1u << c->layout.plane[p].channels) - 1;
      if (p == 0)
        c->spec.plane[p].channels &= ~c->kind->never;
    }
    taps_gaussian (&c->x[p], radius / 3.0, radius);
    taps_gaussian (&c->y[p], radius / 2.0, radius);
    c->spec.plane[p].x = &c->x[p];
    c->spec.plane[p].y = &c->y[p];
  }
}

/* Counted channels: mostly the filtered ones. */
static void
make_histo_spec (const Case *c, HistoSpec *spec, Random *random)
{
  unsigned any = 0;

  memset (spec, 0, sizeof *spec);
  spec->bins = random_chance (random, 50) ? 256
      : random_chance (random, 60)
      ? random_int (random, HISTO_MIN_BINS, 256)
      : histo_some_bins (random_int (random, 0, N_HISTO_BINS - 1));
  for (int p = 0; p < c->layout.n_planes; p++) {
    spec->channels[p] = c->spec.plane[p].channels;
    if (random_chance (random, 20))
      spec->channels[p] &= (unsigned) random_next (random);
    if (random_chance (random, 10))
      spec->channels[p] = (1u << c->layout.plane[p].channels) - 1;
    any |= spec->channels[p];
  }
  if (any == 0)
    spec->channels[0] = 1;
}

static bool
begin (Series *series, const Case *c, const MethodSubject *subject,
    Random *random, Fault *fault)
{
  const Device *device = subject->device;

  series->plan = sepconv_plan_new (&c->spec, &c->layout,
      subject->method->backend, subject->method, device->gpu, fault);
  series->histo = histo_plan_new (&series->spec, &c->layout,
      subject->method->backend, NULL, device->gpu, fault);
  if (series->plan == NULL || series->histo == NULL)
    return false;
  for (int i = 0; i < series->n_runs; i++) {
    if (random_chance (random, 50)) {
      picture_new_packed (&series->src[i], &c->layout, random);
      picture_new_packed (&series->dst[i], &c->layout, random);
    } else {
      picture_new (&series->src[i], &c->layout, false, random);
      picture_new (&series->dst[i], &c->layout, false, random);
    }
    picture_paint (&series->src[i],
        series->any_noise && random_chance (random, 70) ? CONTENT_NOISE
                                                        : c->content,
        random);
    series->result[i] = histo_result_new (series->histo, fault);
    if (series->result[i] == NULL
        || !device_picture_new (
            &series->from[i], device, &series->src[i], fault)
        || !device_picture_new (&series->to[i], device, &series->dst[i], fault))
      return false;
  }
  return true;
}

static void
end (Series *series)
{
  for (int i = 0; i < N_RUNS; i++) {
    device_picture_clear (&series->to[i]);
    device_picture_clear (&series->from[i]);
    picture_clear (&series->dst[i]);
    picture_clear (&series->src[i]);
    histo_result_free (series->result[i]);
  }
  histo_plan_free (series->histo);
  sepconv_plan_free (series->plan);
}

static bool
queue_and_fetch (
    Series *series, const Device *device, GpuOrder order, Fault *fault)
{
  for (int i = 0; i < series->n_runs; i++) {
    const Image *from = &series->from[i].image, *to = &series->to[i].image;

    if (i == COUNTED_AFTER
            ? !sepconv_plan_run (
                  series->plan, from, to, device->stream, order, fault)
                || !histo_plan_run (series->histo, to, series->result[i],
                    device->stream, GPU_AFTER_KERNELS, fault)
            : !sepconv_plan_run_counting (series->plan, from, to, series->histo,
                series->result[i], device->stream, order, fault))
      return false;
  }
  for (int i = 0; i < series->n_runs; i++)
    if (!device_picture_fetch (&series->to[i], device, series->dst[i].block,
            series->dst[i].bytes, fault))
      return false;
  return true;
}

/* A plan that cannot count declines. */
static void
expect_refusal (Check *check, const MethodSubject *subject, Series *series)
{
  Fault fault;

  fault_clear (&fault);
  EXPECT_FAULT (check,
      !sepconv_plan_run_counting (series->plan, &series->from[0].image,
          &series->to[0].image, series->histo, series->result[0],
          subject->device->stream, GPU_AFTER_KERNELS, &fault),
      &fault, FAULT_UNSUPPORTED, "counting by a plan that does not");
}

static void
limit (const Device *device, int multiprocessors)
{
  if (device->gpu != NULL)
    gpu_limit_multiprocessors (device->gpu, multiprocessors);
}

/* Runs the series if the method supports the case. `multiprocessors`: the number that the
 * GPU is limited to; 0: all. */
static void
check_series (Check *check, const MethodSubject *subject, const Case *c,
    Series *series, GpuOrder order, int multiprocessors, Random *random)
{
  Fault fault;

  case_describe (check, c);
  if (!sepconv_method_supports (
          subject->method, &c->spec, &c->layout, NULL, NULL)) {
    check->unsupported++;
    return;
  }
  fault_clear (&fault);
  limit (subject->device, multiprocessors);
  if (!EXPECT (check, begin (series, c, subject, random, &fault), "%s (%s)",
          fault.message, fault.detail)) {
    /* Nothing to run. */
  } else if (!sepconv_plan_counts (series->plan, series->histo)) {
    expect_refusal (check, subject, series);
  } else if (EXPECT (check,
                 queue_and_fetch (series, subject->device, order, &fault),
                 "%s (%s)", fault.message, fault.detail)) {
    for (int i = 0; i < series->n_runs; i++) {
      histo_expect_counts (
          check, &series->spec, &series->dst[i].image, series->result[i]);
      device_expect_as_alone (check, subject->device, series->plan, &c->layout,
          &series->src[i], &series->dst[i], i, "when it is counted", random);
    }
  }
  end (series);
  limit (subject->device, 0);
}

static void
counting_case (Check *check, Random *random, int index, const void *data)
{
  const Effort *effort = check->quick ? &quick_effort : &normal_effort;
  const GpuOrder order =
      random_chance (random, 70) ? GPU_BESIDE_KERNELS : GPU_AFTER_KERNELS;
  Series series = { .n_runs = N_RUNS, .any_noise = true };
  Case *c = case_new ();

  make_case (c, index, effort, random);
  make_histo_spec (c, &series.spec, random);
  check_series (
      check, data, c, &series, order, random_chance (random, 50), random);
  case_free (c);
}

/* A flat picture, so tall that 16-bit counters would overflow if one block counted all of
 * it. */
static void
tall_case (Check *check, Random *random, int index, const void *data)
{
  Series series = { .n_runs = 1, .spec = { .bins = 256, .channels = { 7 } } };
  Case *c = case_new ();

  case_set_layout (
      c, layout_kind_by_name ("ayuv"), 64, random_int (random, 16500, 17000));
  c->shape = "blur";
  c->content = CONTENT_FLAT;
  c->spec.scale = 1.0;
  c->spec.plane[0].channels = 7;
  taps_gaussian (&c->x[0], 1.0, index == 0 ? 3 : 9);
  c->spec.plane[0].x = c->spec.plane[0].y = &c->x[0];
  check_series (check, data, c, &series, GPU_BESIDE_KERNELS, 1, random);
  case_free (c);
}

/* Each launch waits only for the last launch before it on the same set of sums. */
static void
expect_turns (Check *check, uint64_t launch)
{
  const uint32_t turn = turns_turn (launch);

  for (uint64_t k = 1; k <= 1000; k++) {
    const uint64_t before = launch - k;

    if (turns_set (before) != turns_set (launch))
      EXPECT (check, k % TURNS_SETS != 0,
          "launches %llu and %llu have two sets", (unsigned long long) before,
          (unsigned long long) launch);
    else if (k == TURNS_SETS)
      EXPECT (check, !turns_must_wait (turns_turn (before) + 1, turn),
          "launch %llu waits though launch %llu is done",
          (unsigned long long) launch, (unsigned long long) before);
    else
      EXPECT (check,
          k > TURNS_SETS && turns_must_wait (turns_turn (before) + 1, turn),
          "launch %llu does not wait where launch %llu was the last that is "
          "done",
          (unsigned long long) launch, (unsigned long long) before);
  }
}

/* For any number of launches: near multiples of powers of two, where integers of any size
 * wrap, as does their quotient by the number of sets. */
static void
check_turns (Check *check, const void *data)
{
  (void) data;
  check->cases++;
  EXPECT (check,
      turns_turn (TURNS_FIRST_LAUNCH) == TURNS_FIRST
          && turns_set (TURNS_FIRST_LAUNCH) == 0,
      "a plan does not begin with the turn that its sets are ready for");
  EXPECT (check, turns_turn (TURNS_FIRST_LAUNCH + N_RUNS - 2) < TURNS_FIRST,
      "the series that are counted do not pass the wrap");
  for (uint64_t launch = 0; launch < 3 * TURNS_SETS; launch++) {
    expect_turns (check, TURNS_FIRST_LAUNCH + launch + 1000);
    for (int bits = 30; bits < 48; bits++)
      for (uint64_t n = 1; n <= 5; n++)
        expect_turns (check, (n << bits) + launch);
  }
}

static void
check_counting (Check *check, const void *data)
{
  device_check_method (
      check, data, (check->quick ? 4 : 10) * N_BORDERS, counting_case);
  device_check_method (check, data, 2, tall_case);
}

void
check_counting_add (void)
{
  kerncheck_add (check_turns, NULL, NULL, "histo/turns");
  device_add_for_methods (check_counting, "counting", false);
}
