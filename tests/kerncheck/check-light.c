/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Linear light and premultiplied alpha: both backends compared with the oracle, over layouts,
 * tables, ranges, filters and fields; the bounds of light.h; plans over their life;
 * refusals. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"
#include "oracle-light.h"
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLE 65536

/* Colour models of a layout's channels. */
typedef enum
{
  MODEL_GREY,
  MODEL_RGB,
  MODEL_YUV,
} Model;

/* Roles in the order of planes and channels. */
typedef struct
{
  const char *layout;
  Model model;
  int alpha; /* channel of alpha, or of padding; -1: none */
} Kind;

static const Kind kinds[] = {
  { "gray8", MODEL_GREY, -1 },
  { "gray10", MODEL_GREY, -1 },
  { "gray16", MODEL_GREY, -1 },
  { "two8", MODEL_GREY, 1 },
  { "two16", MODEL_GREY, 0 },
  { "rgb24", MODEL_RGB, -1 },
  { "rgbx", MODEL_RGB, 3 },
  { "xrgb-gap", MODEL_RGB, -1 },
  { "ayuv", MODEL_RGB, 0 },
  { "ayuv", MODEL_YUV, 0 },
  { "rgba64", MODEL_RGB, 3 },
  { "rgba64", MODEL_YUV, 0 },
  { "nv12", MODEL_YUV, -1 },
  { "p010", MODEL_YUV, -1 },
  { "p012", MODEL_YUV, -1 },
  { "yuy2", MODEL_YUV, -1 },
  { "uyvy", MODEL_YUV, -1 },
  { "y210", MODEL_YUV, -1 },
  { "planar3", MODEL_YUV, -1 },
  { "planar3-10", MODEL_YUV, -1 },
  { "planar4", MODEL_YUV, 3 },
  { "planar4-16", MODEL_YUV, 3 },
  { "planar4-16", MODEL_RGB, 2 },
};

#define N_KINDS ((int) (sizeof kinds / sizeof kinds[0]))

/* Layouts for the bounds, one for each depth. */
static const LayoutKind bound_kinds[] = {
  { "three8", 1, 1, { 1 }, { { 0, 0, 1, 3, 3, 1, 8, 0 } }, 0 },
  { "three10", 1, 1, { 1 }, { { 0, 0, 1, 3, 6, 2, 10, 6 } }, 0 },
  { "three12", 1, 1, { 1 }, { { 0, 0, 1, 3, 6, 2, 12, 0 } }, 0 },
  { "three16", 1, 1, { 1 }, { { 0, 0, 1, 3, 6, 2, 16, 0 } }, 0 },
};

/* Layouts and models that a single kernel processes. */
static const LayoutKind planes_kinds[] = {
  { "planes3", 3, 3, { 1, 1, 1 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 1, 1, 1, 1, 8, 0 },
          { 2, 0, 1, 1, 1, 1, 8, 0 } },
      0 },
  { "planes4", 4, 4, { 1, 1, 1, 1 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 1, 1, 1, 1, 8, 0 },
          { 2, 0, 1, 1, 1, 1, 8, 0 }, { 3, 0, 1, 1, 1, 1, 8, 0 } },
      0 },
};

/* The same for YUV: 4:2:0, 4:2:2 and 4:4:4, chroma in two planes or in one. */
static const LayoutKind chroma_kinds[] = {
  { "i420", 3, 3, { 1, 2, 2 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 2, 1, 1, 1, 8, 0 },
          { 2, 0, 2, 1, 1, 1, 8, 0 } },
      0 },
  { "nv12", 2, 2, { 1, 2 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 2, 2, 2, 1, 8, 0 } }, 0 },
  { "y42b", 3, 3, { 1, 1, 1 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 2, 1, 1, 1, 8, 0 },
          { 2, 0, 2, 1, 1, 1, 8, 0 } },
      0 },
  { "nv16", 2, 2, { 1, 1 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 2, 2, 2, 1, 8, 0 } }, 0 },
  { "y444", 3, 3, { 1, 1, 1 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 1, 1, 1, 1, 8, 0 },
          { 2, 0, 1, 1, 1, 1, 8, 0 } },
      0 },
  { "nv24", 2, 2, { 1, 1 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 1, 2, 2, 1, 8, 0 } }, 0 },
};

#define N_CHROMA_KINDS ((int) (sizeof chroma_kinds / sizeof chroma_kinds[0]))

/* A spec, and the data that it borrows. */
typedef struct
{
  const LayoutKind *kind;
  int width, height;
  Image layout;
  LightSpec spec;
  Case *filter;
  uint16_t decode[MAX_TABLE];
  const char *function;
} LightCase;

typedef struct
{
  Backend backend;
  const Kind *kind;
  Device *device; /* while the check runs */
} Subject;

static LightCase *
light_case_new (void)
{
  LightCase *c = kerncheck_alloc (sizeof *c);

  c->filter = case_new ();
  return c;
}

static void
light_case_free (LightCase *c)
{
  case_free (c->filter);
  free (c);
}

/* ---- transfer functions ---- */

static double
srgb_decode (double v)
{
  return v <= 0.04045 ? v / 12.92 : pow ((v + 0.055) / 1.055, 2.4);
}

static double
srgb_encode (double v)
{
  return v <= 0.0031308 ? v * 12.92 : 1.055 * pow (v, 1.0 / 2.4) - 0.055;
}

static double
bt709_decode (double v)
{
  return v < 0.081 ? v / 4.5 : pow ((v + 0.099) / 1.099, 1.0 / 0.45);
}

static double
gamma22_decode (double v)
{
  return pow (v, 2.2);
}

static double
straight_decode (double v)
{
  return v;
}

/* A table that neither begins at 0 nor ends at 1. */
static double
logarithmic_decode (double v)
{
  return 0.95 * pow (10.0, 2.0 * (v - 1.0));
}

static void
set_table (LightCase *c, double (*decode) (double v), int bits)
{
  const int last = (1 << bits) - 1;

  for (int i = 0; i <= last; i++)
    c->decode[i] =
        (uint16_t) floor (65535.0 * decode (i / (double) last) + 0.5);
  c->spec.decode = c->decode;
  c->spec.decode_bits = bits;
}

/* Steps of any size, sometimes negative; not too many of size 0. */
static void
set_wild_table (LightCase *c, int bits, Random *random)
{
  const int n = 1 << bits;
  const int largest = random_int (random, 1, 2 * 65536 / n + 2);
  int code = random_int (random, 0, 300), equal = 1;

  for (int i = 0; i < n; i++) {
    int step = random_chance (random, 50) ? 0 : random_int (random, 0, largest);

    if (step == 0 && ++equal > n / 64)
      step = 1;
    if (step > 0)
      equal = 1;
    code = i == 0 ? code : code + step;
    /* The last entries leave room for the steps that are required. */
    if (code > 65535 - (n - 1 - i))
      code = 65535 - (n - 1 - i);
    c->decode[i] =
        (uint16_t) (equal > 1 && random_chance (random, 10) ? code / 2 : code);
  }
  c->spec.decode = c->decode;
  c->spec.decode_bits = bits;
}

static void
make_table (LightCase *c, int depth, Random *random)
{
  static const struct
  {
    const char *name;
    double (*decode) (double v);
  } functions[] = { { "sRGB", srgb_decode }, { "BT.709", bt709_decode },
    { "gamma 2.2", gamma22_decode }, { "linear", straight_decode },
    { "logarithmic", logarithmic_decode } };
  const int usual = depth + 4 > 16 ? 16 : depth + 4;
  const int bits = random_chance (random, 30) ? random_int (random, 8, 16)
      : random_chance (random, 50)            ? depth
                                              : usual;
  const int chance = random_int (random, 0, 6);

  c->spec.decode = NULL;
  c->function = "as-is";
  if (chance == 6) {
    c->function = "wild";
    set_wild_table (c, bits, random);
  } else if (chance < 5) {
    c->function = functions[chance].name;
    set_table (c, functions[chance].decode, bits);
  }
}

/* ---- specs ---- */

/* The role of each channel. */
static void
set_roles (LightCase *c, Model model, int alpha, bool use_alpha)
{
  static const LightRole roles[][3] = {
    [MODEL_GREY] = { LIGHT_Y, LIGHT_COPY, LIGHT_COPY },
    [MODEL_RGB] = { LIGHT_RED, LIGHT_GREEN, LIGHT_BLUE },
    [MODEL_YUV] = { LIGHT_Y, LIGHT_CB, LIGHT_CR },
  };
  int channel = 0, color = 0;

  memset (c->spec.role, 0, sizeof c->spec.role);
  for (int p = 0; p < c->layout.n_planes; p++)
    for (int i = 0; i < c->layout.plane[p].channels; i++, channel++)
      c->spec.role[p][i] = channel == alpha
          ? use_alpha ? LIGHT_ALPHA : LIGHT_COPY
          : color < 3 ? roles[model][color++] : LIGHT_COPY;
}

static void
set_layout (LightCase *c, const LayoutKind *kind, int width, int height)
{
  c->kind = kind;
  c->width = width;
  c->height = height;
  layout_make (kind, width, height, &c->layout);
  for (int p = 0; p < c->layout.n_planes; p++) {
    c->spec.subsampling_x[p] = kind->plane[p].sub_x;
    c->spec.subsampling_y[p] = kind->sub_y[kind->plane[p].memory];
  }
  case_set_layout (c->filter, layout_kind_by_name ("gray16"), width, height);
}

static void
set_full_range (LightCase *c, int depth)
{
  c->spec.black = 0;
  c->spec.range = c->spec.chroma_range = (1 << depth) - 1;
  c->spec.neutral = 1 << (depth - 1);
}

static void
set_limited_range (LightCase *c, int depth)
{
  c->spec.black = 16 << (depth - 8);
  c->spec.range = 219 << (depth - 8);
  c->spec.chroma_range = 224 << (depth - 8);
  c->spec.neutral = 1 << (depth - 1);
}

static void
make_range (LightCase *c, int depth, Random *random)
{
  const int full = (1 << depth) - 1, least = (4 * full + 4) / 5;
  const int chance = random_int (random, 0, 2);

  set_full_range (c, depth);
  if (chance == 1)
    set_limited_range (c, depth);
  if (chance < 2)
    return;
  c->spec.black = random_int (random, 0, full / 8);
  c->spec.range = random_int (random, least, full - c->spec.black);
  c->spec.chroma_range = random_int (random, least, full);
}

static void
make_weights (LightCase *c, Random *random)
{
  static const double usual[][2] = { { 0.299, 0.114 }, { 0.2126, 0.0722 },
    { 0.2627, 0.0593 }, { 0.0, 0.0 }, { 0.375, 0.375 } };
  const int chance = random_int (random, 0, 5);

  if (chance < 5) {
    c->spec.kr = usual[chance][0];
    c->spec.kb = usual[chance][1];
  } else {
    c->spec.kr = random_double (random, 0.0, 0.75);
    c->spec.kb = random_double (random, 0.0, 0.75 - c->spec.kr);
  }
}

static void
set_gaussian (LightCase *c, double sigma)
{
  Case *filter = c->filter;
  const SepconvBorder border = filter->spec.border;

  memset (&filter->spec, 0, sizeof filter->spec);
  filter->spec.border = border;
  filter->spec.scale = 1.0;
  filter->spec.plane[0].channels = 1;
  taps_gaussian (&filter->x[0], sigma, (int) ceil (3.0 * sigma));
  filter->y[0] = filter->x[0];
  filter->spec.plane[0].x = &filter->x[0];
  filter->spec.plane[0].y = &filter->y[0];
  filter->shape = "gaussian";
}

static bool
can_combine (const LightCase *c, Model model)
{
  const SepconvCombine combine = c->filter->spec.combine;

  if (combine == SEPCONV_DIRECTION
      && (model == MODEL_YUV || c->spec.write_alpha))
    return false;
  return !c->spec.premultiply
      || (combine != SEPCONV_MAGNITUDE && combine != SEPCONV_DIRECTION);
}

static void
make_filter (LightCase *c, Model model, int index, Random *random)
{
  const Effort effort = { 200, 200, 4e6 };
  const bool terms = random_chance (random, 35);

  do {
    case_make_spec (
        c->filter, (SepconvBorder) (index % N_BORDERS), &effort, random);
    if (random_chance (random, 50))
      set_gaussian (c, random_double (random, 0.0, 4.0));
    if (terms && c->filter->spec.plane[0].channels != 0)
      case_make_terms (c->filter, random);
  } while (c->filter->spec.plane[0].channels == 0 || !can_combine (c, model));
  c->spec.filter = &c->filter->spec;
}

static void
make_spec (LightCase *c, const Kind *kind, int index, Random *random)
{
  const bool alpha = kind->alpha >= 0 && index % 5 != 0;
  int plane, channel;

  set_roles (c, kind->model, kind->alpha, alpha);
  if (!light_oracle_find (&c->spec, &c->layout, LIGHT_RED, &plane, &channel))
    light_oracle_find (&c->spec, &c->layout, LIGHT_Y, &plane, &channel);
  make_table (c, c->layout.plane[plane].depth, random);
  make_range (c, c->layout.plane[plane].depth, random);
  make_weights (c, random);
  c->spec.premultiply = alpha && random_chance (random, 60);
  c->spec.write_alpha = alpha && random_chance (random, 50);
  c->spec.neutral_chroma = random_chance (random, 10);
  for (int i = 0; i < 4; i++)
    c->spec.border_color[i] =
        random_chance (random, 40) ? 1.0 : random_double (random, 0.0, 1.0);
  make_filter (c, kind->model, index, random);
}

static void
describe_case (Check *check, const LightCase *c)
{
  static const char *const combinations[] = { "sum", "unsharp", "magnitude",
    "direction" };
  const LightSpec *spec = &c->spec;
  const SepconvSpec *filter = spec->filter;

  check_describe (check,
      "%s %dx%d, %s of 2^%d, levels %d + %d, chroma %d, Kr %g Kb %g,%s%s%s "
      "border colour %g %g %g %g; %s %dx%d %s, %s of %d, scale %g bias %g "
      "amount %g threshold %g on %s",
      c->kind->name, c->width, c->height, c->function, spec->decode_bits,
      spec->black, spec->range, spec->chroma_range, spec->kr, spec->kb,
      spec->premultiply ? " premultiplied," : "",
      spec->write_alpha ? " alpha written," : "",
      spec->neutral_chroma ? " neutral chroma," : "", spec->border_color[0],
      spec->border_color[1], spec->border_color[2], spec->border_color[3],
      c->filter->shape, filter->plane[0].x->n, filter->plane[0].y->n,
      border_name (filter->border), combinations[filter->combine],
      1 + filter->plane[0].n_more, filter->scale, filter->bias, filter->amount,
      filter->threshold, content_name (c->filter->content));
}

/* ---- runs ---- */

static bool
run_frame (void *plan, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  return light_plan_run (plan, src, dst, stream, GPU_BESIDE_KERNELS, fault);
}

/* Runs both fields as separate pictures. */
static bool
run_fields (void *plan, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  for (int parity = 0; parity < 2; parity++) {
    Image from, to;

    image_field (src, parity, &from);
    if (image_field (dst, parity, &to)
        && !light_plan_run (
            plan, &from, &to, stream, GPU_BESIDE_KERNELS, fault))
      return false;
  }
  return true;
}

static void
judge (Check *check, const LightSpec *spec, const Image *src, const Image *dst,
    bool fields)
{
  Verdict verdict;

  for (int parity = 0; parity < 1 + fields; parity++) {
    Image from = *src, to = *dst;

    if (fields
        && (!image_field (src, parity, &from)
            || !image_field (dst, parity, &to)))
      continue;
    light_oracle_judge (&verdict, spec, &from, &to);
    EXPECT (check, verdict.ok, "%s%s",
        !fields      ? ""
            : parity ? "field 1: "
                     : "field 0: ",
        verdict.text);
  }
}

/* A plan of one random method; NULL if no method of the backend supports the spec. */
static LightPlan *
make_plan (Check *check, const LightCase *c, const Subject *subject,
    const SepconvMethod *method)
{
  LightPlan *plan;
  Fault fault;

  fault_clear (&fault);
  plan = light_plan_new (&c->spec, &c->layout, subject->backend, method,
      subject->device->gpu, &fault);
  if (plan == NULL && fault.kind == FAULT_UNSUPPORTED)
    check->unsupported++;
  else
    EXPECT (
        check, plan != NULL, "no plan: %s (%s)", fault.message, fault.detail);
  return plan;
}

static void
run_case (Check *check, const LightCase *c, const Subject *subject,
    LightPlan *plan, bool fields, Random *random)
{
  Picture src, dst;

  picture_new (&src, &c->layout, subject->device->gpu == NULL, random);
  picture_new (&dst, &c->layout, subject->device->gpu == NULL, random);
  picture_paint (&src, c->filter->content, random);
  if (device_run_cleanly (check, subject->device,
          fields ? run_fields : run_frame, plan, &src, &dst))
    judge (check, &c->spec, &src.image, &dst.image, fields);
  picture_clear (&src);
  picture_clear (&dst);
}

static int
random_side (const Check *check, int index, Random *random)
{
  static const int most[] = { 70, 9, 33, 2, 50, 1, 90 };

  return random_int (
      random, 1, check->quick ? 1 + most[index % 7] / 3 : most[index % 7]);
}

static void
make_case (
    Check *check, LightCase *c, const Kind *kind, int index, Random *random)
{
  /* Sometimes more than one chunk of a row. */
  const int width = index % 11 == 10 ? random_int (random, 1020, 1100)
                                     : random_side (check, index, random);
  const int height =
      index % 11 == 10 ? 3 : random_side (check, index + index / 7, random);

  set_layout (c, layout_kind_by_name (kind->layout), width, height);
  make_spec (c, kind, index, random);
}

static const SepconvMethod *
random_method (Backend backend, Random *random)
{
  const SepconvMethod *method =
      sepconv_method (random_int (random, 0, sepconv_n_methods () - 1));

  return random_chance (random, 30) && method->backend == backend ? method
                                                                  : NULL;
}

static void
pictures_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  LightCase *c = light_case_new ();
  LightPlan *plan;

  make_case (check, c, subject->kind, index, random);
  describe_case (check, c);
  plan =
      make_plan (check, c, subject, random_method (subject->backend, random));
  if (plan != NULL)
    run_case (check, c, subject, plan, random_chance (random, 30), random);
  light_plan_free (plan);
  light_case_free (c);
}

/* Consecutive filters, which a plan accepts or which need a new one. */
static void
updates_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  LightCase *c = light_case_new ();
  const Kind *kind = &kinds[random_int (random, 0, N_KINDS - 1)];
  LightPlan *plan;
  Fault fault;

  make_case (check, c, kind, index, random);
  set_gaussian (c, 1.0);
  describe_case (check, c);
  plan = make_plan (check, c, subject, NULL);
  for (int run = 0; run < 4 && plan != NULL; run++) {
    run_case (check, c, subject, plan, false, random);
    c->filter->spec.border = (SepconvBorder) random_int (random, 0, 4);
    set_gaussian (c, random_double (random, 0.2, 6.0));
    c->spec.border_color[run] = random_double (random, 0.0, 1.0);
    describe_case (check, c);
    fault_clear (&fault);
    if (light_plan_update (plan, &c->spec, NULL, &fault))
      continue;
    EXPECT (check, fault.kind == FAULT_UNSUPPORTED, "the update failed: %s",
        fault.message);
    light_plan_free (plan);
    plan = make_plan (check, c, subject, NULL);
  }
  light_plan_free (plan);
  light_case_free (c);
}

/* The same input gives the same output, with another plan, too. */
static void
again_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  LightCase *c = light_case_new ();
  Picture src, dst[2];
  Verdict verdict;

  make_case (
      check, c, &kinds[random_int (random, 0, N_KINDS - 1)], index, random);
  set_gaussian (c, 1.5);
  describe_case (check, c);
  picture_new (&src, &c->layout, false, random);
  picture_paint (&src, CONTENT_NOISE, random);
  for (int i = 0; i < 2; i++) {
    LightPlan *plan = make_plan (check, c, subject, NULL);

    picture_new (&dst[i], &c->layout, false, random);
    if (plan != NULL)
      device_run_cleanly (
          check, subject->device, run_frame, plan, &src, &dst[i]);
    light_plan_free (plan);
  }
  verdict_same (&verdict, &dst[0].image, &dst[1].image);
  EXPECT (check, verdict.ok, "%s", verdict.text);
  for (int i = 0; i < 2; i++)
    picture_clear (&dst[i]);
  picture_clear (&src);
  light_case_free (c);
}

/* ---- one kernel ---- */

#define N_FLIGHT 3

/* Frames in flight, each with its own source and destination. */
typedef struct
{
  Picture src[N_FLIGHT], dst[N_FLIGHT];
  DevicePicture from[N_FLIGHT], to[N_FLIGHT];
} Flight;

static bool
fly (Flight *flight, const LightCase *c, LightPlan *plan, const Device *device,
    Random *random, Fault *fault)
{
  bool ok = true;

  memset (flight, 0, sizeof *flight);
  for (int i = 0; i < N_FLIGHT; i++) {
    picture_new (&flight->src[i], &c->layout, false, random);
    picture_new (&flight->dst[i], &c->layout, false, random);
    picture_paint (
        &flight->src[i], i == 0 ? c->filter->content : CONTENT_NOISE, random);
    ok = ok
        && device_picture_new (&flight->from[i], device, &flight->src[i], fault)
        && device_picture_new (&flight->to[i], device, &flight->dst[i], fault);
  }
  for (int i = 0; i < N_FLIGHT && ok; i++)
    ok = light_plan_run (plan, &flight->from[i].image, &flight->to[i].image,
        device->stream, GPU_BESIDE_KERNELS, fault);
  return ok;
}

static void
land (Check *check, Flight *flight, const LightCase *c, const Device *device,
    bool ok)
{
  for (int i = 0; i < N_FLIGHT; i++) {
    uint8_t *before = picture_block_copy (&flight->dst[i]);
    Verdict verdict;
    Fault fault;

    fault_clear (&fault);
    if (ok
        && EXPECT (check,
            device_picture_fetch (&flight->to[i], device, flight->dst[i].block,
                flight->dst[i].bytes, &fault),
            "%s (%s)", fault.message, fault.detail)) {
      judge (
          check, &c->spec, &flight->src[i].image, &flight->dst[i].image, false);
      verdict_guards (&verdict, &flight->dst[i], before);
      EXPECT (check, verdict.ok, "%s", verdict.text);
    }
    free (before);
    device_picture_clear (&flight->from[i]);
    device_picture_clear (&flight->to[i]);
    picture_clear (&flight->src[i]);
    picture_clear (&flight->dst[i]);
  }
}

/* Non-negative taps that sum to 1. */
static void
make_positive_taps (Taps *taps, int n, Random *random)
{
  double sum = 0.0;

  taps->n = n;
  for (int i = 0; i < n; i++)
    sum += taps->tap[i] = random_double (random, 0.0, 1.0) + 1e-6;
  for (int i = 0; i < n; i++)
    taps->tap[i] /= sum;
}

static void
make_short_filter (LightCase *c, Random *random)
{
  static const int most[] = { 1, 3, 13, 17, 18, 33 };
  Case *filter = c->filter;

  set_gaussian (c, random_double (random, 0.1, 5.3));
  if (random_chance (random, 60)) {
    make_positive_taps (&filter->x[0],
        random_int (random, 1, most[random_int (random, 0, 5)]), random);
    make_positive_taps (&filter->y[0],
        random_int (random, 1, most[random_int (random, 0, 5)]), random);
    filter->shape = "positive";
  }
  if (random_chance (random, 20))
    filter->spec.bias = random_double (random, -0.2, 0.2);
}

static void
make_short_table (LightCase *c, bool chroma, Random *random)
{
  const int bits = random_chance (random, 50) ? 8 : 12;

  c->spec.decode = NULL;
  c->function = "as-is";
  switch (random_int (random, 0, chroma ? 2 : 3)) {
    case 0:
      c->function = "sRGB";
      set_table (c, srgb_decode, bits);
      break;
    case 1:
      c->function = "BT.709";
      set_table (c, bt709_decode, bits);
      break;
    case 2:
      c->function = "gamma 2.2";
      set_table (c, gamma22_decode, 12);
      break;
    default:
      break;
  }
}

/* YUV, with Cb or Cr first. */
static void
make_short_chroma (LightCase *c, int width, int height, Random *random)
{
  const LayoutKind *kind =
      &chroma_kinds[random_int (random, 0, N_CHROMA_KINDS - 1)];
  LightRole *cb, *cr;

  set_layout (c, kind, width, height);
  set_roles (c, MODEL_YUV, -1, false);
  cb = &c->spec.role[1][0];
  cr = kind->n_planes == 2 ? &c->spec.role[1][1] : &c->spec.role[2][0];
  if (random_chance (random, 50)) {
    *cb = LIGHT_CR;
    *cr = LIGHT_CB;
  }
  c->spec.neutral_chroma = random_chance (random, 10);
}

/* Grey, pixels of four channels in any order, planes, or YUV. */
static void
make_short_layout (LightCase *c, int width, int height, Random *random)
{
  const int alpha = random_int (random, 0, 3);
  bool use_alpha = random_chance (random, 70);

  switch (random_int (random, 0, 7)) {
    case 0:
      set_layout (c, layout_kind_by_name ("gray8"), width, height);
      set_roles (c, MODEL_GREY, -1, false);
      use_alpha = false;
      break;
    case 1:
      set_layout (c, &planes_kinds[0], width, height);
      set_roles (c, MODEL_RGB, -1, false);
      use_alpha = false;
      break;
    case 2:
      set_layout (c, &planes_kinds[1], width, height);
      set_roles (c, MODEL_RGB, alpha, use_alpha);
      use_alpha = false;
      break;
    case 3:
    case 4:
    case 5:
      make_short_chroma (c, width, height, random);
      use_alpha = false;
      break;
    case 6:
      set_layout (c, layout_kind_by_name ("ayuv"), width, height);
      set_roles (c, MODEL_YUV, alpha, use_alpha);
      c->spec.neutral_chroma = random_chance (random, 10);
      use_alpha = false;
      break;
    default:
      set_layout (c, layout_kind_by_name ("ayuv"), width, height);
      set_roles (c, MODEL_RGB, alpha, use_alpha);
      break;
  }
  c->spec.premultiply = use_alpha && random_chance (random, 75);
  c->spec.write_alpha = c->spec.premultiply && random_chance (random, 50);
}

/* Completes a case that has a layout and its roles. */
static void
make_short_case (LightCase *c, int index, Random *random)
{
  int plane, channel;
  const bool chroma =
      light_oracle_find (&c->spec, &c->layout, LIGHT_CB, &plane, &channel);

  make_short_table (c, chroma, random);
  make_range (c, 8, random);
  /* BT.709 needs the coarser codes of a limited range, where the two parts of its curve
   * meet. */
  if (chroma && strcmp (c->function, "BT.709") == 0)
    set_limited_range (c, 8);
  make_weights (c, random);
  for (int i = 0; i < 4; i++)
    c->spec.border_color[i] = random_double (random, 0.0, 1.0);
  c->filter->spec.border = (SepconvBorder) (index % N_BORDERS);
  make_short_filter (c, random);
  c->spec.filter = &c->filter->spec;
}

/* Makes a plan for it, which must be of the single kernel. */
static LightPlan *
make_short_plan (Check *check, const LightCase *c, const Subject *subject)
{
  LightPlan *plan;

  describe_case (check, c);
  plan = make_plan (check, c, subject, NULL);
  if (plan != NULL)
    EXPECT (check,
        gpu_capability (subject->device->gpu) < 80
            || strcmp (light_plan_method_name (plan), "tensor") == 0,
        "%s filters", light_plan_method_name (plan));
  return plan;
}

static void
one_kernel_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  LightCase *c = light_case_new ();
  /* Exactly a block's width, slightly less or more; or any. */
  const int width = random_chance (random, 40)
      ? 64 * random_int (random, 1, check->quick ? 4 : 9)
          + random_int (random, -1, 1)
      : random_int (random, 1, check->quick ? 200 : 600);
  const int height = random_int (random, 1, check->quick ? 50 : 130);
  LightPlan *plan;
  Flight flight;
  Fault fault;

  make_short_layout (c, width, height, random);
  make_short_case (c, index, random);
  plan = make_short_plan (check, c, subject);
  fault_clear (&fault);
  /* Sometimes in a few tall strips. */
  if (random_chance (random, 50))
    gpu_limit_multiprocessors (subject->device->gpu, 1);
  if (plan != NULL) {
    const bool ok = fly (&flight, c, plan, subject->device, random, &fault);

    EXPECT (check, ok, "%s (%s)", fault.message, fault.detail);
    land (check, &flight, c, subject->device, ok);
  }
  gpu_limit_multiprocessors (subject->device->gpu, 0);
  light_plan_free (plan);
  light_case_free (c);
}

/* Fields whose chroma has too few rows, or none. */
static void
one_kernel_fields_case (
    Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  LightCase *c = light_case_new ();
  /* Of 2 rows, 4:2:0 has one row of chroma, which belongs to field 0. */
  const int height = random_chance (random, 50) ? 2 : random_int (random, 1, 9);
  LightPlan *plan;

  make_short_chroma (c, random_int (random, 1, 150), height, random);
  make_short_case (c, index, random);
  plan = make_short_plan (check, c, subject);
  if (plan != NULL)
    run_case (check, c, subject, plan, true, random);
  light_plan_free (plan);
  light_case_free (c);
}

/* ---- bounds ---- */

/* Colours whose R', G' and B' are within 0 and 1, with a margin for the rounding of YUV. */
static void
paint_colors (const LightCase *c, Picture *picture, bool yuv, Random *random)
{
  const LightSpec *spec = &c->spec;
  const double kr = spec->kr, kb = spec->kb, kg = 1.0 - kr - kb;
  const double margin = yuv ? 3.0 / spec->range : 0.0;
  const bool dark = random_chance (random, 30);

  for (int y = 0; y < c->height; y++)
    for (int x = 0; x < c->width; x++) {
      const double most = dark ? 0.06 : 1.0 - margin;
      double v[3], luma;

      for (int i = 0; i < 3; i++)
        v[i] = random_double (random, margin, most);
      luma = kr * v[0] + kg * v[1] + kb * v[2];
      for (int i = 0; i < 3; i++) {
        const double level = !yuv ? spec->black + spec->range * v[i]
            : i == 0              ? spec->black + spec->range * luma
            : i == 1              ? spec->neutral
                + spec->chroma_range * (v[2] - luma) / (2.0 * (1.0 - kb))
                     : spec->neutral
                + spec->chroma_range * (v[0] - luma) / (2.0 * (1.0 - kr));

        picture_write_code (
            &picture->image, 0, i, x, y, (int) floor (level + 0.5));
      }
    }
}

static void
make_bound_case (LightCase *c, int index, double (*decode) (double v), bool yuv)
{
  const LayoutKind *kind = &bound_kinds[index % 4];
  const int depth = kind->plane[0].depth;
  const int bits = !yuv ? depth : depth > 12 ? 16 : depth + 4;

  set_layout (c, kind, 37, 23);
  set_roles (c, yuv ? MODEL_YUV : MODEL_RGB, -1, false);
  set_table (c, decode, bits);
  for (int i = 1; i < 1 << bits; i++)
    if (c->decode[i] < c->decode[i - 1])
      c->decode[i] = c->decode[i - 1];
  if (yuv)
    set_limited_range (c, depth);
  else
    set_full_range (c, depth);
  c->spec.kr = 0.299;
  c->spec.kb = 0.114;
  c->function = decode == srgb_decode ? "sRGB" : "BT.709";
  c->filter->spec.border = SEPCONV_REPLICATE;
  c->spec.filter = &c->filter->spec;
}

/* The number of entries that share an entry's code. */
static int
run_length (const LightCase *c, int code)
{
  const int last = (1 << c->spec.decode_bits) - 1;
  int low = code, high = code;

  while (low > 0 && c->decode[low - 1] == c->decode[code])
    low--;
  while (high < last && c->decode[high + 1] == c->decode[code])
    high++;
  return high - low + 1;
}

/* Error bound of a code when the filter is the identity. */
static double
unchanged_bound (const LightCase *c, bool yuv, int code)
{
  const int length = yuv ? 0 : run_length (c, code);

  if (yuv)
    return c->kind->plane[0].depth <= 12 ? 1.0 : 10.0;
  return length == 1                                     ? 0.0
      : c->decode[code] == 0 || c->decode[code] == 65535 ? length - 1
                                                         : length / 2.0;
}

static void
unchanged_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  const bool yuv = index / 4 % 2 == 1;
  LightCase *c = light_case_new ();
  LightPlan *plan;
  Picture src, dst;

  make_bound_case (c, index, index / 8 % 2 ? bt709_decode : srgb_decode, yuv);
  set_gaussian (c, 0.0);
  describe_case (check, c);
  picture_new (&src, &c->layout, false, random);
  picture_new (&dst, &c->layout, false, random);
  picture_paint (&src, CONTENT_ZERO, random);
  paint_colors (c, &src, yuv, random);
  plan = make_plan (check, c, subject, NULL);
  if (plan != NULL
      && device_run_cleanly (
          check, subject->device, run_frame, plan, &src, &dst))
    for (int i = 0; i < 3; i++)
      for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
          const int in = picture_code (&src.image, 0, i, x, y);
          const int out = picture_code (&dst.image, 0, i, x, y);

          if (!EXPECT (check, abs (in - out) <= unchanged_bound (c, yuv, in),
                  "channel %d at %d,%d: %d has become %d", i, x, y, in, out))
            i = y = x = 1000;
        }
  light_plan_free (plan);
  picture_clear (&src);
  picture_clear (&dst);
  light_case_free (c);
}

/* The unrounded filter of one colour, in linear light. */
static double
ideal_light (const LightCase *c, const Picture *src, bool yuv, int color,
    int at_x, int at_y)
{
  const LightSpec *spec = &c->spec;
  const Taps *tx = spec->filter->plane[0].x, *ty = spec->filter->plane[0].y;
  const double kr = spec->kr, kb = spec->kb, kg = 1.0 - kr - kb;
  double sum = 0.0;

  for (int j = 0; j < ty->n; j++)
    for (int i = 0; i < tx->n; i++) {
      const int x0 = at_x + i - tx->n / 2, y0 = at_y + j - ty->n / 2;
      const int x = x0 < 0 ? 0 : x0 >= c->width ? c->width - 1 : x0;
      const int y = y0 < 0 ? 0 : y0 >= c->height ? c->height - 1 : y0;
      double v[3];

      for (int k = 0; k < 3; k++)
        v[k] = picture_code (&src->image, 0, k, x, y);
      if (yuv) {
        const double luma = (v[0] - spec->black) / spec->range;
        const double cb = (v[1] - spec->neutral) / spec->chroma_range;
        const double cr = (v[2] - spec->neutral) / spec->chroma_range;

        v[0] = luma + 2.0 * (1.0 - kr) * cr;
        v[1] = luma
            - (2.0 * kr * (1.0 - kr) * cr + 2.0 * kb * (1.0 - kb) * cb) / kg;
        v[2] = luma + 2.0 * (1.0 - kb) * cb;
      } else {
        for (int k = 0; k < 3; k++)
          v[k] = (v[k] - spec->black) / spec->range;
      }
      sum += ty->tap[j] * tx->tap[i]
          * srgb_decode (fmin (fmax (v[color], 0.0), 1.0));
    }
  return sum;
}

/* Codes of a pixel after the ideal filter. */
static void
ideal_codes (const LightCase *c, const Picture *src, bool yuv, int x, int y,
    double codes[3])
{
  const LightSpec *spec = &c->spec;
  const double kr = spec->kr, kb = spec->kb;
  double v[3], luma;

  for (int i = 0; i < 3; i++)
    v[i] = srgb_encode (ideal_light (c, src, yuv, i, x, y));
  luma = kr * v[0] + (1.0 - kr - kb) * v[1] + kb * v[2];
  for (int i = 0; i < 3; i++)
    codes[i] = spec->black + spec->range * v[i];
  if (!yuv)
    return;
  codes[0] = spec->black + spec->range * luma;
  codes[1] =
      spec->neutral + spec->chroma_range * (v[2] - luma) / (2.0 * (1.0 - kb));
  codes[2] =
      spec->neutral + spec->chroma_range * (v[0] - luma) / (2.0 * (1.0 - kr));
}

/* The bounds of light.h's table. */
static void
bounds_case (Check *check, Random *random, int index, const void *data)
{
  static const double bounds[4] = { 0.8, 1.0, 2.0, 30.0 };
  static const double bright[4] = { 0.8, 0.8, 0.8, 3.0 };
  const Subject *subject = data;
  const bool yuv = index / 4 % 2 == 1;
  LightCase *c = light_case_new ();
  LightPlan *plan;
  Picture src, dst;
  bool ok;

  make_bound_case (c, index, srgb_decode, yuv);
  set_gaussian (c, random_double (random, 0.3, 1.5));
  describe_case (check, c);
  picture_new (&src, &c->layout, false, random);
  picture_new (&dst, &c->layout, false, random);
  picture_paint (&src, CONTENT_ZERO, random);
  paint_colors (c, &src, yuv, random);
  plan = make_plan (check, c, subject, NULL);
  ok = plan != NULL
      && device_run_cleanly (
          check, subject->device, run_frame, plan, &src, &dst);
  for (int y = 0; y < c->height && ok; y++)
    for (int x = 0; x < c->width && ok; x++) {
      double ideal[3];

      ideal_codes (c, &src, yuv, x, y, ideal);
      for (int i = 0; i < 3 && ok; i++) {
        const double bound =
            !yuv && 2.0 * ideal[i] > c->spec.black + c->spec.range
            ? bright[index % 4]
            : bounds[index % 4];
        const int code = picture_code (&dst.image, 0, i, x, y);

        ok = EXPECT (check, fabs (code - ideal[i]) < bound,
            "channel %d at %d,%d is %d where %.3f is ideal", i, x, y, code,
            ideal[i]);
      }
    }
  light_plan_free (plan);
  picture_clear (&src);
  picture_clear (&dst);
  light_case_free (c);
}

/* ---- what it is for ---- */

/* After a blur in linear light, a bright dot is brighter than after one of gamma codes. With
 * premultiplied alpha, a colour next to transparent pixels keeps its brightness. */
static void
check_purpose (Check *check, const void *data)
{
  Device device = { NULL, NULL };
  const Subject subject = { .backend = BACKEND_CPU, .device = &device };
  int center[2], beside[2];

  (void) data;
  check->cases++;
  for (int i = 0; i < 2; i++) {
    LightCase *c = light_case_new ();
    Random random = { 7 };
    LightPlan *plan;
    Picture src, dst;

    set_layout (c, layout_kind_by_name ("ayuv"), 21, 21);
    set_roles (c, MODEL_RGB, 3, true);
    set_full_range (c, 8);
    c->spec.filter = &c->filter->spec;
    set_gaussian (c, 2.0);
    c->function = "sRGB";
    if (i == 1)
      set_table (c, srgb_decode, 8);
    c->spec.premultiply = i == 1;
    picture_new (&src, &c->layout, false, &random);
    picture_new (&dst, &c->layout, false, &random);
    picture_paint (&src, CONTENT_ZERO, &random);
    for (int y = 0; y < 21; y++)
      for (int x = 0; x < 21; x++) {
        picture_write_code (
            &src.image, 0, 0, x, y, x == 10 && y == 10 ? 255 : 0);
        picture_write_code (&src.image, 0, 1, x, y, x < 10 ? 200 : 0);
        picture_write_code (
            &src.image, 0, 3, x, y, x < 10 || y == 10 ? 255 : 0);
      }
    plan = make_plan (check, c, &subject, NULL);
    if (plan != NULL)
      device_run_cleanly (check, &device, run_frame, plan, &src, &dst);
    center[i] = picture_code (&dst.image, 0, 0, 10, 10);
    beside[i] = picture_code (&dst.image, 0, 1, 9, 2);
    light_plan_free (plan);
    picture_clear (&src);
    picture_clear (&dst);
    light_case_free (c);
  }
  EXPECT (check, center[1] > 2 * center[0] && center[0] > 0,
      "a dot is %d in linear light and %d in codes", center[1], center[0]);
  EXPECT (check, beside[1] >= 199 && beside[0] < 150,
      "an edge is %d with premultiply and %d without", beside[1], beside[0]);
}

/* ---- refusals ---- */

static LightCase *
plain_case (const char *layout, Model model, int alpha)
{
  LightCase *c = light_case_new ();

  set_layout (c, layout_kind_by_name (layout), 20, 10);
  set_roles (c, model, alpha, alpha >= 0);
  set_full_range (c, c->layout.plane[0].depth);
  c->spec.kr = 0.299;
  c->spec.kb = 0.114;
  c->spec.filter = &c->filter->spec;
  c->function = "as-is";
  set_gaussian (c, 1.0);
  return c;
}

static double
pq_decode (double v)
{
  const double power = pow (v, 32.0 / 2523.0);

  return pow (fmax (power - 3424.0 / 4096.0, 0.0)
          / (2413.0 / 128.0 - 2392.0 / 128.0 * power),
      16384.0 / 2610.0);
}

static void
expect_refused (Check *check, LightCase *c, FaultKind kind, const char *what)
{
  LightPlan *plan;
  Fault fault;

  fault_clear (&fault);
  EXPECT_FAULT (check, !light_validate (&c->spec, &c->layout, &fault), &fault,
      kind, what);
  fault_clear (&fault);
  plan = light_plan_new (&c->spec, &c->layout, BACKEND_CPU, NULL, NULL, &fault);
  EXPECT_FAULT (check, plan == NULL, &fault, kind, what);
  light_plan_free (plan);
  light_case_free (c);
}

static void
check_refused_formats (Check *check, const void *data)
{
  LightCase *c;

  (void) data;
  check->cases++;
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.premultiply = true;
  expect_refused (check, c, FAULT_FORMAT, "premultiply without alpha");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.write_alpha = true;
  expect_refused (check, c, FAULT_FORMAT, "alpha that is not there");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.role[0][2] = LIGHT_COPY;
  expect_refused (check, c, FAULT_FORMAT, "red and green alone");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.role[1][1] = LIGHT_COPY;
  expect_refused (check, c, FAULT_FORMAT, "Y and Cb alone");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.role[0][0] = LIGHT_RED;
  expect_refused (check, c, FAULT_FORMAT, "red, Cb and Cr");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.role[0][2] = LIGHT_RED;
  expect_refused (check, c, FAULT_SETTINGS, "two reds");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.role[0][2] = (LightRole) 77;
  expect_refused (check, c, FAULT_SETTINGS, "role 77");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.subsampling_x[1] = 1;
  expect_refused (check, c, FAULT_FORMAT, "another subsampling");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.subsampling_x[1] = 3;
  expect_refused (check, c, FAULT_FORMAT, "subsampling by 3");
  c = plain_case ("high-bits", MODEL_YUV, -1);
  expect_refused (check, c, FAULT_FORMAT, "luma and chroma of 8 and 9 bits");
  c = plain_case ("odd-bits", MODEL_GREY, -1);
  memset (c->spec.role, 0, sizeof c->spec.role);
  c->spec.role[0][0] = LIGHT_Y;
  expect_refused (check, c, FAULT_FORMAT, "grey of 1 bit");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->filter->spec.combine = SEPCONV_DIRECTION;
  expect_refused (check, c, FAULT_FORMAT, "a direction of YUV");
}

static void
check_refused_settings (Check *check, const void *data)
{
  LightCase *c;

  (void) data;
  check->cases++;
  for (int combine = SEPCONV_MAGNITUDE; combine <= SEPCONV_DIRECTION;
       combine++) {
    c = plain_case ("ayuv", MODEL_RGB, 3);
    c->spec.premultiply = true;
    c->filter->spec.combine = (SepconvCombine) combine;
    expect_refused (check, c, FAULT_SETTINGS, "a gradient with premultiply");
  }
  c = plain_case ("ayuv", MODEL_RGB, 3);
  c->spec.write_alpha = true;
  c->filter->spec.combine = SEPCONV_DIRECTION;
  expect_refused (check, c, FAULT_SETTINGS, "a direction of alpha");
  for (int bits = 8; bits <= 16; bits += 4) {
    c = plain_case ("rgb24", MODEL_RGB, -1);
    set_table (c, pq_decode, bits);
    expect_refused (check, c, FAULT_FORMAT, "PQ");
  }
  c = plain_case ("rgb24", MODEL_RGB, -1);
  set_table (c, srgb_decode, 8);
  c->decode[100] = c->decode[105];
  expect_refused (check, c, FAULT_FORMAT, "a function that descends");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.decode = c->decode;
  c->spec.decode_bits = 7;
  expect_refused (check, c, FAULT_SETTINGS, "a table of 128");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.decode = c->decode;
  c->spec.decode_bits = 17;
  expect_refused (check, c, FAULT_SETTINGS, "a table of 2^17");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.black = 1;
  expect_refused (check, c, FAULT_SETTINGS, "levels above the largest code");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.black = -1;
  expect_refused (check, c, FAULT_SETTINGS, "black below 0");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.range = 203;
  expect_refused (check, c, FAULT_SETTINGS, "a small range");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.chroma_range = 256;
  expect_refused (check, c, FAULT_SETTINGS, "a chroma range of 256");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.neutral = 127;
  expect_refused (check, c, FAULT_SETTINGS, "neutral at 127");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.kr = 0.7;
  expect_refused (check, c, FAULT_SETTINGS, "luma without green");
  c = plain_case ("nv12", MODEL_YUV, -1);
  c->spec.kb = NAN;
  expect_refused (check, c, FAULT_SETTINGS, "Kb that is no number");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->spec.border_color[1] = 1.01;
  expect_refused (check, c, FAULT_SETTINGS, "a border brighter than white");
  c = plain_case ("rgb24", MODEL_RGB, -1);
  c->filter->spec.scale = INFINITY;
  expect_refused (check, c, FAULT_SETTINGS, "a scale without end");
}

/* Updates that a plan refuses. */
static void
check_mismatches (Check *check, const void *data)
{
  LightCase *c = plain_case ("planar3", MODEL_YUV, -1);
  Random random = { 3 };
  Picture src, dst;
  const SepconvMethod *another;
  LightPlan *plan;
  Fault fault;

  (void) data;
  check->cases++;
  plan = light_plan_new (&c->spec, &c->layout, BACKEND_CPU, NULL, NULL, &fault);
  if (!EXPECT (check, plan != NULL, "no plan: %s", fault.message))
    return;
  EXPECT (check, strlen (light_plan_method_name (plan)) > 0, "no method");
  another = sepconv_method_by_name (
      strcmp (light_plan_method_name (plan), "simd") == 0 ? "reference"
                                                          : "simd");
  set_table (c, srgb_decode, 12);
  EXPECT_FAULT (check, !light_plan_update (plan, &c->spec, NULL, &fault),
      &fault, FAULT_UNSUPPORTED, "another table");
  c->spec.decode = NULL;
  c->spec.kr = 0.2126;
  EXPECT_FAULT (check, !light_plan_update (plan, &c->spec, NULL, &fault),
      &fault, FAULT_UNSUPPORTED, "another matrix");
  c->spec.kr = 0.299;
  EXPECT_FAULT (check, !light_plan_update (plan, &c->spec, another, &fault),
      &fault, FAULT_UNSUPPORTED, "another method");
  c->filter->spec.combine = SEPCONV_UNSHARP;
  EXPECT_FAULT (check, !light_plan_update (plan, &c->spec, NULL, &fault),
      &fault, FAULT_UNSUPPORTED, "another combination");
  set_gaussian (c, 2.0);
  EXPECT (check, light_plan_update (plan, &c->spec, NULL, &fault),
      "the update failed: %s", fault.message);
  set_layout (c, layout_kind_by_name ("planar3"), 20, 12);
  picture_new (&src, &c->layout, false, &random);
  picture_new (&dst, &c->layout, false, &random);
  EXPECT_FAULT (check,
      !light_plan_run (
          plan, &src.image, &dst.image, NULL, GPU_AFTER_KERNELS, &fault),
      &fault, FAULT_SETTINGS, "a picture that is too tall");
  src.image.memory[0].height = dst.image.memory[0].height = 4;
  src.image.memory[1].height = dst.image.memory[1].height = 4;
  EXPECT_FAULT (check,
      !light_plan_run (
          plan, &src.image, &dst.image, NULL, GPU_AFTER_KERNELS, &fault),
      &fault, FAULT_SETTINGS, "chroma that is taller than luma");
  picture_clear (&src);
  picture_clear (&dst);
  light_plan_free (plan);
  light_plan_free (NULL);
  light_case_free (c);
}

static void
check_with (Check *check, const void *data, int n, CheckCase function)
{
  Subject subject = *(const Subject *) data;
  Device device;

  if (!device_enter (check, subject.backend, &device))
    return;
  subject.device = &device;
  check_cases (check, n, function, &subject);
  device_leave (&device);
}

static void
check_pictures (Check *check, const void *data)
{
  check_with (check, data, check->quick ? 12 : 90, pictures_case);
}

static void
check_updates (Check *check, const void *data)
{
  check_with (check, data, check->quick ? 8 : 60, updates_case);
}

static void
check_again (Check *check, const void *data)
{
  check_with (check, data, check->quick ? 6 : 40, again_case);
}

static void
check_unchanged (Check *check, const void *data)
{
  check_with (check, data, check->quick ? 16 : 64, unchanged_case);
}

static void
check_bounds (Check *check, const void *data)
{
  check_with (check, data, check->quick ? 8 : 48, bounds_case);
}

static void
check_one_kernel (Check *check, const void *data)
{
  check_with (check, data, check->quick ? 12 : 40, one_kernel_case);
}

static void
check_one_kernel_fields (Check *check, const void *data)
{
  check_with (check, data, check->quick ? 12 : 60, one_kernel_fields_case);
}

static void
add_backend (Backend backend, const char *name)
{
  static const char *const models[] = { "grey", "rgb", "yuv" };
  static Subject subjects[2][N_KINDS];
  Subject *subject = subjects[backend];

  for (int k = 0; k < N_KINDS; k++) {
    subject[k] = (Subject){ .backend = backend, .kind = &kinds[k] };
    kerncheck_add (check_pictures, &subject[k], NULL, "light/%s/%s-%s", name,
        kinds[k].layout, models[kinds[k].model]);
  }
  kerncheck_add (check_updates, &subject[0], NULL, "light/%s/updates", name);
  kerncheck_add (check_again, &subject[0], NULL, "light/%s/again", name);
  kerncheck_add (
      check_unchanged, &subject[0], NULL, "light/%s/unchanged", name);
  kerncheck_add (check_bounds, &subject[0], NULL, "light/%s/bounds", name);
}

void
check_light_add (void)
{
  static const Subject on_gpu = { .backend = BACKEND_CUDA };

  kerncheck_add (check_purpose, NULL, NULL, "light/purpose");
  kerncheck_add (check_refused_formats, NULL, NULL, "light/refused-formats");
  kerncheck_add (check_refused_settings, NULL, NULL, "light/refused-settings");
  kerncheck_add (check_mismatches, NULL, NULL, "light/mismatches");
  add_backend (BACKEND_CPU, "cpu");
  add_backend (BACKEND_CUDA, "cuda");
  kerncheck_add (check_one_kernel, &on_gpu, NULL, "light/cuda/one-kernel");
  kerncheck_add (
      check_one_kernel_fields, &on_gpu, NULL, "light/cuda/one-kernel-fields");
}
