/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpufilter-private: the state of a GstGpuFilter, only for gstgpufilter.c, gstgpuprepare.c
 * and gstgpuevents.c. */
#pragma once

#include "gstgpubackend.h"
#include "gstgpuflight.h"

G_BEGIN_DECLS

typedef struct
{
  /* Settings; protected by the object lock. The other settings are in `flights`. */
  GstGpuFilterBackend backend_setting;
  gint device_id;

  /* Values of the read-only properties; protected by the object lock. Static. */
  const gchar *active_backend;
  const gchar *active_method;

  /* Atomic. */
  gint started; /* caps may be set */
  gint answers; /* serialized queries are answered, not refused at once */

  /* Parts with an owner and locks of their own. */
  GstGpuBackend backend;
  GstGpuFlights flights;

  /* Owned by the streaming thread; the thread that starts and stops has them while the
   * streaming thread is idle. */
  gboolean have_layout; /* flights.format is that of the caps */
  GstGpuFilterUse use;  /* of frames, since the last prepare */
  gboolean reports;     /* frames to come are finished by the subclass */
  gboolean pageable;    /* pools are not pinned */
  gboolean discont;     /* a frame was skipped: mark the next */
  guint64 processed;    /* frames since the last flush, for QoS messages */
  gboolean failed;      /* the last prepare; its fault has been posted */
  Fault fault;          /* of the last prepare that failed */
} GstGpuFilterPrivate;

GstGpuFilterPrivate *gst_gpu_filter_get_private (GstGpuFilter *self);

/* Sets the property active-backend. Any thread; `name` must be static. */
void gst_gpu_filter_set_active_backend (GstGpuFilter *self, const gchar *name);

G_END_DECLS
