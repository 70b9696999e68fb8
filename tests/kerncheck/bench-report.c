/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-report.h"

#include "bench-output.h"

#include <math.h>
#include <stdio.h>

void
bench_report_begin (BenchReport *report, const Device *device,
    const BenchFacts *facts, const char *npp_version)
{
  const char *npp = npp_version == NULL ? report->no_peer : npp_version;

  bench_output_begin (report->json, "kerncheck --bench", device, facts);
  printf ("; kernel %s; border %s", report->kernel, report->border);
  bench_json_string (report->json, "kernel", report->kernel);
  bench_json_string (report->json, "border", report->border);
  if (device->gpu != NULL) {
    printf ("; NPP: %s", npp);
    bench_json_string (report->json, "npp", npp);
  }
  printf ("\n");
  bench_json_end (report->json);
  bench_json_array (report->json, "rows");
  printf ("us: a frame's share of a series that may overlap; in order: of one "
          "that may not. copy/x,\nNPP/x: their time, in order, over the "
          "method's. counting: us with 256 bins of each channel on the way,\n"
          "but for a fourth one's.\n"
          "L2: one pair of frames again and again.\n");
}

void
bench_report_case (BenchReport *report, const BenchBeside *beside)
{
  const BenchCase *c = beside->of;
  const BenchPeer *peer = &beside->peer;

  printf ("\n%s %dx%d, %d taps: %.1f MB, copy %.2f us", c->format->name,
      c->size.width, c->size.height, c->n_taps, c->bytes / 1e6,
      beside->floors.copy_us);
  if (!isnan (beside->floors.kernel_us))
    printf (" (memcpy %.2f, kernel %.2f, overlapping %.2f)",
        beside->floors.memcpy_us, beside->floors.kernel_us,
        beside->floors.overlapping_us);
  if (!isnan (beside->arithmetic_us))
    printf (", arithmetic %.2f us", beside->arithmetic_us);
  if (!isnan (peer->npp_us))
    printf (", NPP %.2f us (separable %.2f, gauss %.2f)", peer->npp_us,
        peer->separable_us, peer->gauss_us);
  printf ("\n");
  if (!isnan (beside->sustained_floors.back_to_back_us)) {
    printf ("sustained copy: %.2f us back to back",
        beside->sustained_floors.back_to_back_us);
    if (!isnan (beside->sustained_floors.overlapped_us))
      printf (", %.2f overlapped", beside->sustained_floors.overlapped_us);
    printf ("\n");
  }
  if (report->verbose && peer->why[0] != '\0')
    printf ("  %s\n", peer->why);
  printf ("%-6s %-9s %4s  %-20s %10s %7s %7s %8s %9s %9s %9s  %s\n", "format",
      "size", "taps", "method", "us", "spread", "copy/x", "NPP/x", "in order",
      "counting", "L2 us", "as");
}

static void
print_row (const BenchReport *report, const BenchBeside *beside,
    const BenchRow *row, const char *name)
{
  const BenchCase *c = beside->of;
  const BenchSpread *us = &row->time.us;
  char size[32];

  snprintf (size, sizeof size, "%dx%d", c->size.width, c->size.height);
  printf ("%-6s %-9s %4d  %-20s %10.2f %6.1f%% %7.3f", c->format->name, size,
      c->n_taps, name, us->median, bench_percent_apart (us),
      beside->floors.copy_us / us->median);
  bench_print_or (beside->peer.npp_us / us->median, 8, 2,
      report->no_peer != NULL ? "no NPP" : "-");
  bench_print_or (row->in_order_us, 9, 2, "-");
  bench_print_or (row->counting_us, 9, 2, "-");
  bench_print_or (row->l2_us, 9, 2, "-");
  printf ("  %s", bench_way_name (row->time.way));
}

/* Prints the sustained figures; nothing if they were not asked for. */
static void
print_sustained (const BenchBeside *beside, const BenchRow *row)
{
  const BenchSustainedFloors *copy = &beside->sustained_floors;
  const double overlapped = row->sustained.overlapped_us;
  const double back_to_back = row->sustained.back_to_back_us;
  const double counting = row->sustained.counting_us;

  if (isnan (overlapped))
    return;
  printf ("    sustained: %.2f us", overlapped);
  if (!isnan (copy->overlapped_us))
    printf (" (copy/x %.3f)", copy->overlapped_us / overlapped);
  if (!isnan (back_to_back))
    printf (", back to back %.2f us (copy/x %.3f)", back_to_back,
        copy->back_to_back_us / back_to_back);
  if (!isnan (counting))
    printf (", counting %.2f us (x%.3f)", counting, counting / overlapped);
  printf ("\n");
}

static void
json_beside (BenchJson *json, const BenchBeside *beside, double us)
{
  const BenchFloors *floors = &beside->floors;
  const BenchPeer *peer = &beside->peer;

  bench_json_number (json, "bytes", beside->of->bytes);
  bench_json_number (json, "multiply_adds", beside->of->products);
  bench_json_known (json, "arithmetic_us", beside->arithmetic_us);
  bench_json_number (json, "copy_us", floors->copy_us);
  bench_json_known (json, "copy_memcpy_us", floors->memcpy_us);
  bench_json_known (json, "copy_kernel_us", floors->kernel_us);
  bench_json_known (json, "copy_overlapping_us", floors->overlapping_us);
  bench_json_known (json, "copy_sustained_overlapped_us",
      beside->sustained_floors.overlapped_us);
  bench_json_known (json, "copy_sustained_back_to_back_us",
      beside->sustained_floors.back_to_back_us);
  bench_json_number (json, "copy_ratio", floors->copy_us / us);
  bench_json_known (json, "npp_us", peer->npp_us);
  bench_json_known (json, "npp_separable_us", peer->separable_us);
  bench_json_known (json, "npp_gauss_us", peer->gauss_us);
  bench_json_known (json, "npp_ratio", peer->npp_us / us);
  if (peer->why[0] != '\0')
    bench_json_string (json, "npp_note", peer->why);
}

/* Writes a row, and leaves its object open. */
static void
json_row (BenchJson *json, const BenchBeside *beside, const BenchRow *row,
    const char *method)
{
  const BenchCase *c = beside->of;

  bench_json_object (json, NULL);
  bench_json_string (json, "format", c->format->name);
  bench_json_number (json, "width", c->size.width);
  bench_json_number (json, "height", c->size.height);
  bench_json_number (json, "taps", c->n_taps);
  bench_json_string (json, "method", method);
  bench_json_time (json, &row->time);
  bench_json_known (json, "in_order_us", row->in_order_us);
  bench_json_known (json, "counting_us", row->counting_us);
  bench_json_known (json, "l2_us", row->l2_us);
  bench_json_known (
      json, "sustained_overlapped_us", row->sustained.overlapped_us);
  bench_json_known (
      json, "sustained_back_to_back_us", row->sustained.back_to_back_us);
  bench_json_known (json, "sustained_counting_us", row->sustained.counting_us);
  json_beside (json, beside, row->time.us.median);
}

void
bench_report_row (
    BenchReport *report, const BenchBeside *beside, const BenchRow *row)
{
  print_row (report, beside, row, row->method->name);
  printf ("\n");
  print_sustained (beside, row);
  fflush (stdout);
  json_row (report->json, beside, row, row->method->name);
  bench_json_end (report->json);
  report->rows++;
}

static void
worst_take (BenchWorst *worst, double ratio, const BenchBeside *beside,
    const BenchRow *row)
{
  const BenchCase *c = beside->of;

  if (isnan (ratio) || ratio <= worst->ratio)
    return;
  worst->ratio = ratio;
  snprintf (worst->where, sizeof worst->where, "%s %dx%d, %d taps, %s",
      c->format->name, c->size.width, c->size.height, c->n_taps,
      row->method->name);
}

static double
in_order_us (const BenchRow *row)
{
  return isnan (row->in_order_us) ? row->time.us.median : row->in_order_us;
}

void
bench_best_take (BenchBest *fastest, const BenchRow *row)
{
  if (fastest->in_order == NULL
      || in_order_us (row) < in_order_us (fastest->in_order))
    fastest->in_order = row;
  if (fastest->in_series == NULL
      || row->time.us.median < fastest->in_series->time.us.median)
    fastest->in_series = row;
}

void
bench_report_auto (BenchReport *report, const BenchBeside *beside,
    const BenchBest *chosen, const BenchBest *fastest)
{
  const double ratio =
      in_order_us (chosen->in_order) / in_order_us (fastest->in_order);
  const double series_ratio =
      chosen->in_series->time.us.median / fastest->in_series->time.us.median;
  const char *const takes = chosen->in_series->method->name;
  const char *const takes_in_order = chosen->in_order->method->name;
  BenchRow row = *chosen->in_series;
  char name[64];

  row.in_order_us = in_order_us (chosen->in_order);
  snprintf (name, sizeof name, "auto (%s)", takes);
  print_row (report, beside, &row, name);
  printf (", in series %.2f of %s, in order %s, %.2f of %s\n", series_ratio,
      fastest->in_series->method->name, takes_in_order, ratio,
      fastest->in_order->method->name);
  fflush (stdout);
  json_row (report->json, beside, &row, "auto");
  bench_json_string (report->json, "takes_in_order", takes_in_order);
  bench_json_string (report->json, "fastest", fastest->in_order->method->name);
  bench_json_number (report->json, "auto_ratio", ratio);
  bench_json_string (report->json, "takes", takes);
  bench_json_string (
      report->json, "series_fastest", fastest->in_series->method->name);
  bench_json_number (report->json, "series_auto_ratio", series_ratio);
  bench_json_end (report->json);
  worst_take (&report->choice, ratio, beside, chosen->in_order);
  worst_take (&report->series_choice, series_ratio, beside, chosen->in_series);
  worst_take (
      &report->peer, row.time.us.median / beside->peer.npp_us, beside, &row);
}

void
bench_report_end (BenchReport *report, const Fault *fault)
{
  bench_json_end (report->json);
  bench_json_object (report->json, "summary");
  if (fault != NULL)
    bench_json_string (report->json, "fault", fault->message);
  printf ("\n");
  if (report->choice.ratio > 0.0) {
    printf ("worst auto: in order %.2f times as long as the fastest, %s; in "
            "series %.2f, %s\n",
        report->choice.ratio, report->choice.where, report->series_choice.ratio,
        report->series_choice.where);
    bench_json_extreme (report->json, "worst_auto_ratio", report->choice.ratio,
        report->choice.where);
    bench_json_extreme (report->json, "worst_series_auto_ratio",
        report->series_choice.ratio, report->series_choice.where);
  }
  if (report->peer.ratio > 0.0) {
    printf ("worst auto against NPP: %.2f times as fast, %s\n",
        1.0 / report->peer.ratio, report->peer.where);
    bench_json_extreme (report->json, "worst_npp_ratio",
        1.0 / report->peer.ratio, report->peer.where);
  }
  bench_json_end (report->json);
  bench_json_end (report->json);
}
