/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-arguments: command-line parsing that all benchmarks share. */
#pragma once

#include <stdbool.h>

/* An option without a value. */
typedef struct
{
  const char *name;
  bool *given; /* set to true; NULL: the option is accepted and ignored */
} BenchFlag;

/* Takes the value of an option that has one. Returns false when there is no such option or the
 * value is invalid. */
typedef bool (*BenchValue) (void *options, const char *name, const char *value);

/* Takes all arguments. Returns false at the first invalid one. The array of flags ends with one
 * whose name is NULL. */
bool bench_arguments_take (int argc, char **argv, const BenchFlag *flags,
    BenchValue take_value, void *options);
