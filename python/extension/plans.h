/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plans: the engine's plans, kept for the next call with the same spec, layout and place.
 *
 * A call takes a plan out of the cache, or makes one, and gives it back: no two calls ever use
 * one plan at once, and calls that run at the same time have plans of their own. The cache
 * keeps those that were used last. */
#pragma once

#include "pictures.h"
#include "specs.h"

/* Where a plan computes; plans are looked up by it. */
typedef struct
{
  Backend backend;
  int device;  /* CUDA: a GPU's number, or -1 for the first that does */
  int threads; /* CPU: at most so many; 0: a thread a core */
  bool staged; /* CUDA: pictures lie on the host, and are copied up and down */
  bool foreign_stream; /* CUDA: it queues on `stream`, else on one of its own */
  GpuStream stream;
} Place;

typedef struct Plan Plan;

/* Takes a plan out of the cache, or a new one that plan_run() will make. `layout` is that of
 * all pictures. Returns NULL and a Python exception. Needs the GIL. */
Plan *plan_take (Spec *spec, const Image *layout, const Place *place);
/* Keeps it for later calls, unless it failed, and frees those that are too many. `holder`, or
 * NULL, is kept as long as the plan and keeps its stream alive; with NULL the plan's work must be
 * done. Needs the GIL, and releases it meanwhile. */
void plan_give_back (Plan *plan, bool ok, PyObject *holder);
/* Whether plan_give_back() wants a holder, as it does not have one yet. */
bool plan_has_holder (const Plan *plan);

/* Computes all pictures. `dst` is not used by histograms, which fill `counts`, [pictures]
 * [channels][bins], where the pictures lie. With `wait` it returns when the work is done; it
 * always does on the CPU and for staged pictures. Called without the GIL. */
bool plan_run (Plan *plan, const Pictures *src, const Pictures *dst,
    uint8_t *counts, bool wait, Fault *fault);

/* Functions of the module: the bound and the number of plans, ways to change them. */
PyObject *plans_limit (PyObject *module, PyObject *limit);
PyObject *plans_info (PyObject *module, PyObject *nothing);
PyObject *plans_clear (PyObject *module, PyObject *nothing);
/* In the child of a fork, where the threads of plans are gone: forgets them all. */
PyObject *plans_abandon (PyObject *module, PyObject *nothing);
