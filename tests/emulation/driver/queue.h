/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* queue: the work of one stream, executed in order on its own thread. */
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
  /* Waits for all queued work. */
  ~Queue ();
  void enqueue (std::function<void ()> work);
  /* mark() returns the number of items queued so far; wait() waits until that number is
   * done. */
  uint64_t mark ();
  void wait (uint64_t until);
  /* Waits for everything queued so far. */
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
  std::thread worker; /* started with the first item */
};

class Moment {
public:
  void reach ();
  void wait ();
  bool reached ();
  /* Only after the moment is reached. */
  std::chrono::steady_clock::time_point when ();

private:
  std::mutex lock;
  std::condition_variable changed;
  bool is_reached = false;
  std::chrono::steady_clock::time_point at;
};
