/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* draw-cuda: the CUDA backend, three kernels on one stream. The first, of one block, makes the
 * columns; the second copies all rows except the area that is drawn; the third draws it. */
#include "backend.h"

#include "../gpu-check.h"
#include "../gpu-launch.cuh"

#include <stdlib.h>

#define COLUMN_THREADS 512
#define COPY_THREADS 128
#define COPY_BYTES 16 /* by one thread */
#define DRAW_WIDTH 32
#define DRAW_HEIGHT 8
/* The largest extent of a grid along y and z. */
#define MAX_BLOCKS 65535

/* plan->state: device memory that each run fills again. */
struct CudaState
{
  uint64_t *counts;       /* [OVERLAY_MAX_COMPONENTS][bins] */
  uint64_t *levels;       /* as many as `columns` has entries */
  OverlayColumns columns; /* of OVERLAY_MAX_COMPONENTS * OVERLAY_MAX_SIZE */
};

struct ColumnsFrame
{
  OverlayDrawing drawing;
  const uint64_t *result[OVERLAY_MAX_COMPONENTS]; /* pinned */
  CudaState state;
};

/* A memory to be copied, without bytes [first_byte, last_byte) of rows [first_row, last_row). */
struct CopyMemory
{
  const uint8_t *src;
  uint8_t *dst;
  ptrdiff_t src_stride, dst_stride;
  int row_bytes, height;
  int first_byte, last_byte, first_row, last_row;
};

struct CopyFrame
{
  CopyMemory memory[IMAGE_MAX_MEMORIES];
};

struct DrawFrame
{
  OverlayDrawing drawing;
  OverlayColumns columns;
  OverlayPlane plane[IMAGE_MAX_PLANES];
};

/* On most GPUs a kernel's parameters are at most 4096 bytes. */
static_assert (sizeof (DrawFrame) <= 4096 && sizeof (ColumnsFrame) <= 4096,
    "the palette travels with the launch");

template <bool Sum>
__device__ static uint64_t
merge (uint64_t a, uint64_t b)
{
  return Sum ? a + b : a < b ? b : a;
}

/* The sum, or the largest, of the values of the block's threads. All threads must call it. */
template <bool Sum>
__device__ static uint64_t
combine (uint64_t mine)
{
  __shared__ uint64_t all[COLUMN_THREADS];
  const unsigned me = threadIdx.x;

  all[me] = mine;
  __syncthreads ();
  /* In two steps: more barriers would cost more than these serial sums. */
  for (unsigned i = me + 32; me < 32 && i < COLUMN_THREADS; i += 32)
    all[me] = merge<Sum> (all[me], all[i]);
  __syncthreads ();
  for (unsigned i = 1; me == 0 && i < 32; i++)
    all[0] = merge<Sum> (all[0], all[i]);
  __syncthreads ();
  mine = all[0];
  __syncthreads ();
  return mine;
}

/* Copies a component's counters to device memory, for make_levels(); returns which of its marks
 * show: bit 0 the dark one, bit 1 the bright one. */
__device__ static uint32_t
take_counts (const OverlayDrawing &drawing, const OverlaySteps &steps,
    const uint64_t *from, uint64_t *to)
{
  uint64_t dark = 0, bright = 0, all = 0;

  for (int bin = threadIdx.x; bin < steps.bins; bin += COLUMN_THREADS) {
    const uint64_t count = from[bin];

    to[bin] = count;
    all += count;
    if (bin < steps.dark_bins)
      dark += count;
    if (bin >= steps.bright_from)
      bright += count;
  }
  all = combine<true> (all);
  dark = combine<true> (dark);
  bright = combine<true> (bright);
  return (overlay_is_clipped (&drawing, dark, all) ? 1u : 0)
      | (overlay_is_clipped (&drawing, bright, all) ? 2u : 0);
}

/* Makes the levels of all columns; returns the largest. */
__device__ static uint64_t
make_levels (const OverlayDrawing &drawing, const OverlaySteps &steps,
    const uint64_t *counts, uint64_t *levels)
{
  uint64_t largest = 0;

  for (int i = threadIdx.x; i < drawing.graph_width; i += COLUMN_THREADS) {
    const uint64_t level =
        overlay_level (&steps, counts, drawing.graph_width, i);

    levels[i] = level;
    if (largest < level)
      largest = level;
  }
  return combine<false> (largest);
}

__device__ static void
make_heights (const OverlayDrawing &drawing, const uint64_t *levels,
    uint64_t largest, uint16_t *height, uint16_t *inner)
{
  for (int i = threadIdx.x; i < drawing.graph_width; i += COLUMN_THREADS)
    height[i] = (uint16_t) overlay_height (&drawing, levels[i], largest);
  __syncthreads ();
  for (int i = threadIdx.x; i < drawing.graph_width; i += COLUMN_THREADS)
    inner[i] = (uint16_t) overlay_inner (&drawing, height, i);
}

static __global__ void
__launch_bounds__ (COLUMN_THREADS) columns_kernel (const ColumnsFrame frame)
{
  const OverlayDrawing &drawing = frame.drawing;
  const int n = drawing.n_components, width = drawing.graph_width;
  __shared__ uint64_t largest[OVERLAY_MAX_COMPONENTS];
  uint64_t of_all = 0;
  uint32_t marks = 0;

  for (int k = 0; k < n; k++) {
    const OverlaySteps &steps = drawing.steps[k];
    uint64_t *counts = frame.state.counts + (size_t) k * steps.bins;
    uint64_t level;

    /* Its barriers also separate the writes of the counts from their reads. */
    marks |= take_counts (drawing, steps, frame.result[k], counts) << 2 * k;
    level =
        make_levels (drawing, steps, counts, frame.state.levels + k * width);
    if (threadIdx.x == 0)
      largest[k] = level;
    if (of_all < level)
      of_all = level;
  }
  if (threadIdx.x == 0)
    *frame.state.columns.marks = marks;
  __syncthreads ();
  for (int k = 0; k < n; k++)
    make_heights (drawing, frame.state.levels + k * width,
        drawing.common_maximum ? of_all : largest[k],
        frame.state.columns.height + k * width,
        frame.state.columns.inner + k * width);
}

/* Copies the bytes of one aligned 16-byte unit of dst, as one vector if src is aligned, too. */
__device__ static void
copy_run (const CopyMemory &memory, int y, int run)
{
  const uint8_t *src = memory.src + y * memory.src_stride;
  uint8_t *dst = memory.dst + y * memory.dst_stride;
  const int ahead = (int) ((uintptr_t) dst % COPY_BYTES);
  const int from = run * COPY_BYTES - ahead, to = from + COPY_BYTES;

  if (y >= memory.first_row && y < memory.last_row && from >= memory.first_byte
      && to <= memory.last_byte)
    return;
  if (from >= 0 && to <= memory.row_bytes
      && (uintptr_t) (src + from) % COPY_BYTES == 0) {
    *(uint4 *) (dst + from) = *(const uint4 *) (src + from);
    return;
  }
  for (int i = max (from, 0); i < min (to, memory.row_bytes); i++)
    dst[i] = src[i];
}

static __global__ void
__launch_bounds__ (COPY_THREADS) copy_kernel (const CopyFrame frame)
{
  const CopyMemory &memory = frame.memory[blockIdx.z];
  const int run = blockIdx.x * COPY_THREADS + threadIdx.x;

  if (run * COPY_BYTES >= memory.row_bytes + COPY_BYTES)
    return;
  for (int y = blockIdx.y; y < memory.height; y += gridDim.y)
    copy_run (memory, y, run);
}

static __global__ void
__launch_bounds__ (DRAW_WIDTH *DRAW_HEIGHT) draw_kernel (const DrawFrame frame)
{
  const int p = blockIdx.z;
  const OverlayPlane &plane = frame.plane[p];
  const int x = plane.first_x + blockIdx.x * DRAW_WIDTH + threadIdx.x;
  const int y = plane.first_y + blockIdx.y * DRAW_HEIGHT + threadIdx.y;
  OverlaySum sum = { 0, { 0, 0, 0, 0 } };

  if (x >= plane.last_x || y >= plane.last_y)
    return;
  for (int v = 0; v < overlay_rows (&frame.drawing, &plane, y); v++) {
    const OverlayRow row =
        overlay_row_at (&frame.drawing, y * plane.subsampling_y + v);

    overlay_add_row (&sum, &frame.drawing, &frame.columns, &row, &plane, p, x);
  }
  overlay_write (&sum, &frame.drawing, &plane,
      overlay_rows (&frame.drawing, &plane, y), x, y);
}

static bool
make_columns (const OverlayPlan *plan, const OverlayRun *run, Fault *fault)
{
  ColumnsFrame frame;
  bool ok = false;

  frame.drawing = plan->drawing;
  frame.state = *(const CudaState *) plan->state;
  for (int k = 0; k < OVERLAY_MAX_COMPONENTS; k++)
    frame.result[k] = run->counts[k];
  GPU_CHECK (gpu_launch (columns_kernel, dim3 (1), dim3 (COLUMN_THREADS), 0,
                 run->stream, frame),
      fault);
  ok = true;
done:
  return ok;
}

/* Describes a memory, and the area that all of its planes draw: it is not copied, because drawing
 * would overwrite it. */
static CopyMemory
describe_memory (const OverlayRun *run, int m)
{
  const ImageMemory *src = &run->src->memory[m], *dst = &run->dst->memory[m];
  CopyMemory memory;

  memory.src = src->data;
  memory.dst = dst->data;
  memory.src_stride = src->stride;
  memory.dst_stride = dst->stride;
  memory.row_bytes = overlay_in_place (run, m) ? 0 : (int) src->row_bytes;
  memory.height = overlay_in_place (run, m) ? 0 : src->height;
  memory.first_byte = memory.first_row = 0;
  memory.last_byte = memory.row_bytes;
  memory.last_row = memory.height;
  for (int p = 0; p < run->src->n_planes; p++) {
    const OverlayPlane *plane = &run->plane[p];
    const int offset = run->src->plane[p].offset;

    if (plane->memory != m)
      continue;
    /* Pixels may overlap. */
    if ((plane->n_channels - 1) * plane->channel_stride + plane->sample_bytes
        > plane->pixel_stride)
      memory.last_row = 0;
    memory.first_byte =
        max (memory.first_byte, offset + plane->first_x * plane->pixel_stride);
    memory.last_byte =
        min (memory.last_byte, offset + plane->last_x * plane->pixel_stride);
    memory.first_row = max (memory.first_row, plane->first_y);
    memory.last_row = min (memory.last_row, plane->last_y);
  }
  return memory;
}

static bool
copy_rows (const OverlayRun *run, Fault *fault)
{
  const int n = run->src->n_memories;
  CopyFrame frame;
  int bytes = 0, height = 0;
  bool ok = false;

  for (int m = 0; m < n; m++) {
    frame.memory[m] = describe_memory (run, m);
    bytes = max (bytes, frame.memory[m].row_bytes);
    height = max (height, frame.memory[m].height);
  }
  /* A row that is not aligned to COPY_BYTES touches one unit more. */
  if (height > 0)
    GPU_CHECK (
        gpu_launch (copy_kernel,
            dim3 ((bytes / COPY_BYTES + 2 + COPY_THREADS - 1) / COPY_THREADS,
                min (height, MAX_BLOCKS), n),
            dim3 (COPY_THREADS), 0, run->stream, frame),
        fault);
  ok = true;
done:
  return ok;
}

static bool
draw (const OverlayPlan *plan, const OverlayRun *run, Fault *fault)
{
  const int n = run->src->n_planes;
  DrawFrame frame;
  int width = 0, height = 0;
  bool ok = false;

  frame.drawing = plan->drawing;
  frame.columns = ((const CudaState *) plan->state)->columns;
  for (int p = 0; p < n; p++) {
    const OverlayPlane *plane = &run->plane[p];

    frame.plane[p] = *plane;
    width = max (width, plane->last_x - plane->first_x);
    height = max (height, plane->last_y - plane->first_y);
  }
  if (width > 0 && height > 0)
    GPU_CHECK (gpu_launch (draw_kernel,
                   dim3 ((width + DRAW_WIDTH - 1) / DRAW_WIDTH,
                       (height + DRAW_HEIGHT - 1) / DRAW_HEIGHT, n),
                   dim3 (DRAW_WIDTH, DRAW_HEIGHT), 0, run->stream, frame),
        fault);
  ok = true;
done:
  return ok;
}

static bool
cuda_run (OverlayPlan *plan, const OverlayRun *run, Fault *fault)
{
  return make_columns (plan, run, fault) && copy_rows (run, fault)
      && draw (plan, run, fault);
}

static void
cuda_release (OverlayPlan *plan)
{
  CudaState *state = (CudaState *) plan->state;

  if (state == NULL)
    return;
  gpu_free (state->counts);
  gpu_free (state->levels);
  gpu_free (state->columns.height);
  gpu_free (state->columns.inner);
  gpu_free (state->columns.marks);
  free (state);
}

/* Loads the kernels, so that no frame waits for that. */
static bool
load_kernels (Fault *fault)
{
  struct cudaFuncAttributes attributes;
  bool ok = false;

  GPU_CHECK (cudaFuncGetAttributes (&attributes, (const void *) columns_kernel),
      fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) copy_kernel), fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) draw_kernel), fault);
  ok = true;
done:
  return ok;
}

static bool
cuda_prepare (OverlayPlan *plan, Fault *fault)
{
  const size_t n = (size_t) OVERLAY_MAX_COMPONENTS * OVERLAY_MAX_SIZE;
  CudaState *state = (CudaState *) calloc (1, sizeof *state);

  plan->state = state;
  if (state == NULL)
    return fault_set (fault, FAULT_NO_SPACE, "Out of memory for an overlay.");
  if (!load_kernels (fault))
    return false;
  state->counts = (uint64_t *) gpu_malloc (
      sizeof (uint64_t) * OVERLAY_MAX_COMPONENTS * (size_t) plan->bins, fault);
  if (state->counts == NULL)
    return false;
  state->levels = (uint64_t *) gpu_malloc (sizeof (uint64_t) * n, fault);
  if (state->levels == NULL)
    return false;
  state->columns.height =
      (uint16_t *) gpu_malloc (sizeof (uint16_t) * n, fault);
  if (state->columns.height == NULL)
    return false;
  state->columns.inner = (uint16_t *) gpu_malloc (sizeof (uint16_t) * n, fault);
  if (state->columns.inner == NULL)
    return false;
  state->columns.marks = (uint32_t *) gpu_malloc (sizeof (uint32_t), fault);
  return state->columns.marks != NULL;
}

const OverlayBackendOps overlay_cuda_ops = {
  .prepare = cuda_prepare,
  .release = cuda_release,
  .run = cuda_run,
};
