/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "queue.h"

#include <atomic>
#include <stdlib.h>

/* The longest pause before a piece of work, in us, from the environment: whoever does
 * not wait for it then comes too early. */
static unsigned
longest_delay ()
{
  static const unsigned delay = [] {
    const char *text = getenv ("EMULATED_GPU_DELAY_US");

    return text != nullptr ? (unsigned) strtoul (text, nullptr, 10) : 0;
  }();

  return delay;
}

Queue::Queue ()
{
  static std::atomic<unsigned> n;

  random.seed (++n);
}

Queue::~Queue ()
{
  {
    const std::lock_guard<std::mutex> guard (lock);

    ending = true;
  }
  arrived.notify_one ();
  if (worker.joinable ())
    worker.join ();
}

void
Queue::dawdle ()
{
  const unsigned longest = longest_delay ();

  if (longest > 0)
    std::this_thread::sleep_for (
        std::chrono::microseconds (random () % (longest + 1)));
}

void
Queue::serve ()
{
  std::unique_lock<std::mutex> guard (lock);

  for (;;) {
    arrived.wait (guard, [this] { return ending || !work.empty (); });
    if (work.empty ())
      return;
    {
      const std::function<void ()> run = std::move (work.front ());

      work.pop_front ();
      guard.unlock ();
      dawdle ();
      run ();
    }
    guard.lock ();
    done++;
    finished.notify_all ();
  }
}

void
Queue::enqueue (std::function<void ()> run)
{
  const std::lock_guard<std::mutex> guard (lock);

  if (!worker.joinable ())
    worker = std::thread (&Queue::serve, this);
  work.push_back (std::move (run));
  queued++;
  arrived.notify_one ();
}

uint64_t
Queue::mark ()
{
  const std::lock_guard<std::mutex> guard (lock);

  return queued;
}

void
Queue::wait ()
{
  wait (mark ());
}

void
Queue::wait (uint64_t until)
{
  std::unique_lock<std::mutex> guard (lock);

  finished.wait (guard, [this, until] { return done >= until; });
}

bool
Queue::idle ()
{
  const std::lock_guard<std::mutex> guard (lock);

  return done == queued;
}

void
Moment::reach ()
{
  const std::lock_guard<std::mutex> guard (lock);

  at = std::chrono::steady_clock::now ();
  is_reached = true;
  changed.notify_all ();
}

void
Moment::wait ()
{
  std::unique_lock<std::mutex> guard (lock);

  changed.wait (guard, [this] { return is_reached; });
}

bool
Moment::reached ()
{
  const std::lock_guard<std::mutex> guard (lock);

  return is_reached;
}

std::chrono::steady_clock::time_point
Moment::when ()
{
  const std::lock_guard<std::mutex> guard (lock);

  return at;
}
