/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bytes: counts how often each byte value occurs, for all CPU code that counts.
 *
 * A counter that is incremented twice in a row waits for its own store. So neighbouring
 * samples count in different tables of 256. In most pictures neighbours differ little:
 * then a pair of bytes is one increment in a table of 65536, of which few cache lines are
 * in use. Noise would use all lines, which the first-level cache does not hold, and a flat
 * picture only one counter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTES_TABLES 8
/* Unused counters between those of two threads: two cache lines. In a shared line, every
 * increment would wait for the other thread's (false sharing). */
#define BYTES_APART 32
/* Counters of one set of tables, and of a table of pairs, with BYTES_APART. The caller
 * zeroes them before the first count. */
#define BYTES_ENTRIES (BYTES_TABLES * 256 + BYTES_APART)
#define BYTES_PAIRS (65536 + BYTES_APART)

/* Counts n bytes that are `stride` apart. */
void bytes_count (
    uint32_t *tables, const uint8_t *sample, ptrdiff_t stride, int n);

/* Whether counting by pairs is faster for rows like this one; looks at some of its bytes. */
bool bytes_suit_pairs (const uint8_t *row, int n);

/* Counts n adjacent bytes by pairs, and the last n % 8 in `tables`. */
void bytes_count_pairs (
    uint32_t *pairs, uint32_t *tables, const uint8_t *row, int n);

/* Adds the pairs to the first of the tables, and leaves them zero. */
void bytes_fold_pairs (uint32_t *pairs, uint32_t *tables);

/* Adds all tables up in the first, and leaves the others zero. */
void bytes_fold_tables (uint32_t *tables);
