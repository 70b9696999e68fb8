/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* host: the specification in plain C, and the CPU backend.
 *
 * Worker threads count the rows of a global table, each into counters of its own,
 * or take a tile each and make its table; then they share the rows of the result. */
#include "plan.h"

#include "../workers.h"

#include <stdlib.h>
#include <string.h>

/* Samples that a worker takes at a time, about. */
#define GRAIN_SAMPLES 65536

typedef struct
{
  Workers *workers;
  uint32_t *counts; /* [workers][entries], zero between runs */
  uint32_t *states; /* [tiles][entries] */
  uint16_t *tables; /* [tiles][full + 1] */
} HostState;

/* A run, handed to the workers. */
typedef struct
{
  const EqualizePlan *plan;
  const HostState *state;
  const Image *src, *dst;
  uint32_t follow;
  int memory; /* of copy_rows() */
} HostRun;

/* One row of the mapped channels. Inner loops have it among their own variables,
 * where no store of a sample can change it. */
typedef struct
{
  EqualizeNumbers numbers;
  EqualizeChannel channel[EQUALIZE_MAX_MAPPED];
  const uint8_t *src[EQUALIZE_MAX_MAPPED];
  uint8_t *dst[EQUALIZE_MAX_MAPPED];
} HostRow;

/* Where a loop is written once, and compiled for each kind of sample. */
#define INNER static inline __attribute__ ((always_inline))

INNER HostRow
get_row (const HostRun *run, int y, int n)
{
  HostRow row = { .numbers = run->plan->numbers };

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

/* The bytes of every mapped sample; 0: they differ. */
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
load_pixel (const HostRow *row, int x, int n, int bytes)
{
  HostPixel pixel;

  for (int i = 0; i < n; i++) {
    pixel.raw[i] = load_raw (row, i, x, bytes);
    pixel.code[i] =
        (int) (pixel.raw[i] >> row->channel[i].shift) & row->numbers.full;
  }
  pixel.luma = n == 1 ? pixel.code[0]
                      : equalize_luma (&row->numbers, pixel.code[0],
                          pixel.code[1], pixel.code[2]);
  return pixel;
}

/* Changes the codes of a pixel, and leaves the bits beside them. */
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

/* Columns [first, last), which may lie past the picture's. */
INNER void
count_row_as (const HostRun *run, int y, int first, int last, uint32_t *counts,
    int n, int bytes)
{
  const HostRow row =
      get_row (run, equalize_reflect (y, run->plan->numbers.y.size), n);
  const int width = row.numbers.x.size;
  const int inside = last < width ? last : width;
  int x = first;

  for (; x < inside; x++)
    counts[equalize_bin (&row.numbers, load_pixel (&row, x, n, bytes).luma)]++;
  for (; x < last; x++)
    counts[equalize_bin (&row.numbers,
        load_pixel (&row, equalize_reflect (x, width), n, bytes).luma)]++;
}

static void
count_row (const HostRun *run, int y, int first, int last, uint32_t *counts)
{
  const int n = run->plan->n_mapped, bytes = common_bytes (run->plan);

  if (n == 1 && bytes == 1)
    count_row_as (run, y, first, last, counts, 1, 1);
  else if (n == 1)
    count_row_as (run, y, first, last, counts, 1, 2);
  else if (bytes == 1)
    count_row_as (run, y, first, last, counts, 3, 1);
  else if (bytes == 2)
    count_row_as (run, y, first, last, counts, 3, 2);
  else
    count_row_as (run, y, first, last, counts, 3, 0);
}

/* The lowest bin's count for a global table; there is one. */
static uint32_t
lowest_count (const EqualizeNumbers *numbers, const uint32_t *counts)
{
  int bin = 0;

  if (numbers->adaptive)
    return 0;
  while (counts[bin] == 0)
    bin++;
  return counts[bin];
}

static uint32_t
count_clipped (const EqualizeNumbers *numbers, const uint32_t *counts)
{
  uint32_t clipped = 0;

  for (int bin = 0; bin < numbers->entries; bin++)
    if (counts[bin] > numbers->clip)
      clipped += counts[bin] - numbers->clip;
  return clipped;
}

/* Makes the table of a tile from its counters, and leaves them zero. */
static void
make_table (const HostRun *run, int tile, uint32_t *counts)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  const size_t entries = (size_t) numbers->entries;
  const EqualizeCurve curve =
      equalize_curve (numbers, lowest_count (numbers, counts));
  const EqualizeShares shares =
      equalize_share_out (numbers, count_clipped (numbers, counts));
  uint32_t *state = run->state->states + (size_t) tile * entries;
  uint16_t *table =
      run->state->tables + (size_t) tile * ((size_t) numbers->full + 1);
  uint32_t sum = 0;

  for (int bin = 0; bin < numbers->entries; bin++) {
    sum += equalize_limited (numbers, &shares, counts[bin], bin);
    state[bin] = equalize_follow (state[bin],
        equalize_frame_code (numbers, &curve, sum, bin), run->follow);
    counts[bin] = 0;
  }
  for (int code = 0; code <= numbers->full; code++)
    table[code] = (uint16_t) equalize_mix (
        numbers, code, state[equalize_bin (numbers, code)]);
}

static uint32_t *
worker_counts (const HostRun *run, int worker)
{
  return run->state->counts
      + (size_t) worker * (size_t) run->plan->numbers.entries;
}

static void
count_rows (void *user, int worker, int first, int last)
{
  const HostRun *run = user;

  for (int y = first; y < last; y++)
    count_row (
        run, y, 0, run->plan->numbers.x.size, worker_counts (run, worker));
}

/* Adds the counters of all workers up in those of the first. */
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
  uint32_t *counts = worker_counts (run, worker);

  for (int tile = first; tile < last; tile++) {
    const int left = tile % x->tiles * x->tile;
    const int top = tile / x->tiles * y->tile;

    for (int row = top; row < top + y->tile; row++)
      count_row (run, row, left, left + x->tile, counts);
    make_table (run, tile, counts);
  }
}

static int
grain (int samples)
{
  return samples > GRAIN_SAMPLES ? 1 : GRAIN_SAMPLES / samples;
}

static void
make_tables (HostRun *run)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  Workers *workers = run->state->workers;

  if (numbers->adaptive) {
    workers_run (workers, equalize_n_tiles (numbers), 1, make_tiles, run);
    return;
  }
  workers_run (
      workers, numbers->y.size, grain (numbers->x.size), count_rows, run);
  workers_run (workers, numbers->entries, GRAIN_SAMPLES, merge_counts, run);
  make_table (run, 0, worker_counts (run, 0));
}

/* The tables that a row is mapped by. */
typedef struct
{
  const uint16_t *top, *bottom; /* of the first tile in either row of tiles */
  uint32_t weight;
} RowTables;

static RowTables
row_tables (const HostRun *run, int y)
{
  const EqualizeNumbers *numbers = &run->plan->numbers;
  const size_t tile_row =
      (size_t) numbers->x.tiles * ((size_t) numbers->full + 1);
  const EqualizePlace place = equalize_place (&numbers->y, y);

  return (RowTables){
    .top =
        run->state->tables + (size_t) equalize_tile_before (&place) * tile_row,
    .bottom = run->state->tables
        + (size_t) equalize_tile_after (&numbers->y, &place) * tile_row,
    .weight = equalize_weight (&numbers->y, &place),
  };
}

INNER int
interpolated_code (const EqualizeNumbers *numbers, const RowTables *tables,
    const EqualizePlace *place, int code)
{
  const size_t table = (size_t) numbers->full + 1;
  const size_t left =
      (size_t) equalize_tile_before (place) * table + (size_t) code;
  const size_t right =
      (size_t) equalize_tile_after (&numbers->x, place) * table + (size_t) code;

  return equalize_interpolate (tables->top[left], tables->top[right],
      tables->bottom[left], tables->bottom[right],
      equalize_weight (&numbers->x, place), tables->weight);
}

INNER void
map_row_as (const HostRun *run, int y, bool adaptive, int n, int bytes)
{
  const HostRow row = get_row (run, y, n);
  const RowTables tables = row_tables (run, y);
  EqualizePlace place = equalize_place (&row.numbers.x, 0);

  for (int x = 0; x < row.numbers.x.size; x++) {
    const HostPixel pixel = load_pixel (&row, x, n, bytes);
    const int mapped = adaptive
        ? interpolated_code (&row.numbers, &tables, &place, pixel.luma)
        : tables.top[pixel.luma];

    store_pixel (&row, x, &pixel, mapped, n, bytes);
    if (adaptive)
      equalize_step (&row.numbers.x, &place);
  }
}

INNER void
map_row (const HostRun *run, int y, bool adaptive)
{
  const int n = run->plan->n_mapped, bytes = common_bytes (run->plan);

  if (n == 1 && bytes == 1)
    map_row_as (run, y, adaptive, 1, 1);
  else if (n == 1)
    map_row_as (run, y, adaptive, 1, 2);
  else if (bytes == 1)
    map_row_as (run, y, adaptive, 3, 1);
  else if (bytes == 2)
    map_row_as (run, y, adaptive, 3, 2);
  else
    map_row_as (run, y, adaptive, 3, 0);
}

static void
map_rows (void *user, int worker, int first, int last)
{
  const HostRun *run = user;

  (void) worker;
  for (int y = first; y < last; y++)
    if (run->plan->numbers.adaptive)
      map_row (run, y, true);
    else
      map_row (run, y, false);
}

/* Samples of the channels to be copied, where bytes between them are not ours. */
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

/* Of run->memory. What is mapped may be copied too: it is written over. */
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
  const HostState *state = plan->state;
  HostRun run = {
    .plan = plan, .state = state, .src = src, .dst = dst, .follow = follow
  };

  (void) stream;
  (void) fault;
  make_tables (&run);
  for (run.memory = 0; run.memory < src->n_memories; run.memory++)
    if (plan->copies[run.memory])
      workers_run (state->workers, src->memory[run.memory].height,
          grain ((int) plan->layout.memory[run.memory].row_bytes), copy_rows,
          &run);
  workers_run (state->workers, plan->numbers.y.size,
      grain (plan->numbers.x.size), map_rows, &run);
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
  free (state->states);
  free (state->tables);
  free (state);
}

static bool
host_prepare (EqualizePlan *plan, Fault *fault)
{
  const EqualizeNumbers *numbers = &plan->numbers;
  const size_t tiles = (size_t) equalize_n_tiles (numbers);
  const size_t entries = (size_t) numbers->entries;
  HostState *state = calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for equalisation.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  state->counts = calloc (
      (size_t) workers_count (state->workers) * entries, sizeof (uint32_t));
  state->states = calloc (tiles * entries, sizeof (uint32_t));
  state->tables =
      calloc (tiles * ((size_t) numbers->full + 1), sizeof (uint16_t));
  if (state->counts == NULL || state->states == NULL || state->tables == NULL)
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu tables of %zu entries for equalisation.", tiles,
        entries);
  return true;
}

const EqualizeOps equalize_host_ops = {
  .prepare = host_prepare,
  .release = host_release,
  .run = host_run,
};
