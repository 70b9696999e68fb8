/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole pipelines, several filters and several threads. */
#include "filter-fixture.h"

/* Formats an error or warning as "name: text (debug)". */
static char *
text_of (GstMessage *message)
{
  GError *error;
  char *debug, *text;

  message_parse (message, &error, &debug);
  text = g_strdup_printf (
      "%s: %s (%s)", GST_OBJECT_NAME (message->src), error->message, debug);
  g_error_free (error);
  g_free (debug);
  return text;
}

/* Whether `speaker` reports another problem within a moment; its upstream may do so. */
static gboolean
complains_again (GstBus *bus, GstObject *speaker)
{
  GstMessage *message;
  gboolean again = FALSE;

  while (!again
      && (message = gst_bus_timed_pop_filtered (
              bus, GST_SECOND / 5, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))
          != NULL) {
    again = message->src == speaker;
    gst_message_unref (message);
  }
  return again;
}

/* Runs a pipeline to its end. Returns the first problem on the bus, which the caller
 * frees, or NULL. Any thread may call it. */
static char *
run_to_eos (GstElement *pipeline)
{
  GstBus *bus = gst_element_get_bus (pipeline);
  char *problem = NULL;
  GstMessage *message;

  gst_bus_set_sync_handler (bus, bus_drop_hints, NULL, NULL);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (bus, test_patience (),
      GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
  if (message == NULL) {
    problem = g_strdup ("no end in time");
  } else if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_EOS) {
    problem = text_of (message);
    if (complains_again (bus, message->src)) {
      char *once = problem;

      problem = g_strdup_printf ("more than once: %s", once);
      g_free (once);
    }
  }
  if (message)
    gst_message_unref (message);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (bus);
  return problem;
}

/* Makes a pipeline from a launch line in which every FILTER is a cudasepconv of
 * the backend under test. */
static GstElement *
launch (const char *line, GError **error)
{
  char **parts = g_strsplit (line, "FILTER", -1);
  char *separator = g_strdup_printf ("cudasepconv backend=%s", test_backend ());
  char *whole = g_strjoinv (separator, parts);
  GstElement *pipeline = gst_parse_launch (whole, error);

  g_free (whole);
  g_free (separator);
  g_strfreev (parts);
  return pipeline;
}

/* Runs it and expects `frames` buffers at each of the elements sink0, sink1... */
static void
check_pipeline (const char *line, int sinks, int frames)
{
  GError *error = NULL;
  gint counts[4] = { 0 };
  GstElement *pipeline;
  char *problem;

  test_context ("%s", line);
  pipeline = launch (line, &error);
  expect (pipeline && !error, "%s", error ? error->message : "no pipeline");
  for (int s = 0; s < sinks; s++) {
    char *name = g_strdup_printf ("sink%d", s);

    watch_sink (pipeline, name, count_buffer, &counts[s]);
    g_free (name);
  }
  problem = run_to_eos (pipeline);
  expect (problem == NULL, "%s", problem);
  for (int s = 0; s < sinks; s++)
    expect (counts[s] == frames, "sink%d got %d buffers", s, counts[s]);
  /* A streaming thread may still be about to end. */
  for (int i = 0; i < 100 && GST_OBJECT_REFCOUNT_VALUE (pipeline) > 1; i++)
    g_usleep (10000);
  ASSERT_OBJECT_REFCOUNT (pipeline, "pipeline", 1);
  gst_object_unref (pipeline);
}

static void
pipelines_run (void)
{
  static const char *const caps[] = {
    "video/x-raw,format=P010_10LE,width=321,height=241",
    "video/x-raw,format=GRAY8,width=1,height=1",
    "video/x-raw,format=NV12,width=1920,height=1080",
    "video/x-raw,format=RGBA,width=33,height=480",
    "video/x-raw,format=I420,width=720,height=576,interlace-mode=interleaved",
  };
  static const char *const settings[] = { "", "sigma=6 border=reflect",
    "kernel=custom taps-x=\"<0.25,0.5,0.25>\"", "sigma=0" };

  for (guint c = 0; c < G_N_ELEMENTS (caps); c++)
    for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
      const int frames = c == 2 ? 3 : 30;
      char *line =
          g_strdup_printf ("videotestsrc num-buffers=%d ! FILTER %s ! %s ! "
                           "fakesink name=sink0",
              frames, settings[s], caps[c]);

      check_pipeline (line, 1, frames);
      g_free (line);
    }
}

static void
pipelines_tee (void)
{
  check_pipeline (
      "videotestsrc num-buffers=30 ! video/x-raw,format=NV12,width=320,"
      "height=240 ! tee name=t t. ! queue ! FILTER sigma=3 ! fakesink "
      "name=sink0 t. ! queue ! FILTER kernel=sobel-x ! fakesink name=sink1 "
      "t. ! queue ! fakesink name=sink2",
      3, 30);
}

static void
pipelines_sequence (void)
{
  check_pipeline (
      "videotestsrc num-buffers=30 ! video/x-raw,format=NV12,width=320,"
      "height=240 ! FILTER sigma=3 ! FILTER sigma=1 ! queue ! FILTER "
      "kernel=box radius=2 ! fakesink name=sink0",
      1, 30);
}

/* Between converters that choose formats and sizes freely. */
static void
pipelines_between_converters (void)
{
  check_pipeline (
      "videotestsrc num-buffers=10 ! video/x-raw,format=YUY2,width=64,"
      "height=48 ! videoconvert ! FILTER ! videoconvert ! videoscale ! "
      "video/x-raw,format=RGB,width=100,height=30 ! fakesink name=sink0",
      1, 10);
}

/* ---- properties from another thread -------------------------------------- */

typedef struct
{
  GstElement *element;
  gint stop;
} Storm;

/* Settings that are valid together, in any order. */
static gpointer
change_properties (gpointer user)
{
  static const char *const settings[] = { "kernel=gaussian", "kernel=box",
    "kernel=binomial", "kernel=sobel-x", "kernel=sobel-y", "kernel=prewitt-x",
    "kernel=scharr-y", "kernel=custom", "sigma=0", "sigma=0.7", "sigma=5",
    "sigma-y=-1", "sigma-y=2.5", "taps-x=<0.5,0.5>", "taps-x=<0.2,0.3,0.5>",
    "taps-y=<1.0>", "taps-y=<0.1,0.2,0.3,0.4>", "normalize=true",
    "normalize=false", "scale=0.5", "scale=1", "bias=0", "bias=0.25",
    "border=replicate", "border=reflect", "border=reflect-101", "border=wrap",
    "border=constant", "border-color=0xff00ff00", "border-color=0",
    "planes=luma", "planes=chroma", "planes=color", "planes=all",
    "planes=alpha", "scale-chroma=true", "scale-chroma=false" };
  Storm *storm = user;
  GRand *random = g_rand_new_with_seed (20);

  while (!g_atomic_int_get (&storm->stop)) {
    char **pair = g_strsplit (
        settings[g_rand_int_range (random, 0, G_N_ELEMENTS (settings))], "=",
        2);
    GstStructure *stats = NULL;

    gst_util_set_object_arg (G_OBJECT (storm->element), pair[0], pair[1]);
    g_object_get (storm->element, "stats", &stats, NULL);
    if (stats)
      gst_structure_free (stats);
    g_strfreev (pair);
    g_usleep (20);
  }
  g_rand_free (random);
  return NULL;
}

static void
pipelines_property_storm (void)
{
  GError *error = NULL;
  GstElement *pipeline;
  GThread *threads[2];
  gint count = 0;
  GstPad *pad;
  Storm storm = { 0 };
  char *problem;

  test_context ("format=NV12 size=64x48, properties changing all the time");
  pipeline = launch (
      "videotestsrc num-buffers=500 ! video/x-raw,format=NV12,width=64,"
      "height=48 ! FILTER name=filter kernel=gaussian taps-x=\"<0.5,0.5>\" ! "
      "fakesink",
      &error);
  expect (pipeline && !error, "%s", error ? error->message : "no pipeline");
  storm.element = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  pad = gst_element_get_static_pad (storm.element, "src");
  gst_pad_add_probe (
      pad, GST_PAD_PROBE_TYPE_BUFFER, count_buffer, &count, NULL);
  gst_object_unref (pad);
  for (int t = 0; t < 2; t++)
    threads[t] = g_thread_new ("storm", change_properties, &storm);
  problem = run_to_eos (pipeline);
  g_atomic_int_set (&storm.stop, 1);
  for (int t = 0; t < 2; t++)
    g_thread_join (threads[t]);
  gst_object_unref (storm.element);
  expect (problem == NULL, "%s", problem);
  expect (count == 500, "%d buffers came out", count);
  gst_object_unref (pipeline);
}

/* ---- in parallel --------------------------------------------------------- */

static gpointer
run_pipelines (gpointer user)
{
  static const char *const lines[] = {
    "videotestsrc num-buffers=15 ! video/x-raw,format=NV12,width=160,"
    "height=120 ! FILTER sigma=2 ! fakesink",
    "videotestsrc num-buffers=15 ! video/x-raw,format=RGBA,width=99,height=55 "
    "! FILTER kernel=box radius=4 ! fakesink",
    "videotestsrc num-buffers=15 ! video/x-raw,format=GRAY8,width=31,height=3 "
    "! FILTER sigma=9 border=wrap ! FILTER ! fakesink",
  };
  const guint first = GPOINTER_TO_UINT (user);
  char *problem = NULL;

  for (guint i = 0; i < 6 && !problem; i++) {
    GstElement *pipeline =
        launch (lines[(first + i) % G_N_ELEMENTS (lines)], NULL);

    if (!pipeline)
      return g_strdup ("no pipeline");
    if (i % 3 == 2) {
      /* Stopped in mid-stream. */
      gst_element_set_state (pipeline, GST_STATE_PLAYING);
      g_usleep (1000 * (first + i));
      gst_element_set_state (pipeline, GST_STATE_NULL);
    } else {
      problem = run_to_eos (pipeline);
    }
    gst_object_unref (pipeline);
  }
  return problem;
}

static void
pipelines_parallel (void)
{
  GThread *threads[4];
  char *problem = NULL;

  test_context ("four threads, each making, running and dropping pipelines");
  for (guint t = 0; t < G_N_ELEMENTS (threads); t++)
    threads[t] =
        g_thread_new ("pipelines", run_pipelines, GUINT_TO_POINTER (t));
  for (guint t = 0; t < G_N_ELEMENTS (threads); t++) {
    char *one = g_thread_join (threads[t]);

    if (one && !problem)
      problem = one;
    else
      g_free (one);
  }
  expect (problem == NULL, "%s", problem);
}

/* Going from PLAYING to NULL at any moment does not hang or crash. */
static void
pipelines_stop_any_time (void)
{
  GError *error = NULL;
  GstElement *pipeline;

  test_context ("format=NV12 size=96x72 stopped after 0 to 19 ms");
  pipeline = launch (
      "videotestsrc ! video/x-raw,format=NV12,width=96,height=72 ! FILTER "
      "sigma=2 ! queue ! FILTER sigma=1 ! fakesink",
      &error);
  expect (pipeline && !error, "%s", error ? error->message : "no pipeline");
  for (gulong i = 0; i < 20; i++) {
    expect (gst_element_set_state (pipeline, GST_STATE_PLAYING)
            != GST_STATE_CHANGE_FAILURE,
        "round %lu: going to PLAYING failed", i);
    g_usleep (i * 1000);
    expect (gst_element_set_state (pipeline, GST_STATE_NULL)
            == GST_STATE_CHANGE_SUCCESS,
        "round %lu: going to NULL failed", i);
  }
  /* GStreamer's thread for the change to PLAYING may hold it a little longer. */
  for (int i = 0; i < 1000 && GST_OBJECT_REFCOUNT_VALUE (pipeline) > 1; i++)
    g_usleep (1000);
  ASSERT_OBJECT_REFCOUNT (pipeline, "pipeline", 1);
  gst_object_unref (pipeline);
}

/* An error of the filter ends the pipeline with one error message; once corrected, the
 * same pipeline runs. */
static void
pipelines_error_and_again (void)
{
  GError *error = NULL;
  GstElement *pipeline, *element;
  char *problem;

  test_context ("format=NV12 size=64x48 kernel=custom without taps");
  pipeline =
      launch ("videotestsrc num-buffers=10 ! video/x-raw,format=NV12,width=64,"
              "height=48 ! FILTER name=filter kernel=custom ! fakesink",
          &error);
  expect (pipeline && !error, "%s", error ? error->message : "no pipeline");
  element = gst_bin_get_by_name (GST_BIN (pipeline), "filter");
  problem = run_to_eos (pipeline);
  expect (problem && g_str_has_prefix (problem, "filter: "),
      "the first message is %s", problem ? problem : "the end of the stream");
  g_free (problem);
  gst_util_set_object_arg (G_OBJECT (element), "taps-x", "<0.5,0.5>");
  problem = run_to_eos (pipeline);
  expect (problem == NULL, "%s", problem);
  gst_object_unref (element);
  gst_object_unref (pipeline);
}

/* Seeks once, from within the push of frame 20. */
static GstPadProbeReturn
seek_from_push (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  int *frames = user;
  GstElement *sink = gst_pad_get_parent_element (pad);
  GstObject *pipeline = gst_element_get_parent (sink);

  (void) probe;
  if (++*frames == 20)
    gst_element_seek_simple (
        GST_ELEMENT (pipeline), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0);
  gst_object_unref (pipeline);
  gst_object_unref (sink);
  return GST_PAD_PROBE_OK;
}

/* An application may seek from a callback downstream, on the pushing thread, without a
 * deadlock. */
static void
pipelines_seek_from_push (void)
{
  static const char *const lines[] = {
    "videotestsrc num-buffers=100 ! FILTER ! fakesink name=sink",
    "videotestsrc num-buffers=100 ! FILTER ring-depth=1 ! fakesink name=sink",
    "videotestsrc num-buffers=100 ! FILTER ! FILTER ! fakesink name=sink",
  };

  for (guint i = 0; i < G_N_ELEMENTS (lines); i++) {
    GError *error = NULL;
    GstElement *pipeline = launch (lines[i], &error);
    int frames = 0;
    char *problem;

    test_context ("%s", lines[i]);
    expect (pipeline != NULL, "%s", error ? error->message : "?");
    watch_sink (pipeline, "sink", seek_from_push, &frames);
    problem = run_to_eos (pipeline);
    expect (problem == NULL, "%s", problem);
    /* The source makes 100 frames in all; frames in flight are flushed. */
    expect (frames >= 90, "%d frames came", frames);
    gst_object_unref (pipeline);
  }
}

const Test tests_pipelines[] = {
  { "pipelines-seek-from-push", pipelines_seek_from_push, VARIANT_BOTH },
  { "pipelines-run", pipelines_run, VARIANT_BOTH },
  { "pipelines-tee", pipelines_tee, VARIANT_BOTH },
  { "pipelines-sequence", pipelines_sequence, VARIANT_BOTH },
  { "pipelines-between-converters", pipelines_between_converters,
      VARIANT_BOTH },
  { "pipelines-property-storm", pipelines_property_storm, VARIANT_BOTH },
  { "pipelines-parallel", pipelines_parallel, VARIANT_BOTH },
  { "pipelines-stop-any-time", pipelines_stop_any_time, VARIANT_BOTH },
  { "pipelines-error-and-again", pipelines_error_and_again, VARIANT_BOTH },
  { 0 },
};
