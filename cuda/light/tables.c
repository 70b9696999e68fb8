/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tables: the formulas of light.h for every code, in double precision. */
#include "plan.h"

#include <math.h>
#include <stdlib.h>

#define MOST (LIGHT_CODES - 1)

static int
last_entry (const LightSpec *spec)
{
  return (1 << (spec->decode == NULL ? LIGHT_MAX_DECODE_BITS
                                     : spec->decode_bits))
      - 1;
}

static int
entry (const LightSpec *spec, int i)
{
  return spec->decode == NULL ? i : spec->decode[i];
}

int
light_linear_code (const LightSpec *spec, double value)
{
  return entry (spec,
      (int) floor (last_entry (spec) * fmin (fmax (value, 0.0), 1.0) + 0.5));
}

/* light_linear_code() of a code's value. The product is exact, so that a quotient halfway
 * between two entries is exactly halfway. */
static int
linear_of_code (const LightSpec *spec, int code)
{
  const int last = last_entry (spec);
  const double i = (double) last * (code - spec->black) / spec->range + 0.5;

  return entry (spec, i < 0.0 ? 0 : i > last ? last : (int) i);
}

/* p (q) of light.h, to be called for each q in ascending order. *at is the first entry that is
 * not below the previous q; 0 at first. */
static double
position (const LightSpec *spec, int q, int *at)
{
  const uint16_t *decode = spec->decode;
  const int last = last_entry (spec);
  int end;

  if (decode == NULL)
    return q;
  if (q <= decode[0])
    return 0.0;
  if (q >= decode[last])
    return last;
  while (decode[*at] < q)
    ++*at;
  if (decode[*at] > q)
    return *at - 1
        + (double) (q - decode[*at - 1]) / (decode[*at] - decode[*at - 1]);
  for (end = *at; decode[end + 1] == q; end++)
    continue;
  return 0.5 * (*at + end);
}

static void
fill_encoded (
    LightTables *tables, const LightSpec *spec, const LightNumbers *numbers)
{
  const int last = last_entry (spec);
  const int black = numbers->yuv ? 0 : spec->black;
  const int range = numbers->yuv ? MOST : spec->range;
  int at = 0;

  for (int q = 0; q <= MOST; q++)
    tables->encoded[q] =
        (uint16_t) floor (black + range * position (spec, q, &at) / last + 0.5);
}

/* Fills `encoded` for angles: a full turn is one more than the largest code. */
static void
fill_angles (LightTables *tables, const LightNumbers *numbers)
{
  const int turn = numbers->full + 1;

  for (int q = 0; q <= MOST; q++)
    tables->encoded[q] =
        (uint16_t) ((int) floor ((double) turn * q / LIGHT_CODES + 0.5) % turn);
}

static void
fill_linear (
    LightTables *tables, const LightSpec *spec, const LightNumbers *numbers)
{
  for (int i = 0; i < tables->n_linear; i++)
    tables->linear[i] =
        (uint16_t) (numbers->yuv ? entry (spec, i) : linear_of_code (spec, i));
}

bool
light_tables_make (LightTables *tables, const LightSpec *spec,
    const LightNumbers *numbers, int depth, int alpha_depth, Fault *fault)
{
  tables->n_linear = numbers->yuv ? last_entry (spec) + 1 : 1 << depth;
  tables->n_alpha = numbers->has_alpha ? 1 << alpha_depth : 0;
  tables->linear = malloc ((size_t) tables->n_linear * sizeof (uint16_t));
  tables->encoded = malloc (LIGHT_CODES * sizeof (uint16_t));
  tables->alpha = malloc ((size_t) (tables->n_alpha + 1) * sizeof (uint16_t));
  if (tables->linear == NULL || tables->encoded == NULL
      || tables->alpha == NULL)
    return fault_set (
        fault, FAULT_NO_SPACE, "Out of memory for tables of light.");
  fill_linear (tables, spec, numbers);
  if (spec->filter->combine == SEPCONV_DIRECTION)
    fill_angles (tables, numbers);
  else
    fill_encoded (tables, spec, numbers);
  for (int i = 0; i < tables->n_alpha; i++)
    tables->alpha[i] =
        (uint16_t) floor ((double) MOST * i / numbers->alpha_full + 0.5);
  return true;
}

void
light_tables_clear (LightTables *tables)
{
  free (tables->linear);
  free (tables->encoded);
  free (tables->alpha);
}

static void
make_decoding (LightNumbers *numbers, const LightSpec *spec, int depth)
{
  const int bits =
      spec->decode == NULL ? LIGHT_MAX_DECODE_BITS : spec->decode_bits;
  const double kr = spec->kr, kb = spec->kb, kg = 1.0 - kr - kb;
  double luma, chroma;

  numbers->wide = depth > 12;
  numbers->fraction = numbers->wide ? 32 : 29 - bits;
  luma = ldexp ((double) numbers->last / spec->range, numbers->fraction);
  chroma =
      ldexp ((double) numbers->last / spec->chroma_range, numbers->fraction);
  numbers->black = spec->black;
  numbers->neutral = spec->neutral;
  numbers->y = (int64_t) floor (luma + 0.5);
  numbers->red_cr = (int64_t) floor (chroma * 2.0 * (1.0 - kr) + 0.5);
  numbers->green_cr =
      (int64_t) floor (chroma * -2.0 * kr * (1.0 - kr) / kg + 0.5);
  numbers->green_cb =
      (int64_t) floor (chroma * -2.0 * kb * (1.0 - kb) / kg + 0.5);
  numbers->blue_cb = (int64_t) floor (chroma * 2.0 * (1.0 - kb) + 0.5);
}

static void
make_encoding (LightNumbers *numbers, const LightSpec *spec)
{
  const double kr = spec->kr, kb = spec->kb, kg = 1.0 - kr - kb;
  const double luma = (double) spec->range / MOST;
  const double cb = (double) spec->chroma_range / (2.0 * (1.0 - kb) * MOST);
  const double cr = (double) spec->chroma_range / (2.0 * (1.0 - kr) * MOST);

  numbers->luma = (LightWeights){ .r = (float) (luma * kr),
    .g = (float) (luma * kg),
    .b = (float) (luma * kb),
    .offset = (float) spec->black };
  numbers->cb = (LightWeights){ .r = (float) (cb * -kr),
    .g = (float) (cb * -kg),
    .b = (float) (cb * (1.0 - kb)) };
  numbers->cr = (LightWeights){ .r = (float) (cr * (1.0 - kr)),
    .g = (float) (cr * -kg),
    .b = (float) (cr * -kb) };
}

LightNumbers
light_make_numbers (
    const LightSpec *spec, int depth, int alpha_depth, int sub_x, int sub_y)
{
  LightNumbers numbers = { .premultiply = spec->premultiply,
    .has_alpha = spec->premultiply || spec->write_alpha,
    .write_alpha = spec->write_alpha,
    .neutral_chroma = spec->neutral_chroma,
    .n_colors = 1,
    .full = (1 << depth) - 1,
    .alpha_full = (1 << alpha_depth) - 1,
    .sub_x = sub_x,
    .sub_y = sub_y,
    .last = last_entry (spec) };

  for (int p = 0; p < IMAGE_MAX_PLANES; p++)
    for (int c = 0; c < IMAGE_MAX_CHANNELS; c++) {
      numbers.yuv = numbers.yuv || spec->role[p][c] == LIGHT_CB;
      if (spec->role[p][c] == LIGHT_CB || spec->role[p][c] == LIGHT_RED)
        numbers.n_colors = 3;
    }
  if (numbers.yuv) {
    make_decoding (&numbers, spec, depth);
    make_encoding (&numbers, spec);
  }
  return numbers;
}
