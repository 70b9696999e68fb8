/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* push-course: pushes frames of a pool through cudasepconv as fast as it takes them, and
 * records the time at which each comes out. */
#pragma once

#include "bench-measure.h"
#include "pad-rig.h"

/* Input buffers: more than any ring-depth here. */
#define PUSH_COURSE_BUFFERS 12
#define PUSH_COURSE_MAX_LONE 200
/* Output times are recorded for at most this many frames of one push. */
#define PUSH_COURSE_MAX_FRAMES 20000

typedef struct
{
  PadRig rig;
  gboolean holds; /* keep a reference to each buffer while it is pushed */
  /* Called for each buffer before it is pushed, to attach metas; NULL: nothing to attach. */
  void (*dress) (GstBuffer *buffer, guint frame, gconstpointer data);
  gconstpointer dress_data;
  guint dressed;     /* frames that `dress` was called for */
  gdouble start_ns;  /* origin of running time */
  gdouble pushed_ns; /* when the last frame was pushed */

  GMutex lock; /* protects all below, from the element's pusher */
  GCond arrived;
  guint count;   /* frames of the current push that have come out */
  guint total;   /* frames of all pushes that have come out */
  guint awaited; /* value of `count` at which `arrived` is signalled */
  gdouble *stamps;
} PushCourse;

/* Makes an element with these settings, in state NULL. FALSE: there is no such element; the
 * course must be cleared nevertheless. */
gboolean push_course_init (PushCourse *course, const gchar *settings);
void push_course_clear (PushCourse *course);
/* Returns the reason why frames do not come through; the caller frees it. */
gchar *push_course_take_error (PushCourse *course);

/* To be called after pad_rig_start(): negotiates, and fills the pool's buffers with noise,
 * which they keep. FALSE: the caps are refused. */
gboolean push_course_begin (PushCourse *course, GstCaps *caps);

/* Pushes n frames and waits until all have come out. */
gboolean push_course_push (PushCourse *course, guint n);
/* Pushes n <= PUSH_COURSE_MAX_LONE frames, each after a pause, and measures the time from
 * push to arrival. */
gboolean push_course_measure_lone (
    PushCourse *course, guint n, BenchSpread *latency);
/* Pushes frames until bench_now_ns() reaches `end_ns`, and waits until all have come out. */
gboolean push_course_push_until (PushCourse *course, gdouble end_ns);
/* Frames that have come out since the course was made. Any thread may call it. */
guint push_course_count (PushCourse *course);
/* Pushes n <= PUSH_COURSE_MAX_FRAMES frames and waits until all have come out. Frame i is
 * pushed at first_ns + i * period_ns, or at once if that time has passed, and comes out at
 * stamps[i]. */
gboolean push_course_push_live (
    PushCourse *course, gdouble first_ns, gdouble period_ns, guint n);
/* Measures a steady stream of about `seconds`, but of a minimum number of frames. `cpu`: the
 * element computes on the CPU and is slow; fewer frames are enough. */
gboolean push_course_measure (PushCourse *course, gboolean cpu, gdouble seconds,
    BenchSpread *interval, BenchUsage *each);
