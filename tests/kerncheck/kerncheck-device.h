/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kerncheck-device: runs a method on the host, or on a GPU. For a GPU, whole pictures
 * with their guard bytes are copied up and back. */
#pragma once

#include "cases.h"
#include "histo.h"

/* A GPU whose context is pushed, and a stream; both NULL on the host. */
typedef struct
{
  Gpu *gpu;
  GpuStream stream;
} Device;

/* Opens the device of a backend. The GPU is opened once for all checks, and its context
 * pushed. Returns false, and skips the check by name, if there is none. Each true return
 * needs a device_leave(). */
bool device_enter (Check *check, Backend backend, Device *device);
/* The same for a method; also skips the check if the method is not in this build or
 * needs a newer GPU. */
bool device_enter_sepconv (
    Check *check, const SepconvMethod *method, Device *device);
bool device_enter_histo (
    Check *check, const HistoMethod *method, Device *device);
void device_leave (Device *device);

/* Data of the cases of a method. */
typedef struct
{
  const SepconvMethod *method;
  Device *device; /* while the check runs */
} MethodSubject;

/* Adds the check sepconv/METHOD/WHAT for each method, or for GPU methods only. The
 * check's data is the method. */
void device_add_for_methods (
    CheckFunction function, const char *what, bool gpu_only);

/* check_cases() with the Device of a backend, unless device_enter() skips the check. */
void device_check_cases (
    Check *check, Backend backend, int n, CheckCase function);

/* check_cases() with a MethodSubject, on the method's device. Skips the check by name if
 * the method does not run here or supports none of the cases. */
void device_check_method (
    Check *check, const SepconvMethod *method, int n, CheckCase function);

/* Opens and closes a device apart from the shared one, for checks that use several.
 * device_open() may be called on any thread. */
bool device_open (Device *device, Fault *fault);
void device_shut (Device *device);

/* Closes the GPU that the checks share; the next device_enter*() reopens it. */
void device_close (void);

/* A copy of a picture's block on the device; on the host, the picture itself. */
typedef struct
{
  Image image;
  uint8_t *block; /* device memory, or NULL */
} DevicePicture;

/* Moves a picture into pinned memory; does nothing on the host. picture_clear() then
 * needs the context pushed. */
bool device_pin_picture (const Device *device, Picture *picture, Fault *fault);

bool device_picture_new (DevicePicture *on_device, const Device *device,
    const Picture *picture, Fault *fault);
/* Copies the block back, after all work on the device's stream. */
bool device_picture_fetch (const DevicePicture *on_device, const Device *device,
    uint8_t *block, size_t bytes, Fault *fault);
void device_picture_clear (DevicePicture *on_device);

/* Runs a plan of some engine from one image to another. */
typedef bool (*DeviceRun) (void *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault);

/* A DeviceRun: sepconv_plan_run(). */
bool device_sepconv (void *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault);

/* Runs a plan from one picture to another and waits. Sets *src_changed to whether the
 * run wrote to its source. */
bool device_run (const Device *device, DeviceRun run, void *plan,
    const Picture *src, Picture *dst, bool *src_changed, Fault *fault);
/* The same, and expects no fault, intact guards and an unchanged source; does not look
 * at the samples. */
bool device_run_cleanly (Check *check, const Device *device, DeviceRun run,
    void *plan, const Picture *src, Picture *dst);
/* Paints the source of a case. */
typedef void (*DevicePainter) (Picture *picture, const Case *c, Random *random);
/* A DevicePainter: each sample is 0 or full at random. */
void device_paint_extremes (Picture *picture, const Case *c, Random *random);
/* Filters a painted picture and compares the result with the oracle. */
void device_expect_oracle (Check *check, const MethodSubject *subject,
    const Case *c, DevicePainter paint, Random *random);
/* The same with the caller's pictures. */
void device_expect_filtered (Check *check, const MethodSubject *subject,
    const Case *c, const Picture *src, Picture *dst);
/* Expects that run number `run` of a filter, from `src` to `dst`, gave the same result
 * as a run by itself; `how` describes the run in a failure. The pictures have the size
 * of `layout`, or fewer rows. */
void device_expect_as_alone (Check *check, const Device *device,
    SepconvPlan *plan, const Image *layout, const Picture *src,
    const Picture *dst, int run, const char *how, Random *random);
