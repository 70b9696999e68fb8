/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pad-rig.h"

#include <string.h>

#include "foreign-pool.h"

static GstFlowReturn
on_chain (GstPad *pad, GstObject *parent, GstBuffer *buffer)
{
  PadRig *rig = gst_pad_get_element_private (pad);

  (void) parent;
  if (rig->handle.chain != NULL)
    return rig->handle.chain (rig->owner, buffer);
  gst_buffer_unref (buffer);
  return GST_FLOW_OK;
}

static gboolean
on_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  PadRig *rig = gst_pad_get_element_private (pad);

  (void) parent;
  if (rig->handle.event != NULL)
    rig->handle.event (rig->owner, event);
  gst_event_unref (event);
  return TRUE;
}

static gboolean
answer_allocation (const PadRig *rig, GstQuery *query)
{
  GstVideoInfo info;
  GstCaps *caps;

  gst_query_parse_allocation (query, &caps, NULL);
  if (caps == NULL || !gst_video_info_from_caps (&info, caps))
    return FALSE;
  if (rig->foreign_out) {
    const guint size = (guint) GST_VIDEO_INFO_SIZE (&info);
    GstBufferPool *pool = foreign_pool_new (caps, size, 2);

    gst_query_add_allocation_pool (query, pool, size, 2, 0);
    gst_clear_object (&pool);
  }
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, NULL);
  return TRUE;
}

/* The part of `caps`, which is taken, in this memory. */
static GstCaps *
in_memory (GstCaps *caps, const gchar *memory)
{
  GstCaps *all = gst_caps_new_empty_simple ("video/x-raw"), *both;

  gst_caps_set_features_simple (all, gst_caps_features_new (memory, NULL));
  both = gst_caps_intersect_full (caps, all, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (caps);
  gst_caps_unref (all);
  return both;
}

static gboolean
on_query (GstPad *pad, GstObject *parent, GstQuery *query)
{
  PadRig *rig = gst_pad_get_element_private (pad);
  GstCaps *filter, *caps;

  if (GST_QUERY_IS_SERIALIZED (query) && rig->handle.query != NULL)
    rig->handle.query (rig->owner, query);
  switch (GST_QUERY_TYPE (query)) {
    case GST_QUERY_ALLOCATION:
      return answer_allocation (rig, query);
    case GST_QUERY_DRAIN:
      return TRUE;
    /* The default handler of a pad without a template accepts only its current caps. */
    case GST_QUERY_ACCEPT_CAPS:
      gst_query_set_accept_caps_result (query, TRUE);
      return TRUE;
    case GST_QUERY_CAPS:
      gst_query_parse_caps (query, &filter);
      caps = filter != NULL ? gst_caps_ref (filter) : gst_caps_new_any ();
      if (rig->memory != NULL)
        caps = in_memory (caps, rig->memory);
      gst_query_set_caps_result (query, caps);
      gst_caps_unref (caps);
      return TRUE;
    default:
      return gst_pad_query_default (pad, parent, query);
  }
}

static gboolean
on_source_event (GstPad *pad, GstObject *parent, GstEvent *event)
{
  (void) pad;
  (void) parent;
  gst_event_unref (event);
  return TRUE;
}

void
pad_rig_apply (GstElement *element, const gchar *settings)
{
  gchar **pairs = g_strsplit (settings, " ", -1);

  for (gint i = 0; pairs[i] != NULL; i++) {
    gchar *value = strchr (pairs[i], '=');

    if (value == NULL)
      continue;
    *value++ = '\0';
    if (g_object_class_find_property (G_OBJECT_GET_CLASS (element), pairs[i])
        == NULL)
      g_error ("%s has no property %s", GST_OBJECT_NAME (element), pairs[i]);
    gst_util_set_object_arg (G_OBJECT (element), pairs[i], value);
  }
  g_strfreev (pairs);
}

/* Drops element messages, which nobody reads, so that they do not pile up on the
 * bus. */
static GstBusSyncReply
drop_reports (GstBus *bus, GstMessage *message, gpointer user)
{
  (void) bus;
  (void) user;
  if (GST_MESSAGE_TYPE (message) != GST_MESSAGE_ELEMENT)
    return GST_BUS_PASS;
  gst_message_unref (message);
  return GST_BUS_DROP;
}

static GstPad *
new_pad (PadRig *rig, const gchar *name, GstPadDirection direction)
{
  GstPad *pad = gst_pad_new (name, direction);

  gst_object_ref_sink (pad);
  gst_pad_set_element_private (pad, rig);
  return pad;
}

static gboolean
link_pads (PadRig *rig)
{
  GstPad *in = gst_element_get_static_pad (rig->element, "sink");
  GstPad *out = gst_element_get_static_pad (rig->element, "src");
  gboolean ok;

  rig->source = new_pad (rig, "bench-source", GST_PAD_SRC);
  rig->sink = new_pad (rig, "bench-sink", GST_PAD_SINK);
  gst_pad_set_event_function (rig->source, on_source_event);
  gst_pad_set_chain_function (rig->sink, on_chain);
  gst_pad_set_event_function (rig->sink, on_event);
  gst_pad_set_query_function (rig->sink, on_query);
  ok = in != NULL && out != NULL
      && gst_pad_link (rig->source, in) == GST_PAD_LINK_OK
      && gst_pad_link (out, rig->sink) == GST_PAD_LINK_OK;
  gst_clear_object (&in);
  gst_clear_object (&out);
  return ok;
}

gboolean
pad_rig_init (PadRig *rig, const gchar *factory, const gchar *settings,
    const PadRigSink *handle, gpointer owner)
{
  memset (rig, 0, sizeof *rig);
  rig->element = gst_element_factory_make (factory, NULL);
  if (rig->element == NULL)
    return FALSE;
  gst_object_ref_sink (rig->element);
  rig->bus = gst_bus_new ();
  gst_bus_set_sync_handler (rig->bus, drop_reports, NULL, NULL);
  gst_element_set_bus (rig->element, rig->bus);
  pad_rig_apply (rig->element, settings);
  rig->handle = *handle;
  rig->owner = owner;
  if (link_pads (rig))
    return TRUE;
  pad_rig_clear (rig);
  return FALSE;
}

static void
drop_pool (PadRig *rig)
{
  if (rig->pool != NULL)
    gst_buffer_pool_set_active (rig->pool, FALSE);
  gst_clear_object (&rig->pool);
  gst_clear_caps (&rig->caps);
}

void
pad_rig_clear (PadRig *rig)
{
  gst_element_set_state (rig->element, GST_STATE_NULL);
  if (rig->source != NULL) {
    gst_pad_set_active (rig->source, FALSE);
    gst_pad_set_active (rig->sink, FALSE);
  }
  drop_pool (rig);
  gst_clear_object (&rig->source);
  gst_clear_object (&rig->sink);
  gst_element_set_bus (rig->element, NULL);
  gst_bus_set_flushing (rig->bus, TRUE);
  gst_clear_object (&rig->bus);
  gst_clear_object (&rig->element);
}

GstEvent *
pad_rig_segment (void)
{
  GstSegment segment;

  gst_segment_init (&segment, GST_FORMAT_TIME);
  return gst_event_new_segment (&segment);
}

gboolean
pad_rig_start (PadRig *rig)
{
  gst_pad_set_active (rig->sink, TRUE);
  gst_pad_set_active (rig->source, TRUE);
  return gst_element_set_state (rig->element, GST_STATE_PLAYING)
      != GST_STATE_CHANGE_FAILURE;
}

void
pad_rig_stop (PadRig *rig)
{
  gst_element_set_state (rig->element, GST_STATE_READY);
  gst_pad_set_active (rig->source, FALSE);
  gst_pad_set_active (rig->sink, FALSE);
  drop_pool (rig);
}

GstCaps *
pad_rig_caps (const gchar *format, gint width, gint height)
{
  return gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, format,
      "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, "framerate",
      GST_TYPE_FRACTION, 30, 1, NULL);
}

/* The pool that the element proposes, or NULL. */
static GstBufferPool *
proposed_pool (PadRig *rig, guint *size)
{
  GstQuery *query = gst_query_new_allocation (rig->caps, TRUE);
  GstBufferPool *pool = NULL;

  if (gst_pad_peer_query (rig->source, query)
      && gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (query, 0, &pool, size, NULL, NULL);
  gst_query_unref (query);
  return pool;
}

static gboolean
make_pool (PadRig *rig, guint buffers)
{
  guint size = (guint) GST_VIDEO_INFO_SIZE (&rig->info);
  GstBufferPool *pool = proposed_pool (rig, &size);
  GstStructure *config;

  if (rig->foreign_in)
    gst_clear_object (&pool);
  rig->proposed = pool != NULL;
  if (pool == NULL)
    pool = gst_video_buffer_pool_new ();
  config = gst_buffer_pool_get_config (pool);
  gst_buffer_pool_config_set_params (config, rig->caps, size, buffers, buffers);
  rig->pool = pool;
  return gst_buffer_pool_set_config (pool, config)
      && gst_buffer_pool_set_active (pool, TRUE);
}

gboolean
pad_rig_set_caps (PadRig *rig, GstCaps *caps, guint buffers)
{
  drop_pool (rig);
  rig->caps = gst_caps_ref (caps);
  return gst_video_info_from_caps (&rig->info, caps)
      && gst_pad_push_event (rig->source, gst_event_new_caps (caps))
      && make_pool (rig, buffers);
}

gchar *
pad_rig_take_error (PadRig *rig)
{
  return pad_rig_take_error_of (rig->bus);
}

gchar *
pad_rig_take_error_of (GstBus *bus)
{
  GstMessage *message = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
  GError *error = NULL;
  gchar *detail = NULL, *text;

  if (message == NULL)
    return NULL;
  gst_message_parse_error (message, &error, &detail);
  text = g_strdup_printf ("%s (%s)", error->message, detail ? detail : "");
  g_clear_error (&error);
  g_free (detail);
  gst_message_unref (message);
  return text;
}
