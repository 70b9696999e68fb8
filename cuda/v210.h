/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* v210: video of 4:2:2 with 10 bits as SDI hardware packs it, to planes and back.
 *
 * Six pixels take 16 bytes: four words of 32 bits, lowest byte first, with three samples each,
 * in bits 0, 10 and 20; the two bits above them are 0. In the order of the words:
 *
 *   U0 Y0 V0 | Y1 U2 Y2 | V2 Y3 U4 | Y4 V4 Y5
 *
 * where U2 is the chroma of the pixels 2 and 3. A row begins with such a group, and its last one
 * may hold fewer pixels.
 * Source: Apple, Uncompressed Y'CbCr Video in QuickTime Files (Technical Note TN2162).
 *
 * A packed frame is an Image, for the ring and for those who copy it: v210_layout(). Its planes
 * are another one, for those who compute: Y, U and V, each of one channel, in two bytes without
 * gaps, of depth 10 and shift 0. */
#pragma once

#include "backend.h"
#include "gpu.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

#define V210_GROUP_PIXELS 6
#define V210_GROUP_BYTES 16
/* Of a packed frame, since a row is an Image's. */
#define V210_MAX_WIDTH \
  (IMAGE_MAX_ROW_BYTES / V210_GROUP_BYTES * V210_GROUP_PIXELS)

typedef struct V210Plan V210Plan;

/* Describes packed frames of such a size, 1..V210_MAX_WIDTH x 1..IMAGE_MAX_HEIGHT, as one plane of
 * four bytes a pixel; without an address, rows without a gap. */
void v210_layout (int width, int height, Image *packed);

/* Makes a plan for frames of these planes, and the planes: source and, with `has_result`, result,
 * which begin zeroed. `gpu` must outlive the plan, and its context be pushed here and below, if
 * the backend is BACKEND_CUDA; FAULT_UNSUPPORTED: this build has no CUDA. FAULT_SETTINGS: other
 * planes. The caller owns the result. */
V210Plan *v210_plan_new (const Image *planes, bool has_result, Backend backend,
    Gpu *gpu, Fault *fault);
/* NULL is allowed. No run is under way. */
void v210_plan_free (V210Plan *plan);

/* The plan's own images, which stay as long as it does; the result has no memories if there is
 * none. They lie on the GPU, or on the host. */
const Image *v210_plan_source (const V210Plan *plan);
const Image *v210_plan_result (const V210Plan *plan);

/* Fills `planes`, of the plan's layout, from `packed`, of their size. Queues the work on `stream`,
 * after all kernels there; without a GPU it is done on return. One run of a plan at a time.
 * FAULT_SETTINGS: other sizes. */
bool v210_unpack (V210Plan *plan, const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault);

/* The reverse: fills `packed`; bits and pixels that the planes have no sample for become 0.
 * Samples must be less than 1024. */
bool v210_pack (V210Plan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
