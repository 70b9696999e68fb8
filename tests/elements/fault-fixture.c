/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fault-fixture.h"

#include <dlfcn.h>

const FaultPoints *
fault_points (void)
{
  static FaultPoints points;
  void *driver = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

  if (driver == NULL)
    return NULL;
  *(void **) &points.arm = dlsym (driver, "emulated_faults_arm");
  *(void **) &points.fired = dlsym (driver, "emulated_faults_fired");
  *(void **) &points.live = dlsym (driver, "emulated_live");
  *(void **) &points.most_memory = dlsym (driver, "emulated_most_memory");
  dlclose (driver); /* the plugin holds it */
  return points.arm != NULL ? &points : NULL;
}
