#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Gives damaged video files to the programs that turn files into others.

Clips of common formats are cut short, and bytes of them changed, removed and put in. Whatever a
program makes of one, it ends in time, with status 0, or with 1 and a sentence, and leaves no
unfinished file. What does not is kept under /tmp. BUILD has the plugin and the programs that are
compiled."""

from __future__ import annotations

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = """Example:
  tests/damaged-files.py --seed 7 --count 1000 build
"""

ROOT = Path(__file__).parents[1]
LIMIT = 90  # s for a file of 20 frames: programs wait 30 s for the first data
VIDEO = "videotestsrc pattern=ball num-buffers=20 ! video/x-raw,width=160,height=120,framerate=25/1"
SOUND = "audiotestsrc num-buffers=34"
H264 = "x264enc key-int-max=5 ! h264parse"
MP3 = f"{SOUND} ! lamemp3enc ! mpegaudioparse ! queue ! mux."
VORBIS = f"{SOUND} ! vorbisenc ! queue ! mux."
TITLES = "filesrc location={titles} ! subparse ! text/x-raw,format=utf8 ! queue ! mux."
SINK = "filesink location={clip}"
CLIPS = {
    "list.mp4": f"{VIDEO} ! x264enc key-int-max=5 bframes=2 ! h264parse ! mp4mux name=mux ! {SINK} {MP3}",
    "pieces.mp4": f"{VIDEO} ! {H264} ! mp4mux fragment-duration=200 ! {SINK}",
    "h264.mkv": f"{VIDEO} ! {H264} ! matroskamux name=mux ! {SINK} {VORBIS} {TITLES}",
    "vp9.mkv": f"{VIDEO} ! vp9enc deadline=1 cpu-used=8 ! matroskamux ! {SINK}",
    "pictures.mkv": f"{VIDEO} ! jpegenc ! matroskamux ! {SINK}",
    "vp8.webm": f"{VIDEO} ! vp8enc ! webmmux name=mux ! {SINK} {VORBIS}",
    "pictures.avi": f"{VIDEO} ! jpegenc ! avimux name=mux ! {SINK} {MP3}",
    "h264.ts": f"{VIDEO} ! {H264} ! mpegtsmux name=mux ! {SINK} {MP3}",
    "theora.ogg": f"{VIDEO} ! theoraenc ! oggmux name=mux ! {SINK} {VORBIS}",
    "h264.flv": f"{VIDEO} ! {H264} ! flvmux name=mux ! {SINK} {MP3}",
    "raw.y4m": f"{VIDEO} ! y4menc ! {SINK}",
}


def make_clips(folder: Path) -> list[Path]:
    titles = folder / "titles.srt"
    titles.write_text("1\n00:00:00,100 --> 00:00:00,500\nHello\n")
    for name, pipeline in CLIPS.items():
        line = pipeline.format(titles=titles, clip=folder / name)
        subprocess.run(["bash", "-c", f"gst-launch-1.0 -q {line}"], check=True, timeout=60)
    return [folder / name for name in CLIPS]


def damage(data: bytearray, chance: random.Random) -> None:
    """In place. The beginning, where the headers are, is hit as often as all the rest."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(data) if chance.random() < 0.5 else min(len(data), 800))
        end = min(len(data), at + int(10 ** chance.uniform(0, 3.5)))
        match chance.choice(("cut", "bits", "zeros", "noise", "repeat", "remove", "insert")):
            case "cut":
                del data[at + 1:]
            case "bits":
                for _ in range(chance.choice((1, 3, 30))):
                    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            case "zeros":
                data[at:end] = bytes(end - at)
            case "noise":
                data[at:end] = chance.randbytes(end - at)
            case "repeat":
                data[at:at] = data[at:end]
            case "remove" if end - at < len(data):
                del data[at:end]
            case _:
                data[at:at] = chance.randbytes(end - at)


def command(build: Path, source: Path, results: Path, chance: random.Random) -> list[str | Path]:
    result = results / f"result.{chance.choice(('mp4', 'mkv'))}"
    filter_file: list[str | Path] = [build / "pipelines/filter-file", "--filter", "identity"]
    every: list[list[str | Path]] = [
        [*filter_file, source, result],
        [*filter_file, source, result.with_suffix(".raw")],
        [*filter_file, source, result.with_suffix(".webm")],
        [*filter_file, "--list-parts", "1", source],
        [*filter_file, "--part", "0:400000000", source, f"{result}.gdp"],
        [*filter_file, "--part", "400000000:", source, f"{result}.gdp"],
        [ROOT / "pipelines/hide-people", "--every", "10", source, result],
    ]
    return chance.choice(every)


def complaint(status: int | None, errors: str, left: list[Path]) -> str | None:
    if status is None:
        return f"does not end within {LIMIT} s"
    if status not in (0, 1):
        return f"ends with status {status}"
    if status == 1 and not errors.strip():
        return "fails without a word"
    if any(path.name.endswith(".part") for path in left) or (status == 1 and left):
        return f"leaves {' '.join(path.name for path in left)}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD", type=Path)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of all that is random (1)")
    parser.add_argument("--count", type=int, default=60, metavar="N", help="damaged files (60)")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    os.environ["GST_PLUGIN_PATH"] = str(build / "plugin")
    chance = random.Random(arguments.seed)
    ends: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder, results = Path(scratch), Path(scratch, "results")
        clips = make_clips(folder)
        for number in range(arguments.count):
            clip = chance.choice(clips)
            data = bytearray(clip.read_bytes())
            damage(data, chance)
            source = folder / f"damaged{clip.suffix}"
            source.write_bytes(data)
            results.mkdir()
            line = command(build, source, results, chance)
            try:
                done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True,
                                      encoding="utf-8", errors="replace", timeout=LIMIT, check=False)
                status, errors = done.returncode, done.stderr
            except subprocess.TimeoutExpired:
                status, errors = None, ""
            problem = complaint(status, errors, list(results.iterdir()))
            if problem:
                kept = shutil.copy(source, f"/tmp/damaged-{arguments.seed}-{number}{clip.suffix}")
                print(f"{' '.join(map(str, line))}\n{errors}{kept}: {problem}", flush=True)
            ends["wrong" if problem else "filtered or listed" if status == 0 else "refused"] += 1
            shutil.rmtree(results)
            if os.isatty(1):
                print(f"\r{number + 1} of {arguments.count}", end="\r", flush=True)
    print(", ".join(f"{count} {end}" for end, count in sorted(ends.items())))
    return 1 if ends["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
