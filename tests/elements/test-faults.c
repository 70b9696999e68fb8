/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes every call that may fail do so, one at a time.
 *
 * A short pipeline runs again and again; each time the next fault point of the emulated GPU fails.
 * For every point: the frames that arrive are correct and in order. The pipeline stops with one
 * error of an element, a sentence. With backend=auto and frames in system memory, a GPU fault does
 * not stop it, but costs one warning and at most the frames in flight. Then the same pipeline runs
 * without a fault and delivers every frame. After it is freed nothing is left, except what a pool
 * of GStreamer leaks that could not make all of its first buffers.
 *
 * Environment: FAULTS_STRIDE (default 127) takes every n-th point, starting at one that FAULTS_SEED
 * (a number; default: the clock) chooses. FAULTS_PIPELINE names the only pipeline to run, such as
 * "outside". */
#include "fault-fixture.h"
#include "fault-run.h"
#include "own-element.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 5
/* A ring times its first eight frames; in place, these do not overlap others. */
#define MORE_FRAMES_IN_PLACE 7
/* Ring depth, which is also the largest number of frames that a fault may cost. */
#define DEPTH 3

/* Kinds whose points are counted: all but event queries, whose number depends on timing. */
#define COUNTED_POINTS (0x3ffu & ~(unsigned) EMULATED_FAULT_QUERY)

static const struct
{
  const char *name, *before, *after, *settings;
} memories[] = {
  { "pinned", "", "", "" },
  { "foreign", "identity drop-allocation=true ! ", "", "" },
  { "pageable", "", "", " transfer=pageable" },
  { "mapped", "", "", " transfer=mapped" },
  { "gpu",
      "cudasepconv sigma=0 backend=cuda ring-depth=3 ! "
      "video/x-raw(memory:CUDAMemory) ! ",
      " ! video/x-raw(memory:CUDAMemory) ! "
      "cudasepconv sigma=0 backend=cuda ring-depth=3 ! video/x-raw",
      "" },
};

/* Least number of points over all sweeps of a pipeline. A sweep that meets fewer misses some. */
#define LEAST_ON_GPU 400
#define LEAST_ON_CPU 14
/* The same for an element without an engine. */
#define LEAST_WITHOUT_ENGINE 9

/* Divides the stride on the CPU, where a frame is much faster than on the emulated GPU and has
 * fewer points. */
#define SHORTER_STRIDE_ON_CPU 32

#define GPU_MEMORY_ROW (G_N_ELEMENTS (memories) - 1)

/* One way of computing in an element. */
typedef struct
{
  const char *name, *format, *settings;
  int more_frames; /* in addition to FRAMES */
} Element;

static const Element elements[] = {
  { "plain", "NV12", "cudasepconv sigma=1", 0 },
  { "slices", "GRAY8", "cudasepconv sigma=1 slices=4", 0 },
  { "wide", "GRAY8", "cudasepconv sigma=12", 0 },
  { "box", "GRAY8", "cudasepconv kernel=box radius=9", 0 },
  { "regions", "NV12",
      "cudasepconv sigma=2 roi-mode=inside zones=<<0.1,0.2,0.5,0.5>>", 0 },
  { "in-place", "NV12",
      "cudasepconv sigma=1 roi-mode=inside zones=<<0.1,0.2,0.2,0.2>>",
      MORE_FRAMES_IN_PLACE },
  { "outside", "GRAY8",
      "cudasepconv sigma=2 roi-mode=outside roi-shape=ellipse "
      "zones=<<0.1,0.2,0.5,0.5>>",
      0 },
  { "light", "RGBA", "cudasepconv sigma=2 gamma=linear alpha-mode=premultiply",
      0 },
  { "terms", "NV12", "cudasepconv kernel=sobel scale=0.25", 0 },
  { "v210", "v210", "cudasepconv sigma=1", 0 },
  { "counting", "NV12",
      "cudasepconv sigma=1 histogram=true histogram-interval=0", 0 },
  { "analyze", "NV12", "cudahisto interval=0", 0 },
  { "equalize", "NV12", "cudahisto mode=equalize smoothing=0 interval=0", 0 },
  { "clahe", "GRAY8",
      "cudahisto mode=equalize equalizer=clahe smoothing=0 interval=0", 0 },
  { "overlay", "NV12", "cudahisto mode=overlay interval=0", 0 },
  /* An element of another project, on the base class. */
  { "own", "NV12", "ownelement mark=3", 0 },
  { "own-read", "NV12", "ownelement use=read", 0 },
};

/* The points to take, and their number. */
typedef struct
{
  const FaultPoints *points;
  long stride, first;
  guint met;
} Sweep;

static long
number_from_environment (const char *name, long otherwise)
{
  const char *text = g_getenv (name);

  return text != NULL ? atol (text) : otherwise;
}

static Sweep
sweep_start (const FaultPoints *points, gboolean on_cpu)
{
  const long stride = MAX (number_from_environment ("FAULTS_STRIDE", 127)
          / (on_cpu ? SHORTER_STRIDE_ON_CPU : 1),
      1);
  const long seed =
      number_from_environment ("FAULTS_SEED", (long) time (NULL) % 1000);

  return (Sweep){
    .points = points, .stride = stride, .first = 1 + labs (seed) % stride
  };
}

/* A row of 32 pixels of v210: six groups, and padding. */
#define V210_STRIDE 128
#define V210_ROW 96

/* Whether all samples of v210 differ by at most 1. */
static gboolean
words_match (const guint8 *x, const guint8 *y, gsize n)
{
  for (gsize i = 0; i < n; i += 4)
    for (int bit = 0; i % V210_STRIDE < V210_ROW && bit < 30; bit += 10) {
      const int a = (int) (GST_READ_UINT32_LE (x + i) >> bit & 0x3ff);
      const int b = (int) (GST_READ_UINT32_LE (y + i) >> bit & 0x3ff);

      if (ABS (a - b) > 1)
        return FALSE;
    }
  return TRUE;
}

/* Whether all samples differ by at most 1, which is the accuracy across backends. */
static gboolean
frames_match (GBytes *a, GBytes *b, gboolean of_v210)
{
  gsize n, m;
  const guint8 *x = g_bytes_get_data (a, &n), *y = g_bytes_get_data (b, &m);

  if (n != m)
    return FALSE;
  if (of_v210)
    return words_match (x, y, n);
  for (gsize i = 0; i < n; i++)
    if (ABS (x[i] - y[i]) > 1)
      return FALSE;
  return TRUE;
}

/* Expects the frames of `run` to be correct, in order, and at most `lost` fewer than sent; or, if
 * `lost` is negative, any part of them. */
static void
expect_frames (const FaultRun *run, const FaultRun *right, int lost)
{
  guint next = 0;

  for (guint i = 0; i < run->frames->len; i++, next++) {
    const GstClockTime time = g_array_index (run->times, GstClockTime, i);

    while (next < right->frames->len
        && g_array_index (right->times, GstClockTime, next) != time)
      next++;
    expect (next < right->frames->len, "frame %u has a time of no other", i);
    expect (frames_match (run->frames->pdata[i], right->frames->pdata[next],
                run->of_v210),
        "frame %u is wrong", i);
  }
  expect (lost < 0 || (int) run->frames->len >= (int) right->frames->len - lost,
      "%u frames of %u arrive", run->frames->len, right->frames->len);
}

/* Expects a sentence for the user, and some detail. Sentences of GStreamer's base class have no
 * full stop. */
static void
expect_sentence (const char *text)
{
  const char *end = strchr (text, '\n');
  const gboolean of_base = strstr (text, "gstbasetransform.c") != NULL;

  expect (end != NULL && end - text > 15 && end[1] != '\0'
          && (end[-1] == '.' || of_base),
      "no sentence with detail: %s", text);
}

/* Expects at least one message and none twice: the loss of a shared context may hit several
 * elements, each of which reports one error. */
static void
expect_one_error_each (const FaultRun *run)
{
  expect (run->errors->len > 0, "%u errors, but none of the element",
      run->failures);
  for (guint i = 0; i < run->errors->len; i++) {
    const char *text = run->errors->pdata[i];
    const char *source = strstr (text, "/GstPipeline:");

    expect_sentence (text);
    expect (source != NULL, "no source: %s", text);
    for (guint j = 0; j < i; j++)
      expect (strncmp (strstr (run->errors->pdata[j], "/GstPipeline:"), source,
                  strcspn (source, "\n"))
              != 0,
          "two errors of one element: %s, %s", text,
          (char *) run->errors->pdata[j]);
  }
}

/* Expects one of the allowed outcomes of a run with a fault. */
static void
judge (const FaultRun *run, const FaultRun *right, gboolean may_fall_back,
    gboolean of_gpu)
{
  if (run->failures == 0) {
    expect (run->errors->len == 0, "an error goes unnoticed");
    expect (run->warnings->len <= (may_fall_back ? 1 : 0), "%u warnings, %s",
        run->warnings->len, (char *) run->warnings->pdata[0]);
    if (run->warnings->len > 0)
      expect_sentence (run->warnings->pdata[0]);
    expect_frames (run, right, run->warnings->len > 0 ? DEPTH : 0);
    return;
  }
  expect_one_error_each (run);
  expect (!may_fall_back || !of_gpu,
      "an error, where the CPU could have gone on: %s",
      (char *) run->errors->pdata[0]);
  expect_frames (run, right, -1);
}

static void
expect_all (const FaultRun *run, const FaultRun *right, const char *when)
{
  expect (run->failures == 0, "%s, %u errors: %s", when, run->failures,
      run->errors->len > 0 ? (char *) run->errors->pdata[0] : "?");
  expect (run->warnings->len == 0, "%s, a warning: %s", when,
      (char *) run->warnings->pdata[0]);
  expect_frames (run, right, 0);
  expect (run->reports->len == right->reports->len,
      "%s, %u reports instead of %u", when, run->reports->len,
      right->reports->len);
}

/* In a lost context nothing can be freed; memory goes with the context, unless the leak of a pool
 * holds it. Buffers are finalized a moment before their memory is freed. */
static void
expect_nothing_left (
    const FaultPoints *points, const EmulatedLive *before, gboolean lost)
{
  EmulatedLive now;
  gboolean same;

  for (int i = 0; i < 200; i++) {
    points->live (&now);
    if (lost && before->contexts > 0) {
      now.device_memory = before->device_memory;
      now.pinned_memory = before->pinned_memory;
      now.streams = before->streams;
      now.events = before->events;
    }
    same = memcmp (&now, before, sizeof now) == 0;
    if (same)
      break;
    g_usleep (10000);
  }
  expect (same,
      "left: %ld device memories, %ld pinned, %ld streams, %ld events, "
      "%ld holds of contexts, %ld of the heap, %ld threads",
      now.device_memory - before->device_memory,
      now.pinned_memory - before->pinned_memory, now.streams - before->streams,
      now.events - before->events, now.contexts - before->contexts,
      now.heap - before->heap, now.threads - before->threads);
}

static gboolean
said (const GPtrArray *texts, const char *words)
{
  for (guint i = 0; i < texts->len; i++)
    if (strstr (texts->pdata[i], words) != NULL)
      return TRUE;
  return FALSE;
}

/* Whether a pool could not make all of its first buffers. GStreamer's pool then leaks the buffers
 * that it has made, and everything that they hold. */
static gboolean
pool_is_left (const FaultRun *run)
{
  return said (run->errors, "failed to activate bufferpool")
      || said (run->warnings, "not negotiated");
}

/* One run with a fault, and one without. Returns FALSE when the point was not reached. */
static gboolean
run_with_fault (const FaultPoints *points, const char *title,
    const char *description, const FaultRun *right, unsigned kinds, long n,
    gboolean lasting, gboolean may_fall_back)
{
  EmulatedLive before;
  const char *call;
  unsigned kind;
  FaultRun *run;
  gboolean left;

  points->live (&before);
  run = fault_run_new (description);
  test_context ("%s, %s %ld", title, lasting ? "all from point" : "point", n);
  points->arm (kinds, n, lasting);
  fault_run_play (run);
  call = points->fired (&kind);
  if (call != NULL)
    test_context (
        "%s, %s %ld: %s", title, lasting ? "all from point" : "point", n, call);
  points->arm (0, 0, FALSE);
  judge (run, right, may_fall_back, (kind & EMULATED_FAULT_OF_GPU) != 0);
  left = pool_is_left (run);
  fault_run_play (run);
  expect_all (run, right, "after a restart");
  fault_run_end (run);
  if (!left)
    expect_nothing_left (
        points, &before, lasting || (kind & EMULATED_FAULT_CONTEXT) != 0);
  fault_run_free (run);
  return call != NULL;
}

/* Sweeps over all points of these kinds. Their number varies a little from run to run, because of
 * other threads. */
static void
sweep_points (Sweep *sweep, const char *title, const char *description,
    const FaultRun *right, unsigned kinds, gboolean lasting,
    gboolean may_fall_back)
{
  int missed = 0;

  for (long n = sweep->first; missed < 2; n += sweep->stride)
    if (run_with_fault (sweep->points, title, description, right, kinds, n,
            lasting, may_fall_back))
      sweep->met++;
    else
      missed++;
}

/* The pipeline's description; the caller frees it. */
static char *
describe (const Element *element, guint memory, const char *backend)
{
  /* GStreamer's CUDA library has no grey frames, and none of v210. */
  const char *format = memory == GPU_MEMORY_ROW
          && (g_str_equal (element->format, "GRAY8")
              || g_str_equal (element->format, "v210"))
      ? "NV12"
      : element->format;

  return g_strdup_printf (
      "videotestsrc num-buffers=%d pattern=ball ! video/x-raw,format=%s,"
      "width=32,height=18,framerate=30/1 ! %s%s ring-depth=%d backend=%s%s%s ! "
      "fakesink name=sink",
      FRAMES + element->more_frames, format, memories[memory].before,
      element->settings, DEPTH, backend, memories[memory].settings,
      memories[memory].after);
}

/* Whether FAULTS_PIPELINE lets this pipeline run. */
static gboolean
is_wanted (const Element *element)
{
  const char *name = g_getenv ("FAULTS_PIPELINE");

  return name == NULL || g_str_equal (name, element->name);
}

static guint
least_points (const Element *element, gboolean on_cpu)
{
  if (!on_cpu)
    return LEAST_ON_GPU;
  return g_str_has_prefix (element->settings, "own") ? LEAST_WITHOUT_ENGINE
                                                     : LEAST_ON_CPU;
}

static void
sweep_pipeline (const FaultPoints *points, const Element *element, guint memory,
    const char *backend)
{
  const gboolean on_cpu = g_str_equal (backend, "cpu");
  const guint least = least_points (element, on_cpu);
  const gboolean may_fall_back = g_str_equal (backend, "auto");
  char *description = describe (element, memory, backend);
  char *title = g_strdup_printf ("backend=%s %s, %s memory", backend,
      element->name, memories[memory].name);
  Sweep sweep = sweep_start (points, on_cpu);
  EmulatedLive before;
  FaultRun *right;

  test_context ("%s, no fault", title);
  points->arm (0, 0, FALSE);
  points->live (&before);
  right = fault_run_new (description);
  fault_run_play (right);
  expect_all (right, right, "without a fault");
  fault_run_end (right);
  expect_nothing_left (points, &before, FALSE);
  sweep_points (
      &sweep, title, description, right, COUNTED_POINTS, FALSE, may_fall_back);
  if (!on_cpu) {
    sweep_points (&sweep, title, description, right, EMULATED_FAULT_QUERY,
        FALSE, may_fall_back);
    sweep_points (&sweep, title, description, right, EMULATED_FAULT_OF_GPU,
        TRUE, may_fall_back);
  }
  printf ("faults: %s: %u points, every %ld. from the %ld. on\n", title,
      sweep.met, sweep.stride, sweep.first);
  expect (sweep.met * sweep.stride + sweep.stride >= least,
      "%s: %u points are met, of %u at least", title, sweep.met, least);
  fault_run_free (right);
  g_free (title);
  g_free (description);
}

static const FaultPoints *
points_or_skip (void)
{
  const FaultPoints *points = fault_points ();

  guint wanted = 0;

  if (points == NULL)
    test_skip ("this GPU cannot be told to fail");
  own_element_register ();
  for (guint e = 0; e < G_N_ELEMENTS (elements); e++)
    wanted += is_wanted (&elements[e]);
  expect (wanted > 0, "FAULTS_PIPELINE names no pipeline");
  return points;
}

static void
faults_in_memory (guint memory)
{
  const FaultPoints *points = points_or_skip ();

  for (guint e = 0; points != NULL && e < G_N_ELEMENTS (elements); e++)
    if (is_wanted (&elements[e]))
      sweep_pipeline (points, &elements[e], memory, "cuda");
}

static void
faults_pinned (void)
{
  faults_in_memory (0);
}

static void
faults_foreign (void)
{
  faults_in_memory (1);
}

static void
faults_pageable (void)
{
  faults_in_memory (2);
}

static void
faults_mapped (void)
{
  faults_in_memory (3);
}

#ifdef HAVE_GSTCUDA
static void
faults_gpu_memory (void)
{
  faults_in_memory (GPU_MEMORY_ROW);
}
#endif

/* With backend=auto the CPU continues. */
static void
faults_fall_back (void)
{
  const FaultPoints *points = points_or_skip ();

  for (guint e = 0; points != NULL && e < G_N_ELEMENTS (elements); e++)
    if (is_wanted (&elements[e]))
      sweep_pipeline (points, &elements[e], e % GPU_MEMORY_ROW, "auto");
}

static void
faults_on_cpu (void)
{
  const FaultPoints *points = points_or_skip ();

  for (guint e = 0; points != NULL && e < G_N_ELEMENTS (elements); e++)
    if (is_wanted (&elements[e]))
      sweep_pipeline (points, &elements[e], 0, "cpu");
}

const Test tests_faults[] = {
  { "faults-pinned", faults_pinned, VARIANT_CUDA },
  { "faults-foreign", faults_foreign, VARIANT_CUDA },
  { "faults-pageable", faults_pageable, VARIANT_CUDA },
  { "faults-mapped", faults_mapped, VARIANT_CUDA },
#ifdef HAVE_GSTCUDA
  { "faults-gpu-memory", faults_gpu_memory, VARIANT_CUDA },
#endif
  { "faults-fall-back", faults_fall_back, VARIANT_CUDA },
  { "faults-on-cpu", faults_on_cpu, VARIANT_CUDA },
  { 0 },
};
