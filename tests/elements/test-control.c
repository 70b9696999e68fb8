/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Properties driven by a GstControlSource: each frame gets the value at its own stream
 * time, also while frames before it are in flight. */
#include "flight-fixture.h"

#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#define FRAMES 6
#define WIDTH 320
#define HEIGHT 240
/* Stream time runs ahead of timestamps by this much. */
#define AHEAD (3600 * GST_SECOND)

/* A property that changes in equal steps from one value to another, one step a frame. */
typedef struct
{
  const char *settings, *property;
  double from, to;
} Ramp;

#define REGIONS "cudasepconv roi-mode=inside"
#define COUNT "cudahisto interval=0 bins=64"
#define EQUALIZE "cudahisto interval=0 mode=equalize"
#define OVERLAY "cudahisto interval=0 mode=overlay"

static const Ramp ramps[] = {
  { "cudasepconv", "sigma", 0.5, 5.5 },
  { "cudasepconv", "sigma-y", 0.5, 5.5 },
  { "cudasepconv kernel=box", "radius", 0, 10 },
  { "cudasepconv kernel=box radius=2", "radius-y", 0, 10 },
  { "cudasepconv kernel=dog bias=0.5", "sigma-outer", 2.5, 7.5 },
  { "cudasepconv kernel=unsharp", "amount", -1, 4 },
  { "cudasepconv kernel=unsharp", "threshold", 0, 0.1 },
  { "cudasepconv", "scale", 0.5, 3 },
  { "cudasepconv", "bias", -0.3, 0.3 },
  { "cudasepconv border=constant", "border-color", 0xff000000, 0xff0000fa },
  { REGIONS " roi-fill=solid", "roi-grow", 0, 1 },
  { REGIONS, "roi-strength", 0, 0.5 },
  { REGIONS, "roi-feather", 0, 1 },
  { REGIONS " roi-fill=solid", "roi-color", 0xff000000, 0xff0000fa },
  { REGIONS " roi-fill=solid", "roi-hold", 0, 100000000 },
  { COUNT, "threshold-dark", 0, 1 },
  { COUNT, "threshold-bright", 1, 0 },
  { COUNT, "alarm-dark", 0, 1 },
  { COUNT, "alarm-bright", 1, 0 },
  { COUNT, "alarm-flat", 0, 1 },
  { COUNT, "alarm-scene", 0.9, 0.1 },
  { COUNT " alarm-dark=0.34", "alarm-hysteresis", 0, 0.5 },
  { EQUALIZE, "strength", 0, 1 },
  { EQUALIZE, "smoothing", 0, 0.9 },
  { EQUALIZE " equalizer=clahe", "clip-limit", 1, 11 },
  { OVERLAY, "overlay-width", 0.2, 0.8 },
  { OVERLAY, "overlay-height", 0.2, 0.8 },
  { OVERLAY, "overlay-margin", 0, 0.4 },
  { OVERLAY, "overlay-opacity", 0, 1 },
  { OVERLAY, "overlay-background-opacity", 0, 1 },
  { OVERLAY " threshold-dark=0.5", "overlay-clip-share", 0, 1 },
};

static double
ramp_value (const Ramp *ramp, guint n)
{
  return ramp->from + (ramp->to - ramp->from) * n / (FRAMES - 1);
}

static void
set_value (GstElement *element, const Ramp *ramp, guint n)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_DOUBLE);
  g_value_set_double (&value, ramp_value (ramp, n));
  g_object_set_property (G_OBJECT (element), ramp->property, &value);
  g_value_unset (&value);
}

static GstClockTime
frame_time (guint n)
{
  return n * GST_SECOND / 30;
}

/* Sets one value per frame, at its stream time, which holds until the next. */
static void
control (GstElement *element, const Ramp *ramp)
{
  GstControlSource *source = gst_interpolation_control_source_new ();
  GstTimedValueControlSource *timed = GST_TIMED_VALUE_CONTROL_SOURCE (source);

  g_object_set (source, "mode", GST_INTERPOLATION_MODE_NONE, NULL);
  for (guint n = 0; n < FRAMES; n++)
    gst_timed_value_control_source_set (
        timed, AHEAD + frame_time (n), ramp_value (ramp, n));
  expect (gst_object_add_control_binding (GST_OBJECT (element),
              gst_direct_control_binding_new_absolute (
                  GST_OBJECT (element), ramp->property, source)),
      "%s cannot be controlled", ramp->property);
  gst_object_unref (source);
}

/* Frames with some contrast, alternately dark and bright; every other one has a region. */
static GstBuffer *
make_frame (const Flight *flight, guint n)
{
  GstBuffer *buffer = flight_frame (flight, n);
  GstMapInfo map;

  expect (gst_buffer_map (buffer, &map, GST_MAP_WRITE), "no frame");
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = (guint8) ((n % 2 == 0 ? 60 : 80) + i * 7 % 41);
  gst_buffer_unmap (buffer, &map);
  if (n % 2 == 0)
    gst_buffer_add_video_region_of_interest_meta (
        buffer, "face", 120, 90, 50, 40);
  return buffer;
}

typedef enum
{
  CONTROLLED, /* by a control source, with frames in flight behind a slow sink */
  SET,        /* by the application before each frame, one after the other */
  CONSTANT    /* with the first value */
} Way;

/* An output frame and the message about it as text, which the caller frees. */
static char *
describe (Flight *flight)
{
  GstBuffer *out = flight_pull (flight);
  GstMessage *message =
      gst_bus_pop_filtered (flight->filter.bus, GST_MESSAGE_ELEMENT);
  char *text, *sum, *said;
  GstMapInfo map;

  expect (gst_buffer_map (out, &map, GST_MAP_READ), "no result");
  sum = g_compute_checksum_for_data (G_CHECKSUM_MD5, map.data, map.size);
  gst_buffer_unmap (out, &map);
  said = message == NULL
      ? g_strdup ("nothing")
      : gst_structure_to_string (gst_message_get_structure (message));
  text = g_strdup_printf ("%s, %s", sum, said);
  if (message != NULL)
    gst_message_unref (message);
  gst_buffer_unref (out);
  g_free (said);
  g_free (sum);
  return text;
}

static void
run (const Ramp *ramp, Way way, char *frames[FRAMES])
{
  char *settings = g_strdup_printf ("%s ring-depth=8", ramp->settings);
  Flight *flight = flight_open (settings, "NV12", WIDTH, HEIGHT, NULL);
  GstElement *element = flight->filter.element;
  GstSegment segment;

  test_context ("%s, %s", settings, ramp->property);
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.time = AHEAD;
  flight_send (flight, gst_event_new_segment (&segment));
  if (way == CONTROLLED) {
    control (element, ramp);
    flight_set_jitter (flight, 20000, 1);
  }
  for (guint n = 0; n < FRAMES; n++) {
    if (way != CONTROLLED)
      set_value (element, ramp, way == SET ? n : 0);
    expect (gst_harness_push (flight->filter.harness, make_frame (flight, n))
            == GST_FLOW_OK,
        "frame %u is not taken", n);
    if (way != CONTROLLED)
      frames[n] = describe (flight);
  }
  if (way == CONTROLLED)
    for (guint n = 0; n < FRAMES; n++)
      frames[n] = describe (flight);
  flight_close (flight);
  g_free (settings);
}

static void
check_ramp (const Ramp *ramp)
{
  char *controlled[FRAMES], *set[FRAMES], *constant[FRAMES];
  gboolean differs = FALSE;

  run (ramp, CONTROLLED, controlled);
  run (ramp, SET, set);
  run (ramp, CONSTANT, constant);
  for (guint n = 0; n < FRAMES; n++) {
    expect (g_str_equal (controlled[n], set[n]),
        "frame %u is %.600s instead of %.600s", n, controlled[n], set[n]);
    differs = differs || !g_str_equal (set[n], constant[n]);
    g_free (controlled[n]);
    g_free (set[n]);
    g_free (constant[n]);
  }
  expect (differs, "it has no effect");
}

static void
control_each_frame (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (ramps); i++)
    check_ramp (&ramps[i]);
}

static gboolean
is_in_ramps (const char *element, const char *property)
{
  for (guint i = 0; i < G_N_ELEMENTS (ramps); i++)
    if (g_str_has_prefix (ramps[i].settings, element)
        && g_str_equal (ramps[i].property, property))
      return TRUE;
  return FALSE;
}

/* The properties that can be controlled are exactly those that the test above controls. */
static void
control_is_complete (void)
{
  static const char *const names[] = { "cudasepconv", "cudahisto" };

  for (guint e = 0; e < G_N_ELEMENTS (names); e++) {
    GstElement *element = element_make (names[e]);
    GParamSpec **specs;
    guint n;

    specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);
    for (guint i = 0; i < n; i++)
      expect (!!(specs[i]->flags & GST_PARAM_CONTROLLABLE)
              == is_in_ramps (names[e], specs[i]->name),
          "%s.%s: controllable is %d", names[e], specs[i]->name,
          !!(specs[i]->flags & GST_PARAM_CONTROLLABLE));
    g_free (specs);
    gst_object_unref (element);
  }
}

const Test tests_control[] = {
  { "control-each-frame", control_each_frame, VARIANT_BOTH },
  { "control-is-complete", control_is_complete, VARIANT_ANY },
  { 0 },
};
