#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# cuda/native-archs.sh [NVCC]: prints the compute capabilities of this machine's GPUs,
# such as 90, one a line. Prints nothing where there is no GPU, or one that NVCC
# or the kernels do not build for.
oldest=61

archs=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null \
  | tr -d . | sort -nu)
known=$("${1:-nvcc}" --list-gpu-code 2>/dev/null)
for arch in $archs; do
  printf '%s\n' "$known" | grep -qx "sm_$arch" && [ "$arch" -ge "$oldest" ] || exit 0
done
[ -z "$archs" ] || printf '%s\n' "$archs"
