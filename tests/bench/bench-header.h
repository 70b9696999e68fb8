/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-header: what the files of all benchmarks have in common. */
#pragma once

#include "bench-json.h"
#include "bench-measure.h"

/* The program and the date, which is returned, too: until the next call. */
const char *bench_json_program (BenchJson *json, const char *program);
/* The GPU, its driver, and the CUDA versions, 1000 * major + 10 * minor. */
void bench_json_gpu (BenchJson *json, const char *name, int runtime, int cuda);

/* Median, least and most, in units of `unit`. */
void bench_json_spread (
    BenchJson *json, const char *key, const BenchSpread *spread, double unit);
