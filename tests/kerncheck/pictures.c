/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pictures.h"

#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 128 /* least number before and after a memory */
#define MAX_PADDING 67  /* bytes between rows */

/* Fields of a plane: memory, offset, sub_x, channels, pixel stride, channel stride, depth,
 * shift. */
static const LayoutKind kinds[] = {
  { "gray8", 1, 1, { 1 }, { { 0, 0, 1, 1, 1, 1, 8, 0 } }, 0 },
  { "gray10", 1, 1, { 1 }, { { 0, 0, 1, 1, 2, 2, 10, 0 } }, 0 },
  { "gray12", 1, 1, { 1 }, { { 0, 0, 1, 1, 2, 2, 12, 0 } }, 0 },
  { "gray16", 1, 1, { 1 }, { { 0, 0, 1, 1, 2, 2, 16, 0 } }, 0 },
  { "two8", 1, 1, { 1 }, { { 0, 0, 1, 2, 2, 1, 8, 0 } }, 0 },
  { "two16", 1, 1, { 1 }, { { 0, 0, 1, 2, 4, 2, 16, 0 } }, 0 },
  { "nv12", 2, 2, { 1, 2 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 2, 2, 2, 1, 8, 0 } }, 0 },
  { "p010", 2, 2, { 1, 2 },
      { { 0, 0, 1, 1, 2, 2, 10, 6 }, { 1, 0, 2, 2, 4, 2, 10, 6 } }, 0 },
  { "p012", 2, 2, { 1, 2 },
      { { 0, 0, 1, 1, 2, 2, 12, 4 }, { 1, 0, 2, 2, 4, 2, 12, 4 } }, 0 },
  { "p016", 2, 2, { 1, 2 },
      { { 0, 0, 1, 1, 2, 2, 16, 0 }, { 1, 0, 2, 2, 4, 2, 16, 0 } }, 0 },
  { "rgb24", 1, 1, { 1 }, { { 0, 0, 1, 3, 3, 1, 8, 0 } }, 0 },
  { "v308", 1, 3, { 1 },
      { { 0, 0, 1, 1, 3, 1, 8, 0 }, { 0, 1, 1, 1, 3, 1, 8, 0 },
          { 0, 2, 1, 1, 3, 1, 8, 0 } },
      0 },
  { "rgbx", 1, 1, { 1 }, { { 0, 0, 1, 4, 4, 1, 8, 0 } }, 0x8 },
  { "xrgb-gap", 1, 1, { 1 }, { { 0, 1, 1, 3, 4, 1, 8, 0 } }, 0 },
  { "ayuv", 1, 1, { 1 }, { { 0, 0, 1, 4, 4, 1, 8, 0 } }, 0 },
  { "rgba64", 1, 1, { 1 }, { { 0, 0, 1, 4, 8, 2, 16, 0 } }, 0 },
  { "y412", 1, 1, { 1 }, { { 0, 0, 1, 4, 8, 2, 12, 4 } }, 0x8 },
  { "yuy2", 1, 2, { 1 },
      { { 0, 0, 1, 1, 2, 1, 8, 0 }, { 0, 1, 2, 2, 4, 2, 8, 0 } }, 0 },
  { "uyvy", 1, 2, { 1 },
      { { 0, 1, 1, 1, 2, 1, 8, 0 }, { 0, 0, 2, 2, 4, 2, 8, 0 } }, 0 },
  { "y210", 1, 2, { 1 },
      { { 0, 0, 1, 1, 4, 2, 10, 6 }, { 0, 2, 2, 2, 8, 4, 10, 6 } }, 0 },
  { "y212", 1, 2, { 1 },
      { { 0, 0, 1, 1, 4, 2, 12, 4 }, { 0, 2, 2, 2, 8, 4, 12, 4 } }, 0 },
  { "planar3", 3, 3, { 1, 2, 2 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 2, 1, 1, 1, 8, 0 },
          { 2, 0, 2, 1, 1, 1, 8, 0 } },
      0 },
  { "planar3-10", 3, 3, { 1, 1, 1 },
      { { 0, 0, 1, 1, 2, 2, 10, 0 }, { 1, 0, 2, 1, 2, 2, 10, 0 },
          { 2, 0, 2, 1, 2, 2, 10, 0 } },
      0 },
  { "planar4", 4, 4, { 1, 4, 4, 1 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 4, 1, 1, 1, 8, 0 },
          { 2, 0, 4, 1, 1, 1, 8, 0 }, { 3, 0, 1, 1, 1, 1, 8, 0 } },
      0 },
  { "planar4-16", 4, 4, { 1, 1, 1, 1 },
      { { 0, 0, 1, 1, 2, 2, 16, 0 }, { 1, 0, 1, 1, 2, 2, 16, 0 },
          { 2, 0, 1, 1, 2, 2, 16, 0 }, { 3, 0, 1, 1, 2, 2, 16, 0 } },
      0 },
  /* No format has these layouts, but image.h allows them. */
  { "odd-bits", 4, 4, { 1, 2, 1, 3 },
      { { 0, 0, 1, 1, 1, 1, 1, 0 }, { 1, 1, 2, 2, 3, 1, 5, 3 },
          { 2, 2, 1, 2, 6, 2, 13, 2 }, { 3, 3, 3, 1, 2, 1, 7, 1 } },
      0 },
  { "high-bits", 2, 2, { 1, 2 },
      { { 0, 0, 1, 1, 2, 2, 8, 8 }, { 1, 0, 2, 2, 4, 2, 9, 7 } }, 0 },
  { "staggered", 1, 2, { 1 },
      { { 0, 0, 1, 1, 2, 1, 8, 0 }, { 0, 9, 2, 1, 2, 1, 8, 0 } }, 0 },
  { "far-apart", 2, 4, { 1, 2 },
      { { 0, 3, 1, 2, 7, 2, 8, 0 }, { 0, 4, 1, 1, 7, 1, 5, 2 },
          { 1, 0, 1, 1, 10, 2, 12, 4 }, { 1, 4, 1, 2, 10, 4, 9, 0 } },
      0 },
};

#define N_KINDS ((int) (sizeof kinds / sizeof kinds[0]))

int
layout_n_kinds (void)
{
  return N_KINDS;
}

const LayoutKind *
layout_kind (int index)
{
  return &kinds[index];
}

const LayoutKind *
layout_kind_by_name (const char *name)
{
  for (int i = 0; i < N_KINDS; i++)
    if (strcmp (kinds[i].name, name) == 0)
      return &kinds[i];
  return NULL;
}

const LayoutKind *
layout_kind_any (Random *random)
{
  return layout_kind (random_int (random, 0, N_KINDS - 1));
}

static int
divide_up (int n, int divisor)
{
  return (n + divisor - 1) / divisor;
}

static size_t
larger (size_t a, size_t b)
{
  return a > b ? a : b;
}

void
layout_make (const LayoutKind *kind, int width, int height, Image *layout)
{
  memset (layout, 0, sizeof *layout);
  layout->n_memories = kind->n_memories;
  layout->n_planes = kind->n_planes;
  for (int m = 0; m < kind->n_memories; m++)
    layout->memory[m].height = divide_up (height, kind->sub_y[m]);
  for (int p = 0; p < kind->n_planes; p++) {
    const PlaneKind *from = &kind->plane[p];
    ImagePlane *plane = &layout->plane[p];
    int pixels, samples;

    plane->memory = from->memory;
    plane->offset = from->offset;
    plane->width = divide_up (width, from->sub_x);
    plane->channels = from->channels;
    plane->pixel_stride = from->pixel_stride;
    plane->channel_stride = from->channel_stride;
    plane->depth = from->depth;
    plane->shift = from->shift;
    /* Rows hold whole pixels, and all samples of planes with an offset. */
    pixels = plane->width * plane->pixel_stride;
    samples = plane->offset + (plane->width - 1) * plane->pixel_stride
        + (plane->channels - 1) * plane->channel_stride
        + image_sample_bytes (plane);
    layout->memory[plane->memory].row_bytes =
        larger (layout->memory[plane->memory].row_bytes,
            (size_t) (pixels > samples ? pixels : samples));
  }
}

const char *
content_name (Content content)
{
  static const char *const names[N_CONTENTS] = { "zero", "max", "flat",
    "checker", "stripes-x", "stripes-y", "impulse", "ramp", "extremes",
    "noise" };

  return names[content];
}

static size_t
memory_alignment (const Image *image, int memory)
{
  size_t alignment = 1;

  for (int p = 0; p < image->n_planes; p++)
    if (image->plane[p].memory == memory
        && image_sample_bytes (&image->plane[p]) > 1)
      alignment = 2;
  return alignment;
}

static size_t
round_up (size_t n, size_t multiple)
{
  return (n + multiple - 1) / multiple * multiple;
}

static void
mark_owned (Picture *picture)
{
  const Image *image = &picture->image;

  for (int p = 0; p < image->n_planes; p++) {
    const ImagePlane *plane = &image->plane[p];
    const bool two_bytes = image_sample_bytes (plane) > 1;

    for (int c = 0; c < plane->channels; c++)
      for (int y = 0; y < image_plane_height (image, p); y++) {
        uint8_t *owned = picture->owned
            + (picture_sample (image, p, c, 0, y) - picture->block);

        for (int x = 0; x < plane->width; x++, owned += plane->pixel_stride) {
          owned[0] = 1;
          if (two_bytes)
            owned[1] = 1;
        }
      }
  }
}

static void
fill_noise (uint8_t *bytes, size_t n, Random *random)
{
  for (size_t i = 0; i < n; i += sizeof (uint64_t)) {
    const uint64_t noise = random_next (random);

    memcpy (bytes + i, &noise, n - i < sizeof noise ? n - i : sizeof noise);
  }
}

static void
allocate (Picture *picture)
{
  picture->block = kerncheck_alloc (picture->bytes);
  picture->owned = kerncheck_alloc (picture->bytes);
  picture->free_block = free;
}

void
picture_new (
    Picture *picture, const Image *layout, bool negative, Random *random)
{
  /* Alignments of pools (64), of GStreamer's default (4), and any: methods may treat each in
   * another way. */
  const size_t least_alignment = random_chance (random, 60) ? 64
      : random_chance (random, 50)                          ? 4
                                                            : 1;
  size_t first_row[IMAGE_MAX_MEMORIES];

  picture->image = *layout;
  picture->bytes = 0;
  for (int m = 0; m < layout->n_memories; m++) {
    ImageMemory *memory = &picture->image.memory[m];
    const size_t own_alignment = memory_alignment (layout, m);
    const size_t alignment =
        own_alignment > least_alignment ? own_alignment : least_alignment;
    const int padding =
        random_chance (random, 40) ? 0 : random_int (random, 1, MAX_PADDING);
    const size_t stride =
        round_up (memory->row_bytes + (size_t) padding, alignment);
    const size_t lead = round_up (GUARD_BYTES
            + (random_chance (random, 40)
                    ? 0
                    : (size_t) random_int (random, 1, MAX_PADDING)),
        alignment);

    /* Without random padding, a memory starts at an address that suits vectors. */
    picture->bytes = round_up (picture->bytes, 64) + lead;
    first_row[m] = picture->bytes;
    memory->stride = (ptrdiff_t) stride;
    if (negative && random_chance (random, 30)) {
      first_row[m] += stride * (size_t) (memory->height - 1);
      memory->stride = -memory->stride;
    }
    picture->bytes += stride * (size_t) memory->height + GUARD_BYTES;
  }
  allocate (picture);
  for (int m = 0; m < layout->n_memories; m++)
    picture->image.memory[m].data = picture->block + first_row[m];
  mark_owned (picture);
  fill_noise (picture->block, picture->bytes, random);
}

void
picture_new_packed (Picture *picture, const Image *layout, Random *random)
{
  size_t alignment = 1;

  for (int m = 0; m < layout->n_memories; m++)
    if (memory_alignment (layout, m) > alignment)
      alignment = memory_alignment (layout, m);
  picture->bytes =
      image_pack (layout, alignment, NULL, &picture->image) + 2 * GUARD_BYTES;
  allocate (picture);
  image_pack (layout, alignment, picture->block + GUARD_BYTES, &picture->image);
  mark_owned (picture);
  fill_noise (picture->block, picture->bytes, random);
}

void
picture_move (Picture *picture, uint8_t *block, void (*free_block) (void *))
{
  memcpy (block, picture->block, picture->bytes);
  for (int m = 0; m < picture->image.n_memories; m++) {
    ImageMemory *memory = &picture->image.memory[m];

    memory->data = block + (memory->data - picture->block);
  }
  picture->free_block (picture->block);
  picture->block = block;
  picture->free_block = free_block;
}

void
picture_clear (Picture *picture)
{
  if (picture->block != NULL)
    picture->free_block (picture->block);
  free (picture->owned);
  picture->block = picture->owned = NULL;
}

void
picture_scramble_guards (Picture *picture, Random *random)
{
  for (size_t i = 0; i < picture->bytes; i++)
    if (!picture->owned[i])
      picture->block[i] = (uint8_t) (random_next (random) >> 32);
}

uint8_t *
picture_sample (const Image *image, int plane, int channel, int x, int y)
{
  const ImagePlane *at = &image->plane[plane];
  const ImageMemory *memory = &image->memory[at->memory];

  return memory->data + y * memory->stride + at->offset
      + (ptrdiff_t) x * at->pixel_stride
      + (ptrdiff_t) channel * at->channel_stride;
}

unsigned
picture_raw (const Image *image, int plane, int channel, int x, int y)
{
  const uint8_t *sample = picture_sample (image, plane, channel, x, y);

  return image_sample_bytes (&image->plane[plane]) == 1
      ? sample[0]
      : sample[0] | (unsigned) sample[1] << 8;
}

void
picture_write_raw (
    const Image *image, int plane, int channel, int x, int y, unsigned raw)
{
  uint8_t *sample = picture_sample (image, plane, channel, x, y);

  sample[0] = (uint8_t) raw;
  if (image_sample_bytes (&image->plane[plane]) > 1)
    sample[1] = (uint8_t) (raw >> 8);
}

int
picture_code (const Image *image, int plane, int channel, int x, int y)
{
  return (int) (picture_raw (image, plane, channel, x, y)
      >> image->plane[plane].shift);
}

void
picture_write_code (
    const Image *image, int plane, int channel, int x, int y, int code)
{
  picture_write_raw (image, plane, channel, x, y,
      (unsigned) code << image->plane[plane].shift);
}

void
picture_scramble_low_bits (
    Picture *picture, const SepconvSpec *spec, Random *random)
{
  const Image *image = &picture->image;

  for (int p = 0; p < image->n_planes; p++) {
    const unsigned low = (1u << image->plane[p].shift) - 1;

    for (int c = 0; c < image->plane[p].channels; c++) {
      if (low == 0 || (spec != NULL && !(spec->plane[p].channels >> c & 1)))
        continue;
      for (int y = 0; y < image_plane_height (image, p); y++)
        for (int x = 0; x < image->plane[p].width; x++)
          picture_write_raw (image, p, c, x, y,
              (picture_raw (image, p, c, x, y) & ~low)
                  | ((unsigned) random_next (random) & low));
    }
  }
}

/* A plane's code as a function of the position, from 0 to `full`. */
typedef struct
{
  Content content;
  int full, width, height;
  int flat, impulse_x, impulse_y;
} Painter;

static int
paint_code (const Painter *painter, int channel, int x, int y, Random *random)
{
  const int full = painter->full;

  switch (painter->content) {
    case CONTENT_ZERO:
      return 0;
    case CONTENT_MAX:
      return full;
    case CONTENT_FLAT:
      return painter->flat;
    case CONTENT_CHECKER:
      return (x + y + channel) % 2 ? full : 0;
    case CONTENT_STRIPES_X:
      return (x + channel) % 2 ? full : 0;
    case CONTENT_STRIPES_Y:
      return (y + channel) % 2 ? full : 0;
    case CONTENT_IMPULSE:
      return x == painter->impulse_x && y == painter->impulse_y ? full : 0;
    case CONTENT_RAMP:
      return (int) ((long long) full * (x + y + channel)
          / (painter->width + painter->height + channel));
    case CONTENT_EXTREMES:
      return random_chance (random, 50) ? full : 0;
    default:
      return random_int (random, 0, full);
  }
}

void
picture_paint (Picture *picture, Content content, Random *random)
{
  const Image *image = &picture->image;

  for (int p = 0; p < image->n_planes; p++) {
    const ImagePlane *plane = &image->plane[p];
    const int height = image_plane_height (image, p);

    for (int c = 0; c < plane->channels; c++) {
      const Painter painter = {
        .content = content,
        .full = (1 << plane->depth) - 1,
        .width = plane->width,
        .height = height,
        .flat = random_int (random, 0, (1 << plane->depth) - 1),
        .impulse_x = random_int (random, 0, plane->width - 1),
        .impulse_y = random_int (random, 0, height - 1),
      };

      for (int y = 0; y < height; y++)
        for (int x = 0; x < plane->width; x++)
          picture_write_code (
              image, p, c, x, y, paint_code (&painter, c, x, y, random));
    }
  }
  picture_scramble_low_bits (picture, NULL, random);
}

ptrdiff_t
picture_guard_broken (const Picture *picture, const uint8_t *before)
{
  for (size_t i = 0; i < picture->bytes; i++)
    if (!picture->owned[i] && picture->block[i] != before[i])
      return (ptrdiff_t) i;
  return -1;
}

uint8_t *
picture_block_copy (const Picture *picture)
{
  uint8_t *copy = kerncheck_alloc (picture->bytes);

  memcpy (copy, picture->block, picture->bytes);
  return copy;
}
