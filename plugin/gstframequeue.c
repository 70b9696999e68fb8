/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstframequeue.h"

#include "gstgpulog.h"
#include "trace.h"

#define GST_CAT_DEFAULT gst_gpu_log_flight

/* Events that may wait among frames. An upstream that sends only events must wait, too. */
#define MAX_EVENTS 64

/* An event, or a frame and its buffer, either of which may be NULL. */
typedef struct
{
  GstBuffer *buffer;
  GstEvent *event;
  gpointer frame;
  guint epoch; /* the epoch of the queue when the frame was finished */
} Entry;

/* A condition that threads wait for. GCond calls the kernel even if no thread waits, which
 * takes as long as the rest of a frame's way through the queue. */
typedef struct
{
  GCond cond;
  gboolean awaited; /* a thread waits and has not been woken yet */
} Condition;

struct _GstFrameQueue
{
  GstPad *pad;
  GstFrameQueueFinish finish;
  gpointer user_data;
  /* Owned by the thread that starts and stops. */
  GstTask *task;       /* of the pusher, between start and stop; else NULL */
  GRecMutex task_lock; /* held by the pusher while it runs; GstTask wants one */

  GMutex lock;        /* protects all below, from both threads and flushes */
  Condition arrived;  /* an entry or `quit`; only the pusher waits for it */
  Condition room;     /* for one more frame or event, or a reason not to wait */
  Condition changed;  /* `pending`, `finishing`, `posting` or `flushing` */
  GArray *entries;    /* of Entry, a circular buffer; grows, never shrinks */
  guint head;         /* index of the oldest entry */
  GThread *pusher;    /* NULL while it does not run: tasks share threads */
  guint queued;       /* number of entries in the buffer */
  guint pending;      /* the queued entries and the one that the pusher has */
  guint events;       /* how many of the pending entries are events */
  GQueue lost;        /* sticky events that a flush kept from downstream */
  gboolean finishing; /* a thread waits for a frame's end: one at a time */
  Entry *posting;     /* the pusher is posting its message; else NULL */
  GstFlowReturn flow; /* the last bad one of downstream, or OK */
  guint epoch;   /* number of flushes: the flow of earlier pushes is ignored */
  guint forgets; /* number of calls of gst_frame_queue_forget() */
  GstFlowReturn forgotten; /* the flow of the last of these calls */
  gboolean flushing;
  gboolean quit;
};

/* With the lock held, released meanwhile. */
static void
wait_on (GstFrameQueue *self, Condition *condition)
{
  condition->awaited = TRUE;
  g_cond_wait (&condition->cond, &self->lock);
}

/* With the lock held. */
static void
wake (Condition *condition)
{
  if (!condition->awaited)
    return;
  condition->awaited = FALSE;
  g_cond_broadcast (&condition->cond);
}

/* The entry that is `n` after the oldest. */
static Entry *
entry_at (GstFrameQueue *self, guint n)
{
  return &g_array_index (
      self->entries, Entry, (self->head + n) % self->entries->len);
}

/* With the lock held, released meanwhile: waits until no frame is being finished, and takes
 * the oldest entry, whose frame the caller must finish next. FALSE: the queue is empty. */
static gboolean
take (GstFrameQueue *self, Entry *entry)
{
  while (self->queued > 0 && self->finishing)
    wait_on (self, &self->changed);
  if (self->queued == 0)
    return FALSE;
  *entry = *entry_at (self, 0);
  self->head = (self->head + 1) % self->entries->len;
  self->queued--;
  self->finishing = TRUE;
  return TRUE;
}

/* With the lock held, released meanwhile: waits for the end of the frame that was taken. The
 * entry keeps its buffer unless it is dropped. Returns a message to post, or NULL. */
static GstMessage *
finish (GstFrameQueue *self, Entry *entry, gboolean drop)
{
  GstBuffer **buffer = drop || entry->buffer == NULL ? NULL : &entry->buffer;
  GstMessage *message = NULL;
  gboolean ok;

  g_mutex_unlock (&self->lock);
  ok = entry->frame == NULL
      || self->finish (entry->frame, buffer, &message, self->user_data);
  if (drop || !ok)
    gst_clear_buffer (&entry->buffer);
  g_mutex_lock (&self->lock);
  entry->epoch = self->epoch;
  self->finishing = FALSE;
  wake (&self->changed);
  if (!ok && !self->flushing)
    self->flow = GST_FLOW_ERROR;
  return message;
}

/* With the lock held: counts an entry as done. */
static void
end_entry (GstFrameQueue *self, gboolean is_event)
{
  self->pending--;
  if (is_event)
    self->events--;
  wake (&self->room);
  wake (&self->changed);
}

/* With the lock held, released meanwhile. */
static void
post (GstFrameQueue *self, GstMessage *message)
{
  g_mutex_unlock (&self->lock);
  gst_element_post_message (
      GST_ELEMENT (GST_OBJECT_PARENT (self->pad)), message);
  g_mutex_lock (&self->lock);
}

/* With the lock held, released meanwhile: pushes the buffer of a finished entry, if it has one,
 * or drops it after a flush or a bad flow return. */
static void
push (GstFrameQueue *self, Entry *entry)
{
  GstBuffer *buffer = g_steal_pointer (&entry->buffer);
  const guint epoch = entry->epoch, forgets = self->forgets;
  const gboolean drop =
      self->flushing || self->flow != GST_FLOW_OK || epoch != self->epoch;
  GstFlowReturn flow = GST_FLOW_OK;

  if (buffer == NULL)
    return;
  g_mutex_unlock (&self->lock);
  GST_LOG_OBJECT (self->pad, "%s %" GST_PTR_FORMAT, drop ? "drops" : "pushes",
      (gpointer) buffer);
  if (drop)
    gst_buffer_unref (buffer);
  else {
    TRACE_BLOCK (TRACE_PUSH, 0);
    flow = gst_pad_push (self->pad, buffer);
  }
  g_mutex_lock (&self->lock);
  /* A custom success concerns one push only, and the next frame is pushed. */
  if (flow < GST_FLOW_OK && !self->flushing && epoch == self->epoch
      && (forgets == self->forgets || flow != self->forgotten)) {
    GST_DEBUG_OBJECT (self->pad, "flow is now %s", gst_flow_get_name (flow));
    self->flow = flow;
  }
}

/* With the lock held: a flush has kept an event from downstream. Keeps sticky ones for
 * gst_frame_queue_store_lost_events(). Takes the event. */
static void
lose_event (GstFrameQueue *self, GstEvent *event)
{
  if (!GST_EVENT_IS_STICKY (event))
    gst_event_unref (event);
  else
    g_queue_push_tail (&self->lost, event);
}

/* With the lock held, released meanwhile. Events are pushed after a bad flow return, too. */
static void
push_event (GstFrameQueue *self, Entry *entry)
{
  GstEvent *event = g_steal_pointer (&entry->event);
  gboolean pushed = FALSE;

  if (!self->flushing && entry->epoch == self->epoch) {
    g_mutex_unlock (&self->lock);
    GST_LOG_OBJECT (self->pad, "pushes %" GST_PTR_FORMAT, (gpointer) event);
    pushed = gst_pad_push_event (self->pad, gst_event_ref (event));
    g_mutex_lock (&self->lock);
  }
  if (pushed || !self->flushing)
    gst_event_unref (event);
  else
    lose_event (self, event);
}

/* On the pusher, with the lock held, released meanwhile: pushes an event; or waits for a frame,
 * posts its message and pushes its buffer. */
static void
handle_entry (GstFrameQueue *self, Entry entry)
{
  const gboolean drop = self->flushing || self->flow != GST_FLOW_OK;
  const gboolean is_event = entry.event != NULL;
  GstMessage *message = finish (self, &entry, drop);

  if (message != NULL) {
    self->posting = &entry;
    wake (&self->changed);
    post (self, message);
    self->posting = NULL;
  }
  if (is_event)
    push_event (self, &entry);
  else
    push (self, &entry);
  end_entry (self, is_event);
}

/* With the lock held, released meanwhile: drops all queued entries, on a thread that cannot
 * wait until the pusher does so. */
static void
drop_queued (GstFrameQueue *self)
{
  Entry entry;

  while (take (self, &entry)) {
    GstMessage *message = finish (self, &entry, TRUE);
    const gboolean is_event = entry.event != NULL;

    if (message != NULL)
      post (self, message);
    if (is_event)
      lose_event (self, entry.event);
    end_entry (self, is_event);
  }
}

/* With the lock held. */
static gboolean
is_pushing (const GstFrameQueue *self)
{
  return self->pending > (self->posting != NULL ? 1 : 0);
}

/* With the lock held, released meanwhile. TRUE: this thread is the pusher, and the receiver of
 * its push or its message has called a function that waits. The rest of the queue has been
 * handled here, after the frame of that message. The caller must not wait for a frame that is
 * being pushed. */
static gboolean
handled_within_push (GstFrameQueue *self)
{
  Entry entry;

  if (g_thread_self () != self->pusher)
    return FALSE;
  if (self->posting != NULL)
    push (self, g_steal_pointer (&self->posting));
  while (take (self, &entry))
    handle_entry (self, entry);
  return TRUE;
}

/* A GstTaskFunction. It returns when the queue stops. */
static void
push_frames (gpointer data)
{
  GstFrameQueue *self = data;
  Entry entry;

  g_mutex_lock (&self->lock);
  self->pusher = g_thread_self ();
  for (;;) {
    if (take (self, &entry))
      handle_entry (self, entry);
    else if (self->quit)
      break;
    else
      wait_on (self, &self->arrived);
  }
  self->pusher = NULL;
  g_mutex_unlock (&self->lock);
}

/* Announces the pusher, as a pad announces its task: an application may give the task a pool,
 * or set the priority and affinity of its thread. */
static void
post_stream_status (
    GstFrameQueue *self, GstTask *task, GstStreamStatusType type)
{
  GstElement *element = GST_ELEMENT (GST_OBJECT_PARENT (self->pad));
  GstMessage *message =
      gst_message_new_stream_status (GST_OBJECT (self->pad), type, element);
  GValue object = G_VALUE_INIT;

  g_value_init (&object, GST_TYPE_TASK);
  g_value_set_object (&object, task);
  gst_message_set_stream_status_object (message, &object);
  g_value_unset (&object);
  gst_element_post_message (element, message);
}

static void
on_enter (GstTask *task, GThread *thread, gpointer user_data)
{
  (void) thread;
  trace_name_thread (GST_OBJECT_NAME (task));
  post_stream_status (user_data, task, GST_STREAM_STATUS_TYPE_ENTER);
}

static void
on_leave (GstTask *task, GThread *thread, gpointer user_data)
{
  (void) thread;
  post_stream_status (user_data, task, GST_STREAM_STATUS_TYPE_LEAVE);
}

GstFrameQueue *
gst_frame_queue_new (
    GstPad *pad, GstFrameQueueFinish finish, gpointer user_data)
{
  GstFrameQueue *self = g_new0 (GstFrameQueue, 1);

  self->pad = pad;
  self->finish = finish;
  self->user_data = user_data;
  self->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_array_set_size (self->entries, 8);
  g_rec_mutex_init (&self->task_lock);
  g_mutex_init (&self->lock);
  g_cond_init (&self->arrived.cond);
  g_cond_init (&self->room.cond);
  g_cond_init (&self->changed.cond);
  return self;
}

static void
clear_lost_events (GstFrameQueue *self)
{
  g_queue_clear_full (&self->lost, (GDestroyNotify) gst_event_unref);
}

void
gst_frame_queue_free (GstFrameQueue *self)
{
  clear_lost_events (self);
  g_array_unref (self->entries);
  g_cond_clear (&self->changed.cond);
  g_cond_clear (&self->room.cond);
  g_cond_clear (&self->arrived.cond);
  g_mutex_clear (&self->lock);
  g_rec_mutex_clear (&self->task_lock);
  g_free (self);
}

gboolean
gst_frame_queue_start (GstFrameQueue *self, const gchar *thread_name)
{
  g_mutex_lock (&self->lock);
  self->flow = GST_FLOW_OK;
  self->flushing = self->quit = FALSE;
  g_mutex_unlock (&self->lock);

  self->task = gst_task_new (push_frames, self, NULL);
  gst_object_set_name (GST_OBJECT (self->task), thread_name);
  gst_task_set_lock (self->task, &self->task_lock);
  gst_task_set_enter_callback (self->task, on_enter, self, NULL);
  gst_task_set_leave_callback (self->task, on_leave, self, NULL);
  post_stream_status (self, self->task, GST_STREAM_STATUS_TYPE_CREATE);
  if (gst_task_start (self->task))
    return TRUE;
  gst_clear_object (&self->task);
  return FALSE;
}

void
gst_frame_queue_stop (GstFrameQueue *self)
{
  if (self->task == NULL)
    return;
  /* Before `quit` is set, so that the task does not call its function again. */
  gst_task_stop (self->task);
  g_mutex_lock (&self->lock);
  self->quit = self->flushing = TRUE;
  wake (&self->arrived);
  wake (&self->room);
  wake (&self->changed);
  g_mutex_unlock (&self->lock);
  gst_task_join (self->task);
  gst_clear_object (&self->task);
  /* A task that is stopped right after its start may never have run. */
  g_mutex_lock (&self->lock);
  drop_queued (self);
  clear_lost_events (self);
  g_mutex_unlock (&self->lock);
}

GstFlowReturn
gst_frame_queue_wait_for_room (GstFrameQueue *self, guint depth)
{
  GstFlowReturn flow;

  g_mutex_lock (&self->lock);
  if (!handled_within_push (self))
    while (self->pending - self->events >= depth && self->flow == GST_FLOW_OK
        && !self->flushing) {
      TRACE_BLOCK (TRACE_ROOM, 0);
      wait_on (self, &self->room);
    }
  flow = self->flushing ? GST_FLOW_FLUSHING : self->flow;
  g_mutex_unlock (&self->lock);
  return flow;
}

/* Doubles the circular buffer; the oldest entry then comes first. */
static void
grow (GstFrameQueue *self)
{
  GArray *larger = g_array_sized_new (FALSE, FALSE, sizeof (Entry), 16);

  for (guint i = 0; i < self->queued; i++)
    g_array_append_val (larger, *entry_at (self, i));
  g_array_set_size (larger, 2 * self->entries->len);
  g_array_unref (self->entries);
  self->entries = larger;
  self->head = 0;
}

/* With the lock held. */
static void
put_entry (GstFrameQueue *self, const Entry *entry)
{
  if (self->queued == self->entries->len)
    grow (self);
  *entry_at (self, self->queued) = *entry;
  self->queued++;
  self->pending++;
  wake (&self->arrived);
}

void
gst_frame_queue_put (GstFrameQueue *self, GstBuffer *buffer, gpointer frame)
{
  const Entry entry = { .buffer = buffer, .frame = frame };

  g_mutex_lock (&self->lock);
  put_entry (self, &entry);
  g_mutex_unlock (&self->lock);
}

gboolean
gst_frame_queue_put_event (GstFrameQueue *self, GstEvent *event)
{
  const Entry entry = { .event = event };
  gboolean taken = FALSE;

  g_mutex_lock (&self->lock);
  if (!handled_within_push (self)) {
    while (self->events >= MAX_EVENTS && !self->flushing)
      wait_on (self, &self->room);
    taken = self->pending > 0 && !self->flushing;
  }
  if (taken) {
    put_entry (self, &entry);
    self->events++;
  }
  g_mutex_unlock (&self->lock);
  return taken;
}

void
gst_frame_queue_store_lost_events (GstFrameQueue *self)
{
  GQueue lost = G_QUEUE_INIT;
  GstEvent *event;

  g_mutex_lock (&self->lock);
  lost = self->lost;
  g_queue_init (&self->lost);
  g_mutex_unlock (&self->lock);
  while ((event = g_queue_pop_head (&lost)) != NULL) {
    GST_DEBUG_OBJECT (self->pad,
        "downstream gets with the next frame, after a flush: %" GST_PTR_FORMAT,
        (gpointer) event);
    gst_pad_store_sticky_event (self->pad, event);
    gst_event_unref (event);
  }
}

GstFlowReturn
gst_frame_queue_drain (GstFrameQueue *self, const gchar *why)
{
  GstFlowReturn flow;

  g_mutex_lock (&self->lock);
  if (self->pending > 0)
    GST_DEBUG_OBJECT (self->pad, "drains %u frames in flight, %u events: %s",
        self->pending - self->events, self->events, why);
  else
    GST_TRACE_OBJECT (self->pad, "nothing to drain: %s", why);
  if (!handled_within_push (self))
    while (self->pending > 0) {
      if (self->flushing) {
        /* The pusher may be in a push that waits until this thread returns. */
        drop_queued (self);
        if (!self->finishing)
          break;
      }
      wait_on (self, &self->changed);
    }
  flow = self->flushing ? GST_FLOW_FLUSHING : self->flow;
  g_mutex_unlock (&self->lock);
  return flow;
}

guint
gst_frame_queue_length (GstFrameQueue *self)
{
  guint pending;

  g_mutex_lock (&self->lock);
  pending = self->pending - self->events;
  g_mutex_unlock (&self->lock);
  return pending;
}

void
gst_frame_queue_set_flushing (GstFrameQueue *self, gboolean flushing)
{
  g_mutex_lock (&self->lock);
  if (!flushing) {
    /* On the pusher, this is a seek from within a push. Another thread must wait for the end
     * of a running push, which could still deliver its frame. It does not wait while a message
     * is being posted: the push after that is dropped, and the receiver of the message may
     * itself be ending a flush. */
    if (!handled_within_push (self))
      for (drop_queued (self); is_pushing (self); drop_queued (self))
        wait_on (self, &self->changed);
    self->flow = GST_FLOW_OK;
    self->epoch++;
  }
  self->flushing = flushing;
  wake (&self->room);
  wake (&self->changed);
  g_mutex_unlock (&self->lock);
}

void
gst_frame_queue_forget (GstFrameQueue *self, GstFlowReturn flow)
{
  g_mutex_lock (&self->lock);
  if (self->flow == flow)
    self->flow = GST_FLOW_OK;
  self->forgotten = flow;
  self->forgets++;
  g_mutex_unlock (&self->lock);
}
