#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks pipelines/factor-kernel: what it prints for known kernels makes the kernel again, and
cudasepconv filters with it; what is no kernel is refused with one sentence."""

import re
import shlex
import subprocess
import sys
import tempfile

import numpy

PROGRAM = "pipelines/factor-kernel"
SIZE = 8  # of the picture that is filtered, whose rows have no padding


def run(*arguments, text=""):
    return subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True,
                          check=False)


def text_of(matrix):
    return "\n".join(",".join(repr(float(number)) for number in row) for row in matrix)


def printed(done):
    """The properties, and the lists of terms along x and y."""
    assert done.returncode == 0 and not done.stderr, done
    line = done.stdout.splitlines()[0]
    words = dict(word.split("=", 1) for word in shlex.split(line))
    stem = {"custom": "taps", "terms": "terms"}[words["kernel"]]
    lists = []
    for axis in "xy":
        value = words[f"{stem}-{axis}"]
        value = value[1:-1] if stem == "terms" else value
        lists.append([[float(tap) for tap in term.split(",")]
                      for term in re.findall("<([^<>]*)>", value)])
    return line, lists


def check_kernel(name, matrix, n_terms, *arguments, tolerance=1e-9):
    matrix = numpy.array(matrix, dtype=float)
    line, (x, y) = printed(run("-", *arguments, text=text_of(matrix)))
    assert len(x) == len(y) == n_terms, (name, len(x), n_terms)
    assert line.startswith("kernel=" + ("custom" if n_terms == 1 else "terms")), (name, line)
    total = sum(numpy.outer(down, across) for across, down in zip(x, y))
    relative = numpy.linalg.norm(total - matrix) / numpy.linalg.norm(matrix)
    assert relative <= tolerance, (name, relative)
    done = run("-", *arguments, text=text_of(matrix))
    reported = [float(n) for n in re.search("residual  largest (.*), relative (.*)",
                                            done.stdout).groups()]
    assert numpy.allclose(reported, [abs(total - matrix).max(), relative], rtol=0.01, atol=1e-15), \
        (name, reported)
    print(f"{name}: {n_terms} terms, relative error {relative:.2g}")
    return line


def check_refusal(words, *arguments, text=""):
    done = run(*arguments, text=text)
    assert done.returncode == 1 and not done.stdout, done
    assert done.stderr.startswith("factor-kernel: ") and done.stderr.count("\n") == 1, done
    assert words in done.stderr, (words, done.stderr)


def check_filtered(matrix, line):
    """A single bright pixel becomes the kernel, turned by half a turn, around a grey of 64."""
    picture = numpy.zeros((SIZE, SIZE), numpy.uint8)
    picture[4, 4] = 10
    wanted = numpy.full((SIZE, SIZE), 64, int)
    for j, row in enumerate(matrix):
        for i, tap in enumerate(row):
            wanted[4 - (j - len(matrix) // 2), 4 - (i - len(row) // 2)] += 10 * tap
    with tempfile.TemporaryDirectory() as folder:
        picture.tofile(folder + "/in")
        subprocess.run(
            ["gst-launch-1.0", "-q", "filesrc", f"location={folder}/in", "!", "rawvideoparse",
             "format=gray8", f"width={SIZE}", f"height={SIZE}", "!",
             "cudasepconv", "backend=cpu", f"bias={64 / 255}", *shlex.split(line), "!",
             "filesink", f"location={folder}/out"], check=True)
        rows = numpy.fromfile(folder + "/out", numpy.uint8).reshape(SIZE, SIZE)
    assert (rows == wanted).all(), (rows, wanted)


def check_kernels():
    chance = numpy.random.default_rng(1)
    gauss = numpy.exp(-numpy.arange(-6, 7) ** 2 / 8)
    check_kernel("Laplacian", [[0, 1, 0], [1, -4, 1], [0, 1, 0]], 2)
    check_kernel("Gaussian", numpy.outer(gauss, gauss) / gauss.sum() ** 2, 1)
    check_kernel("one tap", [[-3]], 1)
    check_kernel("a row", [[1, 2, 4, 8]], 1)
    check_kernel("rank 8", chance.normal(size=(8, 20)), 8)
    check_kernel("rank 8 of 30 x 21", chance.normal(size=(21, 8)) @ chance.normal(size=(8, 30)), 8)
    disc = numpy.hypot(*numpy.mgrid[-7:8, -7:8]) <= 7.3
    check_kernel("disc, 3 terms", disc, 3, "--terms", "3", tolerance=0.3)
    check_kernel("disc, 30 %", disc, 2, "--tolerance", "0.3", tolerance=0.3)


def check_refusals():
    square = text_of(numpy.random.default_rng(2).normal(size=(9, 9)))
    check_refusal("rank 9: 8 terms leave an error of", "-", text=square)
    check_refusal("row 2 has 1 numbers, row 1 has 2", "1 2; 3")
    check_refusal('row 1, column 2: "x" is not a number', "-", text="1,x\n2,3")
    check_refusal('row 1, column 2: "" is not a number', "-", text="1,,2")
    check_refusal("not finite", "1 inf")
    check_refusal("there are no numbers", "-", text="# nothing\n")
    check_refusal("all numbers are 0", "0 0; 0 0")
    check_refusal("No such file", "absent.csv")
    check_refusal("--terms takes 1 to 8", "1", "--terms", "9")
    check_refusal("--tolerance takes", "1", "--tolerance", "2")


def main():
    check_kernels()
    check_refusals()
    matrix = [[1, 2, 3], [0, 1, -2]]
    check_filtered(matrix, printed(run("1 2 3; 0 1 -2"))[0])
    check_filtered([[1, 2], [2, 4], [3, 6]], printed(run("1,2;2,4;3,6"))[0])


if __name__ == "__main__":
    sys.exit(main())
