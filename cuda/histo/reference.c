/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reference: the specification in plain C, and the CPU backend.
 *
 * Rows of a plane are shared among worker threads, each with tables of its own,
 * added up at the end. A table counts samples of one byte as they lie in memory,
 * and makes bins of the 256 sums; samples of two bytes go by their bins. Samples
 * that follow each other count in different copies of the table: in one, a flat
 * picture would make every increment wait for the store of the last. */
#include "method.h"

#include "../workers.h"

#include <stdlib.h>
#include <string.h>

/* Copies of a table, and the largest table that has them: larger ones would only
 * push each other out of the caches. */
#define COPIES 4
#define COPIED_ENTRIES 4096

/* Samples that a worker takes at a time, about. */
#define GRAIN_SAMPLES 131072
/* Table entries that it adds up at a time; no less than a byte has values. */
#define GRAIN_ENTRIES 4096

typedef struct
{
  Workers *workers;
  size_t worker_entries; /* of all tables of one worker */
  uint32_t *tables;      /* [workers][worker_entries], zero between runs */
} ReferenceState;

/* One plane's share of a run, handed to the workers. */
typedef struct
{
  const ReferenceState *state;
  const HistoChannel *channel; /* [n_channels] */
  int n_channels;
  const Image *src;
  int bins;
  int copies;
  size_t entries;   /* of one copy of one channel's table */
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
  return entries <= COPIED_ENTRIES ? COPIES : 1;
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

static void
count_bytes (uint32_t *table, const uint8_t *sample, ptrdiff_t stride, int n)
{
  int x = 0;

  for (; x + COPIES <= n; x += COPIES, sample += COPIES * stride)
    for (int i = 0; i < COPIES; i++)
      table[i * 256 + sample[i * stride]]++;
  for (; x < n; x++, sample += stride)
    table[*sample]++;
}

static void
count_pairs (const PlaneJob *job, const HistoChannel *channel, uint32_t *table,
    const uint8_t *sample, int n)
{
  const uint32_t mask = histo_raw_mask (channel), bins = (uint32_t) job->bins;
  const int shift = channel->depth + channel->shift;
  const size_t copy_mask = (size_t) job->copies - 1;

  for (int x = 0; x < n; x++, sample += channel->pixel_stride) {
    uint16_t raw;

    memcpy (&raw, sample, sizeof raw);
    table[((size_t) x & copy_mask) * job->entries
        + ((raw & mask) * bins >> shift)]++;
  }
}

static void
count_rows (void *user, int worker, int first, int last)
{
  const PlaneJob *job = user;

  for (int y = first; y < last; y++)
    for (int i = 0; i < job->n_channels; i++) {
      const HistoChannel *channel = &job->channel[i];
      const int width = histo_channel_width (channel, job->src);
      const uint8_t *row = histo_channel_data (channel, job->src)
          + y * job->src->memory[channel->memory].stride;
      uint32_t *table = worker_table (job, worker, i);

      if (channel->sample_bytes == 2)
        count_pairs (job, channel, table, row, width);
      else if (channel->pixel_stride == 1)
        count_bytes (table, row, 1, width); /* for a constant stride */
      else
        count_bytes (table, row, channel->pixel_stride, width);
    }
}

/* Adds up entries [first, last) of all copies, and leaves them zero. Bytes of
 * different value may share a bin: their entries are one worker's. */
static void
merge_entries (void *user, int worker, int first, int last)
{
  const PlaneJob *job = user;
  const int n_workers = workers_count (job->state->workers);

  (void) worker;
  for (int i = 0; i < job->n_channels; i++) {
    const HistoChannel *channel = &job->channel[i];
    uint64_t *counts = job->counts + (size_t) i * (size_t) job->bins;

    for (int w = 0; w < n_workers; w++)
      for (int copy = 0; copy < job->copies; copy++) {
        uint32_t *table =
            worker_table (job, w, i) + (size_t) copy * job->entries;

        for (int entry = first; entry < last; entry++) {
          const uint32_t bin = channel->sample_bytes == 1
              ? bin_of (channel, job->bins, (uint32_t) entry)
              : (uint32_t) entry;

          counts[bin] += table[entry];
          table[entry] = 0;
        }
      }
  }
}

/* Rows per part: enough work to be worth waking a thread for. */
static int
grain (int width, int n_channels)
{
  const int rows = GRAIN_SAMPLES / n_channels / width;

  return rows < 1 ? 1 : rows;
}

static bool
reference_run (HistoPlan *plan, const Image *src, HistoResult *result,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  const ReferenceState *state = plan->state;
  int n;

  (void) stream;
  (void) order;
  (void) fault;
  memset (result->counts, 0,
      (size_t) plan->n_channels * (size_t) plan->bins * sizeof (uint64_t));
  for (int i = 0; i < plan->n_channels; i += n) {
    const HistoChannel *channel = &plan->channel[i];
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
    workers_run (state->workers, histo_channel_height (channel, src),
        grain (histo_channel_width (channel, src), n), count_rows, &job);
    workers_run (
        state->workers, (int) job.entries, GRAIN_ENTRIES, merge_entries, &job);
  }
  return true;
}

static void
reference_release (HistoPlan *plan)
{
  ReferenceState *state = plan->state;

  if (state == NULL)
    return;
  workers_free (state->workers);
  free (state->tables);
  free (state);
}

static bool
reference_prepare (HistoPlan *plan, Fault *fault)
{
  ReferenceState *state = calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for a histogram.");
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  for (int i = 0; i < plan->n_channels; i++) {
    const size_t entries = table_entries (&plan->channel[i], plan->bins);
    const size_t needed =
        IMAGE_MAX_CHANNELS * (size_t) table_copies (entries) * entries;

    if (state->worker_entries < needed)
      state->worker_entries = needed;
  }
  state->tables = calloc ((size_t) workers_count (state->workers),
      state->worker_entries * sizeof *state->tables);
  if (state->tables == NULL)
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu KiB a thread for a histogram.",
        state->worker_entries * sizeof *state->tables >> 10);
  return true;
}

static double
reference_cost (const HistoSpec *spec, const Image *layout)
{
  (void) spec;
  (void) layout;
  return 1.0; /* the only one on its backend */
}

const HistoMethodOps histo_reference_ops = {
  .cost = reference_cost,
  .prepare = reference_prepare,
  .release = reference_release,
  .run = reference_run,
};
