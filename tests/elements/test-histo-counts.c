/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cudahisto's counters in every format, compared with the samples themselves. */
#include "histo-oracle.h"

#include <string.h>

static const int all_bins[] = { 2, 16, 255, 256, 1000, 65536 };

/* Pushes one picture, whose message must be correct; returns NULL or a description of the
 * difference. */
static char *
count_picture (Filter *filter, const GstVideoInfo *info, GstBuffer *picture,
    const char *settings)
{
  GstMessage *message;
  char *problem;

  gst_buffer_unref (filter_process (filter, gst_buffer_ref (picture)));
  message = histo_message (filter);
  problem = histo_compare (message, picture, info, settings);
  gst_message_unref (message);
  gst_buffer_unref (picture);
  return problem;
}

/* Sends caps of this size, and counts pictures with the numbers of bins `first`, `first` + `step`
 * and so on. */
static void
check_size (Filter *filter, const char *format, int width, int height,
    const char *more, const PictureLayout *layout, guint first, guint step,
    GString *problems)
{
  const guint32 seed = (guint32) (width * 31 + height);
  GstVideoInfo info;

  video_info (&info, format, width, height, more);
  expect (filter_caps (filter, video_caps (format, width, height, more)),
      "caps refused");
  for (guint b = first; b < G_N_ELEMENTS (all_bins); b += step) {
    char *settings = g_strdup_printf ("bins=%d planes=all", all_bins[b]);
    char *problem;

    test_context ("format=%s size=%dx%d caps=%s settings=%s", format, width,
        height, more ? more : "-", settings);
    settings_apply (filter->element, settings);
    problem = count_picture (filter, &info,
        layout == NULL ? picture_new (&info, seed + b)
                       : picture_new_laid_out (&info, seed + b, layout),
        settings);
    if (problem)
      g_string_append_printf (problems, "\n  %s", problem);
    g_free (problem);
    g_free (settings);
  }
}

/* Every number of bins with every size; for interlaced frames and unusual layouts only one number
 * per size, which varies with size and format. */
static void
check_formats (
    const int (*sizes)[2], const char *more, const PictureLayout *layout)
{
  const guint step =
      more == NULL && layout == NULL ? 1 : G_N_ELEMENTS (all_bins);
  GString *problems = g_string_new (NULL);

  for (int f = 0; video_formats[f]; f++) {
    Filter filter;

    filter_open (&filter, "cudahisto interval=0");
    for (int s = 0; sizes[s][0] > 0; s++)
      check_size (&filter, video_formats[f], sizes[s][0], sizes[s][1], more,
          layout, (guint) (f + s) % step, step, problems);
    histo_expect_silence (&filter);
    filter_close (&filter);
  }
  expect (problems->len == 0, "%s", problems->str);
  g_string_free (problems, TRUE);
}

static void
histo_counts_formats (void)
{
  static const int sizes[][2] = { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 17, 11 },
    { 0, 0 } };

  check_formats (sizes, NULL, NULL);
}

static void
histo_counts_large (void)
{
  static const int sizes[][2] = { { 325, 241 }, { 0, 0 } };

  check_formats (sizes, NULL, NULL);
}

/* Bytes between rows and planes are not counted. */
static void
histo_counts_padded (void)
{
  static const int sizes[][2] = { { 17, 11 }, { 40, 9 }, { 0, 0 } };
  const PictureLayout padded = { .stride_padding = 37, .plane_padding = 13 };
  const PictureLayout split = { .stride_padding = 5, .split = TRUE };

  check_formats (sizes, NULL, &padded);
  check_formats (sizes, NULL, &split);
}

/* Both fields count as one frame. */
static void
histo_counts_interlaced (void)
{
  static const int sizes[][2] = { { 16, 2 }, { 17, 11 }, { 0, 0 } };

  check_formats (sizes, "interlace-mode=interleaved", NULL);
  check_formats (sizes, "interlace-mode=mixed", NULL);
}

/* Flat pictures, each of a different code: all samples are in one bin. */
static void
histo_counts_flat (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (
      &filter, "cudahisto interval=0 bins=255", &info, "GRAY8", 64, 48, NULL);
  for (int code = 0; code < 256; code++) {
    GstBuffer *picture = gst_buffer_new_allocate (NULL, info.size, NULL);
    char *problem;

    test_context ("format=GRAY8 size=64x48 bins=255 code %d", code);
    gst_buffer_memset (picture, 0, (guint8) code, info.size);
    problem = count_picture (&filter, &info, picture, "bins=255");
    expect (problem == NULL, "%s", problem);
  }
  filter_close (&filter);
}

/* ---- planes -------------------------------------------------------------- */

/* Expects one error about the planes, and no more with further frames. */
static void
expect_planes_error (Filter *filter)
{
  GstMessage *message = gst_bus_pop_filtered (filter->bus,
      GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_ELEMENT);
  GError *error = NULL;

  expect (
      message && GST_MESSAGE_TYPE (message) == GST_MESSAGE_ERROR, "no error");
  gst_message_parse_error (message, &error, NULL);
  expect (g_error_matches (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT),
      "another error: %s", error->message);
  expect (strstr (error->message, "planes") && strchr (error->message, ' ')
          && g_str_has_suffix (error->message, "."),
      "no sentence about planes: %s", error->message);
  g_error_free (error);
  gst_message_unref (message);
  histo_expect_silence (filter);
}

static void
check_planes (const char *format, const char *planes, GString *problems)
{
  char *settings = g_strdup_printf ("cudahisto interval=0 planes=%s", planes);
  GstVideoInfo info;
  Filter filter;
  gboolean taken;

  test_context ("format=%s size=18x12 settings=%s", format, settings);
  video_info (&info, format, 18, 12, NULL);
  filter_open (&filter, settings);
  taken = filter_caps (&filter, video_caps (format, 18, 12, NULL));
  if (histo_has_planes (&info, settings)) {
    char *problem;

    expect (taken, "caps refused");
    problem = count_picture (&filter, &info, picture_new (&info, 3), settings);
    if (problem)
      g_string_append_printf (problems, "\n  %s", problem);
    g_free (problem);
    histo_expect_silence (&filter);
  } else {
    for (guint32 i = 0; i < 4; i++)
      expect (gst_harness_push (filter.harness, picture_new (&info, i))
              != GST_FLOW_OK,
          "frames are taken");
    expect_planes_error (&filter);
  }
  filter_close (&filter);
  g_free (settings);
}

static void
histo_counts_planes (void)
{
  static const char *const planes[] = { "color", "luma", "chroma", "alpha",
    "all", "luma+alpha", "chroma+alpha", "color+alpha" };
  GString *problems = g_string_new (NULL);

  for (int f = 0; video_formats[f]; f++)
    for (guint p = 0; p < G_N_ELEMENTS (planes); p++)
      check_planes (video_formats[f], planes[p], problems);
  expect (problems->len == 0, "%s", problems->str);
  g_string_free (problems, TRUE);
}

/* Planes that the format lacks, set while playing. While upstream can send another format, frames
 * are counted as before. If upstream cannot, there is one error, and frames are counted again after
 * planes that the format has are set. */
static void
histo_counts_planes_put_right (void)
{
  static const struct
  {
    const char *format, *wrong;
  } rows[] = { { "RGB", "planes=luma" }, { "RGBA", "planes=chroma" },
    { "GRAY8", "planes=chroma" }, { "NV12", "planes=alpha" } };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    GstVideoInfo info;
    Filter filter;
    char *problem;

    filter_start (
        &filter, "cudahisto interval=0", &info, rows[r].format, 18, 12, NULL);
    problem = count_picture (&filter, &info, picture_new (&info, 1), "");
    expect (problem == NULL, "%s", problem);
    settings_apply (filter.element, rows[r].wrong);
    test_context ("format=%s %s", rows[r].format, rows[r].wrong);
    problem = count_picture (&filter, &info, picture_new (&info, 3), "");
    expect (problem == NULL, "while upstream can change: %s", problem);
    settings_apply (filter.element, "planes=color");
    gst_harness_set_src_caps (
        filter.harness, video_caps (rows[r].format, 18, 12, NULL));
    settings_apply (filter.element, rows[r].wrong);
    for (guint32 i = 0; i < 3; i++)
      expect (gst_harness_push (filter.harness, picture_new (&info, i))
              == GST_FLOW_ERROR,
          "frames are taken");
    expect_planes_error (&filter);
    settings_apply (filter.element, "planes=color");
    problem = count_picture (&filter, &info, picture_new (&info, 2), "");
    expect (problem == NULL, "%s", problem);
    histo_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* ---- methods and ways ---------------------------------------------------- */

/* All methods of the backend give the same counters. */
static void
histo_counts_methods (void)
{
  static const char *const on_cpu[] = { "auto", "reference", "pairs", NULL };
  static const char *const on_cuda[] = { "auto", "global", "shared", "warp",
    "lane", NULL };
  static const char *const formats[] = { "GRAY8", "NV12", "RGB", "AYUV" };
  const char *const *methods = test_on_cuda () ? on_cuda : on_cpu;

  for (guint f = 0; f < G_N_ELEMENTS (formats); f++)
    for (int m = 0; methods[m]; m++) {
      char *settings = g_strdup_printf (
          "cudahisto interval=0 bins=64 method=%s", methods[m]);
      GstVideoInfo info;
      char *problem, *active;
      Filter filter;

      filter_start (&filter, settings, &info, formats[f], 321, 41, NULL);
      problem =
          count_picture (&filter, &info, picture_new (&info, 7), settings);
      expect (problem == NULL, "%s", problem);
      active = filter_get (&filter, "active-method");
      expect (m == 0 ? !g_str_equal (active, "none")
                     : g_str_equal (active, methods[m]),
          "active-method is %s", active);
      g_free (active);
      g_free (settings);
      filter_close (&filter);
    }
}

/* A method of the other backend is refused with a sentence. */
static void
histo_counts_foreign_method (void)
{
  GstVideoInfo info;
  Filter filter;

  filter_start (&filter, "cudahisto interval=0", &info, "GRAY8", 16, 8, NULL);
  settings_apply (
      filter.element, test_on_cuda () ? "method=reference" : "method=global");
  expect (gst_harness_push (filter.harness, picture_new (&info, 1))
          == GST_FLOW_ERROR,
      "the frame is taken");
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS);
  filter_close (&filter);
}

static void
histo_counts_transfers (void)
{
  static const char *const transfers[] = { "auto", "pinned", "mapped",
    "pageable" };
  static const char *const formats[] = { "NV12", "RGB", "I420_10LE" };

  for (guint i = 0; i < G_N_ELEMENTS (transfers) * G_N_ELEMENTS (formats);
       i++) {
    char *settings = g_strdup_printf ("cudahisto interval=0 transfer=%s",
        transfers[i / G_N_ELEMENTS (formats)]);
    GstVideoInfo info;
    Filter filter;

    filter_start (&filter, settings, &info, formats[i % G_N_ELEMENTS (formats)],
        51, 31, NULL);
    for (guint32 n = 0; n < 6; n++) {
      char *problem =
          count_picture (&filter, &info, picture_new (&info, n), settings);

      expect (problem == NULL, "%s", problem);
    }
    histo_expect_silence (&filter);
    filter_close (&filter);
    g_free (settings);
  }
}

/* ---- without a device ---------------------------------------------------- */

/* The CPU takes over, with one warning. */
static void
histo_counts_fallback (void)
{
  static const char *const settings[] = {
    "cudahisto interval=0 backend=auto",
    "cudahisto interval=0 backend=auto method=global",
    "cudahisto interval=0 backend=auto method=lane bins=16",
  };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    GstVideoInfo info;
    char *method, *problem;
    Filter filter;

    filter_start (&filter, settings[s], &info, "NV12", 48, 32, NULL);
    expect (filter_drain_bus (
                &filter, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR, NULL)
            == 1,
        "not one warning");
    for (guint32 n = 0; n < 5; n++) {
      problem =
          count_picture (&filter, &info, picture_new (&info, n), settings[s]);
      expect (problem == NULL, "%s", problem);
    }
    method = filter_get (&filter, "active-method");
    expect (g_strcmp0 (method, "pairs") == 0, "active-method is %s", method);
    g_free (method);
    histo_expect_silence (&filter);
    filter_close (&filter);
  }
}

/* With backend=cuda a missing device is an error. */
static void
histo_counts_no_device (void)
{
  Filter filter;

  filter_make (&filter, "cudahisto backend=cuda");
  expect (gst_element_set_state (filter.element, GST_STATE_PAUSED)
          == GST_STATE_CHANGE_FAILURE,
      "it starts");
  filter_expect_error (
      &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
  filter_close (&filter);
}

const Test tests_histo_counts[] = {
  { "histo-counts-formats", histo_counts_formats, VARIANT_BOTH },
  { "histo-counts-large", histo_counts_large, VARIANT_BOTH },
  { "histo-counts-padded", histo_counts_padded, VARIANT_BOTH },
  { "histo-counts-interlaced", histo_counts_interlaced, VARIANT_BOTH },
  { "histo-counts-flat", histo_counts_flat, VARIANT_BOTH },
  { "histo-counts-planes", histo_counts_planes, VARIANT_BOTH },
  { "histo-counts-planes-put-right", histo_counts_planes_put_right,
      VARIANT_BOTH },
  { "histo-counts-methods", histo_counts_methods, VARIANT_BOTH },
  { "histo-counts-foreign-method", histo_counts_foreign_method, VARIANT_BOTH },
  { "histo-counts-transfers", histo_counts_transfers, VARIANT_BOTH },
  { "histo-counts-fallback", histo_counts_fallback, VARIANT_BARE },
  { "histo-counts-no-device", histo_counts_no_device, VARIANT_BARE },
  { 0 },
};
