/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <cuda.h>

struct Row
{
  CUresult error;
  const char *name, *text;
};

#define ROW(error, text) \
  { \
    error, #error, text \
  }

static const Row *
find (CUresult error)
{
  static const Row table[] = {
    ROW (CUDA_SUCCESS, "no error"),
    ROW (CUDA_ERROR_INVALID_VALUE, "a value is wrong"),
    ROW (CUDA_ERROR_OUT_OF_MEMORY, "there is not so much memory"),
    ROW (CUDA_ERROR_NOT_INITIALIZED, "cuInit() was not called"),
    ROW (CUDA_ERROR_NO_DEVICE, "there is no device"),
    ROW (CUDA_ERROR_INVALID_DEVICE, "there is no such device"),
    ROW (CUDA_ERROR_INVALID_CONTEXT, "no context is current, or a wrong one"),
    ROW (CUDA_ERROR_ALREADY_MAPPED, "it is mapped"),
    ROW (CUDA_ERROR_NO_BINARY_FOR_GPU, "there is no such kernel for the GPU"),
    ROW (CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "the devices are no peers"),
    ROW (CUDA_ERROR_INVALID_HANDLE, "there is no such thing, or no more"),
    ROW (CUDA_ERROR_NOT_READY, "not yet"),
    ROW (CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "the contexts are peers"),
    ROW (CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "the contexts are no peers"),
    ROW (CUDA_ERROR_CONTEXT_IS_DESTROYED, "its context was destroyed"),
    ROW (CUDA_ERROR_LAUNCH_FAILED, "a kernel failed, as it was told to"),
    ROW (CUDA_ERROR_NOT_SUPPORTED, "the emulation does not have it"),
    ROW (CUDA_ERROR_UNKNOWN, "something else"),
  };

  for (const Row &row : table)
    if (row.error == error)
      return &row;
  return nullptr;
}

CUresult
cuGetErrorName (CUresult error, const char **name)
{
  const Row *row = find (error);

  *name = row != nullptr ? row->name : nullptr;
  return row != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuGetErrorString (CUresult error, const char **text)
{
  const Row *row = find (error);

  *text = row != nullptr ? row->text : nullptr;
  return row != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
