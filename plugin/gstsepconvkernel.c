/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gstsepconvkernel.h"

#include <math.h>

/* 3 * sigma must fit the longest kernel. */
#define MAX_SIGMA 500.0
#define MAX_AMOUNT 1e3

#define DEFAULT_KERNEL TAPS_GAUSSIAN
#define DEFAULT_SIGMA 2.0
#define DEFAULT_SIGMA_Y (-1.0)
#define DEFAULT_SIGMA_OUTER (-1.0)
#define DEFAULT_RADIUS (-1)
#define DEFAULT_NORMALIZE FALSE
#define DEFAULT_AMOUNT 1.0
#define DEFAULT_THRESHOLD 0.0
#define DEFAULT_GRADIENT GST_CUDA_SEPCONV_MAGNITUDE

enum
{
  PROP_KERNEL = 400,
  PROP_SIGMA = 401,
  PROP_SIGMA_Y = 402,
  PROP_RADIUS = 403,
  PROP_RADIUS_Y = 404,
  PROP_TAPS_X = 405,
  PROP_TAPS_Y = 406,
  PROP_NORMALIZE = 407,
  PROP_AMOUNT = 408,
  PROP_THRESHOLD = 409,
  PROP_SIGMA_OUTER = 410,
  PROP_TERMS_X = 411,
  PROP_TERMS_Y = 412,
  PROP_GRADIENT = 413,
};

#define GST_TYPE_CUDA_SEPCONV_KERNEL (kernel_get_type ())
static GType
kernel_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { TAPS_GAUSSIAN, "Gaussian blur of width sigma", "gaussian" },
    { TAPS_BOX, "Average over a box", "box" },
    { TAPS_BINOMIAL, "Blur by binomial coefficients", "binomial" },
    { TAPS_SOBEL_X, "Sobel derivative along x (vertical edges)", "sobel-x" },
    { TAPS_SOBEL_Y, "Sobel derivative along y (horizontal edges)", "sobel-y" },
    { TAPS_SCHARR_X, "Scharr derivative along x", "scharr-x" },
    { TAPS_SCHARR_Y, "Scharr derivative along y", "scharr-y" },
    { TAPS_PREWITT_X, "Prewitt derivative along x", "prewitt-x" },
    { TAPS_PREWITT_Y, "Prewitt derivative along y", "prewitt-y" },
    { TAPS_CUSTOM, "The taps of taps-x and taps-y", "custom" },
    { TAPS_UNSHARP,
        "Unsharp mask: sharpens by amount times the difference from a gaussian blur",
        "unsharp" },
    { TAPS_SOBEL, "Sobel gradient of both axes (all edges)", "sobel" },
    { TAPS_SCHARR, "Scharr gradient of both axes", "scharr" },
    { TAPS_PREWITT, "Prewitt gradient of both axes", "prewitt" },
    { TAPS_LAPLACIAN, "Laplacian: second derivatives of both axes",
        "laplacian" },
    { TAPS_LOG, "Laplacian of a gaussian of width sigma", "log" },
    { TAPS_DOG, "Difference of the gaussians of sigma and sigma-outer", "dog" },
    { TAPS_TERMS, "The sum of the separable kernels of terms-x and terms-y",
        "terms" },
    { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvKernel", values));
  return type;
}

#define GST_TYPE_CUDA_SEPCONV_GRADIENT (gradient_get_type ())
static GType
gradient_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    { GST_CUDA_SEPCONV_MAGNITUDE, "The strength of edges", "magnitude" },
    { GST_CUDA_SEPCONV_DIRECTION,
        "The angle of the gradient: a whole turn is the code range",
        "direction" },
    { 0, NULL, NULL }
  };

  if (g_once_init_enter (&type))
    g_once_init_leave (
        &type, g_enum_register_static ("GstCudaSepconvGradient", values));
  return type;
}

/* Arrays of numbers */

static GArray *
new_numbers (void)
{
  return g_array_new (FALSE, FALSE, sizeof (gdouble));
}

/* A value that is not a number becomes NaN, which the engine refuses with a sentence. */
static void
set_numbers (GArray *numbers, const GValue *value)
{
  const guint n = gst_value_array_get_size (value);

  g_array_set_size (numbers, n);
  for (guint i = 0; i < n; i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_array_index (numbers, gdouble, i) =
        g_value_transform (gst_value_array_get_value (value, i), &number)
        ? g_value_get_double (&number)
        : NAN;
    g_value_unset (&number);
  }
}

static void
get_numbers (const GArray *numbers, GValue *value)
{
  for (guint i = 0; i < numbers->len; i++) {
    GValue number = G_VALUE_INIT;

    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_set_double (&number, g_array_index (numbers, gdouble, i));
    gst_value_array_append_and_take_value (value, &number);
  }
}

/* An element that is no array becomes an empty one, which the engine refuses as a term of x. */
static void
set_terms (GPtrArray *terms, const GValue *value)
{
  g_ptr_array_set_size (terms, 0);
  for (guint i = 0; i < gst_value_array_get_size (value); i++) {
    const GValue *element = gst_value_array_get_value (value, i);
    GArray *numbers = new_numbers ();

    if (GST_VALUE_HOLDS_ARRAY (element))
      set_numbers (numbers, element);
    g_ptr_array_add (terms, numbers);
  }
}

static void
get_terms (const GPtrArray *terms, GValue *value)
{
  for (guint i = 0; i < terms->len; i++) {
    GValue array = G_VALUE_INIT;

    g_value_init (&array, GST_TYPE_ARRAY);
    get_numbers (g_ptr_array_index (terms, i), &array);
    gst_value_array_append_and_take_value (value, &array);
  }
}

/* Points the settings at the arrays as they are now. */
static void
borrow_arrays (GstSepconvKernel *self)
{
  TapsSettings *taps = &self->taps;

  taps->custom_x = (const gdouble *) self->taps_x->data;
  taps->n_x = (gint) self->taps_x->len;
  taps->custom_y = (const gdouble *) self->taps_y->data;
  taps->n_y = (gint) self->taps_y->len;
  taps->term = self->term;
  taps->n_terms = (gint) self->terms_x->len;
  for (guint t = 0; t < MIN (self->terms_x->len, TAPS_MAX_TERMS); t++) {
    const GArray *x = g_ptr_array_index (self->terms_x, t);
    const GArray *y =
        t < self->terms_y->len ? g_ptr_array_index (self->terms_y, t) : NULL;

    self->term[t] = (TapsCustomTerm){ (const gdouble *) x->data,
      y != NULL ? (const gdouble *) y->data : NULL, (gint) x->len,
      y != NULL ? (gint) y->len : 0 };
  }
}

void
gst_sepconv_kernel_init (GstSepconvKernel *self)
{
  self->taps = (TapsSettings){ .kernel = DEFAULT_KERNEL,
    .sigma_x = DEFAULT_SIGMA,
    .sigma_y = DEFAULT_SIGMA_Y,
    .radius_x = DEFAULT_RADIUS,
    .radius_y = DEFAULT_RADIUS,
    .normalize = DEFAULT_NORMALIZE,
    .sigma_outer = DEFAULT_SIGMA_OUTER };
  self->taps_x = new_numbers ();
  self->taps_y = new_numbers ();
  self->terms_x =
      g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  self->terms_y =
      g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  self->amount = DEFAULT_AMOUNT;
  self->threshold = DEFAULT_THRESHOLD;
  self->gradient = DEFAULT_GRADIENT;
  borrow_arrays (self);
}

void
gst_sepconv_kernel_clear (GstSepconvKernel *self)
{
  g_array_unref (self->taps_x);
  g_array_unref (self->taps_y);
  g_ptr_array_unref (self->terms_x);
  g_ptr_array_unref (self->terms_y);
}

/* Properties */

static void
install_shapes (GObjectClass *object_class, GParamFlags flags)
{
  const GParamFlags controllable = flags | GST_PARAM_CONTROLLABLE;

  g_object_class_install_property (object_class, PROP_KERNEL,
      g_param_spec_enum ("kernel", "Kernel", "The kernel to filter with",
          GST_TYPE_CUDA_SEPCONV_KERNEL, DEFAULT_KERNEL, flags));
  g_object_class_install_property (object_class, PROP_SIGMA,
      g_param_spec_double ("sigma", "Sigma",
          "Width (standard deviation) of the gaussian in luma pixels (0 = no "
          "blur); along x only if sigma-y is set",
          0.0, MAX_SIGMA, DEFAULT_SIGMA, controllable));
  g_object_class_install_property (object_class, PROP_SIGMA_Y,
      g_param_spec_double ("sigma-y", "Sigma along y",
          "Width of the gaussian along y in luma pixels (-1 = as sigma)", -1.0,
          MAX_SIGMA, DEFAULT_SIGMA_Y, controllable));
  g_object_class_install_property (object_class, PROP_RADIUS,
      g_param_spec_int ("radius", "Radius",
          "Half length of a generated kernel in luma pixels, which has "
          "2 * radius + 1 taps (-1 = 3 * sigma rounded up, for a wide gaussian "
          "4 * sigma, of samples of more than 12 bits 5 * sigma; 4 * sigma for "
          "kernel=log; 1 for derivatives)",
          -1, TAPS_MAX_RADIUS, DEFAULT_RADIUS, controllable));
  g_object_class_install_property (object_class, PROP_RADIUS_Y,
      g_param_spec_int ("radius-y", "Radius along y",
          "Half length of a generated kernel along y in luma pixels "
          "(-1 = as radius)",
          -1, TAPS_MAX_RADIUS, DEFAULT_RADIUS, controllable));
  g_object_class_install_property (object_class, PROP_SIGMA_OUTER,
      g_param_spec_double ("sigma-outer", "Outer sigma",
          "Width of the wider gaussian of kernel=dog in luma pixels, on both "
          "axes (-1 = 1.6 times the width of the narrower one)",
          -1.0, MAX_SIGMA, DEFAULT_SIGMA_OUTER, controllable));
}

/* Arrays have no spec for the elements: GStreamer would turn integers, as in <1,2,1>, into
 * zeros. */
static void
install_arrays (GObjectClass *object_class, GParamFlags flags)
{
  g_object_class_install_property (object_class, PROP_TAPS_X,
      gst_param_spec_array ("taps-x", "Taps along x",
          "The taps of kernel=custom, 1 to 4097 numbers. They are applied as a "
          "correlation, in pixels of each plane; tap n/2 is the centre",
          NULL, flags));
  g_object_class_install_property (object_class, PROP_TAPS_Y,
      gst_param_spec_array ("taps-y", "Taps along y",
          "The taps of kernel=custom along y (empty = as taps-x)", NULL,
          flags));
  g_object_class_install_property (object_class, PROP_TERMS_X,
      gst_param_spec_array ("terms-x", "Terms along x",
          "The separable kernels that kernel=terms adds up, 1 to 8 arrays of "
          "taps like taps-x: <<1,2,1>,<0,1,0>>",
          NULL, flags));
  g_object_class_install_property (object_class, PROP_TERMS_Y,
      gst_param_spec_array ("terms-y", "Terms along y",
          "The taps along y of the terms of terms-x, as many arrays (empty = as "
          "terms-x; an empty array = as that of terms-x)",
          NULL, flags));
  g_object_class_install_property (object_class, PROP_NORMALIZE,
      g_param_spec_boolean ("normalize", "Normalize",
          "Divide the taps of kernel=custom by their sum, on each axis, and "
          "those of kernel=terms by the sum over all terms",
          DEFAULT_NORMALIZE, flags));
}

void
gst_sepconv_kernel_install (GObjectClass *object_class, GParamFlags flags)
{
  const GParamFlags controllable = flags | GST_PARAM_CONTROLLABLE;

  install_shapes (object_class, flags);
  install_arrays (object_class, flags);
  g_object_class_install_property (object_class, PROP_AMOUNT,
      g_param_spec_double ("amount", "Amount",
          "Strength of kernel=unsharp: this times the difference between the "
          "picture and its blur is added to the picture (negative = blur)",
          -MAX_AMOUNT, MAX_AMOUNT, DEFAULT_AMOUNT, controllable));
  g_object_class_install_property (object_class, PROP_THRESHOLD,
      g_param_spec_double ("threshold", "Threshold",
          "Differences that kernel=unsharp leaves as they are, up to this part "
          "of full scale: noise is not sharpened",
          0.0, 1.0, DEFAULT_THRESHOLD, controllable));
  g_object_class_install_property (object_class, PROP_GRADIENT,
      g_param_spec_enum ("gradient", "Gradient",
          "The result of kernel=sobel, kernel=scharr and kernel=prewitt",
          GST_TYPE_CUDA_SEPCONV_GRADIENT, DEFAULT_GRADIENT, flags));
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_KERNEL, 0);
  gst_type_mark_as_plugin_api (GST_TYPE_CUDA_SEPCONV_GRADIENT, 0);
}

/* Returns the field of a property of type double, or NULL. */
static gdouble *
find_number (GstSepconvKernel *self, guint id)
{
  switch (id) {
    case PROP_SIGMA:
      return &self->taps.sigma_x;
    case PROP_SIGMA_Y:
      return &self->taps.sigma_y;
    case PROP_SIGMA_OUTER:
      return &self->taps.sigma_outer;
    case PROP_AMOUNT:
      return &self->amount;
    case PROP_THRESHOLD:
      return &self->threshold;
    default:
      return NULL;
  }
}

gboolean
gst_sepconv_kernel_set (GstSepconvKernel *self, guint id, const GValue *value)
{
  gdouble *number = find_number (self, id);

  if (number != NULL) {
    *number = g_value_get_double (value);
    return TRUE;
  }
  switch (id) {
    case PROP_KERNEL:
      self->taps.kernel = (TapsKernel) g_value_get_enum (value);
      break;
    case PROP_RADIUS:
      self->taps.radius_x = g_value_get_int (value);
      break;
    case PROP_RADIUS_Y:
      self->taps.radius_y = g_value_get_int (value);
      break;
    case PROP_TAPS_X:
      set_numbers (self->taps_x, value);
      break;
    case PROP_TAPS_Y:
      set_numbers (self->taps_y, value);
      break;
    case PROP_TERMS_X:
      set_terms (self->terms_x, value);
      break;
    case PROP_TERMS_Y:
      set_terms (self->terms_y, value);
      break;
    case PROP_NORMALIZE:
      self->taps.normalize = g_value_get_boolean (value);
      break;
    case PROP_GRADIENT:
      self->gradient = (GstCudaSepconvGradient) g_value_get_enum (value);
      break;
    default:
      return FALSE;
  }
  borrow_arrays (self);
  return TRUE;
}

gboolean
gst_sepconv_kernel_get (const GstSepconvKernel *self, guint id, GValue *value)
{
  const gdouble *number = find_number ((GstSepconvKernel *) self, id);

  if (number != NULL) {
    g_value_set_double (value, *number);
    return TRUE;
  }
  switch (id) {
    case PROP_KERNEL:
      g_value_set_enum (value, (gint) self->taps.kernel);
      break;
    case PROP_RADIUS:
      g_value_set_int (value, self->taps.radius_x);
      break;
    case PROP_RADIUS_Y:
      g_value_set_int (value, self->taps.radius_y);
      break;
    case PROP_TAPS_X:
      get_numbers (self->taps_x, value);
      break;
    case PROP_TAPS_Y:
      get_numbers (self->taps_y, value);
      break;
    case PROP_TERMS_X:
      get_terms (self->terms_x, value);
      break;
    case PROP_TERMS_Y:
      get_terms (self->terms_y, value);
      break;
    case PROP_NORMALIZE:
      g_value_set_boolean (value, self->taps.normalize);
      break;
    case PROP_GRADIENT:
      g_value_set_enum (value, (gint) self->gradient);
      break;
    default:
      return FALSE;
  }
  return TRUE;
}

/* Kernels */

gboolean
gst_sepconv_kernel_is_gradient (TapsKernel kernel)
{
  return kernel == TAPS_SOBEL || kernel == TAPS_SCHARR
      || kernel == TAPS_PREWITT;
}

gboolean
gst_sepconv_kernel_finds_edges (TapsKernel kernel)
{
  return (kernel >= TAPS_SOBEL_X && kernel <= TAPS_PREWITT_Y)
      || gst_sepconv_kernel_is_gradient (kernel) || kernel == TAPS_LAPLACIAN
      || kernel == TAPS_LOG || kernel == TAPS_DOG;
}

void
gst_sepconv_kernel_get_combine (const GstSepconvKernel *self, SepconvSpec *spec)
{
  spec->amount = self->amount;
  spec->threshold = self->threshold;
  if (self->taps.kernel == TAPS_UNSHARP)
    spec->combine = SEPCONV_UNSHARP;
  else if (!gst_sepconv_kernel_is_gradient (self->taps.kernel))
    spec->combine = SEPCONV_SUM;
  else
    spec->combine = self->gradient == GST_CUDA_SEPCONV_MAGNITUDE
        ? SEPCONV_MAGNITUDE
        : SEPCONV_DIRECTION;
}

gint
gst_sepconv_kernel_make (const GstSepconvKernel *self, gint depth, gint sub_x,
    gint sub_y, GstSepconvTaps *taps, Fault *fault)
{
  TapsSettings settings = self->taps;
  gint n;

  settings.depth = depth;
  if (settings.kernel == TAPS_TERMS && self->terms_y->len > 0
      && self->terms_y->len != self->terms_x->len) {
    fault_set (fault, FAULT_SETTINGS,
        "terms-y has %u terms, but terms-x has %u.", self->terms_y->len,
        self->terms_x->len);
    return 0;
  }
  return taps_make_terms (&settings, sub_x, sub_y, taps->x, taps->y, &n, fault)
      ? n
      : 0;
}
