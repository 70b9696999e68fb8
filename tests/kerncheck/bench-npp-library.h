/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-npp-library: one of NPP's libraries, opened at run time. Only for files
 * that are built with NPP's headers. */
#pragma once

#include "kerncheck-device.h"

#include <npp.h>

#define BENCH_NPP_TEXT(value) #value
#define BENCH_NPP_NUMBERED(name, version) \
  "lib" name ".so." BENCH_NPP_TEXT (version)
/* The file that belongs to the headers. */
#define BENCH_NPP_FILE(name) BENCH_NPP_NUMBERED (name, NPP_VER_MAJOR)

typedef struct
{
  void *core, *library;     /* of dlopen() */
  NppStreamContext context; /* for the device's stream */
  char version[40];
} BenchNppLibrary;

/* The context must be pushed. FAULT_NOT_FOUND: something is not there. Close it also
 * after a failure. */
bool bench_npp_library_open (
    BenchNppLibrary *npp, const Device *device, const char *file, Fault *fault);
/* A zeroed one is allowed. */
void bench_npp_library_close (BenchNppLibrary *npp);

/* NULL: the library has no such function. */
void *bench_npp_symbol (const BenchNppLibrary *npp, const char *name);

/* Turns a status into a fault: FAULT_UNSUPPORTED, as NPP is free to decline. */
bool bench_npp_check (NppStatus status, Fault *fault);
