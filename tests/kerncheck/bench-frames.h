/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-frames: frames that launches take in turn, so that no cache holds the data that
 * they read. Pairs of source and destination, or sources alone. */
#pragma once

#include "kerncheck-device.h"

typedef struct
{
  int n_pairs;
  Image *src, *dst;  /* [n_pairs]; dst NULL: sources alone */
  size_t image_size; /* bytes of one image, with the padding of its rows */
  uint8_t *block;    /* all of them, on the device or the host */
  bool on_device;
} BenchFrames;

/* Makes enough pairs for their runs to overlap, and at least `rotation_bytes` in all.
 * Sources hold random bytes. The device's context must be pushed. */
bool bench_frames_new (BenchFrames *frames, const Device *device,
    const Image *layout, size_t rotation_bytes, Fault *fault);
/* The same without destinations; the sources are not painted. */
bool bench_frames_new_sources (BenchFrames *frames, const Device *device,
    const Image *layout, size_t rotation_bytes, Fault *fault);
/* Zeroed frames may be cleared. */
void bench_frames_clear (BenchFrames *frames);

/* Fills a picture in host memory. */
typedef bool (*BenchPaint) (const Image *picture, void *user, Fault *fault);

/* Paints one picture and copies it to all sources, which lie at different addresses: a
 * cache does not recognise them by content. */
bool bench_frames_paint (BenchFrames *frames, const Device *device,
    BenchPaint paint, void *user, Fault *fault);
