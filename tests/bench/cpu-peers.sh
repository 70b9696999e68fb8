#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/bench/cpu-peers.sh [--quick] [--json FILE] [--docs] BUILD-DIR
#
# Times the filter on the CPU beside others, on two threads each and on frames of noise that
# rotate through 64 MiB: OpenCV's GaussianBlur, sepFilter2D, stackBlur and blur over formats,
# sizes, taps and our instruction sets; unsharp masking, Sobel's gradient and the Laplacian,
# beside FFmpeg's filters, too; and through pipelines FFmpeg's gblur, gaussianblur
# and cvsmooth, as far as they are there. BUILD-DIR is the build's folder, as build/test.
# OpenCV, the newest that pip finds, goes to an environment of its own in the user's cache.
#
#   --quick      a small grid, in less than two minutes; the whole takes less than twenty
#   --json FILE  the results for other programs to read
#   --docs       writes them to docs/performance/, and tables and plot from them into
#                docs/performance.md
#
# The last lines say which goals were met, and where the worst case is.
set -euo pipefail

usage() {
  sed -n '4,19s/^#[ ]\{0,1\}//p' "$0"
}

refuse() {
  echo "cpu-peers.sh: $1" >&2
  usage >&2
  exit 2
}

here=$(dirname "$(realpath "$0")")
docs=$here/../../docs
build='' json='' options=() for_docs=false
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit ;;
    --quick) options+=("$1") ;;
    --docs) for_docs=true ;;
    --json)
      (($# > 1)) || refuse "$1 takes a file"
      json=$2
      shift
      ;;
    -*) refuse "there is no option $1" ;;
    *)
      [[ -z $build ]] || refuse "one folder, not $build and $1"
      build=$1
      ;;
  esac
  shift
done
[[ -n $build ]] || refuse "which build?"
[[ -x $build/tests/kerncheck/kerncheck ]] || refuse "$build holds no kerncheck"
build=$(realpath "$build")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [[ -z $json ]]; then
  json=$scratch/peers.json
  ! $for_docs || json=$docs/performance/$(date -u +%Y-%m-%d)-cpu-peers.json
fi

environment=${XDG_CACHE_HOME:-$HOME/.cache}/cudasepconv/cpu-peers
python=$environment/bin/python
[[ -x $python ]] || python3 -m venv "$environment"
"$environment/bin/pip" --quiet --disable-pip-version-check install --upgrade \
  opencv-python-headless numpy matplotlib

# All on the same two cores, the first that this process may use.
cores=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
export GST_PLUGIN_PATH=$build/plugin GST_REGISTRY=$scratch/registry
taskset -c "$cores" "$python" -B "$here/cpu-peers.py" "${options[@]}" \
  "$build/tests/kerncheck/kerncheck" "$scratch" "$json"
into=()
! $for_docs || into=("$docs/performance.md")
"$python" -B "$here/cpu-peers-report.py" "$json" "${into[@]}"
