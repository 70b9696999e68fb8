#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""latency.py FRAMES: checks what GStreamer's latency tracer says of a pipeline whose elements are "blur" and "count".

The log of GST_TRACERS="latency(flags=element+pipeline)" with GST_DEBUG=GST_TRACER:7 comes on stdin. Each of
FRAMES frames has one latency of each element and one of the pipeline; and the latencies of a frame's
elements add up to the pipeline's, so that none is counted for another frame or another element.
"""
import re
import statistics
import sys

RECORD = re.compile(r"\b(element-latency|latency), .*?element=\(string\)([\w-]+), .*time=\(guint64\)(\d+)")
US_PER_NS = 1e-3


def read_latencies(log):
    """Microseconds, frame by frame, of each element and of "pipeline"."""
    latencies = {}
    for record in filter(None, map(RECORD.search, log)):
        kind, element, time = record.groups()
        name = "pipeline" if kind == "latency" else element
        latencies.setdefault(name, []).append(int(time) * US_PER_NS)
    return latencies


def main():
    frames = int(sys.argv[1])
    latencies = read_latencies(sys.stdin)
    for name, times in sorted(latencies.items()):
        print(f"{name:15} {len(times)} frames, {statistics.mean(times):9.1f} us")
    for name in ("blur", "count", "pipeline"):
        if len(latencies.get(name, [])) != frames:
            raise SystemExit(f"latency.py: {name} has not {frames} latencies")
    whole = latencies.pop("pipeline")
    # Those of sources and sinks begin or end elsewhere.
    parts = [times for name, times in latencies.items() if not re.search("src|sink", name)]
    missing = [total - sum(times) for total, *times in zip(whole, *parts)]
    print(f"not of an element: {max(missing, key=abs):.1f} us at most")
    # The tracer's own time between two elements.
    late = [m for m, total in zip(missing, whole) if abs(m) > 0.05 * total + 500]
    if len(late) > frames // 20:
        raise SystemExit(f"latency.py: the elements' latencies do not add up in {len(late)} frames")


if __name__ == "__main__":
    main()
