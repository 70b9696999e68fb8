/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fault-run: a short pipeline from a source to its end or its error, and all that it said and
 * delivered, for test-faults.c. */
#pragma once

#include "filter-fixture.h"

/* No run takes so long, on any machine: a longer one hangs. */
#define FAULT_RUN_SECONDS 30

typedef struct
{
  GstElement *pipeline;
  GstBus *bus;
  gboolean of_v210; /* what its source makes */
  gint alive; /* elements and buffers that are not finalized; atomic */

  GMutex lock;        /* of all below, for the pipeline's threads */
  GPtrArray *frames;  /* of GBytes: what reached the sink */
  GArray *times;      /* of GstClockTime: theirs */
  GPtrArray *reports; /* of char *: the histogram messages */
  GPtrArray *errors; /* of char *, sentence and debug text: the elements' own */
  GPtrArray *warnings;
  guint failures; /* errors of whichever element */
} FaultRun;

/* Makes a pipeline that ends with a fakesink named "sink", or ends the test. */
FaultRun *fault_run_new (const char *description);
/* Plays the pipeline until EOS or an error and stops it. What it said before is forgotten. */
void fault_run_play (FaultRun *run);
/* Frees the pipeline, whose elements and buffers must be gone with it. What it said stays. */
void fault_run_end (FaultRun *run);
void fault_run_free (FaultRun *run);
