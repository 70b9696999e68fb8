/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstframequeue: a queue of frames and events. The streaming thread puts them in. The pusher,
 * a thread of the queue, waits for each frame in turn and pushes it.
 *
 * The queue keeps the order and loses nothing: gst_frame_queue_drain() returns when everything
 * has been pushed, and the flow return of a push reaches the streaming thread with one of its
 * next frames. While the queue flushes, it waits for each frame and drops it. */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

typedef struct _GstFrameQueue GstFrameQueue;

/* Waits until the buffer of the frame can be pushed, and frees `frame`. The function may
 * replace *buffer, or set it to NULL to drop the frame; `buffer` is NULL if the frame has none
 * or is about to be dropped. It may set *message, which is NULL before the call; the queue
 * posts it before the push. FALSE: the buffer will never be ready, and *message is an error,
 * or NULL if an error has been posted before. Called on the pusher, or on a thread that drops
 * frames. The function must neither post nor push, since both run code of others, and threads
 * that drain wait until this function returns, even in a flush. */
typedef gboolean (*GstFrameQueueFinish) (gpointer frame, GstBuffer **buffer,
    GstMessage **message, gpointer user_data);

/* Pushes on `pad`, which must outlive the queue; the element of the pad posts messages. */
GstFrameQueue *gst_frame_queue_new (
    GstPad *pad, GstFrameQueueFinish finish, gpointer user_data);
void gst_frame_queue_free (GstFrameQueue *self);

/* Starts the pusher, not flushing, with flow OK. STREAM_STATUS messages of the pad announce
 * its GstTask, as they do a pad's own task. FALSE: the system gives no thread. */
gboolean gst_frame_queue_start (GstFrameQueue *self, const gchar *thread_name);
/* Drops all frames and events that are left, and ends the pusher. Calls of the streaming
 * thread that wait return, and later calls are allowed. */
void gst_frame_queue_stop (GstFrameQueue *self);

/* The functions that wait may also be called from within a push or the posting of a message,
 * since the receiver may send something upstream. They then push the rest of the queue
 * themselves.
 *
 * Streaming thread: blocks until fewer than `depth` frames are in the queue or being pushed.
 * Returns the last flow return of downstream, or FLUSHING. */
GstFlowReturn gst_frame_queue_wait_for_room (GstFrameQueue *self, guint depth);

/* Streaming thread. Takes the buffer and the frame. Frame NULL: the buffer is ready. Buffer
 * NULL: the frame is finished, and nothing is pushed. */
void gst_frame_queue_put (
    GstFrameQueue *self, GstBuffer *buffer, gpointer frame);

/* Streaming thread. Takes an event, to push it after the frames in the queue. Returns at once,
 * unless a great many events wait. FALSE: the queue is empty or flushing; the caller keeps the
 * event, and may push it at once without changing the order. */
gboolean gst_frame_queue_put_event (GstFrameQueue *self, GstEvent *event);
/* After a flush, when the pad stores events again: stores those sticky events on the pad that
 * the flush found in the queue. Downstream gets them with the next frame. */
void gst_frame_queue_store_lost_events (GstFrameQueue *self);

/* Streaming thread: blocks until the queue is empty and nothing is being pushed. Returns the
 * last flow return of downstream, or FLUSHING: the frames have then been finished and dropped,
 * but one push may still be running. `why` is for the log. */
GstFlowReturn gst_frame_queue_drain (GstFrameQueue *self, const gchar *why);

/* Frames in the queue or being pushed. Any thread. */
guint gst_frame_queue_length (GstFrameQueue *self);

/* Any thread. TRUE: calls that wait for room return at once, and each frame in the queue is
 * dropped in its turn. FALSE: waits until all frames are gone, and resets the flow to OK. It
 * does not wait for a frame whose message is being posted; that frame is dropped. */
void gst_frame_queue_set_flushing (GstFrameQueue *self, gboolean flushing);

/* Any thread: resets the last flow return to OK if it is `flow`. */
void gst_frame_queue_forget (GstFrameQueue *self, GstFlowReturn flow);

G_END_DECLS
