/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-switch: from one stack to another and back. By hand on x86-64 and by jumps elsewhere,
 * since swapcontext() makes two system calls, which took three quarters of a kernel's time; but as
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

#elif defined __x86_64__

/* Where a stack ends whose top holds the registers that a function must keep, and the address to
 * return to. setjmp() and longjmp() of the library take five times as long. */
struct SwitchPoint
{
  void *stack;
};

#define KEEP_REGISTERS \
  "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t" \
  "mov %rsp, (%rdi)\n\t"

__attribute__ ((naked, noinline)) static void
switch_to (SwitchPoint *, SwitchPoint *)
{
  __asm__(KEEP_REGISTERS "mov (%rsi), %rsp\n\t"
                         "pop %r15\n\tpop %r14\n\tpop %r13\n\t"
                         "pop %r12\n\tpop %rbp\n\tpop %rbx\n\tret");
}

__attribute__ ((naked, noinline)) static void
switch_to_start (SwitchPoint *, ucontext_t *)
{
  __asm__(KEEP_REGISTERS "mov %rsi, %rdi\n\tjmp setcontext@PLT");
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
