/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-output: what the tables and files of all benchmarks have in common. */
#pragma once

#include "bench-cuda.h"
#include "bench-json.h"
#include "bench-timer.h"

/* Opens the file, if there is to be one; false and a message if it cannot be. */
bool bench_begin_json (const char *path, BenchJson **json);
/* Begins the file with its header, which stays open, and tells of the GPU, if
 * there is one, on a line that stays open, too. */
void bench_output_begin (BenchJson *json, const char *program,
    const Device *device, const BenchFacts *facts);

/* A cell: the number, or the word for its absence. */
void bench_print_or (double value, int width, int decimals, const char *absent);
/* How far apart the samples were, in percent of the median. */
double bench_percent_apart (const BenchSpread *spread);

/* A number whose key is left out where it is NaN. */
void bench_json_known (BenchJson *json, const char *key, double value);
/* Median, least and most microseconds, and how they were measured. */
void bench_json_time (BenchJson *json, const BenchTime *time);
/* An extreme and where it was. */
void bench_json_extreme (
    BenchJson *json, const char *key, double ratio, const char *where);

/* Closes the file and tells how it went: `fault` is what ended it before all was
 * measured, or NULL. Returns the exit status. */
int bench_end (const Fault *fault, BenchJson *json, const char *path);
