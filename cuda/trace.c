/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* trace, in builds with NVTX, whose headers load the profiler's library if there is one. */
#include "trace.h"

#include <nvtx3/nvToolsExt.h>
#ifdef HAVE_CUDA
#include <nvtx3/nvToolsExtCuda.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const labels[TRACE_N] = {
  [TRACE_UP] = "up",
  [TRACE_COMPUTE] = "compute",
  [TRACE_DOWN] = "down",
  [TRACE_SUBMIT] = "submit",
  [TRACE_WAIT] = "wait",
  [TRACE_COPY_IN] = "copy in",
  [TRACE_COPY_OUT] = "copy out",
  [TRACE_FILTER] = "filter",
  [TRACE_COUNT] = "count",
  [TRACE_EQUALIZE] = "equalize",
  [TRACE_OVERLAY] = "overlay",
  [TRACE_REGIONS] = "regions",
  [TRACE_LIGHT] = "light",
  [TRACE_PASS] = "pass",
  [TRACE_ROOM] = "wait for room",
  [TRACE_PUSH] = "push",
};

/* `once` guards the variables below, which are written once before any use. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static nvtxDomainHandle_t domain; /* NULL: there is no profiler */
/* The profiler's handles of the labels, so that ranges carry no text. */
static nvtxStringHandle_t of_slices[TRACE_N_OF_SLICES][TRACE_SLICES];
static nvtxStringHandle_t others[TRACE_N];

static void
register_labels (void)
{
  for (int range = 0; range < TRACE_N_OF_SLICES; range++)
    for (int slice = 0; slice < TRACE_SLICES; slice++) {
      char label[32];

      snprintf (label, sizeof label, "%s, slice %d", labels[range], slice);
      of_slices[range][slice] = nvtxDomainRegisterStringA (domain, label);
    }
  for (int range = TRACE_N_OF_SLICES; range < TRACE_N; range++)
    others[range] = nvtxDomainRegisterStringA (domain, labels[range]);
}

static void
look_for_profiler (void)
{
  domain = nvtxDomainCreateA ("gst-cudasepconv");
  if (domain != NULL)
    register_labels ();
}

static bool
have_profiler (void)
{
  pthread_once (&once, look_for_profiler);
  return domain != NULL;
}

static void
push (TraceRange range, uint64_t number)
{
  const nvtxEventAttributes_t event = { .version = NVTX_VERSION,
    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
    .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
    .payload.ullValue = number,
    .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
    .message.registered =
        range < TRACE_N_OF_SLICES ? of_slices[range][number] : others[range] };

  nvtxDomainRangePushEx (domain, &event);
}

bool
trace_begin (TraceRange range, uint64_t number)
{
  const bool wanted = have_profiler ();

  if (wanted)
    push (range, number);
  return wanted;
}

void
trace_end (void)
{
  nvtxDomainRangePop (domain);
}

static TraceFrame
start (uint64_t number, int slot)
{
  char label[48];
  const nvtxEventAttributes_t event = { .version = NVTX_VERSION,
    .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
    .messageType = NVTX_MESSAGE_TYPE_ASCII,
    .message.ascii = label };

  snprintf (label, sizeof label, "frame %llu, slot %d",
      (unsigned long long) number, slot);
  return nvtxDomainRangeStartEx (domain, &event);
}

TraceFrame
trace_frame_begin (uint64_t number, int slot)
{
  return have_profiler () ? start (number, slot) : 0;
}

void
trace_frame_end (TraceFrame *frame)
{
  if (*frame != 0)
    nvtxDomainRangeEnd (domain, *frame);
  *frame = 0;
}

void
trace_name_thread (const char *name)
{
  if (have_profiler ())
    nvtxNameOsThreadA ((uint32_t) syscall (SYS_gettid), name);
}

void
trace_name_stream (GpuStream stream, const char *name)
{
#ifdef HAVE_CUDA
  if (have_profiler ())
    nvtxNameCuStreamA (stream, name);
#else
  (void) stream;
  (void) name;
#endif
}
