/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsepconvhints.h"

static gboolean
is_custom (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_CUSTOM;
}

static gboolean
is_terms (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_TERMS;
}

static gboolean
has_own_taps (const GstSepconvChoice *choice)
{
  return is_custom (choice) || is_terms (choice);
}

static gboolean
is_generated (const GstSepconvChoice *choice)
{
  return !has_own_taps (choice);
}

static gboolean
is_unsharp (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_UNSHARP;
}

static gboolean
is_dog (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_DOG;
}

static gboolean
is_gradient (const GstSepconvChoice *choice)
{
  return gst_sepconv_kernel_is_gradient (choice->kernel);
}

static gboolean
has_levels (const GstSepconvChoice *choice)
{
  return !is_gradient (choice)
      || choice->gradient != GST_CUDA_SEPCONV_DIRECTION;
}

/* The kernels that are made of gaussians. */
static gboolean
is_gaussian (const GstSepconvChoice *choice)
{
  return choice->kernel == TAPS_GAUSSIAN || is_unsharp (choice)
      || choice->kernel == TAPS_LOG || is_dog (choice);
}

static gboolean
is_scaled (const GstSepconvChoice *choice)
{
  return is_gaussian (choice) || choice->kernel == TAPS_BOX
      || choice->kernel == TAPS_BINOMIAL;
}

static gboolean
has_regions (const GstSepconvChoice *choice)
{
  return choice->roi_mode != GST_CUDA_SEPCONV_ROI_OFF;
}

/* The size of the blocks follows from sigma. */
static gboolean
pixelates (const GstSepconvChoice *choice)
{
  return has_regions (choice) && choice->roi_fill == REGIONS_PIXELATE;
}

static gboolean
scales_chroma (const GstSepconvChoice *choice)
{
  return is_scaled (choice) && !choice->light;
}

static gboolean
has_color (const GstSepconvChoice *choice)
{
  return (choice->planes & GST_FRAME_PLANES_COLOR) != 0;
}

static gboolean
weighs_color (const GstSepconvChoice *choice)
{
  return has_color (choice) && choice->has_alpha;
}

/* Blurs without a radius take it from sigma. */
static gboolean
uses_sigma (const GstSepconvChoice *choice)
{
  return pixelates (choice) || is_gaussian (choice)
      || (is_scaled (choice) && choice->radius_x < 0);
}

static gboolean
uses_sigma_y (const GstSepconvChoice *choice)
{
  return pixelates (choice) || is_gaussian (choice)
      || (is_scaled (choice) && choice->radius_x < 0 && choice->radius_y < 0);
}

static gboolean
uses_bias (const GstSepconvChoice *choice)
{
  return choice->planes != GST_FRAME_PLANES_CHROMA && has_levels (choice);
}

static gboolean
uses_border_color (const GstSepconvChoice *choice)
{
  return choice->border == SEPCONV_CONSTANT;
}

static gboolean
uses_neutral_chroma (const GstSepconvChoice *choice)
{
  return gst_sepconv_kernel_finds_edges (choice->kernel)
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

static gboolean
uses_roi_strength (const GstSepconvChoice *choice)
{
  return gst_sepconv_regions_use_strength (
      choice->roi_mode, choice->roi_fill, choice->kernel);
}

static gboolean
uses_roi_color (const GstSepconvChoice *choice)
{
  return has_regions (choice) && choice->roi_fill == REGIONS_SOLID;
}

#define OF_SIGMA \
  "it is the width of kernel=gaussian, unsharp, log and dog, and the radius of " \
  "kernel=box and kernel=binomial follows from it only if radius is -1; the " \
  "blocks of roi-fill=pixelate follow from it, too"
#define OF_CUSTOM "only kernel=custom uses it"
#define OF_TERMS "only kernel=terms uses it"
#define OF_UNSHARP "only kernel=unsharp uses it"
#define OF_RADIUS \
  "the length of kernel=custom and kernel=terms is the number of their taps"
#define OF_REGIONS "it needs roi-mode=inside or roi-mode=outside"
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
  { "terms-x", is_terms, OF_TERMS },
  { "terms-y", is_terms, OF_TERMS },
  { "normalize", has_own_taps, "only kernel=custom and kernel=terms use it" },
  { "amount", is_unsharp, OF_UNSHARP },
  { "threshold", is_unsharp, OF_UNSHARP },
  { "sigma-outer", is_dog, "only kernel=dog uses it" },
  { "gradient", is_gradient,
      "only kernel=sobel, kernel=scharr and kernel=prewitt have a gradient" },
  { "scale", has_levels, "gradient=direction gives angles, not levels" },
  { "bias", uses_bias,
      "planes=chroma selects chroma only, which gets no bias, and "
      "gradient=direction gives angles" },
  { "border-color", uses_border_color, "only border=constant uses it" },
  { "scale-chroma", scales_chroma,
      "only blurs, kernel=unsharp, kernel=log and kernel=dog are scaled on "
      "subsampled planes, which gamma=linear and alpha-mode=premultiply do not "
      "filter" },
  { "gamma", has_color, "planes selects no colour" },
  { "alpha-mode", weighs_color,
      "it needs video with alpha, and planes with colour" },
  { "neutral-chroma", uses_neutral_chroma,
      "it needs a kernel that finds edges (sobel, scharr, prewitt, laplacian, log, "
      "dog) and planes with luma and chroma" },
  { "roi-types", has_regions, OF_REGIONS },
  { "roi-grow", has_regions, OF_REGIONS },
  { "roi-strength", uses_roi_strength,
      "it needs roi-mode=inside, and roi-fill=pixelate or a kernel that is a blur "
      "(gaussian, box, binomial, unsharp)" },
  { "roi-shape", has_regions, OF_REGIONS },
  { "roi-feather", has_regions, OF_REGIONS },
  { "roi-fill", has_regions, OF_REGIONS },
  { "roi-color", uses_roi_color,
      "it needs roi-fill=solid, and roi-mode=inside or roi-mode=outside" },
  { "roi-hold", has_regions, OF_REGIONS },
  { "zones", has_regions, OF_REGIONS },
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
  self->changed = (G_GUINT64_CONSTANT (1) << G_N_ELEMENTS (rules)) - 1;
  self->warned = 0;
}

void
gst_sepconv_hints_change (GstSepconvHints *self, const gchar *property)
{
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (g_str_equal (property, rules[i].property))
      self->changed |= G_GUINT64_CONSTANT (1) << i;
}

guint64
gst_sepconv_hints_take (GstSepconvHints *self, const GstSepconvChoice *choice)
{
  guint64 found = 0;

  for (guint i = 0; i < G_N_ELEMENTS (rules); i++)
    if (((self->changed & ~self->warned) >> i & 1) != 0
        && !rules[i].has_effect (choice))
      found |= G_GUINT64_CONSTANT (1) << i;
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
    GstSepconvHints *self, GstElement *element, guint64 settings)
{
  for (guint i = 0; i < G_N_ELEMENTS (rules); i++) {
    if ((settings >> i & 1) == 0 || is_default (element, rules[i].property))
      continue;
    GST_OBJECT_LOCK (element);
    self->warned |= G_GUINT64_CONSTANT (1) << i;
    GST_OBJECT_UNLOCK (element);
    GST_ELEMENT_WARNING (element, RESOURCE, SETTINGS,
        ("%s has no effect: %s.", rules[i].property, rules[i].reason), (NULL));
  }
}
