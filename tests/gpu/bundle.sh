#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/gpu/bundle.sh [OUTPUT-DIR]
#
# Makes a folder (default: bundle/ of this checkout) that runs every GPU test on
# a machine with a driver and a C library no older than this one's, and nothing
# else: OUTPUT-DIR/run.sh. It may be moved, and be read-only.
# CUDA_ARCHS, such as 80,90, limits the architectures that kernels are built for.
# NPP_INCLUDE names the folder of NPP's headers, if the toolkit does not have them:
# kerncheck --bench then also times NPP, where the GPU host has its libraries.
set -euo pipefail

case ${1-} in
  -*) sed -n '4,11s/^#[ ]\{0,1\}//p' "$0"; exit ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
output=$(realpath -m "${1:-$root/bundle}")
cd "$root"
# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

# What the tests' pipelines are made of. A name that this GStreamer doesn't have
# is part of another: videoconvert and videoscale became videoconvertscale.
plugins=(app avi compositor coreelements debug deinterlace interlace isomp4 jpeg
  matroska multifile nvcodec playback png rawparse typefindfunctions
  videoconvert videoconvertscale videocrop videofilter videoparsersbad
  videorate videoscale videotestsrc vpx x264)
# The host's: the C library and the driver.
host_libraries='/(ld-linux[^/]*|lib(c|m|pthread|dl|rt|resolv|util|anl|nss_[a-z]+)|lib(cuda|nvidia|nvcuvid)[^/]*)\.so'
clip_frames=100
coded_frames=60
options=(-Dcuda=enabled -Dgstcuda=enabled -Dtests=enabled)
options+=("-Dcuda-archs=${CUDA_ARCHS:-all}")
[[ -z ${NPP_INCLUDE-} ]] || options+=("-Dnpp-include=$NPP_INCLUDE")

# Libraries that the files named need, without the host's.
libraries_of() {
  ldd "$@" | sed -nE 's/.* => (\/[^ ]+) .*/\1/p' | sort -u \
    | grep -vE "$host_libraries"
}

# Readable by plugins that need few libraries.
make_clip() {
  local cache=$root/build/gpu/clip clip
  if [[ ! -f $cache/$clip_frames.webm ]]; then
    mkdir -p "$cache"
    clip=$(default_clip "$cache")
    quietly gst-launch-1.0 filesrc location="$clip" ! decodebin ! videoconvert \
      ! identity eos-after=$clip_frames ! vp8enc deadline=1 cpu-used=4 \
      target-bitrate=1200000 ! webmmux ! filesink location="$cache/part" \
      || return
    mv "$cache/part" "$cache/$clip_frames.webm"
  fi
  cp "$cache/$clip_frames.webm" "$1"
}

# Up to $coded_frames frames as a decoder on the GPU takes them, in another order than
# they are shown in.
make_coded_clip() {
  local cache=$root/build/gpu/clip
  if [[ ! -f $cache/$coded_frames.h264 ]]; then
    quietly gst-launch-1.0 filesrc location="$1" ! matroskademux ! vp8dec \
      ! identity eos-after=$coded_frames ! videoconvert \
      ! video/x-raw,format=I420 ! x264enc bframes=2 key-int-max=20 \
      ! video/x-h264,stream-format=byte-stream,profile=high \
      ! filesink location="$cache/part" || return
    mv "$cache/part" "$cache/$coded_frames.h264"
  fi
  cp "$cache/$coded_frames.h264" "$2"
}

set_up opencv-doc
command -v nvcc >/dev/null || die "nvcc is needed: install the CUDA Toolkit"
build_release build/gpu "${options[@]}"

if [[ -n $(ls -A "$output" 2>/dev/null) && ! -x $output/bin/kerncheck ]]; then
  die "$output holds something other than a bundle"
fi
rm -rf "$output"
mkdir -p "$output"/{bin,lib,plugin,gstreamer-1.0}
cp build/gpu/plugin/libgstcudasepconv.so "$output/plugin"
cp build/gpu/plugin/libgstcudasepconv-filter-1.0.so.0 "$output/lib"
cp build/gpu/tests/{kerncheck/kerncheck,elements/elements,gpu/compare-raw,gpu/launch-stats} \
  build/gpu/tests/bench/{bench-transfer,bench-pipeline} \
  build/gpu/pipelines/filter-file "$output/bin"
cp "$(command -v gst-launch-1.0)" "$(command -v gst-inspect-1.0)" \
  "$(pkg-config --variable=pluginscannerdir gstreamer-1.0)/gst-plugin-scanner" \
  "$output/bin"
plugins_folder=$(pkg-config --variable=pluginsdir gstreamer-1.0)
for plugin in "${plugins[@]}"; do
  if [[ -f $plugins_folder/libgst$plugin.so ]]; then
    cp "$plugins_folder/libgst$plugin.so" "$output/gstreamer-1.0"
  fi
done
mapfile -t libraries < <(libraries_of "$output"/{bin,lib,plugin,gstreamer-1.0}/*)
cp -L "${libraries[@]}" "$output/lib"
strip --strip-unneeded "$output"/{bin,lib,plugin,gstreamer-1.0}/*
# The example of an element outside of this tree, on the library that was copied above.
rm -rf build/gpu/element
PKG_CONFIG_PATH=$root/build/gpu/meson-uninstalled quietly meson setup build/gpu/element examples/element \
  -Dcuda=enabled -Dgpu-architecture=all-major
quietly ninja -C build/gpu/element
cp build/gpu/element/libgstcudaposterize.so "$output/plugin"
# What is linked was copied above.
ldd "$output/plugin/libgstcudasepconv.so" | grep 'libgstcuda-1\.0\.so' >/dev/null \
  || die "the plugin is built without GStreamer's CUDA library"
make_clip "$output/clip.webm"
make_coded_clip "$output/clip.webm" "$output/clip.h264"
cp tests/gpu/run.sh tests/tally.sh "$output"
echo "$(du -sh "$output" | cut -f1) in $output; there: run.sh"
