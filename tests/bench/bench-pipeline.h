/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-pipeline: options, verdicts and parts of the benchmark. */
#pragma once

#include <gst/gst.h>

#include "bench-json.h"
#include "bench-measure.h"
#include "link-file.h"

typedef struct
{
  const gchar *name, *format;
  gint width, height;
  gboolean in_quick;
} BenchPicture;

typedef struct
{
  gboolean quick;
  const gchar *backend; /* NULL: all backends of this machine */
  const gchar *only;    /* NULL: every part */
  BenchPicture picture; /* replaces the parts' own; name NULL: none */
  guint64 soak_frames;  /* 0: no soak */
  guint devices; /* GPUs that streams take in turn; 0: the element's default */
  guint64 seed;
  LinkFile link;
  BenchJson *json;
  gint passed, failed, skipped;
} PipelineBench;

/* Each prints a verdict on one figure at once, and counts it. */
void bench_pass (PipelineBench *bench, const gchar *name);
void bench_fail (PipelineBench *bench, const gchar *name, const gchar *format,
    ...) G_GNUC_PRINTF (3, 4);
void bench_skip (PipelineBench *bench, const gchar *name, const gchar *reason);

/* Picture `i` of a part's `n` pictures, or the picture that the options put in its place;
 * NULL: the options leave it out. */
const BenchPicture *bench_choose_picture (
    const PipelineBench *bench, const BenchPicture *pictures, guint n, guint i);

/* Calls `run` for each of a part's n pictures, but for those that the options leave
 * out. */
void bench_each_picture (PipelineBench *bench, const gchar *backend,
    const BenchPicture *pictures, guint n,
    void (*run) (PipelineBench *bench, const gchar *backend,
        const BenchPicture *picture));

/* The parts. */
void bench_throughput (PipelineBench *bench, const gchar *backend);
/* `backend` is "cuda". */
void bench_device (PipelineBench *bench, const gchar *backend);
void bench_ratio (PipelineBench *bench, const gchar *backend);
void bench_regions (PipelineBench *bench, const gchar *backend);
void bench_start (PipelineBench *bench, const gchar *backend);
/* Whether this process was started by bench_start() to measure one figure. If so, it has
 * written the figure to stdout, and `status` is its exit status. */
gboolean bench_start_fresh (const PipelineBench *bench, gint *status);
/* Many streams at once, in one process and in several processes. */
void bench_streams (PipelineBench *bench, const gchar *backend);
/* The same as bench_start_fresh(), for processes that bench_streams() has started. */
gboolean bench_streams_child (const PipelineBench *bench, gint *status);
void bench_soak (PipelineBench *bench, const gchar *backend);
