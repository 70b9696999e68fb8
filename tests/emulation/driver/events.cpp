/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* events: moments in the work of streams. An event may be waited for in any context,
 * and recorded only in streams of its own. */
#include "driver.h"

#include "streams.h"

CUresult
find_event (CUevent handle, Event *event)
{
  std::shared_ptr<Context> current;

  CHECK (current_context (&current));

  const std::lock_guard<std::mutex> guard (state_lock);
  const Event *found = state.events.find (handle);

  if (found == nullptr)
    return CUDA_ERROR_INVALID_HANDLE;
  *event = *found;
  return found->context->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                   : CUDA_SUCCESS;
}

CUresult
cuEventCreate (CUevent *event, unsigned flags)
{
  std::shared_ptr<Context> context;

  MAY_FAIL (EVENT, "cuEventCreate", CUDA_ERROR_OUT_OF_MEMORY);
  CHECK (current_context (&context));
  if (flags > (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
    return CUDA_ERROR_INVALID_VALUE;

  const std::lock_guard<std::mutex> guard (state_lock);

  *event = state.events.add (
      { context, nullptr, (flags & CU_EVENT_DISABLE_TIMING) == 0 });
  return CUDA_SUCCESS;
}

CUresult
cuEventDestroy (CUevent handle)
{
  Event event;

  CHECK (freed (
      find_event (handle, &event), "an event was destroyed that is none"));

  const std::lock_guard<std::mutex> guard (state_lock);

  state.events.remove (handle);
  return CUDA_SUCCESS;
}

CUresult
cuEventRecord (CUevent handle, CUstream stream_handle)
{
  const auto moment = std::make_shared<Moment> ();
  Event event;
  Stream stream;

  MAY_FAIL (EVENT, "cuEventRecord", CUDA_ERROR_LAUNCH_FAILED);
  CHECK (find_event (handle, &event));
  CHECK (find_stream (stream_handle, true, &stream));
  if (event.context != stream.context)
    return CUDA_ERROR_INVALID_HANDLE;
  CHECK (enqueue (stream_handle, [moment] { moment->reach (); }));

  const std::lock_guard<std::mutex> guard (state_lock);
  Event *recorded = state.events.find (handle);

  if (recorded != nullptr)
    recorded->last = moment;
  return CUDA_SUCCESS;
}

CUresult
cuStreamWaitEvent (CUstream stream, CUevent handle, unsigned flags)
{
  Event event;

  MAY_FAIL (EVENT, "cuStreamWaitEvent", CUDA_ERROR_LAUNCH_FAILED);
  CHECK (find_event (handle, &event));
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  return enqueue (stream, [moment = event.last] {
    if (moment != nullptr)
      moment->wait ();
  });
}

CUresult
cuEventQuery (CUevent handle)
{
  Event event;

  MAY_FAIL (QUERY, "cuEventQuery", CUDA_ERROR_LAUNCH_FAILED);
  CHECK (find_event (handle, &event));
  return event.last == nullptr || event.last->reached () ? CUDA_SUCCESS
                                                         : CUDA_ERROR_NOT_READY;
}

CUresult
cuEventSynchronize (CUevent handle)
{
  Event event;

  CHECK (find_event (handle, &event));
  if (event.last != nullptr)
    event.last->wait ();
  return CUDA_SUCCESS;
}

CUresult
cuEventElapsedTime (float *ms, CUevent start_handle, CUevent end_handle)
{
  Event start, end;

  MAY_FAIL (EVENT, "cuEventElapsedTime", CUDA_ERROR_LAUNCH_FAILED);
  CHECK (find_event (start_handle, &start));
  CHECK (find_event (end_handle, &end));
  if (!start.timed || !end.timed || start.last == nullptr || end.last == nullptr
      || start.context != end.context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!start.last->reached () || !end.last->reached ())
    return CUDA_ERROR_NOT_READY;
  *ms = std::chrono::duration<float, std::milli> (
      end.last->when () - start.last->when ())
            .count ();
  return CUDA_SUCCESS;
}
