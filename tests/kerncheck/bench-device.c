/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-device.h"

#include "bench-grid.h"

#include <stdio.h>
#include <string.h>

bool
bench_on_parse (BenchOn *on, const char *name)
{
  static const char *const names[] = {
    [BENCH_ON_AUTO] = "auto",
    [BENCH_ON_GPU] = "cuda",
    [BENCH_ON_HOST] = "cpu",
  };

  for (int i = 0; i <= BENCH_ON_HOST; i++)
    if (strcmp (names[i], name) == 0) {
      *on = (BenchOn) i;
      return true;
    }
  return false;
}

bool
bench_device_open (Device *device, BenchOn on, BenchFacts *facts, Fault *fault)
{
  if (on == BENCH_ON_HOST)
    return true;
  if (!device_open (device, fault)) {
    if (on == BENCH_ON_GPU || fault->kind != FAULT_NOT_FOUND)
      return false;
    printf ("no GPU: %s\n", fault->message);
    return true;
  }
  return bench_cuda_facts (device->gpu, facts, fault);
}

size_t
bench_device_rotation (const Device *device, const BenchFacts *facts)
{
  return device->gpu == NULL ? BENCH_ROTATION_HOST
                             : BENCH_ROTATION_L2 * facts->l2_bytes;
}
