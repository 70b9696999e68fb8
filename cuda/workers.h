/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* workers: a few threads that share an image, by rows or columns.
 *
 * The first job of more than one part starts the threads. Between jobs they look for the next one
 * for some microseconds, then they sleep. One job at a time: workers_run() may not be called by two
 * threads at once, nor from within a job. */
#pragma once

#include "fault.h"

typedef struct Workers Workers;

/* Handles items [first, last) as worker `worker`, in 0..workers_count()-1. */
typedef void (*WorkersJob) (void *user, int worker, int first, int last);

#define WORKERS_MAX 64
/* As many workers as there are cores this process may use, at most `limit` and WORKERS_MAX; the
 * calling thread is one of them. If the system gives fewer threads, those that there are do the
 * work. NULL: there is no memory. */
Workers *workers_new (int limit, Fault *fault);
void workers_free (Workers *workers);
/* Caps the `limit` of every later workers_new() on the calling thread; 0, the default: no cap.
 * Returns what it was. For callers of functions that make their workers themselves, as plans do. */
int workers_limit (int most);
int workers_count (const Workers *workers);

/* Calls `job` for all of [0, n) in parts of at most `grain` items (>= 1), and
 * returns when all are done. */
void workers_run (
    Workers *workers, int n, int grain, WorkersJob job, void *user);
