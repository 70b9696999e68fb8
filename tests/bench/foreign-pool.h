/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* foreign-pool: a pool of ordinary memory with a type of its own, like those of sinks
 * with special memory: an element cannot mistake it for a plain pool and replace it. */
#pragma once

#include <gst/video/video.h>

#define FOREIGN_TYPE_POOL (foreign_pool_get_type ())
G_DECLARE_FINAL_TYPE (
    ForeignPool, foreign_pool, FOREIGN, POOL, GstVideoBufferPool)

/* The pool is configured for the caps, but not active. */
GstBufferPool *foreign_pool_new (GstCaps *caps, guint size, guint min);
