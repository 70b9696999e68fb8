/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpulog.h"

GST_DEBUG_CATEGORY (gst_gpu_log_base);
GST_DEBUG_CATEGORY (gst_gpu_log_device);
GST_DEBUG_CATEGORY (gst_gpu_log_flight);
GST_DEBUG_CATEGORY (gst_gpu_log_memory);

void
gst_gpu_log_init (void)
{
  GST_DEBUG_CATEGORY_INIT (gst_gpu_log_base, "cudasepconv-base", 0,
      "cudasepconv, cudahisto: settings, caps, use of frames");
  GST_DEBUG_CATEGORY_INIT (gst_gpu_log_device, "cudasepconv-device", 0,
      "cudasepconv, cudahisto: backend, device, context");
  GST_DEBUG_CATEGORY_INIT (gst_gpu_log_flight, "cudasepconv-flight", 0,
      "cudasepconv, cudahisto: ring, frames in flight, drains");
  GST_DEBUG_CATEGORY_INIT (gst_gpu_log_memory, "cudasepconv-memory", 0,
      "cudasepconv, cudahisto: pinned memory, GPU memory, pools");
}

GstDebugCategory *
gst_gpu_log_of_element (GstElement *element)
{
#ifdef GST_DISABLE_GST_DEBUG
  (void) element;
  return NULL;
#else
  GstElementFactory *factory = gst_element_get_factory (element);
  GstDebugCategory *category = NULL;

  if (factory != NULL)
    GST_DEBUG_CATEGORY_GET (category, GST_OBJECT_NAME (factory));
  return category != NULL ? category : gst_gpu_log_base;
#endif
}
