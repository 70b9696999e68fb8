/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-case: one point of the grid of `kerncheck --bench --histo`: a frame,
 * what it shows, and what its histogram is. */
#pragma once

#include "bench-content.h"
#include "bench-grid.h"
#include "histo.h"

/* Every channel is counted. */
typedef struct
{
  const BenchFormat *format;
  BenchSize size;
  BenchContent content;
  Image layout;
  HistoSpec spec;
  int n_channels;
  double bytes;                /* that any method must read */
  const HistoResult *expected; /* borrowed; NULL until the frame is painted */
} BenchHistoCase;

void bench_histo_case_make (BenchHistoCase *c, const BenchFormat *format,
    BenchSize size, BenchContent content, int bins);

/* Whether counters are as expected, to the last; `who` counted them, for the fault.
 * The first are a method's; the others are [n_channels][bins] by plane and channel,
 * in host memory. */
bool bench_histo_case_check_result (const BenchHistoCase *c,
    const HistoResult *result, const char *who, Fault *fault);
bool bench_histo_case_check_counts (const BenchHistoCase *c,
    const uint32_t *counts, const char *who, Fault *fault);
