# SPDX-License-Identifier: LGPL-2.1-or-later
"""What workers of filter-archive do with one file: filter-file filters it whole or in parts.

Each attempt writes under a name of its own in the folder of the result and renames it, so that a
result is whole or not there, even while a worker that was taken for dead still writes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from distributed import Worker, get_worker

ATTEMPT = ".filter-archive-attempt-"  # how names of unfinished files begin
PART = ".filter-archive-part-"        # and those of filtered parts, until they are joined


class Failure(Exception):
    """A sentence for the user."""


@dataclass(frozen=True)
class Task:
    """A file to filter. `key` begins the names of its parts: other work has another key."""

    program: str  # filter-file, by its path, or by its name on a worker's PATH
    pipeline: str
    source: str
    output: str
    key: str
    threads: int | None  # processor cores for it; None: those of the worker


@dataclass(frozen=True)
class Done:
    """What a run of filter-file says. `lines` is its stdout without the frames."""

    frames: int
    lines: list[str]
    notes: list[str]


def dask_setup(_worker: Worker) -> None:
    """Called by Dask in workers of this machine: a terminal's Ctrl-C is for the program alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def stay_on_cores(threads: int | None) -> None:
    """Workers of a local cluster, which are numbered, share the machine's cores out. The programs that
    a thread starts stay on its cores, and count no others."""
    if threads is not None:
        all_cores = sorted(os.sched_getaffinity(os.getpid()))
        first = int(get_worker().name) * threads
        os.sched_setaffinity(0, {all_cores[(first + i) % len(all_cores)] for i in range(threads)})


def run(task: Task, *arguments: str) -> Done:
    """filter-file ends when its worker does, and knows nothing of a terminal's Ctrl-C."""
    stay_on_cores(task.threads)
    done = subprocess.run(["setpriv", "--pdeathsig", "TERM", task.program, *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          encoding="utf-8", errors="replace", start_new_session=True)
    notes = [note.removeprefix("filter-file: ").removeprefix(f"{task.source}: ")
             for note in done.stderr.splitlines() if note]
    if done.returncode < 0:
        raise Failure(f"filter-file was ended by {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise Failure(notes[-1] if notes else f"filter-file ended with {done.returncode}")
    frames = re.search(r"^frames +(\d+)", done.stdout, re.MULTILINE)
    return Done(int(frames[1]) if frames else 0, done.stdout.split(), notes)


@contextlib.contextmanager
def attempt(result: str) -> Iterator[str]:
    """The name to write a result under. At the end it gets its own."""
    folder, name = os.path.split(result)
    suffix = re.sub(r"^.*?((\.\w+)(\.gdp)?)$", r"\1", name)
    path = os.path.join(folder, f"{ATTEMPT}{uuid.uuid4().hex}{suffix}")
    try:
        yield path
        os.replace(path, result)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def list_parts(task: Task, seconds: float) -> Done:
    """Its `lines` are the parts to filter by themselves; one: the file is filtered whole."""
    if seconds == 0:
        return Done(0, ["0:"], [])
    return run(task, "--filter", task.pipeline, "--list-parts", str(seconds), task.source)


def filter_whole(task: Task) -> Done:
    with attempt(task.output) as path:
        done = run(task, "--filter", task.pipeline, task.source, path)
    return Done(done.frames, [], [note.replace(path, task.output) for note in done.notes])


def part_path(task: Task, part: str) -> str:
    folder, name = os.path.split(task.output)
    return os.path.join(
        folder, f"{PART}{task.key}-{part.split(':')[0]}{os.path.splitext(name)[1]}.gdp")


def filter_part(task: Task, part: str) -> Done:
    """A part that an earlier run has left is taken as it is."""
    result = part_path(task, part)
    if os.path.exists(result):
        return Done(0, [], [])
    with attempt(result) as path:
        return run(task, "--filter", task.pipeline, "--part", part, task.source, path)


def join_parts(task: Task, parts: list[str], _filtered: list[Done]) -> Done:
    """`_filtered` makes Dask wait for the parts. Their frames are counted already."""
    with attempt(task.output) as path:
        done = run(task, "--join", task.source, path, *(part_path(task, part) for part in parts))
    return Done(0, [], [note.replace(path, task.output) for note in done.notes])
