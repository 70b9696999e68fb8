/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "mp4-tracks.h"

#define HEADER_BYTES 8
#define LARGE_HEADER_BYTES 16
/* Bytes between the header of a track's handler box and the type of the track. */
#define HANDLER_OFFSET 8

/* The types of the nested boxes from the file to the handler of a track. */
static const gchar *const way[] = { "moov", "trak", "mdia", "hdlr" };

static guint64
read_number (const guint8 *bytes, gint n)
{
  guint64 number = 0;

  for (gint i = 0; i < n; i++)
    number = number << 8 | bytes[i];
  return number;
}

static gboolean
read_at (FILE *file, gint64 offset, guint8 *bytes, gsize n)
{
  return fseeko (file, (off_t) offset, SEEK_SET) == 0
      && fread (bytes, 1, n, file) == n;
}

/* Reads the header of the box at *start, which ends at *end at the latest. On success
 * *start is the offset of its contents, and *end the offset behind it. */
static gboolean
enter_box (FILE *file, gint64 *start, gint64 *end, gchar type[5])
{
  const gint64 limit = *end;
  guint8 header[LARGE_HEADER_BYTES];
  guint64 size;
  gint n = HEADER_BYTES;

  if (limit - *start < HEADER_BYTES
      || !read_at (file, *start, header, HEADER_BYTES))
    return FALSE;
  memcpy (type, header + 4, 4);
  type[4] = '\0';
  size = read_number (header, 4);
  if (size == 1) {
    n = LARGE_HEADER_BYTES;
    if (!read_at (file, *start, header, LARGE_HEADER_BYTES))
      return FALSE;
    size = read_number (header + HEADER_BYTES, 8);
  } else if (size == 0) {
    size = (guint64) (limit - *start);
  }
  if (size < (guint64) n || size > (guint64) (limit - *start))
    return FALSE;
  *end = *start + (gint64) size;
  *start += n;
  return TRUE;
}

/* Counts the sound tracks in boxes of type way[level] between `start` and `end`. */
static guint
count_in (FILE *file, gint64 start, gint64 end, guint level)
{
  guint found = 0;

  while (start < end) {
    gint64 inside = start, next = end;
    guint8 handler[4];
    gchar type[5];

    if (!enter_box (file, &inside, &next, type))
      break;
    start = next;
    if (!g_str_equal (type, way[level]))
      continue;
    if (level + 1 < G_N_ELEMENTS (way))
      found += count_in (file, inside, next, level + 1);
    else if (read_at (file, inside + HANDLER_OFFSET, handler, sizeof handler)
        && memcmp (handler, "soun", sizeof handler) == 0)
      found++;
  }
  return found;
}

guint
mp4_count_sound_tracks (const gchar *path)
{
  FILE *file = fopen (path, "rb");
  guint found = 0;

  if (!file)
    return 0;
  if (fseeko (file, 0, SEEK_END) == 0)
    found = count_in (file, 0, (gint64) ftello (file), 0);
  fclose (file);
  return found;
}
