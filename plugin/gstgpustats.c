/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstgpustats.h"

void
gst_gpu_stats_add_ring (GstGpuStats *self, Ring *ring)
{
  RingStats stats;

  ring_stats (ring, &stats);
  ring_stats_add (&self->past, &stats);
}

static guint64
mean (gdouble sum, guint64 n)
{
  return n == 0 ? 0 : (guint64) (sum / (gdouble) n);
}

GstStructure *
gst_gpu_stats_to_structure (const GstGpuStats *self, Ring *ring)
{
  GstGpuStats all = *self;
  const RingStats *stats = &all.past;

  if (ring != NULL)
    gst_gpu_stats_add_ring (&all, ring);
  return gst_structure_new ("application/x-gpu-filter-stats", "frames-in",
      G_TYPE_UINT64, (guint64) stats->frames_in + all.untouched, "frames-out",
      G_TYPE_UINT64, (guint64) stats->frames_out + all.untouched, "bytes-up",
      G_TYPE_UINT64, (guint64) stats->bytes_up, "bytes-down", G_TYPE_UINT64,
      (guint64) stats->bytes_down, "slices", G_TYPE_UINT64,
      (guint64) stats->parts + all.untouched, "up-time", G_TYPE_UINT64,
      mean (stats->up_ns, stats->frames_timed), "compute-time", G_TYPE_UINT64,
      mean (stats->compute_ns, stats->frames_timed), "down-time", G_TYPE_UINT64,
      mean (stats->down_ns, stats->frames_timed), "in-flight-peak", G_TYPE_UINT,
      (guint) stats->in_flight_peak, NULL);
}
