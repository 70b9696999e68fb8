/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* contexts: what is current on which thread, and what lives how long. */
#include "driver.h"

#include "queue.h"

struct Primary
{
  std::shared_ptr<Context> context;
  int holds;
};

static Primary primaries[EMULATED_MAX_DEVICES];

/* Of this thread; the last one is current. */
static thread_local std::vector<std::shared_ptr<Context>> stack;

/* With the lock held. */
static std::shared_ptr<Context>
new_context (CUdevice device, bool primary)
{
  auto context = std::make_shared<Context> ();

  context->device = device;
  context->primary = primary;
  context->null = std::make_shared<Queue> ();
  context->handle = state.contexts.add (context);
  return context;
}

static bool
has_streams_or_events (const Context *context)
{
  const std::lock_guard<std::mutex> guard (state_lock);
  bool found = false;

  state.streams.for_each ([&] (const Stream &stream) {
    found = found || stream.context.get () == context;
  });
  state.events.for_each ([&] (const Event &event) {
    found = found || event.context.get () == context;
  });
  return found;
}

/* Takes no new work, finishes the old, and frees what was made in it. */
static void
end_context (const std::shared_ptr<Context> &context)
{
  if (!context->lost && has_memory (context.get ()))
    accuse ("a context ended before memory of it was freed");
  if (!context->lost && has_streams_or_events (context.get ()))
    accuse ("a context ended before its streams and events were destroyed");
  {
    const std::lock_guard<std::mutex> guard (state_lock);

    context->destroyed = true;
  }
  wait_for_streams (context);
  end_streams (context);
  free_memory_of (context.get ());
}

static CUresult
find_context (CUcontext handle, std::shared_ptr<Context> *context)
{
  const std::lock_guard<std::mutex> guard (state_lock);
  const std::shared_ptr<Context> *found = state.contexts.find (handle);

  if (!state.initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (found == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = *found;
  return (*found)->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult
current_context (std::shared_ptr<Context> *context)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  if (!state.initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (stack.empty () || stack.back () == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  *context = stack.back ();
  return (*context)->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

void
count_primaries (long *contexts)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  for (const Primary &primary : primaries)
    *contexts += primary.holds;
}

CUresult
cuDevicePrimaryCtxRetain (CUcontext *context, CUdevice device)
{
  MAY_FAIL (CONTEXT, "cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY);
  CHECK (check_device (device));

  const std::lock_guard<std::mutex> guard (state_lock);
  Primary *primary = &primaries[device];

  if (primary->holds++ == 0)
    primary->context = new_context (device, true);
  *context = primary->context->handle;
  return CUDA_SUCCESS;
}

CUresult
cuDevicePrimaryCtxRelease (CUdevice device)
{
  std::shared_ptr<Context> last;

  CHECK (check_device (device));
  {
    const std::lock_guard<std::mutex> guard (state_lock);
    Primary *primary = &primaries[device];

    if (primary->holds == 0)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary->holds == 0)
      last = std::move (primary->context);
  }
  if (last != nullptr)
    end_context (last);
  return CUDA_SUCCESS;
}

CUresult
cuDevicePrimaryCtxGetState (CUdevice device, unsigned *flags, int *active)
{
  CHECK (check_device (device));

  const std::lock_guard<std::mutex> guard (state_lock);

  *flags = 0;
  *active = primaries[device].holds > 0;
  return CUDA_SUCCESS;
}

CUresult
cuCtxCreate (CUcontext *context, unsigned flags, CUdevice device)
{
  (void) flags; /* how to wait, which is always by sleep */
  CHECK (check_device (device));

  const std::lock_guard<std::mutex> guard (state_lock);

  stack.push_back (new_context (device, false));
  *context = stack.back ()->handle;
  return CUDA_SUCCESS;
}

CUresult
cuCtxDestroy (CUcontext handle)
{
  std::shared_ptr<Context> context;

  CHECK (find_context (handle, &context));
  if (context->primary)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!stack.empty () && stack.back () == context)
    stack.pop_back ();
  end_context (context);
  return CUDA_SUCCESS;
}

CUresult
cuCtxPushCurrent (CUcontext handle)
{
  std::shared_ptr<Context> context;

  CHECK (find_context (handle, &context));
  if (push_fault ("cuCtxPushCurrent")) {
    context->lost = true;
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  stack.push_back (context);
  return CUDA_SUCCESS;
}

CUresult
cuCtxPopCurrent (CUcontext *context)
{
  if (stack.empty () || stack.back () == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr)
    *context = stack.back ()->handle;
  stack.pop_back ();
  return CUDA_SUCCESS;
}

CUresult
cuCtxGetCurrent (CUcontext *context)
{
  *context = stack.empty () || stack.back () == nullptr ? nullptr
                                                        : stack.back ()->handle;
  return CUDA_SUCCESS;
}

CUresult
cuCtxSetCurrent (CUcontext handle)
{
  std::shared_ptr<Context> context;

  if (handle != nullptr)
    CHECK (find_context (handle, &context));
  if (!stack.empty ())
    stack.pop_back ();
  if (context != nullptr)
    stack.push_back (context);
  return CUDA_SUCCESS;
}

CUresult
cuCtxGetDevice (CUdevice *device)
{
  std::shared_ptr<Context> context;

  CHECK (current_context (&context));
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult
cuCtxSynchronize ()
{
  std::shared_ptr<Context> context;

  CHECK (current_context (&context));
  wait_for_streams (context);
  return CUDA_SUCCESS;
}

CUresult
cuCtxGetLimit (size_t *value, CUlimit limit)
{
  std::shared_ptr<Context> context;

  CHECK (current_context (&context));
  if (limit != CU_LIMIT_STACK_SIZE)
    return CUDA_ERROR_NOT_SUPPORTED;
  *value = context->stack_size;
  return CUDA_SUCCESS;
}

CUresult
cuCtxSetLimit (CUlimit limit, size_t value)
{
  std::shared_ptr<Context> context;

  CHECK (current_context (&context));
  if (limit != CU_LIMIT_STACK_SIZE)
    return CUDA_ERROR_NOT_SUPPORTED;
  context->stack_size = value;
  return CUDA_SUCCESS;
}

CUresult
cuCtxEnablePeerAccess (CUcontext handle, unsigned flags)
{
  std::shared_ptr<Context> context, peer;

  CHECK (current_context (&context));
  CHECK (find_context (handle, &peer));
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (peer == context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (peer->device == context->device)
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;

  const std::lock_guard<std::mutex> guard (state_lock);

  return context->peers.insert (handle).second
      ? CUDA_SUCCESS
      : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult
cuCtxDisablePeerAccess (CUcontext handle)
{
  std::shared_ptr<Context> context, peer;

  CHECK (current_context (&context));
  CHECK (find_context (handle, &peer));

  const std::lock_guard<std::mutex> guard (state_lock);

  return context->peers.erase (handle) > 0 ? CUDA_SUCCESS
                                           : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
