/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-tensor: decoding, both passes on tensor cores, and encoding, in one kernel: of 8-bit RGB,
 * grey and YUV, and of up to 33 taps. light-decode.cuh and light-encode.cuh convert, light-strip.cuh
 * has the arithmetic of a warp, and light-march.cuh a block's way down its strip and the kernel; of
 * YUV, light-chroma.cuh has what differs.
 *
 * A half has 11 bits, and light has 16. So a value, less the center of its range, is the sum of two
 * halves, the high and the low one, and so is a tap. Of the four products of a tap and a value, that
 * of both low halves is too small to matter. The other three are summed the small ones first, while
 * the sum is small and so exact: tensor_split_error_bound().
 *
 * That is 6 times 16 multiply-adds a sample and step of 16 taps, on tensor cores that make some 20
 * times as many as FP32 units do: with 13 taps they take about two thirds of the time of as many
 * FMAs, with 33 taps a third, and need no exchange of sums through shared memory. */
#pragma once

#include "plan.h"

#include "../sepconv/strip.cuh"
#include "../sepconv/tensor.cuh"

#include "../sepconv/staging.cuh"

/* How a plane's bytes and its work planes belong together. */
enum LightForm
{
  LIGHT_SINGLES,  /* one channel: grey, or one of red, green and blue */
  LIGHT_PIXELS,   /* four channels: three colours, and one that is copied */
  LIGHT_WEIGHTED, /* the same, with colour weighted by the fourth, alpha */
  LIGHT_YUV,      /* four channels: Y, Cb, Cr, and one that is copied */
  LIGHT_CHROMA, /* Y, and Cb and Cr for each pixel in planes of their own, or in one of both */
  LIGHT_CHROMA_2, /* the same, with a sample of chroma for two pixels along x */
};

#define LIGHT_MAX_STEPS 3 /* 33 taps */
#define LIGHT_PARTS 2     /* halves of a tap, and of a value */

/* [step][part][lane] of x, then of y. */
#define LIGHT_MAX_FRAGMENTS (2 * LIGHT_MAX_STEPS * LIGHT_PARTS * TENSOR_LANES)

/* Values are in units of two codes, and their taps along x may add up to 2: halves hold the sums. */
#define LIGHT_CENTER 32768
#define LIGHT_UNIT 2

/* The table of codes. A result q becomes the float q + 128. Its bits from bit 16 on are the number of
 * an entry: 128 for each power of two, and no wider than 1 below 256. An entry has in its upper half
 * where in the lower 16 bits the code changes, once at most; then the code from there on, and the
 * code before. */
#define LIGHT_ENCODE_ABOVE 128
#define LIGHT_ENCODE_SHIFT 16
#define LIGHT_ENCODE_FIRST 0x4300          /* the bits of 128.0f, shifted */
#define LIGHT_ENCODE_ENTRIES (9 * 128 + 4) /* up to 65535, whole 16 bytes */
#define LIGHT_DECODE_ENTRIES 256

/* YUV: the table T, of so many entries at most; and for each entry of the other table a straight line
 * through its g of light.h. These may be off by so much as makes such a part of a code of Y or chroma
 * wrong, of the 0.02 that light.h allows. */
#define LIGHT_YUV_DECODE_BITS 12
#define LIGHT_YUV_DECODE_ENTRIES (1 << LIGHT_YUV_DECODE_BITS)
#define LIGHT_LINE_ERROR 0.0195

/* g, of a result q: at_zero + slope (q + LIGHT_ENCODE_ABOVE). */
struct LightLine
{
  float at_zero, slope;
};

struct LightTensorPlane
{
  StripPlane strip;
  uint16_t
      border[LIGHT_MAX_WORK]; /* of the work planes, for SEPCONV_CONSTANT */
};

/* The arithmetic of YUV. */
struct LightMatrix
{
  /* LightNumbers' factors; the sums of codes 0, with half an index; and the index in a sum. */
  int y, red_cr, green_cb, green_cr, blue_cb;
  int red, green, blue, fraction, last;
  LightWeights to_y, to_cb, to_cr; /* Cb and Cr: for each pixel of a sample */
};

/* Planes of chroma, or the one of both. */
struct LightChroma
{
  const uint8_t *src[2]; /* Cb, Cr; or both */
  uint8_t *dst[2];
  ptrdiff_t src_stride[2], dst_stride[2];
  bool together; /* both in one */
  bool src_aligned, dst_aligned;
  int rows, row_bytes, sub_y;
  /* Selectors of __byte_perm(): of two words of chroma, Cb and Cr. */
  uint32_t cb, cr;
  /* Of what is written, in a row of a block: the first Cb and Cr, and the bytes to the next one. */
  int cb_first, cr_first, step;
};

struct LightTensorFrame
{
  SepconvBorder border;
  GpuOrder order;
  int early; /* blocks that run at once */
  int n_planes;
  const uint4 *fragments;
  /* By code: the two halves of a value, the high one below; WEIGHTED: light. */
  const uint32_t *decode;
  const uint32_t *encode; /* YUV: LightLine */
  float offset;           /* of results, with LIGHT_ENCODE_ABOVE */
  /* Of four channels, as selectors of __byte_perm(): `in` takes a channel's byte from a pixel, the
   * fourth one's last; `out` makes a pixel of two words that have two channels each. */
  uint32_t in[4], out;
  bool write_alpha; /* else it is copied */
  LightMatrix matrix;
  LightChroma chroma;
  LightTensorPlane plane[IMAGE_MAX_PLANES];
};

struct LightTensorVariant;

/* What a plan keeps for it; starts zeroed. */
struct LightTensor
{
  Staging constants; /* fragments and tables */
  bool encodes;      /* the table of codes has an entry for all results */
  uint32_t encode[LIGHT_ENCODE_ENTRIES];
  LightLine line[LIGHT_ENCODE_ENTRIES]; /* YUV: that instead */
  unsigned chosen;   /* the filter's revision that the variant is of */
  unsigned revision; /* that the constants are of */
  const LightTensorVariant *variant; /* NULL: the plan is not for this */
  StripOccupancy occupancy;
  StripHeights heights;
};

/* Allocates what plans of this layout take, if any of their filters can run on tensor cores. */
bool light_tensor_prepare (
    const LightPlan *plan, LightTensor *tensor, Fault *fault);
void light_tensor_release (LightTensor *tensor);

/* Whether tensor cores keep the promised accuracy for the plan's filter, and know its layout. */
bool light_tensor_suits (const LightPlan *plan, LightTensor *tensor);

/* Queues a frame of a plan that it suits. */
bool light_tensor_run (const LightPlan *plan, LightTensor *tensor,
    const Image *src, const Image *dst, GpuStream stream, GpuOrder order,
    Fault *fault);
