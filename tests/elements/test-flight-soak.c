/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Random operations for a while; each frame is followed to its end. */
#include "flight-fixture.h"

#define SOAK_SEED 20240817
#define SOAK_SECONDS 3

/* A frame that should come out, and its expected look. */
typedef struct
{
  guint64 number;
  int width;
  char *settings;
} Due;

typedef struct
{
  Flight *flight;
  GRand *random;
  GQueue due;        /* Dues, in order */
  GString *settings; /* the current ones, as the oracle reads them */
  int width;
  guint64 number;
} Soak;

static void
free_due (gpointer data)
{
  Due *due = data;

  g_free (due->settings);
  g_free (due);
}

/* Takes every frame that should have come out. */
static void
take_all (Soak *soak)
{
  Due *due;

  while ((due = g_queue_pop_head (&soak->due)) != NULL) {
    video_info (&soak->flight->info, "NV12", due->width, 18, NULL);
    flight_expect (soak->flight, due->number, due->settings);
    free_due (due);
  }
  expect (gst_harness_buffers_in_queue (soak->flight->filter.harness) == 0,
      "more frames than were pushed");
  video_info (&soak->flight->info, "NV12", soak->width, 18, NULL);
}

static void
soak_frames (Soak *soak)
{
  for (int n = g_rand_int_range (soak->random, 1, 8); n > 0; n--) {
    Due *due = g_new0 (Due, 1);

    *due = (Due){ soak->number++, soak->width, g_strdup (soak->settings->str) };
    flight_push (soak->flight, due->number);
    g_queue_push_tail (&soak->due, due);
  }
}

static void
soak_settings (Soak *soak)
{
  static const char *const settings[] = { "sigma=0", "sigma=0.6", "sigma=1",
    "sigma=2.5", "border=wrap", "border=reflect", "border=replicate",
    "planes=luma", "planes=chroma", "planes=color", "kernel=box radius=2",
    "kernel=gaussian radius=-1", "ring-depth=1", "ring-depth=2", "ring-depth=5",
    "ring-depth=64", "slices=0", "slices=2", "slices=16", "transfer=auto",
    "transfer=mapped", "transfer=pageable", "transfer=pinned" };
  const char *one = settings[g_rand_int_range (
      soak->random, 0, (gint32) G_N_ELEMENTS (settings))];

  settings_apply (soak->flight->filter.element, one);
  g_string_append_printf (soak->settings, " %s", one);
}

static void
soak_event (Soak *soak)
{
  static const int widths[] = { 34, 50, 17 };
  GstCaps *caps;

  switch (g_rand_int_range (soak->random, 0, 4)) {
    case 0:
      flight_send (soak->flight,
          gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "t", NULL)));
      break;
    case 1:
      flight_send_segment (soak->flight);
      break;
    case 2:
      gst_harness_push_upstream_event (
          soak->flight->filter.harness, gst_event_new_reconfigure ());
      break;
    default:
      soak->width = widths[g_rand_int_range (soak->random, 0, 3)];
      caps = video_caps ("NV12", soak->width, 18, NULL);
      flight_send (soak->flight, gst_event_new_caps (caps));
      gst_caps_unref (caps);
      video_info (&soak->flight->info, "NV12", soak->width, 18, NULL);
  }
}

/* Frames from before a flush may or may not come out, but in order and none twice. */
static void
soak_flush (Soak *soak)
{
  GstBuffer *out;

  flight_flush (soak->flight);
  while ((out = gst_harness_try_pull (soak->flight->filter.harness)) != NULL) {
    Due *due = g_queue_pop_head (&soak->due);

    expect (due && due->number == GST_BUFFER_OFFSET (out),
        "frame %" G_GUINT64_FORMAT " before a flush is out of order",
        GST_BUFFER_OFFSET (out));
    free_due (due);
    gst_buffer_unref (out);
  }
  g_queue_clear_full (&soak->due, free_due);
}

static void
soak_restart (Soak *soak)
{
  take_all (soak);
  filter_restart (&soak->flight->filter);
  expect (filter_caps (&soak->flight->filter,
              video_caps ("NV12", soak->width, 18, NULL)),
      "caps refused");
}

static void
flight_soak (void)
{
  const gint64 end =
      g_get_monotonic_time () + (gint64) SOAK_SECONDS * G_TIME_SPAN_SECOND;
  Soak soak = { .flight = flight_open ("sigma=1", "NV12", 34, 18, NULL),
    .random = g_rand_new_with_seed (SOAK_SEED),
    .settings = g_string_new ("sigma=1"),
    .width = 34 };

  g_queue_init (&soak.due);
  for (guint step = 0; g_get_monotonic_time () < end; step++) {
    const int dice = g_rand_int_range (soak.random, 0, 100);

    test_context ("seed %d step %u dice %d frame %" G_GUINT64_FORMAT " %s",
        SOAK_SEED, step, dice, soak.number,
        soak.settings->str + MAX (0, (gssize) soak.settings->len - 400));
    if (dice < 50)
      soak_frames (&soak);
    else if (dice < 75)
      soak_settings (&soak);
    else if (dice < 85)
      soak_event (&soak);
    else if (dice < 90)
      take_all (&soak);
    else if (dice < 95)
      flight_set_jitter (
          soak.flight, (guint) g_rand_int_range (soak.random, 1, 1000), step);
    else if (dice < 99)
      soak_flush (&soak);
    else
      soak_restart (&soak);
  }
  take_all (&soak);
  filter_expect_silence (&soak.flight->filter);
  g_string_free (soak.settings, TRUE);
  g_rand_free (soak.random);
  flight_close (soak.flight);
}

const Test tests_flight_soak[] = {
  { "flight-soak", flight_soak, VARIANT_BOTH },
  { 0 },
};
