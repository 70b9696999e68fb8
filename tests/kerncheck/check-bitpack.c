/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bit-packed video, unpacked and packed on both backends, compared bit by bit. */
#include "kerncheck.h"

#include "bitpack.h"
#include "kerncheck-device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_RUNS 40

/* A format, and one of the layouts that its planes may have. */
typedef struct
{
  BitpackFormat format;
  const LayoutKind *planes; /* NULL: those of make_channels() */
} Packed;

typedef struct
{
  Backend backend;
  Packed packed;
} Subject;

static const LayoutKind gray = { "gray10", 1, 1, { 1 },
  { { 0, 0, 1, 1, 2, 2, 10, 0 } }, 0 };
static const LayoutKind p010 = { "p010", 2, 2, { 1, 2 },
  { { 0, 0, 1, 1, 2, 2, 10, 6 }, { 1, 0, 2, 2, 4, 2, 10, 6 } }, 0 };
static const LayoutKind p210 = { "p210", 2, 2, { 1, 1 },
  { { 0, 0, 1, 1, 2, 2, 10, 6 }, { 1, 0, 2, 2, 4, 2, 10, 6 } }, 0 };
static const LayoutKind i420_12 = { "i420-12", 3, 3, { 1, 2, 2 },
  { { 0, 0, 1, 1, 2, 2, 12, 0 }, { 1, 0, 2, 1, 2, 2, 12, 0 },
      { 2, 0, 2, 1, 2, 2, 12, 0 } },
  0 };
/* At an odd width the last pixel has room for a sample that does not exist. */
static const LayoutKind y212 = { "y212", 1, 2, { 1 },
  { { 0, 0, 1, 1, 4, 2, 12, 4 }, { 0, 2, 2, 2, 8, 4, 12, 4 } }, 0 };
static const LayoutKind argb = { "argb64", 1, 1, { 1 },
  { { 0, 0, 1, 4, 8, 2, 16, 0 } }, 0 };

static const Packed all[] = {
  { BITPACK_V210, NULL },
  { BITPACK_UYVP, NULL },
  { BITPACK_Y410, NULL },
  { BITPACK_RGB10A2_LE, NULL },
  { BITPACK_BGR10A2_LE, NULL },
  { BITPACK_R210, NULL },
  { BITPACK_RGB16, NULL },
  { BITPACK_BGR16, NULL },
  { BITPACK_RGB15, NULL },
  { BITPACK_BGR15, NULL },
  { BITPACK_GRAY10_LE32, &gray },
  { BITPACK_NV12_10LE32, &p010 },
  { BITPACK_NV16_10LE32, &p210 },
  { BITPACK_NV12_10LE40, &p010 },
  { BITPACK_BIG_ENDIAN, &p010 },
  { BITPACK_BIG_ENDIAN, &i420_12 },
  { BITPACK_BIG_ENDIAN, &y212 },
  { BITPACK_BIG_ENDIAN, &argb },
};
#define N_PACKED ((int) (sizeof all / sizeof *all))

static Subject subjects[2 * N_PACKED];

static bool
is_422 (BitpackFormat format)
{
  return format == BITPACK_V210 || format == BITPACK_UYVP;
}

/* Whether a frame is one memory of pixels, and each channel becomes a plane. */
static bool
goes_by_channels (BitpackFormat format)
{
  return format <= BITPACK_BGR15;
}

/* Whether a pixel is a word of 16 bits. */
static bool
is_16_bits (BitpackFormat format)
{
  return format >= BITPACK_RGB16 && format <= BITPACK_BGR15;
}

static bool
has_alpha (BitpackFormat format)
{
  return goes_by_channels (format) && !is_422 (format) && format != BITPACK_R210
      && !is_16_bits (format);
}

static bool
high_bit_first (BitpackFormat format)
{
  return format == BITPACK_UYVP || format == BITPACK_R210
      || format == BITPACK_BIG_ENDIAN;
}

/* `order[i]`: the memory of plane i. */
static void
make_channels (BitpackFormat format, int width, int height, const int order[4],
    Image *planes)
{
  const int half = is_422 (format) ? 2 : 1;
  const int n = has_alpha (format) ? 4 : 3;
  const int bytes = is_16_bits (format) ? 1 : 2;
  const int depth = is_16_bits (format) ? 8 : 10;
  LayoutKind kind = { "planes", n, n, { 1, 1, 1, 1 },
    { { order[0], 0, 1, 1, bytes, bytes, depth, 0 },
        { order[1], 0, half, 1, bytes, bytes, depth, 0 },
        { order[2], 0, half, 1, bytes, bytes, depth, 0 },
        { order[3], 0, 1, 1, bytes, bytes, depth, 0 } },
    0 };

  layout_make (&kind, width, height, planes);
}

static void
make_planes (const Packed *packed, int width, int height, const int order[4],
    Image *planes)
{
  if (packed->planes == NULL)
    make_channels (packed->format, width, height, order, planes);
  else
    layout_make (packed->planes, width, height, planes);
}

/* One sample of the planes, and its position in a packed row. */
typedef struct
{
  int p, c, x, y;
  int memory; /* packed */
  int bits;
  int bit; /* its lowest bit; with high bits first, its highest */
} Sample;

static int
find_bit (BitpackFormat format, const ImagePlane *plane, const Sample *sample)
{
  static const int word[BITPACK_N_FORMATS][4] = {
    [BITPACK_Y410] = { 10, 0, 20, 30 },
    [BITPACK_RGB10A2_LE] = { 0, 10, 20, 30 },
    [BITPACK_BGR10A2_LE] = { 20, 10, 0, 30 },
    [BITPACK_R210] = { 2, 12, 22 },
    [BITPACK_RGB16] = { 11, 5, 0 },
    [BITPACK_BGR16] = { 0, 5, 11 },
    [BITPACK_RGB15] = { 10, 5, 0 },
    [BITPACK_BGR15] = { 0, 5, 10 },
  };
  const int p = sample->p, x = sample->x;
  /* Order U Y V Y U Y V Y. */
  const int i = p == 0 ? 2 * x + 1 : 4 * x + 2 * (p - 1);
  /* Index in the plane's row. */
  const int in_row = x * plane->channels + sample->c;

  switch (format) {
    case BITPACK_V210:
      return i / 3 * 32 + i % 3 * 10;
    case BITPACK_UYVP:
      return 10 * i;
    case BITPACK_GRAY10_LE32:
    case BITPACK_NV12_10LE32:
    case BITPACK_NV16_10LE32:
      return in_row / 3 * 32 + in_row % 3 * 10;
    case BITPACK_NV12_10LE40:
      return 10 * in_row;
    case BITPACK_BIG_ENDIAN:
      return 8
          * (plane->offset + x * plane->pixel_stride
              + sample->c * plane->channel_stride);
    default:
      return (is_16_bits (format) ? 16 : 32) * x + word[format][p];
  }
}

static int
count_bits (BitpackFormat format, int p)
{
  if (format == BITPACK_BIG_ENDIAN)
    return 16;
  if (has_alpha (format) && p == 3)
    return 2;
  if (is_16_bits (format))
    return p == 1 && (format == BITPACK_RGB16 || format == BITPACK_BGR16) ? 6
                                                                          : 5;
  return 10;
}

static Sample
locate (BitpackFormat format, const Image *planes, int p, int c, int x, int y)
{
  Sample sample = { .p = p, .c = c, .x = x, .y = y };

  sample.memory = goes_by_channels (format) ? 0 : planes->plane[p].memory;
  sample.bits = count_bits (format, p);
  sample.bit = find_bit (format, &planes->plane[p], &sample);
  return sample;
}

/* The part of a sample that packing keeps: its code, or all bits where bytes are only
 * swapped. */
static int
planes_value (BitpackFormat format, const Image *planes, const Sample *sample)
{
  return format == BITPACK_BIG_ENDIAN
      ? (int) picture_raw (planes, sample->p, sample->c, sample->x, sample->y)
      : picture_code (planes, sample->p, sample->c, sample->x, sample->y);
}

/* Address of the byte that holds bit b of a sample, and the bit's position in it. */
static uint8_t *
byte_of (BitpackFormat format, const Image *packed, const Sample *sample, int b,
    int *in_byte)
{
  const ImageMemory *memory = &packed->memory[sample->memory];
  const int bit = sample->bit + b;

  *in_byte = high_bit_first (format) ? 7 - bit % 8 : bit % 8;
  return memory->data + sample->y * memory->stride + bit / 8;
}

static int
read_sample (BitpackFormat format, const Image *packed, const Sample *sample)
{
  const int bits = sample->bits;
  int code = 0;

  for (int b = 0; b < bits; b++) {
    int in_byte;
    const uint8_t *at = byte_of (format, packed, sample, b, &in_byte);
    const int value = *at >> in_byte & 1;

    code |= value << (high_bit_first (format) ? bits - 1 - b : b);
  }
  if (bits == 2)
    return code << 8 | code << 6 | code << 4 | code << 2 | code;
  return bits == 5 ? code << 3 | code >> 2
      : bits == 6  ? code << 2 | code >> 4
                   : code;
}

/* Sets the sample's bits in bytes that were 0. */
static void
add_sample (
    BitpackFormat format, const Image *packed, const Sample *sample, int code)
{
  const int bits = sample->bits;

  if (bits == 2)
    code = (int) floor (3.0 * code / 1023.0 + 0.5);
  else if (bits < 8)
    code = (int) floor (((1 << bits) - 1) * code / 255.0 + 0.5);
  for (int b = 0; b < bits; b++) {
    int in_byte;
    uint8_t *at = byte_of (format, packed, sample, b, &in_byte);

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

/* Expects both packed frames to have the same samples. */
static void
expect_same_samples (Check *check, BitpackFormat format, const Image *planes,
    const Image *got, const Image *wanted)
{
  for (int p = 0; p < planes->n_planes; p++)
    for (int y = 0; y < image_plane_height (planes, p); y++)
      for (int x = 0; x < planes->plane[p].width; x++)
        for (int c = 0; c < planes->plane[p].channels; c++) {
          const Sample sample = locate (format, planes, p, c, x, y);
          const int now = read_sample (format, got, &sample);
          const int before = read_sample (format, wanted, &sample);

          if (!EXPECT (check, now == before,
                  "plane %d, channel %d at %d,%d came back as %d instead of %d",
                  p, c, x, y, now, before))
            return;
        }
}

static bool
expect_row_unpacked (Check *check, BitpackFormat format, const Image *packed,
    const Image *planes, int p, int y)
{
  for (int x = 0; x < planes->plane[p].width; x++)
    for (int c = 0; c < planes->plane[p].channels; c++) {
      const Sample sample = locate (format, planes, p, c, x, y);
      const int got = planes_value (format, planes, &sample);
      const int wanted = read_sample (format, packed, &sample);

      if (!EXPECT (check, got == wanted,
              "plane %d has %d at %d,%d, channel %d, instead of %d", p, got, x,
              y, c, wanted))
        return false;
    }
  return true;
}

static void
expect_unpacked (Check *check, BitpackFormat format, const Image *packed,
    const Image *planes)
{
  for (int p = 0; p < planes->n_planes; p++)
    for (int y = 0; y < image_plane_height (planes, p); y++)
      if (!expect_row_unpacked (check, format, packed, planes, p, y))
        return;
}

/* Packs a frame into zeroed bytes. */
static void
pack_planes (BitpackFormat format, const Image *planes, const Image *packed)
{
  for (int p = 0; p < planes->n_planes; p++)
    for (int y = 0; y < image_plane_height (planes, p); y++)
      for (int x = 0; x < planes->plane[p].width; x++)
        for (int c = 0; c < planes->plane[p].channels; c++) {
          const Sample sample = locate (format, planes, p, c, x, y);

          add_sample (
              format, packed, &sample, planes_value (format, planes, &sample));
        }
}

static bool
expect_rows (Check *check, const ImageMemory *got, const ImageMemory *wanted)
{
  for (int y = 0; y < got->height; y++)
    for (size_t i = 0; i < got->row_bytes; i++) {
      const int byte = got->data[y * got->stride + (ptrdiff_t) i];
      const int expected = wanted->data[y * wanted->stride + (ptrdiff_t) i];

      if (!EXPECT (check, byte == expected,
              "byte %zu of row %d is 0x%02x instead of 0x%02x", i, y, byte,
              expected))
        return false;
    }
  return true;
}

static void
expect_packed (Check *check, BitpackFormat format, const Image *planes,
    const Image *packed)
{
  Image wanted = *packed;
  bool ok = true;

  for (int m = 0; m < wanted.n_memories; m++) {
    ImageMemory *memory = &wanted.memory[m];
    const size_t bytes = memory->row_bytes * (size_t) memory->height;

    memory->data = kerncheck_alloc (bytes);
    memory->stride = (ptrdiff_t) memory->row_bytes;
    memset (memory->data, 0, bytes);
  }
  pack_planes (format, planes, &wanted);
  for (int m = 0; m < wanted.n_memories; m++) {
    ok = ok && expect_rows (check, &packed->memory[m], &wanted.memory[m]);
    free (wanted.memory[m].data);
  }
}

/* One frame unpacked and packed, with random strides and addresses. */
static void
convert_case (Check *check, const Device *device, const Packed *of, int index,
    Random *random)
{
  static const int orders[2][4] = { { 0, 1, 2, 3 }, { 2, 0, 1, 3 } };
  const Backend backend = device->gpu == NULL ? BACKEND_CPU : BACKEND_CUDA;
  const bool on_host = device->gpu == NULL;
  const BitpackFormat format = of->format;
  const int any =
      index % 4 == 0 ? random_int (random, 1, 12) : random_int (random, 1, 700);
  const int width = of->planes == &y212 ? any + any % 2 : any;
  const int height = random_int (random, 1, 40);
  BitpackPlan *plan;
  Picture packed, planes, repacked;
  Image layout, packed_layout;
  Fault fault;

  check_describe (check, "%s %dx%d", bitpack_name (format), width, height);
  fault_clear (&fault);
  make_planes (of, width, height, orders[index % 2], &layout);
  plan = bitpack_plan_new (
      format, &layout, random_int (random, 0, 1), backend, device->gpu, &fault);
  if (!EXPECT (check, plan != NULL, "no plan: %s", fault.message))
    return;
  bitpack_layout (format, &layout, &packed_layout);
  picture_new (&packed, &packed_layout, on_host, random);
  picture_new (&planes, &layout, on_host, random);
  if (device_run_cleanly (check, device, unpack, plan, &packed, &planes))
    expect_unpacked (check, format, &packed.image, &planes.image);

  picture_new (&repacked, &packed_layout, on_host, random);
  if (index % 2 == 0)
    picture_paint (&planes, CONTENT_NOISE, random);
  if (device_run_cleanly (check, device, pack, plan, &planes, &repacked))
    expect_packed (check, format, &planes.image, &repacked.image);
  /* Odd cases pack the planes as they were unpacked. */
  if (index % 2 != 0)
    expect_same_samples (
        check, format, &planes.image, &repacked.image, &packed.image);
  picture_clear (&packed);
  picture_clear (&planes);
  picture_clear (&repacked);
  bitpack_plan_free (plan);
}

typedef struct
{
  const Device *device;
  const Packed *packed;
} Running;

static void
run_case (Check *check, Random *random, int index, const void *data)
{
  const Running *running = data;

  convert_case (check, running->device, running->packed, index, random);
}

static void
check_convert (Check *check, const void *data)
{
  const Subject *subject = data;
  Device device;
  const Running running = { &device, &subject->packed };

  if (!device_enter (check, subject->backend, &device))
    return;
  check_cases (check, N_RUNS, run_case, &running);
  device_leave (&device);
}

/* Makes planes that the format does not allow; false: change number i is none for this
 * format. */
static bool
spoil_planes (Image *planes, const Packed *packed, int i)
{
  const bool by_channels = goes_by_channels (packed->format);

  switch (i) {
    case 0:
      planes->n_planes--;
      return by_channels;
    case 1:
      planes->plane[planes->n_planes - 1].width--;
      return packed->format != BITPACK_BIG_ENDIAN;
    case 2:
      planes->plane[0].depth = is_16_bits (packed->format) ? 7
          : by_channels                                    ? 12
                                                           : 8;
      planes->plane[0].shift = 0;
      return true;
    default:
      planes->memory[planes->n_memories - 1].height = 4;
      return by_channels;
  }
}

/* The planes that a plan reports, and refusals. */
static void
check_plan (Check *check, const void *data)
{
  static const int order[4] = { 0, 1, 2, 3 };
  const Subject *subject = data;
  const BitpackFormat format = subject->packed.format;
  const int group = bitpack_group_pixels (format), width = 6 * 6 + 1;
  Image layout, wrong, packed, other;
  Device device;
  BitpackPlan *plan;
  Fault fault;

  if (!device_enter (check, subject->backend, &device))
    return;
  make_planes (&subject->packed, width, 5, order, &layout);
  bitpack_layout (format, &layout, &packed);
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
    make_planes (&subject->packed, width - group, 5, order, &other);
    bitpack_layout (format, &other, &packed);
    EXPECT (check,
        !bitpack_unpack (plan, &packed, source, device.stream, &fault)
            && !bitpack_pack (plan, result, &packed, device.stream, &fault),
        "a group is missing");
    wrong = layout;
    wrong.plane[0].width--;
    bitpack_layout (format, &layout, &packed);
    EXPECT (check,
        !bitpack_unpack (plan, &packed, &wrong, device.stream, &fault)
            && !bitpack_pack (plan, &wrong, &packed, device.stream, &fault),
        "planes of another width are taken");
    make_planes (&subject->packed, width, 4, order, &other);
    bitpack_layout (format, &other, &packed);
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
    if (!spoil_planes (&wrong, &subject->packed, i))
      continue;
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
    for (int i = 0; i < N_PACKED; i++) {
      Subject *subject = &subjects[b * N_PACKED + i];
      const char *name = bitpack_name (all[i].format);
      const bool several = all[i].format == BITPACK_BIG_ENDIAN;
      const char *of = several ? all[i].planes->name : "";

      *subject = (Subject){ backends[b], all[i] };
      kerncheck_add (check_convert, subject, NULL, "bitpack/%s/%s%s%s",
          names[b], name, several ? "-" : "", of);
      kerncheck_add (check_plan, subject, NULL, "bitpack/%s/%s%s%s/plan",
          names[b], name, several ? "-" : "", of);
    }
}
