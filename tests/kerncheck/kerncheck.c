/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kerncheck: checks the engine, and benchmarks it with --bench. One binary for machines with
 * and without a GPU.
 *
 * Exit status: 0 when nothing failed, 1 when a check failed, 2 for invalid options. */
#include "kerncheck.h"

#include "bench-run.h"
#include "isa.h"
#include "kerncheck-device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_CHECKS 2048
/* A check stops after this many failed cases. */
#define MAX_FAILED_CASES 3
/* The low bits of a case's seed are its index. */
#define INDEX_BITS 20

typedef struct
{
  char name[96];
  CheckFunction function;
  const void *data;
  const SepconvMethod *method;
  bool selected;
} Entry;

typedef struct
{
  const char *name; /* full name, or a prefix of names */
  bool exact;
  const SepconvMethod *method;
  bool list, quick, verbose, one_case;
  int iterations;
  int part, parts; /* run every parts-th selected check, from this one on */
  uint64_t seed, case_seed;
} Options;

static Entry entries[MAX_CHECKS];
static int n_entries;

void *
kerncheck_alloc (size_t bytes)
{
  void *memory = calloc (1, bytes == 0 ? 1 : bytes);

  if (memory == NULL) {
    fprintf (stderr, "kerncheck: out of memory for %zu bytes\n", bytes);
    exit (1);
  }
  return memory;
}

void
kerncheck_add (CheckFunction function, const void *data,
    const SepconvMethod *method, const char *format, ...)
{
  Entry *entry = &entries[n_entries];
  va_list args;

  if (n_entries == MAX_CHECKS) {
    fprintf (stderr, "kerncheck: more than %d checks\n", MAX_CHECKS);
    exit (1);
  }
  n_entries++;
  entry->function = function;
  entry->data = data;
  entry->method = method;
  va_start (args, format);
  vsnprintf (entry->name, sizeof entry->name, format, args);
  va_end (args);
}

void
check_describe (Check *check, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  vsnprintf (check->what, sizeof check->what, format, args);
  va_end (args);
  if (check->verbose)
    printf ("  %s 0x%llx: %s\n", check->name,
        (unsigned long long) check->case_seed, check->what);
}

void
check_skip (Check *check, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  vsnprintf (check->skipped, sizeof check->skipped, format, args);
  va_end (args);
}

void
check_skip_unsupported (Check *check, const char *method)
{
  if (check->cases > 0 && check->cases == check->unsupported
      && !check->one_case)
    check_skip (check, "method %s supports none of the cases", method);
}

bool
check_expect (
    Check *check, bool ok, const char *file, int line, const char *format, ...)
{
  const char *base = strrchr (file, '/');
  va_list args;

  if (ok)
    return true;
  if (check->case_failed && !check->verbose)
    return false;
  printf ("FAIL %s: ", check->name);
  va_start (args, format);
  vprintf (format, args);
  va_end (args);
  printf (" (%s:%d)\n", base == NULL ? file : base + 1, line);
  if (!check->case_failed) {
    if (check->what[0] != '\0')
      printf ("  case: %s\n", check->what);
    printf ("  replay: kerncheck --seed %llu --check %s",
        (unsigned long long) check->seed, check->name);
    if (check->in_case)
      printf (" --case-seed 0x%llx", (unsigned long long) check->case_seed);
    printf ("%s\n", check->quick ? " --quick" : "");
    check->failed_cases++;
  }
  check->case_failed = true;
  fflush (stdout);
  return false;
}

bool
check_expect_fault (Check *check, bool failed, const Fault *fault,
    FaultKind kind, const char *file, int line, const char *what)
{
  return check_expect (check, failed, file, line, "%s was accepted", what)
      && check_expect (check, fault->kind == kind, file, line,
          "%s: a fault of kind %d where %d was expected (%s)", what,
          (int) fault->kind, (int) kind, fault->message)
      && check_expect (check, fault->message[0] != '\0', file, line,
          "%s: the fault has no message", what);
}

/* FNV-1a. */
static uint64_t
hash_name (const char *name)
{
  uint64_t hash = 0xcbf29ce484222325u;

  for (; *name != '\0'; name++)
    hash = (hash ^ (uint8_t) *name) * 0x100000001b3u;
  return hash;
}

static void
run_case (
    Check *check, uint64_t case_seed, CheckCase function, const void *data)
{
  Random random = { case_seed };

  check->case_seed = case_seed;
  check->what[0] = '\0';
  check->case_failed = false;
  check->cases++;
  check->in_case = true;
  function (check, &random, (int) (case_seed & ((1u << INDEX_BITS) - 1)), data);
  check->in_case = false;
}

void
check_cases (Check *check, int n, CheckCase function, const void *data)
{
  Random seeds = { check->seed ^ hash_name (check->name) };

  if (check->one_case) {
    run_case (check, check->case_seed, function, data);
    return;
  }
  for (int i = 0; i < n * check->iterations; i++) {
    const uint64_t high = random_next (&seeds) >> INDEX_BITS << INDEX_BITS;

    run_case (check, high | (uint64_t) (i % n), function, data);
    if (check->failed_cases >= MAX_FAILED_CASES)
      return;
  }
}

static bool
is_named (const Entry *entry, const Options *options)
{
  if (options->name == NULL)
    return true;
  return options->exact
      ? strcmp (entry->name, options->name) == 0
      : strncmp (entry->name, options->name, strlen (options->name)) == 0;
}

static bool
is_meant (const Entry *entry, const Options *options)
{
  return is_named (entry, options)
      && (options->method == NULL || entry->method == options->method);
}

/* Selects checks; returns false if there are none. Neighbours, which take about the same time,
 * go to different parts. */
static bool
select_checks (const Options *options)
{
  int meant = 0;
  bool any = false;

  for (int i = 0; i < n_entries; i++) {
    entries[i].selected = is_meant (&entries[i], options)
        && meant++ % options->parts == options->part - 1;
    any = any || entries[i].selected;
  }
  return any;
}

/* A full name selects only its check, not also checks whose names begin with it. */
static bool
names_a_check (const char *name)
{
  for (int i = 0; i < n_entries && name != NULL; i++)
    if (strcmp (entries[i].name, name) == 0)
      return true;
  return false;
}

static double
seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

enum
{
  PASSED,
  FAILED,
  SKIPPED,
  N_VERDICTS
};

static int
run_check (const Entry *entry, const Options *options)
{
  const double start = seconds ();
  Check check = {
    .name = entry->name,
    .quick = options->quick,
    .verbose = options->verbose,
    .iterations = options->iterations,
    .seed = options->seed,
    .one_case = options->one_case,
    .case_seed = options->case_seed,
  };

  entry->function (&check, entry->data);
  if (check.failed_cases > 0) {
    printf ("not ok %s\n", check.name);
  } else if (check.skipped[0] != '\0') {
    printf ("SKIP %s: %s\n", check.name, check.skipped);
  } else {
    printf ("ok %s", check.name);
    if (check.verbose)
      printf (" (%d cases, %d of them not supported, %.2f s)", check.cases,
          check.unsupported, seconds () - start);
    printf ("\n");
  }
  fflush (stdout);
  return check.failed_cases > 0  ? FAILED
      : check.skipped[0] != '\0' ? SKIPPED
                                 : PASSED;
}

static int
run_checks (const Options *options)
{
  int tally[N_VERDICTS] = { 0 };

  if (!select_checks (options)) {
    fprintf (stderr, "kerncheck: there is no such check; try --list\n");
    return 2;
  }
  if (options->list) {
    for (int i = 0; i < n_entries; i++)
      if (entries[i].selected)
        printf ("%s\n", entries[i].name);
    return 0;
  }
  printf ("seed %llu; replay with --seed %llu\n",
      (unsigned long long) options->seed, (unsigned long long) options->seed);
  fflush (stdout);
  for (int i = 0; i < n_entries; i++)
    if (entries[i].selected)
      tally[run_check (&entries[i], options)]++;
  device_close ();
  printf ("kerncheck: %d passed, %d failed, %d skipped\n", tally[PASSED],
      tally[FAILED], tally[SKIPPED]);
  return tally[FAILED] > 0 ? 1 : 0;
}

static bool
parse_number (const char *text, uint64_t *number)
{
  char *end;

  errno = 0;
  *number = strtoull (text, &end, 0);
  return errno == 0 && end != text && *end == '\0' && text[0] != '-';
}

/* Parses "2/3": the second of three parts. */
static bool
parse_part (Options *options, const char *text)
{
  char more;

  return sscanf (text, "%d/%d%c", &options->part, &options->parts, &more) == 2
      && options->part >= 1 && options->part <= options->parts;
}

/* Takes the option at argv[*at], and its value if it has one. */
static bool
parse_option (Options *options, int argc, char **argv, int *at)
{
  const char *name = argv[*at];
  const char *value = *at + 1 < argc ? argv[*at + 1] : NULL;
  uint64_t number;

  if (strcmp (name, "--list") == 0) {
    options->list = true;
    return true;
  }
  if (strcmp (name, "--quick") == 0) {
    options->quick = true;
    return true;
  }
  if (strcmp (name, "--verbose") == 0) {
    options->verbose = true;
    return true;
  }
  if (value == NULL)
    return false;
  ++*at;
  if (strcmp (name, "--check") == 0) {
    options->name = value;
    return true;
  }
  if (strcmp (name, "--part") == 0)
    return parse_part (options, value);
  if (strcmp (name, "--method") == 0) {
    options->method = sepconv_method_by_name (value);
    return options->method != NULL;
  }
  if (!parse_number (value, &number))
    return false;
  if (strcmp (name, "--seed") == 0) {
    options->seed = number;
    return true;
  }
  if (strcmp (name, "--case-seed") == 0) {
    options->case_seed = number;
    options->one_case = true;
    return true;
  }
  if (strcmp (name, "--iterations") == 0 && number >= 1 && number <= 10000) {
    options->iterations = (int) number;
    return true;
  }
  return false;
}

static void
usage (void)
{
  fprintf (stderr,
      "usage: kerncheck [--list] [--quick] [--verbose] [--check NAME]\n"
      "                 [--method NAME] [--seed N] [--case-seed N]\n"
      "                 [--iterations N] [--part K/N]\n"
      "       kerncheck --bench [OPTION]...; --bench --help tells more\n"
      "  --isa NAME       no better instruction set of the processor than this, also\n"
      "                   with --bench:");
  for (int isa = 0; isa < ISA_N; isa++)
    fprintf (stderr, " %s", isa_name ((Isa) isa));
  fprintf (stderr,
      "\n"
      "  --lower-only     with --isa: nothing, if that is the processor's best anyway\n"
      "  --check NAME     only this check, or those whose names begin so\n"
      "  --method NAME    only the checks of this method:");
  for (int i = 0; i < sepconv_n_methods (); i++)
    fprintf (stderr, " %s", sepconv_method (i)->name);
  fprintf (stderr,
      "\n"
      "  --seed N         the random numbers of a former run\n"
      "  --case-seed N    only this case of each check\n"
      "  --iterations N   N times as many cases\n"
      "  --part K/N       only every Nth of these checks, from the Kth on\n");
}

/* Removes --isa and --lower-only from the options. False: the instruction set is unknown or
 * missing. *skips: this processor does not have it, or it is not lower than the best. */
static bool
take_isa (int *argc, char **argv, bool *skips)
{
  const char *best = isa_name (isa_best ()), *name = NULL, *why = NULL;
  bool lower_only = false;
  int n = 1;

  for (int i = 1; i < *argc; i++) {
    if (strcmp (argv[i], "--isa") == 0) {
      if (++i == *argc || !isa_cap (argv[i]))
        return false;
      name = argv[i];
    } else if (strcmp (argv[i], "--lower-only") == 0) {
      lower_only = true;
    } else {
      argv[n++] = argv[i];
    }
  }
  *argc = n;
  *skips = false;
  if (name == NULL)
    return !lower_only;
  if (strcmp (isa_name (isa_best ()), name) != 0)
    why = "this processor does not have it";
  else if (lower_only && strcmp (best, name) == 0)
    why = "it is what this processor takes without";
  if (why != NULL) {
    printf ("SKIP kerncheck --isa %s: %s\n", name, why);
    *skips = true;
  }
  return true;
}

int
main (int argc, char **argv)
{
  struct timespec now;
  Options options = { .iterations = 1, .part = 1, .parts = 1 };
  bool skips;

  if (!take_isa (&argc, argv, &skips)) {
    usage ();
    return 2;
  }
  if (skips) {
    printf ("kerncheck: 0 passed, 0 failed, 1 skipped\n");
    return 0;
  }
  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--bench") == 0)
      return bench_run (argc, argv);
  clock_gettime (CLOCK_REALTIME, &now);
  options.seed =
      ((uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u)
      % 1000000000u;
  for (int i = 1; i < argc; i++)
    if (!parse_option (&options, argc, argv, &i)) {
      usage ();
      return 2;
    }

  check_taps_add ();
  check_image_add ();
  check_equalize_add ();
  check_light_add ();
  check_sepconv_add ();
  check_methods_add ();
  check_multirate_add ();
  check_smoothed_add ();
  check_split_add ();
  check_strided_add ();
  check_bitpack_add ();
  check_overlay_add ();
  check_plans_add ();
  check_progress_add ();
  check_regions_add ();
  check_beside_add ();
  check_chains_add ();
  check_counting_add ();
  check_workers_add ();
  check_hostclock_add ();
  check_memo_add ();
  check_ring_add ();
  check_ring_device_add ();
  check_ring_in_place_add ();
  check_slices_add ();
  check_tensor_loss_add ();
  check_transfers_add ();
  check_gpu_add ();
  check_histo_settings_add ();
  check_histo_statistics_add ();
  check_histo_add ();
  options.exact = names_a_check (options.name);
  return run_checks (&options);
}
