#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# How much of the code the tests run: builds without CUDA in build/coverage, with gcc, runs
# kerncheck, kerncheck-emulated, and the gst-check suite on the CPU and on the emulated GPU, and
# prints the shares of lines and branches of each folder, and of each file that lies below the
# floor. The lines that did not run are listed in build/coverage/uncovered. It takes
# 10 minutes on two cores.
#
# Counted is what runs on the host and is in an installed plugin: sources and headers in C. The
# exit status is 1 if a test fails or the lines of a folder are below the floor, and 77 where
# there is no gcov.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

# Lines of a folder in percent.
floor=90

if (($# > 0)); then
  echo "usage: tests/coverage.sh (without arguments)" >&2
  exit 2
fi
# shellcheck disable=SC2119 # there are none
set_up
command -v gcov >/dev/null || {
  echo "SKIP: there is no gcov" >&2
  exit 77
}

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
for isa in baseline avx2 avx512; do
  counted "kerncheck, $isa" "$folder/tests/kerncheck/kerncheck" --quick --iterations 4 \
    --isa "$isa" --method simd
done
for check in gpu ring; do
  counted "kerncheck-emulated, $check" "$folder/tests/emulation/kerncheck-emulated" --quick \
    --check $check/
done
GST_PLUGIN_PATH=$PWD/$folder/plugin counted elements \
  tests/parts.sh "$folder/tests/elements/elements"
mapfile -t slow < <(grep -v '^#' tests/emulation/slow-elements | sed 's/^/--skip\n/')
GST_PLUGIN_PATH=$emulation/plugin LD_LIBRARY_PATH=$emulation/driver EMULATED_GPU_DEVICES=2 \
  EMULATED_GPU_STRICT=1 FAULTS_SEED=3 FAULTS_STRIDE=199 counted elements-emulated \
  tests/parts.sh "$folder/tests/elements/elements-emulated" --backend cuda "${slow[@]}"

tests/coverage-report.py "$folder" $floor "$folder/uncovered" || status=1
echo "Lines that did not run: $folder/uncovered"
exit "$status"
