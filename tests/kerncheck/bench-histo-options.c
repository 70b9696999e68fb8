/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-histo-options.h"

#include "bench-arguments.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_BINS 256

#define COUNT(array) ((int) (sizeof (array) / sizeof (array)[0]))

/* --quick takes the first ones. */
static const char *const formats[] = { "GRAY8", "RGBA", "NV12", "GRAY16" };
#define N_QUICK_FORMATS 2
static const char *const sizes[] = { "1920x1080", "3840x2160", "7680x4320" };
#define N_QUICK_SIZES 2
/* All but the largest size. */
#define N_HOST_SIZES 2
static const BenchContent contents[] = { BENCH_NOISE, BENCH_CONSTANT,
  BENCH_NATURAL, BENCH_TWO, BENCH_RAMP };
#define N_QUICK_CONTENTS 3

static bool
add_method (BenchHistoOptions *options, const char *name)
{
  const HistoMethod *method = histo_method_by_name (name);

  if (method == NULL || options->n_methods == BENCH_MAX_CHOICES)
    return false;
  options->method[options->n_methods++] = method;
  return true;
}

/* Adds a method unless it is in the list already. */
static bool
add_content (BenchHistoOptions *options, const char *name)
{
  BenchContent content;

  if (!bench_content_by_name (name, &content))
    return false;
  for (int i = 0; i < options->n_contents; i++)
    if (options->content[i] == content)
      return true;
  options->content[options->n_contents++] = content;
  return true;
}

static bool
set_bins (BenchHistoOptions *options, const char *text)
{
  char rest;

  return sscanf (text, "%d%c", &options->bins, &rest) == 1
      && options->bins >= HISTO_MIN_BINS && options->bins <= HISTO_MAX_BINS;
}

static bool
take_value (void *user, const char *name, const char *value)
{
  BenchHistoOptions *options = user;

  if (strcmp (name, "--json") == 0) {
    options->json_path = value;
    return true;
  }
  if (strcmp (name, "--method") == 0)
    return add_method (options, value);
  if (strcmp (name, "--format") == 0)
    return bench_grid_add_format (&options->grid, value);
  if (strcmp (name, "--size") == 0)
    return bench_grid_add_size (&options->grid, value);
  if (strcmp (name, "--content") == 0)
    return add_content (options, value);
  if (strcmp (name, "--bins") == 0)
    return set_bins (options, value);
  if (strcmp (name, "--backend") == 0)
    return bench_on_parse (&options->on, value);
  return false;
}

static void
usage (void)
{
  fprintf (stderr,
      "usage: kerncheck --bench --histo [--quick] [--verbose] [--json FILE]\n"
      "                 [--backend auto|cuda|cpu] [--method NAME]...\n"
      "                 [--format NAME]... [--size WIDTHxHEIGHT]...\n"
      "                 [--content NAME]... [--bins N]\n"
      "  Times every histogram method on frames in the memory of its backend,\n"
      "  on a GPU with a read of the same bytes, CUB and NPP beside it. All\n"
      "  channels are counted, in %d bins if nothing else is said. Options\n"
      "  that name what to measure may be repeated.\n"
      "  --format NAME ",
      DEFAULT_BINS);
  for (int i = 0; i < bench_n_formats (); i++)
    fprintf (stderr, " %s", bench_format (i)->name);
  fprintf (stderr, "\n  --content NAME");
  for (int i = 0; i < BENCH_N_CONTENTS; i++)
    fprintf (stderr, " %s", bench_content_name ((BenchContent) i));
  fprintf (stderr, "\n  --method NAME ");
  for (int i = 0; i < histo_n_methods (); i++)
    fprintf (stderr, " %s", histo_method (i)->name);
  fprintf (stderr,
      "\n"
      "  --quick          a small grid\n"
      "  --verbose        also tell what a method or a library cannot do\n"
      "  --json FILE      the results for other programs to read\n");
}

bool
bench_histo_options_parse (BenchHistoOptions *options, int argc, char **argv)
{
  const BenchFlag flags[] = {
    { "--bench", NULL },
    { "--histo", NULL },
    { "--quick", &options->quick },
    { "--verbose", &options->verbose },
    { NULL, NULL },
  };

  memset (options, 0, sizeof *options);
  options->bins = DEFAULT_BINS;
  if (bench_arguments_take (argc, argv, flags, take_value, options))
    return true;
  usage ();
  return false;
}

static int
smaller (int a, int b)
{
  return a < b ? a : b;
}

void
bench_histo_options_complete (BenchHistoOptions *options, Backend backend)
{
  BenchGrid *grid = &options->grid;
  const bool quick = options->quick;
  const int n_sizes = smaller (quick ? N_QUICK_SIZES : COUNT (sizes),
      backend == BACKEND_CPU ? N_HOST_SIZES : COUNT (sizes));

  if (grid->n_formats == 0)
    for (int i = 0; i < (quick ? N_QUICK_FORMATS : COUNT (formats)); i++)
      bench_grid_add_format (grid, formats[i]);
  if (grid->n_sizes == 0)
    for (int i = 0; i < n_sizes; i++)
      bench_grid_add_size (grid, sizes[i]);
  if (options->n_contents == 0) {
    options->n_contents = quick ? N_QUICK_CONTENTS : COUNT (contents);
    memcpy (options->content, contents,
        (size_t) options->n_contents * sizeof contents[0]);
  }
}

bool
bench_histo_options_want (
    const BenchHistoOptions *options, const HistoMethod *method)
{
  for (int i = 0; i < options->n_methods; i++)
    if (options->method[i] == method)
      return true;
  return options->n_methods == 0;
}
