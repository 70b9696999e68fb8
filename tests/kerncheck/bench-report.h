/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-report: results as a table, as JSON, and the worst of them at the end. */
#pragma once

#include "bench-cuda.h"
#include "bench-floors.h"
#include "bench-json.h"
#include "bench-npp.h"
#include "bench-timer.h"

/* The largest ratio so far, and where it was. */
typedef struct
{
  double ratio;
  char where[96];
} BenchWorst;

typedef struct
{
  BenchJson *json;
  bool verbose;
  const char *kernel;  /* its name */
  const char *border;  /* likewise */
  const char *no_peer; /* why no column of NPP's can have a number, or NULL */
  int rows;
  /* Time of auto over that of the fastest method, in order and in series. */
  BenchWorst choice, series_choice;
  BenchWorst peer; /* time of auto over NPP's */
} BenchReport;

/* What a case's rows are held against. */
typedef struct
{
  const BenchCase *of;
  BenchFloors floors;
  BenchSustainedFloors sustained_floors; /* NaN: not asked for */
  double arithmetic_us;                  /* NaN on the host */
  BenchPeer peer;
} BenchBeside;

/* One method's times for a case. */
typedef struct
{
  const SepconvMethod *method;
  BenchTime time;
  double in_order_us; /* one run after the other; NaN: they are so anyway */
  double counting_us; /* with a histogram of the result; NaN: it counts none */
  double l2_us; /* one pair again and again; NaN: it does not fit the L2 */
  /* bench_time_sustained(); NaN: not asked for, or as above. */
  struct
  {
    double overlapped_us, back_to_back_us, counting_us;
  } sustained;
} BenchRow;

/* The best rows of a case where runs may overlap, and where they may not; NULL before
 * there are any. */
typedef struct
{
  const BenchRow *in_order, *in_series;
} BenchBest;

/* Keeps the fastest. */
void bench_best_take (BenchBest *fastest, const BenchRow *row);

/* Begins the table and the file. The device's GPU and facts may be none. */
void bench_report_begin (BenchReport *report, const Device *device,
    const BenchFacts *facts, const char *npp_version);
void bench_report_case (BenchReport *report, const BenchBeside *beside);
void bench_report_row (
    BenchReport *report, const BenchBeside *beside, const BenchRow *row);
/* One row of what `auto` takes for either. */
void bench_report_auto (BenchReport *report, const BenchBeside *beside,
    const BenchBest *chosen, const BenchBest *fastest);
/* `fault`: what ended it before all was measured, or NULL. */
void bench_report_end (BenchReport *report, const Fault *fault);
