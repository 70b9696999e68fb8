#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# fuzz.sh [--seconds N] [TARGET]...
#
# Builds the targets in tests/fuzz with clang's libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer in build/fuzz, and runs them one after the other, an hour each
# if not said otherwise, from the seeds in tests/fuzz/seeds and what earlier runs have found
# in build/fuzz/corpus. Targets: engine, properties, buffers.
#
# Each target ends with the number of its executions. What it finds is left in
# build/fuzz/found, and the exit status is then 1; it is 77 where there is no libFuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  echo "usage: ${0##*/} [--seconds N] [engine|properties|buffers]..." >&2
  exit 2
}

seconds=3600
targets=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --seconds)
      [[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] || usage
      seconds=$2
      shift
      ;;
    engine | properties | buffers) targets+=("$1") ;;
    *) usage ;;
  esac
  shift
done
[[ ${#targets[@]} -gt 0 ]] || targets=(engine properties buffers)

folder=build/fuzz
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'int LLVMFuzzerTestOneInput (void) { return 0; }' >"$scratch/probe.c"
if ! clang -fsanitize=fuzzer,address "$scratch/probe.c" -o "$scratch/probe" 2>/dev/null; then
  echo "SKIP: there is no clang with libFuzzer" >&2
  exit 77
fi

export CC=clang CXX=clang++
export CFLAGS=-fsanitize=fuzzer-no-link CXXFLAGS=-fsanitize=fuzzer-no-link
mode=()
[[ ! -f $folder/build.ninja ]] || mode=(--reconfigure)
meson setup "${mode[@]}" "$folder" -Dwerror=true -Dtests=enabled -Dfuzz=enabled \
  -Dcuda=disabled -Dintrospection=disabled -Db_sanitize=address,undefined \
  -Db_lundef=false </dev/null
ninja -C "$folder" "${targets[@]/#/tests/fuzz/fuzz-}" </dev/null

# GLib before 2.76 hands freed memory out again without AddressSanitizer, and keeps some for each
# thread, which looks like a leak if one is just ending.
export G_SLICE=always-malloc
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/tests/sanitize/leaks.supp:print_suppressions=0
status=0
mkdir -p "$folder/found"
for target in "${targets[@]}"; do
  # Tables of 16-bit codes for many tiles take instrumented code half a minute on a slow machine.
  options=(-max_total_time="$seconds" -max_len=1024 -len_control=0 -timeout=90
    -print_final_stats=1 -artifact_prefix="$folder/found/$target-")
  asan=allocator_may_return_null=1
  # What GStreamer keeps would be searched for leaks after each input: at the end is enough.
  [[ $target = engine ]] || options+=(-detect_leaks=0)
  if [[ $target = properties ]]; then
    # GStreamer forgets the parts of an array whose text ends too early.
    asan+=:detect_leaks=0
    options+=(-dict=tests/fuzz/properties.dict)
  fi
  mkdir -p "$folder/corpus/$target"
  ASAN_OPTIONS=$asan "$folder/tests/fuzz/fuzz-$target" "${options[@]}" \
    "$folder/corpus/$target" "tests/fuzz/seeds/$target" >"$scratch/log" 2>&1 \
    || { status=1 && tail -n 100 "$scratch/log"; }
  echo "$target: $(sed -nE 's/^stat::number_of_executed_units: //p' "$scratch/log") executions"
done
exit "$status"
