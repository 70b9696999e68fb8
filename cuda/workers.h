/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* workers: a pool of threads that divide an image among them, by rows or columns.
 *
 * The first job of more than one part starts the threads. Between jobs they poll for the next one
 * for some microseconds, then sleep. One job at a time: workers_run() may not be called by two
 * threads at once, nor from within a job. */
#pragma once

#include "fault.h"

typedef struct Workers Workers;

/* Handles items [first, last) as worker `worker`, in 0..workers_count()-1. */
typedef void (*WorkersJob) (void *user, int worker, int first, int last);

#define WORKERS_MAX 64
/* Makes one worker for each core that this process may use, at most `limit` and WORKERS_MAX; the
 * calling thread is one of them. If the system starts fewer threads, these do all the work. NULL:
 * out of memory. */
Workers *workers_new (int limit, Fault *fault);
void workers_free (Workers *workers);
/* Caps the `limit` of every later workers_new() on the calling thread; 0, the default: no cap.
 * Returns the previous cap. For callers of functions that make workers themselves, as plans do. */
int workers_limit (int most);
int workers_count (const Workers *workers);

/* Calls `job` for all of [0, n) in parts of at most `grain` items (>= 1), and
 * returns when all parts are done. */
void workers_run (
    Workers *workers, int n, int grain, WorkersJob job, void *user);
