# SPDX-License-Identifier: LGPL-2.1-or-later
"""What nvtx-recorder has recorded, read back: the ranges of each thread, frames, names."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Range:
    """A range of one thread, with those within it."""
    thread: int
    label: str
    number: int
    within: list[Range] = field(default_factory=list)

    def labels(self) -> list[str]:
        """Of the ranges directly within."""
        return [part.label for part in self.within]

    def find(self, label: str) -> list[Range]:
        """All ranges of this label, at any depth."""
        return [found for part in self.within
                for found in ([part] if part.label == label else []) + part.find(label)]


@dataclass
class Recording:
    """All of one program; a Range without a label holds those of a thread that lie in no other."""
    threads: dict[int, Range] = field(default_factory=dict)
    frames: list[tuple[int, int]] = field(default_factory=list)  # number and slot
    thread_names: dict[int, str] = field(default_factory=dict)
    streams: dict[str, str] = field(default_factory=dict)  # by handle
    domains: set[str] = field(default_factory=set)

    def find(self, label: str) -> list[Range]:
        return [found for thread in self.threads.values() for found in thread.find(label)]


class NotBalanced(Exception):
    """A range or a frame ends that has not begun, or never ends."""


class _Reader:
    def __init__(self) -> None:
        self.recording = Recording()
        self.open: dict[int, list[Range]] = {}
        self.open_frames: set[str] = set()

    def _stack(self, thread: int) -> list[Range]:
        if thread not in self.open:
            outermost = Range(thread, "", 0)
            self.recording.threads[thread] = outermost
            self.open[thread] = [outermost]
        return self.open[thread]

    def begin(self, thread: int, text: str) -> None:
        number, label = text.split(" ", 1)
        begun = Range(thread, label, int(number))
        self._stack(thread)[-1].within.append(begun)
        self._stack(thread).append(begun)

    def end(self, thread: int, text: str) -> None:
        if len(self._stack(thread)) == 1:
            raise NotBalanced(f"thread {thread} ends a range that it has not begun {text}")
        self._stack(thread).pop()

    def start(self, thread: int, text: str) -> None:
        match = re.fullmatch(r"(\d+) frame (\d+), slot (\d+)", text)
        if not match:
            raise NotBalanced(f"thread {thread} starts no frame: {text}")
        self.open_frames.add(match[1])
        self.recording.frames.append((int(match[2]), int(match[3])))

    def stop(self, thread: int, text: str) -> None:
        if text not in self.open_frames:
            raise NotBalanced(f"thread {thread} stops frame {text}, which is not under way")
        self.open_frames.remove(text)

    def thread(self, _thread: int, text: str) -> None:
        number, name = text.split(" ", 1)
        self.recording.thread_names[int(number)] = name

    def stream(self, _thread: int, text: str) -> None:
        handle, name = text.split(" ", 1)
        self.recording.streams[handle] = name

    def domain(self, _thread: int, text: str) -> None:
        self.recording.domains.add(text)

    def finish(self) -> Recording:
        left = {thread: [part.label for part in stack[1:]]
                for thread, stack in self.open.items() if len(stack) > 1}
        if left or self.open_frames:
            raise NotBalanced(f"these never end: {left}, frames {self.open_frames}")
        return self.recording


def read(file: Path) -> Recording:
    reader = _Reader()
    calls = {"begin": reader.begin, "end": reader.end, "start": reader.start,
             "stop": reader.stop, "thread": reader.thread, "stream": reader.stream,
             "domain": reader.domain}
    for line in file.read_text().splitlines():
        thread, call, text = (line + " ").split(" ", 2)
        calls[call](int(thread), text.rstrip())
    return reader.finish()
