# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which groups of checks reach which lines, from gcov."""

import collections
import glob
import json
import os
import subprocess

import programs


class Reached:
    def __init__(self):
        self.seconds = {}  # by group, those that pass
        self.broken = {}  # why a group does not pass without a mutant
        self.lines = collections.defaultdict(lambda: collections.defaultdict(list))
        self.known = collections.defaultdict(set)  # lines of a file that hold code

    def add(self, group, result):
        if result["verdict"] != "passed":
            self.broken[group] = result["why"]
            return
        self.seconds[group] = result["seconds"]
        for path, (run, known) in result["lines"].items():
            self.known[path].update(known)
            for line in run:
                self.lines[path][line].append(group)

    def by(self, mutant):
        """The groups that run the line of a mutant."""
        lines = self.lines[mutant.path]
        if not mutant.function:
            return list(dict.fromkeys(group for groups in lines.values() for group in groups))
        # Expressions are counted by the line that they begin in.
        at = mutant.line
        while at > 0 and at not in self.known[mutant.path]:
            at -= 1
        return lines.get(at, [])


def collect(build, groups, cache, digests, say, scratch):
    """Runs all groups in a build with gcov; what `cache` holds of an unchanged program stays."""
    reached = Reached()
    for program in programs.PROGRAMS:
        path = os.path.join(cache, f"reached-{program.name}.json")
        kept = read(path)
        if kept.get("digest") != digests[program.name]:
            kept = {"digest": digests[program.name], "groups": {}}
        mine = [group for group in groups if group.program == program]
        for index, group in enumerate(mine):
            if group.name not in kept["groups"]:
                say(f"which lines {group} reaches ({index + 1} of {len(mine)})")
                kept["groups"][group.name] = measure(build, group, scratch)
                write(path, kept)
            reached.add(group, kept["groups"][group.name])
    return reached


def measure(build, group, scratch):
    for name in counters(build):
        os.unlink(name)
    verdict, why, seconds = programs.run_group(build.folder, group, scratch, 600)
    return {"verdict": verdict, "why": why, "seconds": seconds, "lines": lines_of(build)}


def counters(build):
    return [name for part in ("cuda", "plugin", "tests/emulation")
            for name in glob.glob(os.path.join(build.folder, part, "**/*.gcda"), recursive=True)]


def lines_of(build):
    names = counters(build)
    if not names:
        return {}
    done = subprocess.run(["gcov", "--json-format", "--stdout", *names], cwd=build.folder,
                          stdin=subprocess.DEVNULL, capture_output=True, check=True)
    result = {}
    tree = os.path.dirname(os.path.dirname(build.folder))
    for text in done.stdout.splitlines():
        for file in json.loads(text)["files"]:
            path = os.path.relpath(os.path.join(build.folder, file["file"]), tree)
            if not path.endswith(".c") or path.split("/")[0] not in ("cuda", "plugin"):
                continue
            run, known = result.setdefault(path, (set(), set()))
            for line in file["lines"]:
                known.add(line["line_number"])
                if line["count"] > 0:
                    run.add(line["line_number"])
    return {path: (sorted(run), sorted(known)) for path, (run, known) in result.items()}


def read(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, value):
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(path + ".part", path)
