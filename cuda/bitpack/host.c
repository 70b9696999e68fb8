/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host: the CPU backend of bit-packed video; workers share the rows. */
#include "plan.h"
#include "rows.h"

#include "../divide.h"
#include "../workers.h"

#include <stdlib.h>

#define ALIGNMENT 64
/* Least number of pixels that are worth waking a thread for. */
#define GRAIN_PIXELS 32768

typedef struct
{
  const BitpackLoops *loops;
  Workers *workers;
  uint16_t *samples; /* [workers][row_samples] */
  size_t row_samples;
} HostState;

typedef struct
{
  const HostState *state;
  const BitpackShape *shape;
  const Image *packed, *planes;
  BitpackLoop loop;
  int memory; /* of `packed` */
} Job;

static uint8_t *
row_at (const ImageMemory *memory, int y)
{
  return memory->data + y * memory->stride;
}

static BitpackRow
row_of_memory (const Job *job, int y)
{
  const Image *planes = job->planes;
  const int m = job->memory;

  return (BitpackRow){ .shape = job->shape,
    .color = { row_at (&planes->memory[m], y) },
    .width = bitpack_row_samples (planes, m),
    .shift = bitpack_shift (job->shape, planes, m) };
}

static BitpackRow
row_of (const Job *job, int y)
{
  const Image *planes = job->planes;
  BitpackRow row = { .shape = job->shape, .width = planes->plane[0].width };

  for (int p = 0; p < planes->n_planes; p++) {
    uint8_t *at = row_at (bitpack_memory (planes, p), y);

    if (p == BITPACK_ALPHA)
      row.alpha = at;
    else
      row.color[p] = at;
  }
  return row;
}

static void
convert_rows (void *user, int worker, int first, int last)
{
  const Job *job = user;
  const HostState *state = job->state;
  const ImageMemory *packed = &job->packed->memory[job->memory];
  const bool by_memories = bitpack_goes_by_memories (job->shape->kind);
  uint16_t *samples = state->samples + (size_t) worker * state->row_samples;

  for (int y = first; y < last; y++) {
    const BitpackRow row =
        by_memories ? row_of_memory (job, y) : row_of (job, y);

    job->loop (&row, row_at (packed, y), samples);
  }
}

static bool
convert (Job job)
{
  for (; job.memory < job.packed->n_memories; job.memory++)
    workers_run (job.state->workers, job.packed->memory[job.memory].height,
        1 + GRAIN_PIXELS / job.planes->plane[0].width, convert_rows, &job);
  return true;
}

static bool
host_unpack (BitpackPlan *plan, const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault)
{
  const HostState *state = plan->state;

  (void) stream;
  (void) fault;
  return convert ((Job){ state, plan->shape, packed, planes,
      state->loops->unpack[plan->shape->kind], 0 });
}

static bool
host_pack (BitpackPlan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault)
{
  const HostState *state = plan->state;

  (void) stream;
  (void) fault;
  return convert ((Job){ state, plan->shape, packed, planes,
      state->loops->pack[plan->shape->kind], 0 });
}

static uint8_t *
host_allocate (size_t bytes, Fault *fault)
{
  uint8_t *block;

  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  block = aligned_alloc (ALIGNMENT, bytes);
  if (block == NULL)
    fault_set (fault, FAULT_NO_SPACE,
        "Out of memory for the planes of packed video, %zu bytes.", bytes);
  else
    memset (block, 0, bytes);
  return block;
}

static void
host_free (uint8_t *block)
{
  free (block);
}

static bool
host_prepare (BitpackPlan *plan, Fault *fault)
{
  HostState *state = calloc (1, sizeof *state);
  int n;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory to unpack %s.",
        plan->shape->name);
  state->loops = bitpack_loops ();
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  n = workers_count (state->workers);
  /* No two workers share a cache line. */
  state->row_samples =
      (size_t) round_up (BITPACK_ROW_SAMPLES (plan->width), ALIGNMENT);
  state->samples = malloc ((size_t) n * state->row_samples * sizeof (uint16_t));
  return state->samples != NULL
      || fault_set (fault, FAULT_NO_SPACE, "Out of memory to unpack %s.",
          plan->shape->name);
}

static void
host_release (BitpackPlan *plan)
{
  HostState *state = plan->state;

  if (state != NULL) {
    workers_free (state->workers);
    free (state->samples);
  }
  free (state);
}

const BitpackOps bitpack_host_ops = {
  .prepare = host_prepare,
  .release = host_release,
  .allocate = host_allocate,
  .free = host_free,
  .unpack = host_unpack,
  .pack = host_pack,
};
