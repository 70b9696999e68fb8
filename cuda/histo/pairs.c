/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pairs: two neighbouring bytes at a time, where a picture is smooth; bytes.h has the
 * reasons. Samples of two bytes count by their upper byte if that decides their bin, else by
 * their bins, in several copies of a table, so that neighbours do not wait for each other.
 *
 * Rows of a plane are shared among worker threads, each with tables of its own. */
#include "bytes.h"
#include "method.h"

#include "../workers.h"

#include <stdlib.h>
#include <string.h>

/* Most entries of all copies of a table of bins together: more would not stay in the
 * first-level cache. */
#define COPIED_ENTRIES 16384
#define MOST_COPIES 8
_Static_assert(MOST_COPIES >= BYTES_TABLES, "bytes_count() takes so many");

/* About the number of samples that a worker takes at a time, and the number of samples of a
 * plane that one thread counts before another one is awake. */
#define GRAIN_SAMPLES 32768
#define ALONE_SAMPLES 65536
/* Table entries, and tables of pairs, that a worker sums at a time: the few of a machine with
 * few cores are not worth waking a thread for. */
#define GRAIN_ENTRIES 4096
#define GRAIN_TABLES 4

typedef struct
{
  Workers *workers;
  size_t worker_entries;    /* of all tables of one worker */
  uint32_t *tables;         /* [workers][worker_entries], zero between runs */
  uint32_t *pairs; /* [workers][BYTES_PAIRS], zero between runs; or NULL */
  bool paired[WORKERS_MAX]; /* the worker's pairs are not zero */
  HistoChannel channel[HISTO_MAX_CHANNELS]; /* as they are counted */
} PairsState;

/* One plane of a run, as passed to the workers. */
typedef struct
{
  PairsState *state;
  const HistoChannel *channel; /* [n_channels] */
  int n_channels;
  const Image *src;
  int bins;
  int copies;       /* of a channel's table; a power of two */
  size_t entries;   /* of one copy */
  uint64_t *counts; /* [n_channels][bins] */
} PlaneJob;

static size_t
table_entries (const HistoChannel *channel, int bins)
{
  return channel->sample_bytes == 1 ? 256 : (size_t) bins;
}

static int
table_copies (size_t entries)
{
  int copies = MOST_COPIES;

  while (copies > 1 && (size_t) copies * entries > COPIED_ENTRIES)
    copies /= 2;
  return copies;
}

static uint32_t *
worker_table (const PlaneJob *job, int worker, int channel)
{
  return job->state->tables + (size_t) worker * job->state->worker_entries
      + (size_t) channel * (size_t) job->copies * job->entries;
}

static uint32_t
bin_of (const HistoChannel *channel, int bins, uint32_t raw)
{
  return ((raw & histo_raw_mask (channel)) * (uint32_t) bins)
      >> (channel->depth + channel->shift);
}

/* Counts samples of two bytes; the bin is (raw & mask) * factor >> shift. Inlined, for a
 * constant factor. Adjacent samples are loaded four at a time. */
static inline __attribute__ ((always_inline)) void
count_words_by (uint32_t *const table[MOST_COPIES], const uint8_t *sample,
    ptrdiff_t stride, int n, uint32_t mask, uint32_t factor, int shift)
{
  int x = 0;

  for (; stride == 2 && x + 4 <= n; x += 4, sample += 8) {
    uint64_t word;

    memcpy (&word, sample, sizeof word);
    for (int i = 0; i < 4; i++, word >>= 16)
      table[x % MOST_COPIES + i][((uint32_t) word & mask) * factor >> shift]++;
  }
  for (; x < n; x++, sample += stride) {
    uint16_t raw;

    memcpy (&raw, sample, sizeof raw);
    table[x % MOST_COPIES][(raw & mask) * factor >> shift]++;
  }
}

static int
log2_of (int n)
{
  int log = 0;

  while (1 << log < n)
    log++;
  return log;
}

static void
count_words (const PlaneJob *job, const HistoChannel *channel, uint32_t *tables,
    const uint8_t *sample, int n)
{
  const uint32_t mask = histo_raw_mask (channel), bins = (uint32_t) job->bins;
  const int shift = channel->depth + channel->shift;
  const ptrdiff_t stride = channel->pixel_stride;
  const int log = log2_of (job->bins);
  uint32_t *table[MOST_COPIES];

  for (int i = 0; i < MOST_COPIES; i++)
    table[i] = tables + (size_t) (i & (job->copies - 1)) * job->entries;
  if (job->bins == 1 << log && log <= shift)
    count_words_by (table, sample, stride, n, mask, 1, shift - log);
  else
    count_words_by (table, sample, stride, n, mask, bins, shift);
}

static void
count_row (const PlaneJob *job, int worker, int i, int y, bool by_pairs)
{
  const HistoChannel *channel = &job->channel[i];
  const int width = histo_channel_width (channel, job->src);
  const uint8_t *row = histo_channel_data (channel, job->src)
      + y * job->src->memory[channel->memory].stride;
  uint32_t *tables = worker_table (job, worker, i);

  if (channel->sample_bytes == 2)
    count_words (job, channel, tables, row, width);
  else if (by_pairs)
    bytes_count_pairs (
        job->state->pairs + (size_t) worker * BYTES_PAIRS, tables, row, width);
  else
    bytes_count (tables, row, channel->pixel_stride, width);
}

/* Whether rows from y on are counted by pairs; decided by row y. */
static bool
suits_pairs (const PlaneJob *job, int y)
{
  const HistoChannel *channel = job->channel;

  return channel->sample_bytes == 1 && channel->pixel_stride == 1
      && bytes_suit_pairs (histo_channel_data (channel, job->src)
              + y * job->src->memory[channel->memory].stride,
          histo_channel_width (channel, job->src));
}

static void
count_rows (void *user, int worker, int first, int last)
{
  const PlaneJob *job = user;
  const bool by_pairs = suits_pairs (job, first);

  if (by_pairs)
    job->state->paired[worker] = true;
  for (int y = first; y < last; y++)
    for (int i = 0; i < job->n_channels; i++)
      count_row (job, worker, i, y, by_pairs);
}

/* Adds the pairs of workers [first, last) to their tables of bytes. */
static void
fold_pairs (void *user, int worker, int first, int last)
{
  const PlaneJob *job = user;

  (void) worker;
  for (int w = first; w < last; w++) {
    if (job->state->paired[w])
      bytes_fold_pairs (job->state->pairs + (size_t) w * BYTES_PAIRS,
          worker_table (job, w, 0));
    job->state->paired[w] = false;
  }
}

static void
merge_bytes (const PlaneJob *job, int i)
{
  const HistoChannel *channel = &job->channel[i];
  uint64_t *counts = job->counts + (size_t) i * (size_t) job->bins;

  for (int w = 0; w < workers_count (job->state->workers); w++) {
    uint32_t *table = worker_table (job, w, i);

    bytes_fold_tables (table);
    for (int value = 0; value < 256; value++)
      counts[bin_of (channel, job->bins, (uint32_t) value)] += table[value];
    memset (table, 0, 256 * sizeof *table);
  }
}

/* Sums bins [first, last) of all copies, and leaves them zero. */
static void
merge_bins (void *user, int worker, int first, int last)
{
  const PlaneJob *job = user;

  (void) worker;
  for (int i = 0; i < job->n_channels; i++)
    for (int w = 0; w < workers_count (job->state->workers); w++)
      for (int copy = 0; copy < job->copies; copy++) {
        uint64_t *counts = job->counts + (size_t) i * (size_t) job->bins;
        uint32_t *table =
            worker_table (job, w, i) + (size_t) copy * job->entries;

        for (int bin = first; bin < last; bin++)
          counts[bin] += table[bin];
        memset (
            table + first, 0, (size_t) (last - first) * sizeof table[first]);
      }
}

static void
merge (PlaneJob *job)
{
  PairsState *state = job->state;

  if (job->channel->sample_bytes == 2) {
    workers_run (
        state->workers, (int) job->entries, GRAIN_ENTRIES, merge_bins, job);
    return;
  }
  workers_run (state->workers, workers_count (state->workers), GRAIN_TABLES,
      fold_pairs, job);
  for (int i = 0; i < job->n_channels; i++)
    merge_bytes (job, i);
}

/* Rows per part: enough work to be worth waking a thread for. */
static int
grain (int width, int height, int n_channels)
{
  const int64_t row = (int64_t) width * n_channels;

  if (row * height <= ALONE_SAMPLES)
    return height > 0 ? height : 1;
  return row >= GRAIN_SAMPLES ? 1 : (int) (GRAIN_SAMPLES / row);
}

static bool
pairs_run (HistoPlan *plan, const Image *src, HistoResult *result,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  PairsState *state = plan->state;
  int n;

  (void) stream;
  (void) order;
  (void) fault;
  memset (result->counts, 0,
      (size_t) plan->n_channels * (size_t) plan->bins * sizeof (uint64_t));
  for (int i = 0; i < plan->n_channels; i += n) {
    const HistoChannel *channel = &state->channel[i];
    const int height = histo_channel_height (channel, src);
    PlaneJob job = {
      .state = state,
      .channel = channel,
      .src = src,
      .bins = plan->bins,
      .entries = table_entries (channel, plan->bins),
      .counts = result->counts + (size_t) i * (size_t) plan->bins,
    };

    for (n = 1; i + n < plan->n_channels; n++)
      if (channel[n].plane != channel->plane)
        break;
    job.n_channels = n;
    job.copies = table_copies (job.entries);
    workers_run (state->workers, height,
        grain (histo_channel_width (channel, src), height, n), count_rows,
        &job);
    merge (&job);
  }
  return true;
}

static void
pairs_release (HistoPlan *plan)
{
  PairsState *state = plan->state;

  if (state == NULL)
    return;
  workers_free (state->workers);
  free (state->tables);
  free (state->pairs);
  free (state);
}

/* A channel as it is counted. If samples lie in the upper bits of two bytes and there are at
 * most 256 bins, a power of two, the upper byte alone decides the bin. */
static HistoChannel
counted_channel (const HistoChannel *channel, int bins)
{
  HistoChannel counted = *channel;

  if (channel->sample_bytes == 2 && channel->depth + channel->shift == 16
      && channel->depth >= 8 && bins <= 256 && (bins & (bins - 1)) == 0) {
    counted.byte_offset++;
    counted.sample_bytes = 1;
    counted.depth = 8;
    counted.shift = 0;
  }
  return counted;
}

static bool
pairs_prepare (HistoPlan *plan, Fault *fault)
{
  PairsState *state = calloc (1, sizeof *state);
  bool bytes = false;
  size_t threads;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for a histogram.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  threads = (size_t) workers_count (state->workers);
  for (int i = 0; i < plan->n_channels; i++) {
    const HistoChannel channel =
        counted_channel (&plan->channel[i], plan->bins);
    const size_t entries = table_entries (&channel, plan->bins);
    const size_t needed =
        IMAGE_MAX_CHANNELS * (size_t) table_copies (entries) * entries;

    state->channel[i] = channel;
    bytes = bytes || (channel.sample_bytes == 1 && channel.pixel_stride == 1);
    if (state->worker_entries < needed)
      state->worker_entries = needed;
  }
  state->worker_entries += BYTES_APART;
  state->tables = calloc (threads, state->worker_entries * sizeof (uint32_t));
  if (bytes)
    state->pairs = calloc (threads, BYTES_PAIRS * sizeof (uint32_t));
  if (state->tables == NULL || (bytes && state->pairs == NULL))
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu KiB a thread for a histogram.",
        (state->worker_entries + BYTES_PAIRS) * sizeof (uint32_t) >> 10);
  return true;
}

static double
pairs_cost (const HistoSpec *spec, const Image *layout)
{
  (void) spec;
  (void) layout;
  return 0.5; /* times the reference's */
}

const HistoMethodOps histo_pairs_ops = {
  .cost = pairs_cost,
  .prepare = pairs_prepare,
  .release = pairs_release,
  .run = pairs_run,
};
