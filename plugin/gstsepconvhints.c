/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsepconvhints.h"

static gboolean
is_custom (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_CUSTOM;
}

static gboolean
is_generated (const GstSepconvChoice *choice)
{
  return choice->kernel != TAPS_CUSTOM;
}

static gboolean
is_blur (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_GAUSSIAN || choice->kernel == TAPS_BOX
      || choice->kernel == TAPS_BINOMIAL;
}

static gboolean
is_derivative (const GstSepconvChoice *choice)
{
  return is_generated (choice) && !is_blur (choice);
}

/* Blurs without a radius take it from sigma. */
static gboolean
uses_sigma (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_GAUSSIAN
      || (is_blur (choice) && choice->radius_x < 0);
}

static gboolean
uses_sigma_y (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_GAUSSIAN
      || (is_blur (choice) && choice->radius_x < 0 && choice->radius_y < 0);
}

static gboolean
uses_bias (const GstSepconvChoice *choice)
{
  return choice->planes != GST_FRAME_PLANES_CHROMA;
}

static gboolean
uses_border_color (const GstSepconvChoice *choice)
{
  return choice->border == SEPCONV_CONSTANT;
}

static gboolean
uses_neutral_chroma (const GstSepconvChoice *choice)
{
  return is_derivative (choice)
      && (choice->planes & GST_FRAME_PLANES_COLOR) == GST_FRAME_PLANES_COLOR;
}

static gboolean
uses_histogram (const GstSepconvChoice *choice)
{
  return choice->histogram_used;
}

static gboolean
has_histogram (const GstSepconvChoice *choice)
{
  return choice->histogram;
}

#define OF_SIGMA \
  "it is the width of kernel=gaussian, and gives kernel=box and " \
  "kernel=binomial a radius where radius is -1"
#define OF_CUSTOM "only kernel=custom uses it"
#define OF_RADIUS "kernel=custom is as long as its taps"
#define OF_HISTOGRAM "it needs histogram=true"

static const struct
{
  const gchar *property;
  gboolean (*has_effect) (const GstSepconvChoice *choice);
  const gchar *reason;
} rules[] = {
  { "sigma", uses_sigma, OF_SIGMA },
  { "sigma-y", uses_sigma_y, OF_SIGMA },
  { "radius", is_generated, OF_RADIUS },
  { "radius-y", is_generated, OF_RADIUS },
  { "taps-x", is_custom, OF_CUSTOM },
  { "taps-y", is_custom, OF_CUSTOM },
  { "normalize", is_custom, OF_CUSTOM },
  { "bias", uses_bias, "planes=chroma selects nothing that takes a bias" },
  { "border-color", uses_border_color, "only border=constant uses it" },
  { "scale-chroma", is_blur,
      "only kernel=gaussian, kernel=box and kernel=binomial scale with chroma" },
  { "neutral-chroma", uses_neutral_chroma,
      "it needs one of the derivative kernels (sobel, scharr, prewitt) and planes "
      "with luma and chroma" },
  { "histogram", uses_histogram,
      "it needs histogram-messages=true or histogram-meta=true" },
  { "histogram-bins", has_histogram, OF_HISTOGRAM },
  { "histogram-interval", has_histogram, OF_HISTOGRAM },
  { "histogram-messages", has_histogram, OF_HISTOGRAM },
  { "histogram-meta", has_histogram, OF_HISTOGRAM },
};

void
gst_sepconv_hints_restart (GstSepconvHints *self)
{
  self->changed = (1u << G_N_ELEMENTS (rules)) - 1;
  self->warned = 0;
}

void
gst_sepconv_hints_change (GstSepconvHints *self, const gchar *property)
{
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (g_str_equal (property, rules[i].property))
      self->changed |= 1u << i;
}

guint
gst_sepconv_hints_take (GstSepconvHints *self, const GstSepconvChoice *choice)
{
  guint found = 0;

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if ((self->changed & ~self->warned & 1u << i) != 0
        && !rules[i].has_effect (choice))
      found |= 1u << i;
  self->changed = 0;
  return found;
}

static gboolean
is_default (GstElement *element, const gchar *property)
{
  GParamSpec *spec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (element), property);
  GValue value = G_VALUE_INIT;
  gboolean result;

  g_value_init (&value, G_PARAM_SPEC_VALUE_TYPE (spec));
  g_object_get_property (G_OBJECT (element), property, &value);
  result = g_param_value_defaults (spec, &value);
  g_value_unset (&value);
  return result;
}

void
gst_sepconv_hints_post (
    GstSepconvHints *self, GstElement *element, guint settings)
{
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++) {
    if ((settings >> i & 1) == 0 || is_default (element, rules[i].property))
      continue;
    GST_OBJECT_LOCK (element);
    self->warned |= 1u << i;
    GST_OBJECT_UNLOCK (element);
    GST_ELEMENT_WARNING (element, RESOURCE, SETTINGS,
        ("%s has no effect: %s.", rules[i].property, rules[i].reason), (NULL));
  }
}
