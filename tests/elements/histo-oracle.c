/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "histo-oracle.h"

#include <math.h>
#include <string.h>

/* ---- messages ------------------------------------------------------------ */

GstMessage *
histo_message (Filter *filter)
{
  GstMessage *message = gst_bus_pop_filtered (filter->bus,
      GST_MESSAGE_ELEMENT | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);

  expect (message != NULL, "no message");
  expect (gst_message_has_name (message, "cudahisto"),
      "a message of another kind: %" GST_PTR_FORMAT, (gpointer) message);
  return message;
}

void
histo_expect_silence (Filter *filter)
{
  GstMessage *message = gst_bus_pop_filtered (filter->bus,
      GST_MESSAGE_ELEMENT | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);

  expect (message == NULL, "one message too many: %.200s of %" GST_TIME_FORMAT,
      GST_MESSAGE_TYPE_NAME (message),
      GST_TIME_ARGS (histo_time (message, "timestamp")));
}

static const GValue *
components_of (GstMessage *message)
{
  const GValue *array = gst_structure_get_value (
      gst_message_get_structure (message), "components");

  expect (
      array && GST_VALUE_HOLDS_ARRAY (array), "components are not an array");
  return array;
}

guint
histo_n_components (GstMessage *message)
{
  return gst_value_array_get_size (components_of (message));
}

const GstStructure *
histo_component (GstMessage *message, guint i)
{
  const GValue *value = gst_value_array_get_value (components_of (message), i);

  expect (GST_VALUE_HOLDS_STRUCTURE (value), "component %u is a %s", i,
      G_VALUE_TYPE_NAME (value));
  return gst_value_get_structure (value);
}

GstClockTime
histo_time (GstMessage *message, const char *field)
{
  GstClockTime time = GST_CLOCK_TIME_NONE;

  expect (gst_structure_get_clock_time (
              gst_message_get_structure (message), field, &time),
      "no %s", field);
  return time;
}

gboolean
histo_flag (GstMessage *message, const char *field)
{
  gboolean flag = FALSE;

  expect (gst_structure_get_boolean (
              gst_message_get_structure (message), field, &flag),
      "no %s", field);
  return flag;
}

double
histo_number (const GstStructure *structure, const char *field)
{
  double number = 0.0;

  expect (gst_structure_get_double (structure, field, &number), "no %s", field);
  return number;
}

guint64 *
histo_bins (const GstStructure *component, guint *n)
{
  const GValue *array = gst_structure_get_value (component, "bins");
  guint64 *counts;

  expect (array && GST_VALUE_HOLDS_ARRAY (array), "bins are not an array");
  *n = gst_value_array_get_size (array);
  counts = g_new (guint64, *n);
  for (guint i = 0; i < *n; i++) {
    const GValue *value = gst_value_array_get_value (array, i);

    expect (G_VALUE_HOLDS_UINT64 (value), "bin %u is a %s", i,
        G_VALUE_TYPE_NAME (value));
    counts[i] = g_value_get_uint64 (value);
  }
  return counts;
}

/* ---- what is counted ----------------------------------------------------- */

static const char *
component_name (const GstVideoInfo *info, guint c)
{
  static const char *const rgb[] = { "R", "G", "B", "A" };
  static const char *const yuv[] = { "Y", "U", "V", "A" };

  return GST_VIDEO_INFO_IS_RGB (info) ? rgb[c] : yuv[c];
}

/* Whether one of the words joined by '+' is `word` or "all". */
static gboolean
names_plane (const char *planes, const char *word)
{
  char **words = g_strsplit (planes, "+", -1);
  const gboolean named = g_strv_contains ((const char *const *) words, word)
      || g_strv_contains ((const char *const *) words, "all");

  g_strfreev (words);
  return named;
}

/* RGB cannot be split: only "color" selects it, as a whole. */
static gboolean
is_counted (const GstVideoInfo *info, guint c, const char *settings)
{
  char *planes = settings_get (settings, "planes");
  gboolean counted;

  if (planes == NULL)
    planes = g_strdup ("color");
  if (c == GST_VIDEO_COMP_A)
    counted = names_plane (planes, "alpha");
  else if (names_plane (planes, "color"))
    counted = TRUE;
  else if (GST_VIDEO_INFO_IS_RGB (info))
    counted = FALSE;
  else
    counted = names_plane (planes, c == 0 ? "luma" : "chroma");
  g_free (planes);
  return counted;
}

gboolean
histo_has_planes (const GstVideoInfo *info, const char *settings)
{
  char *planes = settings_get (settings, "planes");
  gboolean refused, any = FALSE;

  refused = planes != NULL && GST_VIDEO_INFO_IS_RGB (info)
      && (strstr (planes, "luma") || strstr (planes, "chroma"));
  g_free (planes);
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info); c++)
    any = any || is_counted (info, c, settings);
  return any && !refused;
}

static guint
component_depth (const GstVideoInfo *info, guint c)
{
  return (guint) picture_depth (info, c);
}

static guint
wanted_bins (const char *settings)
{
  return (guint) setting_number (settings, "bins", 256);
}

/* Subtracts the samples of a component from its bins; returns NULL or a description of
 * the difference. */
static char *
take_away (guint64 *counts, guint bins, GstBuffer *picture,
    const GstVideoInfo *info, guint c)
{
  const guint depth = component_depth (info, c);
  char *problem = NULL;
  gsize n;
  guint16 *samples = picture_samples (picture, info, c, &n);

  for (gsize i = 0; i < n && !problem; i++) {
    const guint64 bin = ((guint64) samples[i] * bins) >> depth;

    if (counts[bin]-- == 0)
      problem =
          g_strdup_printf ("bin %u misses sample %" G_GSIZE_FORMAT ", code %u",
              (guint) bin, i, samples[i]);
  }
  for (guint bin = 0; bin < bins && !problem; bin++)
    if (counts[bin] != 0)
      problem = g_strdup_printf (
          "bin %u has %" G_GUINT64_FORMAT " too many", bin, counts[bin]);
  g_free (samples);
  return problem;
}

/* Checks one component, whose reported name must be `name`, on a copy of its
 * counters. */
static char *
compare_component (const char *name, guint depth, guint64 *counts, guint bins,
    GstBuffer *picture, const GstVideoInfo *info, guint c, const char *settings)
{
  char *inner, *problem;

  if (g_strcmp0 (name, component_name (info, c)) != 0)
    return g_strdup_printf ("%s is called %s", component_name (info, c), name);
  if (depth != component_depth (info, c))
    return g_strdup_printf ("%s has a depth of %u", name, depth);
  if (bins != wanted_bins (settings))
    return g_strdup_printf ("%s has %u bins", name, bins);
  inner = take_away (counts, bins, picture, info, c);
  problem = inner == NULL ? NULL : g_strdup_printf ("%s: %s", name, inner);
  g_free (inner);
  return problem;
}

/* Adds the picture and the settings to a problem's description. */
static char *
in_full (char *problem, const GstVideoInfo *info, const char *settings)
{
  char *full;

  if (problem == NULL)
    return NULL;
  full = g_strdup_printf ("%s %dx%d [%s] %s", GST_VIDEO_INFO_NAME (info),
      GST_VIDEO_INFO_WIDTH (info), GST_VIDEO_INFO_HEIGHT (info), settings,
      problem);
  g_free (problem);
  return full;
}

static char *
compare_counts (const GstStructure *component, GstBuffer *picture,
    const GstVideoInfo *info, guint c, const char *settings)
{
  guint64 samples = 0, sum = 0;
  guint depth = 0, bins;
  guint64 *counts = histo_bins (component, &bins);
  char *problem;

  gst_structure_get_uint (component, "depth", &depth);
  gst_structure_get_uint64 (component, "samples", &samples);
  for (guint bin = 0; bin < bins; bin++)
    sum += counts[bin];
  problem = sum != samples
      ? g_strdup_printf ("the bins of %u add up to %" G_GUINT64_FORMAT
                         " instead of %" G_GUINT64_FORMAT,
          c, sum, samples)
      : compare_component (gst_structure_get_string (component, "name"), depth,
          counts, bins, picture, info, c, settings);
  g_free (counts);
  return problem;
}

char *
histo_compare (GstMessage *message, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings)
{
  const guint n = histo_n_components (message);
  char *problem = NULL;
  guint at = 0;

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info) && !problem; c++) {
    if (!is_counted (info, c, settings))
      continue;
    problem = at == n ? g_strdup_printf ("no %s", component_name (info, c))
                      : compare_counts (histo_component (message, at++),
                          picture, info, c, settings);
  }
  if (problem == NULL && at != n)
    problem = g_strdup_printf ("%u components instead of %u", n, at);
  return in_full (problem, info, settings);
}

char *
histo_compare_meta (const GstCudaHistogramMeta *meta, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings)
{
  char *problem = NULL;
  guint at = 0;

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info) && !problem; c++) {
    const GstCudaHistogramComponent *component = &meta->component[at];
    guint64 *counts;

    if (!is_counted (info, c, settings))
      continue;
    if (at++ == meta->n_components || component->component != c)
      return in_full (
          g_strdup_printf ("no %s", component_name (info, c)), info, settings);
    counts = g_new (guint64, meta->bins);
    memcpy (counts, component->counts, meta->bins * sizeof *counts);
    problem = compare_component (component->name, component->depth, counts,
        meta->bins, picture, info, c, settings);
    g_free (counts);
  }
  if (problem == NULL && at != meta->n_components)
    problem =
        g_strdup_printf ("%u components instead of %u", meta->n_components, at);
  return in_full (problem, info, settings);
}

/* Moves the counts of all codes to those that the codes are stored as; each code has a bin of its
 * own. */
static void
round_counts (guint64 *counts, guint bins, const GstVideoInfo *info, guint c)
{
  for (guint code = 0; code < 256; code++) {
    const guint from = code * bins / 256;
    const guint to = picture_rounded (info, c, code) * bins / 256;
    const guint64 moved = counts[from];

    counts[from] = 0;
    counts[to] += moved;
  }
}

void
histo_expect_result (GstMessage *message, GstBuffer *result,
    const GstVideoInfo *info, const char *settings)
{
  if (!picture_is_rounded (info)) {
    histo_expect (message, result, info, settings);
    return;
  }
  for (guint c = 0; c < histo_n_components (message); c++) {
    const GstStructure *component = histo_component (message, c);
    guint depth = 0, bins;
    guint64 *counts = histo_bins (component, &bins);
    char *problem = NULL;

    gst_structure_get_uint (component, "depth", &depth);
    if (bins >= 256) {
      round_counts (counts, bins, info, c);
      problem = compare_component (gst_structure_get_string (component, "name"),
          depth, counts, bins, result, info, c, settings);
    }
    problem = in_full (problem, info, settings);
    expect (problem == NULL, "%s", problem);
    g_free (counts);
  }
  gst_message_unref (message);
}

void
histo_expect (GstMessage *message, GstBuffer *picture, const GstVideoInfo *info,
    const char *settings)
{
  char *problem = histo_compare (message, picture, info, settings);

  expect (problem == NULL, "%s", problem);
  gst_message_unref (message);
}

/* ---- statistics ---------------------------------------------------------- */

/* The samples of a component, each at the centre of its bin. */
typedef struct
{
  double *value; /* ascending */
  gsize n;
  double black, white; /* of the nominal range */
} Samples;

/* The nominal range by ITU-R BT.601 and BT.709. Limited range, for `depth` bits: 16 to
 * 235 for Y', R', G', B', 16 to 240 for chroma, both times 2^(depth - 8). Full range: 0
 * to all ones; chroma extends equally far on both sides of its zero. */
static void
nominal_range (const GstVideoInfo *info, guint c, double *black, double *white)
{
  const double step = ldexp (1.0, (int) component_depth (info, c) - 8);
  const double full = ldexp (1.0, (int) component_depth (info, c)) - 1.0;
  const gboolean limited =
      info->colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235;
  const gboolean chroma = GST_VIDEO_INFO_IS_YUV (info) && (c == 1 || c == 2);

  if (c == GST_VIDEO_COMP_A) {
    *black = 0.0;
    *white = full;
  } else if (limited) {
    *black = 16.0 * step;
    *white = (chroma ? 240.0 : 235.0) * step;
  } else {
    *black = chroma ? 128.0 * step - full / 2.0 : 0.0;
    *white = *black + full;
  }
}

/* The centre of each code's bin, found by going through all codes of the bin. */
static double *
bin_centers (guint depth, guint bins)
{
  const guint codes = 1u << depth;
  double *center = g_new (double, codes);

  for (guint first = 0, end; first < codes; first = end) {
    const guint64 bin = ((guint64) first * bins) >> depth;

    for (end = first; end < codes && ((guint64) end * bins) >> depth == bin;)
      end++;
    for (guint code = first; code < end; code++)
      center[code] = (first + end - 1) / 2.0;
  }
  return center;
}

static int
by_value (const void *a, const void *b)
{
  const double difference = *(const double *) a - *(const double *) b;

  return (difference > 0.0) - (difference < 0.0);
}

static Samples
expand (GstBuffer *picture, const GstVideoInfo *info, guint c, guint bins)
{
  double *center = bin_centers (component_depth (info, c), bins);
  Samples samples;
  guint16 *codes = picture_samples (picture, info, c, &samples.n);

  samples.value = g_new (double, samples.n);
  for (gsize i = 0; i < samples.n; i++)
    samples.value[i] = center[codes[i]];
  qsort (samples.value, samples.n, sizeof (double), by_value);
  nominal_range (info, c, &samples.black, &samples.white);
  g_free (codes);
  g_free (center);
  return samples;
}

static double
mean_of (const Samples *samples)
{
  double sum = 0.0;

  for (gsize i = 0; i < samples->n; i++)
    sum += samples->value[i];
  return sum / (double) samples->n;
}

static double
deviation_of (const Samples *samples)
{
  const double mean = mean_of (samples);
  double sum = 0.0;

  for (gsize i = 0; i < samples->n; i++)
    sum += (samples->value[i] - mean) * (samples->value[i] - mean);
  return sqrt (sum / (double) samples->n);
}

/* The lowest sample such that at least `hundredths` % of all samples are not above
 * it. */
static double
quantile_of (const Samples *samples, gsize hundredths)
{
  return samples->value[(samples->n * hundredths + 99) / 100 - 1];
}

static double
entropy_of (const Samples *samples)
{
  double entropy = 0.0;

  for (gsize first = 0, end; first < samples->n; first = end) {
    double share;

    for (end = first;
         end < samples->n && samples->value[end] == samples->value[first];)
      end++;
    share = (double) (end - first) / (double) samples->n;
    entropy -= share * log2 (share);
  }
  return entropy;
}

/* The share of samples at or below this level (sign 1), or at or above it (sign -1). */
static double
share_beyond (const Samples *samples, double level, int sign)
{
  const double code =
      samples->black + level * (samples->white - samples->black);
  gsize n = 0;

  for (gsize i = 0; i < samples->n; i++)
    n += sign * samples->value[i] <= sign * code;
  return (double) n / (double) samples->n;
}

static char *
compare_numbers (
    const GstStructure *component, const Samples *samples, const char *settings)
{
  const double dark = setting_number (settings, "threshold-dark", 0.02);
  const double bright = setting_number (settings, "threshold-bright", 0.98);
  const struct
  {
    const char *name;
    double want;
  } rows[] = {
    { "min", samples->value[0] },
    { "max", samples->value[samples->n - 1] },
    { "mean", mean_of (samples) },
    { "stddev", deviation_of (samples) },
    { "median", quantile_of (samples, 50) },
    { "p1", quantile_of (samples, 1) },
    { "p99", quantile_of (samples, 99) },
    { "entropy", entropy_of (samples) },
    { "dark", share_beyond (samples, dark, 1) },
    { "bright", share_beyond (samples, bright, -1) },
  };

  for (guint r = 0; r < G_N_ELEMENTS (rows); r++) {
    const double got = histo_number (component, rows[r].name);

    /* The sums add many samples in another order. */
    if (fabs (got - rows[r].want) > 1e-9 * (1.0 + fabs (rows[r].want)))
      return g_strdup_printf ("%s has a %s of %.12g instead of %.12g",
          gst_structure_get_string (component, "name"), rows[r].name, got,
          rows[r].want);
  }
  return NULL;
}

/* The weight of a component in the brightness of a frame. */
static double
brightness_weight (const GstVideoInfo *info, guint c)
{
  double kr = 0.2126, kb = 0.0722;

  if (!GST_VIDEO_INFO_IS_RGB (info) || c == GST_VIDEO_COMP_A)
    return c == 0 ? 1.0 : 0.0;
  gst_video_color_matrix_get_Kr_Kb (info->colorimetry.matrix, &kr, &kb);
  return c == 0 ? kr : c == 1 ? 1.0 - kr - kb : kb;
}

char *
histo_compare_statistics (GstMessage *message, GstBuffer *picture,
    const GstVideoInfo *info, const char *settings)
{
  const GstStructure *whole = gst_message_get_structure (message);
  double level = 0.0, spread = 0.0;
  char *problem = NULL;
  guint at = 0;

  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (info) && !problem; c++) {
    const double weight = brightness_weight (info, c);
    Samples samples;

    if (!is_counted (info, c, settings))
      continue;
    samples = expand (picture, info, c, wanted_bins (settings));
    problem =
        compare_numbers (histo_component (message, at++), &samples, settings);
    if (weight > 0.0) {
      const double range = samples.white - samples.black;

      level += weight * (mean_of (&samples) - samples.black) / range;
      spread = fmax (spread, deviation_of (&samples) / range);
    }
    g_free (samples.value);
  }
  if (problem == NULL && fabs (histo_number (whole, "level") - level) > 1e-9)
    problem = g_strdup_printf ("level is %.12g instead of %.12g",
        histo_number (whole, "level"), level);
  if (problem == NULL && fabs (histo_number (whole, "spread") - spread) > 1e-9)
    problem = g_strdup_printf ("spread is %.12g instead of %.12g",
        histo_number (whole, "spread"), spread);
  return in_full (problem, info, settings);
}
