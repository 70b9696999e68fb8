/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE /* clock_nanosleep */
#include "hostclock.h"

#include <stdbool.h>
#include <sys/prctl.h>
#include <time.h>

double
host_clock_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec * 1e9 + (double) now.tv_nsec;
}

void
host_clock_sleep_until (double ns)
{
  static _Thread_local bool precise;
  struct timespec until;

  if (!precise) {
    /* Timers may otherwise be 50 us late. A refusal is harmless. */
    (void) prctl (PR_SET_TIMERSLACK, 1000UL);
    precise = true;
  }
  until.tv_sec = (time_t) (ns / 1e9);
  until.tv_nsec = (long) (ns - 1e9 * (double) until.tv_sec);
  (void) clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}
