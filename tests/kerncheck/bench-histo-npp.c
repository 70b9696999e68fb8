/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-histo-peer.h"
#include "bench-npp-library.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <nppi_statistics_functions.h>
#include <stdio.h>
#include <stdlib.h>

#define STATISTICS BENCH_NPP_FILE ("nppist")

/* Since version 12 the functions for buffer sizes take a context. */
#if CUDART_VERSION < 12000
#define CONTEXT_OF(npp)
#else
#define CONTEXT_OF(npp) , (npp)->library.context
#endif

typedef union
{
  void *symbol;
  __typeof__ (&nppiHistogramEven_8u_C1R_Ctx) u8;
  __typeof__ (&nppiHistogramEven_8u_C4R_Ctx) u8_four;
  __typeof__ (&nppiHistogramEven_16u_C1R_Ctx) u16;
} Histogram;

/* The functions for one channel have the same signature for both sample types. */
typedef union
{
  void *symbol;
  __typeof__ (&nppiHistogramEvenGetBufferSize_8u_C1R_Ctx) one;
  __typeof__ (&nppiHistogramEvenGetBufferSize_8u_C4R_Ctx) four;
} BufferSize;

/* In the order of `pixels`. */
typedef enum
{
  U8,
  U8_FOUR,
  U16,
  N_PIXELS
} PixelsIndex;

static const struct
{
  int sample_bytes, channels;
  const char *name;
} pixels[N_PIXELS] = {
  [U8] = { 1, 1, "8u_C1R" },
  [U8_FOUR] = { 1, 4, "8u_C4R" },
  [U16] = { 2, 1, "16u_C1R" },
};

struct BenchHistoNpp
{
  BenchNppLibrary library;
  Histogram histogram[N_PIXELS];
  BufferSize buffer_size[N_PIXELS];
};

/* Arguments per channel of a call. Levels are the edges of bins. */
typedef struct
{
  Npp32s *counts[4];
  int levels[4];
  Npp32s lower[4], upper[4];
} Channels;

static void *
find (const BenchNppLibrary *library, const char *function, int index)
{
  char name[96];

  snprintf (name, sizeof name, "nppi%s_%s_Ctx", function, pixels[index].name);
  return bench_npp_symbol (library, name);
}

static bool
find_functions (BenchHistoNpp *npp, Fault *fault)
{
  for (int i = 0; i < N_PIXELS; i++) {
    npp->histogram[i].symbol = find (&npp->library, "HistogramEven", i);
    npp->buffer_size[i].symbol =
        find (&npp->library, "HistogramEvenGetBufferSize", i);
    if (npp->histogram[i].symbol == NULL || npp->buffer_size[i].symbol == NULL)
      return fault_set (fault, FAULT_NOT_FOUND,
          STATISTICS " lacks %s histograms.", pixels[i].name);
  }
  return true;
}

BenchHistoNpp *
bench_histo_npp_open (const Device *device, Fault *fault)
{
  BenchHistoNpp *npp = kerncheck_alloc (sizeof *npp);

  if (bench_npp_library_open (&npp->library, device, STATISTICS, fault)
      && find_functions (npp, fault))
    return npp;
  bench_histo_npp_close (npp);
  return NULL;
}

void
bench_histo_npp_close (BenchHistoNpp *npp)
{
  if (npp == NULL)
    return;
  bench_npp_library_close (&npp->library);
  free (npp);
}

const char *
bench_histo_npp_version (const BenchHistoNpp *npp)
{
  return npp->library.version;
}

/* N_PIXELS: NPP has no histogram for planes like this. */
static int
pixels_of (const ImagePlane *plane)
{
  int i = 0;

  while (i < N_PIXELS
      && (pixels[i].sample_bytes != image_sample_bytes (plane)
          || pixels[i].channels != plane->channels))
    i++;
  return i;
}

static void
fill_channels (
    Channels *channels, const ImagePlane *plane, int bins, uint32_t *counts)
{
  for (int c = 0; c < 4; c++) {
    channels->counts[c] =
        counts == NULL ? NULL : (Npp32s *) counts + (size_t) c * (size_t) bins;
    channels->levels[c] = bins + 1;
    channels->lower[c] = 0;
    channels->upper[c] = 1 << (plane->depth + plane->shift);
  }
}

static bool
scratch_bytes (const void *library, const BenchHistoCase *c, int p,
    size_t *bytes, Fault *fault)
{
  const BenchHistoNpp *npp = library;
  const ImagePlane *plane = &c->layout.plane[p];
  const NppiSize size = { plane->width, image_plane_height (&c->layout, p) };
  const int index = pixels_of (plane);
  Channels channels;
  NppStatus status;

  if (index == N_PIXELS)
    return fault_set (fault, FAULT_UNSUPPORTED,
        "NPP has no histogram for planes like those of %s.", c->format->name);
  fill_channels (&channels, plane, c->spec.bins, NULL);
  /* Passed as void *, since the size is an int before NPP 12.2 and a size_t since;
   * where only the lower half is written, the upper half stays 0. */
  *bytes = 0;
  if (index == U8_FOUR)
    status = npp->buffer_size[index].four (
        size, channels.levels, (void *) bytes CONTEXT_OF (npp));
  else
    status = npp->buffer_size[index].one (
        size, channels.levels[0], (void *) bytes CONTEXT_OF (npp));
  return bench_npp_check (status, fault);
}

static bool
count (const void *library, const Image *src, int p, int bins, void *scratch,
    size_t bytes, uint32_t *counts, GpuStream stream, Fault *fault)
{
  const BenchHistoNpp *npp = library;
  const NppStreamContext context = npp->library.context;
  const ImagePlane *plane = &src->plane[p];
  const ImageMemory *memory = &src->memory[plane->memory];
  const NppiSize size = { plane->width, memory->height };
  const int index = pixels_of (plane), step = (int) memory->stride;
  const Histogram *histogram = &npp->histogram[index];
  const uint8_t *data = memory->data + plane->offset;
  Channels channels;
  NppStatus status;

  (void) bytes;
  (void) stream; /* it is in NPP's context */
  fill_channels (&channels, plane, bins, counts);
  if (index == U8_FOUR)
    status = histogram->u8_four (data, step, size, channels.counts,
        channels.levels, channels.lower, channels.upper, scratch, context);
  else if (index == U8)
    status =
        histogram->u8 (data, step, size, channels.counts[0], channels.levels[0],
            channels.lower[0], channels.upper[0], scratch, context);
  else
    status = histogram->u16 ((const Npp16u *) data, step, size,
        channels.counts[0], channels.levels[0], channels.lower[0],
        channels.upper[0], scratch, context);
  return bench_npp_check (status, fault);
}

bool
bench_histo_npp_measure (const BenchHistoNpp *npp, const Device *device,
    const BenchFrames *frames, const BenchHistoCase *c, BenchHistoPeer *peer,
    Fault *fault)
{
  static const BenchHistoCounter counter = { scratch_bytes, count, "NPP" };

  *peer = (BenchHistoPeer){ .us = NAN };
  return npp == NULL
      || bench_histo_peer_measure (
          &counter, npp, device, frames, c, peer, fault);
}
