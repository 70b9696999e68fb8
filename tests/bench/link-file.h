/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* link-file: what bench-transfer found out about the bus. */
#pragma once

#include <glib.h>

typedef struct
{
  GArray *links; /* of LinkRow */
  GArray *lone;  /* of LoneRow */
} LinkFile;

/* GB/s of pinned memory, both ways at once, for frames of this size. */
typedef struct
{
  gdouble bytes, up, down;
} LinkRow;

/* A lone frame up, filtered and down in series. */
typedef struct
{
  gdouble bytes, series_us;
} LoneRow;

void link_file_init (LinkFile *file);
void link_file_clear (LinkFile *file);

/* From --json of bench-transfer. */
gboolean link_file_read (LinkFile *file, const gchar *path, GError **error);
/* One rate for all sizes. */
void link_file_set (LinkFile *file, gdouble up, gdouble down);

/* Nanoseconds that the duplex link allows a frame; 0: not known. */
gdouble link_file_bound_ns (const LinkFile *file, gdouble bytes);
/* Nanoseconds of a lone frame in series, where that size was measured; or 0. */
gdouble link_file_series_ns (const LinkFile *file, gdouble bytes);
