/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings that change while frames are in flight, and settings that affect only the way,
 * not the result. */
#include "flight-fixture.h"

/* The sink holds frames while the settings change for later ones, and with them the method
 * that auto takes: each frame keeps the settings that it was pushed with. */
static void
flight_settings_behind_held_frames (void)
{
  static const char *const steps[] = { "sigma=0.5", "sigma=3",
    "sigma=1 sigma-y=2.5", "border=wrap", "border=constant",
    "border-color=0xff204060", "planes=luma", "planes=chroma", "planes=color",
    "kernel=box radius=2", "scale=0.5", "bias=0.2", "kernel=gaussian radius=-1",
    "slices=3", "slices=16", "kernel=custom taps-x=<0.2,0.3,0.5>" };
  Flight *flight =
      flight_open ("taps-x=<1.0> sigma=2 ring-depth=64", "NV12", 40, 22, NULL);
  char *settings[G_N_ELEMENTS (steps)];

  flight_hold (flight);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    settings[s] = g_strdup_printf (
        "%s %s", s > 0 ? settings[s - 1] : "sigma=2", steps[s]);
    settings_apply (flight->filter.element, steps[s]);
    flight_push (flight, 2 * s);
    flight_push (flight, 2 * s + 1);
  }
  flight_await_held (flight);
  flight_let_go (flight);
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    flight_expect (flight, 2 * s, settings[s]);
    flight_expect (flight, 2 * s + 1, settings[s]);
    g_free (settings[s]);
  }
  filter_expect_silence (&flight->filter);
  flight_close (flight);
}

/* A new sigma for every frame. */
static void
flight_sigma_a_frame (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=8", "GRAY8", 37, 21, NULL);
  char settings[32];

  flight_set_jitter (flight, 300, 2);
  for (guint i = 0; i < 60; i++) {
    g_object_set (flight->filter.element, "sigma", 0.5 + i % 13 / 4.0, NULL);
    flight_push (flight, i);
  }
  for (guint i = 0; i < 60; i++) {
    g_snprintf (settings, sizeof settings, "sigma=%.2f", 0.5 + i % 13 / 4.0);
    flight_expect (flight, i, settings);
  }
  flight_close (flight);
}

/* Changes that rebuild plan or ring in between, and frames that pass untouched. */
static void
flight_rebuilt (void)
{
  static const char *const steps[] = { "ring-depth=1", "ring-depth=7",
    "sigma=0", "ring-depth=2", "sigma=1", "transfer=mapped",
    "transfer=pageable", "transfer=pinned", "ring-depth=64", "sigma=0",
    "transfer=auto", "sigma=2", "METHOD", "border=reflect", "method=auto",
    "backend=cpu", "sigma=0", "BACKEND", "sigma=1.5", "backend=cpu", "BACKEND",
    "slices=4", "planes=chroma", "planes=luma", "planes=color",
    "kernel=custom taps-x=<0.5,0.5>", "ring-depth=0", "kernel=gaussian" };
  Flight *flight = flight_open ("sigma=2", "YUY2", 42, 23, NULL);
  char *backend = g_strdup_printf ("backend=%s", test_backend ());
  const char *method = test_on_cuda () ? "method=global" : "method=reference";
  GString *settings = g_string_new ("sigma=2");

  flight_set_jitter (flight, 400, 9);
  for (guint round = 0; round < 2; round++) {
    const guint64 first = 1000 * round;

    for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
      const char *step = g_str_equal (steps[s], "METHOD") ? method
          : g_str_equal (steps[s], "BACKEND")             ? backend
                                                          : steps[s];

      settings_apply (flight->filter.element, step);
      for (guint i = 0; i < 3; i++)
        flight_push (flight, first + 3 * s + i);
    }
    for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
      g_string_append_printf (settings, " %s", steps[s]);
      for (guint i = 0; i < 3; i++)
        flight_expect (flight, first + 3 * s + i, settings->str);
    }
  }
  filter_expect_silence (&flight->filter);
  g_string_free (settings, TRUE);
  g_free (backend);
  flight_close (flight);
}

/* A frame that passes untouched is the same buffer that came in, at its place among the
 * others. */
static void
flight_untouched_between (void)
{
  Flight *flight = flight_open ("sigma=1 ring-depth=4", "NV12", 32, 18, NULL);
  GstBuffer *in[40];

  flight_set_jitter (flight, 300, 4);
  for (guint64 i = 0; i < G_N_ELEMENTS (in); i++) {
    in[i] = flight_frame (flight, i);
    g_object_set (flight->filter.element, "sigma", i / 3 % 2 ? 0.0 : 1.0, NULL);
    expect (gst_harness_push (flight->filter.harness, gst_buffer_ref (in[i]))
            == GST_FLOW_OK,
        "not taken");
  }
  for (guint64 i = 0; i < G_N_ELEMENTS (in); i++) {
    GstBuffer *out = flight_pull (flight);

    expect (GST_BUFFER_OFFSET (out) == i,
        "frame %" G_GUINT64_FORMAT " instead of %" G_GUINT64_FORMAT,
        GST_BUFFER_OFFSET (out), i);
    expect ((out == in[i]) == (i / 3 % 2 == 1),
        "frame %" G_GUINT64_FORMAT " is %s buffer", i,
        out == in[i] ? "the same" : "another");
    picture_expect (
        in[i], out, &flight->info, i / 3 % 2 ? "sigma=0" : "sigma=1", FALSE);
    gst_buffer_unref (out);
    gst_buffer_unref (in[i]);
  }
  flight_close (flight);
}

/* ---- settings that do not change the result ------------------------------ */

/* Transfer, slices and depth change no bit of the pictures. */
static void
check_ways (const char *format, int width, int height, const char *more,
    const char *settings)
{
  static const char *const transfers[] = { "auto", "pinned", "mapped",
    "pageable" };
  static const guint slices[] = { 0, 1, 2, 3, 5, 8, 13, 16 };
  static const guint depths[] = { 1, 3, 64 };
  GstBuffer *first = NULL;

  for (guint d = 0; d < G_N_ELEMENTS (depths); d++) {
    char *all = g_strdup_printf ("%s ring-depth=%u", settings, depths[d]);
    Flight *flight = flight_open (all, format, width, height, more);
    GstBufferPool *pool = flight_pool (flight);
    const guint n = G_N_ELEMENTS (transfers) * G_N_ELEMENTS (slices);

    for (guint i = 0; i < n; i++) {
      /* In upstream's own memory, and in the memory that the filter offers. */
      GstBuffer *in = (i + d) % 2 ? flight_frame_in (flight, pool, 7)
                                  : flight_frame (flight, 7);

      gst_util_set_object_arg (G_OBJECT (flight->filter.element), "transfer",
          transfers[i / G_N_ELEMENTS (slices)]);
      g_object_set (flight->filter.element, "slices",
          slices[i % G_N_ELEMENTS (slices)], NULL);
      expect (gst_harness_push (flight->filter.harness, in) == GST_FLOW_OK,
          "not taken");
    }
    for (guint i = 0; i < n; i++) {
      GstBuffer *out = flight_pull (flight);

      test_context ("format=%s size=%dx%d caps=%s settings=%s transfer=%s "
                    "slices=%u",
          format, width, height, more ? more : "-", all,
          transfers[i / G_N_ELEMENTS (slices)],
          slices[i % G_N_ELEMENTS (slices)]);
      if (first == NULL) {
        GstBuffer *in = flight_frame (flight, 7);

        picture_expect (in, out, &flight->info, settings, more != NULL);
        gst_buffer_unref (in);
        first = gst_buffer_ref (out);
      }
      picture_expect_same (first, out, &flight->info);
      gst_buffer_unref (out);
    }
    gst_buffer_pool_set_active (pool, FALSE);
    gst_object_unref (pool);
    flight_close (flight);
    g_free (all);
  }
  gst_buffer_unref (first);
}

static void
flight_ways (void)
{
  check_ways ("NV12", 322, 182, NULL, "sigma=2");
  check_ways ("I420", 61, 37, "interlace-mode=interleaved", "sigma=1.5");
  check_ways ("P010_10LE", 57, 45, NULL, "sigma=3 border=wrap");
  check_ways ("YUY2", 51, 47, NULL, "kernel=box radius=5 border=reflect");
  check_ways ("GRAY8", 1, 19, NULL, "sigma=4 border=reflect-101");
  check_ways ("GBRA", 33, 5, NULL, "sigma=9 planes=all border=constant");
  check_ways ("RGB", 3, 3, NULL, "kernel=sobel-x bias=0.5 scale=0.2");
}

const Test tests_flight_settings[] = {
  { "flight-settings-behind-held-frames", flight_settings_behind_held_frames,
      VARIANT_BOTH },
  { "flight-sigma-a-frame", flight_sigma_a_frame, VARIANT_BOTH },
  { "flight-rebuilt", flight_rebuilt, VARIANT_BOTH },
  { "flight-untouched-between", flight_untouched_between, VARIANT_BOTH },
  { "flight-ways", flight_ways, VARIANT_BOTH },
  { 0 },
};
