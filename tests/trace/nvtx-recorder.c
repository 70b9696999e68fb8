/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nvtx-recorder: records a program's NVTX calls, one per line, in the file that TRACE_RECORDING
 * names. NVTX loads this library if NVTX_INJECTION64_PATH names it. The lines are
 *
 *   THREAD begin NUMBER LABEL    a range, whose number is its payload
 *   THREAD end
 *   THREAD start ID LABEL        a frame
 *   THREAD stop ID
 *   THREAD thread NAMED NAME
 *   THREAD stream HANDLE NAME
 *   THREAD domain NAME
 *
 * Threads and IDs are decimal numbers. Registered labels are recorded where they are used. */
#include <nvtx3/nvToolsExt.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__ ((visibility ("default")))

EXPORTED int InitializeInjectionNvtx2 (NvtxGetExportTableFunc_t export_table);

/* Never closed: threads may outlive the program's end. */
static FILE *recording;
static atomic_ullong frames;

static void
open_recording (void)
{
  const char *name = getenv ("TRACE_RECORDING");

  recording = name != NULL ? fopen (name, "a") : NULL;
  if (recording != NULL)
    setvbuf (recording, NULL, _IOLBF, 4096);
}

/* One stdio call per line, which keeps lines of different threads apart. */
static void __attribute__ ((format (printf, 1, 2)))
record (const char *format, ...)
{
  char line[256];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (line, sizeof line, format, arguments);
  va_end (arguments);
  fprintf (recording, "%ld %s\n", (long) syscall (SYS_gettid), line);
}

/* Handles of domains and labels are pointers to their texts. */
static nvtxDomainHandle_t NVTX_API
domain_create (const char *name)
{
  record ("domain %s", name);
  return (nvtxDomainHandle_t) strdup (name);
}

static nvtxStringHandle_t NVTX_API
register_string (nvtxDomainHandle_t domain, const char *text)
{
  (void) domain;
  return (nvtxStringHandle_t) strdup (text);
}

static const char *
label (const nvtxEventAttributes_t *event)
{
  return event->messageType == NVTX_MESSAGE_TYPE_REGISTERED
      ? (const char *) event->message.registered
      : event->message.ascii;
}

static int NVTX_API
range_push (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
  (void) domain;
  record ("begin %" PRIu64 " %s", event->payload.ullValue, label (event));
  return 0;
}

static int NVTX_API
range_pop (nvtxDomainHandle_t domain)
{
  (void) domain;
  record ("end");
  return 0;
}

static nvtxRangeId_t NVTX_API
range_start (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
  const nvtxRangeId_t id = atomic_fetch_add (&frames, 1) + 1;

  (void) domain;
  record ("start %" PRIu64 " %s", id, label (event));
  return id;
}

static void NVTX_API
range_end (nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
  (void) domain;
  record ("stop %" PRIu64, id);
}

static void NVTX_API
name_thread (uint32_t thread, const char *name)
{
  record ("thread %" PRIu32 " %s", thread, name);
}

static void NVTX_API
name_stream (nvtx_CUstream stream, const char *name)
{
  record ("stream %p %s", stream, name);
}

/* Stores a function in a program's table of a module, if the table is long enough. */
static void
put (const NvtxExportTableCallbacks *callbacks, NvtxCallbackModule module,
    unsigned id, NvtxFunctionPointer function)
{
  NvtxFunctionTable table;
  unsigned n;

  if (callbacks->GetModuleFunctionTable (module, &table, &n) && id < n)
    *table[id] = function;
}

/* Called once for each library of the program that uses NVTX. */
int
InitializeInjectionNvtx2 (NvtxGetExportTableFunc_t export_table)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const NvtxExportTableCallbacks *callbacks =
      export_table (NVTX_ETID_CALLBACKS);
  static const struct
  {
    NvtxCallbackModule module;
    unsigned id;
    NvtxFunctionPointer function;
  } functions[] = {
    { NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_NameOsThreadA,
        (NvtxFunctionPointer) name_thread },
    { NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainCreateA,
        (NvtxFunctionPointer) domain_create },
    { NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRegisterStringA,
        (NvtxFunctionPointer) register_string },
    { NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePushEx,
        (NvtxFunctionPointer) range_push },
    { NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangePop,
        (NvtxFunctionPointer) range_pop },
    { NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangeStartEx,
        (NvtxFunctionPointer) range_start },
    { NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_DomainRangeEnd,
        (NvtxFunctionPointer) range_end },
    { NVTX_CB_MODULE_CUDA, NVTX_CBID_CUDA_NameCuStreamA,
        (NvtxFunctionPointer) name_stream },
  };

  pthread_once (&once, open_recording);
  if (callbacks == NULL || recording == NULL)
    return 0;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
    put (
        callbacks, functions[i].module, functions[i].id, functions[i].function);
  return 1;
}
