/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* convert-loops: the loops of convert.h for the instruction set that the including file is compiled
 * for. It defines LIGHT_LOOPS, the name of the LightLoops. Rows are processed in chunks that stay
 * in the first-level cache from one loop to the next. */
#include "convert.h"

#include <string.h>

/* Pixels of a chunk: a multiple of every subsampling. */
#define CHUNK 1024

#define INNER static inline __attribute__ ((always_inline))

/* Loads n codes of a row; inlined, for constants. */
INNER void
load_as (uint16_t *codes, const uint8_t *samples, int n, ptrdiff_t stride,
    int bytes, int shift)
{
  for (int x = 0; x < n; x++)
    codes[x] =
        (uint16_t) (image_read_raw (samples + x * stride, bytes) >> shift);
}

INNER void
store_as (uint8_t *samples, const uint16_t *codes, int n, ptrdiff_t stride,
    int bytes, int shift)
{
  for (int x = 0; x < n; x++)
    image_write_raw (samples + x * stride, codes[x] << shift, bytes);
}

/* Calls a loop with constants for the strides, sizes and shifts of common formats. */
#define FOR_EACH_KIND(loop, a, b) \
  do { \
    const ptrdiff_t stride = channel->pixel_stride; \
    const int shift = channel->shift; \
\
    if (channel->sample_bytes == 1 && shift == 0 && stride == 1) \
      loop (a, b, n, 1, 1, 0); \
    else if (channel->sample_bytes == 1 && shift == 0 && stride == 2) \
      loop (a, b, n, 2, 1, 0); \
    else if (channel->sample_bytes == 1 && shift == 0 && stride == 3) \
      loop (a, b, n, 3, 1, 0); \
    else if (channel->sample_bytes == 1 && shift == 0 && stride == 4) \
      loop (a, b, n, 4, 1, 0); \
    else if (channel->sample_bytes == 1) \
      loop (a, b, n, stride, 1, shift); \
    else if (stride == 2) \
      loop (a, b, n, 2, 2, shift); \
    else if (stride == 4) \
      loop (a, b, n, 4, 2, shift); \
    else if (stride == 8) \
      loop (a, b, n, 8, 2, shift); \
    else \
      loop (a, b, n, stride, 2, shift); \
  } while (0)

/* Loads the codes of samples [x, x + n) of a row. */
static void
load (uint16_t *codes, const LightChannel *channel, const uint8_t *row, int x,
    int n)
{
  const uint8_t *samples = row + (ptrdiff_t) x * channel->pixel_stride;

  FOR_EACH_KIND (load_as, codes, samples);
  if ((channel->sample_bytes == 1 ? 255 : 65535) >> channel->shift
      > channel->full)
    for (int i = 0; i < n; i++)
      codes[i] &= (uint16_t) channel->full;
}

static void
store (uint8_t *row, const LightChannel *channel, const uint16_t *codes, int x,
    int n)
{
  uint8_t *samples = row + (ptrdiff_t) x * channel->pixel_stride;

  FOR_EACH_KIND (store_as, samples, codes);
}

/* Looks up four codes at a time, by shifts: loads and stores of single codes would be the
 * limit. */
static void
look_up (uint16_t *to, const uint16_t *from, int n, const uint16_t *table)
{
  int x = 0;

  for (; x + 4 <= n; x += 4) {
    uint64_t in, out = 0;

    memcpy (&in, from + x, sizeof in);
    for (int bit = 0; bit < 64; bit += 16)
      out |= (uint64_t) table[in >> bit & 65535] << bit;
    memcpy (to + x, &out, sizeof out);
  }
  for (; x < n; x++)
    to[x] = table[from[x]];
}

/* Writes each sample `times` times, n samples in all. Inlined, for a constant. */
INNER void
repeat (uint16_t *restrict to, const uint16_t *restrict from, int n, int times)
{
  const int whole = n / times;

  for (int k = 0; k < whole; k++)
    for (int i = 0; i < times; i++)
      to[k * times + i] = from[k];
  for (int x = whole * times; x < n; x++)
    to[x] = from[whole];
}

/* Repeats chroma samples for the sub_x pixels that share each, for n pixels. */
static void
spread (uint16_t *to, const uint16_t *from, int n, int sub_x)
{
  if (sub_x == 1)
    memcpy (to, from, (size_t) n * sizeof *to);
  else if (sub_x == 2)
    repeat (to, from, n, 2);
  else
    repeat (to, from, n, 4);
}

/* light_index() of a sum that fits 32 bits and already has the rounding half. */
INNER uint16_t
index_narrow (int32_t sum, int fraction, int32_t last)
{
  return (uint16_t) light_clamp (sum >> fraction, last);
}

/* Indices of T for red, green and blue of n pixels. */
static void
make_indices_narrow (uint16_t *restrict red, uint16_t *restrict green,
    uint16_t *restrict blue, const uint16_t *restrict y,
    const uint16_t *restrict cb, const uint16_t *restrict cr, int n,
    const LightNumbers *numbers)
{
  const int32_t of_y = (int32_t) numbers->y;
  const int32_t red_cr = (int32_t) numbers->red_cr;
  const int32_t green_cb = (int32_t) numbers->green_cb;
  const int32_t green_cr = (int32_t) numbers->green_cr;
  const int32_t blue_cb = (int32_t) numbers->blue_cb;
  const int32_t black = numbers->black, neutral = numbers->neutral;
  const int32_t last = numbers->last;
  const int fraction = numbers->fraction;
  const int32_t half = 1 << (fraction - 1);

  for (int x = 0; x < n; x++) {
    const int32_t luma = of_y * (y[x] - black) + half;
    const int32_t b = cb[x] - neutral, r = cr[x] - neutral;

    red[x] = index_narrow (luma + red_cr * r, fraction, last);
    green[x] =
        index_narrow (luma + green_cb * b + green_cr * r, fraction, last);
    blue[x] = index_narrow (luma + blue_cb * b, fraction, last);
  }
}

static void
make_indices (uint16_t index[3][CHUNK], const uint16_t *y, const uint16_t *cb,
    const uint16_t *cr, int n, const LightNumbers *numbers)
{
  if (!numbers->wide) {
    make_indices_narrow (index[0], index[1], index[2], y, cb, cr, n, numbers);
    return;
  }
  for (int x = 0; x < n; x++) {
    const int64_t luma = numbers->y * (y[x] - numbers->black);
    const int64_t b = cb[x] - numbers->neutral, r = cr[x] - numbers->neutral;

    index[0][x] = (uint16_t) light_index (numbers, luma + numbers->red_cr * r);
    index[1][x] = (uint16_t) light_index (
        numbers, luma + numbers->green_cb * b + numbers->green_cr * r);
    index[2][x] = (uint16_t) light_index (numbers, luma + numbers->blue_cb * b);
  }
}

/* Loads the chroma of n pixels of row y, from pixel x on; `i` is the index of plan->color. */
static void
load_chroma (uint16_t *codes, const LightPlan *plan, const Image *src, int i,
    int y, int x, int n)
{
  const LightNumbers *numbers = &plan->numbers;
  const LightChannel *channel = &plan->color[i];
  const int rows = light_channel_height (channel, src);
  const int row = y / numbers->sub_y;
  const int sub_x = numbers->sub_x;
  uint16_t samples[CHUNK];

  if (rows == 0) {
    for (int k = 0; k < n; k++)
      codes[k] = (uint16_t) numbers->neutral;
    return;
  }
  load (samples, channel,
      light_channel_row (channel, src, row < rows ? row : rows - 1), x / sub_x,
      (n + sub_x - 1) / sub_x);
  spread (codes, samples, n, sub_x);
}

/* Loads indices of plan->tables.linear for each work plane of colour. */
static void
load_colors (uint16_t index[3][CHUNK], const LightPlan *plan, const Image *src,
    int y, int x, int n)
{
  uint16_t codes[3][CHUNK];

  if (!plan->numbers.yuv) {
    for (int i = 0; i < plan->numbers.n_colors; i++)
      load (index[i], &plan->color[i],
          light_channel_row (&plan->color[i], src, y), x, n);
    return;
  }
  load (codes[0], &plan->color[0], light_channel_row (&plan->color[0], src, y),
      x, n);
  load_chroma (codes[1], plan, src, 1, y, x, n);
  load_chroma (codes[2], plan, src, 2, y, x, n);
  make_indices (index, codes[0], codes[1], codes[2], n, &plan->numbers);
}

static uint16_t *
work_row (const Image *work, int plane, int y)
{
  return (uint16_t *) (void *) (work->memory[plane].data
      + y * work->memory[plane].stride);
}

/* Whether alpha is 1 in all n pixels, so that it changes nothing. */
static bool
is_opaque (const uint16_t *alpha, int n)
{
  uint16_t least = UINT16_MAX;

  for (int x = 0; x < n; x++)
    least = alpha[x] < least ? alpha[x] : least;
  return least == UINT16_MAX;
}

static void
multiply (uint16_t *restrict color, const uint16_t *restrict alpha, int n)
{
  for (int x = 0; x < n; x++)
    color[x] = (uint16_t) light_multiply (color[x], alpha[x]);
}

/* Decodes pixels [x, x + n) of row y. */
static void
decode_chunk (const LightPlan *plan, const Image *src, int y, int x, int n)
{
  const LightNumbers *numbers = &plan->numbers;
  const int colors = numbers->n_colors;
  uint16_t index[3][CHUNK], codes[CHUNK];
  uint16_t *alpha =
      numbers->has_alpha ? work_row (&plan->work, colors, y) + x : NULL;
  bool weighted;

  if (alpha != NULL) {
    load (codes, &plan->alpha, light_channel_row (&plan->alpha, src, y), x, n);
    look_up (alpha, codes, n, plan->tables.alpha);
  }
  weighted = numbers->premultiply && !is_opaque (alpha, n);
  load_colors (index, plan, src, y, x, n);
  for (int i = 0; i < colors; i++) {
    uint16_t *color = work_row (&plan->work, i, y) + x;

    look_up (color, index[i], n, plan->tables.linear);
    if (weighted)
      multiply (color, alpha, n);
  }
}

static void
decode (const LightPlan *plan, const Image *src, int first, int last)
{
  const int width = plan->work.plane[0].width;

  for (int y = first; y < last; y++)
    for (int x = 0; x < width; x += CHUNK)
      decode_chunk (plan, src, y, x, width - x < CHUNK ? width - x : CHUNK);
}

/* 65535 / alpha for n pixels. */
static void
make_factors (double *restrict factor, const uint16_t *restrict alpha, int n)
{
  for (int x = 0; x < n; x++)
    factor[x] = 65535.0 / (alpha[x] > 0 ? alpha[x] : 1);
}

/* light_divide() of n pixels. An exact quotient is either halfway between two codes or at least
 * 1 / 131070 away from it. So the 1e-6 added to 1/2 rounds halves up, and changes no other. */
static void
divide (uint16_t *restrict to, const uint16_t *restrict from,
    const double *restrict factor, const uint16_t *restrict alpha, int n)
{
  for (int x = 0; x < n; x++) {
    const double q = from[x] * factor[x] + (0.5 + 1e-6);
    const int32_t code = (int32_t) (q < 65535.0 ? q : 65535.0);

    to[x] = (uint16_t) (alpha[x] > 0 ? code : 0);
  }
}

/* Looks up plan->tables.encoded for pixels [x, x + n) of row y. */
static void
encode_colors (
    uint16_t to[3][CHUNK], const LightPlan *plan, int y, int x, int n)
{
  const int colors = plan->numbers.n_colors;
  const uint16_t *alpha = plan->numbers.premultiply
      ? work_row (&plan->result, colors, y) + x
      : NULL;
  const bool weighted = alpha != NULL && !is_opaque (alpha, n);
  uint16_t quotient[CHUNK];
  double factor[CHUNK];

  if (weighted)
    make_factors (factor, alpha, n);
  for (int i = 0; i < colors; i++) {
    const uint16_t *from = work_row (&plan->result, i, y) + x;

    if (weighted)
      divide (quotient, from, factor, alpha, n);
    look_up (to[i], weighted ? quotient : from, n, plan->tables.encoded);
  }
}

static void
encode_alpha (const LightPlan *plan, const Image *dst, int y, int x, int n)
{
  const uint16_t *alpha =
      work_row (&plan->result, plan->numbers.n_colors, y) + x;
  const uint32_t full = (uint32_t) plan->numbers.alpha_full;
  uint16_t codes[CHUNK];

  for (int k = 0; k < n; k++)
    codes[k] = (uint16_t) light_multiply (full, alpha[k]);
  store (light_channel_row (&plan->alpha, dst, y), &plan->alpha, codes, x, n);
}

static void
make_luma (uint16_t *restrict luma, const uint16_t *restrict r,
    const uint16_t *restrict g, const uint16_t *restrict b, int n,
    const LightNumbers *numbers)
{
  const LightWeights weights = numbers->luma;
  const int full = numbers->full;

  for (int x = 0; x < n; x++)
    luma[x] =
        (uint16_t) light_round (light_weigh (&weights, r[x], g[x], b[x]), full);
}

/* Adds n pixels to the sums of their chroma samples; `first`: the sums start at 0. Inlined, for
 * constants. */
INNER void
add_pixels_as (uint32_t *restrict sum, const uint16_t *restrict g, int n,
    int sub_x, bool first)
{
  const int whole = n / sub_x;

  for (int k = 0; k < whole; k++) {
    uint32_t add = first ? 0 : sum[k];

    for (int u = 0; u < sub_x; u++)
      add += g[k * sub_x + u];
    sum[k] = add;
  }
  if (first && whole * sub_x < n)
    sum[whole] = 0;
  for (int x = whole * sub_x; x < n; x++)
    sum[whole] += g[x];
}

static void
add_pixels (uint32_t *sum, const uint16_t *g, int n, int sub_x, bool first)
{
  if (sub_x == 1)
    add_pixels_as (sum, g, n, 1, first);
  else if (sub_x == 2)
    add_pixels_as (sum, g, n, 2, first);
  else
    add_pixels_as (sum, g, n, 4, first);
}

/* The chroma of n samples, from sums over `pixels` pixels each. */
static void
make_chroma (uint16_t *restrict codes, const uint32_t *restrict r,
    const uint32_t *restrict g, const uint32_t *restrict b, int n, int pixels,
    const LightWeights *weights, const LightNumbers *numbers)
{
  const float share = 1.0f / (float) pixels, neutral = (float) numbers->neutral;
  const LightWeights mean = { weights->r * share, weights->g * share,
    weights->b * share, neutral };
  const int full = numbers->full;

  for (int k = 0; k < n; k++)
    codes[k] = (uint16_t) light_round (
        light_weigh (&mean, (float) (int32_t) r[k], (float) (int32_t) g[k],
            (float) (int32_t) b[k]),
        full);
}

/* Writes row `row` of chroma, for n pixels from pixel x on, from sums over `rows` rows of
 * pixels. */
static void
encode_chroma (const LightPlan *plan, const Image *dst, int row, int x, int n,
    int rows, uint32_t sum[3][CHUNK])
{
  const LightNumbers *numbers = &plan->numbers;
  const int sub_x = numbers->sub_x, whole = n / sub_x, rest = n % sub_x;
  const int samples = whole + (rest > 0);
  uint16_t codes[CHUNK];

  for (int i = 1; i < 3; i++) {
    const LightWeights *weights = i == 1 ? &numbers->cb : &numbers->cr;

    if (row >= light_channel_height (&plan->color[i], dst))
      continue;
    make_chroma (
        codes, sum[0], sum[1], sum[2], whole, rows * sub_x, weights, numbers);
    if (rest > 0)
      make_chroma (codes + whole, sum[0] + whole, sum[1] + whole,
          sum[2] + whole, 1, rows * rest, weights, numbers);
    for (int k = 0; numbers->neutral_chroma && k < samples; k++)
      codes[k] = (uint16_t) numbers->neutral;
    store (light_channel_row (&plan->color[i], dst, row), &plan->color[i],
        codes, x / sub_x, samples);
  }
}

/* Encodes pixels [x, x + n) of the rows of group `group`. */
static void
encode_chunk (const LightPlan *plan, const Image *dst, int group, int x, int n)
{
  const LightNumbers *numbers = &plan->numbers;
  const int first = group * numbers->sub_y,
            height = plan->work.memory[0].height;
  const int last =
      first + numbers->sub_y < height ? first + numbers->sub_y : height;
  uint16_t g[3][CHUNK], luma[CHUNK];
  uint32_t sum[3][CHUNK];

  for (int y = first; y < last; y++) {
    encode_colors (g, plan, y, x, n);
    if (numbers->write_alpha)
      encode_alpha (plan, dst, y, x, n);
    if (numbers->yuv) {
      make_luma (luma, g[0], g[1], g[2], n, numbers);
      for (int i = 0; i < 3; i++)
        add_pixels (sum[i], g[i], n, numbers->sub_x, y == first);
      store (light_channel_row (&plan->color[0], dst, y), &plan->color[0], luma,
          x, n);
      continue;
    }
    for (int i = 0; i < numbers->n_colors; i++)
      store (light_channel_row (&plan->color[i], dst, y), &plan->color[i], g[i],
          x, n);
  }
  if (numbers->yuv)
    encode_chroma (plan, dst, group, x, n, last - first, sum);
}

static void
encode (const LightPlan *plan, const Image *dst, int first, int last)
{
  const int width = plan->work.plane[0].width;

  for (int group = first; group < last; group++)
    for (int x = 0; x < width; x += CHUNK)
      encode_chunk (plan, dst, group, x, width - x < CHUNK ? width - x : CHUNK);
}

const LightLoops LIGHT_LOOPS = {
  .decode = decode,
  .encode = encode,
};
