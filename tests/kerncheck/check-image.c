/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Images: their invariants, fields, packing and copies. */
#include "kerncheck.h"

#include "pictures.h"
#include "verdict.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Breaks one invariant of a valid image; NULL when there are no more. */
static const char *
break_image (Image *image, int how)
{
  ImagePlane *plane = &image->plane[image->n_planes - 1];
  ImageMemory *memory = &image->memory[plane->memory];

  switch (how) {
    case 0:
      image->n_planes = 0;
      return "no planes";
    case 1:
      image->n_planes = IMAGE_MAX_PLANES + 1;
      return "too many planes";
    case 2:
      image->n_planes = -1;
      return "a negative number of planes";
    case 3:
      image->n_memories = 0;
      return "no memories";
    case 4:
      image->n_memories = IMAGE_MAX_MEMORIES + 1;
      return "too many memories";
    case 5:
      memory->height = 0;
      return "no rows";
    case 6:
      memory->height = -1;
      return "a negative height";
    case 7:
      plane->memory = image->n_memories;
      return "a plane beyond the memories";
    case 8:
      plane->memory = -1;
      return "a plane before the memories";
    case 9:
      plane->width = 0;
      return "no columns";
    case 10:
      plane->width = -1;
      return "a negative width";
    case 11:
      plane->channels = 0;
      return "no channels";
    case 12:
      plane->channels = IMAGE_MAX_CHANNELS + 1;
      return "too many channels";
    case 13:
      plane->depth = 0;
      return "no bits";
    case 14:
      plane->depth = 17;
      return "17 bits";
    case 15:
      plane->shift = -1;
      return "a negative shift";
    case 16:
      plane->shift = 17 - plane->depth;
      return "a shift beyond 16 bits";
    case 17:
      plane->offset = -1;
      return "a negative offset";
    case 18:
      plane->pixel_stride = 0;
      return "no pixel stride";
    case 19:
      plane->pixel_stride = -1;
      return "a negative pixel stride";
    case 20:
      plane->channel_stride = -1;
      return "a negative channel stride";
    case 21:
      plane->width += 2; /* more than the rest of the last pixel */
      return "a plane wider than its rows";
    case 22:
      memory->row_bytes = 0;
      return "empty rows";
    case 23:
      plane->offset += 2 * plane->pixel_stride;
      return "a plane that starts too late";
    case 24:
      memory->height = INT_MAX;
      return "too many rows";
    case 25:
      memory->row_bytes = (size_t) IMAGE_MAX_ROW_BYTES + 1;
      return "rows that are too long";
    case 26:
      plane->depth = plane->shift = INT_MAX;
      return "bits whose sum is beyond an int";
    default:
      return NULL;
  }
}

static void
check_validate (Check *check, const void *data)
{
  (void) data;
  check->cases++;
  for (int k = 0; k < layout_n_kinds (); k++) {
    const char *what;
    Image image;
    Fault fault;

    layout_make (layout_kind (k), 7, 5, &image);
    EXPECT (check, image_validate (&image, &fault), "%s: %s",
        layout_kind (k)->name, fault.message);
    layout_make (layout_kind (k), 1, 1, &image);
    EXPECT (check, image_validate (&image, NULL), "%s of 1x1",
        layout_kind (k)->name);
    for (int how = 0;; how++) {
      layout_make (layout_kind (k), 7, 5, &image);
      what = break_image (&image, how);
      if (what == NULL)
        break;
      fault_clear (&fault);
      EXPECT_FAULT (check, !image_validate (&image, &fault), &fault,
          FAULT_SETTINGS, what);
    }
  }
}

/* A row must hold the last byte of the last sample; more is not required. */
static void
check_row_bytes (Check *check, const void *data)
{
  (void) data;
  check->cases++;
  for (int k = 0; k < layout_n_kinds (); k++)
    for (int m = 0; m < layout_kind (k)->n_memories; m++) {
      size_t end = 0;
      Image image;
      Fault fault;

      layout_make (layout_kind (k), 9, 3, &image);
      for (int p = 0; p < image.n_planes; p++) {
        const ImagePlane *plane = &image.plane[p];
        const size_t here =
            (size_t) (plane->offset + (plane->width - 1) * plane->pixel_stride
                + (plane->channels - 1) * plane->channel_stride
                + (plane->depth + plane->shift <= 8 ? 1 : 2));

        if (plane->memory == m && end < here)
          end = here;
      }
      image.memory[m].row_bytes = end;
      EXPECT (check, image_validate (&image, &fault), "%s, exact rows: %s",
          layout_kind (k)->name, fault.message);
      image.memory[m].row_bytes = end - 1;
      EXPECT (check, !image_validate (&image, &fault),
          "%s: rows one byte short were accepted", layout_kind (k)->name);
    }
}

static void
check_same_layout (Check *check, const void *data)
{
  (void) data;
  check->cases++;
  for (int k = 0; k < layout_n_kinds (); k++) {
    Image a, b;

    layout_make (layout_kind (k), 8, 6, &a);
    b = a;
    for (int m = 0; m < b.n_memories; m++) {
      b.memory[m].stride = 1234 + m;
      b.memory[m].data = (uint8_t *) &b;
    }
    EXPECT (check, image_same_layout (&a, &b),
        "addresses and strides make layouts differ");
    b.memory[b.n_memories - 1].height++;
    EXPECT (check, !image_same_layout (&a, &b), "heights do not matter");
    b = a;
    b.memory[b.n_memories - 1].row_bytes++;
    EXPECT (check, !image_same_layout (&a, &b), "row bytes do not matter");
    b = a;
    b.plane[b.n_planes - 1].width--;
    EXPECT (check, !image_same_layout (&a, &b), "widths do not matter");
    b = a;
    b.plane[b.n_planes - 1].depth--;
    EXPECT (check, !image_same_layout (&a, &b), "depths do not matter");
    b = a;
    b.n_planes--;
    EXPECT (check, !image_same_layout (&a, &b),
        "the number of planes does not matter");
  }
}

static void
check_suits_gpu (Check *check, const void *data)
{
  Fault fault;

  (void) data;
  check->cases++;
  for (int k = 0; k < layout_n_kinds (); k++) {
    Image even;

    layout_make (layout_kind (k), 8, 6, &even);
    for (int m = 0; m < even.n_memories; m++) {
      even.memory[m].data = (uint8_t *) 1024;
      even.memory[m].stride = 64;
    }
    EXPECT (check, image_suits_gpu (&even, &fault),
        "%s: even addresses were refused", layout_kind (k)->name);
    for (int p = 0; p < even.n_planes; p++) {
      const bool bytes = image_sample_bytes (&even.plane[p]) == 1;
      Image odd = even;

      odd.memory[odd.plane[p].memory].data++;
      EXPECT (check, image_plane_suits_gpu (&odd, p, &fault) == bytes,
          "%s: an odd address of plane %d", layout_kind (k)->name, p);
      odd = even;
      odd.memory[odd.plane[p].memory].stride++;
      EXPECT (check, image_plane_suits_gpu (&odd, p, &fault) == bytes,
          "%s: an odd stride of plane %d", layout_kind (k)->name, p);
      EXPECT (check, bytes || !image_suits_gpu (&odd, &fault),
          "%s: plane %d was not looked at", layout_kind (k)->name, p);
    }
  }
}

static void
pack_case (Check *check, Random *random, int index, const void *data)
{
  const size_t alignment = (size_t) 1 << random_int (random, 0, 9);
  const LayoutKind *kind = layout_kind (index % layout_n_kinds ());
  size_t bytes, end = 0;
  Image layout, packed;
  uint8_t *base;

  (void) data;
  layout_make (
      kind, random_int (random, 1, 99), random_int (random, 1, 99), &layout);
  check_describe (check, "%s alignment %zu", kind->name, alignment);
  bytes = image_pack (&layout, alignment, NULL, &packed);
  for (int m = 0; m < layout.n_memories; m++)
    EXPECT (check, packed.memory[m].data == NULL,
        "memory %d has an address without a block", m);
  base = kerncheck_alloc (bytes + alignment);
  EXPECT (check, image_pack (&layout, alignment, base, &packed) == bytes,
      "the block's size depends on its address");
  EXPECT (check, image_same_layout (&layout, &packed), "the layout changed");
  for (int m = 0; m < layout.n_memories; m++) {
    const ImageMemory *memory = &packed.memory[m];

    EXPECT (check,
        memory->stride >= (ptrdiff_t) memory->row_bytes
            && memory->stride < (ptrdiff_t) (memory->row_bytes + alignment)
            && (size_t) memory->stride % alignment == 0,
        "memory %d: rows of %zu bytes have stride %td", m, memory->row_bytes,
        memory->stride);
    EXPECT (check,
        memory->data == base + end
            && (size_t) (memory->data - base) % alignment == 0,
        "memory %d is not where the one before it ends", m);
    end += (size_t) memory->stride * (size_t) memory->height;
  }
  EXPECT (check, end == bytes, "%zu bytes of %zu are used", end, bytes);
  free (base);
}

static void
check_pack (Check *check, const void *data)
{
  check_cases (check, 10 * layout_n_kinds (), pack_case, data);
}

static void
field_case (Check *check, Random *random, int index, const void *data)
{
  const LayoutKind *kind = layout_kind (index % layout_n_kinds ());
  const int height =
      index % 3 == 0 ? random_int (random, 1, 3) : random_int (random, 1, 60);
  bool second = false;
  Picture picture;
  Image layout, field;

  (void) data;
  check_describe (check, "%s of %d rows", kind->name, height);
  layout_make (kind, random_int (random, 1, 20), height, &layout);
  picture_new (&picture, &layout, true, random);
  for (int m = 0; m < layout.n_memories; m++)
    second = second || layout.memory[m].height > 1;

  EXPECT (check, image_field (&picture.image, 0, &field), "no field 0");
  for (int parity = 0; parity < 2; parity++) {
    const bool there = image_field (&picture.image, parity, &field);

    EXPECT (check, there == (parity == 0 || second), "field %d is%s there",
        parity, there ? "" : " not");
    for (int p = 0; p < layout.n_planes && there; p++) {
      int rows = 0;

      for (int y = parity; y < image_plane_height (&layout, p); y += 2, rows++)
        EXPECT (check,
            rows < image_plane_height (&field, p)
                && picture_sample (&field, p, 0, 0, rows)
                    == picture_sample (&picture.image, p, 0, 0, y),
            "plane %d: row %d of field %d is not row %d", p, rows, parity, y);
      EXPECT (check, rows == image_plane_height (&field, p),
          "plane %d: field %d has %d rows instead of %d", p, parity,
          image_plane_height (&field, p), rows);
    }
  }
  /* A layout has no addresses, and functions add none. */
  EXPECT (check,
      image_field (&layout, 0, &field) && field.memory[0].data == NULL,
      "the field of a layout has an address");
  EXPECT (check,
      image_field (&layout, 1, &field) == second
          && (!second || field.memory[0].data == NULL),
      "field 1 of a layout has an address");
  picture_clear (&picture);
}

static void
check_field (Check *check, const void *data)
{
  check_cases (check, 10 * layout_n_kinds (), field_case, data);
}

static void
copy_case (Check *check, Random *random, int index, const void *data)
{
  const LayoutKind *kind = layout_kind (index % layout_n_kinds ());
  Picture from, to;
  Image layout;
  Verdict verdict;
  uint8_t *before;

  (void) data;
  check_describe (check, "%s", kind->name);
  layout_make (
      kind, random_int (random, 1, 60), random_int (random, 1, 60), &layout);
  picture_new (&from, &layout, true, random);
  picture_new (&to, &layout, true, random);
  before = picture_block_copy (&to);
  image_copy (&to.image, &from.image);
  for (int m = 0; m < layout.n_memories; m++)
    for (int y = 0; y < layout.memory[m].height; y++)
      EXPECT (check,
          memcmp (to.image.memory[m].data + y * to.image.memory[m].stride,
              from.image.memory[m].data + y * from.image.memory[m].stride,
              layout.memory[m].row_bytes)
              == 0,
          "row %d of memory %d differs", y, m);
  verdict_outside_rows (&verdict, &to, before);
  EXPECT (check, verdict.ok, "%s", verdict.text);
  free (before);
  picture_clear (&from);
  picture_clear (&to);
}

static void
check_copy (Check *check, const void *data)
{
  check_cases (check, 5 * layout_n_kinds (), copy_case, data);
}

static void
check_bytes (Check *check, const void *data)
{
  Image layout;

  (void) data;
  check->cases++;
  layout_make (layout_kind_by_name ("planar3"), 5, 3, &layout);
  EXPECT (check, image_bytes (&layout) == 5 * 3 + 2 * 3 * 2,
      "5x3 in planar3 takes %zu bytes", image_bytes (&layout));
  layout_make (layout_kind_by_name ("p010"), 5, 3, &layout);
  layout.memory[0].stride = -64;
  EXPECT (check, image_bytes (&layout) == 2 * 5 * 3 + 4 * 3 * 2,
      "5x3 in p010 takes %zu bytes", image_bytes (&layout));
}

static void
apart_case (Check *check, Random *random, int index, const void *data)
{
  const LayoutKind *kind = layout_kind (index % layout_n_kinds ());
  Picture picture;
  Image layout, image;
  int m;

  (void) data;
  layout_make (
      kind, random_int (random, 1, 30), random_int (random, 2, 20), &layout);
  check_describe (check, "layout %s", kind->name);
  picture_new (&picture, &layout, true, random);
  EXPECT (check, image_is_apart (&picture.image), "rows share bytes");
  image = picture.image;
  m = random_int (random, 0, image.n_memories - 1);
  if (image.memory[m].height > 1) {
    image.memory[m].stride =
        random_int (random, 1 - (int) image.memory[m].row_bytes,
            (int) image.memory[m].row_bytes - 1);
    EXPECT (check, !image_is_apart (&image),
        "rows %d bytes apart do not overlap", (int) image.memory[m].stride);
  }
  image = picture.image;
  if (image.n_memories > 1) {
    /* One memory's first byte is the other's last. */
    const ImageMemory *other = &image.memory[0];
    const ptrdiff_t down = (other->height - 1) * other->stride;

    m = random_int (random, 1, image.n_memories - 1);
    image.memory[m].stride = (ptrdiff_t) image.memory[m].row_bytes;
    image.memory[m].data =
        other->data + (down > 0 ? down : 0) + other->row_bytes - 1;
    EXPECT (check, !image_is_apart (&image), "memories do not overlap");
  }
  picture_clear (&picture);
}

static void
check_apart (Check *check, const void *data)
{
  check_cases (check, 5 * layout_n_kinds (), apart_case, data);
}

static void
boxes_case (Check *check, Random *random, int index, const void *data)
{
  ImageBox box[3];
  Picture from, to;
  uint8_t *before;
  Image layout;
  size_t bytes = 0;

  (void) data;
  layout_make (layout_kind (index % layout_n_kinds ()),
      random_int (random, 1, 30), random_int (random, 1, 20), &layout);
  picture_new (&from, &layout, true, random);
  picture_new (&to, &layout, true, random);
  before = picture_block_copy (&to);
  for (int i = 0; i < 3; i++) {
    const int m = random_int (random, 0, layout.n_memories - 1);
    const ImageMemory *memory = &layout.memory[m];

    box[i].memory = m;
    box[i].left = random_int (random, 0, (int) memory->row_bytes);
    box[i].right = random_int (random, 0, (int) memory->row_bytes);
    box[i].top = random_int (random, 0, memory->height);
    box[i].bottom = random_int (random, 0, memory->height);
    if (box[i].right > box[i].left && box[i].bottom > box[i].top)
      bytes += (size_t) ((box[i].right - box[i].left)
          * (box[i].bottom - box[i].top));
  }
  EXPECT (check, image_box_bytes (box, 3) == bytes, "%zu bytes instead of %zu",
      image_box_bytes (box, 3), bytes);
  image_copy_boxes (&to.image, &from.image, box, 3);
  for (int m = 0; m < layout.n_memories; m++)
    for (int y = 0; y < layout.memory[m].height; y++)
      for (int i = 0; i < (int) layout.memory[m].row_bytes; i++) {
        const uint8_t *at =
            to.image.memory[m].data + y * to.image.memory[m].stride + i;
        bool in = false;

        for (int b = 0; b < 3; b++)
          in = in
              || (box[b].memory == m && i >= box[b].left && i < box[b].right
                  && y >= box[b].top && y < box[b].bottom);
        EXPECT (check,
            *at
                == (in ? from.image.memory[m]
                             .data[y * from.image.memory[m].stride + i]
                       : before[at - to.block]),
            "byte %d of row %d of memory %d, %s a box", i, y, m,
            in ? "in" : "outside of");
      }
  free (before);
  picture_clear (&from);
  picture_clear (&to);
}

static void
check_boxes (Check *check, const void *data)
{
  check_cases (check, 5 * layout_n_kinds (), boxes_case, data);
}

void
check_image_add (void)
{
  kerncheck_add (check_validate, NULL, NULL, "image/validate");
  kerncheck_add (check_row_bytes, NULL, NULL, "image/row-bytes");
  kerncheck_add (check_same_layout, NULL, NULL, "image/same-layout");
  kerncheck_add (check_suits_gpu, NULL, NULL, "image/suits-gpu");
  kerncheck_add (check_pack, NULL, NULL, "image/pack");
  kerncheck_add (check_field, NULL, NULL, "image/field");
  kerncheck_add (check_copy, NULL, NULL, "image/copy");
  kerncheck_add (check_bytes, NULL, NULL, "image/bytes");
  kerncheck_add (check_apart, NULL, NULL, "image/apart");
  kerncheck_add (check_boxes, NULL, NULL, "image/boxes");
}
