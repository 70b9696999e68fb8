/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bench-options.h"

#include "bench-arguments.h"
#include "bench-timer.h"
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
add_method (BenchOptions *options, const char *name)
{
  const SepconvMethod *method = sepconv_method_by_name (name);

  if (method == NULL || options->n_methods == BENCH_MAX_CHOICES)
    return false;
  options->method[options->n_methods++] = method;
  return true;
}

static bool
parse_seconds (const char *text, double *seconds)
{
  char *end;

  *seconds = strtod (text, &end);
  return end != text && *end == '\0' && *seconds >= BENCH_MIN_SUSTAINED_S
      && *seconds <= BENCH_MAX_SUSTAINED_S;
}

static bool
parse_border (const char *name, SepconvBorder *border)
{
  for (int i = 0; i < N_BORDERS; i++)
    if (strcmp (name, border_name ((SepconvBorder) i)) == 0) {
      *border = (SepconvBorder) i;
      return true;
    }
  return false;
}

static bool
take_value (void *user, const char *name, const char *value)
{
  BenchOptions *options = user;

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
  if (strcmp (name, "--taps") == 0)
    return bench_grid_add_taps (&options->grid, value);
  if (strcmp (name, "--kernel") == 0)
    return (options->kernel = bench_kernel_by_name (value)) != NULL;
  if (strcmp (name, "--border") == 0)
    return parse_border (value, &options->border);
  if (strcmp (name, "--backend") == 0)
    return bench_on_parse (&options->on, value);
  if (strcmp (name, "--sustained") == 0)
    return parse_seconds (value, &options->sustained_s);
  return false;
}

static void
usage (void)
{
  fprintf (stderr,
      "usage: kerncheck --bench [--quick] [--verbose] [--json FILE]\n"
      "                 [--backend auto|cuda|cpu] [--method NAME]...\n"
      "                 [--format NAME]... [--size WIDTHxHEIGHT]...\n"
      "                 [--taps N]... [--kernel NAME] [--isa NAME]\n"
      "                 [--border NAME] [--sustained SECONDS]\n"
      "       kerncheck --bench --histo [OPTION]..., for histograms; --bench\n"
      "                 --histo --help tells more\n"
      "       kerncheck --bench --modes [OPTION]..., for equaliser, overlay and light\n"
      "       kerncheck --bench --regions [OPTION]..., for parts of a picture\n"
      "  Times every method on frames in the memory of its backend, with a\n"
      "  copy of the same bytes and, on a GPU, NPP beside it. All channels\n"
      "  are filtered, alpha and chroma too, by a gaussian of N taps an axis,\n"
      "  N odd, of the sigma that has so many by default. Options that name\n"
      "  what to measure may be repeated.\n"
      "  --format NAME ");
  for (int i = 0; i < bench_n_formats (); i++)
    fprintf (stderr, " %s", bench_format (i)->name);
  fprintf (stderr, "\n  --method NAME ");
  for (int i = 0; i < sepconv_n_methods (); i++)
    fprintf (stderr, " %s", sepconv_method (i)->name);
  fprintf (stderr, "\n  --kernel NAME ");
  for (int i = 0; i < bench_n_kernels (); i++)
    fprintf (stderr, " %s", bench_kernel (i)->name);
  fprintf (stderr, "\n  --border NAME ");
  for (int i = 0; i < N_BORDERS; i++)
    fprintf (stderr, " %s", border_name ((SepconvBorder) i));
  fprintf (stderr,
      "\n"
      "  --sustained SECONDS\n"
      "                   also time each launch in a stream of them that goes on\n"
      "                   for so long, which shows the clock that the power limit\n"
      "                   leaves; at least %g\n"
      "  --quick          a small grid\n"
      "  --verbose        also tell what a method or NPP cannot do\n"
      "  --json FILE      the results for other programs to read\n",
      BENCH_MIN_SUSTAINED_S);
}

bool
bench_options_parse (BenchOptions *options, int argc, char **argv)
{
  const BenchFlag flags[] = {
    { "--bench", NULL },
    { "--quick", &options->quick },
    { "--verbose", &options->verbose },
    { NULL, NULL },
  };

  memset (options, 0, sizeof *options);
  options->kernel = bench_kernel (0);
  if (bench_arguments_take (argc, argv, flags, take_value, options))
    return true;
  usage ();
  return false;
}

bool
bench_options_want (const BenchOptions *options, const SepconvMethod *method)
{
  for (int i = 0; i < options->n_methods; i++)
    if (options->method[i] == method)
      return true;
  return options->n_methods == 0;
}
