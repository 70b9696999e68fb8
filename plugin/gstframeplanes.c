/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstframeplanes.h"

GType
gst_frame_planes_get_type (void)
{
  static gsize type = 0;
  static const GFlagsValue values[] = {
    { GST_FRAME_PLANES_COLOR, "All components but alpha", "color" },
    { GST_FRAME_PLANES_LUMA, "Luma, or grey", "luma" },
    { GST_FRAME_PLANES_CHROMA, "Chroma", "chroma" },
    { GST_FRAME_PLANES_ALPHA, "Alpha", "alpha" },
    { GST_FRAME_PLANES_ALL, "All components", "all" }, { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_flags_register_static ("GstFramePlanes", values));
  return type;
}

gboolean
gst_frame_planes_select (GstFramePlanes planes, GstFrameChannelRole role)
{
  switch (role) {
    case GST_FRAME_CHANNEL_LUMA:
      return (planes & GST_FRAME_PLANES_LUMA) != 0;
    case GST_FRAME_CHANNEL_CHROMA:
      return (planes & GST_FRAME_PLANES_CHROMA) != 0;
    case GST_FRAME_CHANNEL_RGB:
      return (planes & GST_FRAME_PLANES_COLOR) == GST_FRAME_PLANES_COLOR;
    case GST_FRAME_CHANNEL_ALPHA:
      return (planes & GST_FRAME_PLANES_ALPHA) != 0;
    default:
      return FALSE;
  }
}

gboolean
gst_frame_planes_check (
    GstFramePlanes planes, const GstVideoFormatInfo *format, Fault *fault)
{
  const guint color = planes & GST_FRAME_PLANES_COLOR;

  if (!GST_VIDEO_FORMAT_INFO_IS_RGB (format) || color == 0
      || color == GST_FRAME_PLANES_COLOR)
    return TRUE;
  return fault_set (fault, FAULT_FORMAT,
      "planes selects luma or chroma alone, which %s video does not have.",
      GST_VIDEO_FORMAT_INFO_NAME (format));
}
