/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* limited-python: Python's C API, limited to what stays binary compatible from 3.11 on, the
 * first version with the buffer protocol in it. */
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000

#include <Python.h>
