/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-options: the command line of `kerncheck --bench`. */
#pragma once

#include "bench-case.h"
#include "bench-device.h"
#include "bench-grid.h"

typedef struct
{
  BenchGrid grid; /* as far as it was asked for */
  int n_methods;
  const SepconvMethod *method[BENCH_MAX_CHOICES]; /* none: all */
  BenchOn on;
  const BenchKernel *kernel;
  SepconvBorder border;
  double sustained_s; /* that each sustained figure takes; 0: there is none */
  bool quick, verbose;
  const char *json_path; /* or NULL */
} BenchOptions;

/* Prints the usage and returns false when something is wrong with it. */
bool bench_options_parse (BenchOptions *options, int argc, char **argv);

bool bench_options_want (
    const BenchOptions *options, const SepconvMethod *method);
