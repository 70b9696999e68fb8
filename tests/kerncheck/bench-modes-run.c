/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-modes-run.h"

#include "bench-arguments.h"
#include "bench-case.h"
#include "bench-content.h"
#include "bench-device.h"
#include "bench-floors.h"
#include "bench-frames.h"
#include "bench-output.h"
#include "equalize.h"
#include "light.h"
#include "overlay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINS 256
/* Default number of taps of the filters: a gaussian of sigma 2. */
#define DEFAULT_TAPS 13
/* Size of the overlay as the element's default. */
#define OVERLAY_SIZE 0.35
#define OVERLAY_MARGIN 0.03
#define OVERLAY_OPACITY 0.75

#define COUNT(array) ((int) (sizeof (array) / sizeof (array)[0]))

/* --quick takes the first ones. */
static const char *const formats[] = { "GRAY8", "I420", "RGBA", "GRAY16" };
static const char *const sizes[] = { "1920x1080", "3840x2160" };
static const BenchContent contents[] = { BENCH_NOISE, BENCH_NATURAL };

typedef struct
{
  BenchGrid grid; /* its taps are the filters' */
  int n_contents;
  BenchContent content[BENCH_N_CONTENTS];
  BenchOn on;
  bool quick;
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
  const BenchFormat *format;
  BenchSize size;
  BenchContent content;
  Image layout;
} Bench;

typedef struct
{
  const BenchFrames *frames;
  EqualizePlan *equalize;
  SepconvPlan *filter;
  LightPlan *light;
  OverlayPlan *overlay;
  HistoResult *counts;
} ModeRun;

static bool
launch_equalize (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const ModeRun *run = user;

  (void) turn;
  return equalize_plan_run (run->equalize, &run->frames->src[pair],
      &run->frames->dst[pair], stream, fault);
}

static bool
launch_filter (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const ModeRun *run = user;

  return sepconv_plan_run_in_turn (run->filter, &run->frames->src[pair],
      &run->frames->dst[pair], turn, stream, GPU_BESIDE_KERNELS, fault);
}

static bool
launch_light (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const ModeRun *run = user;

  (void) turn;
  return light_plan_run (run->light, &run->frames->src[pair],
      &run->frames->dst[pair], stream, GPU_BESIDE_KERNELS, fault);
}

static bool
launch_overlay (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const ModeRun *run = user;

  (void) turn;
  return overlay_plan_run (run->overlay, run->counts, &run->frames->src[pair],
      &run->frames->dst[pair], stream, fault);
}

static void
report (const Bench *bench, const char *mode, int taps, const BenchTime *time)
{
  BenchJson *json = bench->json;
  char size[32];

  snprintf (size, sizeof size, "%dx%d", bench->size.width, bench->size.height);
  printf ("%-6s %-9s %-8s %-11s %4d %10.2f %6.1f%%\n", bench->format->name,
      size, bench_content_name (bench->content), mode, taps, time->us.median,
      bench_percent_apart (&time->us));
  fflush (stdout);
  bench_json_object (json, NULL);
  bench_json_string (json, "format", bench->format->name);
  bench_json_number (json, "width", bench->size.width);
  bench_json_number (json, "height", bench->size.height);
  bench_json_string (json, "content", bench_content_name (bench->content));
  bench_json_string (json, "mode", mode);
  bench_json_number (json, "taps", taps);
  bench_json_time (json, time);
  bench_json_end (json);
}

static bool
time_mode (
    Bench *bench, const char *mode, int taps, BenchLaunch launch, ModeRun *run)
{
  const BenchWork work = { .launch = launch,
    .user = run,
    .n_pairs = bench->frames.n_pairs,
    .turns = run->filter != NULL ? sepconv_plan_turns (run->filter) : 1 };
  BenchTime time;

  if (!bench_time (&bench->device, &work, &time, &bench->fault))
    return false;
  report (bench, mode, taps, &time);
  return true;
}

/* The first channel is luma; of four interleaved channels the first three are red, green,
 * blue. */
static bool
measure_equalize (Bench *bench, const char *mode, EqualizeKind kind)
{
  const bool color = bench->layout.plane[0].channels >= 3;
  EqualizeSpec spec = { .kind = kind,
    .white = image_full_code (&bench->layout.plane[0]),
    .kr = 0.2126,
    .kb = 0.0722,
    .strength = 1.0,
    .tiles_x = 8,
    .tiles_y = 8,
    .clip_limit = 2.0 };
  ModeRun run = { .frames = &bench->frames };
  bool ok;

  for (int c = 0; c < (color ? 3 : 1); c++)
    spec.role[0][c] = color ? (EqualizeRole) (EQUALIZE_RED + c) : EQUALIZE_LUMA;
  run.equalize = equalize_plan_new (
      &spec, &bench->layout, bench->backend, bench->device.gpu, &bench->fault);
  ok =
      run.equalize != NULL && time_mode (bench, mode, 0, launch_equalize, &run);
  equalize_plan_free (run.equalize);
  return ok;
}

/* Roles of the channels: grey; red, green, blue and alpha; or Y, Cb and Cr. */
static void
make_light_spec (const Bench *bench, const BenchCase *filter, LightSpec *spec)
{
  const Image *layout = &bench->layout;
  const int full = image_full_code (&layout->plane[0]);

  memset (spec, 0, sizeof *spec);
  spec->role[0][0] = LIGHT_Y;
  for (int p = 0; p < layout->n_planes; p++) {
    spec->subsampling_x[p] = bench->size.width / layout->plane[p].width;
    spec->subsampling_y[p] =
        bench->size.height / image_plane_height (layout, p);
    for (int c = 0; c < layout->plane[p].channels; c++)
      if (layout->n_planes > 1)
        spec->role[p][c] = (LightRole) (LIGHT_Y + p + c);
      else if (layout->plane[0].channels >= 3)
        spec->role[p][c] = c == 3 ? LIGHT_ALPHA : (LightRole) (LIGHT_RED + c);
  }
  spec->range = spec->chroma_range = full;
  spec->neutral = (full + 1) / 2;
  spec->kr = 0.2126;
  spec->kb = 0.0722;
  spec->filter = &filter->spec;
}

/* The plain filter, in linear light, and with premultiplied alpha. The transfer function is a
 * square, which is close to BT.709's. */
static bool
measure_light (Bench *bench, int taps)
{
  static uint16_t decode[4096];
  BenchCase *filter = bench_case_new (
      bench->format, bench->size, bench_kernel (0), taps, &bench->fault);
  ModeRun run = { .frames = &bench->frames };
  LightSpec spec;
  bool ok;

  if (filter == NULL)
    return false;
  for (int i = 0; i < 4096; i++)
    decode[i] = (uint16_t) (65535.0 * pow (i / 4095.0, 2.0) + 0.5);
  make_light_spec (bench, filter, &spec);
  run.filter = sepconv_plan_new (&filter->spec, &bench->layout, bench->backend,
      NULL, bench->device.gpu, &bench->fault);
  ok = run.filter != NULL
      && time_mode (bench, "filter", taps, launch_filter, &run);
  sepconv_plan_free (run.filter);
  run.filter = NULL;
  for (int mode = 0; mode < 2 && ok; mode++) {
    spec.decode = mode == 0 ? decode : NULL;
    spec.decode_bits = 12;
    spec.premultiply = mode == 1;
    if (mode == 1 && bench->layout.plane[0].channels < 4)
      break;
    run.light = light_plan_new (&spec, &bench->layout, bench->backend, NULL,
        bench->device.gpu, &bench->fault);
    ok = run.light != NULL
        && time_mode (bench, mode == 0 ? "linear" : "premultiply", taps,
            launch_light, &run);
    light_plan_free (run.light);
  }
  free (filter);
  return ok;
}

/* Every channel is a component with its own colour, and is drawn on. */
static void
make_overlay_spec (const Bench *bench, OverlaySpec *spec, HistoSpec *counted)
{
  const Image *layout = &bench->layout;

  *counted = (HistoSpec){ .bins = BINS };
  memset (spec, 0, sizeof *spec);
  spec->bins = BINS;
  spec->frame_width = bench->size.width;
  spec->frame_height = bench->size.height;
  spec->arrangement = OVERLAY_OVERLAID;
  spec->background_opacity = spec->bar_opacity = OVERLAY_OPACITY;
  spec->line_opacity = OVERLAY_OPACITY;
  spec->grid_opacity = OVERLAY_OPACITY / 4;
  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];

    counted->channels[p] = spec->channels[p] = (1u << plane->channels) - 1;
    spec->subsampling_x[p] = spec->frame_width / plane->width;
    spec->subsampling_y[p] =
        spec->frame_height / image_plane_height (layout, p);
    for (int c = 0; c < plane->channels; c++) {
      const int k = spec->n_components++;

      spec->component[k] =
          (OverlayComponent){ .plane = p, .channel = c, .dark = -1.0 };
      spec->component[k].bright = image_full_code (plane) + 1.0;
      spec->component[k].color.codes[p][c] = image_full_code (plane);
      spec->line.codes[p][c] = image_full_code (plane);
    }
  }
  overlay_place (spec, layout, OVERLAY_BOTTOM_RIGHT, OVERLAY_SIZE, OVERLAY_SIZE,
      OVERLAY_MARGIN);
}

/* The drawn counters are those of the frames. */
static bool
measure_overlay (Bench *bench)
{
  ModeRun run = { .frames = &bench->frames };
  HistoPlan *histo;
  HistoSpec counted;
  OverlaySpec spec;
  bool ok;

  make_overlay_spec (bench, &spec, &counted);
  histo = histo_plan_new (&counted, &bench->layout, bench->backend, NULL,
      bench->device.gpu, &bench->fault);
  run.counts = histo == NULL ? NULL : histo_result_new (histo, &bench->fault);
  ok = run.counts != NULL
      && histo_plan_run (histo, &bench->frames.src[0], run.counts,
          bench->device.stream, GPU_AFTER_KERNELS, &bench->fault);
  if (ok && bench->device.gpu != NULL)
    ok = gpu_stream_synchronize (bench->device.stream, &bench->fault);
  /* The plan's threads would disturb the measurement. */
  histo_plan_free (histo);
  if (ok)
    run.overlay = overlay_plan_new (&spec, &bench->layout, bench->backend,
        bench->device.gpu, &bench->fault);
  ok = run.overlay != NULL
      && time_mode (bench, "overlay", 0, launch_overlay, &run);
  overlay_plan_free (run.overlay);
  histo_result_free (run.counts);
  return ok;
}

static bool
paint (const Image *picture, void *user, Fault *fault)
{
  (void) fault;
  bench_content_paint (picture, *(const BenchContent *) user);
  return true;
}

/* Measures all contents and modes of frames of one kind. */
static bool
measure_frames (Bench *bench)
{
  const size_t rotation = bench_device_rotation (&bench->device, &bench->facts);
  bool ok;

  bench_case_layout (bench->format, bench->size, &bench->layout);
  ok = bench_frames_new (
      &bench->frames, &bench->device, &bench->layout, rotation, &bench->fault);
  for (int i = 0; i < bench->options.n_contents && ok; i++) {
    bench->content = bench->options.content[i];
    ok = bench_frames_paint (&bench->frames, &bench->device, paint,
             &bench->content, &bench->fault)
        && bench_warm_up (
            &bench->device, &bench->frames, &bench->warm, &bench->fault)
        && measure_equalize (bench, "equalize", EQUALIZE_GLOBAL)
        && measure_equalize (bench, "clahe", EQUALIZE_CLAHE)
        && measure_overlay (bench);
    for (int t = 0; t < bench->options.grid.n_taps && ok; t++)
      ok = measure_light (bench, bench->options.grid.taps[t]);
  }
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
  bench_output_begin (
      bench->json, "kerncheck --bench --modes", &bench->device, &bench->facts);
  bench_json_end (bench->json);
  bench_json_array (bench->json, "rows");
  printf ("%s%-6s %-9s %-8s %-11s %4s %10s %7s\n",
      bench->device.gpu == NULL ? "" : "\n", "format", "size", "content",
      "mode", "taps", "us", "spread");
  for (int f = 0; f < grid->n_formats && ok; f++)
    for (int s = 0; s < grid->n_sizes && ok; s++) {
      bench->format = grid->format[f];
      bench->size = grid->size[s];
      ok = measure_frames (bench);
    }
  bench_json_end (bench->json);
  bench_json_end (bench->json);
  return ok;
}

static void
usage (void)
{
  fprintf (stderr,
      "usage: kerncheck --bench --modes [--quick] [--json FILE]\n"
      "                 [--backend auto|cuda|cpu] [--format NAME]...\n"
      "                 [--size WIDTHxHEIGHT]... [--content NAME]... [--taps N]...\n"
      "  Times the equaliser, by one table and by 8x8 tiles, the overlay, and a gaussian,\n"
      "  of 13 taps by default: plain, in linear light, and with colour weighted by alpha;\n"
      "  each from one frame to another in the memory of its backend. Filters may overlap\n"
      "  those of other frames. Options that name what to measure may be repeated.\n"
      "  --format NAME ");
  for (int i = 0; i < bench_n_formats (); i++)
    fprintf (stderr, " %s", bench_format (i)->name);
  fprintf (stderr, "\n  --content NAME");
  for (int i = 0; i < BENCH_N_CONTENTS; i++)
    fprintf (stderr, " %s", bench_content_name ((BenchContent) i));
  fprintf (stderr,
      "\n"
      "  --quick          a small grid\n"
      "  --json FILE      the results for other programs to read\n");
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
  if (strcmp (name, "--taps") == 0)
    return bench_grid_add_taps (&options->grid, value);
  if (strcmp (name, "--content") == 0)
    return options->n_contents < BENCH_N_CONTENTS
        && bench_content_by_name (
            value, &options->content[options->n_contents++]);
  if (strcmp (name, "--backend") == 0)
    return bench_on_parse (&options->on, value);
  return false;
}

static bool
parse (Options *options, int argc, char **argv)
{
  const BenchFlag flags[] = {
    { "--bench", NULL },
    { "--modes", NULL },
    { "--quick", &options->quick },
    { NULL, NULL },
  };

  if (bench_arguments_take (argc, argv, flags, take_value, options))
    return true;
  usage ();
  return false;
}

/* Fills each list that is empty with the defaults. */
static void
complete (Options *options)
{
  BenchGrid *grid = &options->grid;

  if (grid->n_formats == 0)
    for (int i = 0; i < (options->quick ? 2 : COUNT (formats)); i++)
      bench_grid_add_format (grid, formats[i]);
  if (grid->n_sizes == 0)
    for (int i = 0; i < (options->quick ? 1 : COUNT (sizes)); i++)
      bench_grid_add_size (grid, sizes[i]);
  if (grid->n_taps == 0)
    grid->taps[grid->n_taps++] = DEFAULT_TAPS;
  if (options->n_contents == 0) {
    options->n_contents = COUNT (contents);
    memcpy (options->content, contents, sizeof contents);
  }
}

int
bench_modes_run (int argc, char **argv)
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
