/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* emulated-threads: the threads of one block at a time, as contexts that switch where
 * they wait for each other. */
#include "emulated-switch.h"

#include "emulated-instructions.h"
#include "emulated-launch.h"
#include "emulated-threads.h"

#include <algorithm>
#include <fenv.h>
#include <mutex>
#include <stdlib.h>
#include <string.h>
#include <vector>

#define STACK_BYTES (256 * 1024) /* sanitizers take several times the usual */
/* What a block finds behind its shared memory is noise, too. */
#define GUARD_BYTES 4096

uint3 threadIdx, blockIdx;
dim3 gridDim, blockDim;
bool emulated_is_early;
alignas (1024) unsigned char emulated_dynamic_shared[EMULATED_MAX_SHARED];

/* Who has come to a barrier, how often all have, and what is to be done for them before they go on. */
struct Barrier
{
  int members, arrived, passed;
  void (*work) (WarpExchange &);
};

struct Thread
{
  SwitchPoint at;
  uint3 index;
  bool done;
  const Barrier *barrier; /* where it waits, or NULL */
  int passed;             /* of the barrier, when it came */
  std::vector<char> stack;
};

/* One launch at a time. */
static std::mutex launching;
static std::vector<Thread> threads (EMULATED_MAX_THREADS);
static SwitchPoint scheduler;
static int running;  /* index of the thread */
static int in_block; /* how many threads there are */
static const std::function<void ()> *running_kernel;
static Barrier block_barrier, warp_barrier[EMULATED_MAX_THREADS / 32];
static WarpExchange exchanges[EMULATED_MAX_THREADS / 32];
static bool backwards;

static void
pass (Barrier *barrier)
{
  if (barrier->members > 0 && barrier->arrived == barrier->members) {
    if (barrier->work != nullptr)
      barrier->work (emulated_exchange ());
    barrier->arrived = 0;
    barrier->passed++;
  }
}

static bool
waits (const Thread &thread)
{
  return thread.barrier != nullptr && thread.barrier->passed == thread.passed;
}

/* Makes the next thread of the block that can go on the running one, or returns false. */
static bool
choose_next ()
{
  for (int i = 0; i < in_block; i++) {
    const int before = running;

    running = backwards ? (before + in_block - 1) % in_block
                        : (before + 1) % in_block;
    if (!threads[running].done && !waits (threads[running])) {
      threadIdx = threads[running].index;
      return true;
    }
  }
  return false;
}

/* Whoever comes last does `work` for all, unless it is NULL. */
static void
wait_at (Barrier *barrier, void (*work) (WarpExchange &))
{
  Thread *const me = &threads[running];

  me->barrier = barrier;
  me->passed = barrier->passed;
  barrier->arrived++;
  barrier->work = work;
  pass (barrier);
  if (!waits (*me))
    return;
#ifdef ADDRESS_SANITIZER
  /* switch_to() can tell it of the scheduler's stack alone as the one to come back from. */
  switch_to (&me->at, &scheduler);
#else
  switch_to (&me->at, choose_next () ? &threads[running].at : &scheduler);
#endif
}

/* A thread that has left no longer counts. */
static void
leave (Barrier *barrier)
{
  barrier->members--;
  pass (barrier);
}

void
__syncthreads ()
{
  wait_at (&block_barrier, nullptr);
}

void
emulated_meet (void (*work) (WarpExchange &))
{
  wait_at (&warp_barrier[running / 32], work);
}

void
__syncwarp (unsigned)
{
  emulated_meet (nullptr);
}

WarpExchange &
emulated_exchange ()
{
  return exchanges[running / 32];
}

static void
hand_out (WarpExchange &exchange)
{
  memcpy (exchange.loaded[1], exchange.loaded[0], sizeof exchange.loaded[0]);
}

/* What another thread of the warp has for `value`. */
static unsigned
value_of (unsigned thread, unsigned value)
{
  WarpExchange &exchange = emulated_exchange ();

  exchange.loaded[0][running % 32] = value;
  emulated_meet (hand_out);
  return exchange.loaded[1][thread % 32];
}

int
__shfl_sync (unsigned, int value, int lane)
{
  return (int) value_of (
      (unsigned) (running / 32 * 32 + lane % 32), (unsigned) value);
}

unsigned
__shfl_up_sync (unsigned, unsigned value, unsigned step)
{
  const unsigned me = (unsigned) running;

  return value_of (me % 32 >= step ? me - step : me, value);
}

/* A thread's life: one block after the other. */
static void
run_thread ()
{
  switch_started (&scheduler);
  for (;;) {
    switch_to (&threads[running].at, &scheduler);
    (*running_kernel) ();
    threads[running].done = true;
    leave (&warp_barrier[running / 32]);
    leave (&block_barrier);
  }
}

static void
make_thread (int i)
{
  ucontext_t start;

  threads[i].stack.resize (STACK_BYTES);
  getcontext (&start);
  start.uc_stack.ss_sp = threads[i].stack.data ();
  start.uc_stack.ss_size = threads[i].stack.size ();
  start.uc_link = nullptr;
  makecontext (&start, run_thread, 0);
  running = i;
  switch_to_start (&scheduler, &threads[i].at, &start);
}

static void
start_thread (int i)
{
  Thread *thread = &threads[i];

  if (thread->stack.empty ())
    make_thread (i);
  thread->index = { i % blockDim.x, i / blockDim.x % blockDim.y,
    i / (blockDim.x * blockDim.y) };
  thread->done = false;
  thread->barrier = nullptr;
  block_barrier.members++;
  warp_barrier[i / 32].members++;
}

static void
run_block (int n, size_t shared)
{
  /* Whoever relies on an order is wrong about half of the blocks. */
  backwards = !backwards;
  if (shared > 0)
    memset (emulated_dynamic_shared, 0xa5,
        std::min (shared + GUARD_BYTES, sizeof emulated_dynamic_shared));
  block_barrier = Barrier ();
  for (Barrier &barrier : warp_barrier)
    barrier = Barrier ();
  for (int i = 0; i < n; i++)
    start_thread (i);
  in_block = n;
  running = backwards ? 0 : n - 1;
  while (choose_next ())
    switch_to (&scheduler, &threads[running].at);
  /* A GPU would hang. */
  if (block_barrier.members > 0)
    abort ();
}

void
emulated_run (
    dim3 grid, dim3 block, size_t shared, const std::function<void ()> &thread)
{
  const std::lock_guard<std::mutex> guard (launching);
  fenv_t caller;

  /* A GPU computes with denormals, whatever a library that was built with -ffast-math has made of this
   * thread. */
  fegetenv (&caller);
  fesetenv (FE_DFL_ENV);
  running_kernel = &thread;
  gridDim = grid;
  blockDim = block;
  for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++)
        run_block ((int) (block.x * block.y * block.z), shared);
  fesetenv (&caller);
}
