/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compares two files of samples.
 *
 *   compare-raw A B SAMPLE-BYTES STEP
 *
 * SAMPLE-BYTES is 1, or 2 for little-endian words; STEP is one code value in units of
 * the sample (64 for 10 bits in the high bits of a word). Prints the differences. Exit
 * status: 0 if both files have the same length, at least one sample and no difference
 * above STEP; 1 if not; 2 on failure. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 65536 /* a multiple of both sample sizes */

static unsigned
sample (const uint8_t *block, size_t offset, size_t bytes)
{
  return bytes == 1 ? block[offset]
                    : block[offset] | (unsigned) block[offset + 1] << 8;
}

int
main (int argc, char **argv)
{
  static uint8_t block[2][BLOCK];
  FILE *file[2] = { NULL, NULL };
  uint64_t samples = 0, differing = 0;
  unsigned largest = 0;
  size_t bytes, length;
  unsigned step;
  bool same_length;

  if (argc != 5) {
    fprintf (stderr, "compare-raw A B SAMPLE-BYTES STEP\n");
    return 2;
  }
  bytes = argv[3][0] == '2' ? 2 : 1;
  step = (unsigned) strtoul (argv[4], NULL, 10);
  for (int i = 0; i < 2; i++) {
    file[i] = fopen (argv[1 + i], "rb");
    if (!file[i]) {
      perror (argv[1 + i]);
      return 2;
    }
  }

  do {
    length = fread (block[0], 1, BLOCK, file[0]);
    same_length = fread (block[1], 1, BLOCK, file[1]) == length;
    for (size_t i = 0; same_length && i + bytes <= length; i += bytes) {
      unsigned a = sample (block[0], i, bytes);
      unsigned b = sample (block[1], i, bytes);
      unsigned difference = a > b ? a - b : b - a;

      samples++;
      differing += difference != 0;
      if (largest < difference)
        largest = difference;
    }
  } while (same_length && length == BLOCK);

  if (ferror (file[0]) || ferror (file[1])) {
    perror ("compare-raw");
    return 2;
  }
  fclose (file[0]);
  fclose (file[1]);
  printf (
      "%llu samples, %llu differ (%.4f %%), by at most %.2f code values%s\n",
      (unsigned long long) samples, (unsigned long long) differing,
      samples ? 100.0 * (double) differing / (double) samples : 0.0,
      (double) largest / step, same_length ? "" : ", and lengths differ");
  return same_length && samples > 0 && largest <= step ? 0 : 1;
}
