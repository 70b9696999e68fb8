/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* histo-cases: random histograms out of all that histo.h allows, and their expected
 * counters. These are counted naively; only structs are shared with the engine. */
#pragma once

#include "histo.h"
#include "kerncheck-device.h"

typedef struct
{
  const LayoutKind *kind;
  int width, height;
  Image layout;
  HistoSpec spec;
  Content content;
} HistoCase;

/* Limits of a case. */
typedef struct
{
  int max_width, max_height;
} HistoEffort;

/* Interesting numbers of bins: few, the number of codes, one more or less, the
 * maximum. */
#define N_HISTO_BINS 11
int histo_some_bins (int index);

/* `index` steps through small sizes and the numbers of bins; the rest is random. */
void histo_case_make (HistoCase *c, const LayoutKind *kind, int index,
    const HistoEffort *effort, Random *random);
void histo_case_select_all (HistoCase *c);
void histo_case_describe (Check *check, const HistoCase *c);

/* Makes a painted picture of the case's size, with or without padding between rows. */
void histo_case_picture (const HistoCase *c, Picture *picture, Random *random);

/* Expects the counters to equal those of naive counting; channels that are not selected
 * have no counters. */
bool histo_expect_counts (Check *check, const HistoSpec *spec,
    const Image *image, const HistoResult *result);

/* The reverse: subtracting every sample of the picture from its bin leaves zeros. Finds
 * bins by walking, without multiplying codes. */
bool histo_expect_reverse (Check *check, const HistoSpec *spec,
    const Image *image, const HistoResult *result);
