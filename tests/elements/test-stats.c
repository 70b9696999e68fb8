/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter's statistics. */
#include "picture-oracle.h"

/* A frame may be counted a moment after it has come out. */
static void
expect_frames (Filter *filter, guint64 frames)
{
  guint64 in = element_count (filter->element, "frames-in");
  guint64 out = element_count (filter->element, "frames-out");

  for (int i = 0; i < 100 && out < frames; i++) {
    g_usleep (10000);
    out = element_count (filter->element, "frames-out");
  }
  expect (in == frames && out == frames,
      "frames-in is %" G_GUINT64_FORMAT " and frames-out %" G_GUINT64_FORMAT
      " after %" G_GUINT64_FORMAT " frames",
      in, out, frames);
}

static void
process_frames (Filter *filter, const GstVideoInfo *info, guint32 n)
{
  for (guint32 i = 0; i < n; i++)
    gst_buffer_unref (filter_process (filter, picture_new (info, i)));
}

static void
stats_frames (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_make (&filter, "sigma=1");
  expect_frames (&filter, 0);
  filter_close (&filter);
  filter_start (&filter, "sigma=1", &info, "NV12", 64, 48, NULL);
  expect_frames (&filter, 0);
  process_frames (&filter, &info, 7);
  expect_frames (&filter, 7);
  filter_caps (&filter, video_caps ("NV12", 32, 48, NULL));
  video_info (&info, "NV12", 32, 48, NULL);
  process_frames (&filter, &info, 3);
  expect_frames (&filter, 10);
  filter_restart (&filter);
  expect_frames (&filter, 0);
  filter_caps (&filter, video_caps ("NV12", 32, 48, NULL));
  process_frames (&filter, &info, 2);
  expect_frames (&filter, 2);
  filter_close (&filter);
}

/* With a device every byte of a picture is uploaded once and downloaded once; on the
 * CPU none is. */
static void
stats_bytes (void)
{
  GstVideoInfo info;
  Filter filter;
  guint64 up, down;

  filter_start (&filter, "sigma=1", &info, "NV12", 64, 48, NULL);
  process_frames (&filter, &info, 5);
  up = element_count (filter.element, "bytes-up");
  down = element_count (filter.element, "bytes-down");
  if (test_on_cuda ()) {
    expect (up >= 5 * info.size && up <= 10 * info.size,
        "bytes-up is %" G_GUINT64_FORMAT, up);
    expect (down >= 5 * info.size && down <= 10 * info.size,
        "bytes-down is %" G_GUINT64_FORMAT, down);
  } else {
    expect (up == 0, "bytes-up is %" G_GUINT64_FORMAT, up);
    expect (down == 0, "bytes-down is %" G_GUINT64_FORMAT, down);
  }
  filter_close (&filter);
}

/* Sends three frames, each after the one before has left; then `slices` must be
 * `total`. */
static void
expect_slices (Filter *filter, const GstVideoInfo *info, guint64 total)
{
  guint64 slices;

  for (guint i = 0; i < 3; i++) {
    GstQuery *query = gst_query_new_drain ();

    process_frames (filter, info, 1);
    /* A frame may arrive a moment before the filter counts it as done. */
    gst_pad_peer_query (filter->harness->srcpad, query);
    gst_query_unref (query);
  }
  slices = element_count (filter->element, "slices");
  expect (slices == total,
      "slices is %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT, slices,
      total);
}

/* A lone frame of 1.5 MB is cut into the number of slices that is set; by default into
 * two, if the pipeline is live and the frame can be computed in parts. On the CPU
 * frames are not cut. */
static void
stats_slices (void)
{
  const guint cut = test_on_cuda () ? 2 : 1, asked = test_on_cuda () ? 3 : 1;
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "NV12", 1024, 1024, NULL);
  expect_slices (&filter, &info, 3 * cut);
  gst_harness_set_live (filter.harness, FALSE);
  gst_harness_query_latency (filter.harness);
  expect_slices (&filter, &info, 3 * cut + 3);
  g_object_set (filter.element, "slices", 3, NULL);
  expect_slices (&filter, &info, 3 * cut + 3 + 3 * asked);
  g_object_set (filter.element, "slices", 0, NULL);
  gst_harness_set_live (filter.harness, TRUE);
  gst_harness_query_latency (filter.harness);
  expect_slices (&filter, &info, 6 * cut + 3 + 3 * asked);
  filter_close (&filter);
}

/* With border=wrap the first row of a single plane needs the last row. With a ring of
 * one slot upstream waits for each frame, live or not. */
static void
stats_slices_by_settings (void)
{
  const guint cut = test_on_cuda () ? 2 : 1;
  GstVideoInfo info;
  Filter filter;

  filter_start (
      &filter, "sigma=1 border=wrap", &info, "GRAY8", 1600, 1024, NULL);
  expect_slices (&filter, &info, 3);
  g_object_set (filter.element, "border", 0, NULL);
  expect_slices (&filter, &info, 3 + 3 * cut);
  filter_close (&filter);
  filter_start (
      &filter, "sigma=1 ring-depth=1", &info, "NV12", 1024, 1024, NULL);
  gst_harness_set_live (filter.harness, FALSE);
  gst_harness_query_latency (filter.harness);
  expect_slices (&filter, &info, 3 * cut);
  filter_close (&filter);
}

static void
stats_fields (void)
{
  static const struct
  {
    const char *name;
    GType type;
  } fields[] = {
    { "frames-in", G_TYPE_UINT64 },
    { "frames-out", G_TYPE_UINT64 },
    { "bytes-up", G_TYPE_UINT64 },
    { "bytes-down", G_TYPE_UINT64 },
    { "slices", G_TYPE_UINT64 },
    { "up-time", G_TYPE_INVALID },
    { "compute-time", G_TYPE_INVALID },
    { "down-time", G_TYPE_INVALID },
    { "in-flight-peak", G_TYPE_UINT },
  };
  GstVideoInfo info;
  GstStructure *stats;
  Filter filter;
  guint peak;

  filter_start (&filter, "sigma=3", &info, "NV12", 160, 120, NULL);
  process_frames (&filter, &info, 5);
  stats = element_stats (filter.element);
  for (guint f = 0; f < G_N_ELEMENTS (fields); f++) {
    const GValue *value = gst_structure_get_value (stats, fields[f].name);

    expect (value != NULL, "no %s", fields[f].name);
    expect (fields[f].type == G_TYPE_INVALID
            || G_VALUE_TYPE (value) == fields[f].type,
        "%s is a %s", fields[f].name, G_VALUE_TYPE_NAME (value));
  }
  gst_structure_get_uint (stats, "in-flight-peak", &peak);
  expect (peak >= (test_on_cuda () ? 1u : 0u) && peak <= 5,
      "in-flight-peak is %u", peak);
  gst_structure_free (stats);
  filter_close (&filter);
}

/* Whether it is the name of a method, not of a way of choosing one. */
static gboolean
is_method (GstElement *element, const char *name)
{
  GParamSpec *property =
      g_object_class_find_property (G_OBJECT_GET_CLASS (element), "method");
  GEnumClass *methods = G_PARAM_SPEC_ENUM (property)->enum_class;

  return g_strcmp0 (name, "auto") != 0
      && g_enum_get_value_by_nick (methods, name) != NULL;
}

static void
stats_active (void)
{
  GstVideoInfo info;
  Filter filter;
  char *backend, *method;

  filter_start (&filter, "sigma=1", &info, "NV12", 64, 48, NULL);
  process_frames (&filter, &info, 1);
  backend = filter_get (&filter, "active-backend");
  method = filter_get (&filter, "active-method");
  expect (g_strcmp0 (backend, test_backend ()) == 0, "active-backend is %s",
      backend);
  /* A method was chosen; measured costs decide which. */
  expect (is_method (filter.element, method)
          && (g_strcmp0 (method, "simd") == 0) == !test_on_cuda (),
      "active-method is %s", method);
  g_free (backend);
  g_free (method);
  filter_close (&filter);
}

/* Read by another thread at any time. */
typedef struct
{
  GstElement *element;
  gint stop;
} Reader;

static gpointer
read_stats (gpointer user)
{
  Reader *reader = user;
  guint64 last = 0, seen = 0;
  gpointer problem = NULL;

  while (!g_atomic_int_get (&reader->stop) && !problem) {
    GstStructure *stats = NULL;

    g_object_get (reader->element, "stats", &stats, NULL);
    if (!stats || !gst_structure_get_uint64 (stats, "frames-out", &seen))
      problem = (gpointer) "no frames-out";
    else if (seen < last)
      problem = (gpointer) "frames-out went backwards";
    if (stats)
      gst_structure_free (stats);
    last = seen;
    g_usleep (100);
  }
  return problem;
}

static void
stats_while_running (void)
{
  static Reader reader;
  GstVideoInfo info;
  GThread *thread;
  const char *problem;
  Filter filter;

  filter_start (&filter, "sigma=1", &info, "NV12", 64, 48, NULL);
  reader = (Reader){ .element = filter.element };
  thread = g_thread_new ("stats", read_stats, &reader);
  process_frames (&filter, &info, 300);
  g_atomic_int_set (&reader.stop, 1);
  problem = g_thread_join (thread);
  expect (problem == NULL, "%s", problem);
  expect_frames (&filter, 300);
  filter_close (&filter);
}

const Test tests_stats[] = {
  { "stats-frames", stats_frames, VARIANT_BOTH },
  { "stats-bytes", stats_bytes, VARIANT_BOTH },
  { "stats-slices", stats_slices, VARIANT_BOTH },
  { "stats-slices-by-settings", stats_slices_by_settings, VARIANT_BOTH },
  { "stats-fields", stats_fields, VARIANT_BOTH },
  { "stats-active", stats_active, VARIANT_BOTH },
  { "stats-while-running", stats_while_running, VARIANT_BOTH },
  { 0 },
};
