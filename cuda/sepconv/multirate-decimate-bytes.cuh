/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-decimate-bytes: the kernel of the method multirate that reads frames of bytes, on tensor
 * cores.
 *
 * A warp has a group of columns, as wide as four chunks, and marches down a strip, MULTIRATE_BYTES_ROWS
 * rows at a time:
 *
 *   shares [16 slots][8 y] = window_x [16 slots][64 bytes] * bytes [64 bytes][8 y]
 *   lows [16 low rows][8 slots] += window_y [16 low rows][8 y] * shares [8 y][8 slots]
 *
 * A slot is the group's share of a low column of one channel: each channel has three more slots
 * than the group has cells. Both windows are made of bytes (MultirateAxis.weight_sum).
 *
 * The first product is one of integers, and exact. The order of the bytes in its right factor is
 * chosen such that the words of a lane's chunk are the lane's registers. Its results are in the
 * layout that the second product takes, two rows of a slot in each lane. A share has up to 21 bits,
 * which are cut into the lower 11 and the rest: taken for the bits of FP16, either part is that
 * integer times 2^-24 without any arithmetic. For FP16 numbers below 2^-13 are equally spaced, and
 * tensor cores take subnormal ones like all others (Fasi et al., see tensor-loss.h). A product
 * takes 16 factors: both parts of 8 rows.
 *
 * The sums of 16 low rows are in registers. After every MULTIRATE_BYTES_STEP cells, the first
 * MULTIRATE_BYTES_STEP of them are complete: the shares of neighbouring groups are added up through
 * shared memory and written, and the other sums take their place. */
#pragma once

#include "multirate-decimate.cuh"
#include "multirate-flat-reader.cuh"

/* Threads for which a multiprocessor has registers: two blocks. */
#define MULTIRATE_BYTES_AT_ONCE (2 * MULTIRATE_BYTES_THREADS)

/* Low rows of a product, and the number of cells after which half of them are complete. */
#define MULTIRATE_BYTES_LOW_ROWS 16
#define MULTIRATE_BYTES_STEP (MULTIRATE_BYTES_LOW_ROWS / 2)
static_assert (
    MULTIRATE_BYTES_STEP + MULTIRATE_REACH - 1 <= MULTIRATE_BYTES_LOW_ROWS,
    "Cells belong to low rows that there are no sums of.");
static_assert (MULTIRATE_WINDOW_PAIRS
        >= (MULTIRATE_BYTES_LOW_ROWS - 1 + MULTIRATE_BYTES_STEP) * 16 / 2,
    "The windows of factor 16 do not fit.");

/* Bits of the lower part of a share, and the scale of the weights for both parts: 2^11 apart. */
#define MULTIRATE_SHARE_BITS 11
#define MULTIRATE_LOW_WEIGHT 0x1p-7f
#define MULTIRATE_HIGH_WEIGHT 0x1p4f
/* Turns sums of both parts into sums of shares: undoes 2^-24 and 2^-7. */
#define MULTIRATE_SHARE_UNIT 0x1p31f

/* Floats from one row of a group's slots to the next in shared memory: rows lie in different
 * banks. */
static __host__ __device__ constexpr int
multirate_share_pitch (int tiles)
{
  return 16 * tiles + 8;
}

/* Whether a group's low rows are double-buffered in shared memory, so that no warp waits until
 * others have read the rows before. With the most slots there is one buffer only, as some GPUs
 * allow a block no more than 99 KB. */
static __host__ __device__ constexpr bool
multirate_share_turns (int tiles)
{
  return tiles < MULTIRATE_MOST_SLOT_TILES;
}

/* The most floats of a group in shared memory. */
#define MULTIRATE_SHARES \
  (2 * MULTIRATE_BYTES_STEP \
      * multirate_share_pitch (MULTIRATE_MOST_SLOT_TILES - 1))
static_assert (
    MULTIRATE_BYTES_STEP * multirate_share_pitch (MULTIRATE_MOST_SLOT_TILES)
        <= MULTIRATE_SHARES,
    "The most slots do not fit.");

template <MultirateBytesWay WAY> struct MultirateBytesMemory
{
  MultirateBytesRows<WAY> rows;
  uint4 window_x[MULTIRATE_MOST_SLOT_TILES][2][MULTIRATE_WARP];
  uint4 window_y[MULTIRATE_WINDOW_PAIRS];
  float share[MULTIRATE_BYTES_WARPS][MULTIRATE_SHARES];
  /* start value of the sums of each low row */
  float start[2][MULTIRATE_BYTES_STEP];
};

static_assert (sizeof (MultirateBytesMemory<MULTIRATE_PICKS>) <= 99 * 1024,
    "Some GPUs allow a block no more.");

/* Cells along x of a group. */
static __host__ __device__ __forceinline__ int
multirate_group_cells (int factor, int channels)
{
  return 4 * MULTIRATE_CHUNK / channels / factor;
}

/* The most low columns of a tile that begins with low column `first_column`: whole groups. */
static inline int
multirate_bytes_lows (int first_column, int factor, int channels)
{
  const int cells = multirate_group_cells (factor, channels);
  const int skew = (first_column - 2) & (cells - 1);

  return (MULTIRATE_BYTES_WARPS * cells - (MULTIRATE_REACH - 1) - skew) / cells
      * cells;
}

/* The cells of a strip along y are a multiple of this, so that it has whole turns of
 * MULTIRATE_BYTES_ROWS rows. */
static inline int
multirate_strip_unit (int factor)
{
  return factor < MULTIRATE_BYTES_ROWS ? MULTIRATE_BYTES_ROWS / factor : 1;
}

/* The weight, as a byte, of sample p of cell t of a window; 0 if the window has no cell t. */
static inline int
multirate_byte_of (const MultirateAxis *axis, int t, int p)
{
  const float unit = (float) (axis->factor * axis->weight_sum);

  return t >= 0 && t < MULTIRATE_REACH
      ? (int) lrintf (axis->window[t * axis->factor + p] * unit)
      : 0;
}

/* These bytes of samples p and p + 1, times `weight`, as FP16. */
static inline uint32_t
multirate_pair_of (const MultirateAxis *axis, int t, int p, float weight)
{
  return multirate_two_halves ((float) multirate_byte_of (axis, t, p) * weight,
      (float) multirate_byte_of (axis, t, p + 1) * weight);
}

/* Four bytes of the left factor: a slot's weights for four bytes of a group, from `byte` on. */
static inline uint32_t
multirate_window_word (const MultirateAxis *x, int channels, int slot, int byte)
{
  const int lows =
      multirate_group_cells (x->factor, channels) + MULTIRATE_REACH - 1;
  uint32_t word = 0;

  for (int j = 0; j < 4; j++) {
    const int pixel = (byte + j) / channels;
    const int t = pixel / x->factor + MULTIRATE_REACH - 1 - slot % lows;

    if ((byte + j) % channels == slot / lows)
      word |= (uint32_t) multirate_byte_of (x, t, pixel % x->factor) << 8 * j;
  }
  return word;
}

/* The windows of both axes as fragments, in the order of the lanes: instructions.cuh has their
 * layouts. */
static inline void
multirate_write_byte_windows (
    MultirateTables *to, const MultiratePlane *axes, int channels)
{
  const MultirateAxis *x = &axes->x, *y = &axes->y;

  for (int i = 0; i < MULTIRATE_MOST_SLOT_TILES * 2 * MULTIRATE_WARP; i++) {
    const int tile = i / (2 * MULTIRATE_WARP), lane = i % MULTIRATE_WARP;
    const int slot = 16 * tile + lane / 4;
    const int byte = lane % 4 * MULTIRATE_CHUNK + i / MULTIRATE_WARP % 2 * 8;

    to->byte_window_x[tile][i / MULTIRATE_WARP % 2][lane] =
        make_uint4 (multirate_window_word (x, channels, slot, byte),
            multirate_window_word (x, channels, slot + 8, byte),
            multirate_window_word (x, channels, slot, byte + 4),
            multirate_window_word (x, channels, slot + 8, byte + 4));
  }
  /* Entry i has the weights of the i-th pair of rows in the windows of low rows 0 and 8. Rows begin
   * MULTIRATE_BYTES_LOW_ROWS - MULTIRATE_REACH cells before the window of low row 0. */
  for (int i = 0; i < MULTIRATE_WINDOW_PAIRS; i++) {
    const int pairs = y->factor / 2;
    const int t = i / pairs - (MULTIRATE_BYTES_LOW_ROWS - MULTIRATE_REACH);
    const int below = t - MULTIRATE_BYTES_LOW_ROWS / 2;

    to->byte_window_y[i] = make_uint4 (
        multirate_pair_of (y, t, i % pairs * 2, MULTIRATE_LOW_WEIGHT),
        multirate_pair_of (y, below, i % pairs * 2, MULTIRATE_LOW_WEIGHT),
        multirate_pair_of (y, t, i % pairs * 2, MULTIRATE_HIGH_WEIGHT),
        multirate_pair_of (y, below, i % pairs * 2, MULTIRATE_HIGH_WEIGHT));
  }
}

/* The way in which chunks of a plane are read. It must be laid out: columns and factors are set. */
static inline MultirateBytesWay
multirate_plane_way (const MultiratePart *plane, SepconvBorder border)
{
  const int cells = multirate_group_cells (plane->factor_x, plane->channels);
  const int first = plane->first_column - 2;
  const int last = plane->first_column + plane->low_columns;

  return multirate_bytes_way (plane, border,
      (first - (first & (cells - 1))) * plane->factor_x,
      (last + 1) * plane->factor_x + MULTIRATE_CHUNK / plane->channels);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY

/* CELLS: of a group, along x. */
template <int CHANNELS, int CELLS, MultirateBytesWay WAY>
struct MultirateDecimation
{
  typedef MultirateBytesReader<CHANNELS, WAY> Reader;
  static constexpr MultirateBytesWay way = WAY;
  static constexpr int channels = CHANNELS, cells = CELLS;
  static constexpr int slots = CELLS + MULTIRATE_REACH - 1;  /* of a channel */
  static constexpr int tiles = (CHANNELS * slots + 15) / 16; /* of 16 slots */
  static constexpr int pitch = multirate_share_pitch (tiles);
  static constexpr bool turns = multirate_share_turns (tiles);
  static constexpr bool windows_shared = tiles == MULTIRATE_MOST_SLOT_TILES;
};

/* The low columns of a block, and the cells under their windows. */
struct MultirateBytesTile
{
  int first, n; /* low columns, counted from plane.first_column */
  int cell;     /* the first group's first cell */
  int skew;     /* cells from there to the first window */
};

template <typename D>
__device__ __forceinline__ MultirateBytesTile
multirate_bytes_tile (const MultiratePart &plane, int index)
{
  MultirateBytesTile tile;
  int begin;

  tile.first = index * plane.tile_lows;
  tile.n = min (plane.tile_lows, plane.low_columns - tile.first);
  begin = plane.first_column + tile.first - 2;
  tile.skew = begin & (D::cells - 1);
  tile.cell = begin - tile.skew;
  return tile;
}

/* The pixel behind the last one that a tile needs. */
__device__ __forceinline__ int
multirate_bytes_end (const MultiratePart &plane, const MultirateBytesTile &tile)
{
  return (tile.cell + tile.skew + tile.n + MULTIRATE_REACH - 1)
      * plane.factor_x;
}

/* The first pixel of the warp's group. */
template <typename D>
__device__ __forceinline__ int
multirate_group_pixel (
    const MultiratePart &plane, const MultirateBytesTile &tile)
{
  return tile.cell * plane.factor_x
      + (int) threadIdx.x / MULTIRATE_WARP
      * (4 * MULTIRATE_CHUNK / D::channels);
}

/* State of a warp's march down a strip. */
template <typename D> struct MultirateBytesMarch
{
  const MultiratePart *plane;
  MultirateBytesMemory<D::way> *memory;
  SepconvBorder border;
  MultirateBytesTile tile;
  typename D::Reader reader;
  bool works; /* some window needs the warp's group */
  int next;   /* the lane's next row to ask for */
  int end;    /* behind the last row to ask for */
  int slot;   /* of memory->rows, for the next row */
  uint4 window_x[D::windows_shared ? 1 : D::tiles][2];
  float sum[2 * D::tiles][4];
};

/* Starts to load the next rows, if there are any, to the slot of those that were taken last. */
template <typename D>
__device__ __forceinline__ void
multirate_ask_for_rows (MultirateBytesMarch<D> &march)
{
  if (march.next < march.end)
    march.reader.ask (
        *march.plane, march.border, march.next, march.slot, march.memory->rows);
  copy_async_commit ();
  march.next += MULTIRATE_BYTES_ROWS;
  march.slot = (march.slot + 1) & (MULTIRATE_BYTES_AHEAD - 1);
}

/* The lower or the upper parts of two rows' shares, as FP16 numbers of 2^-24 times each. */
__device__ __forceinline__ uint32_t
multirate_low_parts (int first, int second)
{
  constexpr uint32_t most = (1u << MULTIRATE_SHARE_BITS) - 1;

  return __byte_perm ((uint32_t) first, (uint32_t) second, 0x5410)
      & (most | most << 16);
}

__device__ __forceinline__ uint32_t
multirate_high_parts (int first, int second)
{
  return (uint32_t) first >> MULTIRATE_SHARE_BITS
      | ((uint32_t) second << (16 - MULTIRATE_SHARE_BITS) & 0xffff0000u);
}

/* Adds the next rows, once they have arrived. `rows` has the weights of the lane's pair of rows in
 * the windows of low rows g and g + 8 of those in registers. */
template <typename D>
__device__ __forceinline__ void
multirate_add_bytes (MultirateBytesMarch<D> &march, const uint4 &rows)
{
  MultirateBytes bytes;

  copy_async_wait<MULTIRATE_BYTES_AHEAD - 1> ();
  bytes = march.reader.take (*march.plane, march.border,
      march.next - MULTIRATE_BYTES_AHEAD * MULTIRATE_BYTES_ROWS, march.slot,
      march.memory->rows);
  multirate_ask_for_rows (march);
  __syncwarp ();
#pragma unroll
  for (int i = 0; i < D::tiles; i++) {
    int share[4] = {};

#pragma unroll
    for (int k = 0; k < 2; k++)
      multiply_unsigned_bytes_add (share,
          D::windows_shared
              ? march.memory->window_x[i][k][threadIdx.x % MULTIRATE_WARP]
              : march.window_x[D::windows_shared ? 0 : i][k],
          bytes.word[2 * k], bytes.word[2 * k + 1]);
#pragma unroll
    for (int k = 0; k < 2; k++)
      multiply_matrices_add (march.sum[2 * i + k], rows,
          multirate_low_parts (share[2 * k], share[2 * k + 1]),
          multirate_high_parts (share[2 * k], share[2 * k + 1]));
  }
}

/* The sum of the weights along y with which a strip of n cells adds to the low row that is complete
 * after cell i. */
__device__ __forceinline__ float
multirate_byte_rows (const MultiratePart &plane, int n, int i)
{
  const float4 cell = plane.tables->cell_y;
  const float weight[] = { cell.x, cell.y, cell.z, cell.w };
  float sum = 0.0f;

#pragma unroll
  for (int t = 0; t < MULTIRATE_REACH; t++)
    if (i - t >= 0 && i - t < n)
      sum += weight[t];
  return sum;
}

/* Adds up the shares of all groups in a low sample. `share` points to the share of the group in
 * which the sample's window begins: slot `cell` + MULTIRATE_REACH - 1 of a channel. */
template <typename D>
__device__ __forceinline__ float
multirate_sum_shares (const float *share, int cell)
{
  constexpr int more = MULTIRATE_REACH - 1;
  float sum = *share;

#pragma unroll
  for (int i = 1; i <= (D::cells - 1 + more) / D::cells; i++)
    if (cell + more >= i * D::cells)
      sum += share[i * (MULTIRATE_SHARES - D::cells)];
  return sum;
}

/* Puts the low rows that are complete, from row `first` of a strip of n cells on, into shared
 * memory, adds up the groups' shares and writes the sums. Each warp does that for the low samples
 * whose windows begin in its group. */
template <typename D>
__device__ __forceinline__ void
multirate_put_lows (MultirateBytesMarch<D> &march, int strip, int n, int first)
{
  constexpr int across = D::channels * D::cells; /* low samples of a row */
  constexpr int step = MULTIRATE_WARP / across;  /* rows at a time */
  const MultiratePart &plane = *march.plane;
  const int warp = threadIdx.x / MULTIRATE_WARP;
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const int row = lane / across, channel = lane / D::cells % D::channels;
  const int cell = lane % D::cells;
  const int column = warp * D::cells + cell - march.tile.skew;
  const int rows = n + MULTIRATE_REACH - 1 - first - row;
  const float unit = plane.byte_unit * MULTIRATE_SHARE_UNIT;
  const int turn = D::turns ? first / MULTIRATE_BYTES_STEP % 2 : 0;
  float *const share =
      march.memory->share[warp] + turn * MULTIRATE_BYTES_STEP * D::pitch;
  float *const start = march.memory->start[turn];
  const float *const of =
      share + row * D::pitch + channel * D::slots + cell + MULTIRATE_REACH - 1;
  float *const to = plane.parts
      + ((strip * (ptrdiff_t) (plane.strip_cells + MULTIRATE_REACH - 1) + first
             + row)
                * D::channels
            + channel)
          * plane.low_pitch
      + march.tile.first + column;

  if (threadIdx.x < MULTIRATE_BYTES_STEP)
    start[threadIdx.x] = -plane.center
        * multirate_byte_rows (plane, n, first + (int) threadIdx.x);
#pragma unroll
  for (int i = 0; i < 2 * D::tiles; i++) {
    *(float2 *) (share + lane / 4 * D::pitch + lane % 4 * 2 + 8 * i) =
        make_float2 (march.sum[i][0], march.sum[i][1]);
    march.sum[i][0] = march.sum[i][2];
    march.sum[i][1] = march.sum[i][3];
    march.sum[i][2] = 0.0f;
    march.sum[i][3] = 0.0f;
  }
  __syncthreads (); /* the shares are there */
  if (column >= 0 && column < march.tile.n)
#pragma unroll
    for (int y = 0; y < MULTIRATE_BYTES_STEP; y += step)
      if (y < rows)
        to[(ptrdiff_t) y * D::channels * plane.low_pitch] =
            __fmaf_rn (multirate_sum_shares<D> (of + y * D::pitch, cell), unit,
                start[row + y]);
  if (!D::turns)
    __syncthreads (); /* before the shares are overwritten */
}

/* Setup that does not read the frame. */
template <typename D>
__device__ __forceinline__ void
multirate_begin_bytes (MultirateBytesMarch<D> &march, int first_row, int turns)
{
  const MultiratePart &plane = *march.plane;
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const int end = multirate_bytes_end (plane, march.tile);
  const int group = multirate_group_pixel<D> (plane, march.tile);
  const int x = group + lane % 4 * D::Reader::pixels;

  march.works = group < end;
  march.next = first_row + lane / 4;
  march.end =
      march.works ? march.next + turns * MULTIRATE_BYTES_ROWS : march.next;
  march.reader.begin (plane, march.border, x, x < end, march.next, march.end,
      march.memory->rows);
  if constexpr (D::windows_shared) {
    for (int i = threadIdx.x; i < D::tiles * 2 * MULTIRATE_WARP;
         i += MULTIRATE_BYTES_THREADS) {
      const int tile = i / (2 * MULTIRATE_WARP), k = i / MULTIRATE_WARP % 2;

      march.memory->window_x[tile][k][i % MULTIRATE_WARP] =
          plane.tables->byte_window_x[tile][k][i % MULTIRATE_WARP];
    }
  } else {
#pragma unroll
    for (int i = 0; i < D::tiles; i++)
#pragma unroll
      for (int k = 0; k < 2; k++)
        march.window_x[i][k] = plane.tables->byte_window_x[i][k][lane];
  }
  for (int i = threadIdx.x; i < MULTIRATE_WINDOW_PAIRS;
       i += MULTIRATE_BYTES_THREADS)
    march.memory->window_y[i] = plane.tables->byte_window_y[i];
}

/* Sums all rows of n cells along y; n is at most MULTIRATE_BYTES_STEP. */
template <typename D>
__device__ __forceinline__ void
multirate_sum_cells (MultirateBytesMarch<D> &march, int n)
{
  const MultiratePart &plane = *march.plane;
  const int lane = threadIdx.x % MULTIRATE_WARP;
  const int pairs = plane.factor_y / 2;
  const int turns =
      (n * plane.factor_y + MULTIRATE_BYTES_ROWS - 1) / MULTIRATE_BYTES_ROWS;
  const uint4 *window_y = march.memory->window_y
      + (MULTIRATE_BYTES_LOW_ROWS - 1 - lane / 4) * pairs + lane % 4;

#pragma unroll 1
  for (int i = 0; i < turns; i++, window_y += MULTIRATE_BYTES_ROWS / 2)
    multirate_add_bytes (march, *window_y);
}

template <typename D>
__device__ __forceinline__ void
multirate_decimate_strips (const MultirateFrame &frame,
    const MultiratePart &plane, int block, MultirateBytesMemory<D::way> &memory)
{
  const int across = block / plane.tiles;
  const int first = across * plane.strips_at_once;
  const int last = min (first + plane.strips_at_once, plane.strips);
  /* The first strip's first cell, counted from the first cell under the plane's windows. */
  const int cell = first * plane.strip_cells;
  const int cells = min (last * plane.strip_cells, plane.cells) - cell;
  MultirateBytesMarch<D> march = {};

  march.plane = &plane;
  march.memory = &memory;
  march.border = frame.border;
  march.tile = multirate_bytes_tile<D> (plane, block - across * plane.tiles);
  multirate_begin_bytes (march, (plane.first_row - 2 + cell) * plane.factor_y,
      (cells * plane.factor_y + MULTIRATE_BYTES_ROWS - 1)
          / MULTIRATE_BYTES_ROWS);
  gpu_admit_next ();
  if (frame.order == GPU_AFTER_KERNELS)
    gpu_await_previous ();
#pragma unroll 1
  for (int i = 0; i < MULTIRATE_BYTES_AHEAD; i++)
    multirate_ask_for_rows (march);
#pragma unroll 1
  for (int strip = first; strip < last; strip++) {
    const int n =
        min (plane.strip_cells, plane.cells - strip * plane.strip_cells);

    /* The windows are there, and the last low rows of the strip before have been read. */
    __syncthreads ();
    /* The last low rows are complete MULTIRATE_REACH - 1 cells behind the strip. */
#pragma unroll 1
    for (int i = 0; i < n + MULTIRATE_REACH - 1; i += MULTIRATE_BYTES_STEP) {
      if (march.works)
        multirate_sum_cells (march, min (n - i, MULTIRATE_BYTES_STEP));
      multirate_put_lows (march, strip, n, i);
    }
  }
}

#define MULTIRATE_DECIMATION_CASE(channels, cells) \
  case channels << 8 | cells: \
    multirate_decimate_strips<MultirateDecimation<channels, cells, WAY>> ( \
        frame, plane, block, memory); \
    break

#endif

template <MultirateBytesWay WAY>
static __global__ void
__launch_bounds__ (
    MULTIRATE_BYTES_THREADS, MULTIRATE_BYTES_AT_ONCE / MULTIRATE_BYTES_THREADS)
    multirate_decimate_bytes (GPU_PARAMETER MultirateFrame frame)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 10 * INSTRUCTIONS_CAPABILITY
  GPU_DYNAMIC_SHARED (uint8_t, shared);
  MultirateBytesMemory<WAY> &memory = *(MultirateBytesMemory<WAY> *) shared;
  const MultiratePart &plane =
      frame.plane[multirate_find_plane<MULTIRATE_DECIMATE_BYTES> (frame)];
  const int block = blockIdx.x - plane.first_block[MULTIRATE_DECIMATE_BYTES];

  /* The case is channels << 8 | multirate_group_cells(), without divisions. */
  switch (plane.channels << 8
      | (4 * MULTIRATE_CHUNK >> plane.channels / 2 >> plane.shift_x)) {
    MULTIRATE_DECIMATION_CASE (1, 4);
    MULTIRATE_DECIMATION_CASE (1, 8);
    MULTIRATE_DECIMATION_CASE (1, 16);
    MULTIRATE_DECIMATION_CASE (1, 32);
    MULTIRATE_DECIMATION_CASE (2, 2);
    MULTIRATE_DECIMATION_CASE (2, 4);
    MULTIRATE_DECIMATION_CASE (2, 8);
    MULTIRATE_DECIMATION_CASE (2, 16);
    MULTIRATE_DECIMATION_CASE (4, 1);
    MULTIRATE_DECIMATION_CASE (4, 2);
    MULTIRATE_DECIMATION_CASE (4, 4);
    MULTIRATE_DECIMATION_CASE (4, 8);
  }
  gpu_end_in_turn ();
#endif
}
