#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/gpu/python-bundle.sh [OUTPUT-DIR]
#
# Makes a folder (default: bundle/python of this checkout) that tests and times the Python
# package on a machine with a driver, a C library no older than this one's, and a Python from
# 3.11 on with numpy, scipy, pytest and, as far as they are there, CuPy, PyTorch and OpenCV:
# OUTPUT-DIR/run.sh. It may be moved, and be read-only.
# CUDA_ARCHS, such as 80,90, limits the architectures that kernels are built for.
set -euo pipefail

case ${1-} in
  -*) sed -n '4,10s/^#[ ]\{0,1\}//p' "$0"; exit ;;
esac
root=$(cd "$(dirname "$0")/../.." && pwd)
output=$(realpath -m "${1:-$root/bundle/python}")
cd "$root"
# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

build=build/gpu-python
set_up python3-dev
command -v nvcc >/dev/null || die "nvcc is needed: install the CUDA Toolkit"
[[ -d $build ]] || quietly meson setup "$build" --buildtype=release -Dcuda=enabled \
  "-Dcuda-archs=${CUDA_ARCHS:-all}" -Dpython=enabled -Dplugin=disabled
drop_stale_kernels "$build"
quietly ninja -C "$build"

if [[ -n $(ls -A "$output" 2>/dev/null) && ! -d $output/cudasepconv ]]; then
  die "$output holds something other than a bundle"
fi
rm -rf "$output"
mkdir -p "$output"/{cudasepconv,tests}
cp "$build"/python/cudasepconv/{*.py,*.pyi,*.so,py.typed} "$output/cudasepconv"
strip --strip-unneeded "$output/cudasepconv/_engine.abi3.so"
cp tests/python/*.py tests/bench/python-peers.py "$output/tests"
cp tests/gpu/python-run.sh "$output/run.sh"
echo "$(du -sh "$output" | cut -f1) in $output; there: run.sh"
