/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-arguments: what the command lines of all benchmarks have in common. */
#pragma once

#include <stdbool.h>

/* An option without a value. */
typedef struct
{
  const char *name;
  bool *given; /* set to true; NULL: nothing comes of it */
} BenchFlag;

/* Takes the value of an option that has one; false: there is no such option, or its value
 * makes no sense. */
typedef bool (*BenchValue) (void *options, const char *name, const char *value);

/* Takes all arguments, until one is wrong: then it returns false. The last flag has no name. */
bool bench_arguments_take (int argc, char **argv, const BenchFlag *flags,
    BenchValue take_value, void *options);
