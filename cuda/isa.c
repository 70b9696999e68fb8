/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[ISA_N] = {
  [ISA_BASELINE] = "baseline",
  [ISA_AVX2] = "avx2",
  [ISA_AVX512] = "avx512",
  [ISA_AVX512_VNNI] = "avx512-vnni",
  [ISA_AVX512_VBMI] = "avx512-vbmi",
};

static atomic_int cap = ISA_N - 1;
/* The value of CUDASEPCONV_ISA, perhaps truncated, if it is not a valid name. */
static char refused[32];
static pthread_once_t environment_once = PTHREAD_ONCE_INIT;

const char *
isa_name (Isa isa)
{
  return names[isa];
}

bool
isa_is_there (Isa isa)
{
#if defined __x86_64__
  __builtin_cpu_init ();
  switch (isa) {
    case ISA_BASELINE:
      return true;
    case ISA_AVX2:
      return __builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma");
    case ISA_AVX512:
    case ISA_AVX512_VNNI:
    case ISA_AVX512_VBMI:
      return isa_is_there (ISA_AVX2) && __builtin_cpu_supports ("avx512f")
          && __builtin_cpu_supports ("avx512bw")
          && __builtin_cpu_supports ("avx512dq")
          && __builtin_cpu_supports ("avx512vl")
          && (isa == ISA_AVX512 || __builtin_cpu_supports ("avx512vnni"))
          && (isa < ISA_AVX512_VBMI || __builtin_cpu_supports ("avx512vbmi"));
    default:
      return false;
  }
#else
  return isa == ISA_BASELINE;
#endif
}

static bool
set_cap (const char *name)
{
  for (int isa = 0; isa < ISA_N; isa++)
    if (strcmp (names[isa], name) == 0) {
      atomic_store (&cap, isa);
      return true;
    }
  return false;
}

static void
read_environment (void)
{
  const char *name = getenv ("CUDASEPCONV_ISA");

  if (name != NULL && name[0] != '\0' && !set_cap (name))
    snprintf (refused, sizeof refused, "%s", name);
}

bool
isa_cap (const char *name)
{
  pthread_once (&environment_once, read_environment);
  return set_cap (name);
}

bool
isa_check_environment (Fault *fault)
{
  char choice[160] = "";
  size_t length = 0;

  pthread_once (&environment_once, read_environment);
  if (refused[0] == '\0')
    return true;
  for (int isa = 0; isa < ISA_N && length < sizeof choice; isa++)
    length += (size_t) snprintf (choice + length, sizeof choice - length,
        "%s%s",
        isa == 0               ? ""
            : isa == ISA_N - 1 ? " or "
                               : ", ",
        names[isa]);
  return fault_set (fault, FAULT_SETTINGS,
      "The environment variable CUDASEPCONV_ISA is \"%s\", and may be %s.",
      refused, choice);
}

Isa
isa_best (void)
{
  int isa;

  pthread_once (&environment_once, read_environment);
  isa = atomic_load (&cap);
  while (isa > ISA_BASELINE && !isa_is_there ((Isa) isa))
    isa--;
  return (Isa) isa;
}
