/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sends many small numbered frames through an element, mixed with random operations:
 * flushes, new caps and settings, end of stream at every fill of the ring, flow returns
 * of downstream, slow sinks, serialized events and queries. */
#include "bench-pipeline.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pad-rig.h"
#include "soak-footprint.h"
#include "soak-model.h"
#include "soak-picture.h"

#define MAX_DEPTH 8
#define BUFFERS (MAX_DEPTH + 4)
#define MAX_BURST 12
/* After this number of frames, a second filter keeps the device's context. */
#define FRAMES_BY_ITSELF 2000
/* An operation that takes longer than this hangs. */
#define HANG_SECONDS 60
/* Allowed growth of resident memory between the two measurements: allocators keep parts
 * of pages in use. */
#define RESIDENT_SLACK_KIB (8.0 * 1024)
#define DEVICE_SLACK_KIB (32.0 * 1024)
/* The driver opens a descriptor now and then; a leak would add one per restart. */
#define DESCRIPTORS_SLACK 4.0

typedef struct
{
  PipelineBench *bench;
  const gchar *backend;
  GRand *random;
  PadRig rig;
  SoakModel model;
  guint64 number;     /* number of the next frame */
  guint64 caps_id;    /* number of the last caps sent */
  guint depth;        /* ring-depth */
  gint sink_sleep_us; /* atomic: longest sleep after a frame */
  gint flow;          /* atomic: flow return that the sink gives once */
  GstVideoInfo
      sink_info; /* of the caps that came out last; element's threads */
} Soak;

typedef void (*SoakOperation) (Soak *soak);

/* For the signal handler, which reports a hang. */
static Soak *watched;

static void
on_alarm (int number)
{
  (void) number;
  printf ("FAIL soak/%s: hangs in \"%s\" before frame %" G_GUINT64_FORMAT
          ", seed %" G_GUINT64_FORMAT "\n"
          "bench-pipeline: %d passed, %d failed, %d skipped\n",
      watched->backend, watched->model.doing, watched->number,
      watched->bench->seed, watched->bench->passed, watched->bench->failed + 1,
      watched->bench->skipped);
  fflush (stdout);
  _exit (1);
}

static gint
pick (Soak *soak, gint low, gint high)
{
  return g_rand_int_range (soak->random, low, high + 1);
}

/* The sink */

static GstFlowReturn
on_buffer (gpointer owner, GstBuffer *buffer)
{
  Soak *soak = owner;
  const guint64 number = GST_BUFFER_OFFSET (buffer);
  const gint sleep_us = g_atomic_int_get (&soak->sink_sleep_us);
  const gint flow = g_atomic_int_get (&soak->flow);

  if (GST_BUFFER_PTS (buffer) != number * GST_MSECOND)
    soak_model_problem (&soak->model, SOAK_FRAMES,
        "frame %" G_GUINT64_FORMAT " has time %" GST_TIME_FORMAT, number,
        GST_TIME_ARGS (GST_BUFFER_PTS (buffer)));
  if (!soak_picture_shows (&soak->sink_info, buffer, number))
    soak_model_problem (&soak->model, SOAK_FRAMES,
        "frame %" G_GUINT64_FORMAT " shows something else", number);
  soak_model_arrived (&soak->model, (SoakItem){ GST_EVENT_UNKNOWN, number });
  gst_buffer_unref (buffer);
  if (sleep_us > 0)
    g_usleep ((gulong) (number * 7919 % (guint64) sleep_us));
  if (flow != GST_FLOW_OK) {
    soak_model_may_drop (&soak->model);
    g_atomic_int_set (&soak->flow, GST_FLOW_OK);
  }
  return (GstFlowReturn) flow;
}

/* The frame rate identifies the caps. */
static void
on_event (gpointer owner, GstEvent *event)
{
  Soak *soak = owner;
  guint64 id = gst_event_get_seqnum (event);
  GstCaps *caps;

  switch (GST_EVENT_TYPE (event)) {
    case GST_EVENT_FLUSH_START:
      return;
    case GST_EVENT_FLUSH_STOP:
      soak_model_reset (&soak->model);
      return;
    case GST_EVENT_CAPS:
      gst_event_parse_caps (event, &caps);
      if (!gst_video_info_from_caps (&soak->sink_info, caps))
        soak_model_problem (&soak->model, SOAK_EVENTS, "caps of no video");
      id = (guint64) soak->sink_info.fps_n;
      break;
    default:
      break;
  }
  soak_model_arrived (&soak->model, (SoakItem){ GST_EVENT_TYPE (event), id });
}

/* Input */

static void
push_event (Soak *soak, GstEvent *event)
{
  const SoakItem item = { GST_EVENT_TYPE (event),
    gst_event_get_seqnum (event) };

  soak_model_expect (&soak->model, item);
  if (!gst_pad_push_event (soak->rig.source, event))
    soak_model_problem (&soak->model, SOAK_EVENTS, "%s was refused",
        gst_event_type_get_name (item.event));
}

static GstFlowReturn
push_frame (Soak *soak)
{
  GstBuffer *buffer = NULL;
  GstFlowReturn flow =
      gst_buffer_pool_acquire_buffer (soak->rig.pool, &buffer, NULL);

  if (flow != GST_FLOW_OK)
    return flow;
  if (!soak_picture_write (&soak->rig.info, buffer, soak->number)) {
    gst_buffer_unref (buffer);
    return GST_FLOW_ERROR;
  }
  GST_BUFFER_PTS (buffer) = soak->number * GST_MSECOND;
  GST_BUFFER_DURATION (buffer) = GST_MSECOND;
  GST_BUFFER_OFFSET (buffer) = soak->number;
  soak_model_expect (
      &soak->model, (SoakItem){ GST_EVENT_UNKNOWN, soak->number });
  soak->number++;
  return gst_pad_push (soak->rig.source, buffer);
}

static void
push_frames (Soak *soak, gint n)
{
  for (gint i = 0; i < n; i++) {
    const GstFlowReturn flow = push_frame (soak);

    if (flow != GST_FLOW_OK) {
      soak_model_problem (&soak->model, SOAK_FLOW,
          "pushing frame %" G_GUINT64_FORMAT " gave %s", soak->number - 1,
          gst_flow_get_name (flow));
      return;
    }
  }
}

static void
set_caps (Soak *soak, const gchar *format, gint width, gint height)
{
  GstCaps *caps = pad_rig_caps (format, width, height);

  soak->caps_id++;
  gst_caps_set_simple (
      caps, "framerate", GST_TYPE_FRACTION, (gint) soak->caps_id, 1, NULL);
  soak_model_expect (&soak->model, (SoakItem){ GST_EVENT_CAPS, soak->caps_id });
  if (!pad_rig_set_caps (&soak->rig, caps, BUFFERS))
    soak_model_problem (
        &soak->model, SOAK_EVENTS, "caps or their pool were refused");
  /* The allocation query is serialized: everything before it must have come out. */
  soak_model_expect_empty (&soak->model, SOAK_QUERIES);
  gst_caps_unref (caps);
}

/* Operations */

static void
change_caps (Soak *soak)
{
  static const gchar *const formats[] = { "GRAY8", "NV12", "I420", "RGBA",
    "YUY2", "RGB", "AYUV" };

  set_caps (soak, formats[pick (soak, 0, G_N_ELEMENTS (formats) - 1)],
      SOAK_PICTURE_WIDTH + 2 * pick (soak, 0, 40), 2 * pick (soak, 8, 50));
}

/* Settings whose kernels stay within SOAK_PICTURE_REACH. */
static void
change_settings (Soak *soak)
{
  static const gchar *const of_both[] = { "sigma=0", "sigma=0.6", "sigma=1.3",
    "sigma=2", "border=replicate", "border=reflect", "border=reflect-101",
    "border=wrap", "kernel=gaussian", "kernel=box", "kernel=binomial",
    "method=auto", "transfer=auto", "transfer=pinned", "transfer=mapped",
    "transfer=pageable", "slices=0", "slices=1", "slices=3", "slices=16" };
  static const gchar *const of_cuda[] = { "method=global", "method=shared" };
  const gboolean cuda = strcmp (soak->backend, "cuda") == 0;
  gchar *depth;

  for (gint i = pick (soak, 1, 3); i > 0; i--)
    pad_rig_apply (
        soak->rig.element, of_both[pick (soak, 0, G_N_ELEMENTS (of_both) - 1)]);
  if (cuda && pick (soak, 0, 3) == 0)
    pad_rig_apply (soak->rig.element, of_cuda[pick (soak, 0, 1)]);
  if (!cuda && pick (soak, 0, 7) == 0)
    pad_rig_apply (soak->rig.element, "method=reference");
  if (pick (soak, 0, 2) == 0) {
    soak->depth = (guint) pick (soak, 1, MAX_DEPTH);
    depth = g_strdup_printf ("ring-depth=%u", soak->depth);
    pad_rig_apply (soak->rig.element, depth);
    g_free (depth);
  }
}

static void
custom_event (Soak *soak)
{
  push_event (soak,
      gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM,
          gst_structure_new_empty ("application/x-bench-soak")));
}

static void
gap_event (Soak *soak)
{
  push_event (soak,
      gst_event_new_gap (soak->number * GST_MSECOND, GST_CLOCK_TIME_NONE));
}

static void
tag_event (Soak *soak)
{
  push_event (
      soak, gst_event_new_tag (gst_tag_list_new (GST_TAG_TITLE, "soak", NULL)));
}

static void
segment_event (Soak *soak)
{
  push_event (soak, pad_rig_segment ());
}

static void
drain_query (Soak *soak)
{
  GstQuery *query = gst_query_new_drain ();

  gst_pad_peer_query (soak->rig.source, query);
  soak_model_expect_empty (&soak->model, SOAK_QUERIES);
  gst_query_unref (query);
}

static void
allocation_query (Soak *soak)
{
  GstQuery *query = gst_query_new_allocation (soak->rig.caps, TRUE);

  gst_pad_peer_query (soak->rig.source, query);
  soak_model_expect_empty (&soak->model, SOAK_QUERIES);
  gst_query_unref (query);
}

static void
reconfigure (Soak *soak)
{
  gst_pad_push_event (soak->rig.sink, gst_event_new_reconfigure ());
}

static void
change_sink_pace (Soak *soak)
{
  g_atomic_int_set (
      &soak->sink_sleep_us, pick (soak, 0, 2) == 0 ? pick (soak, 1, 400) : 0);
}

static void
stop_flushing (Soak *soak)
{
  gst_pad_push_event (soak->rig.source, gst_event_new_flush_stop (TRUE));
  segment_event (soak);
}

static void
flush (Soak *soak)
{
  soak_model_may_drop (&soak->model);
  gst_pad_push_event (soak->rig.source, gst_event_new_flush_start ());
  stop_flushing (soak);
}

static gpointer
flush_after_a_while (gpointer data)
{
  Soak *soak = data;

  g_usleep ((gulong) (soak->number % 7 * 100));
  soak_model_may_drop (&soak->model);
  gst_pad_push_event (soak->rig.source, gst_event_new_flush_start ());
  return NULL;
}

/* Flushes from another thread while the streaming thread pushes or waits for room in
 * the ring. */
static void
flush_from_elsewhere (Soak *soak)
{
  GThread *thread;
  GstFlowReturn flow;

  g_atomic_int_set (&soak->sink_sleep_us, 300);
  thread = g_thread_new ("flush", flush_after_a_while, soak);
  do
    flow = push_frame (soak);
  while (flow == GST_FLOW_OK);
  g_thread_join (thread);
  if (flow != GST_FLOW_FLUSHING)
    soak_model_problem (
        &soak->model, SOAK_FLOW, "a flush gave %s", gst_flow_get_name (flow));
  stop_flushing (soak);
  g_atomic_int_set (&soak->sink_sleep_us, 0);
}

/* EOS with 0 to ring-depth frames in flight, then another stream. */
static void
end_of_stream (Soak *soak)
{
  g_atomic_int_set (&soak->sink_sleep_us, 500);
  push_frames (soak, pick (soak, 0, (gint) soak->depth));
  push_event (soak, gst_event_new_eos ());
  soak_model_expect_empty (&soak->model, SOAK_EVENTS);
  g_atomic_int_set (&soak->sink_sleep_us, 0);
  if (pick (soak, 0, 1) == 0) {
    flush (soak);
  } else {
    push_event (soak, gst_event_new_stream_start ("bench-soak-again"));
    segment_event (soak);
  }
}

static void
take_errors (Soak *soak)
{
  gchar *error;

  while ((error = pad_rig_take_error (&soak->rig)) != NULL) {
    soak_model_problem (&soak->model, SOAK_ERRORS, "%s", error);
    g_free (error);
  }
}

static void
start_stream (Soak *soak)
{
  if (!pad_rig_start (&soak->rig))
    soak_model_problem (&soak->model, SOAK_ERRORS, "it does not start");
  push_event (soak, gst_event_new_stream_start ("bench-soak"));
}

/* Sets the element to READY with frames in flight, and starts it again with other
 * neighbours. */
static void
restart (Soak *soak)
{
  soak_model_may_drop (&soak->model);
  pad_rig_stop (&soak->rig);
  soak_model_reset (&soak->model);
  take_errors (soak);
  g_atomic_int_set (&soak->flow, GST_FLOW_OK);
  soak->rig.foreign_in = pick (soak, 0, 2) == 0;
  soak->rig.foreign_out = pick (soak, 0, 2) == 0;
  start_stream (soak);
  change_caps (soak);
  segment_event (soak);
}

/* Recovers after downstream has returned `flow`: by a restart, or in another way that
 * the flow return allows. */
static void
recover (Soak *soak, GstFlowReturn flow)
{
  drain_query (soak); /* frames in flight are gone now */
  if (flow == GST_FLOW_EOS && pick (soak, 0, 1) == 0) {
    soak_model_reset (&soak->model);
    segment_event (soak);
  } else if (flow == GST_FLOW_NOT_LINKED && pick (soak, 0, 1) == 0) {
    soak_model_reset (&soak->model);
    reconfigure (soak);
  } else if (flow != GST_FLOW_ERROR && pick (soak, 0, 1) == 0) {
    flush (soak);
  } else {
    restart (soak);
  }
}

static void
downstream_answers (Soak *soak)
{
  static const GstFlowReturn flows[] = { GST_FLOW_ERROR, GST_FLOW_EOS,
    GST_FLOW_NOT_LINKED, GST_FLOW_FLUSHING, GST_FLOW_NOT_NEGOTIATED };
  const GstFlowReturn wanted = flows[pick (soak, 0, G_N_ELEMENTS (flows) - 1)];
  GstFlowReturn flow = GST_FLOW_OK;

  g_atomic_int_set (&soak->flow, wanted);
  /* Frames in flight, the frame with that flow return, and one push to receive it. */
  for (guint i = 0; i < MAX_DEPTH + 2 && flow == GST_FLOW_OK; i++)
    flow = push_frame (soak);
  if (flow != wanted)
    soak_model_problem (&soak->model, SOAK_FLOW,
        "downstream answered %s, upstream got %s", gst_flow_get_name (wanted),
        gst_flow_get_name (flow));
  recover (soak, wanted);
}

/* Switches to the CPU and back in mid-stream. */
static void
change_backend (Soak *soak)
{
  gchar *back = g_strdup_printf ("backend=%s", soak->backend);

  pad_rig_apply (soak->rig.element, "method=auto");
  pad_rig_apply (soak->rig.element, "backend=cpu");
  push_frames (soak, pick (soak, 1, 5));
  pad_rig_apply (soak->rig.element, back);
  g_free (back);
}

static const struct
{
  const gchar *name;
  SoakOperation run;
  gint weight;
} operations[] = {
  { "settings", change_settings, 30 },
  { "custom event", custom_event, 12 },
  { "gap", gap_event, 6 },
  { "tag", tag_event, 3 },
  { "segment", segment_event, 4 },
  { "drain", drain_query, 6 },
  { "allocation", allocation_query, 3 },
  { "reconfigure", reconfigure, 3 },
  { "caps", change_caps, 8 },
  { "pace of the sink", change_sink_pace, 8 },
  { "flush", flush, 5 },
  { "flush from elsewhere", flush_from_elsewhere, 4 },
  { "end of stream", end_of_stream, 8 },
  { "answer of downstream", downstream_answers, 6 },
  { "restart", restart, 3 },
  { "backend", change_backend, 1 },
};

static void
run_one (Soak *soak)
{
  gint total = 0, at, i = 0;

  for (guint k = 0; k < G_N_ELEMENTS (operations); k++)
    total += operations[k].weight;
  for (at = pick (soak, 0, total - 1); at >= operations[i].weight; i++)
    at -= operations[i].weight;
  soak_model_doing (&soak->model, operations[i].name);
  operations[i].run (soak);
}

static void
run_until (Soak *soak, guint64 number)
{
  while (soak->number < number) {
    alarm (HANG_SECONDS);
    push_frames (soak, pick (soak, 0, MAX_BURST));
    run_one (soak);
  }
}

/* Always measures in the same state, so that the footprints are comparable. */
static SoakFootprint
measure (Soak *soak)
{
  alarm (HANG_SECONDS);
  soak_model_doing (&soak->model, "measuring");
  restart (soak);
  pad_rig_apply (soak->rig.element,
      "ring-depth=8 slices=1 transfer=pinned sigma=2 kernel=gaussian "
      "method=auto border=replicate");
  soak->depth = MAX_DEPTH;
  g_atomic_int_set (&soak->sink_sleep_us, 0);
  set_caps (soak, "NV12", 640, 360);
  push_frames (soak, 3 * MAX_DEPTH);
  drain_query (soak);
  return soak_footprint ();
}

/* Verdicts */

static void
judge_kinds (Soak *soak)
{
  static const gchar *const names[N_SOAK_KINDS] = { "frames", "events",
    "queries", "flow", "errors" };

  for (gint kind = 0; kind < N_SOAK_KINDS; kind++) {
    gchar *name = g_strdup_printf ("soak/%s/%s", soak->backend, names[kind]);

    if (soak->model.problems[kind] == 0)
      bench_pass (soak->bench, name);
    else
      bench_fail (soak->bench, name, "%u problems, seed %" G_GUINT64_FORMAT,
          soak->model.problems[kind], soak->bench->seed);
    g_free (name);
  }
}

static void
judge_growth (
    Soak *soak, const gchar *what, gdouble before, gdouble after, gdouble slack)
{
  gchar *name = g_strdup_printf ("soak/%s/%s", soak->backend, what);

  printf ("  %-12s %.0f at 20 %%, %.0f at the end\n", what, before, after);
  bench_json_number (soak->bench->json, what, after - before);
  if (before < 0.0)
    bench_skip (soak->bench, name, "not to be had");
  else if (after - before <= slack)
    bench_pass (soak->bench, name);
  else
    bench_fail (soak->bench, name, "grew from %.0f to %.0f", before, after);
  g_free (name);
}

static void
judge (Soak *soak, SoakFootprint before, SoakFootprint after)
{
  const SoakModel *model = &soak->model;

  printf ("  %" G_GUINT64_FORMAT " frames in, %" G_GUINT64_FORMAT
          " out, %" G_GUINT64_FORMAT
          " dropped by flushes and errors; %" G_GUINT64_FORMAT " events out\n",
      soak->number, model->frames_out, model->frames_dropped,
      model->events_out);
  bench_json_object (soak->bench->json, NULL);
  bench_json_string (soak->bench->json, "part", "soak");
  bench_json_string (soak->bench->json, "backend", soak->backend);
  bench_json_number (soak->bench->json, "frames", (gdouble) soak->number);
  judge_kinds (soak);
  judge_growth (soak, "resident-kib", before.resident_kib, after.resident_kib,
      RESIDENT_SLACK_KIB);
  judge_growth (soak, "device-kib", before.device_kib, after.device_kib,
      DEVICE_SLACK_KIB);
  judge_growth (soak, "threads", before.threads, after.threads, 0.0);
  judge_growth (soak, "descriptors", before.descriptors, after.descriptors,
      DESCRIPTORS_SLACK);
  bench_json_end (soak->bench->json);
}

static void
stop_bystander (GstElement *pipeline)
{
  if (pipeline == NULL)
    return;
  gst_element_set_state (pipeline, GST_STATE_NULL);
  gst_object_unref (pipeline);
}

/* Starts a second filter and keeps it running, as in an application with several. It
 * keeps the device's context; without it each restart would make the context anew,
 * which takes longer than a hundred frames. Returns NULL and sets a problem on
 * failure. */
static GstElement *
start_bystander (Soak *soak)
{
  gchar *description =
      g_strdup_printf ("videotestsrc ! video/x-raw, width=64, height=48 ! "
                       "cudasepconv backend=%s ! fakesink",
          soak->backend);
  GstElement *pipeline = gst_parse_launch (description, NULL);

  g_free (description);
  if (pipeline != NULL) {
    gst_element_set_state (pipeline, GST_STATE_PAUSED);
    if (gst_element_get_state (pipeline, NULL, NULL, 10 * GST_SECOND)
        == GST_STATE_CHANGE_SUCCESS)
      return pipeline;
    stop_bystander (pipeline);
  }
  soak_model_problem (
      &soak->model, SOAK_ERRORS, "a second filter does not start");
  return NULL;
}

static void
run (Soak *soak)
{
  const guint64 frames = soak->bench->soak_frames;
  SoakFootprint before, after;
  GstElement *bystander;

  start_stream (soak);
  change_caps (soak);
  segment_event (soak);
  run_until (soak, MIN (frames / 5, FRAMES_BY_ITSELF));
  bystander = start_bystander (soak);
  run_until (soak, frames / 5);
  before = measure (soak);
  run_until (soak, frames);
  after = measure (soak);
  soak_model_doing (&soak->model, "the end");
  push_event (soak, gst_event_new_eos ());
  soak_model_expect_empty (&soak->model, SOAK_FRAMES);
  take_errors (soak);
  stop_bystander (bystander);
  alarm (0);
  judge (soak, before, after);
}

void
bench_soak (PipelineBench *bench, const gchar *backend)
{
  static const PadRigSink handle = { .chain = on_buffer, .event = on_event };
  Soak soak = { .bench = bench, .backend = backend, .depth = 4 };
  gchar *settings = g_strdup_printf ("backend=%s", backend);

  printf ("\nsoak of %" G_GUINT64_FORMAT
          " frames, backend=%s, seed %" G_GUINT64_FORMAT "\n",
      bench->soak_frames, backend, bench->seed);
  fflush (stdout);
  soak.random = g_rand_new_with_seed ((guint32) bench->seed);
  soak_model_init (&soak.model);
  watched = &soak;
  signal (SIGALRM, on_alarm);
  if (pad_rig_init (&soak.rig, "cudasepconv", settings, &handle, &soak)) {
    run (&soak);
    alarm (HANG_SECONDS);
    pad_rig_clear (&soak.rig);
    alarm (0);
  } else {
    bench_fail (bench, "soak", "there is no cudasepconv");
  }
  soak_model_clear (&soak.model);
  g_rand_free (soak.random);
  g_free (settings);
}
