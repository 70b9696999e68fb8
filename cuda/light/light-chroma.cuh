/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-chroma: light-tensor for YUV in planes. A row of a stage has Y, then Cb and Cr as they
 * lie in their planes, from the row of chroma that belongs to it: a chroma row of 4:2:0 is
 * loaded twice. Outside the image, chroma depends on the pixel that Y's border repeats, so
 * pixels outside are put directly into the work planes. Rows of results have the same layout;
 * those of 4:2:0 have chroma in even rows only. */
#pragma once

#include "light-strip.cuh"

#include "../sepconv/strip-reader.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* Loads stages; a thread loads one chunk of 16 bytes of every ROWS-th row. S: its LightShape. */
template <typename S> struct LightChromaReader
{
  static constexpr int LANES = S::CHUNKS <= 16 ? 16 : 32; /* of a row */
  static constexpr int ROWS = STRIP_THREADS / LANES;
  static_assert (S::CHUNKS <= LANES, "a lane has a chunk of a row");

  const uint8_t *from; /* the chunk in row 0 */
  ptrdiff_t stride;
  int n;     /* bytes of the chunk within the plane; 0: nothing to load */
  int sub_y; /* rows of Y for a row of the chunk's plane */
  int rows;  /* of the chunk's plane */
  bool aligned;

  /* For stages whose first pixel is x0, a multiple of 16 SUB_X. */
  __device__ __forceinline__ void
  begin (const LightTensorFrame &frame, int x0)
  {
    const StripPlane &luma = frame.plane[0].strip;
    const LightChroma &chroma = frame.chroma;
    int chunk = threadIdx.x % LANES, first = x0 + 16 * chunk;

    n = chunk < S::CHUNKS ? 16 : 0;
    if (chunk < S::FIRST_CHUNKS) {
      from = luma.src + first;
      stride = luma.src_stride;
      n = min (n, luma.row_bytes - first);
      sub_y = 1;
      rows = luma.height;
      aligned = luma.src_aligned;
    } else {
      constexpr int HALF = S::FIRST_CHUNKS / S::SUB_X; /* Cb's */
      const int p = !chroma.together && chunk - S::FIRST_CHUNKS >= HALF;

      chunk -= S::FIRST_CHUNKS + p * HALF;
      first = x0 / S::SUB_X * (chroma.together ? 2 : 1) + 16 * chunk;
      from = chroma.src[p] + first;
      stride = chroma.src_stride[p];
      n = min (n, chroma.row_bytes - first);
      sub_y = chroma.sub_y;
      rows = chroma.rows;
      aligned = chroma.src_aligned;
    }
    n = first < 0 ? 0 : max (n, 0);
  }

  /* Starts to load a stage whose first row is y0. */
  __device__ __forceinline__ void
  load (const StripPlane &luma, SepconvBorder border, int y0,
      uint8_t *stage) const
  {
    uint8_t *to =
        stage + threadIdx.x / LANES * S::PITCH + threadIdx.x % LANES * 16;
    const bool inside = y0 >= 0 && y0 + STRIP_ROWS <= luma.height;

    if (n == 0)
      return;
    y0 += threadIdx.x / LANES;
#pragma unroll
    for (int r = 0; r < STRIP_ROWS; r += ROWS) {
      const int y =
          inside ? y0 + r : max (border_index (y0 + r, luma.height, border), 0);
      const int row = min (sub_y == 1 ? y : y / 2, rows - 1);

      if (row < 0) /* a field without chroma rows: neutral */
        *(uint4 *) (to + r * S::PITCH) =
            make_uint4 (0x80808080, 0x80808080, 0x80808080, 0x80808080);
      else if (aligned)
        copy_async (to + r * S::PITCH, from + row * stride, n);
      else
        strip_copy_bytes (to + r * S::PITCH, from + row * stride, n);
    }
  }
};

/* S: its LightShape. */
template <typename S> struct LightChromaDecoder
{
  static constexpr int SAMPLES = 4 / S::SUB_X; /* of 4 pixels */

  const LightTensorFrame &frame;
  const LightDecoder<S> &halves;

  /* Decodes four pixels to byte `at` of the work planes. */
  __device__ __forceinline__ void
  decode_group (const uint8_t *luma, const uint8_t *chroma, int at) const
  {
    const int apart =
        frame.chroma.together ? SAMPLES : S::FIRST_CHUNKS * 16 / S::SUB_X;
    const uint32_t codes = *(const uint32_t *) luma;
    uint32_t first, second, cb, cr;
    int sum[SAMPLES][3];

    if constexpr (S::SUB_X == 2) {
      first = *(const uint16_t *) chroma;
      second = *(const uint16_t *) (chroma + apart);
    } else {
      first = *(const uint32_t *) chroma;
      second = *(const uint32_t *) (chroma + apart);
    }
    cb = __byte_perm (first, second, frame.chroma.cb);
    cr = __byte_perm (first, second, frame.chroma.cr);
#pragma unroll
    for (int k = 0; k < SAMPLES; k++)
      halves.add_chroma (cb >> 8 * k & 0xff, cr >> 8 * k & 0xff, sum[k]);
#pragma unroll
    for (int c = 0; c < 3; c++) {
      uint32_t entry[4];

#pragma unroll
      for (int k = 0; k < 4; k++)
        entry[k] =
            halves.light_of_sum (codes >> 8 * k & 0xff, sum[k / S::SUB_X][c]);
      halves.put_entries (c, at, entry);
    }
  }

  /* Decodes a stage. All threads of the block must call it, with a barrier before and after. */
  __device__ __forceinline__ void
  decode (const uint8_t *stage) const
  {
    constexpr int GROUPS = LightDecoder<S>::GROUPS;
    constexpr int LEFT = S::READ_REACH - S::REACH;
    const int wide = frame.chroma.together ? 2 : 1;

#pragma unroll 1
    for (int i = threadIdx.x; i < STRIP_ROWS * GROUPS; i += STRIP_THREADS) {
      const int r = i / GROUPS, p = i - r * GROUPS;
      const uint8_t *const row = stage + r * S::PITCH;

      decode_group (row + LEFT + 4 * p,
          row + 16 * S::FIRST_CHUNKS + (LEFT + 4 * p) / S::SUB_X * wide,
          r * S::WORK_PITCH + 8 * p);
    }
  }

  /* Decodes pixel (x, y) directly from the image to its place in the work planes. */
  __device__ __forceinline__ void
  decode_pixel (int x, int y, uint8_t *to) const
  {
    const StripPlane &luma = frame.plane[0].strip;
    const LightChroma &chroma = frame.chroma;
    const int row = min (y / chroma.sub_y, chroma.rows - 1);
    const int at = x / S::SUB_X * (chroma.together ? 2 : 1);
    uint32_t first = 0x80, second = 0x80;
    int sum[3];

    if (row >= 0 && chroma.together) {
      /* In the order in which a group's word has them. */
      const uint8_t *const both = chroma.src[0] + row * chroma.src_stride[0];
      const uint32_t word = both[at] | (uint32_t) both[at + 1] << 8;

      first = __byte_perm (word, word, chroma.cb) & 0xff;
      second = __byte_perm (word, word, chroma.cr) & 0xff;
    } else if (row >= 0) {
      first = chroma.src[0][row * chroma.src_stride[0] + at];
      second = chroma.src[1][row * chroma.src_stride[1] + at];
    }
    halves.add_chroma (first, second, sum);
    for (int c = 0; c < 3; c++) {
      const uint32_t entry =
          halves.light_of_sum (luma.src[y * luma.src_stride + x], sum[c]);

      *(uint16_t *) (to + c * S::WORK_BYTES) = (uint16_t) entry;
      *(uint16_t *) (to + (S::C + c) * S::WORK_BYTES) =
          (uint16_t) (entry >> 16);
    }
  }
};

/* Fills in the pixels left and right of the image on which results depend, in decoded rows that
 * begin at (x0, y0); the border is not SEPCONV_CONSTANT. x0 and y0 are passed by value, as in
 * strip_load_edge(). All threads of the block must call it, with a barrier before and after. */
template <typename S>
static __device__ __noinline__ void
light_fill_sides (
    const LightTensorFrame &frame, uint8_t *shared, int x0, int y0)
{
  const LightDecoder<S> halves (frame, shared);
  const LightChromaDecoder<S> decoder = { frame, halves };
  const StripPlane &luma = frame.plane[0].strip;
  const StripOutside outside (luma, x0, S::WORK_PIXELS);
  const int all = outside.count () * STRIP_ROWS;

  for (int i = threadIdx.x; i < all; i += STRIP_THREADS) {
    const int r = i % STRIP_ROWS, p = outside.at (i / STRIP_ROWS);
    const int x = border_index (x0 + p, luma.width, frame.border);
    uint8_t *const to = halves.work + r * S::WORK_PITCH + 2 * p;

    if (x >= x0 && x < x0 + S::WORK_PIXELS)
      for (int c = 0; c < LIGHT_PARTS * S::C; c++)
        *(uint16_t *) (to + c * S::WORK_BYTES) =
            *(const uint16_t *) (to + c * S::WORK_BYTES + 2 * (x - x0 - p));
    else
      decoder.decode_pixel (
          x, border_index (y0 + r, luma.height, frame.border), to);
  }
}

/* Encodes the lane's part of results: four pixels in row `lane / 4` of 8. S: its LightShape. */
template <typename S> struct LightChromaEncoder
{
  static constexpr int SAMPLES = 4 / S::SUB_X;
  static constexpr int WORDS_AT =
      S::FIRST_OUT_CHUNKS * 16; /* offset of chroma */

  const LightTensorFrame &frame;
  const LightEncoder<S> &encoder;
  int x; /* of the lane's first pixel in the image */

  /* Y of four pixels; g becomes the sums along x over the pixels of each chroma sample. */
  __device__ __forceinline__ uint32_t
  encode_luma (float (&g)[3][4]) const
  {
    uint32_t code[4];

#pragma unroll
    for (int k = 0; k < 4; k++)
      code[k] = encoder.luma (g[0][k], g[1][k], g[2][k]);
    if constexpr (S::SUB_X == 2) {
      const int last = frame.plane[0].strip.width - 1 - x;

      /* The last of an odd number of columns has its own sample. */
#pragma unroll
      for (int k = 0; k < 4; k += 2)
#pragma unroll
        for (int c = 0; c < 3; c++)
          g[c][k / 2] = g[c][k] + (k == last ? g[c][k] : g[c][k + 1]);
    }
    return __byte_perm (__byte_perm (code[0], code[1], 0x40),
        __byte_perm (code[2], code[3], 0x40), 0x5410);
  }

  static __device__ __forceinline__ float
  from_lane (float value, int lane)
  {
    return __uint_as_float ((uint32_t) __shfl_sync (
        0xffffffffu, (int) __float_as_uint (value), lane));
  }

  /* Puts one row of chroma for two rows of pixels. Lanes of even rows make Cb of both rows;
   * lanes of odd rows, lane ^ 4, make Cr. */
  __device__ __forceinline__ void
  put_halved (const float (&cb)[SAMPLES], const float (&cr)[SAMPLES], int y,
      uint8_t *to) const
  {
    const int lane = threadIdx.x % TENSOR_LANES;
    const bool odd = lane & 4;
    /* The last of an odd number of rows has its own sample. */
    const bool alone = (y | 1) >= frame.plane[0].strip.height;

    to += odd ? frame.chroma.cr_first - S::OUT_PITCH : frame.chroma.cb_first;
#pragma unroll
    for (int k = 0; k < SAMPLES; k++) {
      const float mine = odd ? cr[k] : cb[k];
      const float other = from_lane (odd ? cb[k] : cr[k], lane ^ 4);
      const float below = odd ? mine : other, above = odd ? other : mine;

      to[k * frame.chroma.step] = (uint8_t) encoder.round_chroma (
          above + (alone ? above : below) + frame.matrix.to_cb.offset);
    }
  }

  __device__ __forceinline__ void
  put_chroma (const float (&g)[3][4], int y, uint8_t *to) const
  {
    const LightChroma &chroma = frame.chroma;
    const LightMatrix &matrix = frame.matrix;
    float cb[SAMPLES], cr[SAMPLES];

#pragma unroll
    for (int k = 0; k < SAMPLES; k++) {
      cb[k] = matrix.to_cb.r * g[0][k] + matrix.to_cb.g * g[1][k]
          + matrix.to_cb.b * g[2][k];
      cr[k] = matrix.to_cr.r * g[0][k] + matrix.to_cr.g * g[1][k]
          + matrix.to_cr.b * g[2][k];
    }
    if (chroma.sub_y == 2) {
      put_halved (cb, cr, y, to);
      return;
    }
#pragma unroll
    for (int k = 0; k < SAMPLES; k++) {
      to[chroma.cb_first + k * chroma.step] =
          (uint8_t) encoder.round_chroma (cb[k] + matrix.to_cb.offset);
      to[chroma.cr_first + k * chroma.step] =
          (uint8_t) encoder.round_chroma (cr[k] + matrix.to_cr.offset);
    }
  }

  /* Puts the lane's results of 16 rows to `row`, at the block's pixel `own`; y is the lane's
   * first row, the other one is y + 8. */
  __device__ __forceinline__ void
  put_rows (const float (&result)[3][2][4], int y, int own, uint8_t *row) const
  {
    uint8_t *const chroma = row + WORDS_AT + own / S::SUB_X * frame.chroma.step;

#pragma unroll
    for (int r = 0; r < 2; r++) {
      float g[3][4];

#pragma unroll
      for (int i = 0; i < 12; i++)
        g[i / 4][i % 4] =
            encoder.level (result[i / 4][i % 4 / 2][2 * r + i % 2]);
      *(uint32_t *) (row + 8 * r * S::OUT_PITCH + own) = encode_luma (g);
      put_chroma (g, y + 8 * r, chroma + 8 * r * S::OUT_PITCH);
    }
  }
};

/* Writes 16 rows of a block from `rows`, whose first pixel is (x, y); only rows in
 * [place.first, place.last). */
template <typename S>
__device__ __forceinline__ void
light_write_chroma (const LightTensorFrame &frame, const uint8_t *rows, int x,
    int y, const StripPlace &place)
{
  const StripPlane &luma = frame.plane[0].strip;
  const LightChroma &chroma = frame.chroma;

#pragma unroll
  for (int i = threadIdx.x; i < STRIP_ROWS * S::OUT_CHUNKS;
       i += STRIP_THREADS) {
    const int r = i / S::OUT_CHUNKS, at = y + r;
    int chunk = i - r * S::OUT_CHUNKS, row = at, n;
    const uint8_t *const from = rows + r * S::OUT_PITCH + 16 * chunk;
    uint8_t *to;
    bool aligned;

    if (at < place.first || at >= place.last)
      continue;
    if (chunk < S::FIRST_OUT_CHUNKS) {
      to = luma.dst + row * luma.dst_stride + x + 16 * chunk;
      n = luma.row_bytes - x - 16 * chunk;
      aligned = luma.dst_aligned;
    } else {
      constexpr int HALF = S::FIRST_OUT_CHUNKS / S::SUB_X;
      const int p = !chroma.together && chunk - S::FIRST_OUT_CHUNKS >= HALF;
      int first;

      row = chroma.sub_y == 1 ? at : at / 2;
      if ((chroma.sub_y == 2 && at % 2 != 0) || row >= chroma.rows)
        continue;
      chunk -= S::FIRST_OUT_CHUNKS + p * HALF;
      first = x / S::SUB_X * (chroma.together ? 2 : 1) + 16 * chunk;
      to = chroma.dst[p] + row * chroma.dst_stride[p] + first;
      n = chroma.row_bytes - first;
      aligned = chroma.dst_aligned;
    }
    if (aligned && n >= 16)
      *(uint4 *) to = *(const uint4 *) from;
    else
      strip_copy_bytes (to, from, min (n, 16));
  }
}

/* The loop of a block down its strip; see LightMarch. */
template <typename S> struct LightChromaMarch
{
  static constexpr int KS = S::KS, AHEAD = S::AHEAD;

  const LightTensorFrame &frame;
  uint8_t *shared, *outs;
  StripPlace place;
  int own, x, y, start, steps;
  LightChromaReader<S> reader;
  LightDecoder<S> halves;
  LightStrip<S> strip;

  __device__ __forceinline__
  LightChromaMarch (const LightTensorFrame &frame, uint8_t *shared)
      : frame (frame), shared (shared), halves (frame, shared),
        strip (frame, shared)
  {
    const int lane = threadIdx.x % TENSOR_LANES;

    own = threadIdx.x / TENSOR_LANES * S::WARP_PIXELS + lane % 4 * 4;
    outs = shared + S::OUTS_AT;
    place = strip_place (frame.plane[0].strip);
    x = place.column * S::PIXELS;
    start = place.first / STRIP_ROWS * STRIP_ROWS;
    steps = (place.last - start + STRIP_ROWS - 1) / STRIP_ROWS + KS - 1;
    y = start - S::ABOVE;
  }

  __device__ __forceinline__ void
  load (int step)
  {
    if (step < steps)
      reader.load (frame.plane[0].strip, frame.border, y + step * STRIP_ROWS,
          shared + step % S::STAGES * S::STAGE_BYTES);
    copy_async_commit ();
  }

  __device__ __forceinline__ void
  begin ()
  {
    reader.begin (frame, x - S::READ_REACH);
    strip.begin (shared);
    halves.begin (shared);
    if (frame.order == GPU_AFTER_KERNELS)
      gpu_await_previous ();
#pragma unroll 1
    for (int i = 0; i < AHEAD; i++)
      load (i);
  }

  /* Decodes a stage whose first row is y0. */
  __device__ __forceinline__ void
  decode (const uint8_t *stage, int y0)
  {
    const LightTensorPlane &plane = frame.plane[0];
    const LightChromaDecoder<S> decoder = { frame, halves };
    const bool sides =
        x < S::REACH || x + S::PIXELS + S::REACH > plane.strip.width;

    decoder.decode (stage);
    __syncthreads ();
    if (frame.border != SEPCONV_CONSTANT) {
      if (!sides)
        return;
      light_fill_sides<S> (frame, shared, x - S::REACH, y0);
    } else {
      if (!sides && y0 >= 0 && y0 + STRIP_ROWS <= plane.strip.height)
        return;
      light_put_border<S> (plane, x - S::REACH, y0, halves.work);
    }
    __syncthreads ();
  }

  /* Makes the rows that a step completes. */
  __device__ __forceinline__ void
  complete (int step)
  {
    const LightChromaEncoder<S> encoder = { frame, strip.encoder, x + own };
    const int lane = threadIdx.x % TENSOR_LANES;
    float result[3][2][4];

    strip.sum_pixels (result);
    encoder.put_rows (result, start + (step - (KS - 1)) * STRIP_ROWS + lane / 4,
        own, outs + step % 2 * S::OUT_BYTES + lane / 4 * S::OUT_PITCH);
  }

  __device__ __forceinline__ void
  write_before (int step)
  {
    if (step >= KS)
      light_write_chroma<S> (frame, outs + (step - 1) % 2 * S::OUT_BYTES, x,
          start + (step - KS) * STRIP_ROWS, place);
  }

  __device__ __forceinline__ void
  run ()
  {
    begin ();
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
      copy_async_wait<AHEAD - 1> ();
      __syncthreads ();
      load (step + AHEAD);
      write_before (step);
      decode (
          shared + step % S::STAGES * S::STAGE_BYTES, y + step * STRIP_ROWS);
      strip.take_rows ();
      if (step >= KS - 1)
        complete (step);
    }
    __syncthreads ();
    write_before (steps);
  }
};

#endif
