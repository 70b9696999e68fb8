/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* link-file: the results of bench-transfer about the bus. */
#pragma once

#include <glib.h>

typedef struct
{
  GArray *links; /* of LinkRow */
  GArray *lone;  /* of LoneRow */
} LinkFile;

/* Rates of pinned memory with both directions at once, in GB/s, for frames of this
 * size. */
typedef struct
{
  gdouble bytes, up, down;
} LinkRow;

/* Times of a lone frame: upload, filter and download one after the other. */
typedef struct
{
  gdouble bytes, series_us;
} LoneRow;

void link_file_init (LinkFile *file);
void link_file_clear (LinkFile *file);

/* Reads a file that bench-transfer --json wrote. */
gboolean link_file_read (LinkFile *file, const gchar *path, GError **error);
/* Sets one rate for all sizes. */
void link_file_set (LinkFile *file, gdouble up, gdouble down);

/* Least nanoseconds a frame with both directions of the bus in use; 0: not known. */
gdouble link_file_bound_ns (const LinkFile *file, gdouble bytes);
/* Nanoseconds of a lone frame, all stages one after the other; 0: that size was not
 * measured. */
gdouble link_file_series_ns (const LinkFile *file, gdouble bytes);
