#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# coverage.sh [--html FOLDER]
#
# How much of the code the tests run: builds without CUDA in build/coverage, runs kerncheck with
# each instruction set, kerncheck-emulated, and the gst-check suite on the CPU and on the emulated
# GPU, and prints the shares of lines and branches of each folder, and of each file that lies
# below the floor. --html writes the sources with their counts.
#
# Counted is what runs on the host and is in an installed plugin: sources and headers in C. The
# exit status is 1 if a test fails or the lines of a folder are below the floor, and 77 where
# there is no gcovr.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

# Lines of a folder in percent.
floor=90

usage() {
  echo "usage: ${0##*/} [--html FOLDER]" >&2
  exit 2
}

html=
while [[ $# -gt 0 ]]; do
  case $1 in
    --html)
      [[ -n ${2:-} ]] || usage
      html=$2
      shift
      ;;
    *) usage ;;
  esac
  shift
done

set_up gcovr
if ! command -v gcovr >/dev/null; then
  echo "SKIP: there is no gcovr" >&2
  exit 77
fi

folder=build/coverage
emulation=$PWD/$folder/tests/emulation
mode=()
[[ ! -f $folder/build.ninja ]] || mode=(--reconfigure)
# Threads count in the same counters.
CC=gcc CXX=g++ meson setup "${mode[@]}" "$folder" -Dwerror=true -Dtests=enabled -Dcuda=disabled \
  -Dintrospection=disabled -Db_coverage=true -Dc_args=-fprofile-update=prefer-atomic \
  -Dcpp_args=-fprofile-update=prefer-atomic </dev/null >/dev/null
ninja -C "$folder" plugin/libgstcudasepconv.so tests/kerncheck/kerncheck \
  tests/elements/elements tests/emulation/plugin/libgstcudasepconv.so \
  tests/emulation/driver/libcuda.so.1 tests/emulation/kerncheck-emulated \
  tests/elements/elements-emulated </dev/null
find "$folder" -name '*.gcda' -delete

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GST_REGISTRY=$scratch/registry GST_STATE_IGNORE_ELEMENTS='' CK_FORK=no
export CK_DEFAULT_TIMEOUT=600
status=0

# counted NAME COMMAND...: what it prints shows only if it fails.
counted() {
  local name=$1 began=$SECONDS
  shift
  if "$@" </dev/null >"$scratch/log" 2>&1; then
    printf '%s: %s, %d s\n' "$name" "$(tail -n 1 "$scratch/log")" $((SECONDS - began))
  else
    printf 'FAIL %s\n' "$name"
    grep -E '^FAIL' "$scratch/log" || tail -n 20 "$scratch/log"
    status=1
  fi
}

counted kerncheck "$folder/tests/kerncheck/kerncheck" --quick
for isa in baseline avx2 avx512 avx512-vnni; do
  counted "kerncheck, $isa" "$folder/tests/kerncheck/kerncheck" --quick --iterations 4 --isa "$isa"
done
counted kerncheck-emulated "$folder/tests/emulation/kerncheck-emulated" --quick
GST_PLUGIN_PATH=$PWD/$folder/plugin counted elements \
  tests/elements/parts.sh "$folder/tests/elements/elements"
# What takes minutes, and computes what kerncheck-emulated checks.
slow=()
for name in histo-equalize-changes histo-equalize-clahe-formats histo-equalize-formats \
  histo-equalize-strength-zero histo-overlay-formats pipelines-run pipelines-seek-from-push \
  gpu-memory-pipelines flight-ways formats-derivative; do
  slow+=(--skip "$name")
done
GST_PLUGIN_PATH=$emulation/plugin LD_LIBRARY_PATH=$emulation/driver EMULATED_GPU_DEVICES=2 \
  EMULATED_GPU_STRICT=1 FAULTS_SEED=3 counted elements-emulated \
  tests/elements/parts.sh "$folder/tests/elements/elements-emulated" --backend cuda "${slow[@]}"

report=("$folder" --root . --filter 'cuda/.*\.[ch]$' --filter 'plugin/.*\.[ch]$'
  --merge-mode-functions merge-use-line-min --json-summary "$scratch/summary.json")
if [[ -n $html ]]; then
  mkdir -p "$html"
  report+=(--html-details "$html/index.html")
fi
gcovr "${report[@]}" >"$scratch/gcovr" 2>&1 || {
  cat "$scratch/gcovr" >&2
  exit 1
}
python3 - "$scratch/summary.json" "$floor" <<'PYTHON' || status=1
import collections
import json
import sys

floor = float(sys.argv[2])
folders = collections.defaultdict(collections.Counter)
low = []
with open(sys.argv[1], encoding="utf-8") as summary:
    for file in json.load(summary)["files"]:
        counts = {k: file[k] for k in ("line_covered", "line_total", "branch_covered",
                                       "branch_total")}
        folders[file["filename"].rpartition("/")[0]].update(counts)
        folders["cuda/, all" if file["filename"].startswith("cuda/") else "plugin/, all"].update(
            counts)
        if counts["line_total"] and 100 * counts["line_covered"] < floor * counts["line_total"]:
            low.append((file["filename"], counts))


def share(counts, kind):
    total = counts[kind + "_total"]
    return 100 * counts[kind + "_covered"] / total if total else 100.0


def line(name, counts):
    return (f"{name:<32} {share(counts, 'line'):6.1f} {counts['line_total']:7} "
            f"{share(counts, 'branch'):9.1f} {counts['branch_total']:8}")


print(f"{'folder':<32} lines % of those branches % of those")
for name in sorted(folders):
    print(line(name, folders[name]))
for name, counts in sorted(low):
    print(line(name, counts))
failing = [name for name, counts in folders.items() if share(counts, "line") < floor]
for name in failing:
    print(f"FAIL {name}: less than {floor:g} % of the lines")
sys.exit(bool(failing))
PYTHON
exit "$status"
