/* SPDX-License-Identifier: LGPL-2.1-or-later */

#define _GNU_SOURCE /* renameat2 */

#include "result-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <glib/gstdio.h>

gboolean
result_file_check (
    const gchar *path, const gchar *input, gboolean replace, GError **error)
{
  struct stat from, to;

  /* Follows links: the input may have several names. */
  if (stat (input, &from) == 0 && stat (path, &to) == 0
      && from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
        "%s is the same file as the input, and would be lost", path);
    return FALSE;
  }
  if (lstat (path, &to) != 0)
    return TRUE;
  if (!S_ISREG (to.st_mode) && !S_ISLNK (to.st_mode)) {
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
        "%s exists and is not an ordinary file", path);
    return FALSE;
  }
  if (!replace) {
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
        "%s exists; --force replaces it", path);
    return FALSE;
  }
  return TRUE;
}

gboolean
result_file_publish (const gchar *unfinished, const gchar *path,
    gboolean replace, GError **error)
{
  int status = -1;

  if (!replace) {
    status = renameat2 (AT_FDCWD, unfinished, AT_FDCWD, path, RENAME_NOREPLACE);
    if (status != 0 && errno == EEXIST) {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
          "%s has been made by another program meanwhile; the result is %s",
          path, unfinished);
      return FALSE;
    }
  }
  /* Some file systems know only the plain call. */
  if (status != 0 && g_rename (unfinished, path) != 0) {
    g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (errno),
        "%s cannot be made: %s; the result is %s", path, g_strerror (errno),
        unfinished);
    return FALSE;
  }
  return TRUE;
}
