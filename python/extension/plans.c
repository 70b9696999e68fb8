/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plans.h"

#include "devices.h"
#include "faults.h"
#include "trace.h"
#include "workers.h"

#include <stdlib.h>

#define DEFAULT_LIMIT 32
/* Of staged rows, as copies like them. */
#define STAGING_ALIGNMENT 256

struct Plan
{
  Plan *next; /* used longer ago */
  Spec *spec; /* held */
  Image layout;
  Place place;
  PyObject *holder; /* held, or NULL: the work of all runs is done */
  bool refused;     /* the last run was, before it did anything */

  Gpu *gpu;            /* CUDA */
  GpuStream stream;    /* that it queues on */
  GpuStream own;       /* owned, or NULL */
  uint8_t *staging[2]; /* owned, device memory for source and result */
  SepconvPlan *filter;
  HistoPlan *histogram;
  HistoResult *result;
  EqualizePlan *equalize;
};

/* All under the GIL. Plans that a call has are not in the list. */
static struct
{
  Plan *first; /* used last */
  int n, limit;
  long long hits, misses;
} cache = { .limit = DEFAULT_LIMIT };

/* Making and freeing; without the GIL */

static bool
is_made (const Plan *plan)
{
  return plan->filter != NULL || plan->result != NULL || plan->equalize != NULL;
}

static void
destroy_parts (Plan *plan)
{
  sepconv_plan_free (plan->filter);
  histo_plan_free (plan->histogram);
  histo_result_free (plan->result);
  equalize_plan_free (plan->equalize);
  for (int i = 0; i < 2; i++)
    gpu_free (plan->staging[i]);
  gpu_stream_free (plan->own);
}

/* Waits until the GPU has done what the plan queued, which others' work may follow. */
static void
await_runs (Plan *plan)
{
  GpuEvent event = NULL;

  /* What fails here has failed for the stream's owner, too, who is the one to be told. */
  if (gpu_event_new_untimed (&event, NULL)
      && gpu_event_record (event, plan->stream, NULL))
    gpu_event_synchronize (event, GPU_NAP_NS, NULL);
  gpu_event_free (event);
}

static void
destroy (Plan *plan)
{
  if (plan->gpu == NULL) {
    destroy_parts (plan);
  } else if (gpu_push (plan->gpu, NULL)) {
    if (plan->holder != NULL && is_made (plan))
      await_runs (plan);
    destroy_parts (plan);
    gpu_pop (plan->gpu);
  }
}

static bool
make_staging (Plan *plan, Fault *fault)
{
  Image packed;
  const size_t bytes =
      image_pack (&plan->layout, STAGING_ALIGNMENT, NULL, &packed);

  for (int i = 0; i < 2; i++) {
    plan->staging[i] = gpu_malloc (bytes, fault);
    if (plan->staging[i] == NULL)
      return false;
  }
  return true;
}

static bool
make_plan (Plan *plan, Fault *fault)
{
  const Backend backend = plan->place.backend;

  switch (plan->spec->kind) {
    case SPEC_FILTER:
      plan->filter = spec_filter_plan (
          plan->spec, &plan->layout, backend, plan->gpu, fault);
      return plan->filter != NULL;
    case SPEC_HISTOGRAM:
      plan->histogram = spec_histogram_plan (
          plan->spec, &plan->layout, backend, plan->gpu, fault);
      if (plan->histogram == NULL)
        return false;
      plan->result = histo_result_new (plan->histogram, fault);
      return plan->result != NULL;
    case SPEC_EQUALIZE:
      plan->equalize = spec_equalize_plan (
          plan->spec, &plan->layout, backend, plan->gpu, fault);
      return plan->equalize != NULL;
  }
  return false;
}

/* With the context pushed. */
static bool
make_parts (Plan *plan, Fault *fault)
{
  bool ok = true;

  plan->stream = plan->place.stream;
  if (plan->gpu != NULL && !plan->place.foreign_stream) {
    ok = gpu_stream_new (&plan->own, fault);
    plan->stream = plan->own;
    if (ok)
      trace_name_stream (plan->own, "gst-cudasepconv compute");
  }
  if (ok && plan->place.staged)
    ok = make_staging (plan, fault);
  workers_limit (plan->place.threads);
  ok = ok && make_plan (plan, fault);
  workers_limit (0);
  return ok;
}

/* Running; without the GIL, and with the context pushed */

static bool
copy_staged (const Image *dst, const Image *src, GpuCopy kind, GpuStream stream,
    Fault *fault)
{
  for (int m = 0; m < src->n_memories; m++)
    if (!gpu_copy_rows (dst->memory[m].data, dst->memory[m].stride,
            src->memory[m].data, src->memory[m].stride,
            src->memory[m].row_bytes, src->memory[m].height, kind, stream,
            fault))
      return false;
  return true;
}

/* Copies the counters of one picture to where the caller wants them. */
static bool
deliver_counts (Plan *plan, uint8_t **counts, Fault *fault)
{
  const int bins = histo_result_bins (plan->result);
  const size_t bytes = (size_t) bins * sizeof (uint64_t);
  const bool on_host = plan->place.backend == BACKEND_CPU || plan->place.staged;

  if (plan->place.staged && !gpu_stream_synchronize (plan->stream, fault))
    return false;
  for (int p = 0; p < plan->layout.n_planes; p++)
    for (int c = 0; c < plan->layout.plane[p].channels; c++) {
      const uint64_t *from = histo_result_counts (plan->result, p, c);

      if (from == NULL)
        continue;
      if (on_host)
        memcpy (*counts, from, bytes);
      else if (!gpu_copy_rows (*counts, (ptrdiff_t) bytes,
                   (const uint8_t *) from, (ptrdiff_t) bytes, bytes, 1,
                   GPU_COPY_UP, plan->stream, fault))
        return false;
      *counts += bytes;
    }
  return true;
}

static bool
compute (Plan *plan, const Image *src, const Image *dst, uint8_t **counts,
    Fault *fault)
{
  switch (plan->spec->kind) {
    case SPEC_FILTER:
      return sepconv_plan_run (
          plan->filter, src, dst, plan->stream, GPU_AFTER_KERNELS, fault);
    case SPEC_HISTOGRAM:
      return histo_plan_run (plan->histogram, src, plan->result, plan->stream,
                 GPU_AFTER_KERNELS, fault)
          && deliver_counts (plan, counts, fault);
    case SPEC_EQUALIZE:
      equalize_plan_reset (plan->equalize);
      return equalize_plan_run (plan->equalize, src, dst, plan->stream, fault);
  }
  return false;
}

static bool
compute_staged (Plan *plan, const Image *src, const Image *dst,
    uint8_t **counts, Fault *fault)
{
  Image up, down;

  image_pack (&plan->layout, STAGING_ALIGNMENT, plan->staging[0], &up);
  image_pack (&plan->layout, STAGING_ALIGNMENT, plan->staging[1], &down);
  return copy_staged (&up, src, GPU_COPY_UP, plan->stream, fault)
      && compute (plan, &up, &down, counts, fault)
      && (plan->spec->kind == SPEC_HISTOGRAM
          || copy_staged (dst, &down, GPU_COPY_DOWN, plan->stream, fault));
}

static bool
run_pictures (Plan *plan, const Pictures *src, const Pictures *dst,
    uint8_t *counts, Fault *fault)
{
  for (int64_t i = 0; i < src->n; i++) {
    const Image from = pictures_at (src, i);
    const Image to = dst != NULL ? pictures_at (dst, i) : from;

    if (plan->place.staged ? !compute_staged (plan, &from, &to, &counts, fault)
                           : !compute (plan, &from, &to, &counts, fault))
      return false;
  }
  return true;
}

/* Graphs would go on using a plan's memory after the plan is gone. */
static bool
refuse_capture (Plan *plan, Fault *fault)
{
  bool captured = false;

  plan->refused = plan->place.foreign_stream
      && (!gpu_stream_is_captured (plan->place.stream, &captured, fault)
          || captured);
  if (captured)
    fault_set (fault, FAULT_UNSUPPORTED,
        "The stream is being captured into a CUDA graph, which cannot hold these "
        "calls.");
  return !plan->refused;
}

static bool
run_on_gpu (Plan *plan, const Pictures *src, const Pictures *dst,
    uint8_t *counts, bool wait, Fault *fault)
{
  bool ok;

  if (plan->gpu == NULL) {
    plan->gpu = device_open (plan->place.device, fault);
    if (plan->gpu == NULL)
      return false;
  }
  if (!gpu_push (plan->gpu, fault))
    return false;
  ok = refuse_capture (plan, fault)
      && (is_made (plan) || make_parts (plan, fault))
      && run_pictures (plan, src, dst, counts, fault);
  if (!plan->refused && (wait || plan->place.staged))
    ok = gpu_stream_synchronize (plan->stream, ok ? fault : NULL) && ok;
  gpu_pop (plan->gpu);
  return ok;
}

bool
plan_run (Plan *plan, const Pictures *src, const Pictures *dst, uint8_t *counts,
    bool wait, Fault *fault)
{
  if (plan->place.backend == BACKEND_CUDA)
    return run_on_gpu (plan, src, dst, counts, wait, fault);
  return (is_made (plan) || make_parts (plan, fault))
      && run_pictures (plan, src, dst, counts, fault);
}

/* The cache; with the GIL */

static bool
same_place (const Place *a, const Place *b)
{
  return a->backend == b->backend && a->device == b->device
      && a->threads == b->threads && a->staged == b->staged
      && a->foreign_stream == b->foreign_stream && a->stream == b->stream;
}

Plan *
plan_take (Spec *spec, const Image *layout, const Place *place)
{
  Plan *plan;

  for (Plan **at = &cache.first; *at != NULL; at = &(*at)->next)
    if ((*at)->spec == spec && same_place (&(*at)->place, place)
        && image_same_layout (&(*at)->layout, layout)) {
      plan = *at;
      *at = plan->next;
      cache.n--;
      cache.hits++;
      return plan;
    }
  cache.misses++;
  plan = calloc (1, sizeof *plan);
  if (plan == NULL) {
    PyErr_NoMemory ();
    return NULL;
  }
  plan->spec = (Spec *) Py_NewRef ((PyObject *) spec);
  plan->layout = *layout;
  plan->place = *place;
  return plan;
}

/* Cuts the list behind its first plans; returns the others. */
static Plan *
cut_off (int keep)
{
  Plan **at = &cache.first, *rest;

  for (int i = 0; i < keep && *at != NULL; i++)
    at = &(*at)->next;
  rest = *at;
  *at = NULL;
  if (cache.n > keep)
    cache.n = keep;
  return rest;
}

static void
free_plans (Plan *plans)
{
  if (plans == NULL)
    return;
  Py_BEGIN_ALLOW_THREADS;
  for (Plan *plan = plans; plan != NULL; plan = plan->next)
    destroy (plan);
  Py_END_ALLOW_THREADS;
  while (plans != NULL) {
    Plan *next = plans->next;

    Py_DECREF (plans->spec);
    Py_XDECREF (plans->holder);
    free (plans);
    plans = next;
  }
}

bool
plan_has_holder (const Plan *plan)
{
  return plan->holder != NULL;
}

void
plan_give_back (Plan *plan, bool ok, PyObject *holder)
{
  Plan *rest;

  if (plan->holder == NULL && holder != NULL)
    plan->holder = Py_NewRef (holder);
  plan->next = NULL;
  /* While a stream is captured, nothing may be freed. */
  if (ok || (plan->refused && is_made (plan))) {
    plan->next = cache.first;
    cache.first = plan;
    cache.n++;
    rest = cut_off (cache.limit);
  } else {
    rest = plan;
  }
  free_plans (rest);
}

PyObject *
plans_limit (PyObject *module, PyObject *limit)
{
  const long n = PyLong_AsLong (limit);

  (void) module;
  if (n == -1 && PyErr_Occurred ())
    return NULL;
  if (n < 0 || n > 1 << 16) {
    PyErr_SetString (PyExc_ValueError, "The cache keeps 0 to 65536 plans.");
    return NULL;
  }
  cache.limit = (int) n;
  free_plans (cut_off (cache.limit));
  return Py_NewRef (Py_None);
}

PyObject *
plans_info (PyObject *module, PyObject *nothing)
{
  (void) module;
  (void) nothing;
  return Py_BuildValue (
      "(LLii)", cache.hits, cache.misses, cache.limit, cache.n);
}

PyObject *
plans_clear (PyObject *module, PyObject *nothing)
{
  (void) module;
  (void) nothing;
  free_plans (cut_off (0));
  return Py_NewRef (Py_None);
}

PyObject *
plans_abandon (PyObject *module, PyObject *nothing)
{
  (void) module;
  (void) nothing;
  cut_off (0);
  return Py_NewRef (Py_None);
}
