# SPDX-License-Identifier: LGPL-2.1-or-later
"""monitor-streams while it runs, and what it serves."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import gi
import numpy
import pytest

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402

ROOT = Path(__file__).parents[2]
PROGRAM = str(ROOT / "pipelines/monitor-streams")
SERVER = str(ROOT / "tests/rtsp-server.py")
PATIENCE = 60  # s, for what takes a moment on an idle machine
Found = TypeVar("Found")


class Monitor:
    """A `with` statement ends it, by Ctrl-C and within seconds."""

    def __init__(self, *arguments: object) -> None:
        # A shell that was started in the background ignores the signal, and so would its children.
        self.process = subprocess.Popen(
            ["env", "--default-signal=INT", PROGRAM, "--backend", "cpu", "--port", "0",
             *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("page     http://"), self.process.communicate()
        self.address = line.split()[1]
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port, self.query = parts.hostname, parts.port, parts.query

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.process.poll() is None:
            status, _, errors = self.end(signal.SIGINT)
            assert kind is not None or (status == 130 and "Traceback" not in errors), errors

    def end(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=PATIENCE)
        print(errors)
        return self.process.returncode, out, errors

    def open(self, path: str, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path, headers=headers or {})
        return connection.getresponse()

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], str]:
        with contextlib.closing(self.open(path, headers)) as response:
            return response.status, dict(response.getheaders()), response.read().decode()

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Their kind and data, without end."""
        with contextlib.closing(self.open("/events")) as response:
            assert response.getheader("Content-Type") == "text/event-stream"
            kind = ""
            for line in iter(response.readline, b""):
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)

    def event(self, kind: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next one of a kind, of the first input, that is as wanted."""
        end, last = time.monotonic() + PATIENCE, None
        for name, data in self.events():
            if name == kind and data["input"] == 1:
                last = data
                if wanted(data):
                    return data
            assert time.monotonic() < end, last
        raise AssertionError("the events have ended")

    def state(self, *states: str) -> dict[str, Any]:
        """Waits until the first input has one of them."""
        return self.event("input", lambda data: data["state"] in states)

    def pictures(self, path: str = "/pictures") -> Iterator[tuple[int, bytes]]:
        """The number of the input and a JPEG, without end."""
        with contextlib.closing(self.open(path)) as response:
            content_type = response.getheader("Content-Type")
            assert content_type == "multipart/x-mixed-replace; boundary=picture"
            while response.readline() == b"--picture\r\n":
                lines = iter(response.readline, b"\r\n")
                head = dict(line.decode().rstrip("\r\n").split(": ") for line in lines)
                jpeg = response.read(int(head["Content-Length"]))
                assert head["Content-Type"] == "image/jpeg" and jpeg.startswith(b"\xff\xd8")
                assert response.read(2) == b"\r\n"
                yield int(head["X-Input"]), jpeg

    def metrics(self) -> dict[tuple[str, ...], float]:
        """By name and labels, as Prometheus reads them."""
        status, headers, text = self.get("/metrics")
        assert status == 200 and headers["Content-Type"].startswith("text/plain; version=")
        return {(sample.name, *(sample.labels[label] for label in sorted(sample.labels, reverse=True))):
                sample.value for family in text_string_to_metric_families(text)
                for sample in family.samples}

    def frames(self, name: str) -> float:
        return self.metrics()["monitor_frames_total", name]


@pytest.fixture(scope="session", autouse=True)
def gstreamer() -> None:
    Gst.init(None)


def wait_for(condition: Callable[[], Found]) -> Found:
    """What the condition gives, once that is true."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def make_clip(path: Path, *parts: str, frames: int = 50) -> Path:
    """Patterns of videotestsrc, one after the other, each for so many frames at 25 a second."""
    sources = " ".join(f"videotestsrc num-buffers={frames} {part} ! parts." for part in parts)
    subprocess.run(["bash", "-c", "gst-launch-1.0 -q concat name=parts ! video/x-raw,width=160,height=120,"
                    "framerate=25/1,format=I420 ! x264enc speed-preset=ultrafast ! matroskamux"
                    f" ! filesink location='{path}' {sources}"], check=True, timeout=60)
    return path


def first_frame(pipeline: str) -> numpy.ndarray[Any, Any]:
    """The bytes of it."""
    launched = Gst.parse_launch(f"{pipeline} ! appsink name=sink sync=false")
    launched.set_state(Gst.State.PLAYING)
    buffer = launched.get_by_name("sink").emit("pull-sample").get_buffer()
    data = numpy.frombuffer(buffer.extract_dup(0, buffer.get_size()), numpy.uint8)
    launched.set_state(Gst.State.NULL)
    return data


class Camera:
    """tests/rtsp-server.py, which may be killed and come back at its address."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.start("0")

    def start(self, port: str) -> None:
        self.process = subprocess.Popen([SERVER, port], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("rtsp://")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def come_back(self) -> None:
        self.start(str(urllib.parse.urlsplit(self.address).port))


@pytest.fixture
def camera() -> Iterator[Camera]:
    found = Camera()
    yield found
    found.kill()


def run_program(*arguments: object) -> subprocess.CompletedProcess[str]:
    """For arguments that end it."""
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)


def resident(process: subprocess.Popen[str]) -> int:
    """Bytes of memory. `env` has become the program."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
