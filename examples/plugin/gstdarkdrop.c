/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * SECTION:element-darkdrop
 *
 * Drops frames that are darker than a level. It counts nothing itself: cudahisto or
 * cudasepconv before it have counted the frame and left the histogram on its buffer, on the GPU
 * if there is one. A frame without a histogram passes.
 *
 * |[
 * gst-launch-1.0 videotestsrc pattern=blink ! cudahisto attach-meta=true interval=0 ! darkdrop ! autovideosink
 * ]|
 */
#include <gst/base/gstbasetransform.h>
#include <gst/cudasepconv/gstcudahistogrammeta.h>

GST_DEBUG_CATEGORY_STATIC (gst_dark_drop_debug);
#define GST_CAT_DEFAULT gst_dark_drop_debug

#define DEFAULT_LEVEL 0.1

G_DECLARE_FINAL_TYPE (
    GstDarkDrop, gst_dark_drop, GST, DARK_DROP, GstBaseTransform)

struct _GstDarkDrop
{
  GstBaseTransform parent;
  gdouble level; /* of all codes, 0 to 1; protected by the object lock */
};

enum
{
  PROP_0,
  PROP_LEVEL,
};

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));

G_DEFINE_TYPE (GstDarkDrop, gst_dark_drop, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE (
    darkdrop, "darkdrop", GST_RANK_NONE, gst_dark_drop_get_type ())

/* Returns the mean bin of the first component, luma or red: 0 is the lowest bin, 1 the highest. */
static gdouble
mean_level (const GstCudaHistogramMeta *meta)
{
  const guint64 *counts = meta->component[0].counts;
  gdouble samples = 0, sum = 0;

  for (guint bin = 0; bin < meta->bins; bin++) {
    samples += (gdouble) counts[bin];
    sum += (gdouble) counts[bin] * bin;
  }
  return sum / samples / (meta->bins - 1);
}

static GstFlowReturn
gst_dark_drop_transform_ip (GstBaseTransform *transform, GstBuffer *buffer)
{
  GstDarkDrop *self = GST_DARK_DROP (transform);
  const GstCudaHistogramMeta *meta =
      gst_buffer_get_cuda_histogram_meta (buffer);
  gdouble level, mean;

  if (meta == NULL || meta->n_components == 0)
    return GST_FLOW_OK;
  GST_OBJECT_LOCK (self);
  level = self->level;
  GST_OBJECT_UNLOCK (self);
  mean = mean_level (meta);
  GST_LOG_OBJECT (
      self, "mean level %f of %" GST_PTR_FORMAT, mean, (gpointer) buffer);
  return mean < level ? GST_BASE_TRANSFORM_FLOW_DROPPED : GST_FLOW_OK;
}

static void
gst_dark_drop_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  GstDarkDrop *self = GST_DARK_DROP (object);

  GST_OBJECT_LOCK (self);
  if (id == PROP_LEVEL)
    self->level = g_value_get_double (value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_dark_drop_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  GstDarkDrop *self = GST_DARK_DROP (object);

  GST_OBJECT_LOCK (self);
  if (id == PROP_LEVEL)
    g_value_set_double (value, self->level);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID (object, id, spec);
  GST_OBJECT_UNLOCK (self);
}

static void
gst_dark_drop_class_init (GstDarkDropClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_dark_drop_debug, "darkdrop", 0, "darkdrop");
  object_class->set_property = gst_dark_drop_set_property;
  object_class->get_property = gst_dark_drop_get_property;
  g_object_class_install_property (object_class, PROP_LEVEL,
      g_param_spec_double ("level", "Level",
          "Frames whose mean luma is lower are dropped (0 = black, 1 = the highest code)",
          0, 1, DEFAULT_LEVEL, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
  gst_element_class_set_static_metadata (element_class, "Dark frame dropper",
      "Filter/Video", "Drops dark frames by their histogram meta",
      "gst-cudasepconv developers");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  GST_BASE_TRANSFORM_CLASS (klass)->transform_ip = gst_dark_drop_transform_ip;
}

static void
gst_dark_drop_init (GstDarkDrop *self)
{
  self->level = DEFAULT_LEVEL;
  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (self), TRUE);
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (darkdrop, plugin);
}

#define PACKAGE "darkdrop"
GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, darkdrop,
    "Drops dark frames", plugin_init, "1.0", "LGPL", PACKAGE,
    "Unknown package origin")
