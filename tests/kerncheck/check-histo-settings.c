/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The histogram's settings: refusals, the list of methods and the choice among them. */
#include "kerncheck.h"

#include "histo-cases.h"

#include <string.h>

/* A valid spec of all channels. */
static HistoCase
plain_case (const LayoutKind *kind)
{
  HistoCase c = { .kind = kind, .width = 13, .height = 9 };

  layout_make (kind, c.width, c.height, &c.layout);
  c.spec.bins = 256;
  histo_case_select_all (&c);
  return c;
}

/* Makes one setting invalid; NULL when there are no more. */
static const char *
break_spec (HistoCase *c, int how)
{
  const int p = c->layout.n_planes - 1;
  ImageMemory *memory = &c->layout.memory[c->layout.plane[p].memory];

  switch (how) {
    case 0:
      c->spec.bins = 0;
      return "no bins";
    case 1:
      c->spec.bins = 1;
      return "one bin";
    case 2:
      c->spec.bins = -256;
      return "a negative number of bins";
    case 3:
      c->spec.bins = HISTO_MAX_BINS + 1;
      return "too many bins";
    case 4:
      memset (c->spec.channels, 0, sizeof c->spec.channels);
      return "no channels";
    case 5:
      c->spec.channels[p] = 1u << c->layout.plane[p].channels;
      return "a mask beyond the channels";
    case 6:
      c->spec.channels[p] |= 0x80000000u;
      return "a mask far beyond the channels";
    case 7:
      c->layout.plane[p].width = 0;
      return "an invalid layout";
    case 8:
      memory->height = (int) (HISTO_MAX_SAMPLES / 2);
      c->layout.plane[p].width = 3;
      return "more samples than can be counted";
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
      HistoCase c = plain_case (layout_kind (k));
      const char *what;
      HistoPlan *plan;
      Fault fault;

      fault_clear (&fault);
      EXPECT (check, histo_validate (&c.spec, &c.layout, &fault),
          "a valid spec was refused: %s", fault.message);
      what = break_spec (&c, how);
      if (what == NULL)
        break;
      EXPECT_FAULT (check, !histo_validate (&c.spec, &c.layout, &fault), &fault,
          FAULT_SETTINGS, what);
      EXPECT (check, !histo_validate (&c.spec, &c.layout, NULL),
          "%s was accepted without a fault to fill", what);
      fault_clear (&fault);
      plan =
          histo_plan_new (&c.spec, &c.layout, BACKEND_CPU, NULL, NULL, &fault);
      EXPECT_FAULT (check, plan == NULL, &fault, FAULT_SETTINGS, what);
      histo_plan_free (plan);
    }
}

/* The limits themselves are allowed. */
static void
check_limits (Check *check, const void *data)
{
  HistoCase c = plain_case (layout_kind_by_name ("gray16"));
  Fault fault;

  (void) data;
  check->cases++;
  fault_clear (&fault);
  c.spec.bins = HISTO_MIN_BINS;
  EXPECT (
      check, histo_validate (&c.spec, &c.layout, &fault), "%s", fault.message);
  c.spec.bins = HISTO_MAX_BINS;
  EXPECT (
      check, histo_validate (&c.spec, &c.layout, &fault), "%s", fault.message);
  layout_make (c.kind, 65537, 65535, &c.layout); /* 2^32 - 1 */
  EXPECT (
      check, histo_validate (&c.spec, &c.layout, &fault), "%s", fault.message);
}

static void
check_table (Check *check, const void *data)
{
  const int n = histo_n_methods ();
  const HistoMethod *reference = histo_method_by_name ("reference");

  (void) data;
  check->cases++;
  EXPECT (check, n >= 1, "there are %d methods", n);
  EXPECT (check,
      histo_method (-1) == NULL && histo_method (n) == NULL
          && histo_method (2147483647) == NULL,
      "there are methods beyond the table");
  EXPECT (check,
      histo_method_by_name ("no-such-method") == NULL
          && histo_method_by_name ("") == NULL,
      "a method answers to a name that is not its own");
  EXPECT (check,
      reference != NULL && reference->backend == BACKEND_CPU
          && reference->ops != NULL,
      "there is no reference");
  for (int i = 0; i < n; i++) {
    const HistoMethod *method = histo_method (i);

    EXPECT (check, histo_method_by_name (method->name) == method,
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
  const HistoCase c = plain_case (layout_kind_by_name ("gray8"));

  (void) data;
  check->cases++;
  for (int i = 0; i < histo_n_methods (); i++) {
    const HistoMethod *method = histo_method (i);
    HistoPlan *plan;
    Fault fault;

    fault_clear (&fault);
    plan = histo_plan_new (&c.spec, &c.layout,
        method->backend == BACKEND_CPU ? BACKEND_CUDA : BACKEND_CPU, method,
        NULL, &fault);
    if (EXPECT_FAULT (check, plan == NULL, &fault, FAULT_SETTINGS,
            "a method of the other backend"))
      EXPECT (check, strstr (fault.message, method->name) != NULL,
          "the message does not name %s: %s", method->name, fault.message);
    histo_plan_free (plan);
    if (method->ops != NULL)
      continue;
    fault_clear (&fault);
    plan = histo_plan_new (
        &c.spec, &c.layout, method->backend, method, NULL, &fault);
    if (EXPECT_FAULT (check, plan == NULL, &fault, FAULT_UNSUPPORTED,
            "a plan by a method that is not in this build"))
      EXPECT (check, strstr (fault.message, method->name) != NULL,
          "the message does not name %s: %s", method->name, fault.message);
    histo_plan_free (plan);
  }
}

/* Some method of each backend in this build supports every valid spec. */
static void
choose_case (Check *check, Random *random, int index, const void *data)
{
  static const HistoEffort effort = { 40, 40 };
  const Backend backend = *(const Backend *) data;
  const HistoMethod *chosen;
  HistoCase c;
  Fault fault;

  histo_case_make (
      &c, layout_kind (index % layout_n_kinds ()), index, &effort, random);
  c.spec.bins = histo_some_bins (index / layout_n_kinds ());
  histo_case_describe (check, &c);
  fault_clear (&fault);
  chosen =
      histo_choose_method (&c.spec, &c.layout, backend, NULL, NULL, &fault);
  if (!EXPECT (check, chosen != NULL, "none is chosen: %s", fault.message))
    return;
  EXPECT (check,
      chosen->backend == backend
          && histo_method_supports (chosen, &c.spec, &c.layout, NULL, NULL),
      "%s is chosen, which cannot do this", chosen->name);
  EXPECT (check,
      histo_choose_method (&c.spec, &c.layout, backend, chosen, NULL, &fault)
          == chosen,
      "%s is not chosen when it is asked for", chosen->name);
}

static void
check_choose (Check *check, const void *data)
{
  const Backend backend = *(const Backend *) data;

  for (int i = 0; i < histo_n_methods (); i++)
    if (histo_method (i)->backend == backend && histo_method (i)->ops != NULL) {
      check_cases (check, layout_n_kinds () * N_HISTO_BINS, choose_case, data);
      return;
    }
  check_skip (check, "no method of this backend is in this build");
}

/* Makes the image invalid for its plan in one way; NULL when there are no more. */
static const char *
break_image (Image *image, int how)
{
  switch (how) {
    case 0:
      image->n_planes--;
      return "an image of fewer planes";
    case 1:
      image->n_memories++;
      return "an image of more memories";
    case 2:
      image->memory[1].height++;
      return "an image that is taller";
    case 3:
      image->memory[0].height = -1;
      return "an image of negative height";
    case 4:
      image->plane[1].width++;
      return "an image that is wider";
    case 5:
      image->plane[0].width = 0;
      return "an image without pixels";
    case 6:
      image->plane[1].pixel_stride += 2;
      return "an image with other pixels";
    case 7:
      image->plane[0].depth = 7;
      return "an image of another depth";
    default:
      return NULL;
  }
}

static void
check_wrong_images (Check *check, const void *data)
{
  const HistoCase c = plain_case (layout_kind_by_name ("nv12"));
  Random random = { check->seed };
  Fault fault;
  HistoPlan *plan =
      histo_plan_new (&c.spec, &c.layout, BACKEND_CPU, NULL, NULL, &fault);
  HistoResult *result = histo_result_new (plan, &fault);
  Picture src;

  (void) data;
  check->cases++;
  histo_case_picture (&c, &src, &random);
  EXPECT (check,
      histo_plan_run (
          plan, &src.image, result, NULL, GPU_AFTER_KERNELS, &fault),
      "%s", fault.message);
  for (int how = 0;; how++) {
    Image image = src.image;
    const char *what = break_image (&image, how);

    if (what == NULL)
      break;
    fault_clear (&fault);
    EXPECT_FAULT (check,
        !histo_plan_run (plan, &image, result, NULL, GPU_AFTER_KERNELS, &fault),
        &fault, FAULT_SETTINGS, what);
    histo_expect_counts (check, &c.spec, &src.image, result);
  }
  picture_clear (&src);
  histo_result_free (result);
  histo_result_free (NULL);
  histo_plan_free (plan);
  histo_plan_free (NULL);
}

/* A result is valid only for plans of the same kind. */
static void
check_wrong_results (Check *check, const void *data)
{
  const HistoCase c = plain_case (layout_kind_by_name ("nv12"));
  Random random = { check->seed };
  Fault fault;
  HistoPlan *plan =
      histo_plan_new (&c.spec, &c.layout, BACKEND_CPU, NULL, NULL, &fault);
  Picture src;

  (void) data;
  check->cases++;
  histo_case_picture (&c, &src, &random);
  for (int how = 0; how < 3; how++) {
    static const char *const what[] = { "a result of other bins",
      "a result of fewer channels", "a result of other channels" };
    HistoCase other = c;
    HistoPlan *other_plan;
    HistoResult *result;

    other.spec.bins -= how == 0;
    other.spec.channels[1] = how == 1 ? 1 : 3;
    if (how == 2)
      other.layout.plane[1].width--;
    other_plan = histo_plan_new (
        &other.spec, &other.layout, BACKEND_CPU, NULL, NULL, &fault);
    result = histo_result_new (other_plan, &fault);
    fault_clear (&fault);
    EXPECT_FAULT (check,
        !histo_plan_run (
            plan, &src.image, result, NULL, GPU_AFTER_KERNELS, &fault),
        &fault, FAULT_SETTINGS, what[how]);
    histo_result_free (result);
    histo_plan_free (other_plan);
  }
  picture_clear (&src);
  histo_plan_free (plan);
}

void
check_histo_settings_add (void)
{
  static const Backend cpu = BACKEND_CPU, cuda = BACKEND_CUDA;

  kerncheck_add (check_validate, NULL, NULL, "histo/validate");
  kerncheck_add (check_limits, NULL, NULL, "histo/limits");
  kerncheck_add (check_table, NULL, NULL, "histo/table");
  kerncheck_add (check_refused_methods, NULL, NULL, "histo/refused-methods");
  kerncheck_add (check_choose, &cpu, NULL, "histo/choose-cpu");
  kerncheck_add (check_choose, &cuda, NULL, "histo/choose-cuda");
  kerncheck_add (check_wrong_images, NULL, NULL, "histo/wrong-images");
  kerncheck_add (check_wrong_results, NULL, NULL, "histo/wrong-results");
}
