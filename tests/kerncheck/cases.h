/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases: random specs out of all that sepconv.h allows. */
#pragma once

#include "pictures.h"

#define N_BORDERS (SEPCONV_CONSTANT + 1)

/* Taps of a term after the first one. */
typedef struct
{
  Taps x, y;
} CaseTerm;

/* A valid spec for a layout, and the taps that it borrows. Too large for a stack: use case_new().
 * Must not be copied bytewise: use case_copy(). */
typedef struct
{
  const LayoutKind *kind;
  int width, height;
  Image layout;
  SepconvSpec spec;
  Taps x[IMAGE_MAX_PLANES], y[IMAGE_MAX_PLANES];
  CaseTerm (
      *more)[TAPS_MAX_TERMS - 1]; /* of each plane; NULL: all have one term */
  const char *shape;              /* name of the taps' shape */
  bool boxes; /* all taps are boxes, as case_make_spec() makes them */
  bool plain; /* boxes with equal taps, also at the ends */
  Content content;
} Case;

/* Limits of a case. */
typedef struct
{
  int max_width, max_height;
  double products; /* taps times samples, both axes, all channels */
} Effort;

Case *case_new (void);
void case_free (Case *c);
Case *case_copy (const Case *c);
/* Overwrites a case and frees it, so that a use after free shows. */
void case_spoil (Case *c);

void case_set_layout (Case *c, const LayoutKind *kind, int width, int height);
/* Chooses a random size. */
void case_any_size (
    Case *c, const LayoutKind *kind, const Effort *effort, Random *random);
/* Chooses a random width of at most max_bytes of plane 0, mostly a multiple of 16 pixels. */
void case_any_row (
    Case *c, const LayoutKind *kind, int max_bytes, int height, Random *random);
/* Chooses a random layout; `index` steps through the sizes. */
void case_make_layout (Case *c, const LayoutKind *kind, int index,
    const Effort *effort, Random *random);
/* Makes random taps, levels, masks and content for the case's layout. Sometimes all taps are boxes:
 * equal but for the first and the last of an axis. */
void case_make_spec (
    Case *c, SepconvBorder border, const Effort *effort, Random *random);

/* Fills taps->n taps that sum to 1 while their absolute values sum to `norm`: flat pictures stay in
 * range, but floats lose digits to cancellation. */
void case_cancelling_taps (Taps *taps, double norm, Random *random);

/* Gives the filtered planes asymmetric taps along y: n taps to one plane, at most n to the others.
 * Sets the scale to 1. Boxes stay boxes; all else is kept. */
void case_set_rows (Case *c, int n, Random *random);

/* Makes a tall picture, of at most max_width bytes a row and max_height / 2 to max_height rows, and
 * a spec that mostly has few taps along y. Tries until the method supports the case; returns false
 * if it never does. With few multiprocessors, launches divide such a picture into few parts. */
bool case_make_tall (Case *c, const SepconvMethod *method, SepconvBorder border,
    const Effort *effort, Random *random);

/* Rounds a plane's border values to integers, which some methods need. */
void case_round_border (Case *c, int p);

/* Replaces the taps of filtered planes by boxes of the same lengths, norms and sums: a second try
 * where a method does not support the case. */
void case_make_boxes (Case *c, Random *random);

/* The same with long gaussians of any lengths, and a scale that does not amplify. */
void case_make_blurs (Case *c, Random *random);

/* Gives a case more terms, and another way of combining them. */
void case_make_terms (Case *c, Random *random);

/* Gives a case that has a spec the terms of a usual kernel, an amount, and levels that suit the
 * kernel. `index` chooses the kernel. */
void case_make_usual (Case *c, int index, Random *random);

/* Gives the case two terms of three taps: gradients or sums, mostly small integers times a factor,
 * with any sign, scale and bias. `large`: magnitudes and sums of integers without a factor; their
 * sums over bytes are about the largest integers that FP16 holds exactly. */
void case_make_three (Case *c, bool large, Random *random);

/* Adds a gaussian, no longer than the first term, to the kernel of every plane. */
void case_add_blurs (Case *c, Random *random);

void case_describe (Check *check, const Case *c);
const char *border_name (SepconvBorder border);
