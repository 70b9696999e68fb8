/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-options: the command line of `kerncheck --bench`. */
#pragma once

#include "bench-case.h"
#include "bench-device.h"
#include "bench-grid.h"

typedef struct
{
  BenchGrid grid; /* only the choices made on the command line */
  int n_methods;
  const SepconvMethod *method[BENCH_MAX_CHOICES]; /* none: all */
  BenchOn on;
  const BenchKernel *kernel;
  SepconvBorder border;
  double sustained_s; /* seconds per sustained figure; 0: none */
  bool quick, verbose;
  const char *json_path; /* or NULL */
} BenchOptions;

/* Prints the usage and returns false when the command line is invalid. */
bool bench_options_parse (BenchOptions *options, int argc, char **argv);

bool bench_options_want (
    const BenchOptions *options, const SepconvMethod *method);
