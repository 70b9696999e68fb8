/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-run.h"

#include "bench-histo-run.h"
#include "bench-modes-run.h"
#include "bench-options.h"
#include "bench-output.h"
#include "bench-regions-run.h"
#include "bench-report.h"
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  BenchOptions options;
  Device device;
  Backend backend;
  BenchFacts facts;
  BenchNpp *npp; /* or NULL */
  BenchFrames frames;
  BenchSustainedFloors sustained_floors; /* of the current frames */
  BenchReport report;
  bool warm;
  BenchRow *rows; /* [sepconv_n_methods ()] of the current case */
  Fault fault;
} Bench;

typedef struct
{
  SepconvPlan *plan;
  const BenchFrames *frames;
  GpuOrder order;
  /* For runs that count; all share one result, as nobody reads it. */
  HistoPlan *histo;
  HistoResult *counted;
} PlanRun;

static bool
launch_plan (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const PlanRun *run = user;

  return sepconv_plan_run_in_turn (run->plan, &run->frames->src[pair],
      &run->frames->dst[pair], turn, stream, run->order, fault);
}

static bool
launch_counting (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const PlanRun *run = user;

  (void) turn;
  return sepconv_plan_run_counting (run->plan, &run->frames->src[pair],
      &run->frames->dst[pair], run->histo, run->counted, stream, run->order,
      fault);
}

/* Measures a sustained figure, if one was asked for. */
static bool
sustain (Bench *bench, const BenchWork *work, double *us)
{
  return bench->options.sustained_s == 0.0
      || bench_time_sustained (
          &bench->device, work, bench->options.sustained_s, us, &bench->fault);
}

/* Times runs with a histogram on the way, of the first three channels of a plane, if
 * the plan supports it. Without graphs: each launch tells the next where to count. */
static bool
measure_counting (Bench *bench, const BenchCase *c, PlanRun *run, BenchRow *row)
{
  const BenchWork work = {
    .launch = launch_counting, .user = run, .n_pairs = bench->frames.n_pairs
  };
  HistoSpec spec = { .bins = 256 };
  BenchTime time;
  bool ok;

  if (bench->device.gpu == NULL)
    return true;
  for (int p = 0; p < c->layout.n_planes; p++)
    spec.channels[p] = 7u & ((1u << c->layout.plane[p].channels) - 1);
  run->histo = histo_plan_new (&spec, &c->layout, bench->backend, NULL,
      bench->device.gpu, &bench->fault);
  ok = run->histo != NULL;
  if (ok && sepconv_plan_counts (run->plan, run->histo)) {
    run->counted = histo_result_new (run->histo, &bench->fault);
    ok = run->counted != NULL
        && bench_time_without_graphs (
            &bench->device, &work, &time, &bench->fault);
    if (ok)
      row->counting_us = time.us.median;
    ok = ok && sustain (bench, &work, &row->sustained.counting_us);
  }
  histo_result_free (run->counted);
  histo_plan_free (run->histo);
  return ok;
}

/* Whether one pair of frames fits the L2 as a whole; other data of a method can still
 * evict parts of it. */
static bool
fits_l2 (const Bench *bench, const BenchCase *c)
{
  return c->bytes <= (double) bench->facts.l2_bytes;
}

/* One of the two functions of bench-timer.h. */
typedef bool (*BenchTimer) (
    const Device *device, const BenchWork *work, BenchTime *time, Fault *fault);

static bool
measure_plan (Bench *bench, const BenchCase *c, const SepconvMethod *method,
    BenchTimer time, BenchRow *row)
{
  PlanRun run = { .frames = &bench->frames, .order = GPU_BESIDE_KERNELS };
  BenchWork work = {
    .launch = launch_plan, .user = &run, .n_pairs = bench->frames.n_pairs
  };
  BenchTime again;
  bool overlaps, ok;

  *row = (BenchRow){ .method = method,
    .in_order_us = NAN,
    .counting_us = NAN,
    .l2_us = NAN,
    .sustained = { NAN, NAN, NAN } };
  run.plan = sepconv_plan_new (&c->spec, &c->layout, bench->backend, method,
      bench->device.gpu, &bench->fault);
  if (run.plan == NULL)
    return false;
  work.turns = sepconv_plan_turns (run.plan);
  overlaps =
      work.turns > 1 || sepconv_method_overlaps (method, bench->device.gpu);
  ok = time (&bench->device, &work, &row->time, &bench->fault)
      && sustain (bench, &work, &row->sustained.overlapped_us)
      && measure_counting (bench, c, &run, row);
  run.order = GPU_AFTER_KERNELS;
  work.turns = 1;
  if (ok && overlaps) {
    ok = time (&bench->device, &work, &again, &bench->fault)
        && sustain (bench, &work, &row->sustained.back_to_back_us);
    row->in_order_us = again.us.median;
  }
  if (ok && fits_l2 (bench, c)) {
    work.n_pairs = 1;
    ok = time (&bench->device, &work, &again, &bench->fault);
    row->l2_us = again.us.median;
  }
  sepconv_plan_free (run.plan);
  return ok;
}

static bool
measure_method (Bench *bench, const BenchCase *c, const SepconvMethod *method,
    BenchRow *row)
{
  return measure_plan (bench, c, method, bench_time, row)
      || (row->time.no_graph
          && measure_plan (bench, c, method, bench_time_without_graphs, row));
}

/* Whether a method is measured for a case. */
static bool
takes_part (const Bench *bench, const BenchCase *c, const SepconvMethod *method)
{
  Fault why;

  if (method->backend != bench->backend
      || !bench_options_want (&bench->options, method))
    return false;
  if (sepconv_method_supports (
          method, &c->spec, &c->layout, bench->device.gpu, &why))
    return true;
  if (bench->options.verbose)
    printf ("  %s: %s\n", method->name, why.message);
  return false;
}

/* Stores the row of the method that `auto` takes, or NULL if --method left it out. */
static bool
find_choice (Bench *bench, const BenchCase *c, int n_rows, GpuOrder order,
    const BenchRow **row)
{
  const SepconvMethod *choice = sepconv_choose_method (&c->spec, &c->layout,
      bench->backend, NULL, bench->device.gpu, order, &bench->fault);

  *row = NULL;
  for (int i = 0; i < n_rows; i++)
    if (bench->rows[i].method == choice)
      *row = &bench->rows[i];
  return choice != NULL;
}

static bool
report_choice (Bench *bench, const BenchBeside *beside, int n_rows,
    const BenchBest *fastest)
{
  const BenchCase *c = beside->of;
  BenchBest chosen;

  if (!find_choice (bench, c, n_rows, GPU_AFTER_KERNELS, &chosen.in_order)
      || !find_choice (bench, c, n_rows, GPU_BESIDE_KERNELS, &chosen.in_series))
    return false;
  if (chosen.in_order != NULL && chosen.in_series != NULL)
    bench_report_auto (&bench->report, beside, &chosen, fastest);
  return true;
}

static bool
measure_methods (Bench *bench, const BenchBeside *beside)
{
  BenchBest fastest = { NULL, NULL };
  int n = 0;

  for (int i = 0; i < sepconv_n_methods (); i++) {
    BenchRow *row = &bench->rows[n];

    if (!takes_part (bench, beside->of, sepconv_method (i)))
      continue;
    if (!measure_method (bench, beside->of, sepconv_method (i), row))
      return false;
    bench_report_row (&bench->report, beside, row);
    bench_best_take (&fastest, row);
    n++;
  }
  return n == 0 || report_choice (bench, beside, n, &fastest);
}

static bool
measure_case (Bench *bench, const BenchCase *c)
{
  BenchBeside beside = {
    .of = c, .arithmetic_us = NAN, .sustained_floors = bench->sustained_floors
  };

  if (bench->facts.fma_per_us > 0.0)
    beside.arithmetic_us = c->products / bench->facts.fma_per_us;
  if (!bench_floors_measure (
          &bench->device, &bench->frames, &beside.floors, &bench->fault)
      || !bench_npp_measure (bench->npp, &bench->device, &bench->frames, c,
          &beside.peer, &bench->fault))
    return false;
  bench_report_case (&bench->report, &beside);
  return measure_methods (bench, &beside);
}

/* Measures all numbers of taps for frames of one kind. */
static bool
measure_frames (Bench *bench, const BenchFormat *format, BenchSize size)
{
  const BenchGrid *grid = &bench->options.grid;
  const size_t rotation = bench_device_rotation (&bench->device, &bench->facts);
  Image layout;
  bool ok;

  bench_case_layout (format, size, &layout);
  if (!bench_frames_new (
          &bench->frames, &bench->device, &layout, rotation, &bench->fault))
    return false;
  ok = bench_warm_up (
      &bench->device, &bench->frames, &bench->warm, &bench->fault);
  bench->sustained_floors = (BenchSustainedFloors){ NAN, NAN };
  if (ok && bench->options.sustained_s > 0.0)
    ok = bench_floors_sustain (&bench->device, &bench->frames,
        bench->options.sustained_s, &bench->sustained_floors, &bench->fault);
  for (int i = 0; i < grid->n_taps && ok; i++) {
    BenchCase *c = bench_case_new (
        format, size, bench->options.kernel, grid->taps[i], &bench->fault);

    if (c != NULL)
      c->spec.border = bench->options.border;
    ok = c != NULL && measure_case (bench, c);
    free (c);
  }
  bench_frames_clear (&bench->frames);
  return ok;
}

static bool
measure_grid (Bench *bench)
{
  BenchGrid *grid = &bench->options.grid;

  bench_grid_complete (grid, bench->backend, bench->options.quick);
  for (int f = 0; f < grid->n_formats; f++)
    for (int s = 0; s < grid->n_sizes; s++)
      if (!measure_frames (bench, grid->format[f], grid->size[s]))
        return false;
  if (bench->report.rows == 0)
    return fault_set (&bench->fault, FAULT_UNSUPPORTED,
        "No method that was asked for can do any of this.");
  return true;
}

static bool
measure (Bench *bench)
{
  Fault why;
  bool ok;

  if (!bench_device_open (
          &bench->device, bench->options.on, &bench->facts, &bench->fault))
    return false;
  bench->backend = bench->device.gpu == NULL ? BACKEND_CPU : BACKEND_CUDA;
  if (bench->device.gpu != NULL) {
    bench->npp = bench_npp_open (&bench->device, &why);
    if (bench->npp == NULL && why.kind != FAULT_NOT_FOUND) {
      bench->fault = why;
      return false;
    }
    if (bench->npp == NULL)
      bench->report.no_peer = why.message;
  }
  bench_report_begin (&bench->report, &bench->device, &bench->facts,
      bench->npp == NULL ? NULL : bench_npp_version (bench->npp));
  ok = measure_grid (bench);
  bench_report_end (&bench->report, ok ? NULL : &bench->fault);
  bench_npp_close (bench->npp);
  return ok;
}

int
bench_run (int argc, char **argv)
{
  Bench bench = { .npp = NULL };
  const char *path;
  bool ok;

  for (int i = 1; i < argc; i++) {
    if (strcmp (argv[i], "--histo") == 0)
      return bench_histo_run (argc, argv);
    if (strcmp (argv[i], "--modes") == 0)
      return bench_modes_run (argc, argv);
    if (strcmp (argv[i], "--regions") == 0)
      return bench_regions_run (argc, argv);
  }
  if (!bench_options_parse (&bench.options, argc, argv))
    return 2;
  path = bench.options.json_path;
  bench.report.verbose = bench.options.verbose;
  bench.report.kernel = bench.options.kernel->name;
  bench.report.border = border_name (bench.options.border);
  if (!bench_begin_json (path, &bench.report.json))
    return 1;
  bench.rows =
      kerncheck_alloc ((size_t) sepconv_n_methods () * sizeof *bench.rows);
  ok = measure (&bench);
  device_shut (&bench.device);
  free (bench.rows);
  return bench_end (ok ? NULL : &bench.fault, bench.report.json, path);
}
