# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the comparisons of the CPU with other libraries share: timing, frames, the report."""

import json
import os
import statistics
import subprocess
import time

# As bench-grid.h has them for kerncheck.
ROTATION = 64 << 20
BATCH_S = 5e-3
SAMPLES = 7
LIMIT_S = 60e-3
LONG_S = 50e-3
MIN_FRAMES = 4
THREADS = 2


def median_us(call, frames):
    """Microseconds of call(frame), as bench-timer.c: batches that take a while, each frame
    in turn. A call that takes long is the only sample."""
    call(0)
    start = time.perf_counter()
    call(1 % frames)
    each = time.perf_counter() - start
    if each > LONG_S:
        return each * 1e6
    batch = int(BATCH_S / each) + 1
    frame, samples = 2 % frames, []
    for _ in range(max(1, min(SAMPLES, int(LIMIT_S / (each * batch))))):
        start = time.perf_counter()
        for _ in range(batch):
            call(frame)
            frame = (frame + 1) % frames
        samples.append((time.perf_counter() - start) / batch * 1e6)
    return statistics.median(samples)


def frames_in_turn(frame_bytes, images):
    """How many frames of so many images each rotate through the memory that kerncheck uses."""
    return max(MIN_FRAMES, -(-ROTATION // (images * frame_bytes)))


def kerncheck_report(kerncheck, scratch, *options):
    """Header and rows of kerncheck --bench; rows are none where nothing could be measured."""
    path = os.path.join(scratch, "rows.json")
    if os.path.exists(path):
        os.remove(path)
    run = subprocess.run([kerncheck, "--bench", "--backend", "cpu", *options, "--json", path],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=False)
    if "SKIP" in run.stdout:
        return {}, []
    if run.returncode != 0:
        raise SystemExit(run.stdout)
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    return report["header"], report["rows"]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown"


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def write_report(path, report):
    """A row stays on one line."""
    lines = ",\n    ".join(json.dumps(row) for row in report["rows"])
    head = json.dumps({**report, "rows": []}, indent=2)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head.replace('"rows": []', '"rows": [\n    %s\n  ]' % lines) + "\n")
