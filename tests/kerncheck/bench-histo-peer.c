/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-histo-peer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct
{
  const BenchHistoCounter *counter;
  const void *library;
  const BenchFrames *frames;
  const BenchHistoCase *of;
  uint32_t *counts; /* [n_channels][bins] */
  void *scratch;
  size_t scratch_bytes; /* the most that any plane needs */
} Run;

static size_t
counts_bytes (const BenchHistoCase *c)
{
  return (size_t) c->n_channels * (size_t) c->spec.bins * sizeof (uint32_t);
}

static bool
launch (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const Run *run = user;
  const BenchHistoCase *c = run->of;
  uint32_t *counts = run->counts;

  (void) turn;
  for (int p = 0; p < c->layout.n_planes; p++) {
    if (!run->counter->count (run->library, &run->frames->src[pair], p,
            c->spec.bins, run->scratch, run->scratch_bytes, counts, stream,
            fault))
      return false;
    counts += c->layout.plane[p].channels * c->spec.bins;
  }
  return true;
}

/* Allocates all memory that the launches need. */
static bool
prepare (Run *run, Fault *fault)
{
  for (int p = 0; p < run->of->layout.n_planes; p++) {
    size_t bytes = 0;

    if (!run->counter->scratch_bytes (run->library, run->of, p, &bytes, fault))
      return false;
    if (bytes > run->scratch_bytes)
      run->scratch_bytes = bytes;
  }
  /* NULL would make both libraries only report the size. */
  if (run->scratch_bytes == 0)
    run->scratch_bytes = 1;
  run->scratch = gpu_malloc (run->scratch_bytes, fault);
  if (run->scratch == NULL)
    return false;
  run->counts = gpu_malloc (counts_bytes (run->of), fault);
  return run->counts != NULL;
}

/* Fetches and checks the counters of the last launch. */
static bool
check (const Run *run, const Device *device, BenchHistoPeer *peer, Fault *fault)
{
  const size_t bytes = counts_bytes (run->of);
  uint32_t *counts = kerncheck_alloc (bytes);
  Fault why;
  bool ok;

  ok = gpu_copy_rows ((uint8_t *) counts, (ptrdiff_t) bytes,
           (const uint8_t *) run->counts, (ptrdiff_t) bytes, bytes, 1,
           GPU_COPY_DOWN, device->stream, fault)
      && gpu_stream_synchronize (device->stream, fault);
  if (ok
      && !bench_histo_case_check_counts (
          run->of, counts, run->counter->name, &why)) {
    peer->us = NAN;
    peer->is_wrong = true;
    snprintf (peer->why, sizeof peer->why, "%s", why.message);
  }
  free (counts);
  return ok;
}

bool
bench_histo_peer_measure (const BenchHistoCounter *counter, const void *library,
    const Device *device, const BenchFrames *frames, const BenchHistoCase *c,
    BenchHistoPeer *peer, Fault *fault)
{
  Run run = { counter, library, frames, c, NULL, NULL, 0 };
  BenchTime time;
  bool ok;

  *peer = (BenchHistoPeer){ .us = NAN };
  ok = prepare (&run, fault)
      && bench_time (device, &(BenchWork){ launch, &run, frames->n_pairs, 1 },
          &time, fault);
  if (ok) {
    peer->us = time.us.median;
    ok = check (&run, device, peer, fault);
  } else if (fault->kind == FAULT_UNSUPPORTED) {
    snprintf (peer->why, sizeof peer->why, "%s", fault->message);
    ok = true;
  }
  gpu_free (run.counts);
  gpu_free (run.scratch);
  return ok;
}
