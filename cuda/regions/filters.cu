/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filters.cuh"

#include "in-place.cuh"

#include "../gpu-check.h"

#include <string.h>

/* Most bytes of the two lists that are kept. Tests set fewer. */
#ifndef REGIONS_MOST_KEPT
#define REGIONS_MOST_KEPT (4 << 20)
#endif
#define LEAST_SENT 65536 /* smallest allocation, bytes */
/* A lower sampling rate is faster for this many taps along the longer axis of a plane, or more, if
 * some plane's factor is at least LEAST_FACTOR. */
#define LEAST_AT_RATES 65
#define LEAST_FACTOR 4

void
regions_filters_init (RegionsFilters *filters)
{
  filters->known.item = sizeof (RegionsFilterOf);
  filters->taps.item = sizeof (RegionsTaps);
  filters->tap.item = sizeof (double);
  filters->generation = 1;
}

static void
free_sent (RegionsSent *sent)
{
  for (void *mirror : sent->mirror)
    gpu_free_host (mirror);
  gpu_free (sent->device);
  *sent = RegionsSent ();
}

void
regions_filters_free (RegionsFilters *filters)
{
  sepconv_plan_free (filters->filter);
  free_sent (&filters->sent_taps);
  for (RegionsSent &sent : filters->sent_tap)
    free_sent (&sent);
  for (GpuEvent event : filters->sent)
    gpu_event_free (event);
  free (filters->known.data);
  free (filters->taps.data);
  free (filters->tap.data);
  free (filters->rates);
}

void
regions_filters_begin (RegionsFilters *filters, const RegionsPlan *plan)
{
  if (filters->revision == plan->revision
      && filters->taps.n * filters->taps.item
              + filters->tap.n * filters->tap.item
          <= (size_t) REGIONS_MOST_KEPT)
    return;
  filters->known.n = filters->taps.n = filters->tap.n = 0;
  filters->revision = plan->revision;
  filters->generation++;
}

static bool
append_taps (RegionsFilters *filters, const Taps *taps, int *at, Fault *fault)
{
  RegionsList *list = &filters->tap;
  double *to = (double *) regions_extend (list, (size_t) taps->n);

  if (to == NULL)
    return regions_no_memory (fault);
  memcpy (to, taps->tap, sizeof *to * (size_t) taps->n);
  *at = (int) (list->n - (size_t) taps->n);
  return true;
}

/* Appends n floats from a multiple of four on. */
static bool
append_floats (
    RegionsFilters *filters, const float *from, int n, int *at, Fault *fault)
{
  RegionsList *list = &filters->tap;
  const int gap = (int) (-list->n & 3);
  double *to = (double *) regions_extend (list, (size_t) (gap + n));

  if (to == NULL)
    return regions_no_memory (fault);
  for (int i = 0; i < gap; i++)
    *to++ = 0.0;
  for (int i = 0; i < n; i++)
    to[i] = from[i];
  *at = (int) list->n - n;
  return true;
}

static bool
append_rate (RegionsFilters *filters, const MultirateAxis *axis,
    RegionsRate *rate, Fault *fault)
{
  rate->factor = axis->factor;
  rate->weight_sum = axis->weight_sum;
  rate->reciprocal = regions_reciprocal (axis->factor);
  rate->first = axis->first;
  rate->n = axis->n;
  return append_floats (filters, axis->window, MULTIRATE_REACH * axis->factor,
             &rate->window, fault)
      && append_floats (filters, axis->phase[0], MULTIRATE_REACH * axis->factor,
          &rate->phase, fault)
      && append_floats (filters, axis->tap, axis->n, &rate->tap, fault);
}

/* Appends the rates of plane p, if its taps are long and smooth. */
static bool
append_rates (RegionsFilters *filters, const SepconvSpec *spec, int p,
    RegionsTaps *taps, Fault *fault)
{
  const RegionsTerm *term = &taps->term[0];

  if (taps->how.combine != SEPCONV_SUM || taps->n_terms != 1
      || (term->nx < LEAST_AT_RATES && term->ny < LEAST_AT_RATES))
    return true;
  if (filters->rates == NULL)
    filters->rates = (MultiratePlane *) malloc (sizeof *filters->rates);
  if (filters->rates == NULL)
    return regions_no_memory (fault);
  return !multirate_plan_alone (
             filters->rates, filters->filter, spec, p, MULTIRATE_BYTE_WINDOWS)
      || (append_rate (filters, &filters->rates->x, &taps->rate_x, fault)
          && append_rate (filters, &filters->rates->y, &taps->rate_y, fault));
}

/* Appends the filter of plane p of filters->filter, which was made from `spec`. */
static bool
append_plane (
    RegionsFilters *filters, const SepconvSpec *spec, int p, Fault *fault)
{
  const SepconvPlan *filter = filters->filter;
  RegionsTaps taps;

  memset (&taps, 0, sizeof taps);
  taps.how.combine = filter->combine;
  taps.how.scale = filter->scale;
  taps.how.amount = filter->amount;
  if (filter->taps[p].x.n > 0)
    taps.n_terms = filter->n_terms[p];
  for (int t = 0; t < taps.n_terms; t++) {
    const SepconvPlaneTaps *from = sepconv_plan_term (filter, p, t);
    RegionsTerm *term = &taps.term[t];

    term->nx = from->x.n;
    term->ny = from->y.n;
    term->sum_x = taps_sum (&from->x);
    if (!append_taps (filters, &from->x, &term->x, fault)
        || !append_taps (filters, &from->y, &term->y, fault))
      return false;
  }
  if (!append_rates (filters, spec, p, &taps, fault))
    return false;
  for (int c = 0; c < filter->layout.plane[p].channels; c++)
    taps.channel[c] = sepconv_plane_channels (filter, p)[c];
  return regions_append (&filters->taps, taps, fault);
}

/* Makes filters->filter for a sigma; 0: with the taps of the spec. Returns the spec that it was
 * made from, or NULL. */
static const SepconvSpec *
make_filter (RegionsFilters *filters, const RegionsPlan *plan, double sigma,
    Fault *fault)
{
  const SepconvSpec *spec = plan->spec.filter;

  if (sigma > 0.0) {
    if (!regions_make_taps (&plan->spec, &plan->layout, sigma, &filters->spec,
            filters->made, fault))
      return NULL;
    spec = &filters->spec;
  }
  if (filters->filter != NULL
      && !sepconv_plan_has_terms (filters->filter, spec)) {
    sepconv_plan_free (filters->filter);
    filters->filter = NULL;
  }
  if (filters->filter != NULL)
    sepconv_plan_adopt (filters->filter, spec);
  else
    filters->filter = sepconv_plan_new_bare (spec, &plan->layout, fault);
  return filters->filter != NULL ? spec : NULL;
}

/* The number of known filters with a lower sigma. */
static size_t
count_below (const RegionsFilters *filters, double sigma)
{
  const RegionsFilterOf *known =
      regions_items<RegionsFilterOf> (filters->known);
  size_t first = 0, last = filters->known.n;

  while (first < last) {
    const size_t middle = (first + last) / 2;

    if (known[middle].sigma < sigma)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

/* Drops the rates of a filter, whose first RegionsTaps is `first`, unless they are faster. */
static void
drop_slow_rates (const RegionsFilters *filters, int first, int n_planes)
{
  RegionsTaps *taps = (RegionsTaps *) filters->taps.data + first;
  bool fast = false;

  for (int p = 0; p < n_planes; p++)
    fast = fast || taps[p].rate_x.factor >= LEAST_FACTOR
        || taps[p].rate_y.factor >= LEAST_FACTOR;
  for (int p = 0; p < n_planes && !fast; p++)
    taps[p].rate_x.factor = taps[p].rate_y.factor = 0;
}

bool
regions_filters_find (RegionsFilters *filters, const RegionsPlan *plan,
    const RegionsPlace *place, RegionsFilterOf *found, Fault *fault)
{
  const double sigma = plan->spec.strength > 0.0 ? place->sigma : 0.0;
  const size_t at = count_below (filters, sigma), n = filters->known.n - at;
  RegionsFilterOf *known = (RegionsFilterOf *) filters->known.data + at;
  const SepconvSpec *spec;

  if (n > 0 && known->sigma == sigma) {
    *found = *known;
    return true;
  }
  spec = make_filter (filters, plan, sigma, fault);
  if (spec == NULL)
    return false;
  found->sigma = sigma;
  found->first = (int) filters->taps.n;
  found->float_holds = filters->filter->float_holds;
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (!append_plane (filters, spec, p, fault))
      return false;
  drop_slow_rates (filters, found->first, plan->layout.n_planes);
  if (regions_extend (&filters->known, 1) == NULL)
    return regions_no_memory (fault);
  known = (RegionsFilterOf *) filters->known.data + at;
  memmove (known + 1, known, n * sizeof *known);
  *known = *found;
  return true;
}

static bool
reserve (RegionsSent *sent, size_t bytes, GpuStream stream, Fault *fault)
{
  if (bytes <= sent->bytes)
    return true;
  if (!gpu_stream_synchronize (stream, fault))
    return false;
  free_sent (sent);
  bytes = 2 * bytes > LEAST_SENT ? 2 * bytes : LEAST_SENT;
  sent->device = gpu_malloc (bytes, fault);
  if (sent->device == NULL)
    return false;
  for (void *&mirror : sent->mirror) {
    mirror = gpu_malloc_host (bytes, fault);
    if (mirror == NULL)
      return false;
  }
  sent->bytes = bytes;
  return true;
}

/* Sends the items of a list, of `item` bytes each, that are not on the GPU yet; write (to, first,
 * n) writes them to the mirror. There is room for all. */
template <typename Write>
static bool
send_rest (RegionsSent *sent, int mirror, const RegionsList &list, size_t item,
    GpuStream stream, const Write &write, Fault *fault)
{
  const size_t at = sent->n * item, bytes = list.n * item - at;
  bool ok = false;

  if (bytes > 0) {
    uint8_t *from = (uint8_t *) sent->mirror[mirror] + at;

    write (from, sent->n, list.n - sent->n);
    GPU_CHECK (cudaMemcpyAsync ((uint8_t *) sent->device + at, from, bytes,
                   cudaMemcpyHostToDevice, stream),
        fault);
    sent->n = list.n;
  }
  ok = true;
done:
  return ok;
}

/* Marks everything as not sent, if filters were dropped since the last call. */
static bool
begin_sending (RegionsFilters *filters, int mirror, Fault *fault)
{
  GpuEvent *sent = &filters->sent[mirror];

  if (*sent == NULL && !gpu_event_new_untimed (sent, fault))
    return false;
  if (filters->sent_generation == filters->generation)
    return true;
  if (!gpu_event_synchronize (*sent, GPU_NAP_NS, fault))
    return false;
  filters->sent_taps.n = 0;
  for (RegionsSent &tap : filters->sent_tap)
    tap.n = 0;
  filters->sent_generation = filters->generation;
  return true;
}

bool
regions_filters_send (
    RegionsFilters *filters, const RegionsRun *run, bool in_float, Fault *fault)
{
  const RegionsList &taps = filters->taps, &tap = filters->tap;
  const size_t tap_bytes = in_float ? sizeof (float) : sizeof (double);
  const int mirror = (int) (filters->generation % REGIONS_MIRRORS);
  RegionsSent *sent_taps = &filters->sent_taps;
  RegionsSent *sent_tap = &filters->sent_tap[in_float];

  if (filters->sent_generation == filters->generation && sent_taps->n == taps.n
      && sent_tap->n == tap.n)
    return true;
  return regions_run_alone (run, fault)
      && begin_sending (filters, mirror, fault)
      && reserve (sent_taps, taps.n * taps.item, run->stream, fault)
      && reserve (sent_tap, tap.n * tap_bytes, run->stream, fault)
      && send_rest (
          sent_taps, mirror, taps, taps.item, run->stream,
          [&taps] (void *to, size_t first, size_t n) {
            memcpy (
                to, regions_items<RegionsTaps> (taps) + first, n * taps.item);
          },
          fault)
      && send_rest (
          sent_tap, mirror, tap, tap_bytes, run->stream,
          [&tap, in_float] (void *to, size_t first, size_t n) {
            const double *from = regions_items<double> (tap) + first;

            if (!in_float)
              memcpy (to, from, n * sizeof *from);
            for (size_t i = 0; in_float && i < n; i++)
              ((float *) to)[i] = (float) from[i];
          },
          fault)
      && gpu_event_record (filters->sent[mirror], run->stream, fault);
}
