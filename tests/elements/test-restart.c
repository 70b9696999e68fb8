/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests that fail on purpose, in a program of their own: restart.sh checks the suite's
 * report about them. */
#include "elements-main.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define LEFT_BEHIND "RESTART_LEFT_BEHIND"

/* A test that runs first, or after one that failed. */
static void
passes (void)
{
  struct itimerval limit;
  sigset_t mask;

  getitimer (ITIMER_REAL, &limit);
  expect (limit.it_value.tv_sec > 0 || limit.it_value.tv_usec > 0,
      "the test has no time limit");
  sigprocmask (SIG_SETMASK, NULL, &mask);
  expect (!sigismember (&mask, SIGALRM) && !sigismember (&mask, SIGABRT),
      "signals are still blocked");
  expect (g_getenv (LEFT_BEHIND) == NULL, "the environment is not the first");
}

static void
fails (void)
{
  test_context ("on purpose");
  expect (FALSE, "it fails");
}

static void
hold (GstElement *sink, GstBuffer *buffer, GstPad *pad, gpointer user)
{
  (void) sink;
  (void) buffer;
  (void) pad;
  g_atomic_int_set ((gint *) user, TRUE);
  for (;;)
    g_usleep (G_USEC_PER_SEC);
}

/* Leaves a streaming thread behind that never ends. */
static void
fails_holding (void)
{
  static gint held;
  GstElement *pipeline = gst_parse_launch (
      "fakesrc ! fakesink name=s sync=false signal-handoffs=true", NULL);
  GstElement *sink = gst_bin_get_by_name (GST_BIN (pipeline), "s");

  g_signal_connect (sink, "handoff", G_CALLBACK (hold), &held);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  while (!g_atomic_int_get (&held))
    g_usleep (1000);
  expect (FALSE, "it fails");
}

static void
skips (void)
{
  test_skip ("on purpose");
}

static void
hangs (void)
{
  test_context ("waiting");
  for (;;)
    g_usleep (G_USEC_PER_SEC);
}

static void
aborts (void)
{
  g_setenv (LEFT_BEHIND, "1", TRUE);
  printf ("said before the end\n");
  abort ();
}

static gpointer
abort_with_lock (gpointer data)
{
  flockfile (stdout);
  abort ();
  return data;
}

static void
aborts_in_thread (void)
{
  g_thread_join (g_thread_new ("aborts", abort_with_lock, NULL));
}

/* As g_error() does. */
static void
traps (void)
{
  raise (SIGTRAP);
}

const Test tests_restart[] = {
  { "passes-first", passes, VARIANT_ANY },
  { "fails", fails, VARIANT_ANY },
  { "passes-after-failure", passes, VARIANT_ANY },
  { "fails-holding-a-sink", fails_holding, VARIANT_ANY },
  { "passes-after-held-sink", passes, VARIANT_ANY },
  { "skips", skips, VARIANT_ANY },
  { "hangs", hangs, VARIANT_ANY },
  { "passes-after-hang", passes, VARIANT_ANY },
  { "aborts", aborts, VARIANT_ANY },
  { "aborts-in-thread", aborts_in_thread, VARIANT_ANY },
  { "passes-after-abort", passes, VARIANT_ANY },
  { "traps-last", traps, VARIANT_ANY },
  { "bare-aborts", aborts, VARIANT_BARE },
  { "bare-passes", passes, VARIANT_BARE },
  { 0 },
};
