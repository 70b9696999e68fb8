/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-arguments.h"

#include <stddef.h>
#include <string.h>

static bool
take_flag (const BenchFlag *flag, const char *name)
{
  while (flag->name != NULL && strcmp (flag->name, name) != 0)
    flag++;
  if (flag->name != NULL && flag->given != NULL)
    *flag->given = true;
  return flag->name != NULL;
}

bool
bench_arguments_take (int argc, char **argv, const BenchFlag *flags,
    BenchValue take_value, void *options)
{
  for (int i = 1; i < argc; i++) {
    if (take_flag (flags, argv[i]))
      continue;
    if (i + 1 == argc || !take_value (options, argv[i], argv[i + 1]))
      return false;
    i++;
  }
  return true;
}
