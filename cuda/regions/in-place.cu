/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "in-place.cuh"

#include "list.cuh"

#include "../divide.h"
#include "../gpu-check.h"
#include "../gpu-launch.cuh"
#include "../sepconv/staging.cuh"

#define ALIGNMENT 64 /* bytes, of rows of the plan's pictures */
#define THREADS 256
#define EACH 4 /* vectors of a thread */
#define LEAST_BLOCK 16384 /* bytes that go up */
#define MOST_BLOCKS (1 << 30)

/* A box to be copied, by `blocks` blocks of threads from block `first` on. */
struct BoxJob
{
  const uint8_t *from;
  uint8_t *to, *also; /* also: NULL, or a second copy */
  ptrdiff_t from_stride, to_stride, also_stride;
  int bytes, rows; /* bytes of a row */
  int vector;      /* bytes that are copied at once, to and from multiples of them */
  int first, blocks;
};

struct BoxFrame
{
  const BoxJob *jobs;
  int n_jobs;
};

struct RegionsInPlace
{
  uint8_t *shadow_block, *result_block;
  Image shadow, result;
  Staging staging;
  RegionsList jobs; /* those of the first kernel, then those of the last */
  int n_first, n_last;
  int blocks_first, blocks_last;
};

/* A vector's bytes, or those that are left of a row. */
template <typename Vector>
static __device__ __forceinline__ void
copy_vector (const BoxJob &job, int row, int at)
{
  const uint8_t *from = job.from + row * job.from_stride + at;
  uint8_t *to = job.to + row * job.to_stride + at;
  uint8_t *also = job.also + row * job.also_stride + at;

#pragma unroll 1
  for (int i = 0; i < (int) sizeof (Vector) && at + i < job.bytes; i++) {
    to[i] = from[i];
    if (job.also != NULL)
      also[i] = from[i];
  }
}

/* Loads first, so that they are on their way together. */
template <typename Vector>
static __device__ __forceinline__ void
copy_box (const BoxJob &job, int block)
{
  const int across = (job.bytes + (int) sizeof (Vector) - 1) / (int) sizeof (Vector);
  const int64_t n = (int64_t) across * job.rows;
  const int64_t first = (int64_t) block * (THREADS * EACH) + threadIdx.x;
  Vector vector[EACH] = {};
  int row[EACH], at[EACH];

#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const int64_t i = first + k * THREADS;

    row[k] = i < n ? (int) (i / across) : -1;
    at[k] = (int) (i - (int64_t) row[k] * across) * (int) sizeof (Vector);
    if (row[k] >= 0 && at[k] + (int) sizeof (Vector) <= job.bytes)
      vector[k] =
          gpu_load ((const Vector *) (job.from + row[k] * job.from_stride + at[k]));
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    if (row[k] < 0)
      continue;
    if (at[k] + (int) sizeof (Vector) > job.bytes) {
      copy_vector<Vector> (job, row[k], at[k]);
      continue;
    }
    *(Vector *) (job.to + row[k] * job.to_stride + at[k]) = vector[k];
    if (job.also != NULL)
      *(Vector *) (job.also + row[k] * job.also_stride + at[k]) = vector[k];
  }
}

static __global__ void
__launch_bounds__ (THREADS) copy_boxes (GPU_PARAMETER BoxFrame frame)
{
  __shared__ int found;
  const int block = (int) blockIdx.x;

  for (int i = (int) threadIdx.x; i < frame.n_jobs; i += THREADS) {
    const int first = frame.jobs[i].first;

    if (block >= first && block - first < frame.jobs[i].blocks)
      found = i;
  }
  __syncthreads ();
  gpu_admit_next ();
  gpu_await_previous ();
  {
    const BoxJob job = frame.jobs[found];

    if (job.vector == 16)
      copy_box<uint4> (job, block - job.first);
    else if (job.vector == 4)
      copy_box<uint32_t> (job, block - job.first);
    else
      copy_box<uint8_t> (job, block - job.first);
  }
}

RegionsInPlace *
regions_in_place_new (Fault *fault)
{
  RegionsInPlace *self = (RegionsInPlace *) calloc (1, sizeof *self);
  struct cudaFuncAttributes attributes;

  if (self == NULL) {
    regions_no_memory (fault);
    return NULL;
  }
  self->jobs.item = sizeof (BoxJob);
  /* Loads it, so that no frame waits for that. */
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) copy_boxes), fault);
  if (staging_init (&self->staging, LEAST_BLOCK, fault))
    return self;
done:
  regions_in_place_free (self);
  return NULL;
}

void
regions_in_place_free (RegionsInPlace *self)
{
  if (self == NULL)
    return;
  staging_clear (&self->staging);
  gpu_free (self->shadow_block);
  gpu_free (self->result_block);
  free (self->jobs.data);
  free (self);
}

/* Makes a picture of the plan's, unless there is one. */
static bool
make_picture (
    const RegionsPlan *plan, uint8_t **block, Image *picture, Fault *fault)
{
  if (*block != NULL)
    return true;
  *block = (uint8_t *) gpu_malloc (
      image_pack (&plan->layout, ALIGNMENT, NULL, picture), fault);
  if (*block != NULL)
    image_pack (&plan->layout, ALIGNMENT, *block, picture);
  return *block != NULL;
}

/* One of them with the rows of the image, which may be a field. */
static Image
with_rows (const Image *picture, const Image *image)
{
  Image rows = *picture;

  for (int m = 0; m < image->n_memories; m++)
    rows.memory[m].height = image->memory[m].height;
  return rows;
}

static int
choose_vector (const ImageMemory *a, const ImageMemory *b)
{
  for (int bytes : { 16, 4 })
    if (image_is_aligned (a->data, a->stride, bytes)
        && image_is_aligned (b->data, b->stride, bytes))
      return bytes;
  return 1;
}

/* Adds the copies of boxes, widened to whole vectors, and counts their blocks of threads. */
static bool
add_jobs (RegionsInPlace *self, const Image *from, const Image *to,
    const Image *also, const ImageBox *box, int n, int *n_jobs, int *blocks,
    Fault *fault)
{
  int64_t total = 0;

  *n_jobs = 0;
  for (int i = 0; i < n; i++) {
    const ImageMemory *src = &from->memory[box[i].memory];
    const ImageMemory *dst = &to->memory[box[i].memory];
    const int vector = choose_vector (src, dst);
    const int left = box[i].left / vector * vector;
    const int64_t end =
        ((int64_t) box[i].right + vector - 1) / vector * vector;
    BoxJob job = {};
    int64_t vectors;

    if (box[i].right <= box[i].left || box[i].bottom <= box[i].top)
      continue;
    job.from = src->data + box[i].top * src->stride + left;
    job.to = dst->data + box[i].top * dst->stride + left;
    job.from_stride = src->stride;
    job.to_stride = dst->stride;
    if (also != NULL) {
      const ImageMemory *second = &also->memory[box[i].memory];

      job.also = second->data + box[i].top * second->stride + left;
      job.also_stride = second->stride;
    }
    job.bytes = (int) (end < (int64_t) src->row_bytes ? end
                                                      : (int64_t) src->row_bytes)
        - left;
    job.rows = box[i].bottom - box[i].top;
    job.vector = vector;
    vectors = (int64_t) divide_up (job.bytes, vector) * job.rows;
    job.first = (int) total;
    job.blocks = (int) ((vectors + THREADS * EACH - 1) / (THREADS * EACH));
    total += job.blocks;
    if (total > MOST_BLOCKS)
      return fault_set (fault, FAULT_UNSUPPORTED,
          "Regions of this size cannot be covered in place.");
    if (!regions_append (&self->jobs, job, fault))
      return false;
    ++*n_jobs;
  }
  *blocks = (int) total;
  return true;
}

static bool
launch (const RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, int first, int n, int blocks, Fault *fault)
{
  BoxFrame frame;
  bool ok = false;

  frame.jobs = (const BoxJob *) self->staging.device + first;
  frame.n_jobs = n;
  if (blocks > 0)
    GPU_CHECK (gpu_launch_early (plan->gpu, copy_boxes,
                   dim3 ((unsigned) blocks), dim3 (THREADS), 0, run->stream,
                   frame),
        fault);
  ok = true;
done:
  return ok;
}

/* Sends the boxes of both kernels up. */
static bool
send_jobs (RegionsInPlace *self, const RegionsRun *run, Fault *fault)
{
  const size_t bytes = self->jobs.n * self->jobs.item;
  void *block;

  if (bytes == 0)
    return true;
  if (!staging_reserve (&self->staging, bytes, LEAST_BLOCK, run->stream, fault))
    return false;
  block = staging_begin (&self->staging, fault);
  if (block == NULL)
    return false;
  memcpy (block, self->jobs.data, bytes);
  return staging_send (&self->staging, bytes, run->stream, fault);
}

bool
regions_in_place_begin (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, RegionsInner *inner, Fault *fault)
{
  int device = -1;
  bool on_gpu;

  if (!gpu_memory_device (run->src->memory[0].data, &device, fault))
    return false;
  on_gpu = device >= 0;
  if (!make_picture (plan, &self->shadow_block, &self->shadow, fault)
      || (!on_gpu
          && !make_picture (plan, &self->result_block, &self->result, fault)))
    return false;
  inner->src = with_rows (&self->shadow, run->src);
  inner->dst = on_gpu ? *run->dst : with_rows (&self->result, run->dst);
  inner->run = *run;
  inner->run.src = &inner->src;
  inner->run.dst = &inner->dst;
  self->jobs.n = 0;
  self->n_last = self->blocks_last = 0;
  return add_jobs (self, run->src, &inner->src, on_gpu ? NULL : &inner->dst,
             run->read, run->n_boxes, &self->n_first, &self->blocks_first,
             fault)
      && (on_gpu
          || add_jobs (self, &inner->dst, run->dst, NULL, run->written,
              run->n_boxes, &self->n_last, &self->blocks_last, fault))
      && send_jobs (self, run, fault)
      && launch (
          self, plan, run, 0, self->n_first, self->blocks_first, fault);
}

bool
regions_in_place_end (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, Fault *fault)
{
  return launch (
      self, plan, run, self->n_first, self->n_last, self->blocks_last, fault);
}
