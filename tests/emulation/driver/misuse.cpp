/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* misuse: what a program does wrong without minding the status that says so, such as
 * freeing something twice. A driver lets it pass; with EMULATED_GPU_STRICT=1 the
 * program ends. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

void
accuse (const char *what)
{
  static const char *const strict = getenv ("EMULATED_GPU_STRICT");

  /* Nothing can be freed in a context that is lost. */
  if (strict == nullptr || atoi (strict) == 0
      || emulated_faults_lost_context ())
    return;
  fprintf (stderr, "emulated GPU: %s\n", what);
  abort ();
}

CUresult
freed (CUresult status, const char *what)
{
  if (status != CUDA_SUCCESS)
    accuse (what);
  return status;
}
