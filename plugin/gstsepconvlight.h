/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gstsepconvlight: the properties gamma and alpha-mode of cudasepconv, and the engine's plan that
 * filters linear light, or colour weighted by alpha. */
#pragma once

#include "gstframeplanes.h"
#include "gstgpufilter.h"
#include "light.h"

G_BEGIN_DECLS

typedef enum
{
  GST_CUDA_SEPCONV_GAMMA_AS_IS,
  GST_CUDA_SEPCONV_GAMMA_LINEAR,
} GstCudaSepconvGamma;

typedef enum
{
  GST_CUDA_SEPCONV_ALPHA_STRAIGHT,
  GST_CUDA_SEPCONV_ALPHA_PREMULTIPLY,
} GstCudaSepconvAlphaMode;

typedef struct
{
  GstGpuFilter *filter; /* the element; it owns the plan */
  GstDebugCategory *category;

  /* Settings; protected by the element's object lock. */
  GstCudaSepconvGamma gamma;
  GstCudaSepconvAlphaMode alpha_mode;

  /* Owned by the streaming thread. */
  LightSpec spec;
  guint16 *decode; /* the table of spec.decode */
  LightPlan *plan; /* or NULL */
  Image layout;    /* of the plan */
} GstSepconvLight;

void gst_sepconv_light_init (
    GstSepconvLight *self, GstGpuFilter *filter, GstDebugCategory *category);
void gst_sepconv_light_clear (GstSepconvLight *self);

/* Installs both properties. */
void gst_sepconv_light_install (GObjectClass *object_class, GParamFlags flags);

/* With the object lock held. */

/* For the element's set_property() and get_property(). FALSE: the id is of another property. */
gboolean gst_sepconv_light_set (
    GstSepconvLight *self, guint id, const GValue *value);
gboolean gst_sepconv_light_get (
    const GstSepconvLight *self, guint id, GValue *value);

/* Whether the plan takes the place of the plain filter for frames of a format. */
gboolean gst_sepconv_light_is_used (const GstSepconvLight *self,
    GstFramePlanes planes, const GstVideoFormatInfo *format);
/* FALSE and a fault, which may be NULL: `planes` selects luma or chroma alone, which cannot be
 * filtered apart from each other in linear light or weighted by alpha. */
gboolean gst_sepconv_light_check (const GstSepconvLight *self,
    GstFramePlanes planes, const GstVideoFormatInfo *format, Fault *fault);
/* Fills the spec, which borrows `filter`. FALSE and a fault: these settings cannot work on frames
 * of this colorimetry. `neutral_chroma`: edges are grey. */
gboolean gst_sepconv_light_describe (GstSepconvLight *self,
    const SepconvSpec *filter, GstFramePlanes planes, guint border_color,
    gboolean neutral_chroma, Fault *fault);

/* On the streaming thread, with the GPU's context pushed if there is one. */

/* Makes the plan follow the spec: updates it, or replaces it. `method` as for light_plan_new(). */
gboolean gst_sepconv_light_follow (
    GstSepconvLight *self, const SepconvMethod *method, Fault *fault);
/* Frees the plan. No frame is in flight. */
void gst_sepconv_light_release (GstSepconvLight *self);

G_END_DECLS
