/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pad-rig: an element between two bare pads. Buffers are pushed straight into the
 * element, and its output goes straight to the owner: there is no queue on either
 * side. */
#pragma once

#include <gst/video/video.h>

typedef struct PadRig PadRig;

/* Handlers of the owner for the element's output, called on the element's threads. Each
 * may be NULL: buffers are then dropped, and all else is answered as a sink would. */
typedef struct
{
  GstFlowReturn (*chain) (gpointer owner, GstBuffer *buffer); /* owns it */
  void (*event) (gpointer owner, GstEvent *event);
  void (*query) (gpointer owner, GstQuery *query); /* serialized queries only */
} PadRigSink;

struct PadRig
{
  GstElement *element;
  GstBus *bus;
  GstPad *source, *sink; /* ours, linked to the element's */
  PadRigSink handle;
  gpointer owner;
  gboolean foreign_in;  /* input buffers are not from the element's pool */
  gboolean foreign_out; /* the sink insists on a pool of its own */
  const gchar *memory;  /* caps feature that the sink needs; NULL: any */

  /* The caps that were set last. */
  GstCaps *caps;
  GstVideoInfo info;
  GstBufferPool *pool; /* for input buffers; active */
  gboolean proposed;   /* `pool` is the one that the element proposed */
};

/* Sets properties from "name=value name=value". */
void pad_rig_apply (GstElement *element, const gchar *settings);

/* Makes an element with these settings, in state NULL. FALSE: there is no such
 * element. */
gboolean pad_rig_init (PadRig *rig, const gchar *factory, const gchar *settings,
    const PadRigSink *handle, gpointer owner);
void pad_rig_clear (PadRig *rig);

/* Sets the element to PLAYING and activates the pads. The caller then sends
 * stream-start, caps and segment. */
gboolean pad_rig_start (PadRig *rig);
/* Sets the element to READY; the pads forget the stream. */
void pad_rig_stop (PadRig *rig);

GstEvent *pad_rig_segment (void);

/* Pushes caps, and negotiates a pool of exactly `buffers` buffers. FALSE: the caps are
 * refused. */
gboolean pad_rig_set_caps (PadRig *rig, GstCaps *caps, guint buffers);
GstCaps *pad_rig_caps (const gchar *format, gint width, gint height);

/* Returns the next error on the bus, which the caller frees, or NULL. Drops other
 * messages. */
gchar *pad_rig_take_error (PadRig *rig);
/* The same for any bus. */
gchar *pad_rig_take_error_of (GstBus *bus);
