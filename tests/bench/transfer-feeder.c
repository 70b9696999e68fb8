/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transfer-feeder.h"

#include "bench-measure.h"

#include <pthread.h>
#include <stdlib.h>

#define MAX_FEEDERS 2

/* Each feeder has the sets [first_set, first_set + n_sets) of the rig, at least as many
 * as its ring has slots, so that a frame's memory is free when its slot is. */
typedef struct
{
  Rig *rig;
  const Scheme *scheme;
  int first_set, n_sets;
  int n;          /* frames to take through */
  double *stamps; /* [n] */
  Ring *ring;
  SepconvPlan *plan;
  Fault submit_fault, wait_fault;
  bool submitted, waited; /* whether all went well */

  pthread_mutex_t lock; /* protects all below, from both threads */
  pthread_cond_t changed;
  RingSlot *slot[RIG_SETS]; /* submitted, from `taken` to `put`, modulo */
  int put, taken;
  bool stop; /* no more slots follow */
} Feeder;

/* A RingCompute, whose user is a SepconvPlan. */
static bool
compute (void *user, const RingPart *part, Fault *fault)
{
  SepconvPlan *plan = user;

  return sepconv_plan_advance (plan, part->src, part->dst, part->fresh,
      part->done, part->stream, part->order, fault);
}

RingFrame
feeder_frame (const Rig *rig, const Scheme *scheme, int set, SepconvPlan *plan)
{
  return (RingFrame){
    .src = scheme->pageable ? rig->pageable_src[set] : rig->pinned_src[set],
    .dst = scheme->pageable ? rig->pageable_dst[set] : rig->pinned_dst[set],
    .src_place = scheme->pageable ? RING_HOST : RING_HOST_PINNED,
    .dst_place = scheme->pageable ? RING_HOST : RING_HOST_PINNED,
    .transfer = scheme->transfer,
    .slices = scheme->slices,
    .compute = compute,
    .user = plan,
  };
}

/* Passes a submitted slot to the waiting thread; NULL: no more slots follow. */
static void
put (Feeder *feeder, RingSlot *slot)
{
  pthread_mutex_lock (&feeder->lock);
  if (slot != NULL)
    feeder->slot[feeder->put++ % RIG_SETS] = slot;
  else
    feeder->stop = true;
  pthread_cond_signal (&feeder->changed);
  pthread_mutex_unlock (&feeder->lock);
}

static RingSlot *
take (Feeder *feeder)
{
  RingSlot *slot = NULL;

  pthread_mutex_lock (&feeder->lock);
  while (feeder->taken == feeder->put && !feeder->stop)
    pthread_cond_wait (&feeder->changed, &feeder->lock);
  if (feeder->taken < feeder->put)
    slot = feeder->slot[feeder->taken++ % RIG_SETS];
  pthread_mutex_unlock (&feeder->lock);
  return slot;
}

static void *
wait_for_frames (void *data)
{
  Feeder *feeder = data;
  RingSlot *slot;
  int complete = 0;

  if (!gpu_push (feeder->rig->gpu, &feeder->wait_fault)) {
    feeder->waited = false;
    while ((slot = take (feeder)) != NULL)
      ring_release (feeder->ring, slot);
    return NULL;
  }
  while ((slot = take (feeder)) != NULL) {
    if (!ring_wait (feeder->ring, slot, &feeder->wait_fault))
      feeder->waited = false;
    feeder->stamps[complete++] = bench_now_ns ();
    ring_release (feeder->ring, slot);
  }
  gpu_pop (feeder->rig->gpu);
  return NULL;
}

static bool
submit_frames (Feeder *feeder, Fault *fault)
{
  for (int i = 0; i < feeder->n; i++) {
    const RingFrame frame = feeder_frame (feeder->rig, feeder->scheme,
        feeder->first_set + i % feeder->n_sets, feeder->plan);
    RingSlot *slot = ring_acquire (feeder->ring);

    /* On failure the slot stays acquired until the ring is freed: no other slot is
     * acquired any more. */
    if (!ring_submit (feeder->ring, slot, &frame, fault))
      return false;
    put (feeder, slot);
  }
  return true;
}

static void *
feed (void *data)
{
  Feeder *feeder = data;
  pthread_t waiter;

  feeder->submitted = false;
  feeder->waited = true;
  if (!gpu_push (feeder->rig->gpu, &feeder->submit_fault))
    return NULL;
  feeder->plan = rig_plan (feeder->rig, &feeder->submit_fault);
  if (feeder->plan != NULL)
    feeder->ring =
        ring_new (feeder->rig->gpu, &feeder->rig->layout, &feeder->rig->layout,
            feeder->scheme->in_flight, NULL, &feeder->submit_fault);
  if (feeder->ring != NULL) {
    if (pthread_create (&waiter, NULL, wait_for_frames, feeder) == 0) {
      feeder->submitted = submit_frames (feeder, &feeder->submit_fault);
      put (feeder, NULL);
      pthread_join (waiter, NULL);
    } else {
      fault_set (&feeder->submit_fault, FAULT_NO_SPACE, "No thread to be had.");
    }
  }
  ring_free (feeder->ring);
  sepconv_plan_free (feeder->plan);
  gpu_pop (feeder->rig->gpu);
  return NULL;
}

bool
feeder_run (Rig *rig, const Scheme *scheme, int n, double *stamps, Fault *fault)
{
  Feeder *feeders = calloc (MAX_FEEDERS, sizeof *feeders);
  pthread_t thread[MAX_FEEDERS];
  bool started[MAX_FEEDERS] = { false }, ok = true;
  const int count = scheme->feeders;

  if (feeders == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory.");
  for (int i = 0; i < count; i++) {
    Feeder *feeder = &feeders[i];

    feeder->rig = rig;
    feeder->scheme = scheme;
    feeder->n_sets = RIG_SETS / count;
    feeder->first_set = i * feeder->n_sets;
    feeder->n = n / count;
    feeder->stamps = stamps + i * feeder->n;
    pthread_mutex_init (&feeder->lock, NULL);
    pthread_cond_init (&feeder->changed, NULL);
    started[i] = i > 0 && pthread_create (&thread[i], NULL, feed, feeder) == 0;
  }
  for (int i = 0; i < count; i++) {
    Feeder *feeder = &feeders[i];

    if (started[i])
      pthread_join (thread[i], NULL);
    else
      feed (feeder);
    if (ok && !(feeder->submitted && feeder->waited)) {
      ok = false;
      if (fault != NULL)
        *fault = feeder->submitted ? feeder->wait_fault : feeder->submit_fault;
    }
    pthread_cond_destroy (&feeder->changed);
    pthread_mutex_destroy (&feeder->lock);
  }
  free (feeders);
  if (count > 1)
    bench_sort (stamps, n);
  return ok;
}
