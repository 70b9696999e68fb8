/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "oracle-light.h"

#include "oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 65535.0
/* Error of sums in single precision, in codes. */
#define SUM_ERROR 0.02
/* Error of this file's divisions. */
#define TINY 1e-6

/* The smallest and the largest correct number. */
typedef struct
{
  double low, high;
} Span;

/* The picture, and its intermediate results. */
typedef struct
{
  const LightSpec *spec; /* with T for its table */
  const Image *src, *dst;
  bool yuv;
  int n_colors, width, height;
  int plane[LIGHT_N_ROLES], channel[LIGHT_N_ROLES];
  bool has[LIGHT_N_ROLES];
  Span *span[4];    /* [height][width] of results: colours, alpha */
  Oracle angles[3]; /* DIRECTION */
} Scene;

static const LightRole rgb_roles[3] = { LIGHT_RED, LIGHT_GREEN, LIGHT_BLUE };

bool
light_oracle_find (const LightSpec *spec, const Image *layout, LightRole role,
    int *plane, int *channel)
{
  for (*plane = 0; *plane < layout->n_planes; ++*plane)
    for (*channel = 0; *channel < layout->plane[*plane].channels; ++*channel)
      if (spec->role[*plane][*channel] == role)
        return true;
  return false;
}

static int
table_size (const LightSpec *spec)
{
  return spec->decode == NULL ? 65536 : 1 << spec->decode_bits;
}

static double
table_at (const LightSpec *spec, double i)
{
  const double last = table_size (spec) - 1;
  const double at = i < 0.0 ? 0.0 : i > last ? last : i;

  return spec->decode == NULL ? at : spec->decode[(int) at];
}

static double
position (const LightSpec *spec, double q)
{
  const int n = table_size (spec);
  int low = 0, high = n - 1, end;

  if (q <= table_at (spec, 0))
    return 0.0;
  if (q >= table_at (spec, n - 1))
    return n - 1;
  /* table[low] < q <= table[high] */
  while (high - low > 1) {
    const int middle = (low + high) / 2;

    if (table_at (spec, middle) < q)
      low = middle;
    else
      high = middle;
  }
  if (table_at (spec, high) > q)
    return low
        + (q - table_at (spec, low))
        / (table_at (spec, high) - table_at (spec, low));
  for (end = high; table_at (spec, end + 1) == q;)
    end++;
  return (high + end) / 2.0;
}

/* ---- to the work picture ---- */

static double
code_at (const Scene *scene, LightRole role, int x, int y)
{
  return picture_code (
      scene->src, scene->plane[role], scene->channel[role], x, y);
}

/* The chroma sample of a pixel, minus neutral. */
static double
chroma_at (const Scene *scene, LightRole role, int x, int y)
{
  const int p = scene->plane[role];
  const int rows = image_plane_height (scene->src, p);
  const int row = y / scene->spec->subsampling_y[p];

  if (rows == 0)
    return 0.0;
  return code_at (scene, role, x / scene->spec->subsampling_x[p],
             row < rows ? row : rows - 1)
      - scene->spec->neutral;
}

static double
nearest (double value)
{
  return floor (value + 0.5);
}

/* The table index of red (0), green or blue of YUV. */
static double
yuv_index (const Scene *scene, int color, int x, int y)
{
  const LightSpec *spec = scene->spec;
  const int depth = scene->src->plane[scene->plane[LIGHT_Y]].depth;
  const int bits = spec->decode == NULL ? 16 : spec->decode_bits;
  const double unit = pow (2.0, depth <= 12 ? 29 - bits : 32);
  const double n = table_size (spec) - 1.0;
  const double kr = spec->kr, kb = spec->kb, kg = 1.0 - kr - kb;
  const double by_cb[3] = { 0.0, -2.0 * kb * (1.0 - kb) / kg,
    2.0 * (1.0 - kb) };
  const double by_cr[3] = { 2.0 * (1.0 - kr), -2.0 * kr * (1.0 - kr) / kg,
    0.0 };
  const double sum = nearest (n / spec->range * unit)
          * (code_at (scene, LIGHT_Y, x, y) - spec->black)
      + nearest (n / spec->chroma_range * unit * by_cb[color])
          * chroma_at (scene, LIGHT_CB, x, y)
      + nearest (n / spec->chroma_range * unit * by_cr[color])
          * chroma_at (scene, LIGHT_CR, x, y);

  return nearest (sum / unit);
}

static double
work_color (const Scene *scene, int color, int x, int y)
{
  const LightSpec *spec = scene->spec;
  const LightRole role = scene->n_colors == 1 ? LIGHT_Y : rgb_roles[color];

  if (scene->yuv)
    return table_at (spec, yuv_index (scene, color, x, y));
  return table_at (spec,
      nearest ((table_size (spec) - 1.0)
          * (code_at (scene, role, x, y) - spec->black) / spec->range));
}

static double
work_alpha (const Scene *scene, int x, int y)
{
  const int depth = scene->src->plane[scene->plane[LIGHT_ALPHA]].depth;

  return nearest (
      MOST * code_at (scene, LIGHT_ALPHA, x, y) / (pow (2.0, depth) - 1.0));
}

/* A picture of 16-bit codes, to be freed with its data. */
static Image
make_work (const Scene *scene)
{
  const bool alpha = scene->spec->premultiply || scene->spec->write_alpha;
  Image work;

  memset (&work, 0, sizeof work);
  work.n_planes = work.n_memories = scene->n_colors + alpha;
  for (int p = 0; p < work.n_planes; p++) {
    work.plane[p] = (ImagePlane){ p, 0, scene->width, 1, 2, 2, 16, 0 };
    work.memory[p].stride = 2 * scene->width;
    work.memory[p].row_bytes = 2 * (size_t) scene->width;
    work.memory[p].height = scene->height;
    work.memory[p].data = kerncheck_alloc (
        2 * (size_t) scene->width * (size_t) scene->height + 1);
  }
  for (int y = 0; y < scene->height; y++)
    for (int x = 0; x < scene->width; x++) {
      const double a = alpha ? work_alpha (scene, x, y) : MOST;

      for (int i = 0; i < scene->n_colors; i++) {
        const double c = work_color (scene, i, x, y);

        picture_write_code (&work, i, 0, x, y,
            (int) (scene->spec->premultiply ? nearest (c * a / MOST) : c));
      }
      if (alpha)
        picture_write_code (&work, scene->n_colors, 0, x, y, (int) a);
    }
  return work;
}

static double
border_code (const Scene *scene, int plane)
{
  const LightSpec *spec = scene->spec;
  const double *rgba = spec->border_color;
  const double grey = spec->kr * rgba[0] + (1.0 - spec->kr - spec->kb) * rgba[1]
      + spec->kb * rgba[2];
  const double a = nearest (MOST * rgba[3]);
  double code;

  if (plane == scene->n_colors)
    return a;
  code = table_at (spec,
      nearest ((table_size (spec) - 1.0)
          * (scene->n_colors == 1 ? grey : rgba[plane])));
  return spec->premultiply ? nearest (code * a / MOST) : code;
}

/* ---- the filter ---- */

/* The integers that are less than 1 from either of the two correct numbers. */
static Span
span_of (const Oracle *oracle, size_t i)
{
  const double low = fmin (oracle->exact[i], oracle->other[i]);
  const double high = fmax (oracle->exact[i], oracle->other[i]);

  return (Span){ fmax (floor (low - oracle->allowed[i] + 1.0), 0.0),
    fmin (ceil (high + oracle->allowed[i] - 1.0), MOST) };
}

static void
filter_plane (Scene *scene, const Image *work, int p)
{
  const size_t n = (size_t) scene->width * (size_t) scene->height;
  SepconvSpec filter = *scene->spec->filter;
  Oracle oracle;

  for (int k = 0; k < work->n_planes; k++) {
    filter.plane[k] = scene->spec->filter->plane[0];
    filter.plane[k].channels = 1;
    filter.plane[k].unbiased = 0;
    filter.plane[k].zero[0] = 0.0;
    filter.plane[k].border_value[0] = border_code (scene, k);
  }
  oracle_compute (&oracle, &filter, work, p, 0);
  scene->span[p] = kerncheck_alloc ((n + 1) * sizeof (Span));
  for (size_t i = 0; i < n; i++)
    scene->span[p][i] = span_of (&oracle, i);
  if (filter.combine == SEPCONV_DIRECTION && p < scene->n_colors)
    scene->angles[p] = oracle;
  else
    oracle_clear (&oracle);
}

/* ---- back ---- */

static Span
divide (Span color, Span alpha)
{
  Span result = { 0.0, 0.0 };

  if (alpha.high > 0.0)
    result.low = fmin (nearest (MOST * color.low / alpha.high), MOST);
  if (alpha.low > 0.0)
    result.high = fmin (nearest (MOST * color.high / alpha.low), MOST);
  else if (alpha.high > 0.0)
    result.high = color.high > 0.0 ? MOST : 0.0;
  if (alpha.low <= 0.0)
    result.low = 0.0;
  return result;
}

/* Results of a colour at a pixel, as shares of T's entries. */
static Span
share_at (const Scene *scene, int color, int x, int y)
{
  const LightSpec *spec = scene->spec;
  const size_t i = (size_t) y * (size_t) scene->width + (size_t) x;
  const double last = table_size (spec) - 1.0;
  Span q = scene->span[color][i];

  if (spec->premultiply)
    q = divide (q, scene->span[scene->n_colors][i]);
  return (
      Span){ position (spec, q.low) / last, position (spec, q.high) / last };
}

static void
judge_code (Verdict *verdict, const Scene *scene, LightRole role, int x, int y,
    double low, double high, double error)
{
  const int p = scene->plane[role], c = scene->channel[role];
  const ImagePlane *plane = &scene->dst->plane[p];
  const unsigned raw = picture_raw (scene->dst, p, c, x, y);
  const double code = raw >> plane->shift;
  const double full = pow (2.0, plane->depth) - 1.0;
  const double least = ceil (fmin (fmax (low, 0.0), full) - 0.5 - error);
  const double most = floor (fmin (fmax (high, 0.0), full) + 0.5 + error);

  if (!verdict->ok)
    return;
  if ((raw & ((1u << plane->shift) - 1)) != 0)
    snprintf (verdict->text, sizeof verdict->text,
        "plane %d channel %d at %d,%d is 0x%x: bits below the code are set", p,
        c, x, y, raw);
  else if (code < least || code > most)
    snprintf (verdict->text, sizeof verdict->text,
        "plane %d channel %d at %d,%d is %g where %.4f to %.4f was expected", p,
        c, x, y, code, low, high);
  else
    return;
  verdict->ok = false;
}

/* Judges an angle by its distance on the circle. */
static void
judge_angle (Verdict *verdict, const Scene *scene, LightRole role, int color,
    int x, int y)
{
  const int p = scene->plane[role], c = scene->channel[role];
  const size_t i = (size_t) y * (size_t) scene->width + (size_t) x;
  const double turn = pow (2.0, scene->dst->plane[p].depth);
  const double exact = scene->angles[color].exact[i] * turn / 65536.0;
  const double apart = fabs (picture_code (scene->dst, p, c, x, y) - exact);

  if (verdict->ok
      && fmin (apart, turn - apart)
          > 0.5 + scene->angles[color].allowed[i] * turn / 65536.0) {
    snprintf (verdict->text, sizeof verdict->text,
        "plane %d channel %d at %d,%d is off an angle of %.4f by %.4f", p, c, x,
        y, exact, apart);
    verdict->ok = false;
  }
}

static void
judge_colors (Verdict *verdict, const Scene *scene)
{
  const LightSpec *spec = scene->spec;

  for (int i = 0; i < scene->n_colors; i++) {
    const LightRole role = scene->n_colors == 1 ? LIGHT_Y : rgb_roles[i];

    for (int y = 0; y < scene->height; y++)
      for (int x = 0; x < scene->width; x++) {
        Span share;

        if (spec->filter->combine == SEPCONV_DIRECTION) {
          judge_angle (verdict, scene, role, i, x, y);
          continue;
        }
        share = share_at (scene, i, x, y);
        judge_code (verdict, scene, role, x, y,
            spec->black + spec->range * share.low,
            spec->black + spec->range * share.high, TINY);
      }
  }
}

static void
judge_alpha (Verdict *verdict, const Scene *scene)
{
  const double full =
      pow (2.0, scene->dst->plane[scene->plane[LIGHT_ALPHA]].depth) - 1.0;

  for (int y = 0; y < scene->height; y++)
    for (int x = 0; x < scene->width; x++) {
      const Span alpha =
          scene->span[scene->n_colors]
                     [(size_t) y * (size_t) scene->width + (size_t) x];

      judge_code (verdict, scene, LIGHT_ALPHA, x, y, full * alpha.low / MOST,
          full * alpha.high / MOST, TINY);
    }
}

/* A weighted sum of the possible values of g. */
static Span
weigh (const Span g[3], const double weight[3])
{
  Span sum = { 0.0, 0.0 };

  for (int i = 0; i < 3; i++) {
    sum.low += weight[i] * (weight[i] > 0.0 ? g[i].low : g[i].high);
    sum.high += weight[i] * (weight[i] > 0.0 ? g[i].high : g[i].low);
  }
  return sum;
}

/* g of a pixel, which is an integer, divided by 65535. */
static void
levels_at (const Scene *scene, int x, int y, Span g[3])
{
  for (int i = 0; i < 3; i++) {
    const Span share = share_at (scene, i, x, y);

    g[i].low = floor (MOST * share.low + 0.5 - TINY) / MOST;
    g[i].high = floor (MOST * share.high + 0.5 + TINY) / MOST;
  }
}

static void
judge_luma (Verdict *verdict, const Scene *scene)
{
  const LightSpec *spec = scene->spec;
  const double weight[3] = { spec->kr, 1.0 - spec->kr - spec->kb, spec->kb };

  for (int y = 0; y < scene->height; y++)
    for (int x = 0; x < scene->width; x++) {
      Span g[3], luma;

      levels_at (scene, x, y, g);
      luma = weigh (g, weight);
      judge_code (verdict, scene, LIGHT_Y, x, y,
          spec->black + spec->range * luma.low,
          spec->black + spec->range * luma.high, SUM_ERROR);
    }
}

/* The mean over the pixels of chroma sample (column, row). */
static Span
mean_of (const Scene *scene, int column, int row, const double weight[3])
{
  const int p = scene->plane[LIGHT_CB];
  const int sub_x = scene->spec->subsampling_x[p];
  const int sub_y = scene->spec->subsampling_y[p];
  Span sum = { 0.0, 0.0 };
  int n = 0;

  for (int y = row * sub_y; y < (row + 1) * sub_y && y < scene->height; y++)
    for (int x = column * sub_x; x < (column + 1) * sub_x && x < scene->width;
         x++, n++) {
      Span g[3], one;

      levels_at (scene, x, y, g);
      one = weigh (g, weight);
      sum.low += one.low;
      sum.high += one.high;
    }
  return (Span){ sum.low / n, sum.high / n };
}

static void
judge_chroma (Verdict *verdict, const Scene *scene, LightRole role)
{
  const LightSpec *spec = scene->spec;
  const double kr = spec->kr, kb = spec->kb, kg = 1.0 - kr - kb;
  const double half = 2.0 * (1.0 - (role == LIGHT_CB ? kb : kr));
  const double cb[3] = { -kr / half, -kg / half, (1.0 - kb) / half };
  const double cr[3] = { (1.0 - kr) / half, -kg / half, -kb / half };
  const int p = scene->plane[role];

  for (int y = 0; y < image_plane_height (scene->dst, p); y++)
    for (int x = 0; x < scene->dst->plane[p].width; x++) {
      Span mean = mean_of (scene, x, y, role == LIGHT_CB ? cb : cr);

      if (spec->neutral_chroma)
        mean.low = mean.high = 0.0;
      judge_code (verdict, scene, role, x, y,
          spec->neutral + spec->chroma_range * mean.low,
          spec->neutral + spec->chroma_range * mean.high,
          spec->neutral_chroma ? -0.4 : SUM_ERROR);
    }
}

static void
judge_copies (Verdict *verdict, const Scene *scene)
{
  const LightSpec *spec = scene->spec;

  for (int p = 0; p < scene->src->n_planes; p++)
    for (int c = 0; c < scene->src->plane[p].channels; c++) {
      if (spec->role[p][c] != LIGHT_COPY
          && (spec->role[p][c] != LIGHT_ALPHA || spec->write_alpha))
        continue;
      for (int y = 0; y < image_plane_height (scene->src, p); y++)
        for (int x = 0; x < scene->src->plane[p].width && verdict->ok; x++)
          if (picture_raw (scene->src, p, c, x, y)
              != picture_raw (scene->dst, p, c, x, y)) {
            snprintf (verdict->text, sizeof verdict->text,
                "plane %d channel %d at %d,%d is not a copy", p, c, x, y);
            verdict->ok = false;
          }
    }
}

/* Makes T, which the caller frees; NULL: there is none. */
static uint16_t *
make_table (const LightSpec *spec)
{
  uint16_t *table;

  if (spec->decode == NULL)
    return NULL;
  table = kerncheck_alloc (sizeof *table << spec->decode_bits);
  for (int i = 0; i < 1 << spec->decode_bits; i++)
    table[i] = i > 0 && table[i - 1] > spec->decode[i] ? table[i - 1]
                                                       : spec->decode[i];
  return table;
}

static void
judge_with_table (
    Verdict *verdict, const LightSpec *spec, const Image *src, const Image *dst)
{
  Scene scene = { .spec = spec, .src = src, .dst = dst };
  LightRole first;
  Image work;

  verdict->ok = true;
  verdict->text[0] = '\0';
  for (int role = LIGHT_RED; role < LIGHT_N_ROLES; role++)
    scene.has[role] = light_oracle_find (
        spec, src, (LightRole) role, &scene.plane[role], &scene.channel[role]);
  first = scene.has[LIGHT_RED] ? LIGHT_RED : LIGHT_Y;
  scene.yuv = scene.has[LIGHT_CB];
  scene.n_colors = scene.yuv || scene.has[LIGHT_RED] ? 3 : 1;
  scene.width = src->plane[scene.plane[first]].width;
  scene.height = image_plane_height (src, scene.plane[first]);
  work = make_work (&scene);
  if (scene.height > 0)
    for (int p = 0; p < work.n_planes; p++)
      filter_plane (&scene, &work, p);
  if (scene.yuv) {
    judge_luma (verdict, &scene);
    judge_chroma (verdict, &scene, LIGHT_CB);
    judge_chroma (verdict, &scene, LIGHT_CR);
  } else {
    judge_colors (verdict, &scene);
  }
  if (spec->write_alpha)
    judge_alpha (verdict, &scene);
  judge_copies (verdict, &scene);
  for (int p = 0; p < work.n_planes; p++) {
    free (work.memory[p].data);
    free (scene.span[p]);
  }
  for (int i = 0; i < 3; i++)
    if (scene.angles[i].exact != NULL)
      oracle_clear (&scene.angles[i]);
}

void
light_oracle_judge (
    Verdict *verdict, const LightSpec *spec, const Image *src, const Image *dst)
{
  LightSpec own = *spec;
  uint16_t *table = make_table (spec);

  own.decode = table;
  judge_with_table (verdict, &own, src, dst);
  free (table);
}
