/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* arrays: an argument's elements in memory, whichever protocol shows them.
 *
 *   object                            memory
 *   with the buffer protocol          the host's
 *   capsule of DLPack                 the host's or a GPU's
 *   dict, a __cuda_array_interface__  a GPU's
 *
 * All functions need the GIL. */
#pragma once

#include "limited-python.h"

#include <stdbool.h>
#include <stdint.h>

#define ARRAY_MAX_DIMENSIONS 4
#define ARRAY_ON_HOST (-1)

typedef enum
{
  ARRAY_UINT8,
  ARRAY_UINT16,
  ARRAY_INT64
} ArrayType;

typedef struct
{
  uint8_t *data; /* element (0, 0...) */
  int device;    /* a GPU's number, or ARRAY_ON_HOST */
  ArrayType type;
  int dimensions;
  int64_t shape[ARRAY_MAX_DIMENSIONS];  /* each >= 1 */
  int64_t stride[ARRAY_MAX_DIMENSIONS]; /* bytes; may be negative */
  Py_buffer buffer;                     /* while `buffered` */
  bool buffered;
} Array;

/* Fills `array`, which array_release() must be called for later, and the object outlive.
 * Returns false with a Python exception: TypeError for what is no such array, ValueError for
 * one that has no elements or that may not be written to, if `writable`. */
bool array_get (
    PyObject *object, bool writable, const char *name, Array *array);
/* Does nothing for a zeroed one. */
void array_release (Array *array);

int array_element_bytes (ArrayType type);
