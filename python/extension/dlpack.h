/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dlpack: the binary interface of DLPack, as far as arrays are read here. Capsules named
 * "dltensor" hold a DLPackManaged, those named "dltensor_versioned" a DLPackVersioned. */
#pragma once

#include <stdint.h>

#define DLPACK_CAPSULE "dltensor"
#define DLPACK_VERSIONED_CAPSULE "dltensor_versioned"
/* Another major version lays the rest out otherwise. */
#define DLPACK_MAJOR_VERSION 1

enum
{
  DLPACK_CPU = 1,
  DLPACK_CUDA = 2,
  DLPACK_CUDA_HOST = 3, /* pinned */
  DLPACK_CUDA_MANAGED = 13
};

enum
{
  DLPACK_SIGNED = 0,
  DLPACK_UNSIGNED = 1
};

#define DLPACK_READ_ONLY 1u /* of DLPackVersioned.flags */

typedef struct
{
  void *data;
  int32_t device_type, device_id;
  int32_t ndim;
  uint8_t type_code, type_bits;
  uint16_t type_lanes;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: row-major without gaps */
  uint64_t byte_offset;
} DLPackTensor;

typedef struct DLPackManaged
{
  DLPackTensor tensor;
  void *context;
  void (*release) (struct DLPackManaged *self);
} DLPackManaged;

typedef struct DLPackVersioned
{
  uint32_t major, minor;
  void *context;
  void (*release) (struct DLPackVersioned *self);
  uint64_t flags;
  DLPackTensor tensor;
} DLPackVersioned;
