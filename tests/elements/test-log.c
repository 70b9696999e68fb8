/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The debug log explains a run: each decision is logged in the category of its part. */
#include "filter-fixture.h"

#include <string.h>

/* Lines of the plugin's categories, as "category LEVEL message". */
typedef struct
{
  GMutex lock;
  GPtrArray *lines;
} Log;

static void
write_down (GstDebugCategory *category, GstDebugLevel level, const gchar *file,
    const gchar *function, gint line, GObject *object, GstDebugMessage *message,
    gpointer user)
{
  const char *name = gst_debug_category_get_name (category);
  Log *log = user;
  char *level_name;

  (void) file;
  (void) function;
  (void) line;
  (void) object;
  if (!g_str_has_prefix (name, "cudasepconv")
      && !g_str_equal (name, "cudahisto"))
    return;
  /* GStreamer pads the names of levels with blanks. */
  level_name = g_strchomp (g_strdup (gst_debug_level_get_name (level)));
  g_mutex_lock (&log->lock);
  g_ptr_array_add (log->lines,
      g_strdup_printf (
          "%s %s %s", name, level_name, gst_debug_message_get (message)));
  g_mutex_unlock (&log->lock);
  g_free (level_name);
}

static void
set_threshold (GstDebugLevel level)
{
  gst_debug_set_threshold_for_name ("cudasepconv*", level);
  gst_debug_set_threshold_for_name ("cudahisto", level);
}

/* Plays a launch line to its end or to an error, and records the log instead of printing
 * it. */
static void
run_logged (Log *log, const char *line, GstDebugLevel level)
{
  const gboolean was_active = gst_debug_is_active ();
  GstElement *pipeline = gst_parse_launch (line, NULL);
  GstMessage *message;
  GstBus *bus;

  expect (pipeline != NULL, "no pipeline");
  g_mutex_init (&log->lock);
  log->lines = g_ptr_array_new_with_free_func (g_free);
  /* The functions, not the macros of the same names, which compare a function with a pointer
   * to void; ISO C does not allow that. */
  (gst_debug_remove_log_function) (gst_debug_log_default);
  (gst_debug_add_log_function) (write_down, log, NULL);
  gst_debug_set_active (TRUE);
  set_threshold (level);
  bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (
      bus, 15 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  set_threshold (GST_LEVEL_NONE);
  gst_debug_set_active (was_active);
  (gst_debug_remove_log_function) (write_down);
  (gst_debug_add_log_function) (gst_debug_log_default, NULL, NULL);
  expect (message != NULL, "it does not end");
  gst_message_unref (message);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
}

static void
log_clear (Log *log)
{
  g_ptr_array_unref (log->lines);
  g_mutex_clear (&log->lock);
}

/* Number of lines that begin with this. */
static guint
count_lines (const Log *log, const char *start)
{
  guint n = 0;

  for (guint i = 0; i < log->lines->len; i++)
    n += g_str_has_prefix (g_ptr_array_index (log->lines, i), start);
  return n;
}

static gboolean
has_text (const Log *log, const char *text)
{
  for (guint i = 0; i < log->lines->len; i++)
    if (strstr (g_ptr_array_index (log->lines, i), text) != NULL)
      return TRUE;
  return FALSE;
}

/* A run of three frames is explained in 20 to 60 lines, from every part, including each frame;
 * at INFO without the frames. */
static void
log_explains_a_run (void)
{
  static const char *const names[] = { "cudasepconv", "cudahisto interval=0" };
  static const char *const parts[] = { "cudasepconv-base", "cudasepconv-device",
    "cudasepconv-flight", "cudasepconv-memory" };

  for (guint n = 0; n < G_N_ELEMENTS (names); n++) {
    char *line = g_strdup_printf (
        "videotestsrc num-buffers=3 ! video/x-raw,format=NV12 ! %s backend=%s "
        "! fakesink",
        names[n], test_backend ());
    Log log;

    test_context ("%s", line);
    run_logged (&log, line, GST_LEVEL_LOG);
    expect (log.lines->len >= 20 && log.lines->len <= 60, "%u lines",
        log.lines->len);
    for (guint p = 0; p < G_N_ELEMENTS (parts); p++)
      expect (count_lines (&log, parts[p]) > 0, "none of %s", parts[p]);
    expect (
        count_lines (&log, n == 0 ? "cudasepconv INFO" : "cudahisto INFO") > 0,
        "none of the element's own");
    expect (count_lines (&log, "cudasepconv-flight LOG") >= 3,
        "not every frame is logged");
    expect (has_text (&log, "backend ") && has_text (&log, "caps: ")
            && has_text (&log, "active-method is ")
            && has_text (&log, "ring of "),
        "a decision is missing");
    log_clear (&log);

    run_logged (&log, line, GST_LEVEL_INFO);
    expect (
        log.lines->len > 0 && count_lines (&log, "cudasepconv-flight LOG") == 0,
        "frames are logged as INFO");
    log_clear (&log);
    g_free (line);
  }
}

/* cudahisto logs its own decisions: the counted components, the method and the alternatives,
 * the mode, and for each frame whether it is reported. */
static void
log_explains_counting (void)
{
  char *line = g_strdup_printf (
      "videotestsrc num-buffers=3 ! video/x-raw,format=NV12 ! cudahisto "
      "mode=overlay backend=%s ! fakesink",
      test_backend ());
  Log log;

  test_context ("%s", line);
  run_logged (&log, line, GST_LEVEL_LOG);
  expect (
      log.lines->len >= 20 && log.lines->len <= 60, "%u lines", log.lines->len);
  expect (count_lines (&log, "cudahisto INFO counts Y, U, V of NV12, 256 bins")
          == 1,
      "the components are missing");
  expect (count_lines (&log, "cudahisto INFO counts by method ") == 1
          && (has_text (&log, "of the others,")
              || has_text (&log, "the backend has no other")),
      "the method or the others are missing");
  expect (count_lines (&log, "cudahisto INFO mode overlay: ") == 1,
      "the mode is missing");
  expect (count_lines (&log, "cudahisto INFO frames are reported") == 1
          && count_lines (&log, "cudahisto DEBUG interval 0:00:00.1") == 1,
      "the choice of frames is missing");
  expect (count_lines (&log, "cudahisto LOG frame at ") == 3
          && has_text (&log, "is reported: the first in interval 0")
          && has_text (&log, "is not reported: not the first in interval 0"),
      "the reasons are missing");
  expect (count_lines (&log, "cudahisto LOG reports 0:00:00.0") == 1,
      "the report is missing");
  log_clear (&log);
  g_free (line);
}

/* A fault is logged once, as an error with its sentence; a run without a fault logs no errors
 * or warnings. */
static void
log_has_faults (void)
{
  char *line =
      g_strdup_printf ("videotestsrc num-buffers=3 ! cudasepconv "
                       "backend=%s kernel=scharr-x radius=3 ! fakesink",
          test_backend ());
  Log log;

  run_logged (&log, line, GST_LEVEL_WARNING);
  expect (log.lines->len == 1 && has_text (&log, "ERROR")
          && has_text (&log, "Scharr"),
      "%u lines, the first: %s", log.lines->len,
      log.lines->len > 0 ? (char *) g_ptr_array_index (log.lines, 0) : "none");
  log_clear (&log);
  g_free (line);

  line = g_strdup_printf (
      "videotestsrc num-buffers=3 ! cudasepconv backend=%s ! fakesink",
      test_backend ());
  run_logged (&log, line, GST_LEVEL_WARNING);
  expect (log.lines->len == 0, "a run without fault: %s",
      (char *) g_ptr_array_index (log.lines, 0));
  log_clear (&log);
  g_free (line);
}

const Test tests_log[] = {
  { "log-explains-a-run", log_explains_a_run, VARIANT_BOTH },
  { "log-explains-counting", log_explains_counting, VARIANT_BOTH },
  { "log-has-faults", log_has_faults, VARIANT_BOTH },
  { 0 },
};
