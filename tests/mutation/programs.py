# SPDX-License-Identifier: LGPL-2.1-or-later
"""The project's test programs, divided into groups of checks: how they are built and run."""

import collections
import dataclasses
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time

# A mutant may ask for any amount of memory.
MEMORY_LIMIT = 16 << 30

# Tests that take too long on the emulated GPU.
with open("tests/emulation/slow-elements", encoding="utf-8") as file:
    SLOW = [name for name in file.read().split("\n") if name and not name.startswith("#")]


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    path: str  # in the build's folder
    targets: tuple  # that hold mutated objects
    folders: tuple  # whose sources it is built of
    options: tuple
    emulated: bool


KERNCHECK = Program(
    "kerncheck", "tests/kerncheck/kerncheck", ("tests/kerncheck/kerncheck",),
    ("cuda", "tests/kerncheck", "tests/bench"), ("--quick", "--seed", "1"), False)
ELEMENTS = Program(
    "elements", "tests/elements/elements", ("plugin/libgstcudasepconv.so",),
    ("cuda", "plugin", "tests/elements"), (), False)
KERNCHECK_EMULATED = Program(
    "kerncheck-emulated", "tests/emulation/kerncheck-emulated",
    ("tests/emulation/kerncheck-emulated",),
    ("cuda", "tests/kerncheck", "tests/bench", "tests/emulation"), ("--quick", "--seed", "1"), True)
ELEMENTS_EMULATED = Program(
    "elements-emulated", "tests/elements/elements-emulated",
    ("tests/emulation/plugin/libgstcudasepconv.so",),
    ("cuda", "plugin", "tests/elements", "tests/emulation"), (), True)
PROGRAMS = [KERNCHECK, ELEMENTS, KERNCHECK_EMULATED, ELEMENTS_EMULATED]
MUTATED_OBJECT = re.compile(
    r"(cuda/|plugin/libgstcudasepconv\.so|tests/emulation/(plugin/)?lib).*\.c\.o:?$")
DRIVER = "tests/emulation/driver/libcuda.so.1"


@dataclasses.dataclass(frozen=True)
class Group:
    """Checks that run in one process. What fails first ends it."""

    program: Program
    name: str
    arguments: tuple

    def __str__(self):
        return f"{self.program.name} {self.name}"


def find_leak_checker():
    """gcc's LeakSanitizer, which programs can be started with; None: there is none, or it does not
    work, as where processes must not trace others."""
    done = subprocess.run(["gcc", "-print-file-name=liblsan.so"], check=False, capture_output=True,
                          encoding="utf-8", stdin=subprocess.DEVNULL)
    library = os.path.realpath(done.stdout.strip())
    if done.returncode != 0 or not os.path.isfile(library):
        return None
    works = subprocess.run(["true"], env=dict(os.environ, LD_PRELOAD=library), check=False,
                           capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
    return library if works else None


LEAK_CHECKER = find_leak_checker()


def finds_leaks(program):
    """Those of kerncheck are its own; GStreamer keeps memory to the end of a process."""
    return program == KERNCHECK and LEAK_CHECKER is not None


def environment(build, program, scratch):
    plugins = "tests/emulation/plugin" if program.emulated else "plugin"
    result = dict(
        os.environ, GST_PLUGIN_PATH=os.path.join(build, plugins),
        GST_REGISTRY=os.path.join(scratch, "registry-" + program.name),
        GST_STATE_IGNORE_ELEMENTS="", CK_FORK="no", CK_DEFAULT_TIMEOUT="120")
    if program.emulated:
        result.update(
            LD_LIBRARY_PATH=os.path.join(build, os.path.dirname(DRIVER)),
            EMULATED_GPU_DEVICES="2", EMULATED_GPU_STRICT="1", FAULTS_SEED="3",
            FAULTS_STRIDE="199")
    if finds_leaks(program):
        result.update(LD_PRELOAD=LEAK_CHECKER,
                      LSAN_OPTIONS=f"hard_rss_limit_mb={MEMORY_LIMIT >> 20}")
    return result


def groups_of(build, scratch):
    """All groups, each program's in the order of its list."""
    result = []
    for program in PROGRAMS:
        done = subprocess.run(
            [os.path.join(build, program.path), *program.options, "--list"],
            env=environment(build, program, scratch), stdin=subprocess.DEVNULL, check=True,
            capture_output=True, encoding="utf-8")
        divide = kerncheck_groups if "kerncheck" in program.name else elements_groups
        result += divide(program, done.stdout.split())
    return result


def kerncheck_groups(program, names):
    """By what stands before the second slash. The emulated GPU: what its launches go through."""
    prefixes = dict.fromkeys(
        re.match(r"[^/]+/[^/]+/?", name)[0] for name in names
        if not program.emulated or re.match("(gpu|ring)/|.*/choose-", name))
    groups = [Group(program, prefix, (*program.options, "--check", prefix)) for prefix in prefixes]
    if not program.emulated:
        # Each loop is compiled for several instruction sets.
        for isa in ("baseline", "avx2", "avx512"):
            for check in ("sepconv/simd/", "sepconv/terms-simd/", "sepconv/multirate-simd/",
                          "sepconv/box-running-simd/", "equalize/cpu/", "light/cpu/"):
                groups.append(Group(program, f"{isa} {check}", (
                    *program.options, "--isa", isa, "--check", check)))
    return groups


def elements_groups(program, names):
    """By the first word of a test's name, of the large families by two."""
    wanted = ("cuda", "bare") if program.emulated else ("any", "cpu")
    groups = collections.defaultdict(list)
    for name in names:
        _, variant, test = name.split("/")
        if variant in wanted and not (program.emulated and test in SLOW):
            words = test.split("-")
            words = words[:2 if words[0] in ("histo", "flight", "gpu") else 1]
            groups[variant, "-".join(words)].append(test)
    skip = [argument for name in SLOW for argument in ("--skip", name)] if program.emulated else []
    return [Group(program, f"{variant} {name}", ("--backend", variant, *skip, *tests))
            for (variant, name), tests in groups.items()]


class Halt:
    """Ends groups that run at once, when the first of them has failed."""

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()
        self.halted = False

    def add(self, end):
        with self.lock:
            self.running.add(end)
            if self.halted:
                end()

    def remove(self, end):
        with self.lock:
            self.running.remove(end)

    def now(self):
        with self.lock:
            self.halted = True
            for end in self.running:
                end()


def limit_resources(group):
    # What finds leaks reserves more of the address space, and limits memory itself.
    if not finds_leaks(group.program):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_group(build, group, scratch, limit, halt, more=()):
    """Returns "passed", "failed" or "timed out", the line that says why, and the seconds. `more`:
    variables of its environment."""
    began = time.monotonic()
    with subprocess.Popen(
            [os.path.join(build, group.program.path), *group.arguments],
            env=environment(build, group.program, scratch) | dict(more), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
            start_new_session=True, preexec_fn=lambda: limit_resources(group)) as process:
        late = threading.Event()

        def end():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended by itself

        def end_late():
            late.set()
            end()

        timer = threading.Timer(limit, end_late)
        timer.start()
        halt.add(end)
        why = ""
        for line in process.stdout:
            if line.startswith(("FAIL", "not ok", "SUMMARY: LeakSanitizer")):
                why = line.strip()
                break
        if why:
            end()
        halt.remove(end)
        status = process.wait()
        timer.cancel()
    seconds = time.monotonic() - began
    if late.is_set():
        return "timed out", f"after {limit:.0f} s", seconds
    if why or status != 0:
        return "failed", why or f"exit status {status}", seconds
    return "passed", "", seconds


class Build:
    """A build folder in the copy of the tree. Its options are those of other builds, so that a
    compiler's cache knows the objects."""

    def __init__(self, tree, name):
        self.folder = os.path.join(tree, "build", name)
        mode = ["--reconfigure"] if os.path.exists(
            os.path.join(self.folder, "build.ninja")) else []
        quietly(["meson", "setup", *mode, self.folder, "-Dwerror=true", "-Dtests=enabled",
                 "-Dcuda=disabled", "-Dintrospection=disabled"], tree)

    def measure_lines(self):
        """From here on gcov counts the lines of engine and plugin in C: not those of kernels, nor
        of the tests, which would take as long as all others to compile. Meson has options for whole
        builds only. What is compiled for several instruction sets counts as compiled for the first.
        """
        path = os.path.join(self.folder, "build.ninja")
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        counted = False
        for index, line in enumerate(lines):
            if line.startswith("build "):
                counted = MUTATED_OBJECT.match(line.split()[1]) and "libsimd" not in line
            elif line.startswith(" LINK_ARGS = -Wl") or (counted and line.startswith(" ARGS = ")):
                lines[index] += " --coverage"
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))

    def make(self, targets, jobs):
        """Returns whether it went well."""
        return subprocess.run(
            ["ninja", "-C", self.folder, f"-j{jobs}", *targets], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def make_all(self, jobs):
        targets = [DRIVER]
        for program in PROGRAMS:
            targets += [program.path, *program.targets]
        quietly(["ninja", "-C", self.folder, f"-j{jobs}", *dict.fromkeys(targets)], self.folder)

    def objects(self):
        """The objects of engine and plugin by source, as (on the CPU, on the emulated GPU)."""
        listed = subprocess.run(
            ["ninja", "-C", self.folder, "-t", "deps"], stdin=subprocess.DEVNULL, check=True,
            capture_output=True, encoding="utf-8").stdout
        result = collections.defaultdict(lambda: ([], []))
        target = None
        for line in listed.split("\n"):
            if line.startswith(" "):
                source = os.path.normpath(os.path.join("build/x", line.strip()))
                if target and re.match(r"(cuda|plugin)/.*\.c$", source):
                    result[source][target.startswith("tests/")].append(target)
            else:
                target = line.split(":")[0]
                if not MUTATED_OBJECT.match(target):
                    target = None
        return result

    def code_of(self, objects):
        """What the machine runs of them, without what is for debuggers."""
        result = []
        with tempfile.TemporaryDirectory() as folder:
            bare = os.path.join(folder, "bare.o")
            for name in objects:
                subprocess.run(
                    ["objcopy", "--strip-debug", os.path.join(self.folder, name), bare], check=True)
                with open(bare, "rb") as file:
                    result.append(file.read())
        return result


def quietly(command, folder):
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}")
