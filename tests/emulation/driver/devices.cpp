/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* devices: how many there are, and what they are like. Their limits are those of a
 * recent GPU, but for the size. */
#include "driver.h"

#include "device-memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 12000

State &state = *new State;
std::mutex &state_lock = *new std::mutex;

static int
number_from (const char *variable, int otherwise)
{
  const char *text = getenv (variable);

  return text != nullptr ? atoi (text) : otherwise;
}

/* CUDA_VISIBLE_DEVICES hides what follows the first number that is none. */
static std::vector<int>
visible_devices ()
{
  const int n = number_from ("EMULATED_GPU_DEVICES", 1);
  const char *chosen = getenv ("CUDA_VISIBLE_DEVICES");
  std::vector<int> visible;

  if (chosen == nullptr) {
    for (int i = 0; i < n && i < EMULATED_MAX_DEVICES; i++)
      visible.push_back (i);
    return visible;
  }
  for (const char *at = chosen;; at++) {
    char *end;
    const long device = strtol (at, &end, 10);

    if (end == at || device < 0 || device >= n)
      return visible;
    visible.push_back ((int) device);
    if (*end != ',')
      return visible;
    at = end;
  }
}

CUresult
cuInit (unsigned flags)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!state.initialized)
    state.visible = visible_devices ();
  if (state.visible.empty ())
    return CUDA_ERROR_NO_DEVICE;
  state.initialized = true;
  return CUDA_SUCCESS;
}

CUresult
cuDriverGetVersion (int *version)
{
  *version = VERSION;
  return CUDA_SUCCESS;
}

CUresult
check_device (CUdevice device)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  if (!state.initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  return device >= 0 && device < (int) state.visible.size ()
      ? CUDA_SUCCESS
      : CUDA_ERROR_INVALID_DEVICE;
}

CUresult
cuDeviceGetCount (int *count)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  *count = (int) state.visible.size ();
  return state.initialized ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult
cuDeviceGet (CUdevice *device, int ordinal)
{
  CHECK (check_device (ordinal));
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult
cuDeviceGetName (char *name, int size, CUdevice device)
{
  CHECK (check_device (device));
  if (size <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  snprintf (name, (size_t) size, "Emulated GPU %d", state.visible[device]);
  return CUDA_SUCCESS;
}

/* The same in every process, as those of devices are. */
CUresult
cuDeviceGetUuid (CUuuid *uuid, CUdevice device)
{
  CHECK (check_device (device));
  memset (uuid, 0, sizeof *uuid);
  uuid->bytes[0] = (char) (1 + state.visible[device]);
  return CUDA_SUCCESS;
}

CUresult
cuDeviceTotalMem (size_t *bytes, CUdevice device)
{
  CHECK (check_device (device));
  *bytes = DEVICE_BYTES;
  return CUDA_SUCCESS;
}

CUresult
cuDeviceCanAccessPeer (int *can, CUdevice device, CUdevice peer)
{
  CHECK (check_device (device));
  CHECK (check_device (peer));
  *can = device != peer;
  return CUDA_SUCCESS;
}

/* What is not there is 0. */
CUresult
cuDeviceGetAttribute (int *value, CUdevice_attribute attribute, CUdevice device)
{
  static const struct
  {
    CUdevice_attribute attribute;
    int value;
  } table[] = {
    { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
    { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 * 1024 },
    { CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
    { CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647 },
    { CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512 },
    { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2 },
    { CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1 },
    { CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2 },
    { CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
    { CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32 },
    { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072 },
    { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000 },
    { CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120 },
    { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9 },
    { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 * 1024 },
    { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 227 * 1024 },
  };

  CHECK (check_device (device));
  *value = 0;
  for (const auto &row : table)
    if (row.attribute == attribute)
      *value = row.value;
  return CUDA_SUCCESS;
}
