/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fault-run: runs a short pipeline to its end or its error, and records its messages and
 * frames, for test-faults.c. */
#pragma once

#include "filter-fixture.h"

/* A run that takes longer than this hangs, on any machine. */
#define FAULT_RUN_SECONDS 30

typedef struct
{
  GstElement *pipeline;
  GstBus *bus;
  gboolean of_v210; /* the source makes v210 */
  gint alive;       /* elements and buffers not finalized yet; atomic */

  GMutex lock;        /* protects all below, from the pipeline's threads */
  GPtrArray *frames;  /* of GBytes: frames that reached the sink */
  GArray *times;      /* of GstClockTime: their timestamps */
  GPtrArray *reports; /* of char *: histogram messages */
  GPtrArray *errors; /* of char *, sentence and debug text: the elements' own */
  GPtrArray *warnings;
  guint failures; /* errors of all elements */
} FaultRun;

/* Makes a pipeline that ends with a fakesink named "sink", or ends the test. */
FaultRun *fault_run_new (const char *description);
/* Plays the pipeline until EOS or an error, and stops it. First clears the records of the run
 * before. */
void fault_run_play (FaultRun *run);
/* Frees the pipeline and expects its elements and buffers to be freed with it. The records
 * stay. */
void fault_run_end (FaultRun *run);
void fault_run_free (FaultRun *run);
