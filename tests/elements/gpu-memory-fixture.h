/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu-memory-fixture: frames in GPU memory, made by the pool of GStreamer's CUDA
 * library, as a decoder on the GPU makes them. */
#pragma once

#include "picture-oracle.h"

#define GPU_MEMORY "memory:CUDAMemory"

/* Caps as of video_caps(), for frames in GPU memory. */
GstCaps *gpu_caps (const char *format, int width, int height, const char *more);
/* Whether the filter supports frames of this format and size in GPU memory. */
gboolean gpu_has_format (const char *format, int width, int height);

/* Makes a new context (GstCudaContext) of device 0; the caller unrefs it. */
GstObject *gpu_context_new (void);
/* The same for another device; NULL if there is no device of that number. */
GstObject *gpu_context_new_on (guint device);
/* Major compute capability of device 0. */
int gpu_major_capability (void);
/* Whether device 0 is emulated; every build has code for the emulated GPU. */
gboolean gpu_is_emulated (void);
/* Wraps a context for gst_element_set_context(). */
GstContext *gpu_context_wrap (GstObject *context);
/* The context that a neighbour would get from the filter's source pad; the caller
 * unrefs it. */
GstObject *gpu_context_of (GstElement *element);

/* An active pool for caps of gpu_caps(), of at most `most` buffers; 0: no limit. From
 * GStreamer 1.24 on, its memory belongs to a CUDA stream if `streams` is true. */
GstBufferPool *gpu_pool_new (
    GstObject *context, GstCaps *caps, guint most, gboolean streams);
void gpu_pool_free (GstBufferPool *pool);
/* Returns a buffer of the pool with the bytes and times of another buffer. The copy may
 * still be in progress on the memory's stream. */
GstBuffer *gpu_copy (
    GstBufferPool *pool, GstBuffer *picture, const GstVideoInfo *info);
/* The reverse: returns a buffer in system memory. Takes ownership of the buffer, and
 * returns the buffer itself if it is in system memory already. */
GstBuffer *gpu_fetch (GstBuffer *buffer, const GstVideoInfo *info);

/* The context of all of a buffer's memory, or NULL; borrowed. */
GstObject *gpu_buffer_context (GstBuffer *buffer);
/* Whether a buffer's memory has a stream that downstream has to wait for. */
gboolean gpu_buffer_has_stream (GstBuffer *buffer);
/* Whether memory can have a stream at all. */
gboolean gpu_can_have_streams (void);
