#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# faults.sh [address] [--stride N] [--seed N] [--pipeline NAME]
#
# Has every call fail in turn that may fail, in short pipelines of both elements over the
# emulated GPU and on the CPU, and demands each time what tests/elements/test-faults.c says:
# right frames, one clear error or the fallback to the CPU, a clean stop, a working restart,
# and nothing left. tests/run.sh takes one point in 127; this takes all of them, or one in N,
# which takes some hours / N of two cores. --seed chooses the first one, and --pipeline the only
# pipeline, by its name in test-faults.c.
#
#   address   under AddressSanitizer, its search for leaks and UndefinedBehaviorSanitizer
#
# How many points each pipeline has had is printed; the exit status is 1 if one went wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  echo "usage: ${0##*/} [address] [--stride N] [--seed N] [--pipeline NAME]" >&2
  exit 2
}

folder=build/faults
sanitize=none
export FAULTS_STRIDE=1 FAULTS_SEED=0
while [[ $# -gt 0 ]]; do
  case $1 in
    address)
      folder=build/sanitize-address
      sanitize=address,undefined
      ;;
    --stride | --seed)
      [[ ${2:-} =~ ^[0-9]{1,6}$ ]] || usage
      [[ $1 = --seed ]] || FAULTS_STRIDE=$2
      [[ $1 = --stride ]] || FAULTS_SEED=$2
      shift
      ;;
    --pipeline)
      [[ -n ${2:-} ]] || usage
      export FAULTS_PIPELINE=$2
      shift
      ;;
    *) usage ;;
  esac
  shift
done

mode=()
[[ ! -f $folder/build.ninja ]] || mode=(--reconfigure)
meson setup "${mode[@]}" "$folder" -Dwerror=true -Dtests=enabled -Dcuda=disabled \
  -Dintrospection=disabled -Db_sanitize=$sanitize </dev/null
ninja -C "$folder" tests/elements/elements-emulated tests/emulation/driver/libcuda.so.1 \
  tests/emulation/plugin/libgstcudasepconv.so </dev/null

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GST_REGISTRY=$scratch/registry GST_STATE_IGNORE_ELEMENTS='' CK_FORK=no
export GST_PLUGIN_PATH=$PWD/$folder/tests/emulation/plugin
export EMULATED_GPU_DEVICES=2 EMULATED_GPU_STRICT=1
if [[ $sanitize != none ]]; then
  # Elements of others come from the unchanged scanner, which cannot load this plugin.
  env -u GST_PLUGIN_PATH gst-inspect-1.0 >/dev/null 2>&1
  for part in {1..8}; do
    cp "$GST_REGISTRY" "$GST_REGISTRY-$part"
  done
  export GST_REGISTRY_FORK=no G_SLICE=always-malloc
  export ASAN_OPTIONS=fast_unwind_on_malloc=0
  export LSAN_OPTIONS=suppressions=$PWD/tests/sanitize/leaks.supp:print_suppressions=0
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
fi
export LD_LIBRARY_PATH=$PWD/$folder/tests/emulation/driver
tests/parts.sh "$folder/tests/elements/elements-emulated" --backend cuda faults-
