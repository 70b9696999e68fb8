/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-histo-report: prints the times of histograms as a table and writes them as
 * JSON. */
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
  const char *no_cub, *no_npp; /* why it is not measured on the GPU, or NULL */
  int rows;
  BenchHistoSummary *summary;
} BenchHistoReport;

/* References that the rows of a case are compared with. */
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
  double in_order_us; /* back to back; NaN: they are so anyway */
} BenchHistoRow;

/* Begins the table and the JSON file. */
void bench_histo_report_begin (
    BenchHistoReport *report, const Device *device, const BenchFacts *facts);
void bench_histo_report_case (
    BenchHistoReport *report, const BenchHistoBeside *beside);
void bench_histo_report_row (BenchHistoReport *report,
    const BenchHistoBeside *beside, const BenchHistoRow *row);
/* Prints the row of the method that `auto` takes; `fastest` is the case's fastest
 * row. */
void bench_histo_report_auto (BenchHistoReport *report,
    const BenchHistoBeside *beside, const BenchHistoRow *row,
    const BenchHistoRow *fastest);
/* `fault` is the fault that ended the benchmark early, or NULL. */
void bench_histo_report_end (BenchHistoReport *report, const Fault *fault);
