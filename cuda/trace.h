/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trace: named ranges of the engine's work, for profilers that read NVTX, such as Nsight Systems.
 *
 * A range is a piece of one thread's work; ranges of a thread nest. A frame is a separate range,
 * which may begin on one thread and end on another. Streams and threads have names.
 *
 * Ranges and frames are in NVTX's domain "gst-cudasepconv". Each takes about 4 ns in a program
 * that runs without a profiler, and nothing in a build without NVTX. Thread safety: any thread.
 * No function can fail. */
#pragma once

#include "gpu.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a range, which gives its label and the meaning of its number. */
typedef enum
{
  /* Of one slice, whose number is in the label: "up, slice 2". */
  TRACE_UP,      /* the slice's copy to the GPU is queued */
  TRACE_COMPUTE, /* its kernels are queued; without a GPU it is computed */
  TRACE_DOWN,    /* the copy of the rows that it finished is queued */
  TRACE_N_OF_SLICES,
  /* Of one frame, whose number is the range's payload. */
  TRACE_SUBMIT = TRACE_N_OF_SLICES, /* all of the above, for all slices */
  TRACE_WAIT,                       /* for the GPU to finish it */
  /* Without a number: 0. */
  TRACE_COPY_IN,  /* the CPU's copy of a source into pinned memory */
  TRACE_COPY_OUT, /* the CPU's copy of a result out of pinned memory */
  TRACE_FILTER,   /* sepconv, on either backend; likewise below */
  TRACE_COUNT,    /* histo */
  TRACE_EQUALIZE,
  TRACE_OVERLAY,
  TRACE_REGIONS,
  TRACE_LIGHT,
  TRACE_PASS, /* one thread's share of a job that workers share */
  TRACE_ROOM, /* the wait for an earlier frame to leave */
  TRACE_PUSH, /* all that elements downstream do on the thread that pushes */
  TRACE_N
} TraceRange;

/* Slices of one frame that have labels. */
#define TRACE_SLICES 16

/* A frame's range, or 0. */
typedef uint64_t TraceFrame;

#ifdef HAVE_NVTX

/* For TRACE_BLOCK(). Returns whether a profiler has the range, and so needs trace_end(). */
bool trace_begin (TraceRange range, uint64_t number);
/* Ends the range that this thread began last. */
void trace_end (void);
/* Begins the range "frame 12, slot 3". */
TraceFrame trace_frame_begin (uint64_t number, int slot);
/* Ends the frame's range, from any thread, and sets it to 0; 0 is allowed and does nothing. */
void trace_frame_end (TraceFrame *frame);
void trace_name_thread (const char *name); /* the calling one */
void trace_name_stream (GpuStream stream, const char *name);

#else

static inline bool
trace_begin (TraceRange range, uint64_t number)
{
  (void) range;
  (void) number;
  return false;
}

static inline void
trace_end (void)
{
}

static inline TraceFrame
trace_frame_begin (uint64_t number, int slot)
{
  (void) number;
  (void) slot;
  return 0;
}

static inline void
trace_frame_end (TraceFrame *frame)
{
  (void) frame;
}

static inline void
trace_name_thread (const char *name)
{
  (void) name;
}

static inline void
trace_name_stream (GpuStream stream, const char *name)
{
  (void) stream;
  (void) name;
}

#endif

static inline void
trace_end_if (const bool *begun)
{
  if (*begun)
    trace_end ();
}

/* A declaration. The range lasts until the end of the block, however control leaves it. */
#define TRACE_BLOCK(range, number)                            \
  __attribute__ ((cleanup (trace_end_if), unused)) const bool \
      trace_block_begun = trace_begin (range, number)

#ifdef __cplusplus
}
#endif
