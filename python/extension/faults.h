/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* faults: the engine's faults as Python exceptions.
 *
 *   FAULT_SETTINGS, FAULT_FORMAT   ValueError
 *   FAULT_UNSUPPORTED              NotImplementedError, which is a RuntimeError
 *   FAULT_NO_SPACE                 MemoryError
 *   FAULT_NOT_FOUND, FAULT_FAILED  RuntimeError */
#pragma once

#include "limited-python.h"

#include "fault.h"

/* Raises it, with its sentence and, in brackets, its detail; returns false. */
bool fault_raise (const Fault *fault);
