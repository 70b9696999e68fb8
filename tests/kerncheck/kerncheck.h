/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kerncheck: what a check is, and how it reports failures.
 *
 * A check is a named function. Its random part comes in cases: each case has its own
 * seed, which a failure prints and --case-seed replays. */
#pragma once

#include "kerncheck-random.h"
#include "sepconv.h"

#include <stddef.h>

/* The check that is running; there is one at a time. Used only by the thread that runs
 * the check; other threads pass their verdicts to that thread. */
typedef struct
{
  const char *name;
  bool quick;   /* small cases only */
  bool verbose; /* also print every case and each of its failures */
  int iterations;
  uint64_t seed;
  bool one_case; /* only the case with this seed */
  uint64_t case_seed;

  bool in_case;      /* check_cases() is running one */
  char what[1024];   /* the parameters of the current case */
  char skipped[400]; /* reason, or empty */
  int cases;         /* begun */
  int unsupported;   /* cases that the method rightly declined */
  int failed_cases;  /* cases with a failure */
  bool case_failed;  /* the current case has one */
} Check;

typedef void (*CheckFunction) (Check *check, const void *data);
/* `index` counts the cases of one check from 0: a check can step through all borders,
 * for example, and leave the rest to chance. */
typedef void (*CheckCase) (
    Check *check, Random *random, int index, const void *data);

/* Adds a check to the table. `data` belongs to the caller and must stay valid. `method`
 * is the method by which --method selects the check, or NULL. */
void kerncheck_add (CheckFunction function, const void *data,
    const SepconvMethod *method, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));

/* Each check-*.c has one of these; it adds the checks of that file. */
void check_taps_add (void);
void check_image_add (void);
void check_beside_add (void);
void check_chains_add (void);
void check_counting_add (void);
void check_equalize_add (void);
void check_light_add (void);
void check_sepconv_add (void);
void check_methods_add (void);
void check_multirate_add (void);
void check_smoothed_add (void);
void check_split_add (void);
void check_strided_add (void);
void check_overlay_add (void);
void check_plans_add (void);
void check_progress_add (void);
void check_regions_add (void);
void check_workers_add (void);
void check_ring_add (void);
void check_ring_device_add (void);
void check_ring_in_place_add (void);
void check_slices_add (void);
void check_tensor_loss_add (void);
void check_transfers_add (void);
void check_gpu_add (void);
void check_histo_add (void);
void check_histo_settings_add (void);
void check_histo_statistics_add (void);
void check_hostclock_add (void);
void check_memo_add (void);
void check_bitpack_add (void);

/* Runs n times --iterations cases, or only the one to be replayed. Stops early after
 * several failures. */
void check_cases (Check *check, int n, CheckCase function, const void *data);

/* Sets the parameters of the current case, which a failure prints. */
void check_describe (Check *check, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Reports that the check cannot run here, and why. */
void check_skip (Check *check, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
/* After check_cases(): skips the check when the method declined every case. */
void check_skip_unsupported (Check *check, const char *method);

bool check_expect (Check *check, bool ok, const char *file, int line,
    const char *format, ...) __attribute__ ((format (printf, 5, 6)));

/* EXPECT (check, condition, format, ...): returns the condition, and fails the
 * case when it does not hold. The text says what was seen. */
#define EXPECT(check, condition, ...) \
  check_expect ((check), (condition), __FILE__, __LINE__, __VA_ARGS__)

bool check_expect_fault (Check *check, bool failed, const Fault *fault,
    FaultKind kind, const char *file, int line, const char *what);

/* Expects that a call failed with a fault of this kind and a sentence; `what` names the
 * input that should have been refused. */
#define EXPECT_FAULT(check, failed, fault, kind, what) \
  check_expect_fault ( \
      (check), (failed), (fault), (kind), __FILE__, __LINE__, (what))

/* Sets a fault to a state in which no failing function may leave it. */
static inline void
fault_clear (Fault *fault)
{
  fault->kind = FAULT_NONE;
  fault->message[0] = fault->detail[0] = '\0';
}

/* Allocates zeroed memory; ends the program when there is none. */
void *kerncheck_alloc (size_t bytes);
