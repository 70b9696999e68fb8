/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-header: the header that all benchmarks write: program, date, GPU, spreads. */
#pragma once

#include "bench-json.h"
#include "bench-measure.h"

/* Writes the program's name and the date. Returns the date, which is valid until the
 * next call. */
const char *bench_json_program (BenchJson *json, const char *program);
/* Writes the GPU's name, its driver, and the CUDA versions (1000 * major + 10 *
 * minor). */
void bench_json_gpu (BenchJson *json, const char *name, int runtime, int cuda);

/* Writes median, least and most, in units of `unit`. */
void bench_json_spread (
    BenchJson *json, const char *key, const BenchSpread *spread, double unit);
