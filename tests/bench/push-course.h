/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* push-course: frames of a pool, pushed through cudasepconv as fast as it takes them,
 * and when they came out. */
#pragma once

#include "bench-measure.h"
#include "pad-rig.h"

/* Input buffers: more than any ring-depth here. */
#define PUSH_COURSE_BUFFERS 12
#define PUSH_COURSE_MAX_LONE 200
/* Of so many it is known when they came out. */
#define PUSH_COURSE_MAX_FRAMES 20000

typedef struct
{
  PadRig rig;
  gboolean holds; /* somebody else has each buffer while it is pushed */
  /* Called for each buffer before it is pushed, to attach metas; NULL: nothing to attach. */
  void (*dress) (GstBuffer *buffer, guint frame, gconstpointer data);
  gconstpointer dress_data;
  guint dressed;     /* frames */
  gdouble start_ns;  /* of running time */
  gdouble pushed_ns; /* when the last frame was pushed */

  GMutex lock; /* protects all below, from the element's pusher */
  GCond arrived;
  guint count;   /* frames that came out of the last push */
  guint total;   /* and of all */
  guint awaited; /* of so many */
  gdouble *stamps;
} PushCourse;

/* An element with these settings, in state NULL. FALSE: there is none; the course is
 * to be cleared nevertheless. */
gboolean push_course_init (PushCourse *course, const gchar *settings);
void push_course_clear (PushCourse *course);
/* Why frames do not come through, to be freed. */
gchar *push_course_take_error (PushCourse *course);

/* After pad_rig_start(): negotiates, and fills the pool with noise that stays in it.
 * FALSE: refused. */
gboolean push_course_begin (PushCourse *course, GstCaps *caps);

/* Pushes n frames and waits until they have come out. */
gboolean push_course_push (PushCourse *course, guint n);
/* n <= PUSH_COURSE_MAX_LONE frames, each after a pause, from push to arrival. */
gboolean push_course_measure_lone (
    PushCourse *course, guint n, BenchSpread *latency);
/* Pushes frames until `end_ns` of bench_now_ns(), and waits until they have come out. */
gboolean push_course_push_until (PushCourse *course, gdouble end_ns);
/* How many have come out since it was made, for any thread. */
guint push_course_count (PushCourse *course);
/* Pushes n <= PUSH_COURSE_MAX_FRAMES frames, frame i at first_ns + i * period_ns or, if that
 * has passed, at once, and waits until they have come out: at stamps[i]. */
gboolean push_course_push_live (
    PushCourse *course, gdouble first_ns, gdouble period_ns, guint n);
/* A steady stream of about `seconds`, but not of too few frames; `cpu`: of an element
 * that takes long for a frame. */
gboolean push_course_measure (PushCourse *course, gboolean cpu, gdouble seconds,
    BenchSpread *interval, BenchUsage *each);
