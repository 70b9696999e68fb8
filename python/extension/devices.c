/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "devices.h"

#include <pthread.h>

#define MOST_DEVICES 64

static Gpu *devices[1 + MOST_DEVICES];                   /* by id + 1 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects it */

Gpu *
device_open (int id, Fault *fault)
{
  Gpu *gpu;

  if (id < -1 || id >= MOST_DEVICES) {
    fault_set (fault, FAULT_NOT_FOUND, "There is no CUDA device %d.", id);
    return NULL;
  }
  pthread_mutex_lock (&lock);
  if (devices[id + 1] == NULL)
    devices[id + 1] = gpu_open (id, fault);
  gpu = devices[id + 1];
  pthread_mutex_unlock (&lock);
  return gpu;
}

bool
device_of_memory (const void *memory, int *id, Fault *fault)
{
  Gpu *gpu = device_open (-1, fault);
  bool ok;

  if (gpu == NULL || !gpu_push (gpu, fault))
    return false;
  ok = gpu_memory_device (memory, id, fault);
  gpu_pop (gpu);
  if (ok && *id < 0)
    return fault_set (fault, FAULT_SETTINGS,
        "The array's interface says that it lies in a GPU's memory, but it does not.");
  return ok;
}
