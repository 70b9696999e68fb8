/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudahisto.h"
#include "gstcudasepconv.h"
#include "gstgpulog.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean any = FALSE;

  gst_gpu_log_init ();
  /* One element that cannot be registered does not take the other with it. */
  any |= GST_ELEMENT_REGISTER (cudasepconv, plugin);
  any |= GST_ELEMENT_REGISTER (cudahisto, plugin);
  return any;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, cudasepconv,
    "Separable convolution and histograms of video on NVIDIA GPUs, or on the CPU",
    plugin_init, PACKAGE_VERSION, "LGPL", PACKAGE_NAME, PACKAGE_ORIGIN)
