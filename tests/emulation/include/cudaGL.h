/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For GStreamer's headers, which name the type. OpenGL is not emulated. */
#pragma once

#include "cuda.h"

typedef enum
{
  CU_GL_DEVICE_LIST_ALL = 1
} CUGLDeviceList;
