/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-npp.h"

#include "bench-npp-library.h"
#include "bench-timer.h"
#include "gpu-check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FILTERING BENCH_NPP_FILE ("nppif")

#define ALIGNMENT 256

/* NPP's functions for one plane's pixels. Functions of one sample type have the same
 * signature for any number of channels, and for rows and columns. */
typedef struct
{
  int sample_bytes, channels;
  const char *name;
} Pixels;

static const Pixels pixels[] = {
  { 1, 1, "8u_C1R" },
  { 1, 4, "8u_C4R" },
  { 2, 1, "16u_C1R" },
  { 2, 4, "16u_C4R" },
};

#define N_PIXELS ((int) (sizeof pixels / sizeof pixels[0]))

typedef union
{
  void *symbol;
  __typeof__ (&nppiFilterRowBorder32f_8u_C1R_Ctx) u8;
  __typeof__ (&nppiFilterRowBorder32f_16u_C1R_Ctx) u16;
} Pass;

typedef union
{
  void *symbol;
  __typeof__ (&nppiFilterGaussAdvancedBorder_8u_C1R_Ctx) u8;
  __typeof__ (&nppiFilterGaussAdvancedBorder_16u_C1R_Ctx) u16;
} Gauss;

typedef struct
{
  int sample_bytes;
  Pass row, column;
  Gauss gauss;
} Filters;

struct BenchNpp
{
  BenchNppLibrary library;
  Filters filters[N_PIXELS];
};

/* Arguments of a launch. */
typedef struct
{
  const BenchNpp *npp;
  const BenchFrames *frames;
  const Filters *filters[IMAGE_MAX_PLANES];
  uint8_t *block; /* of `between` */
  Image between;  /* the filtered rows */
  float *taps;    /* managed memory */
  int n_taps;
} Run;

static void *
find_filter (const BenchNpp *npp, const char *filter, const Pixels *of)
{
  char name[96];

  snprintf (name, sizeof name, "nppiFilter%s_%s_Ctx", filter, of->name);
  return bench_npp_symbol (&npp->library, name);
}

static bool
find_filters (BenchNpp *npp, Fault *fault)
{
  for (int i = 0; i < N_PIXELS; i++) {
    Filters *filters = &npp->filters[i];

    filters->sample_bytes = pixels[i].sample_bytes;
    filters->row.symbol = find_filter (npp, "RowBorder32f", &pixels[i]);
    filters->column.symbol = find_filter (npp, "ColumnBorder32f", &pixels[i]);
    filters->gauss.symbol =
        find_filter (npp, "GaussAdvancedBorder", &pixels[i]);
    if (filters->row.symbol == NULL || filters->column.symbol == NULL
        || filters->gauss.symbol == NULL)
      return fault_set (fault, FAULT_NOT_FOUND, FILTERING " lacks %s filters.",
          pixels[i].name);
  }
  return true;
}

BenchNpp *
bench_npp_open (const Device *device, Fault *fault)
{
  BenchNpp *npp = kerncheck_alloc (sizeof *npp);

  if (bench_npp_library_open (&npp->library, device, FILTERING, fault)
      && find_filters (npp, fault))
    return npp;
  bench_npp_close (npp);
  return NULL;
}

void
bench_npp_close (BenchNpp *npp)
{
  if (npp == NULL)
    return;
  bench_npp_library_close (&npp->library);
  free (npp);
}

const char *
bench_npp_version (const BenchNpp *npp)
{
  return npp->library.version;
}

/* One pass over one plane. */
static NppStatus
pass (const Run *run, const Pass *filter, int p, const Image *src,
    const Image *dst)
{
  const int memory = src->plane[p].memory;
  const ImageMemory *from = &src->memory[memory], *to = &dst->memory[memory];
  const NppiSize size = { src->plane[p].width, from->height };
  const NppiPoint origin = { 0, 0 };

  if (run->filters[p]->sample_bytes == 1)
    return filter->u8 (from->data, (int) from->stride, size, origin, to->data,
        (int) to->stride, size, run->taps, run->n_taps, run->n_taps / 2,
        NPP_BORDER_REPLICATE, run->npp->library.context);
  return filter->u16 ((const Npp16u *) from->data, (int) from->stride, size,
      origin, (Npp16u *) to->data, (int) to->stride, size, run->taps,
      run->n_taps, run->n_taps / 2, NPP_BORDER_REPLICATE,
      run->npp->library.context);
}

static bool
launch_separable (
    void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const Run *run = user;
  const Image *src = &run->frames->src[pair], *dst = &run->frames->dst[pair];

  (void) turn;
  (void) stream; /* it is in NPP's context */
  for (int p = 0; p < src->n_planes; p++)
    if (!bench_npp_check (
            pass (run, &run->filters[p]->row, p, src, &run->between), fault)
        || !bench_npp_check (
            pass (run, &run->filters[p]->column, p, &run->between, dst), fault))
      return false;
  return true;
}

static NppStatus
gauss (const Run *run, int p, const Image *src, const Image *dst)
{
  const Gauss *filter = &run->filters[p]->gauss;
  const int memory = src->plane[p].memory;
  const ImageMemory *from = &src->memory[memory], *to = &dst->memory[memory];
  const NppiSize size = { src->plane[p].width, from->height };
  const NppiPoint origin = { 0, 0 };

  if (run->filters[p]->sample_bytes == 1)
    return filter->u8 (from->data, (int) from->stride, size, origin, to->data,
        (int) to->stride, size, run->n_taps, run->taps, NPP_BORDER_REPLICATE,
        run->npp->library.context);
  return filter->u16 ((const Npp16u *) from->data, (int) from->stride, size,
      origin, (Npp16u *) to->data, (int) to->stride, size, run->n_taps,
      run->taps, NPP_BORDER_REPLICATE, run->npp->library.context);
}

static bool
launch_gauss (void *user, int pair, int turn, GpuStream stream, Fault *fault)
{
  const Run *run = user;
  const Image *src = &run->frames->src[pair], *dst = &run->frames->dst[pair];

  (void) turn;
  (void) stream;
  for (int p = 0; p < src->n_planes; p++)
    if (!bench_npp_check (gauss (run, p, src, dst), fault))
      return false;
  return true;
}

/* NULL: NPP has no filter for a plane with such pixels. */
static const Filters *
filters_for (const BenchNpp *npp, const ImagePlane *plane)
{
  for (int i = 0; i < N_PIXELS; i++)
    if (pixels[i].sample_bytes == image_sample_bytes (plane)
        && pixels[i].channels == plane->channels)
      return &npp->filters[i];
  return NULL;
}

static void
run_clear (Run *run)
{
  gpu_free (run->block);
  if (run->taps != NULL)
    (void) cudaFree (run->taps);
}

/* NPP does not always document whether a filter expects its taps on the host or on the
 * device: managed memory is in both. */
static bool
run_prepare (Run *run, const BenchCase *c, Fault *fault)
{
  const size_t bytes = image_pack (&c->layout, ALIGNMENT, NULL, &run->between);
  bool ok = false;

  run->block = gpu_malloc (bytes, fault);
  if (run->block == NULL)
    goto done;
  image_pack (&c->layout, ALIGNMENT, run->block, &run->between);
  GPU_CHECK (cudaMallocManaged ((void **) &run->taps,
                 (size_t) c->x[0].n * sizeof (float), cudaMemAttachGlobal),
      fault);
  run->n_taps = c->x[0].n;
  for (int i = 0; i < c->x[0].n; i++)
    run->taps[i] = (float) c->x[0].tap[i];
  ok = true;
done:
  return ok;
}

/* Stores NPP's refusal in `peer`: it is no fault of the benchmark. */
static bool
measure_way (const Device *device, Run *run, BenchLaunch launch, double *us,
    BenchPeer *peer, Fault *fault)
{
  BenchTime time;

  *us = NAN;
  if (bench_time (device, &(BenchWork){ launch, run, run->frames->n_pairs, 1 },
          &time, fault)) {
    *us = time.us.median;
    return true;
  }
  if (fault->kind != FAULT_UNSUPPORTED)
    return false;
  snprintf (peer->why, sizeof peer->why, "%s", fault->message);
  return true;
}

bool
bench_npp_measure (const BenchNpp *npp, const Device *device,
    const BenchFrames *frames, const BenchCase *c, BenchPeer *peer,
    Fault *fault)
{
  Run run = { .npp = npp, .frames = frames };
  bool ok;

  *peer = (BenchPeer){ .separable_us = NAN, .gauss_us = NAN, .npp_us = NAN };
  if (npp == NULL)
    return true;
  if (!sepconv_is_plain (&c->spec, &c->layout)) {
    snprintf (peer->why, sizeof peer->why,
        "NPP has no filter that combines kernels like %s.", c->kernel->name);
    return true;
  }
  if (c->spec.border != SEPCONV_REPLICATE) {
    snprintf (peer->why, sizeof peer->why,
        "NPP is only asked for borders that repeat the edge.");
    return true;
  }
  for (int p = 0; p < c->layout.n_planes; p++) {
    run.filters[p] = filters_for (npp, &c->layout.plane[p]);
    if (run.filters[p] == NULL) {
      snprintf (peer->why, sizeof peer->why,
          "NPP has no filter for planes like those of %s.", c->format->name);
      return true;
    }
  }
  ok = run_prepare (&run, c, fault)
      && measure_way (
          device, &run, launch_separable, &peer->separable_us, peer, fault)
      && measure_way (device, &run, launch_gauss, &peer->gauss_us, peer, fault);
  run_clear (&run);
  /* fmin() ignores a NaN. */
  peer->npp_us = fmin (peer->separable_us, peer->gauss_us);
  return ok;
}
