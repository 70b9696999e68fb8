/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-report: prints results as a table, writes them as JSON, and prints the worst
 * ones at the end. */
#pragma once

#include "bench-cuda.h"
#include "bench-floors.h"
#include "bench-json.h"
#include "bench-npp.h"
#include "bench-timer.h"

/* The largest ratio so far, and where it occurred. */
typedef struct
{
  double ratio;
  char where[96];
} BenchWorst;

typedef struct
{
  BenchJson *json;
  bool verbose;
  const char *kernel;  /* name of the kernel */
  const char *border;  /* name of the border */
  const char *no_peer; /* why NPP's columns have no numbers, or NULL */
  int rows;
  /* Time of auto over that of the fastest method: runs that may overlap, and runs back
   * to back. */
  BenchWorst choice, series_choice;
  BenchWorst peer; /* time of auto over NPP's */
} BenchReport;

/* References that the rows of a case are compared with. */
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
  double in_order_us; /* back to back; NaN: they are so anyway */
  double counting_us; /* with a histogram of the result; NaN: it counts none */
  double l2_us;       /* same pair each time; NaN: it does not fit the L2 */
  /* By bench_time_sustained(); NaN: not asked for, or as above. */
  struct
  {
    double overlapped_us, back_to_back_us, counting_us;
  } sustained;
} BenchRow;

/* The fastest rows of a case: of runs that may overlap, and of runs back to back. NULL
 * before there are any. */
typedef struct
{
  const BenchRow *in_order, *in_series;
} BenchBest;

/* Updates the fastest rows with this one. */
void bench_best_take (BenchBest *fastest, const BenchRow *row);

/* Begins the table and the file. On the host the device has no GPU and the facts are
 * empty. */
void bench_report_begin (BenchReport *report, const Device *device,
    const BenchFacts *facts, const char *npp_version);
void bench_report_case (BenchReport *report, const BenchBeside *beside);
void bench_report_row (
    BenchReport *report, const BenchBeside *beside, const BenchRow *row);
/* Prints one row for each method that `auto` takes in either order. */
void bench_report_auto (BenchReport *report, const BenchBeside *beside,
    const BenchBest *chosen, const BenchBest *fastest);
/* `fault` is the fault that ended the benchmark early, or NULL. */
void bench_report_end (BenchReport *report, const Fault *fault);
