/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* multirate: long smooth kernels at a lower sampling rate. multirate-plan.h has the formula,
 * multirate.cuh the order of the kernels. Sums are floats, except where tensor cores take bytes.
 * The frame is read from memory once and written once; the small picture in between stays in the L2
 * cache for factors of 4 and more.
 *
 * Windows along y are cut at the strips of the blocks, and their parts are added up later. So
 * strips may be as low as one cell (three cells in the kernel for bytes): there are enough blocks,
 * and no row is read twice.
 *
 * Memory is as large as the plan's taps need. Taps that are decimated less, or reach further, than
 * all before need more: the first run with them allocates it, which waits for earlier runs.
 *
 * With GPU_BESIDE_KERNELS, decimation of a frame overlaps interpolation of the frame before. Both
 * share one set of memory: decimate writes parts, interpolate reads sums, and no kernel in between
 * begins before both have ended (multirate.cuh). For that, a plane's share of the memory does not
 * depend on the frame's height. New taps change the shares, but arrive by a copy, which waits for
 * earlier runs, and for which later kernels wait. */
#include "../divide.h"
#include "../gpu-check.h"
#include "multirate-decimate-bytes.cuh"
#include "multirate-decimate.cuh"
#include "multirate-filter-bytes.cuh"
#include "multirate-filter.cuh"
#include "multirate-interpolate-bytes.cuh"
#include "multirate-interpolate.cuh"
#include "staging.cuh"
#include "twopass.cuh"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The fewest rows of a strip of decimate: with fewer, the windows along x of its parts of low rows
 * would take longer than the rows themselves. */
#define LEAST_STRIP_ROWS 8
/* Rows of a block of interpolate. */
#define LEAST_RESULT_ROWS 8
#define MOST_RESULT_ROWS 64
/* The fewest samples, for each multiprocessor, of a frame that takes turns. */
#define LEAST_TURN_SAMPLES 75e3
/* In turns, a kernel for bytes has blocks for this part of the GPU only, so that it runs beside one
 * of another frame. */
#define TURN_SHARE 2

/* The pictures in the memory begin at multiples of this number of floats: 256 bytes. */
#define FLOATS_UNIT 64

/* A plane's share of the memory: offsets of its pictures, in floats. */
struct MultirateShare
{
  size_t parts, sums_x, sums, more_sums;
};

struct MultirateState
{
  Staging tables;             /* MultirateTables[most_terms][layout.n_planes] */
  unsigned planned, uploaded; /* revisions of the plan; 0: none */
  MultiratePlane *axes;       /* [most_terms][layout.n_planes] */
  MultirateShare share[IMAGE_MAX_PLANES];
  float *memory; /* device */
  size_t floats;
};

/* Launch arguments of all kernels, for the planes whose samples have one size. */
struct MultirateLaunch
{
  MultirateFrame frame;
  int share; /* the kernels for bytes have blocks for 1 / share of the GPU */
  int blocks[MULTIRATE_N_KERNELS];
  int threads[MULTIRATE_N_KERNELS];
  size_t shared[MULTIRATE_N_KERNELS];
  MultirateBytesWay way; /* suits all planes of bytes */
  MultirateResultWay result_way; /* suits all planes of bytes */
  int pair_steps;        /* the most of any plane */
};

#define DECIMATE_BYTES(way) \
  { \
    multirate_decimate_bytes<way>, sizeof (MultirateBytesMemory<way>) \
  }

/* The kernels that read bytes. */
static const struct
{
  void (*kernel) (MultirateFrame);
  size_t shared;
} decimate_bytes[MULTIRATE_N_WAYS] = {
  DECIMATE_BYTES (MULTIRATE_WHOLE),
  DECIMATE_BYTES (MULTIRATE_FLAT),
  DECIMATE_BYTES (MULTIRATE_PICKS),
  DECIMATE_BYTES (MULTIRATE_GATHERS),
};

/* The kernels that write bytes, without unsharp masking. */
static void (*const interpolate_bytes[MULTIRATE_N_RESULT_WAYS]) (
    MultirateFrame) = {
  multirate_interpolate_bytes<MULTIRATE_RESULT_ANY, false>,
  multirate_interpolate_bytes<MULTIRATE_RESULT_PLAIN, false>,
  multirate_interpolate_bytes<MULTIRATE_RESULT_KEEPS, false>,
};

/* The fewest cells of a strip. For bytes, no low row may have more than two parts, as
 * multirate-filter-bytes.cuh adds up no more. */
static int
least_cells (const MultiratePart *plane)
{
  const int cells = divide_up (LEAST_STRIP_ROWS, plane->factor_y);

  return plane->bytes ? max (cells, MULTIRATE_REACH - 1) : cells;
}

/* Fills in the fields that depend on a plane's taps and size. */
static void
lay_out (MultiratePart *plane, const MultiratePlane *axes, SepconvBorder border)
{
  const MultirateAxis *x = &axes->x, *y = &axes->y;
  const MultirateLows columns =
      multirate_distinct_lows (x, plane->width, border);
  const MultirateLows rows = multirate_distinct_lows (y, plane->height, border);
  const int cell = x->factor * plane->channels;
  const int most = plane->bytes
      ? multirate_bytes_lows (columns.first, x->factor, plane->channels)
      : (MULTIRATE_MOST_TILE - MULTIRATE_SAMPLES) / cell
          - (MULTIRATE_REACH - 1);

  plane->factor_x = x->factor;
  plane->factor_y = y->factor;
  plane->shift_x = ilogb (x->factor);
  plane->shift_y = ilogb (y->factor);
  plane->first_x = x->first;
  plane->first_y = y->first;
  plane->taps_x = x->n;
  plane->taps_y = y->n;
  plane->first_column = columns.first;
  plane->low_columns = columns.n;
  plane->low_pitch = round_up (columns.n, 4);
  plane->first_row = rows.first;
  plane->low_rows = rows.n;
  plane->tiles = divide_up (plane->low_columns, most);
  plane->tile_lows = divide_up (plane->low_columns, plane->tiles);
  if (plane->bytes)
    plane->tile_lows = round_up (
        plane->tile_lows, multirate_group_cells (x->factor, plane->channels));
  plane->cells = plane->low_rows + MULTIRATE_REACH - 1;
  plane->sum_columns = multirate_sums (x, plane->width);
  plane->sum_rows = multirate_sums (y, plane->height);
  plane->pitch = round_up (plane->sum_columns, 4);
}

static size_t
round_up_floats (size_t floats)
{
  return (floats + FLOATS_UNIT - 1) / FLOATS_UNIT * FLOATS_UNIT;
}

/* The most floats that the parts take: with the lowest strips. */
static size_t
parts_floats (const MultiratePart *plane)
{
  const size_t strips = (size_t) divide_up (plane->cells, least_cells (plane));

  return round_up_floats (
      ((size_t) plane->cells + (MULTIRATE_REACH - 1) * strips)
      * (size_t) plane->channels * (size_t) plane->low_pitch);
}

static size_t
sums_floats (const MultiratePart *plane, int rows)
{
  return round_up_floats (
      (size_t) rows * (size_t) plane->channels * (size_t) plane->pitch);
}

/* Gives a plane, for which lay_out() was called, its share from offset `begin` on. Returns the end
 * of the share. */
static size_t
divide_memory (MultirateShare *share, const MultiratePart *plane, int n_terms,
    size_t begin)
{
  const size_t sums = sums_floats (plane, plane->sum_rows);

  share->parts = begin;
  share->sums_x = share->parts + parts_floats (plane);
  share->sums = share->sums_x + sums_floats (plane, plane->low_rows);
  share->more_sums = share->sums + sums;
  return n_terms > 1 ? share->more_sums + sums : share->more_sums;
}

/* Makes memory of at least `floats` floats. cudaFree() of the old memory waits for the runs that
 * still use it. */
static bool
reserve (MultirateState *state, size_t floats, Fault *fault)
{
  if (floats <= state->floats)
    return true;
  gpu_free (state->memory);
  state->floats = 0;
  state->memory = (float *) gpu_malloc (floats * sizeof (float), fault);
  if (state->memory == NULL)
    return false;
  state->floats = floats;
  return true;
}

/* Whether the samples beyond the borders are bytes, too. */
static bool
has_byte_borders (const SepconvPlan *plan, int p)
{
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);

  for (int c = 0; c < plan->layout.plane[p].channels; c++) {
    const double code = channel[c].border + channel[c].center;

    if (plan->border == SEPCONV_CONSTANT
        && (code != floor (code) || code < 0.0 || code > 255.0))
      return false;
  }
  return true;
}

/* Whether a filtered plane is taken by the kernels for bytes. This must not depend on alignment:
 * the other kernels round differently, and a method's results must depend on codes only. */
static bool
goes_by_bytes (const SepconvPlan *plan, int p, const MultiratePlane *axes)
{
  const ImagePlane *layout = &plan->layout.plane[p];

  return gpu_capability (plan->gpu) >= INSTRUCTIONS_CAPABILITY
      && multirate_takes_bytes (&axes->x, &axes->y, layout->channels)
      && layout->depth == 8 && layout->shift == 0 && image_is_packed (layout)
      && has_byte_borders (plan, p);
}

/* The axes of a plane's second term. If only other planes have a second term, its taps are 0, as
 * all planes are cut into blocks alike for both terms. */
static void
find_more_axes (const MultiratePlane &axes, MultiratePlane *more)
{
  *more = axes;
  if (axes.n_terms > 1) {
    more->x = axes.more_x;
    more->y = axes.more_y;
  } else {
    memset (more->x.tap, 0, sizeof more->x.tap);
    memset (more->y.tap, 0, sizeof more->y.tap);
  }
}

/* If the plan's taps are new, plans the planes for them and makes memory that is large enough. */
static bool
adopt_taps (SepconvPlan *plan, Fault *fault)
{
  MultirateState *state = (MultirateState *) plan->state;
  const Image *layout = &plan->layout;
  size_t floats = 0;

  if (state->planned == plan->revision)
    return true;
  multirate_plan_planes (state->axes, plan, MULTIRATE_BYTE_WINDOWS);
  for (int p = 0; p < layout->n_planes && plan->most_terms > 1; p++)
    if (plan->taps[p].x.n > 0)
      find_more_axes (state->axes[p], &state->axes[layout->n_planes + p]);
  for (int p = 0; p < layout->n_planes; p++) {
    MultiratePart plane = MultiratePart ();

    if (plan->taps[p].x.n == 0)
      continue;
    plane.channels = layout->plane[p].channels;
    plane.width = layout->plane[p].width;
    plane.height = image_plane_height (layout, p);
    plane.bytes = goes_by_bytes (plan, p, &state->axes[p]);
    lay_out (&plane, &state->axes[p], plan->border);
    floats = divide_memory (&state->share[p], &plane, plan->most_terms, floats);
  }
  if (!reserve (state, floats, fault))
    return false;
  state->planned = plan->revision;
  return true;
}

static float4
four (const float *of, int step)
{
  return make_float4 (of[0], of[step], of[2 * step], of[3 * step]);
}

static float4
in_reverse (const float4 &of)
{
  return make_float4 (of.w, of.z, of.y, of.x);
}

static void
write_tables (MultirateTables *to, const SepconvPlan *plan, int p,
    const MultiratePlane *axes)
{
  const MultirateAxis *x = &axes->x, *y = &axes->y;
  const ImagePlane *layout = &plan->layout.plane[p];
  const bool bytes = goes_by_bytes (plan, p, axes);
  const int unit = bytes ? 1 : image_full_code (layout);
  double cell[MULTIRATE_REACH] = {};

  memset (to, 0, sizeof *to);
  for (int p = 0; p < x->factor; p++) {
    to->window_x[p] = four (&x->window[p], x->factor);
    to->phase_x[p] = four (x->phase[p], 1);
  }
  for (int p = 0; p < y->factor; p++) {
    to->window_y[p] = in_reverse (four (&y->window[p], y->factor));
    to->phase_y[p] = four (y->phase[p], 1);
    for (int t = 0; t < MULTIRATE_REACH; t++)
      cell[t] += y->window[t * y->factor + p];
  }
  to->cell_y = make_float4 (
      (float) cell[3], (float) cell[2], (float) cell[1], (float) cell[0]);
  if (bytes) {
    multirate_write_byte_windows (to, axes, layout->channels);
    multirate_write_result_weights (to, axes, layout->channels);
    if (multirate_pair_steps (axes, plan->border) > 0) {
      multirate_write_pairs (
          x, multirate_tap_skew (x, plan->border), to->pair_x);
      multirate_write_pairs (y, 0, to->pair_y);
    }
  }
  memcpy (to->tap_x, x->tap, sizeof x->tap[0] * (size_t) x->n);
  for (int j = 0; j < y->n; j++)
    to->tap_y[MULTIRATE_COLUMN_SUMS + j] = (float) ((double) y->tap[j] / unit);
}

static bool
upload (SepconvPlan *plan, GpuStream stream, Fault *fault)
{
  MultirateState *state = (MultirateState *) plan->state;
  const int n = plan->layout.n_planes;
  MultirateTables *stage;

  if (state->uploaded == plan->revision)
    return true;
  stage = (MultirateTables *) staging_begin (&state->tables, fault);
  if (stage == NULL)
    return false;
  for (int p = 0; p < n; p++)
    for (int t = 0; plan->taps[p].x.n > 0 && t < plan->most_terms; t++)
      write_tables (&stage[t * n + p], plan, p, &state->axes[t * n + p]);
  if (!staging_send (&state->tables,
          (size_t) (plan->most_terms * n) * sizeof *stage, stream, fault))
    return false;
  state->uploaded = plan->revision;
  return true;
}

static int
chunk_unit (const uint8_t *data, ptrdiff_t stride)
{
  return image_is_aligned (data, stride, MULTIRATE_CHUNK) ? MULTIRATE_CHUNK
      : image_is_aligned (data, stride, 4)                ? 4
                                                          : 1;
}

/* Fills in the mix, for sums in units of `unit` codes. */
static void
describe_mix (const SepconvPlan *plan, int p, double unit, MultiratePart *plane)
{
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  const MultirateMix mix = multirate_plan_mix (plan);

  plane->compares = mix.compares;
  plane->weight = (float) (mix.weight / unit);
  plane->keep = (float) (mix.keep / unit);
  plane->threshold = (float) (multirate_threshold (plan, channel) / unit);
  for (int c = 0; c < plane->channels; c++) {
    const double center = channel[c].center;

    plane->offset[c] =
        (float) ((multirate_offset (plan, &channel[c]) - mix.weight * center)
            / unit);
    plane->last[c] =
        (float) ((multirate_last (plan, &channel[c]) - mix.keep * center)
            / unit);
  }
}

/* Fills in the fields that only the kernels for bytes use. */
static void
describe_bytes (const SepconvPlan *plan, int p, const MultiratePlane *axes,
    MultiratePart *plane)
{
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);

  plane->bytes = true;
  plane->src_unit = chunk_unit (plane->src, plane->src_stride);
  plane->dst_unit = chunk_unit (plane->dst, plane->dst_stride);
  plane->byte_unit = 1.0f
      / ((float) (axes->x.factor * axes->x.weight_sum)
          * (float) (axes->y.factor * axes->y.weight_sum));
  plane->pair_steps = multirate_pair_steps (axes, plan->border);
  if (plane->pair_steps > 0) {
    plane->tap_skew = multirate_tap_skew (&axes->x, plan->border);
    plane->sum_unit = ldexpf (
        1.0f, -multirate_tap_shift (&axes->x) - multirate_tap_shift (&axes->y));
  }
  describe_mix (plan, p, 1.0, plane);
  for (int j = 0; j < 4; j++) {
    const SepconvChannel *of = &channel[j % plane->channels];

    plane->border_bytes |= (uint32_t) (of->border + of->center) << 8 * j;
  }
}

/* Returns a plane with the fields that do not depend on the taps. */
static MultiratePart
describe (const SepconvPlan *plan, const SepconvPart *part, int p)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const ImageMemory *src = &part->src->memory[layout->memory];
  const ImageMemory *dst = &part->dst->memory[layout->memory];
  const int bytes = image_sample_bytes (layout);
  const int group = MULTIRATE_SAMPLES * bytes;
  const SepconvChannel *channel = sepconv_plane_channels (plan, p);
  MultiratePart plane = MultiratePart ();

  plane.src = src->data + layout->offset;
  plane.dst = dst->data + layout->offset;
  plane.src_stride = src->stride;
  plane.dst_stride = dst->stride;
  plane.width = layout->width;
  plane.height = src->height;
  plane.channels = layout->channels;
  plane.n_samples = layout->width * layout->channels;
  plane.pixel_stride = layout->pixel_stride;
  plane.channel_stride = layout->channel_stride;
  plane.src_direct = image_is_packed (layout)
      && image_is_aligned (plane.src, src->stride, group);
  plane.dst_direct = image_is_packed (layout)
      && image_is_aligned (plane.dst, dst->stride, group);
  plane.shift = layout->shift;
  plane.max_code = image_full_code (layout);
  plane.mask = (bytes == 1 ? 0x1010101u : 0x10001u)
      * ((uint32_t) plane.max_code << plane.shift);
  plane.center = (float) channel->center; /* the same for all channels */
  for (int c = 0; c < plane.channels; c++) {
    if (!channel[c].filter)
      plane.kept |= 1u << c;
    plane.border[c] = (float) channel[c].border;
  }
  describe_mix (plan, p, plane.max_code, &plane);
  plane.middle = 0x1p23f + ldexpf (plane.center, plane.shift);
  plane.unit = ldexpf (1.0f, (bytes == 1 ? 149 - 126 : 0) - plane.shift);
  return plane;
}

/* The number of warps of a block of decimate, which makes one tile of low columns. */
static int
tile_warps (const MultiratePart *plane)
{
  return divide_up ((plane->tile_lows + MULTIRATE_REACH - 1) * plane->factor_x
              * plane->channels
          + MULTIRATE_SAMPLES - 1,
      MULTIRATE_WARP_STEP);
}

/* The number of rows of a block, such that the blocks that the GPU runs at once have all rows of
 * all planes. `rows_across`: number of rows, each as wide as a block; `block`: threads of a block;
 * `threads`: threads that a multiprocessor runs at once. */
static int
rows_of_block (
    const SepconvPlan *plan, double rows_across, int block, int threads)
{
  const int at_once = gpu_multiprocessors (plan->gpu) * (threads / block);

  return (int) fmin (ceil (rows_across / at_once), IMAGE_MAX_HEIGHT);
}

/* Cuts planes into strips for decimate: the planes of bytes, or all others. The strips do not depend
 * on launch->share: cut differently, sums would be rounded differently. */
static void
cut_strips (const SepconvPlan *plan, MultirateLaunch *launch, bool bytes)
{
  const MultirateKernel kernel =
      bytes ? MULTIRATE_DECIMATE_BYTES : MULTIRATE_DECIMATE;
  double rows_across = 0.0;
  int threads = bytes ? MULTIRATE_BYTES_THREADS : MULTIRATE_WARP, rows;

  for (int i = 0; i < launch->frame.n_planes; i++) {
    const MultiratePart *plane = &launch->frame.plane[i];

    if (plane->tables == NULL || plane->bytes != bytes)
      continue;
    if (!bytes)
      threads = max (threads, tile_warps (plane) * MULTIRATE_WARP);
    rows_across += (double) plane->tiles * plane->cells * plane->factor_y;
  }
  launch->threads[kernel] = threads;
  rows = rows_of_block (plan, rows_across, threads,
      bytes ? MULTIRATE_BYTES_AT_ONCE : MULTIRATE_THREADS_AT_ONCE);
  for (int i = 0; i < launch->frame.n_planes; i++) {
    MultiratePart *plane = &launch->frame.plane[i];

    if (plane->tables == NULL || plane->bytes != bytes)
      continue;
    plane->strip_cells =
        max (divide_up (rows, plane->factor_y), least_cells (plane));
    if (bytes)
      plane->strip_cells =
          round_up (plane->strip_cells, multirate_strip_unit (plane->factor_y));
    plane->strips = divide_up (plane->cells, plane->strip_cells);
    plane->strips_at_once = bytes ? launch->share : 1;
  }
}

/* Cuts planes into tiles for interpolate: the planes of bytes, or all others. */
static void
cut_results (const SepconvPlan *plan, MultirateLaunch *launch, bool bytes)
{
  const int tile = bytes ? MULTIRATE_RESULT_BYTES_TILE : MULTIRATE_RESULT_TILE;
  double rows_across = 0.0;
  int rows;

  for (int i = 0; i < launch->frame.n_planes; i++) {
    MultiratePart *plane = &launch->frame.plane[i];

    if (plane->bytes != bytes)
      continue;
    plane->result_tiles = divide_up (plane->n_samples, tile);
    rows_across += (double) plane->result_tiles * plane->height;
  }
  rows = bytes ? rows_of_block (plan, launch->share * rows_across,
             MULTIRATE_RESULT_BYTES_THREADS, MULTIRATE_RESULT_BYTES_AT_ONCE)
               : rows_of_block (plan, rows_across, MULTIRATE_RESULT_THREADS,
                   MULTIRATE_THREADS_AT_ONCE);
  rows = max (rows, LEAST_RESULT_ROWS);
  if (!bytes)
    rows = min (rows, MOST_RESULT_ROWS);
  for (int i = 0; i < launch->frame.n_planes; i++) {
    MultiratePart *plane = &launch->frame.plane[i];

    if (plane->bytes != bytes)
      continue;
    plane->result_cells = rows;
    if (plane->tables == NULL)
      continue;
    plane->result_cells = bytes
        ? divide_up (rows, MULTIRATE_RESULT_ROWS)
        : min (divide_up (rows, plane->factor_y),
            MULTIRATE_RESULT_FLOATS
                    / (plane->channels
                        * multirate_tile_sums (
                            plane->factor_x, plane->channels))
                - (MULTIRATE_REACH - 1));
  }
}

/* Cuts planes of few taps into tiles for along_both. Tiles are as high as possible, since each sums
 * its halo along x again, but leave two blocks for each multiprocessor. */
static void
cut_sums (const SepconvPlan *plan, MultirateLaunch *launch)
{
  const int wanted = 2 * gpu_multiprocessors (plan->gpu);
  int rows = MULTIRATE_BOTH_MOST_ROWS;

  for (;; rows /= 2) {
    int blocks = 0;

    for (int i = 0; i < launch->frame.n_planes; i++) {
      MultiratePart *plane = &launch->frame.plane[i];

      if (plane->tables == NULL || plane->pair_steps > 0
          || plane->taps_x > MULTIRATE_BOTH_MOST_TAPS
          || plane->taps_y > MULTIRATE_BOTH_MOST_TAPS)
        continue;
      plane->both_tiles = divide_up (plane->pitch, MULTIRATE_BOTH_COLUMNS);
      plane->both_rows = rows;
      blocks += plane->both_tiles * plane->channels
          * divide_up (plane->sum_rows, rows);
    }
    if (blocks >= wanted || rows <= MULTIRATE_COLUMN_SUMS)
      break;
  }
}

/* Cuts planes into tiles of `rows` rows for along_both for bytes. Returns the turns that the kernel
 * takes: turns of a block, times waves of blocks. */
static int
cut_byte_sums (const SepconvPlan *plan, MultirateLaunch *launch, int rows)
{
  int blocks = 0;

  for (int i = 0; i < launch->frame.n_planes; i++) {
    MultiratePart *plane = &launch->frame.plane[i];

    if (plane->pair_steps == 0)
      continue;
    plane->both_tiles = divide_up (plane->pitch, MULTIRATE_PAIRS_COLUMNS);
    plane->both_rows = rows;
    blocks +=
        plane->both_tiles * plane->channels * divide_up (plane->sum_rows, rows);
  }
  return divide_up (launch->share * blocks,
             MULTIRATE_PAIRS_AT_ONCE * gpu_multiprocessors (plan->gpu))
      * (rows / TENSOR_STEP + launch->pair_steps - 1);
}

/* The same, with the height of tiles that takes the fewest turns. */
static void
cut_fewest_byte_sums (const SepconvPlan *plan, MultirateLaunch *launch)
{
  int best = TENSOR_STEP, fewest = INT_MAX;

  for (int rows = TENSOR_STEP; rows <= MULTIRATE_PAIRS_MOST_ROWS;
       rows += TENSOR_STEP) {
    const int turns = cut_byte_sums (plan, launch, rows);

    if (turns < fewest) {
      fewest = turns;
      best = rows;
    }
  }
  cut_byte_sums (plan, launch, best);
}

/* Counts the blocks of each kernel for a plane; `blocks` starts zeroed. */
static void
count_blocks (const MultiratePart *plane, int (&blocks)[MULTIRATE_N_KERNELS])
{
  if (plane->tables == NULL) {
    blocks[MULTIRATE_INTERPOLATE] =
        plane->result_tiles * divide_up (plane->height, plane->result_cells);
    return;
  }
  blocks[plane->bytes ? MULTIRATE_DECIMATE_BYTES : MULTIRATE_DECIMATE] =
      plane->tiles * divide_up (plane->strips, plane->strips_at_once);
  if (plane->both_rows > 0) {
    const MultirateKernel kernel = plane->pair_steps > 0
        ? MULTIRATE_ALONG_BOTH_BYTES
        : MULTIRATE_ALONG_BOTH;

    blocks[kernel] = plane->both_tiles * plane->channels
        * divide_up (plane->sum_rows, plane->both_rows);
  } else {
    blocks[MULTIRATE_ALONG_X] = divide_up (plane->low_rows * plane->channels
            * divide_up (plane->sum_columns, MULTIRATE_SEGMENT),
        MULTIRATE_FILTER_WARPS);
    blocks[MULTIRATE_ALONG_Y] =
        divide_up (plane->channels * plane->pitch, MULTIRATE_WARP)
        * divide_up (
            plane->sum_rows, MULTIRATE_FILTER_WARPS * MULTIRATE_COLUMN_SUMS);
  }
  if (plane->bytes)
    blocks[MULTIRATE_INTERPOLATE_BYTES] = plane->result_tiles
        * divide_up (
            plane->height, MULTIRATE_RESULT_ROWS * plane->result_cells);
  else
    blocks[MULTIRATE_INTERPOLATE] = plane->result_tiles
        * divide_up (
            plane->sum_rows - MULTIRATE_REACH + 1, plane->result_cells);
}

static void
number_blocks (MultirateLaunch *launch)
{
  for (int i = 0; i < launch->frame.n_planes; i++) {
    MultiratePart *plane = &launch->frame.plane[i];
    int blocks[MULTIRATE_N_KERNELS] = {};

    count_blocks (plane, blocks);
    for (int k = 0; k < MULTIRATE_N_KERNELS; k++) {
      plane->first_block[k] = launch->blocks[k];
      launch->blocks[k] += blocks[k];
    }
  }
}

/* Takes a plane of bytes into account. */
static void
add_result_way (MultirateLaunch *launch, MultirateResultWay way)
{
  const bool first = launch->shared[MULTIRATE_INTERPOLATE_BYTES] == 0;

  launch->result_way =
      first || launch->result_way == way ? way : MULTIRATE_RESULT_ANY;
}

/* Prepares the launches for one term of all planes whose samples have `bytes` bytes. */
static MultirateLaunch
prepare_launch (
    const SepconvPlan *plan, const SepconvPart *part, int bytes, int term)
{
  const MultirateState *state = (const MultirateState *) plan->state;
  MultirateLaunch launch = MultirateLaunch ();

  launch.frame.border = plan->border;
  launch.frame.order = part->order;
  launch.share = part->order == GPU_BESIDE_KERNELS && sepconv_has_turns (plan)
      ? TURN_SHARE
      : 1;
  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *layout = &plan->layout.plane[p];
    const ImageRows *rows = &part->result[layout->memory];
    MultiratePart *plane = &launch.frame.plane[launch.frame.n_planes];

    if (image_sample_bytes (layout) != bytes || rows->first >= rows->last)
      continue;
    *plane = describe (plan, part, p);
    if (plan->taps[p].x.n > 0) {
      const int at = term * plan->layout.n_planes + p;
      const MultiratePlane *axes = &state->axes[at];

      plane->tables = (const MultirateTables *) state->tables.device + at;
      if (goes_by_bytes (plan, p, axes))
        describe_bytes (plan, p, axes, plane);
      lay_out (plane, axes, plan->border);
      if (plane->bytes) {
        const MultirateBytesWay way = multirate_plane_way (plane, plan->border);

        launch.way = way > launch.way ? way : launch.way;
        add_result_way (&launch, multirate_result_way (plane));
        launch.pair_steps = max (launch.pair_steps, plane->pair_steps);
        launch.shared[MULTIRATE_INTERPOLATE_BYTES] =
            max (launch.shared[MULTIRATE_INTERPOLATE_BYTES],
                multirate_plane_shared (plane));
      }
      plane->parts = state->memory + state->share[p].parts;
      plane->sums_x = state->memory + state->share[p].sums_x;
      plane->sums = state->memory + state->share[p].sums;
      if (plan->most_terms > 1)
        plane->more_sums = state->memory + state->share[p].more_sums;
      /* The second term's sums are added to the first one's, which include the offset. */
      if (term > 0) {
        plane->sums = plane->more_sums;
        memset (plane->offset, 0, sizeof plane->offset);
      }
    }
    launch.frame.n_planes++;
  }
  launch.threads[MULTIRATE_ALONG_X] = MULTIRATE_FILTER_THREADS;
  launch.threads[MULTIRATE_ALONG_Y] = MULTIRATE_FILTER_THREADS;
  launch.threads[MULTIRATE_ALONG_BOTH] = MULTIRATE_BOTH_THREADS;
  launch.threads[MULTIRATE_ALONG_BOTH_BYTES] = MULTIRATE_PAIRS_THREADS;
  launch.threads[MULTIRATE_INTERPOLATE] = MULTIRATE_RESULT_THREADS;
  launch.threads[MULTIRATE_INTERPOLATE_BYTES] = MULTIRATE_RESULT_BYTES_THREADS;
  launch.shared[MULTIRATE_DECIMATE_BYTES] = decimate_bytes[launch.way].shared;
  for (int bytes = 0; bytes < 2; bytes++) {
    cut_strips (plan, &launch, bytes != 0);
    cut_results (plan, &launch, bytes != 0);
  }
  cut_sums (plan, &launch);
  if (launch.pair_steps > 0)
    cut_fewest_byte_sums (plan, &launch);
  number_blocks (&launch);
  return launch;
}

static bool
launch_kernels (const SepconvPlan *plan, const SepconvPart *part,
    const MultirateLaunch *launch,
    void (*const kernels[MULTIRATE_N_KERNELS]) (MultirateFrame), int first,
    int last, Fault *fault)
{
  bool ok = false;

  for (int k = first; k <= last; k++)
    if (launch->blocks[k] > 0)
      GPU_CHECK (gpu_launch_early (plan->gpu, kernels[k], launch->blocks[k],
                     launch->threads[k], launch->shared[k], part->stream,
                     launch->frame),
          fault);
  ok = true;
done:
  return ok;
}

/* Launches the kernels that filter the small picture for the second term and add its sums to the
 * first one's. */
static bool
launch_more (const SepconvPlan *plan, const SepconvPart *part,
    const MultirateLaunch *launch, const MultirateLaunch *more,
    void (*const kernels[MULTIRATE_N_KERNELS]) (MultirateFrame), Fault *fault)
{
  long long sums = 0;
  bool ok = false;

  for (int i = 0; i < launch->frame.n_planes; i++)
    sums = max (sums, multirate_count_sums (&launch->frame.plane[i]));
  if (sums == 0)
    return true;
  if (!launch_kernels (plan, part, more, kernels, MULTIRATE_ALONG_X,
          MULTIRATE_ALONG_BOTH_BYTES, fault))
    return false;
  GPU_CHECK (gpu_launch_early (plan->gpu, multirate_add_sums,
                 dim3 ((unsigned) ((sums - 1) / MULTIRATE_ADD_THREADS + 1),
                     launch->frame.n_planes),
                 MULTIRATE_ADD_THREADS, 0, part->stream, launch->frame),
      fault);
  ok = true;
done:
  return ok;
}

template <int BYTES>
static bool
run_planes (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  const MultirateLaunch launch = prepare_launch (plan, part, BYTES, 0);
  const bool sharpens = plan->combine == SEPCONV_UNSHARP;
  void (*const kernels[MULTIRATE_N_KERNELS]) (MultirateFrame) = {
    multirate_decimate<BYTES>,
    decimate_bytes[launch.way].kernel,
    multirate_along_x,
    multirate_along_y,
    multirate_along_both,
    launch.pair_steps > MULTIRATE_LEAST_STEPS
        ? multirate_along_both_bytes<MULTIRATE_MOST_STEPS>
        : multirate_along_both_bytes<MULTIRATE_LEAST_STEPS>,
    sharpens ? multirate_interpolate<BYTES, true>
             : multirate_interpolate<BYTES, false>,
    (sharpens ? multirate_sharpen_bytes : interpolate_bytes)[launch.result_way],
  };

  if (!launch_kernels (plan, part, &launch, kernels, MULTIRATE_DECIMATE,
          MULTIRATE_ALONG_BOTH_BYTES, fault))
    return false;
  if (plan->most_terms > 1) {
    const MultirateLaunch more = prepare_launch (plan, part, BYTES, 1);

    if (!launch_more (plan, part, &launch, &more, kernels, fault))
      return false;
  }
  return launch_kernels (plan, part, &launch, kernels, MULTIRATE_INTERPOLATE,
      MULTIRATE_INTERPOLATE_BYTES, fault);
}

static bool
multirate_run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
{
  return adopt_taps (plan, fault) && upload (plan, part->stream, fault)
      && run_planes<1> (plan, part, fault) && run_planes<2> (plan, part, fault);
}

/* Loads a kernel. All kernels use the same split between shared memory and L1 cache: with a
 * different split, no block of the next kernel could begin before the previous kernel has ended. */
static bool
load_kernel (void (*kernel) (MultirateFrame), Fault *fault)
{
  bool ok = false;

  GPU_CHECK (cudaFuncSetAttribute ((const void *) kernel,
                 cudaFuncAttributePreferredSharedMemoryCarveout,
                 cudaSharedmemCarveoutMaxShared),
      fault);
  ok = twopass_load_kernel ((const void *) kernel, fault);
done:
  return ok;
}

/* Loads a kernel for bytes that takes up to `shared` bytes of shared memory. */
static bool
load_bytes_kernel (const SepconvPlan *plan, void (*kernel) (MultirateFrame),
    size_t shared, Fault *fault)
{
  bool ok = false;

  if (gpu_capability (plan->gpu) >= INSTRUCTIONS_CAPABILITY)
    GPU_CHECK (cudaFuncSetAttribute ((const void *) kernel,
                   cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared),
        fault);
  ok = load_kernel (kernel, fault);
done:
  return ok;
}

static bool
load_bytes_kernels (const SepconvPlan *plan, Fault *fault)
{
  for (int way = 0; way < MULTIRATE_N_WAYS; way++)
    if (!load_bytes_kernel (plan, decimate_bytes[way].kernel,
            decimate_bytes[way].shared, fault))
      return false;
  for (int way = 0; way < MULTIRATE_N_RESULT_WAYS; way++)
    if (!load_bytes_kernel (plan, interpolate_bytes[way],
            MULTIRATE_RESULT_BYTES_WARPS * MULTIRATE_RESULT_MOST_SHARED, fault)
        || !load_bytes_kernel (plan, multirate_sharpen_bytes[way],
            MULTIRATE_RESULT_BYTES_WARPS * MULTIRATE_RESULT_MOST_SHARED, fault))
      return false;
  return true;
}

static bool
load_kernels (const SepconvPlan *plan, Fault *fault)
{
  return load_bytes_kernels (plan, fault)
      && load_kernel (multirate_decimate<1>, fault)
      && load_kernel (multirate_decimate<2>, fault)
      && load_kernel (multirate_along_x, fault)
      && load_kernel (multirate_along_y, fault)
      && load_kernel (multirate_along_both, fault)
      && load_kernel (multirate_along_both_bytes<MULTIRATE_LEAST_STEPS>, fault)
      && load_kernel (multirate_along_both_bytes<MULTIRATE_MOST_STEPS>, fault)
      && load_kernel (multirate_add_sums, fault)
      && load_kernel (multirate_interpolate<1, false>, fault)
      && load_kernel (multirate_interpolate<2, false>, fault)
      && load_kernel (multirate_interpolate<1, true>, fault)
      && load_kernel (multirate_interpolate<2, true>, fault);
}

static bool
multirate_prepare (SepconvPlan *plan, Fault *fault)
{
  const size_t n = (size_t) plan->layout.n_planes;
  MultirateState *state = (MultirateState *) calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  state->axes = (MultiratePlane *) calloc (
      (size_t) plan->most_terms * n, sizeof *state->axes);
  if (state->axes == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
  return staging_init (&state->tables,
             (size_t) plan->most_terms * n * sizeof (MultirateTables), fault)
      && adopt_taps (plan, fault) && load_kernels (plan, fault);
}

static void
multirate_release (SepconvPlan *plan)
{
  MultirateState *state = (MultirateState *) plan->state;

  if (state == NULL)
    return;
  staging_clear (&state->tables);
  gpu_free (state->memory);
  free (state->axes);
  free (state);
}

/* Microseconds of a frame: at any size, and of each million samples. */
typedef struct
{
  double any_size;
  double cost, of_two, of_four; /* of 1, 2 and 4 channels */
  double smaller_planes; /* added if some planes have half of the factor */
} MultirateTime;

static bool
takes_turns (const SepconvWork *work)
{
  return sepconv_work_takes_turns (work, LEAST_TURN_SAMPLES);
}

/* Cost of the kernels for bytes, by the factors that the taps allow. Planes with fewer samples have
 * half the taps and half the factor. A gaussian that is cut at 3 sigma, and so ends with a jump,
 * gets the factor of one with a third of its taps. */
static double
bytes_cost (const SepconvWork *work)
{
  static const struct
  {
    double taps; /* the fewest taps for factors of 16, 8, 4, 2, 1 */
    MultirateTime back_to_back, in_turns;
  } steps[] = {
    { 225.0, { 8.0, 0.735, 0.80, 0.96, 0.07 },
        { 2.2, 0.575, 0.60, 0.68, 0.04 } },
    { 117.0, { 7.8, 0.74, 0.78, 1.07, 0.20 }, { 2.6, 0.61, 0.62, 0.80, 0.05 } },
    { 57.0, { 9.8, 1.10, 1.17, 1.22, 0.12 }, { 4.0, 1.02, 1.03, 1.12, 0.07 } },
    { 25.0, { 10.5, 2.3, 2.5, 2.5, 0.4 }, { 6.0, 1.9, 2.1, 2.1, 0.3 } },
    /* An axis is not decimated: the general kernels take the plane. */
    { 0.0, { 10.5, 3.4, 3.4, 3.4, 0.0 }, { 6.0, 2.9, 2.9, 2.9, 0.0 } },
  };
  const double more = fmax (work->x_taps, work->y_taps);
  const double less = fmin (work->x_taps, work->y_taps);
  const double taps =
      work->longest * less / more * (work->jump > 0.003 ? 1.0 / 3.0 : 1.0);
  const MultirateTime *time;
  size_t i = 0;
  double cost;

  while (taps < steps[i].taps)
    i++;
  time = takes_turns (work) ? &steps[i].in_turns : &steps[i].back_to_back;
  cost = work->channels >= 3 ? time->of_four
      : work->channels == 2  ? time->of_two
                             : time->cost;
  if (more < work->longest - 0.5)
    cost += time->smaller_planes;
  return time->any_size + work->samples * cost;
}

/* Additional microseconds of a frame of bytes whose border mirrors or wraps; docs/performance.md
 * has the measured times. */
static double
border_cost (const SepconvWork *work)
{
  const double of_samples = work->channels >= 3 ? 0.16 : 0.04;

  return border_is_flat (work->border)
      ? 0.0
      : (takes_turns (work) ? 3.0 : 5.0) + of_samples * work->samples;
}

/* Cost of the general kernels with more than 10 bits, for which factors are smaller; n: mean number
 * of taps. */
static double
deep_cost (const SepconvWork *work, double n)
{
  static const struct
  {
    double taps; /* the fewest taps that the row is for */
    double any_size, of_12, of_16;
    double of_12_in_turns, of_16_in_turns;
  } steps[] = {
    { 250.0, 28.0, 2.95, 4.4, 2.35, 3.9 },
    { 140.0, 27.0, 4.1, 9.6, 3.3, 8.0 },
    { 110.0, 28.0, 5.3, 9.6, 4.75, 8.8 },
    { 0.0, 30.0, 8.2, 16.0, 7.65, 14.0 },
  };
  size_t i = 0;

  while (n < steps[i].taps)
    i++;
  if (takes_turns (work))
    return 12.0
        + work->samples
        * (work->depth > 12 ? steps[i].of_16_in_turns
                            : steps[i].of_12_in_turns);
  return steps[i].any_size + 0.005 * n
      + work->samples * (work->depth > 12 ? steps[i].of_16 : steps[i].of_12);
}

/* Cost of the general kernels with 9 or 10 bits. */
static double
ten_bits_cost (const SepconvWork *work, double n)
{
  if (!takes_turns (work))
    return 15.0 + 0.005 * n + work->samples * 3.4;
  return 10.0
      + work->samples
      * (n < 63.0         ? 3.85
              : n < 90.0  ? 3.1
              : n < 170.0 ? 2.65
                          : 2.1);
}

/* Cost of the general kernels with 8 bits: three channels, or samples that are not adjacent. */
static double
general_bytes_cost (const SepconvWork *work, double n)
{
  const double samples = work->samples;
  const bool turns = takes_turns (work), many_taps = n > 110.0;

  if (!work->packed)
    return turns ? 14.0 + samples * (many_taps ? 4.4 : 4.9)
                 : 18.0 + samples * (many_taps ? 5.3 : 6.0);
  if (turns)
    return many_taps ? 15.5 + samples * 1.77 : 20.0 + samples * 2.45;
  return 0.005 * n
      + (many_taps ? fmin (26.0 + samples * 2.7, 45.0 + samples * 2.0)
                   : 26.0 + samples * 3.1);
}

/* Cost of one term. There are three or four launches in sequence, whatever the size. All but packed
 * bytes are taken by the general kernels. From 340 taps on, bytes have more fitted taps, as their
 * factors are at most 16. */
static double
cost_of_one (const SepconvWork *work)
{
  const double n = sepconv_mean_taps (work);

  if (work->depth > 10)
    return deep_cost (work, n);
  if (work->sample_bytes > 1)
    return ten_bits_cost (work, n);
  if (work->channels == 3 || !work->packed)
    return general_bytes_cost (work, n);
  return bytes_cost (work) + border_cost (work)
      + (takes_turns (work) ? 0.0045 : 0.01) * fmax (work->longest - 340, 0.0);
}

/* A second term is filtered in the small picture only, by two more launches. */
static double
multirate_cost (const SepconvWork *work)
{
  SepconvWork one = *work;

  one.x_taps /= work->terms;
  one.y_taps /= work->terms;
  return cost_of_one (&one) * (1.0 + 0.2 * (work->terms - 1))
      + 6.0 * (work->terms - 1);
}

static int
multirate_turns (const SepconvPlan *plan)
{
  return sepconv_turns_of_size (plan, GPU_MAX_TURNS, LEAST_TURN_SAMPLES);
}

static bool
multirate_supports_bytes (
    const SepconvSpec *spec, const Image *layout, Fault *why)
{
  return multirate_supports (spec, layout, MULTIRATE_BYTE_WINDOWS, why);
}

extern "C" const SepconvMethodOps sepconv_multirate_ops = {
  .min_capability = 0,
  .in_parts = false,
  .combines = true,
  .supports = multirate_supports_bytes,
  .cost = multirate_cost,
  .prepare = multirate_prepare,
  .release = multirate_release,
  .run = multirate_run,
  .overlaps = true,
  .turns = multirate_turns,
  .counts = NULL,
};
