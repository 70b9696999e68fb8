/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpuevents: the effect of an event from upstream on the frames in flight: the event drains
 * them, is pushed after them, or drops them as a flush does. */
#pragma once

#include "gstgpufilter.h"

G_BEGIN_DECLS

/* Drains or drops the frames in flight for an event that is about to be forwarded, or queues
 * the event. TRUE: the event has been taken, and will be pushed after the frames in flight. */
gboolean gst_gpu_events_take (GstGpuFilter *self, GstEvent *event);

G_END_DECLS
