/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bytes: how often each byte occurs, for all that counts on the CPU.
 *
 * A counter that is incremented twice in a row waits for its own store. So samples
 * that follow each other count in different tables of 256. In most pictures
 * neighbours differ little: a pair of bytes is then one increment in a table of
 * 65536, few lines of which are in use. Noise would use all of them, which the
 * first-level cache does not hold, and a flat picture only one counter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTES_TABLES 8
/* Counters between those of two threads: two lines of the caches. In a line that both
 * write to, every increment would wait for the other thread's. */
#define BYTES_APART 32
/* Counters of one set of tables, and of a table of pairs, with what keeps them apart from
 * another thread's. Whoever counts has them zero at first. */
#define BYTES_ENTRIES (BYTES_TABLES * 256 + BYTES_APART)
#define BYTES_PAIRS (65536 + BYTES_APART)

/* Counts n bytes that are `stride` apart. */
void bytes_count (
    uint32_t *tables, const uint8_t *sample, ptrdiff_t stride, int n);

/* Whether pairs are the faster way for rows like this one: asks some of its bytes. */
bool bytes_suit_pairs (const uint8_t *row, int n);

/* Counts n bytes in a row by pairs, and what is left of them in `tables`. */
void bytes_count_pairs (
    uint32_t *pairs, uint32_t *tables, const uint8_t *row, int n);

/* Adds the pairs to the first of the tables, and leaves them zero. */
void bytes_fold_pairs (uint32_t *pairs, uint32_t *tables);

/* Adds all tables up in the first, and leaves the others zero. */
void bytes_fold_tables (uint32_t *tables);
