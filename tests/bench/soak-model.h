/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* soak-model: the frames and events that must come out of an element, in order,
 * compared with those that do. */
#pragma once

#include <gst/gst.h>

typedef enum
{
  SOAK_FRAMES,  /* lost, repeated, out of order, or not what went in */
  SOAK_EVENTS,  /* the same for events */
  SOAK_QUERIES, /* serialized queries that overtook something */
  SOAK_FLOW,    /* pushes with an unexpected flow return */
  SOAK_ERRORS,  /* error messages without a cause */
  N_SOAK_KINDS
} SoakKind;

/* A frame, identified by its number, or an event, by its type and a number. */
typedef struct
{
  GstEventType event; /* GST_EVENT_UNKNOWN: a frame */
  guint64 id;
} SoakItem;

typedef struct
{
  GMutex lock;   /* protects all below, from the thread that pushes and those of
                  the element */
  GArray *items; /* SoakItems; the first `head` have come out */
  guint head;
  gboolean may_drop; /* missing items are no loss */
  const gchar *doing;
  guint64 frames_out, events_out, frames_dropped;
  guint problems[N_SOAK_KINDS];
} SoakModel;

void soak_model_init (SoakModel *model);
void soak_model_clear (SoakModel *model);

/* Names the current operation, for messages. The string must be static. */
void soak_model_doing (SoakModel *model, const gchar *doing);
/* To be called before the item is pushed. */
void soak_model_expect (SoakModel *model, SoakItem item);
void soak_model_arrived (SoakModel *model, SoakItem item);
/* From now on until the reset, items that have not come out yet may have been
 * dropped. */
void soak_model_may_drop (SoakModel *model);
/* Counts all expected items that have not come out as missing, and expects none of them
 * any more. */
void soak_model_reset (SoakModel *model);
/* Expects that everything has come out, unless items may have been dropped. */
void soak_model_expect_empty (SoakModel *model, SoakKind kind);

void soak_model_problem (SoakModel *model, SoakKind kind, const gchar *format,
    ...) G_GNUC_PRINTF (3, 4);
