/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* specs: what to compute, as Python objects that never change: a filter, a histogram or an
 * equalisation. They know nothing of sizes and layouts. */
#pragma once

#include "limited-python.h"

#include "equalize.h"
#include "histo.h"
#include "sepconv.h"

typedef enum
{
  SPEC_FILTER,
  SPEC_HISTOGRAM,
  SPEC_EQUALIZE
} SpecKind;

typedef struct
{
  TapsSettings taps; /* its custom taps are those of term[0] */
  TapsCustomTerm term[TAPS_MAX_TERMS];
  PyObject *terms;     /* owned: the taps of all terms, as bytes objects */
  SepconvSpec sepconv; /* without its planes */
  unsigned channels;   /* bit c set: filter channel c */
  double border_value[IMAGE_MAX_CHANNELS];
  const SepconvMethod *method; /* NULL: the fastest */
} FilterSpec;

typedef struct
{
  int bins;
  unsigned channels;
  const HistoMethod *method; /* NULL: the fastest */
} HistogramSpec;

typedef struct
{
  EqualizeSpec equalize; /* without roles and range */
  bool blue_first;
} ContrastSpec;

typedef struct
{
  PyObject_HEAD SpecKind kind;
  int depth; /* significant bits of a sample; 0: all */
  FilterSpec filter;
  HistogramSpec histogram;
  ContrastSpec contrast;
} Spec;

/* Adds the type and the functions that make specs to the module. */
bool specs_add (PyObject *module);
/* Whether the object is one; if not, a TypeError says so. */
bool spec_check (PyObject *object);

/* Plans for pictures of a layout; no GIL is needed, and the context must be pushed where `gpu`
 * is not NULL. */
SepconvPlan *spec_filter_plan (const Spec *spec, const Image *layout,
    Backend backend, Gpu *gpu, Fault *fault);
HistoPlan *spec_histogram_plan (const Spec *spec, const Image *layout,
    Backend backend, Gpu *gpu, Fault *fault);
EqualizePlan *spec_equalize_plan (const Spec *spec, const Image *layout,
    Backend backend, Gpu *gpu, Fault *fault);

/* Functions of the module. */
PyObject *spec_new_filter (PyObject *module, PyObject *arguments);
PyObject *spec_new_histogram (PyObject *module, PyObject *arguments);
PyObject *spec_new_equalize (PyObject *module, PyObject *arguments);
/* The names of the methods: (filters, histograms), each a tuple of (name, backend, whether it
 * is in this build). */
PyObject *spec_methods (PyObject *module, PyObject *nothing);
