/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The extension module: specs are made once, and run on arrays. */
#include "limited-python.h"

#include "arrays.h"
#include "faults.h"
#include "pictures.h"
#include "plans.h"
#include "specs.h"

/* The arguments of one run(). */
typedef struct
{
  Spec *spec;
  Array source, target;
  Pictures src, dst;
  Place place;
  bool fills_counts;
  /* Returns an object that keeps the stream alive. None, or where it returns None: nobody
   * does, and the work is done when run() returns. */
  PyObject *hold;
} Run;

static bool
take_backend (const char *name, const Array *source, Place *place)
{
  const bool on_host = source->device == ARRAY_ON_HOST;

  if (strcmp (name, "auto") == 0)
    place->backend = on_host ? BACKEND_CPU : BACKEND_CUDA;
  else if (strcmp (name, "cuda") == 0)
    place->backend = BACKEND_CUDA;
  else if (strcmp (name, "cpu") == 0)
    place->backend = BACKEND_CPU;
  else {
    PyErr_Format (PyExc_ValueError, "There is no backend \"%s\".", name);
    return false;
  }
  if (place->backend == BACKEND_CPU && !on_host) {
    PyErr_SetString (PyExc_ValueError,
        "The image lies in a GPU's memory, which backend=\"cpu\" cannot reach.");
    return false;
  }
  place->device = source->device;
  place->staged = on_host && place->backend == BACKEND_CUDA;
  return true;
}

/* `stream`: a handle, or None. */
static bool
take_stream (PyObject *stream, Place *place)
{
  if (place->backend == BACKEND_CPU || place->staged || stream == Py_None)
    return true;
  place->foreign_stream = true;
  place->stream = PyLong_AsVoidPtr (stream);
  return place->stream != NULL || !PyErr_Occurred ();
}

static bool
same_shape (const Array *a, const Array *b)
{
  if (a->dimensions != b->dimensions)
    return false;
  for (int i = 0; i < a->dimensions; i++)
    if (a->shape[i] != b->shape[i])
      return false;
  return true;
}

static bool
check_target (const Array *source, const Array *target)
{
  const char *problem = NULL;

  if (!same_shape (source, target))
    problem = "out has another shape than the image.";
  else if (source->type != target->type)
    problem = "out has elements of another type than the image.";
  else if (source->device != target->device)
    problem = "out lies in other memory than the image.";
  if (problem != NULL)
    PyErr_SetString (PyExc_ValueError, problem);
  return problem == NULL;
}

/* Whether arrays of one shape may share an element. */
static bool
may_overlap (const Array *a, const Array *b)
{
  const uint8_t *first[2], *end[2];

  for (int i = 0; i < 2; i++) {
    const Array *array = i == 0 ? a : b;

    first[i] = array->data;
    end[i] = array->data + array_element_bytes (array->type);
    for (int d = 0; d < array->dimensions; d++) {
      const int64_t reach = array->stride[d] * (array->shape[d] - 1);

      if (reach < 0)
        first[i] += reach;
      else
        end[i] += reach;
    }
  }
  return first[0] < end[1] && first[1] < end[0];
}

/* Whether the result of these arrays can be computed as they lie. */
static PicturesStatus
match_pictures (Run *run)
{
  const int depth = run->spec->depth;
  PicturesStatus status;

  if (depth > 0 && (run->source.type == ARRAY_UINT8) != (depth <= 8)) {
    PyErr_Format (PyExc_ValueError,
        "The depth is 1 to 8 bits of uint8 and 9 to 16 bits of uint16, not %d.",
        depth);
    return PICTURES_REFUSED;
  }
  status = pictures_get (&run->source, depth, "image", &run->src);
  if (status != PICTURES_READY || run->fills_counts)
    return status;
  if (!check_target (&run->source, &run->target))
    return PICTURES_REFUSED;
  status = pictures_get (&run->target, depth, "out", &run->dst);
  if (status != PICTURES_READY)
    return status;
  /* Copies of staged rows would take what lies in gaps with them. */
  if (!image_same_layout (&run->src.first, &run->dst.first)
      || (run->place.staged && run->dst.gaps)
      || (run->dst.n > 1 && run->dst.step == 0)
      || may_overlap (&run->source, &run->target))
    return PICTURES_SCATTERED;
  return PICTURES_READY;
}

/* The number of elements, if they follow each other row by row without gaps; else -1. */
static int64_t
count_packed (const Array *array)
{
  const int bytes = array_element_bytes (array->type);
  int64_t n = 1;

  for (int i = array->dimensions - 1; i >= 0; i--) {
    if (array->shape[i] > 1 && array->stride[i] != n * bytes)
      return -1;
    n *= array->shape[i];
  }
  return n;
}

static bool
check_counts (const Run *run)
{
  unsigned channels = 0;

  for (int p = 0; p < run->src.first.n_planes; p++)
    channels += (unsigned) run->src.first.plane[p].channels;
  if (run->target.type == ARRAY_INT64
      && run->target.device == run->source.device
      && count_packed (&run->target)
          == run->src.n * channels * run->spec->histogram.bins)
    return true;
  PyErr_SetString (PyExc_ValueError,
      "out must be of int64, lie where the image does, and have no gaps.");
  return false;
}

static bool
run_plan (Run *run, bool wait)
{
  Plan *plan = plan_take (run->spec, &run->src.first, &run->place);
  PyObject *holder = NULL;
  Fault fault = { .kind = FAULT_NONE };
  bool ok;

  if (plan == NULL)
    return false;
  if (!wait && !plan_has_holder (plan)) {
    holder = PyObject_CallNoArgs (run->hold);
    if (holder == NULL) {
      plan_give_back (plan, false, NULL);
      return false;
    }
    if (holder == Py_None) {
      wait = true;
      Py_CLEAR (holder);
    }
  }
  Py_BEGIN_ALLOW_THREADS;
  ok = plan_run (plan, &run->src, run->fills_counts ? NULL : &run->dst,
      run->target.data, wait, &fault);
  Py_END_ALLOW_THREADS;
  plan_give_back (plan, ok, holder);
  Py_XDECREF (holder);
  return ok || fault_raise (&fault);
}

static PyObject *
run_arrays (Run *run)
{
  const bool wait = run->hold == Py_None || run->place.staged
      || run->place.backend == BACKEND_CPU;

  switch (match_pictures (run)) {
    case PICTURES_REFUSED:
      return NULL;
    case PICTURES_SCATTERED:
      return Py_NewRef (Py_False);
    case PICTURES_READY:
      break;
  }
  if (run->fills_counts && !check_counts (run))
    return NULL;
  return run_plan (run, wait) ? Py_NewRef (Py_True) : NULL;
}

static PyObject *
engine_run (PyObject *module, PyObject *arguments)
{
  PyObject *spec, *source, *target, *stream, *result = NULL;
  Run run = { .spec = NULL };
  const char *backend;

  (void) module;
  if (!PyArg_ParseTuple (arguments, "OOOsiOO:run", &spec, &source, &target,
          &backend, &run.place.threads, &stream, &run.hold)
      || !spec_check (spec))
    return NULL;
  run.spec = (Spec *) spec;
  run.fills_counts = run.spec->kind == SPEC_HISTOGRAM;
  if (run.place.threads < 0) {
    PyErr_SetString (PyExc_ValueError, "threads is 0, for all cores, or more.");
    return NULL;
  }
  if (array_get (source, false, "image", &run.source)
      && array_get (target, true, "out", &run.target)
      && take_backend (backend, &run.source, &run.place)
      && take_stream (stream, &run.place))
    result = run_arrays (&run);
  array_release (&run.source);
  array_release (&run.target);
  return result;
}

static PyObject *
engine_cuda_devices (PyObject *module, PyObject *nothing)
{
  Fault fault;

  (void) module;
  (void) nothing;
  return PyLong_FromLong (gpu_count (&fault));
}

static PyMethodDef functions[] = {
  { "run", engine_run, METH_VARARGS, NULL },
  { "filter_spec", spec_new_filter, METH_VARARGS, NULL },
  { "histogram_spec", spec_new_histogram, METH_VARARGS, NULL },
  { "equalize_spec", spec_new_equalize, METH_VARARGS, NULL },
  { "methods", spec_methods, METH_NOARGS, NULL },
  { "cuda_devices", engine_cuda_devices, METH_NOARGS, NULL },
  { "cache_limit", plans_limit, METH_O, NULL },
  { "cache_info", plans_info, METH_NOARGS, NULL },
  { "cache_clear", plans_clear, METH_NOARGS, NULL },
  { "cache_abandon", plans_abandon, METH_NOARGS, NULL },
  { NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
  .m_base = PyModuleDef_HEAD_INIT,
  .m_name = "_engine",
  .m_size = -1,
  .m_methods = functions,
};

PyMODINIT_FUNC PyInit__engine (void);

PyMODINIT_FUNC
PyInit__engine (void)
{
  PyObject *module = PyModule_Create (&definition);

  if (module != NULL
      && (!specs_add (module)
          || PyModule_AddStringConstant (module, "version", VERSION) != 0)) {
    Py_DECREF (module);
    return NULL;
  }
  return module;
}
