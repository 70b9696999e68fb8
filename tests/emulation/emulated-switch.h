/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-switch: switches between stacks. Assembly on x86-64, which informs AddressSanitizer of
 * each switch; elsewhere jumps, or swapcontext() under AddressSanitizer. swapcontext() is slow: its
 * two system calls took three quarters of a kernel's time. After it, AddressSanitizer also forgets
 * all that it knows of the stack.
 *
 *   switch_to (from, to)               saves the state in `from`, continues where `to` was saved
 *   switch_to_start (from, to, start)  saves the state in `from`, starts the new stack `start`,
 *                                      which is saved in `to` when it is left
 *   switch_started (from)              must be the first call on a new stack, with the point it
 *                                      was started from */
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

/* A saved stack pointer. The top of that stack holds the callee-saved registers and the return
 * address. The library's setjmp() and longjmp() take five times as long. */
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

/* Returns when another stack switches back, and then notes for AddressSanitizer which stack that
 * was. */
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

/* The checked longjmp() reports a jump to another stack as an error. */
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
