/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regions: treats parts of a picture and keeps the rest, or the reverse.
 *
 * A region is a rectangle in pixels of the picture. It is first grown on each side by `grow`
 * times its own width or height, rounded up. Below, w and h are the grown size, s = min (w, h),
 * and sigma is strength * s, at most REGIONS_MAX_SIGMA, if strength > 0, else the larger sigma of
 * `taps`.
 *
 * The fill of a region, from the whole source picture:
 *
 *   FILTER     the filter's result; with strength > 0 its taps are remade with sigma on both axes
 *              and the kernel's default radius
 *   PIXELATE   means of blocks of b x b pixels, b = ceil (sqrt (12) sigma): the width of a box
 *              whose standard deviation is sigma. In a plane a block has ceil (b / subsampling)
 *              samples a side, at least 1. The first block begins at the region's corner; only the
 *              picture's edges clip blocks. A mean is rounded to the nearest code, halves up
 *   SOLID      the codes of `color`
 *
 * A sample of a subsampled plane stands for several pixels of the picture. Its weight in a region
 * is taken at the one of them that is nearest to the region's centre, at a distance of d pixels
 * outside the shape:
 *
 *   RECTANGLE  the distance from the nearest pixel of the grown rectangle, 0 within
 *   ELLIPSE    max (0, rho - 1) * s / 2, where rho is the distance from the centre in units of
 *              the ellipse's half axes w / 2 and h / 2
 *   weight     1 where d = 0, else max (0, 1 - d / (feather * s)), or 0 with feather = 0;
 *              rounded to 65536ths
 *
 * So a region is covered fully, with the feather around it. Regions are composed in ascending order
 * of s, equal ones in the order given, so that the strongest fill is on top:
 *
 *   inside     v = in, then for each region v += weight * (fill - v)
 *   outside    v = filter's result (or the fill), then for each region v += weight * (in - v)
 *
 * each step rounded to the nearest code, halves up. Copied bit by bit are: inside, samples whose
 * weights are all 0; outside, samples with the weight 1 in a region; and channels that the filter's
 * mask leaves out. Elsewhere the bits below a code are 0, or unchanged where the code is unchanged.
 *
 *   allowed     range
 *   regions     any number, anywhere, overlapping too; coordinates within +-REGIONS_MAX_EDGE
 *   grow        0 to 10
 *   strength    0 to 10; > 0 only inside and, with FILTER, only for the blurs gaussian, box,
 *               binomial and unsharp, whose gain must then be a few billionths below
 *               SEPCONV_MAX_GAIN
 *   feather     0 to 10
 *   PIXELATE    only inside
 *
 * FILTER has the accuracy that sepconv.h states. Thread safety: one thread at a time. */
#pragma once

#include "sepconv.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REGIONS_MAX_EDGE (1 << 24)
#define REGIONS_MAX_SIGMA 500.0
/* Smaller pictures in GPU memory are faster to copy: bytes that an H200 copies in about 13 us, the
 * time that one more kernel and reading the regions first cost it. */
#define REGIONS_LEAST_IN_PLACE (24 << 20)
/* Kernels count bytes in 32 bits. */
#define REGIONS_MOST_IN_PLACE (1 << 30)

typedef enum
{
  REGIONS_FILTER,
  REGIONS_PIXELATE,
  REGIONS_SOLID,
} RegionsFill;

typedef enum
{
  REGIONS_RECTANGLE,
  REGIONS_ELLIPSE,
} RegionsShape;

/* Pixels [left, right) x [top, bottom) of the picture; right > left, bottom > top. */
typedef struct
{
  int left, top, right, bottom;
} Region;

typedef struct
{
  bool outside; /* treat all of the picture except the regions */
  RegionsFill fill;
  RegionsShape shape;
  double grow, strength, feather;
  double color[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS]; /* SOLID: codes */
  /* The filter, with taps for strength = 0. Its masks select the channels for every fill. */
  const SepconvSpec *filter;
  /* The settings that the filter's taps were made from; needed for strength > 0 with FILTER,
   * and for PIXELATE's sigma with strength = 0. `depth` is not used. */
  const TapsSettings *taps;
  /* Pixels of the picture for each sample of a plane, >= 1. */
  int subsampling_x[IMAGE_MAX_PLANES], subsampling_y[IMAGE_MAX_PLANES];
  bool scale_taps; /* taps shrink with the subsampling, as in taps_make() */
} RegionsSpec;

/* Checks all ranges above, and the filter. FAULT_SETTINGS names the reason. */
bool regions_validate (
    const RegionsSpec *spec, const Image *layout, Fault *fault);

typedef struct RegionsPlan RegionsPlan;

/* `layout`, `backend`, `method` and `gpu` as for sepconv_plan_new(). On the CPU, `method` computes
 * FILTER; NULL: the fastest one for each region. On a GPU, the inside of regions has kernels of its
 * own, and `method` must be NULL there (else FAULT_SETTINGS); for the outside, `method` computes
 * FILTER. The spec is borrowed only for the call. */
RegionsPlan *regions_plan_new (const RegionsSpec *spec, const Image *layout,
    Backend backend, const SepconvMethod *method, Gpu *gpu, Fault *fault);
/* All runs must have finished. NULL is allowed. */
void regions_plan_free (RegionsPlan *plan);

/* Changes the spec from the next run on, without waiting for earlier runs. FALSE with
 * FAULT_UNSUPPORTED: the plan is unchanged, and a new plan is needed for this spec. */
bool regions_plan_update (
    RegionsPlan *plan, const RegionsSpec *spec, Fault *fault);

/* Writes all of dst. `regions` are read during the call only. `rows_apart`: pixels of the picture
 * from one row of the finest plane to the next: 1, or 2 if the images are one field of an
 * interlaced picture, with half the layout's rows. CPU and CUDA as for sepconv_plan_run().
 * Allocates for more or larger regions than in earlier runs, and on the CPU also for a worker
 * thread's first piece of work of a kind. */
bool regions_plan_run (RegionsPlan *plan, const Region *regions, int n,
    const Image *src, const Image *dst, int rows_apart, GpuStream stream,
    GpuOrder order, Fault *fault);

/* Like regions_plan_run() from an image to itself, inside of regions only (FAULT_UNSUPPORTED
 * outside). Bytes whose weights are all 0 stay unchanged. Before the run, bytes that no fill reads
 * may have any value. A picture of REGIONS_MOST_IN_PLACE bytes or more: FAULT_UNSUPPORTED.
 *
 * CUDA: the image may also lie in pinned memory (gpu_malloc_host()), which kernels then access
 * directly. With GPU_BESIDE_KERNELS such a run may also overlap copies and events that are queued
 * on the stream, which must not be captured; work that is queued there later comes after the run.
 * Runs on images in GPU memory always follow all kernels, whatever `order` is. The first run
 * allocates GPU memory for up to six pictures, unless it was reserved. CPU: `order` is ignored. */
bool regions_plan_run_in_place (RegionsPlan *plan, const Region *regions, int n,
    const Image *image, int rows_apart, GpuStream stream, GpuOrder order,
    Fault *fault);

/* Allocates the memory of runs in place, for images in GPU memory or on the host and for runs in
 * `order`, so that these runs need not. Does nothing on the CPU, or if regions_plan_suits_place()
 * can never be TRUE. FALSE: out of memory; runs that are not in place do not need it. */
bool regions_plan_reserve_in_place (
    RegionsPlan *plan, bool in_gpu_memory, GpuOrder order, Fault *fault);

/* The bytes that a run in place reads and writes. */
typedef struct
{
  const ImageBox *read, *written; /* [n] each */
  int n;
} RegionsBoxes;

/* Finds the boxes for regions of an image of the plan's layout, with all its rows; if `rows_apart`
 * is 2, for both of its fields. The boxes stay valid until the next call for the plan. FALSE: an
 * invalid region, or out of memory. */
bool regions_plan_find_boxes (RegionsPlan *plan, const Region *regions, int n,
    int rows_apart, RegionsBoxes *boxes, Fault *fault);

/* Whether a run in place takes less time than one that copies the picture. TRUE inside of regions
 * if the run reads at most half of all bytes; for a picture in GPU memory, where copying is fast,
 * only from REGIONS_LEAST_IN_PLACE bytes on. FALSE also for pictures that runs in place refuse. */
bool regions_plan_suits_place (
    const RegionsPlan *plan, const RegionsBoxes *boxes, bool in_gpu_memory);

/* The name of the method that computes FILTER, or "regions" if that is done by the regions' own
 * kernels; for reports. Static. */
const char *regions_plan_method_name (const RegionsPlan *plan);

#ifdef __cplusplus
}
#endif
