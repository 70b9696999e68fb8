/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "specs.h"

#include <stdlib.h>
#include <string.h>

static PyTypeObject *spec_type;

static void
spec_free (PyObject *self)
{
  PyTypeObject *type = Py_TYPE (self);

  Py_XDECREF (((Spec *) self)->filter.terms);
  PyObject_Free (self);
  Py_DECREF (type);
}

static PyType_Slot spec_slots[] = {
  /* Python's interface wants the function as an object's address. */
  { Py_tp_dealloc, __extension__(void *) spec_free },
  { 0, NULL },
};

static PyType_Spec spec_type_spec = {
  .name = "cudasepconv._engine.Spec",
  .basicsize = sizeof (Spec),
  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION
      | Py_TPFLAGS_IMMUTABLETYPE,
  .slots = spec_slots,
};

bool
specs_add (PyObject *module)
{
  PyObject *type = PyType_FromSpec (&spec_type_spec);

  if (type == NULL)
    return false;
  spec_type = (PyTypeObject *) type;
  return PyModule_AddObjectRef (module, "Spec", type) == 0;
}

bool
spec_check (PyObject *object)
{
  if (Py_TYPE (object) == spec_type)
    return true;
  PyErr_SetString (PyExc_TypeError, "A Spec is needed.");
  return false;
}

static Spec *
new_spec (SpecKind kind, int depth)
{
  Spec *spec;

  if (depth < 0 || depth > 16) {
    PyErr_Format (PyExc_ValueError, "depth is 1 to 16 bits, not %d.", depth);
    return NULL;
  }
  spec = PyObject_New (Spec, spec_type);
  if (spec == NULL)
    return NULL;
  memset (&spec->kind, 0, sizeof *spec - offsetof (Spec, kind));
  spec->kind = kind;
  spec->depth = depth;
  return spec;
}

/* The place of a name in a list that ends with NULL; -1 and a ValueError. */
static int
find_name (const char *const names[], const char *name, const char *what)
{
  for (int i = 0; names[i] != NULL; i++)
    if (strcmp (names[i], name) == 0)
      return i;
  PyErr_Format (PyExc_ValueError, "There is no %s \"%s\".", what, name);
  return -1;
}

static bool
take_kernel (FilterSpec *filter, const char *name, bool direction)
{
  static const char *const names[] = { "gaussian", "box", "custom", "sobel",
    "unsharp", "terms", NULL };
  static const TapsKernel kernels[] = { TAPS_GAUSSIAN, TAPS_BOX, TAPS_CUSTOM,
    TAPS_SOBEL, TAPS_UNSHARP, TAPS_TERMS };
  const int i = find_name (names, name, "kernel");

  if (i < 0)
    return false;
  filter->taps.kernel = kernels[i];
  filter->sepconv.combine = SEPCONV_SUM;
  if (filter->taps.kernel == TAPS_UNSHARP)
    filter->sepconv.combine = SEPCONV_UNSHARP;
  if (filter->taps.kernel == TAPS_SOBEL)
    filter->sepconv.combine = direction ? SEPCONV_DIRECTION : SEPCONV_MAGNITUDE;
  return true;
}

static bool
take_border (FilterSpec *filter, const char *name, PyObject *values)
{
  static const char *const names[] = {
    [SEPCONV_REPLICATE] = "replicate",
    [SEPCONV_REFLECT] = "reflect",
    [SEPCONV_REFLECT_101] = "reflect-101",
    [SEPCONV_WRAP] = "wrap",
    [SEPCONV_CONSTANT] = "constant",
    NULL,
  };
  const int i = find_name (names, name, "border");

  if (i < 0)
    return false;
  filter->sepconv.border = (SepconvBorder) i;
  return PyArg_ParseTuple (values, "dddd;border_value",
      &filter->border_value[0], &filter->border_value[1],
      &filter->border_value[2], &filter->border_value[3]);
}

static bool
take_method (const SepconvMethod **method, const char *name)
{
  *method = NULL;
  if (strcmp (name, "auto") == 0)
    return true;
  *method = sepconv_method_by_name (name);
  if (*method == NULL)
    PyErr_Format (PyExc_ValueError, "There is no method \"%s\".", name);
  return *method != NULL;
}

/* The doubles of a bytes object, whose contents are aligned for them. */
static bool
take_taps (PyObject *bytes, const double **taps, int *n)
{
  const Py_ssize_t size = PyBytes_Size (bytes) / (Py_ssize_t) sizeof (double);

  if (size > TAPS_MAX) {
    PyErr_Format (PyExc_ValueError, "There are %zd taps; %d are the most.",
        size, TAPS_MAX);
    return false;
  }
  *taps = (const double *) (const void *) PyBytes_AsString (bytes);
  *n = (int) size;
  return true;
}

/* `terms`: a tuple of tuples of two bytes objects, the taps along x and along y. */
static bool
take_terms (FilterSpec *filter, PyObject *terms)
{
  const Py_ssize_t n = PyTuple_Size (terms);

  if (n > TAPS_MAX_TERMS) {
    PyErr_Format (PyExc_ValueError, "There are %zd terms; %d are the most.", n,
        TAPS_MAX_TERMS);
    return false;
  }
  filter->terms = Py_NewRef (terms);
  for (Py_ssize_t i = 0; i < n; i++) {
    TapsCustomTerm *term = &filter->term[i];
    PyObject *x, *y;

    if (!PyArg_ParseTuple (PyTuple_GetItem (terms, i), "SS;a term", &x, &y)
        || !take_taps (x, &term->x, &term->n_x)
        || !take_taps (y, &term->y, &term->n_y))
      return false;
  }
  filter->taps.term = filter->term;
  filter->taps.n_terms = (int) n;
  filter->taps.custom_x = filter->term[0].x;
  filter->taps.n_x = filter->term[0].n_x;
  filter->taps.custom_y = filter->term[0].y;
  filter->taps.n_y = filter->term[0].n_y;
  return true;
}

PyObject *
spec_new_filter (PyObject *module, PyObject *arguments)
{
  const char *kernel, *border, *method;
  PyObject *terms, *border_values;
  TapsSettings taps = { .depth = 0 };
  SepconvSpec sepconv = { .scale = 1.0 };
  int direction, normalize, depth;
  unsigned channels;
  Spec *spec;

  (void) module;
  if (!PyArg_ParseTuple (arguments, "sddiiO!ppddddsO!Iis:filter_spec", &kernel,
          &taps.sigma_x, &taps.sigma_y, &taps.radius_x, &taps.radius_y,
          &PyTuple_Type, &terms, &normalize, &direction, &sepconv.amount,
          &sepconv.threshold, &sepconv.scale, &sepconv.bias, &border,
          &PyTuple_Type, &border_values, &channels, &depth, &method))
    return NULL;
  spec = new_spec (SPEC_FILTER, depth);
  if (spec == NULL)
    return NULL;
  spec->filter.taps = taps;
  spec->filter.taps.normalize = normalize;
  spec->filter.sepconv = sepconv;
  spec->filter.channels = channels;
  if (!take_kernel (&spec->filter, kernel, direction)
      || !take_border (&spec->filter, border, border_values)
      || !take_method (&spec->filter.method, method)
      || !take_terms (&spec->filter, terms)) {
    Py_DECREF (spec);
    return NULL;
  }
  return (PyObject *) spec;
}

PyObject *
spec_new_histogram (PyObject *module, PyObject *arguments)
{
  const char *name;
  unsigned channels;
  int bins, depth;
  Spec *spec;

  (void) module;
  if (!PyArg_ParseTuple (
          arguments, "iIis:histogram_spec", &bins, &channels, &depth, &name))
    return NULL;
  spec = new_spec (SPEC_HISTOGRAM, depth);
  if (spec == NULL)
    return NULL;
  spec->histogram.bins = bins;
  spec->histogram.channels = channels;
  if (strcmp (name, "auto") != 0) {
    spec->histogram.method = histo_method_by_name (name);
    if (spec->histogram.method == NULL) {
      PyErr_Format (PyExc_ValueError, "There is no method \"%s\".", name);
      Py_DECREF (spec);
      return NULL;
    }
  }
  return (PyObject *) spec;
}

PyObject *
spec_new_equalize (PyObject *module, PyObject *arguments)
{
  EqualizeSpec equalize = { .kind = EQUALIZE_GLOBAL };
  int by_tiles, blue_first, depth;
  Spec *spec;

  (void) module;
  if (!PyArg_ParseTuple (arguments, "pdiidpddi:equalize_spec", &by_tiles,
          &equalize.strength, &equalize.tiles_x, &equalize.tiles_y,
          &equalize.clip_limit, &blue_first, &equalize.kr, &equalize.kb,
          &depth))
    return NULL;
  spec = new_spec (SPEC_EQUALIZE, depth);
  if (spec == NULL)
    return NULL;
  equalize.kind = by_tiles ? EQUALIZE_CLAHE : EQUALIZE_GLOBAL;
  spec->contrast.equalize = equalize;
  spec->contrast.blue_first = blue_first;
  return (PyObject *) spec;
}

static PyObject *
describe_method (const char *name, Backend backend, bool built)
{
  return Py_BuildValue ("(ssO)", name, backend == BACKEND_CPU ? "cpu" : "cuda",
      built ? Py_True : Py_False);
}

PyObject *
spec_methods (PyObject *module, PyObject *nothing)
{
  PyObject *filters = PyTuple_New (sepconv_n_methods ());
  PyObject *histograms = PyTuple_New (histo_n_methods ());
  bool ok = filters != NULL && histograms != NULL;

  (void) module;
  (void) nothing;
  for (int i = 0; i < sepconv_n_methods () && ok; i++) {
    const SepconvMethod *method = sepconv_method (i);
    PyObject *item =
        describe_method (method->name, method->backend, method->ops != NULL);

    ok = item != NULL && PyTuple_SetItem (filters, i, item) == 0;
  }
  for (int i = 0; i < histo_n_methods () && ok; i++) {
    const HistoMethod *method = histo_method (i);
    PyObject *item =
        describe_method (method->name, method->backend, method->ops != NULL);

    ok = item != NULL && PyTuple_SetItem (histograms, i, item) == 0;
  }
  if (ok)
    return Py_BuildValue ("(NN)", filters, histograms);
  Py_XDECREF (filters);
  Py_XDECREF (histograms);
  return NULL;
}

/* Channels are counted through all planes. */
static unsigned
plane_channels (unsigned channels, const Image *layout, int plane)
{
  int first = 0;

  for (int p = 0; p < plane; p++)
    first += layout->plane[p].channels;
  return channels >> first & ((1u << layout->plane[plane].channels) - 1);
}

static bool
check_channels (unsigned channels, const Image *layout, Fault *fault)
{
  int n = 0;

  for (int p = 0; p < layout->n_planes; p++)
    n += layout->plane[p].channels;
  if (channels == ~0u || channels >> n == 0)
    return true;
  return fault_set (fault, FAULT_SETTINGS,
      "The picture has %d channels; others are selected.", n);
}

static void
fill_planes (SepconvSpec *sepconv, const FilterSpec *filter,
    const Image *layout, const Taps *x, const Taps *y, int n)
{
  int channel = 0;

  for (int p = 0; p < layout->n_planes; p++) {
    SepconvPlane *plane = &sepconv->plane[p];

    plane->x = &x[0];
    plane->y = &y[0];
    plane->n_more = n - 1;
    for (int t = 1; t < n; t++)
      plane->more[t - 1] = (SepconvTerm){ &x[t], &y[t] };
    plane->channels = plane_channels (filter->channels, layout, p);
    for (int c = 0; c < layout->plane[p].channels; c++)
      plane->border_value[c] = filter->border_value[channel++];
  }
}

SepconvPlan *
spec_filter_plan (const Spec *spec, const Image *layout, Backend backend,
    Gpu *gpu, Fault *fault)
{
  const FilterSpec *filter = &spec->filter;
  Taps *taps = malloc (2 * TAPS_MAX_TERMS * sizeof *taps);
  SepconvSpec sepconv = filter->sepconv;
  TapsSettings settings = filter->taps;
  SepconvPlan *plan = NULL;
  int n;

  settings.depth = layout->plane[0].depth;
  if (taps == NULL)
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for a filter's taps.");
  else if (check_channels (filter->channels, layout, fault)
      && taps_make_terms (
          &settings, 1, 1, taps, taps + TAPS_MAX_TERMS, &n, fault)) {
    fill_planes (&sepconv, filter, layout, taps, taps + TAPS_MAX_TERMS, n);
    plan = sepconv_plan_new (
        &sepconv, layout, backend, filter->method, gpu, fault);
  }
  free (taps);
  return plan;
}

HistoPlan *
spec_histogram_plan (const Spec *spec, const Image *layout, Backend backend,
    Gpu *gpu, Fault *fault)
{
  HistoSpec histo = { .bins = spec->histogram.bins };

  if (!check_channels (spec->histogram.channels, layout, fault))
    return NULL;
  for (int p = 0; p < layout->n_planes; p++)
    histo.channels[p] = plane_channels (spec->histogram.channels, layout, p);
  return histo_plan_new (
      &histo, layout, backend, spec->histogram.method, gpu, fault);
}

EqualizePlan *
spec_equalize_plan (const Spec *spec, const Image *layout, Backend backend,
    Gpu *gpu, Fault *fault)
{
  static const EqualizeRole grey[] = { EQUALIZE_LUMA, EQUALIZE_COPY };
  static const EqualizeRole red_first[] = { EQUALIZE_RED, EQUALIZE_GREEN,
    EQUALIZE_BLUE, EQUALIZE_COPY };
  static const EqualizeRole blue_first[] = { EQUALIZE_BLUE, EQUALIZE_GREEN,
    EQUALIZE_RED, EQUALIZE_COPY };
  const EqualizeRole *roles = grey;
  EqualizeSpec equalize = spec->contrast.equalize;
  int n = 0, channel = 0;

  for (int p = 0; p < layout->n_planes; p++)
    n += layout->plane[p].channels;
  if (n > 2)
    roles = spec->contrast.blue_first ? blue_first : red_first;
  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++)
      equalize.role[p][c] = roles[channel++];
  equalize.white = image_full_code (&layout->plane[0]);
  return equalize_plan_new (&equalize, layout, backend, gpu, fault);
}
