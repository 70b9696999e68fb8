#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh [--quick] [--no-sanitizer] [--only NAME] [OUTPUT-DIR]
#
# Runs the tests of the bundle that it lies in. OUTPUT-DIR takes logs, a filtered
# clip and a picture; without one, a new folder of /tmp does.
#
#   kerncheck   the engine against double precision
#   elements    the elements on every backend
#   clip        a clip filtered on the GPU and on the CPU: at most 1 code value
#               apart, since each is within 0.75 of the exact result
#   decode      frames that the GPU decodes, filtered and counted where they are: none
#               crosses the bus, and they are as those that do
#   memcheck, racecheck
#               compute-sanitizer over both test binaries, where it is installed
#   bench       what docs/performance.md tells of, as JSON; runs only if named
#
# --quick takes fewer cases, --only NAME one of those above. Without a
# GPU, what needs one is named with "SKIP". The last line is
# "N passed, N failed, N skipped"; the exit status is 1 when something failed.
# shellcheck disable=SC2317 # check calls functions by name
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [[ ! -x $here/bin/kerncheck ]]; then
  echo "run.sh: this runs in the folder that tests/gpu/bundle.sh makes" >&2
  exit 2
fi
# shellcheck source=tests/tally.sh
. "$here/tally.sh"

quick=()
sanitizer=yes
only=
output=
while [[ $# -gt 0 ]]; do
  case $1 in
    --quick) quick=(--quick) ;;
    --no-sanitizer) sanitizer=no ;;
    --only) only=${2?--only takes a name}; shift ;;
    -*) sed -n '4,21s/^#[ ]\{0,1\}//p' "$0"; exit 2 ;;
    *) output=$1 ;;
  esac
  shift
done
[[ -n $output ]] || output=$(mktemp -d /tmp/gpu-tests.XXXXXX)
mkdir -p "$output"
output=$(cd "$output" && pwd)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset "${!GST_@}"
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export GST_PLUGIN_SYSTEM_PATH=$here/gstreamer-1.0
export GST_PLUGIN_PATH=$here/plugin
export GST_PLUGIN_SCANNER=$here/bin/gst-plugin-scanner
export GST_REGISTRY=$scratch/registry
export CK_FORK=no
PATH=$here/bin:$PATH:/usr/local/cuda/bin

have_gpu=no
if [[ -e /dev/nvidiactl ]] || nvidia-smi -L >/dev/null 2>&1; then
  have_gpu=yes
fi

# section NAME FUNCTION: runs it unless another was asked for; a row of the table.
table=()
section() {
  local before=("$passed" "$failed" "$skipped") start=$SECONDS
  [[ -z $only || $only = "$1" ]] || return 0
  echo "== $1"
  "$2"
  table+=("$(printf '%-10s %7d %7d %8d %6d s' "$1" $((passed - before[0])) \
    $((failed - before[1])) $((skipped - before[2])) $((SECONDS - start)))")
}

# needs_gpu NAME: whether to go on.
needs_gpu() {
  [[ $have_gpu = no ]] || return 0
  skip "$1" "there is no GPU here"
  return 1
}

# binary LOG COMMAND...: a test binary with a tally of its own.
binary() {
  local log=$output/$1.log status=0
  shift
  timeout 1200 "$@" </dev/null >"$log" 2>&1 || status=$?
  count_log "$*" "$status" "$log" || true
}

run_kerncheck() {
  binary kerncheck kerncheck "${quick[@]}"
}

run_elements() {
  binary elements elements
}

# The sanitizer's own status tells of its findings; a tally would hide them. Calls
# that fail on purpose, such as one for too much memory, are no findings: the code
# checks every result, and the tests check what it makes of them.
sanitize() {
  local tool=$1 name="$1: ${*:2}" options=(--tool "$1" --error-exitcode 99)
  [[ $tool != memcheck ]] || options+=(--report-api-errors=no)
  if [[ $sanitizer = no ]]; then
    skip "$name" "not wanted"
  elif ! command -v compute-sanitizer >/dev/null; then
    skip "$name" "compute-sanitizer is not installed"
  elif needs_gpu "$name"; then
    check "$name" timeout 1200 compute-sanitizer "${options[@]}" "${@:2}"
    cat "$check_log" >>"$output/$tool.log"
  fi
}

# sanitize_kerncheck TOOL: part by part, those that use the GPU. Were there none,
# --check would find nothing and fail.
sanitize_kerncheck() {
  local part parts
  parts=$(kerncheck --list | sed -nE 's#^(ring/|gpu/|(sepconv|histo)/[^/]+/).*#\1#p' \
    | sort -u | grep -vxE '(sepconv|histo)/reference/') || true
  for part in ${parts:-none}; do
    sanitize "$1" kerncheck --quick --check "$part"
  done
}

run_memcheck() {
  sanitize_kerncheck memcheck
  sanitize memcheck elements --backend cuda
}

run_racecheck() {
  sanitize_kerncheck racecheck
}

# on_backend BACKEND FORMAT KERNEL: the clip, as raw frames of that format.
on_backend() {
  filter-file --filter \
    "videoconvert ! video/x-raw,format=$2 ! cudasepconv backend=$1 $3" \
    "$here/clip.webm" "$scratch/$1.raw"
}

compare_backends() {
  on_backend cuda "$1" "$2"
  on_backend cpu "$1" "$2"
  compare-raw "$scratch/cuda.raw" "$scratch/cpu.raw" "$3" "$4"
}

# compare FORMAT KERNEL SAMPLE-BYTES STEP
compare() {
  local name="clip: $1 $2"
  needs_gpu "$name" || return 0
  check "$name" compare_backends "$@"
  if $check_passed; then
    sed 's/^/  /' "$check_log"
  fi
  { echo "$name"; cat "$check_log"; } >>"$output/clip.log"
  rm -f "$scratch"/*.raw
}

filter_clip() {
  filter-file --filter "cudasepconv sigma=6 backend=$1" --picture \
    "$output/before-after-$1.png" "$here/clip.webm" "$output/filtered-$1.mp4"
}

run_clip() {
  local backend
  : >"$output/clip.log"
  for backend in cuda cpu; do
    [[ $backend = cpu ]] || needs_gpu "clip: filter-file on cuda" || continue
    check "clip: filter-file on $backend" filter_clip "$backend"
    grep -E '^(backend|a frame|frames) ' "$check_log" | sed 's/^/  /' || true
    cat "$check_log" >>"$output/clip.log"
  done
  compare I420 "sigma=6" 1 1
  compare P010_10LE "sigma=6" 2 64
  [[ ${#quick[@]} = 0 ]] || return 0
  compare I420 "sigma=0.8" 1 1
  compare I420 "kernel=sobel-x bias=0.5" 1 1
  compare I420 "kernel=custom taps-x=<-0.25,1.5,-0.25> border=reflect-101" 1 1
  compare NV12 "sigma=20 border=wrap" 1 1
  compare RGBA "kernel=box radius=7 planes=all" 1 1
  compare GRAY16_LE "sigma=3" 2 1
}

# decoded NAME PIPELINE-PART: the coded clip, decoded on the GPU, as raw frames; and
# what the elements counted.
decoded() {
  timeout 300 launch-stats filesrc location="$here/clip.h264" ! h264parse \
    ! nvh264dec ! "${@:2}" ! filesink location="$scratch/$1.raw" \
    | tee "$scratch/$1.stats"
}

# expect_counts NAME ELEMENT FIELD=PATTERN...
expect_counts() {
  local field
  for field in "${@:3}"; do
    grep -E "^$2: .* ${field%=*}=\(guint64\)${field#*=}[,;]" "$scratch/$1.stats" \
      || { echo "$2: $field does not hold"; return 1; }
  done
}

decode_on_gpu() {
  decoded gpu cudasepconv name=filter sigma=2 ! cudahisto name=histo interval=0 \
    ! "video/x-raw(memory:CUDAMemory)" ! cudadownload ! video/x-raw,format=NV12
  expect_counts gpu filter "frames-out=[1-9][0-9]*" bytes-up=0 bytes-down=0
  expect_counts gpu histo "frames-out=[1-9][0-9]*" bytes-up=0 bytes-down=0
}

# decode_beside BACKEND: the same with frames that come down first.
decode_beside() {
  decoded "$1" cudadownload ! video/x-raw ! cudasepconv sigma=2 backend="$1"
  compare-raw "$scratch/gpu.raw" "$scratch/$1.raw" 1 1
}

run_decode() {
  local backend name="decode: frames stay on the GPU"
  needs_gpu "$name" || return 0
  if ! gst-inspect-1.0 --exists nvh264dec; then
    skip "$name" "there is no nvh264dec: the GPU or its driver does not decode"
    return 0
  fi
  check "$name" decode_on_gpu
  cp "$check_log" "$output/decode.log"
  $check_passed || return 0
  for backend in cuda cpu; do
    check "decode: as in system memory, backend=$backend" decode_beside "$backend"
    cat "$check_log" >>"$output/decode.log"
    if $check_passed; then
      tail -n 1 "$check_log" | sed 's/^/  /'
    fi
  done
}

run_bench() {
  local link=$output/transfer.json
  needs_gpu bench || return 0
  check "kerncheck: bench" kerncheck --bench "${quick[@]}" --backend cuda \
    --json "$output/filter.json"
  cat "$check_log"
  check "kerncheck: bench of histograms" kerncheck --bench --histo \
    "${quick[@]}" --backend cuda --json "$output/histo.json"
  cat "$check_log"
  check bench-transfer bench-transfer "${quick[@]}" --json "$link"
  cat "$check_log"
  check bench-pipeline bench-pipeline "${quick[@]}" --backend cuda \
    --link "$link" --json "$output/pipeline.json"
  cat "$check_log"
  check "bench-pipeline: soak" bench-pipeline --backend cuda --soak 100000
  cat "$check_log"
}

uname -srm
if command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap \
    --format=csv,noheader || true
fi
section kerncheck run_kerncheck
section elements run_elements
section clip run_clip
section decode run_decode
section memcheck run_memcheck
section racecheck run_racecheck
[[ $only != bench ]] || section bench run_bench

if [[ ${#table[@]} = 0 ]]; then
  echo "run.sh: there is no test named $only" >&2
  exit 2
fi
echo "Results in $output"
printf '%-10s %7s %7s %8s %8s\n' '' passed failed skipped time
printf '%s\n' "${table[@]}"
finish
