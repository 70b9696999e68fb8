/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fault: an error, as a sentence for the user and a detail for the log.
 *
 * Every engine function that can fail takes a Fault and returns false or NULL
 * after filling it. Nothing in the engine prints or aborts. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum
{
  FAULT_NONE,
  FAULT_SETTINGS,    /* the caller asked for something invalid */
  FAULT_FORMAT,      /* the image's format does not allow it */
  FAULT_UNSUPPORTED, /* valid, but not by this method or build */
  FAULT_NOT_FOUND,   /* no usable device */
  FAULT_NO_SPACE,    /* host or device memory exhausted */
  FAULT_FAILED,      /* a CUDA call failed */
} FaultKind;

/* Owned by the caller, who may leave it uninitialised; plain data. */
typedef struct
{
  FaultKind kind;
  char message[320]; /* one sentence, for the user */
  char detail[320];  /* for the log: the call, the CUDA error's name */
} Fault;

/* Fills `fault` (which may be NULL) and returns false, so that a function can
 * end with `return fault_set (...)`. The detail is left empty. */
bool fault_set (Fault *fault, FaultKind kind, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Adds the detail to a fault that fault_set() filled. */
void fault_detail (Fault *fault, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

#ifdef __cplusplus
}
#endif
