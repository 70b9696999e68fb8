/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* glib-for-tsan: informs ThreadSanitizer of the synchronization in GLib and GStreamer,
 * which are not built with it. To be preloaded, as tests/sanitize.sh does.
 *
 * GLib's mutexes, conditions and once-locks use futexes directly, and references are
 * atomic counters: ThreadSanitizer sees neither, and would report all accesses that they
 * order. Each function here calls the original and declares the order. Locks built on
 * pthreads (GRecMutex, GRWLock) and threads need no help. */
#include <dlfcn.h>
#include <gst/gst.h>
#include <sanitizer/tsan_interface.h>

/* The original function that this one wraps. */
#define REAL(function) \
  ({ \
    static __typeof__ (&function) real; \
    __typeof__ (&function) found = __atomic_load_n (&real, __ATOMIC_RELAXED); \
    if (found == NULL) { \
      found = (__typeof__ (&function)) dlsym (RTLD_NEXT, #function); \
      __atomic_store_n (&real, found, __ATOMIC_RELAXED); \
    } \
    found; \
  })

/* Locks */

void
g_mutex_init (GMutex *mutex)
{
  REAL (g_mutex_init) (mutex);
  __tsan_mutex_create (mutex, 0);
}

void
g_mutex_clear (GMutex *mutex)
{
  __tsan_mutex_destroy (mutex, 0);
  REAL (g_mutex_clear) (mutex);
}

void
g_mutex_lock (GMutex *mutex)
{
  __tsan_mutex_pre_lock (mutex, 0);
  REAL (g_mutex_lock) (mutex);
  __tsan_mutex_post_lock (mutex, 0, 0);
}

gboolean
g_mutex_trylock (GMutex *mutex)
{
  gboolean locked;

  __tsan_mutex_pre_lock (mutex, __tsan_mutex_try_lock);
  locked = REAL (g_mutex_trylock) (mutex);
  __tsan_mutex_post_lock (mutex,
      locked ? __tsan_mutex_try_lock
             : __tsan_mutex_try_lock | __tsan_mutex_try_lock_failed,
      0);
  return locked;
}

static void
say_unlocked (GMutex *mutex)
{
  __tsan_mutex_pre_unlock (mutex, 0);
  __tsan_mutex_post_unlock (mutex, 0);
}

void
g_mutex_unlock (GMutex *mutex)
{
  say_unlocked (mutex);
  REAL (g_mutex_unlock) (mutex);
}

void
g_cond_wait (GCond *cond, GMutex *mutex)
{
  say_unlocked (mutex);
  __tsan_mutex_pre_lock (mutex, 0);
  REAL (g_cond_wait) (cond, mutex);
  __tsan_mutex_post_lock (mutex, 0, 0);
}

gboolean
g_cond_wait_until (GCond *cond, GMutex *mutex, gint64 end_time)
{
  gboolean woken;

  say_unlocked (mutex);
  __tsan_mutex_pre_lock (mutex, 0);
  woken = REAL (g_cond_wait_until) (cond, mutex, end_time);
  __tsan_mutex_post_lock (mutex, 0, 0);
  return woken;
}

/* Once: work before leaving happens before the return of all that find it done. */

#undef g_once_init_enter
#undef g_once_init_leave
#undef g_once

gboolean
g_once_init_enter (volatile void *location)
{
  const gboolean first = REAL (g_once_init_enter) (location);

  __tsan_acquire ((void *) location);
  return first;
}

void
g_once_init_leave (volatile void *location, gsize result)
{
  __tsan_release ((void *) location);
  REAL (g_once_init_leave) (location, result);
}

/* References: a thread's work before it drops a reference happens before the work of the
 * thread that drops the last one. */

static void
say_dropped (gpointer object)
{
  __tsan_release (object);
  __tsan_acquire (object);
}

void
g_object_unref (gpointer object)
{
  say_dropped (object);
  REAL (g_object_unref) (object);
}

void
gst_object_unref (gpointer object)
{
  say_dropped (object);
  REAL (gst_object_unref) (object);
}

void
gst_mini_object_unref (GstMiniObject *object)
{
  say_dropped (object);
  REAL (gst_mini_object_unref) (object);
}

gboolean
gst_mini_object_replace (GstMiniObject **old, GstMiniObject *object)
{
  if (*old != NULL)
    say_dropped (*old);
  return REAL (gst_mini_object_replace) (old, object);
}

/* A thread that has become the only owner may write. */
gboolean
gst_mini_object_is_writable (const GstMiniObject *object)
{
  __tsan_acquire ((void *) object);
  return REAL (gst_mini_object_is_writable) (object);
}

GstMiniObject *
gst_mini_object_make_writable (GstMiniObject *object)
{
  say_dropped (object);
  return REAL (gst_mini_object_make_writable) (object);
}

/* Queues: lock-free, or with locks that only GLib itself calls */

void
g_async_queue_push (GAsyncQueue *queue, gpointer item)
{
  __tsan_release (item);
  REAL (g_async_queue_push) (queue, item);
}

static gpointer
say_taken (gpointer item)
{
  if (item != NULL)
    __tsan_acquire (item);
  return item;
}

gpointer
g_async_queue_pop (GAsyncQueue *queue)
{
  return say_taken (REAL (g_async_queue_pop) (queue));
}

gpointer
g_async_queue_try_pop (GAsyncQueue *queue)
{
  return say_taken (REAL (g_async_queue_try_pop) (queue));
}

gpointer
g_async_queue_timeout_pop (GAsyncQueue *queue, guint64 timeout)
{
  return say_taken (REAL (g_async_queue_timeout_pop) (queue, timeout));
}

GstFlowReturn
gst_buffer_pool_acquire_buffer (
    GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  const GstFlowReturn result =
      REAL (gst_buffer_pool_acquire_buffer) (pool, buffer, params);

  if (result == GST_FLOW_OK)
    __tsan_acquire (*buffer);
  return result;
}

gboolean
gst_element_post_message (GstElement *element, GstMessage *message)
{
  __tsan_release (message);
  return REAL (gst_element_post_message) (element, message);
}

GstMessage *
gst_bus_timed_pop_filtered (
    GstBus *bus, GstClockTime timeout, GstMessageType types)
{
  return say_taken (REAL (gst_bus_timed_pop_filtered) (bus, timeout, types));
}

/* Threads of a pool, which are reused */

typedef struct
{
  GFunc function;
  gpointer data;
} Work;

static void
do_work (gpointer item, gpointer data)
{
  const Work *work = data;

  __tsan_acquire (item);
  work->function (item, work->data);
}

/* Never freed, as pools mostly live as long as the process. */
GThreadPool *
g_thread_pool_new (GFunc function, gpointer data, gint max_threads,
    gboolean exclusive, GError **error)
{
  Work *work = g_new (Work, 1);

  *work = (Work){ function, data };
  return REAL (g_thread_pool_new) (
      do_work, work, max_threads, exclusive, error);
}

gboolean
g_thread_pool_push (GThreadPool *pool, gpointer item, GError **error)
{
  __tsan_release (item);
  return REAL (g_thread_pool_push) (pool, item, error);
}
