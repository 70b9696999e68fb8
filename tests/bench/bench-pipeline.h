/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bench-pipeline: what its parts share. */
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
  const gchar *backend; /* NULL: all that this machine has */
  const gchar *only;    /* NULL: every part */
  BenchPicture picture; /* instead of the parts' own; name NULL: none */
  guint64 soak_frames;  /* 0: no soak */
  guint
      devices; /* that streams take in turn; 0: all have the element's default */
  guint64 seed;
  LinkFile link;
  BenchJson *json;
  gint passed, failed, skipped;
} PipelineBench;

/* A verdict on one thing, told at once and counted. */
void bench_pass (PipelineBench *bench, const gchar *name);
void bench_fail (PipelineBench *bench, const gchar *name, const gchar *format,
    ...) G_GNUC_PRINTF (3, 4);
void bench_skip (PipelineBench *bench, const gchar *name, const gchar *reason);

/* Number `i` of a part's `n` pictures, or what the options put in its place; NULL: it is
 * left out. */
const BenchPicture *bench_choose_picture (
    const PipelineBench *bench, const BenchPicture *pictures, guint n, guint i);

/* Calls `run` for each of a part's n pictures that is not left out. */
void bench_each_picture (PipelineBench *bench, const gchar *backend,
    const BenchPicture *pictures, guint n,
    void (*run) (PipelineBench *bench, const gchar *backend,
        const BenchPicture *picture));

/* The parts. */
void bench_throughput (PipelineBench *bench, const gchar *backend);
/* backend "cuda" */
void bench_device (PipelineBench *bench, const gchar *backend);
void bench_ratio (PipelineBench *bench, const gchar *backend);
void bench_regions (PipelineBench *bench, const gchar *backend);
void bench_start (PipelineBench *bench, const gchar *backend);
/* Whether this is a process that bench_start() has begun for one figure, which is told on
 * stdout then; `status` is to be its exit status. */
gboolean bench_start_fresh (const PipelineBench *bench, gint *status);
/* Many streams at once, in one process and in several. */
void bench_streams (PipelineBench *bench, const gchar *backend);
/* The same as bench_start_fresh(), of bench_streams(). */
gboolean bench_streams_child (const PipelineBench *bench, gint *status);
void bench_soak (PipelineBench *bench, const gchar *backend);
