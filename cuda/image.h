/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* image: the layout of a picture in memory.
 *
 * An image is 1 to 4 blocks of rows ("memories") and 1 to 4 planes laid over
 * them. A plane is a set of interleaved channels that share one sampling grid:
 *
 *   format   memories  planes (channels, pixel stride, channel stride in bytes)
 *   I420     3         Y (1, 1, -)   U (1, 1, -)   V (1, 1, -)
 *   NV12     2         Y (1, 1, -)   UV (2, 2, 1)
 *   P010     2         Y (1, 2, -)   UV (2, 4, 2)        depth 10, shift 6
 *   YUY2     1         Y (1, 2, -)   UV (2, 4, 2) at byte 1
 *   RGBx     1         RGBx (4, 4, 1)
 *
 * Sample (x, y, c) of a plane starts at byte
 *   memory.data + y * memory.stride
 *     + plane.offset + x * plane.pixel_stride + c * plane.channel_stride
 * and takes 1 byte if depth + shift <= 8, else 2 in the host's byte order. Its code
 * is (raw >> shift), in [0, 2^depth). Offsets and strides of 2-byte samples within
 * a row are even; a GPU also needs even addresses and row strides.
 *
 * Images are plain values: they own nothing, and may be copied freely. */
#pragma once

#include "fault.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IMAGE_MAX_MEMORIES 4
#define IMAGE_MAX_PLANES 4
#define IMAGE_MAX_CHANNELS 4 /* in one plane */
/* Limits of a memory: leave room in an int for additions. */
#define IMAGE_MAX_HEIGHT (1 << 30)
#define IMAGE_MAX_ROW_BYTES (1 << 30)

typedef struct
{
  uint8_t *data;    /* first byte of row 0; host or device address */
  ptrdiff_t stride; /* bytes from a row to the next; may be negative */
  size_t row_bytes; /* bytes of a row that belong to the picture, up to
                     * IMAGE_MAX_ROW_BYTES */
  int height; /* rows, 1..IMAGE_MAX_HEIGHT: the height of every plane on it */
} ImageMemory;

typedef struct
{
  int memory;         /* index into Image.memory */
  int offset;         /* byte of pixel 0, channel 0 in its row */
  int width;          /* pixels, >= 1 */
  int channels;       /* 1..IMAGE_MAX_CHANNELS */
  int pixel_stride;   /* bytes */
  int channel_stride; /* bytes */
  int depth;          /* significant bits of a sample, 1..16 */
  int shift;          /* bits below the significant ones */
} ImagePlane;

typedef struct
{
  int n_memories;
  int n_planes;
  ImageMemory memory[IMAGE_MAX_MEMORIES];
  ImagePlane plane[IMAGE_MAX_PLANES];
} Image;

/* Rows [first, last). */
typedef struct
{
  int first, last;
} ImageRows;

/* Bytes [left, right) of the rows [top, bottom) of a memory; a box may be empty. */
typedef struct
{
  int memory; /* index into Image.memory */
  int left, top, right, bottom;
} ImageBox;

/* Bytes from a row's start to the end of the plane's last sample in it: the least
 * value of row_bytes. */
size_t image_plane_row_bytes (const ImagePlane *plane);

/* Checks every invariant above except the addresses (a layout may have none yet);
 * FAULT_SETTINGS names the one that does not hold. */
bool image_validate (const Image *image, Fault *fault);

/* True when both have the same planes and memories, apart from addresses and
 * strides: such images can be source and destination of one filter run. */
bool image_same_layout (const Image *a, const Image *b);

/* Whether a GPU can access the plane's samples at these addresses; FAULT_SETTINGS:
 * samples of two bytes lie at odd addresses. */
bool image_plane_suits_gpu (const Image *image, int plane, Fault *fault);
/* The same for all planes. */
bool image_suits_gpu (const Image *image, Fault *fault);

/* Whether no two rows of a memory share a byte, and no two memories overlap. An image whose rows
 * share bytes cannot be changed in place. */
bool image_is_apart (const Image *image);

/* One field (parity 0: rows 0, 2, 4...; 1: rows 1, 3, 5...) of an interlaced
 * image as an image of its own. A memory of one row has only field 0: in field 1
 * its height is 0, which sepconv_plan_run() accepts. Returns false when no memory
 * has a row of this field. */
bool image_field (const Image *image, int parity, Image *field);

static inline int
image_sample_bytes (const ImagePlane *plane)
{
  return plane->depth + plane->shift <= 8 ? 1 : 2;
}

/* Whether the samples of a row follow each other without a gap, pixel by pixel. */
static inline bool
image_is_packed (const ImagePlane *plane)
{
  const int bytes = image_sample_bytes (plane);

  return plane->pixel_stride == plane->channels * bytes
      && (plane->channels == 1 || plane->channel_stride == bytes);
}

/* Whether all rows begin at multiples of so many bytes. */
static inline bool
image_is_aligned (const uint8_t *data, ptrdiff_t stride, int bytes)
{
  return (uintptr_t) data % (uintptr_t) bytes == 0 && stride % bytes == 0;
}

/* The raw sample of 1 or 2 bytes at a host address, which may be odd. */
static inline int
image_read_raw (const uint8_t *at, int bytes)
{
  uint16_t raw;

  if (bytes == 1)
    return *at;
  memcpy (&raw, at, sizeof raw);
  return raw;
}

static inline void
image_write_raw (uint8_t *at, int value, int bytes)
{
  const uint16_t raw = (uint16_t) value;

  if (bytes == 1)
    *at = (uint8_t) value;
  else
    memcpy (at, &raw, sizeof raw);
}

/* The largest code. */
static inline int
image_full_code (const ImagePlane *plane)
{
  return (1 << plane->depth) - 1;
}

static inline int
image_plane_height (const Image *image, int plane)
{
  return image->memory[image->plane[plane].memory].height;
}

/* Bytes of all rows of all memories, without padding between rows. */
size_t image_bytes (const Image *image);

/* Copies rows on the host, memory by memory; layouts must be the same. */
void image_copy (const Image *dst, const Image *src);

/* Bytes in n boxes; bytes that several boxes share count several times. */
size_t image_box_bytes (const ImageBox *box, int n);

/* Copies n boxes that lie within both images, on the host. */
void image_copy_boxes (
    const Image *dst, const Image *src, const ImageBox *box, int n);

/* Lays `layout` out in one block: fills `packed` with the same planes and rows,
 * strides rounded up to `alignment` bytes (a power of two), and addresses from
 * `base` on. Returns the bytes the block needs; `base` may be NULL to ask for
 * just that. */
size_t image_pack (
    const Image *layout, size_t alignment, uint8_t *base, Image *packed);

#ifdef __cplusplus
}
#endif
