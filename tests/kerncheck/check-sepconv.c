/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter's settings: refusals, the list of methods and the choice among them, and specs that
 * change nothing. */
#include "kerncheck.h"

#include "cases.h"
#include "isa.h"
#include "kerncheck-device.h"
#include "sepconv/method.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A valid spec of small taps for a layout. */
static Case *
plain_case (const char *layout)
{
  Case *c = case_new ();

  case_set_layout (c, layout_kind_by_name (layout), 13, 9);
  c->spec.scale = 1.0;
  for (int p = 0; p < c->layout.n_planes; p++) {
    taps_gaussian (&c->x[p], 1.0, 3);
    taps_gaussian (&c->y[p], 2.0, 6);
    c->spec.plane[p].x = &c->x[p];
    c->spec.plane[p].y = &c->y[p];
    c->spec.plane[p].channels = (1u << c->layout.plane[p].channels) - 1;
  }
  return c;
}

/* Makes one setting of the last plane invalid; NULL when there are no more. */
static const char *
break_spec (Case *c, int how)
{
  const int p = c->layout.n_planes - 1;
  SepconvPlane *plane = &c->spec.plane[p];
  const int channels = c->layout.plane[p].channels;
  const double full = (double) ((1 << c->layout.plane[p].depth) - 1);

  switch (how) {
    case 0:
      c->x[p].tap[1] = NAN;
      return "a NaN tap along x";
    case 1:
      c->y[p].tap[c->y[p].n - 1] = NAN;
      return "a NaN tap along y";
    case 2:
      c->x[p].tap[0] = INFINITY;
      return "an infinite tap along x";
    case 3:
      c->y[p].tap[0] = -INFINITY;
      return "an infinite tap along y";
    case 4:
      plane->x = NULL;
      return "no taps along x";
    case 5:
      plane->y = NULL;
      return "no taps along y";
    case 6:
      c->x[p].n = 0;
      return "0 taps along x";
    case 7:
      c->y[p].n = TAPS_MAX + 1;
      return "too many taps along y";
    case 8:
      c->y[p].n = -3;
      return "a negative number of taps";
    case 9:
      c->spec.scale = 1.01 * SEPCONV_MAX_GAIN;
      return "a gain over the limit by scale";
    case 10:
      c->x[p].tap[3] = 2.0 * SEPCONV_MAX_GAIN;
      return "a gain over the limit by taps";
    case 11:
      c->spec.scale = -1.01 * SEPCONV_MAX_GAIN;
      return "a negative gain over the limit";
    case 12:
      c->x[p].tap[0] = c->x[p].tap[1] = 1.7e308;
      c->spec.scale = 0.0;
      return "a gain that cannot be computed";
    case 13:
      c->spec.scale = NAN;
      return "scale NaN";
    case 14:
      c->spec.scale = INFINITY;
      return "an infinite scale";
    case 15:
      c->spec.bias = NAN;
      return "bias NaN";
    case 16:
      c->spec.bias = -INFINITY;
      return "an infinite bias";
    case 17:
      c->spec.bias = 1.01 * SEPCONV_MAX_BIAS;
      return "a bias over the limit";
    case 18:
      plane->channels = 1u << channels;
      return "a mask beyond the channels";
    case 19:
      plane->channels |= 0x80000000u;
      return "a mask far beyond the channels";
    case 20:
      plane->zero[channels - 1] = -0.5;
      return "a zero level below 0";
    case 21:
      plane->zero[0] = full + 0.5;
      return "a zero level beyond the codes";
    case 22:
      plane->zero[channels - 1] = NAN;
      return "a zero level of NaN";
    case 23:
      plane->border_value[channels - 1] = full + 1.0;
      return "a border value beyond the codes";
    case 24:
      plane->border_value[0] = -1e-9;
      return "a border value below 0";
    case 25:
      plane->border_value[0] = NAN;
      return "a border value of NaN";
    case 26:
      c->spec.border = (SepconvBorder) N_BORDERS;
      return "a border mode beyond the last";
    case 27:
      c->spec.border = (SepconvBorder) -1;
      return "a border mode before the first";
    case 28:
      c->layout.plane[p].width = 0;
      return "an invalid layout";
    case 29:
      for (int i = 0; i < 2; i++)
        c->x[p].tap[i] = c->y[p].tap[i] = 1.7e308;
      return "gains that cannot be computed on both axes";
    case 30:
      c->x[p].tap[0] = c->y[p].tap[0] = 1e300;
      c->spec.scale = 0.0;
      return "sums that cannot be computed, of a gain of 0";
    default:
      return NULL;
  }
}

static void
check_validate (Check *check, const void *data)
{
  (void) data;
  check->cases++;
  for (int k = 0; k < layout_n_kinds (); k++)
    for (int how = 0;; how++) {
      Case *c = plain_case (layout_kind (k)->name);
      const char *what;
      SepconvPlan *plan;
      Fault fault;

      fault_clear (&fault);
      EXPECT (check, sepconv_validate (&c->spec, &c->layout, &fault),
          "a valid spec was refused: %s", fault.message);
      what = break_spec (c, how);
      if (what == NULL) {
        case_free (c);
        break;
      }
      EXPECT_FAULT (check, !sepconv_validate (&c->spec, &c->layout, &fault),
          &fault, FAULT_SETTINGS, what);
      EXPECT (check, !sepconv_validate (&c->spec, &c->layout, NULL),
          "%s was accepted without a fault to fill", what);
      fault_clear (&fault);
      plan = sepconv_plan_new (
          &c->spec, &c->layout, BACKEND_CPU, NULL, NULL, &fault);
      EXPECT_FAULT (check, plan == NULL, &fault, FAULT_SETTINGS, what);
      sepconv_plan_free (plan);
      case_free (c);
    }
}

/* A way of combining terms. */
typedef struct
{
  const char *what;
  SepconvCombine combine;
  int n_more;
  double amount, threshold;
  bool allowed;
} CombineRow;

static void
set_combine (Case *c, const CombineRow *row)
{
  c->spec.combine = row->combine;
  c->spec.amount = row->amount;
  c->spec.threshold = row->threshold;
  for (int p = 0; p < c->layout.n_planes; p++) {
    c->spec.plane[p].n_more = row->n_more;
    for (int t = 0; t < TAPS_MAX_TERMS - 1; t++)
      c->spec.plane[p].more[t] = (SepconvTerm){ &c->x[p], &c->y[p] };
  }
}

static void
check_combine (Check *check, const void *data)
{
  static const CombineRow rows[] = {
    { "one term", SEPCONV_SUM, 0, NAN, NAN, true },
    { "eight terms", SEPCONV_SUM, TAPS_MAX_TERMS - 1, 0, 0, true },
    { "nine terms", SEPCONV_SUM, TAPS_MAX_TERMS, 0, 0, false },
    { "no terms", SEPCONV_SUM, -1, 0, 0, false },
    { "2^31 terms", SEPCONV_SUM, INT_MAX, 0, 0, false },
    { "-2^31 + 1 terms", SEPCONV_SUM, INT_MIN, 0, 0, false },
    { "unsharp", SEPCONV_UNSHARP, 0, -2.0, 0.0, true },
    { "a threshold of all codes", SEPCONV_UNSHARP, 0, 3.0, 1.0, true },
    { "unsharp of two terms", SEPCONV_UNSHARP, 1, 1.0, 0.0, false },
    { "amount NaN", SEPCONV_UNSHARP, 0, NAN, 0.0, false },
    { "an infinite amount", SEPCONV_UNSHARP, 0, INFINITY, 0.0, false },
    { "a threshold below 0", SEPCONV_UNSHARP, 0, 1.0, -0.01, false },
    { "a threshold over 1", SEPCONV_UNSHARP, 0, 1.0, 1.01, false },
    { "threshold NaN", SEPCONV_UNSHARP, 0, 1.0, NAN, false },
    { "a gain over the limit by amount", SEPCONV_UNSHARP, 0, 0.51e6, 0.0,
        false },
    { "a gain below the limit", SEPCONV_UNSHARP, 0, 0.49e6, 0.0, true },
    { "magnitude", SEPCONV_MAGNITUDE, 1, 0, 0, true },
    { "magnitude of one term", SEPCONV_MAGNITUDE, 0, 0, 0, false },
    { "magnitude of three terms", SEPCONV_MAGNITUDE, 2, 0, 0, false },
    { "direction", SEPCONV_DIRECTION, 1, 0, 0, true },
    { "direction of one term", SEPCONV_DIRECTION, 0, 0, 0, false },
    { "a combination beyond the last", (SepconvCombine) (SEPCONV_DIRECTION + 1),
        1, 0, 0, false },
    { "a combination before the first", (SepconvCombine) -1, 0, 0, 0, false },
  };

  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    Case *c = plain_case ("nv12");
    Fault fault;
    bool valid;

    fault_clear (&fault);
    set_combine (c, &rows[i]);
    valid = sepconv_validate (&c->spec, &c->layout, &fault);
    if (rows[i].allowed)
      EXPECT (check, valid, "%s was refused: %s", rows[i].what, fault.message);
    else
      EXPECT_FAULT (check, !valid, &fault, FAULT_SETTINGS, rows[i].what);
    /* A plane that is copied needs no terms, even if the others have several. */
    memset (&c->spec.plane[1], 0, sizeof c->spec.plane[1]);
    EXPECT (check,
        sepconv_validate (&c->spec, &c->layout, NULL) == rows[i].allowed,
        "%s, beside a plane that is copied, was %s", rows[i].what,
        rows[i].allowed ? "refused" : "accepted");
    case_free (c);
  }
}

/* Each term's taps are checked, and all of them contribute to the gain. */
static void
check_more_terms (Check *check, const void *data)
{
  static const CombineRow three = { "", SEPCONV_SUM, 2, 0, 0, true };
  Case *c = plain_case ("nv12");
  Taps x;
  Fault fault;

  (void) data;
  check->cases++;
  set_combine (c, &three);
  EXPECT (check, !sepconv_is_plain (&c->spec, &c->layout),
      "three terms are taken for one");
  taps_gaussian (&x, 1.0, 2);
  c->spec.plane[1].more[1].x = &x;
  c->spec.scale = 0.3334 * SEPCONV_MAX_GAIN;
  fault_clear (&fault);
  EXPECT_FAULT (check, !sepconv_validate (&c->spec, &c->layout, &fault), &fault,
      FAULT_SETTINGS, "a gain over the limit by three terms");
  c->spec.scale = 0.3332 * SEPCONV_MAX_GAIN;
  EXPECT (check, sepconv_validate (&c->spec, &c->layout, &fault), "%s",
      fault.message);
  x.tap[1] = NAN;
  fault_clear (&fault);
  EXPECT_FAULT (check, !sepconv_validate (&c->spec, &c->layout, &fault), &fault,
      FAULT_SETTINGS, "a NaN tap of the third term");
  c->spec.plane[1].more[1].x = NULL;
  fault_clear (&fault);
  EXPECT_FAULT (check, !sepconv_validate (&c->spec, &c->layout, &fault), &fault,
      FAULT_SETTINGS, "a third term without taps");
  case_free (c);
}

/* The accuracy of an angle depends on its terms only, not on the scale. */
static void
check_angle_gain (Check *check, const void *data)
{
  static const CombineRow row = { "", SEPCONV_DIRECTION, 1, 0, 0, true };
  Case *c = plain_case ("nv12");
  Taps x = { 1, { 0.49 * SEPCONV_MAX_GAIN } };
  Fault fault;

  (void) data;
  check->cases++;
  set_combine (c, &row);
  c->spec.plane[0].x = c->spec.plane[0].more[0].x = &x;
  for (int i = 0; i < 2; i++) {
    c->spec.scale = i == 0 ? 0.0 : 1e9;
    fault_clear (&fault);
    x.tap[0] = 0.49 * SEPCONV_MAX_GAIN;
    EXPECT (check, sepconv_validate (&c->spec, &c->layout, &fault),
        "scale %g: %s", c->spec.scale, fault.message);
    x.tap[0] = 0.51 * SEPCONV_MAX_GAIN;
    EXPECT_FAULT (check, !sepconv_validate (&c->spec, &c->layout, &fault),
        &fault, FAULT_SETTINGS, "terms over the limit of both");
  }
  case_free (c);
}

/* A plan accepts new taps and amounts, but no other terms. */
static void
check_update_terms (Check *check, const void *data)
{
  static const CombineRow rows[] = {
    { "one term", SEPCONV_SUM, 0, 0, 0, true },
    { "two terms", SEPCONV_SUM, 1, 0, 0, true },
    { "unsharp", SEPCONV_UNSHARP, 0, 1.0, 0.1, true },
    { "magnitude", SEPCONV_MAGNITUDE, 1, 0, 0, true },
    { "direction", SEPCONV_DIRECTION, 1, 0, 0, true },
  };
  enum
  {
    N = sizeof rows / sizeof rows[0]
  };

  (void) data;
  check->cases++;
  for (int i = 0; i < N * N; i++) {
    const CombineRow *was = &rows[i / N], *next = &rows[i % N];
    Case *c = plain_case ("nv12");
    SepconvPlan *plan;
    Fault fault;

    fault_clear (&fault);
    set_combine (c, was);
    plan = sepconv_plan_new (
        &c->spec, &c->layout, BACKEND_CPU, NULL, NULL, &fault);
    if (EXPECT (check, plan != NULL, "%s: %s", was->what, fault.message)) {
      set_combine (c, next);
      c->spec.amount *= 0.5;
      taps_gaussian (&c->x[0], 2.0, 4);
      EXPECT (check, sepconv_plan_has_terms (plan, &c->spec) == (was == next),
          "%s are%s the terms of %s", next->what, was == next ? " not" : "",
          was->what);
      if (was == next)
        EXPECT (check, sepconv_plan_update (plan, &c->spec, &fault), "%s: %s",
            was->what, fault.message);
      else
        EXPECT_FAULT (check, !sepconv_plan_update (plan, &c->spec, &fault),
            &fault, FAULT_UNSUPPORTED, next->what);
    }
    sepconv_plan_free (plan);
    case_free (c);
  }
}

/* The limits themselves are allowed, and a plane that is copied needs no taps. */
static void
check_limits (Check *check, const void *data)
{
  Case *c = plain_case ("nv12");
  Fault fault;

  (void) data;
  check->cases++;
  fault_clear (&fault);
  c->spec.scale = 0.999999 * SEPCONV_MAX_GAIN;
  c->spec.bias = -SEPCONV_MAX_BIAS;
  c->spec.plane[0].zero[0] = 255.0;
  c->spec.plane[1].border_value[1] = 255.0;
  EXPECT (check, sepconv_validate (&c->spec, &c->layout, &fault), "%s",
      fault.message);
  c->spec.scale = 0.0;
  EXPECT (check, sepconv_validate (&c->spec, &c->layout, &fault), "%s",
      fault.message);
  memset (&c->spec.plane[1], 0, sizeof c->spec.plane[1]);
  EXPECT (check, sepconv_validate (&c->spec, &c->layout, &fault), "%s",
      fault.message);
  case_free (c);
}

static void
check_table (Check *check, const void *data)
{
  const int n = sepconv_n_methods ();
  const SepconvMethod *reference = sepconv_method_by_name ("reference");

  (void) data;
  check->cases++;
  EXPECT (check, n >= 1, "there are %d methods", n);
  EXPECT (check,
      sepconv_method (-1) == NULL && sepconv_method (n) == NULL
          && sepconv_method (2147483647) == NULL,
      "there are methods beyond the table");
  EXPECT (check,
      sepconv_method_by_name ("no-such-method") == NULL
          && sepconv_method_by_name ("") == NULL
          && sepconv_method_by_name ("Reference") == NULL,
      "a method answers to a name that is not its own");
  EXPECT (check,
      reference != NULL && reference->backend == BACKEND_CPU
          && reference->ops != NULL,
      "there is no reference");
  for (int i = 0; i < n; i++) {
    const SepconvMethod *method = sepconv_method (i);

    EXPECT (check, sepconv_method_by_name (method->name) == method,
        "method %d is not found by its name, %s", i, method->name);
    EXPECT (check, method->description != NULL && method->description[0],
        "method %s has no description", method->name);
    EXPECT (check, method->backend == BACKEND_CUDA || method->ops != NULL,
        "method %s needs no CUDA but is not in this build", method->name);
  }
}

/* Methods of the other backend, and methods that are not in this build. */
static void
check_refused_methods (Check *check, const void *data)
{
  Case *c = plain_case ("gray8");
  SepconvPlan *plan;
  Fault fault;

  (void) data;
  check->cases++;
  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);
    const Backend other =
        method->backend == BACKEND_CPU ? BACKEND_CUDA : BACKEND_CPU;

    fault_clear (&fault);
    plan = sepconv_plan_new (&c->spec, &c->layout, other, method, NULL, &fault);
    if (EXPECT_FAULT (check, plan == NULL, &fault, FAULT_SETTINGS,
            "a method of the other backend"))
      EXPECT (check, strstr (fault.message, method->name) != NULL,
          "the message does not name %s: %s", method->name, fault.message);
    sepconv_plan_free (plan);
    if (method->ops != NULL)
      continue;
    fault_clear (&fault);
    EXPECT_FAULT (check,
        !sepconv_method_supports (method, &c->spec, &c->layout, NULL, &fault),
        &fault, FAULT_UNSUPPORTED, "a method that is not in this build");
    fault_clear (&fault);
    plan = sepconv_plan_new (
        &c->spec, &c->layout, method->backend, method, NULL, &fault);
    if (EXPECT_FAULT (check, plan == NULL, &fault, FAULT_UNSUPPORTED,
            "a plan by a method that is not in this build"))
      EXPECT (check, strstr (fault.message, method->name) != NULL,
          "the message does not name %s: %s", method->name, fault.message);
    sepconv_plan_free (plan);
  }
  case_free (c);
}

static bool
in_build (Backend backend)
{
  for (int i = 0; i < sepconv_n_methods (); i++)
    if (sepconv_method (i)->backend == backend
        && sepconv_method (i)->ops != NULL)
      return true;
  return false;
}

static const Effort choose_effort = { 40, 40, 1e7 };

static void
choose_case (Check *check, Random *random, int index, const void *data)
{
  const Backend backend = *(const Backend *) data;
  const LayoutKind *kind = layout_kind (index % layout_n_kinds ());
  const SepconvMethod *chosen;
  Case *c = case_new ();
  int n = 0;
  Fault fault;

  case_make_layout (c, kind, index, &choose_effort, random);
  case_make_spec (
      c, (SepconvBorder) (index % N_BORDERS), &choose_effort, random);
  case_describe (check, c);
  fault_clear (&fault);
  EXPECT (check, sepconv_validate (&c->spec, &c->layout, &fault), "%s",
      fault.message);
  for (int i = 0; i < sepconv_n_methods (); i++)
    n += sepconv_method (i)->backend == backend
        && sepconv_method_supports (
            sepconv_method (i), &c->spec, &c->layout, NULL, NULL);
  EXPECT (check, n > 0, "no method of the backend takes this spec");
  chosen = sepconv_choose_method (
      &c->spec, &c->layout, backend, NULL, NULL, GPU_AFTER_KERNELS, &fault);
  if (EXPECT (check, chosen != NULL, "none is chosen: %s", fault.message)) {
    EXPECT (check,
        chosen->backend == backend
            && sepconv_method_supports (
                chosen, &c->spec, &c->layout, NULL, NULL),
        "%s is chosen, which cannot do this", chosen->name);
    EXPECT (check,
        sepconv_choose_method (&c->spec, &c->layout, backend, chosen, NULL,
            GPU_AFTER_KERNELS, &fault)
            == chosen,
        "%s is not chosen when it is asked for", chosen->name);
  }
  if (backend == BACKEND_CPU) {
    SepconvPlan *plan =
        sepconv_plan_new (&c->spec, &c->layout, backend, NULL, NULL, &fault);

    if (EXPECT (check, plan != NULL, "no plan: %s", fault.message))
      EXPECT (check, sepconv_plan_method (plan) == chosen,
          "the plan's method is not the one chosen");
    sepconv_plan_free (plan);
  }
  case_free (c);
}

static void
refuse_case (Check *check, Random *random, int index, const void *data)
{
  Case *c = case_new ();
  Fault fault;

  case_make_layout (c, layout_kind (index), index, &choose_effort, random);
  case_make_spec (c, SEPCONV_REPLICATE, &choose_effort, random);
  fault_clear (&fault);
  EXPECT_FAULT (check,
      sepconv_choose_method (&c->spec, &c->layout, *(const Backend *) data,
          NULL, NULL, GPU_AFTER_KERNELS, &fault)
          == NULL,
      &fault, FAULT_UNSUPPORTED, "a backend that is not in this build");
  case_free (c);
}

/* Some method of each backend in this build supports every valid spec; methods of other backends
 * support none. */
static void
check_choose (Check *check, const void *data)
{
  if (in_build (*(const Backend *) data))
    check_cases (check,
        check->quick ? layout_n_kinds () : 20 * layout_n_kinds (), choose_case,
        data);
  else
    check_cases (check, layout_n_kinds (), refuse_case, data);
}

/* The cost that a method estimates for a case with nx taps along x and ny along y. */
static double
cost_of (const SepconvMethod *method, Case *c, int nx, int ny, GpuOrder order)
{
  SepconvWork work;

  for (int p = 0; p < c->layout.n_planes; p++) {
    taps_gaussian (&c->x[p], nx / 6.0, nx / 2);
    taps_gaussian (&c->y[p], ny / 6.0, ny / 2);
    c->spec.plane[p].x = &c->x[p];
    c->spec.plane[p].y = &c->y[p];
  }
  work = sepconv_work (&c->spec, &c->layout, order);
  return method->ops->cost (&work);
}

static bool
is_named (const SepconvMethod *method, const char *name)
{
  return strcmp (method->name, name) == 0;
}

/* Costs with taps of two lengths: rules for all methods; and for tensor, which has one variant for
 * both axes, and fused, which has one for all short taps. */
static void
expect_costs (Check *check, const SepconvMethod *method, Case *c, int less,
    int more, GpuOrder order)
{
  const double along_x = cost_of (method, c, more, less, order);
  const double along_y = cost_of (method, c, less, more, order);
  const double fewer = cost_of (method, c, less, less, order);
  const double all = cost_of (method, c, more, more, order);
  const bool as_longest =
      is_named (method, "tensor") || is_named (method, "tensor-split")
      || (is_named (method, "fused") && more <= 9);

  EXPECT (check, fewer > 0.0 && fabs (along_x - along_y) <= 1e-9 * all,
      "%s: %d x %d taps cost %g, %d x %d %g", method->name, more, less, along_x,
      less, more, along_y);
  /* With longer kernels it processes fewer samples. */
  if (strncmp (method->name, "multirate", 9) == 0)
    return;
  EXPECT (check, fewer <= along_y && along_y <= all,
      "%s: %d x %d taps cost %g, where %d x %d cost %g and %d x %d %g",
      method->name, less, more, along_y, less, less, fewer, more, more, all);
  if (as_longest)
    EXPECT (check, along_y == all,
        "%s: %d x %d taps cost %g, and %d x %d, for which it does the same, %g",
        method->name, less, more, along_y, more, more, all);
  else if (more > less + 16
      && !(strncmp (method->name, "terms", 5) == 0 && more <= 33))
    EXPECT (check, method->backend == BACKEND_CPU || along_y < all,
        "%s: %d x %d taps cost as much as %d x %d", method->name, less, more,
        more, more);
}

static void
check_costs (Check *check, const void *data)
{
  static const char *const kinds[] = { "gray8", "nv12", "rgbx", "p010" };
  static const int lengths[][2] = { { 1, 3 }, { 1, 5 }, { 1, 9 }, { 3, 9 },
    { 1, 33 }, { 3, 33 }, { 3, 129 }, { 33, 65 } };
  Case *c = case_new ();

  (void) data;
  check->cases++;
  c->spec.scale = 1.0;
  for (int k = 0; k < 4; k++) {
    case_set_layout (c, layout_kind_by_name (kinds[k]), 1920, 1080);
    for (int p = 0; p < c->layout.n_planes; p++)
      c->spec.plane[p].channels = (1u << c->layout.plane[p].channels) - 1;
    for (int i = 0; i < sepconv_n_methods (); i++)
      for (size_t n = 0; n < sizeof lengths / sizeof lengths[0]; n++)
        for (int order = 0; order <= GPU_BESIDE_KERNELS; order++)
          if (sepconv_method (i)->ops != NULL)
            expect_costs (check, sepconv_method (i), c, lengths[n][0],
                lengths[n][1], (GpuOrder) order);
  }
  case_free (c);
}

/* A filter of all channels, and the method that `auto` takes for it. */
typedef struct
{
  const char *kind;
  int width, height, nx, ny;
  double cut; /* sigmas at which the gaussian is cut; 0: a box */
  const char *method;
  SepconvBorder border;
} Choice;

static void
set_choice_taps (Taps *taps, int n, double cut)
{
  if (cut > 0)
    taps_gaussian (taps, n / (2.0 * cut), n / 2);
  else
    taps_box (taps, n, n / 2);
}

static void
expect_choice (
    Check *check, const Choice *choice, Backend backend, const Gpu *gpu)
{
  Case *c = case_new ();
  const SepconvMethod *chosen;
  Fault fault;

  fault_clear (&fault);
  case_set_layout (
      c, layout_kind_by_name (choice->kind), choice->width, choice->height);
  c->spec.scale = 1.0;
  c->spec.border = choice->border;
  for (int p = 0; p < c->layout.n_planes; p++) {
    SepconvPlane *plane = &c->spec.plane[p];

    plane->channels = ((1u << c->layout.plane[p].channels) - 1)
        & ~(p == 0 ? c->kind->never : 0);
    set_choice_taps (&c->x[p], choice->nx, choice->cut);
    set_choice_taps (&c->y[p], choice->ny, choice->cut);
    plane->x = &c->x[p];
    plane->y = &c->y[p];
  }
  chosen = sepconv_choose_method (&c->spec, &c->layout, backend, NULL, gpu,
      GPU_BESIDE_KERNELS, &fault);
  EXPECT (check, chosen != NULL && is_named (chosen, choice->method),
      "%s %dx%d, %d x %d taps: %s is chosen, not %s", choice->kind,
      choice->width, choice->height, choice->nx, choice->ny,
      chosen != NULL ? chosen->name : "none", choice->method);
  case_free (c);
}

/* The choice of `auto` for taps that differ by axis, and for gaussians cut at several numbers of
 * sigmas. */
static void
check_auto (Check *check, const void *data)
{
  static const Choice rows[] = {
    { "gray8", 1920, 1080, 1, 33, 3.0, "tensor", SEPCONV_REPLICATE },
    { "gray8", 1920, 1080, 33, 1, 3.0, "tensor", SEPCONV_REPLICATE },
    { "gray8", 1920, 1080, 3, 129, 3.0, "tensor", SEPCONV_REPLICATE },
    { "nv12", 3840, 2160, 3, 129, 3.0, "tensor", SEPCONV_REPLICATE },
    { "rgbx", 1920, 1080, 129, 3, 3.0, "tensor", SEPCONV_REPLICATE },
    { "gray8", 960, 540, 3, 257, 3.0, "multirate", SEPCONV_REPLICATE },
    { "gray8", 1920, 1080, 3, 257, 3.0, "multirate", SEPCONV_REPLICATE },
    { "gray8", 7680, 4320, 65, 65, 3.0, "tensor", SEPCONV_REPLICATE },
    { "gray8", 7680, 4320, 257, 257, 3.0, "multirate", SEPCONV_REPLICATE },
    { "gray8", 1920, 1080, 87, 87, 4.0, "tensor", SEPCONV_REPLICATE },
    { "nv12", 3840, 2160, 87, 87, 4.0, "multirate", SEPCONV_REPLICATE },
    { "rgbx", 7680, 4320, 33, 33, 3.0, "tensor", SEPCONV_REPLICATE },
    { "rgb24", 7680, 4320, 33, 33, 3.0, "tensor-split", SEPCONV_REPLICATE },
    { "rgb24", 3840, 2160, 129, 129, 4.0, "multirate", SEPCONV_REPLICATE },
    { "rgbx", 3840, 2160, 87, 87, 4.0, "multirate", SEPCONV_REPLICATE },
    { "gray8", 7680, 4320, 129, 129, 4.0, "multirate", SEPCONV_REPLICATE },
    { "rgbx", 3840, 2160, 129, 129, 4.0, "multirate", SEPCONV_REPLICATE },
    { "gray8", 7680, 4320, 129, 129, 4.0, "multirate", SEPCONV_CONSTANT },
    { "gray8", 7680, 4320, 129, 129, 4.0, "multirate", SEPCONV_REFLECT },
    { "rgbx", 3840, 2160, 129, 129, 4.0, "multirate", SEPCONV_WRAP },
    { "nv12", 3840, 2160, 129, 129, 4.0, "multirate", SEPCONV_REFLECT },
    { "nv12", 1920, 1080, 129, 129, 4.0, "tensor", SEPCONV_REFLECT },
    { "gray8", 1920, 1080, 129, 129, 4.0, "tensor", SEPCONV_REPLICATE },
    { "gray8", 1920, 1080, 169, 169, 4.0, "multirate", SEPCONV_REPLICATE },
    /* Cut so early that it allows a factor of 2 only. */
    { "gray8", 7680, 4320, 129, 129, 3.0, "tensor", SEPCONV_REPLICATE },
    { "gray16", 1920, 1080, 3, 3, 3.0, "fused", SEPCONV_REPLICATE },
    { "gray16", 1920, 1080, 1, 33, 3.0, "tensor", SEPCONV_REPLICATE },
    { "p012", 3840, 2160, 13, 13, 3.0, "tensor", SEPCONV_REPLICATE },
    { "p012", 3840, 2160, 129, 129, 4.0, "tensor", SEPCONV_REPLICATE },
    { "p012", 3840, 2160, 169, 169, 4.0, "multirate", SEPCONV_REPLICATE },
    { "rgba64", 3840, 2160, 129, 129, 4.0, "tensor", SEPCONV_REPLICATE },
    { "y212", 3840, 2160, 33, 33, 3.0, "tensor-split", SEPCONV_REPLICATE },
    /* fused would compute all of 9 x 9 taps. */
    { "p010", 320, 240, 1, 9, 3.0, "tensor", SEPCONV_REPLICATE },
    { "p010", 320, 240, 9, 1, 3.0, "tensor", SEPCONV_REPLICATE },
  };
  Device device;

  (void) data;
  if (!device_enter (check, BACKEND_CUDA, &device))
    return;
  check->cases++;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    expect_choice (check, &rows[i], BACKEND_CUDA, device.gpu);
  device_leave (&device);
}

/* The choice of the CPU's `auto` with each instruction set of this processor, for cases where all
 * other methods take at least 1.25 times as long or are not accurate enough. */
static void
check_auto_cpu (Check *check, const void *data)
{
  static const Isa isas[] = { ISA_BASELINE, ISA_AVX2 };
  static const Choice rows[] = {
    { "gray8", 1280, 720, 5, 5, 0.0, "simd", SEPCONV_REPLICATE },
    { "gray8", 1280, 720, 15, 15, 0.0, "box-running-simd", SEPCONV_REPLICATE },
    { "rgbx", 1280, 720, 3, 3, 0.0, "simd", SEPCONV_REPLICATE },
    { "rgb24", 1280, 720, 33, 33, 0.0, "box-running-simd", SEPCONV_REPLICATE },
    { "gray16", 1280, 720, 5, 5, 0.0, "box-running-simd", SEPCONV_REPLICATE },
    { "gray16", 1280, 720, 11, 11, 0.0, "box-running-simd", SEPCONV_REPLICATE },
    { "p010", 1280, 720, 5, 5, 0.0, "simd", SEPCONV_REPLICATE },
    { "p010", 1280, 720, 33, 33, 0.0, "box-running-simd", SEPCONV_REPLICATE },
    { "gray8", 1920, 1080, 33, 33, 3.0, "simd", SEPCONV_REPLICATE },
    { "gray8", 1280, 720, 65, 65, 4.0, "multirate-simd", SEPCONV_REPLICATE },
    { "rgbx", 1280, 720, 65, 65, 4.0, "multirate-simd", SEPCONV_REPLICATE },
    { "p010", 1280, 720, 65, 65, 4.0, "multirate-simd", SEPCONV_REPLICATE },
  };
  const Isa best = isa_best ();

  (void) data;
  check->cases++;
  for (size_t k = 0; k < sizeof isas / sizeof isas[0] && isas[k] <= best; k++) {
    isa_cap (isa_name (isas[k]));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      expect_choice (check, &rows[i], BACKEND_CPU, NULL);
  }
  isa_cap (isa_name (best));
}

/* The choice of the CPU's `auto` for several terms: never reference, and never the method for terms
 * where a method for single kernels is enough. */
static void
check_auto_terms (Check *check, const void *data)
{
  (void) data;
  check->cases++;
  for (int k = 0; k < layout_n_kinds (); k++)
    for (int combine = SEPCONV_SUM; combine <= SEPCONV_DIRECTION; combine++)
      for (int n_more = 0; n_more < TAPS_MAX_TERMS; n_more++) {
        const CombineRow row = { .combine = (SepconvCombine) combine,
          .n_more = n_more };
        Case *c = plain_case (layout_kind (k)->name);
        const SepconvMethod *chosen;

        c->spec.scale = 0.1;
        set_combine (c, &row);
        if (sepconv_validate (&c->spec, &c->layout, NULL)) {
          chosen = sepconv_choose_method (&c->spec, &c->layout, BACKEND_CPU,
              NULL, NULL, GPU_AFTER_KERNELS, NULL);
          EXPECT (check,
              chosen != NULL
                  && is_named (chosen, "terms-simd")
                      == !sepconv_is_plain (&c->spec, &c->layout),
              "%s, combination %d of %d terms: %s is chosen",
              layout_kind (k)->name, combine, n_more + 1,
              chosen != NULL ? chosen->name : "none");
        }
        case_free (c);
      }
}

static void
set_identity (Taps *taps, int n)
{
  memset (taps->tap, 0, sizeof (double) * (size_t) n);
  taps->n = n;
  taps->tap[n / 2] = 1.0;
}

/* Combinations of terms that leave every sample unchanged. */
static void
check_identity_of_terms (Check *check, const void *data)
{
  static const CombineRow unsharp = { "", SEPCONV_UNSHARP, 0, 1.0, 0.0, true };
  static const CombineRow magnitude = { "", SEPCONV_MAGNITUDE, 1, 0, 0, true };
  static const CombineRow two = { "", SEPCONV_SUM, 1, 0, 0, true };
  Case *c = plain_case ("gray8");

  (void) data;
  check->cases++;
  set_combine (c, &unsharp);
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "unsharp masking is taken for the identity");
  c->spec.amount = 0.0;
  EXPECT (check, sepconv_is_identity (&c->spec, &c->layout),
      "unsharp masking by 0 is not seen as the identity");
  c->spec.scale = 2.0;
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "its scale is not looked at");
  c->spec.scale = 1.0;
  c->spec.bias = 0.1;
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "its bias is not looked at");
  c->spec.bias = 0.0;
  c->spec.amount = 1.0;
  set_identity (&c->x[0], 3);
  set_identity (&c->y[0], 1);
  EXPECT (check, sepconv_is_identity (&c->spec, &c->layout),
      "unsharp masking without a blur is not seen as the identity");
  set_combine (c, &magnitude);
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "a magnitude is taken for the identity");
  set_combine (c, &two);
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "two terms are taken for the identity");
  case_free (c);
}

static void
check_identity (Check *check, const void *data)
{
  Case *c = plain_case ("nv12");
  SepconvPlane *chroma = &c->spec.plane[1];

  (void) data;
  check->cases++;
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "a blur is taken for the identity");
  set_identity (&c->x[0], 5);
  set_identity (&c->y[0], 4);
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "a blur of chroma is taken for the identity");
  set_identity (&c->x[1], 1);
  set_identity (&c->y[1], TAPS_MAX);
  chroma->zero[0] = chroma->zero[1] = 128.0;
  EXPECT (check, sepconv_is_identity (&c->spec, &c->layout),
      "the identity is not seen");
  c->spec.scale = 1.5;
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "scale is not looked at");
  c->spec.scale = 1.0;
  c->spec.bias = 0.1;
  EXPECT (check, !sepconv_is_identity (&c->spec, &c->layout),
      "bias is not looked at");
  c->spec.plane[0].unbiased = chroma->unbiased = 3;
  EXPECT (check, sepconv_is_identity (&c->spec, &c->layout),
      "the identity without a bias is not seen");
  c->spec.plane[0].unbiased = 0;
  c->spec.plane[0].channels = chroma->channels = 0;
  EXPECT (check, sepconv_is_identity (&c->spec, &c->layout),
      "copying everything is not seen as the identity");
  case_free (c);
}

/* Images that do not match a plan. */
static void
check_wrong_images (Check *check, const void *data)
{
  static const struct
  {
    const char *what, *src, *dst;
    int src_width, src_height, dst_width, dst_height;
  } rows[] = {
    { "other depths", "p010", "p010", 12, 8, 12, 8 },
    { "other planes", "planar3", "planar3", 12, 8, 12, 8 },
    { "a wider image", "nv12", "nv12", 14, 8, 14, 8 },
    { "a narrower image", "nv12", "nv12", 10, 8, 10, 8 },
    { "a taller image", "nv12", "nv12", 12, 10, 12, 10 },
    { "another destination", "nv12", "p010", 12, 8, 12, 8 },
    { "a lower destination", "nv12", "nv12", 12, 8, 12, 6 },
    { "a lower source", "nv12", "nv12", 12, 6, 12, 8 },
  };
  Case *c = plain_case ("nv12");
  Random random = { check->seed };
  SepconvPlan *plan;
  Fault fault;

  (void) data;
  check->cases++;
  layout_make (c->kind, 12, 8, &c->layout);
  plan =
      sepconv_plan_new (&c->spec, &c->layout, BACKEND_CPU, NULL, NULL, &fault);
  if (!EXPECT (check, plan != NULL, "no plan: %s", fault.message)) {
    case_free (c);
    return;
  }
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    Picture src, dst;
    Image layout;
    uint8_t *before;

    layout_make (layout_kind_by_name (rows[i].src), rows[i].src_width,
        rows[i].src_height, &layout);
    picture_new (&src, &layout, true, &random);
    layout_make (layout_kind_by_name (rows[i].dst), rows[i].dst_width,
        rows[i].dst_height, &layout);
    picture_new (&dst, &layout, true, &random);
    before = picture_block_copy (&dst);
    fault_clear (&fault);
    EXPECT_FAULT (check,
        !sepconv_plan_run (
            plan, &src.image, &dst.image, NULL, GPU_AFTER_KERNELS, &fault),
        &fault, FAULT_SETTINGS, rows[i].what);
    EXPECT (check, memcmp (before, dst.block, dst.bytes) == 0,
        "%s: the destination was written to", rows[i].what);
    free (before);
    picture_clear (&src);
    picture_clear (&dst);
  }
  sepconv_plan_free (plan);
  sepconv_plan_free (NULL);
  case_free (c);
}

void
check_sepconv_add (void)
{
  static const Backend cpu = BACKEND_CPU, cuda = BACKEND_CUDA;

  kerncheck_add (check_validate, NULL, NULL, "sepconv/validate");
  kerncheck_add (check_limits, NULL, NULL, "sepconv/limits");
  kerncheck_add (check_combine, NULL, NULL, "sepconv/combine");
  kerncheck_add (check_more_terms, NULL, NULL, "sepconv/more-terms");
  kerncheck_add (check_angle_gain, NULL, NULL, "sepconv/angle-gain");
  kerncheck_add (check_update_terms, NULL, NULL, "sepconv/update-terms");
  kerncheck_add (
      check_identity_of_terms, NULL, NULL, "sepconv/identity-of-terms");
  kerncheck_add (check_table, NULL, NULL, "sepconv/table");
  kerncheck_add (check_refused_methods, NULL, NULL, "sepconv/refused-methods");
  kerncheck_add (check_choose, &cpu, NULL, "sepconv/choose-cpu");
  kerncheck_add (check_choose, &cuda, NULL, "sepconv/choose-cuda");
  kerncheck_add (check_costs, NULL, NULL, "sepconv/costs");
  kerncheck_add (check_auto, NULL, NULL, "sepconv/auto");
  kerncheck_add (check_auto_cpu, NULL, NULL, "sepconv/auto-cpu");
  kerncheck_add (check_auto_terms, NULL, NULL, "sepconv/auto-terms");
  kerncheck_add (check_identity, NULL, NULL, "sepconv/identity");
  kerncheck_add (check_wrong_images, NULL, NULL, "sepconv/wrong-images");
}
