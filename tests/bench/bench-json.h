/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-json: writes results for other programs to read; a row of a table stays
 * on one line. Without a file every call does nothing. */
#pragma once

#include <stdbool.h>

typedef struct BenchJson BenchJson;

/* NULL `path`: nothing is to be written, and NULL is returned as well as when the
 * file cannot be made; *failed tells which. */
BenchJson *bench_json_open (const char *path, bool *failed);
/* Returns false when something could not be written. NULL is allowed. */
bool bench_json_close (BenchJson *json);

/* `key` NULL: an element of an array, or the whole. */
void bench_json_object (BenchJson *json, const char *key);
void bench_json_array (BenchJson *json, const char *key);
void bench_json_end (BenchJson *json);
void bench_json_string (BenchJson *json, const char *key, const char *value);
void bench_json_number (BenchJson *json, const char *key, double value);
