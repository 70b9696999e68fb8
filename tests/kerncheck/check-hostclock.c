/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The host's clock, compared with the system's. */
#include "kerncheck.h"

#include "hostclock.h"

#include <stdint.h>
#include <time.h>

static int64_t
system_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Each reading lies between two of the system's. */
static void
check_reading (Check *check, const void *data)
{
  (void) data;
  check->cases++;
  for (int i = 0; i < 1000; i++) {
    const int64_t before = system_ns ();
    const double ns = host_clock_ns ();
    const int64_t after = system_ns ();

    /* After months of uptime, doubles are some nanoseconds apart. */
    if (!EXPECT (check, ns >= (double) before - 8 && ns <= (double) after + 8,
            "%.0f ns, not from %lld to %lld", ns, (long long) before,
            (long long) after))
      return;
  }
}

/* A sleeper wakes soon after its deadline, and at once if that has passed. */
static void
check_sleep (Check *check, const void *data)
{
  static const double spans[] = { -1e9, 0.0, 1e6, 2e7, 1.1e9 };

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
    const double began = host_clock_ns (), until = began + spans[i];
    double late;

    host_clock_sleep_until (until);
    late = host_clock_ns () - (spans[i] > 0.0 ? until : began);
    EXPECT (
        check, late >= 0.0, "woken %.0f ns early, after %.0f", -late, spans[i]);
    /* Other processes may occupy the cores. */
    EXPECT (
        check, late < 8e8, "woken %.0f ns late, after %.0f", late, spans[i]);
  }
}

void
check_hostclock_add (void)
{
  kerncheck_add (check_reading, NULL, NULL, "hostclock/reading");
  kerncheck_add (check_sleep, NULL, NULL, "hostclock/sleep");
}
