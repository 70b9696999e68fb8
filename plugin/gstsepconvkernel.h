/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstsepconvkernel: the properties of cudasepconv that choose the kernel, and the taps that follow
 * from them. */
#pragma once

#include <gst/gst.h>

#include "sepconv.h"

G_BEGIN_DECLS

/* The result of the kernels sobel, scharr and prewitt. */
typedef enum
{
  GST_CUDA_SEPCONV_MAGNITUDE,
  GST_CUDA_SEPCONV_DIRECTION,
} GstCudaSepconvGradient;

typedef struct
{
  TapsSettings taps;            /* borrows the arrays below */
  GArray *taps_x, *taps_y;      /* of gdouble */
  GPtrArray *terms_x, *terms_y; /* of GArray of gdouble */
  TapsCustomTerm term[TAPS_MAX_TERMS];
  gdouble amount, threshold;
  GstCudaSepconvGradient gradient;
} GstSepconvKernel;

/* The taps of a plane, for each term and both axes. */
typedef struct
{
  Taps x[TAPS_MAX_TERMS], y[TAPS_MAX_TERMS];
} GstSepconvTaps;

void gst_sepconv_kernel_init (GstSepconvKernel *self);
void gst_sepconv_kernel_clear (GstSepconvKernel *self);

/* Installs all properties. */
void gst_sepconv_kernel_install (GObjectClass *object_class, GParamFlags flags);

/* The functions below are called with the object lock held. */

/* For the element's set_property() and get_property(). FALSE: the id is of another property. */
gboolean gst_sepconv_kernel_set (
    GstSepconvKernel *self, guint id, const GValue *value);
gboolean gst_sepconv_kernel_get (
    const GstSepconvKernel *self, guint id, GValue *value);

/* Whether the kernel finds edges: its taps sum to zero by its definition. */
gboolean gst_sepconv_kernel_finds_edges (TapsKernel kernel);
/* Whether the kernel has a gradient; the field `gradient` then chooses the result. */
gboolean gst_sepconv_kernel_is_gradient (TapsKernel kernel);

/* Fills the spec's combination and its parameters. */
void gst_sepconv_kernel_get_combine (
    const GstSepconvKernel *self, SepconvSpec *spec);

/* Makes the taps of a plane whose samples have `depth` bits, and which is subsampled by sub_x and
 * sub_y, as taps_make_terms() does; returns the number of terms, or 0 and a fault. */
gint gst_sepconv_kernel_make (const GstSepconvKernel *self, gint depth,
    gint sub_x, gint sub_y, GstSepconvTaps *taps, Fault *fault);

G_END_DECLS
