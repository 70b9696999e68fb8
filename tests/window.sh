#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# window.sh PROGRAM CLIP [PICTURE]
#
# What examples/window shows, looked at in screenshots of an empty display with the default theme
# (xvfb-run -a -s "-screen 0 1024x640x24" tests/window.sh ...). CLIP is a video, of at most
# two seconds so that it begins anew meanwhile; PICTURE is where the window goes that shows it filtered.
# GST_PLUGIN_PATH names the folder of the plugin. The exit status is 1 if something went wrong.
set -euo pipefail

if (($# < 2 || $# > 3)); then
  echo "usage: ${0##*/} PROGRAM CLIP [PICTURE]" >&2
  exit 2
fi
program=$1 clip=$2 picture=${3-}

scratch=$(mktemp -d)
player=
trap '[[ -z $player ]] || kill "$player"; rm -rf "$scratch"' EXIT
export GTK_THEME=Adwaita GDK_BACKEND=x11 NO_AT_BRIDGE=1

# Where things are in the window: the video, and a part that lies within the histogram.
video=640x480+12+12
histogram=256x240+664+250

# shoot: takes a new screenshot.
shoot() {
  import -window root "$scratch/screen.png"
}

# contrast: of the video in a new screenshot, per mille: 0 if it has one colour, at most 500.
contrast() {
  shoot
  convert "$scratch/screen.png" -crop "$video" +repage -colorspace gray \
    -format '%[fx:round(1000*standard_deviation)]' info:
}

# start [INPUT]: until its video is seen.
start() {
  "$program" "$@" 2>"$scratch/error" &
  player=$!
  for _ in {1..60}; do
    sleep 0.25
    [[ $(contrast) -lt 100 ]] || return 0
  done
  echo "no video is seen: contrast $(contrast)"
  return 1
}

# stop STATUS: as Ctrl-C does.
stop() {
  local status=0
  kill -INT "$player"
  wait "$player" || status=$?
  player=
  cat "$scratch/error"
  [[ $status = "$1" ]]
}

# blur: clicks into the slider, which is somewhere below the choice of a kernel, until the video
# has become softer.
blur() {
  local y before
  before=$(contrast)
  for y in {100..160..6}; do
    xdotool mousemove 710 "$y" click 1
    sleep 0.5
    [[ $(contrast) -gt $((before - 20)) ]] || return 0
  done
  echo "the slider does nothing: contrast $(contrast)"
  return 1
}

# counts NAME: the part of the screenshot that shows the histogram.
counts() {
  convert "$scratch/screen.png" -crop "$histogram" +repage "$scratch/$1.png"
}

# differing NAME NAME: the number of pixels.
differing() {
  compare -metric AE "$scratch/$1.png" "$scratch/$2.png" null: 2>&1 || true
}

# The histogram has both bars and background, hardly changes with the moving picture, and changes
# with sigma.
shows_test_picture() {
  start
  counts early
  sleep 0.5
  shoot
  counts late
  blur
  counts blurred
  echo "histogram: $(differing early late) pixels change by themselves, $(differing early blurred) with sigma"
  [[ $(convert "$scratch/early.png" -format %k info:) -gt 1 ]]
  [[ $(differing early late) -lt 6000 && $(differing early blurred) -gt 12000 ]]
  stop 0
}

# The video plays over and over: the slider still does something after two seconds.
shows_clip() {
  start "$clip"
  sleep 2.5
  blur
  [[ -z $picture ]] || convert "$scratch/screen.png" -crop 932x504+0+0 +repage -quality 85 "$picture"
  stop 0
  [[ ! -s $scratch/error ]]
}

# One sentence in the window, whose video moves down for it, and on stderr.
shows_error() {
  local light
  "$program" "$scratch/absent.mp4" 2>"$scratch/error" &
  player=$!
  for _ in {1..60}; do
    sleep 0.25
    shoot
    light=$(convert "$scratch/screen.png" -crop 640x10+12+12 -format '%[fx:round(100*mean)]' info:)
    # Without the bar that part of the video is black.
    [[ $light -lt 50 || ! -s $scratch/error ]] || break
  done
  echo "the bar: $light % of white"
  [[ $light -ge 50 ]]
  stop 1
  [[ $(wc -l <"$scratch/error") = 1 ]]
  grep "^window: $scratch/absent.mp4: " "$scratch/error"
}

shows_test_picture
shows_clip
shows_error
