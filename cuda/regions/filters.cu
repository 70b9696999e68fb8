/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filters.cuh"

#include <string.h>

void
regions_filters_init (RegionsFilters *filters)
{
  filters->taps.item = sizeof (RegionsTaps);
  filters->tap.item = sizeof (double);
  regions_filters_clear (filters);
}

void
regions_filters_free (RegionsFilters *filters)
{
  sepconv_plan_free (filters->filter);
  free (filters->taps.data);
  free (filters->tap.data);
}

void
regions_filters_clear (RegionsFilters *filters)
{
  filters->taps.n = filters->tap.n = 0;
  filters->float_holds = true;
  filters->longest = 0;
  filters->revision = 0;
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
  if (filters->longest < taps->n)
    filters->longest = taps->n;
  return true;
}

/* The filter of plane p, as filters->filter has it. */
static bool
append_filter (RegionsFilters *filters, int p, Fault *fault)
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
  for (int c = 0; c < filter->layout.plane[p].channels; c++)
    taps.channel[c] = sepconv_plane_channels (filter, p)[c];
  return regions_append (&filters->taps, taps, fault);
}

bool
regions_filters_find (RegionsFilters *filters, const RegionsPlan *plan,
    double sigma, Fault *fault)
{
  const SepconvSpec *spec = plan->spec.filter;

  if (!(plan->spec.strength > 0.0))
    sigma = 0.0;
  if (filters->revision == plan->revision && filters->sigma == sigma)
    return true;
  if (sigma > 0.0) {
    if (!regions_make_taps (&plan->spec, &plan->layout, sigma, &filters->spec,
            filters->made, fault))
      return false;
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
  if (filters->filter == NULL)
    return false;
  filters->float_holds = filters->float_holds && filters->filter->float_holds;
  for (int p = 0; p < plan->layout.n_planes; p++)
    if (!append_filter (filters, p, fault))
      return false;
  filters->revision = plan->revision;
  filters->sigma = sigma;
  return true;
}

void
regions_filters_write_tap (
    const RegionsFilters *filters, bool in_float, void *to)
{
  const double *tap = regions_items<double> (filters->tap);

  if (!in_float && filters->tap.n > 0)
    memcpy (to, tap, filters->tap.n * sizeof *tap);
  for (size_t i = 0; in_float && i < filters->tap.n; i++)
    ((float *) to)[i] = (float) tap[i];
}
