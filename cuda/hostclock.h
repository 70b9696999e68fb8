/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hostclock: the host's monotonic clock, and sleeping by it. Any thread. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds of CLOCK_MONOTONIC. */
double host_clock_ns (void);

/* Sleeps until host_clock_ns() reaches `ns`. Returns a few microseconds late, or early if a signal
 * arrives. */
void host_clock_sleep_until (double ns);

#ifdef __cplusplus
}
#endif
