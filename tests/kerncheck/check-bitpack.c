/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bit-packed video, unpacked and packed on both backends, against each bit by itself. */
#include "kerncheck.h"

#include "bitpack.h"
#include "kerncheck-device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_RUNS 40

typedef struct
{
  Backend backend;
  BitpackFormat format;
} Subject;

static Subject subjects[2 * BITPACK_N_FORMATS];

static bool
is_422 (BitpackFormat format)
{
  return format == BITPACK_V210 || format == BITPACK_UYVP;
}

static bool
has_alpha (BitpackFormat format)
{
  return !is_422 (format) && format != BITPACK_R210;
}

static bool
high_bit_first (BitpackFormat format)
{
  return format == BITPACK_UYVP || format == BITPACK_R210;
}

/* `order`: the memory of each plane. */
static void
make_planes (BitpackFormat format, int width, int height, const int order[4],
    Image *planes)
{
  const int half = is_422 (format) ? 2 : 1;
  const int n = has_alpha (format) ? 4 : 3;
  LayoutKind kind = { "planes", n, n, { 1, 1, 1, 1 },
    { { order[0], 0, 1, 1, 2, 2, 10, 0 }, { order[1], 0, half, 1, 2, 2, 10, 0 },
        { order[2], 0, half, 1, 2, 2, 10, 0 },
        { order[3], 0, 1, 1, 2, 2, 10, 0 } },
    0 };

  layout_make (&kind, width, height, planes);
}

/* The bit of a packed row that sample x of plane p begins with: the lowest one, where lower bits
 * come first, or the highest one. */
static int
find_bit (BitpackFormat format, int p, int x)
{
  static const int word[BITPACK_N_FORMATS][4] = {
    [BITPACK_Y410] = { 10, 0, 20, 30 },
    [BITPACK_RGB10A2_LE] = { 0, 10, 20, 30 },
    [BITPACK_BGR10A2_LE] = { 20, 10, 0, 30 },
    [BITPACK_R210] = { 2, 12, 22 },
  };
  /* Of U Y V Y U Y V Y. */
  const int i = p == 0 ? 2 * x + 1 : 4 * x + 2 * (p - 1);

  if (format == BITPACK_V210)
    return i / 3 * 32 + i % 3 * 10;
  return format == BITPACK_UYVP ? 10 * i : 32 * x + word[format][p];
}

static uint8_t *
byte_of (
    BitpackFormat format, const Image *packed, int y, int bit, int *in_byte)
{
  *in_byte = high_bit_first (format) ? 7 - bit % 8 : bit % 8;
  return packed->memory[0].data + y * packed->memory[0].stride + bit / 8;
}

/* Of alpha. */
static bool
has_two_bits (BitpackFormat format, int p)
{
  return has_alpha (format) && p == 3;
}

static int
read_sample (BitpackFormat format, const Image *packed, int p, int x, int y)
{
  const int bits = has_two_bits (format, p) ? 2 : 10;
  int code = 0;

  for (int b = 0; b < bits; b++) {
    const int bit = find_bit (format, p, x) + b;
    int in_byte;
    const uint8_t *at = byte_of (format, packed, y, bit, &in_byte);
    const int value = *at >> in_byte & 1;

    code |= value << (high_bit_first (format) ? bits - 1 - b : b);
  }
  return bits == 2 ? code << 8 | code << 6 | code << 4 | code << 2 | code
                   : code;
}

/* Sets the sample's bits in bytes that were 0. */
static void
add_sample (
    BitpackFormat format, const Image *packed, int p, int x, int y, int code)
{
  const int bits = has_two_bits (format, p) ? 2 : 10;

  if (bits == 2)
    code = (int) floor (3.0 * code / 1023.0 + 0.5);
  for (int b = 0; b < bits; b++) {
    const int bit = find_bit (format, p, x) + b;
    int in_byte;
    uint8_t *at = byte_of (format, packed, y, bit, &in_byte);

    *at |= (uint8_t) ((code >> (high_bit_first (format) ? bits - 1 - b : b) & 1)
        << in_byte);
  }
}

static bool
unpack (void *user, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  return bitpack_unpack (user, src, dst, stream, fault);
}

static bool
pack (void *user, const Image *src, const Image *dst, GpuStream stream,
    Fault *fault)
{
  return bitpack_pack (user, src, dst, stream, fault);
}

static void
expect_unpacked (Check *check, BitpackFormat format, const Image *packed,
    const Image *planes)
{
  for (int p = 0; p < planes->n_planes; p++)
    for (int y = 0; y < image_plane_height (planes, p); y++)
      for (int x = 0; x < planes->plane[p].width; x++) {
        const int code = picture_code (planes, p, 0, x, y);
        const int wanted = read_sample (format, packed, p, x, y);

        if (!EXPECT (check, code == wanted,
                "plane %d has %d at %d,%d instead of %d", p, code, x, y,
                wanted))
          return;
      }
}

static void
expect_packed (Check *check, BitpackFormat format, const Image *planes,
    const Image *packed)
{
  Image wanted = *packed;
  ImageMemory *memory = &wanted.memory[0];
  const size_t bytes = memory->row_bytes * (size_t) memory->height;
  bool ok = true;

  memory->data = kerncheck_alloc (bytes);
  memory->stride = (ptrdiff_t) memory->row_bytes;
  memset (memory->data, 0, bytes);
  for (int p = 0; p < planes->n_planes; p++)
    for (int y = 0; y < image_plane_height (planes, p); y++)
      for (int x = 0; x < planes->plane[p].width; x++)
        add_sample (
            format, &wanted, p, x, y, picture_code (planes, p, 0, x, y));
  for (int y = 0; y < memory->height && ok; y++)
    for (size_t i = 0; i < memory->row_bytes && ok; i++) {
      const int byte =
          packed->memory[0].data[y * packed->memory[0].stride + (ptrdiff_t) i];
      const int expected = memory->data[y * memory->stride + (ptrdiff_t) i];

      ok = EXPECT (check, byte == expected,
          "byte %zu of row %d is 0x%02x instead of 0x%02x", i, y, byte,
          expected);
    }
  free (memory->data);
}

/* One frame there and back, with any strides and addresses. */
static void
convert_case (Check *check, const Device *device, BitpackFormat format,
    int index, Random *random)
{
  static const int orders[2][4] = { { 0, 1, 2, 3 }, { 2, 0, 1, 3 } };
  const Backend backend = device->gpu == NULL ? BACKEND_CPU : BACKEND_CUDA;
  const bool on_host = device->gpu == NULL;
  const int width =
      index % 4 == 0 ? random_int (random, 1, 12) : random_int (random, 1, 700);
  const int height = random_int (random, 1, 40);
  BitpackPlan *plan;
  Picture packed, planes, repacked;
  Image layout, packed_layout;
  Fault fault;

  check_describe (check, "%s %dx%d", bitpack_name (format), width, height);
  fault_clear (&fault);
  make_planes (format, width, height, orders[index % 2], &layout);
  plan = bitpack_plan_new (
      format, &layout, random_int (random, 0, 1), backend, device->gpu, &fault);
  if (!EXPECT (check, plan != NULL, "no plan: %s", fault.message))
    return;
  bitpack_layout (format, width, height, &packed_layout);
  picture_new (&packed, &packed_layout, on_host, random);
  picture_new (&planes, &layout, on_host, random);
  if (device_run_cleanly (check, device, unpack, plan, &packed, &planes))
    expect_unpacked (check, format, &packed.image, &planes.image);

  picture_new (&repacked, &packed_layout, on_host, random);
  if (index % 2 == 0)
    picture_paint (&planes, CONTENT_NOISE, random);
  if (device_run_cleanly (check, device, pack, plan, &planes, &repacked))
    expect_packed (check, format, &planes.image, &repacked.image);
  picture_clear (&packed);
  picture_clear (&planes);
  picture_clear (&repacked);
  bitpack_plan_free (plan);
}

typedef struct
{
  const Device *device;
  BitpackFormat format;
} Running;

static void
run_case (Check *check, Random *random, int index, const void *data)
{
  const Running *running = data;

  convert_case (check, running->device, running->format, index, random);
}

static void
check_convert (Check *check, const void *data)
{
  const Subject *subject = data;
  Device device;
  const Running running = { &device, subject->format };

  if (!device_enter (check, subject->backend, &device))
    return;
  check_cases (check, N_RUNS, run_case, &running);
  device_leave (&device);
}

/* A plan's own planes, and what is refused. */
static void
check_plan (Check *check, const void *data)
{
  static const int order[4] = { 0, 1, 2, 3 };
  const Subject *subject = data;
  const BitpackFormat format = subject->format;
  const int group = bitpack_group_pixels (format), width = 6 * 6 + 1;
  Image layout, wrong, packed;
  Device device;
  BitpackPlan *plan;
  Fault fault;

  if (!device_enter (check, subject->backend, &device))
    return;
  make_planes (format, width, 5, order, &layout);
  bitpack_layout (format, width, 5, &packed);
  EXPECT (check,
      bitpack_max_width (format) / group * bitpack_group_bytes (format)
          <= IMAGE_MAX_ROW_BYTES,
      "the widest row is too long");
  fault_clear (&fault);
  plan = bitpack_plan_new (
      format, &layout, true, subject->backend, device.gpu, &fault);
  if (EXPECT (check, plan != NULL, "no plan: %s", fault.message)) {
    const Image *source = bitpack_plan_source (plan);
    const Image *result = bitpack_plan_result (plan);

    EXPECT (check,
        image_same_layout (source, &layout)
            && image_same_layout (result, &layout),
        "the planes are others");
    for (int m = 0; m < layout.n_memories; m++)
      EXPECT (check,
          source->memory[m].data != NULL && result->memory[m].data != NULL
              && source->memory[m].data != result->memory[m].data,
          "plane %d has no memory of its own", m);
    bitpack_layout (format, width - group, 5, &packed);
    EXPECT (check,
        !bitpack_unpack (plan, &packed, source, device.stream, &fault)
            && !bitpack_pack (plan, result, &packed, device.stream, &fault),
        "a group is missing");
    wrong = layout;
    wrong.plane[0].width--;
    bitpack_layout (format, width, 5, &packed);
    EXPECT (check,
        !bitpack_unpack (plan, &packed, &wrong, device.stream, &fault)
            && !bitpack_pack (plan, &wrong, &packed, device.stream, &fault),
        "planes of another width are taken");
    bitpack_layout (format, width, 4, &packed);
    EXPECT (check,
        !bitpack_unpack (plan, &packed, source, device.stream, &fault),
        "a row is missing");
  }
  bitpack_plan_free (plan);
  plan = bitpack_plan_new (
      format, &layout, false, subject->backend, device.gpu, &fault);
  EXPECT (check, plan != NULL && bitpack_plan_result (plan)->n_memories == 0,
      "there is a result");
  bitpack_plan_free (plan);

  for (int i = 0; i < 4; i++) {
    wrong = layout;
    if (i == 0)
      wrong.n_planes--;
    if (i == 1)
      wrong.plane[1].width--;
    if (i == 2)
      wrong.plane[0].depth = 12;
    if (i == 3)
      wrong.memory[2].height = 4;
    EXPECT (check,
        bitpack_plan_new (
            format, &wrong, true, subject->backend, device.gpu, &fault)
                == NULL
            && fault.kind == FAULT_SETTINGS,
        "wrong planes, number %d, are taken", i);
  }
  device_leave (&device);
}

void
check_bitpack_add (void)
{
  static const Backend backends[] = { BACKEND_CPU, BACKEND_CUDA };
  static const char *const names[] = { "cpu", "cuda" };

  for (int b = 0; b < 2; b++)
    for (int f = BITPACK_NONE + 1; f < BITPACK_N_FORMATS; f++) {
      Subject *subject = &subjects[b * BITPACK_N_FORMATS + f];
      const char *name = bitpack_name ((BitpackFormat) f);

      *subject = (Subject){ backends[b], (BitpackFormat) f };
      kerncheck_add (
          check_convert, subject, NULL, "bitpack/%s/%s", names[b], name);
      kerncheck_add (
          check_plan, subject, NULL, "bitpack/%s/%s/plan", names[b], name);
    }
}
