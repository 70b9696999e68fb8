/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pictures: picture layouts of the elements, in memory with guard bytes that show every
 * stray write. */
#pragma once

#include "kerncheck.h"

/* One plane of a layout, for a picture of any size. */
typedef struct
{
  int memory, offset;
  int sub_x; /* picture pixels per plane pixel; the plane is rounded up */
  int channels, pixel_stride, channel_stride;
  int depth, shift;
} PlaneKind;

typedef struct
{
  const char *name;
  int n_memories, n_planes;
  int sub_y[IMAGE_MAX_MEMORIES];
  PlaneKind plane[IMAGE_MAX_PLANES];
  unsigned never; /* mask of channels of plane 0 never filtered */
} LayoutKind;

int layout_n_kinds (void);
const LayoutKind *layout_kind (int index);
const LayoutKind *layout_kind_by_name (const char *name);
/* A random layout kind. */
const LayoutKind *layout_kind_any (Random *random);

/* Makes a layout of that size, without addresses and strides. */
void layout_make (const LayoutKind *kind, int width, int height, Image *layout);

typedef enum
{
  CONTENT_ZERO,
  CONTENT_MAX,
  CONTENT_FLAT,
  CONTENT_CHECKER,   /* 0 and max */
  CONTENT_STRIPES_X, /* columns of 0 and max */
  CONTENT_STRIPES_Y,
  CONTENT_IMPULSE,
  CONTENT_RAMP,
  CONTENT_EXTREMES, /* 0 or max at random */
  CONTENT_NOISE,
  N_CONTENTS
} Content;

const char *content_name (Content content);

/* A picture and its block. Every memory has guard bytes before and after it, and
 * padding between its rows. */
typedef struct
{
  Image image;
  uint8_t *block;
  size_t bytes;
  uint8_t *owned; /* [bytes]: 1 where a sample of a plane lies */
  void (*free_block) (void *block);
} Picture;

/* Makes a picture with random guards and strides (negative ones too if allowed). It
 * holds noise, which may be invalid codes. Strides and addresses of samples of two
 * bytes are even; those of bytes may be odd. */
void picture_new (
    Picture *picture, const Image *layout, bool negative, Random *random);
/* The same, but rows and memories follow each other without a gap, as in a frame of one
 * allocation; guards are before and after the whole frame. */
void picture_new_packed (Picture *picture, const Image *layout, Random *random);
/* Moves a picture to another block of the same size, which free_block() frees. */
void picture_move (
    Picture *picture, uint8_t *block, void (*free_block) (void *));
void picture_clear (Picture *picture);

/* Fills all bytes that belong to no sample with new noise. */
void picture_scramble_guards (Picture *picture, Random *random);
/* Fills the bits below the codes with new noise, except in channels that the spec
 * copies. `spec` NULL: in all channels. */
void picture_scramble_low_bits (
    Picture *picture, const SepconvSpec *spec, Random *random);
/* Paints valid codes in all channels, and noise in the bits below them. */
void picture_paint (Picture *picture, Content content, Random *random);

/* Address of a sample in memory. */
uint8_t *picture_sample (
    const Image *image, int plane, int channel, int x, int y);
unsigned picture_raw (const Image *image, int plane, int channel, int x, int y);
void picture_write_raw (
    const Image *image, int plane, int channel, int x, int y, unsigned raw);
/* The code of a sample. Writing a code clears the bits below and above it. */
int picture_code (const Image *image, int plane, int channel, int x, int y);
void picture_write_code (
    const Image *image, int plane, int channel, int x, int y, int code);

/* Offset of the first byte outside of samples that differs between the picture and
 * `before`, the block of a picture of the same layout and size; -1: none. */
ptrdiff_t picture_guard_broken (const Picture *picture, const uint8_t *before);

/* Copies the block; the caller frees the copy. */
uint8_t *picture_block_copy (const Picture *picture);
