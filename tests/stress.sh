#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# stress.sh [--factor N] [--seed N]
# stress.sh interrupts BUILD N
#
# What deployments do to the elements, for longer than tests/run.sh does: the stress-* tests of the
# gst-check suite, made N times as long (20 if not said otherwise, which takes some minutes) and by
# chance from the seed (the clock's), on the CPU and on the emulated GPU, in build/stress; then 200
# programs that are interrupted.
#
#   interrupts   only those, N of them, with the plugin of a build: gst-launch-1.0 gets Ctrl-C
#                at another moment each time, with -e and without. It must end by itself, in time,
#                and with -e leave a file that plays to its end
#
# The exit status is 1 if something went wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  echo "usage: ${0##*/} [--factor N] [--seed N] | interrupts BUILD N" >&2
  exit 2
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# How long a program may take to end once it was interrupted.
patience=20

# Whether the file holds a frame: matroskamux writes its headers, 336 bytes that nothing plays, also
# when the stream ends before the first one. A frame has thousands of bytes.
has_frame() {
  [[ -n $(find "$1" -size +1k 2>/dev/null) ]]
}

# interrupted MILLISECONDS [-e]: Ctrl-C after so long. Before gst-launch-1.0 listens for it, it ends
# the process.
interrupted() {
  local status=0
  rm -f "$scratch/clip.mkv"
  timeout --preserve-status --signal=INT --kill-after=$patience "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" \
    gst-launch-1.0 -q "${@:2}" videotestsrc ! video/x-raw,width=320,height=240,framerate=30/1 \
    ! cudasepconv sigma=2 ! cudahisto mode=equalize ! jpegenc ! matroskamux \
    ! filesink location="$scratch/clip.mkv" >"$scratch/log" 2>&1 || status=$?
  case $status in
    0 | 130) ;;
    *) return 1 ;;
  esac
  [[ ${2:-} != -e || $status != 0 ]] || ! has_frame "$scratch/clip.mkv" \
    || timeout 20 gst-launch-1.0 -q filesrc location="$scratch/clip.mkv" ! matroskademux \
      ! jpegdec ! fakesink >"$scratch/log" 2>&1
}

interrupts() {
  local n=$1 i option late=0
  for ((i = 0; i < n; i++)); do
    option=()
    ((i % 3 == 0)) || option=(-e)
    if ! interrupted $((20 + i * 977 % 900)) "${option[@]}"; then
      echo "FAIL interrupted after $((20 + i * 977 % 900)) ms, with '${option[*]}':"
      tail -n 5 "$scratch/log"
      exit 1
    fi
    ! has_frame "$scratch/clip.mkv" || late=$((late + 1))
  done
  echo "$n programs interrupted, $late of them after the first frame"
  # All before it would show nothing.
  ((late > 0))
}

if [[ ${1:-} = interrupts ]]; then
  [[ $# = 3 && -f $2/plugin/libgstcudasepconv.so && $3 =~ ^[1-9][0-9]{0,4}$ ]] || usage
  GST_REGISTRY=${GST_REGISTRY:-$scratch/registry}
  export GST_REGISTRY GST_PLUGIN_PATH=$PWD/$2/plugin
  gst-inspect-1.0 cudasepconv >/dev/null
  interrupts "$3"
  exit
fi

export STRESS_FACTOR=20 STRESS_SEED=$(($(date +%s) % 1000000))
while [[ $# -gt 0 ]]; do
  [[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] || usage
  case $1 in
    --factor) STRESS_FACTOR=$2 ;;
    --seed) STRESS_SEED=$2 ;;
    *) usage ;;
  esac
  shift 2
done

folder=build/stress
mode=()
[[ ! -f $folder/build.ninja ]] || mode=(--reconfigure)
meson setup "${mode[@]}" "$folder" -Dwerror=true -Dtests=enabled -Dcuda=disabled \
  -Dintrospection=disabled </dev/null >/dev/null
ninja -C "$folder" plugin/libgstcudasepconv.so tests/elements/elements \
  tests/elements/elements-emulated tests/emulation/driver/libcuda.so.1 \
  tests/emulation/plugin/libgstcudasepconv.so </dev/null
echo "seed $STRESS_SEED, $STRESS_FACTOR times as long"
export GST_REGISTRY=$scratch/registry GST_STATE_IGNORE_ELEMENTS='' CK_FORK=no
export CK_DEFAULT_TIMEOUT=$((120 * STRESS_FACTOR))
emulation=$PWD/$folder/tests/emulation
GST_PLUGIN_PATH=$PWD/$folder/plugin \
  tests/parts.sh "$folder/tests/elements/elements" --backend cpu stress-
GST_PLUGIN_PATH=$emulation/plugin LD_LIBRARY_PATH=$emulation/driver EMULATED_GPU_DEVICES=2 \
  EMULATED_GPU_STRICT=1 \
  tests/parts.sh "$folder/tests/elements/elements-emulated" --backend cuda stress-
export GST_PLUGIN_PATH=$PWD/$folder/plugin
interrupts 200
