/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* kerncheck-device: where a method runs: on the host, or on a GPU to which whole
 * pictures with their guard bytes are copied, and from which they come back. */
#pragma once

#include "cases.h"
#include "histo.h"

/* A GPU with its context pushed and a stream; all NULL on the host. */
typedef struct
{
  Gpu *gpu;
  GpuStream stream;
} Device;

/* Where a backend runs. The GPU is opened once for all checks and its context
 * pushed; false, and the check skipped by name, if there is none. Pair with
 * device_leave(). */
bool device_enter (Check *check, Backend backend, Device *device);
/* Likewise for a method; the check is also skipped if the method is not in this
 * build, or needs a newer GPU. */
bool device_enter_sepconv (
    Check *check, const SepconvMethod *method, Device *device);
bool device_enter_histo (
    Check *check, const HistoMethod *method, Device *device);
void device_leave (Device *device);

/* What the cases of a method have for data. */
typedef struct
{
  const SepconvMethod *method;
  Device *device; /* while the check runs */
} MethodSubject;

/* Adds the check sepconv/METHOD/WHAT for each method, or for those of the GPU alone; its
 * data is the method. */
void device_add_for_methods (
    CheckFunction function, const char *what, bool gpu_only);

/* check_cases() with the Device of a backend, unless device_enter() skips the check. */
void device_check_cases (
    Check *check, Backend backend, int n, CheckCase function);

/* check_cases() with a MethodSubject, where the method runs. Skips the check by name if
 * it does not, or supports none of the cases. */
void device_check_method (
    Check *check, const SepconvMethod *method, int n, CheckCase function);

/* Makes and ends a device of one's own; the first for checks that use several,
 * on any thread. */
bool device_open (Device *device, Fault *fault);
void device_shut (Device *device);

/* Closes the GPU that the checks share; the next device_enter*() opens it again. */
void device_close (void);

/* A picture's block on the device, or the picture itself on the host. */
typedef struct
{
  Image image;
  uint8_t *block; /* device memory, or NULL */
} DevicePicture;

/* Moves a picture into pinned memory; nothing on the host. Its picture_clear()
 * then needs the context pushed. */
bool device_pin_picture (const Device *device, Picture *picture, Fault *fault);

bool device_picture_new (DevicePicture *on_device, const Device *device,
    const Picture *picture, Fault *fault);
/* Copies the block back, after all that is queued on the device's stream. */
bool device_picture_fetch (const DevicePicture *on_device, const Device *device,
    uint8_t *block, size_t bytes, Fault *fault);
void device_picture_clear (DevicePicture *on_device);

/* What runs an engine's plan from one image to another. */
typedef bool (*DeviceRun) (void *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault);

/* sepconv_plan_run() as such. */
bool device_sepconv (void *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault);

/* Runs a plan from one picture to another and waits. Says through `src_changed`
 * whether the run wrote to its source. */
bool device_run (const Device *device, DeviceRun run, void *plan,
    const Picture *src, Picture *dst, bool *src_changed, Fault *fault);
/* Likewise, and judges everything but the numbers: faults, guards, the source. */
bool device_run_cleanly (Check *check, const Device *device, DeviceRun run,
    void *plan, const Picture *src, Picture *dst);
/* Paints the source of a case. */
typedef void (*DevicePainter) (Picture *picture, const Case *c, Random *random);
/* One of them: samples of 0 and full by chance. */
void device_paint_extremes (Picture *picture, const Case *c, Random *random);
/* Filters a painted picture and compares the result with the oracle. */
void device_expect_oracle (Check *check, const MethodSubject *subject,
    const Case *c, DevicePainter paint, Random *random);
/* The same from one picture of the caller's to another. */
void device_expect_filtered (Check *check, const MethodSubject *subject,
    const Case *c, const Picture *src, Picture *dst);
/* Whether run number `run` of a filter, from `src` to `dst`, made what one by itself
 * does; `how` says how it ran. Of `layout`, or fewer rows of it. */
void device_expect_as_alone (Check *check, const Device *device,
    SepconvPlan *plan, const Image *layout, const Picture *src,
    const Picture *dst, int run, const char *how, Random *random);
