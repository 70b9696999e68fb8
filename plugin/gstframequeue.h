/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstframequeue: frames, and the events among them, between the streaming thread, which puts
 * them in, and a thread of the queue, the pusher, which waits for each frame in turn and
 * pushes it.
 *
 * Order is kept and nothing is lost: gst_frame_queue_drain() returns when everything has been
 * pushed, and the streaming thread learns the flow return of a push before one of its next
 * frames. While flushing, frames are waited for and dropped. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

typedef struct _GstFrameQueue GstFrameQueue;

/* Waits until the frame's buffer is ready to be pushed, and frees `frame`. It may put
 * another buffer in its place; `buffer` is NULL if there is none, or if the frame is
 * about to be dropped. What it puts into `*message`, NULL before, is posted ahead of the
 * push. FALSE if the buffer never will be ready, with an error as the message.
 * Called on the pusher, or on a thread that drops frames. It must not run others' code,
 * by posting or pushing: threads that drain wait for its end even while flushing. */
typedef gboolean (*GstFrameQueueFinish) (gpointer frame, GstBuffer **buffer,
    GstMessage **message, gpointer user_data);

/* Pushes on `pad`, of the element that posts; it must outlive the queue. */
GstFrameQueue *gst_frame_queue_new (
    GstPad *pad, GstFrameQueueFinish finish, gpointer user_data);
void gst_frame_queue_free (GstFrameQueue *self);

/* Starts the pusher, not flushing, with flow OK. Its GstTask is announced by STREAM_STATUS
 * messages of the pad, as a pad's own task is. FALSE: no thread can be had. */
gboolean gst_frame_queue_start (GstFrameQueue *self, const gchar *thread_name);
/* Drops what is left and ends the pusher. Calls of the streaming thread that wait return,
 * and may go on to be made: there is nothing in the queue unless they put it there. */
void gst_frame_queue_stop (GstFrameQueue *self);

/* The calls that wait may also be made from within a push or the posting of a message, by a
 * receiver that sends something upstream: the frames behind are then handled on the spot.
 *
 * Streaming thread: blocks until fewer than `depth` frames are in the queue or
 * being pushed. Returns what downstream said last, or FLUSHING. */
GstFlowReturn gst_frame_queue_wait_for_room (GstFrameQueue *self, guint depth);

/* Streaming thread. Takes the buffer and the frame; frame NULL: the buffer is
 * ready; buffer NULL: the frame is only to be finished. */
void gst_frame_queue_put (
    GstFrameQueue *self, GstBuffer *buffer, gpointer frame);

/* Streaming thread. Takes an event that is to be pushed behind the frames, and returns at
 * once, unless a great many events wait. FALSE: nothing is in the queue, or it is flushing;
 * the event is still the caller's, and pushed at once keeps its order. */
gboolean gst_frame_queue_put_event (GstFrameQueue *self, GstEvent *event);
/* After a flush, once the pad can be used again: stores the sticky events on it that waited
 * in the queue, so that downstream gets them with the next frame. */
void gst_frame_queue_store_lost_events (GstFrameQueue *self);

/* Streaming thread: blocks until nothing is left. Returns the last flow return of
 * downstream, or FLUSHING: then the frames have been finished and dropped, and one
 * buffer may still be in a push. `why` is for the log. */
GstFlowReturn gst_frame_queue_drain (GstFrameQueue *self, const gchar *why);

/* Frames in the queue or being pushed. Any thread. */
guint gst_frame_queue_length (GstFrameQueue *self);

/* Any thread. TRUE makes waiting for room return at once; the frames in the
 * queue are dropped as their turn comes. FALSE waits until they are gone and
 * starts afresh; one whose message is just being posted is not waited for, and not
 * pushed. */
void gst_frame_queue_set_flushing (GstFrameQueue *self, gboolean flushing);

/* Any thread: forgets what downstream said, if it was `flow`. */
void gst_frame_queue_forget (GstFrameQueue *self, GstFlowReturn flow);

G_END_DECLS
