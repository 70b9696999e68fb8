/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every method, for everything that sepconv.h allows, compared with the oracle and with the
 * reference method; and the oracle compared with itself. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "oracle.h"
#include "sepconv/method.h"
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Effort normal_effort = { 400, 300, 2e7 };
static const Effort quick_effort = { 40, 40, 3e5 };
static const Effort large_effort = { 1283, 719, 25e6 };

/* A method on a layout. */
typedef struct
{
  const SepconvMethod *method;
  const LayoutKind *kind;
  Device *device; /* while the check runs */
} Subject;

/* The plan may be for a taller picture than the one it runs on. */
static SepconvPlan *
new_plan (const Case *c, const Subject *subject, Random *random, Fault *fault)
{
  Image layout = c->layout;

  if (random_chance (random, 25))
    for (int m = 0; m < layout.n_memories; m++)
      layout.memory[m].height += random_int (random, 0, 20);
  return sepconv_plan_new (&c->spec, &layout, subject->method->backend,
      subject->method, subject->device->gpu, fault);
}

/* The same codes with other noise around them must give the same result. */
static void
check_repeatable (Check *check, const Case *c, const Subject *subject,
    SepconvPlan *plan, Picture *src, const Picture *first, Random *random)
{
  Picture dst;
  Verdict verdict;

  picture_new (&dst, &c->layout, subject->device->gpu == NULL, random);
  picture_scramble_guards (src, random);
  picture_scramble_low_bits (src, &c->spec, random);
  if (device_run_cleanly (
          check, subject->device, device_sepconv, plan, src, &dst)) {
    verdict_same (&verdict, &dst.image, &first->image);
    EXPECT (check, verdict.ok,
        "the result depends on more than the codes of the source, or is not "
        "the same on a second run: %s",
        verdict.text);
  }
  picture_clear (&dst);
}

static void
check_against_reference (Check *check, const Case *c, const Picture *src,
    const Picture *dst, Random *random)
{
  const Device host = { NULL, NULL };
  const SepconvMethod *reference = sepconv_method_by_name ("reference");
  Fault fault;
  SepconvPlan *plan = sepconv_plan_new (
      &c->spec, &c->layout, BACKEND_CPU, reference, NULL, &fault);
  Picture other;
  Verdict verdict;

  if (!EXPECT (
          check, plan != NULL, "the reference has no plan: %s", fault.message))
    return;
  picture_new (&other, &c->layout, true, random);
  if (device_run_cleanly (check, &host, device_sepconv, plan, src, &other)) {
    verdict_by_other (&verdict, &c->spec, &dst->image, &other.image);
    EXPECT (check, verdict.ok, "%s", verdict.text);
  }
  picture_clear (&other);
  sepconv_plan_free (plan);
}

/* True when the method supports the case; a refusal must have a sentence. */
static bool
is_supported (Check *check, const Case *c, const Subject *subject)
{
  SepconvPlan *plan;
  Fault fault;

  fault_clear (&fault);
  if (!EXPECT (check, sepconv_validate (&c->spec, &c->layout, &fault),
          "a valid spec was refused: %s", fault.message))
    return false;
  if (sepconv_method_supports (
          subject->method, &c->spec, &c->layout, NULL, &fault))
    return true;
  EXPECT_FAULT (check, true, &fault, FAULT_UNSUPPORTED, "an unsupported spec");
  fault_clear (&fault);
  plan = sepconv_plan_new (&c->spec, &c->layout, subject->method->backend,
      subject->method, subject->device->gpu, &fault);
  EXPECT_FAULT (check, plan == NULL, &fault, FAULT_UNSUPPORTED,
      "a plan for an unsupported spec");
  sepconv_plan_free (plan);
  return false;
}

/* Turns a case that the method does not support into one of boxes, or of long gaussians, so that
 * methods which support only those go through every check, too. Returns false if that does not
 * help. */
static bool
suit_method (Check *check, Case *c, const Subject *subject, Random *random)
{
  case_describe (check, c);
  if (is_supported (check, c, subject))
    return true;
  /* A method that combines terms supports any terms, or does not support the layout. */
  for (int i = 0; i < 2 && c->more == NULL; i++) {
    (i == 0 ? case_make_boxes : case_make_blurs) (c, random);
    case_describe (check, c);
    if (is_supported (check, c, subject))
      return true;
  }
  check->unsupported++;
  return false;
}

/* Whether a method supports several terms and all their combinations. Other methods that combine
 * terms support unsharp masks of their own kernels only. */
static bool
takes_terms (const SepconvMethod *method)
{
  return method->ops != NULL && method->ops->combines
      && strncmp (method->name, "multirate", 9) != 0;
}

/* For a method of special kernels: turns some cases into unsharp masks of these kernels or into
 * sums of two, if the method supports them. */
static void
combine_some (Check *check, Case *c, const Subject *subject, Random *random)
{
  const SepconvSpec before = c->spec;

  if (!subject->method->ops->combines || takes_terms (subject->method)
      || random_chance (random, 50))
    return;
  if (random_chance (random, 40)) {
    case_add_blurs (c, random);
  } else {
    c->spec.combine = SEPCONV_UNSHARP;
    c->spec.threshold =
        random_chance (random, 60) ? 0.0 : random_double (random, 0.0, 0.2);
    c->spec.amount = random_double (random, -1.5, 2.5);
  }
  if (random_chance (random, 50))
    c->spec.scale = 1.0;
  case_describe (check, c);
  /* The combination may amplify too much. */
  if (sepconv_validate (&c->spec, &c->layout, NULL)
      && is_supported (check, c, subject))
    return;
  c->spec = before;
  case_describe (check, c);
}

/* Checks a method on a case, which suit_method() may change. */
static void
run_as_it_is (Check *check, Case *c, const Subject *subject, Random *random)
{
  const bool on_host = subject->device->gpu == NULL;
  Picture src, dst;
  SepconvPlan *plan;
  Verdict verdict;
  Fault fault;

  if (!suit_method (check, c, subject, random))
    return;
  combine_some (check, c, subject, random);
  fault_clear (&fault);
  plan = new_plan (c, subject, random, &fault);
  if (!EXPECT (
          check, plan != NULL, "no plan: %s (%s)", fault.message, fault.detail))
    return;
  EXPECT (check, sepconv_plan_method (plan) == subject->method,
      "the plan has another method");

  picture_new (&src, &c->layout, on_host, random);
  picture_new (&dst, &c->layout, on_host, random);
  picture_paint (&src, c->content, random);
  if (device_run_cleanly (
          check, subject->device, device_sepconv, plan, &src, &dst)) {
    verdict_by_oracle (&verdict, &c->spec, &src.image, &dst.image);
    EXPECT (check, verdict.ok, "%s", verdict.text);
    if (subject->method != sepconv_method_by_name ("reference")
        && (c->spec.combine == SEPCONV_SUM
            || c->spec.combine == SEPCONV_MAGNITUDE))
      check_against_reference (check, c, &src, &dst, random);
    check_repeatable (check, c, subject, plan, &src, &dst, random);
  }
  picture_clear (&src);
  picture_clear (&dst);
  sepconv_plan_free (plan);
}

static void
run_one (Check *check, Case *c, const Subject *subject, Random *random)
{
  if (takes_terms (subject->method) && random_chance (random, 60))
    case_make_terms (c, random);
  run_as_it_is (check, c, subject, random);
}

static void
layout_case (Check *check, Random *random, int index, const void *data)
{
  const Effort *effort = check->quick ? &quick_effort : &normal_effort;
  Case *c = case_new ();

  case_make_layout (
      c, ((const Subject *) data)->kind, index / N_BORDERS, effort, random);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), effort, random);
  run_one (check, c, data, random);
  case_free (c);
}

static void
large_case (Check *check, Random *random, int index, const void *data)
{
  const Effort *effort = check->quick ? &quick_effort : &large_effort;
  Case *c = case_new ();

  case_set_layout (
      c, layout_kind_any (random), effort->max_width, effort->max_height);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), effort, random);
  run_one (check, c, data, random);
  case_free (c);
}

/* Limits the GPU, if there is one, to one multiprocessor. */
static void
run_on_one (Check *check, Case *c, const Subject *subject, Random *random)
{
  Gpu *gpu = subject->device->gpu;

  if (gpu != NULL)
    gpu_limit_multiprocessors (gpu, 1);
  run_one (check, c, subject, random);
  if (gpu != NULL)
    gpu_limit_multiprocessors (gpu, 0);
}

/* Each block processes many rows. */
static void
tall_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  static const Effort normal = { 900, 240, 8e6 }, quick = { 800, 160, 3e6 };
  Case *c = case_new ();

  /* run_one() checks refusals. */
  (void) case_make_tall (c, subject->method,
      (SepconvBorder) (index % N_BORDERS), check->quick ? &quick : &normal,
      random);
  run_on_one (check, c, data, random);
  case_free (c);
}

/* One method of each kind whose passes use the grid's y dimension for rows. */
static bool
passes_in_grids (const SepconvMethod *method)
{
  return strcmp (method->name, "global") == 0
      || strcmp (method->name, "shared") == 0
      || strcmp (method->name, "tile-l2") == 0;
}

/* More rows than the y dimension of a grid can cover with blocks of eight rows. */
static void
very_tall_case (Check *check, Random *random, int index, const void *data)
{
  static const Effort effort = { 2, 65536 * 8, 3e6 };
  Case *c = case_new ();

  case_set_layout (
      c, layout_kind_by_name ("gray8"), effort.max_width, effort.max_height);
  (void) index;
  case_make_spec (c, random_int (random, 0, N_BORDERS - 1), &effort, random);
  run_one (check, c, data, random);
  case_free (c);
}

/* Rows as wide as the CPU methods' block of samples, and wider. */
static void
very_wide_case (Check *check, Random *random, int index, const void *data)
{
  static const struct
  {
    const char *kind;
    int width;
  } rows[] = {
    { "rgb24", 5461 },
    { "gray8", 16385 },
    { "rgb24", 8192 },
    { "rgbx", 4097 },
    { "p010", 8200 },
    { "yuy2", 2049 },
  };
  const int radius = 1 + index;
  const Effort effort = { 1, 1, 3e6 };
  Case *c = case_new ();

  case_set_layout (
      c, layout_kind_by_name (rows[index % 6].kind), rows[index % 6].width, 4);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
  for (int p = 0; p < c->layout.n_planes; p++) {
    c->spec.plane[p].channels = (1u << c->layout.plane[p].channels) - 1;
    if (p == 0)
      c->spec.plane[p].channels &= ~c->kind->never;
    taps_gaussian (&c->x[p], radius / 2.0, radius);
    taps_gaussian (&c->y[p], radius / 2.0, radius);
    c->spec.plane[p].x = &c->x[p];
    c->spec.plane[p].y = &c->y[p];
  }
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->content = CONTENT_NOISE;
  c->shape = "very wide";
  run_on_one (check, c, data, random);
  case_free (c);
}

static int
n_crowded (const Check *check)
{
  return check->quick ? 8 : 40;
}

/* As many samples per multiprocessor as a large frame has, for which methods may divide the work in
 * another way; the number of taps grows with the index. */
static void
crowded_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "gray8", "rgbx", "nv12", "p010" };
  const int radius = 4 + index * 61 / n_crowded (check);
  const Effort effort = { 1, 1, 5e7 };
  Case *c = case_new ();
  int width;

  case_set_layout (c, layout_kind_by_name (kinds[index % 4]), 1, 1);
  width = 400 / c->layout.plane[0].channels;
  case_set_layout (
      c, c->kind, random_int (random, width, 2 * width) / 2 * 2, 302);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
  for (int p = 0; p < c->layout.n_planes; p++) {
    c->spec.plane[p].channels = (1u << c->layout.plane[p].channels) - 1;
    if (p == 0)
      c->spec.plane[p].channels &= ~c->kind->never;
    taps_gaussian (&c->x[p], radius / 3.0, radius);
    taps_gaussian (&c->y[p], radius / 2.0, radius - random_int (random, 0, 4));
    c->spec.plane[p].x = &c->x[p];
    c->spec.plane[p].y = &c->y[p];
  }
  c->spec.scale = random_chance (random, 50) ? 1.0 : 3.7;
  c->spec.bias = 0.0;
  c->shape = "crowded";
  run_on_one (check, c, data, random);
  case_free (c);
}

/* A usual kernel; mostly on one multiprocessor, where each block processes many rows. */
static void
run_usual (Check *check, const char *kind, int kernel, const Subject *subject,
    Random *random)
{
  Gpu *gpu = subject->device->gpu;
  const Effort effort = { 1, 1, 5e7 };
  Case *c = case_new ();
  const bool alone = gpu != NULL && random_chance (random, 70);

  case_any_row (c, layout_kind_by_name (kind), 700,
      random_int (random, 1, check->quick ? 90 : 240), random);
  case_make_spec (c, (SepconvBorder) random_int (random, 0, N_BORDERS - 1),
      &effort, random);
  case_make_usual (c, kernel, random);
  if (alone)
    gpu_limit_multiprocessors (gpu, 1);
  run_as_it_is (check, c, subject, random);
  if (alone)
    gpu_limit_multiprocessors (gpu, 0);
  case_free (c);
}

static void
usual_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "gray8", "nv12", "rgbx", "planar3",
    "ayuv", "two8", "p010", "planar3-10", "gray10" };

  run_usual (check, kinds[random_int (random, 0, 8)], index, data, random);
}

/* The same for deep samples, which may be sums of two numbers (FP16 hi/lo split). */
static void
usual_deep_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "gray16", "p012", "y412", "rgba64",
    "p016", "gray12", "p010" };

  run_usual (check, kinds[index % 7], index / 7, data, random);
}

/* Rows of whole 16 bytes, from few to many. Some methods read them in units of 16 bytes, also
 * beyond their ends. */
static void
whole_row_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "gray8", "nv12", "rgbx", "p010" };
  const int chunks = index < 16 * N_BORDERS ? 1 + index / N_BORDERS
                                            : random_int (random, 17, 60);
  const LayoutKind *kind =
      layout_kind_by_name (kinds[random_int (random, 0, 3)]);
  Case *c = case_new ();

  case_set_layout (c, kind, 1, 1);
  case_set_layout (c, kind, 16 * chunks / c->layout.plane[0].pixel_stride,
      random_int (random, 1, 40));
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS),
      &(Effort){ c->width, c->height, 1e6 }, random);
  for (int p = 0; p < c->layout.n_planes; p++) {
    const int radius =
        random_int (random, 1, random_chance (random, 50) ? 16 : 64);

    taps_gaussian (&c->x[p], radius / 3.0, radius);
    taps_gaussian (&c->y[p], radius / 3.0, random_int (random, 1, radius));
    case_round_border (c, p);
  }
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->shape = "gaussian of whole rows";
  run_one (check, c, data, random);
  case_free (c);
}

/* Small pictures under the longest taps: the borders repeat many times. */
static void
long_case (Check *check, Random *random, int index, const void *data)
{
  const Effort effort = { 17, 13, check->quick ? 3e5 : 8e6 };
  Case *c = case_new ();

  case_any_size (c, layout_kind_any (random), &effort, random);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
  for (int p = 0; p < c->layout.n_planes; p++) {
    const int n = check->quick ? 301 : TAPS_MAX;

    taps_gaussian (&c->x[p], random_double (random, 1.0, n / 3.0), n / 2);
    c->y[p].n = n - random_int (random, 0, 3);
    for (int i = 0; i < c->y[p].n; i++)
      c->y[p].tap[i] = random_double (random, -1.0, 2.0) / c->y[p].n;
  }
  c->spec.scale = 1.0;
  c->shape = "long";
  run_one (check, c, data, random);
  case_free (c);
}

/* Wide blurs of pictures that are wider still, or narrower than the blur. */
static void
wide_blur_case (Check *check, Random *random, int index, const void *data)
{
  const int most = check->quick ? 150 : 420, taps = check->quick ? 200 : 520;
  const Effort effort = { most, most, check->quick ? 3e7 : 4e8 };
  Case *c = case_new ();

  case_any_size (c, layout_kind_any (random), &effort, random);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
  for (int p = 0; p < c->layout.n_planes; p++) {
    const int radius = random_int (random, 30, taps);

    taps_gaussian (&c->x[p], radius / random_double (random, 2.0, 3.5), radius);
    taps_gaussian (&c->y[p], radius / 3.0, random_int (random, 30, taps));
  }
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->shape = "wide blur";
  run_one (check, c, data, random);
  case_free (c);
}

static void
make_box (Taps *taps, int n)
{
  taps->n = n;
  for (int i = 0; i < n; i++)
    taps->tap[i] = 1.0 / n;
}

/* A length that suits a line of `size` samples: a few taps, a part of the line, or more than the
 * line. */
static int
box_length (int size, bool quick, Random *random)
{
  const int longest = quick ? 2 * size : 4 * size;

  switch (random_int (random, 0, 3)) {
    case 0:
      return random_int (random, 1, 9);
    case 1:
      return random_int (random, 240, 290);
    case 2:
      return random_int (random, 1, size < 600 ? size : 600);
    default:
      return random_int (random, 1, longest < TAPS_MAX ? longest : TAPS_MAX);
  }
}

/* Symmetric taps of a few pixels, on rows of several vectors: simd uses averages for these. */
static void
short_blur_case (Check *check, Random *random, int index, const void *data)
{
  const int most = check->quick ? 200 : 700;
  const Effort effort = { most, 40, 5e8 };
  Case *c = case_new ();

  case_any_size (c, layout_kind_any (random), &effort, random);
  case_set_layout (c, c->kind, random_int (random, 16, most),
      random_int (random, 1, effort.max_height));
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
  for (int p = 0; p < c->layout.n_planes; p++) {
    const int longest = random_chance (random, 70) ? 7 : 40;
    const int rx = random_int (random, 1, longest);
    const int ry = random_int (random, 1, longest);

    if (random_chance (random, 40)) {
      /* With an even number of taps the centre is between two samples. */
      const int odd = random_int (random, 0, 1);

      make_box (&c->x[p], 2 * rx + odd);
      make_box (&c->y[p], 2 * ry + odd);
    } else {
      taps_gaussian (&c->x[p], rx / random_double (random, 1.0, 4.0), rx);
      taps_gaussian (&c->y[p], ry / random_double (random, 1.0, 4.0), ry);
    }
    case_round_border (c, p);
  }
  c->spec.scale = random_chance (random, 80) ? 1.0 : 0.3;
  c->spec.bias = 0.0;
  c->shape = "short blur";
  run_one (check, c, data, random);
  case_free (c);
}

/* Plain boxes (without special ends) of any length and usual weights, which some methods treat
 * specially. */
static void
box_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "gray8", "nv12", "rgbx", "gray10",
    "p010", "gray12", "ayuv", "planar3", "high-bits", "planar3-10", "rgb24",
    "yuy2" };
  const int most = check->quick ? 120 : 420;
  const Effort effort = { most, most, 5e8 };
  Case *c = case_new ();

  case_any_size (
      c, layout_kind_by_name (kinds[index / N_BORDERS % 12]), &effort, random);
  /* Rows of several tiles, or of whole vectors. */
  if (random_chance (random, 30))
    case_set_layout (c, c->kind, random_int (random, most, 8 * most),
        random_int (random, 1, 40));
  if (random_chance (random, 60))
    case_set_layout (c, c->kind, (c->width + 15) / 16 * 16, c->height);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
  for (int p = 0; p < c->layout.n_planes; p++) {
    make_box (
        &c->x[p], box_length (c->layout.plane[p].width, check->quick, random));
    make_box (&c->y[p],
        box_length (image_plane_height (&c->layout, p), check->quick, random));
    case_round_border (c, p);
  }
  c->spec.scale = random_chance (random, 70) ? 1.0 : -0.7;
  c->spec.bias = c->spec.scale > 0.0 ? 0.0 : 1.0;
  c->shape = "plain box";
  if (random_chance (random, 50))
    run_on_one (check, c, data, random);
  else
    run_one (check, c, data, random);
  case_free (c);
}

/* Taps of the two axes differ by many powers of ten, while their product is an ordinary blur. */
static void
lopsided_case (Check *check, Random *random, int index, const void *data)
{
  static const double factors[] = { 1e-60, 1e60, 1e-42, 1e42, 1e-30, 1e30 };
  const double factor = factors[index % 6];
  Case *c = case_new ();

  case_make_layout (
      c, layout_kind_by_name ("gray8"), index, &quick_effort, random);
  case_make_spec (c, SEPCONV_CONSTANT, &quick_effort, random);
  taps_gaussian (&c->x[0], 1.5, 4);
  taps_gaussian (&c->y[0], 1.5, 4);
  for (int i = 0; i < c->x[0].n; i++) {
    c->x[0].tap[i] *= factor;
    c->y[0].tap[i] /= index % 2 ? factor : 1.0;
  }
  c->spec.scale = index % 2 ? 1.0 : 1.0 / factor;
  c->spec.bias = 0.0;
  c->shape = "lopsided";
  c->content = CONTENT_NOISE;
  run_one (check, c, data, random);
  case_free (c);
}

/* All terms are zero, so that no limit applies to the scale, which exceeds single precision: the
 * magnitude is zero, and the result is the zero level. */
static void
no_gain_case (Check *check, Random *random, int index, const void *data)
{
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name ("gray8"), 40, 9);
  case_make_spec (c, SEPCONV_REPLICATE, &quick_effort, random);
  case_make_usual (c, 1 + index, random); /* sobel */
  for (int i = 0; i < c->x[0].n; i++)
    c->x[0].tap[i] = c->more[0][0].x.tap[i] = 0.0;
  c->spec.scale = 1e42;
  c->shape = "no gain";
  c->content = CONTENT_NOISE;
  run_one (check, c, data, random);
  case_free (c);
}

/* One tap close to 1: as a 16-bit integer it just fits its type, or just does not. */
static void
near_one_case (Check *check, Random *random, int index, const void *data)
{
  const double most = 0.9960 + 0.0006 * index;
  Case *c = case_new ();

  case_make_layout (
      c, layout_kind_by_name ("gray8"), index, &quick_effort, random);
  case_make_spec (c, SEPCONV_REFLECT, &quick_effort, random);
  for (int axis = 0; axis < 2; axis++) {
    Taps *taps = axis == 0 ? &c->x[0] : &c->y[0];

    taps->n = 3;
    taps->tap[0] = taps->tap[2] = (1.0 - most) / 2.0;
    taps->tap[1] = most;
  }
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->shape = "near one";
  c->content = CONTENT_NOISE;
  run_one (check, c, data, random);
  case_free (c);
}

/* Large gains that cancel on one axis, on flat pictures: results are in range, and show whether a
 * method respects the limits of its arithmetic. */
static void
precision_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const names[] = { "gray8", "gray10", "gray12", "gray16",
    "rgb24", "rgba64" };
  static const Content contents[] = { CONTENT_FLAT, CONTENT_MAX, CONTENT_ZERO };
  const Effort effort = { 70, 20, 1e6 };
  Case *c = case_new ();
  Taps *gain, *other;

  case_any_size (c, layout_kind_by_name (names[index % 6]), &effort, random);
  case_make_spec (c, SEPCONV_REPLICATE, &effort, random);
  gain = random_chance (random, 50) ? &c->x[0] : &c->y[0];
  other = gain == &c->x[0] ? &c->y[0] : &c->x[0];
  gain->n = random_int (random, 2, 200);
  case_cancelling_taps (
      gain, exp (random_double (random, log (3.0), log (9e5))), random);
  taps_gaussian (other, 1.0, random_int (random, 0, 3));
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->spec.plane[0].channels = (1u << c->layout.plane[0].channels) - 1;
  c->shape = "precise";
  c->content = contents[random_int (random, 0, 2)];
  run_one (check, c, data, random);
  case_free (c);
}

#define HALFWAY 1e-3 /* distance in codes from the middle of two codes */

/* The mean of result - rounded exact result: 0 when a method rounds to nearest, and +-0.5 when it
 * truncates, which the bound of 1.0 at 16 bits would not detect. Compared with the rounded exact
 * result, not the exact one: after a long gaussian the results are a few dozen codes, whose
 * rounding has a mean of its own. Results halfway between two codes are left out, as both codes are
 * correct; under a box, up to one in 16 results of extremes is. */
static double
mean_error (const SepconvSpec *spec, const Picture *src, const Picture *dst)
{
  double sum = 0.0;
  const int width = src->image.plane[0].width;
  const int height = image_plane_height (&src->image, 0);
  Oracle oracle;

  oracle_compute (&oracle, spec, &src->image, 0, 0);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const double exact =
          oracle.exact[(size_t) y * (size_t) width + (size_t) x];

      if (fabs (exact - floor (exact) - 0.5) > HALFWAY)
        sum += picture_code (&dst->image, 0, 0, x, y) - rint (exact);
    }
  oracle_clear (&oracle);
  return sum / ((double) width * height);
}

/* Taps that sum to 1, while rounding to units of 2^-15 loses up to half a unit per tap, always in
 * the same direction. */
static void
make_one_way (Taps *taps)
{
  double rest = 1.0;

  taps->n = 32;
  for (int i = 0; i < taps->n; i++) {
    taps->tap[i] = 100.49 / 32768.0;
    rest -= taps->tap[i];
  }
  taps->tap[taps->n / 2] += rest;
}

/* Halves the distance of codes to white: an error of the taps' sum shows most in codes far from the
 * middle. */
static void
brighten (const Image *image)
{
  const int full = image_full_code (&image->plane[0]);

  for (int y = 0; y < image_plane_height (image, 0); y++)
    for (int x = 0; x < image->plane[0].width; x++)
      picture_write_code (
          image, 0, 0, x, y, (full + picture_code (image, 0, 0, x, y)) / 2);
}

static void
rounding_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const names[] = { "gray8", "gray10", "p010", "gray12",
    "gray16" };
  const bool one_way = index >= 5;
  const Subject *subject = data;
  const Effort effort = { 96, 96, 1e7 };
  Case *c = case_new ();
  SepconvPlan *plan = NULL;
  Picture src, dst;
  Fault fault;

  case_set_layout (c, layout_kind_by_name (names[index % 5]), 96, 96);
  case_make_spec (c, SEPCONV_REFLECT, &effort, random);
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->spec.plane[0].channels = 1;
  for (int p = 1; p < c->layout.n_planes; p++)
    c->spec.plane[p].channels = 0;
  /* Few taps, so that the noise remains and its results have all fractions. */
  taps_gaussian (&c->x[0], 0.7, 2);
  taps_gaussian (&c->y[0], 0.8, 2);
  c->shape = "gaussian";
  if (one_way) {
    make_one_way (index >= 10 ? &c->x[0] : &c->y[0]);
    c->shape = "one-way";
  }
  if (!suit_method (check, c, subject, random)) {
    case_free (c);
    return;
  }
  /* Extremes instead of noise for long taps, whose results would otherwise be a few codes only. */
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->content = c->x[0].n > 9 ? CONTENT_EXTREMES : CONTENT_NOISE;
  case_describe (check, c);
  fault_clear (&fault);
  plan = sepconv_plan_new (&c->spec, &c->layout, subject->method->backend,
      subject->method, subject->device->gpu, &fault);
  if (EXPECT (check, plan != NULL, "no plan: %s", fault.message)) {
    picture_new (&src, &c->layout, false, random);
    picture_new (&dst, &c->layout, false, random);
    picture_paint (&src, c->content, random);
    if (one_way)
      brighten (&src.image);
    if (device_run_cleanly (
            check, subject->device, device_sepconv, plan, &src, &dst)) {
      const double mean = mean_error (&c->spec, &src, &dst);

      EXPECT (check, fabs (mean) < 0.03,
          "results are off by %.4f in the mean: not rounded to nearest", mean);
    }
    picture_clear (&src);
    picture_clear (&dst);
  }
  sepconv_plan_free (plan);
  case_free (c);
}

/* Sets zero levels at distance `apart` from black or from white. */
static void
set_zeros (Case *c, double apart)
{
  for (int p = 0; p < c->layout.n_planes; p++)
    for (int i = 0; i < c->layout.plane[p].channels; i++)
      c->spec.plane[p].zero[i] = c->content == CONTENT_ZERO
          ? apart
          : image_full_code (&c->layout.plane[p]) - apart;
}

/* Sets the scale to the most negative one that the method supports, within 0.1 %. */
static void
set_largest_gain (Case *c, const SepconvMethod *method)
{
  double low = 1e-3, high = SEPCONV_MAX_GAIN;

  while (high > 1.001 * low) {
    const double middle = sqrt (low * high);

    c->spec.scale = -middle;
    if (sepconv_validate (&c->spec, &c->layout, NULL)
        && sepconv_method_supports (method, &c->spec, &c->layout, NULL, NULL))
      low = middle;
    else
      high = middle;
  }
  c->spec.scale = -low;
}

/* Positive taps and flat pictures, whose rounding errors all have the same sign, with the largest
 * gain that the method supports. Zero levels are next to the picture's code, so that results are in
 * range. */
static void
limit_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const names[] = { "gray8", "gray10", "p010", "nv12",
    "gray16" };
  const Subject *subject = data;
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name (names[index % 5]), 96, 34);
  for (int p = 0; p < c->layout.n_planes; p++) {
    Taps *axes[] = { &c->x[p], &c->y[p] };

    for (int i = 0; i < 2; i++) {
      const int radius = random_int (random, 0, 64);

      if (random_chance (random, 50))
        taps_gaussian (axes[i], radius / 3.0, radius);
      else
        taps_box (axes[i], 2 * radius + 1, radius);
    }
    c->spec.plane[p].x = &c->x[p];
    c->spec.plane[p].y = &c->y[p];
    c->spec.plane[p].channels = (1u << c->layout.plane[p].channels) - 1;
  }
  c->spec.border = SEPCONV_REPLICATE;
  c->shape = "limit";
  c->content = random_chance (random, 50) ? CONTENT_MAX : CONTENT_ZERO;
  set_zeros (c, 0.0);
  set_largest_gain (c, subject->method);
  set_zeros (c, random_double (random, 0.2, 0.8) / (1.0 - c->spec.scale));
  run_one (check, c, data, random);
  case_free (c);
}

static void
set_gain (Taps *taps, double gain)
{
  const double norm = taps_norm (taps);

  for (int i = 0; i < taps->n && norm > 0.0; i++)
    taps->tap[i] *= gain / norm;
}

/* Gives all terms random gains, and all planes a zero level in or near the middle of their
 * codes. */
static void
make_loud (Case *c, Random *random)
{
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  for (int p = 0; p < c->layout.n_planes; p++) {
    SepconvPlane *how = &c->spec.plane[p];
    const int quarter = (image_full_code (&c->layout.plane[p]) + 1) / 4;
    const int zero = random_chance (random, 70)
        ? 2 * quarter
        : random_int (random, quarter, 3 * quarter);

    set_gain (&c->x[p], random_double (random, 0.7, 13.0));
    set_gain (&c->y[p], random_double (random, 0.7, 7.0));
    for (int t = 0; t < how->n_more; t++) {
      set_gain (&c->more[p][t].x, random_double (random, 0.7, 13.0));
      set_gain (&c->more[p][t].y, random_double (random, 0.7, 7.0));
    }
    how->unbiased = 0;
    for (int i = 0; i < c->layout.plane[p].channels; i++)
      how->zero[i] = how->border_value[i] = zero;
  }
}

/* Reduces all terms to one tap along x, which amplifies the errors of the sums along y. The taps
 * are integers there, and lose nothing themselves. */
static void
make_single_taps (Case *c, Random *random)
{
  for (int p = 0; p < c->layout.n_planes; p++)
    for (int t = 0; t <= c->spec.plane[p].n_more; t++) {
      Taps *x = t == 0 ? &c->x[p] : &c->more[p][t - 1].x;
      Taps *y = t == 0 ? &c->y[p] : &c->more[p][t - 1].y;

      x->n = 1;
      x->tap[0] = random_int (random, 6, 13);
      y->n = random_int (random, 2, 4);
      for (int i = 0; i < y->n; i++)
        y->tap[i] = random_int (random, -600, 600) / 256.0;
    }
}

/* For run_made_case(): paints the source, and judges the result. */
typedef void (*PaintCase) (const Case *c, Picture *src, Random *random);
typedef void (*JudgeCase) (
    Check *check, const Case *c, const Picture *src, const Picture *dst);

/* Runs a finished case on a picture that `paint` makes, if the case suits the method. Frees the
 * case. */
static void
run_made_case (Check *check, Case *c, const Subject *subject, bool on_host,
    PaintCase paint, JudgeCase judge, Random *random)
{
  Picture src, dst;
  SepconvPlan *plan;
  Fault fault;

  if (!suit_method (check, c, subject, random)) {
    case_free (c);
    return;
  }
  fault_clear (&fault);
  plan = new_plan (c, subject, random, &fault);
  if (EXPECT (check, plan != NULL, "no plan: %s", fault.message)) {
    picture_new (&src, &c->layout, on_host, random);
    picture_new (&dst, &c->layout, on_host, random);
    paint (c, &src, random);
    if (device_run_cleanly (
            check, subject->device, device_sepconv, plan, &src, &dst))
      judge (check, c, &src, &dst);
    picture_clear (&src);
    picture_clear (&dst);
  }
  sepconv_plan_free (plan);
  case_free (c);
}

/* Noise around the zero levels, so faint that most results are in range. */
static void
paint_quiet (const Case *c, Picture *src, Random *random)
{
  const Image *image = &src->image;

  for (int p = 0; p < image->n_planes; p++) {
    const SepconvPlane *how = &c->spec.plane[p];
    const double gain =
        how->channels != 0 ? fmax (sepconv_gain (&c->spec, how), 1.0) : 1.0;
    const int most =
        (int) fmax (1.0, image_full_code (&image->plane[p]) / (4.0 * gain));

    for (int y = 0; y < image_plane_height (image, p); y++)
      for (int x = 0; x < image->plane[p].width; x++)
        for (int i = 0; i < image->plane[p].channels; i++)
          picture_write_code (image, p, i, x, y,
              (int) how->zero[i] + random_int (random, -most, most));
  }
}

static void
expect_by_oracle (
    Check *check, const Case *c, const Picture *src, const Picture *dst)
{
  Verdict verdict;

  verdict_by_oracle (&verdict, &c->spec, &src->image, &dst->image);
  EXPECT (check, verdict.ok, "%s", verdict.text);
}

/* Gains too large for integers with few bits below the code's, on pictures whose results are in
 * range, so that losses show. */
static void
loud_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const names[] = { "gray8", "gray8", "nv12", "gray10",
    "rgb24" };
  const Subject *subject = data;
  const Effort effort = { 64, 24, 3e4 }; /* so small that cases have few taps */
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name (names[index % 5]), 64, 24);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
  if (takes_terms (subject->method) && random_chance (random, 80))
    case_make_terms (c, random);
  /* Both combine two terms. Angles hardly show losses, and magnitudes show half of them. */
  if (c->spec.combine == SEPCONV_DIRECTION
      || (c->spec.combine == SEPCONV_MAGNITUDE && random_chance (random, 50)))
    c->spec.combine = SEPCONV_SUM;
  make_loud (c, random);
  if (random_chance (random, 50))
    make_single_taps (c, random);
  run_made_case (check, c, subject, subject->device->gpu == NULL, paint_quiet,
      expect_by_oracle, random);
}

/* Faint noise around any level, or around two levels in alternating pairs of columns: sums are
 * large, and most results small. */
static void
paint_faint (const Case *c, Picture *src, Random *random)
{
  const Image *image = &src->image;

  (void) c;
  for (int p = 0; p < image->n_planes; p++) {
    const int full = image_full_code (&image->plane[p]);
    const int most = random_int (random, 1, 8);
    const int level = random_chance (random, 50)
        ? random_int (random, 0, full)
        : random_int (random, 0, 1) * full;
    const int other = random_chance (random, 60) ? level : full - level;

    for (int y = 0; y < image_plane_height (image, p); y++)
      for (int x = 0; x < image->plane[p].width; x++)
        for (int i = 0; i < image->plane[p].channels; i++) {
          const int code = (x / 2 % 2 == 0 ? level : other)
              + random_int (random, -most, most);

          picture_write_code (image, p, i, x, y,
              code < 0          ? 0
                  : code > full ? full
                                : code);
        }
  }
}

/* Gradients and sums of three taps, on pictures of one column of blocks or several. */
static void
three_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "gray8", "gray16", "nv12", "p010",
    "rgb24", "rgba64", "rgbx", "p012", "planar3", "y412", "gray10" };
  const Subject *subject = data;
  const Effort effort = { 1, 1, 5e7 };
  const bool large = index % 2 == 1;
  const int kind = large && index % 4 == 1 ? 0 : index / 2 % 11;
  Case *c = case_new ();

  case_any_row (c, layout_kind_by_name (kinds[kind]),
      random_chance (random, 80) ? 700 : 5000,
      random_int (random, 1, check->quick ? 40 : 120), random);
  case_make_spec (c, (SepconvBorder) random_int (random, 0, N_BORDERS - 1),
      &effort, random);
  case_make_three (c, large, random);
  if (large && random_chance (random, 30)) {
    /* A negative bias keeps the upper part of large magnitudes in range. */
    c->spec.bias = random_double (random, -12.0, -2.0);
    c->content = CONTENT_NOISE;
  } else if (large) {
    run_made_case (check, c, subject, subject->device->gpu == NULL, paint_faint,
        expect_by_oracle, random);
    return;
  }
  run_as_it_is (check, c, subject, random);
  case_free (c);
}

/* An offset that is a float, as a share of full scale, just above or just below the middle between
 * two codes. */
static double
offset_near_middle (double full, bool above)
{
  double best = 0.0, nearest = 1.0;

  for (int code = (int) (0.55 * full); code < 0.95 * full; code++) {
    const float below = (float) ((code + 0.5) / full);
    const double offset = full * nextafterf (below, above ? 2.0f : 0.0f);
    const double distance = fabs (offset - (code + 0.5));

    if (distance < nearest) {
      nearest = distance;
      best = offset;
    }
  }
  return best;
}

/* A flat picture and taps so small that the sum of 32 of them is less than half a float ulp of the
 * offset. All blocks together move the result over the middle between two codes. A method that adds
 * block by block to the offset, and rounds each time, does not get there; one that adds the offset
 * last, as sepconv_rounding_bound() assumes, does. */
static void
make_offset_case (Case *c, int index)
{
  const int n = 8 * SEPCONV_SUM_BLOCK + 1;
  const bool above = index % 2;
  Taps *taps = index / 2 % 2 ? &c->x[0] : &c->y[0];
  double full, center, block;

  case_set_layout (c, layout_kind_by_name ("gray16"), 20, 20);
  full = image_full_code (&c->layout.plane[0]);
  center = (full + 1.0) / 2.0;
  taps_gaussian (&c->x[0], 1.0, 0);
  taps_gaussian (&c->y[0], 1.0, 0);
  taps->n = n;
  for (int i = 0; i < n; i++)
    taps->tap[i] = 1.0 / n;
  /* The picture is white. */
  block = (double) SEPCONV_SUM_BLOCK / n * (full - center) / full;
  c->spec.scale = (above ? -0.98 : 0.98) * 0x1p-25 / block;
  c->spec.bias = 0.0;
  c->spec.border = SEPCONV_REPLICATE;
  c->spec.plane[0].channels = 1;
  c->spec.plane[0].x = &c->x[0];
  c->spec.plane[0].y = &c->y[0];
  c->spec.plane[0].zero[0] =
      (offset_near_middle (full, above) - c->spec.scale * center)
      / (1.0 - c->spec.scale);
  c->shape = "tiny";
  c->content = CONTENT_MAX;
}

/* Expects all results to be within the bound for sums in single precision: rounding to the nearest
 * code, plus sepconv_rounding_bound(). */
static void
expect_within_bound (
    Check *check, const Case *c, const Picture *src, const Picture *dst)
{
  const double allowed =
      0.5 + sepconv_rounding_bound (&c->spec, &c->layout, 0x1p-24);
  double worst = 0.0;
  Oracle oracle;

  oracle_compute (&oracle, &c->spec, &src->image, 0, 0);
  for (int i = 0; i < c->width * c->height; i++)
    worst = fmax (worst,
        fabs (picture_code (&dst->image, 0, 0, i % c->width, i / c->width)
            - oracle.exact[i]));
  EXPECT (check, worst <= allowed,
      "results are off by %.4f, and the bound is %.4f", worst, allowed);
  oracle_clear (&oracle);
}

static void
paint_content (const Case *c, Picture *src, Random *random)
{
  picture_paint (src, c->content, random);
}

static void
offset_case (Check *check, Random *random, int index, const void *data)
{
  Case *c = case_new ();

  make_offset_case (c, index);
  run_made_case (
      check, c, data, false, paint_content, expect_within_bound, random);
}

static void
run_subject (Check *check, const Subject *subject, int n, CheckCase function)
{
  Device device;
  Subject running = *subject;

  if (!device_enter_sepconv (check, subject->method, &device))
    return;
  running.device = &device;
  check_cases (check, n, function, &running);
  device_leave (&device);
  check_skip_unsupported (check, subject->method->name);
}

/* Fewer sizes for GPUs, whose plans take milliseconds to make, and for methods that decline cases:
 * these become long kernels, which are slow in the oracle. */
static void
check_layout (Check *check, const void *data)
{
  const Subject *subject = data;
  const bool few = subject->method->backend != BACKEND_CPU
      || subject->method->ops->supports != NULL;
  const int sizes = few ? 13 : 52;

  run_subject (
      check, data, (check->quick ? 2 : sizes) * N_BORDERS, layout_case);
}

static void
check_large (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 1 : N_BORDERS, large_case);
}

static void
check_long (Check *check, const void *data)
{
  run_subject (
      check, data, check->quick ? N_BORDERS : 6 * N_BORDERS, long_case);
}

static void
check_whole_rows (Check *check, const void *data)
{
  run_subject (
      check, data, (check->quick ? 20 : 60) * N_BORDERS, whole_row_case);
}

static void
check_wide_blurs (Check *check, const void *data)
{
  const Subject *subject = data;
  /* A method that computes every tap directly is slow here, and has no special code for these
   * taps. */
  const bool few =
      check->quick || strcmp (subject->method->name, "reference") == 0;

  run_subject (check, data, (few ? 3 : 8) * N_BORDERS, wide_blur_case);
}

static void
check_short_blurs (Check *check, const void *data)
{
  run_subject (
      check, data, (check->quick ? 8 : 40) * N_BORDERS, short_blur_case);
}

static void
check_boxes (Check *check, const void *data)
{
  run_subject (check, data, (check->quick ? 12 : 36) * N_BORDERS, box_case);
}

static void
check_lopsided (Check *check, const void *data)
{
  run_subject (check, data, 6, lopsided_case);
}

static void
check_no_gain (Check *check, const void *data)
{
  run_subject (check, data, 1, no_gain_case);
}

static void
check_near_one (Check *check, const void *data)
{
  run_subject (check, data, 7, near_one_case);
}

static void
check_tall (Check *check, const void *data)
{
  run_subject (check, data, (check->quick ? 3 : 6) * N_BORDERS, tall_case);
}

static void
check_very_wide (Check *check, const void *data)
{
  run_subject (check, data, 6, very_wide_case);
}

static void
check_very_tall (Check *check, const void *data)
{
  const Subject *subject = data;

  if (check->quick && strcmp (subject->method->name, "global") != 0)
    check_skip (check, "quick runs take one method that has grids along y");
  else
    run_subject (check, data, 1, very_tall_case);
}

static void
check_crowded (Check *check, const void *data)
{
  run_subject (check, data, n_crowded (check), crowded_case);
}

static void
check_usual (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 18 : 180, usual_case);
}

static void
check_usual_deep (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 63 : 252, usual_deep_case);
}

static void
check_three (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 88 : 440, three_case);
}

static void
check_precision (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 12 : 120, precision_case);
}

static void
check_rounding (Check *check, const void *data)
{
  run_subject (check, data, 15, rounding_case);
}

static void
check_loud (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 40 : 400, loud_case);
}

static void
check_limit (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 10 : 100, limit_case);
}

static void
check_offset (Check *check, const void *data)
{
  run_subject (check, data, 4, offset_case);
}

/* abcd with three samples on either side, as drawn in sepconv.h, and further. */
static void
check_oracle_borders (Check *check, const void *data)
{
  static const char *const drawn[N_BORDERS] = { "aaaaaa|abcd|dddddd",
    "cddcba|abcd|dcbaab", "abcdcb|abcd|cbabcd", "cdabcd|abcd|abcdab",
    "vvvvvv|abcd|vvvvvv" };
  static const char *const alone[N_BORDERS] = { "aa|a|aa", "aa|a|aa", "aa|a|aa",
    "aa|a|aa", "vv|a|vv" };

  (void) data;
  check->cases++;
  for (int b = 0; b < N_BORDERS; b++) {
    int map[4 + 12], lonely[1 + 4], k = 0;

    oracle_walk (map, 4, 6, 6, (SepconvBorder) b);
    for (const char *letter = drawn[b]; *letter != '\0'; letter++)
      if (*letter != '|') {
        EXPECT (check, map[k] == (*letter == 'v' ? -1 : *letter - 'a'),
            "%s: coordinate %d maps to %d", drawn[b], k - 6, map[k]);
        k++;
      }
    oracle_walk (lonely, 1, 2, 2, (SepconvBorder) b);
    for (k = 0; k < 2; k++)
      EXPECT (check,
          lonely[k] == (alone[b][k] == 'v' ? -1 : 0)
              && lonely[3 + k] == lonely[k],
          "%s is not what one sample gives", alone[b]);
  }
}

static void
oracle_case (Check *check, Random *random, int index, const void *data)
{
  const Effort effort = { 12, 9, 2e4 };
  Case *c = case_new ();
  Picture src;

  (void) data;
  case_make_layout (c, layout_kind_any (random), index, &effort, random);
  case_make_spec (c, (SepconvBorder) (index % N_BORDERS), &effort, random);
  case_describe (check, c);
  picture_new (&src, &c->layout, true, random);
  picture_paint (&src, c->content, random);
  for (int p = 0; p < c->layout.n_planes; p++)
    for (int channel = 0; channel < c->layout.plane[p].channels; channel++) {
      double worst = 0.0;
      Oracle a, b;

      if (!(c->spec.plane[p].channels >> channel & 1))
        continue;
      oracle_direct (&a, &c->spec, &src.image, p, channel);
      oracle_two_pass (&b, &c->spec, &src.image, p, channel);
      for (int i = 0;
           i < c->layout.plane[p].width * image_plane_height (&c->layout, p);
           i++)
        worst = fmax (worst, fabs (a.exact[i] - b.exact[i]));
      EXPECT (check, worst < 0.01, "the oracle's two sums differ by %g", worst);
      oracle_clear (&a);
      oracle_clear (&b);
    }
  picture_clear (&src);
  case_free (c);
}

static void
check_oracle_direct (Check *check, const void *data)
{
  check_cases (check, check->quick ? 10 : 100, oracle_case, data);
}

void
check_methods_add (void)
{
  const int n_kinds = layout_n_kinds ();
  Subject *subject = kerncheck_alloc (
      sizeof *subject * (size_t) (sepconv_n_methods () * (n_kinds + 1)));
  static Subject *keep; /* for the table of checks, until the process ends */

  keep = subject;
  (void) keep;
  kerncheck_add (check_oracle_borders, NULL, NULL, "oracle/borders");
  kerncheck_add (check_oracle_direct, NULL, NULL, "oracle/direct");
  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);

    for (int k = 0; k < n_kinds; k++, subject++) {
      subject->method = method;
      subject->kind = layout_kind (k);
      kerncheck_add (check_layout, subject, method, "sepconv/%s/%s",
          method->name, subject->kind->name);
    }
    subject->method = method;
    kerncheck_add (
        check_large, subject, method, "sepconv/%s/large", method->name);
    if (method->backend == BACKEND_CPU)
      kerncheck_add (check_very_wide, subject, method, "sepconv/%s/very-wide",
          method->name);
    if (method->backend == BACKEND_CUDA) {
      kerncheck_add (
          check_tall, subject, method, "sepconv/%s/tall", method->name);
      if (passes_in_grids (method))
        kerncheck_add (check_very_tall, subject, method, "sepconv/%s/very-tall",
            method->name);
      kerncheck_add (
          check_crowded, subject, method, "sepconv/%s/crowded", method->name);
    }
    kerncheck_add (
        check_long, subject, method, "sepconv/%s/long-taps", method->name);
    kerncheck_add (check_wide_blurs, subject, method, "sepconv/%s/wide-blurs",
        method->name);
    kerncheck_add (check_whole_rows, subject, method, "sepconv/%s/whole-rows",
        method->name);
    if (strcmp (method->name, "simd") == 0)
      kerncheck_add (check_short_blurs, subject, method,
          "sepconv/%s/short-blurs", method->name);
    if (strncmp (method->name, "box-", 4) == 0)
      kerncheck_add (
          check_boxes, subject, method, "sepconv/%s/boxes", method->name);
    if (takes_terms (method)) {
      kerncheck_add (
          check_usual, subject, method, "sepconv/%s/usual", method->name);
      kerncheck_add (
          check_three, subject, method, "sepconv/%s/three", method->name);
      kerncheck_add (check_usual_deep, subject, method, "sepconv/%s/usual-deep",
          method->name);
      kerncheck_add (
          check_no_gain, subject, method, "sepconv/%s/no-gain", method->name);
    }
    kerncheck_add (
        check_precision, subject, method, "sepconv/%s/precision", method->name);
    kerncheck_add (check_lopsided, subject, method, "sepconv/%s/lopsided-taps",
        method->name);
    kerncheck_add (
        check_near_one, subject, method, "sepconv/%s/near-one", method->name);
    kerncheck_add (
        check_rounding, subject, method, "sepconv/%s/rounding", method->name);
    kerncheck_add (
        check_loud, subject, method, "sepconv/%s/loud", method->name);
    kerncheck_add (
        check_limit, subject, method, "sepconv/%s/limit", method->name);
    kerncheck_add (
        check_offset, subject, method, "sepconv/%s/offset", method->name);
    subject++;
  }
}
