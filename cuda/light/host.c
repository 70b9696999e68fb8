/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host: the CPU backend. Workers share the rows of the conversions. */
#include "convert.h"

#include "../workers.h"

#include <stdlib.h>

#define ALIGNMENT 64
/* Pixels that are worth waking a thread for. */
#define GRAIN_PIXELS 16384

typedef struct
{
  Workers *workers;
  const LightLoops *loops;
} HostState;

/* A run, as passed to the workers. */
typedef struct
{
  const LightPlan *plan;
  const LightLoops *loops;
  const Image *src, *dst;
  int groups; /* of dst */
} Job;

static void
decode_rows (void *user, int worker, int first, int last)
{
  const Job *job = user;

  (void) worker;
  job->loops->decode (job->plan, job->src, first, last);
}

static void
copy_samples (uint8_t *to, const uint8_t *from, const LightChannel *channel)
{
  const ptrdiff_t apart = channel->pixel_stride;

  if (channel->sample_bytes == 1)
    for (int x = 0; x < channel->width; x++)
      to[x * apart] = from[x * apart];
  else
    for (int x = 0; x < channel->width; x++)
      image_write_raw (to + x * apart, image_read_raw (from + x * apart, 2), 2);
}

/* Copies the share of a channel's rows that belongs to groups [first, last). */
static void
copy_rows (const Job *job, const LightChannel *channel, int first, int last)
{
  const int64_t rows = light_channel_height (channel, job->src);

  for (int64_t y = rows * first / job->groups; y < rows * last / job->groups;
       y++)
    copy_samples (light_channel_row (channel, job->dst, (int) y),
        light_channel_row (channel, job->src, (int) y), channel);
}

static void
encode_groups (void *user, int worker, int first, int last)
{
  const Job *job = user;

  (void) worker;
  for (int group = first; group < last; group++) {
    if (job->plan->work.memory[0].height > 0)
      job->loops->encode (job->plan, job->dst, group, group + 1);
    for (int i = 0; i < job->plan->n_copies; i++)
      copy_rows (job, &job->plan->copy[i], group, group + 1);
  }
}

static int
grain (const LightPlan *plan, int rows)
{
  return 1 + GRAIN_PIXELS / rows / plan->work.plane[0].width;
}

static bool
host_decode (LightPlan *plan, const Image *src, GpuStream stream, Fault *fault)
{
  const HostState *state = plan->state;
  Job job = { .plan = plan, .loops = state->loops, .src = src };

  (void) stream;
  (void) fault;
  workers_run (state->workers, plan->work.memory[0].height, grain (plan, 1),
      decode_rows, &job);
  return true;
}

static bool
host_encode (LightPlan *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault)
{
  const HostState *state = plan->state;
  const int sub_y = plan->numbers.sub_y;
  Job job = { .plan = plan, .loops = state->loops, .src = src, .dst = dst };

  (void) stream;
  (void) fault;
  /* A field without pixels may still have rows to copy. */
  job.groups = (plan->work.memory[0].height + sub_y - 1) / sub_y;
  if (job.groups == 0)
    job.groups = 1;
  workers_run (
      state->workers, job.groups, grain (plan, sub_y), encode_groups, &job);
  return true;
}

static bool
host_prepare (LightPlan *plan, Fault *fault)
{
  HostState *state = calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for linear light.");
  state->loops = light_loops ();
  state->workers = workers_new (WORKERS_MAX, fault);
  return state->workers != NULL;
}

static bool
host_make_work (LightPlan *plan, size_t bytes, Fault *fault)
{
  bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  for (int i = 0; i < 2; i++) {
    plan->block[i] = aligned_alloc (ALIGNMENT, bytes);
    if (plan->block[i] == NULL)
      return fault_set (fault, FAULT_NO_SPACE,
          "Out of memory for pictures of linear light, %zu bytes each.", bytes);
  }
  return true;
}

static void
host_drop_work (LightPlan *plan)
{
  for (int i = 0; i < 2; i++) {
    free (plan->block[i]);
    plan->block[i] = NULL;
  }
}

static void
host_release (LightPlan *plan)
{
  HostState *state = plan->state;

  if (state != NULL)
    workers_free (state->workers);
  free (state);
}

const LightOps light_host_ops = {
  .prepare = host_prepare,
  .make_work = host_make_work,
  .drop_work = host_drop_work,
  .release = host_release,
  .decode = host_decode,
  .encode = host_encode,
};
