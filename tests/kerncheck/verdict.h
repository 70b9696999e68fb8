/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* verdict: compares a result with what sepconv.h promises. */
#pragma once

#include "pictures.h"

/* The first wrong sample, or that there is none. Plain data, so that a thread can pass
 * it to the one that runs the check. */
typedef struct
{
  bool ok;
  char text[256];
} Verdict;

/* Compares a result with the oracle: filtered channels must be within the promised
 * accuracy and have no bits below the code; other channels must be identical bit by
 * bit. */
void verdict_by_oracle (Verdict *verdict, const SepconvSpec *spec,
    const Image *src, const Image *dst);

/* Compares two methods' results for the same input. Both are within less than 1 of the
 * same number, so that their codes may differ by at most 1. */
void verdict_by_other (Verdict *verdict, const SepconvSpec *spec,
    const Image *dst, const Image *other);

/* Expects all samples of two results to be identical. */
void verdict_same (Verdict *verdict, const Image *a, const Image *b);

/* Expects the bytes outside of the picture's rows to be as in `before`, a copy of its
 * block. A copy by rows may write bytes inside rows that belong to no sample. */
void verdict_outside_rows (
    Verdict *verdict, const Picture *picture, const uint8_t *before);

/* Expects a picture's guards to be as in `before`, a copy of its block. */
void verdict_guards (
    Verdict *verdict, const Picture *picture, const uint8_t *before);
