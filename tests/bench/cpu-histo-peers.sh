#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/bench/cpu-histo-peers.sh KERNCHECK [JSON-FILE]
#
# Times the CPU's histogram, equaliser and CLAHE beside OpenCV's calcHist, equalizeHist and
# createCLAHE, on two threads each and on frames of the same kind that rotate through 64 MiB,
# in less than three minutes.
# KERNCHECK is the program of the build, as build/test/tests/kerncheck/kerncheck. OpenCV, the
# newest that pip finds, goes to an environment of its own in the user's cache.
set -euo pipefail

case ${1--} in
  -*) sed -n '4,10s/^#[ ]\{0,1\}//p' "$0"; exit ;;
esac
kerncheck=$(realpath "$1")
json=${2:-/dev/null}
here=$(dirname "$(realpath "$0")")
environment=${XDG_CACHE_HOME:-$HOME/.cache}/cudasepconv/cpu-peers
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [[ ! -x $environment/bin/python ]]; then
  python3 -m venv "$environment"
fi
"$environment/bin/pip" --quiet install opencv-python-headless numpy

# Both on the same two cores, the first that this process may use.
cores=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
taskset -c "$cores" "$environment/bin/python" -B "$here/cpu-histo-peers.py" "$kerncheck" \
  "$scratch" "$json"
