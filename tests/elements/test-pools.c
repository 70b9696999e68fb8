/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Buffer pools: the owner of the memory of frames. */
#include "flight-fixture.h"

#include <string.h>

/* Frames in the offered pool are filtered, in the memory kind that the transfer needs on
 * both sides. */
static void
pools_offered (void)
{
  static const char *const transfers[] = { "auto", "pinned", "mapped",
    "pageable" };
  static const char *const formats[] = { "NV12", "RGB", "I420_10LE" };

  for (guint i = 0; i < G_N_ELEMENTS (transfers) * G_N_ELEMENTS (formats);
       i++) {
    const char *transfer = transfers[i / G_N_ELEMENTS (formats)];
    const gboolean pinned =
        test_on_cuda () && !g_str_equal (transfer, "pageable");
    char *settings = g_strdup_printf ("sigma=1 transfer=%s", transfer);
    Flight *flight = flight_open (
        settings, formats[i % G_N_ELEMENTS (formats)], 51, 31, NULL);
    GstBufferPool *pool;

    pool = flight_pool (flight);
    for (guint64 n = 0; n < 20; n++) {
      GstBuffer *in = flight_frame_in (flight, pool, n);

      expect (buffer_is_pinned (in) == pinned, "the offered pool is %spinned",
          pinned ? "not " : "");
      expect (gst_harness_push (flight->filter.harness, in) == GST_FLOW_OK,
          "not taken");
    }
    for (guint64 n = 0; n < 20; n++) {
      GstBuffer *out = flight_pull (flight), *in = flight_frame (flight, n);

      expect (GST_BUFFER_OFFSET (out) == n, "out of order");
      expect (buffer_is_pinned (out) == pinned, "the output is %spinned",
          pinned ? "not " : "");
      picture_expect (in, out, &flight->info, "sigma=1", FALSE);
      gst_buffer_unref (in);
      gst_buffer_unref (out);
    }
    gst_buffer_pool_set_active (pool, FALSE);
    gst_object_unref (pool);
    flight_close (flight);
    g_free (settings);
  }
}

static gboolean
asks_again (Flight *flight)
{
  gboolean asked = FALSE;
  GstEvent *event;

  while ((event = gst_harness_try_pull_upstream_event (flight->filter.harness))
      != NULL) {
    asked = asked || GST_EVENT_TYPE (event) == GST_EVENT_RECONFIGURE;
    gst_event_unref (event);
  }
  return asked;
}

/* When another memory kind becomes the best, upstream is informed, and outputs use it. */
static void
pools_follow_settings (void)
{
  static const struct
  {
    const char *step;
    gboolean pinned, untouched;
  } steps[] = {
    { "sigma=1", TRUE, FALSE },
    { "transfer=pageable", FALSE, FALSE },
    { "transfer=pinned", TRUE, FALSE },
    { "backend=cpu", FALSE, FALSE },
    { "backend=cuda", TRUE, FALSE },
    { "sigma=0", FALSE, TRUE },
    { "sigma=1", TRUE, FALSE },
  };
  Flight *flight = flight_open ("sigma=0", "NV12", 51, 31, NULL);
  GString *settings = g_string_new ("sigma=0");

  flight_push (flight, 0);
  flight_expect (flight, 0, "sigma=0");
  asks_again (flight);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    GstBufferPool *pool;
    GstBuffer *out, *in;

    g_string_append_printf (settings, " %s", steps[s].step);
    test_context ("format=NV12 size=51x31 settings=%s", settings->str);
    settings_apply (flight->filter.element, steps[s].step);
    flight_push (flight, s);
    out = flight_pull (flight);
    in = flight_frame (flight, s);
    picture_expect (in, out, &flight->info, settings->str, FALSE);
    gst_buffer_unref (in);
    expect (buffer_is_pinned (out) == steps[s].pinned, "the output is %spinned",
        steps[s].pinned ? "not " : "");
    gst_buffer_unref (out);
    if (steps[s].untouched)
      continue;
    expect (asks_again (flight), "upstream is not told");
    pool = flight_pool (flight);
    in = flight_frame_in (flight, pool, s);
    expect (buffer_is_pinned (in) == steps[s].pinned,
        "the offered pool is %spinned", steps[s].pinned ? "not " : "");
    gst_buffer_unref (in);
    gst_buffer_pool_set_active (pool, FALSE);
    gst_object_unref (pool);
  }
  g_string_free (settings, TRUE);
  flight_close (flight);
}

/* ---- buffers that outlive the filter ------------------------------------- */

typedef struct
{
  GstBuffer *buffer;
  GstBufferPool *pool;
  GstMemory *part;
} Orphan;

/* Writes to the whole buffer and frees it, on a thread of no element. */
static gpointer
use_orphan (gpointer user)
{
  Orphan *orphan = user;
  gboolean ok = FALSE;
  GstMapInfo map;

  orphan->buffer = gst_buffer_make_writable (orphan->buffer);
  if (gst_buffer_map (orphan->buffer, &map, GST_MAP_READWRITE)) {
    memset (map.data, 0x5a, map.size);
    ok = map.data[map.size - 1] == 0x5a;
    gst_buffer_unmap (orphan->buffer, &map);
  }
  gst_buffer_unref (orphan->buffer);
  if (ok && gst_memory_map (orphan->part, &map, GST_MAP_READ)) {
    ok = map.size == 16;
    gst_memory_unmap (orphan->part, &map);
  }
  gst_memory_unref (orphan->part);
  if (orphan->pool != NULL) {
    gst_buffer_pool_set_active (orphan->pool, FALSE);
    gst_object_unref (orphan->pool);
  }
  return GINT_TO_POINTER (ok);
}

static void
expect_usable (GstBuffer *buffer, GstBufferPool *pool, const char *what)
{
  Orphan orphan = { buffer, pool, NULL };
  gpointer ok;

  orphan.part = gst_memory_share (gst_buffer_peek_memory (buffer, 0), 4, 16);
  expect (orphan.part != NULL, "%s cannot be shared", what);
  ok = task_end (task_start (use_orphan, &orphan), what);
  expect (GPOINTER_TO_INT (ok), "%s is unusable", what);
}

static void
pools_outlive_the_filter (void)
{
  for (guint64 round = 0; round < 5; round++) {
    Flight *flight = flight_open ("sigma=1", "NV12", 64, 48, NULL);
    GstBufferPool *pool;
    GstBuffer *in, *out;

    pool = flight_pool (flight);
    in = flight_frame_in (flight, pool, round);
    expect (gst_harness_push (
                flight->filter.harness, flight_frame_in (flight, pool, round))
            == GST_FLOW_OK,
        "not taken");
    out = flight_pull (flight);
    picture_expect (in, out, &flight->info, "sigma=1", FALSE);
    flight_close (flight);
    expect_usable (out, NULL, "an output of a filter that is gone");
    expect_usable (in, pool, "a buffer of a pool of a filter that is gone");
  }
}

/* ---- the offered pool ---------------------------------------------------- */

/* Acquires several buffers of the offered pool. */
static void
take_buffers (GstBufferPool *pool, GstBuffer **buffers, guint n)
{
  for (guint i = 0; i < n; i++)
    expect (
        gst_buffer_pool_acquire_buffer (pool, &buffers[i], NULL) == GST_FLOW_OK,
        "no buffer from the pool");
}

/* The buffer that was released last is still in the caches, and is acquired first. */
static void
pools_hand_out_the_latest (void)
{
  Flight *flight = flight_open ("sigma=1", "NV12", 51, 31, NULL);
  GstBufferPool *pool = flight_pool (flight);
  GstBuffer *first[5], *again[5];

  take_buffers (pool, first, 5);
  for (guint i = 0; i < 5; i++)
    gst_buffer_unref (first[i]);
  take_buffers (pool, again, 5);
  for (guint i = 0; i < 5; i++)
    expect (again[i] == first[4 - i], "buffer %u is another", i);
  for (guint i = 0; i < 5; i++)
    gst_buffer_unref (again[i]);
  gst_buffer_pool_set_active (pool, FALSE);
  ASSERT_OBJECT_REFCOUNT (pool, "the offered pool", 1);
  gst_object_unref (pool);
  flight_close (flight);
}

/* A buffer whose memory others have replaced or shortened is restored before it is acquired
 * again, or another one is. */
static void
pools_hand_out_whole_buffers (void)
{
  Flight *flight = flight_open ("sigma=1", "NV12", 51, 31, NULL);
  GstBufferPool *pool = flight_pool (flight);

  for (guint i = 0; i < 4; i++) {
    GstBuffer *buffer, *holder = gst_buffer_new ();
    const GstMemory *held = NULL;
    gsize size;

    take_buffers (pool, &buffer, 1);
    size = gst_buffer_get_size (buffer);
    if (i == 0)
      gst_buffer_replace_all_memory (
          buffer, gst_allocator_alloc (NULL, size, NULL));
    else if (i == 1)
      gst_buffer_set_size (buffer, 10);
    else if (i == 2) {
      held = gst_buffer_peek_memory (buffer, 0);
      gst_buffer_append_memory (holder, gst_buffer_get_memory (buffer, 0));
    }
    gst_buffer_unref (buffer);
    take_buffers (pool, &buffer, 1);
    expect (gst_buffer_get_size (buffer) == size, "a buffer of another size");
    expect (buffer_is_pinned (buffer), "a buffer of other memory");
    expect (gst_buffer_peek_memory (buffer, 0) != held,
        "a buffer of memory that somebody holds");
    gst_buffer_unref (buffer);
    gst_buffer_unref (holder);
  }
  gst_buffer_pool_set_active (pool, FALSE);
  ASSERT_OBJECT_REFCOUNT (pool, "the offered pool", 1);
  gst_object_unref (pool);
  flight_close (flight);
}

typedef struct
{
  GstBufferPool *pool;
  GstBuffer *buffer;
} Wish;

static gpointer
take_one (gpointer user)
{
  Wish *wish = user;

  return GINT_TO_POINTER (
      gst_buffer_pool_acquire_buffer (wish->pool, &wish->buffer, NULL));
}

/* A thread that waits for the last buffer gets it, and is released by a flush. */
static void
pools_wait_for_buffers (void)
{
  GstBufferPoolAcquireParams at_once = {
    .flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT
  };
  Flight *flight = flight_open ("sigma=1", "NV12", 51, 31, NULL);
  GstBufferPool *pool = flight_pool (flight);
  GstStructure *config;
  GstBuffer *held[2], *none = NULL;
  GstCaps *caps;
  guint size;

  gst_buffer_pool_set_active (pool, FALSE);
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_get_params (config, &caps, &size, NULL, NULL);
  gst_buffer_pool_config_set_params (config, caps, size, 1, 2);
  expect (gst_buffer_pool_set_config (pool, config)
          && gst_buffer_pool_set_active (pool, TRUE),
      "a pool of two buffers");
  take_buffers (pool, held, 2);
  expect (gst_buffer_pool_acquire_buffer (pool, &none, &at_once) == GST_FLOW_EOS
          && none == NULL,
      "a third buffer");
  for (guint i = 0; i < 20; i++) {
    Wish wish = { pool, NULL };
    Task *task = task_start (take_one, &wish);

    if (i % 2 == 0)
      g_usleep (2000);
    gst_buffer_unref (held[i % 2]);
    expect (GPOINTER_TO_INT (task_end (task, "the wait")) == GST_FLOW_OK,
        "no buffer");
    expect (wish.buffer != held[(i + 1) % 2], "a buffer twice");
    held[i % 2] = wish.buffer;
  }
  for (guint i = 0; i < 2; i++) {
    Wish wish = { pool, NULL };
    Task *task = task_start (take_one, &wish);

    g_usleep (2000);
    expect (!task_is_done (task), "a third buffer");
    gst_buffer_pool_set_flushing (pool, TRUE);
    expect (GPOINTER_TO_INT (task_end (task, "the wait")) == GST_FLOW_FLUSHING,
        "a buffer of a pool that is flushing");
    gst_buffer_unref (held[i]);
    expect (
        gst_buffer_pool_acquire_buffer (pool, &none, NULL) == GST_FLOW_FLUSHING,
        "a buffer of a pool that is flushing");
    gst_buffer_pool_set_flushing (pool, FALSE);
    take_buffers (pool, &held[i], 1);
  }
  gst_buffer_unref (held[0]);
  gst_buffer_unref (held[1]);
  gst_buffer_pool_set_active (pool, FALSE);
  ASSERT_OBJECT_REFCOUNT (pool, "the offered pool", 1);
  gst_object_unref (pool);
  flight_close (flight);
}

/* ---- downstream's pools -------------------------------------------------- */

/* A pool that cannot be replaced: its buffers have the layout that its owner needs. */
typedef struct
{
  GstVideoBufferPool parent;
  GstVideoInfo info;
} OwnPool;
typedef GstVideoBufferPoolClass OwnPoolClass;

GType own_pool_get_type (void);
G_DEFINE_TYPE (OwnPool, own_pool, GST_TYPE_VIDEO_BUFFER_POOL)

static GstBuffer *
own_buffer (const GstVideoInfo *info)
{
  const PictureLayout layout = { .stride_padding = 40, .plane_padding = 24 };

  return picture_new_laid_out (info, 5, &layout);
}

static GstFlowReturn
own_pool_alloc (
    GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  (void) params;
  *buffer = own_buffer (&((OwnPool *) pool)->info);
  return GST_FLOW_OK;
}

static void
own_pool_class_init (OwnPoolClass *klass)
{
  GST_BUFFER_POOL_CLASS (klass)->alloc_buffer = own_pool_alloc;
}

static void
own_pool_init (OwnPool *pool)
{
  (void) pool;
}

/* The offer of a sink in its answer to the allocation query. */
typedef struct
{
  GstBufferPool *pool; /* may be NULL */
  guint size, least, most;
} Offer;

static GstPadProbeReturn
answer_allocation (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  const Offer *offer = user;
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY (probe);

  (void) pad;
  if (GST_QUERY_TYPE (query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool (
      query, offer->pool, offer->size, offer->least, offer->most);
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return GST_PAD_PROBE_HANDLED;
}

/* Opens a filter whose sink makes this offer, and collects 20 frames in outs. */
static void
filter_into (const Offer *offer, const char *settings, GstVideoInfo *info,
    void (*look) (GstBuffer *out, const Offer *offer))
{
  Filter filter;

  filter_open (&filter, settings);
  gst_pad_add_probe (filter.harness->sinkpad,
      GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH,
      answer_allocation, (gpointer) offer, NULL);
  expect (filter_caps (&filter, gst_video_info_to_caps (info)), "caps refused");
  for (guint32 i = 0; i < 20; i++) {
    GstBuffer *in = picture_new (info, i), *out;

    out = filter_process (&filter, gst_buffer_ref (in));
    look (out, offer);
    picture_expect (in, out, info, "sigma=1", FALSE);
    gst_buffer_unref (in);
    gst_buffer_unref (out);
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
  if (offer->pool != NULL) {
    gst_buffer_pool_set_active (offer->pool, FALSE);
    ASSERT_OBJECT_REFCOUNT (offer->pool, "downstream's pool", 1);
    gst_object_unref (offer->pool);
  }
}

static void
look_for_own_pool (GstBuffer *out, const Offer *offer)
{
  expect (out->pool == offer->pool, "the output is from another pool");
  expect (gst_buffer_get_video_meta (out)->offset[0] == 24,
      "the output is laid out in another way");
}

static void
pools_of_downstream_are_used (void)
{
  static const char *const settings[] = { "sigma=1", "sigma=1 transfer=mapped",
    "sigma=1 transfer=pageable ring-depth=16" };
  static const guint most[] = { 0, 2, 5 };

  for (guint i = 0; i < 9; i++) {
    OwnPool *pool = g_object_new (own_pool_get_type (), NULL);
    Offer offer = { .pool = gst_object_ref_sink (pool),
      .most = most[i % 3],
      .least = most[i % 3] };
    GstBuffer *sample;

    test_context ("format=NV12 size=46x26 own pool of %u, %s", offer.most,
        settings[i / 3]);
    video_info (&pool->info, "NV12", 46, 26, NULL);
    sample = own_buffer (&pool->info);
    offer.size = (guint) gst_buffer_get_size (sample);
    gst_buffer_unref (sample);
    filter_into (&offer, settings[i / 3], &pool->info, look_for_own_pool);
  }
}

/* A pool with fewer buffers than the filter could have in flight: the streaming thread
 * waits for a buffer while the sink is blocked; flushing and stopping release it. */
static void
pools_smaller_than_the_ring (void)
{
  for (guint round = 0; round < 6; round++) {
    OwnPool *pool = g_object_new (own_pool_get_type (), NULL);
    Offer offer = { .pool = gst_object_ref_sink (pool), .most = 2 };
    Flight *flight = flight_open ("sigma=1 ring-depth=8", "NV12", 46, 26, NULL);
    Pushes pushes = { flight, 0, 8, 0 };
    GstBuffer *sample;
    Task *task;

    pool->info = flight->info;
    sample = own_buffer (&pool->info);
    offer.size = (guint) gst_buffer_get_size (sample);
    gst_buffer_unref (sample);
    gst_pad_add_probe (flight->filter.harness->sinkpad,
        GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH,
        answer_allocation, &offer, NULL);
    gst_harness_push_upstream_event (
        flight->filter.harness, gst_event_new_reconfigure ());
    flight_hold (flight);
    task = task_start (push_frames, &pushes);
    flight_await_held (flight);
    g_usleep (2000);
    expect (!task_is_done (task), "8 frames in 2 buffers");
    if (round % 2 == 0)
      flight_send (flight, gst_event_new_flush_start ());
    else
      flight_let_go (flight);
    /* Pulled and released at once. */
    while (!task_is_done (task)) {
      GstBuffer *out = gst_harness_try_pull (flight->filter.harness);

      if (out != NULL)
        gst_buffer_unref (out);
      else
        g_usleep (100);
    }
    task_end (task, "pushing");
    flight_close (flight);
    gst_buffer_pool_set_active (offer.pool, FALSE);
    gst_object_unref (offer.pool);
  }
}

/* The alignment of a plain pool is kept, in any memory kind. */
static void
look_for_alignment (GstBuffer *out, const Offer *offer)
{
  GstVideoMeta *meta = gst_buffer_get_video_meta (out);

  (void) offer;
  expect (meta != NULL, "no GstVideoMeta");
  expect (meta->stride[0] % 64 == 0 && meta->stride[1] % 64 == 0,
      "strides are %d and %d", meta->stride[0], meta->stride[1]);
  expect (meta->stride[0] >= 46 + 64 && meta->offset[0] >= 32,
      "no padding: stride %d, offset %" G_GSIZE_FORMAT, meta->stride[0],
      meta->offset[0]);
  expect (buffer_is_pinned (out) == test_on_cuda (), "the output is %spinned",
      test_on_cuda () ? "not " : "");
}

static void
pools_keep_alignment (void)
{
  GstVideoInfo info;
  GstVideoAlignment alignment;
  GstStructure *config;
  GstCaps *caps = video_caps ("NV12", 46, 26, NULL);
  Offer offer = { .pool = gst_video_buffer_pool_new () };

  test_context ("format=NV12 size=46x26, a plain pool with padding");
  video_info (&info, "NV12", 46, 26, NULL);
  offer.size = 4 * (guint) info.size;
  gst_video_alignment_reset (&alignment);
  alignment.padding_left = alignment.padding_right = 32;
  for (int p = 0; p < GST_VIDEO_MAX_PLANES; p++)
    alignment.stride_align[p] = 63;
  config = gst_buffer_pool_get_config (offer.pool);
  gst_buffer_pool_config_set_params (config, caps, offer.size, 0, 0);
  gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option (
      config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  gst_buffer_pool_config_set_video_alignment (config, &alignment);
  expect (gst_buffer_pool_set_config (offer.pool, config), "pool");
  gst_caps_unref (caps);
  filter_into (&offer, "sigma=1", &info, look_for_alignment);
}

/* A pool that only allocates need not be used. */
static void
look_for_best (GstBuffer *out, const Offer *offer)
{
  (void) offer;
  expect (buffer_is_pinned (out) == test_on_cuda (), "the output is %spinned",
      test_on_cuda () ? "not " : "");
}

static void
pools_plain (void)
{
  for (int with_pool = 0; with_pool < 3; with_pool++) {
    Offer offer = { .pool = with_pool == 0 ? NULL
          : with_pool == 1                 ? gst_video_buffer_pool_new ()
                                           : gst_buffer_pool_new () };
    GstVideoInfo info;

    test_context ("format=I420 size=46x26, plain pool %d", with_pool);
    video_info (&info, "I420", 46, 26, NULL);
    offer.size = (guint) info.size;
    filter_into (&offer, "sigma=1", &info, look_for_best);
  }
}

/* ---- allocators with a misleading name --------------------------------------- */

/* An allocator of ordinary memory that has the name of the pinned allocator. */
typedef GstAllocator Impostor;
typedef GstAllocatorClass ImpostorClass;

typedef struct
{
  GstMemory parent;
  guint8 *data;
} ImpostorMemory;

static GType impostor_get_type (void);
G_DEFINE_TYPE (Impostor, impostor, GST_TYPE_ALLOCATOR)

static GstMemory *
impostor_alloc (
    GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  ImpostorMemory *memory = g_new0 (ImpostorMemory, 1);

  memory->data = g_malloc (size);
  gst_memory_init (GST_MEMORY_CAST (memory), params->flags, allocator, NULL,
      size, 0, 0, size);
  return GST_MEMORY_CAST (memory);
}

static void
impostor_free (GstAllocator *allocator, GstMemory *memory)
{
  (void) allocator;
  g_free (((ImpostorMemory *) memory)->data);
  g_free (memory);
}

static gpointer
impostor_map (GstMemory *memory, gsize size, GstMapFlags flags)
{
  (void) size;
  (void) flags;
  return ((ImpostorMemory *) memory)->data;
}

static void
impostor_unmap (GstMemory *memory)
{
  (void) memory;
}

static void
impostor_init (Impostor *self)
{
  self->mem_type = "PinnedHostMemory";
  self->mem_map = impostor_map;
  self->mem_unmap = impostor_unmap;
}

static void
impostor_class_init (ImpostorClass *klass)
{
  klass->alloc = impostor_alloc;
  klass->free = impostor_free;
}

/* Ordinary memory under that name is copied when the frame is submitted, and then released,
 * like all ordinary memory: copy engines cannot reach it. */
static void
pools_not_by_name (void)
{
  Flight *flight = flight_open ("sigma=1", "NV12", 64, 32, NULL);
  GstAllocator *allocator =
      gst_object_ref_sink (g_object_new (impostor_get_type (), NULL));
  GstBuffer *model = flight_frame (flight, 1), *in = gst_buffer_new ();
  GstMapInfo map;

  gst_buffer_append_memory (
      in, gst_allocator_alloc (allocator, gst_buffer_get_size (model), NULL));
  gst_buffer_copy_into (in, model, GST_BUFFER_COPY_METADATA, 0, -1);
  expect (gst_buffer_map (model, &map, GST_MAP_READ), "no map");
  gst_buffer_fill (in, 0, map.data, map.size);
  gst_buffer_unmap (model, &map);
  gst_buffer_unref (model);

  flight_hold (flight);
  flight_push (flight, 0);
  flight_await_held (flight);
  expect (gst_harness_push (flight->filter.harness, gst_buffer_ref (in))
          == GST_FLOW_OK,
      "not taken");
  ASSERT_BUFFER_REFCOUNT (in, "the input of a frame in flight", 1);
  flight_let_go (flight);
  flight_expect (flight, 0, "sigma=1");
  flight_expect (flight, 1, "sigma=1");
  gst_buffer_unref (in);
  gst_object_unref (allocator);
  flight_close (flight);
}

const Test tests_pools[] = {
  { "pools-offered", pools_offered, VARIANT_BOTH },
  { "pools-follow-settings", pools_follow_settings, VARIANT_CUDA },
  { "pools-outlive-the-filter", pools_outlive_the_filter, VARIANT_BOTH },
  { "pools-hand-out-the-latest", pools_hand_out_the_latest, VARIANT_CUDA },
  { "pools-hand-out-whole-buffers", pools_hand_out_whole_buffers,
      VARIANT_CUDA },
  { "pools-wait-for-buffers", pools_wait_for_buffers, VARIANT_CUDA },
  { "pools-of-downstream-are-used", pools_of_downstream_are_used,
      VARIANT_BOTH },
  { "pools-smaller-than-the-ring", pools_smaller_than_the_ring, VARIANT_BOTH },
  { "pools-keep-alignment", pools_keep_alignment, VARIANT_BOTH },
  { "pools-not-by-name", pools_not_by_name, VARIANT_BOTH },
  { "pools-plain", pools_plain, VARIANT_BOTH },
  { 0 },
};
