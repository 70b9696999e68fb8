/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstcudahisto.h"
#include "gstcudasepconv.h"
#include "gstgpulog.h"

/* Folders that the driver is installed in, or mounted in by containers. */
#define DRIVER_FOLDERS \
  "/usr/lib/x86_64-linux-gnu,/usr/lib/aarch64-linux-gnu,/usr/lib64,/usr/lib," \
  "/usr/lib/wsl/lib,/usr/local/nvidia/lib64,/usr/local/cuda/compat," \
  "/run/opengl-driver/lib"
#define DRIVER_LIBRARY "libcuda.so.1"

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean any = FALSE;

  gst_gpu_log_init ();
  /* The templates have formats in GPU memory if there is a driver, so that the registry must be
   * written anew when a driver is installed or removed. */
  gst_plugin_add_dependency_simple (plugin, "LD_LIBRARY_PATH", DRIVER_FOLDERS,
      DRIVER_LIBRARY, GST_PLUGIN_DEPENDENCY_FLAG_NONE);
  /* If one element cannot be registered, the other still is. */
  any |= GST_ELEMENT_REGISTER (cudasepconv, plugin);
  any |= GST_ELEMENT_REGISTER (cudahisto, plugin);
  return any;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, cudasepconv,
    "Separable convolution and histograms of video on NVIDIA GPUs, or on the CPU",
    plugin_init, PACKAGE_VERSION, "LGPL", PACKAGE_NAME, PACKAGE_ORIGIN)
