/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* restart: how the suite goes on behind a test that failed, crashed or hung.
 *
 * Such a test leaves a process that cannot be trusted: its threads may still run. The
 * program then executes itself anew, hands over the tally, and goes on with the
 * test behind. A process for each test would do so, too, but CUDA does not
 * survive a fork, and takes long to start. */
#pragma once

/* Each test that was run or skipped counts once, so that the sum is also the
 * place in the list where the next process goes on. */
typedef struct
{
  int passed, failed, skipped;
} Tally;

/* To be called before anything changes the arguments, the environment or the
 * signal mask: the next process gets those of this moment. Takes out of the
 * arguments the tally that the former process has handed over; zeros if this
 * one is the first. */
void restart_init (int *argc, char **argv, Tally *tally);

/* Says what the next process shall count, should this one end from now on. */
void restart_prepare (const Tally *tally);

/* Returns only if it failed, or before restart_prepare(): a process that no test
 * has begun in would come to the same end again. Safe in a signal handler. */
void restart_run (void);
