/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-interpolate-bytes: the kernel of the method multirate that writes results of bytes, on
 * tensor cores.
 *
 * A warp has a tile as wide as eight chunks and marches down, MULTIRATE_RESULT_ROWS rows at a time. It
 * makes these rows in pieces, one after the other:
 *
 *   columns [16 y][8 k] = phase_y [16 y][8 rows] * sums [8 rows][8 k]
 *   result [16 y][8 x] = columns [16 y][8 k] * phase_x [8 k][8 x]
 *
 * The weights are the same for all pieces, which begin with whole cells. They are exact in FP16
 * (MultirateAxis.phase).
 *
 * Sums are copied asynchronously. They include the offset, as weights sum to 1, and are FP16 hi/lo
 * splits, both in one word, whose sum is almost as exact as a float. A product takes 16 factors:
 * both halves of 8 splits.
 *
 * In the first product, factors 2i and 2i + 1 are one split, so that a word of the sums is a
 * register of the right factor as it is. The results, split again, are the left factor of the
 * second product without any exchange between lanes: its first 8 factors are the upper halves, the
 * others the lower ones. The pixels of a piece are dealt to the columns of its products such that
 * each lane has neighbouring words of a row in the end.
 *
 * The rows go through shared memory, so that stores are whole lines of 128 bytes: with shorter
 * ones, the number of L2 requests limits the kernel. */
#pragma once

#include "multirate-bytes.cuh"
#include "write-part.cuh"

#define MULTIRATE_RESULT_ROWS 16
#define MULTIRATE_RESULT_BYTES_THREADS 128
#define MULTIRATE_RESULT_BYTES_WARPS \
  (MULTIRATE_RESULT_BYTES_THREADS / MULTIRATE_WARP)
#define MULTIRATE_RESULT_BYTES_AT_ONCE (8 * MULTIRATE_RESULT_BYTES_THREADS)
/* The same for kernels that add the sample itself, which they load ahead. */
#define MULTIRATE_SHARPEN_BYTES_AT_ONCE (4 * MULTIRATE_RESULT_BYTES_THREADS)
#define MULTIRATE_RESULT_WARP_TILE 128
#define MULTIRATE_RESULT_BYTES_TILE \
  (MULTIRATE_RESULT_BYTES_WARPS * MULTIRATE_RESULT_WARP_TILE)
/* Bytes from one row of a warp's tile to the next one in shared memory: rows lie in different
 * banks. */
#define MULTIRATE_RESULT_PITCH (MULTIRATE_RESULT_WARP_TILE + 32)

/* The number of groups of eight sums ("eights") that n neighbouring pixels or rows need, if these
 * begin with a whole cell. */
static __host__ __device__ constexpr int
multirate_eights (int n, int factor)
{
  return (n / factor + MULTIRATE_REACH - 1 + 7) / 8;
}

/* The eights of half a warp's tile. A warp makes its tile in pieces, one after the other, with the
 * same weights for each: in halves of the tile if one eight of columns of sums is enough for a
 * half, else in quarters. */
static __host__ __device__ constexpr int
multirate_half_eights (int channels, int factor)
{
  return multirate_eights (MULTIRATE_RESULT_WARP_TILE / 2 / channels, factor);
}

static __host__ __device__ constexpr int
multirate_result_pieces (int half_eights)
{
  return half_eights > 1 ? 4 : 2;
}

/* Columns of sums under a warp's tile, rounded up to whole chunks of four. */
static __host__ __device__ constexpr int
multirate_result_columns (int half_eights)
{
  return half_eights == 1 ? 12
      : half_eights == 2  ? 20
      : half_eights == 3  ? 40
                          : 72;
}

/* Slots of shared memory for the sums of a warp's rows: the number of copies in flight. */
static __host__ __device__ constexpr int
multirate_result_ahead (int channels)
{
  return channels == 4 ? 2 : 3;
}

/* Bytes of shared memory of a warp: its rows, and these slots. */
static __host__ __device__ constexpr int
multirate_result_shared (int channels, int half_eights, int row_eights)
{
  return MULTIRATE_RESULT_ROWS * MULTIRATE_RESULT_PITCH
      + 4 * multirate_result_ahead (channels) * channels * 8 * row_eights
      * multirate_result_columns (half_eights);
}

/* The most shared memory of a warp: for 2 channels, and a factor of 2 along both axes. */
#define MULTIRATE_RESULT_MOST_SHARED multirate_result_shared (2, 3, 2)

/* Bytes of shared memory that a block has for a plane. */
static inline size_t
multirate_plane_shared (const MultiratePart *plane)
{
  return MULTIRATE_RESULT_BYTES_WARPS
      * (size_t) multirate_result_shared (plane->channels,
          multirate_half_eights (plane->channels, plane->factor_x),
          multirate_eights (MULTIRATE_RESULT_ROWS, plane->factor_y));
}

/* The way in which a plane's result can be written. */
static inline MultirateResultWay
multirate_result_way (const MultiratePart *plane)
{
  if (plane->dst_unit != MULTIRATE_CHUNK
      || plane->n_samples % MULTIRATE_CHUNK != 0)
    return MULTIRATE_RESULT_ANY;
  if (plane->kept == 0)
    return MULTIRATE_RESULT_PLAIN;
  return plane->channels == 4 && plane->src_unit == MULTIRATE_CHUNK
      ? MULTIRATE_RESULT_KEEPS
      : MULTIRATE_RESULT_ANY;
}

/* Half a warp's tile needs HALF_EIGHTS eights of columns and ROW_EIGHTS eights of rows of sums.
 * SHARPENS: the samples themselves are added, times a weight. */
template <int CHANNELS, int HALF_EIGHTS, int ROW_EIGHTS, MultirateResultWay WAY,
    bool SHARPENS>
struct MultirateResult
{
  static constexpr MultirateResultWay way = WAY;
  static constexpr bool sharpens = SHARPENS;
  static constexpr int channels = CHANNELS;
  static constexpr int half_eights = HALF_EIGHTS, row_eights = ROW_EIGHTS;
  static constexpr int pieces = multirate_result_pieces (HALF_EIGHTS);
  /* Words, and pixels, that a lane makes in each row of a piece. */
  static constexpr int words = MULTIRATE_RESULT_WARP_TILE / 4 / 4 / pieces;
  static constexpr int pixels = 4 * words / CHANNELS;
  /* Products for each channel: each makes two pixels for each lane. */
  static constexpr int products = pixels / 2;
  /* Eights of columns of a piece. If there are several, the last one is also the next piece's
   * first. */
  static constexpr int eights = (HALF_EIGHTS + 1) / 2;
  /* A slot of sums in shared memory: [channel][row][column]. Of each row, which has all channels, a
   * lane copies every fourth chunk. */
  static constexpr int columns = multirate_result_columns (HALF_EIGHTS);
  static constexpr int rows = 8 * ROW_EIGHTS;
  static constexpr int row_chunks = CHANNELS * columns / 4;
  static constexpr int copies = (row_chunks + 3) / 4;
  static constexpr int slot = CHANNELS * rows * columns;
  static constexpr int ahead = multirate_result_ahead (CHANNELS);
};

/* The weight of sum k for the result at `position`. Sum 0 is the one before the cell of position
 * 0. */
static inline float
multirate_phase_weight (const MultirateAxis *axis, int position, int k)
{
  const int t = k - position / axis->factor;

  return t >= 0 && t < MULTIRATE_REACH ? axis->phase[position % axis->factor][t]
                                       : 0.0f;
}

/* The weights of both axes as fragments, in the order of the lanes: instructions.cuh has their
 * layouts. */
static inline void
multirate_write_result_weights (
    MultirateTables *to, const MultiratePlane *axes, int channels)
{
  const int pieces = multirate_result_pieces (
      multirate_half_eights (channels, axes->x.factor));
  const int pixels = MULTIRATE_RESULT_WARP_TILE / 4 / pieces / channels;
  const int eights = multirate_eights (4 * pixels, axes->x.factor);
  const int row_eights =
      multirate_eights (MULTIRATE_RESULT_ROWS, axes->y.factor);

  for (int lane = 0; lane < MULTIRATE_WARP; lane++) {
    const int g = lane / 4, t = lane % 4;

    for (int i = 0; i < eights * pixels / 2; i++) {
      const int x = g / 2 * pixels + i / eights * 2 + g % 2;
      const int k = i % eights * 8 + 2 * t;
      const uint32_t weights =
          multirate_two_halves (multirate_phase_weight (&axes->x, x, k),
              multirate_phase_weight (&axes->x, x, k + 1));

      to->result_x[i][lane] = make_uint2 (weights, weights);
    }
    for (int i = 0; i < row_eights; i++) {
      uint32_t weight[4];

      for (int j = 0; j < 4; j++) {
        const float half = multirate_phase_weight (
            &axes->y, g + j % 2 * 8, 8 * i + t + j / 2 * 4);

        weight[j] = multirate_two_halves (half, half);
      }
      to->result_y[i][lane] =
          make_uint4 (weight[0], weight[1], weight[2], weight[3]);
    }
  }
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* State of a warp's march down a tile. */
template <typename R> struct MultirateResultMarch
{
  const MultiratePart *plane;
  uint8_t *tile; /* the warp's rows, in shared memory */
  /* Offsets in the tile, in bytes: of the lane's words of the first piece, and of the chunk of
   * every fourth row that the lane writes to the picture. */
  int into, from;
  int byte;      /* offset of that chunk in a row of the picture */
  uint32_t keep; /* mask of the kept bytes of a word */
  int y;         /* the next row of which the lane writes a chunk */
  int rows;      /* rows of the picture from y on; 0 if the lane writes none */
  uint8_t *to;   /* the chunk in row y */
  /* If it sharpens: the offset of the lane's words of the first piece in a row of the picture, and
   * the next row of which the lane makes words. */
  int own, own_row;
  /* The sums that the lane copies next: their row, chunks of it, and the places of these in a
   * slot. */
  int row, row_step;
  int chunk[R::copies], place[R::copies];
  uint32_t *first_slot, *slot;
  int at;   /* the lane's first sum in a slot */
  int step; /* from one eight of columns to the next one */
  uint4 weight_y[R::row_eights];
  uint2 weight_x[R::products * R::eights];
};

__device__ __forceinline__ uint4
multirate_keep_bytes (const uint4 &result, const uint4 &source, uint32_t keep)
{
  return make_uint4 ((result.x & ~keep) | (source.x & keep),
      (result.y & ~keep) | (source.y & keep),
      (result.z & ~keep) | (source.z & keep),
      (result.w & ~keep) | (source.w & keep));
}

__device__ __forceinline__ uint4
multirate_load_chunk (const uint8_t *from, int unit)
{
  const uint32_t *word = (const uint32_t *) from;

  return unit == MULTIRATE_CHUNK
      ? gpu_load ((const uint4 *) from)
      : make_uint4 (gpu_load (word), gpu_load (word + 1), gpu_load (word + 2),
          gpu_load (word + 3));
}

__device__ __forceinline__ void
multirate_store_chunk (uint8_t *to, int unit, const uint4 &chunk)
{
  uint32_t *word = (uint32_t *) to;

  if (unit == MULTIRATE_CHUNK) {
    *(uint4 *) to = chunk;
    return;
  }
  word[0] = chunk.x;
  word[1] = chunk.y;
  word[2] = chunk.z;
  word[3] = chunk.w;
}

/* Writes the first n bytes of a chunk. */
__device__ __forceinline__ void
multirate_write_bytes (
    uint8_t *to, const uint8_t *source, uint4 result, uint32_t keep, int n)
{
#pragma unroll 1
  for (int v = 0; v < n; v++) {
    to[v] =
        keep >> 8 * (v % 4) & 1 ? gpu_load (source + v) : (uint8_t) result.x;
    result.x = __funnelshift_r (result.x, result.y, 8);
    result.y = __funnelshift_r (result.y, result.z, 8);
    result.z = __funnelshift_r (result.z, result.w, 8);
    result.w >>= 8;
  }
}

/* Writes a chunk of row y. */
template <typename R>
__device__ __forceinline__ void
multirate_put_chunk (
    const MultirateResultMarch<R> &march, int y, const uint4 &result)
{
  const MultiratePart &plane = *march.plane;
  uint8_t *to = plane.dst + y * plane.dst_stride + march.byte;
  const uint8_t *from = plane.src + y * plane.src_stride + march.byte;
  const int n = min (plane.n_samples - march.byte, MULTIRATE_CHUNK);
  const bool keeps = march.keep != 0;

  if (y >= plane.height || n <= 0)
    return;
  if (n < MULTIRATE_CHUNK && plane.dst_unit == MULTIRATE_CHUNK && !keeps)
    write_part (to, n, result);
  else if (n < MULTIRATE_CHUNK || plane.dst_unit == 1
      || (keeps && plane.src_unit == 1))
    multirate_write_bytes (to, from, result, march.keep, n);
  else if (keeps)
    multirate_store_chunk (to, plane.dst_unit,
        multirate_keep_bytes (
            result, multirate_load_chunk (from, plane.src_unit), march.keep));
  else
    multirate_store_chunk (to, plane.dst_unit, result);
}

/* Brings the rows of the picture from which multirate_put_tile() will keep channels to the L2. */
template <typename R>
__device__ __forceinline__ void
multirate_prefetch_kept (const MultirateResultMarch<R> &march)
{
  const MultiratePart &plane = *march.plane;

  static_assert (MULTIRATE_RESULT_WARP_TILE <= GPU_PREFETCH_BYTES,
      "Each row of a tile is one line.");
  if (threadIdx.x % 8 == 0) {
#pragma unroll
    for (int y = 0; y < MULTIRATE_RESULT_ROWS; y += 4)
      if (march.rows > y)
        gpu_prefetch (
            plane.src + (march.y + y) * plane.src_stride + march.byte);
  }
}

/* Writes the warp's rows to the picture. Samples that are kept are loaded first, so that all loads
 * are in flight together. */
template <typename R>
__device__ __forceinline__ void
multirate_put_tile (MultirateResultMarch<R> &march)
{
  const MultiratePart &plane = *march.plane;
  uint4 source[MULTIRATE_RESULT_ROWS / 4];

  if constexpr (R::way == MULTIRATE_RESULT_KEEPS) {
#pragma unroll
    for (int y = 0; y < MULTIRATE_RESULT_ROWS; y += 4)
      if (march.rows > y)
        source[y / 4] = gpu_load ((const uint4 *) (plane.src
            + (march.y + y) * plane.src_stride + march.byte));
  }
#pragma unroll
  for (int y = 0; y < MULTIRATE_RESULT_ROWS; y += 4) {
    const uint4 chunk =
        *(const uint4 *) (march.tile + march.from + y * MULTIRATE_RESULT_PITCH);

    if constexpr (R::way == MULTIRATE_RESULT_ANY)
      multirate_put_chunk (march, march.y + y, chunk);
    else if (march.rows > y)
      *(uint4 *) (march.to + y * plane.dst_stride) =
          R::way == MULTIRATE_RESULT_KEEPS
          ? multirate_keep_bytes (chunk, source[y / 4], march.keep)
          : chunk;
  }
  march.y += MULTIRATE_RESULT_ROWS;
  march.rows -= MULTIRATE_RESULT_ROWS;
  march.to += MULTIRATE_RESULT_ROWS * march.plane->dst_stride;
}

/* If there are `more`, starts to copy the sums under the next rows to the slot of those that were
 * taken last. Rows and columns beyond the last sum have a weight of 0: any sums may stand for
 * them. */
template <typename R>
__device__ __forceinline__ void
multirate_ask_for_sums (MultirateResultMarch<R> &march, bool more)
{
  const MultiratePart &plane = *march.plane;
  const uint32_t *const sums = (const uint32_t *) plane.sums;
  const int chunk = (int) threadIdx.x % MULTIRATE_WARP / 8;

  if (more) {
#pragma unroll
    for (int i = 0; i < R::row_eights; i++) {
      const int row = min (march.row + 8 * i, plane.sum_rows - 1);
      const int line = row * R::channels * plane.pitch;

#pragma unroll
      for (int k = 0; k < R::copies; k++)
        if (R::row_chunks % 4 == 0 || chunk + 4 * k < R::row_chunks)
          copy_async_whole (march.slot + (march.place[k] + i * 8 * R::columns),
              sums + (line + march.chunk[k]));
    }
  }
  copy_async_commit ();
  march.row += march.row_step;
  march.slot = march.slot == march.first_slot + (R::ahead - 1) * R::slot
      ? march.first_slot
      : march.slot + R::slot;
}

/* Runs the first product for eight v of the tile's columns, and returns the left factor of the
 * second one. */
template <typename R>
__device__ __forceinline__ uint4
multirate_interpolate_columns (
    const MultirateResultMarch<R> &march, int channel, int v)
{
  const uint32_t *const sums =
      march.slot + (march.at + channel * R::rows * R::columns + march.step * v);
  float columns[4] = {};
  uint4 pairs;

#pragma unroll
  for (int i = 0; i < R::row_eights; i++)
    multiply_matrices_add (columns, march.weight_y[i], sums[8 * i * R::columns],
        sums[(8 * i + 4) * R::columns]);
  pairs.x = pack_halves (columns[0], columns[1]);
  pairs.y = pack_halves (columns[2], columns[3]);
  pairs.z = rest_of_halves (pairs.x, columns[0], columns[1]);
  pairs.w = rest_of_halves (pairs.y, columns[2], columns[3]);
  return pairs;
}

/* Runs the second product: two pixels of each lane, in two of the 16 rows. */
template <typename R>
__device__ __forceinline__ void
multirate_interpolate_row (const MultirateResultMarch<R> &march, int product,
    const uint4 (&columns)[R::eights], float (&result)[4])
{
#pragma unroll
  for (int i = 0; i < 4; i++)
    result[i] = 0.0f;
#pragma unroll
  for (int v = 0; v < R::eights; v++) {
    const uint2 weights = march.weight_x[product * R::eights + v];

    multiply_matrices_add (result, columns[v], weights.x, weights.y);
  }
}

/* Loads the samples of the picture at the place of the lane's piece, in the upper or the lower 8
 * rows. */
template <typename R>
__device__ __forceinline__ void
multirate_load_own (const MultirateResultMarch<R> &march, int piece, int lower,
    uint32_t (&own)[R::words])
{
  const MultiratePart &plane = *march.plane;
  const int byte = march.own + piece * 4 * 4 * R::words;
  const int y = min (march.own_row + 8 * lower, plane.height - 1);
  const uint8_t *const from = plane.src + y * plane.src_stride + byte;

  if (byte + 4 * R::words > plane.n_samples || plane.src_unit == 1) {
#pragma unroll
    for (int i = 0; i < R::words; i++)
      own[i] = 0;
#pragma unroll
    for (int i = 0; i < 4 * R::words; i++)
      if (byte + i < plane.n_samples)
        own[i / 4] |= (uint32_t) gpu_load (from + i) << 8 * (i % 4);
  } else if (plane.src_unit == 4) {
#pragma unroll
    for (int i = 0; i < R::words; i++)
      own[i] = gpu_load ((const uint32_t *) from + i);
  } else if constexpr (R::words == 4) {
    const uint4 four = gpu_load ((const uint4 *) from);

    own[0] = four.x;
    own[1] = four.y;
    own[2] = four.z;
    own[3] = four.w;
  } else {
    const uint2 two = gpu_load ((const uint2 *) from);

    own[0] = two.x;
    own[1] = two.y;
  }
}

/* Adds byte `byte` of a word of samples to a result, by the mix, if the kernel sharpens. */
template <typename R>
__device__ __forceinline__ float
multirate_with_own (
    const MultirateResultMarch<R> &march, float result, uint32_t own, int byte)
{
  if constexpr (!R::sharpens) {
    return result;
  } else {
    constexpr float above = tensor_above<1, true> ();
    const MultiratePart &plane = *march.plane;
    /* The bits of 2^23 + the byte. */
    const float code =
        __uint_as_float (__byte_perm (own, 0x4b000000, 0x7440 | byte))
        - 0x1p23f;
    const float sum = __fmaf_rn (plane.weight, code, result);

    if (!plane.compares)
      return sum;
    return __fmaf_rn (plane.keep, code,
               fabsf (sum - above) > plane.threshold ? sum : above)
        + plane.last[byte % R::channels];
  }
}

/* Makes four bytes of the lane's piece from the results of products: of row g of 16, or of row g +
 * 8 if `lower`. With four channels, `pixel` is the product's first or second pixel. */
template <typename R, int CHANNELS, int PRODUCTS>
__device__ __forceinline__ uint32_t
multirate_result_word (const MultirateResultMarch<R> &march,
    const float (&of)[PRODUCTS][CHANNELS][4], bool lower, int pixel,
    uint32_t own)
{
  const int i = lower ? 2 : 0;
  float byte[4];

#pragma unroll
  for (int k = 0; k < 4; k++)
    byte[k] = multirate_with_own (march,
        CHANNELS == 1       ? of[k / 2 % PRODUCTS][0][i + k % 2]
            : CHANNELS == 2 ? of[0][k % 2 % CHANNELS][i + k / 2]
                            : of[0][k % CHANNELS][i + pixel],
        own, k);
  return join_bytes<true> (byte[0], byte[1], byte[2], byte[3]);
}

/* Puts a piece into the warp's tile. */
template <typename R>
__device__ __forceinline__ void
multirate_interpolate_piece (const MultirateResultMarch<R> &march, int piece,
    const uint4 (&columns)[R::channels][R::eights],
    const uint32_t (&own)[2][R::words])
{
  /* n products make `words` words together. */
  constexpr int n = R::channels == 1 ? 2 : 1, words = R::channels == 4 ? 2 : 1;
  uint32_t word[2][R::words];

#pragma unroll
  for (int j = 0; j < R::products; j += n) {
    float result[n][R::channels][4];

#pragma unroll
    for (int i = 0; i < n; i++)
#pragma unroll
      for (int c = 0; c < R::channels; c++)
        multirate_interpolate_row (march, j + i, columns[c], result[i][c]);
#pragma unroll
    for (int i = 0; i < words; i++) {
      const int w = j / n * words + i;

      word[0][w] = multirate_result_word (march, result, false, i, own[0][w]);
      word[1][w] = multirate_result_word (march, result, true, i, own[1][w]);
    }
  }
#pragma unroll
  for (int lower = 0; lower < 2; lower++) {
    uint8_t *const to = march.tile + march.into
        + lower * 8 * MULTIRATE_RESULT_PITCH + piece * 4 * 4 * R::words;
    const uint32_t (&of)[R::words] = word[lower];

    if constexpr (R::words == 4)
      *(uint4 *) to = make_uint4 (of[0], of[1], of[2], of[3]);
    else
      *(uint2 *) to = make_uint2 (of[0], of[1]);
  }
}

/* Writes the next 16 rows, and starts to copy the sums of later rows if there are `more`. */
template <typename R>
__device__ __forceinline__ void
multirate_put_rows (MultirateResultMarch<R> &march, bool more)
{
  constexpr int first = R::eights > 1 ? 1 : 0;
  uint4 columns[R::channels][R::eights];
  uint32_t own[R::pieces][2][R::words] = {};

  if constexpr (R::sharpens) {
#pragma unroll
    for (int i = 0; i < 2 * R::pieces; i++)
      multirate_load_own (march, i / 2, i % 2, own[i / 2][i % 2]);
    march.own_row += MULTIRATE_RESULT_ROWS;
  } else if constexpr (R::way == MULTIRATE_RESULT_KEEPS) {
    multirate_prefetch_kept (march);
  }
  copy_async_wait<R::ahead - 1> ();
  __syncwarp (); /* all lanes' sums are there, and the tile has been read */
#pragma unroll
  for (int piece = 0; piece < R::pieces; piece++) {
#pragma unroll
    for (int c = 0; c < R::channels; c++) {
      if (first == 1)
        columns[c][0] = piece == 0 ? multirate_interpolate_columns (march, c, 0)
                                   : columns[c][R::eights - 1];
#pragma unroll
      for (int v = first; v < R::eights; v++)
        columns[c][v] = multirate_interpolate_columns (
            march, c, piece * max (R::eights - 1, 1) + v);
    }
    multirate_interpolate_piece (march, piece, columns, own[piece]);
  }
  __syncwarp (); /* the tile is there, and the sums have been read */
  multirate_ask_for_sums (march, more);
  multirate_put_tile (march);
}

/* Setup that does not read the sums. `shared` is the warp's part of shared memory. */
template <typename R>
__device__ __forceinline__ void
multirate_begin_result (MultirateResultMarch<R> &march,
    const MultiratePart &plane, int tile, int first, uint8_t *shared)
{
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const int column =
      tile * (MULTIRATE_RESULT_WARP_TILE / R::channels) >> plane.shift_x;
  const int last_row =
      (MULTIRATE_RESULT_ROWS >> plane.shift_y) + MULTIRATE_REACH - 2;
  const MultirateTables *const tables = plane.tables;

  march.plane = &plane;
  march.tile = shared;
  march.into = lane / 4 * MULTIRATE_RESULT_PITCH + lane % 4 * 4 * R::words;
  march.from = lane / 8 * MULTIRATE_RESULT_PITCH + lane % 8 * MULTIRATE_CHUNK;
  march.byte = tile * MULTIRATE_RESULT_WARP_TILE + lane % 8 * MULTIRATE_CHUNK;
  march.own = tile * MULTIRATE_RESULT_WARP_TILE + lane % 4 * 4 * R::words;
  march.own_row = first + lane / 4;
  march.y = first + lane / 8;
  march.rows = march.byte < plane.n_samples ? plane.height - march.y : 0;
  march.to = plane.dst + march.y * plane.dst_stride + march.byte;
  march.row = (first >> plane.shift_y)
      + (R::row_eights > 1 ? lane % 8 : min (lane % 8, last_row));
  march.row_step = MULTIRATE_RESULT_ROWS >> plane.shift_y;
  march.first_slot =
      (uint32_t *) (shared + MULTIRATE_RESULT_ROWS * MULTIRATE_RESULT_PITCH);
  march.slot = march.first_slot;
  /* Copies begin with whole chunks of a line of sums; the tile's first sum may lie inside one. */
  march.at = lane % 4 * R::columns + lane / 4 + column % 4;
  march.step = R::eights > 1
      ? 8
      : MULTIRATE_RESULT_WARP_TILE / R::pieces / R::channels >> plane.shift_x;
#pragma unroll
  for (int k = 0; k < R::copies; k++) {
    const int chunk = lane / 8 + 4 * k;
    const int channel = chunk / (R::columns / 4);
    const int of_line = chunk % (R::columns / 4) * 4;

    march.chunk[k] =
        channel * plane.pitch + min (column / 4 * 4 + of_line, plane.pitch - 4);
    march.place[k] = (channel * R::rows + lane % 8) * R::columns + of_line;
  }
#pragma unroll
  for (int j = 0; j < 4; j++)
    if (plane.kept >> j % R::channels & 1)
      march.keep |= 0xffu << 8 * j;
#pragma unroll
  for (int i = 0; i < R::row_eights; i++)
    march.weight_y[i] = tables->result_y[i][lane];
#pragma unroll
  for (int i = 0; i < R::products * R::eights; i++)
    march.weight_x[i] = tables->result_x[i][lane];
}

template <typename R>
__device__ __forceinline__ void
multirate_interpolate_strip (
    const MultiratePart &plane, int block, uint8_t *shared)
{
  const int down = block / plane.result_tiles;
  const int warp = threadIdx.x / MULTIRATE_WARP;
  const int tile =
      (block - down * plane.result_tiles) * MULTIRATE_RESULT_BYTES_WARPS + warp;
  const int first = down * plane.result_cells * MULTIRATE_RESULT_ROWS;
  int turns =
      (min (plane.result_cells * MULTIRATE_RESULT_ROWS, plane.height - first)
          + MULTIRATE_RESULT_ROWS - 1)
      / MULTIRATE_RESULT_ROWS;
  MultirateResultMarch<R> march = {};

  multirate_begin_result (march, plane, tile, first,
      shared
          + warp
              * multirate_result_shared (
                  R::channels, R::half_eights, R::row_eights));
  gpu_await_previous ();
  gpu_admit_next ();
  if (tile * MULTIRATE_RESULT_WARP_TILE >= plane.n_samples)
    return;
#pragma unroll 1
  for (int i = 0; i < R::ahead; i++)
    multirate_ask_for_sums (march, i < turns);
#pragma unroll 1
  for (; turns > 0; turns--)
    multirate_put_rows (march, turns > R::ahead);
}

/* Calls multirate_interpolate_strip() for the plane's channels and factors. */
template <int CHANNELS, int HALF_EIGHTS, MultirateResultWay WAY, bool SHARPENS>
__device__ __forceinline__ void
multirate_interpolate_plane (
    const MultiratePart &plane, int block, uint8_t *shared)
{
  if (plane.factor_y > 2)
    multirate_interpolate_strip<
        MultirateResult<CHANNELS, HALF_EIGHTS, 1, WAY, SHARPENS>> (
        plane, block, shared);
  else
    multirate_interpolate_strip<
        MultirateResult<CHANNELS, HALF_EIGHTS, 2, WAY, SHARPENS>> (
        plane, block, shared);
}

#define MULTIRATE_RESULT_CASE(channels, half_eights) \
  case channels << 4 | half_eights: \
    multirate_interpolate_plane<channels, half_eights, WAY, SHARPENS> ( \
        plane, block, shared); \
    break

#endif

/* WAY: multirate_result_way() of all planes, or MULTIRATE_RESULT_ANY. */
template <MultirateResultWay WAY, bool SHARPENS>
static __global__ void
__launch_bounds__ (MULTIRATE_RESULT_BYTES_THREADS,
    (SHARPENS ? MULTIRATE_SHARPEN_BYTES_AT_ONCE
              : MULTIRATE_RESULT_BYTES_AT_ONCE)
        / MULTIRATE_RESULT_BYTES_THREADS)
    multirate_interpolate_bytes (GPU_PARAMETER MultirateFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  GPU_DYNAMIC_SHARED (uint8_t, shared);
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_INTERPOLATE_BYTES> (frame)];
  const int block = blockIdx.x - plane.first_block[MULTIRATE_INTERPOLATE_BYTES];

  const int half_cells =
      MULTIRATE_RESULT_WARP_TILE / 2 >> plane.channels / 2 >> plane.shift_x;

  if constexpr (WAY == MULTIRATE_RESULT_KEEPS) {
    switch (plane.channels << 4 | multirate_eights (half_cells, 1)) {
      MULTIRATE_RESULT_CASE (4, 1);
      MULTIRATE_RESULT_CASE (4, 2);
    }
  } else {
    switch (plane.channels << 4 | multirate_eights (half_cells, 1)) {
      MULTIRATE_RESULT_CASE (1, 1);
      MULTIRATE_RESULT_CASE (1, 2);
      MULTIRATE_RESULT_CASE (1, 3);
      MULTIRATE_RESULT_CASE (1, 5);
      MULTIRATE_RESULT_CASE (2, 1);
      MULTIRATE_RESULT_CASE (2, 2);
      MULTIRATE_RESULT_CASE (2, 3);
      MULTIRATE_RESULT_CASE (4, 1);
      MULTIRATE_RESULT_CASE (4, 2);
    }
  }
#endif
}
