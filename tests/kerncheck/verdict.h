/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* verdict: whether a result is what sepconv.h promises. */
#pragma once

#include "pictures.h"

/* What the first wrong sample is, or that there is none. Plain data, so that a
 * thread can hand it to the one that runs the check. */
typedef struct
{
  bool ok;
  char text[256];
} Verdict;

/* Compares a result with the oracle: filtered channels within the promised
 * accuracy and without bits below the code, others bit by bit. */
void verdict_by_oracle (Verdict *verdict, const SepconvSpec *spec,
    const Image *src, const Image *dst);

/* Compares two methods' results for the same input: as both are within less
 * than 1 of the same number, their codes differ by at most 1. */
void verdict_by_other (Verdict *verdict, const SepconvSpec *spec,
    const Image *dst, const Image *other);

/* Whether two results are the same in all samples. */
void verdict_same (Verdict *verdict, const Image *a, const Image *b);

/* Whether what is outside the picture's rows is as in `before`, a copy of its
 * block: a copy by rows may write what rows own but samples do not. */
void verdict_outside_rows (
    Verdict *verdict, const Picture *picture, const uint8_t *before);

/* Whether a picture's guards are as in `before`, a copy of its block. */
void verdict_guards (
    Verdict *verdict, const Picture *picture, const uint8_t *before);
