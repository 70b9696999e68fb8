/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: types that light.c shares with the backends. Not a public header. */
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

/* The position and format of a channel's samples. */
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

/* Tables in host memory, owned by the plan. */
typedef struct
{
  uint16_t *linear;  /* light; RGB, grey: [2^depth], by code; YUV: T [N] */
  uint16_t *encoded; /* [LIGHT_CODES], by q: codes; YUV: g */
  /* [2^depth], by code of alpha: a; n_alpha is 0 without a work plane of alpha */
  uint16_t *alpha;
  int n_linear, n_alpha;
} LightTables;

typedef struct LightOps
{
  /* Allocates plan->state. */
  bool (*prepare) (LightPlan *plan, Fault *fault);
  /* Allocates both plan->block, which are NULL. */
  bool (*make_work) (LightPlan *plan, size_t bytes, Fault *fault);
  /* Frees both, and sets them to NULL. */
  void (*drop_work) (LightPlan *plan);
  void (*release) (LightPlan *plan);
  /* decode makes plan->work from src; encode makes dst from plan->result, and copies the channels
   * of plan->copy from src. */
  bool (*decode) (
      LightPlan *plan, const Image *src, GpuStream stream, Fault *fault);
  bool (*encode) (LightPlan *plan, const Image *src, const Image *dst,
      GpuStream stream, Fault *fault);
  /* takes_one_step: whether run() decodes, filters and encodes in one step with the plan's
   * current filter; NULL: never. */
  bool (*takes_one_step) (const LightPlan *plan);
  bool (*run) (LightPlan *plan, const Image *src, const Image *dst,
      GpuStream stream, GpuOrder order, Fault *fault);
} LightOps;

struct LightPlan
{
  const LightOps *ops;
  Backend backend;
  Gpu *gpu;
  const SepconvMethod *method; /* that the user chose; NULL: the fastest */
  Image layout;
  LightSpec spec;   /* borrows `decode`; has no filter */
  uint16_t *decode; /* T; NULL: there is none */
  LightNumbers numbers;
  LightTables tables;
  LightChannel color[3]; /* red, green, blue; Y, Cb, Cr; or grey */
  LightChannel alpha;    /* set if alpha has a work plane */
  int n_copies;
  LightChannel copy[LIGHT_MAX_COPIES];
  /* The backend's memory of `work` and of `result`; NULL until needed. */
  uint8_t *block[2];
  Image work, result; /* with the rows of the run's images */
  SepconvPlan *filter;
  void *state; /* the backend's own */
};

extern const LightOps light_host_ops, light_device_ops;

/* The number of planes of the work picture. */
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

/* In tables.c: make the tables and the numbers of a valid spec. */
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
