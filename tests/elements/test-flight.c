/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames in flight: none is lost, mixed up or kept back. */
#include "flight-fixture.h"

static const guint depths[] = { 1, 2, 4, 8, 64 };

/* ---- order --------------------------------------------------------------- */

/* Attributes of a frame beside its times: flags and metas, by its number. */
static guint
flags_of (guint64 number)
{
  return (number % 3 == 0 ? GST_BUFFER_FLAG_DELTA_UNIT : 0)
      | (number % 5 == 0 ? GST_BUFFER_FLAG_DROPPABLE : 0)
      | (number % 7 == 3 ? GST_BUFFER_FLAG_DISCONT : 0)
      | (number % 4 == 2 ? GST_BUFFER_FLAG_MARKER : 0);
}

static void
expect_marks (GstBuffer *out, guint64 number)
{
  const guint all = GST_BUFFER_FLAG_DELTA_UNIT | GST_BUFFER_FLAG_DROPPABLE
      | GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_MARKER;
  GstVideoRegionOfInterestMeta *region =
      gst_buffer_get_video_region_of_interest_meta_id (out, (gint) number);

  expect (region && region->x == number && region->w == 2,
      "frame %" G_GUINT64_FORMAT " has lost its region", number);
  expect (
      gst_buffer_get_n_meta (out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
          == 1,
      "frame %" G_GUINT64_FORMAT " has regions of others", number);
  expect ((GST_BUFFER_FLAGS (out) & all) == flags_of (number),
      "frame %" G_GUINT64_FORMAT " has flags 0x%x instead of 0x%x", number,
      GST_BUFFER_FLAGS (out) & all, flags_of (number));
}

static void
push_marked (Flight *flight, guint64 number)
{
  GstBuffer *in = flight_frame (flight, number);
  GstVideoRegionOfInterestMeta *region;

  GST_BUFFER_FLAG_SET (in, flags_of (number));
  region = gst_buffer_add_video_region_of_interest_meta (
      in, "number", (guint) number, 1, 2, 3);
  region->id = (gint) number;
  expect (gst_harness_push (flight->filter.harness, in) == GST_FLOW_OK,
      "frame %" G_GUINT64_FORMAT " is not taken", number);
}

static void
flight_order (void)
{
  for (guint d = 0; d < G_N_ELEMENTS (depths); d++) {
    const guint64 n = MAX (40, depths[d] + 16);
    char *settings = g_strdup_printf ("sigma=1 ring-depth=%u", depths[d]);
    Flight *flight = flight_open (settings, "NV12", 33, 17, NULL);

    flight_set_jitter (flight, 600, depths[d]);
    for (guint64 i = 0; i < n; i++)
      push_marked (flight, i);
    flight_await (flight, (guint) n);
    for (guint64 i = 0; i < n; i++) {
      GstBuffer *out = flight_pull (flight), *in = flight_frame (flight, i);

      expect (GST_BUFFER_OFFSET (out) == i
              && GST_BUFFER_PTS (out) == GST_BUFFER_PTS (in)
              && GST_BUFFER_DTS (out) == GST_BUFFER_DTS (in)
              && GST_BUFFER_DURATION (out) == GST_BUFFER_DURATION (in),
          "instead of frame %" G_GUINT64_FORMAT " came %" GST_PTR_FORMAT, i,
          (gpointer) out);
      expect_marks (out, i);
      picture_expect (in, out, &flight->info, "sigma=1", FALSE);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
    expect (
        gst_harness_try_pull (flight->filter.harness) == NULL, "one too many");
    flight_close (flight);
    g_free (settings);
  }
}

/* ---- how many ------------------------------------------------------------ */

/* While the sink holds the first frame, exactly ring-depth frames are accepted. */
static void
check_depth (const char *settings, guint depth)
{
  Flight *flight = flight_open (settings, "NV12", 32, 16, NULL);
  Pushes pushes = { flight, 0, depth + 1, 0 };
  const gint64 end = g_get_monotonic_time () + 10 * G_TIME_SPAN_SECOND;
  gpointer flow;
  Task *task;

  flight_hold (flight);
  task = task_start (push_frames, &pushes);
  while ((guint) g_atomic_int_get (&pushes.pushed) < depth
      && g_get_monotonic_time () < end)
    g_usleep (200);
  expect ((guint) g_atomic_int_get (&pushes.pushed) == depth,
      "%d frames are taken, not %u", g_atomic_int_get (&pushes.pushed), depth);
  flight_await_held (flight);
  g_usleep (5000);
  expect (!task_is_done (task), "%u frames are in flight", depth + 1);
  flight_let_go (flight);
  flow = task_end (task, "pushing to a sink that goes on");
  expect (GPOINTER_TO_INT (flow) == GST_FLOW_OK, "pushing gave %s",
      gst_flow_get_name (GPOINTER_TO_INT (flow)));
  for (guint64 i = 0; i <= depth; i++)
    flight_expect (flight, i, "sigma=1");
  expect (flight_peak (flight) <= depth, "in-flight-peak is %u",
      flight_peak (flight));
  /* The frame that the sink holds has left the ring. */
  expect (depth < 3 || flight_peak (flight) >= depth - 1,
      "in-flight-peak is %u with a sink that stands still",
      flight_peak (flight));
  flight_close (flight);
}

static void
flight_depth (void)
{
  check_depth ("sigma=1", 4);
  check_depth ("sigma=1 ring-depth=0", 4);
  for (guint d = 0; d < G_N_ELEMENTS (depths); d++) {
    char *settings = g_strdup_printf ("sigma=1 ring-depth=%u", depths[d]);

    check_depth (settings, depths[d]);
    g_free (settings);
  }
}

/* A lone frame comes out without another frame after it. */
static void
flight_alone (void)
{
  static const guint slices[] = { 0, 1, 2, 5, 16 };

  for (guint d = 0; d < G_N_ELEMENTS (depths); d++) {
    char *settings = g_strdup_printf ("sigma=1 ring-depth=%u", depths[d]);
    Flight *flight = flight_open (settings, "NV12", 160, 90, NULL);
    guint64 number = 0;

    for (guint s = 0; s < G_N_ELEMENTS (slices); s++) {
      g_object_set (flight->filter.element, "slices", slices[s], NULL);
      test_context ("format=NV12 size=160x90 ring-depth=%u slices=%u",
          depths[d], slices[s]);
      for (int i = 0; i < 2; i++, number++) {
        flight_push (flight, number);
        flight_expect (flight, number, "sigma=1");
      }
    }
    flight_close (flight);
    g_free (settings);
  }
}

/* ---- inputs -------------------------------------------------------------- */

static void
on_freed (gpointer freed, GstMiniObject *object)
{
  (void) object;
  g_atomic_int_set ((gint *) freed, 1);
}

/* Once a frame is out, nobody holds its input any more, and nobody has written to
 * it. */
static void
flight_input_is_free (void)
{
  Flight *flight = flight_open ("sigma=1", "I420", 65, 33, NULL);

  for (guint64 i = 0; i < 8; i++) {
    GstBuffer *in = flight_frame (flight, i), *kept = NULL, *before;
    gint freed = 0;

    before = gst_buffer_copy_deep (in);
    gst_mini_object_weak_ref (GST_MINI_OBJECT (in), on_freed, &freed);
    if (i % 2 == 1)
      kept = gst_buffer_ref (in);
    expect (gst_harness_push (flight->filter.harness, in) == GST_FLOW_OK,
        "not taken");
    flight_expect (flight, i, "sigma=1");
    if (kept != NULL) {
      ASSERT_BUFFER_REFCOUNT (kept, "input", 1);
      picture_expect_same (before, kept, &flight->info);
      gst_buffer_unref (kept);
    }
    expect (g_atomic_int_get (&freed), "the input is still held");
    gst_buffer_unref (before);
  }
  flight_close (flight);
}

/* A source never starves, even if its pool has only a few buffers more than the filter
 * may hold. */
static gpointer
push_from_pool (gpointer user)
{
  Flight *flight = user;
  GstBufferPool *pool = gst_video_buffer_pool_new ();
  GstCaps *caps = video_caps ("I420", 65, 33, NULL);
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstFlowReturn flow = GST_FLOW_OK;

  gst_buffer_pool_config_set_params (
      config, caps, (guint) flight->info.size, 5, 5);
  gst_caps_unref (caps);
  if (!gst_buffer_pool_set_config (pool, config)
      || !gst_buffer_pool_set_active (pool, TRUE))
    flow = GST_FLOW_CUSTOM_ERROR;
  for (guint64 i = 0; i < 60 && flow == GST_FLOW_OK; i++) {
    GstBuffer *in, *picture = flight_frame (flight, i);
    GstMapInfo map;

    flow = gst_buffer_pool_acquire_buffer (pool, &in, NULL);
    if (flow == GST_FLOW_OK) {
      gst_buffer_copy_into (
          in, picture, GST_BUFFER_COPY_TIMESTAMPS, 0, (gsize) -1);
      gst_buffer_map (in, &map, GST_MAP_WRITE);
      gst_buffer_extract (picture, 0, map.data, map.size);
      gst_buffer_unmap (in, &map);
      flow = gst_harness_push (flight->filter.harness, in);
    }
    gst_buffer_unref (picture);
  }
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  return GINT_TO_POINTER (flow);
}

static void
flight_small_source_pool (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "I420", 65, 33, NULL);
  gpointer flow;

  flight_set_jitter (flight, 300, 5);
  flow = task_end (task_start (push_from_pool, flight), "a pool of 5 buffers");
  expect (GPOINTER_TO_INT (flow) == GST_FLOW_OK, "pushing gave %s",
      gst_flow_get_name (GPOINTER_TO_INT (flow)));
  for (guint64 i = 0; i < 60; i++)
    flight_expect (flight, i, "sigma=1");
  flight_close (flight);
}

/* ---- statistics and latency ---------------------------------------------- */

static void
flight_statistics (void)
{
  static const char *const transfers[] = { "auto", "pinned", "mapped",
    "pageable" };

  for (guint t = 0; t < G_N_ELEMENTS (transfers); t++) {
    char *settings =
        g_strdup_printf ("sigma=1 ring-depth=4 transfer=%s", transfers[t]);
    Flight *flight = flight_open (settings, "NV12", 64, 48, NULL);
    const guint64 bytes = test_on_cuda () ? 12 * flight->info.size : 0;
    /* A copy of pageable memory is complete when the call returns, so that a frame may
     * be out before the next comes in. */
    const guint least =
        test_on_cuda () && g_str_equal (transfers[t], "pageable") ? 1 : 2;

    flight_set_jitter (flight, 2000, t);
    for (guint64 i = 0; i < 12; i++)
      flight_push (flight, i);
    for (guint64 i = 0; i < 12; i++)
      flight_expect (flight, i, "sigma=1");
    expect (flight_count (flight, "bytes-up") == bytes
            && flight_count (flight, "bytes-down") == bytes,
        "%" G_GUINT64_FORMAT " bytes went up and %" G_GUINT64_FORMAT
        " came down instead of %" G_GUINT64_FORMAT,
        flight_count (flight, "bytes-up"), flight_count (flight, "bytes-down"),
        bytes);
    expect (flight_count (flight, "frames-in") == 12
            && flight_count (flight, "frames-out") == 12,
        "%" G_GUINT64_FORMAT " frames in, %" G_GUINT64_FORMAT " out",
        flight_count (flight, "frames-in"),
        flight_count (flight, "frames-out"));
    expect (flight_peak (flight) >= least && flight_peak (flight) <= 4,
        "in-flight-peak is %u", flight_peak (flight));
    flight_close (flight);
    g_free (settings);
  }
}

/* Frames in flight add no latency that a pipeline would have to wait for. */
static void
flight_latency (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=16", "NV12", 32, 24, NULL);
  GstClockTime latency;

  gst_harness_set_upstream_latency (flight->filter.harness, 7 * GST_MSECOND);
  for (guint64 i = 0; i < 3; i++) {
    latency = gst_harness_query_latency (flight->filter.harness);
    expect (latency == 7 * GST_MSECOND,
        "latency is %" GST_TIME_FORMAT " instead of upstream's 7 ms",
        GST_TIME_ARGS (latency));
    flight_push (flight, i);
  }
  flight_close (flight);
}

static void
flight_position (void)
{
  static const char *const settings[] = { "sigma=1", "sigma=0" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    Flight *flight = flight_open (settings[s], "NV12", 32, 24, NULL);
    gint64 last = -1, position;

    for (guint64 i = 0; i < 12; i++) {
      flight_push (flight, i);
      flight_expect (flight, i, settings[s]);
      expect (gst_pad_peer_query_position (
                  flight->filter.harness->sinkpad, GST_FORMAT_TIME, &position),
          "no position");
      expect (position > last && position >= (gint64) (i * GST_SECOND / 30)
              && position <= (gint64) ((i + 2) * GST_SECOND / 30),
          "position is %" G_GINT64_FORMAT " after frame %" G_GUINT64_FORMAT,
          position, i);
      last = position;
    }
    flight_close (flight);
  }
}

const Test tests_flight[] = {
  { "flight-order", flight_order, VARIANT_BOTH },
  { "flight-depth", flight_depth, VARIANT_BOTH },
  { "flight-alone", flight_alone, VARIANT_BOTH },
  { "flight-input-is-free", flight_input_is_free, VARIANT_BOTH },
  { "flight-small-source-pool", flight_small_source_pool, VARIANT_BOTH },
  { "flight-statistics", flight_statistics, VARIANT_BOTH },
  { "flight-latency", flight_latency, VARIANT_BOTH },
  { "flight-position", flight_position, VARIANT_BOTH },
  { 0 },
};
