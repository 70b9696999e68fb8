/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gpu-memory-fixture: frames in the GPU's memory, made by the pool of GStreamer's CUDA
 * library, as a decoder on the GPU would. */
#pragma once

#include "picture-oracle.h"

#define GPU_MEMORY "memory:CUDAMemory"

/* Caps as video_caps() gives, of frames in the GPU's memory. */
GstCaps *gpu_caps (const char *format, int width, int height, const char *more);
/* Whether the filter promises frames of this format and size in such memory. */
gboolean gpu_has_format (const char *format, int width, int height);

/* A new context (GstCudaContext) of device 0; to be unreffed. */
GstObject *gpu_context_new (void);
/* Likewise of another device; NULL if there is none of that number. */
GstObject *gpu_context_new_on (guint device);
/* The major compute capability of device 0. */
int gpu_major_capability (void);
/* Whether it is emulated, with code for it in every build. */
gboolean gpu_is_emulated (void);
/* As gst_element_set_context() wants it. */
GstContext *gpu_context_wrap (GstObject *context);
/* The one that a neighbour of the filter's source pad would get; to be unreffed. */
GstObject *gpu_context_of (GstElement *element);

/* A pool for caps as gpu_caps() gives, of up to `most` buffers, 0 for any number,
 * active. From GStreamer 1.24 on its memory belongs to a stream if `streams`. */
GstBufferPool *gpu_pool_new (
    GstObject *context, GstCaps *caps, guint most, gboolean streams);
void gpu_pool_free (GstBufferPool *pool);
/* A buffer of the pool with the bytes and the times of another, which may still be on
 * their way there. */
GstBuffer *gpu_copy (
    GstBufferPool *pool, GstBuffer *picture, const GstVideoInfo *info);
/* The same the other way: a buffer in system memory. Takes the buffer, and returns it
 * if it is there already. */
GstBuffer *gpu_fetch (GstBuffer *buffer, const GstVideoInfo *info);

/* The context that all of a buffer's memory is in, or NULL; borrowed. */
GstObject *gpu_buffer_context (GstBuffer *buffer);
/* Whether downstream has to wait for its stream. */
gboolean gpu_buffer_has_stream (GstBuffer *buffer);
/* Whether memory can have one at all. */
gboolean gpu_can_have_streams (void);
