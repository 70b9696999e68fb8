/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memo: results of functions of taps that take long, kept for calls with the same arguments: regions of a
 * detector come back to the same sizes, and a plan is made of the taps that its method was chosen by.
 * The process has one, of a fixed size, in which new results take the place of the oldest ones. So
 * whether a result is there depends on what else was kept, but not what it is. Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum
{
  MEMO_MULTIRATE_AXIS,
  MEMO_SMOOTHED_TAPS,
  MEMO_OF_TESTS,
} MemoOf;

/* The arguments, compared byte by byte: structs without padding, or zeroed. */
typedef struct
{
  MemoOf of; /* which function */
  const void *settings;
  size_t settings_bytes;
  const void *taps;
  size_t taps_bytes;
} MemoKey;

/* Copies what was kept last for the key to `value`, which has room for `most` bytes. Returns false if it is not
 * there, or is larger. */
bool memo_find (const MemoKey *key, void *value, size_t most);

/* Keeps a copy. Very large ones are left out. */
void memo_keep (const MemoKey *key, const void *value, size_t bytes);
