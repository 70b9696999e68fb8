/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Independent runs that may overlap: each must wait for its source, which a copy or
 * another stream writes, and work queued after a short run must wait for the long runs
 * before it. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "sepconv/method.h"

#include <string.h>

/* The way in which each run's source is filled; indexed by run. */
enum
{
  BY_NOTHING,   /* it is filled already */
  BY_COPY,      /* a copy before the run, on its stream */
  BY_EVENT,     /* a copy on another stream; the run's stream waits */
  AT_ONCE,      /* filled already; queued directly after the run before */
  OF_A_FEW_ROWS /* filled already; ends long before the others */
};
#define N_RUNS 5
#define FEW_ROWS 3

static const Effort normal_effort = { 1283, 719, 25e6 };
static const Effort quick_effort = { 150, 90, 3e5 };

/* Layouts of the blurs that a method with turns filters in addition, in pictures that are large
 * enough to take turns: there kernels leave room for those of other turns. */
static const struct
{
  const char *kind;
  bool keeps; /* one channel */
} in_turns[] = {
  { "gray8", false },
  { "two8", false },
  { "nv12", false },
  { "ayuv", false },
  { "ayuv", true },
  { "gray16", false },
};
#define N_IN_TURNS ((int) (sizeof in_turns / sizeof *in_turns))

typedef struct
{
  SepconvPlan *plan;
  Picture src[N_RUNS], dst[N_RUNS];
  DevicePicture from[N_RUNS], to[N_RUNS];
  GpuStream up;
  GpuEvent came;
} Series;

static void
cut (Image *image)
{
  for (int m = 0; m < image->n_memories; m++)
    if (image->memory[m].height > FEW_ROWS)
      image->memory[m].height = FEW_ROWS;
}

static bool
begin (Series *series, const Case *c, const MethodSubject *subject,
    Random *random, Fault *fault)
{
  const Device *device = subject->device;
  bool ok = true;

  memset (series, 0, sizeof *series);
  for (int i = 0; i < N_RUNS; i++) {
    picture_new (&series->src[i], &c->layout, false, random);
    picture_new (&series->dst[i], &c->layout, false, random);
  }
  cut (&series->src[OF_A_FEW_ROWS].image);
  cut (&series->dst[OF_A_FEW_ROWS].image);
  /* Until it is filled, a source holds another picture. */
  for (int i = 0; i < N_RUNS && ok; i++) {
    picture_paint (&series->src[i], CONTENT_NOISE, random);
    ok = device_picture_new (&series->from[i], device, &series->src[i], fault)
        && device_picture_new (&series->to[i], device, &series->dst[i], fault);
  }
  for (int i = BY_COPY; i <= BY_EVENT && ok; i++) {
    picture_paint (&series->src[i], CONTENT_NOISE, random);
    ok = device_pin_picture (device, &series->src[i], fault);
  }
  if (!ok)
    return false;
  series->plan = sepconv_plan_new (&c->spec, &c->layout,
      subject->method->backend, subject->method, device->gpu, fault);
  return series->plan != NULL
      && sepconv_plan_reserve_turns (
          series->plan, sepconv_plan_turns (series->plan), fault)
      && gpu_stream_new (&series->up, fault)
      && gpu_event_new_untimed (&series->came, fault);
}

static void
end (Series *series)
{
  for (int i = 0; i < N_RUNS; i++) {
    device_picture_clear (&series->to[i]);
    device_picture_clear (&series->from[i]);
    picture_clear (&series->dst[i]);
    picture_clear (&series->src[i]);
  }
  sepconv_plan_free (series->plan);
  gpu_event_free (series->came);
  gpu_stream_free (series->up);
}

static bool
bring (const Series *series, int i, GpuStream stream, Fault *fault)
{
  const size_t bytes = series->src[i].bytes;

  return gpu_copy_rows (series->from[i].block, (ptrdiff_t) bytes,
      series->src[i].block, (ptrdiff_t) bytes, bytes, 1, GPU_COPY_UP, stream,
      fault);
}

static bool
queue (const Series *series, int i, GpuStream stream, Fault *fault)
{
  if (i == BY_COPY && !bring (series, i, stream, fault))
    return false;
  if (i == BY_EVENT
      && !(bring (series, i, series->up, fault)
          && gpu_event_record (series->came, series->up, fault)
          && gpu_stream_wait_event (stream, series->came, fault)))
    return false;
  return sepconv_plan_run (series->plan, &series->from[i].image,
      &series->to[i].image, stream, GPU_BESIDE_KERNELS, fault);
}

/* Fetches the result of the last long run first, which has had the least time. */
static bool
queue_all_and_fetch (Series *series, const Device *device, Fault *fault)
{
  for (int i = 0; i < N_RUNS; i++)
    if (!queue (series, i, device->stream, fault))
      return false;
  for (int i = 0; i < N_RUNS; i++) {
    const int of = (AT_ONCE + N_RUNS - i) % N_RUNS;

    if (!device_picture_fetch (&series->to[of], device, series->dst[of].block,
            series->dst[of].bytes, fault))
      return false;
  }
  return true;
}

/* Makes blur number `number` for a method with turns. */
static bool
make_blur_in_turns (
    Case *c, const SepconvMethod *method, int number, Random *random)
{
  const LayoutKind *kind = layout_kind_by_name (in_turns[number].kind);
  const SepconvBorder border =
      random_chance (random, 70) ? SEPCONV_REPLICATE : SEPCONV_CONSTANT;

  for (int i = 0; i < 30; i++) {
    case_set_layout (c, kind, 16 * random_int (random, 20, 30),
        random_int (random, 240, 300));
    case_make_spec (c, border, &normal_effort, random);
    /* Planes without taps stay as they are. */
    for (int p = 0; p < c->layout.n_planes; p++)
      if (c->spec.plane[p].channels != 0)
        c->spec.plane[p].channels = (1u << c->layout.plane[p].channels) - 1;
    if (in_turns[number].keeps)
      c->spec.plane[0].channels &= ~(1u << random_int (random, 0, 3));
    case_make_blurs (c, random);
    c->spec.scale = 1.0;
    c->spec.bias = 0.0;
    if (sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      return true;
  }
  return false;
}

/* The number of the random cases of a method; later ones are blurs in turns. */
static int
random_cases (const Check *check)
{
  return (check->quick ? 1 : 4) * N_BORDERS;
}

static bool
make_case (Case *c, const MethodSubject *subject, const Check *check, int index,
    Random *random)
{
  const int first = random_cases (check);

  return index < first
      ? case_make_tall (c, subject->method, (SepconvBorder) (index % N_BORDERS),
          check->quick ? &quick_effort : &normal_effort, random)
      : make_blur_in_turns (c, subject->method, index - first, random);
}

static void
beside_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  Case *c = case_new ();
  Series series;
  Fault fault;

  if (!make_case (c, subject, check, index, random)) {
    check->unsupported++;
    case_free (c);
    return;
  }
  case_describe (check, c);
  fault_clear (&fault);
  /* Few blocks: runs take long, but all fit on the GPU at once. */
  gpu_limit_multiprocessors (subject->device->gpu, 1);
  if (EXPECT (check,
          begin (&series, c, subject, random, &fault)
              && queue_all_and_fetch (&series, subject->device, &fault),
          "%s (%s)", fault.message, fault.detail))
    for (int i = 0; i < N_RUNS; i++)
      device_expect_as_alone (check, subject->device, series.plan, &c->layout,
          &series.src[i], &series.dst[i], i, "beside others", random);
  end (&series);
  gpu_limit_multiprocessors (subject->device->gpu, 0);
  case_free (c);
}

static void
check_beside (Check *check, const void *data)
{
  const SepconvMethod *method = data;
  /* Methods that are not in this build have no ops. */
  const bool has_turns = method->ops != NULL && method->ops->turns != NULL;

  device_check_method (check, method,
      random_cases (check) + (has_turns ? N_IN_TURNS : 0), beside_case);
}

void
check_beside_add (void)
{
  device_add_for_methods (check_beside, "beside", true);
}
