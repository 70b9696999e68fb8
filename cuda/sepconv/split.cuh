/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* split: methods for pixels that another method cannot read in place, or only slowly: three
 * channels as in RGB, or luma and chroma in one row as in YUY2. One kernel splits a frame into
 * one memory a plane, with adjacent samples; the other method, the inner one, filters these
 * planes, and another kernel merges the results. Both kernels read and write each sample once,
 * so that the frame crosses the memory three times instead of once.
 *
 * A row consists of units, the period of its pattern of bytes: 3 bytes of RGB, 4 of YUY2. A
 * thread moves a group of units, by words where it can. Planes of three channels get a fourth
 * channel of zeros, which is not filtered.
 *
 * Successive frames of a turn share the memory of the planes, and so do not overlap. */
#pragma once

#include "../divide.h"
#include "../gpu-check.h"
#include "../gpu-launch.cuh"
#include "method.h"

#include <stdlib.h>
#include <string.h>
#include <type_traits>

/* Most bytes of a unit: four samples of two bytes. */
#define SPLIT_MOST_UNIT 8
/* Alignment in bytes of planes and of rows. */
#define SPLIT_ALIGNMENT 256
#define SPLIT_THREADS 128
/* Units of a thread. */
#define SPLIT_GROUP 4
#define SPLIT_MOST_ROWS 65535

/* The part of the time of back to back frames that frames of two turns take. */
#define SPLIT_IN_TURNS 0.9
/* The fewest samples, for each multiprocessor, of a frame that takes turns. */
#define SPLIT_LEAST_TURN_SAMPLES 40e3

/* How units are moved. */
enum SplitKind
{
  SPLIT_ANY,   /* by samples */
  SPLIT_PAIRS, /* by words: samples of two planes in turn, two each: YUY2 */
  SPLIT_THREES /* by words: pixels of three bytes, in order, of one plane */
};

/* Position of a sample of a unit, in the frame and in its plane. */
struct SplitSample
{
  int plane, pixel; /* pixel: among the unit's pixels of the plane */
  int offset;       /* bytes in the unit; -1: a zero, which is not there */
  int at;           /* bytes in the unit's part of the plane */
};

/* The parameter of a launch. */
struct SplitFrame
{
  uint8_t *data; /* of the frame, source or result */
  ptrdiff_t stride;
  int unit;          /* bytes */
  int units, height; /* of a row; rows */
  int n_samples;     /* of a unit */
  int whole_units;   /* without missing pixels */
  SplitKind kind;
  /* For SPLIT_PAIRS: the planes of the even and of the odd samples of a unit, and whether a
   * plane's two samples are in reverse order. */
  int first, second;
  bool first_reversed, second_reversed;
  SplitSample sample[SPLIT_MOST_UNIT + 1];
  struct
  {
    uint8_t *data;
    ptrdiff_t stride;
    int width;
    int pixels, bytes; /* of a unit */
  } plane[IMAGE_MAX_PLANES];
};

struct SplitState
{
  SplitFrame frame;     /* without addresses and height */
  Image source, result; /* one memory a plane */
  uint8_t *memory;      /* of both; device */
  SepconvPlan plan;     /* the inner method's: same taps, for these images */
  unsigned adopted;     /* the outer plan's revision in `plan`; 0: none */
};

/* Adds the samples of a plane to the units. Returns false if they do not fit, or if a byte
 * belongs to two samples. */
static bool
add_plane (SplitFrame *frame, const ImagePlane *plane, int p, unsigned *taken)
{
  const int bytes = image_sample_bytes (plane);
  const int channels = plane->channels == 3 ? 4 : plane->channels;
  const int pixels = frame->unit / plane->pixel_stride;
  const unsigned mask = (1u << bytes) - 1;

  if (frame->unit % plane->pixel_stride != 0)
    return false;
  frame->plane[p].width = plane->width;
  frame->plane[p].pixels = pixels;
  frame->plane[p].bytes = pixels * channels * bytes;
  frame->units = max (frame->units, divide_up (plane->width, pixels));
  for (int k = 0; k < pixels; k++)
    for (int c = 0; c < channels; c++) {
      const int offset = c < plane->channels
          ? plane->offset + k * plane->pixel_stride + c * plane->channel_stride
          : -1;

      if (frame->n_samples > SPLIT_MOST_UNIT
          || (offset >= 0
              && (offset + bytes > frame->unit
                  || (*taken & mask << offset) != 0)))
        return false;
      if (offset >= 0)
        *taken |= mask << offset;
      else if (c < plane->channels)
        return false;
      frame->sample[frame->n_samples++] =
          SplitSample{ p, k, offset, (k * channels + c) * bytes };
    }
  return true;
}

/* Finds how units may be moved if the frame's alignment allows it. */
static SplitKind
kind_of (SplitFrame *frame, int bytes)
{
  int plane[4] = {}, pixel[4] = {};

  if (frame->unit == 3)
    for (int i = 0; i < 3; i++)
      if (frame->sample[i].plane != 0 || frame->sample[i].offset != i)
        return SPLIT_ANY;
  if (frame->unit == 3)
    return SPLIT_THREES;
  if (frame->unit != 4 * bytes || frame->n_samples != 4)
    return SPLIT_ANY;
  for (int i = 0; i < 4; i++) {
    plane[frame->sample[i].offset / bytes] = frame->sample[i].plane;
    pixel[frame->sample[i].offset / bytes] = frame->sample[i].at / bytes;
  }
  if (plane[0] != plane[2] || plane[1] != plane[3] || plane[0] == plane[1])
    return SPLIT_ANY;
  frame->first = plane[0];
  frame->second = plane[1];
  frame->first_reversed = pixel[0] > pixel[2];
  frame->second_reversed = pixel[1] > pixel[3];
  return SPLIT_PAIRS;
}

/* Finds how a layout is split, and the layout of the resulting planes. Returns false if there
 * is nothing to split, or if rows do not consist of units whose bytes all belong to samples. */
static bool
split_layout (const Image *layout, SplitFrame *frame, Image *to)
{
  bool packed = true;
  unsigned taken = 0;

  memset (frame, 0, sizeof *frame);
  *to = *layout;
  to->n_memories = layout->n_planes;
  if (layout->n_memories != 1)
    return false;
  for (int p = 0; p < layout->n_planes; p++)
    frame->unit = max (frame->unit, layout->plane[p].pixel_stride);
  if (frame->unit > SPLIT_MOST_UNIT)
    return false;
  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];
    ImagePlane *inner = &to->plane[p];

    if (!add_plane (frame, plane, p, &taken))
      return false;
    packed = packed && image_is_packed (plane) && plane->channels != 3;
    inner->memory = p;
    inner->offset = 0;
    inner->channels = plane->channels == 3 ? 4 : plane->channels;
    inner->channel_stride = image_sample_bytes (plane);
    inner->pixel_stride = inner->channels * inner->channel_stride;
    to->memory[p] = layout->memory[0];
    to->memory[p].row_bytes = image_plane_row_bytes (inner);
  }
  frame->whole_units = frame->units;
  for (int p = 0; p < layout->n_planes; p++)
    frame->whole_units = min (
        frame->whole_units, frame->plane[p].width / frame->plane[p].pixels);
  if (packed || taken != (1u << frame->unit) - 1)
    return false;
  frame->kind = kind_of (frame, image_sample_bytes (&layout->plane[0]));
  return true;
}

template <int BYTES>
static __device__ __forceinline__ void
copy_sample (uint8_t *to, const uint8_t *from)
{
  if (BYTES == 2)
    *(uint16_t *) to = *(const uint16_t *) from;
  else
    *to = *from;
}

/* Moves a unit, sample by sample. */
template <int BYTES, bool MERGES>
static __device__ __forceinline__ void
move_unit (const SplitFrame &frame, uint8_t *row, int y, int unit)
{
  for (int i = 0; i < frame.n_samples; i++) {
    const SplitSample &sample = frame.sample[i];
    const auto &plane = frame.plane[sample.plane];
    uint8_t *const in_frame = row + (ptrdiff_t) unit * frame.unit;
    uint8_t *const at = plane.data + y * plane.stride
        + (ptrdiff_t) unit * plane.bytes + sample.at;

    if (unit * plane.pixels + sample.pixel >= plane.width)
      continue;
    if (MERGES && sample.offset >= 0)
      copy_sample<BYTES> (in_frame + sample.offset, at);
    else if (!MERGES && sample.offset >= 0)
      copy_sample<BYTES> (at, in_frame + sample.offset);
    else if (!MERGES)
      at[0] = at[BYTES - 1] = 0;
  }
}

/* Swaps the two samples of each unit in a word if `reversed`. */
template <int BYTES>
static __device__ __forceinline__ uint32_t
reverse (uint32_t word, bool reversed)
{
  return !reversed ? word : __byte_perm (word, 0, BYTES == 1 ? 0x2301 : 0x1032);
}

/* Moves SPLIT_GROUP units of SPLIT_PAIRS, BYTES vectors of words: the even samples belong to
 * one plane, the odd ones to another. */
template <int BYTES, bool MERGES>
static __device__ __forceinline__ void
move_pairs (const SplitFrame &frame, uint8_t *row, int y, int unit)
{
  typedef typename std::conditional<BYTES == 1, uint2, uint4>::type Half;
  uint4 *const in_frame = (uint4 *) (row + (ptrdiff_t) unit * 4 * BYTES);
  Half *const first = (Half *) (frame.plane[frame.first].data
      + y * frame.plane[frame.first].stride + (ptrdiff_t) unit * 2 * BYTES);
  Half *const second = (Half *) (frame.plane[frame.second].data
      + y * frame.plane[frame.second].stride + (ptrdiff_t) unit * 2 * BYTES);
  uint4 whole[BYTES];
  Half a, b;
  uint32_t *const words = (uint32_t *) whole;
  uint32_t *const even = (uint32_t *) &a, *const odd = (uint32_t *) &b;

  if (MERGES) {
    a = *first;
    b = *second;
  } else {
#pragma unroll
    for (int i = 0; i < BYTES; i++)
      whole[i] = in_frame[i];
  }
#pragma unroll
  for (int i = 0; i < 2 * BYTES; i++)
    if (MERGES) {
      const uint32_t e = reverse<BYTES> (even[i], frame.first_reversed);
      const uint32_t o = reverse<BYTES> (odd[i], frame.second_reversed);

      words[2 * i] = __byte_perm (e, o, BYTES == 1 ? 0x5140 : 0x5410);
      words[2 * i + 1] = __byte_perm (e, o, BYTES == 1 ? 0x7362 : 0x7632);
    } else {
      even[i] = reverse<BYTES> (__byte_perm (words[2 * i], words[2 * i + 1],
                                    BYTES == 1 ? 0x6420 : 0x5410),
          frame.first_reversed);
      odd[i] = reverse<BYTES> (__byte_perm (words[2 * i], words[2 * i + 1],
                                   BYTES == 1 ? 0x7531 : 0x7632),
          frame.second_reversed);
    }
  if (MERGES) {
#pragma unroll
    for (int i = 0; i < BYTES; i++)
      in_frame[i] = whole[i];
  } else {
    *first = a;
    *second = b;
  }
}

/* Moves SPLIT_GROUP pixels of three bytes, which have a fourth byte of zero in their plane. */
template <bool MERGES>
static __device__ __forceinline__ void
move_threes (const SplitFrame &frame, uint8_t *row, int y, int unit)
{
  uint32_t *const in_frame = (uint32_t *) (row + (ptrdiff_t) unit * 3);
  uint4 *const at = (uint4 *) (frame.plane[0].data + y * frame.plane[0].stride
      + (ptrdiff_t) unit * 4);

  if (MERGES) {
    const uint4 four = *at;

    in_frame[0] = __byte_perm (four.x, four.y, 0x4210);
    in_frame[1] = __byte_perm (four.y, four.z, 0x5421);
    in_frame[2] = __byte_perm (four.z, four.w, 0x6542);
  } else {
    const uint32_t a = in_frame[0], b = in_frame[1], c = in_frame[2];

    *at = make_uint4 (a & 0xffffff, __byte_perm (a, b, 0x6543) & 0xffffff,
        __byte_perm (b, c, 0x5432) & 0xffffff, c >> 8);
  }
}

/* Moves the samples of a frame to their planes, or with MERGES back. */
template <int BYTES, bool MERGES>
static __global__ void
__launch_bounds__ (SPLIT_THREADS) split_units (GPU_PARAMETER SplitFrame frame)
{
  const int unit = SPLIT_GROUP * (blockIdx.x * SPLIT_THREADS + threadIdx.x);

  for (int y = blockIdx.y; y < frame.height; y += gridDim.y) {
    uint8_t *const row = frame.data + y * frame.stride;

    if (frame.kind != SPLIT_ANY && unit + SPLIT_GROUP <= frame.whole_units) {
      if (frame.kind == SPLIT_PAIRS)
        move_pairs<BYTES, MERGES> (frame, row, y, unit);
      else
        move_threes<MERGES> (frame, row, y, unit);
    } else {
      for (int i = unit; i < min (unit + SPLIT_GROUP, frame.units); i++)
        move_unit<BYTES, MERGES> (frame, row, y, i);
    }
  }
}

/* Launches one of the two kernels, between a frame and the planes of an image. */
template <bool MERGES>
static bool
move_samples (const SplitState *state, const ImageMemory *frame_memory,
    const Image *planes, GpuStream stream, Fault *fault)
{
  SplitFrame frame = state->frame;
  const dim3 grid (divide_up (frame.units, SPLIT_GROUP * SPLIT_THREADS),
      min (frame_memory->height, SPLIT_MOST_ROWS));
  bool ok = false;

  frame.data = frame_memory->data;
  frame.stride = frame_memory->stride;
  frame.height = frame_memory->height;
  /* SPLIT_PAIRS moves vectors of 16 bytes, SPLIT_THREES words of 4 bytes. */
  if (!image_is_aligned (
          frame.data, frame.stride, frame.kind == SPLIT_PAIRS ? 16 : 4))
    frame.kind = SPLIT_ANY;
  for (int p = 0; p < planes->n_planes; p++) {
    frame.plane[p].data = planes->memory[p].data;
    frame.plane[p].stride = planes->memory[p].stride;
  }
  GPU_CHECK (image_sample_bytes (&planes->plane[0]) == 1
          ? gpu_launch (
              split_units<1, MERGES>, grid, SPLIT_THREADS, 0, stream, frame)
          : gpu_launch (
              split_units<2, MERGES>, grid, SPLIT_THREADS, 0, stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

/* Brings the inner plan up to date with the plan. */
static void
adopt (SepconvPlan *plan, SplitState *state)
{
  SepconvPlan *inner = &state->plan;
  void *of_method = inner->state;
  const Image layout = inner->layout;

  if (state->adopted == plan->revision)
    return;
  *inner = *plan;
  inner->layout = inner->most = layout;
  inner->state = of_method;
  inner->n_channels = 0;
  for (int p = 0; p < layout.n_planes; p++) {
    const SepconvChannel *from = sepconv_plane_channels (plan, p);
    const int channels = plan->layout.plane[p].channels;

    for (int c = 0; c < layout.plane[p].channels; c++) {
      SepconvChannel *channel = &inner->channel[inner->n_channels++];

      *channel = from[c < channels ? c : 0];
      channel->filter = c < channels && channel->filter;
      channel->memory = p;
      channel->byte_offset = c * layout.plane[p].channel_stride;
      channel->pixel_stride = layout.plane[p].pixel_stride;
    }
  }
  state->adopted = plan->revision;
}

/* An image of the state with `height` rows: a run may have fewer than the plan. */
static Image
of_height (const Image *image, int height)
{
  Image lower = *image;

  for (int m = 0; m < lower.n_memories; m++)
    lower.memory[m].height = height;
  return lower;
}

/* The members of SepconvMethodOps. */
template <const SepconvMethodOps &INNER> struct Split
{
  static bool
  supports (const SepconvSpec *spec, const Image *layout, Fault *why)
  {
    SplitFrame frame;
    Image inner;

    if (!split_layout (layout, &frame, &inner))
      return fault_set (why, FAULT_UNSUPPORTED,
          "only planes that share a memory, or have three channels, are split");
    return INNER.supports == NULL || INNER.supports (spec, &inner, why);
  }

  /* The time of the inner method for the planes, and of the two kernels for each sample. */
  static double
  cost (const SepconvWork *work)
  {
    SepconvWork inner = *work;
    double cost;

    inner.order = GPU_AFTER_KERNELS;
    inner.packed = true;
    if (work->channels == 3) {
      inner.channels = 4;
      inner.samples *= 4.0 / 3.0;
    }
    cost = INNER.cost (&inner) + 3.0 + 1.2 * work->sample_bytes * work->samples;
    return sepconv_work_takes_turns (work, SPLIT_LEAST_TURN_SAMPLES)
        ? SPLIT_IN_TURNS * cost
        : cost;
  }

  static bool
  prepare (SepconvPlan *plan, Fault *fault)
  {
    SplitState *state = (SplitState *) calloc (1, sizeof *state);
    size_t bytes;

    plan->state = state;
    if (state == NULL)
      return fault_set (fault, FAULT_NO_SPACE, "Out of memory for the filter.");
    /* Does not fail: supports() accepted the layout. */
    (void) split_layout (&plan->layout, &state->frame, &state->plan.layout);
    bytes =
        image_pack (&state->plan.layout, SPLIT_ALIGNMENT, NULL, &state->source);
    state->memory = (uint8_t *) gpu_malloc (2 * bytes, fault);
    if (state->memory == NULL)
      return false;
    image_pack (
        &state->plan.layout, SPLIT_ALIGNMENT, state->memory, &state->source);
    image_pack (&state->plan.layout, SPLIT_ALIGNMENT, state->memory + bytes,
        &state->result);
    adopt (plan, state);
    return INNER.prepare (&state->plan, fault);
  }

  static void
  release (SepconvPlan *plan)
  {
    SplitState *state = (SplitState *) plan->state;

    if (state == NULL)
      return;
    INNER.release (&state->plan);
    gpu_free (state->memory);
    free (state);
  }

  /* A third turn gains nothing more, and takes memory of two whole frames. */
  static int
  turns (const SepconvPlan *plan)
  {
    return sepconv_turns_of_size (plan, 2, SPLIT_LEAST_TURN_SAMPLES);
  }

  static bool
  run (SepconvPlan *plan, const SepconvPart *part, Fault *fault)
  {
    SplitState *state = (SplitState *) plan->state;
    const int height = part->src->memory[0].height;
    const Image source = of_height (&state->source, height);
    const Image result = of_height (&state->result, height);
    SepconvPart inner = SepconvPart ();

    if (height == 0)
      return true;
    adopt (plan, state);
    inner.src = &source;
    inner.dst = &result;
    inner.stream = part->stream;
    inner.order = GPU_AFTER_KERNELS;
    for (int m = 0; m < source.n_memories; m++)
      inner.fresh[m] = inner.result[m] = ImageRows{ 0, height };
    return move_samples<false> (
               state, &part->src->memory[0], &source, part->stream, fault)
        && INNER.run (&state->plan, &inner, fault)
        && move_samples<true> (
            state, &part->dst->memory[0], &result, part->stream, fault);
  }
};
