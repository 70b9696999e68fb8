/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* picture-oracle: test pictures, and their expected filter results.
 *
 * Written from the definition of the filter, in double precision, over GstVideoFrame, independently
 * of the engine. */
#pragma once

#include "filter-fixture.h"

/* Layout of a picture in its buffer. All zero: as GstVideoInfo has it, in one memory, without a
 * GstVideoMeta. */
typedef struct
{
  int stride_padding; /* bytes added to each row; for plane p, p more */
  int plane_padding;  /* bytes before each plane, and after the last */
  gboolean split;     /* one GstMemory a plane */
  gboolean read_only; /* memories cannot be mapped for writing */
} PictureLayout;

/* A picture of noise from `seed`: all bits that the format defines are valid, all other bits
 * random. Odd seeds give full-range noise, even ones extremes only. */
GstBuffer *picture_new (const GstVideoInfo *info, guint32 seed);
GstBuffer *picture_new_laid_out (
    const GstVideoInfo *info, guint32 seed, const PictureLayout *layout);

/* Bits of a component's codes, here and in histograms. 10 for 2-bit alpha, whose bits are repeated
 * to fill 10; 8 for components of 5 and 6 bits. */
int picture_depth (const GstVideoInfo *info, guint component);

/* Whether results are stored with fewer bits, for formats of 5 and 6 bits. */
gboolean picture_is_rounded (const GstVideoInfo *info);
/* Returns a code as it is read again after it has been stored: `code` itself unless the format is
 * rounded. */
guint picture_rounded (const GstVideoInfo *info, guint component, guint code);
/* Returns how far the nearest of the codes that are stored as `code` is from a value. */
double picture_error (
    const GstVideoInfo *info, guint component, guint code, double value);

/* Returns the codes of a component row by row; `*n` is their number; the caller frees them. */
guint16 *picture_samples (
    GstBuffer *buffer, const GstVideoInfo *info, guint component, gsize *n);
/* Writes codes of a component, and leaves all other bits alone. */
void picture_put_samples (GstBuffer *buffer, const GstVideoInfo *info,
    guint component, const guint16 *codes);

/* Writes codes of some samples and zeros into all other bits of these, as a filter does. */
void picture_put_results (GstBuffer *buffer, const GstVideoInfo *info,
    guint component, const guint16 *codes, const gboolean *where);

/* Bits below the significant ones of each sample. */
int picture_shift (const GstVideoInfo *info);

/* The number that the settings give for `key`, or `otherwise`. */
double setting_number (const char *settings, const char *key, double otherwise);

/* Compares `out` with the expected result of `settings` for `in`. Returns NULL, or a description of
 * the first wrong sample, which the caller frees. Supports: kernel sigma sigma-y radius radius-y
 * taps-x taps-y terms-x terms-y normalize (not of terms) amount threshold sigma-outer gradient
 * scale bias border border-color planes scale-chroma neutral-chroma. With `fields`, each of the two
 * fields is a picture of its own. */
char *picture_compare (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, gboolean fields);

/* The expected result for each sample of a component, unrounded, row by row; the caller frees
 * it. */
double *picture_filtered (GstBuffer *in, const GstVideoInfo *info,
    guint component, const char *settings, gboolean fields);
/* Whether the settings select a component. */
gboolean picture_selects (
    const GstVideoInfo *info, guint component, const char *settings);
/* Converts a colour to an unrounded code of a component. */
double picture_color_code (
    const GstVideoInfo *info, guint component, guint32 argb);

/* Expects that comparison to find no difference; keeps both buffers. */
void picture_expect (GstBuffer *in, GstBuffer *out, const GstVideoInfo *info,
    const char *settings, gboolean fields);

/* Expects every defined sample and padding byte of both to be the same. */
void picture_expect_same (GstBuffer *a, GstBuffer *b, const GstVideoInfo *info);

#define N_ODD_LAYOUTS 4

/* Filters a picture in one of several odd layouts, with a region and times, which the output must
 * have, too. The output must be another buffer, and the input must stay unchanged. Returns the
 * output; `*in` is the input. */
GstBuffer *picture_process_laid_out (Filter *filter, const GstVideoInfo *info,
    guint32 seed, guint layout, GstBuffer **in);

/* Filters one picture and expects the result of `settings`; field by field where the info says that
 * frames are interleaved. */
void picture_check_frame (Filter *filter, const GstVideoInfo *info,
    guint32 seed, const char *settings);

/* The same with a new filter for these settings. */
void picture_check (const char *format, int width, int height, const char *more,
    const char *settings);
