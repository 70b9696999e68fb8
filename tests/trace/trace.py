#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""trace.py RECORDER KERNCHECK [SUITE]: checks what elements and engine report through NVTX.

Pipelines run with the library RECORDER in a profiler's place. The elements are those of
GST_PLUGIN_PATH. SUITE, if there is one, is the gst-check suite: elements have the emulated GPU
then, and its sweep over faults shows that ranges end on all ways out.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Callable

from recorded_ranges import Range, Recording, read

FRAMES = 12
DEPTH = 3
SOURCE = f"videotestsrc num-buffers={FRAMES} ! video/x-raw,format=NV12,width=320,height=240"


def record(*command: str, profiler: str, **environment: str) -> tuple[Recording, str]:
    """What a program that ends well reports, and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recording"
        done = subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env=os.environ | environment
            | {"NVTX_INJECTION64_PATH": profiler, "TRACE_RECORDING": str(file)})
        assert done.returncode == 0, done.stdout
        return read(file) if file.exists() else Recording(), done.stdout


def launch(elements: str, profiler: str) -> Recording:
    recording, output = record("gst-launch-1.0", "-q", *f"{SOURCE} ! {elements} ! fakesink".split(),
                               profiler=profiler)
    assert output == "", output
    return recording


def named(recording: Recording, name: str) -> Range:
    """The ranges of the one thread of this name."""
    threads = [thread for thread, its in recording.thread_names.items() if its == name]
    assert len(threads) == 1, (name, recording.thread_names)
    return recording.threads[threads[0]]


def check_frames(recording: Recording) -> list[Range]:
    """One element's frames: each once, in its slot, submitted in order on one thread, and pushed by
    the thread that has the pad's name. Returns the ranges in which they were submitted."""
    assert recording.domains == {"gst-cudasepconv"}, recording.domains
    assert recording.frames == [(n, n % DEPTH) for n in range(FRAMES)], recording.frames
    submitted = recording.find("submit")
    assert [part.number for part in submitted] == list(range(FRAMES))
    assert len({part.thread for part in submitted}) == 1
    pusher = named(recording, "blur:src")
    assert len(pusher.find("push")) == FRAMES, pusher.labels()
    assert submitted[0].thread != pusher.thread
    return submitted


def cpu_frames(profiler: str) -> None:
    recording = launch(f"cudasepconv name=blur backend=cpu sigma=5 ring-depth={DEPTH}", profiler)
    for part in check_frames(recording):
        assert part.labels() == ["compute, slice 0"], part
        assert part.within[0].labels() == ["filter"], part
        assert part.within[0].within[0].labels().count("pass") > 0, part
    assert not recording.find("wait") and not recording.streams
    others = set(recording.thread_names.values()) - {"blur:src"}
    assert all(re.fullmatch(r"gst-cudasepconv worker \d+", name) for name in others), others


def cpu_elements(profiler: str) -> None:
    """The second element works within what the first one pushes; each mode has its name."""
    recording = launch("cudasepconv backend=cpu sigma=2 gamma=linear ! cudahisto backend=cpu interval=0"
                       " ! cudahisto backend=cpu mode=equalize ! cudahisto backend=cpu mode=overlay"
                       " ! cudasepconv backend=cpu zones=<<0.2,0.2,0.5,0.5>> roi-mode=inside", profiler)
    assert len(recording.frames) == 5 * FRAMES, recording.frames
    outer = recording.find("push")
    assert sum(len(part.find("submit")) > 0 for part in outer) == 4 * FRAMES
    for label in ("filter", "light", "count", "equalize", "overlay", "regions"):
        assert len(recording.find(label)) >= FRAMES, label


def no_profiler(profiler: str) -> None:
    """A profiler's library that is not there is nothing that elements speak of."""
    assert launch("cudasepconv backend=cpu", profiler + ".absent") == Recording()


def ring(profiler: str, kerncheck: str) -> None:
    """The engine's frames end, also those that are in flight when their ring is freed."""
    recording, _ = record(kerncheck, "--quick", "--check", "ring/", profiler=profiler)
    assert len(recording.frames) > 100, recording.frames


def gpu_slices(profiler: str) -> None:
    """All slices of a frame go up, are computed and go down, each in its turn."""
    slices = 4
    recording = launch(f"cudasepconv name=blur backend=cuda sigma=2 ring-depth={DEPTH} slices={slices}",
                       profiler)
    for part in check_frames(recording):
        labels = part.labels()
        for label in ("up", "compute"):
            assert [text for text in labels if text.startswith(label)] \
                == [f"{label}, slice {i}" for i in range(slices)], labels
        down = [text for text in labels if text.startswith("down")]
        assert down == sorted(set(down)) and down[-1] == f"down, slice {slices - 1}", labels
        for i in range(slices):
            assert labels.index(f"up, slice {i}") < labels.index(f"compute, slice {i}"), labels
    waited = named(recording, "blur:src").find("wait")
    assert [part.number for part in waited] == list(range(FRAMES)), waited
    assert not recording.find("copy in") and not recording.find("copy out")
    assert sorted(recording.streams.values()) \
        == [f"gst-cudasepconv {name}" for name in ("compute", "down", "up")], recording.streams


def gpu_foreign_memory(profiler: str) -> None:
    """Frames in memory that is not pinned are copied by the CPU."""
    alone = "identity drop-allocation=true"
    recording = launch(f"{alone} ! cudasepconv name=blur backend=cuda sigma=2 ring-depth={DEPTH} ! {alone}",
                       profiler)
    for part in check_frames(recording):
        assert part.labels() == ["copy in", "up, slice 0", "compute, slice 0", "down, slice 0"], part
    assert len(named(recording, "blur:src").find("wait")) == FRAMES


def gpu_faults(profiler: str, suite: str) -> None:
    """Calls that fail leave no range open; nor do frames that are dropped with them. Frames in the
    GPU's memory are left out: calls of GStreamer's CUDA library fail there, too."""
    recording, output = record(suite, "--backend", "cuda", "--skip", "faults-gpu-memory", "faults-",
                               profiler=profiler, FAULTS_PIPELINE="slices", FAULTS_STRIDE="61")
    assert " 0 failed" in output, output
    assert len(recording.find("submit")) > 100 and len(recording.frames) > 100


def main() -> None:
    profiler, kerncheck, suites = sys.argv[1], sys.argv[2], sys.argv[3:]
    checks: list[tuple[str, Callable[[], None]]] = [
        (check.__name__, lambda check=check: check(profiler))  # type: ignore[misc]
        for check in [cpu_frames, cpu_elements, no_profiler]
        + ([gpu_slices, gpu_foreign_memory] if suites else [])]
    checks.append(("ring", lambda: ring(profiler, kerncheck)))
    checks += [("gpu_faults", lambda: gpu_faults(profiler, suites[0]))] if suites else []
    failed = 0
    for name, check in checks:
        try:
            check()
            print(f"ok {name}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
    print(f"trace: {len(checks) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
