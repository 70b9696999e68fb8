/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-frames: frames that launches take in turn, so that no cache holds what
 * they read: pairs of source and destination, or sources alone. */
#pragma once

#include "kerncheck-device.h"

typedef struct
{
  int n_pairs;
  Image *src, *dst;  /* [n_pairs]; dst NULL: there are sources alone */
  size_t image_size; /* bytes of one, with what pads its rows */
  uint8_t *block;    /* all of them, on the device or the host */
  bool on_device;
} BenchFrames;

/* Pairs enough for runs of them to overlap, and as many as have `rotation_bytes`
 * together; sources hold random bytes. The device's context must be pushed. */
bool bench_frames_new (BenchFrames *frames, const Device *device,
    const Image *layout, size_t rotation_bytes, Fault *fault);
/* Likewise, but without destinations, and sources are yet to be painted. */
bool bench_frames_new_sources (BenchFrames *frames, const Device *device,
    const Image *layout, size_t rotation_bytes, Fault *fault);
/* Zeroed frames are allowed. */
void bench_frames_clear (BenchFrames *frames);

/* Fills a picture in host memory. */
typedef bool (*BenchPaint) (const Image *picture, void *user, Fault *fault);

/* Paints one picture, and makes all sources copies of it: no cache knows its lines
 * by their content. */
bool bench_frames_paint (BenchFrames *frames, const Device *device,
    BenchPaint paint, void *user, Fault *fault);
