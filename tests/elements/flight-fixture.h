/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flight-fixture: a filter with frames in flight, before a sink that can be held.
 *
 * Frames are numbered: the number is a frame's offset, its time in frames of
 * 1/30 s, and the seed of its picture. The sink writes down all that reaches it,
 * in order: frames by number, events and serialized queries by name.
 *
 * Nothing here waits for ever: what takes longer than FLIGHT_SECONDS fails the
 * test. */
#pragma once

#include "picture-oracle.h"

#define FLIGHT_SECONDS 15

typedef struct
{
  Filter filter;
  GstVideoInfo info;

  GMutex lock; /* of all below, for the test and the filter's threads */
  GCond changed;
  gboolean held;        /* a frame that reaches the sink stays in it */
  gboolean waiting;     /* one does */
  gboolean flushing;    /* the sink is between flush-start and flush-stop */
  guint arrived;        /* frames so far */
  guint jitter;         /* a frame takes up to so many microseconds */
  GRand *random;        /* for that */
  GstFlowReturn answer; /* to frames from number answer_from on */
  guint64 answer_from;
  GString *log;
} Flight;

/* Opens a filter in a harness, and sends it caps and a segment. On the heap, so
 * that a thread of a failed test finds it. */
Flight *flight_open (const char *settings, const char *format, int width,
    int height, const char *more);
/* Lets go of the sink too. */
void flight_close (Flight *flight);

void flight_hold (Flight *flight);
void flight_let_go (Flight *flight);
/* Up to so many microseconds a frame from now on, by this seed. */
void flight_set_jitter (Flight *flight, guint jitter, guint32 seed);
/* What the sink says to frames from this number on. */
void flight_answer (Flight *flight, guint64 from, GstFlowReturn answer);

/* Waits until a frame is held in the sink; until n frames have reached it
 * since it was opened. */
void flight_await_held (Flight *flight);
void flight_await (Flight *flight, guint n);
/* Waits until another thread has set a flag, with g_atomic_int_set(); `what` is said if it
 * does not. */
void flight_await_flag (gint *flag, const char *what);
void flight_clear_log (Flight *flight);
/* Expects the sink to write this, or to have written it, since the log was cleared or
 * expected; waits for as much as that, not for more. */
void flight_expect_log (Flight *flight, const char *want);

/* A frame by its number. */
GstBuffer *flight_frame (const Flight *flight, guint64 number);
/* The pool that the filter offers upstream, active; and a frame in a buffer of
 * it. */
GstBufferPool *flight_pool (Flight *flight);
GstBuffer *flight_frame_in (
    Flight *flight, GstBufferPool *pool, guint64 number);
/* Pushes it and expects this answer; not where pushing might block. */
void flight_push (Flight *flight, guint64 number);
GstFlowReturn flight_try_push (Flight *flight, guint64 number);
/* Takes the next frame from the sink: the one of this number, with its times,
 * filtered as the settings say. */
void flight_expect (Flight *flight, guint64 number, const char *settings);
GstBuffer *flight_pull (Flight *flight);

void flight_send (Flight *flight, GstEvent *event);
void flight_send_segment (Flight *flight);
void flight_flush (Flight *flight);

guint64 flight_count (const Flight *flight, const char *stat);
guint flight_peak (const Flight *flight);

/* Something on a thread of its own. */
typedef struct Task Task;

Task *task_start (gpointer (*run) (gpointer), gpointer user);
gboolean task_is_done (Task *task);
/* Waits for its end; `what` names it in a failure. Frees the task. */
gpointer task_end (Task *task, const char *what);

/* Frames from `first` to before `last`, pushed one after the other until one is
 * not taken. */
typedef struct
{
  Flight *flight;
  guint64 first, last;
  gint pushed;
} Pushes;

/* A task over Pushes; ends with the last flow return. */
gpointer push_frames (gpointer pushes);
