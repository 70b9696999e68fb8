#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Has two programs look for faults in the C sources of engine, plugin and programs without running
# them: clang-tidy, with the checks of .clang-tidy, and gcc's -fanalyzer. What they report and is
# none is in tests/lint.exceptions, with reasons; an exception that nothing needs any more is
# reported, too. It takes some minutes of two cores.
#
# The exit status is 1 over any other finding, and 77 where there is no clang-tidy or no gcc.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

if (($# > 0)); then
  echo "usage: tests/lint.sh (without arguments)" >&2
  exit 2
fi
set_up clang clang-tidy
for program in clang-tidy gcc; do
  command -v $program >/dev/null || {
    echo "SKIP: there is no $program" >&2
    exit 77
  }
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# configure FOLDER MESON-OPTION...
configure() {
  local mode=()
  [[ ! -f $1/build.ninja ]] || mode=(--reconfigure)
  meson setup "${mode[@]}" "$@" -Dcuda=disabled -Dintrospection=disabled </dev/null >/dev/null
}

CC=clang configure build/lint-clang -Dtests=enabled
python3 - build/lint-clang/compile_commands.json >"$scratch/sources" <<'PYTHON'
import json
import os
import sys

for command in json.load(open(sys.argv[1], encoding="utf-8")):
    path = os.path.relpath(os.path.join(command["directory"], command["file"]))
    if path.endswith(".c") and path.startswith(("cuda/", "plugin/", "pipelines/")):
        print(path)
PYTHON
sort -u "$scratch/sources" | xargs -P "$(nproc)" -n 4 clang-tidy -p build/lint-clang --quiet \
  >"$scratch/tidy" 2>"$scratch/tidy-errors" || {
  grep -E 'error:' "$scratch/tidy" "$scratch/tidy-errors" && exit 1
}

CC=gcc configure build/lint-gcc -Dtests=disabled -Dc_args=-fanalyzer
ninja -C build/lint-gcc -t clean >/dev/null
ninja -k 0 -C build/lint-gcc plugin/libgstcudasepconv.so plugin/libgstcudasepconv-filter-1.0.so.0 \
  pipelines/filter-file pipelines/histogram-lines </dev/null >"$scratch/analyzer" 2>&1 || {
  tail -n 20 "$scratch/analyzer"
  exit 1
}

echo "$(sort -u "$scratch/sources" | wc -l) sources"
python3 - "$scratch/tidy" "$scratch/analyzer" <<'PYTHON'
import os
import re
import sys

FINDING = re.compile(r"^(\S+?):(\d+):\d+: warning: (.*) \[([\w.,-]+)\]$")


def in_checkout(path, base):
    return os.path.relpath(os.path.join(base, path))


excused = set()
with open("tests/lint.exceptions", encoding="utf-8") as lines:
    for entry in lines:
        words = entry.partition("#")[0].split()
        if words:
            excused.add((words[0], words[1]))

used, found = set(), set()
for log, base in (sys.argv[1], "build/lint-clang"), (sys.argv[2], "build/lint-gcc"):
    with open(log, encoding="utf-8", errors="replace") as lines:
        for text in lines:
            match = FINDING.match(text.rstrip())
            if not match:
                continue
            path = in_checkout(match[1], base)
            checks = match[4].split(",")
            excuses = {(path, check) for check in checks} & excused
            used |= excuses
            if not excuses:
                found.add(f"{path}:{match[2]}: {match[3]} [{match[4]}]")
for text in sorted(found):
    print("FAIL", text)
for path, check in sorted(excused - used):
    print(f"FAIL {path}: the exception for {check} is not needed")
sys.exit(bool(found or excused - used))
PYTHON
