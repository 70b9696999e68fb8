/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The GPU: finding one, its memory, and its context over several lives. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

/* Needs no GPU: without one, each device is a wrong one. */
static void
check_wrong_device (Check *check, const void *data)
{
  Fault fault;
  int n;

  (void) data;
  check->cases++;
  fault_clear (&fault);
  n = gpu_count (&fault);
  if (n == 0)
    EXPECT_FAULT (
        check, true, &fault, FAULT_NOT_FOUND, "a machine without a GPU");
  EXPECT (check, n >= 0 && gpu_count (NULL) == n, "%d devices", n);
  for (int i = 0; i < 4; i++) {
    const int wrong[] = { n, n + 1, -2, 2147483647 };
    Gpu *gpu;

    fault_clear (&fault);
    gpu = gpu_open (wrong[i], &fault);
    EXPECT_FAULT (
        check, gpu == NULL, &fault, FAULT_NOT_FOUND, "a device that is not");
    EXPECT (check, gpu_open (wrong[i], NULL) == NULL,
        "device %d was opened without a fault to fill", wrong[i]);
    gpu_close (gpu);
  }
  gpu_close (NULL);
}

static void
check_describes (Check *check, const void *data)
{
  Device device;
  Fault fault;
  Gpu *again;

  (void) data;
  if (!device_enter_gpu (check, &device))
    return;
  check->cases++;
  EXPECT (
      check, gpu_id (device.gpu) >= 0, "the device is %d", gpu_id (device.gpu));
  EXPECT (check, gpu_name (device.gpu)[0] != '\0', "the device has no name");
  EXPECT (check, gpu_capability (device.gpu) >= 50, "a capability of %d",
      gpu_capability (device.gpu));
  EXPECT (check, gpu_multiprocessors (device.gpu) >= 1, "%d multiprocessors",
      gpu_multiprocessors (device.gpu));
  again = gpu_open (gpu_id (device.gpu), &fault);
  if (EXPECT (check, again != NULL, "not by its number: %s", fault.message))
    EXPECT (check, strcmp (gpu_name (again), gpu_name (device.gpu)) == 0,
        "the same device has two names");
  gpu_close (again);
  device_leave (&device);
}

static bool
all_zero (const uint8_t *bytes, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (bytes[i] != 0)
      return false;
  return true;
}

/* A failure to allocate leaves nothing behind that could come out later. */
static void
expect_exhaustion (Check *check, const Device *device)
{
  Fault fault;
  void *memory;

  fault_clear (&fault);
  memory = gpu_malloc ((size_t) 1 << 48, &fault);
  EXPECT_FAULT (
      check, memory == NULL, &fault, FAULT_NO_SPACE, "256 TiB on the device");
  gpu_free (memory);
  memory = gpu_malloc (64, &fault);
  EXPECT (check, memory != NULL, "memory after a failure: %s", fault.message);
  EXPECT (check, gpu_stream_synchronize (device->stream, &fault),
      "a stream after a failure: %s", fault.message);
  gpu_free (memory);
}

/* Device memory is aligned and zeroed, also where other data lay before. */
static void
check_memory (Check *check, const void *data)
{
  static const size_t sizes[] = { 1, 255, 4097, 1000003 };
  Device device;
  Fault fault;

  (void) data;
  if (!device_enter_gpu (check, &device))
    return;
  check->cases++;
  fault_clear (&fault);
  for (int i = 0; i < 8; i++) {
    const size_t n = sizes[i % 4];
    uint8_t *memory = gpu_malloc (n, &fault);
    uint8_t *host = gpu_malloc_host (n, &fault);

    if (EXPECT (check, memory != NULL && host != NULL, "%s", fault.message)) {
      EXPECT (check,
          (uintptr_t) memory % 256 == 0 && (uintptr_t) host % 256 == 0,
          "%zu bytes are not aligned", n);
      memset (host, 0x5a, n);
      EXPECT (check,
          gpu_copy_rows (
              host, n, memory, n, n, 1, GPU_COPY_DOWN, device.stream, &fault)
              && gpu_stream_synchronize (device.stream, &fault),
          "%s (%s)", fault.message, fault.detail);
      EXPECT (check, all_zero (host, n), "%zu bytes are not zeroed", n);
      memset (host, 0xa5, n);
      EXPECT (check,
          gpu_copy_rows (
              memory, n, host, n, n, 1, GPU_COPY_UP, device.stream, &fault)
              && gpu_stream_synchronize (device.stream, &fault),
          "%s (%s)", fault.message, fault.detail);
    }
    gpu_free (memory);
    gpu_free_host (host);
  }
  /* Not in quick runs: those go under tools to which a failed call is an error. */
  if (!check->quick)
    expect_exhaustion (check, &device);
  gpu_free (NULL);
  gpu_free_host (NULL);
  device_leave (&device);
}

/* Rows go up, across and down between strides of their own. */
static void
copy_case (Check *check, Random *random, int index, const void *data)
{
  const Device *device = data;
  const size_t bytes = (size_t) random_int (random, 1, 700);
  const int height = random_int (random, 1, 50);
  size_t stride[4], size[4];
  uint8_t *from, *back, *before, *a, *b;
  Fault fault;

  (void) index;
  fault_clear (&fault);
  for (int i = 0; i < 4; i++) {
    stride[i] = bytes + (size_t) random_int (random, 0, 70);
    size[i] = stride[i] * (size_t) height;
  }
  check_describe (check, "%d rows of %zu bytes, strides %zu %zu %zu %zu",
      height, bytes, stride[0], stride[1], stride[2], stride[3]);
  from = kerncheck_alloc (size[0]);
  back = kerncheck_alloc (size[3]);
  before = kerncheck_alloc (size[3]);
  for (size_t i = 0; i < size[0]; i++)
    from[i] = (uint8_t) random_next (random);
  for (size_t i = 0; i < size[3]; i++)
    back[i] = before[i] = (uint8_t) random_next (random);
  a = gpu_malloc (size[1], &fault);
  b = gpu_malloc (size[2], &fault);
  if (EXPECT (check, a != NULL && b != NULL, "%s", fault.message)
      && EXPECT (check,
          gpu_copy_rows (a, stride[1], from, stride[0], bytes, height,
              GPU_COPY_UP, device->stream, &fault)
              && gpu_copy_rows (b, stride[2], a, stride[1], bytes, height,
                  GPU_COPY_DEVICE, device->stream, &fault)
              && gpu_copy_rows (back, stride[3], b, stride[2], bytes, height,
                  GPU_COPY_DOWN, device->stream, &fault)
              && gpu_stream_synchronize (device->stream, &fault),
          "%s (%s)", fault.message, fault.detail)) {
    for (int y = 0; y < height; y++)
      memcpy (before + (size_t) y * stride[3], from + (size_t) y * stride[0],
          bytes);
    EXPECT (check, memcmp (before, back, size[3]) == 0,
        "what came back is not what went up");
  }
  gpu_free (a);
  gpu_free (b);
  free (from);
  free (back);
  free (before);
}

static void
check_copy (Check *check, const void *data)
{
  Device device;

  (void) data;
  if (!device_enter_gpu (check, &device))
    return;
  check_cases (check, check->quick ? 10 : 100, copy_case, &device);
  device_leave (&device);
}

static void
check_events (Check *check, const void *data)
{
  const size_t half = (size_t) 8 << 20;
  GpuEvent start = NULL, end = NULL;
  GpuStream other = NULL;
  Device device;
  uint8_t *memory;
  double ns = -1.0;
  Fault fault;

  (void) data;
  if (!device_enter_gpu (check, &device))
    return;
  check->cases++;
  fault_clear (&fault);
  memory = gpu_malloc (2 * half, &fault);
  EXPECT (check,
      memory != NULL && gpu_stream_new (&other, &fault)
          && gpu_event_new (&start, &fault) && gpu_event_new (&end, &fault)
          && gpu_event_record (start, device.stream, &fault)
          && gpu_copy_rows (memory, half, memory + half, half, half, 1,
              GPU_COPY_DEVICE, device.stream, &fault)
          && gpu_event_record (end, device.stream, &fault)
          && gpu_stream_wait_event (other, end, &fault)
          && gpu_stream_synchronize (other, &fault)
          && gpu_event_synchronize (end, &fault)
          && gpu_event_elapsed (start, end, &ns, &fault),
      "%s (%s)", fault.message, fault.detail);
  EXPECT (check, ns > 100.0 && ns < 1e9, "copying 8 MiB took %g ns", ns);
  gpu_event_free (start);
  gpu_event_free (end);
  gpu_stream_free (other);
  gpu_free (memory);
  device_leave (&device);
}

static bool
run_all_methods (Check *check, const Device *device, Random *random, int index)
{
  static const Effort effort = { 60, 60, 1e6 };

  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);
    SepconvPlan *plan;
    Verdict verdict;
    Picture src, dst;
    bool changed;
    Fault fault;
    Case *c;

    if (method->backend != SEPCONV_CUDA || method->ops == NULL)
      continue;
    c = case_new ();
    fault_clear (&fault);
    case_make_layout (c, layout_kind_by_name ("nv12"), index, &effort, random);
    case_make_spec (c, SEPCONV_REFLECT, &effort, random);
    /* What every method is there for. */
    for (int p = 0; p < c->layout.n_planes; p++) {
      taps_gaussian (&c->x[p], 1.5, random_int (random, 1, 7));
      taps_gaussian (&c->y[p], 2.5, random_int (random, 1, 7));
      c->spec.plane[p].channels = (1u << c->layout.plane[p].channels) - 1;
      c->spec.plane[p].x = &c->x[p];
      c->spec.plane[p].y = &c->y[p];
    }
    c->spec.scale = 1.0;
    c->spec.bias = 0.0;
    c->shape = "gaussian";
    case_describe (check, c);
    picture_new (&src, &c->layout, false, random);
    picture_new (&dst, &c->layout, false, random);
    picture_paint (&src, c->content, random);
    plan = sepconv_plan_new (
        &c->spec, &c->layout, SEPCONV_CUDA, method, device->gpu, &fault);
    if (EXPECT (check, plan != NULL, "life %d, %s: no plan: %s (%s)", index,
            method->name, fault.message, fault.detail)
        && EXPECT (check,
            device_run (device, plan, &src, &dst, &changed, &fault),
            "life %d, %s: %s (%s)", index, method->name, fault.message,
            fault.detail)) {
      verdict_by_oracle (&verdict, &c->spec, &src.image, &dst.image);
      EXPECT (check, verdict.ok, "life %d, %s: %s", index, method->name,
          verdict.text);
    }
    sepconv_plan_free (plan);
    picture_clear (&src);
    picture_clear (&dst);
    case_free (c);
  }
  return !check->case_failed;
}

/* The last gpu_close() destroys the context, and with it all that was loaded
 * there; the next gpu_open() must start afresh. */
static void
check_reopen (Check *check, const void *data)
{
  Random random = { check->seed };
  Device device;
  Fault fault;

  (void) data;
  if (!device_enter_gpu (check, &device))
    return;
  device_leave (&device);
  device_close ();
  check->cases++;
  for (int life = 0; life < 4 && !check->case_failed; life++) {
    fault_clear (&fault);
    if (!EXPECT (check, device_open (&device, &fault), "life %d: %s (%s)", life,
            fault.message, fault.detail))
      return;
    run_all_methods (check, &device, &random, life);
    device_shut (&device);
  }
}

/* One device opened twice lives until both are closed. */
static void
check_share (Check *check, const void *data)
{
  Random random = { check->seed };
  Device first, second;
  Fault fault;

  (void) data;
  if (!device_enter_gpu (check, &first))
    return;
  device_leave (&first);
  device_close ();
  check->cases++;
  fault_clear (&fault);
  if (!EXPECT (check, device_open (&first, &fault), "%s", fault.message))
    return;
  if (EXPECT (check, device_open (&second, &fault), "%s", fault.message)) {
    run_all_methods (check, &second, &random, 0);
    device_shut (&second);
  }
  run_all_methods (check, &first, &random, 1);
  device_shut (&first);
}

void
check_gpu_add (void)
{
  kerncheck_add (check_wrong_device, NULL, NULL, "gpu/wrong-device");
  kerncheck_add (check_describes, NULL, NULL, "gpu/describes");
  kerncheck_add (check_memory, NULL, NULL, "gpu/memory");
  kerncheck_add (check_copy, NULL, NULL, "gpu/copy-rows");
  kerncheck_add (check_events, NULL, NULL, "gpu/events");
  kerncheck_add (check_reopen, NULL, NULL, "gpu/reopen");
  kerncheck_add (check_share, NULL, NULL, "gpu/share");
}
