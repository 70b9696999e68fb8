/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* histo-cases: histograms by chance, out of all that histo.h allows, and what must
 * come out, counted the long way: nothing is shared with the engine but its structs. */
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

/* How far a case may go. */
typedef struct
{
  int max_width, max_height;
} HistoEffort;

/* Numbers of bins that mean something: few, as many as codes, one more or less, as
 * many as allowed. */
#define N_HISTO_BINS 11
int histo_some_bins (int index);

/* `index` goes through small sizes and the numbers of bins; the rest is left to
 * chance. */
void histo_case_make (HistoCase *c, const LayoutKind *kind, int index,
    const HistoEffort *effort, Random *random);
void histo_case_select_all (HistoCase *c);
void histo_case_describe (Check *check, const HistoCase *c);

/* A painted picture of the case's size, its rows apart or without a gap. */
void histo_case_picture (const HistoCase *c, Picture *picture, Random *random);

/* The result is that of counting each sample; channels that are not selected have
 * none. */
bool histo_expect_counts (Check *check, const HistoSpec *spec,
    const Image *image, const HistoResult *result);

/* The other way round: taking every sample of the picture out of the bins again
 * leaves nothing. Bins are found by walking, without multiplying codes. */
bool histo_expect_reverse (Check *check, const HistoSpec *spec,
    const Image *image, const HistoResult *result);
