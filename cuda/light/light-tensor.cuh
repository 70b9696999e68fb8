/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-tensor: decoding, both passes on tensor cores, and encoding in one kernel, for 8-bit
 * RGB, grey and YUV and up to 33 taps. light-decode.cuh and light-encode.cuh convert;
 * light-strip.cuh has the arithmetic of a warp, light-march.cuh the loop of a block down its
 * strip and the kernel, and light-chroma.cuh the differences for YUV in planes.
 *
 * FP16 has 11 significant bits, and light has 16. So a value, less the center of its range, is
 * split into a high and a low FP16 part (FP16 hi/lo split), and so is a tap. Of the four
 * products of a tap and a value, the one of both low parts is too small to matter. Of the other
 * three, the small ones are summed first, while the sum is small and so exact: see
 * tensor_split_error_bound().
 *
 * That is 6 times 16 multiply-adds per sample and step of 16 taps, on tensor cores with some 20
 * times the throughput of FP32 units: with 13 taps they take about two thirds of the time of
 * FP32 FMAs, with 33 taps a third, and need no exchange of sums through shared memory. */
#pragma once

#include "plan.h"

#include "../sepconv/strip.cuh"
#include "../sepconv/tensor.cuh"

#include "../sepconv/staging.cuh"

/* The relation between a plane's bytes and the work planes. */
enum LightForm
{
  LIGHT_SINGLES,  /* one channel: grey, or one of red, green and blue */
  LIGHT_PIXELS,   /* four channels: three colours, and one that is copied */
  LIGHT_WEIGHTED, /* the same, with colour weighted by the fourth, alpha */
  LIGHT_YUV,      /* four channels: Y, Cb, Cr, and one that is copied */
  LIGHT_CHROMA, /* Y, and Cb and Cr of each pixel, in two more planes or together in one */
  LIGHT_CHROMA_2, /* the same, with a sample of chroma for two pixels along x */
};

#define LIGHT_MAX_STEPS 3 /* 33 taps */
#define LIGHT_PARTS 2     /* FP16 parts of a tap, and of a value */

/* [step][part][lane] of x, then of y. */
#define LIGHT_MAX_FRAGMENTS (2 * LIGHT_MAX_STEPS * LIGHT_PARTS * TENSOR_LANES)

/* Values are in units of LIGHT_UNIT codes, so that FP16 holds the sums along x, whose taps may
 * add up to 2. */
#define LIGHT_CENTER 32768
#define LIGHT_UNIT 2

/* The table of codes. A result q becomes the float q + 128, whose bits from bit 16 on are the
 * number of an entry: there are 128 entries for each power of two, and those below 256 are at
 * most 1 wide. Within an entry the code changes at most once. Bits 31..16 of an entry are the
 * lower 16 bits of the float at which it changes; bits 15..8 are the code from there on, bits
 * 7..0 the code before. */
#define LIGHT_ENCODE_ABOVE 128
#define LIGHT_ENCODE_SHIFT 16
#define LIGHT_ENCODE_FIRST 0x4300          /* the bits of 128.0f, shifted */
/* for q to 65535, a multiple of 16 bytes */
#define LIGHT_ENCODE_ENTRIES (9 * 128 + 4)
#define LIGHT_DECODE_ENTRIES 256

/* YUV: the most entries of the table T. Each entry of the encoding table is a straight line
 * through its g of light.h; LIGHT_LINE_ERROR is the largest error of Y or chroma by the lines,
 * in codes, of the 0.02 that light.h allows. */
#define LIGHT_YUV_DECODE_BITS 12
#define LIGHT_YUV_DECODE_ENTRIES (1 << LIGHT_YUV_DECODE_BITS)
#define LIGHT_LINE_ERROR 0.0195

/* g of a result q is at_zero + slope (q + LIGHT_ENCODE_ABOVE). */
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
  /* The factors, `fraction` and `last` of LightNumbers; red, green and blue are the sums of
   * codes 0, with half an index for rounding. */
  int y, red_cr, green_cb, green_cr, blue_cb;
  int red, green, blue, fraction, last;
  LightWeights to_y, to_cb, to_cr; /* Cb and Cr: for each pixel of a sample */
};

/* The two planes of chroma, or the one plane of both. */
struct LightChroma
{
  const uint8_t *src[2]; /* Cb, Cr; or both */
  uint8_t *dst[2];
  ptrdiff_t src_stride[2], dst_stride[2];
  bool together; /* both in one */
  bool src_aligned, dst_aligned;
  int rows, row_bytes, sub_y;
  /* Selectors of __byte_perm() that take Cb and Cr from two words of chroma. */
  uint32_t cb, cr;
  /* In a row of a block's results: bytes from the first chroma to the first Cb and Cr, and from
   * one to the next. */
  int cb_first, cr_first, step;
};

struct LightTensorFrame
{
  SepconvBorder border;
  GpuOrder order;
  int early; /* blocks that run at once */
  int n_planes;
  const uint4 *fragments;
  /* By code: both FP16 parts of a value, the high part in the low 16 bits; WEIGHTED: light. */
  const uint32_t *decode;
  const uint32_t *encode; /* YUV: LightLine */
  float offset;           /* of results, with LIGHT_ENCODE_ABOVE */
  /* Selectors of __byte_perm() for four channels: `in[c]` takes the byte of channel c from a
   * pixel, and in[3] that of the copied channel or alpha; `out` makes a pixel from two words
   * that have two channels each. */
  uint32_t in[4], out;
  bool write_alpha; /* else it is copied */
  LightMatrix matrix;
  LightChroma chroma;
  LightTensorPlane plane[IMAGE_MAX_PLANES];
};

struct LightTensorVariant;

/* A plan's state for light-tensor; starts zeroed. */
struct LightTensor
{
  Staging constants; /* fragments and tables */
  /* the encoding table was made, and is accurate for all results */
  bool encodes;
  uint32_t encode[LIGHT_ENCODE_ENTRIES];
  LightLine line[LIGHT_ENCODE_ENTRIES]; /* YUV: instead of `encode` */
  unsigned chosen; /* the filter's revision for which the variant was chosen */
  unsigned revision; /* the filter's revision of the constants */
  /* NULL: light-tensor does not suit the plan */
  const LightTensorVariant *variant;
  StripOccupancy occupancy;
  StripHeights heights;
};

/* Makes the tables and allocates memory for the plan, if plans of its layout can run on tensor
 * cores. */
bool light_tensor_prepare (
    const LightPlan *plan, LightTensor *tensor, Fault *fault);
void light_tensor_release (LightTensor *tensor);

/* Whether the plan's layout is supported and tensor cores keep light.h's accuracy for its current
 * filter. */
bool light_tensor_suits (const LightPlan *plan, LightTensor *tensor);

/* Queues a frame; light_tensor_suits() must have returned true for the plan's filter. */
bool light_tensor_run (const LightPlan *plan, LightTensor *tensor,
    const Image *src, const Image *dst, GpuStream stream, GpuOrder order,
    Fault *fault);
