#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/matrix.sh [--jobs N] [--gstreamer ARCHIVE]... [CELL...]
# tests/matrix.sh --list
#
# Builds and tests the last commit with the versions of GStreamer and CUDA, the compilers and
# the machines that the project supports. Each cell is one combination of them, in a Debian of
# its own under build/matrix, which mmdebstrap makes; tests/matrix-cell.sh is what happens there.
# That takes root, 3 GB a release of Debian and 10 GB more for its CUDA, and on two cores some
# 15 minutes a cell. Nothing stays mounted. The cell arm64 is tests/arm64.sh, of the working tree.
#
#   CELL                   run these cells alone
#   --list                 print the cells
#   --gstreamer ARCHIVE    a tar archive of GStreamer's repository, at a tag of a version that
#                          Debian does not have; the cells gstreamer1.NN build it
#   --jobs N               processes at once; as many as there are cores without it
#
# Results go to docs/matrix.json and into the table of docs/extending.md, in place of older
# ones of the same cells. Logs are in build/matrix. What cannot run here is named with "SKIP".
# The last line is "N passed, N failed, N skipped"; the exit status is 1 when something failed,
# and 2 for arguments that are not known.
#
# Example:
#   tests/matrix.sh debian13-gcc cuda12
set -euo pipefail
cd "$(dirname "$0")/.."

# The GStreamer is the release's own or built from source; the CUDA is the release's, or this
# machine's toolkit, and makes kernels for one compute capability.
cells='
cell           release   compiler  GStreamer  CUDA
debian12-gcc   bookworm  gcc       -          -
debian12-clang bookworm  clang     -          -
debian13-gcc   trixie    gcc       -          -
debian13-clang trixie    clang     -          -
sid-gcc        sid       gcc       -          -
sid-clang      sid       clang     -          -
gstreamer1.20  bookworm  gcc       1.20       -
gstreamer1.24  trixie    gcc       1.24       -
cuda11         bookworm  gcc       -          release/61
cuda12         trixie    gcc       -          release/90
cuda13         trixie    gcc       -          local/120
arm64          -         gcc       -          local/87,90
'

rows=$(tail -n +3 <<<"${cells%$'\n'}")
names=$(cut -d ' ' -f 1 <<<"$rows")

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
# shellcheck source=tests/tally.sh
. tests/tally.sh
# shellcheck source=tests/systems.sh
. tests/systems.sh

# version_of ARCHIVE: of the GStreamer in it, as 1.24.
version_of() {
  tar -xOf "$1" --wildcards '*subprojects/gstreamer/meson.build' 2>/dev/null \
    | sed -nE "s/^ *version *: *'([0-9]+\.[0-9]+)\..*/\1/p" | head -n 1
}

jobs=$(nproc)
declare -A archives=()
wanted=()
while (($# > 0)); do
  case $1 in
    -h | --help) sed -n '4,/^set/s/^#[ ]\{0,1\}//p' "$0"; exit ;;
    --list) echo "${cells:1:-1}"; exit ;;
    --jobs)
      jobs=${2-}
      [[ $jobs =~ ^[1-9][0-9]*$ ]] || { echo "matrix.sh: --jobs takes a number" >&2; exit 2; }
      shift ;;
    --gstreamer)
      version=$(version_of "${2-}" || true)
      [[ -n $version ]] || { echo "matrix.sh: ${2-} is no archive of GStreamer's repository" >&2; exit 2; }
      archives[$version]=$2
      shift ;;
    *)
      grep -qxF -- "$1" <<<"$names" || { echo "matrix.sh: there is no cell $1; --list prints them" >&2; exit 2; }
      wanted+=("$1") ;;
  esac
  shift
done
# What nproc prints from here on, in programs that this one starts, too.
export OMP_NUM_THREADS=$jobs

folder=$PWD/build/matrix
mkdir -p "$folder"
running=
trap '[[ -z $running ]] || end_processes "$running"' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# run_in_system CELL RELEASE COMPILER GSTREAMER CUDA
run_in_system() {
  local cell=$1 root=$folder/$2 gstreamer=$4 cuda=$5 toolkit=
  rm -rf "$root/source" "$root/gstreamer"
  mkdir "$root/source"
  git archive HEAD | tar -x -C "$root/source"
  if [[ $gstreamer != - ]]; then
    mkdir "$root/gstreamer"
    tar -xf "${archives[$gstreamer]}" -C "$root/gstreamer"
  fi
  [[ $cuda != local/* ]] || toolkit=$(toolkit)
  in_system "$root" "$toolkit" source/tests/matrix-cell.sh "$cell" "$3" "$gstreamer" "$cuda" || true
  cp "$root/source/result.json" "$folder/$cell.json"
}

# The folder of this machine's CUDA toolkit; none without one.
toolkit() {
  local nvcc
  nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || return 0
  dirname "$(dirname "$(readlink -f "$nvcc")")"
}

run_arm64() {
  local root=$folder/../arm64/root cuda='' nvcc
  tests/arm64.sh || true
  nvcc=$(toolkit)/bin/nvcc
  [[ ! -f $folder/../arm64/cuda/plugin/libgstcudasepconv.so ]] \
    || cuda=$("$nvcc" --version | sed -nE 's/.*, V([0-9.]+)$/\1/p')
  # shellcheck source=/dev/null
  printf '{"cell": "arm64", "system": "%s", "machine": "aarch64, under qemu", "compiler": "%s", "gstreamer": "%s", "cuda": "%s"}\n' \
    "$(. /etc/os-release && echo "Debian $VERSION_ID")" "gcc $(aarch64-linux-gnu-gcc -dumpfullversion)" \
    "$(sed -n 's/^Version: //p' "$root/usr/lib/aarch64-linux-gnu/pkgconfig/gstreamer-1.0.pc")" "$cuda" >"$folder/arm64.json"
}

# reason CELL RELEASE COMPILER GSTREAMER CUDA: that the cell cannot run here for; nothing if it can.
reason() {
  if [[ $1 = arm64 ]]; then
    [[ $(uname -m) = x86_64 ]] && command -v apt-get >/dev/null || echo "it takes an x86-64 Debian"
  elif [[ $(id -u) != 0 ]]; then
    echo "that takes root"
  elif [[ $(uname -m) != x86_64 ]]; then
    echo "it takes an x86-64 machine"
  elif ! command -v apt-get >/dev/null && ! command -v mmdebstrap >/dev/null; then
    echo "there is no mmdebstrap"
  elif [[ $4 != - && -z ${archives[$4]-} ]]; then
    echo "it takes --gstreamer with an archive of GStreamer $4"
  elif [[ $5 = local/* && -z $(toolkit) ]]; then
    echo "there is no CUDA toolkit on this machine"
  elif ! make_system "$folder/$2" "$2" >"$folder/$1.log" 2>&1; then
    echo "mmdebstrap made no Debian $2: $(grep '^E: ' "$folder/$1.log" | head -n 1)"
  fi
}

# run_cell CELL RELEASE COMPILER GSTREAMER CUDA
run_cell() {
  local cell=$1 log=$folder/$1.log began=$SECONDS why p f s
  why=$(reason "$@")
  if [[ -n $why ]]; then
    skip "$cell" "$why"
    return
  fi
  rm -f "$folder/$cell.json"
  if [[ $cell = arm64 ]]; then
    run_arm64 >"$log" 2>&1 </dev/null &
  else
    run_in_system "$@" >"$log" 2>&1 </dev/null &
  fi
  running=$!
  wait "$running" || true
  running=
  # Checks that were skipped are in the log: all of CUDA's are, without a GPU.
  count_script "$cell" "$log" '^  SKIP '
  [[ ! -f $folder/$cell.json ]] || docs/matrix.py --add "$folder/$cell.json" "$(date -u +%F)" "$p" "$f" "$s" $((SECONDS - began))
}

while read -r -a row; do
  if [[ ${#wanted[@]} = 0 || " ${wanted[*]} " = *" ${row[0]} "* ]]; then
    run_cell "${row[@]}"
  fi
done <<<"$rows"
finish
