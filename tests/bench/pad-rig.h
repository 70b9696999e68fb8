/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pad-rig: an element between two bare pads: what is pushed goes straight in, what
 * comes out is handed straight to the owner, with no queue on either side. */
#pragma once

#include <gst/video/video.h>

typedef struct PadRig PadRig;

/* What the owner does with what comes out, on the element's threads. All may be
 * NULL: buffers are dropped then, and the rest is taken as a sink would. */
typedef struct
{
  GstFlowReturn (*chain) (gpointer owner, GstBuffer *buffer); /* takes it */
  void (*event) (gpointer owner, GstEvent *event);
  void (*query) (gpointer owner, GstQuery *query); /* serialized ones */
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
  const gchar *memory;  /* caps feature that the sink insists on; NULL: it takes anything */

  /* Of the caps set last. */
  GstCaps *caps;
  GstVideoInfo info;
  GstBufferPool *pool; /* of input buffers, active */
  gboolean proposed;   /* it is the one that the element offered */
};

/* "name=value name=value" */
void pad_rig_apply (GstElement *element, const gchar *settings);

/* An element with these settings, in state NULL. FALSE: there is none. */
gboolean pad_rig_init (PadRig *rig, const gchar *factory, const gchar *settings,
    const PadRigSink *handle, gpointer owner);
void pad_rig_clear (PadRig *rig);

/* To PLAYING, with active pads; stream-start, caps and segment are to follow. */
gboolean pad_rig_start (PadRig *rig);
/* To READY; pads forget the stream. */
void pad_rig_stop (PadRig *rig);

GstEvent *pad_rig_segment (void);

/* Pushes caps, and negotiates a pool of at least `buffers`, no fewer and no
 * more. FALSE: refused. */
gboolean pad_rig_set_caps (PadRig *rig, GstCaps *caps, guint buffers);
GstCaps *pad_rig_caps (const gchar *format, gint width, gint height);

/* The next error on the bus, to be freed; NULL: none. Drops other messages. */
gchar *pad_rig_take_error (PadRig *rig);
/* The same of any bus. */
gchar *pad_rig_take_error_of (GstBus *bus);
