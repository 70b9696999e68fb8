/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "soak-model.h"

#include <stdio.h>

/* Problems of a kind that are printed; all are counted. */
#define TOLD 5

void
soak_model_init (SoakModel *model)
{
  g_mutex_init (&model->lock);
  model->items = g_array_new (FALSE, FALSE, sizeof (SoakItem));
  model->doing = "nothing";
}

void
soak_model_clear (SoakModel *model)
{
  g_array_unref (model->items);
  g_mutex_clear (&model->lock);
}

static const gchar *
item_type (SoakItem item)
{
  return item.event == GST_EVENT_UNKNOWN ? "frame"
                                         : gst_event_type_get_name (item.event);
}

/* To be called with the lock held. */
static void
tell (SoakModel *model, SoakKind kind, const gchar *format, va_list args)
{
  if (model->problems[kind]++ < TOLD) {
    printf ("  during \"%s\": ", model->doing);
    vprintf (format, args);
    printf ("\n");
    fflush (stdout);
  }
}

static void G_GNUC_PRINTF (3, 4)
    problem (SoakModel *model, SoakKind kind, const gchar *format, ...)
{
  va_list args;

  va_start (args, format);
  tell (model, kind, format, args);
  va_end (args);
}

void
soak_model_problem (SoakModel *model, SoakKind kind, const gchar *format, ...)
{
  va_list args;

  g_mutex_lock (&model->lock);
  va_start (args, format);
  tell (model, kind, format, args);
  va_end (args);
  g_mutex_unlock (&model->lock);
}

void
soak_model_doing (SoakModel *model, const gchar *doing)
{
  g_mutex_lock (&model->lock);
  model->doing = doing;
  g_mutex_unlock (&model->lock);
}

void
soak_model_expect (SoakModel *model, SoakItem item)
{
  g_mutex_lock (&model->lock);
  if (model->head == model->items->len) {
    g_array_set_size (model->items, 0);
    model->head = 0;
  }
  g_array_append_val (model->items, item);
  g_mutex_unlock (&model->lock);
}

/* Index of an item among those that have not come out, or -1. */
static gint
find (const SoakModel *model, SoakItem item)
{
  for (guint i = model->head; i < model->items->len; i++) {
    const SoakItem *other = &g_array_index (model->items, SoakItem, i);

    if (other->event == item.event && other->id == item.id)
      return (gint) i;
  }
  return -1;
}

/* Counts all items before `end` as missing. */
static void
skip_to (SoakModel *model, guint end)
{
  for (; model->head < end; model->head++) {
    const SoakItem *lost = &g_array_index (model->items, SoakItem, model->head);
    const gboolean frame = lost->event == GST_EVENT_UNKNOWN;

    model->frames_dropped += frame;
    if (!model->may_drop)
      problem (model, frame ? SOAK_FRAMES : SOAK_EVENTS,
          "%s %" G_GUINT64_FORMAT " was lost", item_type (*lost), lost->id);
  }
}

void
soak_model_arrived (SoakModel *model, SoakItem item)
{
  const gboolean frame = item.event == GST_EVENT_UNKNOWN;
  gint at;

  g_mutex_lock (&model->lock);
  at = find (model, item);
  if (at < 0) {
    problem (model, frame ? SOAK_FRAMES : SOAK_EVENTS,
        "%s %" G_GUINT64_FORMAT " came late, twice, or from nowhere",
        item_type (item), item.id);
  } else {
    skip_to (model, (guint) at);
    model->head++;
  }
  model->frames_out += frame;
  model->events_out += !frame;
  g_mutex_unlock (&model->lock);
}

void
soak_model_may_drop (SoakModel *model)
{
  g_mutex_lock (&model->lock);
  model->may_drop = TRUE;
  g_mutex_unlock (&model->lock);
}

void
soak_model_reset (SoakModel *model)
{
  g_mutex_lock (&model->lock);
  skip_to (model, model->items->len);
  model->may_drop = FALSE;
  g_mutex_unlock (&model->lock);
}

void
soak_model_expect_empty (SoakModel *model, SoakKind kind)
{
  g_mutex_lock (&model->lock);
  if (!model->may_drop && model->head < model->items->len)
    problem (model, kind, "%u frames and events were still to come",
        model->items->len - model->head);
  g_mutex_unlock (&model->lock);
}
