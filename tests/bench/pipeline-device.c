/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames that arrive and leave in GPU memory: nothing crosses the bus, and the kernel
 * alone should limit the rate. */
#include "bench-pipeline.h"

#include <stdio.h>

#include "push-course.h"

/* As GStreamer's CUDA library defines it; that library is not needed here. */
#define GPU_MEMORY "memory:CUDAMemory"
#define GPU_CONTEXT "gst.cuda.context"
/* More frames than there are buffers, so that every buffer has been used. */
#define WARM_FRAMES (2 * PUSH_COURSE_BUFFERS)

static const BenchPicture pictures[] = {
  { "1080p NV12", "NV12", 1920, 1080, TRUE },
  { "4K NV12", "NV12", 3840, 2160, TRUE },
  { "4K RGBA", "RGBA", 3840, 2160, FALSE },
};

typedef struct
{
  const gchar *name, *settings;
} Work;

static const Work works[] = {
  { "filter", "backend=cuda sigma=2" },
  { "long filter", "backend=cuda sigma=21" },
  { "filter and histogram", "backend=cuda sigma=2 histogram=true" },
  { "all frames told of",
      "backend=cuda sigma=2 histogram=true histogram-interval=0" },
  { "all with a meta",
      "backend=cuda sigma=2 histogram=true histogram-interval=0 "
      "histogram-messages=false histogram-meta=true" },
  { "filter, 4 deep", "backend=cuda sigma=2 ring-depth=4" },
  { "meta, 4 deep",
      "backend=cuda sigma=2 ring-depth=4 histogram=true histogram-interval=0 "
      "histogram-messages=false histogram-meta=true" },
};

typedef struct
{
  BenchSpread interval;
  BenchUsage each;
  gdouble compute_ns; /* compute time of a frame */
} Pace;

static gboolean
offers_gpu_memory (PadRig *rig, GstCaps *caps)
{
  GstCaps *taken = gst_pad_peer_query_caps (rig->source, caps);
  const gboolean offers = !gst_caps_is_empty (taken);

  gst_caps_unref (taken);
  return offers;
}

/* Keeps the context over a stop, as an application does, so that the element uses it
 * again. */
static gboolean
keep_context (GstElement *element)
{
  GstPad *pad = gst_element_get_static_pad (element, "src");
  GstQuery *query = gst_query_new_context (GPU_CONTEXT);
  GstContext *context = NULL;

  if (gst_pad_query (pad, query))
    gst_query_parse_context (query, &context);
  if (context != NULL)
    gst_element_set_context (element, context);
  gst_query_unref (query);
  gst_object_unref (pad);
  return context != NULL;
}

static gboolean
get_stats (GstElement *element, guint64 *up, guint64 *down, guint64 *compute_ns)
{
  GstStructure *stats = NULL;
  gboolean ok;

  g_object_get (element, "stats", &stats, NULL);
  ok = stats != NULL
      && gst_structure_get (stats, "bytes-up", G_TYPE_UINT64, up, "bytes-down",
          G_TYPE_UINT64, down, "compute-time", G_TYPE_UINT64, compute_ns, NULL);
  g_clear_pointer (&stats, gst_structure_free);
  return ok;
}

/* Returns the element's error, or else `refused`; the caller frees it. */
static gchar *
problem_of (PushCourse *course, const gchar *refused)
{
  gchar *error = pad_rig_take_error (&course->rig);

  return error != NULL ? error : g_strdup (refused);
}

/* Negotiates, and pushes frames until every buffer has been used. Returns a problem,
 * which the caller frees, or NULL. */
static gchar *
begin (PushCourse *course, GstCaps *caps)
{
  if (!push_course_begin (course, caps))
    return problem_of (course, "frames in the GPU's memory are refused");
  if (!course->rig.proposed)
    return g_strdup ("no pool is offered for frames in the GPU's memory");
  if (!push_course_push (course, WARM_FRAMES))
    return problem_of (course, "frames do not come through");
  return NULL;
}

/* Starts twice: the mean kernel time would otherwise include frames that waited while
 * the kernels were loaded. */
static gchar *
begin_warm (PushCourse *course, GstCaps *caps)
{
  gchar *problem = begin (course, caps);

  if (problem != NULL)
    return problem;
  if (!keep_context (course->rig.element))
    return g_strdup ("the element tells no context");
  pad_rig_stop (&course->rig);
  if (!pad_rig_start (&course->rig))
    return problem_of (course, "the element does not start again");
  return begin (course, caps);
}

static gchar *
measure (PushCourse *course, GstCaps *caps, gdouble seconds, Pace *pace)
{
  gchar *problem = begin_warm (course, caps);
  guint64 up, down, compute_ns;

  if (problem != NULL)
    return problem;
  if (!push_course_measure (
          course, FALSE, seconds, &pace->interval, &pace->each))
    return problem_of (course, "frames do not come through");
  if (!get_stats (course->rig.element, &up, &down, &compute_ns))
    return g_strdup ("the element has no statistics");
  if (up + down > 0)
    return g_strdup_printf ("frames crossed the bus: %" G_GUINT64_FORMAT
                            " bytes up, %" G_GUINT64_FORMAT " down",
        up, down);
  if (compute_ns == 0)
    return g_strdup ("the element has timed no kernel");
  pace->compute_ns = (gdouble) compute_ns;
  return NULL;
}

static void
print_row (const BenchPicture *picture, const Work *work, const Pace *pace)
{
  printf ("  %-11s %-20s %9.1f  %8.4f (%8.4f .. %8.4f)  %8.1f  %6.2f  %9.1f  "
          "%6.3f\n",
      picture->name, work->name, 1e9 / pace->interval.median,
      pace->interval.median / 1e6, pace->interval.min / 1e6,
      pace->interval.max / 1e6, pace->each.cpu_ns / 1e3,
      pace->each.voluntary_switches, 1e9 / pace->compute_ns,
      pace->compute_ns / pace->interval.median);
  fflush (stdout);
}

static void
write_row (PipelineBench *bench, const gchar *backend,
    const BenchPicture *picture, const Work *work, const Pace *pace)
{
  BenchJson *json = bench->json;

  bench_json_object (json, NULL);
  bench_json_string (json, "part", "device");
  bench_json_string (json, "backend", backend);
  bench_json_string (json, "frame", picture->name);
  bench_json_string (json, "work", work->name);
  bench_json_number (json, "ms", pace->interval.median / 1e6);
  bench_json_number (json, "ms_min", pace->interval.min / 1e6);
  bench_json_number (json, "ms_max", pace->interval.max / 1e6);
  bench_json_number (json, "cpu_us", pace->each.cpu_ns / 1e3);
  bench_json_number (json, "voluntary_switches", pace->each.voluntary_switches);
  bench_json_number (json, "compute_us", pace->compute_ns / 1e3);
  bench_json_number (
      json, "of_kernel", pace->compute_ns / pace->interval.median);
  bench_json_end (json);
}

static void
run_picture (PipelineBench *bench, const gchar *backend,
    const BenchPicture *picture, const Work *work)
{
  gchar *name =
      g_strdup_printf ("device/%s/%s, %s", backend, picture->name, work->name);
  GstCaps *caps =
      pad_rig_caps (picture->format, picture->width, picture->height);
  gchar *problem = NULL;
  PushCourse course;
  gboolean ok;
  Pace pace;

  gst_caps_set_features_simple (caps, gst_caps_features_new (GPU_MEMORY, NULL));
  ok = push_course_init (&course, work->settings);
  course.rig.memory = GPU_MEMORY;
  if (!ok || !pad_rig_start (&course.rig)) {
    bench_fail (bench, name, "cudasepconv cannot be made or started");
  } else if (!offers_gpu_memory (&course.rig, caps)) {
    bench_skip (bench, name,
        "this build of cudasepconv, or GStreamer, does not offer " GPU_MEMORY
        " for such frames");
  } else {
    problem = measure (&course, caps, bench->quick ? 0.1 : 0.4, &pace);
    if (problem != NULL) {
      bench_fail (bench, name, "%s", problem);
    } else {
      print_row (picture, work, &pace);
      write_row (bench, backend, picture, work, &pace);
      bench_pass (bench, name);
    }
  }
  push_course_clear (&course);
  gst_caps_unref (caps);
  g_free (problem);
  g_free (name);
}

void
bench_device (PipelineBench *bench, const gchar *backend)
{
  printf ("\nframes in the GPU's memory, backend=%s\n", backend);
  printf ("  %-11s %-20s %9s  %30s  %8s  %6s  %9s  %s\n", "frames", "work",
      "frames/s", "ms a frame (min .. max)", "CPU us", "waits", "kernels/s",
      "of kernel");
  for (guint p = 0; p < G_N_ELEMENTS (pictures); p++) {
    const BenchPicture *picture =
        bench_choose_picture (bench, pictures, G_N_ELEMENTS (pictures), p);

    for (guint w = 0; w < G_N_ELEMENTS (works) && picture != NULL; w++)
      run_picture (bench, backend, picture, &works[w]);
  }
}
