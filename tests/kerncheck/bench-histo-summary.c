/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-histo-summary.h"

#include "bench-output.h"
#include "kerncheck.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The maximum number of frames of a grid. */
#define MAX_FRAMES (BENCH_MAX_CHOICES * BENCH_MAX_CHOICES)

typedef struct
{
  double value; /* NaN: there is none */
  BenchContent content;
} Extreme;

/* One method's extremes over the contents of a frame. */
typedef struct
{
  const HistoMethod *method; /* NULL: it was not measured */
  Extreme slowest, fastest;  /* microseconds */
  Extreme least_read, most_read, least_cub, least_npp, most_choice;
  double noise_cub; /* the ratio with noise */
} Record;

typedef struct
{
  const BenchFormat *format;
  BenchSize size;
  Record *record; /* [histo_n_methods () + 1], that of `auto` last */
} Frame;

struct BenchHistoSummary
{
  int n_frames;
  Frame frame[MAX_FRAMES];
};

/* The worst ratio of the grid, and where it occurred. */
typedef struct
{
  double ratio; /* NaN: there is none */
  char where[96];
} Worst;

/* Figures of `auto`. */
typedef struct
{
  Worst read, contents, cub, noise_cub, npp, choice;
} Grid;

static const Extreme no_extreme = { NAN, BENCH_NOISE };

BenchHistoSummary *
bench_histo_summary_new (void)
{
  return kerncheck_alloc (sizeof (BenchHistoSummary));
}

void
bench_histo_summary_free (BenchHistoSummary *summary)
{
  for (int i = 0; i < summary->n_frames; i++)
    free (summary->frame[i].record);
  free (summary);
}

static void
take_least (Extreme *extreme, double value, BenchContent content)
{
  /* False where it is NaN. */
  if (value < extreme->value || (isnan (extreme->value) && !isnan (value)))
    *extreme = (Extreme){ value, content };
}

static void
take_most (Extreme *extreme, double value, BenchContent content)
{
  if (value > extreme->value || (isnan (extreme->value) && !isnan (value)))
    *extreme = (Extreme){ value, content };
}

static bool
is_of (const Frame *frame, const BenchHistoCase *c)
{
  return frame->format == c->format && frame->size.width == c->size.width
      && frame->size.height == c->size.height;
}

/* The frame of the case: the last one or a new one. */
static Frame *
frame_for (BenchHistoSummary *summary, const BenchHistoCase *c)
{
  const int n = summary->n_frames;
  Frame *frame;

  if (n > 0 && is_of (&summary->frame[n - 1], c))
    return &summary->frame[n - 1];
  assert (n < MAX_FRAMES);
  frame = &summary->frame[summary->n_frames++];
  frame->format = c->format;
  frame->size = c->size;
  frame->record =
      kerncheck_alloc ((size_t) (histo_n_methods () + 1) * sizeof (Record));
  return frame;
}

static int
record_index (const HistoMethod *method, bool is_auto)
{
  int i = 0;

  if (is_auto)
    return histo_n_methods ();
  while (histo_method (i) != method)
    i++;
  return i;
}

void
bench_histo_summary_add (BenchHistoSummary *summary, const BenchHistoCase *c,
    const HistoMethod *method, bool is_auto, const BenchHistoRatios *ratios)
{
  Record *record =
      &frame_for (summary, c)->record[record_index (method, is_auto)];

  if (record->method == NULL)
    *record = (Record){ method, no_extreme, no_extreme, no_extreme, no_extreme,
      no_extreme, no_extreme, no_extreme, NAN };
  take_most (&record->slowest, ratios->us, c->content);
  take_least (&record->fastest, ratios->us, c->content);
  take_least (&record->least_read, ratios->read, c->content);
  take_most (&record->most_read, ratios->read, c->content);
  take_least (&record->least_cub, ratios->cub, c->content);
  take_least (&record->least_npp, ratios->npp, c->content);
  take_most (&record->most_choice, ratios->choice, c->content);
  if (c->content == BENCH_NOISE)
    record->noise_cub = ratios->cub;
}

static double
content_ratio (const Record *record)
{
  return record->slowest.value / record->fastest.value;
}

static void
print_record (const Frame *frame, const Record *record, bool is_auto)
{
  char name[64], size[32], slowest[64];

  snprintf (size, sizeof size, "%dx%d", frame->size.width, frame->size.height);
  snprintf (
      name, sizeof name, is_auto ? "auto (%s)" : "%s", record->method->name);
  snprintf (slowest, sizeof slowest, "%s / %s",
      bench_content_name (record->slowest.content),
      bench_content_name (record->fastest.content));
  printf ("%-6s %-9s %-16s %7.3f  %-20s", frame->format->name, size, name,
      content_ratio (record), slowest);
  bench_print_or (record->least_read.value, 7, 3, "-");
  bench_print_or (record->most_read.value, 7, 3, "-");
  bench_print_or (record->least_cub.value, 7, 2, "-");
  bench_print_or (record->least_npp.value, 7, 2, "-");
  printf ("\n");
}

static void
worst_take (Worst *worst, bool is_worse, const Frame *frame,
    const Record *record, double ratio, const char *content)
{
  if (isnan (ratio) || !(isnan (worst->ratio) || is_worse))
    return;
  worst->ratio = ratio;
  snprintf (worst->where, sizeof worst->where, "%s %dx%d, %s, %s",
      frame->format->name, frame->size.width, frame->size.height, content,
      record->method->name);
}

static void
take_lower (Worst *worst, const Frame *frame, const Record *record,
    const Extreme *extreme)
{
  worst_take (worst, extreme->value < worst->ratio, frame, record,
      extreme->value, bench_content_name (extreme->content));
}

static Grid
grid_of (const BenchHistoSummary *summary)
{
  Grid grid;
  Worst *const all[] = { &grid.read, &grid.contents, &grid.cub, &grid.noise_cub,
    &grid.npp, &grid.choice };

  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    all[i]->ratio = NAN;
  for (int i = 0; i < summary->n_frames; i++) {
    const Frame *frame = &summary->frame[i];
    const Record *record = &frame->record[histo_n_methods ()];
    const Extreme noise_cub = { record->noise_cub, BENCH_NOISE };
    char contents[64];

    if (record->method == NULL)
      continue;
    snprintf (contents, sizeof contents, "%s over %s",
        bench_content_name (record->slowest.content),
        bench_content_name (record->fastest.content));
    worst_take (&grid.contents, content_ratio (record) > grid.contents.ratio,
        frame, record, content_ratio (record), contents);
    worst_take (&grid.choice, record->most_choice.value > grid.choice.ratio,
        frame, record, record->most_choice.value,
        bench_content_name (record->most_choice.content));
    take_lower (&grid.read, frame, record, &record->least_read);
    take_lower (&grid.cub, frame, record, &record->least_cub);
    take_lower (&grid.noise_cub, frame, record, &noise_cub);
    take_lower (&grid.npp, frame, record, &record->least_npp);
  }
  return grid;
}

static void
print_worst (const char *what, const Worst *worst)
{
  if (!isnan (worst->ratio))
    printf ("%s: %.3f, %s\n", what, worst->ratio, worst->where);
}

void
bench_histo_summary_print (const BenchHistoSummary *summary)
{
  const Grid grid = grid_of (summary);

  printf ("\nOver all contents: the slowest over the fastest, and the least of "
          "what others take over it.\n");
  printf ("%-6s %-9s %-16s %7s  %-20s %7s %7s %7s %7s\n", "format", "size",
      "method", "ratio", "slowest / fastest", "read/x", "at best", "CUB/x",
      "NPP/x");
  for (int i = 0; i < summary->n_frames; i++)
    for (int m = 0; m <= histo_n_methods (); m++)
      if (summary->frame[i].record[m].method != NULL)
        print_record (&summary->frame[i], &summary->frame[i].record[m],
            m == histo_n_methods ());
  printf ("\n");
  print_worst ("worst auto, over the fastest method", &grid.choice);
  print_worst ("worst auto, slowest over fastest content", &grid.contents);
  print_worst ("worst auto, read over it", &grid.read);
  print_worst ("worst auto, CUB over it", &grid.cub);
  print_worst ("worst auto, CUB over it on noise", &grid.noise_cub);
  print_worst ("worst auto, NPP over it", &grid.npp);
}

static void
json_extreme (BenchJson *json, const char *key, const char *content_key,
    const Extreme *extreme)
{
  if (isnan (extreme->value))
    return;
  bench_json_number (json, key, extreme->value);
  bench_json_string (json, content_key, bench_content_name (extreme->content));
}

static void
json_record (
    BenchJson *json, const Frame *frame, const Record *record, bool is_auto)
{
  bench_json_object (json, NULL);
  bench_json_string (json, "format", frame->format->name);
  bench_json_number (json, "width", frame->size.width);
  bench_json_number (json, "height", frame->size.height);
  bench_json_string (json, "method", is_auto ? "auto" : record->method->name);
  if (is_auto)
    bench_json_string (json, "takes", record->method->name);
  bench_json_number (json, "content_ratio", content_ratio (record));
  json_extreme (json, "slowest_us", "slowest", &record->slowest);
  json_extreme (json, "fastest_us", "fastest", &record->fastest);
  json_extreme (
      json, "worst_read_ratio", "worst_read_content", &record->least_read);
  json_extreme (
      json, "best_read_ratio", "best_read_content", &record->most_read);
  json_extreme (
      json, "worst_cub_ratio", "worst_cub_content", &record->least_cub);
  json_extreme (
      json, "worst_npp_ratio", "worst_npp_content", &record->least_npp);
  bench_json_end (json);
}

static void
json_worst (BenchJson *json, const char *key, const Worst *worst)
{
  if (!isnan (worst->ratio))
    bench_json_extreme (json, key, worst->ratio, worst->where);
}

void
bench_histo_summary_write (
    const BenchHistoSummary *summary, BenchJson *json, const Fault *fault)
{
  const Grid grid = grid_of (summary);

  bench_json_array (json, "frames");
  for (int i = 0; i < summary->n_frames; i++)
    for (int m = 0; m <= histo_n_methods (); m++)
      if (summary->frame[i].record[m].method != NULL)
        json_record (json, &summary->frame[i], &summary->frame[i].record[m],
            m == histo_n_methods ());
  bench_json_end (json);
  bench_json_object (json, "summary");
  if (fault != NULL)
    bench_json_string (json, "fault", fault->message);
  json_worst (json, "worst_auto_ratio", &grid.choice);
  json_worst (json, "worst_content_ratio", &grid.contents);
  json_worst (json, "worst_read_ratio", &grid.read);
  json_worst (json, "worst_cub_ratio", &grid.cub);
  json_worst (json, "worst_cub_noise_ratio", &grid.noise_cub);
  json_worst (json, "worst_npp_ratio", &grid.npp);
  bench_json_end (json);
}
