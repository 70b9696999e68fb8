/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "histo.h"

#include "histo/method.h"
#include "trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A .cu method exists only in builds with CUDA; methods.def is the same in all. */
#define OPS_CPU(symbol) &histo_##symbol##_ops
#ifdef HAVE_CUDA
#define OPS_CUDA(symbol) &histo_##symbol##_ops
#else
#define OPS_CUDA(symbol) NULL
#endif

#define HISTO_METHOD(symbol, name, backend, description) \
  extern const HistoMethodOps histo_##symbol##_ops;
#include "histo/methods.def"
#undef HISTO_METHOD

#define HISTO_METHOD(symbol, name, backend, description) \
  { name, description, BACKEND_##backend, OPS_##backend (symbol) },
static const HistoMethod methods[] = {
#include "histo/methods.def"
};
#undef HISTO_METHOD

#define N_METHODS ((int) (sizeof methods / sizeof methods[0]))

/* Shared memory of a block, for compute capability 9.0 and 10.x: CUDA C++ Programming
 * Guide, table of technical specifications. */
#define MOST_SHARED_MEMORY ((size_t) 227 << 10)
/* Bytes that kernels need in addition to their counters. */
#define RESERVED_SHARED_MEMORY 256

int
histo_n_methods (void)
{
  return N_METHODS;
}

const HistoMethod *
histo_method (int index)
{
  return index >= 0 && index < N_METHODS ? &methods[index] : NULL;
}

const HistoMethod *
histo_method_by_name (const char *name)
{
  for (int i = 0; i < N_METHODS; i++)
    if (strcmp (methods[i].name, name) == 0)
      return &methods[i];
  return NULL;
}

int
histo_method_min_capability (const HistoMethod *method)
{
  return method->ops != NULL ? method->ops->min_capability : 0;
}

static bool
validate_plane (const HistoSpec *spec, const Image *layout, int p, Fault *fault)
{
  const ImagePlane *plane = &layout->plane[p];
  const uint64_t samples =
      (uint64_t) plane->width * (uint64_t) image_plane_height (layout, p);

  if (spec->channels[p] >> plane->channels != 0)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d has %d channels; mask 0x%x selects others.", p,
        plane->channels, spec->channels[p]);
  if (spec->channels[p] != 0 && samples > HISTO_MAX_SAMPLES)
    return fault_set (fault, FAULT_SETTINGS,
        "Plane %d has %llu pixels; at most %llu can be counted.", p,
        (unsigned long long) samples, (unsigned long long) HISTO_MAX_SAMPLES);
  return true;
}

bool
histo_validate (const HistoSpec *spec, const Image *layout, Fault *fault)
{
  unsigned any = 0;

  if (!image_validate (layout, fault))
    return false;
  if (spec->bins < HISTO_MIN_BINS || spec->bins > HISTO_MAX_BINS)
    return fault_set (fault, FAULT_SETTINGS,
        "A histogram has %d to %d bins, not %d.", HISTO_MIN_BINS,
        HISTO_MAX_BINS, spec->bins);
  for (int p = 0; p < layout->n_planes; p++) {
    if (!validate_plane (spec, layout, p, fault))
      return false;
    any |= spec->channels[p];
  }
  if (any == 0)
    return fault_set (
        fault, FAULT_SETTINGS, "No channel is selected for the histogram.");
  return true;
}

bool
histo_fits_shared (size_t bytes, const Gpu *gpu, Fault *why)
{
  const size_t most =
      gpu != NULL ? gpu_shared_memory (gpu) : MOST_SHARED_MEMORY;

  if (bytes + RESERVED_SHARED_MEMORY <= most)
    return true;
  return fault_set (why, FAULT_UNSUPPORTED,
      "so many bins take %zu KiB of shared memory, and a block has %zu",
      (bytes + 1023) >> 10, most >> 10);
}

bool
histo_method_overlaps (const HistoMethod *method, const Gpu *gpu)
{
  return method->ops != NULL && method->ops->overlaps
      && gpu_overlaps_kernels (gpu);
}

bool
histo_method_supports (const HistoMethod *method, const HistoSpec *spec,
    const Image *layout, const Gpu *gpu, Fault *why)
{
  if (method->ops == NULL)
    return fault_set (why, FAULT_UNSUPPORTED, "it is not in this build");
  if (!gpu_has_capability (gpu, method->ops->min_capability, why))
    return false;
  return method->ops->supports == NULL
      || method->ops->supports (spec, layout, gpu, why);
}

static const HistoMethod *
cheapest_method (
    const HistoSpec *spec, const Image *layout, Backend backend, const Gpu *gpu)
{
  const HistoMethod *best = NULL;
  double best_cost = INFINITY;

  for (int i = 0; i < N_METHODS; i++) {
    double cost;

    if (methods[i].backend != backend
        || !histo_method_supports (&methods[i], spec, layout, gpu, NULL))
      continue;
    cost = methods[i].ops->cost (spec, layout);
    if (cost < best_cost) {
      best = &methods[i];
      best_cost = cost;
    }
  }
  return best;
}

const HistoMethod *
histo_choose_method (const HistoSpec *spec, const Image *layout,
    Backend backend, const HistoMethod *wanted, const Gpu *gpu, Fault *fault)
{
  Fault why;

  if (wanted == NULL) {
    const HistoMethod *best = cheapest_method (spec, layout, backend, gpu);

    if (best == NULL)
      fault_set (
          fault, FAULT_UNSUPPORTED, "No method in this build can do it.");
    return best;
  }
  if (wanted->backend != backend) {
    fault_set (fault, FAULT_SETTINGS, "Method %s runs on the %s only.",
        wanted->name, wanted->backend == BACKEND_CPU ? "CPU" : "GPU");
    return NULL;
  }
  if (!histo_method_supports (wanted, spec, layout, gpu, &why)) {
    fault_set (fault, FAULT_UNSUPPORTED,
        "Method %s cannot do this: %s. method=auto finds one that can.",
        wanted->name, why.message);
    return NULL;
  }
  return wanted;
}

int
histo_list_channels (const HistoSpec *spec, const Image *layout,
    HistoChannel channel[HISTO_MAX_CHANNELS])
{
  int n = 0;

  for (int p = 0; p < layout->n_planes; p++) {
    const ImagePlane *plane = &layout->plane[p];

    for (int c = 0; c < plane->channels; c++)
      if (spec->channels[p] >> c & 1)
        channel[n++] = (HistoChannel){
          .plane = p,
          .channel = c,
          .memory = plane->memory,
          .byte_offset = plane->offset + c * plane->channel_stride,
          .pixel_stride = plane->pixel_stride,
          .width = plane->width,
          .sample_bytes = image_sample_bytes (plane),
          .depth = plane->depth,
          .shift = plane->shift,
        };
  }
  return n;
}

HistoPlan *
histo_plan_new (const HistoSpec *spec, const Image *layout, Backend backend,
    const HistoMethod *method, Gpu *gpu, Fault *fault)
{
  HistoPlan *plan;

  if (!histo_validate (spec, layout, fault))
    return NULL;
  method = histo_choose_method (spec, layout, backend, method, gpu, fault);
  if (method == NULL)
    return NULL;

  plan = calloc (1, sizeof *plan);
  if (plan == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for a histogram.");
    return NULL;
  }
  plan->method = method;
  plan->gpu = gpu;
  plan->layout = *layout;
  plan->bins = spec->bins;
  plan->n_channels = histo_list_channels (spec, layout, plan->channel);
  if (!method->ops->prepare (plan, fault)) {
    histo_plan_free (plan);
    return NULL;
  }
  return plan;
}

void
histo_plan_free (HistoPlan *plan)
{
  if (plan == NULL)
    return;
  plan->method->ops->release (plan);
  free (plan);
}

const HistoMethod *
histo_plan_method (const HistoPlan *plan)
{
  return plan->method;
}

HistoResult *
histo_result_new (const HistoPlan *plan, Fault *fault)
{
  const size_t bytes =
      (size_t) plan->n_channels * (size_t) plan->bins * sizeof (uint64_t);
  HistoResult *result = calloc (1, sizeof *result);

  if (result == NULL) {
    fault_set (fault, FAULT_NO_SPACE, "Out of memory for a histogram.");
    return NULL;
  }
  result->backend = plan->method->backend;
  result->bins = plan->bins;
  result->n_channels = plan->n_channels;
  memcpy (result->channel, plan->channel, sizeof result->channel);
  if (result->backend == BACKEND_CUDA) {
    result->counts = gpu_malloc_host (bytes, fault);
  } else {
    result->counts = malloc (bytes);
    if (result->counts == NULL)
      fault_set (fault, FAULT_NO_SPACE,
          "Out of memory: %zu KiB for a histogram.", bytes >> 10);
  }
  if (result->counts == NULL) {
    free (result);
    return NULL;
  }
  memset (result->counts, 0, bytes);
  return result;
}

void
histo_result_free (HistoResult *result)
{
  if (result == NULL)
    return;
  if (result->backend == BACKEND_CUDA)
    gpu_free_host (result->counts);
  else
    free (result->counts);
  free (result);
}

int
histo_result_bins (const HistoResult *result)
{
  return result->bins;
}

int
histo_find_channel (const HistoChannel *channels, int n, int plane, int channel)
{
  for (int i = 0; i < n; i++)
    if (channels[i].plane == plane && channels[i].channel == channel)
      return i;
  return -1;
}

const uint64_t *
histo_result_counts (const HistoResult *result, int plane, int channel)
{
  const int i =
      histo_find_channel (result->channel, result->n_channels, plane, channel);

  return i < 0 ? NULL : result->counts + (size_t) i * (size_t) result->bins;
}

/* Whether a plane equals the plan's, but may be narrower. */
static bool
plane_fits (const ImagePlane *plane, const ImagePlane *layout)
{
  ImagePlane narrowed = *layout;

  if (plane->width < 1 || plane->width > layout->width)
    return false;
  narrowed.width = plane->width;
  return memcmp (&narrowed, plane, sizeof narrowed) == 0;
}

/* Whether an image has the plan's planes, none of them larger. */
static bool
fits_plan (const HistoPlan *plan, const Image *image)
{
  const Image *layout = &plan->layout;

  if (image->n_planes != layout->n_planes
      || image->n_memories != layout->n_memories)
    return false;
  for (int m = 0; m < layout->n_memories; m++)
    if (image->memory[m].height < 0
        || image->memory[m].height > layout->memory[m].height)
      return false;
  for (int p = 0; p < layout->n_planes; p++)
    if (!plane_fits (&image->plane[p], &layout->plane[p]))
      return false;
  return true;
}

/* Whether a GPU can access the planes that are counted; others may be misaligned. */
static bool
suits_gpu (const HistoPlan *plan, const Image *image, Fault *fault)
{
  for (int i = 0; i < plan->n_channels; i++)
    if (!image_plane_suits_gpu (image, plan->channel[i].plane, fault))
      return false;
  return true;
}

static bool
result_fits (const HistoPlan *plan, const HistoResult *result)
{
  return result->backend == plan->method->backend && result->bins == plan->bins
      && result->n_channels == plan->n_channels
      && memcmp (result->channel, plan->channel, sizeof plan->channel) == 0;
}

bool
histo_plan_accepts (const HistoPlan *plan, const Image *src,
    const HistoResult *result, Fault *fault)
{
  if (!result_fits (plan, result))
    return fault_set (
        fault, FAULT_SETTINGS, "The result was not made for this histogram.");
  if (!fits_plan (plan, src))
    return fault_set (fault, FAULT_SETTINGS,
        "The image does not have the layout that the histogram was made for.");
  return plan->method->backend != BACKEND_CUDA || suits_gpu (plan, src, fault);
}

bool
histo_plan_run (HistoPlan *plan, const Image *src, HistoResult *result,
    GpuStream stream, GpuOrder order, Fault *fault)
{
  TRACE_BLOCK (TRACE_COUNT, 0);
  return histo_plan_accepts (plan, src, result, fault)
      && plan->method->ops->run (plan, src, result, stream,
          gpu_possible_order (plan->gpu, order), fault);
}
