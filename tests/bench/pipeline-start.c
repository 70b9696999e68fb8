/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Time until the first frame has come out: for the first start in a process, and after a
 * stop. */
#include "bench-pipeline.h"

#include <dlfcn.h>
#include <stdio.h>

#include "push-course.h"

#define ROUNDS 21
/* The number that the element asks for; it acquires more when frames in flight hold
 * these. */
#define BUFFERS 2
/* Number of new processes, in which nothing has used the GPU yet; the fastest one
 * counts. */
#define FRESH_PROCESSES 3

/* Environment variable that tells such a process which of the two to measure. */
#define FRESH_MARK "BENCH_PIPELINE_FRESH"
#define FRESH_DRIVER "driver"
#define FRESH_ELEMENT "element"

static const BenchPicture pictures[] = {
  { "1080p NV12", "NV12", 1920, 1080, TRUE },
  { "4K RGBA", "RGBA", 3840, 2160, FALSE },
};

typedef struct
{
  gdouble driver_ms; /* until the driver alone is ready; 0 on the CPU */
  gdouble first_ms;  /* from NULL until the first frame is through */
  BenchSpread again_ms, stop_ms;
} Times;

/* The start-up cost of any program that uses the GPU: loading libcuda.so.1 and making a
 * context. Types and values are those of cuda.h. */
static gboolean
start_driver (void)
{
  int (*init) (unsigned) = NULL, (*get) (int *, int) = NULL;
  int (*retain) (void **, int) = NULL;
  void *library = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *context;
  int device;

  if (library == NULL)
    return FALSE;
  /* POSIX lets dlsym() results be stored through a void pointer's address. */
  *(void **) &init = dlsym (library, "cuInit");
  *(void **) &get = dlsym (library, "cuDeviceGet");
  *(void **) &retain = dlsym (library, "cuDevicePrimaryCtxRetain");
  return init != NULL && get != NULL && retain != NULL && init (0) == 0
      && get (&device, 0) == 0 && retain (&context, device) == 0;
}

/* From NULL or READY until one frame has come out. */
static gboolean
start_element (PushCourse *course, GstCaps *caps)
{
  return pad_rig_start (&course->rig)
      && gst_pad_push_event (
          course->rig.source, gst_event_new_stream_start ("bench"))
      && pad_rig_set_caps (&course->rig, caps, BUFFERS)
      && gst_pad_push_event (course->rig.source, pad_rig_segment ())
      && push_course_push (course, 1);
}

static gboolean
open_course (PushCourse *course, const gchar *backend)
{
  gchar *settings = g_strdup_printf ("backend=%s sigma=2", backend);
  const gboolean ok = push_course_init (course, settings);

  g_free (settings);
  return ok;
}

static GstCaps *
caps_of (const BenchPicture *picture)
{
  return pad_rig_caps (picture->format, picture->width, picture->height);
}

gboolean
bench_start_fresh (const PipelineBench *bench, gint *status)
{
  const gchar *what = g_getenv (FRESH_MARK);
  PushCourse course;
  GstCaps *caps;
  gdouble from;
  gboolean ok;

  if (what == NULL)
    return FALSE;
  if (g_str_equal (what, FRESH_DRIVER)) {
    from = bench_now_ns ();
    ok = start_driver ();
    printf ("%.3f\n", (bench_now_ns () - from) / 1e6);
  } else {
    caps = caps_of (&bench->picture);
    from = bench_now_ns ();
    ok = open_course (&course, bench->backend) && start_element (&course, caps);
    printf ("%.3f\n", (bench_now_ns () - from) / 1e6);
    push_course_clear (&course);
    gst_caps_unref (caps);
  }
  *status = ok ? 0 : 1;
  return TRUE;
}

/* Runs new processes and stores the shortest of their times in milliseconds. Returns a
 * problem, which the caller frees, or NULL. */
static gchar *
measure_fresh (const gchar *what, const gchar *backend,
    const BenchPicture *picture, gdouble *ms)
{
  gchar *width = g_strdup_printf ("%d", picture->width);
  gchar *height = g_strdup_printf ("%d", picture->height);
  const gchar *const argv[] = { "/proc/self/exe", "--backend", backend,
    "--picture", picture->format, width, height, NULL };
  gchar **envp = g_environ_setenv (g_get_environ (), FRESH_MARK, what, TRUE);
  gchar *problem = NULL;

  *ms = G_MAXDOUBLE;
  for (gint i = 0; i < FRESH_PROCESSES && problem == NULL; i++) {
    gchar *output = NULL;
    GError *error = NULL;
    gint status = 0;

    if (!g_spawn_sync (NULL, (gchar **) argv, envp, G_SPAWN_DEFAULT, NULL, NULL,
            &output, NULL, &status, &error)) {
      problem = g_strdup (error->message);
      g_error_free (error);
    } else if (status != 0) {
      problem = g_strdup_printf ("a new process cannot start the %s", what);
    } else {
      *ms = MIN (*ms, g_ascii_strtod (output, NULL));
    }
    g_free (output);
  }
  g_strfreev (envp);
  g_free (width);
  g_free (height);
  return problem;
}

static gchar *
measure_again (const gchar *backend, const BenchPicture *picture, Times *times)
{
  GstCaps *caps = caps_of (picture);
  gdouble again[ROUNDS], stop[ROUNDS];
  gchar *problem = NULL;
  PushCourse course;

  if (!open_course (&course, backend) || !start_element (&course, caps))
    problem = g_strdup ("cudasepconv cannot be made or started");
  for (gint i = 0; i < ROUNDS && problem == NULL; i++) {
    gdouble from = bench_now_ns ();

    pad_rig_stop (&course.rig);
    gst_element_set_state (course.rig.element, GST_STATE_NULL);
    stop[i] = (bench_now_ns () - from) / 1e6;
    from = bench_now_ns ();
    if (!start_element (&course, caps)) {
      problem = pad_rig_take_error (&course.rig);
      if (problem == NULL)
        problem = g_strdup ("the element does not start again");
    }
    again[i] = (bench_now_ns () - from) / 1e6;
  }
  push_course_clear (&course);
  gst_caps_unref (caps);
  if (problem == NULL) {
    times->again_ms = bench_spread (again, ROUNDS);
    times->stop_ms = bench_spread (stop, ROUNDS);
  }
  return problem;
}

static void
report (PipelineBench *bench, const gchar *backend, const BenchPicture *picture,
    const Times *times)
{
  BenchJson *json = bench->json;

  printf ("  %-11s %9.1f  %9.1f  %7.1f (%7.1f .. %7.1f)  %7.1f\n",
      picture->name, times->first_ms, times->driver_ms, times->again_ms.median,
      times->again_ms.min, times->again_ms.max, times->stop_ms.median);
  bench_json_object (json, NULL);
  bench_json_string (json, "part", "start");
  bench_json_string (json, "backend", backend);
  bench_json_string (json, "frame", picture->name);
  bench_json_number (json, "first_ms", times->first_ms);
  bench_json_number (json, "driver_ms", times->driver_ms);
  bench_json_number (json, "again_ms", times->again_ms.median);
  bench_json_number (json, "again_ms_min", times->again_ms.min);
  bench_json_number (json, "again_ms_max", times->again_ms.max);
  bench_json_number (json, "stop_ms", times->stop_ms.median);
  bench_json_end (json);
}

static void
run_picture (
    PipelineBench *bench, const gchar *backend, const BenchPicture *picture)
{
  gchar *name = g_strdup_printf ("start/%s/%s", backend, picture->name);
  Times times = { .driver_ms = 0.0 };
  gchar *problem = NULL;

  if (g_str_equal (backend, "cuda"))
    problem = measure_fresh (FRESH_DRIVER, backend, picture, &times.driver_ms);
  if (problem == NULL)
    problem = measure_fresh (FRESH_ELEMENT, backend, picture, &times.first_ms);
  if (problem == NULL)
    problem = measure_again (backend, picture, &times);
  if (problem == NULL) {
    report (bench, backend, picture, &times);
    bench_pass (bench, name);
  } else {
    bench_fail (bench, name, "%s", problem);
  }
  g_free (problem);
  g_free (name);
}

void
bench_start (PipelineBench *bench, const gchar *backend)
{
  printf ("\nuntil one frame is through, in ms, backend=%s\n", backend);
  printf ("  %-11s %9s  %9s  %28s  %7s\n", "frames", "first", "of driver",
      "again after NULL (min .. max)", "to NULL");
  bench_each_picture (
      bench, backend, pictures, G_N_ELEMENTS (pictures), run_picture);
}
