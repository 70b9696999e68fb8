/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memo: a cache of the results of slow functions of taps, for later calls with the same arguments:
 * the regions of a detector return to the same sizes, and a plan is made from the taps by which its
 * method was chosen. There is one cache per process, of fixed size; new results replace the oldest
 * ones. Whether a result is found depends on other calls; its value never does. Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum
{
  MEMO_MULTIRATE_AXIS,
  MEMO_SMOOTHED_TAPS,
  MEMO_OF_TESTS,
} MemoOf;

/* The function's arguments, compared byte by byte: structs must have no padding, or zeroed
 * padding. */
typedef struct
{
  MemoOf of; /* which function */
  const void *settings;
  size_t settings_bytes;
  const void *taps;
  size_t taps_bytes;
} MemoKey;

/* Copies the value that was kept last for the key to `value`, which has room for `most` bytes.
 * Returns false if there is none, or if it is larger. */
bool memo_find (const MemoKey *key, void *value, size_t most);

/* Keeps a copy of the value. Very large values are not kept. */
void memo_keep (const MemoKey *key, const void *value, size_t bytes);
