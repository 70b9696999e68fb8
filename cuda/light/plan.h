/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: what light.c shares with the backends. Not a public header. */
#pragma once

#include "../light.h"
#include "arithmetic.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LIGHT_CODES 65536 /* of the work picture */
/* Planes of the work picture: red, green and blue, or grey alone; then alpha. */
#define LIGHT_MAX_WORK 4
#define LIGHT_MAX_COPIES (IMAGE_MAX_PLANES * IMAGE_MAX_CHANNELS)

/* Where the samples of a channel are. */
typedef struct
{
  int memory;
  int byte_offset;  /* of sample (0, 0) in its row */
  int pixel_stride; /* bytes */
  int sample_bytes; /* 1 or 2 */
  int shift;
  int full;  /* the largest code: bits of a sample above it are ignored */
  int width; /* samples */
} LightChannel;

/* Host memory, owned by the plan. */
typedef struct
{
  uint16_t *linear;  /* RGB, grey: [2^depth], of codes; YUV: T [N] */
  uint16_t *encoded; /* [LIGHT_CODES] of q: codes; YUV: g */
  uint16_t *
      alpha; /* [2^depth] of alpha's codes: a; NULL without a work plane of alpha */
  int n_linear, n_alpha;
} LightTables;

typedef struct LightOps
{
  /* Allocates plan->state. */
  bool (*prepare) (LightPlan *plan, Fault *fault);
  /* Allocates the blocks of both work pictures, none of which is there. */
  bool (*make_work) (LightPlan *plan, size_t bytes, Fault *fault);
  /* Frees those that there are. */
  void (*drop_work) (LightPlan *plan);
  void (*release) (LightPlan *plan);
  /* Makes plan->work of src, and dst of plan->result and what is copied from src. */
  bool (*decode) (
      LightPlan *plan, const Image *src, GpuStream stream, Fault *fault);
  bool (*encode) (LightPlan *plan, const Image *src, const Image *dst,
      GpuStream stream, Fault *fault);
  /* Whether one step does all that, with the filter that the plan has now, and that step; NULL:
   * never. */
  bool (*takes_one_step) (const LightPlan *plan);
  bool (*run) (LightPlan *plan, const Image *src, const Image *dst,
      GpuStream stream, GpuOrder order, Fault *fault);
} LightOps;

struct LightPlan
{
  const LightOps *ops;
  Backend backend;
  Gpu *gpu;
  const SepconvMethod *method; /* asked for; NULL: the fastest */
  Image layout;
  LightSpec spec;   /* borrows `decode`; without a filter */
  uint16_t *decode; /* T; NULL: there is none */
  LightNumbers numbers;
  LightTables tables;
  LightChannel color[3]; /* red, green, blue; Y, Cb, Cr; or grey */
  LightChannel alpha;    /* if there is a work plane of it */
  int n_copies;
  LightChannel copy[LIGHT_MAX_COPIES];
  /* Of the backend's memory: the work picture, its result. NULL until they are needed. */
  uint8_t *block[2];
  Image work, result; /* as high as the run's images */
  SepconvPlan *filter;
  void *state; /* the backend's own */
};

extern const LightOps light_host_ops, light_device_ops;

/* The work picture's planes. */
static inline int
light_n_work (const LightNumbers *numbers)
{
  return numbers->n_colors + (numbers->has_alpha ? 1 : 0);
}

static inline uint8_t *
light_channel_row (const LightChannel *channel, const Image *image, int y)
{
  const ImageMemory *memory = &image->memory[channel->memory];

  return memory->data + y * memory->stride + channel->byte_offset;
}

static inline int
light_channel_height (const LightChannel *channel, const Image *image)
{
  return image->memory[channel->memory].height;
}

/* tables.c: makes the tables and the numbers of a valid spec. */
bool light_tables_make (LightTables *tables, const LightSpec *spec,
    const LightNumbers *numbers, int depth, int alpha_depth, Fault *fault);
void light_tables_clear (LightTables *tables);
LightNumbers light_make_numbers (
    const LightSpec *spec, int depth, int alpha_depth, int sub_x, int sub_y);
/* T[round ((N - 1) value)], with the value clamped to [0, 1]. */
int light_linear_code (const LightSpec *spec, double value);

#ifdef __cplusplus
}
#endif
