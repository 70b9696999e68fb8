/* SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <glib.h>

/* A file that a program makes from an input. It never overwrites a file that it may
 * not replace. */

/* Checks before any work that "path" may be written: it is not the input under
 * any name, and no file is there, or an ordinary one that may be replaced. */
gboolean result_file_check (
    const gchar *path, const gchar *input, gboolean replace, GError **error);

/* Gives the complete file "unfinished" its name "path". If a file has appeared at
 * "path" since the check, "unfinished" keeps its name, unless that file may be
 * replaced. */
gboolean result_file_publish (const gchar *unfinished, const gchar *path,
    gboolean replace, GError **error);
