#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/bench/archive.sh [ROUNDS]
#
# How much faster two workers of filter-archive are than one, each on one processor core: 12 clips
# of 720p, 100 frames each with sound, blurred and encoded as H.264, on the CPU. Rounds (default: 3)
# alternate between one and two; the medians count, and the start of the workers does not.
# filter-file and the plugin are those of PATH and GST_PLUGIN_PATH, or are built.
#
# Example:
#   tests/bench/archive.sh 5
set -euo pipefail
cd "$(dirname "$0")/../.."

rounds=${1:-3}
if ! [[ $rounds =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tests/bench/archive.sh [ROUNDS]" >&2
  exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/clips"
gst-launch-1.0 -q videotestsrc pattern=smpte num-buffers=100 \
  ! video/x-raw,width=1280,height=720 ! x264enc speed-preset=veryfast ! mp4mux name=mux \
  ! filesink location="$scratch/clips/1.mp4" audiotestsrc num-buffers=140 \
  ! lamemp3enc ! mpegaudioparse ! queue ! mux.
for i in {2..12}; do
  cp "$scratch/clips/1.mp4" "$scratch/clips/$i.mp4"
done

# rate WORKERS: frames a second.
rate() {
  rm -rf "$scratch/results"
  pipelines/filter-archive --workers "$1" --threads 1 --gpus 0 "$scratch/clips" \
    "$scratch/results" -- cudasepconv sigma=6 backend=cpu 2>"$scratch/errors" \
    | sed -nE 's/^files +12, 1200 frames, ([0-9.]+) .*/\1/p' >"$scratch/rate"
  [[ -s $scratch/rate ]] || { cat "$scratch/errors" >&2; return 1; }
  cat "$scratch/rate"
}

median() {
  sort -n "$1" | sed -n "$(((rounds + 1) / 2))p"
}

for ((round = 1; round <= rounds; round++)); do
  for workers in 1 2; do
    rate "$workers" >>"$scratch/$workers"
    echo "round $round, $workers worker(s): $(tail -n 1 "$scratch/$workers") frames/s"
  done
done
one=$(median "$scratch/1")
two=$(median "$scratch/2")
echo "median   $one and $two frames/s: $(awk "BEGIN { printf \"%.2f\", $two / $one }") x," \
  "on $(nproc) cores"
