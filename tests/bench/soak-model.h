/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* soak-model: what must come out of an element, in which order, and what did. */
#pragma once

#include <gst/gst.h>

typedef enum
{
  SOAK_FRAMES,  /* lost, repeated, out of order, or not what went in */
  SOAK_EVENTS,  /* the same of events */
  SOAK_QUERIES, /* serialized ones that overtook something */
  SOAK_FLOW,    /* pushes that return something else than they should */
  SOAK_ERRORS,  /* messages that nothing gave cause for */
  N_SOAK_KINDS
} SoakKind;

/* A frame, by its number, or an event, by its type and a number. */
typedef struct
{
  GstEventType event; /* GST_EVENT_UNKNOWN: a frame */
  guint64 id;
} SoakItem;

typedef struct
{
  GMutex lock;   /* protects all below, from the thread that pushes and those of
                  the element */
  GArray *items; /* of SoakItem; the first `head` have come out */
  guint head;
  gboolean may_drop; /* items that are missing before others are no loss */
  const gchar *doing;
  guint64 frames_out, events_out, frames_dropped;
  guint problems[N_SOAK_KINDS];
} SoakModel;

void soak_model_init (SoakModel *model);
void soak_model_clear (SoakModel *model);

/* What happens now, for messages; static. */
void soak_model_doing (SoakModel *model, const gchar *doing);
/* Before the item is pushed. */
void soak_model_expect (SoakModel *model, SoakItem item);
void soak_model_arrived (SoakModel *model, SoakItem item);
/* From now on, until the reset, what has not come out may have been dropped. */
void soak_model_may_drop (SoakModel *model);
/* Nothing that was expected may still come. */
void soak_model_reset (SoakModel *model);
/* Everything must have come out, unless it may have been dropped. */
void soak_model_expect_empty (SoakModel *model, SoakKind kind);

void soak_model_problem (SoakModel *model, SoakKind kind, const gchar *format,
    ...) G_GNUC_PRINTF (3, 4);
