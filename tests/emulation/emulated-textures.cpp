/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-textures: what kernels fetch through. */
#include "emulated-faults.h"
#include "emulated-runtime.h"

struct Texture
{
  cudaResourceDesc resource;
  cudaTextureDesc description;
};

static int
texel_channels (const cudaChannelFormatDesc *format)
{
  return format->w != 0 ? 4 : format->y != 0 ? 2 : 1;
}

cudaChannelFormatDesc
cudaCreateChannelDesc (int x, int y, int z, int w, cudaChannelFormatKind kind)
{
  return { x, y, z, w, kind };
}

cudaError_t
cudaCreateTextureObject (cudaTextureObject_t *object,
    const cudaResourceDesc *resource, const cudaTextureDesc *texture,
    const void *)
{
  const auto &memory = resource->res.pitch2D;
  const size_t texel_bytes =
      (size_t) (texel_channels (&memory.desc) * memory.desc.x / 8);

  if (emulated_fault (EMULATED_FAULT_MEMORY, "cudaCreateTextureObject"))
    return emulated_result (CUDA_ERROR_OUT_OF_MEMORY);
  if (!emulated_context_is_current ())
    return emulated_result (CUDA_ERROR_INVALID_CONTEXT);
  if (memory.pitchInBytes < memory.width * texel_bytes)
    return emulated_result (CUDA_ERROR_INVALID_VALUE);
  *object =
      (cudaTextureObject_t) (uintptr_t) new Texture{ *resource, *texture };
  return cudaSuccess;
}

cudaError_t
cudaDestroyTextureObject (cudaTextureObject_t object)
{
  if (!emulated_context_is_current ())
    return emulated_result (CUDA_ERROR_INVALID_CONTEXT);
  delete (Texture *) (uintptr_t) object;
  return cudaSuccess;
}

static long
clamp (long i, long n)
{
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

uint4
emulated_fetch (cudaTextureObject_t object, float x, float y)
{
  const Texture *texture = (const Texture *) (uintptr_t) object;
  const auto &memory = texture->resource.res.pitch2D;
  const long width = (long) memory.width, height = (long) memory.height;
  const long column = (long) floorf (x), row = (long) floorf (y);
  const size_t n = (size_t) texel_channels (&memory.desc);
  const size_t bytes = (size_t) memory.desc.x / 8;
  const unsigned char *at = (const unsigned char *) memory.devPtr
      + (size_t) clamp (row, height) * memory.pitchInBytes
      + (size_t) clamp (column, width) * n * bytes;
  unsigned value[4] = { 0, 0, 0, 1 };

  if ((column < 0 || column >= width || row < 0 || row >= height)
      && texture->description.addressMode[0] == cudaAddressModeBorder)
    return { 0, 0, 0, 0 };
  for (size_t i = 0; i < n; i++)
    value[i] = bytes == 1 ? at[i] : ((const uint16_t *) (const void *) at)[i];
  return { value[0], value[1], value[2], value[3] };
}
