/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* device: bit-packed video on a GPU. A thread converts the pixels, or samples, of a row that
 * lie in a few whole words. */
#include "plan.h"

#include "../divide.h"
#include "../gpu-check.h"
#include "../gpu-launch.cuh"

#define THREADS_X 32
#define THREADS_Y 4
/* The largest extent of a grid along y. */
#define MAX_BLOCKS 65535
#define MASK 0x3ffu

struct BitpackFrame
{
  uint8_t *packed;
  ptrdiff_t packed_stride;
  int row_bytes;
  /* A kind that goes by memories has its samples in plane[0], shifted by `shift`. */
  uint8_t *plane[IMAGE_MAX_PLANES];
  ptrdiff_t stride[IMAGE_MAX_PLANES];
  int shift;
  int width, height; /* pixels, or samples, and rows */
  int aligned;       /* alignment of all packed rows, bytes: 16, 4, or 1 */
  bool fours;        /* rows of samples are aligned to four bytes */
  int bit[IMAGE_MAX_PLANES];
  int bits[IMAGE_MAX_PLANES]; /* HALFWORDS: of a sample */
  bool big_endian, has_alpha;
};

template <int N_PIXELS, int N_WORDS> struct ShareOf
{
  enum
  {
    PIXELS = N_PIXELS,
    WORDS = N_WORDS
  };
};

/* A thread's share: its number of pixels, or of samples if the kind goes by memories, and of
 * the words that they lie in. */
template <BitpackKind KIND> struct Share;
template <> struct Share<BITPACK_SIXES> : ShareOf<6, 4>
{
};
template <> struct Share<BITPACK_PAIRS> : ShareOf<8, 5>
{
};
template <> struct Share<BITPACK_WORDS> : ShareOf<4, 4>
{
};
template <> struct Share<BITPACK_HALFWORDS> : ShareOf<8, 4>
{
};
template <> struct Share<BITPACK_THREES> : ShareOf<12, 4>
{
};
template <> struct Share<BITPACK_FOURS> : ShareOf<16, 5>
{
};
template <> struct Share<BITPACK_SWAPPED> : ShareOf<8, 4>
{
};

/* The pixels of a thread: from `x` on, of which `n` lie in the frame. */
struct Place
{
  int x, n;
};

template <BitpackKind KIND>
__device__ static Place
find_place (const BitpackFrame &frame)
{
  const int x = (blockIdx.x * THREADS_X + threadIdx.x) * Share<KIND>::PIXELS;
  const Place place = { x, min (frame.width - x, (int) Share<KIND>::PIXELS) };

  return place;
}

__device__ static int
first_row ()
{
  return blockIdx.y * THREADS_Y + threadIdx.y;
}

__device__ static int
rows_apart ()
{
  return gridDim.y * THREADS_Y;
}

__device__ static uint32_t
reverse_bytes (uint32_t word)
{
  return __byte_perm (word, 0, 0x0123);
}

/* The address of the words of a place; *bytes is the number of their bytes within the row. */
template <BitpackKind KIND>
__device__ static uint8_t *
find_words (const BitpackFrame &frame, int x, int y, int *bytes)
{
  const ptrdiff_t at = (ptrdiff_t) (x / Share<KIND>::PIXELS)
      * Share<KIND>::WORDS * (ptrdiff_t) sizeof (uint32_t);

  *bytes = (int) min (frame.row_bytes - at,
      (ptrdiff_t) (Share<KIND>::WORDS * sizeof (uint32_t)));
  return frame.packed + y * frame.packed_stride + at;
}

template <BitpackKind KIND>
__device__ static void
load_words (
    const BitpackFrame &frame, int x, int y, uint32_t word[Share<KIND>::WORDS])
{
  const int words = Share<KIND>::WORDS;
  int bytes;
  const uint8_t *at = find_words<KIND> (frame, x, y, &bytes);
  const bool whole = bytes == words * (int) sizeof (uint32_t);

  if (words == 4 && whole && frame.aligned == 16) {
    const uint4 all = *(const uint4 *) at;

    word[0] = all.x;
    word[1] = all.y;
    word[2] = all.z;
    word[3] = all.w;
  } else if (whole && frame.aligned >= 4) {
#pragma unroll
    for (int i = 0; i < words; i++)
      word[i] = ((const uint32_t *) at)[i];
  } else {
#pragma unroll
    for (int i = 0; i < words; i++) {
      word[i] = 0;
#pragma unroll
      for (int b = 0; b < 4; b++)
        if (4 * i + b < bytes)
          word[i] |= (uint32_t) at[4 * i + b] << 8 * b;
    }
  }
}

template <BitpackKind KIND>
__device__ static void
store_words (const BitpackFrame &frame, int x, int y,
    const uint32_t word[Share<KIND>::WORDS])
{
  const int words = Share<KIND>::WORDS;
  int bytes;
  uint8_t *at = find_words<KIND> (frame, x, y, &bytes);
  const bool whole = bytes == words * (int) sizeof (uint32_t);

  if (words == 4 && whole && frame.aligned == 16) {
    *(uint4 *) at = make_uint4 (word[0], word[1], word[2], word[3]);
  } else if (whole && frame.aligned >= 4) {
#pragma unroll
    for (int i = 0; i < words; i++)
      ((uint32_t *) at)[i] = word[i];
  } else {
#pragma unroll
    for (int i = 0; i < words; i++)
#pragma unroll
      for (int b = 0; b < 4; b++)
        if (4 * i + b < bytes)
          at[4 * i + b] = (uint8_t) (word[i] >> 8 * b);
  }
}

template <typename SAMPLE = uint16_t>
__device__ static SAMPLE *
plane_row (const BitpackFrame &frame, int p, int y)
{
  return (SAMPLE *) (frame.plane[p] + y * frame.stride[p]);
}

/* Writes the first n of N samples. If N samples are whole words and rows are aligned to four
 * bytes, so is `to`. */
template <int N, typename SAMPLE>
__device__ static void
put_samples (
    const BitpackFrame &frame, SAMPLE *to, const uint32_t sample[N], int n)
{
  const int in_word = sizeof (uint32_t) / sizeof (SAMPLE), bits = 32 / in_word;

  if (N % in_word == 0 && n == N && frame.fours) {
#pragma unroll
    for (int i = 0; i < N / in_word; i++) {
      uint32_t word = 0;

#pragma unroll
      for (int k = 0; k < in_word; k++)
        word |= sample[in_word * i + k] << bits * k;
      ((uint32_t *) to)[i] = word;
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++)
      if (i < n)
        to[i] = (SAMPLE) sample[i];
  }
}

/* Reads the first n of N samples; the others become 0. */
template <int N, typename SAMPLE>
__device__ static void
get_samples (
    const BitpackFrame &frame, const SAMPLE *from, uint32_t sample[N], int n)
{
  const int in_word = sizeof (uint32_t) / sizeof (SAMPLE), bits = 32 / in_word;

  if (N % in_word == 0 && n == N && frame.fours) {
#pragma unroll
    for (int i = 0; i < N / in_word; i++) {
      const uint32_t word = ((const uint32_t *) from)[i];

#pragma unroll
      for (int k = 0; k < in_word; k++)
        sample[in_word * i + k] = word >> bits * k & ((1u << bits) - 1);
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; i++)
      sample[i] = i < n ? from[i] : 0;
  }
}

/* Swaps the bytes of both samples of a word. */
__device__ static uint32_t
swap_halves (uint32_t word)
{
  return __byte_perm (word, 0, 0x2301);
}

/* The i-th sample of a thread's words; for 4:2:2 their order is U Y V Y. */
template <BitpackKind KIND>
__device__ static uint32_t
sample_of (const uint32_t word[Share<KIND>::WORDS], int i)
{
  const int at = 10 * i / 32, bit = 10 * i % 32;

  if (KIND == BITPACK_SIXES || KIND == BITPACK_THREES)
    return word[i / 3] >> 10 * (i % 3) & MASK;
  if (KIND == BITPACK_SWAPPED)
    return swap_halves (word[i / 2]) >> 16 * (i % 2) & 0xffff;
  /* A sample that crosses the end of a word has its rest in the next word. */
  if (KIND == BITPACK_FOURS)
    return (bit > 22 ? word[at] >> bit | word[at + 1] << (32 - bit)
                     : word[at] >> bit)
        & MASK;
  if (bit > 22)
    return (reverse_bytes (word[at]) << (bit - 22)
               | reverse_bytes (word[at + 1]) >> (54 - bit))
        & MASK;
  return reverse_bytes (word[at]) >> (22 - bit) & MASK;
}

/* Adds the i-th sample to words that were 0. For PAIRS and SWAPPED the bytes are in the opposite
 * order, which the caller reverses at the end. */
template <BitpackKind KIND>
__device__ static void
add_sample (uint32_t word[Share<KIND>::WORDS], int i, uint32_t sample)
{
  const int at = 10 * i / 32, bit = 10 * i % 32;

  if (KIND == BITPACK_SIXES || KIND == BITPACK_THREES) {
    word[i / 3] |= sample << 10 * (i % 3);
  } else if (KIND == BITPACK_SWAPPED) {
    word[i / 2] |= sample << 16 * (i % 2);
  } else if (KIND == BITPACK_FOURS) {
    word[at] |= sample << bit;
    if (bit > 22)
      word[at + 1] |= sample >> (32 - bit);
  } else if (bit > 22) {
    word[at] |= sample >> (bit - 22);
    word[at + 1] |= sample << (54 - bit);
  } else {
    word[at] |= sample << (22 - bit);
  }
}

template <BitpackKind KIND>
static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y) unpack_422 (const BitpackFrame frame)
{
  const int pixels = Share<KIND>::PIXELS, half = pixels / 2;
  const Place place = find_place<KIND> (frame);

  if (place.n <= 0)
    return;
  for (int y = first_row (); y < frame.height; y += rows_apart ()) {
    uint32_t word[Share<KIND>::WORDS], luma[pixels], u[half], v[half];

    load_words<KIND> (frame, place.x, y, word);
#pragma unroll
    for (int i = 0; i < half; i++) {
      u[i] = sample_of<KIND> (word, 4 * i);
      luma[2 * i] = sample_of<KIND> (word, 4 * i + 1);
      v[i] = sample_of<KIND> (word, 4 * i + 2);
      luma[2 * i + 1] = sample_of<KIND> (word, 4 * i + 3);
    }
    put_samples<pixels> (
        frame, plane_row (frame, 0, y) + place.x, luma, place.n);
    put_samples<half> (
        frame, plane_row (frame, 1, y) + place.x / 2, u, (place.n + 1) / 2);
    put_samples<half> (
        frame, plane_row (frame, 2, y) + place.x / 2, v, (place.n + 1) / 2);
  }
}

template <BitpackKind KIND>
static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y) pack_422 (const BitpackFrame frame)
{
  const int pixels = Share<KIND>::PIXELS, half = pixels / 2;
  const Place place = find_place<KIND> (frame);

  if (place.n <= 0)
    return;
  for (int y = first_row (); y < frame.height; y += rows_apart ()) {
    uint32_t word[Share<KIND>::WORDS] = {}, luma[pixels], u[half], v[half];

    get_samples<pixels> (
        frame, plane_row (frame, 0, y) + place.x, luma, place.n);
    get_samples<half> (
        frame, plane_row (frame, 1, y) + place.x / 2, u, (place.n + 1) / 2);
    get_samples<half> (
        frame, plane_row (frame, 2, y) + place.x / 2, v, (place.n + 1) / 2);
#pragma unroll
    for (int i = 0; i < half; i++) {
      add_sample<KIND> (word, 4 * i, u[i]);
      add_sample<KIND> (word, 4 * i + 1, luma[2 * i]);
      add_sample<KIND> (word, 4 * i + 2, v[i]);
      add_sample<KIND> (word, 4 * i + 3, luma[2 * i + 1]);
    }
#pragma unroll
    for (int i = 0; KIND == BITPACK_PAIRS && i < Share<KIND>::WORDS; i++)
      word[i] = reverse_bytes (word[i]);
    store_words<KIND> (frame, place.x, y, word);
  }
}

static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y) unpack_words (const BitpackFrame frame)
{
  const int pixels = Share<BITPACK_WORDS>::PIXELS;
  const Place place = find_place<BITPACK_WORDS> (frame);

  if (place.n <= 0)
    return;
  for (int y = first_row (); y < frame.height; y += rows_apart ()) {
    uint32_t word[pixels], sample[pixels];

    load_words<BITPACK_WORDS> (frame, place.x, y, word);
#pragma unroll
    for (int i = 0; i < pixels; i++)
      word[i] = frame.big_endian ? reverse_bytes (word[i]) : word[i];
#pragma unroll
    for (int p = 0; p < BITPACK_ALPHA; p++) {
#pragma unroll
      for (int i = 0; i < pixels; i++)
        sample[i] = word[i] >> frame.bit[p] & MASK;
      put_samples<pixels> (
          frame, plane_row (frame, p, y) + place.x, sample, place.n);
    }
    if (frame.has_alpha) {
#pragma unroll
      for (int i = 0; i < pixels; i++)
        sample[i] = (word[i] >> 30) * BITPACK_ALPHA_STEP;
      put_samples<pixels> (frame, plane_row (frame, BITPACK_ALPHA, y) + place.x,
          sample, place.n);
    }
  }
}

static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y) pack_words (const BitpackFrame frame)
{
  const int pixels = Share<BITPACK_WORDS>::PIXELS;
  const Place place = find_place<BITPACK_WORDS> (frame);

  if (place.n <= 0)
    return;
  for (int y = first_row (); y < frame.height; y += rows_apart ()) {
    uint32_t word[pixels] = {}, sample[pixels];

#pragma unroll
    for (int p = 0; p < BITPACK_ALPHA; p++) {
      get_samples<pixels> (
          frame, plane_row (frame, p, y) + place.x, sample, place.n);
#pragma unroll
      for (int i = 0; i < pixels; i++)
        word[i] |= sample[i] << frame.bit[p];
    }
    if (frame.has_alpha) {
      get_samples<pixels> (frame, plane_row (frame, BITPACK_ALPHA, y) + place.x,
          sample, place.n);
#pragma unroll
      for (int i = 0; i < pixels; i++)
        word[i] |= (sample[i] + BITPACK_ALPHA_STEP / 2) / BITPACK_ALPHA_STEP
            << 30;
    }
#pragma unroll
    for (int i = 0; i < pixels; i++)
      word[i] = frame.big_endian ? reverse_bytes (word[i]) : word[i];
    store_words<BITPACK_WORDS> (frame, place.x, y, word);
  }
}

static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y)
    unpack_halfwords (const BitpackFrame frame)
{
  const int pixels = Share<BITPACK_HALFWORDS>::PIXELS;
  const Place place = find_place<BITPACK_HALFWORDS> (frame);

  if (place.n <= 0)
    return;
  for (int y = first_row (); y < frame.height; y += rows_apart ()) {
    uint32_t word[Share<BITPACK_HALFWORDS>::WORDS], sample[pixels];

    load_words<BITPACK_HALFWORDS> (frame, place.x, y, word);
#pragma unroll
    for (int p = 0; p < 3; p++) {
      const int bits = frame.bits[p];

      /* The bits of a sample are repeated to make 8. */
#pragma unroll
      for (int i = 0; i < pixels; i++) {
        const uint32_t code =
            word[i / 2] >> (16 * (i % 2) + frame.bit[p]) & ((1u << bits) - 1);

        sample[i] = code << (8 - bits) | code >> (2 * bits - 8);
      }
      put_samples<pixels> (
          frame, plane_row<uint8_t> (frame, p, y) + place.x, sample, place.n);
    }
  }
}

static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y)
    pack_halfwords (const BitpackFrame frame)
{
  const int pixels = Share<BITPACK_HALFWORDS>::PIXELS;
  const Place place = find_place<BITPACK_HALFWORDS> (frame);

  if (place.n <= 0)
    return;
  for (int y = first_row (); y < frame.height; y += rows_apart ()) {
    uint32_t word[Share<BITPACK_HALFWORDS>::WORDS] = {}, sample[pixels];

#pragma unroll
    for (int p = 0; p < 3; p++) {
      const uint32_t full = (1u << frame.bits[p]) - 1;

      get_samples<pixels> (
          frame, plane_row<uint8_t> (frame, p, y) + place.x, sample, place.n);
#pragma unroll
      for (int i = 0; i < pixels; i++)
        word[i / 2] |= (sample[i] * full + 127) / 255
            << (16 * (i % 2) + frame.bit[p]);
    }
    store_words<BITPACK_HALFWORDS> (frame, place.x, y, word);
  }
}

/* Unpacks rows of samples of one memory. */
template <BitpackKind KIND>
static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y) unpack_rows (const BitpackFrame frame)
{
  const int samples = Share<KIND>::PIXELS;
  const Place place = find_place<KIND> (frame);

  if (place.n <= 0)
    return;
  for (int y = first_row (); y < frame.height; y += rows_apart ()) {
    uint32_t word[Share<KIND>::WORDS], sample[samples];

    load_words<KIND> (frame, place.x, y, word);
#pragma unroll
    for (int i = 0; i < samples; i++)
      sample[i] = sample_of<KIND> (word, i) << frame.shift;
    put_samples<samples> (
        frame, plane_row (frame, 0, y) + place.x, sample, place.n);
  }
}

template <BitpackKind KIND>
static __global__ void
__launch_bounds__ (THREADS_X *THREADS_Y) pack_rows (const BitpackFrame frame)
{
  const int samples = Share<KIND>::PIXELS;
  const Place place = find_place<KIND> (frame);

  if (place.n <= 0)
    return;
  for (int y = first_row (); y < frame.height; y += rows_apart ()) {
    uint32_t word[Share<KIND>::WORDS] = {}, sample[samples];

    get_samples<samples> (
        frame, plane_row (frame, 0, y) + place.x, sample, place.n);
#pragma unroll
    for (int i = 0; i < samples; i++)
      add_sample<KIND> (word, i, sample[i] >> frame.shift);
#pragma unroll
    for (int i = 0; KIND == BITPACK_SWAPPED && i < Share<KIND>::WORDS; i++)
      word[i] = swap_halves (word[i]);
    store_words<KIND> (frame, place.x, y, word);
  }
}

typedef void (*Kernel) (BitpackFrame);

/* The pixels of a thread and the kernels, for each kind. */
static const struct
{
  int pixels;
  Kernel unpack, pack;
} kernels[BITPACK_N_KINDS] = {
  { Share<BITPACK_SIXES>::PIXELS, unpack_422<BITPACK_SIXES>,
      pack_422<BITPACK_SIXES> },
  { Share<BITPACK_PAIRS>::PIXELS, unpack_422<BITPACK_PAIRS>,
      pack_422<BITPACK_PAIRS> },
  { Share<BITPACK_WORDS>::PIXELS, unpack_words, pack_words },
  { Share<BITPACK_HALFWORDS>::PIXELS, unpack_halfwords, pack_halfwords },
  { Share<BITPACK_THREES>::PIXELS, unpack_rows<BITPACK_THREES>,
      pack_rows<BITPACK_THREES> },
  { Share<BITPACK_FOURS>::PIXELS, unpack_rows<BITPACK_FOURS>,
      pack_rows<BITPACK_FOURS> },
  { Share<BITPACK_SWAPPED>::PIXELS, unpack_rows<BITPACK_SWAPPED>,
      pack_rows<BITPACK_SWAPPED> },
};

/* A frame with the packed side filled in, of memory m. */
static BitpackFrame
describe_packed (const Image *packed, int m)
{
  const ImageMemory *memory = &packed->memory[m];
  BitpackFrame frame = BitpackFrame ();

  frame.packed = memory->data;
  frame.packed_stride = memory->stride;
  frame.row_bytes = (int) memory->row_bytes;
  frame.aligned = image_is_aligned (memory->data, memory->stride, 16) ? 16
      : image_is_aligned (memory->data, memory->stride, 4)            ? 4
                                                                      : 1;
  frame.fours = true;
  return frame;
}

static void
add_samples (BitpackFrame *frame, int p, const ImageMemory *memory)
{
  frame->plane[p] = memory->data;
  frame->stride[p] = memory->stride;
  frame->fours =
      frame->fours && image_is_aligned (memory->data, memory->stride, 4);
}

static BitpackFrame
describe_frame (
    const BitpackPlan *plan, const Image *packed, const Image *planes)
{
  const BitpackShape *shape = plan->shape;
  BitpackFrame frame = describe_packed (packed, 0);

  for (int p = 0; p < shape->n_planes; p++) {
    add_samples (&frame, p, bitpack_memory (planes, p));
    frame.bit[p] = shape->bit[p];
    frame.bits[p] = bitpack_sample_bits (shape, p);
  }
  frame.width = planes->plane[0].width;
  frame.height = image_plane_height (planes, 0);
  frame.big_endian = shape->big_endian;
  frame.has_alpha = shape->n_planes > BITPACK_ALPHA;
  return frame;
}

static BitpackFrame
describe_memory (
    const BitpackPlan *plan, const Image *packed, const Image *planes, int m)
{
  BitpackFrame frame = describe_packed (packed, m);

  add_samples (&frame, 0, &planes->memory[m]);
  frame.shift = bitpack_shift (plan->shape, planes, m);
  frame.width = bitpack_row_samples (planes, m);
  frame.height = planes->memory[m].height;
  return frame;
}

static bool
launch (const BitpackPlan *plan, Kernel kernel, const Image *packed,
    const Image *planes, GpuStream stream, Fault *fault)
{
  const BitpackKind kind = plan->shape->kind;
  const bool by_memories = bitpack_goes_by_memories (kind);
  bool ok = false;

  for (int m = 0; m < packed->n_memories; m++) {
    const BitpackFrame frame = by_memories
        ? describe_memory (plan, packed, planes, m)
        : describe_frame (plan, packed, planes);
    dim3 grid;

    grid.x =
        divide_up (divide_up (frame.width, kernels[kind].pixels), THREADS_X);
    grid.y = min (divide_up (frame.height, THREADS_Y), MAX_BLOCKS);
    GPU_CHECK (gpu_launch (
                   kernel, grid, dim3 (THREADS_X, THREADS_Y), 0, stream, frame),
        fault);
  }
  ok = true;
done:
  return ok;
}

static bool
device_unpack (BitpackPlan *plan, const Image *packed, const Image *planes,
    GpuStream stream, Fault *fault)
{
  return launch (
      plan, kernels[plan->shape->kind].unpack, packed, planes, stream, fault);
}

static bool
device_pack (BitpackPlan *plan, const Image *planes, const Image *packed,
    GpuStream stream, Fault *fault)
{
  return launch (
      plan, kernels[plan->shape->kind].pack, packed, planes, stream, fault);
}

/* Loads the kernels, so that no frame waits for that. */
static bool
device_prepare (BitpackPlan *plan, Fault *fault)
{
  const BitpackKind kind = plan->shape->kind;
  struct cudaFuncAttributes attributes;
  bool ok = false;

  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) kernels[kind].unpack),
      fault);
  GPU_CHECK (
      cudaFuncGetAttributes (&attributes, (const void *) kernels[kind].pack),
      fault);
  ok = true;
done:
  return ok;
}

static void
device_release (BitpackPlan *plan)
{
  (void) plan;
}

static uint8_t *
device_allocate (size_t bytes, Fault *fault)
{
  return (uint8_t *) gpu_malloc (bytes, fault);
}

static void
device_free (uint8_t *block)
{
  gpu_free (block);
}

extern "C" const BitpackOps bitpack_device_ops = {
  .prepare = device_prepare,
  .release = device_release,
  .allocate = device_allocate,
  .free = device_free,
  .unpack = device_unpack,
  .pack = device_pack,
};
