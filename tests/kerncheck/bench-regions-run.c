/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-regions-run.h"

#include "bench-arguments.h"
#include "bench-case.h"
#include "bench-content.h"
#include "bench-device.h"
#include "bench-floors.h"
#include "bench-frames.h"
#include "bench-output.h"
#include "regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REGIONS 200
#define DEFAULT_REGIONS 50
#define DEFAULT_SIDE 64 /* pixels */
#define DEFAULT_TAPS 25
#define STRENGTH 0.25 /* of the blur that scales with the regions */

typedef struct
{
  BenchGrid grid;
  BenchOn on;
  bool quick;
  int count, side;       /* regions, and their pixels a side */
  const char *json_path; /* or NULL */
} Options;

typedef struct
{
  Options options;
  Device device;
  Backend backend;
  BenchFacts facts;
  BenchFrames frames;
  BenchJson *json;
  bool warm;
  Fault fault;
  /* The current case. */
  BenchCase *c;
  Region region[MOST_REGIONS];
  TapsSettings taps;
  RegionsSpec spec;
  double whole_us, copy_us;
} Bench;

typedef struct
{
  const Bench *bench;
  SepconvPlan *whole;
  RegionsPlan *regions;
  int n;
} RegionsRun;

static bool
launch_whole (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const RegionsRun *run = user;

  (void) turn;
  return sepconv_plan_run (run->whole, &run->bench->frames.src[pair],
      &run->bench->frames.dst[pair], stream, GPU_AFTER_KERNELS, fault);
}

static bool
launch_regions (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const RegionsRun *run = user;

  (void) turn;
  return regions_plan_run (run->regions, run->bench->region, run->n,
      &run->bench->frames.src[pair], &run->bench->frames.dst[pair], 1, stream,
      GPU_AFTER_KERNELS, fault);
}

static bool
launch_in_place (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const RegionsRun *run = user;

  (void) turn;
  return regions_plan_run_in_place (run->regions, run->bench->region, run->n,
      &run->bench->frames.src[pair], 1, stream, GPU_AFTER_KERNELS, fault);
}

static void
report (const Bench *bench, const char *what, const BenchTime *time)
{
  const BenchSize at = bench->c->size;
  const double us = time->us.median;
  BenchJson *json = bench->json;
  char size[32];

  snprintf (size, sizeof size, "%dx%d", at.width, at.height);
  printf ("%-6s %-9s %-17s %10.2f %6.1f%% %9.3f %9.3f\n",
      bench->c->format->name, size, what, us, bench_percent_apart (&time->us),
      us / bench->whole_us, (us - bench->copy_us) / bench->whole_us);
  fflush (stdout);
  bench_json_object (json, NULL);
  bench_json_string (json, "format", bench->c->format->name);
  bench_json_number (json, "width", at.width);
  bench_json_number (json, "height", at.height);
  bench_json_number (json, "regions", bench->options.count);
  bench_json_number (json, "side", bench->options.side);
  bench_json_number (json, "taps", bench->options.grid.taps[0]);
  bench_json_string (json, "what", what);
  bench_json_time (json, time);
  bench_json_end (json);
}

/* Without graphs: a graph could not hold the upload of the regions. */
static bool
time_run (Bench *bench, BenchLaunch launch, RegionsRun *run, BenchTime *time)
{
  return bench_time_without_graphs (&bench->device,
      &(BenchWork){ launch, run, bench->frames.n_pairs, 1 }, time,
      &bench->fault);
}

static bool
measure_whole (Bench *bench)
{
  RegionsRun run = { .bench = bench };
  BenchTime time;
  bool ok;

  run.whole = sepconv_plan_new (&bench->c->spec, &bench->c->layout,
      bench->backend, NULL, bench->device.gpu, &bench->fault);
  ok = run.whole != NULL && time_run (bench, launch_whole, &run, &time);
  if (ok) {
    bench->whole_us = time.us.median;
    report (bench, "whole", &time);
  }
  sepconv_plan_free (run.whole);
  return ok;
}

/* The same in place, without a copy of the picture. */
static bool
measure_in_place (Bench *bench, const char *what, RegionsRun *run)
{
  char name[32];
  BenchTime time;

  snprintf (name, sizeof name, "%s, in place", what);
  if (!time_run (bench, launch_in_place, run, &time))
    return false;
  report (bench, name, &time);
  return true;
}

/* A run without regions: only the copy. */
static bool
measure_regions (
    Bench *bench, const char *what, RegionsFill fill, double strength, int n)
{
  RegionsRun run = { .bench = bench, .n = n };
  BenchTime time;
  bool ok;

  bench->spec.fill = fill;
  bench->spec.strength = strength;
  run.regions = regions_plan_new (&bench->spec, &bench->c->layout,
      bench->backend, NULL, bench->device.gpu, &bench->fault);
  ok = run.regions != NULL && time_run (bench, launch_regions, &run, &time);
  if (ok && n == 0)
    bench->copy_us = time.us.median;
  if (ok)
    report (bench, what, &time);
  if (ok && n > 0)
    ok = measure_in_place (bench, what, &run);
  regions_plan_free (run.regions);
  return ok;
}

/* Regions in a grid of at most ten columns, which overlap only in small pictures; `mixed`: each has
 * another size, from 5/8 of the side on. */
static void
place_regions (Bench *bench, bool mixed)
{
  const BenchSize size = bench->c->size;
  const int n = bench->options.count, usual = bench->options.side;
  const int across = size.width / usual > 10 ? 10 : size.width / usual + 1;
  const int down = (n + across - 1) / across;

  for (int i = 0; i < n; i++) {
    const int x = i % across * (size.width / across);
    const int y = i / across * (size.height / down);
    const int side = mixed ? usual * 5 / 8 + usual * i * 50 / n / 64 : usual;

    bench->region[i] = (Region){ x, y, x + side, y + side };
  }
}

static void
make_spec (Bench *bench)
{
  const BenchCase *c = bench->c;

  bench->taps = (TapsSettings){ .sigma_x = bench->options.grid.taps[0] / 6.0,
    .sigma_y = -1.0,
    .radius_x = -1,
    .radius_y = -1 };
  bench->spec = (RegionsSpec){ .filter = &c->spec, .taps = &bench->taps };
  for (int p = 0; p < c->layout.n_planes; p++) {
    bench->spec.subsampling_x[p] =
        (c->size.width + c->layout.plane[p].width - 1)
        / c->layout.plane[p].width;
    bench->spec.subsampling_y[p] =
        (c->size.height + image_plane_height (&c->layout, p) - 1)
        / image_plane_height (&c->layout, p);
  }
}

static bool
paint (const Image *picture, void *user, Fault *fault)
{
  (void) user;
  (void) fault;
  bench_content_paint (picture, BENCH_NOISE);
  return true;
}

static bool
measure_frames (Bench *bench)
{
  const size_t rotation = bench_device_rotation (&bench->device, &bench->facts);
  const int n = bench->options.count;
  bool ok;

  place_regions (bench, false);
  make_spec (bench);
  ok = bench_frames_new (&bench->frames, &bench->device, &bench->c->layout,
           rotation, &bench->fault)
      && bench_frames_paint (
          &bench->frames, &bench->device, paint, NULL, &bench->fault)
      && bench_warm_up (
          &bench->device, &bench->frames, &bench->warm, &bench->fault)
      && measure_whole (bench)
      && measure_regions (bench, "copy", REGIONS_SOLID, 0.0, 0)
      && measure_regions (bench, "filter", REGIONS_FILTER, 0.0, n)
      && measure_regions (bench, "strong", REGIONS_FILTER, STRENGTH, n)
      && measure_regions (bench, "pixelate", REGIONS_PIXELATE, 0.0, n)
      && measure_regions (bench, "solid", REGIONS_SOLID, 0.0, n);
  place_regions (bench, true);
  ok = ok && measure_regions (bench, "mixed", REGIONS_FILTER, STRENGTH, n);
  bench_frames_clear (&bench->frames);
  return ok;
}

static bool
measure (Bench *bench)
{
  const BenchGrid *grid = &bench->options.grid;
  bool ok = true;

  if (!bench_device_open (
          &bench->device, bench->options.on, &bench->facts, &bench->fault))
    return false;
  bench->backend = bench->device.gpu == NULL ? BACKEND_CPU : BACKEND_CUDA;
  bench_output_begin (bench->json, "kerncheck --bench --regions",
      &bench->device, &bench->facts);
  bench_json_end (bench->json);
  bench_json_array (bench->json, "rows");
  printf ("%d regions of %dx%d pixels, %d taps; times by that of the whole "
          "picture's filter, and less that of the copy\n",
      bench->options.count, bench->options.side, bench->options.side,
      bench->options.grid.taps[0]);
  printf ("%-6s %-9s %-17s %10s %7s %9s %9s\n", "format", "size", "what", "us",
      "spread", "by whole", "no copy");
  for (int f = 0; f < grid->n_formats && ok; f++)
    for (int s = 0; s < grid->n_sizes && ok; s++) {
      bench->c = bench_case_new (grid->format[f], grid->size[s],
          bench_kernel (0), bench->options.grid.taps[0], &bench->fault);
      bench->whole_us = bench->copy_us = 0.0;
      ok = bench->c != NULL && measure_frames (bench);
      free (bench->c);
    }
  bench_json_end (bench->json);
  bench_json_end (bench->json);
  return ok;
}

static void
usage (void)
{
  fprintf (stderr,
      "usage: kerncheck --bench --regions [--quick] [--json FILE]\n"
      "                 [--backend auto|cuda|cpu] [--format NAME]...\n"
      "                 [--size WIDTHxHEIGHT]... [--taps N] [--count N] [--side PIXELS]\n"
      "  Times regions that are filtered, also with strength %g, pixelated or covered\n"
      "  with a color, in a copy and in place, beside the filter and the copy of the\n"
      "  whole picture. Mixed ones have strength %g and different sides. Without options,\n"
      "  %d regions of %dx%d pixels are filtered with %d taps; at most %d are possible.\n",
      STRENGTH, STRENGTH, DEFAULT_REGIONS, DEFAULT_SIDE, DEFAULT_SIDE,
      DEFAULT_TAPS, MOST_REGIONS);
}

/* Takes an integer from 1 to `most`. */
static bool
take_number (const char *text, int most, int *number)
{
  char *end;
  const long value = strtol (text, &end, 10);

  if (end == text || *end != '\0' || value < 1 || value > most)
    return false;
  *number = (int) value;
  return true;
}

static bool
take_value (void *user, const char *name, const char *value)
{
  Options *options = user;

  if (strcmp (name, "--json") == 0) {
    options->json_path = value;
    return true;
  }
  if (strcmp (name, "--format") == 0)
    return bench_grid_add_format (&options->grid, value);
  if (strcmp (name, "--size") == 0)
    return bench_grid_add_size (&options->grid, value);
  if (strcmp (name, "--backend") == 0)
    return bench_on_parse (&options->on, value);
  if (strcmp (name, "--taps") == 0)
    return options->grid.n_taps == 0
        && bench_grid_add_taps (&options->grid, value);
  if (strcmp (name, "--count") == 0)
    return take_number (value, MOST_REGIONS, &options->count);
  if (strcmp (name, "--side") == 0)
    return take_number (value, REGIONS_MAX_EDGE, &options->side);
  return false;
}

static bool
parse (Options *options, int argc, char **argv)
{
  const BenchFlag flags[] = {
    { "--bench", NULL },
    { "--regions", NULL },
    { "--quick", &options->quick },
    { NULL, NULL },
  };

  if (bench_arguments_take (argc, argv, flags, take_value, options))
    return true;
  usage ();
  return false;
}

/* Fills in the defaults. */
static void
complete (Options *options)
{
  BenchGrid *grid = &options->grid;

  if (options->count == 0)
    options->count = DEFAULT_REGIONS;
  if (options->side == 0)
    options->side = DEFAULT_SIDE;
  if (grid->n_taps == 0)
    grid->taps[grid->n_taps++] = DEFAULT_TAPS;
  if (grid->n_formats == 0) {
    bench_grid_add_format (grid, "NV12");
    if (!options->quick)
      bench_grid_add_format (grid, "RGBA");
  }
  if (grid->n_sizes == 0)
    bench_grid_add_size (grid, options->quick ? "1920x1080" : "3840x2160");
}

int
bench_regions_run (int argc, char **argv)
{
  Bench bench = { .json = NULL };
  bool ok;

  if (!parse (&bench.options, argc, argv))
    return 2;
  complete (&bench.options);
  if (!bench_begin_json (bench.options.json_path, &bench.json))
    return 1;
  ok = measure (&bench);
  device_shut (&bench.device);
  return bench_end (
      ok ? NULL : &bench.fault, bench.json, bench.options.json_path);
}
