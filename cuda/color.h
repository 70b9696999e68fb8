/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* color: the codes of a colour in an image. Pure arithmetic. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Non-linear R, G, B and alpha in [0, 1]. */
typedef struct
{
  double r, g, b, a;
} Color;

/* From 0xAARRGGBB. */
Color color_from_argb (unsigned argb);

/* Luma in [0, 1] and the scaled colour differences in [-0.5, 0.5], by the
 * weights kr and kb of red and blue (ITU-R BT.601-7, section 2.5). */
typedef struct
{
  double y, cb, cr;
} ColorYcbcr;

ColorYcbcr color_to_ycbcr (Color color, double kr, double kb);

/* round (offset + range * value), within [0, full]: the code of a component
 * whose zero lies at `offset` and whose unit is `range` codes long. */
double color_code (double value, double offset, double range, double full);

#ifdef __cplusplus
}
#endif
