/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* overlay: draws a histogram into the frame that it was counted from.
 *
 * All is defined in whole pixels of the frame and computed in integers, so that
 * CPU and GPU give the same bits. `/` rounds down, also to a whole number.
 *
 * The rectangle has a border `line` pixels thick and, `padding` further in, as
 * many graphs as there are components, one above the other, or a single one with
 * all components. With i = line + padding and r graphs, a graph is
 *
 *   G = width - 2 i                               pixels wide
 *   h = (height - 2 i - (r - 1) padding) / r      tall
 *   H = h - line - (mark > 0 ? mark + line : 0)   of them for the bars
 *
 * (0 where less), and graph k starts i + k (h + padding) below the rectangle's top.
 * The `line` lowest rows are its axis, on which its bars stand. That of column c has
 *
 *   n = min (bins, 2^depth)      steps: bins, or where there are more of them
 *                                than codes, the codes' bins
 *   level = 65536 m              m: the mean count of the steps from c n / G to
 *                                (c + 1) n / G, by the parts of them that lie in
 *                                between; with n <= G, the count of the one step
 *                                under the column's centre, (2 c + 1) n / 2 G
 *   height = H level / largest + 1/2
 *                                or for a logarithmic scale, which begins at a
 *                                1024th of the largest,
 *            H log2 (1 + 1023 level / largest) / 10 + 1/2
 *                                but at least 1 where level > 0 and H > 0
 *   inner = the least of height - outline, and of the heights of the `outline`
 *           columns on either side, as far as the graph has them
 *
 * with the largest level among the component's columns, or among all. Logarithms
 * are taken of 65536ths and interpolated linearly between powers of two. What is
 * at a pixel, the first that applies:
 *
 *   nothing      outside the rectangle
 *   line         in the border, or on an axis
 *   mark         of a component: a triangle `mark` pixels tall and half as wide in
 *                an upper corner of the graph, pointing left where more than
 *                clip_share of the samples have a code (their bin's centre) of
 *                `dark` or less, right where they have `bright` or more. Where one
 *                graph shows several, they begin `mark` pixels apart, from the
 *                corner on
 *   outline      height > row >= inner, of one component or of several
 *   bars         row < height, of one component or of several
 *   grid         column - (q G / 4 - line / 2) is in [0, line), for q = 1, 2, 3
 *   background
 *
 * Opacities are rounded to 65536ths, clip_share to 2^-24. At a pixel of opacity a
 * and colour K over the background's b and B, the remaining share of which is
 * b' = b (1 - a), rounded likewise, a sample becomes
 *
 *   out = in + a (K - in) + b' (B - in)
 *
 * rounded to the nearest code, halves up. Lines, marks and outlines have
 * line_opacity, bars bar_opacity, the grid grid_opacity. The colour of marks,
 * outlines and bars is their component's; of several, their colours' mean: where
 * red, green and blue coincide, the graph is grey. A sample of a subsampled plane
 * takes the mean of a and b' and of the colours by them over the pixels of the
 * frame that it stands for. Samples that nothing covers, and those of channels
 * that are not drawn, are copied bit by bit; in others the bits below the code
 * become 0. Bytes of a row that no sample has may be copied or left alone.
 *
 * To a channel of alpha the same is done: with an opaque colour's code there it
 * becomes opaque to the degree that the picture is covered.
 *
 *   allowed      range
 *   layout       all that image.h describes
 *   frame        1x1 to OVERLAY_MAX_FRAME a side
 *   rectangle    1x1 to OVERLAY_MAX_SIZE a side, its corner anywhere within
 *                +-OVERLAY_MAX_FRAME, clipped to the frame
 *   line, padding, outline, mark     0 to OVERLAY_MAX_LINE
 *   bins         as histo.h has it
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

/* The codes that stand for a colour; those of channels that are not drawn do not
 * matter. */
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
  int mark;    /* size of the marks of clipped pixels; 0: none, and no room */
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

/* Fills spec->geometry, given all of the spec above it: a rectangle of about these
 * fractions of the frame's width and height, `margin` times its shorter side away
 * from the edges, with lines whose thickness grows with the frame. The width is
 * adapted, where that is little, to a whole number of pixels a step; small frames
 * get a larger part of them covered, as far as they have it; the left and upper
 * edge are on a pixel of all planes. */
void overlay_place (OverlaySpec *spec, const Image *layout,
    OverlayPosition position, double width, double height, double margin);

/* Checks all ranges above, and that the layout is one of such frames. */
bool overlay_validate (
    const OverlaySpec *spec, const Image *layout, Fault *fault);

/* A validated spec and the columns of one run. */
typedef struct OverlayPlan OverlayPlan;

/* `layout` is that of all frames to be drawn into; its addresses are not used.
 * `gpu` is needed for BACKEND_CUDA, must outlive the plan, and its context must
 * be pushed here and for every call below. FAULT_SETTINGS: the spec;
 * FAULT_UNSUPPORTED: no such backend in this build. The caller owns the plan. */
OverlayPlan *overlay_plan_new (const OverlaySpec *spec, const Image *layout,
    Backend backend, Gpu *gpu, Fault *fault);
/* No run of the plan may be unfinished. NULL is allowed. */
void overlay_plan_free (OverlayPlan *plan);

/* Takes another spec, of the same bins, for the runs to come; those that are queued
 * keep theirs. Never allocates nor waits. After a failure the plan has the one it
 * had. */
bool overlay_plan_update (
    OverlayPlan *plan, const OverlaySpec *spec, Fault *fault);

/* Fills dst with src and the histogram of `counts` drawn in. They may be the same
 * memory, else they must not overlap. `counts` is the result of a plan of the same
 * backend and bins that counts the components' channels; no channel may have more
 * than HISTO_MAX_SAMPLES. CPU: addresses are the host's, `counts` is complete, and
 * the call returns when the work is done. CUDA: addresses are the device's, samples
 * of two bytes lie at even ones, the run that fills `counts` has been queued on
 * `stream`, the same for all runs of a plan, and `counts` must stay unchanged until
 * the stream has got here. Never allocates nor waits for the GPU. One thread at a
 * time. */
bool overlay_plan_run (OverlayPlan *plan, const HistoResult *counts,
    const Image *src, const Image *dst, GpuStream stream, Fault *fault);

#ifdef __cplusplus
}
#endif
