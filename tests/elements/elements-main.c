/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elements-main.h"
#include "filter-fixture.h"
#include "restart.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef TESTS_OF_THE_SUITE
static const Test *const tables[] = { tests_restart };
#else
static const Test *const tables[] = { tests_templates, tests_properties,
  tests_control, tests_errors, tests_fallback, tests_faults, tests_negotiation,
  tests_kernels, tests_terms, tests_layouts, tests_light, tests_log, tests_crop,
  tests_interlace, tests_memory, tests_metas, tests_flow, tests_flight, tests_flight_events,
  tests_flight_flow, tests_flight_states, tests_flight_settings, tests_pools,
  tests_flight_soak, tests_stats, tests_formats, tests_pipelines, tests_regions,
  tests_regions_in_place,
  tests_removal, tests_stress, tests_own_element,
#ifdef HAVE_GSTCUDA
  tests_gpu_memory,
#endif

  tests_histo_templates, tests_histo_counts, tests_histo_frames,
  tests_histo_messages, tests_histo_metas, tests_histo_statistics,
  tests_histo_alarms, tests_histo_flight, tests_histo_equalize,
  tests_histo_overlay, tests_histo_modes, tests_histogram };
#endif

static const struct
{
  Variant variant;
  const char *name;
} variants[] = {
  { VARIANT_ANY, "any" },
  { VARIANT_CPU, "cpu" },
  { VARIANT_CUDA, "cuda" },
  { VARIANT_BARE, "bare" },
};

typedef struct
{
  unsigned variants;
  gboolean list;
  char **names;       /* full names of tests, or prefixes; NULL: all */
  GPtrArray *skipped; /* full names */
  int part, parts;    /* run every parts-th selected test, from this one on */
  int meant;          /* selected so far */
} Choice;

/* Signals that may end a test, and the text of its failure. */
static const struct
{
  int number;
  const char *name;
} fatal_signals[] = {
  { SIGALRM, "timed out" }, { SIGABRT, "Aborted" },
  { SIGSEGV, "Segmentation fault" }, { SIGBUS, "Bus error" },
  { SIGFPE, "Floating point exception" }, { SIGILL, "Illegal instruction" },
  { SIGTRAP, "Trace/breakpoint trap" }, /* g_error() */
};

static struct
{
  const Test *test;
  Variant variant;
  char title[128]; /* elements/cpu/name */
  char context[1024];
  const char *skipped_for; /* or NULL */
  Tally tally;
  int done_before; /* tests that former processes have counted */
} now;

const char *
test_backend (void)
{
  return now.variant == VARIANT_CUDA ? "cuda" : "cpu";
}

gboolean
test_on_cuda (void)
{
  return now.variant == VARIANT_CUDA;
}

void
test_skip (const char *why)
{
  now.skipped_for = why;
}

void
test_context (const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_vsnprintf (now.context, sizeof now.context, format, args);
  va_end (args);
}

void
test_fail (
    const char *file, int line, const char *condition, const char *format, ...)
{
  /* libcheck ends the process over messages of 4 KiB. */
  static char message[3000];
  va_list args;

  va_start (args, format);
  g_vsnprintf (message, sizeof message, format, args);
  va_end (args);
  _ck_assert_failed (
      file, line, condition, "%s (expected %s)", message, condition, NULL);
  abort (); /* not reached: the line above jumps out of the test */
}

static void
print_totals (void)
{
  printf ("elements: %d passed, %d failed, %d skipped\n", now.tally.passed,
      now.tally.failed, now.tally.skipped);
  fflush (stdout);
}

/* Not with stdio, whose locks the test may still hold. */
static void
report_signal (int number)
{
  static char line[sizeof now.title + sizeof now.context + 128];
  char *end = stpcpy (stpcpy (line, "FAIL "), now.title);

  end = stpcpy (stpcpy (end, " [backend="), test_backend ());
  end = stpcpy (stpcpy (stpcpy (end, " "), now.context), "]: ");
  for (guint i = 0; i < G_N_ELEMENTS (fatal_signals); i++)
    if (fatal_signals[i].number == number)
      end = stpcpy (end, fatal_signals[i].name);
  end = stpcpy (end, "\n");
  for (const char *at = line; at < end;) {
    const ssize_t written = write (STDOUT_FILENO, at, (size_t) (end - at));

    if (written <= 0)
      return;
    at += written;
  }
}

/* A test that hangs or crashes ends the process; its name is reported all the same, and
 * the tests after it still run. */
static void
on_fatal_signal (int number)
{
  static atomic_flag ending = ATOMIC_FLAG_INIT;

  /* Other threads that crash in the meantime belong to the same failure. */
  while (atomic_flag_test_and_set (&ending))
    pause ();
  report_signal (number);
  restart_run ();
  signal (number, SIG_DFL);
  now.tally.failed++;
  print_totals ();
  raise (number);
}

static void
catch_signal (int number)
{
  struct sigaction action;

  /* A sanitizer that has installed a handler reports more. */
  if (sigaction (number, NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
    memset (&action, 0, sizeof action);
    action.sa_handler = on_fatal_signal;
    action.sa_flags = SA_NODEFER;
    sigaction (number, &action, NULL);
  }
}

static unsigned
time_limit (void)
{
  const char *text = g_getenv ("CK_DEFAULT_TIMEOUT");
  const int seconds = text ? atoi (text) : 0;

  return seconds > 0 ? (unsigned) seconds : 120;
}

GstClockTime
test_patience (void)
{
  return time_limit () * GST_SECOND / 2;
}

/* The equivalent of GST_START_TEST and GST_END_TEST in pedantic C. */
static void
run_test (int index)
{
  (void) index;
  /* libcheck has installed a handler that kills the whole process group. */
  signal (SIGALRM, on_fatal_signal);
  tcase_fn_start (now.test->name, __FILE__, __LINE__);
  now.test->run ();
  gst_task_cleanup_all ();
}

/* Runs the test of `now` in this process; returns a description of the failure, or
 * NULL. */
static char *
run_here (void)
{
  Suite *suite = suite_create ("elements");
  TCase *tcase = tcase_create (now.test->name);
  SRunner *runner = srunner_create (suite);
  char *problem = NULL;

  tcase_add_test (tcase, run_test);
  suite_add_tcase (suite, tcase);
  srunner_set_fork_status (runner, CK_NOFORK);
  alarm (time_limit ());
  srunner_run_all (runner, CK_SILENT);
  alarm (0);
  if (srunner_ntests_failed (runner) > 0) {
    TestResult **failures = srunner_failures (runner);
    char *file = g_path_get_basename (tr_lfile (failures[0]));

    problem = g_strdup_printf (
        "%s (%s:%d)", tr_msg (failures[0]), file, tr_lno (failures[0]));
    g_free (file);
    free (failures);
  }
  srunner_free (runner);
  return problem;
}

static gboolean device_usable;

static void
probe_device (void)
{
  device_usable = filter_cuda_is_usable ();
}

/* Probed once, as a test of its own, since gst-check works only within tests. A probe
 * that fails counts as a device, so that the tests report the problem. */
static gboolean
device_is_usable (void)
{
  static const Test probe = { "probe", probe_device, VARIANT_ANY };
  static gboolean known;
  const Test *test = now.test;
  char *problem;

  if (!known) {
    known = device_usable = TRUE;
    now.test = &probe;
    problem = run_here ();
    now.test = test;
    g_free (problem);
  }
  return device_usable;
}

/* Set in a process that run_without_device() has started: it runs the test itself in any
 * case. */
#define CHILD_MARK "ELEMENTS_WITHOUT_DEVICE"

/* Runs the test in a process that sees no CUDA device. */
static char *
run_without_device (const char *program)
{
  const char *const argv[] = { program, "--backend", "bare", now.test->name,
    NULL };
  char **envp = g_environ_setenv (g_get_environ (), CHILD_MARK, "1", TRUE);
  char *output = NULL, *problem = NULL;
  GError *error = NULL;
  int status = 0;

  envp = g_environ_setenv (envp, "CUDA_VISIBLE_DEVICES", "-1", TRUE);
  if (!g_spawn_sync (NULL, (char **) argv, envp, G_SPAWN_SEARCH_PATH, NULL,
          NULL, &output, NULL, &status, &error)) {
    problem = g_strdup (error->message);
    g_error_free (error);
  } else if (status != 0) {
    problem = g_strdup_printf ("without a device:\n%s", output);
  }
  g_free (output);
  g_strfreev (envp);
  return problem;
}

static void
skip (int variant, const Test *test, const char *why)
{
  printf ("SKIP elements/%s/%s: %s\n", variants[variant].name, test->name, why);
  now.tally.skipped++;
}

/* The threads of a failed test may still run, and gst_task_cleanup_all() would wait for
 * them after the next test. The remaining tests therefore run in a new process. */
static void
go_on_in_another_process (void)
{
  fflush (stdout);
  restart_prepare (&now.tally);
  restart_run ();
}

/* If this test ends the process, it counts as failed, and the next process continues
 * after it. */
static void
count_as_failed_if_ended (void)
{
  Tally tally = now.tally;

  tally.failed++;
  restart_prepare (&tally);
}

static void
run_one (const Test *test, int variant, const char *program)
{
  char *problem;

  count_as_failed_if_ended ();
  now.test = test;
  now.variant = variants[variant].variant;
  now.context[0] = '\0';
  now.skipped_for = NULL;
  g_snprintf (now.title, sizeof now.title, "elements/%s/%s",
      variants[variant].name, test->name);
  if (now.variant == VARIANT_CUDA && !device_is_usable ()) {
    skip (variant, test, "no usable CUDA device");
    return;
  }
  problem = now.variant == VARIANT_BARE && !g_getenv (CHILD_MARK)
          && device_is_usable ()
      ? run_without_device (program)
      : run_here ();
  if (problem == NULL && now.skipped_for != NULL) {
    skip (variant, test, now.skipped_for);
  } else if (problem == NULL) {
    printf ("ok %s\n", now.title);
    now.tally.passed++;
  } else {
    printf ("FAIL %s [backend=%s %s]: %s\n", now.title, test_backend (),
        now.context, problem);
    now.tally.failed++;
    go_on_in_another_process ();
  }
  fflush (stdout);
  g_free (problem);
}

static gboolean
is_named (const Choice *choice, const Test *test)
{
  if (choice->names == NULL)
    return TRUE;
  for (int i = 0; choice->names[i]; i++)
    if (g_str_has_prefix (test->name, choice->names[i]))
      return TRUE;
  return FALSE;
}

/* Whether to run this test and variant. To be called once for each, in their order. */
static gboolean
is_chosen (Choice *choice, const Test *test, Variant variant)
{
  return (test->variants & variant) != 0 && is_named (choice, test)
      && choice->meant++ % choice->parts == choice->part - 1;
}

static gboolean
is_skipped (const Choice *choice, const Test *test)
{
  return g_ptr_array_find_with_equal_func (
      choice->skipped, test->name, g_str_equal, NULL);
}

static void
run_variant (Choice *choice, int variant, const char *program)
{
  for (guint t = 0; t < G_N_ELEMENTS (tables); t++) {
    for (const Test *test = tables[t]; test->name; test++) {
      if (!is_chosen (choice, test, variants[variant].variant))
        continue;
      if (choice->list)
        printf ("elements/%s/%s\n", variants[variant].name, test->name);
      else if (now.done_before > 0)
        now.done_before--;
      else if (is_skipped (choice, test))
        skip (variant, test, "this run leaves it out");
      else
        run_one (test, variant, program);
    }
  }
}

/* Parses "2/3": the second of three parts. */
static gboolean
parse_part (const char *text, Choice *choice)
{
  char more;

  return sscanf (text, "%d/%d%c", &choice->part, &choice->parts, &more) == 2
      && choice->part >= 1 && choice->part <= choice->parts;
}

static gboolean
parse_arguments (int argc, char **argv, Choice *choice)
{
  *choice = (Choice){
    .variants = ~0u,
    .skipped = g_ptr_array_new (),
    .part = 1,
    .parts = 1,
  };
  for (int i = 1; i < argc; i++) {
    if (g_str_equal (argv[i], "--list")) {
      choice->list = TRUE;
    } else if (g_str_equal (argv[i], "--backend") && i + 1 < argc) {
      choice->variants = 0;
      i++;
      for (guint v = 0; v < G_N_ELEMENTS (variants); v++)
        if (g_str_equal (argv[i], variants[v].name))
          choice->variants = variants[v].variant;
      if (choice->variants == 0)
        return FALSE;
    } else if (g_str_equal (argv[i], "--skip") && i + 1 < argc) {
      g_ptr_array_add (choice->skipped, argv[++i]);
    } else if (g_str_equal (argv[i], "--part") && i + 1 < argc) {
      if (!parse_part (argv[++i], choice))
        return FALSE;
    } else if (argv[i][0] == '-') {
      return FALSE;
    } else {
      choice->names = argv + i;
      break;
    }
  }
  return TRUE;
}

int
main (int argc, char **argv)
{
  Choice choice;
  int argc_for_gst = 1; /* without the options, which GStreamer would refuse */

  restart_init (&argc, argv, &now.tally);
  now.done_before = now.tally.passed + now.tally.failed + now.tally.skipped;
  /* Line buffered, so that at a restart no line is printed twice or lost. */
  setvbuf (stdout, NULL, _IOLBF, BUFSIZ);
  /* For runs by hand; a value from the build system takes precedence. */
  g_setenv ("GST_PLUGIN_PATH", PLUGIN_DIR, FALSE);
  if (!parse_arguments (argc, argv, &choice)) {
    fprintf (stderr,
        "usage: %s [--backend any|cpu|cuda|bare] [--list] [--skip NAME]... "
        "[--part K/N] [NAME...]\n"
        "NAME chooses every test whose name begins with it, and the whole name "
        "after --skip;\n--part takes every Nth of these tests, from the Kth "
        "on\n",
        argv[0]);
    return 2;
  }
  gst_check_init (&argc_for_gst, &argv);
  if (!choice.list
      && !gst_registry_check_feature_version (
          gst_registry_get (), "cudasepconv", 0, 0, 0)) {
    printf ("FAIL elements: no element cudasepconv in %s\n",
        g_getenv ("GST_PLUGIN_PATH"));
    now.tally.failed++;
    print_totals ();
    return 1;
  }
  for (guint i = 0; i < G_N_ELEMENTS (fatal_signals); i++)
    catch_signal (fatal_signals[i].number);
  for (guint v = 0; v < G_N_ELEMENTS (variants); v++)
    if (choice.variants & variants[v].variant)
      run_variant (&choice, (int) v, argv[0]);
  g_ptr_array_unref (choice.skipped);
  if (choice.list)
    return 0;
  if (now.test != NULL) {
    count_as_failed_if_ended ();
    g_strlcpy (now.title, "elements: the end of the program", sizeof now.title);
  }
  print_totals ();
  return now.tally.failed != 0;
}
