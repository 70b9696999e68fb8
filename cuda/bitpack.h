/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bitpack: video whose samples do not lie in memory as the engine takes them, to planes and back:
 * samples of 10 bits that are packed without regard to bytes, and samples of two bytes of which the
 * higher one comes first.
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
 *   GRAY10_LE32   three pixels a word, and two bits of 0; the last word of a row may hold fewer
 *   NV12_10LE32   rows of Y in one memory, and of U V U V and so on in a second one, three samples a
 *                 word likewise; 4:2:0
 *   NV16_10LE32   the same of 4:2:2
 *
 * NV12_10LE40 has the samples of NV12_10LE32, four in five bytes, from the lowest bit of the first
 * byte on. UYVP has two pixels of 4:2:2 in five bytes: U, Y0, V, Y1, from the highest bit of the
 * first byte on. The last pixel of an odd width takes four bytes.
 *
 * BITPACK_BIG_ENDIAN is any format with samples of two bytes: each is swapped.
 * Sources: v210: Apple, Uncompressed Y'CbCr Video in QuickTime Files (Technical Note TN2162); UYVP:
 * RFC 4175, section 4.3; the others: GStreamer, GstVideoFormat.
 *
 * A packed frame is an Image, for the ring and for those who copy it: bitpack_layout(). Its planes
 * are another one, for those who compute, with samples of two bytes:
 *
 *   v210 to r210, UYVP   each of one channel, in a memory of its own without gaps, of depth 10 and
 *                        shift 0: Y, U and V, or R, G and B; and alpha, whose 2 bits are repeated
 *                        to make 10. Packing rounds alpha to the nearest of its four codes
 *   GRAY10_LE32 to       each in a memory of its own without gaps, of depth 10: Y, and UV of two
 *   NV12_10LE40          channels
 *   BITPACK_BIG_ENDIAN   any */
#pragma once

#include "backend.h"
#include "gpu.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum
{
  BITPACK_NONE, /* they lie as the engine takes them: no value for the functions below */
  BITPACK_V210,
  BITPACK_UYVP,
  BITPACK_Y410,
  BITPACK_RGB10A2_LE,
  BITPACK_BGR10A2_LE,
  BITPACK_R210,
  BITPACK_GRAY10_LE32,
  BITPACK_NV12_10LE32,
  BITPACK_NV16_10LE32,
  BITPACK_NV12_10LE40,
  BITPACK_BIG_ENDIAN,
} BitpackFormat;

#define BITPACK_N_FORMATS (BITPACK_BIG_ENDIAN + 1)

typedef struct BitpackPlan BitpackPlan;

/* Its name: that of GStreamer, or "big-endian". Static. */
const char *bitpack_name (BitpackFormat format);

/* Pixels that lie together, in that number of bytes of each memory: rows begin with such a group. Of
 * BITPACK_BIG_ENDIAN, pixels lie as in the planes: 1, and the bytes of a sample. */
int bitpack_group_pixels (BitpackFormat format);
int bitpack_group_bytes (BitpackFormat format);

/* The widest frame whose packed row is an Image's. */
int bitpack_max_width (BitpackFormat format);

/* Describes packed frames for these planes, whose size is 1..bitpack_max_width() x
 * 1..IMAGE_MAX_HEIGHT, as planes of bytes, one in each memory; without addresses, rows without a gap. */
void bitpack_layout (BitpackFormat format, const Image *planes, Image *packed);

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
