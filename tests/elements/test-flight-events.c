/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events, queries and flushes among frames in flight. */
#include "flight-fixture.h"

#define CUSTOM_SERIALIZED_QUERY \
  ((GstQueryType) GST_QUERY_MAKE_TYPE ( \
      250, GST_QUERY_TYPE_DOWNSTREAM | GST_QUERY_TYPE_SERIALIZED))

/* Events and queries that are sent after frames in flight, by their names in the sink's
 * log. */
static const char *const kinds[] = { "tag", "gap", "segment", "caps",
  "stream-start", "custom-downstream", "custom-both", "custom-sticky",
  "allocation", "drain", "custom-query", "eos" };

static GstEvent *
custom_event (GstEventType type, const char *name)
{
  return gst_event_new_custom (type, gst_structure_new_empty (name));
}

static GstEvent *
new_event (const char *kind, guint ratio)
{
  char *more;
  GstSegment segment;
  GstCaps *caps;
  GstEvent *event;

  if (g_str_equal (kind, "tag"))
    return gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "t", NULL));
  if (g_str_equal (kind, "gap"))
    return gst_event_new_gap (GST_SECOND, GST_SECOND);
  if (g_str_equal (kind, "eos"))
    return gst_event_new_eos ();
  if (g_str_equal (kind, "stream-start"))
    return gst_event_new_stream_start ("another");
  if (g_str_equal (kind, "custom-downstream"))
    return custom_event (GST_EVENT_CUSTOM_DOWNSTREAM, kind);
  if (g_str_equal (kind, "custom-both"))
    return custom_event (GST_EVENT_CUSTOM_BOTH, kind);
  if (g_str_equal (kind, "custom-sticky"))
    return custom_event (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, kind);
  if (g_str_equal (kind, "segment")) {
    gst_segment_init (&segment, GST_FORMAT_TIME);
    return gst_event_new_segment (&segment);
  }
  more = g_strdup_printf ("pixel-aspect-ratio=%u/1", ratio);
  caps = video_caps ("NV12", 34, 18, more);
  g_free (more);
  event = gst_event_new_caps (caps);
  gst_caps_unref (caps);
  return event;
}

/* Whether it is queued among the frames in flight instead of waiting for them. */
static gboolean
goes_among_frames (const char *kind)
{
  return g_str_equal (kind, "tag") || g_str_equal (kind, "gap")
      || g_str_has_prefix (kind, "custom-downstream")
      || g_str_equal (kind, "custom-both")
      || g_str_equal (kind, "custom-sticky");
}

static GstQuery *
new_query (const char *kind)
{
  GstCaps *caps;
  GstQuery *query = NULL;

  if (g_str_equal (kind, "drain")) {
    query = gst_query_new_drain ();
  } else if (g_str_equal (kind, "custom-query")) {
    query = gst_query_new_custom (
        CUSTOM_SERIALIZED_QUERY, gst_structure_new_empty (kind));
  } else if (g_str_equal (kind, "allocation")) {
    caps = video_caps ("NV12", 34, 18, NULL);
    query = gst_query_new_allocation (caps, FALSE);
    gst_caps_unref (caps);
  }
  return query;
}

typedef struct
{
  Flight *flight;
  const char *kind;
  guint ratio; /* pixel aspect ratio of new caps */
} Sending;

static gpointer
send_kind (gpointer user)
{
  const Sending *sending = user;
  GstHarness *harness = sending->flight->filter.harness;
  GstQuery *query = new_query (sending->kind);
  gboolean answered = TRUE;

  if (query == NULL) {
    gst_harness_push_event (harness, new_event (sending->kind, sending->ratio));
  } else {
    answered = gst_pad_peer_query (harness->srcpad, query);
    gst_query_unref (query);
  }
  return GINT_TO_POINTER (answered);
}

/* Puts k frames in flight, the first of which is held in the sink, and sends one event or
 * query after them. It must arrive after the frames; if it needs them to be gone, it must
 * wait for them. */
static void
check_behind (Flight *flight, const char *kind, guint k, guint64 *number,
    gboolean untouched)
{
  Sending sending = { flight, kind, 2 + k };
  GString *want = g_string_new (NULL);
  gpointer answered;
  Task *task;

  flight_hold (flight);
  for (guint i = 0; i < k; i++) {
    flight_push (flight, *number);
    g_string_append_printf (want, "%" G_GUINT64_FORMAT " ", (*number)++);
  }
  if (k > 0)
    flight_await_held (flight);
  task = task_start (send_kind, &sending);
  if (k > 0 && !goes_among_frames (kind)) {
    /* Enough time to overtake the frames. */
    g_usleep (2000);
    expect (!task_is_done (task), "%s does not wait for %u frames", kind, k);
    flight_let_go (flight);
    answered = task_end (task, kind);
  } else {
    answered = task_end (task, kind);
    flight_let_go (flight);
  }
  expect (GPOINTER_TO_INT (answered), "%s is refused", kind);
  /* The filter sends its own allocation query; when frames pass untouched, it forwards
   * upstream's. */
  if (untouched || !g_str_equal (kind, "allocation"))
    g_string_append (want, kind);
  if (!untouched && g_str_equal (kind, "caps"))
    g_string_append (want, " allocation");
  g_strchomp (want->str);
  flight_expect_log (flight, want->str);
  g_string_free (want, TRUE);
}

/* Each kind, behind any number of frames that the filter can hold. */
static void
check_order (const char *filter_settings, guint depth)
{
  const gboolean untouched = g_str_equal (filter_settings, "sigma=0");
  char *settings = g_strdup_printf ("%s ring-depth=%u", filter_settings, depth);
  Flight *flight = flight_open (settings, "NV12", 34, 18, NULL);
  guint64 number = 0;

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    for (guint k = 0; k <= depth; k++) {
      guint64 first = number;

      test_context ("%s, %s behind %u frames", settings, kinds[i], k);
      flight_clear_log (flight);
      check_behind (flight, kinds[i], k, &number, untouched);
      while (first < number)
        flight_expect (flight, first++, filter_settings);
      if (g_str_equal (kinds[i], "eos"))
        flight_flush (flight);
      if (g_str_equal (kinds[i], "stream-start"))
        flight_send_segment (flight);
      /* And the next frame comes out by itself. */
      flight_push (flight, number);
      flight_expect (flight, number++, filter_settings);
    }
  }
  flight_close (flight);
  g_free (settings);
}

static void
flight_event_order (void)
{
  check_order ("sigma=1", 1);
  check_order ("sigma=1", 2);
  check_order ("sigma=1", 4);
  check_order ("sigma=0", 3);
}

/* A source that sends an event with every frame gets as many frames in flight as one that
 * sends none. */
static void
flight_events_keep_overlap (void)
{
  static const char *const among[] = { "tag", "custom-downstream", "gap",
    "custom-sticky" };
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
  GString *want = g_string_new (NULL);

  flight_clear_log (flight);
  flight_hold (flight);
  for (guint64 n = 0; n < 4; n++) {
    flight_push (flight, n);
    flight_send (flight, new_event (among[n], 1));
    g_string_append_printf (
        want, "%s%" G_GUINT64_FORMAT " %s", n > 0 ? " " : "", n, among[n]);
  }
  expect (flight_peak (flight) >= 3, "%u frames were in flight",
      flight_peak (flight));
  flight_let_go (flight);
  flight_expect_log (flight, want->str);
  for (guint64 n = 0; n < 4; n++)
    flight_expect (flight, n, "sigma=1");
  g_string_free (want, TRUE);
  filter_expect_silence (&flight->filter);
  flight_close (flight);
}

typedef struct
{
  Flight *flight;
  gint sent; /* atomic */
} Sendings;

static gpointer
send_many (gpointer user)
{
  Sendings *sendings = user;

  for (gint i = 0; i < 300; i++) {
    flight_send (
        sendings->flight, custom_event (GST_EVENT_CUSTOM_DOWNSTREAM, "many"));
    g_atomic_int_inc (&sendings->sent);
  }
  return NULL;
}

static gpointer
stop_filter (gpointer element)
{
  gst_element_set_state (element, GST_STATE_NULL);
  return NULL;
}

/* Events do not pile up behind a blocked sink. All arrive when the sink continues;
 * stopping frees those that have not arrived. */
static void
flight_events_are_bounded (void)
{
  for (gint round = 0; round < 2; round++) {
    Flight *flight = flight_open ("sigma=1 ring-depth=2", "NV12", 34, 18, NULL);
    Sendings sendings = { flight, 0 };
    GString *want = g_string_new ("0");
    Task *task;

    flight_clear_log (flight);
    flight_hold (flight);
    flight_push (flight, 0);
    flight_await_held (flight);
    task = task_start (send_many, &sendings);
    g_usleep (50000);
    expect (!task_is_done (task), "300 events wait");
    expect (g_atomic_int_get (&sendings.sent) < 100, "%d events wait",
        g_atomic_int_get (&sendings.sent));
    if (round == 0) {
      flight_let_go (flight);
      task_end (task, "sending events");
      for (gint i = 0; i < 300; i++)
        g_string_append (want, " many");
      flight_expect_log (flight, want->str);
    } else {
      Task *stopping = task_start (stop_filter, flight->filter.element);

      /* By now the filter drops the frames that wait, and waits for the sink. */
      g_usleep (5000);
      flight_let_go (flight);
      task_end (stopping, "stopping");
      task_end (task, "sending events into a filter that stops");
    }
    g_string_free (want, TRUE);
    flight_close (flight);
  }
}

/* A sticky event that waits among frames during a flush still reaches downstream, with the
 * next frame; an event that is not sticky is dropped with the frames. */
static void
flight_flush_keeps_sticky_events (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);

  flight_clear_log (flight);
  flight_hold (flight);
  flight_push (flight, 0);
  flight_await_held (flight);
  flight_push (flight, 1);
  flight_send (flight, new_event ("tag", 1));
  flight_send (flight, new_event ("custom-downstream", 1));
  flight_flush (flight);
  flight_let_go (flight);
  flight_push (flight, 2);
  flight_expect_log (flight, "0 flush-start flush-stop segment tag 2");
  filter_expect_silence (&flight->filter);
  flight_close (flight);
}

/* Frames of the old caps come out complete before the new caps, and frames of the new caps
 * after them. */
static void
flight_caps_change (void)
{
  static const int widths[] = { 34, 50, 17, 34, 64 };
  GstCaps *caps;
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);

  flight_set_jitter (flight, 500, 3);
  for (guint64 i = 0; i < 40; i++) {
    const int width = widths[i / 3 % G_N_ELEMENTS (widths)];

    if (i % 3 == 0) {
      caps = video_caps ("NV12", width, 18, NULL);
      flight_send (flight, gst_event_new_caps (caps));
      gst_caps_unref (caps);
      video_info (&flight->info, "NV12", width, 18, NULL);
    }
    flight_push (flight, i);
  }
  for (guint64 i = 0; i < 40; i++) {
    const int width = widths[i / 3 % G_N_ELEMENTS (widths)];

    video_info (&flight->info, "NV12", width, 18, NULL);
    flight_expect (flight, i, "sigma=1");
  }
  filter_expect_silence (&flight->filter);
  flight_close (flight);
}

/* Events that are not serialized do not wait behind a blocked sink. */
static void
flight_oob_events (void)
{
  static const struct
  {
    GstEventType type;
    const char *name;
  } rows[] = {
    { GST_EVENT_CUSTOM_DOWNSTREAM_OOB, "oob" },
    { GST_EVENT_CUSTOM_BOTH_OOB, "both-oob" },
  };
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
  Pushes pushes = { flight, 0, 6, 0 };
  Task *task;

  flight_hold (flight);
  task = task_start (push_frames, &pushes);
  flight_await_held (flight);
  flight_expect_log (flight, "0");
  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    flight_send (flight, custom_event (rows[r].type, rows[r].name));
    flight_expect_log (flight, rows[r].name);
  }
  /* Nor do queries that are not serialized. */
  expect (gst_harness_query_latency (flight->filter.harness) == 0, "latency");
  flight_let_go (flight);
  task_end (task, "pushing");
  flight_close (flight);
}

/* ---- flushes ------------------------------------------------------------- */

/* A flush reaches a blocked sink. The pushing thread returns, the frames in flight are
 * dropped, and later frames come out. */
static void
flight_flush_full (void)
{
  static const guint depths[] = { 1, 2, 4, 64 };

  for (guint d = 0; d < G_N_ELEMENTS (depths); d++) {
    char *settings = g_strdup_printf ("sigma=1 ring-depth=%u", depths[d]);
    Flight *flight = flight_open (settings, "NV12", 34, 18, NULL);

    for (guint64 round = 0; round < 6; round++) {
      Pushes pushes = { flight, 1000 * round, 1000 * round + depths[d] + 3, 0 };
      Task *task;
      gpointer flow;

      flight_hold (flight);
      task = task_start (push_frames, &pushes);
      flight_await_held (flight);
      /* At various moments: while the ring fills, and when it is full. */
      g_usleep ((gulong) (round * 500));
      flight_send (flight, gst_event_new_flush_start ());
      flow = task_end (task, "pushing while flushing");
      expect (GPOINTER_TO_INT (flow) == GST_FLOW_FLUSHING, "pushing gave %s",
          gst_flow_get_name (GPOINTER_TO_INT (flow)));
      expect (flight_try_push (flight, 1) == GST_FLOW_FLUSHING,
          "a frame is taken while flushing");
      flight_let_go (flight);
      flight_send (flight, gst_event_new_flush_stop (TRUE));
      flight_send_segment (flight);
      for (guint64 i = 0; i < 5; i++)
        flight_push (flight, 1000 * round + 500 + i);
      for (guint64 i = 0; i < 5; i++)
        flight_expect (flight, 1000 * round + 500 + i, "sigma=1");
    }
    filter_expect_silence (&flight->filter);
    flight_close (flight);
    g_free (settings);
  }
}

/* A flush also releases a thread that waits with an event or a query. */
static void
flight_flush_while_draining (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 34, 18, NULL);
  guint64 number = 0;

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++) {
    Sending sending = { flight, kinds[i], 5 };
    Task *task;

    test_context ("%s waits behind 3 frames, then a flush", kinds[i]);
    flight_hold (flight);
    for (int n = 0; n < 3; n++)
      flight_push (flight, number++);
    flight_await_held (flight);
    task = task_start (send_kind, &sending);
    g_usleep (1000);
    flight_send (flight, gst_event_new_flush_start ());
    task_end (task, kinds[i]);
    flight_let_go (flight);
    flight_send (flight, gst_event_new_flush_stop (TRUE));
    flight_send (flight, new_event ("caps", 1));
    flight_send_segment (flight);
    flight_push (flight, number);
    flight_expect (flight, number++, "sigma=1");
  }
  filter_expect_silence (&flight->filter);
  flight_close (flight);
}

const Test tests_flight_events[] = {
  { "flight-event-order", flight_event_order, VARIANT_BOTH },
  { "flight-events-keep-overlap", flight_events_keep_overlap, VARIANT_BOTH },
  { "flight-events-are-bounded", flight_events_are_bounded, VARIANT_BOTH },
  { "flight-flush-keeps-sticky-events", flight_flush_keeps_sticky_events,
      VARIANT_BOTH },
  { "flight-caps-change", flight_caps_change, VARIANT_BOTH },
  { "flight-oob-events", flight_oob_events, VARIANT_BOTH },
  { "flight-flush-full", flight_flush_full, VARIANT_BOTH },
  { "flight-flush-while-draining", flight_flush_while_draining, VARIANT_BOTH },
  { 0 },
};
