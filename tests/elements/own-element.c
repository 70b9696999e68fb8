/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "own-element.h"

#include <dlfcn.h>
#include <gst/cudasepconv/gstcudaframefilter.h>
#include <string.h>

/* The driver calls that the elements use; a build without CUDA does not have the driver's
 * headers. An address of pinned host memory is a GPU address, too. */
typedef unsigned long long DeviceAddress;

static struct
{
  int (*malloc_host) (void **memory, size_t bytes);
  int (*free_host) (void *memory);
  int (*copy) (DeviceAddress to, DeviceAddress from, size_t bytes,
      struct CUstream_st *stream);
  int (*copy_down) (void *to, DeviceAddress from, size_t bytes,
      struct CUstream_st *stream);
  int (*fill) (DeviceAddress to, size_t pitch, unsigned char value,
      size_t width, size_t height, struct CUstream_st *stream);
} driver;

typedef struct
{
  GstCudaFrameFilter parent;

  /* Protected by the object lock. */
  guint mark;
  char *use, *refuse, *fail;
  guint held;

  /* Owned by the streaming thread. */
  guint mark_now;
  guint8 *first; /* first byte of each slot's frame; pinned on a GPU */
  guint slots;
} OwnElement;

typedef struct
{
  GstCudaFrameFilterClass parent_class;
} OwnElementClass;

enum
{
  PROP_0,
  PROP_MARK,
  PROP_USE,
  PROP_REFUSE,
  PROP_FAIL,
  PROP_HELD,
};

GType own_element_get_type (void);
G_DEFINE_TYPE (OwnElement, own_element, GST_TYPE_CUDA_FRAME_FILTER)

static gboolean
fails (OwnElement *self, const char *place, GError **error)
{
  gboolean fails;

  GST_OBJECT_LOCK (self);
  fails = g_strcmp0 (self->fail, place) == 0;
  GST_OBJECT_UNLOCK (self);
  if (fails)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
        "%s fails on purpose.", place);
  return fails;
}

static gboolean
own_element_takes_format (
    GstCudaFrameFilter *filter, const GstVideoFormatInfo *format, GError **why)
{
  OwnElement *self = (OwnElement *) filter;
  gboolean refused;

  GST_OBJECT_LOCK (self);
  refused = g_strcmp0 (self->refuse, format->name) == 0;
  GST_OBJECT_UNLOCK (self);
  if (refused)
    g_set_error (why, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "%s is refused on purpose.", format->name);
  return !refused;
}

static void
count_held (OwnElement *self, int change)
{
  GST_OBJECT_LOCK (self);
  self->held = (guint) ((int) self->held + change);
  GST_OBJECT_UNLOCK (self);
}

static gboolean
own_element_prepare (GstCudaFrameFilter *filter, const GstVideoInfo *info,
    GstCudaFrameUse *use, GError **error)
{
  OwnElement *self = (OwnElement *) filter;

  g_assert (info == gst_cuda_frame_filter_get_info (filter));
  if (fails (self, "prepare", error))
    return FALSE;
  GST_OBJECT_LOCK (self);
  self->mark_now = self->mark;
  *use = g_strcmp0 (self->use, "read") == 0 ? GST_CUDA_FRAME_READ
      : g_strcmp0 (self->use, "pass") == 0  ? GST_CUDA_FRAME_PASS
                                            : GST_CUDA_FRAME_WRITE;
  GST_OBJECT_UNLOCK (self);
  if (self->first == NULL) {
    self->slots = gst_cuda_frame_filter_get_depth (filter);
    if (!gst_cuda_frame_filter_uses_gpu (filter)) {
      self->first = g_malloc (self->slots);
    } else if (driver.malloc_host ((void **) &self->first, self->slots) != 0) {
      self->first = NULL;
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
          "There is no pinned memory.");
      return FALSE;
    }
    count_held (self, 1);
  }
  return TRUE;
}

static void
own_element_release (GstCudaFrameFilter *filter)
{
  OwnElement *self = (OwnElement *) filter;

  if (self->first == NULL)
    return;
  if (gst_cuda_frame_filter_uses_gpu (filter))
    driver.free_host (self->first);
  else
    g_free (self->first);
  self->first = NULL;
  count_held (self, -1);
}

static gboolean
own_element_compute_cuda (GstCudaFrameFilter *filter, const GstCudaFrame *src,
    const GstCudaFrame *dst, guint slot, struct CUstream_st *stream,
    GError **error)
{
  OwnElement *self = (OwnElement *) filter;
  int result = 0;

  if (fails (self, "cuda", error))
    return FALSE;
  g_assert (slot < self->slots);
  result = driver.copy_down (&self->first[slot],
      (DeviceAddress) (guintptr) src->data[0], 1, stream);
  for (guint p = 0; dst != NULL && p < src->n_planes; p++) {
    const DeviceAddress from = (DeviceAddress) (guintptr) src->data[p];
    const DeviceAddress to = (DeviceAddress) (guintptr) dst->data[p];

    for (gint y = 0; y < src->rows[p] && result == 0; y++)
      result = driver.copy (to + (DeviceAddress) (y * dst->stride[p]),
          from + (DeviceAddress) (y * src->stride[p]), src->row_bytes[p],
          stream);
    if (result == 0 && src->rows[p] > 0 && self->mark_now > 0)
      result = driver.fill (to, (size_t) dst->stride[p], OWN_VALUE,
          MIN (self->mark_now, dst->row_bytes[p]), (size_t) dst->rows[p],
          stream);
  }
  if (result != 0)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
        "The GPU did not take the work: CUDA error %d.", result);
  return result == 0;
}

static gboolean
own_element_compute_cpu (GstCudaFrameFilter *filter, const GstCudaFrame *src,
    const GstCudaFrame *dst, guint slot, GError **error)
{
  OwnElement *self = (OwnElement *) filter;

  if (fails (self, "cpu", error) || fails (self, "mute", NULL))
    return FALSE;
  g_assert (slot < self->slots);
  self->first[slot] = src->data[0][0];
  for (guint p = 0; dst != NULL && p < src->n_planes; p++)
    for (gint y = 0; y < src->rows[p]; y++) {
      guint8 *to = dst->data[p] + y * dst->stride[p];

      memcpy (to, src->data[p] + y * src->stride[p], src->row_bytes[p]);
      memset (to, OWN_VALUE, MIN (self->mark_now, dst->row_bytes[p]));
    }
  return TRUE;
}

static GstMessage *
own_element_finish (GstCudaFrameFilter *filter, guint slot, GstBuffer **buffer)
{
  OwnElement *self = (OwnElement *) filter;

  g_assert (GST_IS_BUFFER (*buffer));
  return gst_message_new_element (GST_OBJECT (self),
      gst_structure_new ("own", "slot", G_TYPE_UINT, slot, "first", G_TYPE_UINT,
          (guint) self->first[slot], NULL));
}

static void
own_element_set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
  OwnElement *self = (OwnElement *) object;
  char **text = id == PROP_USE ? &self->use
      : id == PROP_REFUSE      ? &self->refuse
                               : &self->fail;

  (void) spec;
  GST_OBJECT_LOCK (self);
  if (id == PROP_MARK) {
    self->mark = g_value_get_uint (value);
  } else {
    g_free (*text);
    *text = g_value_dup_string (value);
  }
  GST_OBJECT_UNLOCK (self);
  if (id == PROP_REFUSE)
    gst_base_transform_reconfigure_sink (GST_BASE_TRANSFORM (self));
}

static void
own_element_get_property (
    GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  OwnElement *self = (OwnElement *) object;

  (void) spec;
  GST_OBJECT_LOCK (self);
  if (id == PROP_MARK)
    g_value_set_uint (value, self->mark);
  else if (id == PROP_HELD)
    g_value_set_uint (value, self->held);
  else
    g_value_set_string (value,
        id == PROP_USE          ? self->use
            : id == PROP_REFUSE ? self->refuse
                                : self->fail);
  GST_OBJECT_UNLOCK (self);
}

static void
own_element_finalize (GObject *object)
{
  OwnElement *self = (OwnElement *) object;

  g_free (self->use);
  g_free (self->refuse);
  g_free (self->fail);
  G_OBJECT_CLASS (own_element_parent_class)->finalize (object);
}

static void
install_text (GObjectClass *klass, guint id, const char *name)
{
  g_object_class_install_property (klass, id,
      g_param_spec_string (name, name, name, NULL, G_PARAM_READWRITE));
}

static void
own_element_class_init (OwnElementClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstCudaFrameFilterClass *filter_class = GST_CUDA_FRAME_FILTER_CLASS (klass);

  object_class->set_property = own_element_set_property;
  object_class->get_property = own_element_get_property;
  object_class->finalize = own_element_finalize;
  g_object_class_install_property (object_class, PROP_MARK,
      g_param_spec_uint (
          "mark", "mark", "mark", 0, G_MAXUINT, 3, G_PARAM_READWRITE));
  install_text (object_class, PROP_USE, "use");
  install_text (object_class, PROP_REFUSE, "refuse");
  install_text (object_class, PROP_FAIL, "fail");
  g_object_class_install_property (object_class, PROP_HELD,
      g_param_spec_uint (
          "held", "held", "held", 0, G_MAXUINT, 0, G_PARAM_READABLE));
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass),
      "Own element", "Filter/Effect/Video", "For tests", "the tests");
  filter_class->takes_format = own_element_takes_format;
  filter_class->prepare = own_element_prepare;
  filter_class->compute_cuda = own_element_compute_cuda;
  filter_class->compute_cpu = own_element_compute_cpu;
  filter_class->finish = own_element_finish;
  filter_class->release = own_element_release;
}

static void
own_element_init (OwnElement *self)
{
  self->mark = 3;
}

/* Defines a subclass that differs by `change`, a statement on its class. */
#define SUBCLASS(Type, type, change) \
  typedef OwnElement Type; \
  typedef OwnElementClass Type##Class; \
  GType type##_get_type (void); \
  G_DEFINE_TYPE (Type, type, own_element_get_type ()) \
  static void type##_init (Type *self) \
  { \
    (void) self; \
  } \
  static void type##_class_init (Type##Class *klass) \
  { \
    GstCudaFrameFilterClass *filter_class = \
        GST_CUDA_FRAME_FILTER_CLASS (klass); \
    (void) type##_parent_class; \
    change; \
  }

SUBCLASS (OwnFields, own_fields,
    gst_cuda_frame_filter_class_set_fields_apart (filter_class, TRUE))
SUBCLASS (OwnGpu, own_gpu, filter_class->compute_cpu = NULL)
SUBCLASS (OwnCpu, own_cpu, filter_class->compute_cuda = NULL)
SUBCLASS (OwnNothing, own_nothing,
    filter_class->compute_cuda = NULL;
    filter_class->compute_cpu = NULL)

void
own_element_register (void)
{
  static const struct
  {
    const char *name;
    GType (*type) (void);
  } elements[] = {
    { "ownelement", own_element_get_type },
    { "ownfields", own_fields_get_type },
    { "owngpu", own_gpu_get_type },
    { "owncpu", own_cpu_get_type },
    { "ownnothing", own_nothing_get_type },
  };
  /* Without a driver no context is ever current, and none of these is called. */
  void *library = dlopen ("libcuda.so.1", RTLD_NOW);

  if (library != NULL) {
    *(void **) &driver.malloc_host = dlsym (library, "cuMemAllocHost_v2");
    *(void **) &driver.free_host = dlsym (library, "cuMemFreeHost");
    *(void **) &driver.copy = dlsym (library, "cuMemcpyDtoDAsync_v2");
    *(void **) &driver.copy_down = dlsym (library, "cuMemcpyDtoHAsync_v2");
    *(void **) &driver.fill = dlsym (library, "cuMemsetD2D8Async");
  }
  for (guint i = 0; i < G_N_ELEMENTS (elements); i++)
    expect (gst_element_register (
                NULL, elements[i].name, GST_RANK_NONE, elements[i].type ()),
        "%s cannot be registered", elements[i].name);
}
