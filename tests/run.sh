#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds twice and runs every test that this machine can run:
#
#   build/test          gcc (or $CC), with CUDA where nvcc is
#   build/test-nocuda   clang, without CUDA
#
# both with warnings as errors. What can't run here is named with "SKIP".
# The last line is "N passed, N failed, N skipped" over everything; the exit
# status is 1 when something failed.
# shellcheck disable=SC2317 # check calls functions by name
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
# shellcheck source=tests/tally.sh
. tests/tally.sh

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GST_REGISTRY=$scratch/registry

cuda=build/test
nocuda=build/test-nocuda

# build FOLDER [MESON-OPTION...]
build() {
  local folder=$1 mode=()
  shift
  [[ ! -f $folder/build.ninja ]] || mode=(--reconfigure)
  meson setup "${mode[@]}" "$folder" -Dwerror=true -Dtests=enabled "$@" </dev/null \
    && ninja -k 0 -C "$folder" </dev/null
}

# Each test of a build in turn; what a test prints of its own tally is counted.
meson_tests() {
  local folder=$1 test log status
  while read -r test; do
    log=$folder/meson-logs/$test.txt
    rm -f "$log"
    status=0
    meson test -C "$folder" --no-rebuild --logbase "$test" "$test" \
      </dev/null >"$scratch/meson" 2>&1 || status=$?
    count_log "$folder: $test" "$status" "$log" || cat "$scratch/meson"
  done < <(meson test -C "$folder" --list --no-rebuild 2>/dev/null \
    | sed -E 's|^.* / ||')
}

only_system_libraries() {
  ldd "$1" >"$scratch/libraries"
  cat "$scratch/libraries"
  ! grep -E 'libcuda|libcudart|libnv|not found' "$scratch/libraries"
}

holds_kernels() {
  readelf --sections --wide "$1" | grep nv_fatbin
}

# inspect COMMAND...: it tells of the element and warns of nothing.
inspect() {
  "$@" cudasepconv >"$scratch/inspect" 2>"$scratch/warnings"
  cat "$scratch/warnings"
  [[ ! -s $scratch/warnings ]] && grep 'taps-x' "$scratch/inspect" \
    && ! grep -E 'WARNING|CRITICAL' "$scratch/inspect"
}

launch() {
  gst-launch-1.0 -q videotestsrc num-buffers=30 \
    ! cudasepconv kernel=custom taps-x="<0.25,0.5,0.25>" border=reflect-101 \
    ! video/x-raw,format=P010_10LE,width=321,height=241 ! fakesink
}

installs() {
  rm -rf "$scratch/root"
  DESTDIR=$scratch/root meson install -C "$1" --no-rebuild
  find "$scratch/root" -path '*/gstreamer-1.0/libgstcudasepconv.so' | grep .
}

# A clip of odd size with sound and a blank in its name goes in, a file that
# decodes to as many frames and a picture come out.
filter_file() {
  local clip="$scratch/odd clip.mkv"
  gst-launch-1.0 -q videotestsrc num-buffers=20 \
    ! video/x-raw,width=321,height=241 ! jpegenc ! matroskamux name=mux \
    ! filesink location="$clip" audiotestsrc num-buffers=20 ! vorbisenc ! mux.
  "$1/pipelines/filter-file" --picture "$scratch/picture.png" "$clip" \
    "$scratch/filtered.mp4"
  "$1/pipelines/filter-file" --filter identity "$scratch/filtered.mp4" \
    "$scratch/again.raw" | grep -E '^frames +20,'
  file_begins "$scratch/picture.png" 89504e47
  [[ $(stat -c %s "$scratch/again.raw") = $((20 * 320 * 240 * 3 / 2)) ]]
}

file_begins() {
  [[ $(head -c 4 "$1" | od -An -tx1 | tr -d ' ') = "$2" ]]
}

# Files that hold no video: one sentence, a status that tells, and no result.
filter_file_refuses() {
  local input status
  gst-launch-1.0 -q audiotestsrc num-buffers=20 ! vorbisenc ! oggmux \
    ! filesink location="$scratch/sound.ogg"
  head -c 5000 /dev/urandom >"$scratch/noise"
  for input in "$scratch/absent" "$scratch/sound.ogg" "$scratch/noise"; do
    status=0
    "$1/pipelines/filter-file" "$input" "$scratch/none.mp4" || status=$?
    [[ $status = 1 ]]
    [[ -z $(find "$scratch" -name 'none.mp4*') ]]
  done
}

set_up clang shellcheck

check "scripts: shellcheck" shellcheck \
  -x .ci/run pipelines/*.sh tests/*.sh tests/gpu/*.sh

check "$cuda builds without warnings" build $cuda -Dcuda-archs=75,90
if $check_passed; then
  plugin=$cuda/plugin/libgstcudasepconv.so
  if command -v nvcc >/dev/null; then
    check "$cuda: GPU kernels are in the plugin" holds_kernels $plugin
  else
    skip "$cuda: GPU kernels are in the plugin" "there is no nvcc"
  fi
  check "$cuda: no driver or CUDA library is linked" only_system_libraries $plugin
  export GST_PLUGIN_PATH=$PWD/$cuda/plugin
  check "$cuda: gst-inspect-1.0" inspect gst-inspect-1.0
  check "$cuda: gst-launch-1.0" launch
  check "$cuda: filter-file" filter_file $cuda
  check "$cuda: filter-file refuses" filter_file_refuses $cuda
  unset GST_PLUGIN_PATH
  check "$cuda: meson devenv" inspect meson devenv -C $cuda gst-inspect-1.0
  check "$cuda: meson install" installs $cuda
  meson_tests $cuda
fi

CC=clang check "$nocuda builds without warnings" build $nocuda -Dcuda=disabled
if $check_passed; then
  check "$nocuda: no driver or CUDA library is linked" \
    only_system_libraries $nocuda/plugin/libgstcudasepconv.so
  export GST_PLUGIN_PATH=$PWD/$nocuda/plugin
  check "$nocuda: gst-inspect-1.0" inspect gst-inspect-1.0
  check "$nocuda: gst-launch-1.0" launch
  unset GST_PLUGIN_PATH
  meson_tests $nocuda
fi

finish
