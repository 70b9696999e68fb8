/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "in-place.cuh"

#include "device.cuh"
#include "list.cuh"

#include "../divide.h"
#include "../gpu-check.h"
#include "../gpu-launch.cuh"

#define ALIGNMENT 64 /* bytes, of rows of the plan's pictures */
#define THREADS 256
#define EACH 2         /* vectors of a thread */
#define MOST_BOXES 160 /* of a launch: as many as its parameter holds */
/* On pinned memory, more than FEW_PARTS parts are copied by BUS_BLOCKS blocks of threads, which
 * keep the bus busy. More blocks would wait for the bus and occupy the GPU that other frames'
 * kernels need. */
#define FEW_PARTS 256
#define BUS_BLOCKS 24
#define MOST_PARAMETER 4096 /* bytes */

/* A memory that boxes are copied from, `from`, to a second one, `to`, and a third one, `also`,
 * unless that is NULL. */
struct BoxMemory
{
  const uint8_t *from;
  uint8_t *to, *also;
  ptrdiff_t from_stride, to_stride, also_stride;
  int vector; /* bytes of a load or store; addresses are aligned to it */
};

/* A box. `left` and `bytes` are multiples of the memory's vector, but for `bytes` at the end of a
 * row. Its parts, each for one block of threads, are numbered from `first` to the next box's
 * `first`. */
struct Box
{
  int first, memory, left, top, bytes, rows;
};

struct BoxFrame
{
  BoxMemory memory[IMAGE_MAX_MEMORIES];
  int n, parts;
  Box box[MOST_BOXES];
};

static_assert (
    sizeof (BoxFrame) <= MOST_PARAMETER, "kernels have no larger parameters");

/* Pictures and stream of a run in place; only runs on pinned memory need `result` and `stream`. */
struct InPlaceSet
{
  uint8_t *shadow_block, *result_block;
  Image shadow, result;
  GpuStream stream; /* of overlapped runs */
  GpuEvent done;
  /* RegionsInPlace.settled when the stream last waited for `ended` */
  unsigned settled;
};

/* Runs that are not overlapped use the first set's pictures, on the caller's stream. */
struct RegionsInPlace
{
  InPlaceSet set[REGIONS_OVERLAPPING];
  int next;         /* set of the next overlapped run */
  bool overlaps;    /* the streams exist */
  GpuEvent ended;   /* the last run that was not overlapped */
  unsigned settled; /* number of times that `ended` was recorded */
};

/* Copies the last `bytes` bytes of a row, fewer than a vector. */
static __device__ __forceinline__ void
copy_rest (const BoxMemory &memory, ptrdiff_t from, ptrdiff_t to,
    ptrdiff_t also, int bytes)
{
#pragma unroll 1
  for (int i = 0; i < bytes; i++) {
    memory.to[to + i] = memory.from[from + i];
    if (memory.also != NULL)
      memory.also[also + i] = memory.from[from + i];
  }
}

/* Copies one part of a box. All loads come first, so that they are in flight together. */
template <typename Vector>
static __device__ __forceinline__ void
copy_box (const BoxMemory &memory, const Box &box, int part)
{
  const int size = (int) sizeof (Vector);
  const int across = (box.bytes + size - 1) / size;
  const int first = part * (THREADS * EACH) + (int) threadIdx.x;
  Vector vector[EACH] = {};
  int row[EACH], at[EACH];

#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const unsigned i = (unsigned) (first + k * THREADS);
    const int down = (int) (i / (unsigned) across);

    row[k] = box.top + down;
    at[k] = down < box.rows ? (int) (i - (unsigned) (down * across)) * size
                            : box.bytes;
    if (at[k] + size <= box.bytes)
      vector[k] = gpu_load ((const Vector *) (memory.from
          + row[k] * memory.from_stride + box.left + at[k]));
  }
#pragma unroll
  for (int k = 0; k < EACH; k++) {
    const ptrdiff_t to = row[k] * memory.to_stride + box.left + at[k];
    const ptrdiff_t also = row[k] * memory.also_stride + box.left + at[k];

    if (at[k] + size <= box.bytes) {
      *(Vector *) (memory.to + to) = vector[k];
      if (memory.also != NULL)
        *(Vector *) (memory.also + also) = vector[k];
    } else if (at[k] < box.bytes) {
      copy_rest (memory, row[k] * memory.from_stride + box.left + at[k], to,
          also, box.bytes - at[k]);
    }
  }
}

/* Copies all parts of all boxes; blocks of threads take them round robin. */
static __global__ void
__launch_bounds__ (THREADS) copy_boxes (GPU_PARAMETER BoxFrame frame)
{
  __shared__ int found;
  const int me = (int) threadIdx.x;

  static_assert (MOST_BOXES <= THREADS, "a thread each");
  gpu_admit_next ();
  for (int part = (int) blockIdx.x; part < frame.parts;
       part += (int) gridDim.x) {
    if (me < frame.n && part >= frame.box[me].first
        && (me + 1 == frame.n || part < frame.box[me + 1].first))
      found = me;
    __syncthreads ();
    if (part == (int) blockIdx.x)
      gpu_await_previous ();
    {
      const Box box = frame.box[found];
      const BoxMemory &memory = frame.memory[box.memory];

      if (memory.vector == 16)
        copy_box<uint4> (memory, box, part - box.first);
      else if (memory.vector == 4)
        copy_box<uint32_t> (memory, box, part - box.first);
      else
        copy_box<uint8_t> (memory, box, part - box.first);
    }
    __syncthreads ();
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
  /* Loads the kernel, so that no frame waits for that. */
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) copy_boxes), fault);
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
  for (InPlaceSet &set : self->set) {
    gpu_free (set.shadow_block);
    gpu_free (set.result_block);
    gpu_event_free (set.done);
    gpu_stream_free (set.stream);
  }
  gpu_event_free (self->ended);
  free (self);
}

/* Allocates a picture of the plan's layout, unless there is one. */
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

static bool
make_set (
    const RegionsPlan *plan, InPlaceSet *set, bool in_gpu_memory, Fault *fault)
{
  return make_picture (plan, &set->shadow_block, &set->shadow, fault)
      && (in_gpu_memory
          || make_picture (plan, &set->result_block, &set->result, fault));
}

static bool
make_stream (InPlaceSet *set, Fault *fault)
{
  return (set->stream != NULL || gpu_stream_new (&set->stream, fault))
      && (set->done != NULL || gpu_event_new_untimed (&set->done, fault));
}

bool
regions_in_place_reserve (RegionsInPlace *self, const RegionsPlan *plan,
    bool in_gpu_memory, GpuOrder order, Fault *fault)
{
  if (in_gpu_memory || order == GPU_AFTER_KERNELS)
    return make_set (plan, &self->set[0], in_gpu_memory, fault);
  if (self->overlaps)
    return true;
  for (InPlaceSet &set : self->set)
    if (!make_set (plan, &set, false, fault) || !make_stream (&set, fault))
      return false;
  self->overlaps = gpu_event_new_untimed (&self->ended, fault);
  return self->overlaps;
}

bool
regions_in_place_settle (RegionsInPlace *self, GpuStream stream, Fault *fault)
{
  if (!self->overlaps)
    return true;
  self->settled++;
  return gpu_event_record (self->ended, stream, fault);
}

bool
regions_run_alone (const RegionsRun *run, Fault *fault)
{
  RegionsBeside *beside = run->beside;

  if (beside == NULL || beside->alone)
    return true;
  beside->alone = true;
  return gpu_event_record (beside->event, beside->after, fault)
      && gpu_stream_wait_event (run->stream, beside->event, fault);
}

/* The plan's picture with as many rows as the image, which may be a field. */
static Image
with_rows (const Image *picture, const Image *image)
{
  Image rows = *picture;

  for (int m = 0; m < image->n_memories; m++)
    rows.memory[m].height = image->memory[m].height;
  return rows;
}

static void
describe_memories (
    BoxFrame *frame, const Image *from, const Image *to, const Image *also)
{
  for (int m = 0; m < from->n_memories; m++) {
    BoxMemory *memory = &frame->memory[m];

    memory->from = from->memory[m].data;
    memory->from_stride = from->memory[m].stride;
    memory->to = to->memory[m].data;
    memory->to_stride = to->memory[m].stride;
    memory->also = also != NULL ? also->memory[m].data : NULL;
    memory->also_stride = also != NULL ? also->memory[m].stride : 0;
    memory->vector = regions_choose_vector (&from->memory[m], &to->memory[m]);
  }
}

/* The n for which a vector has 2^n bytes: shifts replace divisions, whose time would be
 * noticeable over all boxes of a frame. */
static int
vector_bits (int vector)
{
  return vector == 16 ? 4 : vector == 4 ? 2 : 0;
}

/* A box widened to whole vectors. */
static Box
describe_box (const BoxFrame *frame, const Image *image, const ImageBox *of)
{
  const int vector = frame->memory[of->memory].vector;
  const int64_t row_bytes = (int64_t) image->memory[of->memory].row_bytes;
  const int64_t end = ((int64_t) of->right + vector - 1) & -(int64_t) vector;
  Box box;

  box.first = 0;
  box.memory = of->memory;
  box.left = of->left & -vector;
  box.top = of->top;
  box.bytes = (int) (end < row_bytes ? end : row_bytes) - box.left;
  box.rows = of->bottom - of->top;
  return box;
}

static int
count_parts (const BoxFrame *frame, const Box *box)
{
  const int vector = frame->memory[box->memory].vector;
  const int across = (box->bytes + vector - 1) >> vector_bits (vector);

  return divide_up (across * box->rows, THREADS * EACH);
}

static unsigned
count_blocks (int parts, bool pinned)
{
  return (unsigned) (pinned && parts > FEW_PARTS ? BUS_BLOCKS : parts);
}

/* Queues copies of all boxes, at most MOST_BOXES in a launch; `pinned`: from or to pinned
 * memory. */
static bool
copy (const RegionsPlan *plan, const RegionsRun *run, const Image *from,
    const Image *to, const Image *also, const ImageBox *box, bool pinned,
    Fault *fault)
{
  BoxFrame frame;
  bool ok = false;

  describe_memories (&frame, from, to, also);
  frame.n = frame.parts = 0;
  for (int i = 0; i < run->n_boxes; i++) {
    const bool none =
        box[i].right <= box[i].left || box[i].bottom <= box[i].top;

    if (!none) {
      Box *next = &frame.box[frame.n++];

      *next = describe_box (&frame, from, &box[i]);
      next->first = frame.parts;
      frame.parts += count_parts (&frame, next);
    }
    if (frame.n == 0 || (frame.n < MOST_BOXES && i + 1 < run->n_boxes))
      continue;
    GPU_CHECK (gpu_launch_early (plan->gpu, copy_boxes,
                   dim3 (count_blocks (frame.parts, pinned)), dim3 (THREADS), 0,
                   run->stream, frame),
        fault);
    frame.n = frame.parts = 0;
  }
  ok = true;
done:
  return ok;
}

/* Moves a run to the stream of a set, overlapped with the runs before it. */
static bool
begin_beside (RegionsInPlace *self, InPlaceSet *set, const RegionsRun *run,
    RegionsInner *inner, Fault *fault)
{
  inner->beside = { (int) (set - self->set), run->stream, set->done, false };
  inner->run.beside = &inner->beside;
  inner->run.stream = set->stream;
  if (self->settled == 0 && !regions_in_place_settle (self, run->stream, fault))
    return false;
  if (set->settled == self->settled)
    return true;
  set->settled = self->settled;
  return gpu_stream_wait_event (set->stream, self->ended, fault);
}

bool
regions_in_place_find (const RegionsRun *run, bool *on_gpu, Fault *fault)
{
  int device = -1;

  if (!gpu_memory_device (run->src->memory[0].data, &device, fault))
    return false;
  *on_gpu = device >= 0;
  return true;
}

bool
regions_in_place_begin (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, bool on_gpu, RegionsInner *inner, Fault *fault)
{
  const GpuOrder order = on_gpu ? GPU_AFTER_KERNELS : run->order;
  InPlaceSet *set = &self->set[0];

  inner->run = *run;
  inner->run.src = &inner->src;
  inner->run.dst = &inner->dst;
  if (!regions_in_place_reserve (self, plan, on_gpu, order, fault))
    return false;
  if (order == GPU_BESIDE_KERNELS) {
    set = &self->set[self->next];
    self->next = (self->next + 1) % REGIONS_OVERLAPPING;
    if (!begin_beside (self, set, run, inner, fault))
      return false;
  }
  inner->src = with_rows (&set->shadow, run->src);
  inner->dst = on_gpu ? *run->dst : with_rows (&set->result, run->dst);
  return copy (plan, &inner->run, run->src, &inner->src,
      on_gpu ? NULL : &inner->dst, run->read, !on_gpu, fault);
}

bool
regions_in_place_end (RegionsInPlace *self, const RegionsPlan *plan,
    const RegionsRun *run, const RegionsInner *inner, Fault *fault)
{
  const RegionsBeside *beside = inner->run.beside;

  if (inner->run.dst->memory[0].data != run->dst->memory[0].data
      && !copy (plan, &inner->run, &inner->dst, run->dst, NULL, run->written,
          true, fault))
    return false;
  if (beside != NULL
      && (!gpu_event_record (beside->event, inner->run.stream, fault)
          || !gpu_stream_wait_event (run->stream, beside->event, fault)))
    return false;
  return (beside != NULL && !beside->alone)
      || regions_in_place_settle (self, run->stream, fault);
}

void
regions_in_place_abandon (const RegionsInner *inner)
{
  if (inner->run.beside != NULL)
    (void) gpu_stream_synchronize (inner->run.stream, NULL);
}
