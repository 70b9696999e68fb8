/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto with frames in flight: none is lost or counted twice, and each report was
 * counted with one set of settings. */
#include "flight-fixture.h"
#include "histo-oracle.h"

/* The number of the frame of a message. */
static guint64
number_of (GstMessage *message)
{
  return gst_util_uint64_scale_round (
      histo_time (message, "timestamp"), 30, GST_SECOND);
}

/* Takes the next message, which must be about this frame, counted with these settings. */
static void
expect_message (Flight *flight, guint64 number, const char *settings)
{
  GstMessage *message = histo_message (&flight->filter);
  GstBuffer *picture = flight_frame (flight, number);

  expect (number_of (message) == number,
      "a message of frame %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT,
      number_of (message), number);
  histo_expect (message, picture, &flight->info, settings);
  gst_buffer_unref (picture);
}

/* Takes the next frame, which must be unchanged. */
static void
expect_frame (Flight *flight, guint64 number)
{
  flight_expect (flight, number, "planes=");
}

/* A frame may be counted a moment after it has come out. */
static void
expect_stats (Flight *flight, guint64 frames, guint64 counted)
{
  const guint64 up = flight_count (flight, "bytes-up");
  const guint64 size = test_on_cuda () ? flight->info.size : 0;

  for (int i = 0; i < 100 && flight_count (flight, "frames-out") < frames; i++)
    g_usleep (10000);
  expect (flight_count (flight, "frames-in") == frames
          && flight_count (flight, "frames-out") == frames,
      "%" G_GUINT64_FORMAT " frames in and %" G_GUINT64_FORMAT " out",
      flight_count (flight, "frames-in"), flight_count (flight, "frames-out"));
  expect (up >= counted * size && up <= 2 * counted * size,
      "bytes-up is %" G_GUINT64_FORMAT, up);
  expect (flight_count (flight, "bytes-down") == 0, "bytes came down");
}

/* ---- the ring ------------------------------------------------------------ */

static void
histo_flight_depths (void)
{
  for (guint depth = 1; depth <= 8; depth++) {
    char *settings =
        g_strdup_printf ("cudahisto interval=0 ring-depth=%u", depth);
    Flight *flight = flight_open (settings, "NV12", 64, 48, NULL);

    flight_set_jitter (flight, 400, depth);
    for (guint64 n = 0; n < 40; n++)
      flight_push (flight, n);
    for (guint64 n = 0; n < 40; n++)
      expect_frame (flight, n);
    for (guint64 n = 0; n < 40; n++)
      expect_message (flight, n, "");
    histo_expect_silence (&flight->filter);
    expect_stats (flight, 40, 40);
    expect (flight_peak (flight) <= depth, "%u frames were in flight",
        flight_peak (flight));
    flight_close (flight);
    g_free (settings);
  }
}

/* Frames that are not counted are not uploaded. */
static void
histo_flight_stats (void)
{
  static const struct
  {
    const char *settings;
    guint counted;
  } rows[] = {
    { "cudahisto interval=0", 30 },
    { "cudahisto interval=100000000", 10 },
    { "cudahisto interval=3600000000000", 1 },
    { "cudahisto interval=0 post-messages=false", 0 },
    { "cudahisto interval=0 post-messages=false attach-meta=true", 30 },
    { "sigma=0 histogram=true histogram-interval=0", 30 },
    { "sigma=0 histogram=true histogram-interval=100000000", 10 },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    Flight *flight = flight_open (rows[r].settings, "I420", 64, 48, NULL);

    expect_stats (flight, 0, 0);
    for (guint64 n = 0; n < 30; n++)
      flight_push (flight, n);
    for (guint64 n = 0; n < 30; n++)
      expect_frame (flight, n);
    expect_stats (flight, 30, rows[r].counted);
    flight_close (flight);
  }
}

static gpointer
push_eos (gpointer user)
{
  Flight *flight = user;

  return GINT_TO_POINTER (
      gst_harness_push_event (flight->filter.harness, gst_event_new_eos ()));
}

/* EOS waits for the frames in flight, and all of them are reported. */
static void
histo_flight_eos (void)
{
  Flight *flight =
      flight_open ("cudahisto interval=0 ring-depth=4", "NV12", 45, 27, NULL);
  Task *task;

  flight_hold (flight);
  for (guint64 n = 0; n < 4; n++)
    flight_push (flight, n);
  flight_await_held (flight);
  task = task_start (push_eos, flight);
  g_usleep (5000);
  expect (!task_is_done (task), "end of stream does not wait");
  flight_let_go (flight);
  expect (GPOINTER_TO_INT (task_end (task, "end of stream")), "refused");
  flight_expect_log (flight, "0 1 2 3 eos");
  for (guint64 n = 0; n < 4; n++)
    expect_message (flight, n, "");
  histo_expect_silence (&flight->filter);
  flight_close (flight);
}

/* A flush drops the frames in flight and their reports. */
static void
histo_flight_flush (void)
{
  for (guint depth = 1; depth <= 8; depth++) {
    char *settings =
        g_strdup_printf ("cudahisto interval=0 ring-depth=%u", depth);
    Flight *flight = flight_open (settings, "NV12", 45, 27, NULL);

    flight_hold (flight);
    for (guint64 n = 0; n < depth; n++)
      flight_push (flight, n);
    flight_await_held (flight);
    /* Frame 0 has been reported, and is held in the sink. */
    flight_flush (flight);
    flight_let_go (flight);
    flight_push (flight, 50);
    expect_frame (flight, 50);
    expect_message (flight, 0, "");
    expect_message (flight, 50, "");
    histo_expect_silence (&flight->filter);
    flight_close (flight);
    g_free (settings);
  }
}

/* ---- other caps ---------------------------------------------------------- */

static const struct
{
  const char *format;
  int width, height;
} scenes[] = { { "NV12", 45, 27 }, { "NV12", 46, 27 }, { "RGB", 46, 27 },
  { "GRAY8", 1, 1 }, { "P010_10LE", 33, 17 }, { "GRAY8", 200, 100 },
  { "AYUV", 7, 9 }, { "NV12", 45, 27 } };

static void
histo_flight_renegotiation (void)
{
  Flight *flight =
      flight_open ("cudahisto interval=0 ring-depth=3", "NV12", 45, 27, NULL);

  flight_set_jitter (flight, 300, 3);
  for (guint s = 0; s < G_N_ELEMENTS (scenes); s++) {
    video_info (&flight->info, scenes[s].format, scenes[s].width,
        scenes[s].height, NULL);
    expect (filter_caps (&flight->filter,
                video_caps (
                    scenes[s].format, scenes[s].width, scenes[s].height, NULL)),
        "caps refused");
    for (guint64 n = 5 * s; n < 5 * s + 5; n++)
      flight_push (flight, n);
  }
  for (guint s = 0; s < G_N_ELEMENTS (scenes); s++) {
    test_context ("caps %u: %s %dx%d", s, scenes[s].format, scenes[s].width,
        scenes[s].height);
    video_info (&flight->info, scenes[s].format, scenes[s].width,
        scenes[s].height, NULL);
    for (guint64 n = 5 * s; n < 5 * s + 5; n++) {
      expect_frame (flight, n);
      expect_message (flight, n, "");
    }
  }
  histo_expect_silence (&flight->filter);
  flight_close (flight);
}

static double
distance_of (Filter *filter)
{
  GstMessage *message = histo_message (filter);
  const double distance =
      histo_number (gst_message_get_structure (message), "distance");

  gst_message_unref (message);
  return distance;
}

/* The scene change that is reported for a flat grey picture. */
static double
distance_of_grey (Filter *filter, const GstVideoInfo *info, guint8 code)
{
  GstBuffer *picture = gst_buffer_new_allocate (NULL, info->size, NULL);

  gst_buffer_memset (picture, 0, code, info->size);
  gst_buffer_unref (filter_process (filter, picture));
  return distance_of (filter);
}

/* Histograms with other bins or another format are not compared. */
static void
histo_flight_forgets (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0", &info, "GRAY8", 16, 8, NULL);
  expect (distance_of_grey (&filter, &info, 10) == 0.0, "at first");
  expect (distance_of_grey (&filter, &info, 200) == 1.0, "in between");
  filter_restart (&filter);
  filter_caps (&filter, video_caps ("GRAY8", 16, 8, NULL));
  expect (distance_of_grey (&filter, &info, 10) == 0.0, "after a restart");
  settings_apply (filter.element, "bins=16");
  expect (distance_of_grey (&filter, &info, 200) == 0.0, "of other bins");
  expect (distance_of_grey (&filter, &info, 200) == 0.0, "of the same picture");
  expect (distance_of_grey (&filter, &info, 10) == 1.0, "of another picture");
  filter_caps (&filter, video_caps ("GRAY8", 12, 4, NULL));
  video_info (&info, "GRAY8", 12, 4, NULL);
  expect (distance_of_grey (&filter, &info, 200) == 0.0, "of another size");
  expect (distance_of_grey (&filter, &info, 10) == 1.0, "of that size");
  filter_close (&filter);
}

/* Nor are those with other components. */
static void
histo_flight_forgets_components (void)
{
  static const char *const steps[] = { "planes=color", "planes=luma+alpha",
    "planes=all", "planes=luma", "planes=luma+alpha" };
  GstVideoInfo info;
  Filter filter;
  guint8 code = 10;

  filter_start (
      &filter, "cudahisto interval=0 planes=luma", &info, "AYUV", 16, 8, NULL);
  expect (distance_of_grey (&filter, &info, code) == 0.0, "at first");
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    test_context ("%s", steps[s]);
    settings_apply (filter.element, steps[s]);
    code = (guint8) (250 - code);
    expect (distance_of_grey (&filter, &info, code) == 0.0, "of others");
    code = (guint8) (250 - code);
    expect (distance_of_grey (&filter, &info, code) == 1.0, "of the same");
  }
  filter_close (&filter);
}

/* Nor are those after frames that were not reported. */
static void
histo_flight_forgets_at_rest (void)
{
  static const struct
  {
    const char *settings, *off, *on;
  } rows[] = {
    { "cudahisto interval=0", "post-messages=false", "post-messages=true" },
    { "cudahisto interval=0 mode=equalize", "post-messages=false",
        "post-messages=true" },
    { "cudahisto interval=0 mode=overlay", "post-messages=false",
        "post-messages=true" },
    { "cudasepconv sigma=1 histogram=true histogram-interval=0",
        "histogram=false", "histogram=true" },
    { "cudasepconv sigma=0 histogram=true histogram-interval=0",
        "histogram=false", "histogram=true" },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    GstBuffer *picture;
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, rows[r].settings, &info, "GRAY8", 16, 8, NULL);
    picture = gst_buffer_new_allocate (NULL, info.size, NULL);
    gst_buffer_memset (picture, 0, 100, info.size);
    expect (distance_of_grey (&filter, &info, 10) == 0.0, "at first");
    expect (distance_of_grey (&filter, &info, 200) == 1.0, "in between");
    settings_apply (filter.element, rows[r].off);
    gst_buffer_unref (filter_process (&filter, picture));
    settings_apply (filter.element, rows[r].on);
    expect (distance_of_grey (&filter, &info, 10) == 0.0, "after a rest");
    expect (distance_of_grey (&filter, &info, 200) == 1.0, "after that");
    filter_close (&filter);
  }
}

/* Setting the same value again, and another way to the same counters, keep the last frame
 * for comparison. */
static void
check_remembers (const char *format, const char *planes)
{
  const char *const steps[] = { "bins=256", planes, "interval=0",
    "ring-depth=2", "transfer=mapped", "post-messages=true",
    test_on_cuda () ? "method=global" : "method=reference", "method=auto" };
  char *settings = g_strconcat ("cudahisto interval=0 ", planes, NULL);
  GString *forgetful = g_string_new (NULL);
  GstVideoInfo info;
  Filter filter;
  guint8 code = 10;

  filter_start (&filter, settings, &info, format, 16, 8, NULL);
  distance_of_grey (&filter, &info, code);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    settings_apply (filter.element, steps[s]);
    code = (guint8) (250 - code);
    if (distance_of_grey (&filter, &info, code) != 1.0)
      g_string_append_printf (forgetful, " %s", steps[s]);
  }
  expect (forgetful->len == 0, "of %s the last frame is forgotten by%s", format,
      forgetful->str);
  g_string_free (forgetful, TRUE);
  filter_close (&filter);
  g_free (settings);
}

static void
histo_flight_remembers (void)
{
  check_remembers ("GRAY8", "planes=color");
  check_remembers ("I420", "planes=color");
  check_remembers ("GBRA", "planes=all");
}

/* ---- handlers of a frame's message --------------------------------------- */

/* Actions when the message of a frame is posted, on the thread that pushes. */
typedef struct Hearer
{
  Flight *flight;
  guint64 number; /* of the frame */
  void (*act) (struct Hearer *hearer);
  Task *upstream;     /* pushes until a flush, or NULL */
  gint entered, free; /* the handler waits until `free` is set */
  gint done;
} Hearer;

static GstBusSyncReply
on_message (GstBus *bus, GstMessage *message, gpointer user)
{
  Hearer *hearer = user;

  (void) bus;
  if (!gst_message_has_name (message, "cudahisto")
      || number_of (message) != hearer->number)
    return GST_BUS_PASS;
  g_atomic_int_set (&hearer->entered, TRUE);
  while (!g_atomic_int_get (&hearer->free))
    g_usleep (100);
  hearer->act (hearer);
  g_atomic_int_set (&hearer->done, TRUE);
  return GST_BUS_PASS;
}

/* As a source does it: pushes nothing between flush and segment. */
static void
seek (Hearer *hearer)
{
  flight_send (hearer->flight, gst_event_new_flush_start ());
  while (hearer->upstream != NULL && !task_is_done (hearer->upstream))
    g_usleep (100);
  flight_send (hearer->flight, gst_event_new_flush_stop (TRUE));
  flight_send_segment (hearer->flight);
}

/* An application seeks in the handler of a frame's message: that frame and those after it
 * are dropped, later frames come, and nothing deadlocks. */
static void
histo_flight_seek_at_message (void)
{
  static const char *const settings[] = { "cudahisto interval=0",
    "cudahisto interval=0 attach-meta=true",
    "cudahisto interval=0 mode=equalize",
    "cudasepconv sigma=1 histogram=true histogram-interval=0" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    for (guint depth = 1; depth <= 5; depth++) {
      char *all = g_strdup_printf ("%s ring-depth=%u", settings[s], depth);
      Flight *flight = flight_open (all, "NV12", 40, 22, NULL);
      Hearer hearer = { .flight = flight, .number = 2, .act = seek };
      Pushes pushes = { flight, 0, 20, 0 };
      GstFlowReturn flow;

      gst_bus_set_sync_handler (flight->filter.bus, on_message, &hearer, NULL);
      hearer.upstream = task_start (push_frames, &pushes);
      flight_await_flag (&hearer.entered, "no message");
      /* Upstream already waits in the filter, or does so during the flush. */
      if (depth % 2)
        g_usleep (2000);
      g_atomic_int_set (&hearer.free, TRUE);
      flight_await_flag (&hearer.done, "the seek does not come back");
      flow = GPOINTER_TO_INT (task_end (hearer.upstream, "pushing"));
      expect (flow == GST_FLOW_FLUSHING, "upstream got %s",
          gst_flow_get_name (flow));
      gst_bus_set_sync_handler (flight->filter.bus, NULL, NULL, NULL);
      flight_send (flight, gst_event_new_eos ());
      expect (strstr (flight->log->str, " 2 ") == NULL,
          "a frame from before the flush came after it: %s", flight->log->str);
      filter_expect_silence (&flight->filter);
      flight_close (flight);
      g_free (all);
    }
}

/* Nor do two seeks deadlock, one from another thread and one from the handler of a frame's
 * message. */
static void
histo_flight_seeks_at_message (void)
{
  for (guint depth = 1; depth <= 4; depth++) {
    char *settings =
        g_strdup_printf ("cudahisto interval=0 ring-depth=%u", depth);
    Flight *flight = flight_open (settings, "NV12", 40, 22, NULL);
    Hearer hearer = { .flight = flight, .number = 2, .act = seek };
    Pushes pushes = { flight, 0, 20, 0 };
    Task *task;

    gst_bus_set_sync_handler (flight->filter.bus, on_message, &hearer, NULL);
    task = task_start (push_frames, &pushes);
    flight_await_flag (&hearer.entered, "no message");
    flight_send (flight, gst_event_new_flush_start ());
    task_end (task, "pushing");
    flight_send (flight, gst_event_new_flush_stop (TRUE));
    g_atomic_int_set (&hearer.free, TRUE);
    flight_await_flag (&hearer.done, "the other seek does not come back");
    while (gst_harness_buffers_in_queue (flight->filter.harness) > 0)
      gst_buffer_unref (flight_pull (flight));
    flight_clear_log (flight);
    for (guint64 n = 30; n < 34; n++)
      flight_push (flight, n);
    flight_send (flight, gst_event_new_eos ());
    flight_expect_log (flight, "30 31 32 33 eos");
    gst_bus_set_sync_handler (flight->filter.bus, NULL, NULL, NULL);
    flight_close (flight);
    g_free (settings);
  }
}

static void
send_word (Hearer *hearer)
{
  flight_send (hearer->flight,
      gst_event_new_custom (
          GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty ("word")));
}

/* The handler sends an event after the frames that upstream has sent: it arrives after
 * them. */
static void
histo_flight_event_at_message (void)
{
  for (guint n = 0; n < 4; n++) {
    static const char *const logs[] = { "0 word 4", "0 1 word 4",
      "0 1 2 word 4", "0 1 2 3 word 4" };
    Flight *flight =
        flight_open ("cudahisto interval=0 ring-depth=6", "NV12", 40, 22, NULL);
    Hearer hearer = { .flight = flight, .act = send_word };

    gst_bus_set_sync_handler (flight->filter.bus, on_message, &hearer, NULL);
    for (guint i = 0; i <= n; i++)
      flight_push (flight, i);
    g_atomic_int_set (&hearer.free, TRUE);
    flight_await_flag (&hearer.done, "the event does not come through");
    flight_push (flight, 4);
    flight_await (flight, n + 2);
    flight_expect_log (flight, logs[n]);
    gst_bus_set_sync_handler (flight->filter.bus, NULL, NULL, NULL);
    flight_close (flight);
  }
}

/* ---- settings ------------------------------------------------------------ */

/* The settings with which a message was counted, from its contents. */
static char *
settings_of (GstMessage *message)
{
  GString *settings = g_string_new ("planes=");
  guint64 *counts;
  guint bins;

  for (guint i = 0; i < histo_n_components (message); i++) {
    const char *name =
        gst_structure_get_string (histo_component (message, i), "name");

    g_string_append (settings,
        g_str_equal (name, "Y")       ? "luma+"
            : g_str_equal (name, "A") ? "alpha+"
                                      : "chroma+");
  }
  counts = histo_bins (histo_component (message, 0), &bins);
  g_string_append_printf (settings, " bins=%u", bins);
  g_free (counts);
  return g_string_free (settings, FALSE);
}

/* Takes all messages, which must be in order and each correct. Returns their number. */
static guint64
expect_right_messages (Flight *flight)
{
  guint64 n = 0, before = 0;
  GstMessage *message;

  while ((message = gst_bus_pop_filtered (flight->filter.bus,
              GST_MESSAGE_ELEMENT | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))
      != NULL) {
    char *settings;
    GstBuffer *picture;

    expect (gst_message_has_name (message, "cudahisto"), "an error");
    expect (n == 0 || number_of (message) > before, "out of order");
    before = number_of (message);
    settings = settings_of (message);
    picture = flight_frame (flight, before);
    histo_expect (message, picture, &flight->info, settings);
    gst_buffer_unref (picture);
    g_free (settings);
    n++;
  }
  return n;
}

/* Pushes frames while one of these settings after the other is set, at random. */
static void
push_under_changes (Flight *flight, const char *const *steps, guint n_steps,
    guint64 frames, guint32 seed)
{
  GRand *random = g_rand_new_with_seed (seed);
  Pushes pushes = { flight, 0, frames, 0 };
  Task *task = task_start (push_frames, &pushes);

  while (!task_is_done (task)) {
    settings_apply (flight->filter.element,
        steps[g_rand_int_range (random, 0, (gint32) n_steps)]);
    g_usleep ((gulong) g_rand_int_range (random, 10, 500));
  }
  expect (GPOINTER_TO_INT (task_end (task, "pushing")) == GST_FLOW_OK,
      "a frame is not taken");
  g_rand_free (random);
  for (guint64 n = 0; n < frames; n++)
    expect_frame (flight, n);
}

/* The counted components change behind frames in flight: every frame is reported, with the
 * settings of one moment. */
static void
histo_flight_settings (void)
{
  static const char *const steps[] = { "bins=2", "bins=16", "bins=255",
    "bins=256", "bins=1000", "planes=luma", "planes=chroma", "planes=color",
    "planes=alpha", "planes=all", "planes=luma+alpha", "method=auto",
    "threshold-dark=0.3", "alarm-dark=0.5", "alarm-hysteresis=0", "METHOD" };
  const char *all[G_N_ELEMENTS (steps)];

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    all[i] = !g_str_equal (steps[i], "METHOD") ? steps[i]
        : test_on_cuda ()                      ? "method=global"
                                               : "method=reference";
  for (guint32 seed = 1; seed <= 3; seed++) {
    Flight *flight =
        flight_open ("cudahisto interval=0 ring-depth=6", "AYUV", 23, 14, NULL);

    flight_set_jitter (flight, 300, seed);
    push_under_changes (flight, all, G_N_ELEMENTS (all), 300, seed);
    expect (expect_right_messages (flight) == 300, "not one message a frame");
    flight_close (flight);
  }
}

/* The same while the transfer changes, and whether anything is counted at all. */
static void
histo_flight_ways (void)
{
  static const char *const steps[] = { "bins=16", "bins=256", "planes=luma",
    "planes=all", "ring-depth=1", "ring-depth=2", "ring-depth=8",
    "interval=70000000", "interval=0", "interval=1000000000",
    "post-messages=false", "post-messages=true", "attach-meta=true",
    "attach-meta=false", "transfer=mapped", "transfer=pinned",
    "transfer=pageable", "transfer=auto", "backend=cpu", "BACKEND" };
  char *backend = g_strdup_printf ("backend=%s", test_backend ());
  const char *all[G_N_ELEMENTS (steps)];

  for (guint i = 0; i < G_N_ELEMENTS (steps); i++)
    all[i] = g_str_equal (steps[i], "BACKEND") ? backend : steps[i];
  for (guint32 seed = 1; seed <= 3; seed++) {
    Flight *flight =
        flight_open ("cudahisto interval=0 ring-depth=6", "AYUV", 23, 14, NULL);
    guint64 told;

    flight_set_jitter (flight, 300, seed);
    push_under_changes (flight, all, G_N_ELEMENTS (all), 300, seed);
    told = expect_right_messages (flight);
    expect (told > 0 && told <= 300, "%" G_GUINT64_FORMAT " messages", told);
    settings_apply (flight->filter.element,
        "interval=0 post-messages=true planes=color bins=256");
    flight_push (flight, 400);
    expect_frame (flight, 400);
    expect_message (flight, 400, "");
    flight_close (flight);
  }
  g_free (backend);
}

/* The number of bins changes with every frame. */
static void
histo_flight_bins_a_frame (void)
{
  Flight *flight =
      flight_open ("cudahisto interval=0 ring-depth=5", "I420", 23, 14, NULL);

  flight_set_jitter (flight, 200, 7);
  for (guint n = 0; n < 60; n++) {
    g_object_set (flight->filter.element, "bins", 2 + 17 * n, NULL);
    flight_push (flight, n);
  }
  for (guint n = 0; n < 60; n++) {
    char *settings = g_strdup_printf ("bins=%u", 2 + 17 * n);

    expect_frame (flight, n);
    expect_message (flight, n, settings);
    g_free (settings);
  }
  flight_close (flight);
}

/* ---- answers and drops --------------------------------------------------- */

/* Downstream's flow return reaches upstream, without an error of the filter itself. */
static void
histo_flight_answers (void)
{
  static const GstFlowReturn answers[] = { GST_FLOW_EOS, GST_FLOW_ERROR,
    GST_FLOW_NOT_LINKED, GST_FLOW_CUSTOM_ERROR };

  for (guint a = 0; a < G_N_ELEMENTS (answers); a++) {
    Flight *flight = flight_open ("cudahisto interval=0", "NV12", 32, 24, NULL);
    GstFlowReturn flow = GST_FLOW_OK;

    flight_answer (flight, 3, answers[a]);
    for (guint64 n = 0; n < 40 && flow == GST_FLOW_OK; n++)
      flow = flight_try_push (flight, n);
    expect (flow == answers[a], "upstream got %s instead of %s",
        gst_flow_get_name (flow), gst_flow_get_name (answers[a]));
    for (guint64 n = 0; n < 4; n++)
      expect_message (flight, n, "");
    /* At most the frames that were complete before the flow return. */
    expect (filter_drain_bus (
                &flight->filter, GST_MESSAGE_ERROR | GST_MESSAGE_WARNING, NULL)
            == 0,
        "an error");
    flight_close (flight);
  }
}

/* The frame after one that came too late is marked as a discontinuity; in a copy if others
 * hold it. */
static void
histo_flight_qos (void)
{
  Flight *flight =
      flight_open ("cudahisto interval=0 qos=true", "NV12", 32, 24, NULL);
  GstBuffer *in, *out;

  flight_push (flight, 0);
  expect_frame (flight, 0);
  gst_harness_push_upstream_event (flight->filter.harness,
      gst_event_new_qos (
          GST_QOS_TYPE_UNDERFLOW, 1.5, GST_SECOND, GST_SECOND / 30));
  flight_push (flight, 3); /* 0.1 s: too late */
  in = flight_frame (flight, 60);
  expect (gst_harness_push (flight->filter.harness, gst_buffer_ref (in))
          == GST_FLOW_OK,
      "not taken");
  out = flight_pull (flight);
  expect (GST_BUFFER_OFFSET (out) == 60, "the late frame was not dropped");
  expect (GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_DISCONT),
      "the frame after is not marked");
  expect (!GST_BUFFER_FLAG_IS_SET (in, GST_BUFFER_FLAG_DISCONT),
      "the mark is on a buffer that others hold");
  expect (gst_buffer_peek_memory (in, 0) == gst_buffer_peek_memory (out, 0),
      "its memory is copied");
  gst_buffer_unref (in);
  gst_buffer_unref (out);
  expect_message (flight, 0, "");
  expect_message (flight, 60, "");
  flight_close (flight);
}

const Test tests_histo_flight[] = {
  { "histo-flight-depths", histo_flight_depths, VARIANT_BOTH },
  { "histo-flight-stats", histo_flight_stats, VARIANT_BOTH },
  { "histo-flight-eos", histo_flight_eos, VARIANT_BOTH },
  { "histo-flight-flush", histo_flight_flush, VARIANT_BOTH },
  { "histo-flight-renegotiation", histo_flight_renegotiation, VARIANT_BOTH },
  { "histo-flight-forgets", histo_flight_forgets, VARIANT_BOTH },
  { "histo-flight-forgets-components", histo_flight_forgets_components,
      VARIANT_BOTH },
  { "histo-flight-forgets-at-rest", histo_flight_forgets_at_rest,
      VARIANT_BOTH },
  { "histo-flight-seek-at-message", histo_flight_seek_at_message,
      VARIANT_BOTH },
  { "histo-flight-seeks-at-message", histo_flight_seeks_at_message,
      VARIANT_BOTH },
  { "histo-flight-event-at-message", histo_flight_event_at_message,
      VARIANT_BOTH },
  { "histo-flight-remembers", histo_flight_remembers, VARIANT_BOTH },
  { "histo-flight-settings", histo_flight_settings, VARIANT_BOTH },
  { "histo-flight-ways", histo_flight_ways, VARIANT_BOTH },
  { "histo-flight-bins-a-frame", histo_flight_bins_a_frame, VARIANT_BOTH },
  { "histo-flight-answers", histo_flight_answers, VARIANT_BOTH },
  { "histo-flight-qos", histo_flight_qos, VARIANT_BOTH },
  { 0 },
};
