/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* flight-fixture: a filter with frames in flight, and a sink that can be held.
 *
 * Frames are numbered: the number is a frame's offset, its time in frames of 1/30 s, and
 * the seed of its picture. The sink logs everything that reaches it, in order: frames by
 * number, events and serialized queries by name.
 *
 * No function waits for ever: what takes longer than FLIGHT_SECONDS fails the test. */
#pragma once

#include "picture-oracle.h"

#define FLIGHT_SECONDS 15

typedef struct
{
  Filter filter;
  GstVideoInfo info;

  GMutex lock; /* of all below, for the test and the filter's threads */
  GCond changed;
  gboolean held;        /* the sink blocks each frame that reaches it */
  gboolean waiting;     /* a frame is blocked in it */
  gboolean flushing;    /* the sink is between flush-start and flush-stop */
  guint arrived;        /* frames at the sink so far */
  guint jitter;         /* longest delay of a frame, in microseconds */
  GRand *random;        /* for the delays */
  GstFlowReturn answer; /* to frames from number answer_from on */
  guint64 answer_from;
  GString *log;
} Flight;

/* Opens a filter in a harness, and sends it caps and a segment. Allocated on the heap, so
 * that a thread that outlives a failed test can still use it. */
Flight *flight_open (const char *settings, const char *format, int width,
    int height, const char *more);
/* Also releases a held sink. */
void flight_close (Flight *flight);

void flight_hold (Flight *flight);
void flight_let_go (Flight *flight);
/* From now on delays each frame by up to `jitter` microseconds, at random from this
 * seed. */
void flight_set_jitter (Flight *flight, guint jitter, guint32 seed);
/* Sets the flow return that the sink gives to frames from this number on. */
void flight_answer (Flight *flight, guint64 from, GstFlowReturn answer);

/* Wait until a frame is held in the sink; until n frames have reached the sink since the
 * flight was opened. */
void flight_await_held (Flight *flight);
void flight_await (Flight *flight, guint n);
/* Waits until another thread has set a flag with g_atomic_int_set(); `what` names the flag
 * in a failure. */
void flight_await_flag (gint *flag, const char *what);
void flight_clear_log (Flight *flight);
/* Expects the sink's log to be this, since the log was last cleared or expected. Waits
 * until the log is that long, not longer. */
void flight_expect_log (Flight *flight, const char *want);

/* Makes the frame of this number. */
GstBuffer *flight_frame (const Flight *flight, guint64 number);
/* The pool that the filter offers upstream, active; and a frame in a buffer of that
 * pool. */
GstBufferPool *flight_pool (Flight *flight);
GstBuffer *flight_frame_in (
    Flight *flight, GstBufferPool *pool, guint64 number);
/* Pushes the frame of this number and expects this flow return; not for pushes that may
 * block. */
void flight_push (Flight *flight, guint64 number);
GstFlowReturn flight_try_push (Flight *flight, guint64 number);
/* Takes the next frame from the sink and expects it to be the frame of this number, with
 * its times, filtered as the settings say. */
void flight_expect (Flight *flight, guint64 number, const char *settings);
GstBuffer *flight_pull (Flight *flight);

void flight_send (Flight *flight, GstEvent *event);
void flight_send_segment (Flight *flight);
void flight_flush (Flight *flight);

guint64 flight_count (const Flight *flight, const char *stat);
guint flight_peak (const Flight *flight);

/* A function that runs on its own thread. */
typedef struct Task Task;

Task *task_start (gpointer (*run) (gpointer), gpointer user);
gboolean task_is_done (Task *task);
/* Waits for the task's end and frees the task; `what` names it in a failure. */
gpointer task_end (Task *task, const char *what);

/* Frames from `first` to `last` - 1, pushed one after the other until one is not
 * accepted. */
typedef struct
{
  Flight *flight;
  guint64 first, last;
  gint pushed;
} Pushes;

/* Task function over Pushes; returns the last flow return. */
gpointer push_frames (gpointer pushes);
