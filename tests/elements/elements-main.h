/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* elements-main: the list of tests, and how they are chosen, run and reported.
 *
 * A test is a function that returns if it passes and calls expect() where it may fail. Each
 * runs in the variants that it needs:
 *
 *   variant   runs
 *   any       once; the test does not filter
 *   cpu       once, with backend=cpu
 *   cuda      once, with backend=cuda; skipped by name where there is no CUDA device
 *   bare      once, where no CUDA device is visible; on a machine with one, in
 *             a process of its own from which the device is hidden
 *
 * A test that fails, crashes, or takes longer than CK_DEFAULT_TIMEOUT seconds does not stop
 * the others: the program starts itself anew and continues with the next test. */
#pragma once

#include <gst/check/gstcheck.h>

typedef enum
{
  VARIANT_ANY = 1 << 0,
  VARIANT_CPU = 1 << 1,
  VARIANT_CUDA = 1 << 2,
  VARIANT_BARE = 1 << 3,
  VARIANT_BOTH = VARIANT_CPU | VARIANT_CUDA,
} Variant;

typedef struct
{
  const char *name;
  void (*run) (void);
  unsigned variants;
} Test;

/* One table per file; the last row has no name. */
extern const Test tests_control[], tests_errors[], tests_fallback[],
    tests_faults[], tests_flight[], tests_flight_events[], tests_flight_flow[],
    tests_flight_settings[], tests_flight_soak[], tests_flight_states[],
    tests_flow[], tests_formats[], tests_gpu_memory[], tests_histo_alarms[],
    tests_histo_counts[], tests_histo_equalize[], tests_histo_flight[],
    tests_histo_frames[], tests_histo_messages[], tests_histo_metas[],
    tests_histo_modes[], tests_histo_overlay[], tests_histo_statistics[],
    tests_histo_templates[], tests_histogram[], tests_interlace[],
    tests_kernels[], tests_layouts[], tests_light[], tests_log[], tests_crop[],
    tests_memory[], tests_metas[], tests_negotiation[], tests_own_element[],
    tests_pipelines[], tests_pools[], tests_properties[], tests_regions[],
    tests_regions_in_place[], tests_removal[], tests_restart[],
    tests_stats[], tests_stress[], tests_templates[], tests_terms[];

/* The variant that is running, as a value of the property `backend`. */
const char *test_backend (void);
gboolean test_on_cuda (void);

/* Time limit for a pipeline to reach its end: half of CK_DEFAULT_TIMEOUT, which is the limit
 * of a test in seconds, or half of 120 if that is not set. */
GstClockTime test_patience (void);

/* Reports that this machine cannot run the test, and why (a static string); the test then has
 * to return. */
void test_skip (const char *why);

/* Sets the current attempt (format, size, settings), which is printed with a failure and with
 * a crash. Replaces the text before. */
void test_context (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* Ends the test. To be called only on the thread that runs the test; other threads pass their
 * failures to that thread. */
void test_fail (const char *file, int line, const char *condition,
    const char *format, ...) G_GNUC_PRINTF (4, 5) G_GNUC_NORETURN;

/* expect (condition, format, ...): ends the test with this text if the condition is false. */
#define expect(condition, ...) \
  do { \
    if (!(condition)) \
      test_fail (__FILE__, __LINE__, #condition, __VA_ARGS__); \
  } while (0)
