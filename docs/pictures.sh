#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# docs/pictures.sh
#
# Makes the pictures of the pages anew, into docs/pictures/, from OpenCV's street scene
# and with the plugin of build/demo, and the drawings. It takes a minute after the build.
#
# Example:
#   docs/pictures.sh
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1-} in
  '') ;;
  -h | --help) sed -n '/^# docs/,/^#   docs/s/^#[ ]\{0,1\}//p' "$0"; exit ;;
  *) echo "usage: docs/pictures.sh" >&2; exit 2 ;;
esac

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

scratch=build/pictures
set_up opencv-doc python3-opencv python3-numpy python3-gi gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0 \
  libgtk-3-dev gstreamer1.0-gtk3 xvfb xauth xdotool imagemagick python3-aiohttp python3-prometheus-client
mapfile -t options < <(this_machine_only)
build_release build/demo "${options[@]}"
mkdir -p "$scratch" docs/pictures
clip=$(default_clip "$scratch")
fetch_from_package opencv-doc ./usr/share/doc/opencv-doc/examples/data/text_defocus.jpg >"$scratch/scan.jpg"
export GST_PLUGIN_PATH=$PWD/build/demo/plugin
pipelines/hide-people --frames 150 --every 2 --force "$clip" "$scratch/hidden.mp4"
/usr/bin/python3 docs/pictures.py "$clip" "$scratch/hidden.mp4" "$scratch/scan.jpg" docs/pictures
xvfb-run -a -s "-screen 0 1024x640x24" tests/window.sh build/demo/examples/window "$clip" docs/pictures/window.jpg
tests/monitor/screenshot.sh "$scratch/monitor.png" 1280 light "street=$clip" "hidden=$scratch/hidden.mp4" test covered=test:black
convert "$scratch/monitor.png" -quality 85 docs/pictures/monitor.jpg
docs/drawings.py docs/pictures
