/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Measures ways of upload, filter and download, compared with the bus rates of the same
 * run.
 *
 *   bench-transfer [--quick] [--size MB] [--json FILE]
 *
 * For each frame size: the bus, a table of schemes, and the latency of a lone frame.
 * --size takes only the frame size nearest to MB megabytes. Exit status 77: no GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench-header.h"
#include "bench-json.h"
#include "bench-measure.h"
#include "transfer-latency.h"
#include "transfer-link.h"
#include "transfer-schemes.h"

#define NO_GPU 77

static const FrameKind kinds[] = {
  { "360p NV12", 640, 360, false },
  { "720p NV12", 1280, 720, false },
  { "1080p NV12", 1920, 1080, false },
  { "1080p RGBA", 1920, 1080, true },
  { "4K NV12", 3840, 2160, false },
  { "4K RGBA", 3840, 2160, true },
  { "8K NV12", 7680, 4320, false },
  { "8K RGBA", 7680, 4320, true },
};
enum
{
  N_KINDS = sizeof kinds / sizeof kinds[0]
};

/* The kinds that --quick measures. */
static const bool quick_kinds[N_KINDS] = { [2] = true, [4] = true, [5] = true };

/* Seconds of measurement for each row of a table, after its warm-up. */
#define ROW_SECONDS 0.2
#define QUICK_ROW_SECONDS 0.05

/* Frames of the warm-up; fewest and most frames of a stream. */
#define WARM_FRAMES 18
#define MIN_FRAMES 36
#define MAX_FRAMES 6000
/* Frames left out at either end, where a stream fills and drains. */
#define TRIM 8

typedef struct
{
  bool quick;
  double size_mb; /* 0: all */
  const char *json_path;
} Options;

typedef struct
{
  Options options;
  Gpu *gpu;
  BenchJson *json;
  Rig *rig;
  Link link;
  double bound_ns; /* least time of a frame, by the duplex rates of the bus */
  double *stamps;  /* [MAX_FRAMES] */
  Fault fault;
} Bench;

static double
row_seconds (const Bench *bench)
{
  return bench->options.quick ? QUICK_ROW_SECONDS : ROW_SECONDS;
}

static bool
json_header (Bench *bench)
{
  const char *name = gpu_name (bench->gpu), *date;
  int runtime, driver;

  if (!gpu_versions (&runtime, &driver, &bench->fault))
    return false;
  bench_json_object (bench->json, NULL);
  date = bench_json_program (bench->json, "bench-transfer");
  bench_json_gpu (bench->json, name, runtime, driver);
  printf ("%s, CUDA runtime %d, driver's CUDA %d, %s\n", name, runtime, driver,
      date);
  bench_json_array (bench->json, "sizes");
  return true;
}

static bool
report_link (Bench *bench)
{
  const Rig *rig = bench->rig;
  const double bytes = (double) rig->bytes;
  const Link *link = &bench->link;

  if (!link_measure (
          bench->rig, 3 * row_seconds (bench), &bench->link, &bench->fault))
    return false;
  bench->bound_ns =
      fmax (bytes / link->duplex_up.median, bytes / link->duplex_down.median);
  printf ("\n%s, %.1f MB\n", rig->kind->name, bytes / 1e6);
  printf ("  GB/s         up    down   up+down at once   pitched up"
          "   pageable up   down\n");
  printf ("           %6.1f  %6.1f    %6.1f + %5.1f      %6.1f        %6.1f"
          " %6.1f\n",
      link->up.median, link->down.median, link->duplex_up.median,
      link->duplex_down.median, link->pitched_up.median,
      link->pageable_up.median, link->pageable_down.median);

  /* On one line: bench-pipeline reads it. */
  bench_json_string (bench->json, "frame", rig->kind->name);
  bench_json_object (bench->json, "link");
  bench_json_number (bench->json, "bytes", bytes);
  bench_json_number (bench->json, "duplex_up", link->duplex_up.median);
  bench_json_number (bench->json, "duplex_down", link->duplex_down.median);
  bench_json_spread (bench->json, "duplex_up_spread", &link->duplex_up, 1.0);
  bench_json_spread (
      bench->json, "duplex_down_spread", &link->duplex_down, 1.0);
  bench_json_spread (bench->json, "up", &link->up, 1.0);
  bench_json_spread (bench->json, "down", &link->down, 1.0);
  bench_json_spread (bench->json, "pitched_up", &link->pitched_up, 1.0);
  bench_json_spread (bench->json, "pageable_up", &link->pageable_up, 1.0);
  bench_json_spread (bench->json, "pageable_down", &link->pageable_down, 1.0);
  bench_json_end (bench->json);
  return true;
}

/* Rounds to whole groups for all group sizes of the schemes. */
static int
whole_groups (double frames)
{
  const int n = (int) fmin (fmax (frames, MIN_FRAMES), MAX_FRAMES);

  return n / 12 * 12;
}

/* Measures time and CPU time per frame of a scheme. */
static bool
measure_scheme (
    Bench *bench, const Scheme *scheme, BenchSpread *interval, double *cpu_ns)
{
  BenchUsage before, after;
  double each;
  int n;

  if (!scheme->run (
          bench->rig, scheme, WARM_FRAMES, bench->stamps, &bench->fault))
    return false;
  each = (bench->stamps[WARM_FRAMES - 1] - bench->stamps[5])
      / (WARM_FRAMES - 1 - 5);
  n = whole_groups (row_seconds (bench) * 1e9 / fmax (each, 1.0));
  before = bench_usage ();
  if (!scheme->run (bench->rig, scheme, n, bench->stamps, &bench->fault))
    return false;
  after = bench_usage ();
  *interval = bench_interval (bench->stamps, n, TRIM);
  *cpu_ns = (after.cpu_ns - before.cpu_ns) / n;
  return true;
}

static bool
report_scheme (Bench *bench, const Scheme *scheme, double *median_ns)
{
  const double bytes = (double) bench->rig->bytes;
  BenchSpread interval;
  double cpu_ns;

  if (!measure_scheme (bench, scheme, &interval, &cpu_ns))
    return false;
  *median_ns = interval.median;
  printf ("  %-25s %8.4f  (%8.4f .. %8.4f)  %6.1f  %6.3f  %7.1f\n",
      scheme->name, interval.median / 1e6, interval.min / 1e6,
      interval.max / 1e6, bytes / interval.median,
      bench->bound_ns / interval.median, cpu_ns / 1e3);
  fflush (stdout);
  bench_json_object (bench->json, NULL);
  bench_json_string (bench->json, "scheme", scheme->name);
  bench_json_spread (bench->json, "ms", &interval, 1e6);
  bench_json_number (bench->json, "gbps", bytes / interval.median);
  bench_json_number (
      bench->json, "of_duplex", bench->bound_ns / interval.median);
  bench_json_number (bench->json, "cpu_us", cpu_ns / 1e3);
  bench_json_end (bench->json);
  return true;
}

/* Measures all schemes, and stores the times of pinned and mapped for comparison. */
static bool
report_schemes (Bench *bench, double *pinned_ns, double *mapped_ns)
{
  bool ok = true;

  printf ("  %-25s %8s  %22s  %6s  %6s  %7s\n", "scheme", "ms", "(min .. max)",
      "GB/s", "of link", "CPU us");
  bench_json_array (bench->json, "schemes");
  for (int i = 0; i < scheme_count () && ok; i++) {
    const Scheme *scheme = scheme_at (i);
    double median_ns = 0.0;

    ok = report_scheme (bench, scheme, &median_ns);
    if (strcmp (scheme->name, "ring-4") == 0)
      *pinned_ns = median_ns;
    if (strcmp (scheme->name, "ring-4-mapped") == 0)
      *mapped_ns = median_ns;
  }
  bench_json_end (bench->json);
  return ok;
}

static bool
report_series (Bench *bench, LatencySeries *series)
{
  if (!latency_measure_series (
          bench->rig, row_seconds (bench), series, &bench->fault))
    return false;
  printf ("  a lone frame, us: up %.1f, kernel %.1f, down %.1f;"
          " in series %.1f (spin), %.1f (sleeping)\n",
      series->up.median / 1e3, series->kernel.median / 1e3,
      series->down.median / 1e3, series->series.median / 1e3,
      series->series_sleeping.median / 1e3);
  bench_json_object (bench->json, "lone");
  bench_json_number (bench->json, "bytes", (double) bench->rig->bytes);
  bench_json_number (bench->json, "series_us", series->series.median / 1e3);
  bench_json_number (
      bench->json, "series_sleeping_us", series->series_sleeping.median / 1e3);
  bench_json_spread (bench->json, "up_us", &series->up, 1e3);
  bench_json_spread (bench->json, "kernel_us", &series->kernel, 1e3);
  bench_json_spread (bench->json, "down_us", &series->down, 1e3);
  bench_json_end (bench->json);
  return true;
}

/* Measures a lone frame through the ring: whole, in slices, and mapped. */
static bool
report_latency (Bench *bench, double *pinned_ns, double *mapped_ns)
{
  static const Scheme lone[] = {
    { .name = "1 slice", .slices = 1, .transfer = RING_PINNED },
    { .name = "2 slices", .slices = 2, .transfer = RING_PINNED },
    { .name = "4 slices", .slices = 4, .transfer = RING_PINNED },
    { .name = "8 slices", .slices = 8, .transfer = RING_PINNED },
    { .name = "16 slices", .slices = 16, .transfer = RING_PINNED },
    { .name = "mapped", .slices = 1, .transfer = RING_MAPPED },
    { .name = "foreign",
        .slices = 1,
        .transfer = RING_PINNED,
        .pageable = true },
  };
  LatencySeries series;

  if (!report_series (bench, &series))
    return false;
  *pinned_ns = HUGE_VAL;
  bench_json_array (bench->json, "lone_ring");
  for (size_t i = 0; i < sizeof lone / sizeof lone[0]; i++) {
    BenchSpread latency;

    if (!latency_measure_ring (bench->rig, &lone[i], row_seconds (bench) / 2,
            &latency, &bench->fault))
      return false;
    printf ("  lone, ring, %-12s %9.1f us  (%.1f .. %.1f)  %.3f of series\n",
        lone[i].name, latency.median / 1e3, latency.min / 1e3,
        latency.max / 1e3, latency.median / series.series.median);
    bench_json_object (bench->json, NULL);
    bench_json_string (bench->json, "variant", lone[i].name);
    bench_json_spread (bench->json, "us", &latency, 1e3);
    bench_json_number (
        bench->json, "of_series", latency.median / series.series.median);
    bench_json_end (bench->json);
    if (lone[i].transfer == RING_MAPPED)
      *mapped_ns = latency.median;
    else if (!lone[i].pageable)
      *pinned_ns = fmin (*pinned_ns, latency.median);
  }
  bench_json_end (bench->json);
  return true;
}

static bool
report_kind (Bench *bench, const FrameKind *kind)
{
  double pinned = 0.0, mapped = 0.0, lone_pinned = 0.0, lone_mapped = 0.0;
  bool ok;

  bench->rig = rig_new (bench->gpu, kind, &bench->fault);
  if (bench->rig == NULL)
    return false;
  bench_json_object (bench->json, NULL);
  ok = report_link (bench) && report_schemes (bench, &pinned, &mapped)
      && report_latency (bench, &lone_pinned, &lone_mapped);
  if (ok) {
    const char *stream = mapped < pinned ? "mapped" : "pinned";
    const char *alone = lone_mapped < lone_pinned ? "mapped" : "pinned";

    printf ("  recommendation at %.1f MB: %s in a stream (pinned %.4f ms,"
            " mapped %.4f ms), %s alone (%.1f us, %.1f us)\n",
        (double) bench->rig->bytes / 1e6, stream, pinned / 1e6, mapped / 1e6,
        alone, lone_pinned / 1e3, lone_mapped / 1e3);
    bench_json_string (bench->json, "fastest_stream", stream);
    bench_json_string (bench->json, "fastest_alone", alone);
    bench_json_end (bench->json);
  }
  rig_free (bench->rig);
  bench->rig = NULL;
  return ok;
}

/* Index of the kind whose frame size is nearest to that size. */
static int
nearest_kind (double mb)
{
  int best = 0;

  for (int i = 1; i < N_KINDS; i++) {
    const double here = (double) frame_kind_bytes (&kinds[i]) / 1e6 - mb;
    const double there = (double) frame_kind_bytes (&kinds[best]) / 1e6 - mb;

    if (fabs (here) < fabs (there))
      best = i;
  }
  return best;
}

static bool
report (Bench *bench)
{
  const Options *options = &bench->options;

  if (!json_header (bench))
    return false;
  for (int i = 0; i < N_KINDS; i++) {
    const bool wanted = options->size_mb > 0.0
        ? i == nearest_kind (options->size_mb)
        : !options->quick || quick_kinds[i];

    if (wanted && !report_kind (bench, &kinds[i]))
      return false;
  }
  bench_json_end (bench->json);
  bench_json_end (bench->json);
  return true;
}

static bool
parse (int argc, char **argv, Options *options)
{
  for (int i = 1; i < argc; i++) {
    const bool more = i + 1 < argc;

    if (strcmp (argv[i], "--quick") == 0)
      options->quick = true;
    else if (strcmp (argv[i], "--size") == 0 && more)
      options->size_mb = atof (argv[++i]);
    else if (strcmp (argv[i], "--json") == 0 && more)
      options->json_path = argv[++i];
    else
      return false;
  }
  return true;
}

/* Runs with the GPU open; returns the exit status. */
static int
run (Bench *bench)
{
  bool failed, ok;

  bench->stamps = malloc (MAX_FRAMES * sizeof *bench->stamps);
  bench->json = bench_json_open (bench->options.json_path, &failed);
  if (bench->stamps == NULL || failed) {
    fprintf (stderr, "bench-transfer: %s cannot be written\n",
        failed ? bench->options.json_path : "memory");
    free (bench->stamps);
    return 1;
  }
  ok = gpu_push (bench->gpu, &bench->fault);
  if (ok) {
    ok = report (bench);
    gpu_pop (bench->gpu);
  }
  if (!ok)
    fprintf (stderr, "bench-transfer: %s (%s)\n", bench->fault.message,
        bench->fault.detail);
  free (bench->stamps);
  if (ok && !bench_json_close (bench->json)) {
    fprintf (stderr, "bench-transfer: %s could not be written\n",
        bench->options.json_path);
    return 1;
  }
  return ok ? 0 : 1;
}

int
main (int argc, char **argv)
{
  Bench bench = { .gpu = NULL };
  int status;

  if (!parse (argc, argv, &bench.options)) {
    fprintf (
        stderr, "usage: bench-transfer [--quick] [--size MB] [--json FILE]\n");
    return 2;
  }
  bench.gpu = gpu_open (-1, &bench.fault);
  if (bench.gpu == NULL) {
    printf ("no GPU: %s\n", bench.fault.message);
    return bench.fault.kind == FAULT_NOT_FOUND ? NO_GPU : 1;
  }
  status = run (&bench);
  gpu_close (bench.gpu);
  return status;
}
