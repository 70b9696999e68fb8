/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "soak-footprint.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Number of times that the threads are counted, and the pause before each. */
#define THREAD_COUNTS 20
#define THREAD_COUNT_PAUSE_US (50 * 1000)

static gdouble
status_number (const gchar *status, const gchar *key)
{
  const gchar *at = strstr (status, key);

  return at != NULL ? atof (at + strlen (key)) : 0.0;
}

static gint
count_descriptors (void)
{
  GDir *folder = g_dir_open ("/proc/self/fd", 0, NULL);
  gint n = 0;

  if (folder == NULL)
    return 0;
  while (g_dir_read_name (folder) != NULL)
    n++;
  g_dir_close (folder);
  return n;
}

/* Asks NVML, which needs no context. */
gdouble
soak_footprint_device_kib (void)
{
  struct
  {
    unsigned long long total, free, used;
  } memory = { 0, 0, 0 };
  void *library = dlopen ("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*init) (void);
  int (*shutdown) (void);
  int (*device_by_index) (unsigned, void **);
  int (*memory_info) (void *, void *);
  void *device = NULL;
  gdouble used = -1.0;

  if (library == NULL)
    return used;
  *(void **) &init = dlsym (library, "nvmlInit_v2");
  *(void **) &shutdown = dlsym (library, "nvmlShutdown");
  *(void **) &device_by_index =
      dlsym (library, "nvmlDeviceGetHandleByIndex_v2");
  *(void **) &memory_info = dlsym (library, "nvmlDeviceGetMemoryInfo");
  if (init != NULL && shutdown != NULL && device_by_index != NULL
      && memory_info != NULL && init () == 0) {
    if (device_by_index (0, &device) == 0 && memory_info (device, &memory) == 0)
      used = (gdouble) memory.used / 1024.0;
    shutdown ();
  }
  dlclose (library);
  return used;
}

/* The smallest count within a second: after its task a thread waits half a second in
 * its GThreadPool for the next one, and can only then be stopped. A leaked thread never
 * ends. */
static gint
count_threads (void)
{
  gint least = G_MAXINT;

  for (gint i = 0; i < THREAD_COUNTS; i++) {
    gchar *status = NULL;

    g_thread_pool_stop_unused_threads ();
    g_usleep (THREAD_COUNT_PAUSE_US);
    if (!g_file_get_contents ("/proc/self/status", &status, NULL, NULL))
      return 0;
    least = MIN (least, (gint) status_number (status, "Threads:"));
    g_free (status);
  }
  return least;
}

SoakFootprint
soak_footprint (void)
{
  SoakFootprint footprint = { 0 };
  gchar *status = NULL;

  footprint.device_kib = soak_footprint_device_kib ();
  footprint.threads = count_threads ();
  /* Freed memory that malloc() holds for later is no leak. */
  malloc_trim (0);
  if (g_file_get_contents ("/proc/self/status", &status, NULL, NULL))
    footprint.resident_kib = status_number (status, "VmRSS:");
  g_free (status);
  footprint.descriptors = count_descriptors ();
  return footprint;
}
