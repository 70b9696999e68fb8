#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh [--quick] [OUTPUT-DIR]
#
# Tests and times the Python package on this machine, with $PYTHON, or the python3 on PATH. Results go to
# OUTPUT-DIR (default: output/ of the working folder). --quick times a small grid. Where the bundle
# has kerncheck, the engine's own figures stand beside those of Python.
# The exit status is not 0 if a test or the timing failed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bench=()
while (($# > 0)); do
  case $1 in
    --quick) bench+=(--quick) ;;
    -*) sed -n '4,9s/^#[ ]\{0,1\}//p' "$0"; exit 2 ;;
    *) break ;;
  esac
  shift
done
[[ ! -x $here/kerncheck ]] || bench+=(--kerncheck "$here/kerncheck")
output=$(realpath -m "${1:-output}")
mkdir -p "$output"
export PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1

status=0
timeout 900 "${PYTHON:-python3}" -m pytest -q -p no:cacheprovider --durations=10 "$here/tests" 2>&1 \
  | tee "$output/python-tests.log" || status=$?
timeout 1800 "${PYTHON:-python3}" "$here/tests/python-peers.py" "${bench[@]}" --json "$output/python-peers.json" \
  2>&1 | tee "$output/python-peers.log" || status=$?
exit "$status"
