#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/arm64.sh [--only kerncheck|elements|cuda]...
#
# Builds for 64-bit Arm on an x86-64 Debian, and runs the tests that need no GPU
# under qemu, which knows what programs compute but not how fast:
#
#   kerncheck   the engine: all methods of the CPU, and the vectorised ones on
#               processors with and without the instructions they can use
#   elements    the gst-check suite on the CPU backend
#   cuda        the plugin and kerncheck with CUDA kernels for Jetson Orin and
#               Grace Hopper, linked, and loaded where there is no driver. The
#               runtime to link comes from the toolkit, or with pip
#
# With --only, those that are named. CUDA_ARCHS, such as 87,90, names other
# architectures to build kernels for.
#
# Everything is in build/arm64: a folder of Debian's packages for arm64, which are
# unpacked and not installed; cpu and cuda, the builds. All take some 15 minutes on
# two cores. The last line is "N passed, N failed, N skipped"; the exit status is 1
# when something failed, and 2 for arguments that are not known.
# shellcheck disable=SC2317 # check calls functions by name
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
# shellcheck source=tests/tally.sh
. tests/tally.sh

only=()
while [[ $# -gt 0 ]]; do
  case $1,${2-} in
    --only,kerncheck | --only,elements | --only,cuda) only+=("$2") && shift 2 ;;
    --help,*) sed -n '4,23s/^#[ ]\{0,1\}//p' tests/arm64.sh && exit ;;
    --only,*) echo "arm64.sh: --only takes kerncheck, elements or cuda" >&2 && exit 2 ;;
    *) echo "arm64.sh: $1 is not an option; --help lists them" >&2 && exit 2 ;;
  esac
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cross=aarch64-linux-gnu
folder=$PWD/build/arm64
root=$folder/root
# With all that they depend on.
packages=(libc6-dev libstdc++6 libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  gstreamer1.0-plugins-base)
# Alone: memory:CUDAMemory takes one library of many, and its headers.
lone_packages=(libgstreamer-plugins-bad1.0-0 libgstreamer-plugins-bad1.0-dev)

# wanted NAME: whether it is to be run.
wanted() {
  [[ ${#only[@]} = 0 || " ${only[*]} " = *" $1 "* ]]
}

# The mirror of Debian that this machine uses, as lines of a sources.list.
mirror() {
  apt-get indextargets 'Created-By: Packages' --format \
    "\$(ORIGIN) deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    | sed -n 's/^Debian //p' | sort -u
}

# apt_arm64 ARGUMENT...: apt-get for a machine with nothing on it. It shares no list, no
# package and no setting with this one.
apt_arm64() {
  apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
    -o Dir::Etc="$scratch/apt/etc" -o Dir::State="$scratch/apt/state" \
    -o Dir::State::status="$scratch/apt/status" -o Dir::Cache="$scratch/apt/cache" \
    -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
    -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# The packages for arm64, unpacked. Anew where other packages are wanted.
unpack_packages() {
  local all="${packages[*]} ${lone_packages[*]}" name package link
  if [[ -f $root/holds && $(<"$root/holds") = "$all" ]]; then
    return
  fi
  rm -rf "$root"
  mkdir -p "$scratch"/apt/{etc/{apt.conf,preferences}.d,state/lists/partial,cache/archives/partial}
  : >"$scratch/apt/status"
  mirror >"$scratch/apt/etc/sources.list"
  if [[ ! -s $scratch/apt/etc/sources.list ]]; then
    # What a mirror holds is known from its lists.
    apt-get update
    mirror >"$scratch/apt/etc/sources.list"
  fi
  [[ -s $scratch/apt/etc/sources.list ]] || {
    echo "There is no mirror of Debian among this machine's sources of packages."
    return 1
  }
  apt_arm64 update
  apt_arm64 install -y --download-only "${packages[@]}"
  (cd "$scratch/apt/cache/archives" && apt_arm64 download "${lone_packages[@]}")
  for name in bin lib sbin; do
    mkdir -p "$root/usr/$name"
    ln -s "usr/$name" "$root/$name"
  done
  for package in "$scratch"/apt/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root"
  done
  # The linker would follow these to this machine's libraries.
  find "$root/usr/lib/$cross" -maxdepth 1 -lname '/*' | while read -r link; do
    ln -sfn "$root$(readlink "$link")" "$link"
  done
  rm -rf "$scratch/apt"
  echo "$all" >"$root/holds"
}

# cross_file [NVCC-ARGUMENT...]: for Meson.
cross_file() {
  local argument nvcc=''
  for argument in "$@"; do
    nvcc+="${nvcc:+, }'$argument'"
  done
  cat <<END
[binaries]
c = '$cross-gcc'
cpp = '$cross-g++'
${nvcc:+cuda = [$nvcc]}
ar = '$cross-ar'
strip = '$cross-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '$root']

[built-in options]
c_args = ['--sysroot=$root']
c_link_args = ['--sysroot=$root']
cpp_args = ['--sysroot=$root']
cpp_link_args = ['--sysroot=$root']

[properties]
sys_root = '$root'
pkg_config_libdir = ['$root/usr/lib/$cross/pkgconfig', '$root/usr/share/pkgconfig']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
}

# build NAME [MESON-OPTION...]: $folder/NAME by $folder/NAME.ini, all of it or the
# targets of $targets. Anew where the cross file has changed, which Meson would not read.
build() {
  local name=$1 mode=()
  shift
  if cmp -s "$folder/$name.ini" "$folder/$name/configured-for"; then
    mode=(--reconfigure)
  else
    rm -rf "${folder:?}/$name"
  fi
  drop_stale_kernels "$folder/$name"
  meson setup "${mode[@]}" "$folder/$name" --cross-file "$folder/$name.ini" \
    -Dwerror=true -Dtests=enabled -Dintrospection=disabled "$@"
  cp "$folder/$name.ini" "$folder/$name/configured-for"
  ninja -k 0 -C "$folder/$name" "${targets[@]}"
}

build_for_cpu() {
  local targets=()
  cross_file >"$folder/cpu.ini"
  build cpu -Dcuda=disabled
}

# on PROCESSOR COMMAND...: under qemu.
on() {
  QEMU_CPU=$1 qemu-aarch64-static -L "$root" "${@:2}"
}

# run_kerncheck PROCESSOR [OPTION...]
run_kerncheck() {
  local status=0
  on "$1" "$folder/cpu/tests/kerncheck/kerncheck" "${@:2}" \
    </dev/null >"$scratch/log" 2>&1 || status=$?
  count_log "arm64: kerncheck ${*:2} on $1" "$status" "$scratch/log" || true
}

# run_elements PLUGIN-FOLDER OPTION...: the suite, with the plugin that is there.
# Plugins are looked for in this process, since qemu starts no other. Tests have
# ten times their time.
run_elements() {
  GST_PLUGIN_PATH=$1 GST_PLUGIN_SYSTEM_PATH=$root/usr/lib/$cross/gstreamer-1.0 \
    GST_REGISTRY=$(mktemp -p "$scratch") GST_REGISTRY_FORK=no GST_STATE_IGNORE_ELEMENTS='' \
    CK_FORK=no CK_DEFAULT_TIMEOUT=1200 CK_TIMEOUT_MULTIPLIER=10 \
    on max "$folder/cpu/tests/elements/elements" "${@:2}" </dev/null
}

# As many parts of the suite at once as there are cores.
run_elements_in_parts() {
  local part parts status pids=()
  parts=$(nproc)
  for ((part = 1; part <= parts; part++)); do
    run_elements "$folder/cpu/plugin" --part "$part/$parts" \
      >"$scratch/part-$part" 2>&1 &
    pids+=($!)
  done
  for ((part = 1; part <= parts; part++)); do
    status=0
    wait "${pids[part - 1]}" || status=$?
    count_log "arm64: elements, part $part of $parts" "$status" "$scratch/part-$part" || true
  done
}

# Brings the CUDA runtime for arm64 among the packages: the toolkit's, or one that pip
# has. Status 1: there is none.
have_runtime() {
  local toolkit=$1 target version package
  version=$(nvcc --version | sed -nE 's/.*release ([0-9]+\.[0-9]+),.*/\1/p')
  [[ ! -f $root/cudart-$version ]] || return 0
  for target in sbsa-linux aarch64-linux; do
    cp "$toolkit/targets/$target"/lib/libcudart_static.a \
      "$toolkit/targets/$target"/lib/libcudadevrt.a "$scratch" 2>/dev/null || continue
    break
  done
  if [[ ! -f $scratch/libcudart_static.a ]]; then
    package=nvidia-cuda-runtime
    [[ ${version%.*} -ge 13 ]] || package+=-cu${version%.*}
    pip download --quiet --no-deps --only-binary=:all: --platform manylinux2014_aarch64 \
      --dest "$scratch/wheel" "$package==$version.*" >&2 || return 1
    python3 -m zipfile -e "$scratch"/wheel/*.whl "$scratch/wheel/unpacked"
    find "$scratch/wheel/unpacked" -name 'libcud*.a' -exec cp {} "$scratch" \;
    [[ -f $scratch/libcudart_static.a ]] || return 1
  fi
  cp "$scratch"/libcud*.a "$root/usr/lib/$cross"
  touch "$root/cudart-$version"
}

# build_for_cuda TOOLKIT: its headers are the same for all machines.
build_for_cuda() {
  local targets=(plugin/libgstcudasepconv.so tests/kerncheck/kerncheck)
  cross_file "$1/bin/nvcc" "-ccbin=$cross-g++" "-isystem=$1/include" \
    "-isystem=$1/include/cccl" "-Xcompiler=--sysroot=$root" "-Xlinker=--sysroot=$root" \
    "-L$root/usr/lib/$cross" >"$folder/cuda.ini"
  build cuda -Dcuda=enabled -Dgstcuda=enabled "-Dcuda-archs=${CUDA_ARCHS:-87,90}"
}

holds_kernels() {
  file -b "$1" | grep 'ARM aarch64'
  readelf --sections --wide "$1" | grep nv_fatbin
}

only_system_libraries() {
  "$cross-readelf" --dynamic "$1" | grep NEEDED >"$scratch/libraries"
  cat "$scratch/libraries"
  ! grep -E 'libcuda\.|libcudart|libnv' "$scratch/libraries"
}

run_cuda() {
  local toolkit plugin=$folder/cuda/plugin status=0
  if ! command -v nvcc >/dev/null; then
    skip "arm64: with CUDA" "there is no nvcc"
    return
  fi
  toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
  if ! have_runtime "$toolkit"; then
    skip "arm64: with CUDA" "neither this toolkit nor pip has a CUDA runtime for arm64"
    return
  fi
  check "arm64: with CUDA: builds without warnings" build_for_cuda "$toolkit"
  $check_passed || return 0
  check "arm64: with CUDA: GPU kernels are in the plugin" \
    holds_kernels "$plugin/libgstcudasepconv.so"
  check "arm64: with CUDA: no driver or CUDA library is linked" \
    only_system_libraries "$plugin/libgstcudasepconv.so"
  run_elements "$plugin" --backend bare >"$scratch/log" 2>&1 || status=$?
  count_log "arm64: with CUDA: elements without a driver" "$status" "$scratch/log" || true
  on max "$folder/cuda/tests/kerncheck/kerncheck" --quick --method simd \
    </dev/null >"$scratch/log" 2>&1 || status=$?
  count_log "arm64: with CUDA: kerncheck without a driver" "$status" "$scratch/log" || true
  skip "arm64: with CUDA: kernels on a GPU" "there is no arm64 machine with one here"
}

if [[ $(uname -m) != x86_64 ]] || ! command -v apt-get >/dev/null; then
  skip arm64 "this script is for an x86-64 Debian; tests/run.sh tests an arm64 machine"
  finish
fi
set_up gcc-$cross g++-$cross qemu-user-static file
mkdir -p "$folder"
check "arm64: Debian's packages" unpack_packages
$check_passed || finish

check "arm64: builds without warnings" build_for_cpu
$check_passed || finish
if wanted kerncheck; then
  run_kerncheck max --quick
  # Quick pictures have no two strips.
  run_kerncheck cortex-a53 --check sepconv/simd/large
fi
if wanted elements; then
  run_elements_in_parts
  skip "arm64: elements-restart" "under qemu no program starts itself again"
fi
if wanted cuda; then
  run_cuda
fi
finish
