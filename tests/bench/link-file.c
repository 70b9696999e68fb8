/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "link-file.h"

#include <math.h>
#include <string.h>

void
link_file_init (LinkFile *file)
{
  file->links = g_array_new (FALSE, FALSE, sizeof (LinkRow));
  file->lone = g_array_new (FALSE, FALSE, sizeof (LoneRow));
}

void
link_file_clear (LinkFile *file)
{
  g_array_unref (file->links);
  g_array_unref (file->lone);
}

/* Reads the number of `key` in a row, which bench-json has written on one line. */
static gboolean
find_number (const gchar *line, const gchar *key, gdouble *value)
{
  gchar *quoted = g_strdup_printf ("\"%s\": ", key);
  const gchar *at = strstr (line, quoted);
  gchar *end = NULL;

  if (at != NULL) {
    at += strlen (quoted);
    *value = g_ascii_strtod (at, &end);
  }
  g_free (quoted);
  return at != NULL && end != at && *value > 0.0;
}

static void
read_line (LinkFile *file, const gchar *line)
{
  LinkRow link;
  LoneRow lone;

  if (find_number (line, "bytes", &link.bytes)
      && find_number (line, "duplex_up", &link.up)
      && find_number (line, "duplex_down", &link.down))
    g_array_append_val (file->links, link);
  if (find_number (line, "bytes", &lone.bytes)
      && find_number (line, "series_us", &lone.series_us))
    g_array_append_val (file->lone, lone);
}

gboolean
link_file_read (LinkFile *file, const gchar *path, GError **error)
{
  gchar *text, **lines;

  if (!g_file_get_contents (path, &text, NULL, error))
    return FALSE;
  lines = g_strsplit (text, "\n", -1);
  for (gint i = 0; lines[i] != NULL; i++)
    read_line (file, lines[i]);
  g_strfreev (lines);
  g_free (text);
  if (file->links->len == 0) {
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
        "%s has no link in it: bench-transfer --json writes one", path);
    return FALSE;
  }
  return TRUE;
}

void
link_file_set (LinkFile *file, gdouble up, gdouble down)
{
  const LinkRow row = { 1.0, up, down };

  g_array_append_val (file->links, row);
}

gdouble
link_file_bound_ns (const LinkFile *file, gdouble bytes)
{
  const LinkRow *best = NULL;

  for (guint i = 0; i < file->links->len; i++) {
    const LinkRow *row = &g_array_index (file->links, LinkRow, i);

    if (best == NULL
        || fabs (log (row->bytes / bytes)) < fabs (log (best->bytes / bytes)))
      best = row;
  }
  return best == NULL ? 0.0 : MAX (bytes / best->up, bytes / best->down);
}

gdouble
link_file_series_ns (const LinkFile *file, gdouble bytes)
{
  for (guint i = 0; i < file->lone->len; i++) {
    const LoneRow *row = &g_array_index (file->lone, LoneRow, i);

    if (fabs (row->bytes / bytes - 1.0) < 0.01)
      return row->series_us * 1e3;
  }
  return 0.0;
}
