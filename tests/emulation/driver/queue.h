/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* queue: the work of one stream, done in order by a thread of its own. */
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

class Queue {
public:
  Queue ();
  /* Finishes what is queued. */
  ~Queue ();
  void enqueue (std::function<void ()> work);
  /* How much has been queued so far; and waits until so much is done. */
  uint64_t mark ();
  void wait (uint64_t until);
  /* For what has been queued so far. */
  void wait ();
  bool idle ();

private:
  void serve ();
  void dawdle ();

  std::mutex lock;
  std::condition_variable arrived, finished;
  std::deque<std::function<void ()>> work;
  uint64_t queued = 0, done = 0;
  bool ending = false;
  std::minstd_rand random;
  std::thread worker; /* from the first work on */
};

class Moment {
public:
  void reach ();
  void wait ();
  bool reached ();
  /* Only once it is reached. */
  std::chrono::steady_clock::time_point when ();

private:
  std::mutex lock;
  std::condition_variable changed;
  bool is_reached = false;
  std::chrono::steady_clock::time_point at;
};
