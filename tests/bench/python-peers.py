#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times gaussians of the Python package beside scipy, OpenCV, CuPy, PyTorch, torchvision and CV-CUDA.

A figure is one frame's share of a series of calls, in microseconds, from the first call until
the last result is there. All take turns, a series each, for several rounds, so that a slow spell
of the machine meets all of them; the median of the rounds counts, and the least and the most
stand beside ours. Frames rotate through more memory than most caches hold. All channels are filtered;
borders are replicated where a peer can. "new" makes an array for each result, "out" writes into
one that is there. With --kerncheck the engine's own time a frame stands beside, of frames that
do not overlap, and ours over it as a ratio.
"""

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import cudasepconv

SIZES = {"1080p": (1080, 1920), "4K": (2160, 3840)}
FORMATS = {"GRAY8": 1, "RGB": 3, "RGBA": 4}
TAPS = (5, 13, 33, 129)
# By kerncheck's name of the place; on the host as many as it rotates through.
ROTATED_BYTES = {"cpu": 64 << 20, "cuda": 256 << 20}
LEAST_FRAMES, MOST_FRAMES = 4, 32
ROUNDS = 9
SERIES_SECONDS = 0.15
# Whose call takes longer is timed once, not in rounds.
LONG_SECONDS = 0.5


class Series:
    """Calls of one function, call(i) for frame i, timed a series at a time."""

    def __init__(self, call, wait, frames):
        self.call, self.wait, self.frames = call, wait, frames
        self.us = []
        self.next = 0
        self.seconds(1)  # what the first call prepares is not timed
        once = self.seconds(1)
        if once * frames < SERIES_SECONDS:  # queued calls take less than one that is waited for
            once = self.seconds(frames) / frames
        self.length = max(1, int(SERIES_SECONDS / once))
        self.is_long = once > LONG_SECONDS
        if self.is_long:
            self.us.append(once * 1e6)

    def seconds(self, calls):
        begin = time.perf_counter()
        for i in range(self.next, self.next + calls):
            self.call(i % self.frames)
        self.wait()
        self.next += calls
        return time.perf_counter() - begin

    def run(self):
        if not self.is_long:
            self.us.append(self.seconds(self.length) / self.length * 1e6)


def in_turns(all_series):
    for _ in range(ROUNDS):
        for series in all_series:
            series.run()


class Case:
    """One size, format and number of taps, with frames in one place."""

    def __init__(self, size, name, taps, place):
        self.taps, self.radius = taps, taps // 2
        self.sigma = self.radius / 3
        self.weights = np.exp(-0.5 * (np.arange(-self.radius, self.radius + 1) / self.sigma) ** 2)
        self.weights /= self.weights.sum()
        channels = FORMATS[name]
        shape = SIZES[size] + ((channels,) if channels > 1 else ())
        pairs = ROTATED_BYTES[place.kerncheck] // (2 * int(np.prod(shape)))
        self.frames = max(LEAST_FRAMES, min(MOST_FRAMES, pairs))
        noise = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
        self.images = [place.put(noise) for _ in range(self.frames)]
        self.outs = [place.put(noise) for _ in range(self.frames)]


class Host:
    name = "numpy"
    kerncheck = "cpu"

    def put(self, picture):
        return picture.copy()

    def wait(self):
        pass

    def peers(self):
        found = {"scipy": self.scipy}
        if has("cv2"):
            found["OpenCV"] = self.opencv
        return found if has("scipy") else {k: v for k, v in found.items() if k != "scipy"}

    def scipy(self, case):
        from scipy import ndimage

        def call(i):
            rows = ndimage.correlate1d(case.images[i], case.weights, 0, mode="nearest")
            ndimage.correlate1d(rows, case.weights, 1, output=case.outs[i], mode="nearest")

        return call

    def opencv(self, case):
        import cv2

        size = (case.taps, case.taps)

        def call(i):
            cv2.GaussianBlur(case.images[i], size, case.sigma, dst=case.outs[i],
                             borderType=cv2.BORDER_REPLICATE)

        return call


class Cupy:
    name = "cupy"
    kerncheck = "cuda"

    def __init__(self):
        import cupy

        self.cupy = cupy

    def put(self, picture):
        return self.cupy.asarray(picture)

    def wait(self):
        self.cupy.cuda.get_current_stream().synchronize()

    def peers(self):
        return {"cupyx": self.cupyx}

    def cupyx(self, case):
        from cupyx.scipy import ndimage

        weights = self.cupy.asarray(case.weights.astype(np.float32))

        def call(i):
            rows = ndimage.correlate1d(case.images[i], weights, 0, mode="nearest")
            ndimage.correlate1d(rows, weights, 1, output=case.outs[i], mode="nearest")

        return call


class Torch:
    name = "torch"
    kerncheck = "cuda"

    def __init__(self):
        import torch

        self.torch = torch

    def put(self, picture):
        return self.torch.from_numpy(picture.copy()).cuda()

    def wait(self):
        self.torch.cuda.current_stream().synchronize()

    def peers(self):
        found = {"conv2d": self.conv2d}
        if has("torchvision"):
            found["torchvision"] = self.torchvision
        if has("cvcuda"):
            found["CV-CUDA"] = self.cv_cuda
        return found

    def planes(self, image):
        return image[None] if image.ndim == 2 else image.permute(2, 0, 1)

    def conv2d(self, case):
        torch = self.torch
        functional = torch.nn.functional
        channels = self.planes(case.images[0]).shape[0]
        weights = torch.from_numpy(case.weights).half().cuda()
        rows = weights.view(1, 1, -1, 1).expand(channels, 1, -1, 1).contiguous()
        columns = weights.view(1, 1, 1, -1).expand(channels, 1, 1, -1).contiguous()
        edges = (case.radius,) * 4

        def call(i):
            planes = self.planes(case.images[i]).half()[None]
            planes = functional.pad(planes, edges, mode="replicate")
            planes = functional.conv2d(planes, rows, groups=channels)
            planes = functional.conv2d(planes, columns, groups=channels)
            self.planes(case.outs[i]).copy_(planes[0].round_())

        return call

    def torchvision(self, case):
        from torchvision.transforms.v2 import functional

        def call(i):
            functional.gaussian_blur(self.planes(case.images[i]), [case.taps, case.taps],
                                     [case.sigma, case.sigma])

        return call

    def cv_cuda(self, case):
        import cvcuda

        def tensor(image):
            return cvcuda.as_tensor(image[..., None] if image.ndim == 2 else image, "HWC")

        stream = cvcuda.as_stream(self.torch.cuda.current_stream())
        images, outs = [tensor(image) for image in case.images], [tensor(out) for out in case.outs]
        size, sigma = (case.taps, case.taps), (case.sigma, case.sigma)

        def call(i):
            cvcuda.gaussian_into(outs[i], images[i], size, sigma, cvcuda.Border.REPLICATE,
                                 stream=stream)

        return call


def has(module):
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def find_places():
    places = [Host()]
    if cudasepconv.cuda_devices() > 0:
        if has("cupy"):
            places.append(Cupy())
        if has("torch"):
            import torch

            if torch.cuda.is_available():
                places.append(Torch())
    return places


def ours(case):
    def out(i):
        cudasepconv.gaussian(case.images[i], case.sigma, radius=case.radius, out=case.outs[i])

    def new(i):
        cudasepconv.gaussian(case.images[i], case.sigma, radius=case.radius)

    return {"out": out, "new": new}


def time_case(size, name, taps, place):
    case = Case(size, name, taps, place)
    row = {"place": place.name, "format": name, "size": size, "taps": taps, "failed": {}}
    calls = ours(case)
    for peer, make in place.peers().items():
        calls[peer] = make(case)
    found = {}
    for who, call in calls.items():
        try:
            found[who] = Series(call, place.wait, case.frames)
        except Exception as error:  # a peer that cannot do this is named, and the rest goes on
            if who in ("out", "new"):
                raise
            row["failed"][who] = f"{type(error).__name__}: {error}".splitlines()[0]
    in_turns(found.values())
    row["us"] = {who: statistics.median(series.us) for who, series in found.items()}
    row["us_range"] = {who: [min(series.us), max(series.us)] for who, series in found.items()}
    return row


def call_overhead(place):
    """Microseconds of a call with next to nothing to compute."""
    image, out = place.put(np.zeros((16, 16), np.uint8)), place.put(np.zeros((16, 16), np.uint8))
    series = Series(lambda _: cudasepconv.gaussian(image, 1.0, out=out, threads=1), place.wait, 1)
    in_turns([series])
    return statistics.median(series.us)


# Of kerncheck's methods, those that auto takes for gaussians.
KERNCHECK_METHODS = {"cpu": ("simd", "multirate-simd"), "cuda": ("tensor", "multirate")}


def kerncheck_figures(program, backend, sizes, formats, taps):
    """(format, size, taps): the engine's microseconds a frame by kerncheck --bench, of frames
    that wait for each other and of frames that may overlap."""
    command = [program, "--bench", "--backend", backend]
    for method in KERNCHECK_METHODS[backend]:
        command += ["--method", method]
    for size in sizes:
        command += ["--size", f"{SIZES[size][1]}x{SIZES[size][0]}"]
    for name in formats:
        command += ["--format", name]
    for n in taps:
        command += ["--taps", str(n)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.json"
        subprocess.run(command + ["--json", str(path)], check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(path.read_text())["rows"]
    by_pixels = {(w, h): size for size, (h, w) in SIZES.items()}
    return {(row["format"], by_pixels[row["width"], row["height"]], row["taps"]):
            (row.get("in_order_us", row["us"][0]), row["us"][0]) for row in rows if row["method"] == "auto"}


def cpu_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.machine()


def nvidia_smi(fact):
    command = ["nvidia-smi", "--format=csv,noheader", f"--query-gpu={fact}"]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.partition("\n")[0]


def machine(places):
    facts = {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
             "python": platform.python_version(), "cudasepconv": cudasepconv.__version__,
             "numpy": np.__version__}
    for module in ("scipy", "cv2", "cupy", "torch", "torchvision", "cvcuda"):
        if has(module):
            facts[module] = sys.modules[module].__version__
    facts["cpu"] = cpu_name()
    facts["cores"] = len(os.sched_getaffinity(0))
    if any(place.kerncheck == "cuda" for place in places):
        facts["gpu"], facts["driver"] = nvidia_smi("name"), nvidia_smi("driver_version")
    for place in places:
        if place.name == "torch":
            facts["cuda"] = place.torch.version.cuda
        elif place.name == "cupy":
            version = place.cupy.cuda.runtime.driverGetVersion()
            facts["cuda"] = f"{version // 1000}.{version % 1000 // 10}"
    return facts


def print_row(row):
    cells = [f"{row['place']:6} {row['format']:6} {row['size']:6} {row['taps']:5}"]
    for who, us in row["us"].items():
        least, most = row["us_range"][who]
        spread = f" ({least:.1f} to {most:.1f})" if who in ("out", "new") else ""
        cells.append(f"{who} {us:11.1f}{spread}")
    cells += [f"{who} failed ({why})" for who, why in row["failed"].items()]
    if "kerncheck" in row:
        cells.append(f"kerncheck {row['kerncheck']:9.1f}  out/kerncheck {row['ratio']:.2f}")
    print("  ".join(cells), flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small grid, in some minutes")
    parser.add_argument("--place", action="append", help="numpy, cupy or torch; all that are there")
    parser.add_argument("--kerncheck", metavar="PROGRAM", help="to compare with the engine itself")
    parser.add_argument("--json", metavar="FILE", help="the results for other programs to read")
    return parser.parse_args()


def main():
    options = parse_arguments()
    places = [place for place in find_places()
              if not options.place or place.name in options.place]
    sizes = ["4K"] if options.quick else list(SIZES)
    formats = ["GRAY8", "RGBA"] if options.quick else list(FORMATS)
    taps = (13, 33) if options.quick else TAPS
    result = {"machine": machine(places), "overhead_us": {}, "rows": []}
    print(", ".join(f"{key} {value}" for key, value in result["machine"].items()))
    for place in places:
        overhead = result["overhead_us"][place.name] = call_overhead(place)
        print(f"{place.name}: {overhead:.1f} us a call of 16x16 pixels", flush=True)
    figures = {}
    if options.kerncheck:
        for backend in sorted({place.kerncheck for place in places}):
            figures[backend] = kerncheck_figures(options.kerncheck, backend, sizes, formats, taps)
    for place in places:
        for name in formats:
            for size in sizes:
                for n in taps:
                    row = time_case(size, name, n, place)
                    engine = figures.get(place.kerncheck, {}).get((name, size, n))
                    if engine is not None:
                        row["kerncheck"], row["kerncheck_overlapped"] = engine
                        row["ratio"] = row["us"]["out"] / engine[0]
                    print_row(row)
                    result["rows"].append(row)
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
