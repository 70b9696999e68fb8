/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-summary: extremes over all contents of a frame, and over the whole
 * grid. */
#pragma once

#include "bench-histo-case.h"
#include "bench-json.h"

/* One method's figures for a case; NaN: not known. */
typedef struct
{
  double us;
  double read, cub, npp; /* this time over that of the read, CUB and NPP */
  double choice;         /* of `auto`: this time over the fastest method's */
} BenchHistoRatios;

typedef struct BenchHistoSummary BenchHistoSummary;

/* To be freed with bench_histo_summary_free(). */
BenchHistoSummary *bench_histo_summary_new (void);
void bench_histo_summary_free (BenchHistoSummary *summary);

/* Cases of one format and size must follow each other. `is_auto`: these are the figures
 * of `auto`; the method that it takes has been added under its own name, too. */
void bench_histo_summary_add (BenchHistoSummary *summary,
    const BenchHistoCase *c, const HistoMethod *method, bool is_auto,
    const BenchHistoRatios *ratios);

void bench_histo_summary_print (const BenchHistoSummary *summary);
/* Writes two more values of the file's outermost object. `fault` may be NULL. */
void bench_histo_summary_write (
    const BenchHistoSummary *summary, BenchJson *json, const Fault *fault);
