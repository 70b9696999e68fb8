/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-npp-library.h"

#include "gpu-check.h"

#include <dlfcn.h>
#include <stdio.h>

#define CORE BENCH_NPP_FILE ("nppc")

/* Also looks in the toolkit's own folder, which the dynamic linker does not always
 * search. */
static void *
open_library (const char *name)
{
  char path[128];
  void *library = dlopen (name, RTLD_NOW | RTLD_GLOBAL);

  if (library != NULL)
    return library;
  snprintf (path, sizeof path, "/usr/local/cuda/lib64/%s", name);
  return dlopen (path, RTLD_NOW | RTLD_GLOBAL);
}

static bool
read_version (BenchNppLibrary *npp, Fault *fault)
{
  __typeof__ (&nppGetLibVersion) get_version;
  const NppLibraryVersion *version;

  *(void **) &get_version = dlsym (npp->core, "nppGetLibVersion");
  if (get_version == NULL)
    return fault_set (
        fault, FAULT_NOT_FOUND, CORE " does not tell its version.");
  version = get_version ();
  snprintf (npp->version, sizeof npp->version, "%d.%d.%d", version->major,
      version->minor, version->build);
  return true;
}

/* Fills the context, which NPP 13 leaves to its callers. */
static bool
fill_context (const Device *device, NppStreamContext *context, Fault *fault)
{
  struct cudaDeviceProp properties;
  bool ok = false;

  GPU_CHECK (
      cudaGetDeviceProperties (&properties, gpu_id (device->gpu)), fault);
  GPU_CHECK (
      cudaStreamGetFlags (device->stream, &context->nStreamFlags), fault);
  context->hStream = device->stream;
  context->nCudaDeviceId = gpu_id (device->gpu);
  context->nMultiProcessorCount = properties.multiProcessorCount;
  context->nMaxThreadsPerMultiProcessor =
      properties.maxThreadsPerMultiProcessor;
  context->nMaxThreadsPerBlock = properties.maxThreadsPerBlock;
  context->nSharedMemPerBlock = properties.sharedMemPerBlock;
  context->nCudaDevAttrComputeCapabilityMajor = properties.major;
  context->nCudaDevAttrComputeCapabilityMinor = properties.minor;
  ok = true;
done:
  return ok;
}

bool
bench_npp_library_open (
    BenchNppLibrary *npp, const Device *device, const char *file, Fault *fault)
{
  /* The library finds the core library, since that is already loaded. */
  npp->core = open_library (CORE);
  npp->library = npp->core == NULL ? NULL : open_library (file);
  if (npp->library == NULL)
    return fault_set (fault, FAULT_NOT_FOUND, "There is no %s.",
        npp->core == NULL ? CORE : file);
  return read_version (npp, fault)
      && fill_context (device, &npp->context, fault);
}

void
bench_npp_library_close (BenchNppLibrary *npp)
{
  if (npp->library != NULL)
    dlclose (npp->library);
  if (npp->core != NULL)
    dlclose (npp->core);
}

void *
bench_npp_symbol (const BenchNppLibrary *npp, const char *name)
{
  return dlsym (npp->library, name);
}

bool
bench_npp_check (NppStatus status, Fault *fault)
{
  if (status == NPP_SUCCESS)
    return true;
  /* Clears the CUDA error that NPP met: the next call would report it. */
  (void) cudaGetLastError ();
  return fault_set (
      fault, FAULT_UNSUPPORTED, "NPP returned status %d.", (int) status);
}
