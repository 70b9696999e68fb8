/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-histo-report.h"

#include "bench-output.h"

#include <math.h>
#include <stdio.h>

void
bench_histo_report_begin (
    BenchHistoReport *report, const Device *device, const BenchFacts *facts)
{
  const char *cub = report->cub == NULL ? report->no_cub : report->cub;
  const char *npp = report->npp == NULL ? report->no_npp : report->npp;

  bench_output_begin (report->json, "kerncheck --bench --histo", device, facts);
  if (device->gpu != NULL) {
    printf ("; CUB: %s; NPP: %s\n", cub, npp);
    bench_json_string (report->json, "cub", cub);
    bench_json_string (report->json, "npp", npp);
  }
  bench_json_end (report->json);
  bench_json_array (report->json, "rows");
  printf ("us: a frame's share of a series that may overlap; in order: of one "
          "that may not. read/x,\nCUB/x, NPP/x: their time, in order, over the "
          "method's.\n");
}

/* Prints the part of a case's name that its rows share. */
static void
print_case (const BenchHistoCase *c)
{
  char size[32];

  snprintf (size, sizeof size, "%dx%d", c->size.width, c->size.height);
  printf (
      "%-6s %-9s %-8s", c->format->name, size, bench_content_name (c->content));
}

static void
print_why (const BenchHistoReport *report, const char *name,
    const BenchHistoPeer *peer)
{
  if ((report->verbose || peer->is_wrong) && peer->why[0] != '\0')
    printf ("  no time of %s: %s\n", name, peer->why);
}

void
bench_histo_report_case (
    BenchHistoReport *report, const BenchHistoBeside *beside)
{
  const BenchHistoCase *c = beside->of;

  printf ("\n%s %dx%d, %s, %d bins: %.1f MB", c->format->name, c->size.width,
      c->size.height, bench_content_name (c->content), c->spec.bins,
      c->bytes / 1e6);
  if (!isnan (beside->read.us))
    printf (", read %.2f us (%d loads a thread; overlapping %.2f)",
        beside->read.us, beside->read.loads, beside->read.overlapping_us);
  if (!isnan (beside->cub.us))
    printf (", CUB %.2f us", beside->cub.us);
  if (!isnan (beside->npp.us))
    printf (", NPP %.2f us", beside->npp.us);
  printf ("\n");
  print_why (report, "CUB", &beside->cub);
  print_why (report, "NPP", &beside->npp);
  printf ("%-6s %-9s %-8s %-16s %10s %7s %7s %8s %8s %9s  %s\n", "format",
      "size", "content", "method", "us", "spread", "read/x", "CUB/x", "NPP/x",
      "in order", "as");
}

static void
print_row (const BenchHistoReport *report, const BenchHistoBeside *beside,
    const BenchHistoRow *row, const char *name)
{
  const BenchSpread *us = &row->time.us;

  print_case (beside->of);
  printf (" %-16s %10.2f %6.1f%%", name, us->median, bench_percent_apart (us));
  bench_print_or (beside->read.us / us->median, 7, 3, "-");
  bench_print_or (beside->cub.us / us->median, 8, 2,
      report->no_cub != NULL ? "no CUB" : "-");
  bench_print_or (beside->npp.us / us->median, 8, 2,
      report->no_npp != NULL ? "no NPP" : "-");
  bench_print_or (row->in_order_us, 9, 2, "-");
  printf ("  %s", bench_way_name (row->time.way));
}

static void
json_peer (BenchJson *json, const BenchHistoPeer *peer, double us,
    const char *us_key, const char *ratio_key, const char *note_key)
{
  bench_json_known (json, us_key, peer->us);
  bench_json_known (json, ratio_key, peer->us / us);
  if (peer->why[0] != '\0')
    bench_json_string (json, note_key, peer->why);
}

/* Writes a row, and leaves its object open. */
static void
json_row (BenchJson *json, const BenchHistoBeside *beside,
    const BenchHistoRow *row, const char *method)
{
  const BenchHistoCase *c = beside->of;
  const double us = row->time.us.median;

  bench_json_object (json, NULL);
  bench_json_string (json, "format", c->format->name);
  bench_json_number (json, "width", c->size.width);
  bench_json_number (json, "height", c->size.height);
  bench_json_string (json, "content", bench_content_name (c->content));
  bench_json_number (json, "bins", c->spec.bins);
  bench_json_string (json, "method", method);
  bench_json_time (json, &row->time);
  bench_json_known (json, "in_order_us", row->in_order_us);
  bench_json_number (json, "bytes", c->bytes);
  if (!isnan (beside->read.us)) {
    bench_json_number (json, "read_us", beside->read.us);
    bench_json_number (json, "read_loads", beside->read.loads);
    bench_json_number (
        json, "read_overlapping_us", beside->read.overlapping_us);
    bench_json_number (json, "read_ratio", beside->read.us / us);
  }
  json_peer (json, &beside->cub, us, "cub_us", "cub_ratio", "cub_note");
  json_peer (json, &beside->npp, us, "npp_us", "npp_ratio", "npp_note");
}

static BenchHistoRatios
ratios_of (const BenchHistoBeside *beside, const BenchHistoRow *row)
{
  const double us = row->time.us.median;

  return (BenchHistoRatios){ us, beside->read.us / us, beside->cub.us / us,
    beside->npp.us / us, NAN };
}

void
bench_histo_report_row (BenchHistoReport *report,
    const BenchHistoBeside *beside, const BenchHistoRow *row)
{
  const BenchHistoRatios ratios = ratios_of (beside, row);

  print_row (report, beside, row, row->method->name);
  printf ("\n");
  fflush (stdout);
  json_row (report->json, beside, row, row->method->name);
  bench_json_end (report->json);
  bench_histo_summary_add (
      report->summary, beside->of, row->method, false, &ratios);
  report->rows++;
}

void
bench_histo_report_auto (BenchHistoReport *report,
    const BenchHistoBeside *beside, const BenchHistoRow *row,
    const BenchHistoRow *fastest)
{
  BenchHistoRatios ratios = ratios_of (beside, row);
  char name[64];

  ratios.choice = row->time.us.median / fastest->time.us.median;
  snprintf (name, sizeof name, "auto (%s)", row->method->name);
  print_row (report, beside, row, name);
  printf (", %.2f of %s\n", ratios.choice, fastest->method->name);
  fflush (stdout);
  json_row (report->json, beside, row, "auto");
  bench_json_string (report->json, "takes", row->method->name);
  bench_json_string (report->json, "fastest", fastest->method->name);
  bench_json_number (report->json, "auto_ratio", ratios.choice);
  bench_json_end (report->json);
  bench_histo_summary_add (
      report->summary, beside->of, row->method, true, &ratios);
}

void
bench_histo_report_end (BenchHistoReport *report, const Fault *fault)
{
  bench_json_end (report->json);
  bench_histo_summary_print (report->summary);
  bench_histo_summary_write (report->summary, report->json, fault);
  bench_json_end (report->json);
}
