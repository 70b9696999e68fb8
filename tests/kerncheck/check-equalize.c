/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Equalization: compared with the oracle for everything that equalize.h allows, GPU
 * with CPU, and with results of OpenCV; and checked for equalized results. */
#include "kerncheck.h"

#include "equalize.h"
#include "kerncheck-device.h"
#include "oracle-equalize.h"
#include "pictures.h"
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 4
/* Largest smoothing used here; it limits the lag behind a still picture: see the
 * header. */
#define MAX_SMOOTHING 0.95

/* Layouts that only equalization treats specially. */
static const LayoutKind more_kinds[] = {
  { "gbr8", 3, 3, { 1, 1, 1 },
      { { 0, 0, 1, 1, 1, 1, 8, 0 }, { 1, 0, 1, 1, 1, 1, 8, 0 },
          { 2, 0, 1, 1, 1, 1, 8, 0 } },
      0 },
  { "gbr12", 3, 3, { 1, 1, 1 },
      { { 0, 0, 1, 1, 2, 2, 12, 0 }, { 1, 0, 1, 1, 2, 2, 12, 0 },
          { 2, 0, 1, 1, 2, 2, 12, 0 } },
      0 },
  { "rgb48", 1, 1, { 1 }, { { 0, 0, 1, 3, 6, 2, 16, 0 } }, 0 },
};

#define N_MORE_KINDS ((int) (sizeof more_kinds / sizeof more_kinds[0]))

/* A backend, and a layout for checks that need one. */
typedef struct
{
  Backend backend;
  const LayoutKind *kind;
  bool identity;  /* strength is 0 */
  Device *device; /* while the check runs */
} Subject;

/* A video whose settings may change with every frame. */
typedef struct
{
  const LayoutKind *kind;
  int width, height; /* of the picture */
  Image layout;
  EqualizeSpec spec;
  bool packed; /* rows and memories without a gap, as in one allocation */
  int *luma;   /* luma of each pixel */
  Range *mapped;
} Video;

static int
random_channel (const Image *layout, Random *random, int *plane)
{
  *plane = random_int (random, 0, layout->n_planes - 1);
  return random_int (random, 0, layout->plane[*plane].channels - 1);
}

static bool
same_grid (const Image *layout, int a, int b)
{
  return layout->plane[a].width == layout->plane[b].width
      && layout->plane[a].depth == layout->plane[b].depth
      && image_plane_height (layout, a) == image_plane_height (layout, b);
}

static void
set_colors (EqualizeSpec *spec, const int plane[3], const int channel[3],
    Random *random)
{
  const int turn = random_int (random, 0, 2);

  for (int i = 0; i < 3; i++)
    spec->role[plane[i]][channel[i]] =
        (EqualizeRole) (EQUALIZE_RED + (i + turn) % 3);
  spec->kr = random_chance (random, 50) ? 0.299 : random_double (random, 0, 1);
  spec->kb = random_chance (random, 50)
      ? fmin (0.114, 1.0 - spec->kr)
      : random_double (random, 0, 1.0 - spec->kr);
}

/* Red, green and blue in channels of plane 0, or in the first three planes. */
static bool
make_colors (EqualizeSpec *spec, const Image *layout, Random *random)
{
  const int shift =
      layout->plane[0].channels > 3 ? random_int (random, 0, 1) : 0;
  const int interleaved[3] = { shift, shift + 1, shift + 2 };
  const int none[3] = { 0, 0, 0 }, planes[3] = { 0, 1, 2 };

  if (layout->plane[0].channels >= 3) {
    set_colors (spec, none, interleaved, random);
    return true;
  }
  if (layout->n_planes < 3 || !same_grid (layout, 0, 1)
      || !same_grid (layout, 0, 2))
    return false;
  set_colors (spec, planes, none, random);
  return true;
}

/* Sometimes without smoothing, and sometimes at the maximum. */
static void
make_settings (EqualizeSpec *spec, bool identity, Random *random)
{
  spec->strength = identity        ? 0.0
      : random_chance (random, 50) ? 1.0
                                   : random_double (random, 0.0, 1.0);
  spec->smoothing = random_chance (random, 50)
      ? 0.0
      : random_double (random, 0.0, MAX_SMOOTHING);
  spec->clip_limit = random_chance (random, 25)
      ? 0.0
      : exp2 (random_double (random, -3.0, 9.0));
}

static void
make_spec (EqualizeSpec *spec, const Image *layout, int index, bool identity,
    Random *random)
{
  int p = 0, c, full;

  memset (spec, 0, sizeof *spec);
  spec->kind = index % 2 ? EQUALIZE_CLAHE : EQUALIZE_GLOBAL;
  if (index % 4 < 2 || !make_colors (spec, layout, random)) {
    c = random_chance (random, 70) ? 0 : random_channel (layout, random, &p);
    spec->role[p][c] = EQUALIZE_LUMA;
  }
  full = image_full_code (&layout->plane[equalize_oracle_plane (spec)]);
  spec->white = full;
  if (full > 1 && random_chance (random, 50)) {
    spec->black = random_int (random, 0, full / 4);
    spec->white = random_int (random, spec->black + 1, full);
  }
  spec->tiles_x = random_int (random, 1, 3);
  spec->tiles_y = random_int (random, 1, 3);
  make_settings (spec, identity, random);
}

/* Half of the packed layouts have rows of whole vectors, some others a few samples
 * more. */
static void
make_layout (Video *video, int index, int most, Random *random)
{
  static const int widths[] = { 1, 2, 16, 48, 96, 33 };

  video->packed = index % 4 != 0;
  video->height = random_int (random, 1, most);
  video->width = index < 6 ? widths[index] : random_int (random, 1, most);
  if (video->packed && index >= 6 && random_chance (random, 50))
    video->width = 16 * random_int (random, 1, most / 16);
  /* Wider than the block of samples that the CPU processes at a time. */
  if (index == 6 || index == 7) {
    video->width = 16 * random_int (random, 40, 80);
    video->height = random_int (random, 1, 8);
  }
  layout_make (video->kind, video->width, video->height, &video->layout);
  for (int m = 0; m < video->layout.n_memories && video->packed; m++) {
    ImageMemory *memory = &video->layout.memory[m];

    memory->row_bytes = (memory->row_bytes + 15) / 16 * 16;
  }
}

static Video *
video_new (
    const LayoutKind *kind, int index, int most, bool identity, Random *random)
{
  Video *video = kerncheck_alloc (sizeof *video);
  size_t pixels;
  int p;

  video->kind = kind;
  make_layout (video, index, most, random);
  make_spec (&video->spec, &video->layout, index, identity, random);
  p = equalize_oracle_plane (&video->spec);
  pixels = (size_t) video->layout.plane[p].width
      * (size_t) image_plane_height (&video->layout, p);
  video->luma = kerncheck_alloc (pixels * sizeof *video->luma);
  video->mapped = kerncheck_alloc (pixels * sizeof *video->mapped);
  return video;
}

static void
video_free (Video *video)
{
  free (video->luma);
  free (video->mapped);
  free (video);
}

static void
describe (Check *check, const Video *video, int frame, Content content)
{
  const EqualizeSpec *spec = &video->spec;

  check_describe (check,
      "%s %dx%d %s, frame %d of %s; %s, codes %d to %d, kr %g kb %g, strength "
      "%g, smoothing %g, %dx%d tiles, clip limit %g",
      video->kind->name, video->width, video->height,
      video->packed ? "packed" : "scattered", frame, content_name (content),
      spec->kind == EQUALIZE_CLAHE ? "CLAHE" : "global", spec->black,
      spec->white, spec->kr, spec->kb, spec->strength, spec->smoothing,
      spec->tiles_x, spec->tiles_y, spec->clip_limit);
}

/* Sometimes source and result have different layouts. */
static void
new_picture (Picture *picture, const Video *video, Random *random)
{
  if (video->packed && !random_chance (random, 10))
    picture_new_packed (picture, &video->layout, random);
  else
    picture_new (picture, &video->layout, true, random);
}

static bool
run_equalize (void *plan, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  return equalize_plan_run (plan, src, dst, stream, fault);
}

/* Bounds of a mapped sample: new luma, or a colour changed by the same amount as
 * luma. */
static Range
expected_code (const Video *video, EqualizeRole role, int code, int pixel)
{
  const EqualizeSpec *spec = &video->spec;
  const Range mapped = video->mapped[pixel];
  const int low = code < spec->black ? code : spec->black;
  const int high = code > spec->white ? code : spec->white;
  const int luma = video->luma[pixel];

  if (role == EQUALIZE_LUMA)
    return mapped;
  return (Range){
    fmin (fmax (code + mapped.low - luma, low), high),
    fmin (fmax (code + mapped.high - luma, low), high),
  };
}

static bool
check_mapped (Check *check, const Video *video, const Picture *src,
    const Picture *dst, int p, int c)
{
  const ImagePlane *plane = &video->layout.plane[p];
  const EqualizeSpec *spec = &video->spec;
  const unsigned mask = (unsigned) image_full_code (plane) << plane->shift;

  for (int y = 0; y < image_plane_height (&video->layout, p); y++)
    for (int x = 0; x < plane->width; x++) {
      const unsigned from = picture_raw (&src->image, p, c, x, y);
      const unsigned to = picture_raw (&dst->image, p, c, x, y);
      const int code = (int) ((from & mask) >> plane->shift);
      const int result = (int) ((to & mask) >> plane->shift);
      const Range expected =
          expected_code (video, spec->role[p][c], code, y * plane->width + x);

      if (!EXPECT (check, result >= expected.low && result <= expected.high,
              "plane %d channel %d at %d,%d: %d became %d where %g to %g was "
              "expected",
              p, c, x, y, code, result, expected.low, expected.high)
          || !EXPECT (check, (from & ~mask) == (to & ~mask),
              "plane %d channel %d at %d,%d: bits beside the code have changed",
              p, c, x, y)
          || !EXPECT (check,
              code < spec->black || code > spec->white
                  || (result >= spec->black && result <= spec->white),
              "plane %d channel %d at %d,%d: %d became %d, out of range", p, c,
              x, y, code, result))
        return false;
    }
  return true;
}

static bool
check_copied (
    Check *check, const Picture *src, const Picture *dst, int p, int c)
{
  for (int y = 0; y < image_plane_height (&src->image, p); y++)
    for (int x = 0; x < src->image.plane[p].width; x++)
      if (!EXPECT (check,
              picture_raw (&src->image, p, c, x, y)
                  == picture_raw (&dst->image, p, c, x, y),
              "plane %d channel %d at %d,%d was not copied", p, c, x, y))
        return false;
  return true;
}

static bool
check_frame (
    Check *check, const Video *video, const Picture *src, const Picture *dst)
{
  const Image *layout = &video->layout;

  for (int p = 0; p < layout->n_planes; p++)
    for (int c = 0; c < layout->plane[p].channels; c++) {
      const bool ok = video->spec.role[p][c] == EQUALIZE_COPY
          ? check_copied (check, src, dst, p, c)
          : check_mapped (check, video, src, dst, p, c);

      if (!ok)
        return false;
    }
  return true;
}

static bool
check_same (Check *check, const Picture *a, const Picture *b, const char *what)
{
  Verdict verdict;

  verdict_same (&verdict, &a->image, &b->image);
  return EXPECT (check, verdict.ok, "%s: %s", what, verdict.text);
}

/* The plan under test; a host plan for comparison with a GPU; the oracle. */
typedef struct
{
  const Device *device;
  EqualizePlan *plan, *other;
  EqualizeOracle *oracle;
  bool first;
} Players;

static bool
play_frame (Check *check, const Video *video, Players *players,
    const Picture *src, Random *random)
{
  const Device host = { NULL, NULL };
  Picture dst, other;
  bool ok;

  new_picture (&dst, video, random);
  new_picture (&other, video, random);
  equalize_oracle_run (players->oracle, &video->spec, players->first,
      &src->image, video->luma, video->mapped);
  ok = device_run_cleanly (
           check, players->device, run_equalize, players->plan, src, &dst)
      && check_frame (check, video, src, &dst)
      && device_run_cleanly (
          check, &host, run_equalize, players->other, src, &other)
      && check_same (check, &dst, &other, "not what the host computes");
  if (ok && video->spec.strength == 0.0)
    ok = check_same (check, &dst, src, "no identity");
  players->first = false;
  picture_clear (&dst);
  picture_clear (&other);
  return ok;
}

/* Settings change while a video plays, or a new video begins. */
static void
change_settings (
    Check *check, Video *video, Players *players, bool identity, Random *random)
{
  Fault fault;

  fault_clear (&fault);
  if (random_chance (random, 30)) {
    make_settings (&video->spec, identity, random);
    EXPECT (check,
        equalize_plan_update (players->plan, &video->spec, &fault)
            && equalize_plan_update (players->other, &video->spec, &fault),
        "settings were refused: %s", fault.message);
  }
  if (random_chance (random, 20)) {
    equalize_plan_reset (players->plan);
    equalize_plan_reset (players->other);
    players->first = true;
  }
}

static void
play_frames (
    Check *check, Video *video, Players *players, bool identity, Random *random)
{
  bool ok = true;

  for (int frame = 0; frame < FRAMES && ok; frame++) {
    const Content content = (Content) random_int (random, 0, N_CONTENTS - 1);
    Picture src;

    if (frame > 0)
      change_settings (check, video, players, identity, random);
    describe (check, video, frame, content);
    new_picture (&src, video, random);
    picture_paint (&src, content, random);
    ok = play_frame (check, video, players, &src, random);
    picture_clear (&src);
  }
}

static void
play (Check *check, Video *video, const Subject *subject, Random *random)
{
  Players players = { .device = subject->device, .first = true };
  Fault fault;

  fault_clear (&fault);
  players.plan = equalize_plan_new (&video->spec, &video->layout,
      subject->backend, subject->device->gpu, &fault);
  players.other = equalize_plan_new (
      &video->spec, &video->layout, BACKEND_CPU, NULL, &fault);
  if (EXPECT (check, players.plan != NULL && players.other != NULL,
          "no plan: %s", fault.message)) {
    players.oracle = equalize_oracle_new (&video->spec, &video->layout);
    play_frames (check, video, &players, subject->identity, random);
    equalize_oracle_free (players.oracle);
  }
  equalize_plan_free (players.plan);
  equalize_plan_free (players.other);
}

static void
layout_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  Video *video = video_new (
      subject->kind, index, check->quick ? 48 : 130, subject->identity, random);

  describe (check, video, 0, CONTENT_ZERO);
  play (check, video, subject, random);
  video_free (video);
}

static const LayoutKind *
any_kind (int index)
{
  return index < N_MORE_KINDS ? &more_kinds[index]
                              : layout_kind (index - N_MORE_KINDS);
}

static void
identity_case (Check *check, Random *random, int index, const void *data)
{
  Subject subject = *(const Subject *) data;

  subject.identity = true;
  subject.kind =
      any_kind (random_int (random, 0, layout_n_kinds () + N_MORE_KINDS - 1));
  layout_case (check, random, index, &subject);
}

/* Enough tiles and blocks for all to have neighbours; for two-byte samples, tiles so
 * large that several workers share the area between four centres. */
static void
large_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "nv12", "gray16", "rgbx", "y210" };
  const Subject *subject = data;
  const bool few = index % 2 == 1;
  Video *video = video_new (layout_kind_by_name (kinds[index]), index + 8,
      check->quick ? 200 : 900, false, random);

  video->spec.kind = EQUALIZE_CLAHE;
  video->spec.tiles_x =
      few ? random_int (random, 1, 2) : random_int (random, 2, 9);
  video->spec.tiles_y =
      few ? random_int (random, 1, 2) : random_int (random, 2, 9);
  describe (check, video, 0, CONTENT_ZERO);
  play (check, video, subject, random);
  video_free (video);
}

/* A still picture of luma alone. */
typedef struct
{
  const char *kind;
  int width, height;
  EqualizeSpec spec;
} Still;

/* Paints every mapped channel, and runs one frame with a new plan. */
static bool
run_still (Check *check, const Device *device, const Still *still,
    int (*paint) (const Still *still, int x, int y, Random *random),
    Picture *src, Picture *dst, Random *random)
{
  EqualizePlan *plan;
  Image layout;
  Fault fault;
  bool ok;

  fault_clear (&fault);
  layout_make (
      layout_kind_by_name (still->kind), still->width, still->height, &layout);
  picture_new (src, &layout, false, random);
  picture_new (dst, &layout, false, random);
  for (int y = 0; y < still->height; y++)
    for (int x = 0; x < still->width; x++) {
      const int code = paint (still, x, y, random);

      for (int c = 0; c < layout.plane[0].channels; c++)
        picture_write_code (&src->image, 0, c, x, y, code);
    }
  plan = equalize_plan_new (&still->spec, &layout,
      device->gpu == NULL ? BACKEND_CPU : BACKEND_CUDA, device->gpu, &fault);
  ok = EXPECT (check, plan != NULL, "no plan: %s", fault.message)
      && device_run_cleanly (check, device, run_equalize, plan, src, dst);
  equalize_plan_free (plan);
  return ok;
}

static int
still_code (const Picture *picture, int x, int y)
{
  return picture_code (&picture->image, 0, 0, x, y);
}

/* Largest distance between a picture's cumulative distribution and the uniform one,
 * over the codes that occur; *share is the largest share of one code. */
static double
distance_from_flat (const Still *still, const Picture *picture, double *share)
{
  const EqualizeSpec *spec = &still->spec;
  double *counts = kerncheck_alloc (65536 * sizeof *counts);
  const double samples = (double) still->width * still->height;
  double sum = 0.0, worst = 0.0;

  for (int y = 0; y < still->height; y++)
    for (int x = 0; x < still->width; x++)
      counts[still_code (picture, x, y)]++;
  *share = 0.0;
  for (int code = 0; code < 65536; code++) {
    sum += counts[code];
    *share = fmax (*share, counts[code] / samples);
    if (counts[code] > 0.0)
      worst = fmax (worst,
          fabs (sum / samples
              - (double) (code - spec->black) / (spec->white - spec->black)));
  }
  free (counts);
  return worst;
}

/* Low contrast: few codes, mostly in the middle. */
static int
paint_dull (const Still *still, int x, int y, Random *random)
{
  const EqualizeSpec *spec = &still->spec;
  const int range = spec->white - spec->black;

  (void) y;
  return spec->black + range / 3 + random_int (random, 0, range / 8)
      + random_int (random, 0, range / 8) + x * (range / 8) / still->width;
}

static void
flat_case (Check *check, Random *random, int index, const void *data)
{
  static const Still stills[] = {
    { .kind = "gray8", .width = 97, .height = 61, .spec = { .white = 255 } },
    { .kind = "gray8",
        .width = 64,
        .height = 48,
        .spec = { .black = 16, .white = 235 } },
    { .kind = "p010",
        .width = 80,
        .height = 60,
        .spec = { .black = 64, .white = 940 } },
    { .kind = "gray16", .width = 90, .height = 50, .spec = { .white = 65535 } },
    { .kind = "rgb24",
        .width = 80,
        .height = 33,
        .spec = { .white = 255, .kr = 0.2126, .kb = 0.0722 } },
    { .kind = "rgba64",
        .width = 60,
        .height = 40,
        .spec = { .white = 65535, .kr = 0.299, .kb = 0.114 } },
  };
  const Subject *subject = data;
  Still still = stills[index];
  Picture src, dst;

  still.spec.strength = 1.0;
  if (still.spec.kr > 0.0)
    for (int c = 0; c < 3; c++)
      still.spec.role[0][c] = (EqualizeRole) (EQUALIZE_RED + c);
  else
    still.spec.role[0][0] = EQUALIZE_LUMA;
  check_describe (check, "%s %dx%d, codes %d to %d", still.kind, still.width,
      still.height, still.spec.black, still.spec.white);
  if (run_still (
          check, subject->device, &still, paint_dull, &src, &dst, random)) {
    double share, ignored;
    const double before = distance_from_flat (&still, &src, &share);
    const double after = distance_from_flat (&still, &dst, &ignored);
    const double rounding = 0.52 / (still.spec.white - still.spec.black);

    EXPECT (check, before > 0.3 && share < 0.1,
        "the picture is no example: %.3f from flat, %.3f of one code", before,
        share);
    EXPECT (check, after <= share + rounding,
        "the distribution is %.5f from flat, where one code has %.5f", after,
        share);
  }
  picture_clear (&src);
  picture_clear (&dst);
}

/* A ramp with noise, the same on every machine. 16-bit codes; 8-bit pictures take the
 * high byte. */
static int
paint_golden (const Still *still, int x, int y, Random *random)
{
  uint32_t noise = (uint32_t) x * 2654435761u ^ (uint32_t) y * 2246822519u;
  const int ramp = (int) (65535ll * (x + y) / (still->width + still->height));

  (void) random;
  noise ^= noise >> 15;
  noise *= 2246822519u;
  noise ^= noise >> 13;
  return (4096 + ramp / 2 + (int) (noise & 0xffff) / 8)
      >> (still->spec.white == 255 ? 8 : 0);
}

#define GOLDEN_SAMPLES 5

/* OpenCV's result for the picture above. */
typedef struct
{
  int bits, width, height, tiles_x, tiles_y;
  double clip_limit;
  long long sum;              /* of the result's codes */
  int sample[GOLDEN_SAMPLES]; /* at golden_x(), golden_y() */
} Golden;

/* Made with OpenCV 5.0.0 (opencv-python-headless from PyPI) in Python, from the
 * picture of paint_golden(), computed there with NumPy:
 *   cv2.createCLAHE (clip_limit, (tiles_x, tiles_y)).apply (picture) */
static const Golden goldens[] = {
  { 8, 160, 120, 8, 8, 2.0, 2244251, { 63, 91, 92, 190, 150 } },
  { 8, 161, 121, 8, 8, 2.0, 2047386, { 57, 80, 80, 172, 134 } },
  { 8, 160, 121, 8, 8, 40.0, 2589267, { 103, 46, 89, 242, 176 } },
  { 8, 100, 77, 4, 3, 0.0, 1011609, { 15, 136, 45, 176, 171 } },
  { 8, 33, 20, 8, 8, 0.5, 96567, { 200, 64, 227, 236, 86 } },
  { 8, 5, 3, 8, 8, 2.0, 3380, { 255, 255, 255, 191, 255 } },
  { 16, 160, 120, 8, 8, 2.0, 643284783, { 26125, 11720, 21047, 61439, 43854 } },
  { 16, 161, 120, 8, 8, 4.0, 646933710, { 25675, 11264, 21186, 59652, 44479 } },
  { 16, 100, 77, 4, 3, 0.0, 254530639, { 3199, 33756, 10704, 44918, 42816 } },
};

#define N_GOLDENS ((int) (sizeof goldens / sizeof goldens[0]))

/* FNV-1a of the bytes that cv2.equalizeHist (picture) gave for 161x121, 8 bits. */
#define GOLDEN_GLOBAL 0xfee47de67e9ae758u

static int
golden_x (const Golden *golden, int i)
{
  return golden->width * (2 * (3 * i % GOLDEN_SAMPLES) + 1)
      / (2 * GOLDEN_SAMPLES);
}

static int
golden_y (const Golden *golden, int i)
{
  return golden->height * (2 * i + 1) / (2 * GOLDEN_SAMPLES);
}

/* Each sample is within 1 of OpenCV's. The sum may differ by 1/50 of a code per sample,
 * as one sample in 1400 differs, in either direction. */
static void
golden_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  const Golden *golden = &goldens[index];
  const Still still = {
    .kind = golden->bits == 8 ? "gray8" : "gray16",
    .width = golden->width,
    .height = golden->height,
    .spec = { .kind = EQUALIZE_CLAHE,
        .role = { { EQUALIZE_LUMA } },
        .white = (1 << golden->bits) - 1,
        .strength = 1.0,
        .tiles_x = golden->tiles_x,
        .tiles_y = golden->tiles_y,
        .clip_limit = golden->clip_limit },
  };
  const double samples = (double) still.width * still.height;
  Picture src, dst;
  long long sum = 0;

  check_describe (check, "%d bits, %dx%d, %dx%d tiles, clip limit %g",
      golden->bits, golden->width, golden->height, golden->tiles_x,
      golden->tiles_y, golden->clip_limit);
  if (run_still (
          check, subject->device, &still, paint_golden, &src, &dst, random)) {
    for (int y = 0; y < still.height; y++)
      for (int x = 0; x < still.width; x++)
        sum += still_code (&dst, x, y);
    EXPECT (check, fabs ((double) (sum - golden->sum)) < 0.02 * samples,
        "the codes' sum is %lld, and OpenCV's %lld", sum, golden->sum);
    for (int i = 0; i < GOLDEN_SAMPLES; i++) {
      const int x = golden_x (golden, i), y = golden_y (golden, i);
      const int code = still_code (&dst, x, y);

      EXPECT (check, abs (code - golden->sample[i]) <= 1,
          "%d at %d,%d, where OpenCV has %d", code, x, y, golden->sample[i]);
    }
  }
  picture_clear (&src);
  picture_clear (&dst);
}

static void
golden_global_case (Check *check, Random *random, int index, const void *data)
{
  const Subject *subject = data;
  const Still still = {
    .kind = "gray8",
    .width = 161,
    .height = 121,
    .spec = { .role = { { EQUALIZE_LUMA } }, .white = 255, .strength = 1.0 },
  };
  uint64_t hash = 0xcbf29ce484222325u;
  Picture src, dst;

  (void) index;
  if (run_still (
          check, subject->device, &still, paint_golden, &src, &dst, random)) {
    for (int y = 0; y < still.height; y++)
      for (int x = 0; x < still.width; x++)
        hash = (hash ^ (uint64_t) still_code (&dst, x, y)) * 0x100000001b3u;
    EXPECT (check, hash == GOLDEN_GLOBAL, "not what OpenCV gives");
  }
  picture_clear (&src);
  picture_clear (&dst);
}

static void
run_subject (Check *check, const void *data, int n, CheckCase function)
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
check_layout (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 8 : 40, layout_case);
}

static void
check_identity (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 12 : 100, identity_case);
}

static void
check_large (Check *check, const void *data)
{
  run_subject (check, data, check->quick ? 1 : 4, large_case);
}

static void
check_flat (Check *check, const void *data)
{
  run_subject (check, data, 6, flat_case);
}

static void
check_golden (Check *check, const void *data)
{
  run_subject (check, data, N_GOLDENS, golden_case);
}

static void
check_golden_global (Check *check, const void *data)
{
  run_subject (check, data, 1, golden_global_case);
}

/* One setting out of range at a time. */
typedef struct
{
  const char *what;
  void (*spoil) (EqualizeSpec *spec, Image *layout);
} Spoiled;

static void
no_luma (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->role[0][0] = EQUALIZE_COPY;
}

static void
two_lumas (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->role[1][0] = EQUALIZE_LUMA;
}

static void
luma_and_red (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->role[1][0] = EQUALIZE_RED;
}

static void
only_red (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->role[0][0] = EQUALIZE_RED;
}

static void
colors_of_two_sizes (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->role[0][0] = EQUALIZE_RED;
  spec->role[1][0] = EQUALIZE_GREEN;
  spec->role[1][1] = EQUALIZE_BLUE;
}

static void
weights_above_one (EqualizeSpec *spec, Image *layout)
{
  layout_make (layout_kind_by_name ("rgb24"), 20, 10, layout);
  for (int c = 0; c < 3; c++)
    spec->role[0][c] = (EqualizeRole) (EQUALIZE_RED + c);
  spec->kr = spec->kb = 0.6;
}

static void
absent_channel (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->role[0][0] = EQUALIZE_COPY;
  spec->role[0][1] = EQUALIZE_LUMA;
}

static void
unknown_role (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->role[0][0] = (EqualizeRole) 77;
}

static void
unknown_kind (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->kind = (EqualizeKind) 77;
}

static void
black_above_white (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->black = spec->white;
}

static void
white_beyond_codes (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->white = 256;
}

static void
negative_black (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->black = -1;
}

static void
strength_above_one (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->strength = 1.01;
}

static void
strength_nan (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->strength = NAN;
}

static void
smoothing_one (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->smoothing = 1.0;
}

static void
no_tiles (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->tiles_y = 0;
}

static void
too_many_tiles (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->tiles_x = EQUALIZE_MAX_TILES + 1;
}

static void
negative_clip_limit (EqualizeSpec *spec, Image *layout)
{
  (void) layout;
  spec->clip_limit = -1.0;
}

static void
too_many_samples (EqualizeSpec *spec, Image *layout)
{
  (void) spec;
  layout_make (layout_kind_by_name ("gray8"), 65536, 65536, layout);
}

static const Spoiled spoiled[] = {
  { "no luma", no_luma },
  { "two lumas", two_lumas },
  { "luma and red", luma_and_red },
  { "red alone", only_red },
  { "colours of two sizes", colors_of_two_sizes },
  { "weights above 1", weights_above_one },
  { "a channel that is not there", absent_channel },
  { "an unknown role", unknown_role },
  { "an unknown kind", unknown_kind },
  { "black at white", black_above_white },
  { "white beyond the codes", white_beyond_codes },
  { "a negative black", negative_black },
  { "a strength above 1", strength_above_one },
  { "a strength that is no number", strength_nan },
  { "a smoothing of 1", smoothing_one },
  { "no tiles", no_tiles },
  { "too many tiles", too_many_tiles },
  { "a negative clip limit", negative_clip_limit },
  { "too many samples", too_many_samples },
};

static EqualizeSpec
plain_spec (void)
{
  return (EqualizeSpec){
    .kind = EQUALIZE_CLAHE,
    .role = { { EQUALIZE_LUMA } },
    .white = 255,
    .strength = 1.0,
    .tiles_x = 4,
    .tiles_y = 4,
    .clip_limit = 2.0,
  };
}

static void
check_validate (Check *check, const void *data)
{
  (void) data;
  check->cases++;
  for (size_t i = 0; i < sizeof spoiled / sizeof spoiled[0]; i++) {
    EqualizeSpec spec = plain_spec ();
    Image layout;
    Fault fault;

    layout_make (layout_kind_by_name ("nv12"), 20, 10, &layout);
    EXPECT (check, equalize_validate (&spec, &layout, NULL),
        "a valid spec was refused");
    spoiled[i].spoil (&spec, &layout);
    fault_clear (&fault);
    EXPECT_FAULT (check, !equalize_validate (&spec, &layout, &fault), &fault,
        FAULT_SETTINGS, spoiled[i].what);
    fault_clear (&fault);
    EXPECT_FAULT (check,
        equalize_plan_new (&spec, &layout, BACKEND_CPU, NULL, &fault) == NULL,
        &fault, FAULT_SETTINGS, spoiled[i].what);
  }
}

/* A setting that a running plan refuses leaves the plan as it was. */
static void
check_refusals (Check *check, const void *data)
{
  EqualizeSpec spec = plain_spec ();
  EqualizePlan *plan;
  Image layout, other;
  Fault fault;

  (void) data;
  check->cases++;
  fault_clear (&fault);
  layout_make (layout_kind_by_name ("nv12"), 20, 10, &layout);
  plan = equalize_plan_new (&spec, &layout, BACKEND_CPU, NULL, &fault);
  if (!EXPECT (check, plan != NULL, "no plan: %s", fault.message))
    return;
  spec.tiles_x = 5;
  EXPECT_FAULT (check, !equalize_plan_update (plan, &spec, &fault), &fault,
      FAULT_UNSUPPORTED, "another grid of tiles");
  spec = plain_spec ();
  spec.black = 16;
  EXPECT_FAULT (check, !equalize_plan_update (plan, &spec, &fault), &fault,
      FAULT_UNSUPPORTED, "another range");
  spec = plain_spec ();
  spec.smoothing = -0.5;
  EXPECT_FAULT (check, !equalize_plan_update (plan, &spec, &fault), &fault,
      FAULT_SETTINGS, "a negative smoothing");
  layout_make (layout_kind_by_name ("nv12"), 20, 12, &other);
  EXPECT_FAULT (check, !equalize_plan_run (plan, &other, &other, NULL, &fault),
      &fault, FAULT_SETTINGS, "a taller picture");
  layout_make (layout_kind_by_name ("gray8"), 20, 10, &other);
  EXPECT_FAULT (check, !equalize_plan_run (plan, &other, &other, NULL, &fault),
      &fault, FAULT_SETTINGS, "a picture of other planes");
  equalize_plan_free (plan);
  equalize_plan_free (NULL);
}

void
check_equalize_add (void)
{
  static const char *const names[] = { "cpu", "cuda" };
  const int n_kinds = layout_n_kinds () + N_MORE_KINDS;
  Subject *subject =
      kerncheck_alloc (sizeof *subject * (size_t) (2 * (n_kinds + 1)));
  static Subject *keep; /* for the table of checks, until the process ends */

  keep = subject;
  (void) keep;
  kerncheck_add (check_validate, NULL, NULL, "equalize/validate");
  kerncheck_add (check_refusals, NULL, NULL, "equalize/refusals");
  for (int backend = BACKEND_CPU; backend <= BACKEND_CUDA; backend++) {
    const char *name = names[backend];

    for (int k = 0; k < n_kinds; k++, subject++) {
      subject->backend = (Backend) backend;
      subject->kind = any_kind (k);
      kerncheck_add (check_layout, subject, NULL, "equalize/%s/%s", name,
          subject->kind->name);
    }
    subject->backend = (Backend) backend;
    kerncheck_add (check_identity, subject, NULL, "equalize/%s/identity", name);
    kerncheck_add (check_large, subject, NULL, "equalize/%s/large", name);
    kerncheck_add (check_flat, subject, NULL, "equalize/%s/flat", name);
    kerncheck_add (
        check_golden, subject, NULL, "equalize/%s/opencv-clahe", name);
    kerncheck_add (
        check_golden_global, subject, NULL, "equalize/%s/opencv-global", name);
    subject++;
  }
}
