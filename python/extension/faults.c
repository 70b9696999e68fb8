/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "faults.h"

bool
fault_raise (const Fault *fault)
{
  PyObject *type = PyExc_RuntimeError;

  switch (fault->kind) {
    case FAULT_SETTINGS:
    case FAULT_FORMAT:
      type = PyExc_ValueError;
      break;
    case FAULT_UNSUPPORTED:
      type = PyExc_NotImplementedError;
      break;
    case FAULT_NO_SPACE:
      type = PyExc_MemoryError;
      break;
    case FAULT_NONE:
    case FAULT_NOT_FOUND:
    case FAULT_FAILED:
      break;
  }
  if (fault->detail[0] != '\0')
    PyErr_Format (type, "%s (%s)", fault->message, fault->detail);
  else
    PyErr_SetString (type, fault->message);
  return false;
}
