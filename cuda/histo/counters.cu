/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tally.cuh"

#include "../gpu-check.h"

#include <stdlib.h>

static size_t
n_sums (const HistoPlan *plan)
{
  return (size_t) plan->n_channels * (size_t) plan->bins;
}

/* The sums of one set of tallies; the word after them has the turn that the set is ready
 * for. */
static unsigned long long *
tally_sums (const CountersState *state, unsigned set)
{
  return (unsigned long long *) state->device + state->words + 1
      + set * (state->tally_words + 1);
}

/* Makes all sets ready for the first turn. */
static bool
begin_turns (CountersState *state, Fault *fault)
{
  GpuStream stream = NULL;
  bool ok = false;

  static_assert (TURNS_FIRST == 0xffffffffu, "all its bytes are 0xff");
  state->launch = TURNS_FIRST_LAUNCH;
  if (!gpu_stream_new (&stream, fault))
    return false;
  for (unsigned set = 0; set < TURNS_SETS; set++)
    GPU_CHECK (cudaMemsetAsync (tally_sums (state, set) + state->tally_words,
                   0xff, sizeof (uint32_t), stream),
        fault);
  ok = gpu_stream_synchronize (stream, fault);
done:
  gpu_stream_free (stream);
  return ok;
}

static bool
prepare (HistoPlan *plan, size_t bytes, size_t words, Fault *fault)
{
  CountersState *state = (CountersState *) calloc (1, bytes);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for a histogram.");
  state->words = words;
  if (plan->bins <= TALLY_CODES)
    state->tally_words = TALLY_REPLICAS * n_sums (plan);
  /* The sums, then the number of blocks that are done, then the sets of tallies.
   * gpu_malloc() zeroes them. */
  words += 1 + TURNS_SETS * (state->tally_words + 1);
  state->device = gpu_malloc (words * sizeof (unsigned long long), fault);
  return state->device != NULL && begin_turns (state, fault);
}

bool
counters_prepare_state (HistoPlan *plan, size_t bytes, Fault *fault)
{
  return prepare (plan, bytes, n_sums (plan), fault);
}

bool
counters_prepare_replicas (HistoPlan *plan, size_t bytes, Fault *fault)
{
  return prepare (plan, bytes, (1 + COUNTERS_REPLICAS) * n_sums (plan), fault);
}

void
counters_release (HistoPlan *plan)
{
  CountersState *state = (CountersState *) plan->state;

  if (state == NULL)
    return;
  gpu_free (state->device);
  free (state);
}

Counters
counters_for (const HistoPlan *plan, HistoResult *result)
{
  const CountersState *state = (const CountersState *) plan->state;
  Counters counters;

  static_assert (sizeof *counters.result == sizeof *result->counts,
      "the result is written as it is read");
  counters.sums = (unsigned long long *) state->device;
  counters.result = (unsigned long long *) result->counts;
  counters.blocks_done = (unsigned *) (counters.sums + state->words);
  counters.n = (int) n_sums (plan);
  return counters;
}

bool
counters_load_kernel (const void *kernel, const Gpu *gpu, Fault *fault)
{
  struct cudaFuncAttributes attributes;
  size_t most;
  bool ok = false;

  GPU_CHECK (cudaFuncGetAttributes (&attributes, kernel), fault);
  /* The maximum: the setting belongs to the kernel, not to the plan, and must not be lowered
   * for other plans. */
  most = gpu_shared_memory (gpu) - attributes.sharedSizeBytes;
  GPU_CHECK (cudaFuncSetAttribute (kernel,
                 cudaFuncAttributeMaxDynamicSharedMemorySize, (int) most),
      fault);
  ok = true;
done:
  return ok;
}

HistoTally
tally_for (const HistoPlan *plan, HistoResult *result)
{
  const CountersState *state = (const CountersState *) plan->state;
  HistoTally tally = HistoTally ();

  tally.sums = tally_sums (state, turns_set (state->launch));
  tally.result = (unsigned long long *) result->counts;
  tally.turns = (volatile unsigned *) (tally.sums + state->tally_words);
  tally.turn = turns_turn (state->launch);
  tally.n = (int) n_sums (plan);
  tally.bins = plan->bins;
  return tally;
}

void
tally_queued (HistoPlan *plan)
{
  ((CountersState *) plan->state)->launch++;
}
