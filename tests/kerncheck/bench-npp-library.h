/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-npp-library: one of NPP's libraries, opened at run time. Only for files
 * that are built with NPP's headers. */
#pragma once

#include "kerncheck-device.h"

#include <npp.h>

#define BENCH_NPP_TEXT(value) #value
#define BENCH_NPP_NUMBERED(name, version) \
  "lib" name ".so." BENCH_NPP_TEXT (version)
/* File name of the library version that the headers belong to. */
#define BENCH_NPP_FILE(name) BENCH_NPP_NUMBERED (name, NPP_VER_MAJOR)

typedef struct
{
  void *core, *library;     /* handles of dlopen() */
  NppStreamContext context; /* for the device's stream */
  char version[40];
} BenchNppLibrary;

/* The context must be pushed. FAULT_NOT_FOUND: a library or function is missing. To be
 * closed even after a failure. */
bool bench_npp_library_open (
    BenchNppLibrary *npp, const Device *device, const char *file, Fault *fault);
/* A zeroed library may be closed. */
void bench_npp_library_close (BenchNppLibrary *npp);

/* NULL: the library has no function of that name. */
void *bench_npp_symbol (const BenchNppLibrary *npp, const char *name);

/* Turns a status into a fault, which is FAULT_UNSUPPORTED, since NPP may decline. */
bool bench_npp_check (NppStatus status, Fault *fault);
