/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-options: the command line of `kerncheck --bench --histo`. */
#pragma once

#include "bench-content.h"
#include "bench-device.h"
#include "bench-grid.h"
#include "histo.h"

typedef struct
{
  BenchGrid grid; /* formats and sizes; its taps are not used */
  int n_contents;
  BenchContent content[BENCH_N_CONTENTS];
  int n_methods;
  const HistoMethod *method[BENCH_MAX_CHOICES]; /* none: all */
  int bins;
  BenchOn on;
  bool quick, verbose;
  const char *json_path; /* or NULL */
} BenchHistoOptions;

/* Prints the usage and returns false when the command line is invalid. */
bool bench_histo_options_parse (
    BenchHistoOptions *options, int argc, char **argv);

/* Fills each list that is empty with the defaults. */
void bench_histo_options_complete (BenchHistoOptions *options, Backend backend);

bool bench_histo_options_want (
    const BenchHistoOptions *options, const HistoMethod *method);
