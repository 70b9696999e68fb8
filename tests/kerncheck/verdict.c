/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "verdict.h"

#include "oracle.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse (Verdict *verdict, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

static void
refuse (Verdict *verdict, const char *format, ...)
{
  va_list args;

  verdict->ok = false;
  va_start (args, format);
  vsnprintf (verdict->text, sizeof verdict->text, format, args);
  va_end (args);
}

static void
approve (Verdict *verdict)
{
  verdict->ok = true;
  verdict->text[0] = '\0';
}

static void
compare_exact (Verdict *verdict, const Image *a, const Image *b, int p, int c)
{
  for (int y = 0; y < image_plane_height (a, p); y++)
    for (int x = 0; x < a->plane[p].width; x++) {
      const unsigned left = picture_raw (a, p, c, x, y);
      const unsigned right = picture_raw (b, p, c, x, y);

      if (left != right) {
        refuse (verdict,
            "plane %d channel %d at %d,%d is 0x%x where 0x%x was expected", p,
            c, x, y, left, right);
        return;
      }
    }
}

/* Distance of two codes; those of angles are on a circle. */
static double
distance (const SepconvSpec *spec, const ImagePlane *plane, double a, double b)
{
  const double apart = fabs (a - b);

  return spec->combine == SEPCONV_DIRECTION
      ? fmin (apart, image_full_code (plane) + 1.0 - apart)
      : apart;
}

static void
compare_oracle (Verdict *verdict, const SepconvSpec *spec, const Image *src,
    const Image *dst, int p, int c)
{
  const ImagePlane *plane = &src->plane[p];
  const unsigned low = (1u << plane->shift) - 1;
  Oracle oracle;
  size_t i = 0;

  oracle_compute (&oracle, spec, src, p, c);
  for (int y = 0; y < image_plane_height (src, p) && verdict->ok; y++)
    for (int x = 0; x < plane->width && verdict->ok; x++, i++) {
      const unsigned raw = picture_raw (dst, p, c, x, y);
      const double code = (double) (raw >> plane->shift);

      if ((raw & low) != 0)
        refuse (verdict,
            "plane %d channel %d at %d,%d is 0x%x: bits below the code are set",
            p, c, x, y, raw);
      else if (!(distance (spec, plane, code, oracle.exact[i])
                   < oracle.allowed[i])
          && !(distance (spec, plane, code, oracle.other[i])
              < oracle.allowed[i]))
        refuse (verdict,
            "plane %d channel %d at %d,%d is %g where %.4f was expected", p, c,
            x, y, code, oracle.exact[i]);
    }
  oracle_clear (&oracle);
}

void
verdict_by_oracle (Verdict *verdict, const SepconvSpec *spec, const Image *src,
    const Image *dst)
{
  approve (verdict);
  for (int p = 0; p < src->n_planes; p++)
    for (int c = 0; c < src->plane[p].channels && verdict->ok; c++)
      if (spec->plane[p].channels >> c & 1)
        compare_oracle (verdict, spec, src, dst, p, c);
      else
        compare_exact (verdict, dst, src, p, c);
}

static void
compare_near (
    Verdict *verdict, const Image *dst, const Image *other, int p, int c)
{
  for (int y = 0; y < image_plane_height (dst, p); y++)
    for (int x = 0; x < dst->plane[p].width; x++) {
      const int here = picture_code (dst, p, c, x, y);
      const int there = picture_code (other, p, c, x, y);

      if (abs (here - there) > 1) {
        refuse (verdict,
            "plane %d channel %d at %d,%d is %d where the reference has %d", p,
            c, x, y, here, there);
        return;
      }
    }
}

void
verdict_by_other (Verdict *verdict, const SepconvSpec *spec, const Image *dst,
    const Image *other)
{
  approve (verdict);
  for (int p = 0; p < dst->n_planes; p++)
    for (int c = 0; c < dst->plane[p].channels && verdict->ok; c++)
      if (spec->plane[p].channels >> c & 1)
        compare_near (verdict, dst, other, p, c);
      else
        compare_exact (verdict, dst, other, p, c);
}

void
verdict_same (Verdict *verdict, const Image *a, const Image *b)
{
  approve (verdict);
  for (int p = 0; p < a->n_planes; p++)
    for (int c = 0; c < a->plane[p].channels && verdict->ok; c++)
      compare_exact (verdict, a, b, p, c);
}

void
verdict_outside_rows (
    Verdict *verdict, const Picture *picture, const uint8_t *before)
{
  uint8_t *expected = kerncheck_alloc (picture->bytes);

  approve (verdict);
  memcpy (expected, before, picture->bytes);
  for (int m = 0; m < picture->image.n_memories; m++) {
    const ImageMemory *memory = &picture->image.memory[m];

    for (int y = 0; y < memory->height; y++) {
      const uint8_t *row = memory->data + y * memory->stride;

      memcpy (expected + (row - picture->block), row, memory->row_bytes);
    }
  }
  if (memcmp (expected, picture->block, picture->bytes) != 0)
    refuse (verdict, "bytes outside the rows were written");
  free (expected);
}

void
verdict_guards (Verdict *verdict, const Picture *picture, const uint8_t *before)
{
  const ptrdiff_t at = picture_guard_broken (picture, before);

  approve (verdict);
  if (at < 0)
    return;
  for (int m = 0; m < picture->image.n_memories; m++) {
    const ImageMemory *memory = &picture->image.memory[m];

    for (int y = 0; y < memory->height; y++) {
      const ptrdiff_t byte =
          picture->block + at - (memory->data + y * memory->stride);

      if (byte >= 0 && byte < llabs (memory->stride)) {
        refuse (verdict,
            "byte %td of row %d of memory %d, whose rows have %zu bytes, was "
            "overwritten",
            byte, y, m, memory->row_bytes);
        return;
      }
    }
  }
  refuse (verdict, "a guard byte before or after a memory was overwritten");
}
