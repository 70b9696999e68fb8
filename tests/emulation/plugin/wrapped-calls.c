/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wrapped-calls: makes calls of the plugin and of the library over the emulated GPU to the
 * system and to GStreamer fault points. The linker redirects only their own calls here (--wrap),
 * not those of other libraries. GLib's allocation functions end the process on failure, so they
 * are no fault points. */
#include "emulated-faults.h"

#include <errno.h>
#include <gst/video/video.h>
#include <pthread.h>
#include <stdlib.h>

void *__real_malloc (size_t bytes);
void *__real_calloc (size_t n, size_t bytes);
void *__real_realloc (void *memory, size_t bytes);
void *__real_aligned_alloc (size_t alignment, size_t bytes);
void __real_free (void *memory);
int __real_pthread_create (pthread_t *thread, const pthread_attr_t *attributes,
    void *(*run) (void *), void *user);
int __real_pthread_join (pthread_t thread, void **result);
gboolean __real_gst_task_start (GstTask *task);
gboolean __real_gst_video_frame_map (GstVideoFrame *frame,
    const GstVideoInfo *info, GstBuffer *buffer, GstMapFlags flags);
gboolean __real_gst_buffer_pool_set_config (
    GstBufferPool *pool, GstStructure *config);

void *__wrap_malloc (size_t bytes);
void *__wrap_calloc (size_t n, size_t bytes);
void *__wrap_realloc (void *memory, size_t bytes);
void *__wrap_aligned_alloc (size_t alignment, size_t bytes);
void __wrap_free (void *memory);
int __wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attributes,
    void *(*run) (void *), void *user);
int __wrap_pthread_join (pthread_t thread, void **result);
gboolean __wrap_gst_task_start (GstTask *task);
gboolean __wrap_gst_video_frame_map (GstVideoFrame *frame,
    const GstVideoInfo *info, GstBuffer *buffer, GstMapFlags flags);
gboolean __wrap_gst_buffer_pool_set_config (
    GstBufferPool *pool, GstStructure *config);

/* Counts an allocation. */
static void *
allocated (void *memory)
{
  if (memory != NULL)
    emulated_live_count (EMULATED_FAULT_HEAP, 1);
  return memory;
}

void *
__wrap_malloc (size_t bytes)
{
  return emulated_fault (EMULATED_FAULT_HEAP, "malloc")
      ? NULL
      : allocated (__real_malloc (bytes));
}

void *
__wrap_calloc (size_t n, size_t bytes)
{
  return emulated_fault (EMULATED_FAULT_HEAP, "calloc")
      ? NULL
      : allocated (__real_calloc (n, bytes));
}

void *
__wrap_realloc (void *memory, size_t bytes)
{
  void *moved;

  if (emulated_fault (EMULATED_FAULT_HEAP, "realloc"))
    return NULL;
  moved = __real_realloc (memory, bytes);
  return memory == NULL ? allocated (moved) : moved;
}

void *
__wrap_aligned_alloc (size_t alignment, size_t bytes)
{
  return emulated_fault (EMULATED_FAULT_HEAP, "aligned_alloc")
      ? NULL
      : allocated (__real_aligned_alloc (alignment, bytes));
}

void
__wrap_free (void *memory)
{
  if (memory != NULL)
    emulated_live_count (EMULATED_FAULT_HEAP, -1);
  __real_free (memory);
}

int
__wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attributes,
    void *(*run) (void *), void *user)
{
  int status;

  if (emulated_fault (EMULATED_FAULT_THREAD, "pthread_create"))
    return EAGAIN;
  status = __real_pthread_create (thread, attributes, run, user);
  if (status == 0)
    emulated_live_count (EMULATED_FAULT_THREAD, 1);
  return status;
}

int
__wrap_pthread_join (pthread_t thread, void **result)
{
  emulated_live_count (EMULATED_FAULT_THREAD, -1);
  return __real_pthread_join (thread, result);
}

gboolean
__wrap_gst_task_start (GstTask *task)
{
  return !emulated_fault (EMULATED_FAULT_THREAD, "gst_task_start")
      && __real_gst_task_start (task);
}

gboolean
__wrap_gst_video_frame_map (GstVideoFrame *frame, const GstVideoInfo *info,
    GstBuffer *buffer, GstMapFlags flags)
{
  return !emulated_fault (EMULATED_FAULT_FRAME, "gst_video_frame_map")
      && __real_gst_video_frame_map (frame, info, buffer, flags);
}

gboolean
__wrap_gst_buffer_pool_set_config (GstBufferPool *pool, GstStructure *config)
{
  if (emulated_fault (EMULATED_FAULT_FRAME, "gst_buffer_pool_set_config")) {
    gst_structure_free (config);
    return FALSE;
  }
  return __real_gst_buffer_pool_set_config (pool, config);
}
