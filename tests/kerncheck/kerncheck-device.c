/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kerncheck-device.h"

#include "verdict.h"

#include <stdlib.h>
#include <string.h>

/* The GPU that checks share, until one needs it closed. */
static Device shared;

bool
device_open (Device *device, Fault *fault)
{
  device->stream = NULL;
  device->gpu = gpu_open (-1, fault);
  if (device->gpu == NULL)
    return false;
  if (!gpu_push (device->gpu, fault)) {
    gpu_close (device->gpu);
    device->gpu = NULL;
    return false;
  }
  if (!gpu_stream_new (&device->stream, fault)) {
    device_shut (device);
    return false;
  }
  return true;
}

void
device_shut (Device *device)
{
  if (device->gpu == NULL)
    return;
  gpu_stream_free (device->stream);
  gpu_pop (device->gpu);
  gpu_close (device->gpu);
  device->gpu = NULL;
  device->stream = NULL;
}

void
device_close (void)
{
  if (shared.gpu != NULL && gpu_push (shared.gpu, NULL))
    device_shut (&shared);
}

/* Opens the shared GPU, with its context pushed. */
static bool
enter_gpu (Check *check, Device *device)
{
  Fault fault;

  fault_clear (&fault);
  if (shared.gpu == NULL) {
    if (!device_open (&shared, &fault)) {
      if (fault.kind == FAULT_NOT_FOUND)
        check_skip (check, "%s", fault.message);
      else
        EXPECT (check, false, "the GPU cannot be opened: %s (%s)",
            fault.message, fault.detail);
      return false;
    }
    gpu_pop (shared.gpu);
  }
  if (!gpu_push (shared.gpu, &fault)) {
    EXPECT (check, false, "the context cannot be pushed: %s (%s)",
        fault.message, fault.detail);
    return false;
  }
  *device = shared;
  return true;
}

bool
device_enter (Check *check, Backend backend, Device *device)
{
  device->gpu = NULL;
  device->stream = NULL;
  return backend == BACKEND_CPU || enter_gpu (check, device);
}

static bool
enter_method (Check *check, const char *name, bool in_build, Backend backend,
    int min_capability, Device *device)
{
  if (!in_build) {
    check_skip (check, "method %s is not in this build", name);
    return false;
  }
  if (!device_enter (check, backend, device))
    return false;
  if (device->gpu == NULL || gpu_capability (device->gpu) >= min_capability)
    return true;
  check_skip (check, "method %s needs a newer GPU", name);
  device_leave (device);
  return false;
}

bool
device_enter_sepconv (Check *check, const SepconvMethod *method, Device *device)
{
  return enter_method (check, method->name, method->ops != NULL,
      method->backend, sepconv_method_min_capability (method), device);
}

bool
device_enter_histo (Check *check, const HistoMethod *method, Device *device)
{
  return enter_method (check, method->name, method->ops != NULL,
      method->backend, histo_method_min_capability (method), device);
}

void
device_leave (Device *device)
{
  if (device->gpu != NULL)
    gpu_pop (device->gpu);
}

void
device_add_for_methods (CheckFunction function, const char *what, bool gpu_only)
{
  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);

    if (!gpu_only || method->backend == BACKEND_CUDA)
      kerncheck_add (
          function, method, method, "sepconv/%s/%s", method->name, what);
  }
}

void
device_check_cases (Check *check, Backend backend, int n, CheckCase function)
{
  Device device;

  if (!device_enter (check, backend, &device))
    return;
  check_cases (check, n, function, &device);
  device_leave (&device);
}

void
device_check_method (
    Check *check, const SepconvMethod *method, int n, CheckCase function)
{
  Device device;
  const MethodSubject subject = { method, &device };

  if (!device_enter_sepconv (check, method, &device))
    return;
  check_cases (check, n, function, &subject);
  device_leave (&device);
  check_skip_unsupported (check, method->name);
}

bool
device_pin_picture (const Device *device, Picture *picture, Fault *fault)
{
  uint8_t *block;

  if (device->gpu == NULL)
    return true;
  block = gpu_malloc_host (picture->bytes, fault);
  if (block == NULL)
    return false;
  picture_move (picture, block, gpu_free_host);
  return true;
}

bool
device_picture_new (DevicePicture *on_device, const Device *device,
    const Picture *picture, Fault *fault)
{
  on_device->image = picture->image;
  on_device->block = NULL;
  if (device->gpu == NULL)
    return true;
  on_device->block = gpu_malloc (picture->bytes, fault);
  if (on_device->block == NULL)
    return false;
  for (int m = 0; m < picture->image.n_memories; m++)
    on_device->image.memory[m].data =
        on_device->block + (picture->image.memory[m].data - picture->block);
  return gpu_copy_rows (on_device->block, (ptrdiff_t) picture->bytes,
             picture->block, (ptrdiff_t) picture->bytes, picture->bytes, 1,
             GPU_COPY_UP, device->stream, fault)
      && gpu_stream_synchronize (device->stream, fault);
}

bool
device_picture_fetch (const DevicePicture *on_device, const Device *device,
    uint8_t *block, size_t bytes, Fault *fault)
{
  if (device->gpu == NULL)
    return true;
  return gpu_copy_rows (block, (ptrdiff_t) bytes, on_device->block,
             (ptrdiff_t) bytes, bytes, 1, GPU_COPY_DOWN, device->stream, fault)
      && gpu_stream_synchronize (device->stream, fault);
}

void
device_picture_clear (DevicePicture *on_device)
{
  gpu_free (on_device->block);
  on_device->block = NULL;
}

bool
device_sepconv (void *plan, const Image *src, const Image *dst,
    GpuStream stream, Fault *fault)
{
  return sepconv_plan_run (plan, src, dst, stream, GPU_AFTER_KERNELS, fault);
}

bool
device_run (const Device *device, DeviceRun run, void *plan, const Picture *src,
    Picture *dst, bool *src_changed, Fault *fault)
{
  DevicePicture from = { .block = NULL }, to = { .block = NULL };
  uint8_t *before = picture_block_copy (src);
  uint8_t *after =
      device->gpu == NULL ? src->block : kerncheck_alloc (src->bytes);
  bool ok = device_picture_new (&from, device, src, fault)
      && device_picture_new (&to, device, dst, fault)
      && run (plan, &from.image, &to.image, device->stream, fault)
      && device_picture_fetch (&to, device, dst->block, dst->bytes, fault)
      && device_picture_fetch (&from, device, after, src->bytes, fault);

  *src_changed = ok && memcmp (before, after, src->bytes) != 0;
  device_picture_clear (&from);
  device_picture_clear (&to);
  if (after != src->block)
    free (after);
  free (before);
  return ok;
}

bool
device_run_cleanly (Check *check, const Device *device, DeviceRun run,
    void *plan, const Picture *src, Picture *dst)
{
  uint8_t *before = picture_block_copy (dst);
  bool src_changed = false;
  Verdict verdict;
  Fault fault;
  bool ok;

  fault_clear (&fault);
  ok = EXPECT (check,
           device_run (device, run, plan, src, dst, &src_changed, &fault),
           "the run failed: %s (%s)", fault.message, fault.detail)
      && EXPECT (check, !src_changed, "the source was written to");
  if (ok) {
    verdict_guards (&verdict, dst, before);
    ok = EXPECT (check, verdict.ok, "%s", verdict.text);
  }
  free (before);
  return ok;
}

void
device_expect_oracle (Check *check, const MethodSubject *subject, const Case *c,
    DevicePainter paint, Random *random)
{
  const bool on_host = subject->device->gpu == NULL;
  Picture src, dst;

  picture_new (&src, &c->layout, on_host, random);
  picture_new (&dst, &c->layout, on_host, random);
  paint (&src, c, random);
  device_expect_filtered (check, subject, c, &src, &dst);
  picture_clear (&src);
  picture_clear (&dst);
}

void
device_expect_filtered (Check *check, const MethodSubject *subject,
    const Case *c, const Picture *src, Picture *dst)
{
  const Device *device = subject->device;
  SepconvPlan *plan;
  Verdict verdict;
  Fault fault;

  fault_clear (&fault);
  plan = sepconv_plan_new (&c->spec, &c->layout, subject->method->backend,
      subject->method, device->gpu, &fault);
  if (EXPECT (check, plan != NULL, "no plan: %s", fault.message)
      && device_run_cleanly (check, device, device_sepconv, plan, src, dst)) {
    verdict_by_oracle (&verdict, &c->spec, &src->image, &dst->image);
    EXPECT (check, verdict.ok, "%s", verdict.text);
  }
  sepconv_plan_free (plan);
}

void
device_paint_extremes (Picture *picture, const Case *c, Random *random)
{
  (void) c;
  picture_paint (picture, CONTENT_EXTREMES, random);
}

void
device_expect_as_alone (Check *check, const Device *device, SepconvPlan *plan,
    const Image *layout, const Picture *src, const Picture *dst, int run,
    const char *how, Random *random)
{
  Picture alone;
  Verdict verdict;

  picture_new (&alone, layout, false, random);
  for (int m = 0; m < layout->n_memories; m++)
    alone.image.memory[m].height = src->image.memory[m].height;
  if (device_run_cleanly (check, device, device_sepconv, plan, src, &alone)) {
    verdict_same (&verdict, &dst->image, &alone.image);
    EXPECT (
        check, verdict.ok, "run %d is another %s: %s", run, how, verdict.text);
  }
  picture_clear (&alone);
}
