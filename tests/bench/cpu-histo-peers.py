# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times OpenCV and kerncheck --bench in turn; cpu-histo-peers.sh calls it.

cpu-histo-peers.py KERNCHECK SCRATCH-FOLDER JSON-FILE
"""

import sys

import cv2
import numpy

import cpu_peers_common as common

SIZES = ((1920, 1080), (3840, 2160))
CONTENTS = ("noise", "natural")
ROUNDS = 3  # of which the least counts, ours and OpenCV's in turn
FORMATS = {"GRAY8": numpy.uint8, "GRAY16": numpy.uint16}


def picture(content, width, height, kind):
    """Like those of bench-content.c."""
    random = numpy.random.default_rng(1)
    full = numpy.iinfo(kind).max
    if content == "noise":
        return random.integers(0, full + 1, (height, width), dtype=kind)
    x = numpy.linspace(0, 2 * numpy.pi, width)[None, :]
    y = numpy.linspace(0, 2 * numpy.pi, height)[:, None]
    smooth = 0.5 + 0.2 * numpy.sin(x) * numpy.cos(y) + 0.1 * numpy.sin(1.5 * x + y)
    grain = random.normal(0, 0.01, (height, width))
    return (numpy.clip(smooth + grain, 0, 1) * full).astype(kind)


def rotated(first, pictures):
    """Copies of a frame, with as many others to write to if pictures is 2."""
    n = common.frames_in_turn(first.nbytes, pictures)
    src = [first.copy() for _ in range(n)]
    return src, [numpy.zeros_like(first) for _ in range(n)] if pictures == 2 else None


def opencv_times(content, size, kind):
    """Microseconds by mode."""
    first = picture(content, *size, kind)
    codes = numpy.iinfo(kind).max + 1
    src, _ = rotated(first, 1)
    times = {"histogram": common.median_us(
        lambda i: cv2.calcHist([src[i]], [0], None, [256], [0, codes]), len(src))}
    src, dst = rotated(first, 2)
    if kind == numpy.uint8:
        times["equalize"] = common.median_us(lambda i: cv2.equalizeHist(src[i], dst[i]), len(src))
    clahe = cv2.createCLAHE(2.0, (8, 8))
    times["clahe"] = common.median_us(lambda i: clahe.apply(src[i], dst[i]), len(src))
    return times


def our_rows(kerncheck, scratch, what, content, size, name):
    """Header and rows of kerncheck's JSON, of one case."""
    return common.kerncheck_report(
        kerncheck, scratch, what, "--format", name, "--size", "%dx%d" % size,
        "--content", content)


def our_times(kerncheck, scratch, content, size, name):
    """Median microseconds by mode, and the header."""
    _, rows = our_rows(kerncheck, scratch, "--histo", content, size, name)
    times = {"histogram": row["us"][0] for row in rows if row["method"] == "auto"}
    header, rows = our_rows(kerncheck, scratch, "--modes", content, size, name)
    times.update({row["mode"]: row["us"][0] for row in rows})
    return header, times


def least(rounds):
    """The least time by mode, of several rounds'."""
    return {mode: min(times[mode] for times in rounds) for mode in rounds[0]}


def case_times(kerncheck, scratch, content, size, name):
    """The header of kerncheck's JSON, its times and OpenCV's."""
    ours, peers, header = [], [], {}
    for _ in range(ROUNDS):
        header, times = our_times(kerncheck, scratch, content, size, name)
        ours.append(times)
        peers.append(opencv_times(content, size, FORMATS[name]) if name in FORMATS else {})
    return header, least(ours), least(peers)


def row_of(name, size, content, mode, ours, peer):
    row = {"format": name, "width": size[0], "height": size[1], "content": content,
           "mode": mode, "us": round(ours, 1)}
    if peer is not None:
        row["opencv_us"] = round(peer, 1)
        row["ratio"] = round(peer / ours, 2)
    print("%-6s %4dx%-4d %-8s %-9s %9.0f %9s %6s" % (
        name, *size, content, mode, ours, "-" if peer is None else "%.0f" % peer,
        row.get("ratio", "-")), flush=True)
    return row


def main():
    kerncheck, scratch, path = sys.argv[1:]
    cv2.setNumThreads(common.THREADS)
    rows, header = [], {}
    print("us a frame; OpenCV %s\n%-6s %-9s %-8s %-9s %9s %9s %6s" % (
        cv2.__version__, "format", "size", "content", "mode", "ours", "OpenCV", "ratio"))
    cases = [(name, size, content) for name in FORMATS for size in SIZES
             for content in CONTENTS]
    for name, size, content in cases + [("I420", size, "natural") for size in SIZES]:
        header, ours, peer = case_times(kerncheck, scratch, content, size, name)
        for mode, us in ours.items():
            rows.append(row_of(name, size, content, mode, us, peer.get(mode)))
    report = {"program": "tests/bench/cpu-histo-peers.sh",
              "date": common.stamp(), "cpu": common.processor(), "cores": common.THREADS,
              "rounds": ROUNDS,
              "isa": header.get("isa"), "opencv": cv2.__version__, "rows": rows}
    if path != "/dev/null":
        common.write_report(path, report)


if __name__ == "__main__":
    main()
