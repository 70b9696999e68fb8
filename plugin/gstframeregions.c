/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifdef HAVE_GSTANALYTICS
#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>
#endif

#include "gstframeregions.h"

#include "gstframecrop.h"

#include <math.h>

/* In pixels: an edge of a zone this close to a whole pixel lies on it, since fractions of a
 * frame are rarely exact. */
#define ZONE_TOLERANCE 1e-6

typedef struct
{
  gboolean timed; /* `time` is known */
  gint64 time;    /* stream time, or the timestamp; in nanoseconds */
  gint64 arrival; /* on the monotonic clock, in nanoseconds */
  gint direction; /* of time from frame to frame: 1 or -1 */
} Moment;

typedef struct
{
  Region region;
  GQuark type;
  gint id;     /* > 0, or none */
  Moment last; /* of the frame that reported it */
} Object;

/* Context in which the objects of a frame are reported. */
typedef struct
{
  GstFrameRegions *self;
  const GstSepconvRegions *settings;
  gint crop_x, crop_y; /* origin of the frame in the coordinates of the metas */
  Moment now;
} Frame;

void
gst_frame_regions_init (GstFrameRegions *self)
{
  *self = (GstFrameRegions){
    .regions = g_array_new (FALSE, FALSE, sizeof (Region)),
    .reported = g_array_new (FALSE, FALSE, sizeof (Object)),
    .held = g_array_new (FALSE, FALSE, sizeof (Object)),
  };
}

void
gst_frame_regions_clear (GstFrameRegions *self)
{
  g_array_unref (self->regions);
  g_array_unref (self->reported);
  g_array_unref (self->held);
}

void
gst_frame_regions_forget (GstFrameRegions *self)
{
  g_array_set_size (self->held, 0);
}

/* Rectangles */

static gint
clamp_edge (gint64 edge)
{
  return (gint) CLAMP (edge, -REGIONS_MAX_EDGE, REGIONS_MAX_EDGE);
}

/* FALSE: the rectangle is empty. */
static gboolean
set_region (Region *region, gint64 x, gint64 y, gint64 width, gint64 height)
{
  *region = (Region){ clamp_edge (x), clamp_edge (y), clamp_edge (x + width),
    clamp_edge (y + height) };
  return region->right > region->left && region->bottom > region->top;
}

static void
round_outward (
    gdouble start, gdouble length, gint size, gint64 *first, gint64 *n)
{
  const gdouble limit = REGIONS_MAX_EDGE;
  const gdouble from = floor (start * size + ZONE_TOLERANCE);
  const gdouble to = ceil ((start + length) * size - ZONE_TOLERANCE);

  *first = (gint64) CLAMP (from, -limit, limit);
  *n = (gint64) CLAMP (to, -limit, limit) - *first;
  /* Both edges lie within the tolerance of one whole pixel. */
  if (*n < 1)
    *n = 1;
}

static void
add_zones (GstFrameRegions *self, const GstSepconvRegions *settings)
{
  for (guint i = 0; i < settings->zones->len; i++) {
    const GstSepconvZone *zone =
        &g_array_index (settings->zones, GstSepconvZone, i);
    gint64 x, y, width, height;
    Region region;

    if (zone->width == 0.0 || zone->height == 0.0)
      continue;
    round_outward (zone->left, zone->width, self->width, &x, &width);
    round_outward (zone->top, zone->height, self->height, &y, &height);
    if (set_region (&region, x, y, width, height))
      g_array_append_val (self->regions, region);
  }
}

/* Time */

/* Returns the time of a frame: its stream time, which seeks and playback rates do not change. */
static Moment
moment_of (const GstBuffer *buffer, const GstSegment *segment)
{
  const GstClockTime pts = GST_BUFFER_PTS (buffer);
  Moment now = { .timed = GST_CLOCK_TIME_IS_VALID (pts),
    .time = (gint64) pts,
    .arrival = g_get_monotonic_time () * (gint64) GST_USECOND,
    .direction = 1 };
  guint64 time;
  gint sign;

  if (!now.timed || segment->format != GST_FORMAT_TIME)
    return now;
  if (segment->rate < 0.0)
    now.direction = -1;
  sign = gst_segment_to_stream_time_full (segment, GST_FORMAT_TIME, pts, &time);
  if (sign != 0) {
    now.time = sign * (gint64) time;
    if (segment->applied_rate < 0.0)
      now.direction = -now.direction;
  }
  return now;
}

/* Returns the time from a frame to a later one; negative if `now` lies before `then` in the
 * order of playback. */
static gint64
time_between (const Moment *then, const Moment *now)
{
  return then->timed && now->timed ? (now->time - then->time) * now->direction
                                   : now->arrival - then->arrival;
}

/* Objects */

static void
report (const Frame *frame, GQuark type, gint id, gint64 x, gint64 y,
    gint64 width, gint64 height)
{
  Object object = { .type = type, .id = id, .last = frame->now };

  if (gst_sepconv_regions_choose (frame->settings, type)
      && set_region (
          &object.region, x - frame->crop_x, y - frame->crop_y, width, height))
    g_array_append_val (frame->self->reported, object);
}

static void
report_regions_of_interest (const Frame *frame, GstBuffer *buffer)
{
  const GstVideoRegionOfInterestMeta *meta;
  gpointer state = NULL;

  while ((meta = (const GstVideoRegionOfInterestMeta *)
                 gst_buffer_iterate_meta_filtered (buffer, &state,
                     GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))
      != NULL)
    report (
        frame, meta->roi_type, meta->id, meta->x, meta->y, meta->w, meta->h);
}

#ifdef HAVE_GSTANALYTICS
/* Ids of detections number them within one buffer: they say nothing about other frames. */
static void
report_detections (const Frame *frame, GstBuffer *buffer)
{
  GstAnalyticsRelationMeta *meta =
      gst_buffer_get_analytics_relation_meta (buffer);
  gpointer state = NULL;
  GstAnalyticsODMtd detection;
  gint x, y, width, height;

  while (meta != NULL
      && gst_analytics_relation_meta_iterate (
          meta, &state, gst_analytics_od_mtd_get_mtd_type (), &detection))
    if (gst_analytics_od_mtd_get_location (
            &detection, &x, &y, &width, &height, NULL)
        && width > 0 && height > 0)
      report (frame, gst_analytics_od_mtd_get_obj_type (&detection), 0, x, y,
          width, height);
}
#endif

static gboolean
has_centre_of (const Region *a, const Region *b)
{
  const gint x2 = b->left + b->right, y2 = b->top + b->bottom;

  return x2 >= 2 * a->left && x2 < 2 * a->right && y2 >= 2 * a->top
      && y2 < 2 * a->bottom;
}

static gboolean
replaces (const Object *object, const Object *earlier)
{
  if (object->type != earlier->type)
    return FALSE;
  return (object->id > 0 && object->id == earlier->id)
      || has_centre_of (&object->region, &earlier->region)
      || has_centre_of (&earlier->region, &object->region);
}

static gboolean
is_still_held (const Frame *frame, const Object *earlier)
{
  const GArray *reported = frame->self->reported;
  const gint64 age = time_between (&earlier->last, &frame->now);

  if (age < 0 || (guint64) age > frame->settings->hold
      || !gst_sepconv_regions_choose (frame->settings, earlier->type))
    return FALSE;
  for (guint i = 0; i < reported->len; i++)
    if (replaces (&g_array_index (reported, Object, i), earlier))
      return FALSE;
  return TRUE;
}

/* Drops objects that are not held any longer, and adds those of this frame. */
static void
update_held (const Frame *frame)
{
  GstFrameRegions *self = frame->self;
  guint kept = 0;

  for (guint i = 0; i < self->held->len && frame->settings->hold > 0; i++) {
    const Object earlier = g_array_index (self->held, Object, i);

    if (is_still_held (frame, &earlier))
      g_array_index (self->held, Object, kept++) = earlier;
  }
  g_array_set_size (self->held, kept);
  if (self->reported->len > 0)
    g_array_append_vals (self->held, self->reported->data, self->reported->len);
}

/* Forgets held objects when the frame size changes. */
static void
follow_size (GstFrameRegions *self, const GstVideoInfo *info)
{
  if (self->width != GST_VIDEO_INFO_WIDTH (info)
      || self->height != GST_VIDEO_INFO_FIELD_HEIGHT (info))
    gst_frame_regions_forget (self);
  self->width = GST_VIDEO_INFO_WIDTH (info);
  self->height = GST_VIDEO_INFO_FIELD_HEIGHT (info);
}

void
gst_frame_regions_collect (GstFrameRegions *self, GstBuffer *buffer,
    const GstVideoInfo *info, const GstSegment *segment,
    const GstSepconvRegions *settings)
{
  const GstVideoCropMeta *crop = gst_frame_crop_find (buffer, info);
  Frame frame = {
    .self = self, .settings = settings, .now = moment_of (buffer, segment)
  };

  if (crop != NULL)
    gst_frame_crop_get_origin (crop, info->finfo, &frame.crop_x, &frame.crop_y);
  follow_size (self, info);
  g_array_set_size (self->regions, 0);
  g_array_set_size (self->reported, 0);
  report_regions_of_interest (&frame, buffer);
#ifdef HAVE_GSTANALYTICS
  report_detections (&frame, buffer);
#endif
  update_held (&frame);
  for (guint i = 0; i < self->held->len; i++)
    g_array_append_val (
        self->regions, g_array_index (self->held, Object, i).region);
  add_zones (self, settings);
}
