/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cases.h"

#include "sepconv/method.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Case *
case_new (void)
{
  return kerncheck_alloc (sizeof (Case));
}

void
case_free (Case *c)
{
  if (c != NULL)
    free (c->more);
  free (c);
}

void
case_spoil (Case *c)
{
  CaseTerm (*more)[TAPS_MAX_TERMS - 1] = c->more;

  if (more != NULL)
    memset (more, 0x7f, IMAGE_MAX_PLANES * sizeof *more);
  memset (c, 0x7f, sizeof *c);
  c->more = more;
  case_free (c);
}

static void
point_at_terms (Case *c)
{
  for (int p = 0; p < IMAGE_MAX_PLANES; p++)
    for (int t = 0; t < TAPS_MAX_TERMS - 1; t++)
      c->spec.plane[p].more[t] =
          (SepconvTerm){ &c->more[p][t].x, &c->more[p][t].y };
}

Case *
case_copy (const Case *c)
{
  Case *copy = case_new ();

  *copy = *c;
  if (c->more != NULL) {
    copy->more = kerncheck_alloc (IMAGE_MAX_PLANES * sizeof *copy->more);
    memcpy (copy->more, c->more, IMAGE_MAX_PLANES * sizeof *copy->more);
    point_at_terms (copy);
  }
  for (int p = 0; p < IMAGE_MAX_PLANES; p++) {
    copy->spec.plane[p].x = c->spec.plane[p].x == NULL ? NULL : &copy->x[p];
    copy->spec.plane[p].y = c->spec.plane[p].y == NULL ? NULL : &copy->y[p];
  }
  return copy;
}

const char *
border_name (SepconvBorder border)
{
  static const char *const names[N_BORDERS] = { "replicate", "reflect",
    "reflect-101", "wrap", "constant" };

  return (int) border < N_BORDERS ? names[border] : "no border";
}

static int
at_most (int n, int limit)
{
  return n < limit ? n : limit;
}

void
case_set_layout (Case *c, const LayoutKind *kind, int width, int height)
{
  c->kind = kind;
  c->width = width;
  c->height = height;
  layout_make (kind, width, height, &c->layout);
}

void
case_any_size (
    Case *c, const LayoutKind *kind, const Effort *effort, Random *random)
{
  const int width = random_int (random, 1, effort->max_width);

  case_set_layout (c, kind, width, random_int (random, 1, effort->max_height));
}

void
case_make_layout (Case *c, const LayoutKind *kind, int index,
    const Effort *effort, Random *random)
{
  /* 0: random, up to the number below it. */
  static const struct
  {
    int width, height, most;
  } sizes[] = {
    { 11, 13, 0 },
    { 0, 0, 40 },
    { 1, 0, 90 },
    { 321, 241, 0 },
    { 0, 1, 200 },
    { 2, 2, 0 },
    { 0, 0, 150 },
    { 65, 33, 0 },
    { 1, 1, 0 },
    { 0, 0, 9 },
    { 257, 19, 0 },
    { 0, 0, 300 },
    { 128, 64, 0 },
  };
  const int n = (int) (sizeof sizes / sizeof sizes[0]);
  int width = sizes[index % n].width, height = sizes[index % n].height;
  const int most = sizes[index % n].most;

  if (width == 0)
    width = random_int (random, 1, most);
  if (height == 0)
    height = random_int (random, 1, most);
  case_set_layout (c, kind, at_most (width, effort->max_width),
      at_most (height, effort->max_height));
}

static int
random_length (Random *random)
{
  static const int limits[] = { TAPS_MAX, TAPS_MAX - 1, 1025, 1024, 2048 };
  const int chance = random_int (random, 0, 99);

  return chance < 45 ? random_int (random, 1, 9)
      : chance < 70  ? random_int (random, 1, 35)
      : chance < 85  ? random_int (random, 34, 130)
      : chance < 93  ? random_int (random, 130, 1025)
      : chance < 97  ? limits[random_int (random, 0, 4)]
                     : 1;
}

/* Multiplies taps so that their absolute values sum to `norm`. */
static void
set_norm (Taps *taps, double norm)
{
  const double now = taps_norm (taps);

  for (int i = 0; i < taps->n && now > 0.0; i++)
    taps->tap[i] *= norm / now;
}

void
case_cancelling_taps (Taps *taps, double norm, Random *random)
{
  /* Long runs of one sign give large partial sums although the total is small. */
  const int run =
      random_chance (random, 50) ? 1 : random_int (random, 1, taps->n);
  double sum;

  for (int i = 0; i < taps->n; i++)
    taps->tap[i] =
        (i / run % 2 ? -1.0 : 1.0) + random_double (random, -0.1, 0.1);
  sum = taps_sum (taps);
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] -= sum / taps->n;
  if (taps->n > 1)
    set_norm (taps, norm);
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] += 1.0 / taps->n;
}

/* Shapes of taps. Each function fills taps->n taps, with a norm of about 1. */

static void
shape_gaussian (Taps *taps, Random *random)
{
  const int radius = taps->n / 2;

  taps_gaussian (taps, random_double (random, 0.3, 1.0 + radius / 2.0), radius);
}

static void
set_box (Taps *taps, double first, double each, double last)
{
  for (int i = 1; i < taps->n - 1; i++)
    taps->tap[i] = each;
  taps->tap[taps->n - 1] = last;
  taps->tap[0] = first;
}

/* All equal, or with the ends of a box that is scaled to chroma, or with any ends. */
static void
shape_box (Taps *taps, Random *random)
{
  const int ends = random_int (random, 0, 2);
  const double end = random_double (random, 0.02, 1.0);

  if (ends == 0)
    set_box (taps, 1.0, 1.0, 1.0);
  else if (ends == 1)
    set_box (taps, end, 1.0, end);
  else
    set_box (taps, random_double (random, -2.0, 2.0), 1.0, end);
  set_norm (taps, 1.0);
}

/* Makes all taps equal, and keeps their norm. */
static void
level_taps (Taps *taps)
{
  const double norm = taps_norm (taps);

  set_box (taps, 1.0, 1.0, 1.0);
  set_norm (taps, norm);
}

/* Makes half of the box cases plain, which some methods treat specially, and rounds their
 * border values. */
static void
level_some (Case *c, Random *random)
{
  c->plain = c->boxes && random_chance (random, 50);
  if (!c->plain)
    return;
  for (int p = 0; p < c->layout.n_planes; p++) {
    SepconvPlane *how = &c->spec.plane[p];

    if (how->channels == 0)
      continue;
    level_taps (&c->x[p]);
    level_taps (&c->y[p]);
    for (int i = 0; i < c->layout.plane[p].channels; i++)
      how->border_value[i] = rint (how->border_value[i]);
  }
}

static void
shape_derivative (Taps *taps, Random *random)
{
  const int radius = at_most (taps->n / 2 + 1, 7);

  switch (random_int (random, 0, 3)) {
    case 0:
      taps_sobel_derivative (taps, radius);
      break;
    case 1:
      taps_sobel_smooth (taps, radius);
      break;
    case 2:
      taps_prewitt_derivative (taps, radius);
      break;
    default:
      taps_prewitt_smooth (taps, radius);
  }
}

static void
shape_signed (Taps *taps, Random *random)
{
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] = random_double (random, -1.0, 1.0);
  set_norm (taps, random_double (random, 0.25, 4.0));
}

static void
shape_alternating (Taps *taps, Random *random)
{
  const double first = random_chance (random, 50) ? 1.0 : -1.0;

  for (int i = 0; i < taps->n; i++)
    taps->tap[i] = i % 2 ? -first : first;
  set_norm (taps, random_double (random, 0.5, 4.0));
}

/* A single tap of 1 somewhere: shows the position of every sample. */
static void
shape_shift (Taps *taps, Random *random)
{
  const int at = random_chance (random, 30)
      ? taps->n / 2
      : random_int (random, 0, taps->n - 1);

  for (int i = 0; i < taps->n; i++)
    taps->tap[i] = i == at ? 1.0 : 0.0;
}

/* Rises from end to end: not symmetric in any way. */
static void
shape_slope (Taps *taps, Random *random)
{
  (void) random;
  for (int i = 0; i < taps->n; i++)
    taps->tap[i] = (i + 1) / (0.5 * taps->n * (taps->n + 1));
}

static void
shape_cancelling (Taps *taps, Random *random)
{
  case_cancelling_taps (
      taps, exp (random_double (random, log (2.0), log (1000.0))), random);
}

static const struct
{
  const char *name;
  void (*make) (Taps *, Random *);
  int weight; /* out of 24 */
} shapes[] = {
  { "gaussian", shape_gaussian, 4 },
  { "box", shape_box, 5 },
  { "derivative", shape_derivative, 2 },
  { "signed", shape_signed, 4 },
  { "alternating", shape_alternating, 2 },
  { "shift", shape_shift, 3 },
  { "slope", shape_slope, 2 },
  { "cancelling", shape_cancelling, 2 },
};

static int
random_shape (Random *random)
{
  int chance = random_int (random, 0, 23), shape = 0;

  while (chance >= shapes[shape].weight)
    chance -= shapes[shape++].weight;
  return shape;
}

static double
largest_gain (const SepconvSpec *spec, const Image *layout)
{
  double largest = 0.0;

  for (int p = 0; p < layout->n_planes; p++)
    if (spec->plane[p].channels != 0)
      largest = fmax (largest, sepconv_gain (spec, &spec->plane[p]));
  return largest;
}

static double
random_level (const ImagePlane *plane, Random *random)
{
  const double full = (double) ((1 << plane->depth) - 1);

  switch (random_int (random, 0, 5)) {
    case 0:
      return 0.0;
    case 1:
      return full;
    case 2:
      return (double) (1 << (plane->depth - 1));
    case 3:
      return plane->depth >= 8 ? (double) (16 << (plane->depth - 8)) : 1.0;
    case 4:
      return random_int (random, 0, (int) full);
    default:
      return random_double (random, 0.0, full);
  }
}

static unsigned
random_mask (
    const LayoutKind *kind, const ImagePlane *plane, bool first, Random *random)
{
  const unsigned all = (1u << plane->channels) - 1;
  const unsigned allowed = first ? all & ~kind->never : all;
  const unsigned some =
      random_chance (random, 70) ? all : (unsigned) random_int (random, 0, 15);

  /* At least one channel of the first plane is filtered. */
  return first && (allowed & some) == 0 ? allowed : allowed & some;
}

/* The most taps that the effort allows for the plane's samples. */
static int
limit_length (int n, const ImagePlane *plane, int height, const Effort *effort)
{
  const double samples =
      (double) plane->width * (double) height * (double) plane->channels;
  const double limit = effort->products / (2.0 * samples);

  return limit < 1.0 ? 1 : n > limit ? (int) limit : n;
}

static void
make_plane (Case *c, int p, int shape, const Effort *effort, Random *random)
{
  const ImagePlane *plane = &c->layout.plane[p];
  const int height = image_plane_height (&c->layout, p);
  SepconvPlane *how = &c->spec.plane[p];

  how->channels = random_mask (c->kind, plane, p == 0, random);
  for (int i = 0; i < plane->channels; i++) {
    how->zero[i] = random_level (plane, random);
    how->border_value[i] = random_level (plane, random);
  }
  c->x[p].n = limit_length (random_length (random), plane, height, effort);
  c->y[p].n = limit_length (random_length (random), plane, height, effort);
  shapes[shape].make (&c->x[p], random);
  /* In a box case both axes are boxes, for methods that support nothing else. */
  shapes[c->boxes || random_chance (random, 60) ? shape : random_shape (random)]
      .make (&c->y[p], random);
  /* A plane that is copied needs no taps. */
  how->x = how->channels == 0 ? NULL : &c->x[p];
  how->y = how->channels == 0 ? NULL : &c->y[p];
}

void
case_make_spec (
    Case *c, SepconvBorder border, const Effort *effort, Random *random)
{
  static const double scales[] = { 1.0, 1.0, 1.0, 1.0, -1.0, 0.5, 0.0 };
  static const double biases[] = { 0.0, 0.0, 0.0, 0.5, 0.5, -0.25, 1.0 };
  const int shape = random_shape (random);
  double gain;

  memset (&c->spec, 0, sizeof c->spec);
  c->shape = shapes[shape].name;
  c->boxes = shapes[shape].make == shape_box;
  c->content = (Content) random_int (random, 0, N_CONTENTS - 1);
  if (random_chance (random, 30))
    c->content = CONTENT_NOISE;
  c->spec.border = border;
  c->spec.scale = random_chance (random, 70)
      ? scales[random_int (random, 0, 6)]
      : random_double (random, -4.0, 4.0);
  c->spec.bias = random_chance (random, 70) ? biases[random_int (random, 0, 6)]
                                            : random_double (random, -1.0, 1.5);
  if (random_chance (random, 2))
    c->spec.bias =
        random_chance (random, 50) ? SEPCONV_MAX_BIAS : -SEPCONV_MAX_BIAS;
  for (int p = 0; p < c->layout.n_planes; p++)
    make_plane (c, p, shape, effort, random);
  level_some (c, random);
  if (random_chance (random, 25))
    for (int p = 0; p < c->layout.n_planes; p++)
      c->spec.plane[p].unbiased = (unsigned) random_int (random, 0, 15);

  gain = largest_gain (&c->spec, &c->layout);
  if (random_chance (random, 4) && gain > 0.0)
    c->spec.scale *= 0.999 * SEPCONV_MAX_GAIN / gain;
  else if (gain > 0.999 * SEPCONV_MAX_GAIN)
    c->spec.scale *= 0.999 * SEPCONV_MAX_GAIN / gain;
}

/* Fills the terms after the first one of a plane with taps about as long as its own. */
static void
make_more (Case *c, int p, Random *random)
{
  for (int t = 0; t < c->spec.plane[p].n_more; t++) {
    CaseTerm *term = &c->more[p][t];

    term->x.n = random_int (random, 1, c->x[p].n);
    term->y.n = random_int (random, 1, c->y[p].n);
    shapes[random_shape (random)].make (&term->x, random);
    shapes[random_shape (random)].make (&term->y, random);
  }
}

/* Makes all taps of a plane 0. */
static void
make_silent (Case *c, int p)
{
  memset (c->x[p].tap, 0, sizeof c->x[p].tap);
  for (int t = 0; t < c->spec.plane[p].n_more; t++)
    memset (c->more[p][t].x.tap, 0, sizeof c->more[p][t].x.tap);
}

/* Scales the taps by `factor`, where changing the scale has no effect on the gain. */
static void
weaken_taps (Case *c, double factor)
{
  for (int p = 0; p < c->layout.n_planes; p++)
    for (int t = -1; t < c->spec.plane[p].n_more; t++) {
      Taps *x = t < 0 ? &c->x[p] : &c->more[p][t].x;

      for (int i = 0; i < x->n; i++)
        x->tap[i] *= factor;
    }
}

void
case_make_terms (Case *c, Random *random)
{
  static const double thresholds[] = { 0.0, 0.0, 0.01, 0.1, 1.0 };
  SepconvSpec *spec = &c->spec;
  double gain;
  int n_more;

  spec->combine =
      (SepconvCombine) random_int (random, SEPCONV_SUM, SEPCONV_DIRECTION);
  n_more = spec->combine == SEPCONV_SUM ? random_int (
               random, 0, random_chance (random, 80) ? 2 : TAPS_MAX_TERMS - 1)
      : spec->combine == SEPCONV_UNSHARP ? 0
                                         : 1;
  spec->amount = random_double (random, -2.0, 3.0);
  spec->threshold = thresholds[random_int (random, 0, 4)];
  if (c->more == NULL)
    c->more = kerncheck_alloc (IMAGE_MAX_PLANES * sizeof *c->more);
  point_at_terms (c);
  for (int p = 0; p < c->layout.n_planes; p++) {
    spec->plane[p].n_more = n_more;
    if (spec->plane[p].channels == 0)
      continue;
    make_more (c, p, random);
    /* As for chroma that is made neutral. */
    if (random_chance (random, 10))
      make_silent (c, p);
  }
  c->boxes = c->plain = false;
  gain = largest_gain (spec, &c->layout);
  if (gain <= 0.99 * SEPCONV_MAX_GAIN)
    return;
  if (spec->combine == SEPCONV_DIRECTION)
    weaken_taps (c, 0.99 * SEPCONV_MAX_GAIN / gain);
  else
    spec->scale *= 0.99 * SEPCONV_MAX_GAIN / gain;
}

void
case_make_usual (Case *c, int index, Random *random)
{
  static const struct
  {
    TapsKernel kernel;
    SepconvCombine combine;
    double scale;
    const char *name;
  } kernels[] = {
    { TAPS_UNSHARP, SEPCONV_UNSHARP, 1.0, "unsharp" },
    { TAPS_SOBEL, SEPCONV_MAGNITUDE, 0.5, "sobel" },
    { TAPS_LAPLACIAN, SEPCONV_SUM, 1.0, "laplacian" },
    { TAPS_DOG, SEPCONV_SUM, 2.0, "dog" },
    { TAPS_SCHARR, SEPCONV_MAGNITUDE, 0.125, "scharr" },
    { TAPS_UNSHARP, SEPCONV_UNSHARP, 1.0, "unsharp" },
    { TAPS_LOG, SEPCONV_SUM, 4.0, "log" },
    { TAPS_PREWITT, SEPCONV_MAGNITUDE, 1.0, "prewitt" },
    { TAPS_SOBEL, SEPCONV_DIRECTION, 1.0, "direction" },
  };
  static const double amounts[] = { 0.5, 1.0, 1.5, 3.0, -1.0 };
  const int k = index % (int) (sizeof kernels / sizeof kernels[0]);
  const TapsSettings settings = {
    .kernel = kernels[k].kernel,
    .sigma_x = random_double (random, 0.5, 5.0),
    .sigma_y =
        random_chance (random, 70) ? -1.0 : random_double (random, 0.5, 5.0),
    .radius_x = -1,
    .radius_y = -1,
  };
  Taps *x = kerncheck_alloc (2 * TAPS_MAX_TERMS * sizeof *x);
  Taps *y = x + TAPS_MAX_TERMS;

  c->spec.combine = kernels[k].combine;
  c->spec.amount = amounts[random_int (random, 0, 4)];
  c->spec.threshold =
      random_chance (random, 70) ? 0.0 : random_double (random, 0.0, 0.1);
  c->spec.scale = kernels[k].scale;
  c->spec.bias = c->spec.combine == SEPCONV_SUM ? 0.5 : 0.0;
  c->shape = kernels[k].name;
  c->boxes = false;
  if (c->more == NULL)
    c->more = kerncheck_alloc (IMAGE_MAX_PLANES * sizeof *c->more);
  point_at_terms (c);
  for (int p = 0; p < c->layout.n_planes; p++) {
    const int sub = p == 0 || kernels[k].kernel == TAPS_LOG ? 1 : 2;
    int n = 0;

    if (!taps_make_terms (&settings, sub, sub, x, y, &n, NULL))
      abort ();
    c->spec.plane[p].n_more = n - 1;
    c->x[p] = x[0];
    c->y[p] = y[0];
    for (int t = 1; t < n; t++)
      c->more[p][t - 1] = (CaseTerm){ x[t], y[t] };
  }
  free (x);
}

/* Changes three taps so that kernels that rely on integers or on symmetry must not take
 * them. */
static void
spoil_term (Taps *along, Taps *across, Random *random)
{
  switch (random_int (random, 0, 3)) {
    case 0:
      along->tap[0] *= -2.0;
      break;
    case 1:
      along->tap[0] = 0.9 * along->tap[0] + 0.1;
      break;
    case 2:
      along->tap[1] += 0.2 * along->tap[2];
      break;
    default:
      across->tap[random_int (random, 0, 2)] += 0.3;
      break;
  }
}

/* A gradient: a difference along one axis, [a b a] along the other. */
static void
make_gradient_term (
    Taps *along, Taps *across, double factor, bool large, Random *random)
{
  const double difference = random_chance (random, 50) ? 1.0 : -1.0;
  const int outer = random_int (random, large ? 3 : -1, 5);
  const int middle = large && random_chance (random, 30)
      ? -2 * outer
      : random_int (random, large ? 5 : -2, 12);

  *along = (Taps){ .n = 3, .tap = { -difference, 0.0, difference } };
  *across = (Taps){ .n = 3,
    .tap = { factor * outer, factor * middle, factor * outer } };
}

/* A sum: [a b a] along both axes, or a single tap along one. */
static void
make_sum_term (
    Taps *along, Taps *across, double factor, bool large, Random *random)
{
  const int a = large ? random_int (random, 2, 4) : random_int (random, -2, 2);
  /* Large sums must keep flat pictures in range. */
  const int b = large ? -2 * a : random_int (random, -4, 4);
  const int c = random_int (random, large ? 0 : -1, 1);

  *along = (Taps){ .n = 3, .tap = { factor * a, factor * b, factor * a } };
  *across = random_chance (random, 50)
      ? (Taps){ .n = 1, .tap = { 1.0 } }
      : (Taps){ .n = 3, .tap = { c, random_int (random, 1, 2), c } };
}

void
case_make_three (Case *c, bool large, Random *random)
{
  static const double factors[] = { 1.0, 0.25, 0.1, -1.0, 3.0, 0.007 };
  static const double scales[] = { 1.0, 0.5, 0.125, -0.5, 4.0, 0.0 };
  static const SepconvCombine kinds[] = { SEPCONV_MAGNITUDE, SEPCONV_SUM,
    SEPCONV_DIRECTION };
  SepconvSpec *spec = &c->spec;
  const bool exact = large || random_chance (random, 80);
  double gain;

  if (c->more == NULL)
    c->more = kerncheck_alloc (IMAGE_MAX_PLANES * sizeof *c->more);
  point_at_terms (c);
  spec->combine = kinds[random_int (random, 0, large ? 1 : 2)];
  spec->scale = scales[large ? 0 : random_int (random, 0, 5)];
  spec->bias = large               ? (spec->combine == SEPCONV_SUM ? 0.5 : 0.0)
      : random_chance (random, 50) ? 0.0
                                   : random_double (random, -1.2, 1.2)
          * (random_chance (random, 20) ? 10.0 : 1.0);
  for (int p = 0; p < c->layout.n_planes; p++) {
    const double factor = factors[large ? 0 : random_int (random, 0, 5)];
    CaseTerm *more = &c->more[p][0];

    spec->plane[p].n_more = 1;
    for (int t = 0; t < 2; t++) {
      Taps *along = t == 0 ? &c->x[p] : &more->y;
      Taps *across = t == 0 ? &c->y[p] : &more->x;

      (spec->combine == SEPCONV_SUM ? make_sum_term : make_gradient_term) (
          along, across, factor, large, random);
      if (!exact)
        spoil_term (along, across, random);
    }
    if (random_chance (random, 10))
      make_silent (c, p);
  }
  c->boxes = c->plain = false;
  c->shape = "three";
  gain = largest_gain (spec, &c->layout);
  if (gain > 0.99 * SEPCONV_MAX_GAIN)
    weaken_taps (c, 0.99 * SEPCONV_MAX_GAIN / gain);
}

void
case_add_blurs (Case *c, Random *random)
{
  if (c->more == NULL)
    c->more = kerncheck_alloc (IMAGE_MAX_PLANES * sizeof *c->more);
  point_at_terms (c);
  for (int p = 0; p < c->layout.n_planes; p++) {
    CaseTerm *term = &c->more[p][0];
    const double weight = random_double (random, -1.2, 0.8);
    const int rx = c->x[p].n < 4 ? 1 : c->x[p].n / 2;
    const int ry = c->y[p].n < 4 ? 1 : c->y[p].n / 2;
    const int radius_x = random_int (random, (rx + 1) / 2, rx);

    taps_gaussian (
        &term->x, radius_x / random_double (random, 3.5, 5.0), radius_x);
    taps_gaussian (&term->y, ry / random_double (random, 3.5, 5.0), ry);
    for (int i = 0; i < term->y.n; i++)
      term->y.tap[i] *= weight;
    c->spec.plane[p].n_more = random_chance (random, 85) ? 1 : 0;
    if (random_chance (random, 15))
      make_silent (c, p);
    else if (random_chance (random, 10))
      memset (term->x.tap, 0, sizeof term->x.tap);
  }
  c->spec.combine = SEPCONV_SUM;
  c->boxes = c->plain = false;
}

void
case_set_rows (Case *c, int n, Random *random)
{
  const int longest = random_int (random, 0, c->layout.n_planes - 1);

  c->spec.scale = 1.0;
  for (int p = 0; p < c->layout.n_planes; p++) {
    if (c->spec.plane[p].channels == 0)
      continue;
    c->y[p].n = p == longest || c->spec.plane[longest].channels == 0
        ? n
        : random_int (random, 1, n);
    if (c->boxes)
      shape_box (&c->y[p], random);
    else
      for (int i = 0; i < c->y[p].n; i++)
        c->y[p].tap[i] = random_double (random, -0.5, 1.0);
    set_norm (&c->y[p], 1.0);
    if (c->plain)
      level_taps (&c->y[p]);
  }
}

void
case_any_row (
    Case *c, const LayoutKind *kind, int max_bytes, int height, Random *random)
{
  int width;

  case_set_layout (c, kind, 1, 1);
  width = random_int (random, 1, max_bytes / c->layout.plane[0].pixel_stride);
  if (random_chance (random, 60))
    width = (width + 15) / 16 * 16;
  case_set_layout (c, kind, width, height);
}

void
case_round_border (Case *c, int p)
{
  SepconvPlane *plane = &c->spec.plane[p];

  for (int i = 0; i < c->layout.plane[p].channels; i++)
    plane->border_value[i] = rint (plane->border_value[i]);
}

bool
case_make_tall (Case *c, const SepconvMethod *method, SepconvBorder border,
    const Effort *effort, Random *random)
{
  for (int i = 0; i < 100; i++) {
    const LayoutKind *kind = layout_kind_any (random);
    const int height =
        random_int (random, effort->max_height / 2, effort->max_height);

    case_any_row (c, kind, effort->max_width, height, random);
    case_make_spec (c, border, effort, random);
    if (random_chance (random, 75))
      case_set_rows (c, random_int (random, 1, 35), random);
    if (sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      return true;
    if (i < 50)
      continue;
    case_make_blurs (c, random);
    if (sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      return true;
  }
  return false;
}

/* Keeps the number of taps, their sum and their norm, which determine how hard a case is and
 * whether its results are in range. */
static void
turn_into_box (Taps *taps, Random *random)
{
  const double norm = taps_norm (taps), sum = taps_sum (taps);
  const double cancelling = norm - fabs (sum);
  const double end =
      random_chance (random, 50) ? 1.0 : random_double (random, 0.02, 1.0);

  if (taps->n < 3)
    return; /* all ends */
  if (cancelling > 1e-9 * norm) {
    set_box (taps, cancelling / 2.0, sum / (taps->n - 2), -cancelling / 2.0);
  } else {
    set_box (taps, end, 1.0, end);
    set_norm (taps, sum);
  }
}

void
case_make_boxes (Case *c, Random *random)
{
  c->shape = "box";
  c->boxes = true;
  for (int p = 0; p < c->layout.n_planes; p++) {
    if (c->spec.plane[p].channels == 0)
      continue;
    turn_into_box (&c->x[p], random);
    turn_into_box (&c->y[p], random);
  }
  level_some (c, random);
}

/* A gaussian of about this sigma, cut at `reach` sigmas; sometimes off centre, sometimes with
 * an even number of taps. */
static void
turn_into_blur (Taps *taps, double sigma, double reach, Random *random)
{
  const double shift =
      random_chance (random, 30) ? random_double (random, -sigma, sigma) : 0.0;
  const int radius = (int) ceil (reach * sigma + fabs (shift));

  taps->n = 2 * radius + 1 - random_int (random, 0, 1);
  for (int i = 0; i < taps->n; i++) {
    const double x = (i - radius - shift) / sigma;

    taps->tap[i] = exp (-0.5 * x * x);
  }
  set_norm (taps, 1.0);
}

void
case_make_blurs (Case *c, Random *random)
{
  c->shape = "blur";
  c->boxes = c->plain = false;
  c->spec.scale = random_double (random, -1.0, 1.0);
  c->spec.bias = random_double (random, -0.5, 0.5);
  for (int p = 0; p < c->layout.n_planes; p++) {
    const int depth = c->layout.plane[p].depth;
    /* Deeper samples need smoother taps. */
    const double least = depth <= 8 ? 5.0 : depth <= 10 ? 7.0 : 15.0;
    const double sigma = least * random_double (random, 1.0, 1.7);
    const double reach = depth <= 12 ? 4.2 : 5.0;

    if (c->spec.plane[p].channels == 0)
      continue;
    turn_into_blur (&c->x[p], sigma, reach, random);
    if (random_chance (random, 30))
      c->y[p] = c->x[p];
    else if (random_chance (random, 15))
      turn_into_blur (&c->y[p], 0.5, 1.0, random);
    else
      turn_into_blur (
          &c->y[p], least * random_double (random, 1.0, 1.7), reach, random);
  }
}

void
case_describe (Check *check, const Case *c)
{
  static const char *const combinations[] = { "sum", "unsharp", "magnitude",
    "direction" };
  char planes[512] = "", terms[128] = "";
  size_t end = 0;

  for (int p = 0; p < c->layout.n_planes && end < sizeof planes - 1; p++) {
    const SepconvPlane *how = &c->spec.plane[p];

    end += (size_t) snprintf (planes + end, sizeof planes - end,
        "; plane %d %dx%d", p, c->layout.plane[p].width,
        image_plane_height (&c->layout, p));
    if (end < sizeof planes && how->channels != 0)
      end += (size_t) snprintf (planes + end, sizeof planes - end,
          " mask 0x%x unbiased 0x%x taps %dx%d zero %g border %g gain %g",
          how->channels, how->unbiased, how->x->n, how->y->n, how->zero[0],
          how->border_value[0], sepconv_gain (&c->spec, how));
  }
  if (c->spec.combine != SEPCONV_SUM || c->spec.plane[0].n_more > 0)
    snprintf (terms, sizeof terms, ", %s of %d terms, amount %g threshold %g",
        combinations[c->spec.combine], sepconv_n_terms (&c->spec.plane[0]),
        c->spec.amount, c->spec.threshold);
  check_describe (check, "%s %dx%d %s %s on %s, scale %g bias %g%s%s",
      c->kind->name, c->width, c->height, border_name (c->spec.border),
      c->shape, content_name (c->content), c->spec.scale, c->spec.bias, terms,
      planes);
}
