/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE /* sched_getaffinity */
#include "workers.h"

#include "hostclock.h"
#include "trace.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Polling time before a thread sleeps: of a worker that has finished, for the next job; of the
 * thread that gave out a job, for the end of the others. Each plane of a frame is a job, and waking
 * a thread takes longer than the work on a small plane. */
#define LOOK_NS 25e3

typedef struct
{
  Workers *workers;
  int index;
  pthread_t thread;
} Worker;

struct Workers
{
  int count; /* the most workers that there may be */
  int threads; /* workers that exist, with the calling thread; 0: none was started yet */
  Worker worker[WORKERS_MAX];

  WorkersJob job; /* written before `round` grows, then read-only */
  void *user;
  int n, grain;
  atomic_llong next; /* first item that no thread has taken */

  /* protects the fields below; atomics are also read without it */
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  atomic_uint round; /* grows with each job, and at the end */
  bool open;         /* the job may have parts left: threads may join it */
  atomic_int busy;   /* threads that have joined it, and are not done */
  bool quit;
};

static void
pause_briefly (void)
{
#if defined __x86_64__
  __builtin_ia32_pause ();
#elif defined __aarch64__
  __asm__ volatile("yield");
#endif
}

static void
look_for_job (const Workers *workers, unsigned seen)
{
  const double end = host_clock_ns () + LOOK_NS;

  while (atomic_load (&workers->round) == seen && host_clock_ns () < end)
    pause_briefly ();
}

static void
look_for_end (const Workers *workers)
{
  const double end = host_clock_ns () + LOOK_NS;

  while (atomic_load (&workers->busy) > 0 && host_clock_ns () < end)
    pause_briefly ();
}

static void
take_parts (Workers *workers, int index)
{
  TRACE_BLOCK (TRACE_PASS, 0);
  for (;;) {
    const long long first = atomic_fetch_add (&workers->next, workers->grain);
    const long long last = first + workers->grain;

    if (first >= workers->n)
      return;
    workers->job (workers->user, index, (int) first,
        last < workers->n ? (int) last : workers->n);
  }
}

static void *
worker_main (void *data)
{
  Worker *worker = data;
  Workers *workers = worker->workers;
  unsigned seen = 0;
  char name[32];

  snprintf (name, sizeof name, "gst-cudasepconv worker %d", worker->index);
  trace_name_thread (name);
  pthread_mutex_lock (&workers->lock);
  for (;;) {
    while (workers->round == seen && !workers->quit)
      pthread_cond_wait (&workers->work, &workers->lock);
    if (workers->quit)
      break;
    seen = workers->round;
    if (!workers->open)
      continue;
    workers->busy++;
    pthread_mutex_unlock (&workers->lock);
    take_parts (workers, worker->index);
    pthread_mutex_lock (&workers->lock);
    if (--workers->busy == 0)
      pthread_cond_signal (&workers->done);
    pthread_mutex_unlock (&workers->lock);
    look_for_job (workers, seen);
    pthread_mutex_lock (&workers->lock);
  }
  pthread_mutex_unlock (&workers->lock);
  return NULL;
}

static _Thread_local int most_workers; /* 0: any number */

int
workers_limit (int most)
{
  const int before = most_workers;

  most_workers = most;
  return before;
}

static int
usable_cores (int limit)
{
  cpu_set_t set;
  int n = 1;

  if (sched_getaffinity (0, sizeof set, &set) == 0)
    n = CPU_COUNT (&set);
  if (n > limit)
    n = limit;
  if (most_workers > 0 && n > most_workers)
    n = most_workers;
  return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : n;
}

Workers *
workers_new (int limit, Fault *fault)
{
  Workers *workers = calloc (1, sizeof *workers);

  if (workers == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for worker threads.");
    return NULL;
  }
  pthread_mutex_init (&workers->lock, NULL);
  pthread_cond_init (&workers->work, NULL);
  pthread_cond_init (&workers->done, NULL);
  atomic_init (&workers->next, 0);
  workers->count = usable_cores (limit);
  return workers;
}

static void
start_threads (Workers *workers)
{
  workers->threads = 1;
  /* If the system starts fewer threads, the work is done by these. */
  while (workers->threads < workers->count) {
    Worker *worker = &workers->worker[workers->threads];

    worker->workers = workers;
    worker->index = workers->threads;
    if (pthread_create (&worker->thread, NULL, worker_main, worker) != 0)
      break;
    workers->threads++;
  }
}

void
workers_free (Workers *workers)
{
  if (workers == NULL)
    return;
  pthread_mutex_lock (&workers->lock);
  workers->quit = true;
  workers->round++;
  pthread_cond_broadcast (&workers->work);
  pthread_mutex_unlock (&workers->lock);
  for (int i = 1; i < workers->threads; i++)
    pthread_join (workers->worker[i].thread, NULL);
  pthread_cond_destroy (&workers->done);
  pthread_cond_destroy (&workers->work);
  pthread_mutex_destroy (&workers->lock);
  free (workers);
}

int
workers_count (const Workers *workers)
{
  return workers->count;
}

void
workers_run (Workers *workers, int n, int grain, WorkersJob job, void *user)
{
  workers->job = job;
  workers->user = user;
  workers->n = n;
  workers->grain = grain;
  atomic_store (&workers->next, 0);
  if (n > grain && workers->threads == 0)
    start_threads (workers);
  if (n <= grain || workers->threads == 1) {
    take_parts (workers, 0);
    return;
  }

  pthread_mutex_lock (&workers->lock);
  workers->round++;
  workers->open = true;
  pthread_cond_broadcast (&workers->work);
  pthread_mutex_unlock (&workers->lock);

  take_parts (workers, 0);

  /* No part is left: threads that are not yet awake need not join. */
  pthread_mutex_lock (&workers->lock);
  workers->open = false;
  pthread_mutex_unlock (&workers->lock);
  look_for_end (workers);
  pthread_mutex_lock (&workers->lock);
  while (workers->busy > 0)
    pthread_cond_wait (&workers->done, &workers->lock);
  pthread_mutex_unlock (&workers->lock);
}
