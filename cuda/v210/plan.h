/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: what v210.c shares with those that compute. Not a public header. */
#pragma once

#include "../v210.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct V210Ops V210Ops;

struct V210Plan
{
  const V210Ops *ops;
  int width;            /* of a frame, in pixels */
  Image source, result; /* with addresses */
  uint8_t *block[2];    /* theirs */
  void *state;          /* the backend's own */
};

struct V210Ops
{
  bool (*prepare) (V210Plan *plan, Fault *fault);
  void (*release) (V210Plan *plan);
  /* Zeroed memory. */
  uint8_t *(*allocate) (size_t bytes, Fault *fault);
  void (*free) (uint8_t *block);
  bool (*unpack) (V210Plan *plan, const Image *packed, const Image *planes,
      GpuStream stream, Fault *fault);
  bool (*pack) (V210Plan *plan, const Image *planes, const Image *packed,
      GpuStream stream, Fault *fault);
};

extern const V210Ops v210_host_ops, v210_device_ops;

#ifdef __cplusplus
}
#endif
