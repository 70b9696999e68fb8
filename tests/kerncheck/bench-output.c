/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-output.h"

#include "bench-header.h"
#include "isa.h"

#include <math.h>
#include <stdio.h>

bool
bench_begin_json (const char *path, BenchJson **json)
{
  bool failed;

  *json = bench_json_open (path, &failed);
  if (failed)
    fprintf (stderr, "kerncheck: %s cannot be written\n", path);
  return !failed;
}

static void
begin_gpu (BenchJson *json, const Gpu *gpu, const BenchFacts *facts)
{
  printf ("%s: %d multiprocessors, %.0f MHz, L2 %.0f MiB; CUDA runtime %d, "
          "driver's CUDA %d",
      gpu_name (gpu), gpu_multiprocessors (gpu), facts->clock_khz / 1e3,
      (double) facts->l2_bytes / 0x1p20, facts->runtime, facts->driver);
  bench_json_gpu (json, gpu_name (gpu), facts->runtime, facts->driver);
  bench_json_number (json, "l2_kib", (double) facts->l2_bytes / 0x1p10);
  bench_json_number (json, "multiprocessors", gpu_multiprocessors (gpu));
  bench_json_number (json, "clock_mhz", facts->clock_khz / 1e3);
}

void
bench_output_begin (BenchJson *json, const char *program, const Device *device,
    const BenchFacts *facts)
{
  bench_json_object (json, NULL);
  bench_json_object (json, "header");
  bench_json_program (json, program);
  bench_json_string (json, "backend", device->gpu == NULL ? "cpu" : "cuda");
  if (device->gpu != NULL)
    begin_gpu (json, device->gpu, facts);
  else
    bench_json_string (json, "isa", isa_name (isa_best ()));
}

void
bench_print_or (double value, int width, int decimals, const char *absent)
{
  if (isnan (value))
    printf (" %*s", width, absent);
  else
    printf (" %*.*f", width, decimals, value);
}

double
bench_percent_apart (const BenchSpread *spread)
{
  return 100 * (spread->max - spread->min) / spread->median;
}

void
bench_json_known (BenchJson *json, const char *key, double value)
{
  if (!isnan (value))
    bench_json_number (json, key, value);
}

void
bench_json_time (BenchJson *json, const BenchTime *time)
{
  bench_json_spread (json, "us", &time->us, 1.0);
  bench_json_string (json, "as", bench_way_name (time->way));
  bench_json_number (json, "batch", time->batch);
  bench_json_number (json, "samples", time->samples);
}

void
bench_json_extreme (
    BenchJson *json, const char *key, double ratio, const char *where)
{
  bench_json_object (json, key);
  bench_json_number (json, "ratio", ratio);
  bench_json_string (json, "where", where);
  bench_json_end (json);
}

int
bench_end (const Fault *fault, BenchJson *json, const char *path)
{
  bool ok = fault == NULL;

  if (!ok) {
    fprintf (stderr, "kerncheck: %s %s\n", fault->message, fault->detail);
  } else if (!bench_json_close (json)) {
    fprintf (stderr, "kerncheck: %s could not be written\n", path);
    ok = false;
  }
  printf ("kerncheck: %d passed, %d failed, 0 skipped\n", ok, !ok);
  return ok ? 0 : 1;
}
