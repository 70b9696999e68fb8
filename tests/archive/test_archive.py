# SPDX-License-Identifier: LGPL-2.1-or-later
"""filter-archive, beside filter-file on the same clips."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from conftest import (
    SLOW,
    archive,
    filter_file,
    filtering,
    finish,
    frames,
    interrupt,
    make_pictures,
    results,
    sound,
    start,
    subtitles,
    wait_for,
)
from distributed import LocalCluster

TWO = ("--workers", 2, "--threads", 1, "--gpus", 0)


def test_results_are_those_of_filter_file(clips: Path, tmp_path: Path) -> None:
    """Of long files, which are joined of parts, all but what the encoder makes of its beginnings. Files
    without video are named at the end."""
    names = {"short.mp4", "sub/a short.mkv", "long.mp4", "sub/long.mkv"}
    _, errors = archive(*TWO, "--segment", 2, clips, tmp_path / "out", status=1)
    assert errors.splitlines()[-3].endswith("2 of 6 files have failed:")
    assert [line.split(": ")[0] for line in sorted(errors.splitlines()[-2:])] == [
        f"  {clips / 'corrupt.mp4'}", f"  {clips / 'sub/titles.mkv'}"]
    assert results(tmp_path / "out") == names
    for name in names:
        alone, result = tmp_path / Path(name).name, tmp_path / "out" / name
        filter_file(clips / name, alone)
        assert sound(result) == sound(alone)
        assert not name.endswith(".mkv") or subtitles(result) == subtitles(alone)
        if "long" in name:
            assert [time for time, _ in frames(result)] == [time for time, _ in frames(alone)]
        else:
            assert frames(result) == frames(alone)


@pytest.mark.parametrize("name", ["long.mp4", "sub/long.mkv"])
def test_parts_have_the_frames_of_the_whole(clips: Path, tmp_path: Path, name: str) -> None:
    """Without an encoder's loss, every byte of every frame."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/clip").with_suffix(Path(name).suffix).write_bytes((clips / name).read_bytes())
    parts = subprocess.run(["filter-file", "--list-parts", "2", clips / name], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    assert len(parts) >= 3
    archive(*TWO, "--segment", 2, "--suffix", ".raw", tmp_path / "in", tmp_path / "out")
    filter_file(clips / name, tmp_path / "whole.raw")
    assert (tmp_path / "out/clip.raw").read_bytes() == (tmp_path / "whole.raw").read_bytes()


@pytest.mark.parametrize("name", ["pictures.avi", "pictures.mkv"])
def test_pictures_are_video(tmp_path: Path, name: str) -> None:
    """Whole, or in parts where files of their kind are cut."""
    (tmp_path / "in").mkdir()
    make_pictures(tmp_path / "in" / name)
    archive(*TWO, "--segment", 2, "--suffix", ".raw", tmp_path / "in", tmp_path / "out")
    filter_file(tmp_path / "in" / name, tmp_path / "whole.raw")
    assert (tmp_path / "out/pictures.raw").read_bytes() == (tmp_path / "whole.raw").read_bytes()


def test_filters_with_memory_are_not_cut(clips: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/long.mp4").write_bytes((clips / "long.mp4").read_bytes())
    pipeline = "videoconvert ! cudahisto mode=equalize"
    _, errors = archive(*TWO, "--segment", 2, tmp_path / "in", tmp_path / "out", pipeline=pipeline)
    assert "long files are not cut" in errors
    filter_file(clips / "long.mp4", tmp_path / "alone.mp4", pipeline)
    assert frames(tmp_path / "out/long.mp4") == frames(tmp_path / "alone.mp4")


def test_a_killed_worker_loses_nothing(few: Path, clips: Path, tmp_path: Path) -> None:
    process = start(*TWO, few, tmp_path / "out", pipeline=SLOW)
    victim = wait_for(lambda: filtering(process.pid), process)[0]
    worker = victim.parent()
    assert worker is not None and worker.pid != process.pid
    os.kill(worker.pid, signal.SIGKILL)
    psutil.wait_procs([victim], timeout=10)
    assert not victim.is_running()
    finish(process, 0)
    filter_file(clips / "short.mp4", tmp_path / "alone.mp4", SLOW)
    assert results(tmp_path / "out") == {f"{i}.mp4" for i in range(6)}
    for i in range(6):
        assert frames(tmp_path / f"out/{i}.mp4") == frames(tmp_path / "alone.mp4")


def test_goes_on_after_ctrl_c(few: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(*TWO, few, out, pipeline=SLOW)
    manifest = out / ".filter-archive.jsonl"
    wait_for(lambda: manifest.exists() and '"done"' in manifest.read_text()
             and filtering(process.pid), process)
    running = filtering(process.pid)
    interrupt(process)
    _, errors = finish(process, 130)
    assert errors.count("interrupted") == 1 and "Traceback" not in errors
    psutil.wait_procs(running, timeout=10)
    assert not any(program.is_running() for program in running)

    first = results(out)  # the manifest may have missed the last
    done = manifest.read_text().count('"done"')
    assert 0 < done <= len(first) and first < {f"{i}.mp4" for i in range(6)}
    times = {name: (out / name).stat().st_mtime_ns for name in first}
    planned, _ = archive("--dry-run", few, out, pipeline=SLOW)
    assert len(planned.splitlines()) == 6 - done
    assert results(out) == first
    archive(*TWO, few, out, pipeline=SLOW)
    assert results(out) == {f"{i}.mp4" for i in range(6)}
    assert sum((out / name).stat().st_mtime_ns == times[name] for name in first) == done

    os.utime(few / "3.mp4")
    planned, _ = archive("--dry-run", few, out, pipeline=SLOW)
    assert planned == f"{few / '3.mp4'} -> {out / '3.mp4'} (changed)\n"
    planned, _ = archive("--dry-run", "--force", few, out, pipeline=SLOW)
    assert len(planned.splitlines()) == 6


def test_parts_of_a_run_that_ended_are_taken(clips: Path, tmp_path: Path) -> None:
    """A file that lacks a part alone, after Ctrl-C, is not filtered from its beginning."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/long.mp4").write_bytes((clips / "long.mp4").read_bytes())
    arguments = ("--workers", 1, "--gpus", 0, "--segment", 2, tmp_path / "in", tmp_path / "out")
    slow = "cudasepconv sigma=8 method=reference"
    process = start(*arguments, pipeline=slow)
    wait_for(lambda: list((tmp_path / "out").glob(".filter-archive-part-*")), process)
    interrupt(process)
    finish(process, 130)
    out, _ = archive(*arguments, pipeline=slow)
    assert 0 < int(out.split()[2]) < 200
    assert len(frames(tmp_path / "out/long.mp4")) == 200
    assert results(tmp_path / "out") == {"long.mp4"}


def test_gpus_of_a_cluster_take_a_file_each(few: Path, tmp_path: Path) -> None:
    """A worker with two threads and one GPU."""
    with LocalCluster(n_workers=1, threads_per_worker=2, resources={"GPU": 1},
                      dashboard_address=None, local_directory=str(tmp_path)) as cluster:
        process = start("--scheduler", cluster.scheduler_address, few, tmp_path / "out",
                        pipeline=SLOW)
        most = 0
        while process.poll() is None:
            most = max(most, len(filtering(os.getpid())))
        finish(process, 0)
    assert most == 1
    assert results(tmp_path / "out") == {f"{i}.mp4" for i in range(6)}


def test_refusals(few: Path, tmp_path: Path) -> None:
    """One sentence, a status that tells, and no file lost."""
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/0.mp4").write_text("old")
    (tmp_path / "empty").mkdir()
    (tmp_path / "twice").mkdir()
    for name in ("a.avi", "a.mov"):
        (tmp_path / "twice" / name).write_bytes(b"")
    before = (few / "0.mp4").read_bytes()
    for arguments, reason in [
            ((few, few), "is the input"),
            ((few, tmp_path / "taken"), "--force replaces it"),
            ((tmp_path / "empty", tmp_path / "out"), "no video files"),
            ((tmp_path / "absent", tmp_path / "out"), "no folder"),
            ((tmp_path / "twice", tmp_path / "out"), "would both become"),
            (("--gpus", 1, "--workers", 2, few, tmp_path / "out"), "more than there are GPUs"),
            (("--scheduler", "tcp://127.0.0.1:1", "--workers", 2, few, tmp_path / "out"),
             "for workers of this machine"),
            (("--segment", -1, few, tmp_path / "out"), "--segment takes"),
    ]:
        _, errors = archive(*arguments, status=1)
        assert len(errors.splitlines()) == 1 and reason in errors
    assert (few / "0.mp4").read_bytes() == before
    assert (tmp_path / "taken/0.mp4").read_text() == "old"
