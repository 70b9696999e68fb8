/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-frames: pairs of source and destination that launches take in turn, so
 * that no cache holds what they read. */
#pragma once

#include "kerncheck-device.h"

typedef struct
{
  int n_pairs;
  Image *src, *dst; /* [n_pairs] */
  uint8_t *block;   /* all of them, on the device or the host */
  bool on_device;
} BenchFrames;

/* At least two pairs, and as many as have `rotation_bytes` together; sources hold
 * random bytes. The device's context must be pushed. */
bool bench_frames_new (BenchFrames *frames, const Device *device,
    const Image *layout, size_t rotation_bytes, Fault *fault);
/* Zeroed frames are allowed. */
void bench_frames_clear (BenchFrames *frames);
