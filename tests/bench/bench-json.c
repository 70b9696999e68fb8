/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 8
/* Values deeper than the rows of a table share the row's line. */
#define ROW_DEPTH 2

struct BenchJson
{
  FILE *file;
  int depth;
  char closing[MAX_DEPTH];
  bool empty[MAX_DEPTH];
};

BenchJson *
bench_json_open (const char *path, bool *failed)
{
  BenchJson *json;

  *failed = false;
  if (path == NULL)
    return NULL;
  json = calloc (1, sizeof *json);
  if (json != NULL)
    json->file = fopen (path, "w");
  if (json == NULL || json->file == NULL) {
    *failed = true;
    free (json);
    return NULL;
  }
  return json;
}

bool
bench_json_close (BenchJson *json)
{
  bool ok;

  if (json == NULL)
    return true;
  assert (json->depth == 0);
  fputc ('\n', json->file);
  ok = ferror (json->file) == 0;
  ok = fclose (json->file) == 0 && ok;
  free (json);
  return ok;
}

static void
print_string (FILE *file, const char *text)
{
  fputc ('"', file);
  for (; *text != '\0'; text++) {
    const unsigned char c = (unsigned char) *text;

    if (c == '"' || c == '\\')
      fprintf (file, "\\%c", c);
    else if (c < 0x20)
      fprintf (file, "\\u%04x", c);
    else
      fputc (c, file);
  }
  fputc ('"', file);
}

static void
new_line (BenchJson *json)
{
  if (json->depth <= ROW_DEPTH)
    fprintf (json->file, "\n%*s", 2 * json->depth, "");
  else
    fputc (' ', json->file);
}

/* Writes the separator and the key that precede a value. */
static void
begin_value (BenchJson *json, const char *key)
{
  if (json->depth > 0) {
    if (!json->empty[json->depth - 1])
      fputc (',', json->file);
    json->empty[json->depth - 1] = false;
    new_line (json);
  }
  if (key != NULL) {
    print_string (json->file, key);
    fputs (": ", json->file);
  }
}

static void
open_level (BenchJson *json, const char *key, char opening, char closing)
{
  if (json == NULL)
    return;
  begin_value (json, key);
  assert (json->depth < MAX_DEPTH);
  fputc (opening, json->file);
  json->closing[json->depth] = closing;
  json->empty[json->depth++] = true;
}

void
bench_json_object (BenchJson *json, const char *key)
{
  open_level (json, key, '{', '}');
}

void
bench_json_array (BenchJson *json, const char *key)
{
  open_level (json, key, '[', ']');
}

void
bench_json_end (BenchJson *json)
{
  if (json == NULL)
    return;
  assert (json->depth > 0);
  json->depth--;
  if (json->depth < ROW_DEPTH)
    new_line (json);
  else
    fputc (' ', json->file);
  fputc (json->closing[json->depth], json->file);
}

void
bench_json_string (BenchJson *json, const char *key, const char *value)
{
  if (json == NULL)
    return;
  begin_value (json, key);
  print_string (json->file, value);
}

void
bench_json_number (BenchJson *json, const char *key, double value)
{
  if (json == NULL)
    return;
  begin_value (json, key);
  if (isfinite (value))
    fprintf (json->file, "%.6g", value);
  else
    fputs ("null", json->file);
}
