/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fault.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

bool
fault_set (Fault *fault, FaultKind kind, const char *format, ...)
{
  va_list args;

  if (fault == NULL)
    return false;
  fault->kind = kind;
  fault->detail[0] = '\0';
  va_start (args, format);
  vsnprintf (fault->message, sizeof fault->message, format, args);
  va_end (args);
  return false;
}

void
fault_detail (Fault *fault, const char *format, ...)
{
  va_list args;

  if (fault == NULL)
    return;
  va_start (args, format);
  vsnprintf (fault->detail, sizeof fault->detail, format, args);
  va_end (args);
}
