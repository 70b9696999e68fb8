/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Workers: each item is handled once, by the wanted number of threads. */
#include "kerncheck.h"

#include "workers.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define MAX_ITEMS 5000

/* Written by several threads, judged when they are done. */
typedef struct
{
  int count, n, grain;
  atomic_int handled[MAX_ITEMS];
  atomic_bool at_work[WORKERS_MAX];
  atomic_int bad_parts;   /* empty, too large, or not within [0, n) */
  atomic_int bad_workers; /* invalid number, or in two parts at once */
} Tally;

static void
tally_part (void *user, int worker, int first, int last)
{
  Tally *tally = user;

  if (worker < 0 || worker >= tally->count
      || atomic_exchange (&tally->at_work[worker], true)) {
    atomic_fetch_add (&tally->bad_workers, 1);
    return;
  }
  if (first < 0 || last > tally->n || last <= first
      || last - first > tally->grain)
    atomic_fetch_add (&tally->bad_parts, 1);
  else
    for (int i = first; i < last; i++)
      atomic_fetch_add (&tally->handled[i], 1);
  atomic_store (&tally->at_work[worker], false);
}

static void
expect_run (Check *check, Workers *workers, Tally *tally, int n, int grain)
{
  tally->count = workers_count (workers);
  tally->n = n;
  tally->grain = grain;
  for (int i = 0; i < MAX_ITEMS; i++)
    atomic_store (&tally->handled[i], 0);
  workers_run (workers, n, grain, tally_part, tally);
  EXPECT (check, atomic_load (&tally->bad_parts) == 0,
      "%d parts that are empty, too large or outside",
      atomic_load (&tally->bad_parts));
  EXPECT (check, atomic_load (&tally->bad_workers) == 0,
      "%d parts by no worker, or by one that was at another",
      atomic_load (&tally->bad_workers));
  for (int i = 0; i < MAX_ITEMS; i++)
    if (!EXPECT (check, atomic_load (&tally->handled[i]) == (i < n),
            "item %d of %d was handled %d times", i, n,
            atomic_load (&tally->handled[i])))
      return;
}

static void
run_case (Check *check, Random *random, int index, const void *data)
{
  static const int limits[] = { 1, 2, 3, 4, WORKERS_MAX };
  const int limit = limits[index % 5];
  Workers *workers[2] = { NULL, NULL };
  Tally *tally = kerncheck_alloc (sizeof *tally);
  Fault fault;

  (void) data;
  for (int i = 0; i < 2; i++) {
    workers[i] = workers_new (limit, &fault);
    if (!EXPECT (check, workers[i] != NULL, "no workers: %s", fault.message))
      goto done;
  }
  check_describe (
      check, "limit %d, %d workers", limit, workers_count (workers[0]));
  expect_run (check, workers[0], tally, 0, 1);
  expect_run (check, workers[0], tally, 1, 1);
  expect_run (check, workers[0], tally, MAX_ITEMS, 1);
  for (int i = 0; i < (check->quick ? 10 : 200); i++)
    expect_run (check, workers[i % 2], tally,
        random_int (random, 0, random_chance (random, 50) ? 40 : MAX_ITEMS),
        random_chance (random, 10) ? MAX_ITEMS + 1
                                   : random_int (random, 1, 100));
done:
  workers_free (workers[0]);
  workers_free (workers[1]);
  free (tally);
}

static void
check_run (Check *check, const void *data)
{
  check_cases (check, 5, run_case, data);
}

/* Number of threads of this process. */
static int
count_threads (void)
{
  DIR *folder = opendir ("/proc/self/task");
  int n = 0;

  if (folder == NULL)
    return 0;
  for (const struct dirent *entry; (entry = readdir (folder)) != NULL;)
    n += entry->d_name[0] != '.';
  closedir (folder);
  return n;
}

/* A joined thread may be visible for a moment, under qemu for longer: waits until the number has
 * not changed for a while, so that threads of earlier checks are gone. */
static int
settled_threads (void)
{
  const struct timespec moment = { .tv_nsec = 1000000 };
  int n = count_threads (), same = 0;

  for (int i = 0; i < 2000 && same < 100; i++) {
    int now;

    nanosleep (&moment, NULL);
    now = count_threads ();
    same = now == n ? same + 1 : 0;
    n = now;
  }
  return n;
}

static void
expect_threads (Check *check, int wanted)
{
  const struct timespec moment = { .tv_nsec = 1000000 };
  int n = count_threads ();

  for (int i = 0; i < 2000 && n != wanted; i++, n = count_threads ())
    nanosleep (&moment, NULL);
  EXPECT (check, n == wanted, "%d threads instead of %d", n, wanted);
}

/* Threads start with the first job that has parts for them, and end with their workers. */
static void
check_start (Check *check, const void *data)
{
  const int before = settled_threads ();
  Tally *tally = kerncheck_alloc (sizeof *tally);
  Fault fault;
  Workers *workers = workers_new (WORKERS_MAX, &fault);

  (void) data;
  check->cases++;
  if (!EXPECT (check, workers != NULL, "no workers: %s", fault.message))
    goto done;
  expect_run (check, workers, tally, 7, 7);
  expect_threads (check, before);
  for (int i = 0; i < 2; i++) {
    expect_run (check, workers, tally, 7, 1);
    expect_threads (check, before + workers_count (workers) - 1);
  }
  workers_free (workers);
  workers = NULL;
  expect_threads (check, before);
done:
  workers_free (workers);
  free (tally);
}

/* The number of workers is bounded by `limit` and by the machine's cores, and by nothing else. */
static void
check_limit (Check *check, const void *data)
{
  static const int limits[] = { -1, 0, 1, 2, 3, WORKERS_MAX - 1, WORKERS_MAX,
    WORKERS_MAX + 1, 2147483647 };
  int most = 0;

  (void) data;
  check->cases++;
  for (int i = (int) (sizeof limits / sizeof limits[0]) - 1; i >= 0; i--) {
    const int limit = limits[i] < 1 ? 1 : limits[i];
    Fault fault;
    Workers *workers = workers_new (limits[i], &fault);
    int count;

    if (!EXPECT (check, workers != NULL, "limit %d: no workers: %s", limits[i],
            fault.message))
      return;
    count = workers_count (workers);
    workers_free (workers);
    if (most == 0)
      most = count;
    EXPECT (check,
        count >= 1 && count <= WORKERS_MAX
            && count == (limit < most ? limit : most),
        "limit %d: %d workers, where at most %d can be had", limits[i], count,
        most);
  }
  workers_free (NULL);
}

static int
count_new (Check *check)
{
  Fault fault;
  Workers *workers = workers_new (WORKERS_MAX, &fault);
  int count = 0;

  if (EXPECT (check, workers != NULL, "no workers: %s", fault.message))
    count = workers_count (workers);
  workers_free (workers);
  return count;
}

static void *
count_on_thread (void *check)
{
  return (void *) (intptr_t) count_new (check);
}

/* workers_limit() bounds the workers of its own thread, as long as it is set. */
static void
check_thread_limit (Check *check, const void *data)
{
  const int all = count_new (check);
  pthread_t thread;
  void *others;
  int count;

  (void) data;
  check->cases++;
  workers_limit (1);
  count = count_new (check);
  EXPECT (check, count == 1, "%d workers, limited to 1", count);
  if (EXPECT (check,
          pthread_create (&thread, NULL, count_on_thread, check) == 0,
          "no thread")) {
    pthread_join (thread, &others);
    EXPECT (check, (intptr_t) others == all,
        "%d workers on another thread instead of %d", (int) (intptr_t) others,
        all);
  }
  workers_limit (WORKERS_MAX);
  count = count_new (check);
  EXPECT (check, count == all, "%d workers instead of %d", count, all);
  workers_limit (0);
  count = count_new (check);
  EXPECT (check, count == all, "%d workers instead of %d", count, all);
}

void
check_workers_add (void)
{
  kerncheck_add (check_thread_limit, NULL, NULL, "workers/thread-limit");
  kerncheck_add (check_limit, NULL, NULL, "workers/limit");
  kerncheck_add (check_start, NULL, NULL, "workers/start");
  kerncheck_add (check_run, NULL, NULL, "workers/run");
}
