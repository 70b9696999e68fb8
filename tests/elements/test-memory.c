/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Peak memory of an element, compared with docs/reliability.md. */
#include "fault-fixture.h"
#include "filter-fixture.h"

#include <malloc.h>

#define MIB ((gsize) 1 << 20)
#define DEPTH 4
#define FRAMES 8

typedef struct
{
  const char *settings;
  guint images; /* images on the GPU per frame in flight: source and result */
  guint tiles, bins;
  const char *backend; /* the only backend that has it; NULL: both */
} Case;

static const Case cases[] = {
  { .settings = "cudasepconv sigma=2", .images = 2 },
  { .settings = "cudasepconv sigma=12", .images = 2 },
  { .settings = "cudasepconv kernel=box radius=60", .images = 2 },
  { .settings = "cudasepconv kernel=sobel", .images = 2 },
  { .settings = "cudasepconv sigma=2 gamma=linear", .images = 2 },
  { .settings = "cudasepconv sigma=2 roi-mode=inside "
                "zones=<<0.1,0.2,0.5,0.5>,<0.3,0.2,0.5,0.5>>",
      .images = 2 },
  { .settings = "cudasepconv sigma=2 histogram=true histogram-interval=0 "
                "histogram-messages=false",
      .images = 2,
      .bins = 256 },
  { .settings = "cudasepconv sigma=2 method=texture",
      .images = 2,
      .backend = "cuda" },
  { .settings = "cudasepconv sigma=2 method=reference",
      .images = 2,
      .backend = "cpu" },
  { .settings = "cudahisto interval=0 post-messages=false attach-meta=true",
      .images = 1,
      .bins = 256 },
  { .settings =
          "cudahisto interval=0 post-messages=false attach-meta=true bins=65536",
      .images = 1,
      .bins = 65536 },
  { .settings = "cudahisto post-messages=false mode=equalize",
      .images = 2,
      .tiles = 1,
      .bins = 256 },
  { .settings = "cudahisto post-messages=false mode=equalize equalizer=clahe "
                "tiles-x=9 tiles-y=5",
      .images = 2,
      .tiles = 45,
      .bins = 256 },
  { .settings = "cudahisto post-messages=false mode=overlay",
      .images = 2,
      .bins = 256 },
};

static const char *const formats[] = { "NV12", "GRAY16_LE" };

/* Updates the peak of heap bytes. */
static GstPadProbeReturn
measure_heap (GstPad *pad, GstPadProbeInfo *probe, gpointer user)
{
  const struct mallinfo2 heap = mallinfo2 ();
  gsize *most = user;

  (void) pad;
  (void) probe;
  *most = MAX (*most, heap.uordblks + heap.hblkhd);
  return GST_PAD_PROBE_OK;
}

/* Plays frames through one element; returns the peak of heap bytes above those before. */
static gsize
play (const Case *c, const GstVideoInfo *info)
{
  char *line = g_strdup_printf (
      "videotestsrc num-buffers=%d ! video/x-raw,format=%s,width=%d,height=%d ! "
      "%s ring-depth=%d backend=%s ! fakesink name=sink",
      FRAMES, GST_VIDEO_INFO_NAME (info), GST_VIDEO_INFO_WIDTH (info),
      GST_VIDEO_INFO_HEIGHT (info), c->settings, DEPTH, test_backend ());
  const struct mallinfo2 before = mallinfo2 ();
  GstElement *pipeline = gst_parse_launch (line, NULL);
  GstBus *bus = gst_element_get_bus (pipeline);
  gsize most = 0;
  GstMessage *message;

  watch_sink (pipeline, "sink", measure_heap, &most);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  message = gst_bus_timed_pop_filtered (
      bus, test_patience (), GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  expect (message != NULL && GST_MESSAGE_TYPE (message) == GST_MESSAGE_EOS,
      "%s does not play to its end", line);
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_message_unref (message);
  gst_object_unref (bus);
  gst_object_unref (pipeline);
  g_free (line);
  return most - MIN (most, before.uordblks + before.hblkhd);
}

/* Calls `check` for each element and format. */
static void
each_case (int width, int height,
    void (*check) (const Case *c, const GstVideoInfo *info))
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint f = 0; f < G_N_ELEMENTS (formats); f++) {
      GstVideoInfo info;

      if (cases[i].backend != NULL
          && !g_str_equal (cases[i].backend, test_backend ()))
        continue;
      test_context ("%s, %s", cases[i].settings, formats[f]);
      gst_video_info_set_format (&info,
          gst_video_format_from_string (formats[f]), (guint) width,
          (guint) height);
      check (&cases[i], &info);
    }
}

/* Bytes of the counters of one frame. */
static gsize
bins_bytes (const Case *c, const GstVideoInfo *info)
{
  return c->bins * GST_VIDEO_INFO_N_COMPONENTS (info) * sizeof (guint64);
}

static gsize
codes_of_tiles (const Case *c, const GstVideoInfo *info)
{
  return (gsize) c->tiles << GST_VIDEO_INFO_COMP_DEPTH (info, 0);
}

static void
check_on_gpu (const Case *c, const GstVideoInfo *info)
{
  const FaultPoints *points = fault_points ();
  const gsize frame = GST_VIDEO_INFO_SIZE (info), bins = bins_bytes (c, info);
  const gsize most_device = (c->images * DEPTH + 9) * frame + bins
      + 16 * codes_of_tiles (c, info) + MIB / 2;
  const gsize most_pinned =
      (2 * DEPTH + 2) * frame + DEPTH * (bins + MIB / 2);
  gsize device, pinned, device_before, pinned_before;

  points->most_memory (&device, &pinned);
  points->most_memory (&device_before, &pinned_before);
  play (c, info);
  points->most_memory (&device, &pinned);
  device -= device_before;
  pinned -= pinned_before;
  expect (device >= c->images * frame, "only %zu bytes were seen", device);
  expect (device <= most_device, "%zu bytes of the GPU, of %zu at most", device,
      most_device);
  expect (pinned >= 2 * frame, "only %zu pinned bytes were seen", pinned);
  expect (pinned <= most_pinned, "%zu pinned bytes, of %zu at most", pinned,
      most_pinned);
}

static void
memory_on_gpu (void)
{
  if (fault_points () == NULL)
    test_skip ("only the emulated GPU counts its memory");
  else
    each_case (320, 180, check_on_gpu);
}

static void
check_on_cpu (const Case *c, const GstVideoInfo *info)
{
  const gsize frame = GST_VIDEO_INFO_SIZE (info);
  const gsize most = 18 * frame + 4 * MIB * (g_get_num_processors () + 1)
      + 8 * codes_of_tiles (c, info) + 8 * bins_bytes (c, info);
  const gsize heap = play (c, info);

  expect (heap >= 2 * frame, "only %zu bytes were seen", heap);
  expect (heap <= most, "%zu bytes of the heap, of %zu at most", heap, most);
}

static void
memory_on_cpu (void)
{
  const struct mallinfo2 heap = mallinfo2 ();

  if (heap.uordblks + heap.hblkhd == 0)
    test_skip ("this build's allocator does not count");
  else
    each_case (1280, 720, check_on_cpu);
}

const Test tests_memory[] = {
  { "memory-on-gpu", memory_on_gpu, VARIANT_CUDA },
  { "memory-on-cpu", memory_on_cpu, VARIANT_CPU },
  { 0 },
};
