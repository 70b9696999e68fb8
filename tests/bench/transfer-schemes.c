/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "transfer-schemes.h"

#include "transfer-feeder.h"
#include "transfer-lanes.h"

static const Scheme schemes[] = {
  { "serial-pageable", "one stream, up, kernel, down, wait; ordinary memory",
      lanes_run_serial, 1, 1, 1, RING_PAGEABLE, true, false },
  { "serial-pinned", "the same with pinned memory", lanes_run_serial, 1, 1, 1,
      RING_PINNED, false, false },
  { "serial-pinned-spin", "the same, waiting in a spin", lanes_run_serial, 1, 1,
      1, RING_PINNED, false, true },
  { "serial-mapped", "kernels on pinned host memory, no copies",
      lanes_run_serial, 1, 1, 1, RING_MAPPED, false, false },
  { "depth-first", "3 streams, a frame each: up, kernel, down of a frame",
      lanes_run_depth_first, 3, 1, 1, RING_PINNED, false, false },
  { "breadth-first", "3 streams: all ups, all kernels, all downs",
      lanes_run_breadth_first, 3, 1, 1, RING_PINNED, false, false },
  { "copy-breadth-first", "3 streams: all ups, downs of before, kernels",
      lanes_run_copies_first, 6, 1, 1, RING_PINNED, false, false },
  { "ring-1", "our ring: a stream a stage, 1 frame in flight", feeder_run, 1, 1,
      1, RING_PINNED, false, false },
  { "ring-2", "2 in flight", feeder_run, 2, 1, 1, RING_PINNED, false, false },
  { "ring-3", "3 in flight", feeder_run, 3, 1, 1, RING_PINNED, false, false },
  { "ring-4", "4 in flight", feeder_run, 4, 1, 1, RING_PINNED, false, false },
  { "ring-4-slices-2", "in 2 parts", feeder_run, 4, 1, 2, RING_PINNED, false,
      false },
  { "ring-4-slices-4", "in 4 parts", feeder_run, 4, 1, 4, RING_PINNED, false,
      false },
  { "ring-4-slices-8", "in 8 parts", feeder_run, 4, 1, 8, RING_PINNED, false,
      false },
  { "ring-2-feeders-2", "2 rings, fed by 2 threads", feeder_run, 2, 2, 1,
      RING_PINNED, false, false },
  { "ring-4-mapped", "kernels on pinned host memory", feeder_run, 4, 1, 1,
      RING_MAPPED, false, false },
  { "ring-4-pageable", "copies of ordinary memory as it is", feeder_run, 4, 1,
      1, RING_PAGEABLE, true, false },
  { "ring-4-foreign", "ordinary memory, copied to pinned by the CPU",
      feeder_run, 4, 1, 1, RING_PINNED, true, false },
  { "ring-2-foreign-feeders-2", "the same, 2 rings", feeder_run, 2, 2, 1,
      RING_PINNED, true, false },
};

int
scheme_count (void)
{
  return (int) (sizeof schemes / sizeof schemes[0]);
}

const Scheme *
scheme_at (int index)
{
  return &schemes[index];
}
