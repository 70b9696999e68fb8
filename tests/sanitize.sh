#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# sanitize.sh [address|thread|memory]... [--part K/N]
#
# Builds without CUDA and runs kerncheck and the gst-check suite under sanitizers:
#
#   address   AddressSanitizer with its search for leaks, and UndefinedBehaviorSanitizer,
#             in build/sanitize-address; also the ring and the elements on the emulated
#             GPU
#   thread    ThreadSanitizer, in build/sanitize-thread; on the CPU alone, since it
#             cannot follow the switches of the emulated GPU
#   memory    valgrind, which knows of memory that was never written; in build/sanitize-memory, on
#             the CPU alone and without AVX-512, which it does not know
#
# All in turn if none is named. The builds take 8, 3 and 2 minutes of two cores, what runs then one
# core: all of thread 7 minutes, of memory 17, address much longer, most of it the emulated GPU;
# --part K/N takes every Nth check and test, from the Kth on.
#
# Whatever a sanitizer reports fails the program that it is about; what is known and not
# ours is in sanitize/*.supp, with reasons. GLib and GStreamer themselves are those of the
# system: sanitize/glib-for-tsan.c speaks for their locks. The last line is "N passed, N
# failed, N skipped" over everything; the exit status is 1 when something failed.
# shellcheck disable=SC2317 # check calls functions by name
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
# shellcheck source=tests/tally.sh
. tests/tally.sh

usage() {
  echo "usage: ${0##*/} [address|thread|memory]... [--part K/N]" >&2
  exit 2
}

sanitizers=()
part=1/1
while [[ $# -gt 0 ]]; do
  case $1 in
    address | thread | memory) sanitizers+=("$1") ;;
    --part)
      [[ ${2:-} =~ ^[1-9][0-9]*/[1-9][0-9]*$ && ${2%/*} -le ${2#*/} ]] || usage
      part=$2
      shift
      ;;
    *) usage ;;
  esac
  shift
done
[[ ${#sanitizers[@]} -gt 0 ]] || sanitizers=(address thread memory)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
supp=$PWD/tests/sanitize

# The tests' own environment. Elements of others come from a registry that the unchanged
# scanner has made, which could not load what is built here; that is scanned in place.
# Memory that GLib keeps for later would hide what is done with it after it was freed.
export GST_REGISTRY=$scratch/registry GST_REGISTRY_FORK=no
export GST_STATE_IGNORE_ELEMENTS='' CK_FORK=no CK_DEFAULT_TIMEOUT=1800
export G_SLICE=always-malloc

# Stacks deep enough to tell of the leaks below: to unwind them takes most of the time.
export ASAN_OPTIONS=fast_unwind_on_malloc=0:malloc_context_size=10
export LSAN_OPTIONS=suppressions=$supp/leaks.supp:print_suppressions=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=suppressions=$supp/threads.supp:ignore_noninstrumented_modules=1
TSAN_OPTIONS+=:history_size=7:second_deadlock_stack=1

# Those that take long. What they compute is checked by kerncheck.
mapfile -t slow_emulated < <(grep -v '^#' tests/emulation/slow-elements)

# build FOLDER SANITIZERS TARGET...
build() {
  local mode=()
  [[ ! -f $1/build.ninja ]] || mode=(--reconfigure)
  meson setup "${mode[@]}" "$1" -Dwerror=true -Dtests=enabled -Dcuda=disabled \
    -Dintrospection=disabled -Db_sanitize="$2" </dev/null \
    && ninja -k 0 -C "$1" "${@:3}" </dev/null
}

# run NAME COMMAND...: a program that ends with its tally.
run() {
  local name=$1 status=0
  shift
  "$@" </dev/null >"$scratch/log" 2>&1 || status=$?
  # What is for GPUs alone is no news here.
  sed -i -E '/^SKIP .*(no usable CUDA device|not in this build|no CUDA support)/d' "$scratch/log"
  count_log "$name" "$status" "$scratch/log" || true
}

skip_each() {
  printf -- '--skip\n%s\n' "$@"
}

address() {
  local folder=build/sanitize-address slow
  check "$folder builds without warnings" build "$folder" address,undefined \
    plugin/libgstcudasepconv.so tests/kerncheck/kerncheck tests/elements/elements \
    tests/emulation/plugin/libgstcudasepconv.so tests/emulation/driver/libcuda.so.1 \
    tests/emulation/kerncheck-emulated tests/elements/elements-emulated
  $check_passed || return 0
  export GST_PLUGIN_PATH=$PWD/$folder/plugin
  run "address: kerncheck" "$folder/tests/kerncheck/kerncheck" --quick --part "$part"
  run "address: elements" "$folder/tests/elements/elements" --part "$part"
  run "address: kerncheck-emulated, ring" \
    "$folder/tests/emulation/kerncheck-emulated" --quick --part "$part" --check ring/
  run "address: kerncheck-emulated, gpu" \
    "$folder/tests/emulation/kerncheck-emulated" --quick --part "$part" --check gpu/
  run "address: kerncheck-emulated, bitpack" \
    "$folder/tests/emulation/kerncheck-emulated" --quick --part "$part" --check bitpack/
  mapfile -t slow < <(skip_each "${slow_emulated[@]}")
  # One fault point in 199, the same ones each time: tests/faults.sh address takes more.
  run "address: elements-emulated" env EMULATED_GPU_DEVICES=2 EMULATED_GPU_STRICT=1 \
    FAULTS_STRIDE=199 FAULTS_SEED=3 \
    GST_PLUGIN_PATH="$PWD/$folder/tests/emulation/plugin" \
    LD_LIBRARY_PATH="$PWD/$folder/tests/emulation/driver" \
    "$folder/tests/elements/elements-emulated" --backend cuda "${slow[@]}" --part "$part"
}

build_glib_for_tsan() {
  local flags
  read -ra flags < <(pkg-config --cflags --libs gstreamer-1.0)
  "${CC:-cc}" -shared -fPIC -O2 -g -Wall -Wextra -Werror \
    tests/sanitize/glib-for-tsan.c -o "$1" "${flags[@]}" -ltsan
}

thread() {
  local folder=build/sanitize-thread
  check "$folder builds without warnings" build "$folder" thread \
    plugin/libgstcudasepconv.so tests/kerncheck/kerncheck tests/elements/elements
  $check_passed || return 0
  check "$folder: the word for GLib builds" \
    build_glib_for_tsan "$folder/glib-for-tsan.so"
  $check_passed || return 0
  export GST_PLUGIN_PATH=$PWD/$folder/plugin
  run "thread: kerncheck" "$folder/tests/kerncheck/kerncheck" --quick --part "$part"
  run "thread: elements" env LD_PRELOAD="$PWD/$folder/glib-for-tsan.so" \
    "$folder/tests/elements/elements" --part "$part"
  skip "thread: the emulated GPU" "ThreadSanitizer cannot follow its switches"
}

memory() {
  local folder=build/sanitize-memory
  # Leaks are found by address.
  local valgrind=(valgrind --quiet --error-exitcode=1
    --suppressions="$(pkg-config --variable=prefix glib-2.0)/share/glib-2.0/valgrind/glib.supp")
  check "$folder builds without warnings" build "$folder" none \
    plugin/libgstcudasepconv.so tests/kerncheck/kerncheck tests/elements/elements
  $check_passed || return 0
  export GST_PLUGIN_PATH=$PWD/$folder/plugin
  run "memory: kerncheck" "${valgrind[@]}" "$folder/tests/kerncheck/kerncheck" --quick \
    --part "$part"
  run "memory: elements" "${valgrind[@]}" "$folder/tests/elements/elements" --backend cpu \
    --part "$part"
  skip "memory: the emulated GPU" "valgrind cannot follow its switches"
}

set_up valgrind
env -u GST_PLUGIN_PATH -u GST_REGISTRY_FORK gst-inspect-1.0 >/dev/null 2>&1
for sanitizer in "${sanitizers[@]}"; do
  "$sanitizer"
done
finish
