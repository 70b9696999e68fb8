/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples that lie apart, to and from rows of them: each by itself is what the vectors are compared with. */
#include "kerncheck.h"

#include "sepconv/strided.h"

#include <string.h>

#define MOST 300
#define GUARD 80
#define APART (8 * MOST + 2 * GUARD)

static void
strided_case (Check *check, Random *random, int index, const void *data)
{
  const StridedLoops *loops = strided_loops ();
  const int bytes = 1 + index % 2;
  const int distance = bytes * random_int (random, 1, 8 / bytes);
  const int n = random_int (random, 1, index % 4 < 2 ? 70 : MOST);
  uint8_t apart[APART], close[2 * MOST + 2 * GUARD];
  uint8_t wanted_apart[APART], wanted_close[sizeof close];

  (void) data;
  check_describe (
      check, "%d samples of %d bytes, %d apart", n, bytes, distance);
  for (size_t i = 0; i < sizeof apart; i++)
    apart[i] = (uint8_t) random_int (random, 0, 255);
  for (size_t i = 0; i < sizeof close; i++)
    close[i] = (uint8_t) random_int (random, 0, 255);
  memcpy (wanted_close, close, sizeof close);
  memcpy (wanted_apart, apart, sizeof apart);
  for (int i = 0; i < n; i++)
    memcpy (wanted_close + GUARD + i * bytes, apart + GUARD + i * distance,
        (size_t) bytes);
  loops->gather (close + GUARD, apart + GUARD, n, bytes, distance);
  EXPECT (check, memcmp (close, wanted_close, sizeof close) == 0,
      "gathered samples, or bytes around them, differ");
  for (size_t i = 0; i < sizeof close; i++)
    close[i] = (uint8_t) random_int (random, 0, 255);
  for (int i = 0; i < n; i++)
    memcpy (wanted_apart + GUARD + i * distance, close + GUARD + i * bytes,
        (size_t) bytes);
  loops->scatter (apart + GUARD, close + GUARD, n, bytes, distance);
  EXPECT (check, memcmp (apart, wanted_apart, sizeof apart) == 0,
      "scattered samples, or bytes around them, differ");
}

static void
check_strided (Check *check, const void *data)
{
  check_cases (check, check->quick ? 400 : 4000, strided_case, data);
}

void
check_strided_add (void)
{
  kerncheck_add (check_strided, NULL, NULL, "rows/strided");
}
