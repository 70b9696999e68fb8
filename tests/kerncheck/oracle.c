/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "oracle.h"

#include "kerncheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most products for the direct sum in oracle_compute(). */
#define DIRECT_LIMIT 300000.0

/* The next coordinate outward from one at or beyond the line's end. */
static int
step_outward (int at, int *direction, int n, SepconvBorder border)
{
  bool at_end = at + *direction < 0 || at + *direction >= n;

  switch (border) {
    case SEPCONV_REPLICATE:
      return at;
    case SEPCONV_REFLECT:
      if (at_end) {
        *direction = -*direction;
        return at;
      }
      return at + *direction;
    case SEPCONV_REFLECT_101:
      if (n == 1)
        return at;
      if (at_end)
        *direction = -*direction;
      return at + *direction;
    case SEPCONV_WRAP:
      if (at_end)
        return *direction > 0 ? 0 : n - 1;
      return at + *direction;
    default:
      return -1;
  }
}

void
oracle_walk (int *map, int n, int before, int after, SepconvBorder border)
{
  int direction = -1, at = 0;

  for (int i = 0; i < n; i++)
    map[before + i] = i;
  for (int k = before - 1; k >= 0; k--)
    map[k] = at = step_outward (at, &direction, n, border);
  direction = 1;
  at = n - 1;
  for (int k = before + n; k < before + n + after; k++)
    map[k] = at = step_outward (at, &direction, n, border);
}

/* One term for one channel of one image, with its borders walked. */
typedef struct
{
  const ImageMemory *memory;
  const ImagePlane *plane;
  const Taps *x, *y;
  int channel, width, height;
  double zero, border_value;
  int *columns, *rows; /* for coordinates from -nx/2 and -ny/2 on */
} Problem;

static void
problem_begin (Problem *problem, const SepconvSpec *spec, const Image *src,
    int p, int channel, int term)
{
  const SepconvPlane *how = &spec->plane[p];

  problem->plane = &src->plane[p];
  problem->memory = &src->memory[problem->plane->memory];
  problem->x = term == 0 ? how->x : how->more[term - 1].x;
  problem->y = term == 0 ? how->y : how->more[term - 1].y;
  problem->channel = channel;
  problem->width = problem->plane->width;
  problem->height = problem->memory->height;
  problem->zero = how->zero[channel];
  problem->border_value = how->border_value[channel];
  problem->columns = kerncheck_alloc (
      sizeof (int) * (size_t) (problem->width + problem->x->n));
  problem->rows = kerncheck_alloc (
      sizeof (int) * (size_t) (problem->height + problem->y->n));
  oracle_walk (problem->columns, problem->width, problem->x->n / 2,
      problem->x->n - 1 - problem->x->n / 2, spec->border);
  oracle_walk (problem->rows, problem->height, problem->y->n / 2,
      problem->y->n - 1 - problem->y->n / 2, spec->border);
}

static void
problem_end (Problem *problem)
{
  free (problem->columns);
  free (problem->rows);
}

/* in(x, y) - zero; index -1 is outside. */
static double
level_at (const Problem *problem, int x, int y)
{
  const ImagePlane *plane = problem->plane;
  const uint8_t *sample;
  unsigned raw;

  if (x < 0 || y < 0)
    return problem->border_value - problem->zero;
  sample = problem->memory->data + y * problem->memory->stride + plane->offset
      + (ptrdiff_t) x * plane->pixel_stride
      + (ptrdiff_t) problem->channel * plane->channel_stride;
  raw = sample[0];
  if (plane->depth + plane->shift > 8)
    raw |= (unsigned) sample[1] << 8;
  return (double) (raw >> plane->shift) - problem->zero;
}

/* Number of sums kept in registers. Compilers keep the sums of plain loops in memory, with which
 * all checks together took a third longer. */
#define AT_ONCE 8

typedef double Pair
    __attribute__ ((vector_size (16), aligned (8), may_alias));

/* to[x] = the sum over i of tap i * from[i][x]. Each row of `from` is AT_ONCE numbers longer. */
static void
sum_weighted (
    const Taps *taps, const double *const *from, size_t width, double *to)
{
  for (size_t x = 0; x < width; x += AT_ONCE) {
    Pair a = { 0.0 }, b = a, c = a, d = a;

    for (int i = 0; i < taps->n; i++) {
      const Pair *pairs = (const Pair *) (from[i] + x);

      a += taps->tap[i] * pairs[0];
      b += taps->tap[i] * pairs[1];
      c += taps->tap[i] * pairs[2];
      d += taps->tap[i] * pairs[3];
    }

    const Pair sums[AT_ONCE / 2] = { a, b, c, d };

    for (size_t k = 0; k < AT_ONCE && x + k < width; k++)
      to[x + k] = sums[k / 2][k % 2];
  }
}

/* A term, [height][width], as two passes. */
static double *
sum_two_pass (const Problem *problem)
{
  const size_t w = (size_t) problem->width, h = (size_t) problem->height;
  const double *from[TAPS_MAX];
  double *sums, *line, *out;

  /* One more row: the row sums of a row that is all border. */
  sums = kerncheck_alloc (sizeof (double) * (w * (h + 1) + AT_ONCE));
  line = kerncheck_alloc (
      sizeof (double) * (w + (size_t) problem->x->n + AT_ONCE));
  out = kerncheck_alloc (sizeof (double) * w * h);
  for (int i = 0; i < problem->x->n; i++)
    from[i] = line + i;
  for (int y = 0; y <= problem->height; y++) {
    for (int k = 0; k < problem->width + problem->x->n - 1; k++)
      line[k] =
          level_at (problem, problem->columns[k], y < problem->height ? y : -1);
    sum_weighted (problem->x, from, w, sums + (size_t) y * w);
  }
  for (int y = 0; y < problem->height; y++) {
    for (int j = 0; j < problem->y->n; j++) {
      const int row = problem->rows[y + j];

      from[j] = sums + (row < 0 ? h : (size_t) row) * w;
    }
    sum_weighted (problem->y, from, w, out + (size_t) y * w);
  }
  free (sums);
  free (line);
  return out;
}

/* The same by the definition. */
static double *
sum_direct (const Problem *problem)
{
  double *out = kerncheck_alloc (
      sizeof (double) * (size_t) problem->width * (size_t) problem->height);

  for (int y = 0; y < problem->height; y++)
    for (int x = 0; x < problem->width; x++)
      for (int j = 0; j < problem->y->n; j++)
        for (int i = 0; i < problem->x->n; i++)
          out[(size_t) y * (size_t) problem->width + (size_t) x] +=
              problem->y->tap[j] * problem->x->tap[i]
              * level_at (
                  problem, problem->columns[x + i], problem->rows[y + j]);
  return out;
}

static double
clamp (double value, double full)
{
  return value < 0.0 ? 0.0 : value > full ? full : value;
}

/* Parameters that all samples of a channel share. */
typedef struct
{
  const SepconvSpec *spec;
  double full, zero, offset;
} Finish;

/* Fills expected[0] and expected[1]. They differ where the difference is so close to the threshold
 * that a method's rounding error decides. */
static void
finish_unsharp (const Finish *finish, double in, double blurred, double allowed,
    double *expected)
{
  const SepconvSpec *spec = finish->spec;
  const double difference = in - blurred;
  const double kept = clamp (finish->offset + spec->scale * in, finish->full);
  const double sharp =
      clamp (finish->offset + spec->scale * (in + spec->amount * difference),
          finish->full);
  const double beyond = fabs (difference) - spec->threshold * finish->full;

  expected[0] = beyond > 0.0 ? sharp : kept;
  expected[1] =
      fabs (beyond) < allowed ? kept + sharp - expected[0] : expected[0];
}

/* The values before rounding: of a sum of terms, or combined as sepconv.h defines. */
static void
finish (const Finish *how, double in, const double terms[2], double allowed,
    double *expected)
{
  const SepconvSpec *spec = how->spec;
  double turns;

  switch (spec->combine) {
    case SEPCONV_UNSHARP:
      finish_unsharp (how, in, terms[0], allowed, expected);
      return;
    case SEPCONV_MAGNITUDE:
      expected[0] = clamp (how->offset
              + spec->scale * sqrt (terms[0] * terms[0] + terms[1] * terms[1]),
          how->full);
      break;
    case SEPCONV_DIRECTION:
      turns = atan2 (terms[1], terms[0]) / (2.0 * acos (-1.0));
      expected[0] = terms[0] == 0.0 && terms[1] == 0.0
          ? how->zero
          : (turns - floor (turns)) * (how->full + 1.0);
      break;
    default:
      expected[0] = clamp (how->offset + spec->scale * terms[0], how->full);
  }
  expected[1] = expected[0];
}

typedef double *(*Sum) (const Problem *problem);

static void
compute (Oracle *oracle, const SepconvSpec *spec, const Image *src, int plane,
    int channel, Sum sum)
{
  const SepconvPlane *how = &spec->plane[plane];
  const ImagePlane *layout = &src->plane[plane];
  const int width = layout->width, height = image_plane_height (src, plane);
  const size_t n = (size_t) width * (size_t) height;
  const double allowed = layout->depth <= 12 ? 0.25 : 0.5;
  Finish how_to_finish = { spec, ldexp (1.0, layout->depth) - 1.0,
    how->zero[channel], how->zero[channel] };
  double *terms[2], norm = 0.0;

  if (!(how->unbiased >> channel & 1))
    how_to_finish.offset += spec->bias * how_to_finish.full;
  for (int t = 0; t < 2; t++)
    terms[t] = kerncheck_alloc (sizeof (double) * n);
  oracle->exact = kerncheck_alloc (sizeof (double) * n);
  oracle->other = kerncheck_alloc (sizeof (double) * n);
  oracle->allowed = kerncheck_alloc (sizeof (double) * n);
  for (int t = 0; t < 1 + how->n_more; t++) {
    Problem problem;
    double *values;

    problem_begin (&problem, spec, src, plane, channel, t);
    norm += taps_norm (problem.x) * taps_norm (problem.y);
    values = sum (&problem);
    for (size_t i = 0; i < n; i++)
      terms[spec->combine == SEPCONV_SUM ? 0 : t][i] += values[i];
    free (values);
    problem_end (&problem);
  }
  for (size_t i = 0; i < n; i++) {
    const double both[2] = { terms[0][i], terms[1][i] };
    const Problem at = { .plane = layout,
      .memory = &src->memory[layout->memory],
      .channel = channel,
      .zero = how->zero[channel] };
    const double size = hypot (both[0], both[1]);
    double expected[2];

    finish (&how_to_finish,
        level_at (&at, (int) (i % (size_t) width), (int) (i / (size_t) width)),
        both, allowed, expected);
    oracle->exact[i] = expected[0];
    oracle->other[i] = expected[1];
    /* The error of an angle is determined by that of its terms, which is within `allowed`. */
    oracle->allowed[i] = 0.5 + allowed;
    if (spec->combine == SEPCONV_DIRECTION && norm > 0.0)
      oracle->allowed[i] += size <= 2.0 * allowed
          ? how_to_finish.full
          : how_to_finish.full * asin (2.0 * allowed / size) / 6.0;
  }
  for (int t = 0; t < 2; t++)
    free (terms[t]);
}

void
oracle_two_pass (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel)
{
  compute (oracle, spec, src, plane, channel, sum_two_pass);
}

void
oracle_direct (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel)
{
  compute (oracle, spec, src, plane, channel, sum_direct);
}

void
oracle_compute (Oracle *oracle, const SepconvSpec *spec, const Image *src,
    int plane, int channel)
{
  const double products = (double) src->plane[plane].width
      * image_plane_height (src, plane) * spec->plane[plane].x->n
      * spec->plane[plane].y->n;

  compute (oracle, spec, src, plane, channel,
      products <= DIRECT_LIMIT ? sum_direct : sum_two_pass);
}

void
oracle_clear (Oracle *oracle)
{
  free (oracle->exact);
  free (oracle->other);
  free (oracle->allowed);
}
