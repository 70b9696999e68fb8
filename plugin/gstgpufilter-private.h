/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpufilter-private: the state of a GstGpuFilter, only for gstgpufilter.c, gstgpuprepare.c
 * and gstgpuevents.c. */
#pragma once

#include "gstgpubackend.h"
#include "gstgpuflight.h"

G_BEGIN_DECLS

typedef struct
{
  /* Settings; protected by the object lock. `flights` has further settings. */
  GstGpuFilterBackend backend_setting;
  gint device_id;

  /* Values of the read-only properties; protected by the object lock. Static. */
  const gchar *active_backend;
  const gchar *active_method;

  /* Atomic. */
  gint started; /* caps may be set */
  gint answers; /* serialized queries are answered, not refused at once */

  /* Parts; their headers say which thread or lock protects which field. */
  GstGpuBackend backend;
  GstGpuFlights flights;

  /* Owned by the streaming thread, and while that is idle by the thread that starts and
   * stops. */
  gboolean have_layout; /* flights.format is set from the caps */
  GstGpuFilterUse use;  /* of frames, as the last prepare decided */
  /* the output buffer being allocated gets a copy of the frame */
  gboolean copies;
  gboolean reports;     /* the subclass may finish the next frames */
  /* input buffers may be pushed, unchanged or changed in place */
  gboolean may_pass;
  gboolean takes_video_meta; /* downstream reads GstVideoMeta */
  gboolean pageable;         /* pools are of ordinary memory */
  gboolean discont;  /* a frame was skipped: the next one gets the flag */
  guint64 processed; /* frames since the last flush, for QoS messages */
  gboolean failed;   /* the last prepare failed, and posted `fault` */
  Fault fault;
} GstGpuFilterPrivate;

GstGpuFilterPrivate *gst_gpu_filter_get_private (GstGpuFilter *self);

/* Sets the property active-backend. Any thread; `name` must be static. */
void gst_gpu_filter_set_active_backend (GstGpuFilter *self, const gchar *name);

G_END_DECLS
