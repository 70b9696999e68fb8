/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-switch: from one stack to another and back. By hand on x86-64, where AddressSanitizer is
 * told of it, and by jumps elsewhere: swapcontext() makes two system calls, which took three
 * quarters of a kernel's time, and AddressSanitizer forgets all that it knows of a stack there.
 *
 *   switch_to (from, to)               leaves at `from`, and goes on where `to` was left
 *   switch_to_start (from, to, start)  leaves at `from` for a new stack, which leaves at `to`
 *   switch_started (from)              what runs on a new stack calls this first, with the place
 *                                      that it was started from */
#pragma once

#include <stddef.h>
#include <ucontext.h>

#if defined __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER
#endif
#endif

#ifdef __x86_64__

/* Where a stack ends whose top holds the registers that a function must keep, and the address to
 * return to. setjmp() and longjmp() of the library take five times as long. */
struct SwitchPoint
{
  void *stack;
#ifdef ADDRESS_SANITIZER
  const void *bottom;
  size_t bytes;
#endif
};

#define KEEP_REGISTERS \
  "push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t" \
  "mov %rsp, (%rdi)\n\t"

__attribute__ ((naked, noinline)) static void
switch_registers (SwitchPoint *, SwitchPoint *)
{
  __asm__(KEEP_REGISTERS "mov (%rsi), %rsp\n\t"
                         "pop %r15\n\tpop %r14\n\tpop %r13\n\t"
                         "pop %r12\n\tpop %rbp\n\tpop %rbx\n\tret");
}

__attribute__ ((naked, noinline)) static void
switch_registers_to_start (SwitchPoint *, ucontext_t *)
{
  __asm__(KEEP_REGISTERS "mov %rsi, %rdi\n\tjmp setcontext@PLT");
}

#ifdef ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>

/* Each comes back from where it went, and learns then which stack that is. */
static inline void
switch_to (SwitchPoint *from, SwitchPoint *to)
{
  void *fake;

  __sanitizer_start_switch_fiber (&fake, to->bottom, to->bytes);
  switch_registers (from, to);
  __sanitizer_finish_switch_fiber (fake, &to->bottom, &to->bytes);
}

static inline void
switch_to_start (SwitchPoint *from, SwitchPoint *to, ucontext_t *start)
{
  void *fake;

  __sanitizer_start_switch_fiber (
      &fake, start->uc_stack.ss_sp, start->uc_stack.ss_size);
  switch_registers_to_start (from, start);
  __sanitizer_finish_switch_fiber (fake, &to->bottom, &to->bytes);
}

#define SWITCH_STARTED
static inline void
switch_started (SwitchPoint *from)
{
  __sanitizer_finish_switch_fiber (nullptr, &from->bottom, &from->bytes);
}

#else

#define switch_to switch_registers

static inline void
switch_to_start (SwitchPoint *from, SwitchPoint *, ucontext_t *start)
{
  switch_registers_to_start (from, start);
}

#endif

#elif defined ADDRESS_SANITIZER

typedef ucontext_t SwitchPoint;

static inline void
switch_to (SwitchPoint *from, SwitchPoint *to)
{
  swapcontext (from, to);
}

static inline void
switch_to_start (SwitchPoint *from, SwitchPoint *, ucontext_t *start)
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
switch_to_start (SwitchPoint *from, SwitchPoint *, ucontext_t *start)
{
  if (_setjmp (from->registers) == 0)
    setcontext (start);
}

#endif

#ifndef SWITCH_STARTED
static inline void
switch_started (SwitchPoint *)
{
}

#endif
