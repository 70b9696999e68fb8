# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mutation testing: see tests/mutation.sh, which runs this."""

import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import equivalent
import mutants
import programs
import reached

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTED = ("killed", "timed out", "survived")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/mutation.sh", add_help=False)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", default="*")
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    if arguments.count < 1 or arguments.limit <= 0 or arguments.jobs < 1:
        parser.error("--count, --limit and --jobs take a number above 0")
    return arguments


def say(text):
    print(text, flush=True)


def sample_of(arguments):
    """All mutants of the files asked for, in the order of the seed, and the sources.

    A mutant's place in it depends on nothing but the seed and its own content."""
    names = sorted(glob.glob("cuda/**/*.c", recursive=True) + glob.glob("plugin/*.c"))
    names = [name for name in names if fnmatch.fnmatch(name, arguments.file)]
    if not names:
        sys.exit(f"mutation.sh: no source of engine or plugin matches {arguments.file}")
    sources, found = {}, []
    for name in names:
        with open(name, "rb") as file:
            sources[name] = file.read()
        found += mutants.mutants_of(name, sources[name])
    known = equivalent.read(os.path.join(HERE, "equivalent.txt"))
    kept = [mutant for mutant in found if (mutant.path, mutant.function or "-",
                                           mutant.before, mutant.after) not in known]
    kept.sort(key=lambda mutant: hashlib.sha256(
        f"{arguments.seed} {mutant.identity}".encode()).digest())
    return kept, sources, len(found) - len(kept)


def copy_tree(tree):
    """Makes `tree` the checkout as it is now, without touching what is the same."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], check=True,
                            capture_output=True).stdout.decode().split("\0")
    wanted = {name for name in listed if name and os.path.isfile(name)}
    for name in wanted:
        target = os.path.join(tree, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or read_bytes(name) != read_bytes(target):
            shutil.copy(name, target)
    for folder, below, names in os.walk(tree):
        if folder == tree and "build" in below:
            below.remove("build")
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, tree) not in wanted:
                os.unlink(path)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def digest_of(folders):
    """Of what lies in the folders."""
    result = hashlib.sha256()
    for folder in folders:
        for name in sorted(glob.glob(folder + "/**", recursive=True)):
            if os.path.isfile(name) and "__pycache__" not in name:
                result.update(name.encode() + b"\0" + read_bytes(name))
    return result.hexdigest()


class Results:
    """A file of results, one a line. One that was found counts while the mutated source is the
    same; a mutant that survived is tried again when tests or other sources have changed."""

    def __init__(self, path, state, fresh):
        self.path = path
        self.state = state
        self.known = {}
        if fresh or not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as file:
            for line in file:
                result = json.loads(line)
                self.known[result["mutant"]] = result

    def find(self, mutant, source):
        result = self.known.get(mutant.identity)
        if result is None or result["source"] != hashlib.sha256(source).hexdigest():
            return None
        if result["verdict"] == "survived" and result["state"] != self.state:
            return None
        return result

    def add(self, mutant, source, verdict, by, why):
        result = {
            "mutant": mutant.identity, "source": hashlib.sha256(source).hexdigest(),
            "state": self.state, "verdict": verdict, "by": by, "why": why, "file": mutant.path,
            "function": mutant.function, "line": mutant.line, "operator": mutant.operator,
            "before": mutant.before, "after": mutant.after}
        self.known[mutant.identity] = result
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        return result


class Bench:
    """Tries mutants in a build of the copied tree."""

    def __init__(self, tree, build, lines, arguments, scratch):
        self.tree = tree
        self.build = build
        self.lines = lines
        self.arguments = arguments
        self.scratch = scratch
        self.objects = build.objects()
        self.original_code = {}
        self.kills = collections.Counter()

    def try_mutant(self, mutant, source, groups):
        """Returns the verdict, the group that found the mutant, and its words."""
        path = os.path.join(self.tree, mutant.path)
        self.remember_code(mutant.path)
        try:
            with open(path, "wb") as file:
                file.write(mutants.for_compiler(mutant, source))
            return self.verdict_on(mutant, groups)
        finally:
            with open(path, "wb") as file:
                file.write(source)

    def remember_code(self, path):
        for objects in self.objects[path]:
            missing = [name for name in objects if name not in self.original_code]
            if missing:
                self.build.make(missing, self.arguments.jobs)
                self.original_code.update(zip(missing, self.build.code_of(missing)))

    def verdict_on(self, mutant, groups):
        differs, began, left_out = False, time.monotonic(), 0
        for emulated in (False, True):
            mine = [group for group in groups if group.program.emulated == emulated]
            objects = self.objects[mutant.path][emulated]
            if not mine or not objects:
                continue
            if not self.build.make(objects, self.arguments.jobs):
                return "not compiled", "", ""
            code = self.build.code_of(objects)
            if code == [self.original_code[name] for name in objects]:
                continue
            differs = True
            found, late = self.race(self.in_order(mine, mutant), began)
            left_out += late
            if found:
                verdict, group, why = found
                self.kills[mutant.path, group] += verdict != "not compiled"
                return {"failed": "killed"}.get(verdict, verdict), str(group), why
        if not differs:
            return "equivalent", "", ""
        return "survived", "", f"{left_out} groups left out for time" if left_out else ""

    def race(self, groups, began):
        """Runs groups, as many at once as there are jobs, until one does not pass. Returns the
        verdict of that one, the group and why, or None; and how many were left out for time."""
        waiting, found, late, linked = iter(groups), [], [], set()
        lock, halt = threading.Lock(), programs.Halt()

        def work():
            while True:
                with lock:
                    group = None if found else next(waiting, None)
                    if group is None:
                        return
                    if time.monotonic() - began > self.arguments.limit:
                        late.append(group)
                        continue
                    if group.program not in linked and not self.build.make(
                            group.program.targets, self.arguments.jobs):
                        found.append(("not compiled", group, "it does not link"))
                        return
                    linked.add(group.program)
                limit = 20 + 4 * self.lines.seconds[group]
                verdict, why, _ = programs.run_group(
                    self.build.folder, group, self.scratch, limit, halt)
                with lock:
                    if verdict != "passed" and not found:
                        found.append((verdict, group, why))
                        halt.now()

        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            for worker in [pool.submit(work) for _ in range(self.arguments.jobs)]:
                worker.result()
        return (found[0] if found else None), len(late)

    def in_order(self, groups, mutant):
        """Those first that have found mutants of this file, then the quick ones."""
        return sorted(groups, key=lambda group: (-self.kills[mutant.path, group],
                                                 self.lines.seconds[group]))


def interval(found, n):
    """Wilson's, of 95 %."""
    z = 1.959964
    share = found / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


def summary(tally, excluded):
    found = tally["killed"] + tally["timed out"]
    n = found + tally["survived"]
    say(f"{tally['killed']} killed, {tally['timed out']} timed out, {tally['survived']} survived; "
        f"{tally['not compiled']} not compiled, {tally['equivalent']} with equal code, "
        f"{tally['uncovered']} in lines that no test runs, which are not counted")
    say(f"{excluded} mutants of these files are left out as equivalent, by equivalent.txt")
    if n:
        low, high = interval(found, n)
        say(f"score {100 * found / n:.1f} % of {n}, 95 % confidence {100 * low:.1f} to "
            f"{100 * high:.1f} %")


def describe(mutant, source, result):
    text = f"{result['verdict']} {mutant.path}:{mutant.line} {mutant.operator}"
    if result["by"]:
        text += f" by {result['by']}"
    if result["verdict"] == "survived":
        text += f" {result['why']}\n{mutant.diff(source)}"
    return text


def run(sample, sources, bench, results, arguments):
    """Returns how often each verdict came, until `count` mutants count."""
    tally, began, tried = collections.Counter(), time.monotonic(), 0
    for mutant in sample:
        n = sum(tally[verdict] for verdict in COUNTED)
        if n == arguments.count:
            break
        groups = bench.lines.by(mutant)
        if not groups:
            tally["uncovered"] += 1
            continue
        source = sources[mutant.path]
        result = results.find(mutant, source)
        if result is None:
            tried += 1
            result = results.add(mutant, source, *bench.try_mutant(mutant, source, groups))
        tally[result["verdict"]] += 1
        n = sum(tally[verdict] for verdict in COUNTED)
        left = (time.monotonic() - began) / max(1, tried) * (arguments.count - n)
        say(f"[{n}/{arguments.count}, {left / 60:.0f} min left] "
            + describe(mutant, source, result))
    return tally


def main():
    arguments = parse_arguments()
    sample, sources, excluded = sample_of(arguments)
    if arguments.list:
        for mutant in sample[:arguments.count]:
            say(f"{mutant.path}:{mutant.line} {mutant.function}: {mutant.operator}\n"
                f"{mutant.diff(sources[mutant.path])}")
        return
    work = os.path.abspath("build/mutation")
    tree = os.path.join(work, "tree")
    os.makedirs(tree, exist_ok=True)
    copy_tree(tree)
    say("building twice, as it is and with gcov")
    plain = programs.Build(tree, "plain")
    plain.make_all(arguments.jobs)
    counted = programs.Build(tree, "gcov")
    counted.measure_lines()
    counted.make_all(arguments.jobs)
    digests = {program.name: digest_of(program.folders) for program in programs.PROGRAMS}
    with tempfile.TemporaryDirectory() as scratch:
        groups = programs.groups_of(plain.folder, scratch)
        lines = reached.collect(counted, groups, work, digests, arguments.jobs, say, scratch)
        for group, why in lines.broken.items():
            say(f"left out, since it fails as it is: {group}: {why}")
        results = Results(os.path.join(work, "results.jsonl"), "".join(digests.values()),
                          arguments.fresh)
        bench = Bench(tree, plain, lines, arguments, scratch)
        tally = run(sample, sources, bench, results, arguments)
    summary(tally, excluded)


if __name__ == "__main__":
    main()
