/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* driver: declarations that the parts of the emulated driver share.
 *
 * Handles are numbers that are never reused, so that a destroyed handle differs from all
 * others. When a context is destroyed, its objects stay known as destroyed. No function
 * blocks while it holds the lock. */
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

/* Returns from a function with the first error status. */
#define CHECK(call) \
  do { \
    const CUresult check_status = (call); \
    if (check_status != CUDA_SUCCESS) \
      return check_status; \
  } while (0)

/* Returns `status` from a function where a test makes this call fail. */
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
  bool lost = false; /* no object could be freed there for a while */
  size_t stack_size = 1024;
  std::set<CUcontext> peers;                   /* whose memory it may use */
  std::shared_ptr<Queue> null;                 /* the stream NULL */
  std::vector<std::shared_ptr<Queue>> retired; /* destroyed, but not done yet */
};

/* A stream that is not destroyed. */
struct Stream
{
  std::shared_ptr<Context> context;
  std::shared_ptr<Queue> queue;
  bool blocking; /* it and the stream NULL wait for each other */
};

/* The time of an event's last recording, which may still be pending. */
class Moment;

struct Event
{
  std::shared_ptr<Context> context;
  std::shared_ptr<Moment> last; /* NULL: never recorded */
  bool timed;
};

/* A table of the handles of one kind of object. */
template <typename Handle, typename Object> class Handles {
public:
  /* `first` separates the number ranges of the kinds. */
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

/* Protects the state and everything it refers to, except queues and moments. */
extern std::mutex &state_lock;
extern State &state;

#define EMULATED_MAX_DEVICES 8

CUresult check_device (CUdevice device);
CUresult current_context (std::shared_ptr<Context> *context);

/* Copy the object of a handle. For the stream NULL, the queue is the current context's.
 * `of_current`: refuses streams of other contexts. */
CUresult find_stream (CUstream handle, bool of_current, Stream *stream);
CUresult find_event (CUevent handle, Event *event);

/* Ends the program with a message, if errors of the program under test are to be fatal. */
void accuse (const char *what);
/* Calls accuse() if something could not be freed; returns the status. */
CUresult freed (CUresult status, const char *what);

/* Passes the fault point of context pushes; returns whether contexts are lost. They stay
 * lost until the next arming. */
bool push_fault (const char *call);

/* Count the live objects in all contexts. */
void count_memory (long *device, long *pinned);
void count_handles (long *streams, long *events);
void count_primaries (long *contexts);

/* Whether a context that is being destroyed still has memory. */
bool has_memory (const Context *context);
/* For a context that is being destroyed. */
void end_streams (const std::shared_ptr<Context> &context);
void free_memory_of (const Context *context);
/* Waits for all of the context's streams; with `only_blocking`, only for those that
 * synchronize with the stream NULL. */
void wait_for_streams (
    const std::shared_ptr<Context> &context, bool only_blocking = false);
