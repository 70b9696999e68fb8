#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/matrix-cell.sh CELL COMPILER GSTREAMER CUDA
#
# A cell of tests/matrix.sh, inside the system that it has made, as root. GSTREAMER is a version
# whose source is in /gstreamer, or "-"; CUDA is a row's last word there, or "-". Leaves the
# versions of all in result.json. The last line is "N passed, N failed, N skipped".
# shellcheck disable=SC2317 # check calls functions by name
set -euo pipefail
cd "$(dirname "$0")/.."
cell=$1 compiler=$2 gstreamer=$3 cuda=$4

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
# shellcheck source=tests/tally.sh
. tests/tally.sh
# shellcheck disable=SC2034 # of tally.sh
check_limit=5400
jobs=$(nproc)
export CC=$compiler GST_REGISTRY=/tmp/registry
packages=("$compiler")
[[ $cuda != release/* ]] || packages+=(nvidia-cuda-toolkit-gcc)
[[ $cuda != local/* ]] || PATH=/usr/local/cuda/bin:$PATH
[[ $gstreamer = - ]] || packages+=(flex bison)

installs() {
  apt-get update
  apt-get -y dist-upgrade
  set_up "${packages[@]}"
  apt-get clean
}

# gstreamer_module NAME MESON-OPTION...
gstreamer_module() {
  local source
  source=$(echo /gstreamer/*/subprojects/"$1")
  meson setup "/gstreamer/build/$1" "$source" --prefix="$prefix" --libdir=lib --auto-features=disabled \
    --wrap-mode=nodownload "${@:2}"
  ninja -j "$jobs" -C "/gstreamer/build/$1" install
}

# What the gst-check suite needs. videoconvertscale was two plugins before 1.22.
gstreamer_builds() {
  local converters=(-Dvideoconvert=enabled -Dvideoscale=enabled)
  ! grep videoconvertscale /gstreamer/*/subprojects/gst-plugins-base/meson_options.txt \
    || converters=(-Dvideoconvertscale=enabled)
  gstreamer_module gstreamer -Dcheck=enabled -Dtools=enabled -Dcoretracers=enabled
  gstreamer_module gst-plugins-base -Dvideotestsrc=enabled -Dapp=enabled "${converters[@]}"
  gstreamer_module gst-plugins-bad
  touch "$prefix/is-whole"
}

# But for the emulated GPU, which takes most of the time, and knows neither GStreamer nor CUDA.
builds() {
  local options=(-Dcuda=disabled) targets=(plugin/libgstcudasepconv.so tests/kerncheck/kerncheck)
  if [[ $cuda != - ]]; then
    options=(-Dcuda=enabled "-Dcuda-archs=${cuda#*/}")
  else
    targets+=(pipelines/filter-file pipelines/histogram-lines tests/elements/elements)
  fi
  meson setup build -Dwerror=true -Dtests=enabled "${options[@]}"
  ninja -k 0 -j "$jobs" -C build "${targets[@]}"
}

holds_kernels() {
  readelf --sections --wide build/plugin/libgstcudasepconv.so | grep nv_fatbin
}

inspects() {
  local element
  for element in cudasepconv cudahisto; do
    GST_PLUGIN_PATH=$PWD/build/plugin gst-inspect-1.0 "$element" 2>warnings | tee inspected
    cat warnings
    [[ ! -s warnings ]]
    grep 'Long-name' inspected
  done
}

# run_kerncheck: few cases each, as the second build of tests/run.sh does.
run_kerncheck() {
  local status=0
  tests/parts.sh build/tests/kerncheck/kerncheck --quick --iterations 4 >log 2>&1 || status=$?
  count_log "$cell: kerncheck" "$status" log || true
}

run_elements() {
  local status=0
  meson test -C build --no-rebuild --logbase elements elements >meson-log 2>&1 || status=$?
  count_log "$cell: elements" "$status" build/meson-logs/elements.txt || cat meson-log
}

# The versions as JSON.
versions() {
  local version
  version=$("$compiler" --version | head -n 1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
  # shellcheck source=/dev/null
  printf '{"cell": "%s", "system": "%s", "machine": "%s", "compiler": "%s", "gstreamer": "%s", "cuda": "%s"}\n' \
    "$cell" "$(. /etc/os-release && echo "Debian ${VERSION_ID-sid}")" "$(uname -m)" "$compiler $version" \
    "$(pkg-config --modversion gstreamer-1.0)" \
    "$([[ $cuda = - ]] || nvcc --version | sed -nE 's/.*, V([0-9.]+)$/\1/p')"
}

check "$cell: Debian's packages" installs
$check_passed || finish
if [[ $gstreamer != - ]]; then
  prefix=/opt/gstreamer-$(sed -nE "s/^ *version *: *'([0-9.]+)'.*/\1/p" /gstreamer/*/subprojects/gstreamer/meson.build)
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib PATH=$prefix/bin:$PATH
  export GST_PLUGIN_SYSTEM_PATH=$prefix/lib/gstreamer-1.0
  export GST_PLUGIN_SCANNER=$prefix/libexec/gstreamer-1.0/gst-plugin-scanner
  [[ -f $prefix/is-whole ]] || check "$cell: GStreamer builds" gstreamer_builds
  $check_passed || finish
fi
versions >result.json
check "$cell: builds without warnings" builds
if $check_passed; then
  [[ $cuda = - ]] || check "$cell: GPU kernels are in the plugin" holds_kernels
  check "$cell: gst-inspect-1.0" inspects
  run_kerncheck
  [[ $cuda != - ]] || run_elements
fi
finish
