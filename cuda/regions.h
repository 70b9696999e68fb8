/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regions: treats parts of a picture and keeps the rest, or the reverse.
 *
 * A region is a rectangle in pixels of the picture. It is first grown on each side by `grow`
 * times its own width or height, rounded up. Below, w and h are the grown size, s = min (w, h),
 * and sigma is `strength` times s where strength > 0 (at most REGIONS_MAX_SIGMA), else the
 * larger one of `taps`.
 *
 * The fill of a region, from the whole source picture:
 *
 *   FILTER     the filter's result; with strength > 0 its taps are made anew for sigma, of both
 *              axes, with the kernel's own radius
 *   PIXELATE   means of blocks of b x b pixels, b = ceil (sqrt (12) sigma), which is the width
 *              of a box of that standard deviation; in a plane ceil (b / subsampling) samples a
 *              side, at least 1, the first block at the region's corner. Blocks are cut only by
 *              the picture's edges. A mean is rounded to the nearest code, halves up
 *   SOLID      the codes of `color`
 *
 * A sample stands for the pixels of the picture that its plane's subsampling makes of it. Its
 * weight in a region is taken at that one of its pixels which lies nearest to the region's centre,
 * d pixels outside of the shape:
 *
 *   RECTANGLE  the distance from the nearest pixel of the grown rectangle, 0 within
 *   ELLIPSE    max (0, rho - 1) * s / 2, where rho is the distance from the centre in units of
 *              the ellipse's half axes w / 2 and h / 2
 *   weight     1 where d = 0, else max (0, 1 - d / (feather * s)), or 0 with feather = 0;
 *              rounded to 65536ths
 *
 * So a region is covered whole, and a feather lies around it. Regions follow one another by s,
 * the smallest first and equal ones in the order given, so that the strongest fill is on top:
 *
 *   inside     v = in, then for each region v += weight * (fill - v)
 *   outside    v = filter's result (or the fill), then for each region v += weight * (in - v)
 *
 * each step rounded to the nearest code, halves up. Samples that no weight reaches, those outside
 * that have the weight 1 in a region, and channels that the filter's mask leaves out are copied bit
 * by bit; elsewhere bits below a code are 0, or as they were where the code is.
 *
 *   allowed     range
 *   regions     any number, anywhere, overlapping too; coordinates within +-REGIONS_MAX_EDGE
 *   grow        0 to 10
 *   strength    0 to 10; > 0 only inside and, with FILTER, for blurs: gaussian, box, binomial, unsharp,
 *               whose gain then stays a few billionths below SEPCONV_MAX_GAIN
 *   feather     0 to 10
 *   PIXELATE    only inside
 *
 * FILTER keeps sepconv.h's accuracy. Thread safety: one thread at a time. */
#pragma once

#include "sepconv.h"

#ifdef __cplusplus
extern "C" {
#endif

#define REGIONS_MAX_EDGE (1 << 24)
#define REGIONS_MAX_SIGMA 500.0
/* Bytes that an H200 copies in the time that queueing one kernel more, and reading the regions first,
 * takes it: some 13 us. */
#define REGIONS_LEAST_IN_PLACE (24 << 20)
/* What kernels count in 32 bits. */
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
  bool outside; /* treat the picture but for the regions */
  RegionsFill fill;
  RegionsShape shape;
  double grow, strength, feather;
  double color[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS]; /* SOLID: codes */
  /* The filter, with taps for strength = 0. Its masks select the channels for every fill. */
  const SepconvSpec *filter;
  /* What the filter's taps were made of; for strength > 0, and PIXELATE's sigma. Its
   * `depth` is not used. */
  const TapsSettings *taps;
  /* Pixels of the picture for a sample of a plane, >= 1. */
  int subsampling_x[IMAGE_MAX_PLANES], subsampling_y[IMAGE_MAX_PLANES];
  bool scale_taps; /* taps shrink with the subsampling, as in taps_make() */
} RegionsSpec;

/* Checks all ranges above, and the filter. FAULT_SETTINGS has a sentence. */
bool regions_validate (
    const RegionsSpec *spec, const Image *layout, Fault *fault);

typedef struct RegionsPlan RegionsPlan;

/* `layout`, `backend`, `method` and `gpu` as for sepconv_plan_new(). On the CPU, `method` computes
 * FILTER; NULL: the fastest one for each region. On a GPU, inside regions have kernels of
 * their own, and `method` must be NULL (FAULT_SETTINGS); outside it computes FILTER. The spec is
 * borrowed only for the call. */
RegionsPlan *regions_plan_new (const RegionsSpec *spec, const Image *layout,
    Backend backend, const SepconvMethod *method, Gpu *gpu, Fault *fault);
/* No run may be unfinished. NULL is allowed. */
void regions_plan_free (RegionsPlan *plan);

/* Changes the spec from the next run on, without waiting for earlier ones. FALSE with
 * FAULT_UNSUPPORTED: the plan stays as it was, and a new one is needed. */
bool regions_plan_update (
    RegionsPlan *plan, const RegionsSpec *spec, Fault *fault);

/* Writes all of dst. `regions` are read during the call only. `rows_apart`: pixels of the picture
 * from one row of the finest plane to the next: 1, or 2 where the images are one field of an
 * interlaced picture, which then has half the layout's rows. CPU and CUDA as for
 * sepconv_plan_run(). Memory for more or larger regions than in earlier runs is allocated; on the
 * CPU also for what a worker thread does for the first time. */
bool regions_plan_run (RegionsPlan *plan, const Region *regions, int n,
    const Image *src, const Image *dst, int rows_apart, GpuStream stream,
    GpuOrder order, Fault *fault);

/* Like regions_plan_run() from an image to itself, inside of regions only (FAULT_UNSUPPORTED
 * outside): bytes that no weight reaches stay as they are, and what fills do not need may be
 * anything. CUDA: the image may also lie in pinned memory (gpu_malloc_host()), which kernels then
 * read and write themselves. With GPU_BESIDE_KERNELS such a run also begins beside whatever else is
 * queued on the stream, copies and events too, and the stream must not be captured; what is queued
 * there afterwards comes after the run. Runs on images in GPU memory are queued after all kernels,
 * whatever `order` says, and on the CPU it has no meaning. The first run allocates GPU memory for up
 * to six pictures, where that is not reserved. A picture of REGIONS_MOST_IN_PLACE bytes or more is
 * refused (FAULT_UNSUPPORTED). */
bool regions_plan_run_in_place (RegionsPlan *plan, const Region *regions, int n,
    const Image *image, int rows_apart, GpuStream stream, GpuOrder order,
    Fault *fault);

/* Allocates what runs in place need, of images in GPU memory or on the host and in that order, so
 * that none of them has to: on a GPU, unless regions_plan_suits_place() is never TRUE. FALSE: there
 * is no memory; other runs do not need it. */
bool regions_plan_reserve_in_place (
    RegionsPlan *plan, bool in_gpu_memory, GpuOrder order, Fault *fault);

/* What runs in place read and write. */
typedef struct
{
  const ImageBox *read, *written; /* [n] each */
  int n;
} RegionsBoxes;

/* Finds that for regions of an image of the plan's layout, with all its rows; where `rows_apart` is 2,
 * for both of its fields. The boxes stay until the next call for the plan. FALSE: a wrong region, or no memory. */
bool regions_plan_find_boxes (RegionsPlan *plan, const Region *regions, int n,
    int rows_apart, RegionsBoxes *boxes, Fault *fault);

/* Whether a run in place takes less time than one that copies the picture: it is inside of
 * regions, and reads at most half of all bytes; and of a picture in GPU memory, where copying is
 * fast, there are REGIONS_LEAST_IN_PLACE bytes at least. FALSE for what is refused, too. */
bool regions_plan_suits_place (
    const RegionsPlan *plan, const RegionsBoxes *boxes, bool in_gpu_memory);

/* The name of the method that computes FILTER, or "regions" for kernels of their own; for
 * reports. Static. */
const char *regions_plan_method_name (const RegionsPlan *plan);

#ifdef __cplusplus
}
#endif
