/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memo: a stored value is returned unchanged, or not at all, whatever else is stored, also by
 * other threads. */
#include "kerncheck.h"

#include "sepconv/memo.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define N_KEYS 3000 /* whose values need more room than there is */
#define MAX_TAPS 400
#define MAX_VALUE 4096 /* bytes */
#define LARGE (1 << 20)
#define N_THREADS 3

/* Key number i and its value, both derived from i alone. */
typedef struct
{
  uint64_t settings[2];
  double taps[MAX_TAPS];
  MemoKey key;
  uint8_t value[MAX_VALUE];
  size_t bytes;
} Kept;

static void
make_kept (Kept *kept, int i)
{
  Random random = { (uint64_t) i };

  /* Numbers that differ by one give keys that differ only in their last tap. */
  kept->settings[0] = (uint64_t) (i / 8);
  kept->settings[1] = 7;
  kept->key.of = MEMO_OF_TESTS;
  kept->key.settings = kept->settings;
  kept->key.settings_bytes = (size_t) (8 + 4 * (i / 8 % 3));
  kept->key.taps = kept->taps;
  kept->key.taps_bytes = sizeof kept->taps[0] * (size_t) (1 + i / 8 % MAX_TAPS);
  for (int k = 0; k < MAX_TAPS; k++)
    kept->taps[k] = k;
  kept->taps[i / 8 % MAX_TAPS] = i;
  kept->bytes = (size_t) random_int (&random, 0, MAX_VALUE);
  for (size_t k = 0; k < kept->bytes; k++)
    kept->value[k] = (uint8_t) random_next (&random);
}

/* Whether the memo has the value: 1 or 0; -1: it has a wrong value. */
static int
look (const Kept *kept)
{
  uint8_t found[MAX_VALUE + 1];

  memset (found, 0x5a, sizeof found);
  if (!memo_find (&kept->key, found, MAX_VALUE))
    return 0;
  return memcmp (found, kept->value, kept->bytes) == 0
          && found[kept->bytes] == 0x5a
      ? 1
      : -1;
}

static void
check_values (Check *check, const void *data)
{
  const int n = check->quick ? 4 * N_KEYS : 40 * N_KEYS;
  Random random = { check->seed };
  int hits = 0;
  Kept kept;

  (void) data;
  check->cases++;
  for (int i = 0; i < n; i++) {
    int seen;

    make_kept (&kept, random_int (&random, 0, N_KEYS - 1));
    seen = look (&kept);
    hits += seen > 0;
    if (seen == 0) {
      memo_keep (&kept.key, kept.value, kept.bytes);
      seen = look (&kept);
    }
    if (!EXPECT (
            check, seen == 1, "a value is %s", seen < 0 ? "wrong" : "lost"))
      return;
  }
  EXPECT (check, hits > n / 10, "%d of %d values were there", hits, n);
}

/* The last of several values of one key counts. */
static void
check_edges (Check *check, const void *data)
{
  static uint8_t large[LARGE];
  uint8_t found[MAX_VALUE];
  Kept kept;

  (void) data;
  check->cases++;
  make_kept (&kept, N_KEYS);
  memo_keep (&kept.key, "one", 3);
  memo_keep (&kept.key, "other", 5);
  EXPECT (check,
      memo_find (&kept.key, found, sizeof found)
          && memcmp (found, "other", 5) == 0,
      "an older value came back");
  EXPECT (
      check, !memo_find (&kept.key, found, 4), "it was larger than its room");
  kept.key.of = MEMO_MULTIRATE_AXIS;
  EXPECT (check, !memo_find (&kept.key, found, sizeof found),
      "another function's value came back");
  make_kept (&kept, N_KEYS + 1);
  memo_keep (&kept.key, large, sizeof large);
  EXPECT (check, !memo_find (&kept.key, large, sizeof large),
      "a large value was kept");
}

/* Finds and stores values; returns NULL, or `data` after a wrong value. */
static void *
use (void *data)
{
  Random random = { (uint64_t) * (const int *) data };
  Kept kept;

  for (int i = 0; i < 4 * N_KEYS; i++) {
    int seen;

    make_kept (&kept, random_int (&random, 0, N_KEYS - 1));
    seen = look (&kept);
    if (seen < 0)
      return data;
    if (seen == 0)
      memo_keep (&kept.key, kept.value, kept.bytes);
  }
  return NULL;
}

static void
check_threads (Check *check, const void *data)
{
  pthread_t thread[N_THREADS];
  int seeds[N_THREADS] = { 1, 2, 3 }, n = 0;

  (void) data;
  check->cases++;
  while (
      n < N_THREADS && pthread_create (&thread[n], NULL, use, &seeds[n]) == 0)
    n++;
  EXPECT (check, n == N_THREADS, "no thread");
  for (int i = 0; i < n; i++) {
    void *wrong = NULL;

    EXPECT (check, pthread_join (thread[i], &wrong) == 0 && wrong == NULL,
        "a value is wrong");
  }
}

void
check_memo_add (void)
{
  kerncheck_add (check_values, NULL, NULL, "memo/values");
  kerncheck_add (check_edges, NULL, NULL, "memo/edges");
  kerncheck_add (check_threads, NULL, NULL, "memo/threads");
}
