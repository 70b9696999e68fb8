/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <gst/pbutils/pbutils.h>

#include "input-streams.h"
#include "subtitle-text.h"

static gboolean
is_subset_of_template (const GstCaps *caps, GstPadTemplate *template)
{
  GstCaps *takes = gst_pad_template_get_caps (template);
  gboolean subset = gst_caps_is_subset (caps, takes);

  gst_caps_unref (takes);
  return subset;
}

/* Returns the template of the muxer's pads for these caps; NULL: it has none. */
static GstPadTemplate *
find_template (GstElement *muxer, const GstCaps *caps)
{
  const GList *item =
      gst_element_class_get_pad_template_list (GST_ELEMENT_GET_CLASS (muxer));

  for (; item; item = item->next) {
    GstPadTemplate *template = item->data;

    if (GST_PAD_TEMPLATE_DIRECTION (template) == GST_PAD_SINK
        && GST_PAD_TEMPLATE_PRESENCE (template) == GST_PAD_REQUEST
        && is_subset_of_template (caps, template))
      return template;
  }
  return NULL;
}

/* Returns the template of the muxer's pads for the caps of the same media type that a
 * parser can make, such as AAC with other framing; NULL: the muxer has none. */
static GstPadTemplate *
find_template_behind (
    GstElement *muxer, GstElementFactory *parser, const GstCaps *caps)
{
  const gchar *type = gst_structure_get_name (gst_caps_get_structure (caps, 0));
  const GList *made = gst_element_factory_get_static_pad_templates (parser);
  GstPadTemplate *found = NULL;

  for (; made && !found; made = made->next) {
    GstStaticPadTemplate *source = made->data;
    const GList *item =
        gst_element_class_get_pad_template_list (GST_ELEMENT_GET_CLASS (muxer));
    GstCaps *makes;

    if (source->direction != GST_PAD_SRC)
      continue;
    makes = gst_static_pad_template_get_caps (source);
    for (; item && !found; item = item->next) {
      GstPadTemplate *template = item->data;
      GstCaps *takes = gst_pad_template_get_caps (template);
      GstCaps *common = gst_caps_intersect (makes, takes);

      if (GST_PAD_TEMPLATE_DIRECTION (template) == GST_PAD_SINK
          && !gst_caps_is_empty (common)
          && gst_structure_has_name (gst_caps_get_structure (common, 0), type))
        found = template;
      gst_caps_unref (common);
      gst_caps_unref (takes);
    }
    gst_caps_unref (makes);
  }
  return found;
}

/* Returns a parser that makes the stream fit for the muxer without a change of its
 * content, and the template of the muxer's pads for it; NULL: there is none. */
static GstElement *
find_parser (GstElement *muxer, const GstCaps *caps, GstPadTemplate **template)
{
  GList *all = gst_element_factory_list_get_elements (
      GST_ELEMENT_FACTORY_TYPE_PARSER, GST_RANK_MARGINAL);
  GList *fit = gst_element_factory_list_filter (all, caps, GST_PAD_SINK, FALSE);
  GstElement *parser = NULL;

  for (GList *item = fit; item && !parser; item = item->next) {
    *template = find_template_behind (muxer, item->data, caps);
    if (*template)
      parser = gst_element_factory_create (item->data, NULL);
  }
  gst_plugin_feature_list_free (fit);
  gst_plugin_feature_list_free (all);
  return parser;
}

/* Links a stream to the queue. Returns the queue's source pad for it; NULL: it was not
 * linked. */
static GstPad *
link_queue (GstElement *queue, GstPad *pad)
{
  GstPad *sink = gst_element_request_pad_simple (queue, "sink_%u");
  GstPad *source = NULL;

  if (gst_pad_link (pad, sink) == GST_PAD_LINK_OK) {
    GstIterator *inside = gst_pad_iterate_internal_links (sink);
    GValue item = G_VALUE_INIT;

    if (gst_iterator_next (inside, &item) == GST_ITERATOR_OK) {
      source = g_value_dup_object (&item);
      g_value_unset (&item);
    }
    gst_iterator_free (inside);
  }
  gst_object_unref (sink);
  return source;
}

static gboolean
link_decoder (struct input_streams *streams, GstPad *pad)
{
  GstPad *source = link_queue (streams->queue, pad);
  GstPad *sink = gst_element_get_static_pad (streams->decoder, "sink");
  gboolean ok = source && gst_pad_link (source, sink) == GST_PAD_LINK_OK;

  gst_clear_object (&source);
  gst_object_unref (sink);
  return ok;
}

static gboolean
link_parser (struct input_streams *streams, GstElement *parser, GstPad **source)
{
  GstPad *sink = gst_element_get_static_pad (parser, "sink");
  gboolean ok;

  gst_bin_add (GST_BIN (GST_OBJECT_PARENT (streams->queue)), parser);
  ok = gst_pad_link (*source, sink) == GST_PAD_LINK_OK
      && gst_element_sync_state_with_parent (parser);
  gst_object_unref (sink);
  gst_object_unref (*source);
  *source = gst_element_get_static_pad (parser, "src");
  return ok;
}

static gboolean
link_muxer (struct input_streams *streams, GstPad *pad, const GstCaps *caps)
{
  GstPadTemplate *template;
  GstElement *parser = NULL;
  GstPad *source, *sink = NULL;
  GstCaps *stored;
  gboolean ok;

  if (!streams->muxer)
    return FALSE;
  stored = subtitle_text_stored_caps (caps);
  template = find_template (streams->muxer, stored ? stored : caps);
  if (!template)
    parser = find_parser (streams->muxer, caps, &template);
  if (!template) {
    gst_clear_caps (&stored);
    return FALSE;
  }

  source = link_queue (streams->queue, pad);
  ok = source && (!parser || link_parser (streams, parser, &source));
  if (ok)
    sink = gst_element_request_pad (streams->muxer, template, NULL, NULL);
  if (ok && stored)
    subtitle_text_restore (pad);
  /* No check: the queue would still answer a caps query with Pango markup. */
  ok = sink
      && gst_pad_link_maybe_ghosting_full (source, sink,
          stored ? GST_PAD_LINK_CHECK_NOTHING : GST_PAD_LINK_CHECK_DEFAULT);
  gst_clear_caps (&stored);
  gst_clear_object (&source);
  gst_clear_object (&sink);
  return ok;
}

/* Adds the name of a stream, such as "Opus audio", or its caps if GStreamer has no
 * name for them. */
static void
add_name (gchar **names, const GstCaps *caps)
{
  gchar *name = gst_caps_is_fixed (caps)
      ? gst_pb_utils_get_codec_description (caps)
      : NULL;
  gchar *joined;

  if (!name)
    name = gst_caps_to_string (caps);
  joined = *names ? g_strconcat (*names, ", ", name, NULL) : g_strdup (name);
  g_free (name);
  g_free (*names);
  *names = joined;
}

/* Behind a parser that waits for data, a pad has no caps yet; its GstStream has the
 * caps of the parser's input. */
static GstCaps *
get_caps (GstPad *pad)
{
  GstCaps *caps = gst_pad_get_current_caps (pad);
  GstStream *stream = gst_pad_get_stream (pad);

  if (!caps && stream)
    caps = gst_stream_get_caps (stream);
  gst_clear_object (&stream);
  return caps ? caps : gst_pad_query_caps (pad, NULL);
}

static gboolean
is_video (const GstCaps *caps)
{
  const gchar *type = gst_caps_get_size (caps) > 0
      ? gst_structure_get_name (gst_caps_get_structure (caps, 0))
      : "";

  return g_str_has_prefix (type, "video/") || g_str_has_prefix (type, "image/");
}

gboolean
input_streams_is_video (GstPad *pad)
{
  GstCaps *caps = get_caps (pad);
  gboolean found = is_video (caps);

  gst_caps_unref (caps);
  return found;
}

gboolean
input_streams_begin (const GstPadProbeInfo *info)
{
  return !(info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM)
      || GST_EVENT_TYPE (info->data) == GST_EVENT_EOS;
}

void
input_streams_link (struct input_streams *streams, GstPad *pad)
{
  GstCaps *caps = get_caps (pad);
  const gchar *type = "";

  if (gst_caps_get_size (caps) > 0)
    type = gst_structure_get_name (gst_caps_get_structure (caps, 0));
  streams->n_audio += g_str_has_prefix (type, "audio/");
  if (is_video (caps) && !streams->have_video)
    streams->have_video = link_decoder (streams, pad);
  else if (!is_video (caps) && link_muxer (streams, pad, caps))
    add_name (&streams->passed, caps);
  else
    add_name (&streams->left_out, caps);
  gst_caps_unref (caps);
}

void
input_streams_clear (struct input_streams *streams)
{
  gst_clear_object (&streams->muxer);
  g_clear_pointer (&streams->passed, g_free);
  g_clear_pointer (&streams->left_out, g_free);
}
