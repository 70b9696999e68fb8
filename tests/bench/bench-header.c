/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-header.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

const char *
bench_json_program (BenchJson *json, const char *program)
{
  const time_t now = time (NULL);
  static char date[32];

  strftime (date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime (&now));
  bench_json_string (json, "program", program);
  bench_json_string (json, "date", date);
  return date;
}

static void
driver_version (char *text, size_t bytes)
{
  FILE *file = fopen ("/proc/driver/nvidia/version", "r");

  snprintf (text, bytes, "unknown");
  if (file == NULL)
    return;
  if (fgets (text, (int) bytes, file) != NULL)
    text[strcspn (text, "\n")] = '\0';
  fclose (file);
}

void
bench_json_gpu (BenchJson *json, const char *name, int runtime, int cuda)
{
  char driver[256];

  driver_version (driver, sizeof driver);
  bench_json_string (json, "gpu", name);
  bench_json_string (json, "driver", driver);
  bench_json_number (json, "cuda_runtime", runtime);
  bench_json_number (json, "cuda_driver", cuda);
}

void
bench_json_spread (
    BenchJson *json, const char *key, const BenchSpread *spread, double unit)
{
  bench_json_array (json, key);
  bench_json_number (json, NULL, spread->median / unit);
  bench_json_number (json, NULL, spread->min / unit);
  bench_json_number (json, NULL, spread->max / unit);
  bench_json_end (json);
}
