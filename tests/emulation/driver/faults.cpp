/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "device-memory.h"
#include "emulated-faults.h"

#include <atomic>

/* The armed point. */
static std::mutex &lock = *new std::mutex;
static unsigned armed_kinds;
static long left; /* points until the one that fails; 0: not armed */
static bool lasts, context_lost;
static const char *fired;
static unsigned fired_kind;

static std::atomic<long> heap, threads;

void
emulated_faults_arm (unsigned kinds, long n, int lasting)
{
  const std::lock_guard<std::mutex> guard (lock);

  armed_kinds = kinds;
  left = n;
  lasts = lasting != 0;
  context_lost = false;
  fired = nullptr;
  fired_kind = 0;
}

const char *
emulated_faults_fired (unsigned *kind)
{
  const std::lock_guard<std::mutex> guard (lock);

  *kind = fired_kind;
  return fired;
}

/* With the lock held. */
static bool
is_due (EmulatedFaultKind kind)
{
  if ((armed_kinds & kind) == 0 || left == 0)
    return false;
  if (left > 1) {
    left--;
    return false;
  }
  if (!lasts)
    left = 0;
  return true;
}

int
emulated_fault (EmulatedFaultKind kind, const char *call)
{
  const std::lock_guard<std::mutex> guard (lock);

  if (!is_due (kind))
    return false;
  if (fired == nullptr) {
    fired = call;
    fired_kind = kind;
  }
  return true;
}

bool
push_fault (const char *call)
{
  const bool due = emulated_fault (EMULATED_FAULT_CONTEXT, call);
  const std::lock_guard<std::mutex> guard (lock);

  context_lost = context_lost || due;
  return context_lost;
}

int
emulated_faults_lost_context (void)
{
  const std::lock_guard<std::mutex> guard (lock);

  return context_lost;
}

void
emulated_live (EmulatedLive *live)
{
  *live = {};
  count_memory (&live->device_memory, &live->pinned_memory);
  count_handles (&live->streams, &live->events);
  count_primaries (&live->contexts);
  live->heap = heap;
  live->threads = threads;
}

void
emulated_live_count (EmulatedFaultKind kind, int n)
{
  (kind == EMULATED_FAULT_HEAP ? heap : threads) += n;
}
