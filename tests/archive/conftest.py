# SPDX-License-Identifier: LGPL-2.1-or-later
"""Small clips, filter-archive on them, and what their files hold."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import gi
import psutil
import pytest

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

ROOT = Path(__file__).parents[2]
PROGRAM = str(ROOT / "pipelines/filter-archive")
FILTER = "cudasepconv sigma=2"
Found = TypeVar("Found")
SLOW = "identity sleep-time=30000"  # us a frame

VIDEO = ("videotestsrc pattern=ball num-buffers={} ! video/x-raw,width=160,height=120,framerate={}"
         " ! x264enc key-int-max=20 bframes=2 option-string=open-gop={}")
SOUND = "audiotestsrc num-buffers={} ! {} ! queue ! muxer."
SUBTITLES = "filesrc location='{}' ! subparse ! text/x-raw,format=utf8 ! queue ! muxer."
SUBRIP = "1\n00:00:00,100 --> 00:00:00,500\nHello & you\n"


def make_clip(path: Path, frames: int, open_gop: bool = False) -> None:
    """An MP4 file with a list of edits, or a Matroska file with subtitles; with sound as long as the
    video."""
    mp4 = path.suffix == ".mp4"
    video = VIDEO.format(frames, "30000/1001" if mp4 else "25/1", int(open_gop))
    sound = SOUND.format(round(frames * (1.44 if mp4 else 1.72)),
                         "lamemp3enc ! mpegaudioparse" if mp4 else "vorbisenc")
    muxer = "mp4mux" if mp4 else "matroskamux"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".srt").write_text(SUBRIP)
    text = "" if mp4 else SUBTITLES.format(path.with_suffix(".srt"))
    subprocess.run(["bash", "-c", f"gst-launch-1.0 -q {video} ! h264parse ! {muxer} name=muxer !"
                    f" filesink location='{path}' {sound} {text}"], check=True, timeout=60)


def make_pictures(path: Path) -> None:
    """A video of JPEG pictures."""
    muxer = "avimux" if path.suffix == ".avi" else "matroskamux"
    subprocess.run(["bash", "-c", "gst-launch-1.0 -q videotestsrc pattern=ball num-buffers=150"
                    " ! video/x-raw,width=160,height=120,framerate=25/1"
                    f" ! jpegenc ! {muxer} ! filesink location='{path}'"], check=True, timeout=60)


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short and long files, and among them two without video: noise, and subtitles that are none."""
    Gst.init(None)
    folder = tmp_path_factory.mktemp("clips")
    make_clip(folder / "short.mp4", 20)
    make_clip(folder / "sub/a short.mkv", 20)
    make_clip(folder / "long.mp4", 200)
    make_clip(folder / "sub/long.mkv", 200, open_gop=True)
    (folder / "corrupt.mp4").write_bytes(random.Random(1).randbytes(20000))
    (folder / "sub/titles.mkv").write_text("WEBVTT\n\nNOTE subtitles to come\n")
    (folder / "notes.txt").write_text("no video")
    return folder


@pytest.fixture
def few(tmp_path: Path, clips: Path) -> Path:
    """Six equal files."""
    folder = tmp_path / "few"
    folder.mkdir()
    for i in range(6):
        (folder / f"{i}.mp4").write_bytes((clips / "short.mp4").read_bytes())
    return folder


def start(*arguments: object, pipeline: str = FILTER) -> subprocess.Popen[str]:
    """As a terminal starts it: a process group of its own that hears Ctrl-C."""
    return subprocess.Popen(
        ["env", "--default-signal=INT", PROGRAM, *map(str, arguments), "--", pipeline],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finish(process: subprocess.Popen[str], status: int) -> tuple[str, str]:
    """Its stdout and stderr. One that hangs is not left to the tests behind."""
    try:
        out, errors = process.communicate(timeout=100)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    print(out, errors)
    assert process.returncode == status
    return out, errors


def archive(*arguments: object, pipeline: str = FILTER, status: int = 0) -> tuple[str, str]:
    return finish(start(*arguments, pipeline=pipeline), status)


def filter_file(source: Path, output: Path, pipeline: str = FILTER) -> None:
    """On one core, as with --threads 1: x264 encodes otherwise with other numbers of threads."""
    subprocess.run(["taskset", "-c", "0", "filter-file", "--filter", pipeline, source, output],
                   check=True, timeout=60, stderr=subprocess.DEVNULL)


def buffers(path: Path, elements: str) -> list[tuple[int, str]]:
    """The times and checksums of what comes out of these elements."""
    pipeline = Gst.parse_launch(f"filesrc name=source ! {elements} ! appsink name=sink sync=false")
    pipeline.get_by_name("source").props.location = str(path)
    pipeline.set_state(Gst.State.PLAYING)
    found = []
    while sample := pipeline.get_by_name("sink").emit("pull-sample"):
        buffer = sample.get_buffer()
        time_shown = sample.get_segment().to_stream_time(Gst.Format.TIME, buffer.pts)
        data = buffer.extract_dup(0, buffer.get_size())
        found.append((time_shown, hashlib.sha256(data).hexdigest()))
    pipeline.set_state(Gst.State.NULL)
    assert found
    return found


def frames(path: Path) -> list[tuple[int, str]]:
    return buffers(path, "decodebin ! video/x-raw")


def sound(path: Path) -> list[tuple[int, str]]:
    return buffers(path, "parsebin ! audio/x-vorbis" if path.suffix == ".mkv"
                   else "parsebin ! audio/mpeg")


def subtitles(path: Path) -> list[tuple[int, str]]:
    return buffers(path, "parsebin ! text/x-raw")


def results(folder: Path) -> set[str]:
    """All that lies in a folder of results but for the manifest, unfinished files, too."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")
            if path.is_file() and path.name != ".filter-archive.jsonl"}


def wait_for(condition: Callable[[], Found], process: subprocess.Popen[str]) -> Found:
    """What the condition gives, once that is true."""
    end = time.monotonic() + 60
    while not (found := condition()):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    return found


def filtering(process: int) -> list[psutil.Process]:
    """The descendants of `process` that run filter-file to filter a file or a part of one. All of them
    run at the end of the search. A process that is ending has no arguments any more, whatever it did."""
    def is_filtering(child: psutil.Process) -> bool:
        try:
            arguments = child.cmdline()
            return (child.name() == "filter-file" and "--filter" in arguments
                    and "--list-parts" not in arguments
                    and child.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    found = psutil.Process(process).children(recursive=True)
    for _ in range(2):
        found = [child for child in found if is_filtering(child)]
    return found


def interrupt(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGINT)
