/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows.h"

#include "border.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A slab's sums are to fit a core's second-level cache, and its samples are ROWS_RUN, or up
 * to so many of those: the more, the fewer are unpacked twice. */
#define SLAB_BYTES (576 * 1024)
#define MAX_SLAB_RUNS 4
#define SLABS_EACH \
  3 /* of a worker, at least, while there are several ROWS_RUNs */

/* Of a strip of codes: so much of its ring of sums of rows stays in the nearest caches (found
 * by trial), and it is neither so narrow that its halo costs more than that, nor wider. */
#define STRIP_BYTES (64 * 1024)
#define MIN_STRIP (3 * ROWS_RUN)
#define MAX_STRIP (16 * ROWS_RUN)
/* Bands of strips that each worker has, so that none waits long for the others; and rows
 * of a band over the rows that it sums above and below them. */
#define BANDS_EACH 3
#define BAND_ROWS_OVER_HALO 8

/* Rows that a worker copies at a time. */
#define COPY_ROWS 64

/* Fractional bits of the 16-bit integers that stand for sums of a row, at most: a sum of
 * code - 128 with taps whose norm is 1 takes all others. */
#define MOST_MIDDLE_BITS 7

static size_t
round_up (size_t n, size_t multiple)
{
  return (n + multiple - 1) / multiple * multiple;
}

static size_t
max_size (size_t a, size_t b)
{
  return a > b ? a : b;
}

static int
min_int (int a, int b)
{
  return a < b ? a : b;
}

static int
max_int (int a, int b)
{
  return a > b ? a : b;
}

void
rows_copy_kept (const RowsJob *job, int first, int last, int begin, int n)
{
  const size_t bytes = (size_t) job->channel->sample_bytes;

  for (int c = 0; c < job->step; c++) {
    if (job->channel[c].filter)
      continue;
    for (int y = first; y < last; y++) {
      const uint8_t *from = job->src + y * job->src_stride;
      uint8_t *to = job->dst + y * job->dst_stride;

      for (int i = begin + (c - begin % job->step + job->step) % job->step;
           i < begin + n; i += job->step)
        memcpy (to + (ptrdiff_t) i * job->distance,
            from + (ptrdiff_t) i * job->distance, bytes);
    }
  }
}

static void
copy_rows (void *user, int worker, int first, int last)
{
  const RowsJob *job = user;
  const size_t bytes = (size_t) job->channel->sample_bytes;

  (void) worker;
  if (job->distance != (int) bytes) {
    rows_copy_kept (job, first, last, 0, job->n_samples);
    return;
  }
  for (int y = first; y < last; y++)
    memcpy (job->dst + y * job->dst_stride, job->src + y * job->src_stride,
        (size_t) job->n_samples * bytes);
}

/* What stands for the sample that is `i` from a row's first one: which one does, or -1
 * less the channel whose border value is meant. */
static int
edge_index (const RowsJob *job, int i)
{
  const int channel = (i % job->step + job->step) % job->step;
  const int x = border_index (
      (i - channel) / job->step, job->channel->width, job->border);

  return x < 0 ? -1 - channel : x * job->step + channel;
}

static void
find_edges (const RowsJob *job)
{
  const int before = job->x->n / 2 * job->step;
  const int after = (job->x->n - 1) * job->step - before;

  for (int i = 0; i < before; i++)
    job->state->left[i] = edge_index (job, i - before);
  for (int i = 0; i < after; i++)
    job->state->right[i] = edge_index (job, job->n_samples + i);
}

/* Samples of a slab of a plane whose rows have so many, in sums of so many bytes. */
static int
slab_samples (int n_samples, int height, size_t sum_bytes, int workers)
{
  const size_t fit = SLAB_BYTES / ((size_t) height * ROWS_RUN * sum_bytes);
  int runs = fit < 1 ? 1 : fit < MAX_SLAB_RUNS ? (int) fit : MAX_SLAB_RUNS;

  /* As many as keep all workers busy to the end. */
  while (runs > 1 && n_samples < SLABS_EACH * workers * runs * ROWS_RUN)
    runs--;
  return runs * ROWS_RUN;
}

/* Bytes of its sums. */
static size_t
slab_bytes (int n_samples, int height, size_t sum_bytes, int workers)
{
  return (size_t) height * sum_bytes
      * (size_t) slab_samples (n_samples, height, sum_bytes, workers);
}

/* What a plane's 16-bit taps lose. */
typedef struct
{
  double norm, lost; /* sum |tap|, sum |tap - its integer / 2^bits| */
} CodeLoss;

/* Rounds taps to integers of 2^-bits; the one in the middle takes what is missing to the
 * sum, so that a flat picture stays as it is. */
static CodeLoss
round_taps (const Taps *taps, int bits, int16_t *to)
{
  CodeLoss loss = { 0.0, 0.0 };
  double rest = 0.0;

  for (int i = 0; i < taps->n; i++)
    to[i] = (int16_t) lrint (ldexp (taps->tap[i], bits));
  for (int i = 0; i < taps->n; i++)
    rest += ldexp (taps->tap[i], bits) - to[i];
  to[taps->n / 2] = (int16_t) (to[taps->n / 2] + lrint (rest));
  for (int i = 0; i < taps->n; i++) {
    loss.norm += fabs ((double) to[i]);
    loss.lost += fabs (taps->tap[i] - ldexp (to[i], -bits));
  }
  loss.norm = ldexp (loss.norm, -bits);
  return loss;
}

/* The most bits, up to `bits`, with which all taps are 16-bit integers, also the one in
 * the middle after round_taps(). */
static int
bits_of_taps (const Taps *taps, int bits)
{
  double most = 0.0;

  for (int i = 0; i < taps->n; i++)
    most = fmax (most, fabs (taps->tap[i]));
  while (bits > 0 && ldexp (most, bits) + taps->n > INT16_MAX)
    bits--;
  return bits;
}

static int32_t
pair_of (int16_t low, int16_t high)
{
  return (
      int32_t) ((uint32_t) (uint16_t) low | (uint32_t) (uint16_t) high << 16);
}

/* Of 0.75 codes that are promised, the last rounding takes 0.5. */
#define MOST_LOST 0.2

/* Finds the integers for a job whose channels have single bytes, if they lose no more than
 * MOST_LOST. */
static bool
plan_codes (RowsJob *job)
{
  const Taps *tx = job->x, *ty = job->y;
  RowsCodeTaps *codes = &job->codes;
  int16_t x[ROWS_MAX_CODE_TAPS], y[ROWS_MAX_CODE_TAPS];
  double offset = 0.0, error;
  int x_bits, y_bits, middle = MOST_MIDDLE_BITS;
  CodeLoss lx, ly;

  if (tx->n > ROWS_MAX_CODE_TAPS || ty->n > ROWS_MAX_CODE_TAPS)
    return false;
  for (int c = 0; c < job->step; c++) {
    offset = fmax (offset, fabs (job->channel[c].offset));
    /* Samples beyond a constant border are integers here. */
    if (job->border == SEPCONV_CONSTANT
        && job->channel[c].border != floor (job->channel[c].border))
      return false;
  }
  x_bits = bits_of_taps (tx, 15);
  if (x_bits < middle)
    return false;
  lx = round_taps (tx, x_bits, x);
  /* Sums of a row fit 16 bits, and those of a column with the offset 31. */
  while (ldexp (128.0 * lx.norm, middle) + 1.0 > INT16_MAX)
    middle--;
  y_bits = bits_of_taps (ty, 15);
  do {
    ly = round_taps (ty, y_bits, y);
    if (ldexp (offset + 1.0, middle + y_bits)
            + ldexp (32768.0 * ly.norm, y_bits)
        < 0x1p31)
      break;
  } while (--y_bits > 0);
  if (y_bits <= 0)
    return false;
  error = (128.0 * lx.lost + ldexp (0.5, -middle)) * ly.norm
      + 128.0 * (lx.norm + lx.lost) * ly.lost + ldexp (0.5, -middle - y_bits);
  if (error > MOST_LOST)
    return false;

  codes->x_pairs = (tx->n + 1) / 2;
  codes->y_pairs = (ty->n + 1) / 2;
  for (int i = 0; i < codes->x_pairs; i++)
    codes->x[i] = pair_of (x[2 * i], 2 * i + 1 < tx->n ? x[2 * i + 1] : 0);
  for (int i = 0; i < codes->y_pairs; i++) {
    const int last = ty->n - 1 - 2 * i;

    codes->y[i] = pair_of (last > 0 ? y[last - 1] : 0, y[last]);
  }
  codes->x_shift = x_bits - middle;
  codes->y_shift = middle + y_bits;
  for (int c = 0; c < job->step; c++)
    codes->start[c] =
        (int32_t) lrint (ldexp (job->channel[c].offset + 0.5, codes->y_shift));
  return true;
}

/* Whether samples are what filter_codes() takes. */
static bool
has_codes (const SepconvChannel *channel)
{
  return channel->sample_bytes == 1 && channel->max_code == 255
      && channel->shift == 0;
}

static int
strip_samples (const RowsJob *job, int workers)
{
  const int fit = STRIP_BYTES / (4 * job->y->n) / ROWS_RUN * ROWS_RUN;
  const int most = max_int (MIN_STRIP, min_int (fit, MAX_STRIP));
  const int strips = (job->n_samples + most - 1) / most;
  /* As many for each worker, if there are more strips than workers. */
  const int even =
      strips < workers ? strips : (strips + workers - 1) / workers * workers;
  const int samples = (job->n_samples + even - 1) / even;

  return min_int ((int) round_up ((size_t) samples, ROWS_RUN), MAX_STRIP);
}

static void
filter_codes (RowsJob *job)
{
  const int workers = workers_count (job->state->workers);
  const int least = BAND_ROWS_OVER_HALO * job->y->n;
  int strips;

  job->slab = strip_samples (job, workers);
  strips = (job->n_samples + job->slab - 1) / job->slab;
  job->bands = (BANDS_EACH * workers + strips - 1) / strips;
  if (strips % workers == 0 || workers == 1)
    job->bands = 1;
  job->bands = max_int (1, min_int (job->bands, job->height / least));
  workers_run (job->state->workers, strips * job->bands, 1,
      job->state->kernels->filter_codes, job);
}

static void
filter_plane (const SepconvPlan *plan, RowsJob *job)
{
  const RowsKernels *kernels = job->state->kernels;
  const int height = image_plane_height (&plan->layout, job->channel->plane);

  if (job->n_samples == 0 || job->height == 0)
    return;
  find_edges (job);
  if (kernels->filter_codes != NULL && has_codes (job->channel)
      && plan_codes (job)) {
    filter_codes (job);
    return;
  }
  job->slab = slab_samples (job->n_samples, height,
      plan->float_holds ? sizeof (float) : sizeof (double),
      workers_count (job->state->workers));
  if (plan->float_holds)
    kernels->prepare_float (job);
  else
    kernels->prepare_double (job);
  workers_run (job->state->workers,
      (job->n_samples + job->slab - 1) / job->slab, 1,
      plan->float_holds ? kernels->filter_float : kernels->filter_double, job);
}

static int
count_filtered (const SepconvChannel *channel, int n)
{
  int filtered = 0;

  for (int c = 0; c < n; c++)
    filtered += channel[c].filter;
  return filtered;
}

/* `n` channels from `channel` on, as one row of samples. */
static void
run_channels (const SepconvPlan *plan, const SepconvPart *part,
    const SepconvChannel *channel, int n, int distance)
{
  const Image *src = part->src, *dst = part->dst;
  RowsJob job = {
    .state = plan->state,
    .border = plan->border,
    .x = &plan->taps[channel->plane].x,
    .y = &plan->taps[channel->plane].y,
    .height = sepconv_channel_height (channel, src),
    .step = n,
    .n_samples = channel->width * n,
    .channel = channel,
    .distance = distance,
    .src = sepconv_channel_data (channel, src),
    .src_stride = src->memory[channel->memory].stride,
    .dst = sepconv_channel_data (channel, dst),
    .dst_stride = dst->memory[channel->memory].stride,
  };

  if (count_filtered (channel, n) > 0)
    filter_plane (plan, &job);
  else
    workers_run (job.state->workers, job.height, COPY_ROWS, copy_rows, &job);
}

/* Whether n channels are a row of samples at even distances, and enough of them are to be
 * filtered for the others to be filtered in vain. */
static bool
are_even (const SepconvChannel *channel, int n, int distance)
{
  const int filtered = count_filtered (channel, n);

  for (int c = 0; c < n; c++)
    if (channel[c].byte_offset != channel->byte_offset + c * distance)
      return false;
  return channel->pixel_stride == n * distance
      && (filtered == 0 || 2 * filtered >= n);
}

bool
rows_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  (void) fault;
  for (int i = 0; i < plan->n_channels;) {
    const SepconvChannel *channel = &plan->channel[i];
    const int n = plan->layout.plane[channel->plane].channels;
    const int distance = channel->pixel_stride / n;

    if (are_even (channel, n, distance))
      run_channels (plan, part, channel, n, distance);
    else
      for (int c = 0; c < n; c++)
        run_channels (plan, part, channel + c, 1, channel->pixel_stride);
    i += n;
  }
  return true;
}

void
rows_release (SepconvPlan *plan)
{
  RowsState *state = plan->state;

  if (state == NULL)
    return;
  workers_free (state->workers);
  free (state->strips);
  free (state->lines);
  free (state->sums);
  free (state->right);
  free (state->left);
  free (state->outside);
  free (state->offsets);
  free (state->taps_y);
  free (state->taps_x);
  free (state);
}

/* For so many sums, a multiple of ROWS_RUN: no vector of them lies in two lines of a cache. */
static void *
row_new (size_t n)
{
  return aligned_alloc (64, n * sizeof (double));
}

/* Bytes of what filter_codes() keeps of a strip: a row's samples with what taps reach, the
 * same in pairs, the sums of the last row and of this one, and the ring of pairs of rows. */
static size_t
strip_bytes (int most_channels)
{
  const size_t reach = (size_t) ((ROWS_MAX_CODE_TAPS + 2) * most_channels);
  const size_t line = round_up (MAX_STRIP + reach + ROWS_RUN, ROWS_RUN);
  const size_t ring = max_size (STRIP_BYTES, 4 * MIN_STRIP * ROWS_MAX_CODE_TAPS)
      + 4 * 3 * MAX_STRIP;

  return 2 * line * 3 + 2 * MAX_STRIP * 2 + round_up (ring, 64) + 4 * MAX_STRIP;
}

bool
rows_prepare (SepconvPlan *plan, const RowsKernels *kernels, Fault *fault)
{
  RowsState *state = calloc (1, sizeof *state);
  size_t row = 0, reach = 0;
  int workers, channels = 1;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  state->kernels = kernels;
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL)
    return false;
  workers = workers_count (state->workers);

  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *plane = &plan->layout.plane[p];
    const int height = image_plane_height (&plan->layout, p);
    const int samples = plane->width * plane->channels;

    channels = max_int (channels, plane->channels);
    row = max_size (row, round_up ((size_t) samples, ROWS_RUN));
    reach = max_size (reach, TAPS_MAX * (size_t) plane->channels);
    state->sums_bytes = max_size (state->sums_bytes,
        max_size (slab_bytes (samples, height, sizeof (float), workers),
            slab_bytes (samples, height, sizeof (double), workers)));
  }
  state->line_bytes = (MAX_SLAB_RUNS * ROWS_RUN + reach) * sizeof (double);
  state->taps_x = malloc (TAPS_MAX * sizeof (double));
  state->taps_y = malloc (TAPS_MAX * sizeof (double));
  state->offsets = row_new (row + MAX_SLAB_RUNS * ROWS_RUN);
  state->outside = row_new (row + MAX_SLAB_RUNS * ROWS_RUN);
  state->left = malloc (reach * sizeof *state->left);
  state->right = malloc (reach * sizeof *state->right);
  state->sums =
      row_new ((size_t) workers * state->sums_bytes / sizeof (double));
  /* Zeroed, because runs past a line's end are summed and thrown away. */
  state->lines = calloc ((size_t) workers, state->line_bytes);
  state->strip_bytes = strip_bytes (channels);
  if (kernels->filter_codes != NULL) {
    state->strips = aligned_alloc (
        64, round_up ((size_t) workers * state->strip_bytes, 64));
    if (state->strips != NULL)
      memset (state->strips, 0, (size_t) workers * state->strip_bytes);
  }
  if (state->taps_x == NULL || state->taps_y == NULL || state->offsets == NULL
      || state->outside == NULL || state->left == NULL || state->right == NULL
      || state->sums == NULL || state->lines == NULL
      || (kernels->filter_codes != NULL && state->strips == NULL))
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu MiB for the filter's intermediate sums.",
        (size_t) workers * state->sums_bytes >> 20);
  return true;
}
