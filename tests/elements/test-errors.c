/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that cannot be fulfilled: each fails once, with a sentence, and the element
 * recovers. */
#include "fault-fixture.h"
#include "flight-fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Sends caps and frames until something is refused. A source does not notice refused caps; it
 * learns of them with the first frame. */
static GstFlowReturn
push_until_refused (Filter *filter, const char *format)
{
  GstFlowReturn flow = GST_FLOW_OK;
  GstVideoInfo info;

  video_info (&info, format, 32, 24, NULL);
  filter_caps (filter, video_caps (format, 32, 24, NULL));
  for (int i = 0; i < 16 && flow == GST_FLOW_OK; i++)
    flow = gst_harness_push (filter->harness, picture_new (&info, 1));
  return flow;
}

/* Sets the element to PLAYING and links it, if that is possible. */
static gboolean
try_to_play (Filter *filter)
{
  if (gst_element_set_state (filter->element, GST_STATE_PLAYING)
      == GST_STATE_CHANGE_FAILURE)
    return FALSE;
  filter_plug (filter);
  return TRUE;
}

static gboolean
try_to_open (Filter *filter, const char *settings)
{
  filter_make (filter, settings);
  return try_to_play (filter);
}

/* A wrong setting causes one error of this kind; once corrected, the same element plays. */
static void
check_error (const char *format, const char *wrong, const char *right,
    GQuark domain, int code)
{
  GstVideoInfo info;
  GstBuffer *in, *out;
  Filter filter;

  test_context ("format=%s size=32x24 settings=%.60s", format, wrong);
  if (try_to_open (&filter, wrong)) {
    const GstFlowReturn flow = push_until_refused (&filter, format);

    expect (flow == GST_FLOW_ERROR || flow == GST_FLOW_NOT_NEGOTIATED,
        "flow is %s", gst_flow_get_name (flow));
  }
  filter_expect_error (&filter, domain, code);

  expect (gst_element_set_state (filter.element, GST_STATE_NULL)
          == GST_STATE_CHANGE_SUCCESS,
      "going to NULL failed");
  settings_apply (filter.element, right);
  if (filter.harness)
    filter_restart (&filter);
  else
    filter_plug (&filter);
  expect (filter_caps (&filter, video_caps (format, 32, 24, NULL)),
      "caps refused after the error");
  while ((out = gst_harness_try_pull (filter.harness)) != NULL)
    gst_buffer_unref (out);
  video_info (&info, format, 32, 24, NULL);
  in = picture_new (&info, 2);
  out = filter_process (&filter, gst_buffer_ref (in));
  picture_expect (in, out, &info, right, FALSE);
  filter_expect_silence (&filter);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  filter_close (&filter);
}

static void
errors_settings (void)
{
  static const struct
  {
    const char *format, *wrong, *right;
  } rows[] = {
    { "NV12", "kernel=custom", "kernel=custom taps-x=<0.5,0.5>" },
    { "NV12", "kernel=custom taps-y=<0.5,0.5>",
        "kernel=custom taps-x=<1.0> taps-y=<0.5,0.5>" },
    { "GRAY8", "kernel=custom taps-x=<1.0,-1.0> normalize=true",
        "kernel=custom taps-x=<1.0,-1.0> normalize=false" },
    { "RGB", "kernel=custom taps-x=<0.0> normalize=true",
        "kernel=custom taps-x=<2.0> normalize=true taps-y=<0.5>" },
    { "I420", "kernel=scharr-x radius=3", "kernel=scharr-x radius=1" },
    { "I420", "kernel=sobel-x radius=0", "kernel=sobel-x radius=1" },
    { "I420", "kernel=prewitt-y radius=0", "kernel=prewitt-y radius=2" },
    { "RGBA", "kernel=custom taps-x=<1e9>", "kernel=custom taps-x=<0.5>" },
    { "RGBA", "kernel=custom taps-x=<1e30,1e30>",
        "kernel=custom taps-x=<0.5,0.5>" },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++)
    check_error (rows[r].format, rows[r].wrong, rows[r].right,
        GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
}

/* Taps that turn out to be wrong while playing. */
static void
errors_taps_not_finite (void)
{
  static const double values[] = { NAN, INFINITY, -INFINITY };

  for (guint v = 0; v < G_N_ELEMENTS (values); v++) {
    GValue array = G_VALUE_INIT, tap = G_VALUE_INIT;
    GstFlowReturn flow;
    Filter filter;

    test_context ("format=NV12 taps-x=<0.5,%g>", values[v]);
    g_value_init (&array, GST_TYPE_ARRAY);
    g_value_init (&tap, G_TYPE_DOUBLE);
    g_value_set_double (&tap, 0.5);
    gst_value_array_append_value (&array, &tap);
    g_value_set_double (&tap, values[v]);
    gst_value_array_append_value (&array, &tap);
    filter_open (&filter, "kernel=custom taps-x=<0.5>");
    g_object_set_property (G_OBJECT (filter.element), "taps-x", &array);
    flow = push_until_refused (&filter, "NV12");
    expect (flow == GST_FLOW_ERROR || flow == GST_FLOW_NOT_NEGOTIATED,
        "flow is %s", gst_flow_get_name (flow));
    filter_expect_error (
        &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
    filter_close (&filter);
    g_value_unset (&tap);
    g_value_unset (&array);
  }
}

static void
errors_taps_too_many (void)
{
  GString *settings = g_string_new ("kernel=custom taps-x=<0.1");

  for (int i = 0; i < 5000; i++)
    g_string_append (settings, ",0.1");
  g_string_append_c (settings, '>');
  check_error ("GRAY8", settings->str, "kernel=custom taps-x=<0.5,0.5>",
      GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  g_string_free (settings, TRUE);
}

/* RGB has no luma or chroma to select. */
static void
errors_planes_of_rgb (void)
{
  static const char *const formats[] = { "RGB", "BGRx", "RGBA", "GBR",
    "ARGB64" };
  static const char *const planes[] = { "planes=luma", "planes=chroma",
    "planes=luma+alpha" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (guint p = 0; p < G_N_ELEMENTS (planes); p++)
      check_error (formats[f], planes[p], "planes=color", GST_STREAM_ERROR,
          GST_STREAM_ERROR_FORMAT);
}

/* A method that does not exist for the requested backend. */
static void
errors_method_of_other_backend (void)
{
  static const char *const cpu_rows[] = { "method=global", "method=shared" };
  static const char *const cuda_rows[] = { "method=reference" };
  const char *const *rows = test_on_cuda () ? cuda_rows : cpu_rows;
  const guint n =
      test_on_cuda () ? G_N_ELEMENTS (cuda_rows) : G_N_ELEMENTS (cpu_rows);

  for (guint r = 0; r < n; r++)
    check_error ("NV12", rows[r], "method=auto", GST_RESOURCE_ERROR,
        GST_RESOURCE_ERROR_SETTINGS);
}

/* A property that becomes invalid while playing stops the stream at the next frame, with one
 * error. */
static void
errors_while_playing (void)
{
  GstVideoInfo info;
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer *in, *out;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "NV12", 32, 24, NULL);
  gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
  settings_apply (filter.element, "kernel=scharr-x radius=4");
  for (int i = 0; i < 4; i++) {
    flow = gst_harness_push (filter.harness, picture_new (&info, 2));
    if (flow != GST_FLOW_OK)
      break;
  }
  expect (flow == GST_FLOW_ERROR, "flow is %s", gst_flow_get_name (flow));
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  /* No frame with the invalid setting came out. */
  while ((out = gst_harness_try_pull (filter.harness)) != NULL)
    gst_buffer_unref (out);
  settings_apply (filter.element, "kernel=scharr-x radius=1");
  filter_restart (&filter);
  expect (filter_caps (&filter, video_caps ("NV12", 32, 24, NULL)),
      "caps refused after the error");
  in = picture_new (&info, 2);
  out = filter_process (&filter, gst_buffer_ref (in));
  picture_expect (in, out, &info, "kernel=scharr-x radius=1", FALSE);
  filter_expect_silence (&filter);
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  filter_close (&filter);
}

/* Repeated failures: each is reported once, and none affects the next. */
static void
errors_again_and_again (void)
{
  Filter filter;

  test_context ("format=RGB size=32x24 planes=luma, thrice");
  filter_open (&filter, "planes=luma");
  for (int i = 0; i < 3; i++) {
    if (i > 0)
      filter_restart (&filter);
    expect (push_until_refused (&filter, "RGB") != GST_FLOW_OK,
        "round %d: frames are taken", i);
    filter_expect_error (&filter, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
  }
  filter_close (&filter);
}

/* Settings that are invalid for all caps are refused on the way to PAUSED, each time with one
 * error; once corrected, the same element reaches PAUSED. */
static void
errors_before_paused (void)
{
  static const struct
  {
    const char *wrong, *right;
  } rows[] = {
    { "kernel=custom", "taps-x=<0.5>" },
    { "kernel=custom taps-x=<0.5,nan>", "taps-x=<0.5,0.5>" },
    { "kernel=custom taps-x=<1.0,-1.0> normalize=true", "normalize=false" },
    { "kernel=scharr-x radius=3", "radius=1" },
    { "kernel=sobel-x radius=0", "radius=1" },
    { "sigma=400 radius=-1 kernel=sobel-y radius-y=16", "kernel=gaussian" },
    { "backend=cpu method=global", "method=auto" },
    { "backend=cuda method=reference", "backend=cpu" },
    { "cudahisto backend=cpu method=shared", "method=auto" },
    { "backend=cuda cuda-device-id=12345", "backend=cpu" },
    { "cudahisto backend=cuda cuda-device-id=12345", "backend=cpu" },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    Filter filter;

    test_context ("settings=%s", rows[r].wrong);
    filter_make (&filter, rows[r].wrong);
    for (int round = 0; round < 2; round++) {
      expect (gst_element_set_state (filter.element, GST_STATE_PAUSED)
              == GST_STATE_CHANGE_FAILURE,
          "round %d: it goes to PAUSED", round);
      filter_expect_error (&filter, GST_RESOURCE_ERROR,
          strstr (rows[r].wrong, "12345") ? GST_RESOURCE_ERROR_NOT_FOUND
                                          : GST_RESOURCE_ERROR_SETTINGS);
      gst_element_set_state (filter.element, GST_STATE_NULL);
    }
    settings_apply (filter.element, rows[r].right);
    expect (gst_element_set_state (filter.element, GST_STATE_PAUSED)
            == GST_STATE_CHANGE_SUCCESS,
        "with %s it does not go to PAUSED", rows[r].right);
    filter_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* Redirects standard output and error to a file, and back. */
static void
redirect_output (int file, int saved[2])
{
  fflush (stdout);
  fflush (stderr);
  for (int fd = 1; fd <= 2; fd++) {
    saved[fd - 1] = dup (fd);
    dup2 (file, fd);
  }
}

static void
restore_output (const int saved[2])
{
  fflush (stdout);
  fflush (stderr);
  for (int fd = 1; fd <= 2; fd++) {
    dup2 (saved[fd - 1], fd);
    close (saved[fd - 1]);
  }
}

/* Runs failing filters and returns their output to standard output and error. */
static char *
output_of_failures (void)
{
  static const char *const wrong[] = { "kernel=custom", "planes=luma",
    "kernel=scharr-x radius=2", "backend=cpu method=global",
    "backend=cuda cuda-device-id=12345" };
  Filter filters[G_N_ELEMENTS (wrong)];
  char *text = NULL, *path = NULL;
  const int file = g_file_open_tmp ("elements-XXXXXX", &path, NULL);
  int saved[2];

  expect (file >= 0, "no temporary file");
  for (guint w = 0; w < G_N_ELEMENTS (wrong); w++)
    filter_make (&filters[w], wrong[w]);
  redirect_output (file, saved);
  for (guint w = 0; w < G_N_ELEMENTS (wrong); w++) {
    if (try_to_play (&filters[w]))
      push_until_refused (&filters[w], "RGB");
    gst_element_set_state (filters[w].element, GST_STATE_NULL);
  }
  restore_output (saved);
  for (guint w = 0; w < G_N_ELEMENTS (wrong); w++)
    filter_close (&filters[w]);
  close (file);
  g_file_get_contents (path, &text, NULL, NULL);
  unlink (path);
  g_free (path);
  return text;
}

/* Only the bus and the debug log carry messages: nothing goes to standard output or error. */
static void
errors_print_nothing (void)
{
  const gboolean logging = gst_debug_is_active ();
  char *text;

  gst_debug_set_active (FALSE);
  text = output_of_failures ();
  gst_debug_set_active (logging);
  expect (text && *text == '\0', "printed: %s", text);
  g_free (text);
}

/* A GstVideoMeta for a frame of 32x24 NV12, which has 768 bytes of luma and 384 of chroma. */
typedef struct
{
  const char *what;
  gsize size; /* of the buffer */
  GstVideoFormat format;
  guint width, height, planes;
  gsize offset[2];
  gint stride[2];
} Lie;

/* Frames whose rows are not all inside the buffer are refused, and nothing outside the buffer
 * is read. */
static void
errors_metas_that_lie (void)
{
  static const Lie lies[] = {
    { "a buffer too short", 1151, GST_VIDEO_FORMAT_NV12, 32, 24, 2, { 0, 768 },
        { 32, 32 } },
    { "chroma behind the end", 1152, GST_VIDEO_FORMAT_NV12, 32, 24, 2,
        { 0, 800 }, { 32, 32 } },
    { "rows too far apart", 1152, GST_VIDEO_FORMAT_NV12, 32, 24, 2, { 0, 768 },
        { 32, 64 } },
    { "rows as far apart as can be", 1152, GST_VIDEO_FORMAT_NV12, 32, 24, 2,
        { 0, 768 }, { G_MAXINT, 32 } },
    { "rows before the buffer", 1152, GST_VIDEO_FORMAT_NV12, 32, 24, 2,
        { 0, 768 }, { -32, 32 } },
    { "rows far before the buffer", 1152, GST_VIDEO_FORMAT_NV12, 32, 24, 2,
        { 0, 768 }, { 32, G_MININT } },
    { "a plane behind the buffer", 1152, GST_VIDEO_FORMAT_NV12, 32, 24, 2,
        { 0, 4000 }, { 32, 32 } },
    { "another format", 1152, GST_VIDEO_FORMAT_I420, 32, 24, 3, { 0, 768 },
        { 32, 16 } },
    { "a plane less", 1152, GST_VIDEO_FORMAT_NV12, 32, 24, 1, { 0, 768 },
        { 32, 32 } },
    { "a smaller frame", 1152, GST_VIDEO_FORMAT_NV12, 30, 22, 2, { 0, 768 },
        { 32, 32 } },
  };
  static const char *const settings[] = { "sigma=1", "cudahisto interval=0" };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (lies); i++) {
    const Lie *lie = &lies[i / 2];
    gsize offset[GST_VIDEO_MAX_PLANES] = { lie->offset[0], lie->offset[1] };
    gint stride[GST_VIDEO_MAX_PLANES] = { lie->stride[0], lie->stride[1] };
    GstBuffer *in = gst_buffer_new_allocate (NULL, lie->size, NULL);
    GstVideoInfo info;
    Filter filter;

    test_context ("%s, %s", settings[i % 2], lie->what);
    gst_buffer_memset (in, 0, 0, lie->size);
    gst_buffer_add_video_meta_full (in, GST_VIDEO_FRAME_FLAG_NONE, lie->format,
        lie->width, lie->height, lie->planes, offset, stride);
    filter_start (&filter, settings[i % 2], &info, "NV12", 32, 24, NULL);
    expect (gst_harness_push (filter.harness, in) == GST_FLOW_ERROR,
        "it was taken");
    filter_expect_error (&filter, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT);
    filter_close (&filter);
  }
}

/* A device number that no machine has. */
static void
errors_device_id (void)
{
  Filter filter;

  test_context ("format=NV12 backend=cuda cuda-device-id=12345");
  if (try_to_open (&filter, "backend=cuda cuda-device-id=12345"))
    expect (push_until_refused (&filter, "NV12") != GST_FLOW_OK,
        "frames are taken");
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
  filter_close (&filter);
}

/* ---- waiting for frames ---------------------------------------------------- */

typedef struct
{
  Flight *flight;
  gint done;
} Flush;

static GstBusSyncReply
flush_on_error (GstBus *bus, GstMessage *message, gpointer user)
{
  Flush *flush = user;

  (void) bus;
  if (GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR) {
    flight_flush (flush->flight);
    g_atomic_int_set (&flush->done, TRUE);
  }
  return GST_BUS_PASS;
}

/* A frame that the GPU does not finish is an error of the element, reported once. Frames before
 * it arrive, frames after it do not, and after a flush the element continues, even if the flush
 * comes from the handler of the error. */
static void
errors_while_waiting (void)
{
  static const char *const settings[] = { "sigma=1 ring-depth=4",
    "sigma=1 ring-depth=1", "sigma=1 histogram=true histogram-interval=0",
    "sigma=1 transfer=mapped", "sigma=1 transfer=pageable" };

  for (guint s = 0; s < 2 * G_N_ELEMENTS (settings); s++) {
    const gboolean at_once = s % 2;
    Flight *flight = flight_open (settings[s / 2], "NV12", 34, 18, NULL);
    GstFlowReturn flow = GST_FLOW_OK;
    const FaultPoints *points = fault_points ();
    Flush flush = { flight, FALSE };

    if (points == NULL) {
      flight_close (flight);
      test_skip ("this GPU cannot be told to fail");
      return;
    }
    for (guint64 n = 0; n < 3; n++)
      flight_push (flight, n);
    for (guint64 n = 0; n < 3; n++)
      flight_expect (flight, n, "sigma=1");
    while (filter_drain_bus (&flight->filter, GST_MESSAGE_ELEMENT, NULL) > 0)
      continue;
    flight_clear_log (flight);
    if (at_once)
      gst_bus_set_sync_handler (
          flight->filter.bus, flush_on_error, &flush, NULL);
    points->arm (EMULATED_FAULT_QUERY, 1, FALSE);
    flight_push (flight, 10);
    if (at_once) {
      flight_await_flag (&flush.done, "the flush does not come back");
      gst_bus_set_sync_handler (flight->filter.bus, NULL, NULL, NULL);
    } else {
      for (guint64 n = 11; n < 30 && flow == GST_FLOW_OK; n++)
        flow = flight_try_push (flight, n);
      expect (
          flow == GST_FLOW_ERROR, "upstream got %s", gst_flow_get_name (flow));
      flight_expect_log (flight, "");
      flight_flush (flight);
    }
    filter_expect_error (
        &flight->filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED);
    while (gst_harness_buffers_in_queue (flight->filter.harness) > 0)
      gst_buffer_unref (flight_pull (flight));
    flight_push (flight, 40);
    flight_expect (flight, 40, "sigma=1");
    flight_close (flight);
  }
}

const Test tests_errors[] = {
  { "errors-settings", errors_settings, VARIANT_BOTH },
  { "errors-taps-not-finite", errors_taps_not_finite, VARIANT_BOTH },
  { "errors-taps-too-many", errors_taps_too_many, VARIANT_BOTH },
  { "errors-planes-of-rgb", errors_planes_of_rgb, VARIANT_BOTH },
  { "errors-method-of-other-backend", errors_method_of_other_backend,
      VARIANT_BOTH },
  { "errors-while-playing", errors_while_playing, VARIANT_BOTH },
  { "errors-again-and-again", errors_again_and_again, VARIANT_BOTH },
  { "errors-before-paused", errors_before_paused, VARIANT_BOTH },
  { "errors-metas-that-lie", errors_metas_that_lie, VARIANT_BOTH },
  { "errors-print-nothing", errors_print_nothing, VARIANT_BOTH },
  { "errors-while-waiting", errors_while_waiting, VARIANT_CUDA },
  { "errors-device-id", errors_device_id, VARIANT_ANY },
  { 0 },
};
