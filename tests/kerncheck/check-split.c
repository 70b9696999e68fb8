/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The methods that split frames, with frames that can be copied by words: rows begin at multiples
 * of 16 bytes, as in most pools, but in few pictures of the other checks. */
#include "kerncheck.h"

#include "cases.h"
#include "kerncheck-device.h"

#include <string.h>

#define ROW_BYTES 16

/* Taps that the inner method supports. */
static void
make_kernel (Case *c, const SepconvMethod *method, int index, Random *random)
{
  if (strcmp (method->name, "terms-split") == 0) {
    case_make_usual (c, index, random);
    return;
  }
  c->spec.scale = 1.0;
  c->spec.bias = 0.0;
  c->shape = "usual";
  for (int p = 0; p < c->layout.n_planes; p++) {
    Taps *x = &c->x[p], *y = &c->y[p];

    if (strcmp (method->name, "multirate-split") == 0) {
      taps_gaussian (x, 8.5, 36);
      taps_gaussian (y, 9.0, 38);
    } else if (strcmp (method->name, "box-running-split") == 0) {
      taps_box (x, 23, 11);
      taps_box (y, 37, 18);
    } else {
      taps_gaussian (x, 1.7, 5);
      taps_gaussian (y, 2.1, 6);
    }
  }
}

static void
words_case (Check *check, Random *random, int index, const void *data)
{
  static const char *const kinds[] = { "yuy2", "uyvy", "y210", "rgb24", "v308",
    "y212" };
  const MethodSubject *subject = data;
  Case *c = case_new ();
  Picture src, dst;

  /* More units than a block has, and rows that end anywhere in a thread's units. */
  case_set_layout (c, layout_kind_by_name (kinds[index % 6]),
      random_int (random, 1, index % 12 < 6 ? 40 : 1500),
      random_int (random, 1, 20));
  case_make_spec (c, (SepconvBorder) (index / 6 % N_BORDERS),
      &(Effort){ 1500, 20, 1e6 }, random);
  c->layout.memory[0].row_bytes =
      (c->layout.memory[0].row_bytes + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
  make_kernel (c, subject->method, index / 2, random);
  for (int p = 0; p < c->layout.n_planes; p++)
    case_round_border (c, p);
  case_describe (check, c);
  picture_new_packed (&src, &c->layout, random);
  picture_new_packed (&dst, &c->layout, random);
  device_paint_extremes (&src, c, random);
  device_expect_filtered (check, subject, c, &src, &dst);
  picture_clear (&src);
  picture_clear (&dst);
  case_free (c);
}

static void
check_words (Check *check, const void *data)
{
  device_check_method (check, data, check->quick ? 60 : 240, words_case);
}

void
check_split_add (void)
{
  for (int i = 0; i < sepconv_n_methods (); i++) {
    const SepconvMethod *method = sepconv_method (i);

    if (strstr (method->name, "-split") != NULL)
      kerncheck_add (
          check_words, method, method, "sepconv/%s/words", method->name);
  }
}
