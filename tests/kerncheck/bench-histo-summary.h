/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-summary: what holds for all contents of a frame, and for the whole
 * grid. */
#pragma once

#include "bench-histo-case.h"
#include "bench-json.h"

/* What is known of one method's time for a case; NaN: it is not. */
typedef struct
{
  double us;
  double read, cub, npp; /* their times over it */
  double choice;         /* of `auto`: over the time of the fastest method */
} BenchHistoRatios;

typedef struct BenchHistoSummary BenchHistoSummary;

/* To be freed with bench_histo_summary_free(). */
BenchHistoSummary *bench_histo_summary_new (void);
void bench_histo_summary_free (BenchHistoSummary *summary);

/* Frames of one format and size follow each other. `is_auto`: this is what `auto`
 * takes, which has been added as itself, too. */
void bench_histo_summary_add (BenchHistoSummary *summary,
    const BenchHistoCase *c, const HistoMethod *method, bool is_auto,
    const BenchHistoRatios *ratios);

void bench_histo_summary_print (const BenchHistoSummary *summary);
/* Two more values of the file's outermost object. `fault` may be NULL. */
void bench_histo_summary_write (
    const BenchHistoSummary *summary, BenchJson *json, const Fault *fault);
