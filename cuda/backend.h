/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* backend: where a plan computes. */
#pragma once

typedef enum
{
  BACKEND_CPU,
  BACKEND_CUDA
} Backend;
