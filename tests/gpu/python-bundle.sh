#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/gpu/python-bundle.sh [--build BUILD-DIR] [OUTPUT-DIR]
#
# Makes a folder (default: bundle/python of this checkout) that tests and times the Python
# package on a machine with a driver, a C library no older than this one's, and a Python from
# 3.11 on with numpy, scipy, pytest and, as far as they are there, CuPy, PyTorch and OpenCV:
# OUTPUT-DIR/run.sh. It may be moved, and be read-only.
# --build names a build with CUDA and -Dpython=enabled to take the package from; else one is
# made in build/gpu-python, for which CUDA_ARCHS, such as 80,90, limits the architectures.
# A build that has kerncheck gives that, too, so that its figures stand beside Python's.
set -euo pipefail

build=
if [[ ${1-} = --build && $# -ge 2 ]]; then
  build=$(realpath "$2")
  shift 2
fi
case ${1-} in
  -*) sed -n '4,12s/^#[ ]\{0,1\}//p' "$0"; exit 2 ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
output=$(realpath -m "${1:-$root/bundle/python}")
cd "$root"
# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

if [[ -z $build ]]; then
  build=build/gpu-python
  set_up python3-dev
  command -v nvcc >/dev/null || die "nvcc is needed: install the CUDA Toolkit"
  [[ -d $build ]] || quietly meson setup "$build" --buildtype=release -Dcuda=enabled \
    "-Dcuda-archs=${CUDA_ARCHS:-all}" -Dpython=enabled -Dplugin=disabled
  drop_stale_kernels "$build"
  quietly ninja -C "$build"
fi
[[ -f $build/python/cudasepconv/_engine.abi3.so ]] || die "$build has no Python package"

if [[ -n $(ls -A "$output" 2>/dev/null) && ! -d $output/cudasepconv ]]; then
  die "$output holds something other than a bundle"
fi
rm -rf "$output"
mkdir -p "$output"/{cudasepconv,tests}
cp "$build"/python/cudasepconv/{*.py,*.pyi,*.so,py.typed} "$output/cudasepconv"
strip --strip-unneeded "$output/cudasepconv/_engine.abi3.so"
cp tests/python/*.py tests/bench/python-peers.py "$output/tests"
cp tests/gpu/python-run.sh "$output/run.sh"
if [[ -x $build/tests/kerncheck/kerncheck ]]; then
  cp "$build/tests/kerncheck/kerncheck" "$output"
fi
echo "$(du -sh "$output" | cut -f1) in $output; there: run.sh"
