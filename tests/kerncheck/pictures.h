/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pictures: layouts as the elements have them, in memory that shows every byte
 * that should not have been written. */
#pragma once

#include "kerncheck.h"

/* One plane of a layout, as a function of the size of the picture. */
typedef struct
{
  int memory, offset;
  int sub_x; /* pixels of the picture per pixel, rounded up */
  int channels, pixel_stride, channel_stride;
  int depth, shift;
} PlaneKind;

typedef struct
{
  const char *name;
  int n_memories, n_planes;
  int sub_y[IMAGE_MAX_MEMORIES];
  PlaneKind plane[IMAGE_MAX_PLANES];
  unsigned never; /* channels of plane 0 that are never filtered */
} LayoutKind;

int layout_n_kinds (void);
const LayoutKind *layout_kind (int index);
const LayoutKind *layout_kind_by_name (const char *name);
/* Any of them, by chance. */
const LayoutKind *layout_kind_any (Random *random);

/* A layout of that size, without addresses and strides. */
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
  CONTENT_EXTREMES, /* 0 or max by chance */
  CONTENT_NOISE,
  N_CONTENTS
} Content;

const char *content_name (Content content);

/* A picture and the block that it lies in: every memory has guard bytes before
 * and after it, and its rows have padding between them. */
typedef struct
{
  Image image;
  uint8_t *block;
  size_t bytes;
  uint8_t *owned; /* [bytes]: 1 where a sample of a plane lies */
  void (*free_block) (void *block);
} Picture;

/* Random guards and strides, negative ones too if allowed; contents are noise
 * that may not be valid codes. Strides and addresses of samples of two bytes
 * are even, those of bytes may be odd. */
void picture_new (
    Picture *picture, const Image *layout, bool negative, Random *random);
/* Likewise, but rows and memories follow each other without a gap, as in a frame
 * of one allocation: guards are before and after all of them. */
void picture_new_packed (Picture *picture, const Image *layout, Random *random);
/* Moves a picture to another block, of as many bytes, that free_block() frees. */
void picture_move (
    Picture *picture, uint8_t *block, void (*free_block) (void *));
void picture_clear (Picture *picture);

/* Fills what samples do not own with other noise. */
void picture_scramble_guards (Picture *picture, Random *random);
/* Fills the bits of all samples below their codes with other noise, but for
 * channels that the spec copies; `spec` NULL: in all. */
void picture_scramble_low_bits (
    Picture *picture, const SepconvSpec *spec, Random *random);
/* Valid codes in all channels, noise in the bits below them. */
void picture_paint (Picture *picture, Content content, Random *random);

/* A sample as it lies in memory, and where. */
uint8_t *picture_sample (
    const Image *image, int plane, int channel, int x, int y);
unsigned picture_raw (const Image *image, int plane, int channel, int x, int y);
void picture_write_raw (
    const Image *image, int plane, int channel, int x, int y, unsigned raw);
/* Its code; writing one clears the bits beside it. */
int picture_code (const Image *image, int plane, int channel, int x, int y);
void picture_write_code (
    const Image *image, int plane, int channel, int x, int y, int code);

/* Where the two blocks, of one layout and one allocation size, differ outside
 * samples; -1: nowhere. */
ptrdiff_t picture_guard_broken (const Picture *picture, const uint8_t *before);

/* A copy of the block, to be freed by the caller. */
uint8_t *picture_block_copy (const Picture *picture);
