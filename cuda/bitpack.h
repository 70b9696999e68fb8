/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bitpack: unpacks video whose samples the engine cannot read in place to planes, and packs it
 * again: samples of 10 bits packed across byte boundaries, samples of 5 and 6 bits, and big-endian
 * samples of two bytes.
 *
 * Formats in words of 32 bits. Samples begin at the lowest bit. Words are little-endian, except in
 * r210:
 *
 *   v210          4:2:2, six pixels in four words, each of three samples and two bits of 0:
 *                 U0 Y0 V0 | Y1 U2 Y2 | V2 Y3 U4 | Y4 V4 Y5, where U2 is the chroma of the
 *                 pixels 2 and 3; the last group of a row may hold fewer pixels
 *   Y410          a word a pixel: U, Y, V, and 2 bits of alpha
 *   RGB10A2_LE    R, G, B, and 2 bits of alpha
 *   BGR10A2_LE    B, G, R, and 2 bits of alpha
 *   r210          B, G, R, and two bits of 0; the highest byte comes first
 *   GRAY10_LE32   three pixels a word, and two bits of 0; the last word of a row may hold fewer
 *   NV12_10LE32   4:2:0, rows of Y in one memory and rows of U V U V ... in a second one, also
 *                 three samples a word
 *   NV16_10LE32   the same with 4:2:2
 *
 * NV12_10LE40 has the samples of NV12_10LE32, four in five bytes, from the lowest bit of the first
 * byte on. UYVP has two pixels of 4:2:2 in five bytes: U, Y0, V, Y1, from the highest bit of the
 * first byte on. The last pixel of an odd width takes four bytes.
 *
 * Formats with a little-endian word of 16 bits a pixel, also from the lowest bit on:
 *
 *   RGB16         5 bits of B, 6 of G, 5 of R
 *   BGR16         5 bits of R, 6 of G, 5 of B
 *   RGB15         5 bits each of B, G and R, and a bit of 0
 *   BGR15         5 bits each of R, G and B, and a bit of 0
 *
 * BITPACK_BIG_ENDIAN is any format with samples of two bytes: the bytes of each are swapped.
 * Sources: v210: Apple, Uncompressed Y'CbCr Video in QuickTime Files (Technical Note TN2162); UYVP:
 * RFC 4175, section 4.3; the others: GStreamer, GstVideoFormat.
 *
 * A packed frame is an Image, for the ring and for copies: bitpack_layout(). Its planes are another
 * Image, for computation, with samples of two bytes, or of one byte for RGB16 to BGR15:
 *
 *   v210 to r210, UYVP   each of one channel, in a memory of its own without gaps, of depth 10 and
 *                        shift 0: Y, U and V, or R, G and B; and alpha, whose 2 bits are repeated
 *                        to make 10. Packing rounds alpha to the nearest of its four codes
 *   RGB16 to BGR15       the same, R, G and B of depth 8; their 5 or 6 bits are repeated to make 8.
 *                        Packing rounds to the nearest of the 32 or 64 codes, by half a code at
 *                        most. A result that is less than 0.75 of an 8-bit code from the exact one
 *                        for these samples is therefore packed with an error of less than
 *                        0.5 + 0.75 * 63 / 255, or 0.69, of a code of 6 bits, and 0.6 of 5 bits
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
  BITPACK_NONE, /* nothing to unpack; not allowed in the functions below */
  BITPACK_V210,
  BITPACK_UYVP,
  BITPACK_Y410,
  BITPACK_RGB10A2_LE,
  BITPACK_BGR10A2_LE,
  BITPACK_R210,
  BITPACK_RGB16,
  BITPACK_BGR16,
  BITPACK_RGB15,
  BITPACK_BGR15,
  BITPACK_GRAY10_LE32,
  BITPACK_NV12_10LE32,
  BITPACK_NV16_10LE32,
  BITPACK_NV12_10LE40,
  BITPACK_BIG_ENDIAN,
} BitpackFormat;

#define BITPACK_N_FORMATS (BITPACK_BIG_ENDIAN + 1)

typedef struct BitpackPlan BitpackPlan;

/* GStreamer's name of the format, or "big-endian". Static. */
const char *bitpack_name (BitpackFormat format);

/* Size of a group, the smallest unit of whole pixels and whole bytes: in pixels, and in bytes of
 * each memory. Rows begin with a group. BITPACK_BIG_ENDIAN: 1, and the bytes of a sample. */
int bitpack_group_pixels (BitpackFormat format);
int bitpack_group_bytes (BitpackFormat format);

/* The widest frame whose packed rows fit an Image. */
int bitpack_max_width (BitpackFormat format);

/* Fills `packed` with the layout of packed frames for these planes, whose size is
 * 1..bitpack_max_width() x 1..IMAGE_MAX_HEIGHT: one plane of bytes in each memory, rows without a
 * gap, no addresses. */
void bitpack_layout (BitpackFormat format, const Image *planes, Image *packed);

/* Makes a plan for frames of these planes, with images of its own, zeroed at first: a source and,
 * if `has_result`, a result. With BACKEND_CUDA `gpu` must outlive the plan, and its context must be
 * pushed here and below. FAULT_UNSUPPORTED: this build has no CUDA. FAULT_SETTINGS: the planes are
 * not those of the format. The caller owns the plan. */
BitpackPlan *bitpack_plan_new (BitpackFormat format, const Image *planes,
    bool has_result, Backend backend, Gpu *gpu, Fault *fault);
/* NULL is allowed. All runs must have finished. */
void bitpack_plan_free (BitpackPlan *plan);

/* The plan's own images, valid for the life of the plan; on the GPU with BACKEND_CUDA, else on the
 * host. A plan without a result gives an image without memories. */
const Image *bitpack_plan_source (const BitpackPlan *plan);
const Image *bitpack_plan_result (const BitpackPlan *plan);

/* Fills `planes`, of the plan's layout, from `packed`, of the same size. Queues the work on
 * `stream`, after all kernels there; without a GPU the work is done on return. One run of a plan at
 * a time. FAULT_SETTINGS: the sizes are not the plan's. */
bool bitpack_unpack (BitpackPlan *plan, const Image *packed,
    const Image *planes, GpuStream stream, Fault *fault);

/* The reverse: fills `packed`. Samples that have not changed since they were unpacked get the bits
 * that they had. Bits and pixels without a sample in the planes become 0. Samples must be less than
 * 2^depth. */
bool bitpack_pack (BitpackPlan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
