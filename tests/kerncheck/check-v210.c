/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* v210, packed and unpacked on both backends, against each sample by itself. */
#include "kerncheck.h"

#include "kerncheck-device.h"
#include "v210.h"

#include <stdlib.h>
#include <string.h>

#define N_RUNS 40

static const Backend backends[] = { BACKEND_CPU, BACKEND_CUDA };

static void
make_planes (int width, int height, Image *planes)
{
  static const LayoutKind kind = { "4:2:2 of 10 bits", 3, 3, { 1, 1, 1 },
    { { 0, 0, 1, 1, 2, 2, 10, 0 }, { 1, 0, 2, 1, 2, 2, 10, 0 },
        { 2, 0, 2, 1, 2, 2, 10, 0 } },
    0 };

  layout_make (&kind, width, height, planes);
}

/* Where pixel x of a packed row has its sample of plane p: the word, and the bit in it. */
static void
find_sample (int p, int x, int *word, int *bit)
{
  static const int luma[6][2] = { { 0, 10 }, { 1, 0 }, { 1, 20 }, { 2, 10 },
    { 3, 0 }, { 3, 20 } };
  static const int chroma[2][3][2] = { { { 0, 0 }, { 1, 10 }, { 2, 20 } },
    { { 0, 20 }, { 2, 0 }, { 3, 10 } } };
  const int *place = p == 0 ? luma[x % 6] : chroma[p - 1][x % 6 / 2];

  *word = x / 6 * 4 + place[0];
  *bit = place[1];
}

static uint32_t
read_word (const Image *packed, int word, int y)
{
  const uint8_t *at =
      packed->memory[0].data + y * packed->memory[0].stride + 4 * word;

  return at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16
      | (uint32_t) at[3] << 24;
}

static bool
unpack (void *user, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  return v210_unpack (user, src, dst, stream, fault);
}

static bool
pack (void *user, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  return v210_pack (user, src, dst, stream, fault);
}

static void
expect_unpacked (Check *check, const Image *packed, const Image *planes)
{
  for (int p = 0; p < 3; p++)
    for (int y = 0; y < image_plane_height (planes, p); y++)
      for (int x = 0; x < planes->plane[p].width; x++) {
        const int code = picture_code (planes, p, 0, x, y);
        int word, bit, wanted;

        find_sample (p, x * (p == 0 ? 1 : 2), &word, &bit);
        wanted = (int) (read_word (packed, word, y) >> bit & 0x3ff);
        if (!EXPECT (check, code == wanted,
                "plane %d has %d at %d,%d instead of %d", p, code, x, y,
                wanted))
          return;
      }
}

/* Collects the words of a row from the planes. */
static void
expect_packed (Check *check, const Image *planes, const Image *packed)
{
  const int words = (int) packed->memory[0].row_bytes / 4;

  for (int y = 0; y < packed->memory[0].height; y++) {
    uint32_t *wanted = kerncheck_alloc ((size_t) words * sizeof *wanted);
    bool ok = true;

    memset (wanted, 0, (size_t) words * sizeof *wanted);
    for (int p = 0; p < 3; p++)
      for (int x = 0; x < planes->plane[p].width; x++) {
        int word, bit;

        find_sample (p, x * (p == 0 ? 1 : 2), &word, &bit);
        wanted[word] |= (uint32_t) picture_code (planes, p, 0, x, y) << bit;
      }
    for (int i = 0; i < words && ok; i++)
      ok = EXPECT (check, read_word (packed, i, y) == wanted[i],
          "word %d of row %d is 0x%08x instead of 0x%08x", i, y,
          read_word (packed, i, y), wanted[i]);
    free (wanted);
    if (!ok)
      return;
  }
}

/* One frame there and back, with any strides and addresses. */
static void
convert_case (Check *check, Random *random, int index, const void *data)
{
  const Device *device = data;
  const Backend backend = device->gpu == NULL ? BACKEND_CPU : BACKEND_CUDA;
  const bool on_host = device->gpu == NULL;
  const int width =
      index % 4 == 0 ? random_int (random, 1, 12) : random_int (random, 1, 700);
  const int height = random_int (random, 1, 40);
  V210Plan *plan;
  Picture packed, planes, repacked;
  Image layout, packed_layout;
  Fault fault;

  check_describe (check, "%dx%d", width, height);
  fault_clear (&fault);
  make_planes (width, height, &layout);
  plan = v210_plan_new (
      &layout, random_int (random, 0, 1), backend, device->gpu, &fault);
  if (!EXPECT (check, plan != NULL, "no plan: %s", fault.message))
    return;
  v210_layout (width, height, &packed_layout);
  picture_new (&packed, &packed_layout, on_host, random);
  picture_new (&planes, &layout, on_host, random);
  if (device_run_cleanly (check, device, unpack, plan, &packed, &planes))
    expect_unpacked (check, &packed.image, &planes.image);

  picture_new (&repacked, &packed_layout, on_host, random);
  if (index % 2 == 0)
    picture_paint (&planes, CONTENT_NOISE, random);
  if (device_run_cleanly (check, device, pack, plan, &planes, &repacked))
    expect_packed (check, &planes.image, &repacked.image);
  picture_clear (&packed);
  picture_clear (&planes);
  picture_clear (&repacked);
  v210_plan_free (plan);
}

static void
check_convert (Check *check, const void *data)
{
  device_check_cases (check, *(const Backend *) data, N_RUNS, convert_case);
}

/* A plan's own planes, and what is refused. */
static void
check_plan (Check *check, const void *data)
{
  const Backend backend = *(const Backend *) data;
  Image layout, wrong, packed;
  Device device;
  V210Plan *plan;
  Fault fault;

  if (!device_enter (check, backend, &device))
    return;
  make_planes (37, 5, &layout);
  v210_layout (37, 5, &packed);
  fault_clear (&fault);
  plan = v210_plan_new (&layout, true, backend, device.gpu, &fault);
  if (EXPECT (check, plan != NULL, "no plan: %s", fault.message)) {
    const Image *source = v210_plan_source (plan);
    const Image *result = v210_plan_result (plan);

    EXPECT (check,
        image_same_layout (source, &layout)
            && image_same_layout (result, &layout),
        "the planes are others");
    for (int m = 0; m < 3; m++)
      EXPECT (check,
          source->memory[m].data != NULL && result->memory[m].data != NULL
              && source->memory[m].data != result->memory[m].data,
          "plane %d has no memory of its own", m);
    v210_layout (36, 5, &packed);
    EXPECT (check,
        !v210_unpack (plan, &packed, source, device.stream, &fault)
            && !v210_pack (plan, result, &packed, device.stream, &fault),
        "a group is missing");
    wrong = layout;
    wrong.plane[0].width--;
    v210_layout (37, 5, &packed);
    EXPECT (check,
        !v210_unpack (plan, &packed, &wrong, device.stream, &fault)
            && !v210_pack (plan, &wrong, &packed, device.stream, &fault),
        "planes of another width are taken");
    v210_layout (42, 4, &packed);
    EXPECT (check, !v210_unpack (plan, &packed, source, device.stream, &fault),
        "a row is missing");
  }
  v210_plan_free (plan);
  plan = v210_plan_new (&layout, false, backend, device.gpu, &fault);
  EXPECT (check, plan != NULL && v210_plan_result (plan)->n_memories == 0,
      "there is a result");
  v210_plan_free (plan);

  for (int i = 0; i < 4; i++) {
    wrong = layout;
    if (i == 0)
      wrong.n_planes = 2;
    if (i == 1)
      wrong.plane[1].width--;
    if (i == 2)
      wrong.plane[0].depth = 12;
    if (i == 3)
      wrong.memory[2].height = 4;
    EXPECT (check,
        v210_plan_new (&wrong, true, backend, device.gpu, &fault) == NULL
            && fault.kind == FAULT_SETTINGS,
        "wrong planes, number %d, are taken", i);
  }
  device_leave (&device);
}

void
check_v210_add (void)
{
  static const char *const names[] = { "cpu", "cuda" };

  for (int b = 0; b < 2; b++) {
    kerncheck_add (check_convert, &backends[b], NULL, "v210/%s", names[b]);
    kerncheck_add (check_plan, &backends[b], NULL, "v210/%s/plan", names[b]);
  }
}
