/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows-averages.h"

#include "border.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The sums of a slab should fit a core's second-level cache. A slab is 1 to MAX_SLAB_RUNS times
 * ROWS_RUN samples wide: the wider, the fewer samples are unpacked twice. */
#define SLAB_BYTES (576 * 1024)
#define MAX_SLAB_RUNS 4
/* At least this many slabs for each worker, unless slabs are only ROWS_RUN wide. */
#define SLABS_EACH 3

/* For strips of codes. STRIP_BYTES of a window's rows and of STRIP_LINES lines made of them
 * stay in the second-level cache; the halo of strips narrower than MIN_STRIP would cost more
 * than that gains. */
#define STRIP_BYTES (320 * 1024)
#define STRIP_LINES (3 * ROWS_MAX_AT_ONCE)
#define MIN_STRIP (4 * ROWS_RUN)
/* Parts of a plane for each worker, so that none waits long for the others, and least rows of a
 * part. Where a part has fewer rows than there are taps, its first window takes as long as all
 * its others: then each worker gets one part. */
#define PARTS_EACH 4
#define LEAST_BAND (4 * ROWS_MAX_AT_ONCE)
/* Work below which waking a thread takes longer than it saves, in samples times taps. Reading
 * and writing a sample counts as TAPS_OF_SAMPLE. */
#define LEAST_SHARED 4000000
#define TAPS_OF_SAMPLE 16

/* Rows that a worker copies at a time. */
#define COPY_ROWS 64

/* Most fraction bits of 16-bit column sums ("middle" bits) and of 16-bit taps: more gain
 * nothing. With fewer middle bits, down to the least, taps may have more. */
#define MOST_MIDDLE_BITS 7
#define LEAST_MIDDLE_BITS 3
#define MOST_TAP_BITS 21
/* Most taps of both axes together with which filtering four adjacent channels of up to 10 bits
 * takes less time than taking one of them out and putting it back. */
#define MOST_TAPS_IN_VAIN 40

static int
count_filtered (const SepconvChannel *channel, int n)
{
  int filtered = 0;

  for (int c = 0; c < n; c++)
    filtered += channel[c].filter;
  return filtered;
}

int
rows_count_filtered (const RowsJob *job)
{
  return count_filtered (job->channel, job->step);
}

typedef uint64_t Masked
    __attribute__ ((vector_size (16), aligned (1), may_alias));

/* Copies the bits of n bytes that are set in the mask, which repeats every 8 bytes. */
static void
copy_masked (uint8_t *to, const uint8_t *from, size_t n, uint64_t mask)
{
  const Masked both = { mask, mask };
  size_t i = 0;

  for (; i + sizeof both <= n; i += sizeof both) {
    Masked *at = (Masked *) (to + i);

    *at ^= (*at ^ *(const Masked *) (from + i)) & both;
  }
  for (size_t k = 0; i + k < n; k++)
    if (((const uint8_t *) &mask)[k % sizeof mask] != 0)
      to[i + k] = from[i + k];
}

/* rows_copy_kept() for adjacent samples and pixels that divide the 8 bytes of a mask. */
static void
copy_kept_of_pixels (const RowsJob *job, int first, int last, int begin, int n)
{
  const int bytes = job->channel->sample_bytes;
  uint64_t mask = 0;

  for (int i = 0; i < (int) sizeof mask; i++)
    if (!job->channel[(begin + i / bytes) % job->step].filter)
      ((uint8_t *) &mask)[i] = 0xff;
  for (int y = first; y < last; y++)
    copy_masked (job->dst + y * job->dst_stride + (ptrdiff_t) begin * bytes,
        job->src + y * job->src_stride + (ptrdiff_t) begin * bytes,
        (size_t) n * (size_t) bytes, mask);
}

void
rows_copy_kept (const RowsJob *job, int first, int last, int begin, int n)
{
  const size_t bytes = (size_t) job->channel->sample_bytes;

  if (count_filtered (job->channel, job->step) == job->step)
    return;
  if (job->step != 3) {
    copy_kept_of_pixels (job, first, last, begin, n);
    return;
  }
  for (int c = 0; c < job->step; c++) {
    if (job->channel[c].filter)
      continue;
    for (int y = first; y < last; y++) {
      const uint8_t *from = job->src + y * job->src_stride;
      uint8_t *to = job->dst + y * job->dst_stride;

      for (int i = begin + (c - begin % job->step + job->step) % job->step;
           i < begin + n; i += job->step)
        memcpy (to + (size_t) i * bytes, from + (size_t) i * bytes, bytes);
    }
  }
}

static void
copy_rows (void *user, int worker, int first, int last)
{
  const RowsJob *job = user;
  const size_t bytes = (size_t) job->channel->sample_bytes;

  (void) worker;
  for (int y = first; y < last; y++)
    memcpy (job->dst + y * job->dst_stride, job->src + y * job->src_stride,
        (size_t) job->n_samples * bytes);
}

int
rows_edge_index (const RowsJob *job, int i)
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
    job->state->left[i] = rows_edge_index (job, i - before);
  for (int i = 0; i < after; i++)
    job->state->right[i] = rows_edge_index (job, job->n_samples + i);
}

/* Width of a slab in samples, for a plane of n_samples x height with sums of sum_bytes bytes. */
static int
slab_samples (int n_samples, int height, size_t sum_bytes, int workers)
{
  const size_t fit = SLAB_BYTES / ((size_t) height * ROWS_RUN * sum_bytes);
  int runs = fit < 1 ? 1 : fit < MAX_SLAB_RUNS ? (int) fit : MAX_SLAB_RUNS;

  /* So narrow that there are enough slabs to keep all workers busy to the end. */
  while (runs > 1 && n_samples < SLABS_EACH * workers * runs * ROWS_RUN)
    runs--;
  return runs * ROWS_RUN;
}

/* Most bytes of a slab's sums, for a plane of this height or any lower one, whose slabs may be
 * wider. */
static size_t
most_slab_bytes (int height, size_t sum_bytes)
{
  const size_t run = (size_t) height * sum_bytes * ROWS_RUN;
  const size_t widest = run * MAX_SLAB_RUNS;

  return max_size (run, widest < SLAB_BYTES ? widest : SLAB_BYTES);
}

/* Size and rounding losses of an axis's 16-bit taps. */
typedef struct
{
  double norm, lost; /* sum |tap|, sum |tap - its integer / 2^bits| */
} CodeLoss;

/* Rounds taps to multiples of 2^-bits. The middle tap absorbs the rounding errors of the
 * others, so that a flat picture stays unchanged. */
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

/* See RowsCodeTaps. `tap` has a 0 before it, and zeros behind it. */
static int
pair_taps (int32_t *to, const int16_t *tap, int n)
{
  const int pairs = n / 2 + 1;

  for (int i = 0; i < 2 * pairs; i++)
    to[i] = (int32_t) ((uint32_t) (uint16_t) tap[i - 1]
        | (uint32_t) (uint16_t) tap[i] << 16);
  return pairs;
}

/* Finds the integer taps of columns, with as many bits as keep the sums of codes within 31
 * bits. Reduces *middle, the fraction bits of these sums once shifted, until they fit 16 bits.
 * Returns false if that leaves too few bits. */
static bool
plan_columns (const RowsJob *job, RowsCodeTaps *codes, int16_t *taps,
    CodeLoss *loss, int *middle)
{
  const double center = job->channel->center;
  int bits = bits_of_taps (job->y, MOST_TAP_BITS), sum = 0;

  do {
    *loss = round_taps (job->y, bits, taps);
    if (ldexp (3.0 * center * loss->norm, bits) < 0x1p31)
      break;
  } while (--bits > 0);
  for (; *middle > 0; (*middle)--)
    if (ldexp (center * loss->norm, *middle) + 1.0 <= INT16_MAX)
      break;
  if (bits < *middle || *middle == 0)
    return false;
  for (int i = 0; i < job->y->n; i++)
    sum += taps[i];
  codes->y_pairs = pair_taps (codes->y, taps, job->y->n);
  codes->y_shift = bits - *middle;
  codes->y_start =
      (codes->y_shift > 0 ? 1 << codes->y_shift >> 1 : 0) - (int) center * sum;
  return true;
}

/* The same for rows, which sum column sums of at most `most`; also finds their start values. */
static bool
plan_rows (const RowsJob *job, const RowsCodeAim *aim, RowsCodeTaps *codes,
    int16_t *taps, CodeLoss *loss, int middle, double most)
{
  int bits = bits_of_taps (job->x, MOST_TAP_BITS);
  double offset = 0.0;

  for (int c = 0; c < job->step; c++)
    offset = fmax (offset, fabs (aim->start[c]));
  do {
    *loss = round_taps (job->x, bits, taps);
    if (ldexp (offset + 1.0, middle + bits) + ldexp (most * loss->norm, bits)
        < 0x1p31)
      break;
  } while (--bits > 0);
  if (bits <= 0 || middle + bits <= aim->fraction)
    return false;
  codes->x_pairs = pair_taps (codes->x, taps, job->x->n);
  codes->x_shift = middle + bits - aim->fraction;
  for (int c = 0; c < job->step; c++)
    codes->start[c] = (int32_t) lrint (
        ldexp (aim->start[c] + ldexp (0.5, -aim->fraction), middle + bits));
  return true;
}

bool
rows_border_codes (const RowsJob *job, uint16_t border[IMAGE_MAX_CHANNELS])
{
  /* `step` is at most IMAGE_MAX_CHANNELS; gcc does not see that. */
  const int channels = min_int (job->step, IMAGE_MAX_CHANNELS);

  for (int c = 0; c < channels; c++) {
    const SepconvChannel *channel = &job->channel[c];
    const double code = job->border == SEPCONV_CONSTANT
        ? channel->border + channel->center
        : 0.0;

    if (code != floor (code) || code < 0.0 || code > channel->max_code)
      return false;
    border[c] = (uint16_t) ((int) code << channel->shift);
  }
  return true;
}

/* Finds the integers for a job, with at most `middle` fraction bits of column sums. Returns
 * false if they lose more than `aim` allows. */
static bool
plan_taps (
    const RowsJob *job, const RowsCodeAim *aim, RowsCodeTaps *codes, int middle)
{
  const double center = job->channel->center;
  /* A zero before the taps, and some behind them: pair_taps(). */
  int16_t x[ROWS_MAX_CODE_TAPS + 3] = { 0 }, y[ROWS_MAX_CODE_TAPS + 3] = { 0 };
  CodeLoss lx, ly;

  return plan_columns (job, codes, y + 1, &ly, &middle)
      && plan_rows (job, aim, codes, x + 1, &lx, middle,
          ldexp (center * ly.norm, middle) + 1.0)
      && (center * ly.lost + ldexp (0.5, -middle)) * lx.norm
          + center * (ly.norm + ly.lost) * lx.lost
          + ldexp (0.5, -codes->x_shift - aim->fraction)
          + (aim->fraction > 0 ? ldexp (0.5, -aim->fraction) : 0.0)
      <= aim->most_lost;
}

bool
rows_has_codes (const SepconvChannel *channel)
{
  return channel->sample_bytes == 1
      ? channel->max_code == 255 && channel->shift == 0
      : channel->max_code >= 255 && channel->max_code <= 4095;
}

bool
rows_plan_codes (
    const RowsJob *job, const RowsCodeAim *aim, RowsCodeTaps *codes)
{
  memset (codes, 0, sizeof *codes);
  if (!rows_has_codes (job->channel) || job->x->n > ROWS_MAX_CODE_TAPS
      || job->y->n > ROWS_MAX_CODE_TAPS
      || !rows_border_codes (job, codes->border))
    return false;
  for (int middle = MOST_MIDDLE_BITS; middle >= LEAST_MIDDLE_BITS; middle--)
    if (plan_taps (job, aim, codes, middle))
      return true;
  return false;
}

/* Returns the integers that filter_codes() takes for a job; NULL: it is filtered with sums of
 * floats or doubles. */
static const RowsCodeTaps *
find_codes (const SepconvPlan *plan, const RowsJob *job)
{
  RowsState *state = plan->state;
  RowsCodes *codes = &state->codes[job->channel - plan->channel];

  if (state->kernels->filter_codes == NULL)
    return NULL;
  if (codes->revision != plan->revision) {
    RowsCodeAim aim = { .most_lost = ROWS_MOST_LOST };

    for (int c = 0; c < job->step; c++)
      aim.start[c] = job->channel[c].offset;
    codes->hold = rows_plan_codes (job, &aim, &codes->taps);
    codes->revision = plan->revision;
  }
  return codes->hold ? &codes->taps : NULL;
}

/* Returns the integers for averages of a job; NULL: another way is faster, or they are not
 * exact enough. */
static const RowsAverages *
find_averages (const SepconvPlan *plan, const RowsJob *job)
{
  const RowsState *state = plan->state;
  RowsAveragesPlan *planned =
      &state->averages->planned[job->channel - plan->channel];

  if (!rows_suit_averages (job, state->kernels->averages))
    return NULL;
  if (rows_averages_renew (planned, plan->revision, job)) {
    const RowsAveragesAim aim = { .most_lost = ROWS_MOST_LOST,
      .rounds = true,
      .offset = rows_averages_offset (job) };

    planned->hold = rows_plan_averages (
        job, state->kernels->averages, &aim, &planned->integers);
  }
  return planned->hold ? &planned->integers : NULL;
}

void
rows_run_codes (
    RowsJob *job, int lines, Workers *workers, WorkersJob filter, void *user)
{
  const int fit = STRIP_BYTES / (lines + STRIP_LINES) / ROWS_RUN * ROWS_RUN;
  const int most = max_int (MIN_STRIP, min_int (fit, ROWS_MAX_STRIP));
  int strips = divide_up (job->n_samples, most);
  const int rows = rows_needed (job);
  const int64_t work = (int64_t) job->n_samples * rows
      * (job->x->n + job->y->n + TAPS_OF_SAMPLE);
  const int count = workers_count (workers);
  const int parts = work < LEAST_SHARED ? 1 : PARTS_EACH * count;
  int most_bands;

  job->slab = round_up (divide_up (job->n_samples, strips), ROWS_RUN);
  strips = divide_up (job->n_samples, job->slab);
  most_bands = max_int (rows / max_int (LEAST_BAND, job->y->n),
      min_int (count, rows / LEAST_BAND));
  job->bands = max_int (1, min_int (divide_up (parts, strips), most_bands));
  workers_run (
      workers, strips * job->bands, parts == 1 ? strips : 1, filter, user);
}

static void
filter_plane (const SepconvPlan *plan, RowsJob *job)
{
  const RowsState *state = plan->state;
  const RowsKernels *kernels = state->kernels;
  const int height = image_plane_height (&plan->layout, job->channel->plane);

  job->state = state;
  job->averages = find_averages (plan, job);
  if (job->averages != NULL) {
    state->averages->run.job[state->averages->run.n++] = *job;
    return;
  }
  find_edges (job);
  job->codes = find_codes (plan, job);
  if (job->codes != NULL) {
    rows_run_codes (job, job->y->n, state->workers, kernels->filter_codes, job);
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

/* Whether filtering all n channels of a plane is worth it where some are not to be filtered. */
static bool
filters_all (const SepconvPlan *plan, const SepconvChannel *channel, int n)
{
  const SepconvPlaneTaps *taps = &plan->taps[channel->plane];
  const int filtered = count_filtered (channel, n);

  return filtered == 0 || 2 * filtered >= n
      || (channel->pixel_stride == n * channel->sample_bytes
          && channel->max_code < 1 << 10
          && taps->x.n + taps->y.n <= MOST_TAPS_IN_VAIN);
}

int
rows_even_channels (const SepconvPlan *plan, int first)
{
  const SepconvChannel *channel = &plan->channel[first];
  const int n = plan->layout.plane[channel->plane].channels;
  const int distance = channel->pixel_stride / n;

  for (int c = 0; c < n; c++)
    if (channel[c].byte_offset != channel->byte_offset + c * distance)
      return 1;
  return channel->pixel_stride == n * distance && filters_all (plan, channel, n)
      ? n
      : 1;
}

/* Runs n channels from number `first` on as one row of samples: in the frame, or in a plane of
 * `planar`. */
static void
run_channels (const SepconvPlan *plan, const SepconvPart *part,
    const RowsPlanar *planar, Workers *workers, RowsFilter filter, int first,
    int n)
{
  const SepconvChannel *channel = &plan->channel[first];
  const RowsPlanarRow *row = &planar->row[first];
  const Image *src = part->src, *dst = part->dst;
  RowsJob job = {
    .border = plan->border,
    .x = &plan->taps[channel->plane].x,
    .y = &plan->taps[channel->plane].y,
    .height = sepconv_channel_height (channel, src),
    .step = n,
    .n_samples = channel->width * n,
    .channel = channel,
    .src = sepconv_channel_data (channel, src),
    .src_stride = src->memory[channel->memory].stride,
    .dst = sepconv_channel_data (channel, dst),
    .dst_stride = dst->memory[channel->memory].stride,
  };

  if (row->n > 0) {
    job.src = planar->memory + row->src;
    job.dst = planar->memory + row->dst;
    job.src_stride = job.dst_stride = row->stride;
  }
  if (job.n_samples == 0 || job.height == 0)
    return;
  job.window = part->window != NULL
      ? part->window[channel->plane]
      : (SepconvWindow){ 0, 0, channel->width, job.height };
  if (count_filtered (channel, n) > 0)
    filter (plan, &job);
  else
    workers_run (workers, job.height, COPY_ROWS, copy_rows, &job);
}

bool
rows_run_planes (const SepconvPlan *plan, const SepconvPart *part,
    RowsPlanar *planar, Workers *workers, RowsFilter filter, Fault *fault)
{
  if (!rows_planar_gather (planar, plan, part->src, workers, fault))
    return false;
  for (int i = 0; i < plan->n_channels;) {
    const int channels = plan->layout.plane[plan->channel[i].plane].channels;
    const int n = rows_even_channels (plan, i);

    for (int c = 0; c < channels; c += n)
      run_channels (plan, part, planar, workers, filter, i + c, n);
    i += channels;
  }
  return true;
}

bool
rows_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  RowsState *state = plan->state;

  state->averages->run.n = 0;
  if (!rows_run_planes (
          plan, part, &state->planar, state->workers, filter_plane, fault))
    return false;
  rows_run_averages (
      &state->averages->run, state->workers, state->kernels->averages);
  rows_planar_scatter (&state->planar, plan, part->dst, state->workers);
  return true;
}

void
rows_release (SepconvPlan *plan)
{
  RowsState *state = plan->state;

  if (state == NULL)
    return;
  workers_free (state->workers);
  rows_planar_release (&state->planar);
  free (state->averages);
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

/* Allocates n sums, a multiple of ROWS_RUN, so that no vector of them crosses a cache line. */
static void *
row_new (size_t n)
{
  return aligned_alloc (64, n * sizeof (double));
}

bool
rows_prepare (SepconvPlan *plan, const RowsKernels *kernels, Fault *fault)
{
  RowsState *state = calloc (1, sizeof *state);
  size_t row = 0, reach = 0;
  int workers;

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  state->kernels = kernels;
  state->workers = workers_new (WORKERS_MAX, fault);
  if (state->workers == NULL
      || !rows_planar_prepare (plan, &state->planar, fault))
    return false;
  workers = workers_count (state->workers);
  state->averages = calloc (1, sizeof *state->averages);

  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *plane = &plan->layout.plane[p];
    const int height = image_plane_height (&plan->layout, p);
    const int samples = plane->width * plane->channels;

    row = max_size (row, (size_t) round_up (samples, ROWS_RUN));
    reach = max_size (reach, TAPS_MAX * (size_t) plane->channels);
    state->sums_bytes = max_size (state->sums_bytes,
        max_size (most_slab_bytes (height, sizeof (float)),
            most_slab_bytes (height, sizeof (double))));
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
  /* Zeroed, because whole runs read samples behind a line's end; their sums are thrown away. */
  state->lines = calloc ((size_t) workers, state->line_bytes);
  if (kernels->filter_codes != NULL) {
    const size_t bytes = (size_t) workers * sizeof *state->strips;

    state->strips = aligned_alloc (_Alignof(RowsStrip), bytes);
    /* Samples behind a line's end are read, and their sums are thrown away. */
    for (int i = 0; state->strips != NULL && i < workers; i++)
      memset (state->strips[i].line, 0, sizeof state->strips[i].line);
  }
  if (state->averages == NULL || state->taps_x == NULL || state->taps_y == NULL
      || state->offsets == NULL || state->outside == NULL || state->left == NULL
      || state->right == NULL || state->sums == NULL || state->lines == NULL
      || (kernels->filter_codes != NULL && state->strips == NULL))
    return fault_set (fault, FAULT_NO_SPACE,
        "Out of memory: %zu MiB for the filter's intermediate sums.",
        (size_t) workers * state->sums_bytes >> 20);
  state->averages->run.strips = (uint8_t *) state->strips;
  state->averages->run.strip_bytes = sizeof *state->strips;
  return true;
}
