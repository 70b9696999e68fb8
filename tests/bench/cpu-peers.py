# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times OpenCV, pipelines and kerncheck --bench in turn; cpu-peers.sh calls it.

cpu-peers.py [--quick] KERNCHECK SCRATCH-FOLDER JSON-FILE

A figure is the least of all rounds: the median of kerncheck's batches, or of ours for
OpenCV in the same way; for a pipeline, wall time less that of the pipeline without a filter.
"""

import os
import shutil
import subprocess
import sys
import time

import cv2
import numpy

import cpu_peers_common as common

ISAS = ("baseline", "avx2", "avx512", "avx512-vnni")
BORDER = cv2.BORDER_REPLICATE
# OpenCV's arrays of a frame: rows, columns and channels over those of the frame.
FORMATS = {
    "GRAY8": (numpy.uint8, ((1, 1, 1),)),
    "I420": (numpy.uint8, ((1, 1, 1), (0.5, 0.5, 1), (0.5, 0.5, 1))),
    "RGB": (numpy.uint8, ((1, 1, 3),)),
    "RGBA": (numpy.uint8, ((1, 1, 4),)),
    # As many 16-bit samples; no peer has the layout.
    "P010": (numpy.uint16, ((1.5, 1, 1),)),
}
SIZES = ((320, 240), (640, 480), (1280, 720), (1920, 1080), (3840, 2160))
# The last ones are σ 1, 2, 3, 16/3, 8, 10.75, 12, 20, 40 and 80.
TAPS = (3, 5, 9, 7, 13, 19, 33, 65, 87, 97, 161, 321, 641)
BOX_TAPS = (3, 7, 13, 33, 121, 241)
# More take too long at sizes other than 1080p, and in formats other than GRAY8 and RGBA.
MOST_TAPS = 97
MANY_TAPS_SIZE = (1920, 1080)
MANY_TAPS_FORMATS = ("GRAY8", "RGBA")
ROUNDS = 2
# Those that auto has a choice of.
METHODS = {"gaussian": ("simd", "multirate-simd"), "box": ("simd", "box-running-simd"),
           "unsharp": ("terms-simd",), "sobel": ("terms-simd",), "laplacian": ("terms-simd",)}
# Sharpening and edges, by the name of kerncheck's kernel.
EDGE_TAPS = {"unsharp": (5, 13), "sobel": (3,), "laplacian": (3,)}
EDGE_FORMATS = ("GRAY8", "RGBA")
EDGE_SIZE = (1920, 1080)
EDGE_ROUNDS = 4
# FFmpeg's format and filter; unsharp has no grey, and copies chroma so.
EDGE_CHAINS = {"unsharp": ("yuv420p", "unsharp=lx=%(n)d:ly=%(n)d:la=1:ca=0"),
               "sobel": ("gray", "sobel")}
# Format, FFmpeg's name of it, size and σ. gblur has planar formats alone.
GBLUR = (
    [("GRAY8", "gray", (1920, 1080), sigma) for sigma in (1, 2, 5, 20, 80)]
    + [(name, pixels, (1920, 1080), 2) for name, pixels in (
        ("I420", "yuv420p"), ("I420_10LE", "yuv420p10le"), ("GBR", "gbrp"),
        ("GBRA", "gbrap"))]
    + [("GRAY8", "gray", size, 2) for size in ((1280, 720), (3840, 2160))]
    + [("I420", "yuv420p", (3840, 2160), 2)])
RUNS = 3
# Frames of a pipeline, by the peer: gaussianblur takes ten times as long as the others.
FRAMES = {"gaussianblur": 30, "cvsmooth": 100, "gblur": 100}


class Frames:
    """A frame's arrays and those for its result, again and again."""

    def __init__(self, name, size):
        kind, arrays = FORMATS[name]
        random = numpy.random.default_rng(1)
        first = [random.integers(0, numpy.iinfo(kind).max + 1, (
            int(size[1] * rows), int(size[0] * columns)) + ((channels,) if channels > 1 else ()),
            dtype=kind) for rows, columns, channels in arrays]
        self.n = common.frames_in_turn(sum(a.nbytes for a in first), 2)
        self.pairs = [[(a.copy(), numpy.zeros_like(a)) for a in first] for _ in range(self.n)]

    def time(self, operation):
        def call(frame):
            for src, dst in self.pairs[frame]:
                operation(src, dst)
        return common.median_us(call, self.n)


def sigma_of(taps):
    """The σ that has so many taps by default: taps.h."""
    radius = taps // 2
    return radius / 3 if radius <= 18 else (2 * radius) ** 0.5 if radius < 32 else radius / 4


def gaussian_peers(taps):
    size, sigma = (taps, taps), sigma_of(taps)
    kernel = cv2.getGaussianKernel(taps, sigma)
    peers = {
        "GaussianBlur": lambda src, dst: cv2.GaussianBlur(src, size, sigma, dst, sigma, BORDER),
        "sepFilter2D": lambda src, dst: cv2.sepFilter2D(
            src, -1, kernel, kernel, dst, borderType=BORDER),
        "stackBlur": lambda src, dst: cv2.stackBlur(src, size, dst),
    }
    if hasattr(cv2, "ALGO_HINT_APPROX"):
        peers["GaussianBlur, approx."] = lambda src, dst: cv2.GaussianBlur(
            src, size, sigma, dst, sigma, BORDER, cv2.ALGO_HINT_APPROX)
    return peers


def box_peers(taps):
    return {"blur": lambda src, dst: cv2.blur(src, (taps, taps), dst, (-1, -1), BORDER)}


def unsharp_peers(taps):
    size, sigma = (taps, taps), sigma_of(taps)

    def sharpen(src, dst):
        cv2.GaussianBlur(src, size, sigma, dst, sigma, BORDER)
        cv2.addWeighted(src, 2, dst, -1, 0, dst)
    return {"GaussianBlur, addWeighted": sharpen}


def sobel_peers(taps):
    """The magnitude wants floats, whatever the derivatives are."""
    floats, shorts = [None, None, None], [None, None]

    def magnitude(dst):
        floats[2] = cv2.magnitude(floats[0], floats[1], floats[2])
        cv2.convertScaleAbs(floats[2], dst)

    def by_floats(src, dst):
        for k in range(2):
            floats[k] = cv2.Sobel(src, cv2.CV_32F, 1 - k, k, floats[k], taps, borderType=BORDER)
        magnitude(dst)

    def by_shorts(src, dst):
        for k in range(2):
            shorts[k] = cv2.Sobel(src, cv2.CV_16S, 1 - k, k, shorts[k], taps, borderType=BORDER)
            if floats[k] is None:
                floats[k] = numpy.empty(src.shape, numpy.float32)
            numpy.copyto(floats[k], shorts[k])
        magnitude(dst)
    return {"Sobel 32F, magnitude": by_floats, "Sobel 16S, magnitude": by_shorts}


def laplacian_peers(taps):
    size = 1 if taps == 3 else taps
    return {"Laplacian": lambda src, dst: cv2.Laplacian(
        src, -1, dst, size, borderType=BORDER)}


KINDS = {"gaussian": gaussian_peers, "box": box_peers, "unsharp": unsharp_peers,
         "sobel": sobel_peers, "laplacian": laplacian_peers}


def note(times, key, us):
    times[key] = min(us, times.get(key, us))


def measure_ours(where, name, size, kind, taps, cells):
    """Adds what kerncheck says of the method that auto takes to the cells, by number of taps."""
    options = ["--format", name, "--size", "%dx%d" % size, "--kernel", kind]
    for method in METHODS[kind]:
        options += ["--method", method]
    for n in taps:
        options += ["--taps", str(n)]
    for isa in ISAS:
        _, rows = common.kerncheck_report(*where, *options, "--isa", isa)
        for row in rows:
            if row["method"] == "auto":
                cell = cells[kind, row["taps"]]
                note(cell["us"], isa, row["us"][0])
                cell["takes"] = row["takes"]
                cell["auto_ratio"] = max(row["auto_ratio"], cell.get("auto_ratio", 0))
                note(cell, "copy_us", row["copy_us"])


def measure_peers(frames, kind, taps, cells):
    for n in taps:
        for peer, operation in KINDS[kind](n).items():
            note(cells[kind, n]["peer_us"], peer, frames.time(operation))
    # The floor is whichever copy is faster.
    copy_us = frames.time(lambda src, dst: numpy.copyto(dst, src))
    for n in taps:
        note(cells[kind, n], "copy_us", copy_us)


def rounded(times):
    return {key: round(us, 1) for key, us in times.items()}


def finished(row, ours, peers):
    """A row with its ratios; prints it."""
    fastest = min(peers, key=peers.get)
    row.update(us=rounded(ours), peer_us=rounded(peers), fastest=fastest,
               ratio={isa: round(peers[fastest] / us, 2) for isa, us in ours.items()})
    print("%-9s %-9s %-8s %5s %-22s %9.0f  %s" % (
        row["format"], "%dx%d" % (row["width"], row["height"]), row["kind"],
        row["taps"] if "taps" in row else "σ %g" % row["sigma"], fastest, peers[fastest],
        "  ".join("%s %.0f (%.2f)" % (isa, us, row["ratio"][isa])
                  for isa, us in ours.items())), flush=True)
    return row


def taps_of(name, size, quick):
    if quick:
        return {"gaussian": (3, 7, 13, 33), "box": (13,)}
    many = size == MANY_TAPS_SIZE and name in MANY_TAPS_FORMATS
    return {"gaussian": tuple(n for n in sorted(TAPS) if many or n <= MOST_TAPS),
            "box": BOX_TAPS}


def measure_ffmpeg(kind, size, taps, cells):
    """FFmpeg's filters of one grey plane, beyond the time of a chain without one."""
    pixels, chain = EDGE_CHAINS[kind]
    frames = FRAMES["gblur"]
    without = wall_us(ffmpeg(pixels, size, frames, "null"), frames)
    for n in taps:
        its = wall_us(ffmpeg(pixels, size, frames, chain % {"n": n}), frames)
        note(cells[kind, n]["peer_us"], "FFmpeg's " + kind, its - without)


def grid_rows(where, name, size, taps, rounds):
    """One format and size: every party in turn, and again in each round."""
    there_is_ffmpeg = shutil.which("ffmpeg") is not None
    cells = {(kind, n): {"us": {}, "peer_us": {}} for kind in taps for n in taps[kind]}
    frames = Frames(name, size)
    for _ in range(rounds):
        for kind in taps:
            measure_ours(where, name, size, kind, taps[kind], cells)
            measure_peers(frames, kind, taps[kind], cells)
            if there_is_ffmpeg and name == "GRAY8" and kind in EDGE_CHAINS:
                measure_ffmpeg(kind, size, taps[kind], cells)
    for (kind, n), cell in cells.items():
        if cell["us"]:
            row = {"format": name, "width": size[0], "height": size[1], "kind": kind, "taps": n,
                   "copy_us": round(cell["copy_us"], 1), "takes": cell["takes"],
                   "auto_ratio": cell["auto_ratio"]}
            if kind == "gaussian":
                row["sigma"] = round(sigma_of(n), 2)
            yield finished(row, cell["us"], cell["peer_us"])


def wall_us(command, frames, isa=None):
    """Microseconds a frame: the least of some runs."""
    environment = dict(os.environ, **({"CUDASEPCONV_ISA": isa} if isa else {}))
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        best = min(best, (time.perf_counter() - start) / frames * 1e6)
    return best


def pipeline(name, size, frames, *element):
    """One picture of noise, again and again."""
    return ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "pattern=snow", "!",
            "video/x-raw,format=%s,width=%d,height=%d,framerate=30/1" % (name, *size), "!",
            "imagefreeze", "num-buffers=%d" % frames, "!", *element, "!", "fakesink"]


def ffmpeg(pixels, size, frames, chain):
    return ["ffmpeg", "-v", "error", "-filter_threads", str(common.THREADS), "-f", "lavfi", "-i",
            "nullsrc=s=%dx%d:r=30,noise=alls=64,format=%s,loop=-1:1" % (*size, pixels),
            "-vf", chain, "-frames:v", str(frames), "-f", "null", "-"]


def pipeline_row(name, size, sigma, peer, isas, its, without):
    """its, without: FFmpeg's commands, or None and the element is the peer's."""
    frames = FRAMES[peer[0]]
    empty = wall_us(pipeline(name, size, frames, "identity"), frames)
    if its is None:
        peer_us = wall_us(pipeline(name, size, frames, *peer), frames) - empty
    else:
        peer_us = wall_us(its, frames) - wall_us(without, frames)
    filter_ = ("cudasepconv", "backend=cpu", "sigma=%g" % sigma)
    ours = {isa: wall_us(pipeline(name, size, frames, *filter_), frames, isa) - empty
            for isa in isas}
    row = {"format": name, "width": size[0], "height": size[1], "kind": "pipeline",
           "sigma": sigma}
    return finished(row, ours, {peer[0]: peer_us})


def there_is(element):
    # --exists would ask for version 1.0.0.
    return shutil.which("gst-inspect-1.0") is not None and subprocess.run(
        ["gst-inspect-1.0", element], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, check=False).returncode == 0


def pipeline_rows(isas, quick):
    if not there_is("cudasepconv"):
        print("SKIP pipelines: there is no cudasepconv")
        return
    if shutil.which("ffmpeg") is None:
        print("SKIP gblur: there is no ffmpeg")
    else:
        frames = FRAMES["gblur"]
        for name, pixels, size, sigma in GBLUR[1:2] if quick else GBLUR:
            yield pipeline_row(name, size, sigma, ("gblur",), isas,
                               ffmpeg(pixels, size, frames, "gblur=sigma=%g" % sigma),
                               ffmpeg(pixels, size, frames, "null"))
    smooth = ("cvsmooth", "type=gaussian", "kernel-width=13", "kernel-height=13", "color=2")
    blur = ("gaussianblur", "sigma=2")
    for name, peer in (("GRAY8", smooth), ("RGB", smooth), ("AYUV", blur)):
        if not there_is(peer[0]):
            print("SKIP %s: there is none" % peer[0])
        elif not quick or name == "GRAY8":
            yield pipeline_row(name, (1920, 1080), 2, peer, isas, None, None)


def versions():
    found = {"opencv": cv2.__version__}
    for program, option in (("ffmpeg", "-version"), ("gst-launch-1.0", "--version")):
        if shutil.which(program) is not None:
            run = subprocess.run([program, option], stdout=subprocess.PIPE, text=True, check=True)
            found[program] = run.stdout.split("\n", maxsplit=1)[0].split(" Copyright")[0].strip()
    return found


def main():
    quick = sys.argv[1] == "--quick"
    kerncheck, scratch, path = sys.argv[1 + quick:]
    cv2.setNumThreads(common.THREADS)
    report = {"program": "tests/bench/cpu-peers.sh" + (" --quick" if quick else ""),
              "date": common.stamp(), "cpu": common.processor(),
              "cores": common.THREADS, "versions": versions(), "rows": []}
    print("us a frame, and in brackets the fastest peer's time over ours; OpenCV %s\n"
          "%-9s %-9s %-8s %5s %-22s %9s  %s" % (
              cv2.__version__, "format", "size", "filter", "taps", "fastest peer", "its us",
              "ours"))
    sizes = ((320, 240), (1920, 1080)) if quick else SIZES
    for name in FORMATS:
        for size in sizes:
            report["rows"] += grid_rows((kerncheck, scratch), name, size,
                                        taps_of(name, size, quick), 1 if quick else ROUNDS)
    for name in EDGE_FORMATS:
        report["rows"] += grid_rows((kerncheck, scratch), name, EDGE_SIZE, EDGE_TAPS,
                                    1 if quick else EDGE_ROUNDS)
    measured = report["rows"][0]["us"]
    isas = [isa for isa in ("avx2", ISAS[-1]) if isa in measured] or list(measured)[-1:]
    report["rows"] += pipeline_rows(isas, quick)
    report["end"] = common.stamp()
    common.write_report(path, report)


if __name__ == "__main__":
    main()
