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
  const V210Loops *loops;
  Workers *workers;
  uint16_t *samples; /* a row of them for each worker */
  size_t row_samples;
} HostState;

typedef struct
{
  const HostState *state;
  const Image *packed, *planes;
  V210Loop loop;
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

static void
convert_rows (void *user, int worker, int first, int last)
{
  const Job *job = user;
  const HostState *state = job->state;
  const ImageMemory *packed = &job->packed->memory[0];
  uint16_t *samples = state->samples + (size_t) worker * state->row_samples;

  for (int y = first; y < last; y++) {
    const V210Row row = row_of (job->planes, y);

    job->loop (&row, packed->data + y * packed->stride, samples);
  }
}

static bool
convert (Job job)
{
  workers_run (job.state->workers, job.planes->memory[0].height,
      1 + GRAIN_PIXELS / job.planes->plane[0].width, convert_rows, &job);
  return true;
}

static bool
host_unpack (V210Plan *plan, const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault)
{
  const HostState *state = plan->state;

  (void) stream;
  (void) fault;
  return convert ((Job){ state, packed, planes, state->loops->unpack });
}

static bool
host_pack (V210Plan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault)
{
  const HostState *state = plan->state;

  (void) stream;
  (void) fault;
  return convert ((Job){ state, packed, planes, state->loops->pack });
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
  state->loops = v210_loops ();
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
