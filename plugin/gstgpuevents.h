/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpuevents: the effect of an event from upstream on the frames in flight: it drains them, is
 * pushed after them, or drops them as a flush does. */
#pragma once

#include "gstgpufilter.h"

G_BEGIN_DECLS

/* Drains, drops or queues for an event that is about to be forwarded. TRUE: the event has been
 * taken, and will be pushed after the frames in flight. */
gboolean gst_gpu_events_take (GstGpuFilter *self, GstEvent *event);

G_END_DECLS
