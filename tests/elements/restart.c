/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "restart.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Followed by passed,failed,skipped. Internal, so not in the usage. */
#define OPTION "--resume"

/* Prepared in advance, as a signal handler must not allocate. */
static struct
{
  char **arguments, **environment;
  sigset_t mask;
  int n_files; /* all file descriptors are below this */
  char tally[64];
  gboolean prepared;
} next;

/* Removes the two arguments after the program's name. */
static void
take_tally (int *argc, char **argv, Tally *tally)
{
  *tally = (Tally){ 0 };
  if (*argc < 3 || !g_str_equal (argv[1], OPTION)
      || sscanf (argv[2], "%d,%d,%d", &tally->passed, &tally->failed,
             &tally->skipped)
          != 3)
    return;
  for (int i = 3; i <= *argc; i++)
    argv[i - 2] = argv[i];
  *argc -= 2;
}

void
restart_init (int *argc, char **argv, Tally *tally)
{
  take_tally (argc, argv, tally);
  next.arguments = g_new0 (char *, *argc + 3);
  next.arguments[0] = argv[0];
  next.arguments[1] = (char *) OPTION;
  next.arguments[2] = next.tally;
  for (int i = 1; i < *argc; i++)
    next.arguments[i + 2] = argv[i];
  next.environment = g_get_environ ();
  sigprocmask (SIG_SETMASK, NULL, &next.mask);
  next.n_files = (int) CLAMP (sysconf (_SC_OPEN_MAX), 256, 4096);
}

void
restart_prepare (const Tally *tally)
{
  g_snprintf (next.tally, sizeof next.tally, "%d,%d,%d", tally->passed,
      tally->failed, tally->skipped);
  next.prepared = TRUE;
}

void
restart_run (void)
{
  if (!next.prepared)
    return;
  alarm (0);
  /* Open files of a driver would keep objects alive, such as the memory of a
   * context. */
  for (int file = 3; file < next.n_files; file++)
    (void) fcntl (file, F_SETFD, FD_CLOEXEC);
  pthread_sigmask (SIG_SETMASK, &next.mask, NULL);
  execve ("/proc/self/exe", next.arguments, next.environment);
}
