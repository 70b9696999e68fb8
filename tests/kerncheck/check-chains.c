/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Dependent runs queued without waiting: a kernel that starts before the run that it
 * depends on has ended must wait for that run. */
#include "kerncheck.h"

#include "cases.h"
#include "histo-cases.h"
#include "kerncheck-device.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#define N_RUNS 7
/* Each run reads the result of the run before, and overwrites that run's source. */
#define N_PICTURES 2

static const Effort normal_effort = { 1283, 719, 25e6 };
static const Effort quick_effort = { 150, 90, 3e5 };

typedef struct
{
  SepconvPlan *plan;
  HistoPlan *histo;
  HistoSpec counted;
  HistoResult *result[N_RUNS];
  Picture picture[N_PICTURES];
  DevicePicture on_device[N_PICTURES];
} Chain;

static bool
begin (Chain *chain, const Case *c, const MethodSubject *subject,
    Random *random, Fault *fault)
{
  const Backend backend = subject->method->backend;
  Gpu *gpu = subject->device->gpu;

  memset (chain, 0, sizeof *chain);
  chain->counted.bins = 256;
  for (int p = 0; p < c->layout.n_planes; p++)
    chain->counted.channels[p] = (1u << c->layout.plane[p].channels) - 1;
  for (int i = 0; i < N_PICTURES; i++)
    picture_new (&chain->picture[i], &c->layout, gpu == NULL, random);
  picture_paint (&chain->picture[0], CONTENT_NOISE, random);
  chain->plan = sepconv_plan_new (
      &c->spec, &c->layout, backend, subject->method, gpu, fault);
  chain->histo =
      histo_plan_new (&chain->counted, &c->layout, backend, NULL, gpu, fault);
  if (chain->plan == NULL || chain->histo == NULL)
    return false;
  for (int i = 0; i < N_RUNS; i++) {
    chain->result[i] = histo_result_new (chain->histo, fault);
    if (chain->result[i] == NULL)
      return false;
  }
  for (int i = 0; i < N_PICTURES; i++)
    if (!device_picture_new (
            &chain->on_device[i], subject->device, &chain->picture[i], fault))
      return false;
  return true;
}

static void
end (Chain *chain)
{
  for (int i = 0; i < N_PICTURES; i++) {
    device_picture_clear (&chain->on_device[i]);
    picture_clear (&chain->picture[i]);
  }
  for (int i = 0; i < N_RUNS; i++)
    histo_result_free (chain->result[i]);
  histo_plan_free (chain->histo);
  sepconv_plan_free (chain->plan);
}

/* Queues all runs; `counts`: each with a histogram. */
static bool
run_all (Chain *chain, const MethodSubject *subject, bool counts, Fault *fault)
{
  const GpuStream stream = subject->device->stream;

  for (int i = 0; i < N_RUNS; i++) {
    const Image *from = &chain->on_device[i % N_PICTURES].image;
    const Image *to = &chain->on_device[(i + 1) % N_PICTURES].image;

    if (!sepconv_plan_run (
            chain->plan, from, to, stream, GPU_AFTER_KERNELS, fault)
        || (counts
            && !histo_plan_run (chain->histo, to, chain->result[i], stream,
                GPU_AFTER_KERNELS, fault)))
      return false;
  }
  return true;
}

/* Computes the same step by step, from the first picture's original. */
static void
expect_chain (Check *check, const MethodSubject *subject, Chain *chain,
    Picture *const step[N_PICTURES], bool counts)
{
  const Picture *last = &chain->picture[N_RUNS % N_PICTURES];
  Verdict verdict;

  for (int i = 0; i < N_RUNS; i++) {
    if (!device_run_cleanly (check, subject->device, device_sepconv,
            chain->plan, step[i % N_PICTURES], step[(i + 1) % N_PICTURES]))
      return;
    if (counts)
      histo_expect_counts (check, &chain->counted,
          &step[(i + 1) % N_PICTURES]->image, chain->result[i]);
  }
  verdict_same (&verdict, &last->image, &step[N_RUNS % N_PICTURES]->image);
  EXPECT (check, verdict.ok, "queued without a wait, the result is another: %s",
      verdict.text);
}

static void
chain_case (Check *check, Random *random, int index, const void *data)
{
  const MethodSubject *subject = data;
  const bool counts = index % 2 == 1;
  Case *c = case_new ();
  Picture step[N_PICTURES];
  Picture *const steps[N_PICTURES] = { &step[0], &step[1] };
  Chain chain;
  Fault fault;

  if (!case_make_tall (c, subject->method,
          (SepconvBorder) (index / 2 % N_BORDERS),
          check->quick ? &quick_effort : &normal_effort, random)) {
    check->unsupported++;
    case_free (c);
    return;
  }
  case_describe (check, c);
  fault_clear (&fault);
  for (int i = 0; i < N_PICTURES; i++)
    picture_new (&step[i], &c->layout, subject->device->gpu == NULL, random);
  if (EXPECT (check, begin (&chain, c, subject, random, &fault),
          "no plans, results or pictures: %s", fault.message)) {
    image_copy (&step[0].image, &chain.picture[0].image);
    if (EXPECT (check,
            run_all (&chain, subject, counts, &fault)
                && device_picture_fetch (&chain.on_device[N_RUNS % N_PICTURES],
                    subject->device, chain.picture[N_RUNS % N_PICTURES].block,
                    chain.picture[N_RUNS % N_PICTURES].bytes, &fault),
            "a run failed: %s (%s)", fault.message, fault.detail))
      expect_chain (check, subject, &chain, steps, counts);
  }
  end (&chain);
  for (int i = 0; i < N_PICTURES; i++)
    picture_clear (&step[i]);
  case_free (c);
}

static void
check_chains (Check *check, const void *data)
{
  device_check_method (
      check, data, (check->quick ? 2 : 6) * N_BORDERS, chain_case);
}

void
check_chains_add (void)
{
  device_add_for_methods (check_chains, "chains", false);
}
