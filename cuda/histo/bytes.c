/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bytes.h"

#include <string.h>

/* Samples of a row by which bytes_suit_pairs() decides: so many words of eight bytes. */
#define PROBES 32
/* Neighbours that differ by more than this count in distant cache lines of the table. */
#define NEAR 24
/* Bytes of a software prefetch, and how many bytes ahead it is: the hardware does not prefetch
 * beyond a page, in which there are few rows. */
#define LINE 64
#define AHEAD 2048

/* Inlined, for a constant stride. */
static inline __attribute__ ((always_inline)) void
count_apart (uint32_t *tables, const uint8_t *sample, ptrdiff_t stride, int n)
{
  int x = 0;

  for (; x + BYTES_TABLES <= n; x += BYTES_TABLES) {
    for (int i = 0; i < BYTES_TABLES; i++)
      tables[i * 256 + sample[i * stride]]++;
    sample += BYTES_TABLES * stride;
  }
  for (; x < n; x++, sample += stride)
    tables[*sample]++;
}

void
bytes_count (uint32_t *tables, const uint8_t *sample, ptrdiff_t stride, int n)
{
  if (stride == 1)
    count_apart (tables, sample, 1, n);
  else
    count_apart (tables, sample, stride, n);
}

static uint64_t
load_word (const uint8_t *at)
{
  uint64_t word;

  memcpy (&word, at, sizeof word);
  return word;
}

bool
bytes_suit_pairs (const uint8_t *row, int n)
{
  const int apart = n / PROBES;
  int near = 0, flat = 0;

  if (apart < 8)
    return false;
  for (int i = 0; i < PROBES; i++) {
    const uint64_t word = load_word (row + i * apart);
    const int step = (int) (word & 255) - (int) (word >> 8 & 255);

    near += step >= -NEAR && step <= NEAR;
    flat += word == (word >> 16 | word << 48);
  }
  return near >= PROBES * 7 / 8 && flat <= PROBES / 4;
}

static inline void
count_word (uint32_t *pairs, uint64_t word)
{
  pairs[word & 0xffff]++;
  pairs[word >> 16 & 0xffff]++;
  pairs[word >> 32 & 0xffff]++;
  pairs[word >> 48]++;
}

void
bytes_count_pairs (uint32_t *pairs, uint32_t *tables, const uint8_t *row, int n)
{
  int x = 0;

  for (; x + LINE <= n; x += LINE) {
    __builtin_prefetch (row + x + AHEAD);
    for (int i = 0; i < LINE; i += 8)
      count_word (pairs, load_word (row + x + i));
  }
  for (; x + 8 <= n; x += 8)
    count_word (pairs, load_word (row + x));
  count_apart (tables, row + x, 1, n - x);
}

void
bytes_fold_pairs (uint32_t *pairs, uint32_t *tables)
{
  for (int high = 0; high < 256; high++) {
    uint32_t *row = pairs + high * 256;
    uint32_t sum = 0;

    for (int low = 0; low < 256; low++) {
      tables[low] += row[low];
      sum += row[low];
    }
    tables[high] += sum;
    memset (row, 0, 256 * sizeof *row);
  }
}

void
bytes_fold_tables (uint32_t *tables)
{
  for (int table = 1; table < BYTES_TABLES; table++) {
    uint32_t *other = tables + table * 256;

    for (int value = 0; value < 256; value++)
      tables[value] += other[value];
    memset (other, 0, 256 * sizeof *other);
  }
}
