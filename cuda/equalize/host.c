/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host: the CPU backend.
 *
 * For a global table, worker threads share the rows, and each counts into its own counters; for
 * tiles, each worker counts a tile and makes its table. Then they share the rows of the result.
 * Rows of plain bytes are counted and mapped in place in the image; others are converted to
 * luma codes, CHUNK pixels at a time, and written back from these. */
#include "plan.h"
#include "remap.h"

#include "../histo/bytes.h"
#include "../workers.h"

#include <stdlib.h>
#include <string.h>

/* About the number of samples that a worker takes at a time, and the number of samples of a
 * picture that one thread handles before another one is awake. */
#define GRAIN_SAMPLES 32768
#define ALONE_SAMPLES 65536
/* Quads, and workers' counters, that a worker takes at a time: the few of a machine with few
 * cores are not worth waking a thread for. */
#define GRAIN_QUADS 16
#define GRAIN_COUNTERS 4
/* Pixels of a row whose codes are in buffers at a time. */
#define CHUNK 512
/* With at most COPIED_ENTRIES codes there are COPIES counters for each, which neighbouring
 * samples take in turn, so that in a flat picture they do not wait for each other. */
#define COPIES 4
#define COPIED_ENTRIES 4096

typedef struct
{
  Workers *workers;
  const RemapLoops *loops;
  /* Each worker's counters, zero between runs: counters by bin; for codes of one byte also the
   * tables of bytes.h, of which pairs are for a global table only. */
  uint32_t *counts;         /* [workers][copies * entries + BYTES_APART] */
  uint32_t *bytes;          /* [workers][BYTES_ENTRIES] */
  uint32_t *pairs;          /* [workers][BYTES_PAIRS], or NULL */
  bool paired[WORKERS_MAX]; /* the worker's pairs are not zero */
  size_t worker_counts;     /* entries of `counts` of one worker */
  int copies;               /* of the counters by bin: 1 or COPIES */
  bool narrow;              /* codes have at most 8 bits */
  bool plain;               /* luma samples are bytes that equal their codes */
  bool words;               /* luma samples are adjacent, of two bytes */
  bool plain_words;         /* `words`, and samples equal their codes */
  bool color_bytes; /* red, green and blue are bytes that equal their codes, in
                     * whole pixels of three or four bytes, or in planes */
  int first_color;  /* index of red among a pixel's bytes */
  int kept_lane; /* index of a pixel's byte that is no colour; -1: there is none */
  int whole_memory; /* memory whose bytes are all written with the colours; or -1 */
  uint32_t *states; /* [tiles][entries] */
  /* `states` are of the last run; else its tables have the same values */
  bool has_states;
  uint16_t *tables; /* [tiles][full + 1] */
  /* Tables in bytes. Global: one table. Adaptive: the quads of the tiles around each cell, and
   * the weights of the right tiles. */
  uint8_t table[256];
  uint32_t *quads;    /* [tiles_y + 1][tiles_x + 1][REMAP_QUADS] */
  uint32_t *weight_x; /* [width] */
} HostState;

/* A run, as passed to the workers. */
typedef struct
{
  const EqualizePlan *plan;
  HostState *state;
  const Image *src, *dst;
  uint32_t follow;
  int memory; /* of copy_rows() */
  int parts;  /* of map_cells() */
} HostRun;

/* One row of the mapped channels. Inner loops copy it to a local variable, so that the compiler
 * knows that no store of a sample changes it. */
typedef struct
{
  EqualizeNumbers numbers;
  EqualizeChannel channel[EQUALIZE_MAX_MAPPED];
  const uint8_t *src[EQUALIZE_MAX_MAPPED];
  uint8_t *dst[EQUALIZE_MAX_MAPPED];
} HostRow;

/* For a loop that is written once, and compiled for each kind of sample. */
#define INNER static inline __attribute__ ((always_inline))

INNER HostRow
get_row (const HostRun *run, int y, int n)
{
  /* not cleared: that would take longer than mapping a short row */
  HostRow row;

  row.numbers = run->plan->numbers;
  for (int i = 0; i < n; i++) {
    const EqualizeChannel *channel = &run->plan->mapped[i];
    const ImageMemory *src = &run->src->memory[channel->memory];
    const ImageMemory *dst = &run->dst->memory[channel->memory];

    row.channel[i] = *channel;
    row.src[i] = src->data + y * src->stride + channel->byte_offset;
    row.dst[i] = dst->data + y * dst->stride + channel->byte_offset;
  }
  return row;
}

/* The bytes of a mapped sample, if all channels have the same; else 0. */
static int
common_bytes (const EqualizePlan *plan)
{
  for (int i = 1; i < plan->n_mapped; i++)
    if (plan->mapped[i].sample_bytes != plan->mapped[0].sample_bytes)
      return 0;
  return plan->mapped[0].sample_bytes;
}

INNER unsigned
load_raw (const HostRow *row, int i, int x, int bytes)
{
  return (unsigned) image_read_raw (
      row->src[i] + (ptrdiff_t) x * row->channel[i].pixel_stride,
      bytes == 0 ? row->channel[i].sample_bytes : bytes);
}

INNER void
store_raw (const HostRow *row, int i, int x, unsigned raw, int bytes)
{
  image_write_raw (row->dst[i] + (ptrdiff_t) x * row->channel[i].pixel_stride,
      (int) raw, bytes == 0 ? row->channel[i].sample_bytes : bytes);
}

/* The codes of a pixel: luma; or red, green and blue. */
typedef struct
{
  unsigned raw[EQUALIZE_MAX_MAPPED];
  int code[EQUALIZE_MAX_MAPPED];
  int luma;
} HostPixel;

INNER HostPixel
load_channels (const HostRow *row, int x, int n, int bytes)
{
  HostPixel pixel = { .luma = 0 };

  for (int i = 0; i < n; i++) {
    pixel.raw[i] = load_raw (row, i, x, bytes);
    pixel.code[i] =
        (int) (pixel.raw[i] >> row->channel[i].shift) & row->numbers.full;
  }
  return pixel;
}

INNER HostPixel
load_pixel (const HostRow *row, int x, int n, int bytes)
{
  HostPixel pixel = load_channels (row, x, n, bytes);

  pixel.luma = n == 1 ? pixel.code[0]
                      : equalize_luma (&row->numbers, pixel.code[0],
                          pixel.code[1], pixel.code[2]);
  return pixel;
}

/* Changes the codes of a pixel, and keeps the samples' other bits. */
INNER void
store_pixel (const HostRow *row, int x, const HostPixel *pixel, int mapped,
    int n, int bytes)
{
  for (int i = 0; i < n; i++) {
    const int code = n == 1 ? mapped
                            : equalize_shifted (&row->numbers, pixel->code[i],
                                mapped - pixel->luma);
    const unsigned flip = (unsigned) (code ^ pixel->code[i])
        << row->channel[i].shift;

    store_raw (row, i, x, pixel->raw[i] ^ flip, bytes);
  }
}

/* Loads the luma of pixels [x, x + n); inlined, for each kind of sample. */
INNER void
load_codes_as (
    const HostRow *row, int x, int n, uint16_t *codes, int channels, int bytes)
{
  const HostRow own = *row;

  for (int i = 0; i < n; i++)
    codes[i] = (uint16_t) load_pixel (&own, x + i, channels, bytes).luma;
}

/* Changes the luma of pixels [x, x + n) from `codes` to `mapped`. */
INNER void
store_codes_as (const HostRow *row, int x, int n, const uint16_t *codes,
    const uint16_t *mapped, int channels, int bytes)
{
  const HostRow own = *row;

  for (int i = 0; i < n; i++) {
    HostPixel pixel = load_channels (&own, x + i, channels, bytes);

    pixel.luma = codes[i];
    store_pixel (&own, x + i, &pixel, mapped[i], channels, bytes);
  }
}

/* Calls FUNCTION with constants for the channels and their bytes. */
#define FOR_KIND(run, FUNCTION, ...) \
  do { \
    const int kind_channels = (run)->plan->n_mapped; \
    const int kind_bytes = common_bytes ((run)->plan); \
\
    if (kind_channels == 1 && kind_bytes == 1) \
      FUNCTION (__VA_ARGS__, 1, 1); \
    else if (kind_channels == 1) \
      FUNCTION (__VA_ARGS__, 1, 2); \
    else if (kind_bytes == 1) \
      FUNCTION (__VA_ARGS__, 3, 1); \
    else if (kind_bytes == 2) \
      FUNCTION (__VA_ARGS__, 3, 2); \
    else \
      FUNCTION (__VA_ARGS__, 3, 0); \
  } while (0)

static void
load_codes (
    const HostRun *run, const HostRow *row, int x, int n, uint16_t *codes)
{
  if (run->state->words)
    run->state->loops->load_words (codes, row->src[0] + 2 * (ptrdiff_t) x, n,
        row->channel[0].shift, row->numbers.full);
  else
    FOR_KIND (run, load_codes_as, row, x, n, codes);
}

static void
store_codes (const HostRun *run, const HostRow *row, int x, int n,
    const uint16_t *codes, const uint16_t *mapped)
{
  if (run->state->words)
    run->state->loops->store_words (row->dst[0] + 2 * (ptrdiff_t) x,
        row->src[0] + 2 * (ptrdiff_t) x, codes, mapped, n,
        row->channel[0].shift);
  else
    FOR_KIND (run, store_codes_as, row, x, n, codes, mapped);
}

static void
narrow_codes (uint8_t *to, const uint16_t *from, int n)
{
  for (int i = 0; i < n; i++)
    to[i] = (uint8_t) from[i];
}

static void
widen_codes (uint16_t *to, const uint8_t *from, int n)
{
  for (int i = 0; i < n; i++)
    to[i] = from[i];
}

/* Loads the luma of pixels [x, x + n) of a row whose pixels are bytes of red, green, blue and
 * maybe one more. */
static void
load_color_bytes (
    const HostRun *run, const HostRow *row, int x, int n, uint8_t *luma)
{
  const ptrdiff_t apart = row->channel[0].pixel_stride;
  const uint8_t *const color[] = { row->src[0] + x * apart,
    row->src[1] + x * apart, row->src[2] + x * apart };

  run->state->loops->load_luma (luma, color, apart, n, &row->numbers);
}

/* Repeats each pixel's change of luma for all its samples; inlined, for a constant number. */
INNER void
spread_change (int16_t *change, const uint8_t *luma, const uint8_t *mapped,
    int n, int samples)
{
  for (int i = 0; i < n; i++)
    for (int c = 0; c < samples; c++)
      change[i * samples + c] = (int16_t) (mapped[i] - luma[i]);
}

/* Likewise for four samples; the change is 0 for sample `kept`, if that is not -1. */
static void
spread_by_four (int16_t *change, const uint8_t *luma, const uint8_t *mapped,
    int n, int kept)
{
  int16_t lanes[4] = { -1, -1, -1, -1 };

  if (kept >= 0)
    lanes[kept] = 0;
  for (int i = 0; i < n; i++)
    for (int c = 0; c < 4; c++)
      change[4 * i + c] = (int16_t) ((mapped[i] - luma[i]) & lanes[c]);
}

/* Changes the luma of pixels [x, x + n): all samples of a pixel change alike, except for
 * kept_lane's, which stays. */
static void
store_color_bytes (const HostRun *run, const HostRow *row, int x, int n,
    const uint8_t *luma, const uint8_t *mapped)
{
  const int apart = row->channel[0].pixel_stride;
  const int first = run->state->first_color, kept = run->state->kept_lane;
  int16_t change[4 * CHUNK];

  if (apart == 4)
    spread_by_four (change, luma, mapped, n, kept);
  else if (apart == 3)
    spread_change (change, luma, mapped, n, 3);
  else
    spread_change (change, luma, mapped, n, 1);
  if (apart > 1) {
    const ptrdiff_t at = (ptrdiff_t) x * apart;
    run->state->loops->shift_samples (row->dst[0] - first + at,
        row->src[0] - first + at, change, n * apart, &row->numbers);
    return;
  }
  for (int i = 0; i < 3; i++)
    run->state->loops->shift_samples (
        row->dst[i] + x, row->src[i] + x, change, n, &row->numbers);
}

static uint32_t *
worker_counts (const HostRun *run, int worker)
{
  return run->state->counts + (size_t) worker * run->state->worker_counts;
}

static uint32_t *
worker_bytes (const HostRun *run, int worker)
{
  return run->state->bytes + (size_t) worker * BYTES_ENTRIES;
}

static uint32_t *
worker_pairs (const HostRun *run, int worker)
{
  return run->state->pairs + (size_t) worker * BYTES_PAIRS;
}

/* Inlined, for constants. Codes are loaded four at a time, and neighbours use different copies,
 * for the reason in bytes.h. */
INNER void
count_codes_as (uint32_t *counts, size_t entries, size_t copies, int black,
    int white, const uint16_t *codes, int n)
{
  int x = 0;

  for (; x + 4 <= n; x += 4) {
    uint64_t word;

    memcpy (&word, codes + x, sizeof word);
    for (int i = 0; i < 4; i++, word >>= 16)
      counts[(size_t) i % copies * entries
          + (size_t) (equalize_clamp ((int) (word & 0xffff), black, white)
              - black)]++;
  }
  for (; x < n; x++)
    counts[equalize_clamp (codes[x], black, white) - black]++;
}

static void
count_codes (const HostRun *run, int worker, const uint16_t *codes, int n)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  const size_t entries = (size_t) numbers->entries;
  uint32_t *counts = worker_counts (run, worker);

  if (run->state->copies == COPIES)
    count_codes_as (
        counts, entries, COPIES, numbers->black, numbers->white, codes, n);
  else if (entries == 65536)
    count_codes_as (counts, entries, 1, 0, 65535, codes, n);
  else
    count_codes_as (
        counts, entries, 1, numbers->black, numbers->white, codes, n);
}

/* Row y of the only mapped channel, from column `first` on, if samples are adjacent words that
 * equal their codes, at an even address; else NULL. */
static uint16_t *
words_of_row (const HostRun *run, const Image *image, int y, int first)
{
  const EqualizeChannel *channel = &run->plan->mapped[0];
  const ImageMemory *memory = &image->memory[channel->memory];
  uint8_t *row = memory->data + y * memory->stride + channel->byte_offset
      + 2 * (ptrdiff_t) first;

  return run->state->plain_words && (uintptr_t) row % sizeof (uint16_t) == 0
      ? (void *) row
      : NULL;
}

/* Counts columns [first, last), all within the picture. */
static void
count_inside (
    const HostRun *run, int worker, const HostRow *row, int first, int last)
{
  const int apart = row->channel[0].pixel_stride;
  uint16_t codes[CHUNK];
  uint8_t bytes[CHUNK];
  int n;

  if (run->state->plain) {
    bytes_count (worker_bytes (run, worker),
        row->src[0] + (ptrdiff_t) first * apart, apart, last - first);
    return;
  }
  for (int x = first; x < last; x += n) {
    n = last - x < CHUNK ? last - x : CHUNK;
    if (run->state->color_bytes) {
      load_color_bytes (run, row, x, n, bytes);
      bytes_count (worker_bytes (run, worker), bytes, 1, n);
      continue;
    }
    load_codes (run, row, x, n, codes);
    if (run->state->narrow) {
      narrow_codes (bytes, codes, n);
      bytes_count (worker_bytes (run, worker), bytes, 1, n);
    } else {
      count_codes (run, worker, codes, n);
    }
  }
}

/* Counts columns [first, last) of row y, both of which may lie past the picture's end. */
static void
count_row (const HostRun *run, int worker, int y, int first, int last)
{
  const int width = run->plan->numbers.x.size;
  const int inside_y = equalize_reflect (y, run->plan->numbers.y.size);
  const uint16_t *words =
      last <= width ? words_of_row (run, run->src, inside_y, first) : NULL;
  HostRow row;
  int x = last < width ? last : width;

  if (words != NULL) {
    count_codes (run, worker, words, last - first);
    return;
  }
  row = get_row (run, inside_y, run->plan->n_mapped);
  count_inside (run, worker, &row, first, x);
  for (x = x < first ? first : x; x < last; x++) {
    const int inside = equalize_reflect (x, width);

    count_inside (run, worker, &row, inside, inside + 1);
  }
}

/* Moves all counts of a worker to its first copy of counters by bin. */
static void
fold_counts (const HostRun *run, int worker)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  uint32_t *counts = worker_counts (run, worker);

  if (run->state->narrow) {
    uint32_t *bytes = worker_bytes (run, worker);

    bytes_fold_tables (bytes);
    for (int code = 0; code <= numbers->full; code++)
      counts[equalize_bin (numbers, code)] += bytes[code];
    memset (bytes, 0, 256 * sizeof *bytes);
    return;
  }
  for (int copy = 1; copy < run->state->copies; copy++) {
    uint32_t *other = counts + (size_t) copy * (size_t) numbers->entries;

    for (int bin = 0; bin < numbers->entries; bin++)
      counts[bin] += other[bin];
    memset (other, 0, (size_t) numbers->entries * sizeof *other);
  }
}

/* Makes the table of a tile from its counters, and leaves them zero. */
static void
make_table (const HostRun *run, int tile, uint32_t *counts)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  const HostState *state = run->state;

  state->loops->make_table (numbers, counts, run->follow,
      state->states + (size_t) tile * (size_t) numbers->entries,
      state->has_states,
      state->tables + (size_t) tile * ((size_t) numbers->full + 1));
}

static void
count_rows (void *user, int worker, int first, int last)
{
  const HostRun *run = user;
  const EqualizeChannel *channel = &run->plan->mapped[0];
  const ImageMemory *src = &run->src->memory[channel->memory];
  const uint8_t *row = src->data + channel->byte_offset + first * src->stride;
  const int width = run->plan->numbers.x.size;
  const bool pairs = run->state->pairs != NULL && bytes_suit_pairs (row, width);

  if (pairs)
    run->state->paired[worker] = true;
  for (int y = first; y < last; y++, row += src->stride)
    if (pairs)
      bytes_count_pairs (
          worker_pairs (run, worker), worker_bytes (run, worker), row, width);
    else
      count_row (run, worker, y, 0, width);
}

/* Moves all counts of workers [first, last) to their first copies of counters by bin. */
static void
fold_workers (void *user, int worker, int first, int last)
{
  const HostRun *run = user;

  (void) worker;
  for (int w = first; w < last; w++) {
    if (run->state->paired[w])
      bytes_fold_pairs (worker_pairs (run, w), worker_bytes (run, w));
    run->state->paired[w] = false;
    fold_counts (run, w);
  }
}

/* Moves bins [first, last) of all workers' counters to those of worker 0. */
static void
merge_counts (void *user, int worker, int first, int last)
{
  const HostRun *run = user;
  uint32_t *sums = worker_counts (run, 0);

  (void) worker;
  for (int w = 1; w < workers_count (run->state->workers); w++) {
    uint32_t *counts = worker_counts (run, w);

    for (int bin = first; bin < last; bin++) {
      sums[bin] += counts[bin];
      counts[bin] = 0;
    }
  }
}

static void
make_tiles (void *user, int worker, int first, int last)
{
  const HostRun *run = user;
  const EqualizeAxis *x = &run->plan->numbers.x, *y = &run->plan->numbers.y;

  for (int tile = first; tile < last; tile++) {
    const int left = tile % x->tiles * x->tile;
    const int top = tile / x->tiles * y->tile;

    for (int row = top; row < top + y->tile; row++)
      count_row (run, worker, row, left, left + x->tile);
    fold_counts (run, worker);
    make_table (run, tile, worker_counts (run, worker));
  }
}

static const uint16_t *
tile_table (const HostRun *run, int tile_x, int tile_y)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;

  return run->state->tables
      + ((size_t) tile_y * (size_t) numbers->x.tiles + (size_t) tile_x)
      * ((size_t) numbers->full + 1);
}

static RemapCorners
find_corners (
    const HostRun *run, const EqualizePlace *at_x, const EqualizePlace *at_y)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  const int left = equalize_tile_before (at_x);
  const int right = equalize_tile_after (&numbers->x, at_x);
  const int top = equalize_tile_before (at_y);
  const int bottom = equalize_tile_after (&numbers->y, at_y);

  return (RemapCorners){
    .top_left = tile_table (run, left, top),
    .top_right = tile_table (run, right, top),
    .bottom_left = tile_table (run, left, bottom),
    .bottom_right = tile_table (run, right, bottom),
  };
}

/* Makes quads [first, last); quad `next` of an axis lies between tiles next - 1 and next. */
static void
make_quads (void *user, int worker, int first, int last)
{
  const HostRun *run = user;
  const EqualizeNumbers *numbers = &run->plan->numbers;
  const int across = numbers->x.tiles + 1;

  (void) worker;
  for (int i = first; i < last; i++) {
    const EqualizePlace at_x = { .next = i % across };
    const EqualizePlace at_y = { .next = i / across };
    const RemapCorners corners = find_corners (run, &at_x, &at_y);
    uint32_t *quads = run->state->quads + (ptrdiff_t) i * REMAP_QUADS;

    for (int code = 0; code <= numbers->full; code++)
      quads[code] = corners.top_left[code]
          | (uint32_t) corners.top_right[code] << 8
          | (uint32_t) corners.bottom_left[code] << 16
          | (uint32_t) corners.bottom_right[code] << 24;
  }
}

/* Items that a worker takes at a time, of `items` items with `samples` samples each. */
static int
grain (int64_t samples, int items)
{
  if (samples * items <= ALONE_SAMPLES)
    return items;
  return samples > GRAIN_SAMPLES ? 1 : (int) (GRAIN_SAMPLES / samples);
}

static void
make_tables (HostRun *run)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  HostState *state = run->state;
  Workers *workers = state->workers;

  if (numbers->adaptive) {
    const int tiles = equalize_n_tiles (numbers);

    workers_run (workers, tiles,
        grain ((int64_t) numbers->x.tile * numbers->y.tile + numbers->entries,
            tiles),
        make_tiles, run);
    if (state->narrow)
      workers_run (workers, (numbers->x.tiles + 1) * (numbers->y.tiles + 1),
          GRAIN_QUADS, make_quads, run);
    return;
  }
  workers_run (workers, numbers->y.size,
      grain (numbers->x.size, numbers->y.size), count_rows, run);
  workers_run (
      workers, workers_count (workers), GRAIN_COUNTERS, fold_workers, run);
  workers_run (workers, numbers->entries, GRAIN_SAMPLES, merge_counts, run);
  make_table (run, 0, worker_counts (run, 0));
  if (state->narrow)
    narrow_codes (state->table, state->tables, numbers->full + 1);
}

/* The first pixel after those whose place has this `next`; -1: pixel 0. */
static int
next_place (const EqualizeAxis *axis, int next)
{
  const int64_t place = ((2 * (int64_t) next + 1) * axis->tile + 1) / 2;

  return next < 0 ? 0 : place < axis->size ? (int) place : axis->size;
}

/* Maps codes of one byte, of pixels [x, x + n) of row y. dst may be src. */
static void
map_bytes (
    const HostRun *run, int y, int x, int n, uint8_t *dst, const uint8_t *src)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  const HostState *state = run->state;
  EqualizePlace at_y;
  const uint32_t *quads;

  if (!numbers->adaptive) {
    state->loops->by_table (dst, src, n, state->table);
    return;
  }
  at_y = equalize_place (&numbers->y, y);
  quads = state->quads
      + (ptrdiff_t) at_y.next * (numbers->x.tiles + 1) * REMAP_QUADS;
  for (int done = 0, now; done < n; done += now) {
    const int next = equalize_place (&numbers->x, x + done).next;

    now = next_place (&numbers->x, next) - x - done;
    now = now < n - done ? now : n - done;
    state->loops->by_quads (dst + done, src + done, now,
        quads + (ptrdiff_t) next * REMAP_QUADS, state->weight_x + x + done,
        equalize_weight (&numbers->y, &at_y));
  }
}

/* Likewise for codes of two bytes; `mapped` may be `codes`. */
static void
map_words (const HostRun *run, int y, int x, int n, uint16_t *mapped,
    const uint16_t *codes)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  const EqualizePlace at_y = equalize_place (&numbers->y, y);
  const uint32_t weight_y = equalize_weight (&numbers->y, &at_y);
  const uint32_t *weight_x = run->state->weight_x;

  if (!numbers->adaptive) {
    for (int i = 0; i < n; i++)
      mapped[i] = run->state->tables[codes[i]];
    return;
  }
  for (int done = 0, now; done < n; done += now) {
    const EqualizePlace at_x = equalize_place (&numbers->x, x + done);
    const RemapCorners corners = find_corners (run, &at_x, &at_y);

    now = next_place (&numbers->x, at_x.next) - x - done;
    now = now < n - done ? now : n - done;
    run->state->loops->by_corners (mapped + done, codes + done, now, &corners,
        weight_x + x + done, weight_y);
  }
}

/* Maps a row whose samples are adjacent bytes that equal their codes. */
static void
map_plain_row (const HostRun *run, int y)
{
  const EqualizeChannel *channel = &run->plan->mapped[0];
  const ImageMemory *src = &run->src->memory[channel->memory];
  const ImageMemory *dst = &run->dst->memory[channel->memory];

  map_bytes (run, y, 0, run->plan->numbers.x.size,
      dst->data + y * dst->stride + channel->byte_offset,
      src->data + y * src->stride + channel->byte_offset);
}

/* Maps columns [first, last) of a row. */
static void
map_columns (const HostRun *run, int y, int first, int last)
{
  const uint16_t *from = words_of_row (run, run->src, y, first);
  uint16_t *to = words_of_row (run, run->dst, y, first);
  uint16_t codes[CHUNK], mapped[CHUNK];
  uint8_t luma[CHUNK], bytes[CHUNK];
  HostRow row;
  int n;

  if (from != NULL && to != NULL) {
    map_words (run, y, first, last - first, to, from);
    return;
  }
  row = get_row (run, y, run->plan->n_mapped);
  for (int x = first; x < last; x += n) {
    n = last - x < CHUNK ? last - x : CHUNK;
    if (run->state->color_bytes) {
      load_color_bytes (run, &row, x, n, luma);
      map_bytes (run, y, x, n, bytes, luma);
      store_color_bytes (run, &row, x, n, luma, bytes);
      continue;
    }
    load_codes (run, &row, x, n, codes);
    if (run->state->narrow) {
      narrow_codes (bytes, codes, n);
      map_bytes (run, y, x, n, bytes, bytes);
      widen_codes (mapped, bytes, n);
    } else {
      map_words (run, y, x, n, mapped, codes);
    }
    store_codes (run, &row, x, n, codes, mapped);
  }
}

static void
map_rows (void *user, int worker, int first, int last)
{
  const HostRun *run = user;
  const bool plain =
      run->state->plain && run->plan->mapped[0].pixel_stride == 1;

  (void) worker;
  for (int y = first; y < last; y++)
    if (plain)
      map_plain_row (run, y);
    else
      map_columns (run, y, 0, run->plan->numbers.x.size);
}

/* Maps parts [first, last). Each cell between the centres of four tiles has run->parts parts. The
 * tables of four tiles stay in the second-level cache for a part; those along a whole row would
 * not. */
static void
map_cells (void *user, int worker, int first, int last)
{
  const HostRun *run = user;
  const EqualizeAxis *x = &run->plan->numbers.x, *y = &run->plan->numbers.y;

  (void) worker;
  for (int i = first; i < last; i++) {
    const int cell = i / run->parts, part = i % run->parts;
    const int at_x = cell % (x->tiles + 1), at_y = cell / (x->tiles + 1);
    const int left = next_place (x, at_x - 1), right = next_place (x, at_x);
    const int top = next_place (y, at_y - 1);
    const int rows = next_place (y, at_y) - top;
    const int end = top + (int) ((int64_t) rows * (part + 1) / run->parts);

    for (int row = top + (int) ((int64_t) rows * part / run->parts); row < end;
         row++)
      map_columns (run, row, left, right);
  }
}

/* Maps the picture by rows; by cells for tiles whose codes have more than one byte. */
static void
map_picture (HostRun *run)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  Workers *workers = run->state->workers;
  const int64_t cell = (int64_t) numbers->x.tile * numbers->y.tile;
  const int cells = (numbers->x.tiles + 1) * (numbers->y.tiles + 1);

  if (!numbers->adaptive || run->state->narrow) {
    workers_run (workers, numbers->y.size,
        grain (numbers->x.size, numbers->y.size), map_rows, run);
    return;
  }
  run->parts = (int) (cell / GRAIN_SAMPLES) + 1;
  workers_run (workers, cells * run->parts,
      grain (cell / run->parts, cells * run->parts), map_cells, run);
}

/* Copies the samples of unmapped channels in a row of run->memory one by one, because the bytes
 * between them belong to others. */
static void
copy_samples (const HostRun *run, const uint8_t *from, uint8_t *to)
{
  const EqualizePlan *plan = run->plan;

  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *plane = &plan->layout.plane[p];

    for (int c = 0; c < plane->channels && plane->memory == run->memory; c++) {
      ptrdiff_t at = plane->offset + c * plane->channel_stride;

      if (plan->spec.role[p][c] != EQUALIZE_COPY)
        continue;
      for (int x = 0; x < plane->width; x++, at += plane->pixel_stride)
        memcpy (to + at, from + at, (size_t) image_sample_bytes (plane));
    }
  }
}

/* Copies rows [first, last) of run->memory. Mapped samples may be copied, too: map_picture()
 * overwrites them. */
static void
copy_rows (void *user, int worker, int first, int last)
{
  const HostRun *run = user;
  const ImageMemory *src = &run->src->memory[run->memory];
  const ImageMemory *dst = &run->dst->memory[run->memory];
  const size_t bytes = run->plan->layout.memory[run->memory].row_bytes;

  (void) worker;
  for (int y = first; y < last; y++)
    if (run->plan->solid_bytes[run->memory] == bytes)
      memcpy (dst->data + y * dst->stride, src->data + y * src->stride, bytes);
    else
      copy_samples (
          run, src->data + y * src->stride, dst->data + y * dst->stride);
}

static bool
host_run (EqualizePlan *plan, const Image *src, const Image *dst,
    uint32_t follow, GpuStream stream, Fault *fault)
{
  HostState *state = plan->state;
  HostRun run = {
    .plan = plan, .state = state, .src = src, .dst = dst, .follow = follow
  };

  (void) stream;
  (void) fault;
  make_tables (&run);
  state->has_states = remap_keeps_states (&plan->numbers, follow);
  for (run.memory = 0; run.memory < src->n_memories; run.memory++)
    if (plan->copies[run.memory] && run.memory != state->whole_memory)
      workers_run (state->workers, src->memory[run.memory].height,
          grain ((int) plan->layout.memory[run.memory].row_bytes,
              src->memory[run.memory].height),
          copy_rows, &run);
  map_picture (&run);
  return true;
}

static void
host_release (EqualizePlan *plan)
{
  HostState *state = plan->state;

  if (state == NULL)
    return;
  workers_free (state->workers);
  free (state->counts);
  free (state->bytes);
  free (state->pairs);
  free (state->states);
  free (state->tables);
  free (state->quads);
  free (state->weight_x);
  free (state);
}

/* Finds color_bytes, which it returns, with first_color, kept_lane and whole_memory. */
static bool
find_color_bytes (const EqualizePlan *plan, HostState *state)
{
  const EqualizeChannel *channel = plan->mapped;
  const int apart = channel[0].pixel_stride, memory = channel[0].memory;
  int first = channel[0].byte_offset, taken = 0;

  state->whole_memory = -1;
  if (plan->n_mapped != 3 || plan->numbers.full != 255
      || (apart != 1 && apart != 3 && apart != 4))
    return false;
  for (int i = 0; i < 3; i++) {
    if (channel[i].sample_bytes != 1 || channel[i].shift != 0
        || channel[i].pixel_stride != apart)
      return false;
    if (channel[i].byte_offset < first)
      first = channel[i].byte_offset;
  }
  state->kept_lane = -1;
  if (apart == 1)
    return true;
  /* A pixel is `apart` bytes, from a multiple of `apart` on. */
  first -= first % apart;
  for (int i = 0; i < 3; i++) {
    if (channel[i].memory != memory || channel[i].byte_offset - first >= apart)
      return false;
    taken |= 1 << (channel[i].byte_offset - first);
  }
  for (int lane = 0; lane < apart; lane++)
    if (!(taken >> lane & 1))
      state->kept_lane = lane;
  state->first_color = channel[0].byte_offset - first;
  if (plan->solid_bytes[memory]
      < (size_t) first + (size_t) apart * (size_t) plan->numbers.x.size)
    return false;
  if (first == 0
      && plan->layout.memory[memory].row_bytes
          == (size_t) apart * (size_t) plan->numbers.x.size)
    state->whole_memory = memory;
  return true;
}

/* Fills in the state's description of the samples. */
static void
describe_samples (const EqualizePlan *plan, HostState *state)
{
  const EqualizeChannel *channel = &plan->mapped[0];

  state->loops = remap_loops ();
  state->narrow = plan->numbers.full <= 255;
  state->plain = plan->n_mapped == 1 && channel->sample_bytes == 1
      && channel->shift == 0 && plan->numbers.full == 255;
  state->words = plan->n_mapped == 1 && channel->sample_bytes == 2
      && channel->pixel_stride == 2;
  state->plain_words = state->words && plan->numbers.full == 65535;
  state->color_bytes = find_color_bytes (plan, state);
  state->copies =
      !state->narrow && plan->numbers.entries <= COPIED_ENTRIES ? COPIES : 1;
}

static bool
allocate_counters (const EqualizePlan *plan, HostState *state)
{
  const size_t threads = (size_t) workers_count (state->workers);
  const bool pairs = state->plain && plan->mapped[0].pixel_stride == 1
      && !plan->numbers.adaptive;

  state->worker_counts =
      (size_t) state->copies * (size_t) plan->numbers.entries + BYTES_APART;
  state->counts = calloc (threads, state->worker_counts * sizeof (uint32_t));
  if (state->narrow)
    state->bytes = calloc (threads, BYTES_ENTRIES * sizeof (uint32_t));
  if (pairs)
    state->pairs = calloc (threads, BYTES_PAIRS * sizeof (uint32_t));
  return state->counts != NULL && (state->bytes != NULL || !state->narrow)
      && (state->pairs != NULL || !pairs);
}

static bool
allocate_tables (const EqualizePlan *plan, HostState *state)
{
  const EqualizeNumbers *numbers = &plan->numbers;
  const size_t tiles = (size_t) equalize_n_tiles (numbers);
  const size_t quads =
      (size_t) (numbers->x.tiles + 1) * (size_t) (numbers->y.tiles + 1);

  state->states = calloc (tiles * (size_t) numbers->entries, sizeof (uint32_t));
  /* One entry more, as by_corners() may read past the last. */
  state->tables =
      calloc (tiles * ((size_t) numbers->full + 1) + 1, sizeof (uint16_t));
  if (state->states == NULL || state->tables == NULL)
    return false;
  if (!numbers->adaptive)
    return true;
  state->weight_x = calloc ((size_t) numbers->x.size, sizeof (uint32_t));
  if (state->narrow)
    state->quads = calloc (quads, REMAP_QUADS * sizeof (uint32_t));
  return state->weight_x != NULL && (state->quads != NULL || !state->narrow);
}

static bool
host_prepare (EqualizePlan *plan, Fault *fault)
{
  const EqualizeAxis *x = &plan->numbers.x;
  HostState *state = calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for equalisation.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  describe_samples (plan, state);
  if (!allocate_counters (plan, state) || !allocate_tables (plan, state))
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %d tables of %d entries for equalisation.",
        equalize_n_tiles (&plan->numbers), plan->numbers.entries);
  for (int i = 0; state->weight_x != NULL && i < x->size; i++) {
    const EqualizePlace place = equalize_place (x, i);

    state->weight_x[i] = equalize_weight (x, &place);
  }
  return true;
}

const EqualizeOps equalize_host_ops = {
  .prepare = host_prepare,
  .release = host_release,
  .run = host_run,
};
