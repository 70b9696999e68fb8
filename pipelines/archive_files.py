# SPDX-License-Identifier: LGPL-2.1-or-later
"""The files of an archive, and the manifest of those that are filtered."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

INPUTS = {".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts",
          ".mxf", ".ogv", ".ts", ".webm", ".wmv"}
OUTPUTS = (".mkv", ".mp4", ".webm", ".raw")  # as filter-file writes them
MANIFEST = ".filter-archive.jsonl"

Entry = dict[str, str | int]


@dataclass(frozen=True)
class Job:
    """A file, and what its result depends on: a change of any of it is other work."""

    source: Path
    output: Path
    size: int
    mtime: int  # ns
    pipeline: str

    @property
    def work(self) -> Entry:
        return {"source": str(self.source), "output": str(self.output), "size": self.size,
                "mtime": self.mtime, "pipeline": self.pipeline}

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.work).encode()).hexdigest()[:16]


def find_jobs(folder: Path, results: Path, pipeline: str, suffix: str | None) -> Iterator[Job]:
    """One a video file below the folder, in the order of names. Hidden files and results are none."""
    for path, folders, names in os.walk(folder, followlinks=False):
        here = Path(path)
        folders[:] = sorted(name for name in folders if not name.startswith(".")
                            and (here / name).resolve() != results.resolve())
        for name in sorted(names):
            source = here / name
            if name.startswith(".") or source.suffix.lower() not in INPUTS \
                    or not source.is_file():
                continue
            kept = source.suffix.lower() if source.suffix.lower() in OUTPUTS else ".mkv"
            output = (results / source.relative_to(folder)).with_suffix(suffix or kept)
            status = source.stat()
            yield Job(source, output, status.st_size, status.st_mtime_ns, pipeline)


class Busy(Exception):
    """Another run works on the same results."""


class Manifest:
    """Lines of JSON, of which the last of a result counts: one when work on it begins, one when it is
    done. One run at a time may write, from `with` on."""

    def __init__(self, results: Path) -> None:
        self.path = results / MANIFEST
        self.entries: dict[str, Entry] = {}
        self.file: TextIO | None = None
        if self.path.exists():
            self.read(self.path.read_text(encoding="utf-8"))

    def read(self, text: str) -> None:
        for line in text.splitlines():
            with contextlib.suppress(ValueError):  # a crash may have cut off a line
                entry = json.loads(line)
                self.entries[entry["output"]] = entry

    def __enter__(self) -> Manifest:
        self.file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise Busy from None
        print(file=self.file)  # ends a line that a crash has cut off
        return self

    def __exit__(self, *_: object) -> None:
        if self.file:
            self.file.close()

    def add(self, job: Job, state: str) -> None:
        entry: Entry = {**job.work, "state": state}
        if state == "done":
            entry["bytes"] = job.output.stat().st_size
        self.entries[str(job.output)] = entry
        print(json.dumps(entry), file=self.file, flush=True)

    def owns(self, job: Job) -> bool:
        """Whether a file that is there under the result's name is as this program has left it."""
        entry = self.entries.get(str(job.output))
        return entry is not None and (
            entry["state"] != "done" or entry["bytes"] == job.output.stat().st_size)

    def reason_to_filter(self, job: Job) -> str | None:
        """None: its result is there, whole."""
        entry = self.entries.get(str(job.output))
        if entry is None or not job.output.exists():
            return "missing"
        if entry["state"] != "done":
            return "not finished"
        return "changed" if any(entry[name] != value for name, value in job.work.items()) else None
