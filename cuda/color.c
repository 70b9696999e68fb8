/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "color.h"

#include <math.h>

Color
color_from_argb (unsigned argb)
{
  return (Color){
    .r = ((argb >> 16) & 0xff) / 255.0,
    .g = ((argb >> 8) & 0xff) / 255.0,
    .b = (argb & 0xff) / 255.0,
    .a = ((argb >> 24) & 0xff) / 255.0,
  };
}

ColorYcbcr
color_to_ycbcr (Color color, double kr, double kb)
{
  const double y = kr * color.r + (1.0 - kr - kb) * color.g + kb * color.b;

  return (ColorYcbcr){
    .y = y,
    .cb = (color.b - y) / (2.0 * (1.0 - kb)),
    .cr = (color.r - y) / (2.0 * (1.0 - kr)),
  };
}

double
color_code (double value, double offset, double range, double full)
{
  return fmin (fmax (rint (offset + range * value), 0.0), full);
}
