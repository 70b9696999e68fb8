/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-histo-case.h"

#include "bench-case.h"

#include <string.h>

void
bench_histo_case_make (BenchHistoCase *c, const BenchFormat *format,
    BenchSize size, BenchContent content, int bins)
{
  memset (c, 0, sizeof *c);
  c->format = format;
  c->size = size;
  c->content = content;
  bench_case_layout (format, size, &c->layout);
  c->spec.bins = bins;
  c->bytes = (double) image_bytes (&c->layout);
  for (int p = 0; p < c->layout.n_planes; p++) {
    c->spec.channels[p] = (1u << c->layout.plane[p].channels) - 1;
    c->n_channels += c->layout.plane[p].channels;
  }
}

static bool
wrong (const char *who, int plane, int channel, int bin, uint64_t counted,
    uint64_t expected, Fault *fault)
{
  return fault_set (fault, FAULT_FAILED,
      "%s counted %llu samples in bin %d of plane %d, channel %d, where there "
      "are %llu.",
      who, (unsigned long long) counted, bin, plane, channel,
      (unsigned long long) expected);
}

bool
bench_histo_case_check_result (const BenchHistoCase *c,
    const HistoResult *result, const char *who, Fault *fault)
{
  for (int p = 0; p < c->layout.n_planes; p++)
    for (int channel = 0; channel < c->layout.plane[p].channels; channel++) {
      const uint64_t *counts = histo_result_counts (result, p, channel);
      const uint64_t *expected = histo_result_counts (c->expected, p, channel);

      for (int bin = 0; bin < c->spec.bins; bin++)
        if (counts[bin] != expected[bin])
          return wrong (
              who, p, channel, bin, counts[bin], expected[bin], fault);
    }
  return true;
}

bool
bench_histo_case_check_counts (const BenchHistoCase *c, const uint32_t *counts,
    const char *who, Fault *fault)
{
  for (int p = 0; p < c->layout.n_planes; p++)
    for (int channel = 0; channel < c->layout.plane[p].channels; channel++) {
      const uint64_t *expected = histo_result_counts (c->expected, p, channel);

      for (int bin = 0; bin < c->spec.bins; bin++)
        if (counts[bin] != expected[bin])
          return wrong (
              who, p, channel, bin, counts[bin], expected[bin], fault);
      counts += c->spec.bins;
    }
  return true;
}
