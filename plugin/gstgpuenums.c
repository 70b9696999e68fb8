/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpuenums.h"

/* The library of GstCudaFrameFilter has another prefix. */
#ifndef GST_GPU_ENUM_PREFIX
#define GST_GPU_ENUM_PREFIX "GstGpu"
#endif

GType
gst_gpu_filter_backend_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_GPU_FILTER_BACKEND_AUTO,
        "The GPU; without a usable one, the CPU and a warning", "auto" },
    { GST_GPU_FILTER_BACKEND_CUDA, "The GPU; without a usable one, an error",
        "cuda" },
    { GST_GPU_FILTER_BACKEND_CPU, "The CPU", "cpu" }, { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static (
                   GST_GPU_ENUM_PREFIX "FilterBackend", values));
  return type;
}

GstGpuFilterBackend
gst_gpu_filter_backend_of (Backend backend)
{
  return backend == BACKEND_CPU ? GST_GPU_FILTER_BACKEND_CPU
                                : GST_GPU_FILTER_BACKEND_CUDA;
}

GType
gst_gpu_filter_transfer_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = { { GST_GPU_FILTER_TRANSFER_AUTO,
                                           "The fastest for the frame's size",
                                           "auto" },
    { GST_GPU_FILTER_TRANSFER_PINNED, "Copy engines and pinned memory",
        "pinned" },
    { GST_GPU_FILTER_TRANSFER_MAPPED,
        "Kernels read and write pinned host memory themselves (zero-copy)",
        "mapped" },
    { GST_GPU_FILTER_TRANSFER_PAGEABLE,
        "Copy engines and ordinary memory, for comparison", "pageable" },
    { 0, NULL, NULL } };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static (
                   GST_GPU_ENUM_PREFIX "FilterTransfer", values));
  return type;
}

GType
gst_gpu_filter_register_methods (const gchar *type_name, gint n,
    void (*describe) (gint i, GstGpuFilterMethod *method))
{
  GEnumValue *values = g_new0 (GEnumValue, n + 2);

  values[0] = (GEnumValue){ GST_GPU_FILTER_METHOD_AUTO,
    "The fastest method that is accurate enough", "auto" };
  for (gint i = 0; i < n; i++) {
    GstGpuFilterMethod method;

    describe (i, &method);
    values[i + 1].value = i + 1;
    values[i + 1].value_nick = method.name;
    values[i + 1].value_name = g_strdup_printf ("%s: %s",
        method.backend == BACKEND_CPU ? "CPU" : "GPU", method.description);
  }
  return g_enum_register_static (type_name, values);
}
