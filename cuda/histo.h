/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* histo: histograms of an image's channels, by any of several methods.
 *
 * Every selected channel has `bins` counters of its own. A sample of code v and
 * `depth` bits counts in
 *
 *   bin = (v * bins) >> depth
 *
 * so that the counters of a channel always add up to its number of samples.
 * Padding between rows and bits below the code count nowhere.
 *
 *   allowed     range
 *   bins        HISTO_MIN_BINS to HISTO_MAX_BINS, any integer, also more than
 *               the number of codes
 *   size        1x1 to HISTO_MAX_SAMPLES samples a channel
 *   depth       1 to 16 bits, samples shifted by any number of bits
 *   channels    1 to 4 interleaved a plane, any pixel and row stride
 *
 * Counting is exact: all methods give the same numbers. */
#pragma once

#include "backend.h"
#include "gpu.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HISTO_MIN_BINS 2
#define HISTO_MAX_BINS 65536
/* Methods use 32-bit counters internally. */
#define HISTO_MAX_SAMPLES UINT32_MAX

typedef struct
{
  int bins;
  unsigned channels[IMAGE_MAX_PLANES]; /* bit c set: count channel c */
} HistoSpec;

/* One implementation of counting: a row of histo/methods.def. */
typedef struct
{
  const char *name;
  const char *description; /* a phrase, for menus and tables */
  Backend backend;
  const struct HistoMethodOps *ops; /* NULL: not in this build */
} HistoMethod;

/* All known methods, built or not, in a fixed order. */
int histo_n_methods (void);
const HistoMethod *histo_method (int index);
const HistoMethod *histo_method_by_name (const char *name);

/* The least compute capability that the method's kernels need, 10 * major + minor;
 * 0: any, or the method is not in this build. */
int histo_method_min_capability (const HistoMethod *method);

/* Whether runs with GPU_BESIDE_KERNELS overlap other kernels on this GPU. */
bool histo_method_overlaps (const HistoMethod *method, const Gpu *gpu);

/* Whether a method supports the spec; if not, `why` gives the reason. Addresses and
 * sizes in `layout` do not matter. `gpu`: the GPU to run on; NULL: assume one that can
 * run every method. */
bool histo_method_supports (const HistoMethod *method, const HistoSpec *spec,
    const Image *layout, const Gpu *gpu, Fault *why);

/* The method that a plan of `backend` takes: `method` itself if it supports the spec,
 * or for NULL the one that is expected to be fastest. Returns NULL and a fault if there
 * is none. */
const HistoMethod *histo_choose_method (const HistoSpec *spec,
    const Image *layout, Backend backend, const HistoMethod *method,
    const Gpu *gpu, Fault *fault);

/* Checks all ranges above, and that a channel is selected. */
bool histo_validate (const HistoSpec *spec, const Image *layout, Fault *fault);

/* A validated spec, the method that computes it, and its buffers. */
typedef struct HistoPlan HistoPlan;

/* `backend` and `method` as for histo_choose_method(). `layout` gives the
 * planes and the largest size to be counted; its addresses are not used. `gpu` is needed
 * for BACKEND_CUDA and must outlive the plan and its results; its context must be pushed
 * here and for every call below. The caller owns the plan. */
HistoPlan *histo_plan_new (const HistoSpec *spec, const Image *layout,
    Backend backend, const HistoMethod *method, Gpu *gpu, Fault *fault);
/* All runs of the plan must have finished. NULL is allowed. */
void histo_plan_free (HistoPlan *plan);

const HistoMethod *histo_plan_method (const HistoPlan *plan);

/* The counters of one run, in host memory; a GPU writes them there. Each run in flight
 * needs a result of its own. It may be freed after its plan, but not before the run that
 * fills it has finished. The caller owns it; counters start at 0. */
typedef struct HistoResult HistoResult;

HistoResult *histo_result_new (const HistoPlan *plan, Fault *fault);
void histo_result_free (HistoResult *result); /* NULL is allowed */

int histo_result_bins (const HistoResult *result);
/* The counters of a channel, [bins]; NULL if the spec does not select it. They
 * stay at this address for the life of the result. */
const uint64_t *histo_result_counts (
    const HistoResult *result, int plane, int channel);

/* Counts `src` into `result`, which was made from this plan, and overwrites its earlier
 * counts. Planes of src are the plan's, but may be smaller, down to memories of height 0
 * (a field of one row), which count nothing. CPU: addresses are the host's, and the call
 * returns when the work is done. CUDA: addresses are the device's, and the work is
 * queued on `stream`, the same one for all runs of a plan; `order` is its order with the
 * kernels that are queued there. The result may be read once the stream has done this
 * work. Never allocates, and never waits for the GPU. One thread at a time. */
bool histo_plan_run (HistoPlan *plan, const Image *src, HistoResult *result,
    GpuStream stream, GpuOrder order, Fault *fault);

/* The code that stands for all samples of a bin: the middle between the lowest
 * and the highest code that fall into it. With as many bins as codes, or more,
 * that is the code itself. For a bin that no code falls into it is the code at the bin's
 * lower edge, which does not matter: such a bin counts nothing. */
double histo_bin_center (int bin, int bins, int depth);

/* Statistics of one channel's counters. Each sample is taken to have the code of its
 * bin's centre: exact with bins >= 2^depth; with fewer bins, exact for samples rounded
 * to these codes. Codes are in [0, 2^depth). Without samples all fields are 0. */
typedef struct
{
  uint64_t samples;
  double min, max; /* code */
  double mean;     /* code: sum of n c / N */
  double stddev;   /* code, of all samples, not an estimate: divided by N */
  /* Codes. The quantile p is the lowest code, among those that occur, for which at
   * least a share p of the samples is not above it: definition 1 of Hyndman and Fan,
   * Sample Quantiles in Statistical Packages, The American Statistician 50(4), 1996. */
  double median, p1, p99;
  /* Bits a sample, -sum of p log2 p over the bins: Shannon, A Mathematical Theory
   * of Communication, 1948. At most log2 of the bins. */
  double entropy;
  double dark, bright; /* shares of the samples, 0 to 1 */
} HistoStatistics;

/* `dark` is the highest code that counts as dark, `bright` the lowest that counts
 * as bright: a sample is judged by its bin's centre. */
HistoStatistics histo_statistics (
    const uint64_t *counts, int bins, int depth, double dark, double bright);

/* Distance of two histograms, from 0 (same shares in all bins) to 1 (no bin in common):
 * half the sum of |a/A - b/B|, with A and B the total counts. It equals 1 minus the
 * histogram intersection of Swain and Ballard (Color Indexing, 1991), and is the
 * bin-wise difference by which Zhang, Kankanhalli and Smoliar find cuts (Automatic
 * Partitioning of Full-Motion Video, 1993), here of shares, so that pictures of
 * different sizes can be compared. One empty histogram: 1; two: 0. */
double histo_distance (const uint64_t *a, const uint64_t *b, int bins);

#ifdef __cplusplus
}
#endif
