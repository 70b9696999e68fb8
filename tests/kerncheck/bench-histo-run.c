/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-histo-run.h"

#include "bench-case.h"
#include "bench-cub.h"
#include "bench-histo-options.h"
#include "bench-histo-report.h"
#include "bench-output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct
{
  BenchHistoOptions options;
  Device device;
  Backend backend;
  BenchFacts facts;
  BenchHistoNpp *npp; /* or NULL */
  BenchFrames frames;
  BenchHistoReport report;
  bool warm;
  BenchHistoRow *rows; /* [histo_n_methods ()] of the current case */
  Fault fault;
} Bench;

typedef struct
{
  HistoPlan *plan;
  const BenchFrames *frames;
  HistoResult *result; /* shared by all runs, as nobody reads it meanwhile */
  GpuOrder order;
} PlanRun;

static bool
launch_plan (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const PlanRun *run = user;

  (void) turn;
  return histo_plan_run (run->plan, &run->frames->src[pair], run->result,
      stream, run->order, fault);
}

static bool
measure_method (Bench *bench, const BenchHistoCase *c,
    const HistoMethod *method, BenchHistoRow *row)
{
  PlanRun run = { NULL, &bench->frames, NULL, GPU_BESIDE_KERNELS };
  BenchTime in_order;
  bool ok;

  row->method = method;
  row->in_order_us = NAN;
  run.plan = histo_plan_new (&c->spec, &c->layout, bench->backend, method,
      bench->device.gpu, &bench->fault);
  if (run.plan == NULL)
    return false;
  run.result = histo_result_new (run.plan, &bench->fault);
  ok = run.result != NULL
      && bench_time (&bench->device,
          &(BenchWork){ launch_plan, &run, bench->frames.n_pairs, 1 },
          &row->time, &bench->fault)
      && bench_histo_case_check_result (
          c, run.result, method->name, &bench->fault);
  run.order = GPU_AFTER_KERNELS;
  if (ok && histo_method_overlaps (method, bench->device.gpu)) {
    ok = bench_time (&bench->device,
        &(BenchWork){ launch_plan, &run, bench->frames.n_pairs, 1 }, &in_order,
        &bench->fault);
    row->in_order_us = in_order.us.median;
  }
  histo_plan_free (run.plan);
  histo_result_free (run.result);
  return ok;
}

/* Whether a method is measured for a case. */
static bool
takes_part (
    const Bench *bench, const BenchHistoCase *c, const HistoMethod *method)
{
  Fault why;

  if (method->backend != bench->backend
      || !bench_histo_options_want (&bench->options, method))
    return false;
  if (histo_method_supports (
          method, &c->spec, &c->layout, bench->device.gpu, &why))
    return true;
  if (bench->options.verbose)
    printf ("  %s: %s\n", method->name, why.message);
  return false;
}

/* Reports the method that `auto` takes, unless --method left it out. */
static bool
report_choice (Bench *bench, const BenchHistoBeside *beside, int n_rows,
    const BenchHistoRow *fastest)
{
  const BenchHistoCase *c = beside->of;
  const HistoMethod *choice = histo_choose_method (&c->spec, &c->layout,
      bench->backend, NULL, bench->device.gpu, &bench->fault);

  if (choice == NULL)
    return false;
  for (int i = 0; i < n_rows; i++)
    if (bench->rows[i].method == choice)
      bench_histo_report_auto (
          &bench->report, beside, &bench->rows[i], fastest);
  return true;
}

static bool
measure_methods (Bench *bench, const BenchHistoBeside *beside)
{
  const BenchHistoRow *fastest = NULL;
  int n = 0;

  for (int i = 0; i < histo_n_methods (); i++) {
    BenchHistoRow *row = &bench->rows[n];

    if (!takes_part (bench, beside->of, histo_method (i)))
      continue;
    if (!measure_method (bench, beside->of, histo_method (i), row))
      return false;
    bench_histo_report_row (&bench->report, beside, row);
    if (fastest == NULL || row->time.us.median < fastest->time.us.median)
      fastest = row;
    n++;
  }
  return n == 0 || report_choice (bench, beside, n, fastest);
}

static bool
measure_case (Bench *bench, const BenchHistoCase *c)
{
  BenchHistoBeside beside = { .of = c };

  if (!bench_warm_up (
          &bench->device, &bench->frames, &bench->warm, &bench->fault)
      || !bench_floors_read (
          &bench->device, &bench->frames, &beside.read, &bench->fault)
      || !bench_histo_cub_measure (
          &bench->device, &bench->frames, c, &beside.cub, &bench->fault)
      || !bench_histo_npp_measure (bench->npp, &bench->device, &bench->frames,
          c, &beside.npp, &bench->fault))
    return false;
  bench_histo_report_case (&bench->report, &beside);
  return measure_methods (bench, &beside);
}

/* A case, and its histogram by the reference method. */
typedef struct
{
  const BenchHistoCase *of;
  HistoPlan *plan;
  HistoResult *result;
} Painting;

static bool
paint (const Image *picture, void *user, Fault *fault)
{
  const Painting *painting = user;

  bench_content_paint (picture, painting->of->content);
  return histo_plan_run (painting->plan, picture, painting->result, NULL,
      GPU_AFTER_KERNELS, fault);
}

/* Measures one content of the frames. */
static bool
measure_content (Bench *bench, BenchHistoCase *c)
{
  Painting painting = { c, NULL, NULL };
  bool ok;

  painting.plan = histo_plan_new (&c->spec, &c->layout, BACKEND_CPU,
      histo_method_by_name ("reference"), NULL, &bench->fault);
  if (painting.plan == NULL)
    return false;
  painting.result = histo_result_new (painting.plan, &bench->fault);
  ok = painting.result != NULL
      && bench_frames_paint (
          &bench->frames, &bench->device, paint, &painting, &bench->fault);
  /* The plan's threads would disturb the host's methods. */
  histo_plan_free (painting.plan);
  c->expected = painting.result;
  ok = ok && measure_case (bench, c);
  histo_result_free (painting.result);
  return ok;
}

/* Measures all contents of frames of one kind. */
static bool
measure_frames (Bench *bench, const BenchFormat *format, BenchSize size)
{
  const BenchHistoOptions *options = &bench->options;
  const size_t rotation = bench_device_rotation (&bench->device, &bench->facts);
  BenchHistoCase c;
  Image layout;
  bool ok;

  bench_case_layout (format, size, &layout);
  ok = bench_frames_new_sources (
      &bench->frames, &bench->device, &layout, rotation, &bench->fault);
  for (int i = 0; i < options->n_contents && ok; i++) {
    bench_histo_case_make (
        &c, format, size, options->content[i], options->bins);
    ok = measure_content (bench, &c);
  }
  bench_frames_clear (&bench->frames);
  return ok;
}

static bool
measure_grid (Bench *bench)
{
  const BenchGrid *grid = &bench->options.grid;

  bench_histo_options_complete (&bench->options, bench->backend);
  for (int f = 0; f < grid->n_formats; f++)
    for (int s = 0; s < grid->n_sizes; s++)
      if (!measure_frames (bench, grid->format[f], grid->size[s]))
        return false;
  if (bench->report.rows == 0)
    return fault_set (&bench->fault, FAULT_UNSUPPORTED,
        "No method that was asked for can do any of this.");
  return true;
}

/* Opens a peer's library. A missing library is stated in the report, with the text in
 * `why`. */
static bool
open_peers (Bench *bench, Fault *why)
{
  BenchHistoReport *report = &bench->report;

  if (bench->device.gpu == NULL)
    return true;
  report->cub = bench_cub_version ();
  report->no_cub = report->cub == NULL ? "This build has no CUB." : NULL;
  bench->npp = bench_histo_npp_open (&bench->device, why);
  if (bench->npp != NULL) {
    report->npp = bench_histo_npp_version (bench->npp);
    return true;
  }
  report->no_npp = why->message;
  bench->fault = *why;
  return why->kind == FAULT_NOT_FOUND;
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
  if (!open_peers (bench, &why))
    return false;
  bench_histo_report_begin (&bench->report, &bench->device, &bench->facts);
  ok = measure_grid (bench);
  bench_histo_report_end (&bench->report, ok ? NULL : &bench->fault);
  bench_histo_npp_close (bench->npp);
  return ok;
}

int
bench_histo_run (int argc, char **argv)
{
  Bench bench = { .npp = NULL };
  const char *path;
  bool ok;

  if (!bench_histo_options_parse (&bench.options, argc, argv))
    return 2;
  path = bench.options.json_path;
  bench.report.verbose = bench.options.verbose;
  if (!bench_begin_json (path, &bench.report.json))
    return 1;
  bench.report.summary = bench_histo_summary_new ();
  bench.rows =
      kerncheck_alloc ((size_t) histo_n_methods () * sizeof *bench.rows);
  ok = measure (&bench);
  device_shut (&bench.device);
  free (bench.rows);
  bench_histo_summary_free (bench.report.summary);
  return bench_end (ok ? NULL : &bench.fault, bench.report.json, path);
}
