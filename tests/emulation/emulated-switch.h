/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-switch: from one stack to another and back. By jumps, since swapcontext()
 * makes two system calls, which took three quarters of a kernel's time; but as
 * AddressSanitizer knows it where that is used. */
#pragma once

#include <ucontext.h>

#if defined __SANITIZE_ADDRESS__
#define SWITCH_BY_CONTEXTS
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SWITCH_BY_CONTEXTS
#endif
#endif

#ifdef SWITCH_BY_CONTEXTS

typedef ucontext_t SwitchPoint;

static inline void
switch_to (SwitchPoint *from, SwitchPoint *to)
{
  swapcontext (from, to);
}

/* For the first time. */
static inline void
switch_to_start (SwitchPoint *from, ucontext_t *start)
{
  swapcontext (from, start);
}

#else

/* The checked longjmp() takes another stack for an error. */
#undef _FORTIFY_SOURCE
#include <setjmp.h>

struct SwitchPoint
{
  jmp_buf registers;
};

static inline __attribute__ ((noinline)) void
switch_to (SwitchPoint *from, SwitchPoint *to)
{
  if (_setjmp (from->registers) == 0)
    _longjmp (to->registers, 1);
}

static inline __attribute__ ((noinline)) void
switch_to_start (SwitchPoint *from, ucontext_t *start)
{
  if (_setjmp (from->registers) == 0)
    setcontext (start);
}

#endif
