/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto's alarms: when they are raised and cleared. Pictures have 100 grey samples,
 * so that one sample is a share of 0.01. */
#include "histo-oracle.h"

#include <string.h>

#define SAMPLES 100

static const char *const alarm_names[] = { "too-dark", "too-bright", "flat",
  "scene-change" };

static void
open_grey (Filter *filter, const char *settings)
{
  char *all = g_strdup_printf ("cudahisto interval=0 %s", settings);
  GstVideoInfo info;

  filter_start (filter, all, &info, "GRAY8", 100, 1, NULL);
  g_free (all);
}

/* The message about one picture of these codes. */
static GstMessage *
message_of (Filter *filter, const guint8 codes[SAMPLES])
{
  GstBuffer *picture = gst_buffer_new_allocate (NULL, SAMPLES, NULL);

  gst_buffer_fill (picture, 0, codes, SAMPLES);
  gst_buffer_unref (filter_process (filter, picture));
  return histo_message (filter);
}

static GstMessage *
message_of_grey (Filter *filter, int code)
{
  guint8 codes[SAMPLES];

  memset (codes, code, sizeof codes);
  return message_of (filter, codes);
}

/* Expects the alarms of this message, by their letters: d b f s. */
static void
expect_alarms (GstMessage *message, const char *want)
{
  char got[8] = "";
  int n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (alarm_names); i++)
    if (histo_flag (message, alarm_names[i]))
      got[n++] = "dbfs"[i];
  got[n] = '\0';
  expect (g_str_equal (got, want), "alarms are \"%s\" instead of \"%s\"", got,
      want);
  gst_message_unref (message);
}

/* With the default settings. */
static void
histo_alarms_defaults (void)
{
  guint8 noise[SAMPLES], halves[SAMPLES];
  Filter filter;

  for (int i = 0; i < SAMPLES; i++) {
    noise[i] = (guint8) (i * 97 % 251);
    halves[i] = i % 2 ? 100 : 140;
  }
  open_grey (&filter, "");
  expect_alarms (message_of_grey (&filter, 0), "df");
  expect_alarms (message_of_grey (&filter, 128), "fs");
  expect_alarms (message_of_grey (&filter, 255), "bf");
  expect_alarms (message_of_grey (&filter, 255), "bf");
  expect_alarms (message_of (&filter, noise), "s");
  expect_alarms (message_of (&filter, noise), "");
  expect_alarms (message_of (&filter, halves), "s");
  expect_alarms (message_of (&filter, halves), "");
  filter_close (&filter);
}

/* Levels fall and rise in steps of one code. */
static void
histo_alarms_walk_levels (void)
{
  gboolean dark = FALSE, bright = FALSE;
  Filter filter;

  /* Raised at codes 50.7 and 204.3; cleared at 76.2 and 178.8. */
  open_grey (&filter,
      "alarm-dark=0.199 alarm-bright=0.801 alarm-hysteresis=0.1 alarm-flat=0");
  for (int step = 0; step < 4 * 256; step++) {
    const int code = step / 256 % 2 ? 255 - step % 256 : step % 256;
    GstMessage *message = message_of_grey (&filter, code);

    test_context ("grey %d after %d steps", code, step);
    dark = code <= (dark ? 76 : 50);
    bright = code >= (bright ? 179 : 205);
    expect (histo_flag (message, "too-dark") == dark, "too-dark is %d", !dark);
    expect (histo_flag (message, "too-bright") == bright, "too-bright is %d",
        !bright);
    gst_message_unref (message);
  }
  filter_close (&filter);
}

/* Without hysteresis they are cleared where they are raised. */
static void
histo_alarms_without_hysteresis (void)
{
  Filter filter;

  open_grey (&filter,
      "alarm-dark=0.199 alarm-bright=0.801 alarm-hysteresis=0 alarm-flat=0 "
      "alarm-scene=1");
  for (int step = 0; step < 512; step++) {
    const int code = step < 256 ? step : 511 - step;

    test_context ("grey %d after %d steps", code, step);
    expect_alarms (message_of_grey (&filter, code),
        code <= 50        ? "d"
            : code >= 205 ? "b"
                          : "");
  }
  filter_close (&filter);
}

/* Half of the samples lie `spread` codes below grey, the others above. */
static void
histo_alarms_walk_spreads (void)
{
  gboolean flat = FALSE;
  Filter filter;

  /* Raised at code 12.75, cleared at 17.85. */
  open_grey (&filter, "alarm-flat=0.05 alarm-hysteresis=0.02");
  for (int step = 0; step < 4 * 64; step++) {
    const int spread = step / 64 % 2 ? step % 64 : 63 - step % 64;
    guint8 codes[SAMPLES];
    GstMessage *message;

    test_context ("spread of %d codes after %d steps", spread, step);
    for (int i = 0; i < SAMPLES; i++)
      codes[i] = (guint8) (128 + (i % 2 ? spread : -spread));
    message = message_of (&filter, codes);
    flat = spread <= (flat ? 17 : 12);
    expect (histo_flag (message, "flat") == flat, "flat is %d", !flat);
    gst_message_unref (message);
  }
  filter_close (&filter);
}

/* ---- scenes -------------------------------------------------------------- */

/* Gives this number of samples a code that the frame before does not have. */
static void
change_samples (guint8 codes[SAMPLES], int n, int *fresh)
{
  *fresh = (*fresh + 1) % 256;
  memset (codes, *fresh, (size_t) n);
}

/* A cut is reported once. The next is reported only after the picture has calmed down to
 * below the threshold less the hysteresis. */
static void
histo_alarms_scenes (void)
{
  static const struct
  {
    int changed;
    gboolean told;
  } steps[] = {
    { 100, FALSE }, /* the first frame is no change */
    { 0, FALSE },
    { 100, TRUE },
    { 0, FALSE },
    { 0, FALSE },
    { 51, TRUE },
    { 100, FALSE }, /* flashes: reported once */
    { 100, FALSE },
    { 45, FALSE }, /* not calm yet */
    { 100, FALSE },
    { 39, FALSE },
    { 49, FALSE },
    { 51, TRUE },
    { 41, FALSE },
    { 60, FALSE },
    { 10, FALSE },
    { 60, TRUE },
  };
  guint8 codes[SAMPLES] = { 0 };
  int fresh = 0;
  Filter filter;

  open_grey (&filter, "alarm-scene=0.5 alarm-hysteresis=0.1");
  for (guint s = 0; s < G_N_ELEMENTS (steps); s++) {
    GstMessage *message;
    double distance;

    test_context ("step %u: %d samples of 100", s, steps[s].changed);
    change_samples (codes, steps[s].changed, &fresh);
    message = message_of (&filter, codes);
    distance = histo_number (gst_message_get_structure (message), "distance");
    expect (ABS (distance - (s == 0 ? 0 : steps[s].changed / 100.0)) < 1e-9,
        "distance is %g", distance);
    expect (histo_flag (message, "scene-change") == steps[s].told,
        "scene-change is %d", !steps[s].told);
    gst_message_unref (message);
  }
  filter_close (&filter);
}

/* With a threshold of 0 every change counts, after a frame equal to the one before. */
static void
histo_alarms_scenes_from_zero (void)
{
  static const char *const settings[] = { "alarm-scene=0",
    "alarm-scene=0 alarm-hysteresis=0", "alarm-scene=0 alarm-hysteresis=1" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    guint8 codes[SAMPLES] = { 0 };
    Filter filter;

    open_grey (&filter, settings[s]);
    for (guint n = 0; n < 12; n++) {
      GstMessage *message;

      codes[0] = (guint8) (n / 3 * 3);
      codes[1] = n % 3 == 1 ? 1 : 0;
      message = message_of (&filter, codes);
      test_context ("frame %u with %s", n, settings[s]);
      /* Two consecutive changes count as one. */
      expect (histo_flag (message, "scene-change") == (n == 1),
          "scene-change is %d", n != 1);
      gst_message_unref (message);
    }
    for (guint n = 0; n < 12; n++) {
      GstMessage *message;

      codes[0] = (guint8) (n / 3);
      message = message_of (&filter, codes);
      test_context ("later frame %u with %s", n, settings[s]);
      expect (histo_flag (message, "scene-change") == (n % 3 == 0 && n > 0),
          "scene-change is %d", n % 3 != 0);
      gst_message_unref (message);
    }
    filter_close (&filter);
  }
}

/* The same histogram is the same scene, wherever the codes are in the picture. */
static void
histo_alarms_moved_picture (void)
{
  guint8 codes[SAMPLES], moved[SAMPLES];
  GstMessage *message;
  Filter filter;

  for (int i = 0; i < SAMPLES; i++) {
    codes[i] = (guint8) (2 * i);
    moved[i] = (guint8) (2 * (SAMPLES - 1 - i));
  }
  open_grey (&filter, "");
  gst_message_unref (message_of (&filter, codes));
  message = message_of (&filter, moved);
  expect (histo_number (gst_message_get_structure (message), "distance") == 0.0,
      "it differs");
  expect_alarms (message, "");
  filter_close (&filter);
}

/* Frames that are not counted are not compared. */
static void
histo_alarms_compare_counted_frames (void)
{
  GstVideoInfo info;
  GstMessage *message;
  Filter filter;

  filter_start (
      &filter, "cudahisto interval=100000000", &info, "GRAY8", 100, 1, NULL);
  for (guint n = 0; n < 4; n++) {
    GstBuffer *picture = gst_buffer_new_allocate (NULL, info.size, NULL);

    gst_buffer_memset (picture, 0, n % 3 == 0 ? 50 : 200, info.size);
    GST_BUFFER_PTS (picture) = n * GST_SECOND / 30;
    gst_buffer_unref (filter_process (&filter, picture));
  }
  gst_message_unref (histo_message (&filter));
  message = histo_message (&filter);
  expect (histo_number (gst_message_get_structure (message), "distance") == 0.0,
      "compared with a frame that was not counted");
  expect (!histo_flag (message, "scene-change"), "another scene");
  gst_message_unref (message);
  histo_expect_silence (&filter);
  filter_close (&filter);
}

/* The first frame of a stream is not compared with the stream before, and no alarm is
 * still raised. */
static void
histo_alarms_new_stream (void)
{
  guint8 greys[SAMPLES];
  Filter filter;

  for (int i = 0; i < SAMPLES; i++)
    greys[i] = i % 2 ? 8 : 30;
  open_grey (&filter, "alarm-dark=0.05 alarm-hysteresis=0.1");
  expect_alarms (message_of_grey (&filter, 0), "df");
  expect_alarms (message_of (&filter, greys), "dfs");
  expect_alarms (message_of (&filter, greys), "df");
  gst_harness_push_event (
      filter.harness, gst_event_new_stream_start ("another"));
  expect_alarms (message_of_grey (&filter, 200), "f");
  expect_alarms (message_of_grey (&filter, 200), "f");
  gst_harness_push_event (filter.harness, gst_event_new_stream_start ("third"));
  /* Dark or flat only within the hysteresis. */
  expect_alarms (message_of (&filter, greys), "");
  filter_close (&filter);
}

/* ---- colours ------------------------------------------------------------- */

/* Chroma has no brightness; R, G and B are weighted. */
static void
histo_alarms_colors (void)
{
  static const struct
  {
    const char *format, *more;
    guint8 codes[3];
    const char *want;
    double level;
  } rows[] = {
    { "Y444", NULL, { 16, 240, 240 }, "df", 0.0 },
    { "Y444", NULL, { 235, 16, 16 }, "bf", 1.0 },
    { "Y444", NULL, { 0, 128, 128 }, "df", -16.0 / 219.0 },
    { "Y444", "colorimetry=(string)1:4:0:4", { 16, 0, 0 }, "f", 16.0 / 255.0 },
    { "RGBP", NULL, { 0, 0, 255 }, "f", 0.0722 },
    { "RGBP", NULL, { 0, 0, 150 }, "df", 0.0722 * 150.0 / 255.0 },
    { "RGBP", NULL, { 255, 255, 100 }, "f", 1.0 - 0.0722 * 155.0 / 255.0 },
    { "RGBP", NULL, { 255, 255, 120 }, "bf", 1.0 - 0.0722 * 135.0 / 255.0 },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    GstBuffer *picture;
    GstMessage *message;
    GstVideoInfo info;
    Filter filter;
    double level;

    filter_start (&filter, "cudahisto interval=0 alarm-bright=0.96", &info,
        rows[r].format, 16, 8, rows[r].more);
    picture = gst_buffer_new_allocate (NULL, info.size, NULL);
    for (guint p = 0; p < 3; p++)
      gst_buffer_memset (picture, info.offset[p], rows[r].codes[p], 16 * 8);
    gst_buffer_unref (filter_process (&filter, picture));
    message = histo_message (&filter);
    level = histo_number (gst_message_get_structure (message), "level");
    expect (
        ABS (level - rows[r].level) < 1e-9, "row %u: level is %g", r, level);
    expect_alarms (message, rows[r].want);
    filter_close (&filter);
  }
}

/* Components without brightness raise no alarm. */
static void
histo_alarms_without_brightness (void)
{
  static const char *const settings[] = { "cudahisto interval=0 planes=chroma",
    "cudahisto interval=0 planes=alpha",
    "cudahisto interval=0 planes=chroma+alpha" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, settings[s], &info, "AYUV", 16, 8, NULL);
    for (guint n = 0; n < 4; n++) {
      GstBuffer *picture = gst_buffer_new_allocate (NULL, info.size, NULL);

      gst_buffer_memset (picture, 0, n % 2 ? 0 : 255, info.size);
      gst_buffer_unref (filter_process (&filter, picture));
      expect_alarms (histo_message (&filter), "");
    }
    filter_close (&filter);
  }
}

/* New thresholds apply from the next frame on; a raised alarm stays or is cleared by
 * them. */
static void
histo_alarms_thresholds_while_playing (void)
{
  Filter filter;

  open_grey (&filter, "alarm-flat=0 alarm-hysteresis=0 alarm-scene=1");
  expect_alarms (message_of_grey (&filter, 100), "");
  settings_apply (filter.element, "alarm-dark=0.5");
  expect_alarms (message_of_grey (&filter, 100), "d");
  settings_apply (filter.element, "alarm-bright=0.3");
  expect_alarms (message_of_grey (&filter, 100), "db");
  settings_apply (filter.element, "alarm-dark=0.3 alarm-hysteresis=0.2");
  expect_alarms (message_of_grey (&filter, 100), "db");
  settings_apply (filter.element, "alarm-hysteresis=0.01 alarm-flat=0.1");
  expect_alarms (message_of_grey (&filter, 100), "bf");
  filter_close (&filter);
}

const Test tests_histo_alarms[] = {
  { "histo-alarms-defaults", histo_alarms_defaults, VARIANT_BOTH },
  { "histo-alarms-walk-levels", histo_alarms_walk_levels, VARIANT_BOTH },
  { "histo-alarms-without-hysteresis", histo_alarms_without_hysteresis,
      VARIANT_BOTH },
  { "histo-alarms-walk-spreads", histo_alarms_walk_spreads, VARIANT_BOTH },
  { "histo-alarms-scenes", histo_alarms_scenes, VARIANT_BOTH },
  { "histo-alarms-scenes-from-zero", histo_alarms_scenes_from_zero,
      VARIANT_BOTH },
  { "histo-alarms-moved-picture", histo_alarms_moved_picture, VARIANT_BOTH },
  { "histo-alarms-compare-counted-frames", histo_alarms_compare_counted_frames,
      VARIANT_BOTH },
  { "histo-alarms-new-stream", histo_alarms_new_stream, VARIANT_BOTH },
  { "histo-alarms-colors", histo_alarms_colors, VARIANT_BOTH },
  { "histo-alarms-without-brightness", histo_alarms_without_brightness,
      VARIANT_BOTH },
  { "histo-alarms-thresholds-while-playing",
      histo_alarms_thresholds_while_playing, VARIANT_BOTH },
  { 0 },
};
