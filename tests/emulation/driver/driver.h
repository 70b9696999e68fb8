/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* driver: the parts of the emulated driver, to each other.
 *
 * Handles are numbers that are never used twice, so that one that was destroyed is
 * told from every other. What was made in a context stays known, as destroyed, when
 * the context goes. Nothing waits with the lock held. */
#pragma once

#include "emulated-faults.h"

#include <cuda.h>

#include <memory>
#include <mutex>
#include <set>
#include <stdint.h>
#include <unordered_map>
#include <vector>

class Queue;

/* Leaves a function with the first failure. */
#define CHECK(call) \
  do { \
    const CUresult check_status = (call); \
    if (check_status != CUDA_SUCCESS) \
      return check_status; \
  } while (0)

/* Leaves a function where a test wants this call to fail. */
#define MAY_FAIL(kind, call, status) \
  do { \
    if (emulated_fault (EMULATED_FAULT_##kind, call)) \
      return status; \
  } while (0)

struct Context
{
  CUcontext handle;
  CUdevice device;
  bool primary;
  bool destroyed = false;
  bool lost = false; /* nothing could be freed there for a while */
  size_t stack_size = 1024;
  std::set<CUcontext> peers;                   /* whose memory it may use */
  std::shared_ptr<Queue> null;                 /* the stream NULL */
  std::vector<std::shared_ptr<Queue>> retired; /* destroyed, but not done yet */
};

/* A stream, until it is destroyed. */
struct Stream
{
  std::shared_ptr<Context> context;
  std::shared_ptr<Queue> queue;
  bool blocking; /* it and the stream NULL wait for each other */
};

/* When an event was recorded last, or will be. */
class Moment;

struct Event
{
  std::shared_ptr<Context> context;
  std::shared_ptr<Moment> last; /* NULL: never recorded */
  bool timed;
};

/* Of one kind of object. */
template <typename Handle, typename Object> class Handles {
public:
  /* `first` tells the kinds from each other. */
  explicit Handles (uintptr_t first) : next (first)
  {
  }

  Handle
  add (Object object)
  {
    next += 16;
    objects.emplace (next, std::move (object));
    return (Handle) next;
  }

  Object *
  find (Handle handle)
  {
    const auto found = objects.find ((uintptr_t) handle);

    return found == objects.end () ? nullptr : &found->second;
  }

  void
  remove (Handle handle)
  {
    objects.erase ((uintptr_t) handle);
  }

  template <typename Function>
  void
  for_each (Function function)
  {
    for (auto &object : objects)
      function (object.second);
  }

private:
  uintptr_t next;
  std::unordered_map<uintptr_t, Object> objects;
};

/* Never freed: streams' threads may outlive main(). */
struct State
{
  bool initialized = false;
  std::vector<int> visible; /* the devices, by the numbers that programs use */
  Handles<CUcontext, std::shared_ptr<Context>> contexts{ 0xc0de00000000 };
  Handles<CUstream, Stream> streams{ 0x57ea00000000 };
  Handles<CUevent, Event> events{ 0xe4e700000000 };
};

/* Of everything in the state and what it refers to, but for queues and moments. */
extern std::mutex &state_lock;
extern State &state;

#define EMULATED_MAX_DEVICES 8

CUresult check_device (CUdevice device);
CUresult current_context (std::shared_ptr<Context> *context);

/* Copies of what lies behind a handle; the queue of NULL is the current context's.
 * `of_current`: refuses other contexts' streams. */
CUresult find_stream (CUstream handle, bool of_current, Stream *stream);
CUresult find_event (CUevent handle, Event *event);

/* Ends the program if it is to be held to what it does wrong. */
void accuse (const char *what);
/* Does so where something could not be freed; returns the status. */
CUresult freed (CUresult status, const char *what);

/* Passes a point of pushes; returns whether contexts are lost, as they stay until the next
 * arming. */
bool push_fault (const char *call);

/* What is alive in all contexts. */
void count_memory (long *device, long *pinned);
void count_handles (long *streams, long *events);
void count_primaries (long *contexts);

/* Whether something is left of a context that goes. */
bool has_memory (const Context *context);
/* For a context that goes. */
void end_streams (const std::shared_ptr<Context> &context);
void free_memory_of (const Context *context);
/* Waits for all of the context's streams; only those that wait for NULL, too. */
void wait_for_streams (
    const std::shared_ptr<Context> &context, bool only_blocking = false);
