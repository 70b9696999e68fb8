/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pattern: rows as a few samples that repeat, whatever planes they belong to.
 *
 * Rows of GRAY8 repeat one sample, of NV12's chroma two, of RGB24 three; those of
 * YUY2, with two planes over them, are Y U Y V over and over. Whoever reads whole
 * vectors of a row wants to know only that. */
#pragma once

#include "method.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HISTO_MAX_PERIOD 4

/* Bytes of a row, up to which positions in it are kept in an int. */
#define HISTO_MAX_ROW_BYTES (1 << 30)

/* Sample k of a row, by its position (k * sample_bytes from memory.data), belongs
 * to channel[k % period]; -1: to none that is counted. Each channel's samples are
 * among those between its first and its last pixel.
 *
 * Period 0: the rows do not repeat so; channel[0] alone, to be read sample by
 * sample. */
typedef struct
{
  int memory;
  int sample_bytes, depth, shift;
  int period;
  int channel[HISTO_MAX_PERIOD]; /* index among those given */
} HistoPattern;

/* Puts each channel into one pattern, as few as can be; returns how many. */
int histo_find_patterns (const HistoChannel *channel, int n,
    HistoPattern pattern[HISTO_MAX_CHANNELS]);

#ifdef __cplusplus
}
#endif
