/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Behaviour on a machine without a CUDA device. */
#include "picture-oracle.h"

/* Plays a little with these settings and returns the number of warnings. */
static int
count_warnings (const char *settings)
{
  GstVideoInfo info;
  Filter filter;
  GstMessage *message;
  char *backend, *method;
  int warnings;

  filter_start (&filter, settings, &info, "NV12", 48, 32, NULL);
  for (guint32 i = 0; i < 5; i++) {
    picture_check_frame (&filter, &info, i, settings);
  }
  /* New caps are no reason for another warning. */
  expect (
      filter_caps (&filter, video_caps ("RGBA", 20, 10, NULL)), "caps refused");
  video_info (&info, "RGBA", 20, 10, NULL);
  gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));

  backend = filter_get (&filter, "active-backend");
  expect (g_strcmp0 (backend, "cpu") == 0, "active-backend is %s", backend);
  method = filter_get (&filter, "active-method");
  expect (g_strcmp0 (method,
              strstr (settings, "method=reference") ? "reference" : "simd")
          == 0,
      "active-method is %s", method);
  g_free (backend);
  g_free (method);
  warnings = filter_drain_bus (
      &filter, GST_MESSAGE_WARNING | GST_MESSAGE_ERROR, &message);
  if (message) {
    expect (GST_MESSAGE_TYPE (message) == GST_MESSAGE_WARNING, "an error");
    gst_message_unref (message);
  }
  filter_close (&filter);
  return warnings;
}

static void
fallback_warns_once (void)
{
  const int n = count_warnings ("backend=auto sigma=2");

  expect (n == 1, "%d warnings", n);
}

/* backend=auto with a method of the GPU falls back in the same way. */
static void
fallback_of_method (void)
{
  static const char *const settings[] = { "backend=auto method=global",
    "backend=auto method=shared" };

  for (int s = 0; s < 2; s++) {
    const int n = count_warnings (settings[s]);

    expect (n == 1, "%d warnings", n);
  }
}

/* backend=cpu works with and without a device, and needs no warning. */
static void
fallback_not_needed (void)
{
  static const char *const settings[] = { "backend=auto method=reference",
    "backend=cpu", "backend=cpu method=reference" };

  for (guint s = 0; s < G_N_ELEMENTS (settings); s++) {
    const int n = count_warnings (settings[s]);

    expect (n == 0, "%d warnings", n);
  }
}

/* With backend=cuda a missing device is an error, each time. */
static void
fallback_refused (void)
{
  Filter filter;

  test_context ("format=NV12 backend=cuda without a device");
  filter_make (&filter, "backend=cuda");
  for (int i = 0; i < 2; i++) {
    if (gst_element_set_state (filter.element, GST_STATE_PLAYING)
        != GST_STATE_CHANGE_FAILURE) {
      if (!filter.harness)
        filter_plug (&filter);
      if (filter_caps (&filter, video_caps ("NV12", 48, 32, NULL))) {
        GstVideoInfo info;

        video_info (&info, "NV12", 48, 32, NULL);
        expect (gst_harness_push (filter.harness, picture_new (&info, 1))
                != GST_FLOW_OK,
            "a frame is taken");
      }
    }
    filter_expect_error (
        &filter, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND);
    gst_element_set_state (filter.element, GST_STATE_NULL);
  }
  /* The same element on the CPU. */
  settings_apply (filter.element, "backend=cpu");
  if (!filter.harness)
    filter_plug (&filter);
  else
    filter_restart (&filter);
  expect (
      filter_caps (&filter, video_caps ("NV12", 48, 32, NULL)), "caps refused");
  {
    GstVideoInfo info;

    video_info (&info, "NV12", 48, 32, NULL);
    gst_buffer_unref (filter_process (&filter, picture_new (&info, 1)));
  }
  filter_expect_silence (&filter);
  filter_close (&filter);
}

const Test tests_fallback[] = {
  { "fallback-warns-once", fallback_warns_once, VARIANT_BARE },
  { "fallback-of-method", fallback_of_method, VARIANT_BARE },
  { "fallback-not-needed", fallback_not_needed, VARIANT_ANY },
  { "fallback-refused", fallback_refused, VARIANT_BARE },
  { 0 },
};
