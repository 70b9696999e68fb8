#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/bench/cpu-peers.sh PLUGIN-DIR [JSON-FILE]
#
# Times cudasepconv on the CPU beside other gaussian filters of the same σ, 2, on the same
# cores and 1080p noise: gaussianblur, cvsmooth (OpenCV), and FFmpeg's gblur, as far as they
# are there. PLUGIN-DIR is where libgstcudasepconv.so is, as build/test/plugin. A figure is
# the wall time of a frame, in microseconds, less that of the same pipeline without a filter,
# the least of five runs each.
set -euo pipefail

case ${1--} in
  -*) sed -n '4,10s/^#[ ]\{0,1\}//p' "$0"; exit ;;
esac
export GST_PLUGIN_PATH=$1
json=${2:-/dev/null}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GST_REGISTRY=$scratch/registry
frames=200

# Microseconds a frame of a command that handles so many.
time_of() {
  local best='' start each
  for _ in 1 2 3 4 5; do
    start=$(date +%s%N)
    "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; return 1; }
    each=$((($(date +%s%N) - start) / 1000 / frames))
    [[ -n $best && $best -le $each ]] || best=$each
  done
  echo "$best"
}

# through FORMAT ELEMENT...: one picture, again and again
through() {
  local format=$1
  shift
  time_of gst-launch-1.0 -q videotestsrc num-buffers=1 pattern=snow \
    ! "video/x-raw,format=$format,width=1920,height=1080,framerate=30/1" \
    ! imagefreeze num-buffers=$frames ! "$@" ! fakesink
}

# through_ffmpeg PIXEL-FORMAT FILTER
through_ffmpeg() {
  time_of ffmpeg -v error -f lavfi \
    -i "nullsrc=s=1920x1080:r=30,noise=alls=64,format=$1,loop=-1:1" \
    -vf "$2" -frames:v $frames -f null -
}

separator=''
# row FORMAT PEER ITS-TIME WITHOUT-A-FILTER [OURS-WITHOUT-A-FILTER]
row() {
  local ours its=$(($3 - $4))
  ours=$(through "$1" cudasepconv backend=cpu sigma=2)
  ours=$((ours - ${5-$4}))
  printf '%-6s  %-14s %7d   cudasepconv %7d\n' "$1" "$2" "$its" "$ours"
  printf '%s\n    { "format": "%s", "peer": "%s", "peer_us": %d, "us": %d }' \
    "$separator" "$1" "$2" "$its" "$ours" >>"$json"
  separator=,
}

# peer_row FORMAT ELEMENT...
peer_row() {
  local its without
  gst-inspect-1.0 --exists "$2" || return 0
  its=$(through "$@")
  without=$(through "$1" identity)
  row "$1" "$2" "$its" "$without"
}

# ffmpeg_row FORMAT PIXEL-FORMAT
ffmpeg_row() {
  local its without ours_without
  [[ -n $(type -P ffmpeg) ]] || return 0
  its=$(through_ffmpeg "$2" gblur=sigma=2)
  without=$(through_ffmpeg "$2" null)
  ours_without=$(through "$1" identity)
  row "$1" gblur "$its" "$without" "$ours_without"
}

printf '{\n  "program": "tests/bench/cpu-peers.sh",\n  "date": "%s",\n' \
  "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$json"
printf '  "cpu": "%s",\n  "cores": %d,\n  "rows": [' \
  "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" >>"$json"
peer_row AYUV gaussianblur sigma=2
for format in GRAY8 RGB; do
  peer_row $format cvsmooth type=gaussian kernel-width=13 kernel-height=13 color=2
done
ffmpeg_row GRAY8 gray
ffmpeg_row I420 yuv420p
ffmpeg_row GBR gbrp
printf '\n  ]\n}\n' >>"$json"
