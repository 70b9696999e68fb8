/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Conversion between samples that are apart and rows of samples: the vectorised functions are
 * compared with sample-by-sample ones. */
#include "kerncheck.h"

#include "sepconv/strided.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST 300
#define GUARD 80

/* Memory with an inaccessible page after it, at which rows end. */
typedef struct
{
  uint8_t *pages;
  size_t page, bytes; /* bytes of memory before that page */
} Fence;

static bool
fence_new (Fence *fence)
{
  fence->page = (size_t) sysconf (_SC_PAGESIZE);
  fence->bytes = (8 * MOST + GUARD) / fence->page * fence->page + fence->page;
  fence->pages = mmap (NULL, fence->bytes + fence->page, PROT_READ | PROT_WRITE,
      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return fence->pages != MAP_FAILED
      && mprotect (fence->pages + fence->bytes, fence->page, PROT_NONE) == 0;
}

static uint8_t *
fence_row (const Fence *fence, size_t bytes)
{
  return fence->pages + fence->bytes - bytes;
}

static void
fence_free (Fence *fence)
{
  munmap (fence->pages, fence->bytes + fence->page);
}

static void
paint (const Fence *fence, Random *random)
{
  for (size_t i = 0; i < fence->bytes; i++)
    fence->pages[i] = (uint8_t) random_int (random, 0, 255);
}

static void
strided_case (Check *check, Random *random, int index, const void *data)
{
  const StridedLoops *loops = strided_loops ();
  const int bytes = 1 + index % 2;
  const int distance = bytes * random_int (random, 1, 8 / bytes);
  const int n = random_int (random, 1, index % 4 < 2 ? 70 : MOST);
  Fence close, apart;
  uint8_t *wanted, *to, *from;

  (void) data;
  check_describe (
      check, "%d samples of %d bytes, %d apart", n, bytes, distance);
  if (!EXPECT (check, fence_new (&close), "no memory"))
    return;
  if (!EXPECT (check, fence_new (&apart), "no memory")) {
    fence_free (&close);
    return;
  }
  wanted = kerncheck_alloc (close.bytes);
  to = fence_row (&close, (size_t) (n * bytes));
  from = fence_row (&apart, (size_t) ((n - 1) * distance + bytes));

  paint (&close, random);
  paint (&apart, random);
  memcpy (wanted, close.pages, close.bytes);
  for (int i = 0; i < n; i++)
    memcpy (wanted + (to - close.pages) + i * bytes, from + i * distance,
        (size_t) bytes);
  loops->gather (to, from, n, bytes, distance);
  EXPECT (check, memcmp (close.pages, wanted, close.bytes) == 0,
      "gathered samples, or bytes before them, differ");

  paint (&close, random);
  memcpy (wanted, apart.pages, apart.bytes);
  for (int i = 0; i < n; i++)
    memcpy (wanted + (from - apart.pages) + i * distance, to + i * bytes,
        (size_t) bytes);
  loops->scatter (from, to, n, bytes, distance);
  EXPECT (check, memcmp (apart.pages, wanted, apart.bytes) == 0,
      "scattered samples, or bytes between and before them, differ");
  free (wanted);
  fence_free (&apart);
  fence_free (&close);
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
