/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* light-tensor: the host side: chooses the plans that it suits, makes tables and fragments, and
 * launches. */
#include "light-march.cuh"

#include "../gpu-check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Largest error of a result before rounding, in codes: after rounding, at most 1. */
#define ALLOWED 0.45

struct LightTensorVariant
{
  void (*kernel) (LightTensorFrame);
  int steps;
  LightForm form;
  int shared; /* bytes of a block */
  int pixels; /* of a block */
};

template <int KS, LightForm FORM>
static constexpr LightTensorVariant
variant ()
{
  typedef LightShape<KS, FORM> S;

  static_assert (S::SHARED <= 99 * 1024, "all GPUs of the capability have it");
  return { light_tensor_strips<KS, FORM>, KS, FORM, S::SHARED, S::PIXELS };
}

static const LightTensorVariant variants[] = {
  variant<2, LIGHT_SINGLES> (),
  variant<3, LIGHT_SINGLES> (),
  variant<2, LIGHT_PIXELS> (),
  variant<3, LIGHT_PIXELS> (),
  variant<2, LIGHT_WEIGHTED> (),
  variant<3, LIGHT_WEIGHTED> (),
  variant<2, LIGHT_YUV> (),
  variant<3, LIGHT_YUV> (),
  variant<2, LIGHT_CHROMA> (),
  variant<3, LIGHT_CHROMA> (),
  variant<2, LIGHT_CHROMA_2> (),
  variant<3, LIGHT_CHROMA_2> (),
};

#define N_VARIANTS ((int) (sizeof variants / sizeof variants[0]))

/* The first code of light of the encoding table's entry with this number, which counts from
 * LIGHT_ENCODE_FIRST; it may be above the largest code. */
static int
first_code (uint32_t entry)
{
  const uint32_t bits = entry << LIGHT_ENCODE_SHIFT;
  float above;

  memcpy (&above, &bits, sizeof above);
  return (int) floorf (above - LIGHT_ENCODE_ABOVE + 0.5f);
}

/* The lower 16 bits of the float halfway between code - 1 and `code` of light, where the
 * entry's code changes. */
static uint32_t
place_in_entry (int code)
{
  const float above = (float) code - 0.5f + LIGHT_ENCODE_ABOVE;
  uint32_t bits;

  memcpy (&bits, &above, sizeof bits);
  return bits & 0xffff;
}

/* Makes the table of codes; returns false if the code changes more than once in an entry. */
static bool
fill_encode (const uint16_t *encoded, uint32_t *encode)
{
  for (int i = 0; i < LIGHT_ENCODE_ENTRIES; i++) {
    const int first =
        min (first_code (LIGHT_ENCODE_FIRST + i), LIGHT_CODES - 1);
    const int last =
        min (first_code (LIGHT_ENCODE_FIRST + i + 1), LIGHT_CODES - 1);
    uint32_t place = 0, before = encoded[first], after = before;
    int changes = 0;

    for (int q = first + 1; q <= last; q++)
      if (encoded[q] != encoded[q - 1]) {
        place = place_in_entry (q);
        after = encoded[q];
        changes++;
      }
    if (changes > 1)
      return false;
    encode[i] = place << 16 | after << 8 | before;
  }
  return true;
}

/* The codes of light of entry i: [first, last). */
static ImageRows
codes_of_entry (int i)
{
  return ImageRows{ min (first_code (LIGHT_ENCODE_FIRST + i), LIGHT_CODES),
    min (first_code (LIGHT_ENCODE_FIRST + i + 1), LIGHT_CODES) };
}

/* Makes the table of straight lines, each with the least error for its slope; returns false if
 * a g is off its line by more than `allowed`. */
static bool
fill_lines (const uint16_t *g, double allowed, LightLine *line)
{
  for (int i = 0; i < LIGHT_ENCODE_ENTRIES; i++) {
    const ImageRows codes = codes_of_entry (i);
    const int n = codes.last - codes.first;
    double slope = 0.0, least = 0.0, most = 0.0, at_first;

    /* All codes of the entry are above the largest. */
    if (n == 0)
      continue;
    if (n > 1)
      slope = (double) (g[codes.last - 1] - g[codes.first]) / (n - 1);
    for (int k = 0; k < n; k++) {
      const double off = g[codes.first + k] - g[codes.first] - slope * k;

      least = fmin (least, off);
      most = fmax (most, off);
    }
    if (most - least > 2.0 * allowed)
      return false;
    at_first = g[codes.first] + 0.5 * (least + most);
    line[i].slope = (float) slope;
    line[i].at_zero =
        (float) (at_first - slope * (codes.first + LIGHT_ENCODE_ABOVE));
  }
  return true;
}

/* Whether a YUV plan suits light-tensor: the table of light fits, and its planes of bytes are
 * one of four channels, or two or three of Y, Cb and Cr only. Sets the form. */
static bool
find_yuv_form (const LightPlan *plan, LightForm *form)
{
  const Image *layout = &plan->layout;
  const LightNumbers *numbers = &plan->numbers;

  if (plan->decode == NULL || plan->spec.decode_bits > LIGHT_YUV_DECODE_BITS
      || numbers->has_alpha || numbers->sub_x > 2
      || numbers->sub_y > numbers->sub_x)
    return false;
  if (layout->n_planes == 1) {
    *form = LIGHT_YUV;
    return layout->plane[0].channels == 4;
  }
  *form = numbers->sub_x == 2 ? LIGHT_CHROMA_2 : LIGHT_CHROMA;
  return plan->n_copies == 0 && plan->color[0].pixel_stride == 1;
}

/* Whether the plan's planes are packed bytes of a form that light-tensor has; sets the form. */
static bool
find_form (const LightPlan *plan, LightForm *form)
{
  const Image *layout = &plan->layout;
  const LightNumbers *numbers = &plan->numbers;

  for (int p = 0; p < layout->n_planes; p++)
    if (!image_is_packed (&layout->plane[p]) || layout->plane[p].depth != 8
        || image_sample_bytes (&layout->plane[p]) != 1
        || (!numbers->yuv
            && layout->plane[p].channels != layout->plane[0].channels))
      return false;
  if (numbers->yuv)
    return find_yuv_form (plan, form);
  *form = numbers->premultiply ? LIGHT_WEIGHTED : LIGHT_PIXELS;
  if (layout->plane[0].channels == 4)
    return layout->n_planes == 1 && numbers->n_colors == 3
        && (numbers->premultiply || !numbers->has_alpha);
  *form = LIGHT_SINGLES;
  return layout->plane[0].channels == 1 && !numbers->has_alpha;
}

/* The steps of the axis with more taps, at least 2; 0 if they are too many. */
static int
steps_of_filter (const SepconvPlan *filter)
{
  const SepconvPlaneTaps *taps = &filter->taps[0];
  const int steps = max (tensor_steps_of_taps (max (taps->x.n, taps->y.n)), 2);

  return steps <= LIGHT_MAX_STEPS ? steps : 0;
}

/* The error bound of a result, in codes. */
static double
error_bound (const SepconvPlan *filter, int steps)
{
  return LIGHT_UNIT
      * tensor_split_error_bound (&filter->taps[0].x, &filter->taps[0].y,
          (double) LIGHT_CENTER / LIGHT_UNIT,
          filter->channel[0].offset / LIGHT_UNIT, steps);
}

static const LightTensorVariant *
choose_variant (const LightPlan *plan, const LightTensor *tensor)
{
  const SepconvPlan *filter = plan->filter;
  LightForm form;
  int steps;

  if (gpu_capability (plan->gpu) < INSTRUCTIONS_CAPABILITY || !tensor->encodes
      || filter->combine != SEPCONV_SUM || filter->n_terms[0] != 1
      || !find_form (plan, &form))
    return NULL;
  steps = steps_of_filter (filter);
  for (int i = 0; i < N_VARIANTS; i++)
    if (variants[i].steps == steps && variants[i].form == form
        && error_bound (filter, steps) < ALLOWED)
      return &variants[i];
  return NULL;
}

bool
light_tensor_suits (const LightPlan *plan, LightTensor *tensor)
{
  if (tensor->chosen != plan->filter->revision) {
    tensor->variant = choose_variant (plan, tensor);
    tensor->chosen = plan->filter->revision;
  }
  return tensor->variant != NULL;
}

/* The constants in device memory: fragments, then the decoding and the encoding table. */
#define FRAGMENTS_BYTES (LIGHT_MAX_FRAGMENTS * sizeof (uint4))
#define DECODE_BYTES (LIGHT_YUV_DECODE_ENTRIES * sizeof (uint32_t))
#define ENCODE_BYTES (LIGHT_ENCODE_ENTRIES * sizeof (LightLine))
#define CONSTANTS_BYTES (FRAGMENTS_BYTES + DECODE_BYTES + ENCODE_BYTES)

static void
write_fragments (const LightPlan *plan, int steps, uint4 *to)
{
  const SepconvPlaneTaps *taps = &plan->filter->taps[0];
  const int reach = TENSOR_STEP / 2 * (steps - 1);
  int own[TENSOR_STEP], side_by_side[TENSOR_STEP];

  for (int i = 0; i < TENSOR_STEP; i++) {
    own[i] = i;
    side_by_side[i] = tensor_pixel_of (i, 1, 1);
  }
  tensor_write_fragments (&taps->x, taps->x.n / 2 - reach, steps, LIGHT_PARTS,
      side_by_side, own, to);
  tensor_write_fragments (&taps->y, taps->y.n / 2 - reach, steps, LIGHT_PARTS,
      own, own, to + steps * LIGHT_PARTS * TENSOR_LANES);
}

static uint32_t
split_code (int code)
{
  const double value = (code - LIGHT_CENTER) / (double) LIGHT_UNIT;
  const double high = (double) __half2float (__double2half (value));

  return tensor_half_bits (high) | tensor_half_bits (value - high) << 16;
}

static bool
upload (
    const LightPlan *plan, LightTensor *tensor, GpuStream stream, Fault *fault)
{
  const LightTensorVariant *variant = tensor->variant;
  const bool yuv = plan->numbers.yuv;
  uint8_t *stage, *encode;
  uint32_t *decode;

  if (tensor->revision == plan->filter->revision)
    return true;
  if (!strip_occupancy (&tensor->occupancy, (const void *) variant->kernel,
          variant->shared, fault))
    return false;
  stage = (uint8_t *) staging_begin (&tensor->constants, fault);
  if (stage == NULL)
    return false;
  write_fragments (plan, variant->steps, (uint4 *) stage);
  decode = (uint32_t *) (stage + FRAGMENTS_BYTES);
  for (int i = 0; i < plan->tables.n_linear; i++)
    decode[i] = plan->numbers.premultiply ? plan->tables.linear[i]
                                          : split_code (plan->tables.linear[i]);
  encode = stage + FRAGMENTS_BYTES + DECODE_BYTES;
  if (yuv)
    memcpy (encode, tensor->line, sizeof tensor->line);
  else
    memcpy (encode, tensor->encode, sizeof tensor->encode);
  if (!staging_send (&tensor->constants, CONSTANTS_BYTES, stream, fault))
    return false;
  tensor->revision = plan->filter->revision;
  return true;
}

/* Describes plane p of both images. */
static void
describe_plane (const LightPlan *plan, const LightTensorVariant *variant,
    const Image *src, const Image *dst, int p, LightTensorPlane *plane)
{
  const ImagePlane *layout = &plan->layout.plane[p];
  const ImageMemory *from = &src->memory[layout->memory];
  const ImageMemory *to = &dst->memory[layout->memory];
  StripPlane *strip = &plane->strip;

  *plane = LightTensorPlane ();
  strip->src = from->data + layout->offset;
  strip->dst = to->data + layout->offset;
  strip->src_stride = from->stride;
  strip->dst_stride = to->stride;
  strip->src_aligned = image_is_aligned (strip->src, from->stride, 16);
  strip->dst_aligned = image_is_aligned (strip->dst, to->stride, 16);
  strip->width = layout->width;
  strip->height = from->height;
  strip->row_bytes = layout->width * layout->pixel_stride;
  strip->result = ImageRows{ 0, from->height };
  strip->channels = layout->channels;
  strip->sample_bytes = 1;
  strip->margin = plan->filter->taps[0].x.n / 2;
  strip->columns = (layout->width + variant->pixels - 1) / variant->pixels;
  /* Alpha in its own plane is copied. */
  strip->filter = variant->form != LIGHT_SINGLES
      || (plan->spec.role[p][0] != LIGHT_COPY
          && plan->spec.role[p][0] != LIGHT_ALPHA);
}

/* Sets the borders of the plane's colours, and alpha's after them. */
static void
describe_border (const LightPlan *plan, int p, LightTensorPlane *plane)
{
  const SepconvPlan *filter = plan->filter;
  const LightRole role = plan->spec.role[p][0];
  const int first = plan->layout.plane[p].channels == 1 && role >= LIGHT_RED
          && role <= LIGHT_BLUE
      ? role - LIGHT_RED
      : 0;

  for (int i = first; i < filter->layout.n_planes; i++)
    plane->border[i - first] =
        (uint16_t) (filter->channel[i].border + filter->channel[i].center);
}

/* Sets the selectors for a pixel of four channels: its colours, and the other channel. */
static void
describe_order (const LightPlan *plan, LightTensorFrame *frame)
{
  int at[4], last = 6; /* 0 + 1 + 2 + 3 */

  for (int c = 0; c < 3; c++) {
    at[c] = plan->color[c].byte_offset - plan->layout.plane[0].offset;
    last -= at[c];
  }
  at[3] = last;
  for (int c = 0; c < 4; c++) {
    frame->in[c] = 0x4440u | (uint32_t) at[c];
    frame->out |= (uint32_t) (c / 2 * 4 + c % 2) << 4 * at[c];
  }
}

/* The weights of g for each of the `pixels` pixels of a chroma sample. */
static LightWeights
share_weights (const LightPlan *plan, LightWeights weights, int pixels)
{
  const float share =
      plan->numbers.neutral_chroma ? 0.0f : 1.0f / (float) pixels;

  return LightWeights{ weights.r * share, weights.g * share, weights.b * share,
    (float) plan->numbers.neutral };
}

/* Fills in the matrix. Its constants include black, neutral and a half, so that the kernel sums
 * raw codes, and the shift after the sum rounds. */
static void
describe_matrix (const LightPlan *plan, LightMatrix *matrix)
{
  const LightNumbers *numbers = &plan->numbers;
  const int64_t start =
      ((int64_t) 1 << (numbers->fraction - 1)) - numbers->y * numbers->black;
  const int64_t neutral = numbers->neutral;

  matrix->y = (int) numbers->y;
  matrix->red_cr = (int) numbers->red_cr;
  matrix->green_cb = (int) numbers->green_cb;
  matrix->green_cr = (int) numbers->green_cr;
  matrix->blue_cb = (int) numbers->blue_cb;
  matrix->red = (int) (start - numbers->red_cr * neutral);
  matrix->green =
      (int) (start - (numbers->green_cb + numbers->green_cr) * neutral);
  matrix->blue = (int) (start - numbers->blue_cb * neutral);
  matrix->fraction = numbers->fraction;
  matrix->last = numbers->last;
  matrix->to_y = numbers->luma;
  matrix->to_cb =
      share_weights (plan, numbers->cb, numbers->sub_x * numbers->sub_y);
  matrix->to_cr =
      share_weights (plan, numbers->cr, numbers->sub_x * numbers->sub_y);
}

/* Sets the selectors and distances of Cb and Cr, which are in two planes or alternate in one. */
static void
describe_samples (const LightPlan *plan, int pixels, LightChroma *chroma)
{
  const LightChannel *cb = &plan->color[1], *cr = &plan->color[2];
  const bool halved = plan->numbers.sub_x == 2;

  if (chroma->together) {
    const bool cr_first = cr->byte_offset < cb->byte_offset;
    const uint32_t even = halved ? 0x40 : 0x6420, odd = halved ? 0x51 : 0x7531;

    chroma->cb = cr_first ? odd : even;
    chroma->cr = cr_first ? even : odd;
    chroma->cb_first = cr_first ? 1 : 0;
    chroma->cr_first = cr_first ? 0 : 1;
    chroma->step = 2;
  } else {
    chroma->cb = halved ? 0x10 : 0x3210;
    chroma->cr = halved ? 0x54 : 0x7654;
    chroma->cr_first = pixels / plan->numbers.sub_x;
    chroma->step = 1;
  }
}

static void
describe_chroma (const LightPlan *plan, const LightTensorVariant *variant,
    const Image *src, const Image *dst, LightChroma *chroma)
{
  const LightChannel *cb = &plan->color[1], *cr = &plan->color[2];
  /* A plane of both begins with the channel that comes first. */
  const LightChannel *const first[2] = {
    cb->pixel_stride == 2 && cr->byte_offset < cb->byte_offset ? cr : cb, cr
  };

  chroma->together = cb->pixel_stride == 2;
  chroma->src_aligned = chroma->dst_aligned = true;
  for (int i = 0; i < (chroma->together ? 1 : 2); i++) {
    const ImageMemory *from = &src->memory[first[i]->memory];
    const ImageMemory *to = &dst->memory[first[i]->memory];

    chroma->src[i] = from->data + first[i]->byte_offset;
    chroma->dst[i] = to->data + first[i]->byte_offset;
    chroma->src_stride[i] = from->stride;
    chroma->dst_stride[i] = to->stride;
    chroma->src_aligned = chroma->src_aligned
        && image_is_aligned (chroma->src[i], from->stride, 16);
    chroma->dst_aligned = chroma->dst_aligned
        && image_is_aligned (chroma->dst[i], to->stride, 16);
  }
  chroma->rows = light_channel_height (cb, src);
  chroma->row_bytes = cb->width * cb->pixel_stride;
  chroma->sub_y = plan->numbers.sub_y;
  describe_samples (plan, variant->pixels, chroma);
}

bool
light_tensor_run (const LightPlan *plan, LightTensor *tensor, const Image *src,
    const Image *dst, GpuStream stream, GpuOrder order, Fault *fault)
{
  const LightTensorVariant *variant;
  LightTensorFrame frame = LightTensorFrame ();
  StripPlane *planes[IMAGE_MAX_PLANES];
  StripLoad load = StripLoad ();
  bool ok = false, in_planes;
  int blocks;

  if (!upload (plan, tensor, stream, fault))
    return false;
  variant = tensor->variant;
  in_planes = variant->form == LIGHT_CHROMA || variant->form == LIGHT_CHROMA_2;
  frame.border = plan->filter->border;
  frame.order = gpu_possible_order (plan->gpu, order);
  frame.fragments = (const uint4 *) tensor->constants.device;
  frame.decode = (const uint32_t *) (frame.fragments + LIGHT_MAX_FRAGMENTS);
  frame.encode = frame.decode + LIGHT_YUV_DECODE_ENTRIES;
  frame.offset = (float) (plan->filter->channel[0].offset + LIGHT_ENCODE_ABOVE);
  frame.write_alpha = plan->numbers.write_alpha;
  if (plan->numbers.yuv)
    describe_matrix (plan, &frame.matrix);
  if (in_planes)
    describe_chroma (plan, variant, src, dst, &frame.chroma);
  else if (variant->form != LIGHT_SINGLES)
    describe_order (plan, &frame);
  for (int p = 0; p < plan->layout.n_planes; p++) {
    LightTensorPlane *plane = &frame.plane[frame.n_planes];

    if (src->memory[plan->layout.plane[p].memory].height == 0
        || (in_planes && plan->spec.role[p][0] != LIGHT_Y))
      continue;
    describe_plane (plan, variant, src, dst, p, plane);
    describe_border (plan, p, plane);
    planes[frame.n_planes++] = &plane->strip;
  }
  load.order = frame.order;
  load.above = (variant->steps - 1) * STRIP_ROWS;
  load.at_once = tensor->occupancy.blocks;
  load.multiprocessors = gpu_multiprocessors (plan->gpu);
  frame.early = load.at_once * load.multiprocessors;
  blocks = strip_lay_out (planes, frame.n_planes, &load, &tensor->heights);
  if (blocks > 0)
    GPU_CHECK (gpu_launch_early (plan->gpu, variant->kernel, blocks,
                   STRIP_THREADS, (size_t) variant->shared, stream, frame),
        fault);
  ok = true;
done:
  return ok;
}

bool
light_tensor_prepare (const LightPlan *plan, LightTensor *tensor, Fault *fault)
{
  LightForm form;
  bool ok = false;

  if (gpu_capability (plan->gpu) < INSTRUCTIONS_CAPABILITY
      || !find_form (plan, &form))
    return true;
  tensor->encodes = plan->numbers.yuv
      ? fill_lines (plan->tables.encoded,
          LIGHT_LINE_ERROR * (LIGHT_CODES - 1)
              / max (plan->spec.range, plan->spec.chroma_range),
          tensor->line)
      : fill_encode (plan->tables.encoded, tensor->encode);
  if (!tensor->encodes)
    return true;
  for (int i = 0; i < N_VARIANTS; i++)
    GPU_CHECK (
        cudaFuncSetAttribute ((const void *) variants[i].kernel,
            cudaFuncAttributeMaxDynamicSharedMemorySize, variants[i].shared),
        fault);
  ok = staging_init (&tensor->constants, CONSTANTS_BYTES, fault);
done:
  return ok;
}

void
light_tensor_release (LightTensor *tensor)
{
  staging_clear (&tensor->constants);
}
