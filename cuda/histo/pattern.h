/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pattern: describes rows as a few samples that repeat, whatever planes they belong to.
 *
 * Rows of GRAY8 repeat one sample, of NV12's chroma two, of RGB24 three; rows of YUY2, which two
 * planes share, repeat Y U Y V. A method that reads whole vectors of a row needs no more. */
#pragma once

#include "method.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HISTO_MAX_PERIOD 4

/* Most bytes of a row: positions in it are kept in an int. */
#define HISTO_MAX_ROW_BYTES (1 << 30)

/* Sample k of a row, which begins k * sample_bytes from memory.data, belongs to
 * channel[k % period]; -1: to no counted channel. It counts only if it lies between the
 * channel's first and last pixel.
 *
 * Period 0: rows do not repeat like this; channel[0] is the only channel, to be read sample
 * by sample. */
typedef struct
{
  int memory;
  int sample_bytes, depth, shift;
  int period;
  int channel[HISTO_MAX_PERIOD]; /* index of the argument's channels */
} HistoPattern;

/* Puts each of n channels into a pattern, joining channels where possible; returns the number
 * of patterns. */
int histo_find_patterns (const HistoChannel *channel, int n,
    HistoPattern pattern[HISTO_MAX_CHANNELS]);

#ifdef __cplusplus
}
#endif
