/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstgpuevents: events from upstream and the frames in flight: those that drain them, those
 * that go among them, and flushes, which drop them. */
#pragma once

#include "gstgpufilter.h"

G_BEGIN_DECLS

/* Does to the frames in flight what an event asks for before it is forwarded. TRUE: the event
 * has been taken, and goes among them. */
gboolean gst_gpu_events_take (GstGpuFilter *self, GstEvent *event);

G_END_DECLS
