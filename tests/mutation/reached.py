# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which groups of checks reach which lines, from gcov."""

import collections
import concurrent.futures
import json
import os
import subprocess
import tempfile

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


def collect(build, groups, cache, digests, jobs, say, scratch):
    """Runs all groups in a build with gcov, as many at once as there are jobs; what `cache` holds
    of an unchanged program stays."""
    reached = Reached()
    for program in programs.PROGRAMS:
        path = os.path.join(cache, f"reached-{program.name}.json")
        kept = read(path)
        if kept.get("digest") != digests[program.name]:
            kept = {"digest": digests[program.name], "groups": {}}
        mine = [group for group in groups if group.program == program]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            measured = {pool.submit(measure, build, group, scratch): group for group in mine
                        if group.name not in kept["groups"]}
            for future in concurrent.futures.as_completed(measured):
                kept["groups"][measured[future].name] = future.result()
                write(path, kept)
                say(f"which lines {measured[future]} reaches "
                    f"({len(kept['groups'])} of {len(mine)})")
        for group in mine:
            reached.add(group, kept["groups"][group.name])
    return reached


def measure(build, group, scratch):
    """In a folder of its own, as groups that run at once count in the same files otherwise."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        verdict, why, seconds = programs.run_group(
            build.folder, group, scratch, 600, programs.Halt(), {"GCOV_PREFIX": folder})
        lines = lines_of(build, folder)
    return {"verdict": verdict, "why": why, "seconds": seconds, "lines": lines}


def lines_of(build, folder):
    # Not by glob, which leaves out names that begin with a point, as those of the emulated GPU.
    counters = [os.path.join(place, name) for place, _, names in os.walk(folder)
                for name in names if name.endswith(".gcda")]
    if not counters:
        return {}
    for counter in counters:
        notes = counter.removesuffix("gcda") + "gcno"
        os.symlink(notes.removeprefix(folder), notes)
    done = subprocess.run(["gcov", "--json-format", "--stdout", *counters], cwd=build.folder,
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
