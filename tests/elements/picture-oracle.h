/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* picture-oracle: pictures to filter, and what should come out.
 *
 * Written from the definition of the filter, in double precision, over
 * GstVideoFrame. Knows nothing of the engine. */
#pragma once

#include "filter-fixture.h"

/* How a picture lies in its buffer. Zero: as GstVideoInfo says, in one memory,
 * without a GstVideoMeta. */
typedef struct
{
  int stride_padding; /* bytes added to each row; plane p gets p more */
  int plane_padding;  /* bytes before each plane, and behind the last */
  gboolean split;     /* one GstMemory a plane */
  gboolean read_only; /* memories cannot be mapped for writing */
} PictureLayout;

/* A picture of noise from `seed`, valid in every bit that its format defines and
 * random in all others. Odd seeds take full-range noise, even ones extremes
 * only. */
GstBuffer *picture_new (const GstVideoInfo *info, guint32 seed);
GstBuffer *picture_new_laid_out (
    const GstVideoInfo *info, guint32 seed, const PictureLayout *layout);

/* The bits of a component's codes, here and in histograms: 10 for alpha of 2 bits, which repeat
 * them. */
int picture_depth (const GstVideoInfo *info, guint component);

/* The codes of a component row by row, `*n` of them, to be freed. */
guint16 *picture_samples (
    GstBuffer *buffer, const GstVideoInfo *info, guint component, gsize *n);
/* Gives a component such codes, and leaves all other bits alone. */
void picture_put_samples (GstBuffer *buffer, const GstVideoInfo *info,
    guint component, const guint16 *codes);

/* Gives some of its samples codes and zeros in all other bits, as a filter does. */
void picture_put_results (GstBuffer *buffer, const GstVideoInfo *info,
    guint component, const guint16 *codes, const gboolean *where);

/* Bits below the significant ones of each sample. */
int picture_shift (const GstVideoInfo *info);

/* A number that the settings give, or else another. */
double setting_number (const char *settings, const char *key, double otherwise);

/* Compares `out` with what `settings` make of `in`; returns NULL or, to be
 * freed, the first sample that is wrong. Understands: kernel sigma sigma-y
 * radius radius-y taps-x taps-y terms-x terms-y normalize (not of terms) amount threshold
 * sigma-outer gradient scale bias border border-color planes scale-chroma neutral-chroma. With `fields`, the two fields are pictures of their own. */
char *picture_compare (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, gboolean fields);

/* What each sample of a component should be, unrounded, row by row, to be freed. */
double *picture_filtered (GstBuffer *in, const GstVideoInfo *info,
    guint component, const char *settings, gboolean fields);
/* Whether the settings select a component. */
gboolean picture_selects (
    const GstVideoInfo *info, guint component, const char *settings);
/* A colour as a code of a component, unrounded. */
double picture_color_code (
    const GstVideoInfo *info, guint component, guint32 argb);

/* Expects that comparison to find nothing; keeps both buffers. */
void picture_expect (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, gboolean fields);

/* Expects every defined sample and padding byte of both to be the same. */
void picture_expect_same (GstBuffer *a, GstBuffer *b, const GstVideoInfo *info);

#define N_ODD_LAYOUTS 4

/* Filters a picture in one of several odd layouts, with a region and times: they
 * must come out, too, in another buffer, and the picture must stay what it is.
 * Returns what came out; `*in` is what went in. */
GstBuffer *picture_process_laid_out (Filter *filter, const GstVideoInfo *info,
    guint32 seed, guint layout, GstBuffer **in);

/* Filters one picture and expects what `settings` should give, field by field
 * where the info says that frames are interleaved. */
void picture_check_frame (Filter *filter, const GstVideoInfo *info,
    guint32 seed, const char *settings);

/* The same with a new filter of these settings. */
void picture_check (const char *format, int width, int height, const char *more,
    const char *settings);
