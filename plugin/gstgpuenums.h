/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpuenums: the enumerations behind the properties backend, transfer and method. */
#pragma once

#include <gst/gst.h>

#include "backend.h"

G_BEGIN_DECLS

typedef enum
{
  GST_GPU_FILTER_TRANSFER_AUTO,
  GST_GPU_FILTER_TRANSFER_PINNED,
  GST_GPU_FILTER_TRANSFER_MAPPED,
  GST_GPU_FILTER_TRANSFER_PAGEABLE,
} GstGpuFilterTransfer;

#define GST_TYPE_GPU_FILTER_TRANSFER (gst_gpu_filter_transfer_get_type ())
GType gst_gpu_filter_transfer_get_type (void);

typedef enum
{
  GST_GPU_FILTER_BACKEND_AUTO,
  GST_GPU_FILTER_BACKEND_CUDA,
  GST_GPU_FILTER_BACKEND_CPU,
} GstGpuFilterBackend;

#define GST_TYPE_GPU_FILTER_BACKEND (gst_gpu_filter_backend_get_type ())
GType gst_gpu_filter_backend_get_type (void);

/* Returns the value of the property for a backend of the engine. */
GstGpuFilterBackend gst_gpu_filter_backend_of (Backend backend);

/* Value 0 of a `method` property is auto; method i of the engine is i + 1. */
#define GST_GPU_FILTER_METHOD_AUTO 0

typedef struct
{
  const gchar *name, *description; /* static */
  Backend backend;
} GstGpuFilterMethod;

/* Registers the enumeration of auto and n methods; `describe` fills in each method. */
GType gst_gpu_filter_register_methods (const gchar *type_name, gint n,
    void (*describe) (gint i, GstGpuFilterMethod *method));

G_END_DECLS
