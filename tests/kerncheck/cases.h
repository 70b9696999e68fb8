/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cases: specs by chance, out of all that sepconv.h allows. */
#pragma once

#include "pictures.h"

#define N_BORDERS (SEPCONV_CONSTANT + 1)

/* The taps of a term after the first. */
typedef struct
{
  Taps x, y;
} CaseTerm;

/* A valid spec for a layout, and the taps that it borrows. Too large for a
 * stack: case_new(). Not to be copied: case_copy(). */
typedef struct
{
  const LayoutKind *kind;
  int width, height;
  Image layout;
  SepconvSpec spec;
  Taps x[IMAGE_MAX_PLANES], y[IMAGE_MAX_PLANES];
  CaseTerm (
      *more)[TAPS_MAX_TERMS - 1]; /* of each plane; NULL: all have one term */
  const char *shape;              /* of the taps */
  bool boxes; /* all taps are boxes, as case_make_spec() makes them */
  bool plain; /* and all of an axis equal, with ends that do not differ */
  Content content;
} Case;

/* How far a case may go. */
typedef struct
{
  int max_width, max_height;
  double products; /* of taps and samples, both axes, all channels */
} Effort;

Case *case_new (void);
void case_free (Case *c);
Case *case_copy (const Case *c);
/* Overwrites a case and frees it, so that a later use of it shows. */
void case_spoil (Case *c);

void case_set_layout (Case *c, const LayoutKind *kind, int width, int height);
/* A size by chance. */
void case_any_size (
    Case *c, const LayoutKind *kind, const Effort *effort, Random *random);
/* A width by chance, up to so many bytes of plane 0, mostly whole vectors. */
void case_any_row (
    Case *c, const LayoutKind *kind, int max_bytes, int height, Random *random);
/* Sizes and layout, by chance; `index` goes through the sizes. */
void case_make_layout (Case *c, const LayoutKind *kind, int index,
    const Effort *effort, Random *random);
/* Taps, levels, masks and content for the layout that the case has. Now and then
 * all taps are boxes: equal but for the first and the last of an axis. */
void case_make_spec (
    Case *c, SepconvBorder border, const Effort *effort, Random *random);

/* Fills taps->n taps that sum to 1 though their absolute values sum to `norm`,
 * so that flat pictures stay in range while floats lose their digits. */
void case_cancelling_taps (Taps *taps, double norm, Random *random);

/* Gives the planes that are filtered lopsided taps along y, n to one of them and
 * no more to others, and no scale; keeps the rest, and boxes boxes. */
void case_set_rows (Case *c, int n, Random *random);

/* A picture of up to max_width bytes a row and max_height or half as many rows, and a
 * spec, mostly of few taps; whether the method takes one of those that were tried, which
 * it is then. With few multiprocessors, launches divide it into few parts. */
bool case_make_tall (Case *c, const SepconvMethod *method, SepconvBorder border,
    const Effort *effort, Random *random);

/* Rounds a plane's border values to integers, as some methods want them. */
void case_round_border (Case *c, int p);

/* Gives the planes that are filtered boxes for taps, of the same lengths, norms
 * and sums: another try where a method does not take the case as it was. */
void case_make_boxes (Case *c, Random *random);

/* The same for long gaussians of any lengths, and a scale that does not amplify. */
void case_make_blurs (Case *c, Random *random);

/* Gives a case more terms, and another combination of them. */
void case_make_terms (Case *c, Random *random);

/* Gives a case with a spec the terms of a kernel that people use, an amount, and levels that suit
 * it. Which kernel goes by `index`. */
void case_make_usual (Case *c, int index, Random *random);

/* Gives it two terms of three taps, gradients or sums, mostly of small integers times a factor, with any
 * sign, scale and bias. `large`: magnitudes and sums of integers whose sums of bytes are about as large as
 * halves hold exactly, as they are. */
void case_make_three (Case *c, bool large, Random *random);

/* Adds another gaussian to the kernel of every plane, no longer than that is. */
void case_add_blurs (Case *c, Random *random);

void case_describe (Check *check, const Case *c);
const char *border_name (SepconvBorder border);
