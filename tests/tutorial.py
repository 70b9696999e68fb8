#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the commands of a tutorial, and compares what they print with what the page says.

    tests/tutorial.py PAGE

Commands stand in indented lines after "$ ", one below the other in one shell, and run in a new folder
that has this checkout's pipelines/ and build/. The indented lines below a command are what it
writes to stdout. Numbers may differ by a tenth: detectors and codecs have versions. Exit status: 0;
1 and what differs."""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MARK = "\x1e"


def read_commands(page):
    """[command, the lines it prints]"""
    commands = []
    with open(page, encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if line.startswith("    $ "):
                commands.append([line[6:], []])
                inside = True
            elif line.startswith("    ") and commands and inside:
                commands[-1][1].append(line[4:].rstrip())
            else:
                inside = False
    return commands


def run(commands, folder):
    """What each command writes to stdout. The first that fails is the last."""
    for name in ("pipelines", "build"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    script = "\n".join(["set -eo pipefail",
                        *(f"printf '{MARK}'\n{command}" for command, _ in commands)])
    done = subprocess.run(["bash", "-c", script], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, encoding="utf-8")
    return done.stdout.split(MARK)[1:], done.stderr, done.returncode


def same_line(printed, wanted):
    near = all(abs(float(a) - float(b)) <= 0.1 * abs(float(b)) for a, b in
               zip(NUMBER.findall(printed), NUMBER.findall(wanted)))
    return near and NUMBER.sub("0", printed) == NUMBER.sub("0", wanted)


def same(printed, wanted):
    return len(printed) == len(wanted) and all(map(same_line, printed, wanted))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    commands = read_commands(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        results, errors, status = run(commands, folder)
    faults = 0
    for (command, wanted), result in zip(commands, results):
        printed = [line.rstrip() for line in result.rstrip("\n").split("\n")] if result else []
        print(f"$ {command}", *printed, sep="\n")
        if not same(printed, wanted):
            faults += 1
            print("The page says:", *wanted, sep="\n")
    if status or len(results) < len(commands):
        print(errors, f"status {status}", sep="\n")
    print(f"{len(commands)} commands, {len(results)} run, {faults} print something else")
    return int(status != 0 or faults > 0 or len(results) < len(commands) or not commands)


if __name__ == "__main__":
    sys.exit(main())
