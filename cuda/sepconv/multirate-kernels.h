/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate-kernels: the inner loops of multirate-simd.c for the instruction set that the
 * including file is compiled for. It defines MULTIRATE_KERNELS, the name of the
 * MultirateKernels. */
#include "multirate-rows.h"

#include "border.h"

#include <string.h>

/* Bytes of a vector. Vectors wider than the instruction set's would be kept in memory. */
#if defined __AVX512BW__
#define VECTOR_BYTES 64
#define AT_ONCE 8 /* vectors; there are registers for twice as many */
#elif defined __AVX2__
#define VECTOR_BYTES 32
#define AT_ONCE 4
#else
#define VECTOR_BYTES 16
#define AT_ONCE 4
#endif
#define LANES (VECTOR_BYTES / 4)
#define BLOCK (AT_ONCE * LANES)

_Static_assert(BLOCK <= MULTIRATE_PAD, "Lines have too little padding.");

typedef float Floats
    __attribute__ ((vector_size (VECTOR_BYTES), aligned (4), may_alias));
/* The same type for arguments: on 64-bit Arm, GCC 14 fails at arguments that are aligned to less
 * than their size. */
typedef float Value __attribute__ ((vector_size (VECTOR_BYTES)));
typedef int32_t Whole __attribute__ ((vector_size (VECTOR_BYTES)));

#ifdef __x86_64__
#include <immintrin.h>

/* LANES bytes as integers. */
static inline Whole
load_bytes (const uint8_t *at)
{
#if VECTOR_BYTES == 64
  return (Whole) _mm512_cvtepu8_epi32 (_mm_loadu_si128 ((const __m128i *) at));
#elif VECTOR_BYTES == 32
  return (Whole) _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *) at));
#else
  const __m128i zero = _mm_setzero_si128 ();
  int32_t bytes;

  memcpy (&bytes, at, sizeof bytes);
  return (Whole) _mm_unpacklo_epi16 (
      _mm_unpacklo_epi8 (_mm_cvtsi32_si128 (bytes), zero), zero);
#endif
}

/* LANES 16-bit samples, shifted right. */
static inline Whole
load_shorts (const uint8_t *at, int shift)
{
#if VECTOR_BYTES == 64
  return (Whole) _mm512_cvtepu16_epi32 (
             _mm256_loadu_si256 ((const __m256i *) at))
      >> shift;
#elif VECTOR_BYTES == 32
  return (Whole) _mm256_cvtepu16_epi32 (_mm_loadu_si128 ((const __m128i *) at))
      >> shift;
#else
  return (Whole) _mm_unpacklo_epi16 (
             _mm_loadl_epi64 ((const __m128i *) at), _mm_setzero_si128 ())
      >> shift;
#endif
}

static inline Value
clamp (Value sum, float top)
{
#if VECTOR_BYTES == 64
  return (Value) _mm512_min_ps (
      _mm512_max_ps ((__m512) sum, _mm512_setzero_ps ()), _mm512_set1_ps (top));
#elif VECTOR_BYTES == 32
  return (Value) _mm256_min_ps (
      _mm256_max_ps ((__m256) sum, _mm256_setzero_ps ()), _mm256_set1_ps (top));
#else
  return (Value) _mm_min_ps (
      _mm_max_ps ((__m128) sum, _mm_setzero_ps ()), _mm_set1_ps (top));
#endif
}
#elif defined __aarch64__
#include <arm_neon.h>

static inline Whole
load_bytes (const uint8_t *at)
{
  uint32_t bytes;

  memcpy (&bytes, at, sizeof bytes);
  return (Whole) vmovl_u16 (
      vget_low_u16 (vmovl_u8 (vreinterpret_u8_u32 (vdup_n_u32 (bytes)))));
}

static inline Whole
load_shorts (const uint8_t *at, int shift)
{
  return (Whole) vmovl_u16 (vreinterpret_u16_u8 (vld1_u8 (at))) >> shift;
}

static inline Value
clamp (Value sum, float top)
{
  return (Value) vminq_f32 (
      vmaxq_f32 ((float32x4_t) sum, vdupq_n_f32 (0.0f)), vdupq_n_f32 (top));
}
#else
static inline Whole
load_bytes (const uint8_t *at)
{
  Whole codes;

  for (int k = 0; k < LANES; k++)
    codes[k] = at[k];
  return codes;
}

static inline Whole
load_shorts (const uint8_t *at, int shift)
{
  Whole codes;

  for (int k = 0; k < LANES; k++)
    codes[k] = image_read_raw (at + 2 * k, 2) >> shift;
  return codes;
}

static inline Value
clamp (Value sum, float top)
{
  for (int k = 0; k < LANES; k++)
    sum[k] = sum[k] < 0.0f ? 0.0f : sum[k] > top ? top : sum[k];
  return sum;
}
#endif

/* out[k] = sum over i of weights[i] * rows[i][k], for k in [0, n) rounded up to whole blocks. */
static void
weigh (float *out, int n, const float *const *rows, const float *weights,
    int n_rows)
{
  for (int x = 0; x < n; x += BLOCK) {
    Floats *to = (Floats *) (out + x);
    Floats total[AT_ONCE] = { 0 };

    for (int first = 0; first < n_rows; first += MULTIRATE_SUM_BLOCK) {
      const int last = min_int (first + MULTIRATE_SUM_BLOCK, n_rows);
      Floats block[AT_ONCE] = { 0 };

      for (int i = first; i < last; i++) {
        const Floats *in = (const Floats *) (rows[i] + x);
        const float weight = weights[i];

        for (int k = 0; k < AT_ONCE; k++)
          block[k] += weight * in[k];
      }
      for (int k = 0; k < AT_ONCE; k++)
        total[k] += block[k];
    }
    for (int k = 0; k < AT_ONCE; k++)
      to[k] = total[k];
  }
}

/* The rows of the frame under a window along y. */
typedef struct
{
  int n;
  const uint8_t *row[MULTIRATE_REACH * MULTIRATE_MAX_FACTOR];
  float weight[MULTIRATE_REACH * MULTIRATE_MAX_FACTOR];
  /* Sums of the weights of these rows, and of those beyond a constant border. */
  float inside, outside;
} Window;

static void
find_window (Window *window, const MultirateJob *job, int low)
{
  const MultirateAxis *axis = &job->plan->y;

  *window = (Window){ .n = 0 };
  for (int i = 0; i < MULTIRATE_REACH * axis->factor; i++) {
    const float weight = axis->window[i];
    const int y = border_index (
        axis->factor * (low - 2) + i, job->rows.height, job->rows.border);

    if (weight == 0.0f)
      continue;
    if (y < 0) {
      window->outside += weight;
      continue;
    }
    window->row[window->n] = job->rows.src + y * job->rows.src_stride;
    window->weight[window->n++] = weight;
    window->inside += weight;
  }
}

/* Sums a window for BLOCK bytes, or 16-bit samples, less the middle of their range. */
static inline void
sum_bytes (float *out, const Window *window, size_t at, float center)
{
  Floats *to = (Floats *) out, sum[AT_ONCE];

  for (int k = 0; k < AT_ONCE; k++)
    sum[k] = (Floats){ 0 } - center * window->inside;
  for (int i = 0; i < window->n; i++) {
    const uint8_t *row = window->row[i] + at;
    const float weight = window->weight[i];

    for (int k = 0; k < AT_ONCE; k++)
      sum[k] += weight
          * __builtin_convertvector(load_bytes (row + k * LANES), Floats);
  }
  for (int k = 0; k < AT_ONCE; k++)
    to[k] = sum[k];
}

static inline void
sum_shorts (
    float *out, const Window *window, size_t at, int shift, int32_t center)
{
  Floats *to = (Floats *) out, sum[AT_ONCE] = { 0 };

  for (int i = 0; i < window->n; i++) {
    const uint8_t *row = window->row[i] + at;
    const float weight = window->weight[i];

    for (int k = 0; k < AT_ONCE; k++)
      sum[k] += weight
          * __builtin_convertvector(
              load_shorts (row + 2 * k * LANES, shift) - center, Floats);
  }
  for (int k = 0; k < AT_ONCE; k++)
    to[k] = sum[k];
}

/* The same for n samples: fewer than a block, or bytes of fewer than 8 bits. */
static void
sum_samples (
    float *out, const Window *window, const RowsJob *rows, int begin, int n)
{
  const SepconvChannel *channel = rows->channel;
  const int center = (int) channel->center;
  float line[BLOCK] = { 0 }, sum[BLOCK] = { 0 };

  for (int i = 0; i < window->n; i++) {
    const uint8_t *row =
        window->row[i] + (ptrdiff_t) begin * channel->sample_bytes;

    for (int k = 0; k < n; k++)
      line[k] =
          (float) ((image_read_raw (row + (ptrdiff_t) k * channel->sample_bytes,
                        channel->sample_bytes)
                       >> channel->shift)
              - center);
    for (int k = 0; k < BLOCK; k++)
      sum[k] += window->weight[i] * line[k];
  }
  memcpy (out, sum, (size_t) n * sizeof *out);
}

/* Applies a window along y to samples [begin, end). */
static void
sum_columns (
    float *out, const Window *window, const RowsJob *rows, int begin, int end)
{
  const SepconvChannel *channel = rows->channel;
  const int bytes = channel->sample_bytes;
  const bool whole =
      (bytes == 2 || channel->shift == 0) && end - begin >= BLOCK;

  for (int x = begin; x < end; x += BLOCK) {
    /* The last block begins within the one before it. */
    const int from = whole ? min_int (x, end - BLOCK) : x;
    float *to = out + from;

    if (!whole)
      sum_samples (to, window, rows, from, min_int (BLOCK, end - from));
    else if (bytes == 1)
      sum_bytes (to, window, (size_t) from, (float) channel->center);
    else
      sum_shorts (
          to, window, 2 * (size_t) from, channel->shift, (int) channel->center);
  }
  if (window->outside > 0.0f)
    for (int x = begin, c = begin % rows->step; x < end; x++) {
      out[x] += window->outside * (float) rows->channel[c].border;
      c = c + 1 == rows->step ? 0 : c + 1;
    }
}

/* Fills in the samples of a line beyond the ends of the row. */
static void
fill_edges (const MultirateJob *job, float *line)
{
  const int *edge = job->edges;
  const float *row = line + job->left;

  for (int k = 0; k < job->left; k++, edge++)
    line[k] =
        *edge < 0 ? (float) job->rows.channel[-1 - *edge].border : row[*edge];
  for (int k = 0; k < job->right; k++, edge++)
    line[job->left + job->inside + k] =
        *edge < 0 ? (float) job->rows.channel[-1 - *edge].border : row[*edge];
}

/* Puts every n-th sample side by side: out[k * stride + i] = in[i * n + k], i in [0, count). */
static inline void
split (float *restrict out, size_t stride, const float *restrict in, int n,
    int count)
{
  for (int i = 0; i < count; i++)
    for (int k = 0; k < n; k++)
      out[(size_t) k * stride + (size_t) i] = in[i * n + k];
}

/* The inverse of split(). */
static inline void
join (float *restrict out, const float *restrict in, size_t stride, int n,
    int count)
{
  for (int i = 0; i < count; i++)
    for (int k = 0; k < n; k++)
      out[i * n + k] = in[(size_t) k * stride + (size_t) i];
}

/* Calls f (arguments..., n, count), with a constant for frequent n: the compiler vectorises loops
 * of known length. */
#define WITH_COUNT(f, n, count, ...) \
  do { \
    switch (n) { \
      case 1: \
        f (__VA_ARGS__, 1, count); \
        break; \
      case 2: \
        f (__VA_ARGS__, 2, count); \
        break; \
      case 3: \
        f (__VA_ARGS__, 3, count); \
        break; \
      case 4: \
        f (__VA_ARGS__, 4, count); \
        break; \
      case 8: \
        f (__VA_ARGS__, 8, count); \
        break; \
      default: \
        f (__VA_ARGS__, n, count); \
    } \
  } while (0)

/* Makes a row of the small picture from a line of windows along y. */
static void
narrow_row (const MultirateJob *job, const MultirateWorker *worker, float *wide,
    float *to)
{
  const MultirateAxis *axis = &job->plan->x;
  const int factor = axis->factor, step = job->rows.step;
  const int n_lows = job->columns + axis->n - 1;
  const int cells = n_lows + MULTIRATE_REACH - 1;
  const size_t stride = multirate_line ((size_t) cells);
  const float *rows[TAPS_MAX];
  float weights[MULTIRATE_REACH * MULTIRATE_MAX_FACTOR];

  fill_edges (job, wide);
  WITH_COUNT (split, factor * step, cells, worker->phases, stride, wide);
  for (int c = 0; c < step; c++) {
    int n = 0;

    for (int i = 0; i < MULTIRATE_REACH * factor; i++) {
      if (axis->window[i] == 0.0f)
        continue;
      rows[n] = worker->phases + (size_t) (i % factor * step + c) * stride
          + i / factor;
      weights[n++] = axis->window[i];
    }
    weigh (worker->low, n_lows, rows, weights, n);
    for (int j = 0; j < axis->n; j++)
      rows[j] = worker->low + j;
    weigh (to + (size_t) c * job->small_line, job->columns, rows, axis->tap,
        axis->n);
    if (job->plan->n_terms > 1)
      weigh (to + (size_t) (step + c) * job->small_line, job->columns, rows,
          job->plan->more_x.tap, axis->n);
  }
}

/* Bytes of a strip of the rows under a group's windows, which must stay in the nearest caches. */
#define STRIP_BYTES (128 * 1024)

/* Floats of a row of the small picture. */
static size_t
small_row (const MultirateJob *job)
{
  return (size_t) job->plan->n_terms * (size_t) job->rows.step
      * job->small_line;
}

static void
narrow (void *user, int index, int first, int last)
{
  const MultirateJob *job = user;
  const RowsJob *rows = &job->rows;
  const MultirateWorker *worker = &job->workers[index];
  const int window_rows =
      (MULTIRATE_REACH + MULTIRATE_GROUP - 1) * job->plan->y.factor;
  const int strip =
      max_int (
          1, STRIP_BYTES / (window_rows * rows->channel->sample_bytes) / BLOCK)
      * BLOCK;

  for (int group = first; group < last; group++) {
    const int begin = group * MULTIRATE_GROUP;
    const int n =
        min_int (MULTIRATE_GROUP, job->last_row - job->first_row + 1 - begin);
    Window window[MULTIRATE_GROUP];

    for (int i = 0; i < n; i++)
      find_window (&window[i], job, job->first_row + begin + i);
    for (int x = 0; x < rows->n_samples;) {
      /* A short rest is joined to the last strip. */
      const int end =
          rows->n_samples - x < 2 * strip ? rows->n_samples : x + strip;

      for (int i = 0; i < n; i++)
        sum_columns (worker->wide[i] + job->left, &window[i], rows, x, end);
      x = end;
    }
    for (int i = 0; i < n; i++)
      narrow_row (job, worker, worker->wide[i],
          job->small + (size_t) (begin + i) * small_row (job));
  }
}

/* Makes row k - 1 of the sums along y, interpolated along x, with the channels' offsets. */
static void
sum_row (const MultirateJob *job, const MultirateWorker *worker, int k)
{
  const MultirateAxis *x = &job->plan->x, *y = &job->plan->y;
  const int factor = x->factor, step = job->rows.step;
  const int cells = job->cells_x;
  const size_t stride = multirate_line ((size_t) cells);
  const size_t row = (size_t) step * job->small_line;
  const float *rows[MULTIRATE_MAX_TERMS * TAPS_MAX], *weights = y->tap;
  float both[MULTIRATE_MAX_TERMS * TAPS_MAX];

  for (int j = 0; j < y->n; j++) {
    const int at =
        max_int (job->first_row, min_int (y->first - 1 + k + j, job->last_row));

    rows[j] = job->small + (size_t) (at - job->first_row) * small_row (job);
    rows[y->n + j] = rows[j] + row;
  }
  if (job->plan->n_terms > 1) {
    memcpy (both, y->tap, (size_t) y->n * sizeof *both);
    memcpy (both + y->n, job->plan->more_y.tap, (size_t) y->n * sizeof *both);
    weights = both;
  }
  weigh (worker->low, (int) row, rows, weights, job->plan->n_terms * y->n);
  for (int c = 0; c < step; c++) {
    const float offset = job->offset[c];
    float *line = worker->low + (size_t) c * job->small_line;

    for (int i = 0; i < job->columns; i++)
      line[i] += offset;
    for (int t = 0; t < MULTIRATE_REACH; t++)
      rows[t] = line + job->first_cell_x + t;
    for (int p = 0; p < factor; p++)
      weigh (worker->phases + (size_t) (p * step + c) * stride, cells, rows,
          x->phase[p], MULTIRATE_REACH);
  }
  WITH_COUNT (join, factor * step, cells,
      worker->sums[k % MULTIRATE_REACH] + job->first_cell_x * factor * step,
      worker->phases, stride);
}

/* Adding this to a number from 0 to 2^22 leaves the nearest integer, ties to even, in the
 * lowest bits. */
#define ROUNDER 0x1.8p23f

/* Clamps sums of BLOCK samples and rounds them to codes. */
static inline void
codes_of_sums (int32_t *raw, const float *sums, float top, int shift)
{
  for (int k = 0; k < AT_ONCE; k++)
    *(Whole *) (raw + k * LANES) =
        ((Whole) (clamp (*(const Floats *) (sums + k * LANES), top) + ROUNDER)
            & 0xffff)
        << shift;
}

/* Interpolates BLOCK samples of a row of the result along y. */
static inline void
sum_rows (float *sums, const float *const *rows, const float *weights, int x)
{
  for (int k = 0; k < AT_ONCE; k++) {
    const int at = x + k * LANES;
    Floats sum = weights[0] * *(const Floats *) (rows[0] + at);

    for (int t = 1; t < MULTIRATE_REACH; t++)
      sum += weights[t] * *(const Floats *) (rows[t] + at);
    *(Floats *) (sums + k * LANES) = sum;
  }
}

/* Loads BLOCK samples, or n if that is less, less the middle of their range. */
static inline void
load_levels (
    float *levels, const SepconvChannel *channel, const uint8_t *from, int n)
{
  const int bytes = channel->sample_bytes;
  const int center = (int) channel->center;

  if (n < BLOCK || (bytes == 1 && channel->shift > 0)) {
    memset (levels, 0, BLOCK * sizeof *levels);
    for (int k = 0; k < n; k++)
      levels[k] = (float) ((image_read_raw (from + (ptrdiff_t) k * bytes, bytes)
                               >> channel->shift)
          - center);
    return;
  }
  for (int k = 0; k < AT_ONCE; k++) {
    const Whole codes = bytes == 1
        ? load_bytes (from + k * LANES)
        : load_shorts (from + 2 * k * LANES, channel->shift);

    *(Floats *) (levels + k * LANES) =
        __builtin_convertvector(codes - center, Floats);
  }
}

/* Adds BLOCK samples themselves to their sums, by the mix. `last` has MultirateMix's `last` of each
 * sample. */
static inline void
add_levels (float *sums, const MultirateJob *job, const float *levels,
    const float *last)
{
  for (int k = 0; k < BLOCK; k += LANES) {
    const Floats level = *(const Floats *) (levels + k);
    Floats sum = *(Floats *) (sums + k) + job->weight * level;

    if (job->compares) {
      const Whole taken = (sum > job->threshold) | (sum < -job->threshold);

      sum = (Floats) ((Whole) sum & taken) + job->keep * level
          + *(const Floats *) (last + k);
    }
    *(Floats *) (sums + k) = sum;
  }
}

/* Writes row y of the result, or its window. */
static void
store_row (const MultirateJob *job, const float *const *rows, int y)
{
  const RowsJob *plane = &job->rows;
  const SepconvChannel *channel = plane->channel;
  const float *weights = job->plan->y.phase[y % job->plan->y.factor];
  const int bytes = channel->sample_bytes;
  const int n = plane->n_samples, end = plane->window.right * plane->step;
  uint8_t *to = plane->dst + y * plane->dst_stride;
  float last[BLOCK + IMAGE_MAX_CHANNELS];

  for (int k = 0; job->compares && k < BLOCK + plane->step; k++)
    last[k] = job->last[k % plane->step];
  /* Blocks may begin before the window and end behind it. */
  for (int x = plane->window.left * plane->step; x < end; x += BLOCK) {
    /* The last block of a row begins within the one before it. */
    const int from = n < BLOCK ? 0 : min_int (x, n - BLOCK);
    _Alignas(64) int32_t raw[BLOCK];
    _Alignas(64) float sums[BLOCK], levels[BLOCK];
    uint8_t *at = to + (ptrdiff_t) from * bytes;

    sum_rows (sums, rows, weights, from);
    if (job->adds) {
      load_levels (levels, channel,
          plane->src + y * plane->src_stride + (ptrdiff_t) from * bytes,
          min_int (BLOCK, n - from));
      add_levels (sums, job, levels, last + from % plane->step);
    }
    codes_of_sums (raw, sums, (float) channel->max_code, channel->shift);
    if (bytes == 1 && n >= BLOCK)
      for (int k = 0; k < BLOCK; k++)
        image_write_raw (at + k, raw[k], 1);
    else if (bytes == 2 && n >= BLOCK)
      for (int k = 0; k < BLOCK; k++)
        image_write_raw (at + 2 * k, raw[k], 2);
    else
      for (int k = 0; k < min_int (BLOCK, n - from); k++)
        image_write_raw (at + (ptrdiff_t) k * bytes, raw[k], bytes);
  }
}

static void
widen (void *user, int index, int first, int last)
{
  const MultirateJob *job = user;
  const MultirateWorker *worker = &job->workers[index];
  const int factor = job->plan->y.factor;
  const int from = first + job->first_cell_y;
  const int to = last + job->first_cell_y;
  const int end = min_int (to * factor, job->rows.height);

  for (int k = from; k < from + MULTIRATE_REACH - 1; k++)
    sum_row (job, worker, k);
  for (int k = from; k < to; k++) {
    const float *rows[MULTIRATE_REACH];

    sum_row (job, worker, k + MULTIRATE_REACH - 1);
    for (int t = 0; t < MULTIRATE_REACH; t++)
      rows[t] = worker->sums[(k + t) % MULTIRATE_REACH];
    for (int y = k * factor; y < min_int ((k + 1) * factor, end); y++)
      store_row (job, rows, y);
  }
  rows_copy_kept (&job->rows, from * factor, end, 0, job->rows.n_samples);
}

const MultirateKernels MULTIRATE_KERNELS = { .narrow = narrow, .widen = widen };
