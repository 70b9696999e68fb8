/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* foreign-pool: a pool of ordinary memory that an element cannot take for a plain
 * one and replace, as those of sinks with memory of their own. */
#pragma once

#include <gst/video/video.h>

#define FOREIGN_TYPE_POOL (foreign_pool_get_type ())
G_DECLARE_FINAL_TYPE (
    ForeignPool, foreign_pool, FOREIGN, POOL, GstVideoBufferPool)

/* Configured for the caps; not active. */
GstBufferPool *foreign_pool_new (GstCaps *caps, guint size, guint min);
