#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# parts.sh PROGRAM OPTION...
#
# Runs a suite or kerncheck in parts, one for each core, at the same time. The output of
# one part follows that of another; the last line is the tally of all.
set -euo pipefail

program=$1
shift
most=8
parts=$(nproc)
((parts <= most)) || parts=$most
scratch=$(mktemp -d)
processes=()
trap 'kill "${processes[@]}" 2>/dev/null || true; rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM

for ((part = 1; part <= parts; part++)); do
  GST_REGISTRY=${GST_REGISTRY:-$scratch/registry}-$part \
    "$program" --part "$part/$parts" "$@" </dev/null >"$scratch/$part" 2>&1 &
  processes+=($!)
done

# A part without a tally has not come to its end.
status=0
pattern='^(elements|kerncheck): ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'
for ((part = 1; part <= parts; part++)); do
  wait "${processes[part - 1]}" || status=1
  grep -vE "$pattern" "$scratch/$part" || true
  grep -qE "$pattern" "$scratch/$part" || status=1
done
cd "$scratch"
find . -name '[0-9]*' -exec sed -nE "s/$pattern/\1 \2 \3 \4/p" {} + | awk '
  { name = $1; passed += $2; failed += $3; skipped += $4 }
  END { printf "%s: %d passed, %d failed, %d skipped\n", name, passed, failed, skipped }'
exit "$status"
