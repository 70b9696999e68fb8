/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bitpack: video whose samples of 10 bits are packed without regard to bytes, to planes and back.
 *
 * In words of 32 bits, samples from the lowest bit on; a word's lowest byte comes first, but for
 * r210:
 *
 *   v210          4:2:2, six pixels in four words, of three samples each and two bits of 0:
 *                 U0 Y0 V0 | Y1 U2 Y2 | V2 Y3 U4 | Y4 V4 Y5, where U2 is the chroma of the
 *                 pixels 2 and 3; the last group of a row may hold fewer pixels
 *   Y410          a word a pixel: U, Y, V, and 2 bits of alpha
 *   RGB10A2_LE    R, G, B, and 2 bits of alpha
 *   BGR10A2_LE    B, G, R, and 2 bits of alpha
 *   r210          B, G, R, and two bits of 0; the highest byte comes first
 *
 * UYVP has two pixels of 4:2:2 in five bytes: U, Y0, V, Y1, from the highest bit of the first byte
 * on. The last pixel of an odd width takes four bytes.
 * Sources: v210: Apple, Uncompressed Y'CbCr Video in QuickTime Files (Technical Note TN2162); UYVP:
 * RFC 4175, section 4.3; the others: GStreamer, GstVideoFormat.
 *
 * A packed frame is an Image, for the ring and for those who copy it: bitpack_layout(). Its planes
 * are another one, for those who compute, each of one channel, in a memory of its own and in two
 * bytes without gaps, of depth 10 and shift 0: Y, U and V, or R, G and B; and alpha, whose 2 bits are
 * repeated to make 10. Packing rounds alpha to the nearest of its four codes. */
#pragma once

#include "backend.h"
#include "gpu.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum
{
  BITPACK_NONE, /* samples are whole bytes: no value for the functions below */
  BITPACK_V210,
  BITPACK_UYVP,
  BITPACK_Y410,
  BITPACK_RGB10A2_LE,
  BITPACK_BGR10A2_LE,
  BITPACK_R210,
} BitpackFormat;

#define BITPACK_N_FORMATS (BITPACK_R210 + 1)

typedef struct BitpackPlan BitpackPlan;

/* Its name: that of GStreamer. Static. */
const char *bitpack_name (BitpackFormat format);

/* Pixels that lie together, in that number of bytes: rows begin with such a group. */
int bitpack_group_pixels (BitpackFormat format);
int bitpack_group_bytes (BitpackFormat format);

/* The widest frame, since a row is an Image's. */
int bitpack_max_width (BitpackFormat format);

/* Describes packed frames of such a size, 1..bitpack_max_width() x 1..IMAGE_MAX_HEIGHT, as one plane
 * of bytes; without an address, rows without a gap. */
void bitpack_layout (
    BitpackFormat format, int width, int height, Image *packed);

/* Makes a plan for frames of these planes, and the planes: source and, with `has_result`, result,
 * which begin zeroed. `gpu` must outlive the plan, and its context be pushed here and below, if
 * the backend is BACKEND_CUDA; FAULT_UNSUPPORTED: this build has no CUDA. FAULT_SETTINGS: other
 * planes than the format's. The caller owns the result. */
BitpackPlan *bitpack_plan_new (BitpackFormat format, const Image *planes,
    bool has_result, Backend backend, Gpu *gpu, Fault *fault);
/* NULL is allowed. No run is under way. */
void bitpack_plan_free (BitpackPlan *plan);

/* The plan's own images, which stay as long as it does; the result has no memories if there is
 * none. They lie on the GPU, or on the host. */
const Image *bitpack_plan_source (const BitpackPlan *plan);
const Image *bitpack_plan_result (const BitpackPlan *plan);

/* Fills `planes`, of the plan's layout, from `packed`, of their size. Queues the work on `stream`,
 * after all kernels there; without a GPU it is done on return. One run of a plan at a time.
 * FAULT_SETTINGS: other sizes. */
bool bitpack_unpack (BitpackPlan *plan, const Image *packed,
    const Image *planes, GpuStream stream, Fault *fault);

/* The reverse: fills `packed`; bits and pixels that the planes have no sample for become 0.
 * Samples must be less than 2^depth. */
bool bitpack_pack (BitpackPlan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
