/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* restart: lets the suite continue after a test that failed, crashed or hung.
 *
 * Such a test leaves the process in an unknown state: its threads may still run. The
 * program therefore executes itself anew, passes on the tally, and continues with the
 * next test. A process for each test would do as well, but CUDA does not survive a
 * fork, and its start is slow. */
#pragma once

/* Each test that was run or skipped counts once: the sum is also the index in the list
 * at which the next process continues. */
typedef struct
{
  int passed, failed, skipped;
} Tally;

/* To be called before anything changes the arguments, the environment or the signal
 * mask, since the next process gets those of this moment. Removes the tally of the
 * former process from the arguments; the tally is zero in the first process. */
void restart_init (int *argc, char **argv, Tally *tally);

/* Sets the tally that the next process starts with if this one ends from now on. */
void restart_prepare (const Tally *tally);

/* Executes the program anew. Returns only on failure, or before restart_prepare():
 * without a test begun, a new process would end in the same way. Async-signal-safe. */
void restart_run (void);
