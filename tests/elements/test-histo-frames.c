/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto only reads frames: they leave as they came. */
#include "flight-fixture.h"
#include "histo-oracle.h"

#define MAX_MEMORIES 4

/* Everything about a buffer except its samples. */
typedef struct
{
  GstBuffer *buffer;
  GstMemory *memory[MAX_MEMORIES];
  guint n_memories, flags;
  GstClockTime pts, dts, duration;
  guint64 offset, offset_end;
} Looks;

static Looks
looks_of (GstBuffer *buffer)
{
  Looks looks = { .buffer = buffer,
    .n_memories = gst_buffer_n_memory (buffer),
    /* This flag is private to a buffer and its pool. */
    .flags = GST_BUFFER_FLAGS (buffer) & ~(guint) GST_BUFFER_FLAG_TAG_MEMORY,
    .pts = GST_BUFFER_PTS (buffer),
    .dts = GST_BUFFER_DTS (buffer),
    .duration = GST_BUFFER_DURATION (buffer),
    .offset = GST_BUFFER_OFFSET (buffer),
    .offset_end = GST_BUFFER_OFFSET_END (buffer) };

  expect (looks.n_memories <= MAX_MEMORIES, "%u memories", looks.n_memories);
  for (guint i = 0; i < looks.n_memories; i++)
    looks.memory[i] = gst_buffer_peek_memory (buffer, i);
  return looks;
}

/* Compares everything except the buffer's identity. */
static void
expect_alike (const Looks *a, const Looks *b)
{
  expect (a->n_memories == b->n_memories, "%u memories instead of %u",
      b->n_memories, a->n_memories);
  for (guint i = 0; i < a->n_memories; i++)
    expect (a->memory[i] == b->memory[i], "memory %u is another", i);
  expect (a->flags == b->flags, "flags are 0x%x instead of 0x%x", b->flags,
      a->flags);
  expect (a->pts == b->pts && a->dts == b->dts && a->duration == b->duration,
      "the times changed");
  expect (a->offset == b->offset && a->offset_end == b->offset_end,
      "the offsets changed");
}

static const PictureLayout layouts[] = { { 0 },
  { .stride_padding = 33, .plane_padding = 7 }, { .split = TRUE },
  { .stride_padding = 4, .read_only = TRUE } };

static const guint frame_flags[] = { 0, GST_BUFFER_FLAG_DISCONT,
  GST_BUFFER_FLAG_DELTA_UNIT | GST_BUFFER_FLAG_MARKER,
  GST_BUFFER_FLAG_CORRUPTED | GST_BUFFER_FLAG_DROPPABLE,
  GST_BUFFER_FLAG_HEADER | GST_BUFFER_FLAG_RESYNC, GST_BUFFER_FLAG_GAP,
  GST_VIDEO_BUFFER_FLAG_TFF | GST_VIDEO_BUFFER_FLAG_RFF };

/* A picture with everything that a frame may carry. */
static GstBuffer *
decorated (const GstVideoInfo *info, guint32 n)
{
  GstBuffer *buffer =
      picture_new_laid_out (info, n, &layouts[n % G_N_ELEMENTS (layouts)]);

  GST_BUFFER_FLAG_SET (buffer, frame_flags[n % G_N_ELEMENTS (frame_flags)]);
  GST_BUFFER_PTS (buffer) = n * GST_SECOND / 30;
  GST_BUFFER_DTS (buffer) = n * GST_SECOND / 30 - MIN (n, 5);
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 30 + n;
  GST_BUFFER_OFFSET (buffer) = 7 * n;
  GST_BUFFER_OFFSET_END (buffer) = 7 * n + 3;
  gst_buffer_add_video_region_of_interest_meta (buffer, "face", n, 2, 3, 4);
  return buffer;
}

static void
expect_region (GstBuffer *buffer, guint n)
{
  GstVideoRegionOfInterestMeta *meta =
      gst_buffer_get_video_region_of_interest_meta (buffer);

  expect (meta && meta->x == n, "the region is lost");
  expect (
      gst_buffer_get_n_meta (buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
          == 1,
      "more than one region");
  expect (gst_buffer_get_n_meta (buffer, GST_VIDEO_META_API_TYPE) == 1,
      "%u GstVideoMetas",
      gst_buffer_get_n_meta (buffer, GST_VIDEO_META_API_TYPE));
}

/* ---- nothing attached ---------------------------------------------------- */

/* The same buffers leave; some are counted, none is changed. */
static void
check_same_buffers (const char *settings, int counted)
{
  static const char *const formats[] = { "NV12", "RGB", "GRAY8", "P010_10LE",
    "YUY2", "GBRA" };

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, settings, &info, formats[f], 37, 21, NULL);
    for (guint32 n = 0; n < 28; n++) {
      GstBuffer *in = decorated (&info, n), *out;
      GstBuffer *copy = gst_buffer_copy_deep (in);
      const Looks before = looks_of (in);
      Looks after;

      out = filter_process (&filter, gst_buffer_ref (in));
      expect (out == in, "frame %u: another buffer", n);
      after = looks_of (out);
      expect_alike (&before, &after);
      expect_region (out, n);
      expect (gst_buffer_get_cuda_histogram_meta (out) == NULL,
          "a meta is attached");
      picture_expect_same (copy, out, &info);
      gst_buffer_unref (copy);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
    for (int i = 0; i < counted; i++)
      gst_message_unref (histo_message (&filter));
    histo_expect_silence (&filter);
    filter_close (&filter);
  }
}

static void
histo_frames_counted (void)
{
  check_same_buffers ("cudahisto interval=0", 28);
}

static void
histo_frames_not_counted (void)
{
  check_same_buffers ("cudahisto interval=3600000000000", 1);
}

/* Without anybody to report to, nothing is counted. */
static void
histo_frames_idle (void)
{
  check_same_buffers ("cudahisto interval=0 post-messages=false", 0);
}

/* The filter keeps no reference. */
static void
histo_frames_are_released (void)
{
  GstVideoInfo info;
  GstBuffer *in;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0", &info, "NV12", 37, 21, NULL);
  in = picture_new (&info, 1);
  gst_buffer_unref (filter_process (&filter, gst_buffer_ref (in)));
  ASSERT_BUFFER_REFCOUNT (in, "the frame", 1);
  gst_buffer_unref (in);
  filter_close (&filter);
}

/* ---- with a meta --------------------------------------------------------- */

/* Other holders of the frame do not see the meta; the memory is shared. */
static void
histo_frames_shared (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0 attach-meta=true", &info, "NV12",
      37, 21, NULL);
  for (guint32 n = 0; n < 28; n++) {
    GstBuffer *in = decorated (&info, n), *out;
    const Looks before = looks_of (in);
    Looks after;
    char *problem;

    out = filter_process (&filter, gst_buffer_ref (in));
    expect (out != in, "frame %u: the shared buffer was changed", n);
    expect (gst_buffer_get_cuda_histogram_meta (in) == NULL,
        "frame %u: a meta on the shared buffer", n);
    expect (gst_buffer_get_cuda_histogram_meta (out) != NULL,
        "frame %u: no meta", n);
    after = looks_of (out);
    expect_alike (&before, &after);
    expect_region (in, n);
    expect_region (out, n);
    problem = histo_compare_meta (
        gst_buffer_get_cuda_histogram_meta (out), in, &info, "");
    expect (problem == NULL, "%s", problem);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* A frame that nobody else holds gets its meta without a copy. */
static void
histo_frames_sole (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0 attach-meta=true", &info, "NV12",
      37, 21, NULL);
  for (guint32 n = 0; n < 28; n++) {
    GstBuffer *in = decorated (&info, n), *out;
    const Looks before = looks_of (in);
    Looks after;

    out = filter_process (&filter, in);
    after = looks_of (out);
    expect (after.buffer == before.buffer, "frame %u: another buffer", n);
    expect_alike (&before, &after);
    expect_region (out, n);
    expect (gst_buffer_get_n_meta (
                out, g_type_from_name (GST_CUDA_HISTOGRAM_META_API_NAME))
            == 1,
        "frame %u: not one meta", n);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* Frames between two counted ones carry no meta. */
static void
histo_frames_without_meta (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "cudahisto interval=100000000 attach-meta=true", &info,
      "NV12", 37, 21, NULL);
  for (guint32 n = 0; n < 30; n++) {
    GstBuffer *in = decorated (&info, n), *out;

    out = filter_process (&filter, gst_buffer_ref (in));
    expect ((gst_buffer_get_cuda_histogram_meta (out) != NULL) == (n % 3 == 0),
        "frame %u: a meta, or none", n);
    expect ((in == out) == (n % 3 != 0), "frame %u: copied, or not", n);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  filter_close (&filter);
}

/* ---- pools --------------------------------------------------------------- */

/* A sink that answers the allocation query, with or without a pool. */
static GstPadProbeReturn
answer_allocation (GstPad *pad, GstPadProbeInfo *probe, gpointer pool)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (probe);

  (void) pad;
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  if (pool != NULL)
    gst_query_add_allocation_pool (query, pool, 4096, 3, 0);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

static Flight *
open_before (gpointer pool, const char *settings)
{
  Flight *flight = flight_open (settings, "NV12", 51, 31, NULL);

  gst_pad_add_probe (flight->filter.harness->sinkpad,
      GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH,
      answer_allocation, pool, NULL);
  return flight;
}

/* The pool offered upstream, or NULL. */
static GstBufferPool *
offered_pool (Flight *flight)
{
  GstCaps *caps = gst_video_info_to_caps (&flight->info);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool = NULL;

  expect (gst_pad_peer_query (flight->filter.harness->srcpad, query),
      "the allocation query fails");
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, NULL, NULL, NULL);
  gst_query_unref (query);
  gst_caps_unref (caps);
  return pool;
}

/* Downstream's pool is passed upstream, for every backend. */
static void
histo_frames_pool_of_downstream (void)
{
  static const char *const settings[] = { "cudahisto interval=0",
    "cudahisto post-messages=false", "cudahisto attach-meta=true" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    GstBufferPool *own = gst_video_buffer_pool_new (), *offered;
    Flight *flight = open_before (own, settings[s]);

    offered = offered_pool (flight);
    expect (offered == own, "another pool is offered");
    gst_object_unref (offered);
    flight_close (flight);
    ASSERT_OBJECT_REFCOUNT (own, "downstream's pool", 1);
    gst_object_unref (own);
  }
}

/* Where downstream has no pool, the element offers one of pinned memory with a GPU, and
 * none on the CPU, where nothing would be gained. */
static void
histo_frames_pool_of_its_own (void)
{
  Flight *flight = open_before (NULL, "cudahisto interval=0 attach-meta=true");
  GstBufferPool *pool;

  if (!test_on_cuda ()) {
    expect (offered_pool (flight) == NULL, "a pool is offered");
    flight_close (flight);
    return;
  }
  pool = flight_pool (flight);
  for (guint64 n = 0; n < 20; n++) {
    GstBuffer *in = flight_frame_in (flight, pool, n), *out;
    const Looks before = looks_of (in);
    Looks after;

    expect (buffer_is_pinned (in), "the offered pool is not pinned");
    expect (gst_harness_push (flight->filter.harness, in) == GST_FLOW_OK,
        "not taken");
    out = flight_pull (flight);
    after = looks_of (out);
    expect (after.buffer == before.buffer, "another buffer");
    expect_alike (&before, &after);
    histo_expect (histo_message (&flight->filter), out, &flight->info, "");
    gst_buffer_unref (out);
  }
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  flight_close (flight);
}

/* Drops the query, as a sink that does not answer it does. */
static GstPadProbeReturn
refuse_allocation (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  (void) pad;
  (void) user;
  return GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (probe))
          == GST_QUERY_ALLOCATION
      ? GST_PAD_PROBE_DROP
      : GST_PAD_PROBE_OK;
}

/* A sink that refuses the query has no pool and supports no metas. */
static void
histo_frames_pool_where_refused (void)
{
  GstCaps *caps = video_caps ("NV12", 64, 48, NULL);
  GstQuery *query = gst_query_new_allocation (caps, TRUE);
  GstBufferPool *pool;
  GstStructure *config;
  GstBuffer *buffer;
  guint size, least, most;
  Filter filter;

  test_context ("format=NV12 size=64x48, sink refuses");
  filter_open (&filter, "cudahisto interval=0");
  gst_pad_add_probe (filter.harness->sinkpad,
      GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH,
      refuse_allocation, NULL, NULL);
  expect (filter_caps (&filter, gst_caps_ref (caps)), "caps refused");
  expect (gst_pad_peer_query (filter.harness->srcpad, query),
      "the allocation query fails");
  expect (gst_query_get_n_allocation_pools (query) == 1, "no pool is offered");
  expect (
      !gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL),
      "promises what downstream did not");
  gst_query_parse_nth_allocation_pool (query, 0, &pool, &size, &least, &most);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, caps, size, least, most);
  expect (gst_buffer_pool_set_config (pool, config)
          && gst_buffer_pool_set_active (pool, TRUE)
          && gst_buffer_pool_acquire_buffer (pool, &buffer, NULL)
              == GST_FLOW_OK,
      "the pool gives nothing");
  expect (buffer_is_pinned (buffer), "the offered pool is not pinned");
  gst_buffer_unref (buffer);
  gst_buffer_pool_set_active (pool, FALSE);
  gst_object_unref (pool);
  gst_query_unref (query);
  gst_caps_unref (caps);
  filter_expect_silence (&filter);
  filter_close (&filter);
}

/* Answers the query without an offer, as a sink that needs rows without padding
 * does. */
static GstPadProbeReturn
answer_nothing (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  (void) pad;
  (void) user;
  return GST_QUERY_TYPE (GST_PAD_PROBE_INFO_QUERY (probe))
          == GST_QUERY_ALLOCATION
      ? GST_PAD_PROBE_HANDLED
      : GST_PAD_PROBE_OK;
}

/* Frames reach downstream in their own layout: only downstream decides whether a
 * GstVideoMeta may describe it, whoever offers the pool. */
static void
histo_frames_layouts_of_downstream (void)
{
  for (int can = 0; can < 2; can++) {
    Flight *flight = flight_open ("cudahisto interval=0", "NV12", 51, 31, NULL);
    GstCaps *caps = gst_video_info_to_caps (&flight->info);
    GstQuery *query = gst_query_new_allocation (caps, TRUE);

    gst_pad_add_probe (flight->filter.harness->sinkpad,
        GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH,
        can ? answer_allocation : answer_nothing, NULL, NULL);
    expect (gst_pad_peer_query (flight->filter.harness->srcpad, query),
        "the allocation query fails");
    expect (
        gst_query_find_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL)
            == can,
        "GstVideoMeta is %soffered", can ? "not " : "");
    gst_query_unref (query);
    gst_caps_unref (caps);
    flight_close (flight);
  }
}

const Test tests_histo_frames[] = {
  { "histo-frames-counted", histo_frames_counted, VARIANT_BOTH },
  { "histo-frames-not-counted", histo_frames_not_counted, VARIANT_BOTH },
  { "histo-frames-idle", histo_frames_idle, VARIANT_BOTH },
  { "histo-frames-are-released", histo_frames_are_released, VARIANT_BOTH },
  { "histo-frames-shared", histo_frames_shared, VARIANT_BOTH },
  { "histo-frames-sole", histo_frames_sole, VARIANT_BOTH },
  { "histo-frames-without-meta", histo_frames_without_meta, VARIANT_BOTH },
  { "histo-frames-pool-of-downstream", histo_frames_pool_of_downstream,
      VARIANT_BOTH },
  { "histo-frames-pool-of-its-own", histo_frames_pool_of_its_own,
      VARIANT_BOTH },
  { "histo-frames-pool-where-refused", histo_frames_pool_where_refused,
      VARIANT_CUDA },
  { "histo-frames-layouts-of-downstream", histo_frames_layouts_of_downstream,
      VARIANT_BOTH },
  { 0 },
};
