/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-json: writes results as JSON for other programs; each row of a table is on one
 * line. Without a file every call does nothing. */
#pragma once

#include <stdbool.h>

typedef struct BenchJson BenchJson;

/* With `path` NULL, writes nothing and returns NULL. Also returns NULL when the file
 * cannot be created: then *failed is true, else false. */
BenchJson *bench_json_open (const char *path, bool *failed);
/* Returns false when something could not be written. `json` may be NULL. */
bool bench_json_close (BenchJson *json);

/* `key` NULL: an element of an array, or the outermost object. */
void bench_json_object (BenchJson *json, const char *key);
void bench_json_array (BenchJson *json, const char *key);
void bench_json_end (BenchJson *json);
void bench_json_string (BenchJson *json, const char *key, const char *value);
void bench_json_number (BenchJson *json, const char *key, double value);
