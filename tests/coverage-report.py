#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Print how much of the code has run: coverage-report.py BUILD FLOOR UNCOVERED

BUILD was made with -Db_coverage=true, and its tests have run. For each folder of cuda/ and plugin/
the shares of lines and branches are printed, over all programs that were built of a file, and the
files whose share of lines is below FLOOR percent. The lines that did not run are written to the
file UNCOVERED. The exit status is 1 if a folder is below FLOOR.

It reads what gcov says itself: gcovr 5.2 and lcov 1.16 stop at functions that macros make several
times, as the loops for each instruction set are.
"""

import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys


class File:
    """The counts of a source, the highest of all programs."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.Counter()

    def add(self, lines):
        for line in lines:
            number = line["line_number"]
            self.lines[number] = max(self.lines[number], line["count"])
            for index, branch in enumerate(line["branches"]):
                key = number, index
                self.branches[key] = max(self.branches[key], branch["count"])


def counts_of(build):
    """Reads all counts, as a File by its path in the checkout."""
    files = collections.defaultdict(File)
    top = os.getcwd()
    for data in sorted(pathlib.Path(build).resolve().rglob("*.gcda")):
        report = subprocess.run(
            ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(data)],
            cwd=build, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        if report.startswith(b"\x1f\x8b"):
            report = gzip.decompress(report)
        for text in report.splitlines():
            for source in json.loads(text)["files"]:
                path = os.path.relpath(os.path.join(build, source["file"]), top)
                if path.startswith(("cuda/", "plugin/")) and path.endswith((".c", ".h")):
                    files[path].add(source["lines"])
    return files


def tally(files):
    """Lines and branches that have run, and all."""
    total = collections.Counter()
    for file in files:
        for kind, counts in ("lines", file.lines), ("branches", file.branches):
            total[kind] += len(counts)
            total["run " + kind] += sum(count > 0 for count in counts.values())
    return total


def share(total, kind):
    return 100 * total["run " + kind] / total[kind] if total[kind] else 100.0


def row(name, total):
    return (f"{name:<34} {share(total, 'lines'):6.1f} {total['lines']:6} "
            f"{share(total, 'branches'):10.1f} {total['branches']:6}")


def write_uncovered(files, path):
    with open(path, "w", encoding="utf-8") as out:
        for name, file in sorted(files.items()):
            for number, count in sorted(file.lines.items()):
                if count == 0:
                    print(f"{name}:{number}", file=out)


def main():
    build, floor, uncovered = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    files = counts_of(build)
    folders = collections.defaultdict(list)
    for name, file in files.items():
        folders[os.path.dirname(name)].append(file)
        folders[name.split("/", maxsplit=1)[0] + "/ in all"].append(file)
    print(f"{'':<34} lines%    of  branches%     of")
    for name, of_folder in sorted(folders.items()):
        print(row(name, tally(of_folder)))
    print(f"files below {floor:g} %:")
    for name, file in sorted(files.items()):
        if share(tally([file]), "lines") < floor:
            print(row(name, tally([file])))
    write_uncovered(files, uncovered)
    low = [name for name, of_folder in folders.items()
           if share(tally(of_folder), "lines") < floor]
    for name in low:
        print(f"FAIL {name}: fewer than {floor:g} % of the lines")
    return 1 if low or not files else 0


if __name__ == "__main__":
    sys.exit(main())
