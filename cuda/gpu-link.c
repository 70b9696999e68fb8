/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gpu-link.h"

#include "trace.h"

#include <pthread.h>
#include <stdlib.h>

struct GpuLink
{
  const void *context;
  GpuStream up, down;
  int holds;
  GpuLink *next;
};

/* Protects `links` and the reference counts (`holds`). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static GpuLink *links;

static void
free_link (GpuLink *link)
{
  gpu_stream_free (link->down);
  gpu_stream_free (link->up);
  free (link);
}

static GpuLink *
new_link (const Gpu *gpu, Fault *fault)
{
  GpuLink *link = calloc (1, sizeof *link);

  if (link == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for the GPU's streams.");
    return NULL;
  }
  link->context = gpu_context (gpu);
  if (gpu_stream_new (&link->up, fault)
      && gpu_stream_new (&link->down, fault)) {
    trace_name_stream (link->up, "gst-cudasepconv up");
    trace_name_stream (link->down, "gst-cudasepconv down");
    return link;
  }
  free_link (link);
  return NULL;
}

GpuLink *
gpu_link_hold (const Gpu *gpu, Fault *fault)
{
  GpuLink *link;

  pthread_mutex_lock (&lock);
  link = links;
  while (link != NULL && link->context != gpu_context (gpu))
    link = link->next;
  if (link == NULL) {
    link = new_link (gpu, fault);
    if (link != NULL) {
      link->next = links;
      links = link;
    }
  }
  if (link != NULL)
    link->holds++;
  pthread_mutex_unlock (&lock);
  return link;
}

void
gpu_link_release (GpuLink *link)
{
  GpuLink **at = &links;

  if (link == NULL)
    return;
  pthread_mutex_lock (&lock);
  if (--link->holds == 0) {
    while (*at != link)
      at = &(*at)->next;
    *at = link->next;
    free_link (link);
  }
  pthread_mutex_unlock (&lock);
}

GpuStream
gpu_link_up (const GpuLink *link)
{
  return link->up;
}

GpuStream
gpu_link_down (const GpuLink *link)
{
  return link->down;
}
