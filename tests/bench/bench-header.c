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

/* The first word of the driver's line that is a number with dots, such as 580.159.04; the
 * rest of the line names the machine that built the driver. */
static void
driver_version (char *text, size_t bytes)
{
  FILE *file = fopen ("/proc/driver/nvidia/version", "r");
  char line[256] = "", *word;

  snprintf (text, bytes, "unknown");
  if (file == NULL)
    return;
  if (fgets (line, sizeof line, file) == NULL)
    line[0] = '\0';
  fclose (file);
  for (word = strtok (line, " \t\n"); word != NULL;
       word = strtok (NULL, " \t\n"))
    if (strspn (word, "0123456789.") == strlen (word) && strchr (word, '.')) {
      snprintf (text, bytes, "%s", word);
      return;
    }
}

void
bench_json_gpu (BenchJson *json, const char *name, int runtime, int cuda)
{
  char driver[32];

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
