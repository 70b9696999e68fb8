/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-report: histograms' times as a table and as JSON. */
#pragma once

#include "bench-cuda.h"
#include "bench-floors.h"
#include "bench-histo-peer.h"
#include "bench-histo-summary.h"
#include "bench-json.h"

typedef struct
{
  BenchJson *json;
  bool verbose;
  const char *cub, *npp;       /* versions, or NULL */
  const char *no_cub, *no_npp; /* why there is none on the GPU, or NULL */
  int rows;
  BenchHistoSummary *summary;
} BenchHistoReport;

/* What a case's rows are held against. */
typedef struct
{
  const BenchHistoCase *of;
  BenchRead read;
  BenchHistoPeer cub, npp;
} BenchHistoBeside;

/* One method's time for a case. */
typedef struct
{
  const HistoMethod *method;
  BenchTime time;
  double in_order_us; /* one run after the other; NaN: they are so anyway */
} BenchHistoRow;

/* Begins the table and the file. */
void bench_histo_report_begin (
    BenchHistoReport *report, const Device *device, const BenchFacts *facts);
void bench_histo_report_case (
    BenchHistoReport *report, const BenchHistoBeside *beside);
void bench_histo_report_row (BenchHistoReport *report,
    const BenchHistoBeside *beside, const BenchHistoRow *row);
/* The row of the method that `auto` takes; `fastest` is that of the case. */
void bench_histo_report_auto (BenchHistoReport *report,
    const BenchHistoBeside *beside, const BenchHistoRow *row,
    const BenchHistoRow *fastest);
/* `fault`: what ended it before all was measured, or NULL. */
void bench_histo_report_end (BenchHistoReport *report, const Fault *fault);
