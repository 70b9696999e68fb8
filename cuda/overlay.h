/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* overlay: draws a histogram into the frame that it was counted from.
 *
 * Everything is defined in whole pixels of the frame and computed in integers, so that
 * CPU and GPU give the same bits. Quotients of pixels and all results are rounded down
 * to whole numbers.
 *
 * The rectangle has a border `line` pixels thick and, `padding` further in, as
 * many graphs as there are components, one above the other, or a single one with
 * all components. With i = line + padding and r graphs, a graph is
 *
 *   G = width - 2 i                               pixels wide
 *   h = (height - 2 i - (r - 1) padding) / r      tall
 *   H = h - line - (mark > 0 ? mark + line : 0)   of these h rows for the bars
 *
 * (0 if negative), and graph k starts i + k (h + padding) below the rectangle's top.
 * The `line` lowest rows are its axis, on which its bars stand. The bar of column c has
 *
 *   n = min (bins, 2^depth)      steps: the bins, or if there are more bins than
 *                                codes, the bins of the codes
 *   level = 65536 m              m: the mean count of the steps from c n / G to
 *                                (c + 1) n / G, each weighted by its part within
 *                                these limits; with n <= G, the count of the one
 *                                step under the column's centre, (2 c + 1) n / 2 G
 *   height = H level / largest + 1/2
 *                                or, on a logarithmic scale, which begins at
 *                                1/1024 of `largest`,
 *            H log2 (1 + 1023 level / largest) / 10 + 1/2
 *                                but at least 1 where level > 0 and H > 0
 *   inner = the least of height - outline and the heights of the `outline` columns
 *           on either side, where the graph has them
 *
 * with `largest` the largest level of the component's columns, or of all columns.
 * Logarithms are taken of 65536ths and interpolated linearly between powers of two. A
 * pixel shows the first of these that applies:
 *
 *   nothing      outside the rectangle
 *   line         in the border, or on an axis
 *   mark         of a component: a triangle `mark` pixels tall and half as wide in
 *                an upper corner of the graph, pointing left where more than
 *                clip_share of the samples have a code (their bin's centre) of
 *                `dark` or less, right where they have `bright` or more. Several
 *                marks in one corner begin `mark` pixels apart, from the corner on
 *   outline      height > row >= inner, of one component or of several
 *   bars         row < height, of one component or of several
 *   grid         column - (q G / 4 - line / 2) is in [0, line), for q = 1, 2, 3
 *   background
 *
 * Opacities are rounded to 65536ths, clip_share to multiples of 2^-24. At a pixel of
 * opacity a and colour K over a background of opacity b and colour B, the background's
 * remaining share is b' = b (1 - a), rounded likewise, and a sample becomes
 *
 *   out = in + a (K - in) + b' (B - in)
 *
 * rounded to the nearest code, halves up. Lines, marks and outlines have
 * line_opacity, bars bar_opacity, the grid grid_opacity. Marks, outlines and bars have
 * the colour of their component; where several components coincide, the mean of their
 * colours, so that red, green and blue together are grey. For a sample of a subsampled
 * plane, a, b' and the colours weighted by them are averaged over the pixels of the
 * frame that the sample stands for. Samples that nothing covers, and channels that are
 * not drawn on, are copied bit by bit; in other samples the bits below the code become
 * 0. Bytes of a row that belong to no sample may be copied or left unchanged.
 *
 * An alpha channel is drawn on in the same way: if the colours have the code of full
 * opacity there, it becomes as opaque as the picture is covered.
 *
 *   allowed      range
 *   layout       all that image.h describes
 *   frame        1x1 to OVERLAY_MAX_FRAME a side
 *   rectangle    1x1 to OVERLAY_MAX_SIZE a side, its corner anywhere within
 *                +-OVERLAY_MAX_FRAME, clipped to the frame
 *   line, padding, outline, mark     0 to OVERLAY_MAX_LINE
 *   bins         as in histo.h
 *   opacity, share                   0 to 1
 *   codes        0 to 2^depth - 1, rounded to whole numbers */
#pragma once

#include "backend.h"
#include "gpu.h"
#include "histo.h"
#include "image.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OVERLAY_MAX_COMPONENTS 4
#define OVERLAY_MAX_SIZE 16384
#define OVERLAY_MAX_FRAME 65536
#define OVERLAY_MAX_LINE 1024
#define OVERLAY_MAX_SUBSAMPLING 16
/* Factors of two that a logarithmic scale spans. */
#define OVERLAY_LOG_BITS 10

typedef enum
{
  OVERLAY_STACKED, /* a graph for each component, the first on top */
  OVERLAY_OVERLAID /* all in one */
} OverlayArrangement;

typedef enum
{
  OVERLAY_LINEAR,
  OVERLAY_LOG
} OverlayScale;

/* The codes of a colour; codes of channels that are not drawn on do not matter. */
typedef struct
{
  double codes[IMAGE_MAX_PLANES][IMAGE_MAX_CHANNELS];
} OverlayColor;

typedef struct
{
  int plane, channel; /* of the histogram */
  OverlayColor color;
  double dark, bright; /* codes of `channel` */
} OverlayComponent;

/* The rectangle, and sizes in it, in pixels of the frame. */
typedef struct
{
  int x, y, width, height;
  int line;    /* thickness of border, axes and grid */
  int padding; /* between border and graphs, and between graphs */
  int outline; /* thickness of a bar's edge; 0: none */
  int mark; /* size of the marks of clipped pixels; 0: no marks and no room for them */
} OverlayGeometry;

typedef struct
{
  int frame_width, frame_height;
  int subsampling_x[IMAGE_MAX_PLANES]; /* pixels of the frame per pixel, 1 to */
  int subsampling_y[IMAGE_MAX_PLANES]; /* OVERLAY_MAX_SUBSAMPLING */
  unsigned channels[IMAGE_MAX_PLANES]; /* bit c set: draw on channel c */

  int bins;
  int n_components; /* 1 to OVERLAY_MAX_COMPONENTS */
  OverlayComponent component[OVERLAY_MAX_COMPONENTS];
  OverlayArrangement arrangement;
  OverlayScale scale;
  bool common_maximum; /* the largest of all columns, not of the component's */
  double clip_share;

  OverlayGeometry geometry;
  OverlayColor background, line;
  double background_opacity, bar_opacity, line_opacity, grid_opacity;
} OverlaySpec;

typedef enum
{
  OVERLAY_TOP_LEFT,
  OVERLAY_TOP,
  OVERLAY_TOP_RIGHT,
  OVERLAY_LEFT,
  OVERLAY_CENTER,
  OVERLAY_RIGHT,
  OVERLAY_BOTTOM_LEFT,
  OVERLAY_BOTTOM,
  OVERLAY_BOTTOM_RIGHT
} OverlayPosition;

/* Fills spec->geometry from the fields above it: a rectangle of about the fractions
 * `width` and `height` of the frame, `margin` times the frame's shorter side away from
 * the edges, with lines whose thickness grows with the frame. If the change is small,
 * the width becomes a whole number of pixels a step. In small frames the rectangle
 * covers a larger part, within the room that there is. Its left and upper edge lie on a
 * pixel of all planes. */
void overlay_place (OverlaySpec *spec, const Image *layout,
    OverlayPosition position, double width, double height, double margin);

/* Checks all ranges above, and that the layout fits the spec's frame. */
bool overlay_validate (
    const OverlaySpec *spec, const Image *layout, Fault *fault);

/* A validated spec and the columns of one run. */
typedef struct OverlayPlan OverlayPlan;

/* `layout` is that of all frames to be drawn into; its addresses are not used.
 * `gpu` is needed for BACKEND_CUDA and must outlive the plan; its context must be
 * pushed here and for every call below. FAULT_SETTINGS: the spec is invalid;
 * FAULT_UNSUPPORTED: this build lacks the backend. The caller owns the plan. */
OverlayPlan *overlay_plan_new (const OverlaySpec *spec, const Image *layout,
    Backend backend, Gpu *gpu, Fault *fault);
/* All runs of the plan must have finished. NULL is allowed. */
void overlay_plan_free (OverlayPlan *plan);

/* Changes the spec from the next run on; `bins` must stay the same (FAULT_SETTINGS), and
 * queued runs keep their spec. Never allocates, never waits. After a failure the plan is
 * unchanged. */
bool overlay_plan_update (
    OverlayPlan *plan, const OverlaySpec *spec, Fault *fault);

/* Fills dst with src and the histogram of `counts` drawn into it. src and dst may be the
 * same memory, else they must not overlap. `counts` is the result of a HistoPlan of the
 * same backend and bins that counts the components' channels; no channel may have more
 * than HISTO_MAX_SAMPLES. CPU: addresses are the host's, `counts` is complete, and the
 * call returns when the work is done. CUDA: addresses are the device's, even for samples
 * of two bytes; the work is queued on `stream`, the same one for all runs of a plan, on
 * which the run that fills `counts` has been queued before; `counts` must stay unchanged
 * until the stream has done this work. Never allocates, and never waits for the GPU. One
 * thread at a time. */
bool overlay_plan_run (OverlayPlan *plan, const HistoResult *counts,
    const Image *src, const Image *dst, GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
