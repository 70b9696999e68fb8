/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Buffers that do not match their description: shorter than their caps require, in several
 * memories, with random numbers in GstVideoMeta, GstVideoCropMeta and regions. They must be
 * filtered or refused; nothing outside of them may be read. */
#include "fuzz-element.h"

static const char *const formats[] = { "GRAY8", "NV12", "I420", "YUY2", "RGB",
  "RGBA", "BGRx", "P010_10LE", "Y444_16LE", "AYUV", "A420", "GRAY16_LE", "Y210",
  "ARGB64", "NV24", "GBR", "v210", "UYVP", "RGB10A2_LE", "r210", "RGB16",
  "BGR15", "NV12_10LE32", "NV12_10LE40", "GRAY10_LE32", "I420_10BE",
  "Y412_BE" };

static const char *const modes[] = { "progressive", "interleaved", "mixed",
  "alternate" };

/* Each row: an element, and pairs of property and value. */
static const char *const settings[][8] = {
  { "cudasepconv", "sigma", "1" },
  { "cudasepconv", "sigma", "5", "border", "wrap" },
  { "cudasepconv", "sigma", "2", "roi-mode", "inside" },
  { "cudasepconv", "sigma", "2", "roi-mode", "outside", "roi-shape",
      "ellipse" },
  { "cudasepconv", "roi-mode", "inside", "roi-strength", "0.3", "roi-grow",
      "1.5" },
  { "cudasepconv", "roi-mode", "inside", "roi-fill", "pixelate", "roi-feather",
      "2" },
  { "cudasepconv", "sigma", "0", "histogram", "true" },
  { "cudasepconv", "kernel", "sobel", "planes", "all" },
  { "cudasepconv", "sigma", "2", "gamma", "linear" },
  { "cudahisto", "interval", "0" },
  { "cudahisto", "mode", "equalize", "equalizer", "clahe" },
  { "cudahisto", "mode", "overlay", "attach-meta", "true" },
};

/* Appends a memory whose end is the end of its block. */
static void
append_memory (GstBuffer *buffer, gsize size)
{
  guint8 *block = g_malloc0 (MAX (size, 1));

  for (gsize i = 0; i < size; i++)
    block[i] = (guint8) (i * 29);
  gst_buffer_append_memory (
      buffer, gst_memory_new_wrapped (0, block, size, 0, size, block, g_free));
}

/* A buffer of this number of bytes, sometimes in several memories. */
static GstBuffer *
buffer_new (Bytes *bytes, gsize size)
{
  GstBuffer *buffer = gst_buffer_new ();

  for (int cuts = bytes_int (bytes, 0, 7) - 4; cuts > 0 && size > 1; cuts--) {
    const gsize part = (gsize) bytes_int (bytes, 1, (int) size - 1);

    append_memory (buffer, part);
    size -= part;
  }
  append_memory (buffer, size);
  return buffer;
}

static void
add_video_meta (Bytes *bytes, GstBuffer *buffer, const GstVideoInfo *info)
{
  gsize offset[GST_VIDEO_MAX_PLANES];
  gint stride[GST_VIDEO_MAX_PLANES];
  GstVideoFormat format = GST_VIDEO_INFO_FORMAT (info);
  guint width = (guint) GST_VIDEO_INFO_WIDTH (info);
  guint height = (guint) GST_VIDEO_INFO_HEIGHT (info);
  guint planes = GST_VIDEO_INFO_N_PLANES (info);

  for (guint p = 0; p < GST_VIDEO_MAX_PLANES; p++) {
    const gsize right = p < planes ? GST_VIDEO_INFO_PLANE_OFFSET (info, p) : 0;
    const gint rows = p < planes ? GST_VIDEO_INFO_PLANE_STRIDE (info, p) : 0;

    offset[p] = bytes_int (bytes, 0, 3)
        ? right
        : (gsize) (gssize) bytes_wild_int (bytes, 0, 900);
    stride[p] =
        bytes_int (bytes, 0, 3) ? rows : bytes_wild_int (bytes, -100, 100);
  }
  if (bytes_int (bytes, 0, 7) == 0)
    format = (GstVideoFormat) bytes_int (bytes, 2, 30);
  if (bytes_int (bytes, 0, 3) == 0)
    width = (guint) bytes_wild_int (bytes, 0, 40);
  if (bytes_int (bytes, 0, 3) == 0)
    height = (guint) bytes_wild_int (bytes, 0, 40);
  if (bytes_int (bytes, 0, 7) == 0)
    planes = (guint) bytes_int (bytes, 0, GST_VIDEO_MAX_PLANES);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE, format,
      width, height, planes, offset, stride);
}

static void
add_crop_meta (Bytes *bytes, GstBuffer *buffer, const GstVideoInfo *info)
{
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta (buffer);

  crop->x = (guint) bytes_wild_int (bytes, 0, 20);
  crop->y = (guint) bytes_wild_int (bytes, 0, 20);
  crop->width = bytes_int (bytes, 0, 3) ? (guint) GST_VIDEO_INFO_WIDTH (info)
                                        : (guint) bytes_wild_int (bytes, 0, 40);
  crop->height = bytes_int (bytes, 0, 3)
      ? (guint) GST_VIDEO_INFO_HEIGHT (info)
      : (guint) bytes_wild_int (bytes, 0, 40);
}

static void
add_metas (Bytes *bytes, GstBuffer *buffer, const GstVideoInfo *info)
{
  if (bytes_int (bytes, 0, 3))
    add_video_meta (bytes, buffer, info);
  if (bytes_int (bytes, 0, 3) == 0)
    add_crop_meta (bytes, buffer, info);
  for (int n = bytes_int (bytes, 0, 3); n > 0; n--) {
    const guint x = (guint) bytes_wild_int (bytes, -4, 30);
    const guint y = (guint) bytes_wild_int (bytes, -4, 30);
    const guint w = (guint) bytes_wild_int (bytes, 0, 30);
    const guint h = (guint) bytes_wild_int (bytes, 0, 30);

    gst_buffer_add_video_region_of_interest_meta (buffer, "face", x, y, w, h);
  }
}

static void
push_buffers (Bytes *bytes, GstHarness *harness, const GstVideoInfo *info)
{
  for (int n = bytes_int (bytes, 1, 4); n > 0; n--) {
    const int size = (int) GST_VIDEO_INFO_SIZE (info);
    GstBuffer *buffer = buffer_new (bytes,
        (gsize) (bytes_int (bytes, 0, 3) ? size
                                         : bytes_int (bytes, 0, 2 * size)));

    add_metas (bytes, buffer, info);
    if (bytes_int (bytes, 0, 3))
      GST_BUFFER_PTS (buffer) = bytes_take (bytes, 8);
    if (bytes_int (bytes, 0, 1))
      GST_BUFFER_FLAG_SET (buffer,
          GST_VIDEO_BUFFER_FLAG_INTERLACED
              | (GstBufferFlags) bytes_int (bytes, 0, 1)
                  * GST_VIDEO_BUFFER_FLAG_TFF);
    if (fuzz_push (harness, buffer) != GST_FLOW_OK)
      break;
  }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  Bytes bytes = { data, size };
  const char *const *row =
      settings[bytes_int (&bytes, 0, G_N_ELEMENTS (settings) - 1)];
  GstHarness *harness = fuzz_harness_new (row[0]);
  GstVideoInfo info;
  GstCaps *caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING,
      formats[bytes_int (&bytes, 0, G_N_ELEMENTS (formats) - 1)], "width",
      G_TYPE_INT, bytes_int (&bytes, 1, 24), "height", G_TYPE_INT,
      bytes_int (&bytes, 1, 20), "framerate", GST_TYPE_FRACTION, 30, 1,
      "interlace-mode", G_TYPE_STRING, modes[bytes_int (&bytes, 0, 7) % 4],
      NULL);

  for (int i = 1; row[i] != NULL; i += 2)
    gst_util_set_object_arg (G_OBJECT (harness->element), row[i], row[i + 1]);
  gst_harness_play (harness);
  if (gst_video_info_from_caps (&info, caps)) {
    if (GST_VIDEO_INFO_INTERLACE_MODE (&info)
        == GST_VIDEO_INTERLACE_MODE_ALTERNATE)
      gst_caps_set_features (caps, 0,
          gst_caps_features_new (GST_CAPS_FEATURE_FORMAT_INTERLACED, NULL));
    if (fuzz_send_caps (harness, gst_caps_ref (caps)))
      push_buffers (&bytes, harness, &info);
  }
  gst_caps_unref (caps);
  fuzz_harness_free (harness);
  return 0;
}
