#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# From a fresh checkout to a filtered video in one command: installs what is
# missing, builds into build/demo/ for this machine, then decodes, filters and
# encodes INPUT.
# Exit status 0 means that all results named at the end are there, 130 that
# Ctrl-C ended it.
set -euo pipefail

usage() {
  cat <<'END'
pipelines/demo.sh [--filter DESCRIPTION] [--force] [INPUT [OUTPUT-DIR]]

INPUT        any video file; without one, the street scene of OpenCV's examples
OUTPUT-DIR   where the results go: output/ of this checkout unless you name one
--filter     the filter as gst-launch-1.0 takes it, an element first and last,
             "cudasepconv kernel=gaussian sigma=6" unless you name one
--force      replace results that are in OUTPUT-DIR; in output/ they always are

Results: NAME-filtered.mp4 (.webm where no H.264 encoder is installed), and
before-after.png, one frame with its left half as it was.

Example:
  pipelines/demo.sh --filter "cudasepconv kernel=sobel scale=0.25" in.mp4 results
END
}

filter="cudasepconv kernel=gaussian sigma=6"
arguments=()
force=()
while [[ $# -gt 0 ]]; do
  case $1 in
    -h | --help) usage; exit ;;
    --filter=*) filter=${1#*=} ;;
    --filter)
      if [[ $# -lt 2 ]]; then
        usage >&2
        exit 2
      fi
      filter=$2
      shift
      ;;
    --force) force=(--force) ;;
    --) shift; arguments+=("$@"); break ;;
    -*) usage >&2; exit 2 ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
if [[ ${#arguments[@]} -gt 2 ]]; then
  usage >&2
  exit 2
fi

root=$(cd "$(dirname "$0")/.." && pwd)
# Paths as the user sees them, from where the user is.
input=${arguments[0]-}
output=${arguments[1]-$root/output}
[[ -n ${arguments[1]-} ]] || force=(--force)

# shellcheck source=pipelines/setup.sh
. "$root/pipelines/setup.sh"

if [[ -n $input && ! -r $input ]]; then
  die "$input cannot be read"
fi
# Until the last command, which reports an interruption itself. The shells in between
# end without a word.
trap 'echo "demo.sh: interrupted before the video was read; run it again to go on" >&2
  exit 130' INT
clip_package=()
[[ -n $input ]] || clip_package=(opencv-doc)
(
  trap 'exit 130' INT
  cd "$root"
  set_up "${clip_package[@]}"
  mapfile -t options < <(this_machine_only)
  build_release build/demo "${options[@]}"
)
mkdir -p "$output"
[[ -n $input ]] || input=$(default_clip "$output")
trap - INT

name=${input##*/}
export GST_PLUGIN_PATH=$root/build/demo/plugin${GST_PLUGIN_PATH:+:$GST_PLUGIN_PATH}
exec "$root/build/demo/pipelines/filter-file" "${force[@]}" --filter "$filter" \
  --picture "$output/before-after.png" -- "$input" "$output/${name%.*}-filtered"
