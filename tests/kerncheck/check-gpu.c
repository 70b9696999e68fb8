/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The GPU: opening it, its memory, and its context over several lifetimes. */
#include "kerncheck.h"

#include "cases.h"
#include "gpu-link.h"
#include "kerncheck-device.h"
#include "verdict.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Needs no GPU: without one, every device number is invalid. */
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
  else
    EXPECT (check, fault.kind == FAULT_NONE, "%d devices, and a fault: %s", n,
        fault.message);
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
  if (!device_enter (check, BACKEND_CUDA, &device))
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

/* Expects the device of each memory, and that the checks' stream is not being captured. */
static void
expect_place (Check *check, const Device *device, const void *memory,
    const void *host, const void *pageable)
{
  const void *const addresses[] = { memory, host, pageable };
  bool captured = true;
  Fault fault;

  fault_clear (&fault);
  for (int i = 0; i < 3; i++) {
    const int expected = i == 0 ? gpu_id (device->gpu) : -1;
    int id = -2;

    EXPECT (check,
        gpu_memory_device (addresses[i], &id, &fault) && id == expected,
        "memory %d lies on device %d, not %d: %s", i, id, expected,
        fault.message);
  }
  EXPECT (check,
      gpu_stream_is_captured (device->stream, &captured, &fault) && !captured,
      "a stream is captured by nobody: %s", fault.message);
}

/* A failed allocation leaves no error behind that a later call would report. */
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

/* Device memory is aligned and zeroed, even where other data was before. */
static void
check_memory (Check *check, const void *data)
{
  static const size_t sizes[] = { 1, 255, 4097, 1000003 };
  Device device;
  Fault fault;

  (void) data;
  if (!device_enter (check, BACKEND_CUDA, &device))
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
      expect_place (check, &device, memory, host, sizes);
      memset (host, 0x5a, n);
      EXPECT (check,
          gpu_copy_rows (host, (ptrdiff_t) n, memory, (ptrdiff_t) n, n, 1,
              GPU_COPY_DOWN, device.stream, &fault)
              && gpu_stream_synchronize (device.stream, &fault),
          "%s (%s)", fault.message, fault.detail);
      EXPECT (check, all_zero (host, n), "%zu bytes are not zeroed", n);
      memset (host, 0xa5, n);
      EXPECT (check,
          gpu_copy_rows (memory, (ptrdiff_t) n, host, (ptrdiff_t) n, n, 1,
              GPU_COPY_UP, device.stream, &fault)
              && gpu_stream_synchronize (device.stream, &fault),
          "%s (%s)", fault.message, fault.detail);
    }
    gpu_free (memory);
    gpu_free_host (host);
  }
  /* Not in quick runs, which use tools that take a failed call for an error. */
  if (!check->quick)
    expect_exhaustion (check, &device);
  gpu_free (NULL);
  gpu_free_host (NULL);
  device_leave (&device);
}

/* Address of row 0 in a block of rows: at the end if the stride is negative. */
static uint8_t *
first_row (uint8_t *block, ptrdiff_t stride, int height)
{
  return stride < 0 ? block - stride * (height - 1) : block;
}

/* Copies rows up, on the device and down, each with its own strides. */
static void
copy_case (Check *check, Random *random, int index, const void *data)
{
  const Device *device = data;
  const size_t bytes = (size_t) random_int (random, 1, 700);
  const int height = random_int (random, 1, 50), n = height - index % 3 / 2;
  const bool packed = random_chance (random, 20);
  uint8_t *block[4], *row[4], *before;
  ptrdiff_t stride[4];
  size_t size[4];
  Fault fault;

  fault_clear (&fault);
  for (int i = 0; i < 4; i++) {
    stride[i] = (ptrdiff_t) bytes + (packed ? 0 : random_int (random, 0, 70));
    size[i] = (size_t) stride[i] * (size_t) height;
    if (!packed && random_chance (random, 20))
      stride[i] = -stride[i];
  }
  check_describe (check, "%d of %d rows of %zu bytes, strides %td %td %td %td",
      n, height, bytes, stride[0], stride[1], stride[2], stride[3]);
  block[0] = kerncheck_alloc (size[0]);
  block[1] = gpu_malloc (size[1], &fault);
  block[2] = gpu_malloc (size[2], &fault);
  block[3] = kerncheck_alloc (size[3]);
  before = kerncheck_alloc (size[3]);
  for (size_t i = 0; i < size[0]; i++)
    block[0][i] = (uint8_t) random_next (random);
  for (size_t i = 0; i < size[3]; i++)
    block[3][i] = before[i] = (uint8_t) random_next (random);
  for (int i = 0; i < 4; i++)
    row[i] = block[i] == NULL ? NULL : first_row (block[i], stride[i], height);
  if (EXPECT (check, row[1] != NULL && row[2] != NULL, "%s", fault.message)
      && EXPECT (check,
          gpu_copy_rows (row[1], stride[1], row[0], stride[0], bytes, n,
              GPU_COPY_UP, device->stream, &fault)
              && gpu_copy_rows (row[2], stride[2], row[1], stride[1], bytes, n,
                  GPU_COPY_DEVICE, device->stream, &fault)
              && gpu_copy_rows (row[3], stride[3], row[2], stride[2], bytes, n,
                  GPU_COPY_DOWN, device->stream, &fault)
              && gpu_stream_synchronize (device->stream, &fault),
          "%s (%s)", fault.message, fault.detail)) {
    for (int y = 0; y < n; y++)
      memcpy (first_row (before, stride[3], height) + y * stride[3],
          row[0] + y * stride[0], bytes);
    EXPECT (check, memcmp (before, block[3], size[3]) == 0,
        "what came back is not what went up");
  }
  gpu_free (block[1]);
  gpu_free (block[2]);
  free (block[0]);
  free (block[3]);
  free (before);
}

static void
check_copy (Check *check, const void *data)
{
  (void) data;
  device_check_cases (check, BACKEND_CUDA, check->quick ? 10 : 100, copy_case);
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
  bool done = false;
  Fault fault;

  (void) data;
  if (!device_enter (check, BACKEND_CUDA, &device))
    return;
  check->cases++;
  fault_clear (&fault);
  memory = gpu_malloc (2 * half, &fault);
  EXPECT (check,
      memory != NULL && gpu_stream_new (&other, &fault)
          && gpu_event_new (&start, &fault) && gpu_event_new (&end, &fault)
          && gpu_event_record (start, device.stream, &fault)
          && gpu_copy_rows (memory, (ptrdiff_t) half, memory + half,
              (ptrdiff_t) half, half, 1, GPU_COPY_DEVICE, device.stream, &fault)
          && gpu_event_record (end, device.stream, &fault)
          && gpu_event_poll (end, 0.0, &done, &fault)
          && gpu_event_poll (end, 5e9, &done, &fault)
          && gpu_stream_wait_event (other, end, &fault)
          && gpu_stream_synchronize (other, &fault)
          && gpu_event_synchronize (end, GPU_NAP_NS, &fault)
          && gpu_event_elapsed (start, end, &ns, &fault),
      "%s (%s)", fault.message, fault.detail);
  EXPECT (check, done, "the event was not seen within 5 s");
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

    if (method->backend != BACKEND_CUDA || method->ops == NULL)
      continue;
    c = case_new ();
    fault_clear (&fault);
    /* Supported by every method. */
    case_make_layout (c,
        layout_kind_by_name (
            strstr (method->name, "-split") != NULL ? "yuy2" : "nv12"),
        index, &effort, random);
    case_make_spec (c, SEPCONV_REFLECT, &effort, random);
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
    if (!sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      case_make_boxes (c, random);
    if (!sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      case_make_blurs (c, random);
    case_describe (check, c);
    picture_new (&src, &c->layout, false, random);
    picture_new (&dst, &c->layout, false, random);
    picture_paint (&src, c->content, random);
    plan = sepconv_plan_new (
        &c->spec, &c->layout, BACKEND_CUDA, method, device->gpu, &fault);
    if (EXPECT (check, plan != NULL, "life %d, %s: no plan: %s (%s)", index,
            method->name, fault.message, fault.detail)
        && EXPECT (check,
            device_run (
                device, device_sepconv, plan, &src, &dst, &changed, &fault),
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

/* Begins a check that opens GPUs itself; closes the shared one, which would hold the context,
 * too. False: there is no GPU. */
static bool
begin_alone (Check *check)
{
  Device device;

  if (!device_enter (check, BACKEND_CUDA, &device))
    return false;
  device_leave (&device);
  device_close ();
  check->cases++;
  return true;
}

/* The last gpu_close() destroys the context with everything in it; the next gpu_open() must
 * start afresh. */
static void
check_reopen (Check *check, const void *data)
{
  Random random = { check->seed };
  Device device;
  Fault fault;

  (void) data;
  if (!begin_alone (check))
    return;
  for (int life = 0; life < 4 && !check->case_failed; life++) {
    fault_clear (&fault);
    if (!EXPECT (check, device_open (&device, &fault), "life %d: %s (%s)", life,
            fault.message, fault.detail))
      return;
    run_all_methods (check, &device, &random, life);
    device_shut (&device);
  }
}

/* A device that was opened twice lives until both are closed. */
static void
check_share (Check *check, const void *data)
{
  Random random = { check->seed };
  Device first, second;
  Fault fault;

  (void) data;
  if (!begin_alone (check))
    return;
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

typedef struct
{
  Gpu *gpu; /* a reference to it */
  void *memory, *host;
  GpuStream stream;
  GpuEvent event;
  Fault fault;
  bool used;
} Heir;

/* Uses objects made through the other reference, frees them, and drops its own reference. */
static void *
outlive (void *data)
{
  Heir *heir = data;

  if (!gpu_push (heir->gpu, &heir->fault))
    return NULL;
  memset (heir->host, 0x3c, 64);
  heir->used = gpu_copy_rows (heir->memory, 64, heir->host, 64, 64, 1,
                   GPU_COPY_UP, heir->stream, &heir->fault)
      && gpu_event_record (heir->event, heir->stream, &heir->fault)
      && gpu_event_synchronize (heir->event, GPU_NAP_NS, &heir->fault);
  memset (heir->host, 0, 64);
  heir->used = heir->used
      && gpu_copy_rows (heir->host, 64, heir->memory, 64, 64, 1, GPU_COPY_DOWN,
          heir->stream, &heir->fault)
      && gpu_stream_synchronize (heir->stream, &heir->fault)
      && ((uint8_t *) heir->host)[63] == 0x3c;
  gpu_event_free (heir->event);
  gpu_stream_free (heir->stream);
  gpu_free (heir->memory);
  gpu_free_host (heir->host);
  gpu_pop (heir->gpu);
  gpu_close (heir->gpu);
  return NULL;
}

/* A reference keeps the device for memory that outlives the opener: the opener is closed before
 * the memory is used and freed, on another thread. */
static void
check_hold (Check *check, const void *data)
{
  Random random = { check->seed };
  Device device;
  Fault fault;

  (void) data;
  if (!begin_alone (check))
    return;
  for (int life = 0; life < 3 && !check->case_failed; life++) {
    Heir heir = { .gpu = NULL };
    pthread_t thread;

    fault_clear (&fault);
    fault_clear (&heir.fault);
    if (!EXPECT (check, device_open (&device, &fault), "life %d: %s (%s)", life,
            fault.message, fault.detail))
      return;
    heir.gpu = gpu_ref (device.gpu);
    EXPECT (check, heir.gpu == device.gpu, "the hold is on another device");
    heir.memory = gpu_malloc (64, &fault);
    heir.host = gpu_malloc_host (64, &fault);
    EXPECT (check,
        heir.memory != NULL && heir.host != NULL
            && gpu_stream_new (&heir.stream, &fault)
            && gpu_event_new (&heir.event, &fault),
        "%s (%s)", fault.message, fault.detail);
    device_shut (&device);
    if (check->case_failed)
      return;
    if (pthread_create (&thread, NULL, outlive, &heir) != 0) {
      EXPECT (check, false, "a thread cannot be made");
      return;
    }
    pthread_join (thread, NULL);
    EXPECT (check, heir.used, "life %d, after the opener: %s (%s)", life,
        heir.fault.message, heir.fault.detail);
  }
  /* The last reference is gone: the next lifetime starts afresh. */
  if (EXPECT (check, device_open (&device, &fault), "%s (%s)", fault.message,
          fault.detail)) {
    run_all_methods (check, &device, &random, 0);
    device_shut (&device);
  }
}

/* All references to a context share one link, which is made anew after the last of them. */
static void
check_link (Check *check, const void *data)
{
  Device first, second;
  Fault fault;

  (void) data;
  if (!begin_alone (check))
    return;
  fault_clear (&fault);
  if (!EXPECT (check, device_open (&first, &fault), "%s", fault.message))
    return;
  if (!EXPECT (check, device_open (&second, &fault), "%s", fault.message)) {
    device_shut (&first);
    return;
  }
  for (int life = 0; life < 3 && !check->case_failed; life++) {
    GpuLink *link = gpu_link_hold (first.gpu, &fault);
    GpuLink *other = gpu_link_hold (second.gpu, &fault);

    EXPECT (check, link != NULL && link == other,
        "life %d: two holders in one context have links of their own", life);
    gpu_link_release (link);
    if (!check->case_failed)
      EXPECT (check,
          gpu_link_up (other) != gpu_link_down (other)
              && gpu_stream_synchronize (gpu_link_up (other), &fault)
              && gpu_stream_synchronize (gpu_link_down (other), &fault),
          "life %d, after one holder has gone: %s", life, fault.message);
    gpu_link_release (other);
  }
  gpu_link_release (NULL);
  device_shut (&second);
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
  kerncheck_add (check_hold, NULL, NULL, "gpu/hold");
  kerncheck_add (check_link, NULL, NULL, "gpu/link");
}
