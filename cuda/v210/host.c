/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host: v210 on the CPU, rows shared by all workers. */
#include "plan.h"
#include "rows.h"

#include "../divide.h"
#include "../workers.h"

#include <stdlib.h>

#define ALIGNMENT 64
/* Pixels that are worth waking a thread for. */
#define GRAIN_PIXELS 32768

typedef struct
{
  Workers *workers;
  uint16_t *samples; /* a row of them for each worker */
  size_t row_samples;
} HostState;

typedef struct
{
  const HostState *state;
  const Image *packed, *planes;
} Job;

static V210Row
row_of (const Image *planes, int y)
{
  uint8_t *row[3];

  for (int p = 0; p < 3; p++)
    row[p] = planes->memory[p].data + y * planes->memory[p].stride;
  return (V210Row){ (uint16_t *) (void *) row[0], (uint16_t *) (void *) row[1],
    (uint16_t *) (void *) row[2], planes->plane[0].width };
}

static uint8_t *
packed_row (const Job *job, int y)
{
  return job->packed->memory[0].data + y * job->packed->memory[0].stride;
}

static uint16_t *
samples_of (const Job *job, int worker)
{
  return job->state->samples + (size_t) worker * job->state->row_samples;
}

static void
unpack_rows (void *user, int worker, int first, int last)
{
  const Job *job = user;
  const V210Loops *loops = v210_loops ();

  for (int y = first; y < last; y++) {
    const V210Row row = row_of (job->planes, y);

    loops->unpack (&row, packed_row (job, y), samples_of (job, worker));
  }
}

static void
pack_rows (void *user, int worker, int first, int last)
{
  const Job *job = user;
  const V210Loops *loops = v210_loops ();

  for (int y = first; y < last; y++) {
    const V210Row row = row_of (job->planes, y);

    loops->pack (&row, packed_row (job, y), samples_of (job, worker));
  }
}

static void
run_job (Job *job, WorkersJob function)
{
  workers_run (job->state->workers, job->planes->memory[0].height,
      1 + GRAIN_PIXELS / job->planes->plane[0].width, function, job);
}

static bool
host_unpack (V210Plan *plan, const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault)
{
  Job job = { plan->state, packed, planes };

  (void) stream;
  (void) fault;
  run_job (&job, unpack_rows);
  return true;
}

static bool
host_pack (V210Plan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault)
{
  Job job = { plan->state, packed, planes };

  (void) stream;
  (void) fault;
  run_job (&job, pack_rows);
  return true;
}

static uint8_t *
host_allocate (size_t bytes, Fault *fault)
{
  uint8_t *block;

  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  block = aligned_alloc (ALIGNMENT, bytes);
  if (block == NULL)
    fault_set (fault, FAULT_NO_SPACE,
        "Out of memory for the planes of v210, %zu bytes.", bytes);
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
host_prepare (V210Plan *plan, Fault *fault)
{
  HostState *state = calloc (1, sizeof *state);
  int n;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory to unpack v210.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  n = workers_count (state->workers);
  /* No two workers share a cache line. */
  state->row_samples = (size_t) round_up (
      divide_up (plan->width, V210_GROUP_PIXELS) * 12, ALIGNMENT);
  state->samples = malloc ((size_t) n * state->row_samples * sizeof (uint16_t));
  return state->samples != NULL
      || fault_set (fault, FAULT_NO_SPACE, "Out of memory to unpack v210.");
}

static void
host_release (V210Plan *plan)
{
  HostState *state = plan->state;

  if (state != NULL) {
    workers_free (state->workers);
    free (state->samples);
  }
  free (state);
}

const V210Ops v210_host_ops = {
  .prepare = host_prepare,
  .release = host_release,
  .allocate = host_allocate,
  .free = host_free,
  .unpack = host_unpack,
  .pack = host_pack,
};
