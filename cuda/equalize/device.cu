/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device: the CUDA backend. A run is three kernels, for all planes: they count every tile, make
 * the tables, and map the picture. */
#include "counting.cuh"
#include "mapping.cuh"
#include "tables.cuh"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"

#include <stdlib.h>

/* The largest extent of a grid along y. */
#define MAX_GRID_Y 65535

/* How the plan's mapped samples are packed, and the kernels for that. */
struct Packing
{
  int pixel_bytes; /* 0: no groups */
  int group_bytes, group_pixels;
  void (*count) (CountFrame frame);
  void (*map) (MapFrame frame);
};

struct DeviceState
{
  Packing packing;
  void *memory;
  uint32_t *counts, *states;
  uint16_t *tables;
};

template <int PixelBytes, int Planes, bool IsRgb>
static void
set_kernels (Packing *packing, bool adaptive)
{
  packing->pixel_bytes = PixelBytes;
  packing->group_bytes = Group<PixelBytes>::bytes;
  packing->group_pixels = Group<PixelBytes>::pixels;
  packing->count = count_kernel<PixelBytes, Planes, IsRgb>;
  packing->map = adaptive ? map_kernel<PixelBytes, Planes, IsRgb, true>
                          : map_kernel<PixelBytes, Planes, IsRgb, false>;
}

static bool
set_luma_kernels (Packing *packing, int pixel_bytes, bool adaptive)
{
  switch (pixel_bytes) {
    case 1:
      set_kernels<1, 1, false> (packing, adaptive);
      return true;
    case 2:
      set_kernels<2, 1, false> (packing, adaptive);
      return true;
    case 3:
      set_kernels<3, 1, false> (packing, adaptive);
      return true;
    case 4:
      set_kernels<4, 1, false> (packing, adaptive);
      return true;
    case 8:
      set_kernels<8, 1, false> (packing, adaptive);
      return true;
    default:
      return false;
  }
}

static bool
set_rgb_kernels (Packing *packing, int pixel_bytes, bool adaptive)
{
  switch (pixel_bytes) {
    case 3:
      set_kernels<3, 1, true> (packing, adaptive);
      return true;
    case 4:
      set_kernels<4, 1, true> (packing, adaptive);
      return true;
    case 6:
      set_kernels<6, 1, true> (packing, adaptive);
      return true;
    case 8:
      set_kernels<8, 1, true> (packing, adaptive);
      return true;
    default:
      return false;
  }
}

static bool
set_planar_kernels (Packing *packing, int pixel_bytes, bool adaptive)
{
  switch (pixel_bytes) {
    case 1:
      set_kernels<1, 3, true> (packing, adaptive);
      return true;
    case 2:
      set_kernels<2, 3, true> (packing, adaptive);
      return true;
    default:
      return false;
  }
}

/* Whether every mapped sample lies within its pixel's own bytes, and all pixels have one size. */
static bool
samples_in_pixels (const EqualizePlan *plan)
{
  for (int k = 0; k < plan->n_mapped; k++) {
    const EqualizeChannel *channel = &plan->mapped[k];

    if (channel->pixel_stride != plan->mapped[0].pixel_stride
        || channel->byte_offset + channel->sample_bytes > channel->pixel_stride)
      return false;
  }
  return true;
}

static Packing
choose_packing (const EqualizePlan *plan)
{
  const EqualizeChannel *mapped = plan->mapped;
  const bool adaptive = plan->numbers.adaptive, rgb = plan->n_mapped == 3;
  const bool one = !rgb
      || (mapped[0].memory == mapped[1].memory
          && mapped[0].memory == mapped[2].memory);
  const bool apart = rgb && mapped[0].memory != mapped[1].memory
      && mapped[0].memory != mapped[2].memory
      && mapped[1].memory != mapped[2].memory;
  const int bytes = samples_in_pixels (plan) ? mapped[0].pixel_stride : 0;
  Packing packing = Packing ();

  if ((one && !rgb && set_luma_kernels (&packing, bytes, adaptive))
      || (one && rgb && set_rgb_kernels (&packing, bytes, adaptive))
      || (apart && set_planar_kernels (&packing, bytes, adaptive)))
    return packing;
  /* Other packings are read sample by sample, which the kernels of every pixel size can do. */
  if (rgb)
    set_kernels<4, 1, true> (&packing, adaptive);
  else
    set_kernels<1, 1, false> (&packing, adaptive);
  packing.pixel_bytes = 0;
  return packing;
}

static void
device_release (EqualizePlan *plan)
{
  DeviceState *state = (DeviceState *) plan->state;

  if (state == NULL)
    return;
  gpu_free (state->memory);
  free (state);
}

/* Loads the kernels, so that no frame waits for that. */
static bool
load_kernels (const Packing *packing, Fault *fault)
{
  struct cudaFuncAttributes attributes;
  bool ok = false;

  GPU_CHECK (cudaFuncGetAttributes (&attributes, (const void *) packing->count),
      fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) table_kernel), fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) packing->map), fault);
  ok = true;
done:
  return ok;
}

static bool
device_prepare (EqualizePlan *plan, Fault *fault)
{
  const size_t tiles = (size_t) equalize_n_tiles (&plan->numbers);
  const size_t entries = tiles * (size_t) plan->numbers.entries;
  const size_t codes = tiles * ((size_t) plan->numbers.full + 1);
  DeviceState *state = (DeviceState *) calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for equalisation.");
  state->packing = choose_packing (plan);
  if (!load_kernels (&state->packing, fault))
    return false;
  /* gpu_malloc() zeroes it, as counters must be. */
  state->memory = gpu_malloc (
      2 * entries * sizeof (uint32_t) + codes * sizeof (uint16_t), fault);
  if (state->memory == NULL)
    return false;
  state->counts = (uint32_t *) state->memory;
  state->states = state->counts + entries;
  state->tables = (uint16_t *) (state->states + entries);
  return true;
}

static bool
takes_vectors (const Image *image, int memory)
{
  return (uintptr_t) image->memory[memory].data % VECTOR_BYTES == 0
      && image->memory[memory].stride % VECTOR_BYTES == 0;
}

/* The number of pixels of a row, from its start, that may be read and written in groups. */
static int
count_grouped (const EqualizePlan *plan, const Image *src, const Image *dst)
{
  const Packing *packing = &((const DeviceState *) plan->state)->packing;
  size_t groups = (size_t) (plan->numbers.x.size / packing->group_pixels);

  if (packing->pixel_bytes == 0)
    return 0;
  for (int k = 0; k < plan->n_mapped; k++) {
    const int memory = plan->mapped[k].memory;
    const size_t solid =
        plan->solid_bytes[memory] / (size_t) packing->group_bytes;

    if (!takes_vectors (src, memory) || !takes_vectors (dst, memory))
      return 0;
    groups = min (groups, solid);
  }
  return (int) groups * packing->group_pixels;
}

static Pixels
describe_pixels (const EqualizePlan *plan, const Image *src, const Image *dst)
{
  Pixels pixels = Pixels ();

  pixels.numbers = plan->numbers;
  pixels.grouped = count_grouped (plan, src, dst);
  for (int k = 0; k < plan->n_mapped; k++) {
    const EqualizeChannel *from = &plan->mapped[k];
    MappedChannel *channel = &pixels.channel[k];

    channel->src = src->memory[from->memory].data;
    channel->dst = dst->memory[from->memory].data;
    channel->src_stride = src->memory[from->memory].stride;
    channel->dst_stride = dst->memory[from->memory].stride;
    channel->byte_offset = from->byte_offset;
    channel->pixel_stride = from->pixel_stride;
    channel->sample_bytes = from->sample_bytes;
    channel->shift = from->shift;
    channel->bit = 8 * from->byte_offset + from->shift;
  }
  return pixels;
}

static bool
queue_count (const EqualizePlan *plan, const Pixels &pixels, GpuStream stream,
    Fault *fault)
{
  const DeviceState *state = (const DeviceState *) plan->state;
  const EqualizeNumbers *numbers = &plan->numbers;
  const int tiles = equalize_n_tiles (numbers);
  const int most = COUNT_BLOCKS * gpu_multiprocessors (plan->gpu);
  /* A block gets at least as many rows as it has warps. */
  const int useful = (numbers->y.tile + COUNT_WARPS - 1) / COUNT_WARPS;
  const int parts = max (min (most / tiles, useful), 1);
  CountFrame frame;
  bool ok = false;

  frame.pixels = pixels;
  frame.counts = state->counts;
  frame.rows = (numbers->y.tile + parts - 1) / parts;
  frame.copies = numbers->entries <= SHARED_ENTRIES ? 1 : 0;
  while (frame.copies > 0 && frame.copies < 32
      && 2 * frame.copies * numbers->entries <= SHARED_ENTRIES)
    frame.copies *= 2;
  GPU_CHECK (gpu_launch (state->packing.count, dim3 (parts, tiles),
                 dim3 (COUNT_THREADS),
                 (size_t) frame.copies * numbers->entries * sizeof (uint32_t),
                 stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

static bool
queue_tables (
    const EqualizePlan *plan, uint32_t follow, GpuStream stream, Fault *fault)
{
  const DeviceState *state = (const DeviceState *) plan->state;
  const int threads =
      plan->numbers.entries <= SMALL_TABLE ? SMALL_TABLE : TABLE_THREADS;
  TableFrame frame;
  bool ok = false;

  frame.numbers = plan->numbers;
  frame.follow = follow;
  frame.counts = state->counts;
  frame.states = state->states;
  frame.tables = state->tables;
  GPU_CHECK (gpu_launch (table_kernel, dim3 (equalize_n_tiles (&plan->numbers)),
                 dim3 (threads), 0, stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

/* A copy of adjacent elements of `bytes` bytes, from byte `from` of each row on; the caller sets
 * its width. */
static Copy
describe_copy (
    const Image *src, const Image *dst, int memory, int from, int bytes)
{
  Copy copy;

  copy.src = src->memory[memory].data + from;
  copy.dst = dst->memory[memory].data + from;
  copy.src_stride = src->memory[memory].stride;
  copy.dst_stride = dst->memory[memory].stride;
  copy.bytes = bytes;
  copy.apart = bytes;
  copy.width = 0;
  copy.height = src->memory[memory].height;
  return copy;
}

/* Whether a mapped channel lies in the memory. */
static bool
is_mapped (const EqualizePlan *plan, int memory)
{
  for (int k = 0; k < plan->n_mapped; k++)
    if (plan->mapped[k].memory == memory)
      return true;
  return false;
}

/* Lists sample-by-sample copies of a memory's channels, from byte `from` of its rows on; returns
 * their number. */
static int
list_sample_copies (const EqualizePlan *plan, const Image *src,
    const Image *dst, int memory, int from, Copy *copy)
{
  int n = 0;

  for (int p = 0; p < plan->layout.n_planes; p++) {
    const ImagePlane *plane = &plan->layout.plane[p];
    const int apart = plane->pixel_stride;

    for (int c = 0; c < plane->channels && plane->memory == memory; c++) {
      const int offset = plane->offset + c * plane->channel_stride;
      const int first = max ((from - offset + apart - 1) / apart, 0);

      if (plan->spec.role[p][c] != EQUALIZE_COPY || first >= plane->width)
        continue;
      copy[n] = describe_copy (
          src, dst, memory, offset + first * apart, image_sample_bytes (plane));
      copy[n].apart = apart;
      copy[n++].width = plane->width - first;
    }
  }
  return n;
}

/* Lists copies of all samples that are not mapped and do not lie in groups; returns their
 * number. */
static int
list_copies (const EqualizePlan *plan, const Image *src, const Image *dst,
    int grouped, Copy copy[MAX_COPIES])
{
  int n = 0;

  for (int m = 0; m < plan->layout.n_memories; m++) {
    int vectors = 0, done;

    if (!plan->copies[m])
      continue;
    if (is_mapped (plan, m)) {
      done = grouped * plan->mapped[0].pixel_stride;
    } else {
      if (takes_vectors (src, m) && takes_vectors (dst, m))
        vectors = (int) (plan->solid_bytes[m] / VECTOR_BYTES);
      done = vectors * VECTOR_BYTES;
    }
    if (vectors > 0) {
      copy[n] = describe_copy (src, dst, m, 0, VECTOR_BYTES);
      copy[n++].width = vectors;
    }
    n += list_sample_copies (plan, src, dst, m, done, &copy[n]);
  }
  return n;
}

static bool
queue_map (const EqualizePlan *plan, const Pixels &pixels, const Image *src,
    const Image *dst, GpuStream stream, Fault *fault)
{
  const DeviceState *state = (const DeviceState *) plan->state;
  const int n = pixels.grouped / state->packing.group_pixels;
  const int width = max (n, plan->numbers.x.size - pixels.grouped);
  const int rows = (plan->numbers.y.size + MAP_ROWS - 1) / MAP_ROWS;
  MapFrame frame = MapFrame ();
  dim3 grid ((width + 31) / 32, min (rows, MAX_GRID_Y));
  bool ok = false;

  frame.pixels = pixels;
  frame.tables = state->tables;
  grid.z = 1 + list_copies (plan, src, dst, pixels.grouped, frame.copy);
  GPU_CHECK (gpu_launch (state->packing.map, grid, dim3 (32, MAP_ROWS), 0,
                 stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

static bool
device_run (EqualizePlan *plan, const Image *src, const Image *dst,
    uint32_t follow, GpuStream stream, Fault *fault)
{
  const Pixels pixels = describe_pixels (plan, src, dst);

  return queue_count (plan, pixels, stream, fault)
      && queue_tables (plan, follow, stream, fault)
      && queue_map (plan, pixels, src, dst, stream, fault);
}

extern "C" const EqualizeOps equalize_device_ops = {
  .prepare = device_prepare,
  .release = device_release,
  .run = device_run,
};
