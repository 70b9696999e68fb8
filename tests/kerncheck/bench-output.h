/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-output: functions that the tables and files of all benchmarks share. */
#pragma once

#include "bench-cuda.h"
#include "bench-json.h"
#include "bench-timer.h"

/* Opens the file if `path` is not NULL. Prints a message and returns false when that
 * fails. */
bool bench_begin_json (const char *path, BenchJson **json);
/* Begins the file with its header object, which stays open. Prints the GPU, if there is
 * one, on a line that stays open. */
void bench_output_begin (BenchJson *json, const char *program,
    const Device *device, const BenchFacts *facts);

/* Prints a table cell: the number, or `absent` where it is NaN. */
void bench_print_or (double value, int width, int decimals, const char *absent);
/* Range of the samples, in percent of the median. */
double bench_percent_apart (const BenchSpread *spread);

/* Writes a number; leaves its key out where it is NaN. */
void bench_json_known (BenchJson *json, const char *key, double value);
/* Writes median, least and most microseconds, and the way of measuring. */
void bench_json_time (BenchJson *json, const BenchTime *time);
/* Writes an extreme and the place where it occurred. */
void bench_json_extreme (
    BenchJson *json, const char *key, double ratio, const char *where);

/* Closes the file and prints the outcome; `fault` is the fault that ended the benchmark
 * early, or NULL. Returns the exit status. */
int bench_end (const Fault *fault, BenchJson *json, const char *path);
