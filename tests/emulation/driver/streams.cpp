/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* streams: queues of work that belong to a context. */
#include "driver.h"

#include "emulated-queue.h"
#include "streams.h"

CUresult
find_stream (CUstream handle, bool of_current, Stream *stream)
{
  std::shared_ptr<Context> current;

  CHECK (current_context (&current));

  const std::lock_guard<std::mutex> guard (state_lock);
  const Stream *found = state.streams.find (handle);

  if (current->destroyed)
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (handle == nullptr) {
    *stream = { current, current->null, true };
    return CUDA_SUCCESS;
  }
  if (found == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  if (found->context->destroyed)
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (of_current && found->context != current)
    return CUDA_ERROR_INVALID_HANDLE;
  *stream = *found;
  return CUDA_SUCCESS;
}

/* Forgets destroyed streams that are done. Their queues end without the lock. */
static std::vector<std::shared_ptr<Queue>>
take_finished (Context *context)
{
  std::vector<std::shared_ptr<Queue>> finished, busy;

  for (std::shared_ptr<Queue> &queue : context->retired)
    (queue->idle () ? finished : busy).push_back (std::move (queue));
  context->retired = std::move (busy);
  return finished;
}

void
wait_for_streams (const std::shared_ptr<Context> &context, bool only_blocking)
{
  std::vector<std::shared_ptr<Queue>> queues;
  std::vector<uint64_t> marks;

  {
    const std::lock_guard<std::mutex> guard (state_lock);

    state.streams.for_each ([&] (const Stream &stream) {
      if (stream.context == context && stream.queue != nullptr
          && (stream.blocking || !only_blocking))
        queues.push_back (stream.queue);
    });
    queues.insert (
        queues.end (), context->retired.begin (), context->retired.end ());
    if (context->null != nullptr)
      queues.push_back (context->null);
  }
  /* Of all at once: while one is awaited, others go on with later work. */
  for (const std::shared_ptr<Queue> &queue : queues)
    marks.push_back (queue->mark ());
  for (size_t i = 0; i < queues.size (); i++)
    queues[i]->wait (marks[i]);
}

void
end_streams (const std::shared_ptr<Context> &context)
{
  std::vector<std::shared_ptr<Queue>> ended;

  {
    const std::lock_guard<std::mutex> guard (state_lock);

    ended = std::move (context->retired);
    ended.push_back (std::move (context->null));
    state.streams.for_each ([&] (Stream &stream) {
      if (stream.context == context)
        ended.push_back (std::move (stream.queue));
    });
  }
}

CUresult
enqueue (CUstream handle, std::function<void ()> work, bool wait)
{
  Stream stream;

  CHECK (find_stream (handle, true, &stream));
  if (handle == nullptr)
    wait_for_streams (stream.context, true);
  stream.queue->enqueue (std::move (work));
  if (handle == nullptr || wait)
    stream.queue->wait ();
  return CUDA_SUCCESS;
}

CUresult
emulatedEnqueue (
    CUstream stream, void (*run) (void *), void *user, void (*release) (void *))
{
  MAY_FAIL (LAUNCH, "cuLaunchKernel", CUDA_ERROR_LAUNCH_FAILED);
  return enqueue (stream, [run, user, release] {
    run (user);
    release (user);
  });
}

void
count_handles (long *streams, long *events)
{
  const std::lock_guard<std::mutex> guard (state_lock);

  state.streams.for_each (
      [&] (const Stream &stream) { *streams += !stream.context->destroyed; });
  state.events.for_each (
      [&] (const Event &event) { *events += !event.context->destroyed; });
}

CUresult
cuStreamCreate (CUstream *stream, unsigned flags)
{
  std::vector<std::shared_ptr<Queue>> finished;
  std::shared_ptr<Context> context;

  MAY_FAIL (STREAM, "cuStreamCreate", CUDA_ERROR_OUT_OF_MEMORY);
  CHECK (current_context (&context));
  if (flags > CU_STREAM_NON_BLOCKING)
    return CUDA_ERROR_INVALID_VALUE;

  const std::lock_guard<std::mutex> guard (state_lock);

  finished = take_finished (context.get ());
  *stream = state.streams.add ({ context, std::make_shared<Queue> (),
      (flags & CU_STREAM_NON_BLOCKING) == 0 });
  return CUDA_SUCCESS;
}

/* Returns at once; what is queued is still done. */
CUresult
cuStreamDestroy (CUstream handle)
{
  std::vector<std::shared_ptr<Queue>> finished;
  Stream stream;

  if (handle == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  CHECK (freed (find_stream (handle, false, &stream),
      "a stream was destroyed that is none"));

  const std::lock_guard<std::mutex> guard (state_lock);

  state.streams.remove (handle);
  stream.context->retired.push_back (std::move (stream.queue));
  finished = take_finished (stream.context.get ());
  return CUDA_SUCCESS;
}

/* GStreamer 1.22 asks for it by this name. */
#undef cuStreamDestroy
extern "C" __attribute__ ((visibility ("default"))) CUresult
cuStreamDestroy (CUstream handle)
{
  return cuStreamDestroy_v2 (handle);
}

CUresult
cuStreamQuery (CUstream handle)
{
  Stream stream;

  CHECK (find_stream (handle, false, &stream));
  return stream.queue->idle () ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult
cuStreamSynchronize (CUstream handle)
{
  Stream stream;

  CHECK (find_stream (handle, false, &stream));
  if (handle == nullptr)
    wait_for_streams (stream.context, true);
  stream.queue->wait ();
  /* Work has ended by then, as it has after a fault of a real GPU. */
  MAY_FAIL (STREAM, "cuStreamSynchronize", CUDA_ERROR_LAUNCH_FAILED);
  return CUDA_SUCCESS;
}

CUresult
cuStreamGetCtx (CUstream handle, CUcontext *context)
{
  Stream stream;

  CHECK (find_stream (handle, false, &stream));
  *context = stream.context->handle;
  return CUDA_SUCCESS;
}
