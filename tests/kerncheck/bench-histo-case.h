/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-case: one point of the grid of `kerncheck --bench --histo`: a frame, its
 * content, and its expected histogram. */
#pragma once

#include "bench-content.h"
#include "bench-grid.h"
#include "histo.h"

/* A frame, all channels of which are counted. */
typedef struct
{
  const BenchFormat *format;
  BenchSize size;
  BenchContent content;
  Image layout;
  HistoSpec spec;
  int n_channels;
  double bytes;                /* bytes that any method must read */
  const HistoResult *expected; /* borrowed; NULL until the frame is painted */
} BenchHistoCase;

void bench_histo_case_make (BenchHistoCase *c, const BenchFormat *format,
    BenchSize size, BenchContent content, int bins);

/* Each compares counters exactly with the expected ones; `who` names the counting
 * method in the fault. The first takes a method's result; the other takes
 * [n_channels][bins] in host memory, ordered by plane and channel. */
bool bench_histo_case_check_result (const BenchHistoCase *c,
    const HistoResult *result, const char *who, Fault *fault);
bool bench_histo_case_check_counts (const BenchHistoCase *c,
    const uint32_t *counts, const char *who, Fault *fault);
