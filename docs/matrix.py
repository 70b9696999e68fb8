#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the table of what tests/matrix.sh has run, from docs/matrix.json.

    docs/matrix.py                rewrites the table between the markers of docs/extending.md
    docs/matrix.py --check        changes nothing; shows how the page differs, with status 1
    docs/matrix.py --add FILE DATE PASSED FAILED SKIPPED SECONDS
                                  takes in a cell's versions and results first, in place of older ones

Cells stand in the order of tests/matrix.sh; those that have not been run say so."""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(DOCS, "matrix.json")
PAGE = os.path.join(DOCS, "extending.md")
TABLE = re.compile(r"(<!-- matrix -->\n).*?(<!-- end of matrix -->)", re.DOTALL)
COLUMNS = ["cell", "system", "machine", "compiler", "GStreamer", "CUDA", "date", "passed", "failed",
           "skipped", "seconds"]


def cells():
    listed = subprocess.run([os.path.join(DOCS, "../tests/matrix.sh"), "--list"], check=True,
                            capture_output=True, encoding="utf-8")
    return [line.split()[0] for line in listed.stdout.splitlines()[1:]]


def read_results():
    with open(RESULTS, encoding="utf-8") as file:
        return {result["cell"]: result for result in json.load(file)}


def write_results(results):
    with open(RESULTS, "w", encoding="utf-8") as file:
        lines = ",\n".join(json.dumps(results[cell]) for cell in cells() if cell in results)
        file.write(f"[\n{lines}\n]\n")


def add(results, arguments):
    with open(arguments[0], encoding="utf-8") as file:
        result = json.load(file)
    result["date"] = arguments[1]
    result.update(zip(COLUMNS[-4:], map(int, arguments[2:])))
    results[result["cell"]] = result
    write_results(results)


def table(results):
    lines = [COLUMNS, ["---"] * len(COLUMNS)]
    for cell in cells():
        result = results.get(cell)
        lines.append([str(result[column.lower()]) or "–" for column in COLUMNS] if result
                     else [cell, "not run"] + [""] * (len(COLUMNS) - 2))
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--add", nargs=6, metavar=("FILE", "DATE", "PASSED", "FAILED", "SKIPPED", "SECONDS"))
    arguments = parser.parse_args()
    results = read_results()
    if arguments.add:
        add(results, arguments.add)
    with open(PAGE, encoding="utf-8") as file:
        before = file.read()
    after, count = TABLE.subn(lambda part: part[1] + table(results) + part[2], before)
    if count != 1:
        sys.exit("docs/extending.md lacks the markers of the matrix")
    if arguments.check:
        sys.stdout.writelines(difflib.unified_diff(
            before.splitlines(True), after.splitlines(True), "docs/extending.md", "docs/matrix.json"))
        return int(after != before)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
