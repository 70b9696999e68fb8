#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/packages.sh [--arch arm64] [--cuda ARCHS] [--keep FOLDER]
# tests/packages.sh --try FOLDER
#
# Builds the Debian packages of the last commit as a user would, from the archive that
# `meson dist` makes; looks them over with lintian, installs them on this machine, runs
# debian/tests with what is installed, removes them, and looks for what is left.
# Some minutes, and root for what comes after lintian; not part of run.sh.
#
#   --arch arm64    for 64-bit Arm: built in a Debian 13 under build/packages, which mmdebstrap
#                   makes, with Debian's cross compiler, and installed in another, under qemu.
#                   Root, more than an hour on two cores, and 5 GB
#   --try FOLDER    install, use and remove the packages of that folder instead
#   --cuda ARCHS    with kernels for these GPUs, such as 80,90, by nvcc; without it for the
#                   CPU alone, as where nvcc is not packaged
#   --keep FOLDER   put packages and archive there
#
# What cannot run here is named with "SKIP". The last line is
# "N passed, N failed, N skipped"; the exit status is 1 when something failed.
#
# Example:
#   tests/packages.sh --keep /tmp/packages
# shellcheck disable=SC2317 # check calls functions by name
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

usage() {
  sed -n '/^# tests/,/^#   tests/s/^#[ ]\{0,1\}//p' "$0"
}

export DEB_BUILD_OPTIONS=nocuda
keep='' arch='' given=''
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit ;;
    --cuda) DEB_BUILD_OPTIONS='' CUDA_ARCHS=${2:?} ;;
    --keep) keep=${2:?} ;;
    --try) given=$(realpath "${2:?}") ;;
    --arch)
      arch=${2:?}
      [[ $arch = arm64 ]] || { echo "packages.sh: --arch takes arm64" >&2; exit 2; } ;;
    *) usage >&2; exit 2 ;;
  esac
  shift 2
done
[[ -z ${CUDA_ARCHS-} ]] || export CUDA_ARCHS
[[ -z $arch || -z ${CUDA_ARCHS-} ]] || { echo "packages.sh: packages for $arch are for the CPU alone" >&2; exit 2; }

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
# shellcheck source=tests/tally.sh
. tests/tally.sh
# shellcheck source=tests/systems.sh
. tests/systems.sh
# shellcheck source=tests/release.sh
. tests/release.sh
# shellcheck disable=SC2034 # of tally.sh; kernels for all GPUs take long
check_limit=7200
if ! command -v apt-get >/dev/null; then
  skip "packages" "this is no Debian"
  finish
fi
needed=(man-db python3-gi python3-numpy gir1.2-gst-plugins-base-1.0)
[[ -n $given ]] || needed+=(lintian dpkg-dev debhelper dh-python fakeroot git gobject-introspection)
[[ -z $arch ]] || needed+=(qemu-user-static)
set_up "${needed[@]}"

scratch=$(mktemp -d)
installed=no running='' registered=''
binfmt=/proc/sys/fs/binfmt_misc
# Also when it is ended early, nothing stays installed.
clean_up() {
  [[ -z $running ]] || end_processes "$running"
  [[ $installed = no ]] || dpkg -r "${packages[@]}" >/dev/null 2>&1 || true
  [[ -z $registered ]] || echo -1 >"$binfmt/qemu-aarch64"
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
version=$(project_version)
packages=(gstreamer1.0-cudasepconv libgstcudasepconv-filter-1.0-0 libgstcudasepconv-meta-1.0-0
  gir1.2-gstcudasepconv-1.0 libgstcudasepconv-dev gst-cudasepconv-tools)
tree=$scratch/gst-cudasepconv-$version
[[ -z $given ]] || tree=$root
systems=$root/build/packages

archive() {
  meson setup "$scratch/dist" -Dcuda=disabled
  dist_is_whole "$scratch/dist" "$scratch"
}

builds() {
  cd "$tree"
  dpkg-buildpackage -us -uc
  for package in "${packages[@]}"; do
    [[ -f $(deb_of "$package") ]]
  done
}

# The same in a Debian of its own, where packages for arm64 stand beside those that run.
builds_for_arm64() {
  local system=$systems/amd64 profiles=cross,nocheck
  mkdir -p "$systems"
  make_system "$system" trixie --architectures=amd64,arm64
  rm -rf "$system/build"
  mkdir "$system/build"
  cp -r "$tree" "$system/build/source"
  in_system "$system" '' sh -ec "
    cd /build/source
    apt-get update
    apt-get install -y --no-install-recommends build-essential crossbuild-essential-arm64 fakeroot
    apt-get build-dep -y --no-install-recommends -a arm64 -P $profiles ./
    apt-get clean
    export DEB_BUILD_OPTIONS='$DEB_BUILD_OPTIONS nocheck'
    dpkg-buildpackage -a arm64 -P$profiles -us -uc"
  find "$system/build" -maxdepth 1 -type f -exec cp -t "$scratch" {} +
  for package in "${packages[@]}"; do
    [[ $(deb_of "$package") = *_arm64.deb ]]
  done
}

# The kernel starts programs for arm64 with qemu, in any folder, while this runs.
register_qemu() {
  [[ -e $binfmt/register ]] || mount -t binfmt_misc binfmt_misc "$binfmt"
  [[ ! -e $binfmt/qemu-aarch64 ]] || return 0
  cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$binfmt/register"
  registered=yes
}

arm64_system() {
  make_system "$systems/arm64" trixie --architectures=arm64
  rm -rf "$systems/arm64/source" "$systems/arm64/packages"
  mkdir "$systems/arm64/source" "$systems/arm64/packages"
  git archive HEAD | tar -x -C "$systems/arm64/source"
  find "$scratch" -maxdepth 1 -name '*.deb' -exec cp -t "$systems/arm64/packages" {} +
}

# This script in there, whose results are counted as those of this one.
tries_on_arm64() {
  local log=$scratch/arm64
  in_system "$systems/arm64" '' source/tests/packages.sh --try /packages >"$log" 2>&1 </dev/null &
  running=$!
  wait "$running" || true
  running=
  count_script arm64 "$log"
}

# deb_of PACKAGE: its file.
deb_of() {
  find "${given:-$scratch}" -maxdepth 1 -name "$1_*.deb" | grep .
}

# Without a word, hints of mere information included, but for the version of Debian's policy:
# the packages keep to that of the oldest Debian that they are for. And what pyproject.toml
# names is for pip: the packages do not have the Python module.
lintian_clean() {
  local user=() unfit=out-of-date-standards-version,missing-prerequisite-for-pyproject-backend
  [[ $(id -u) != 0 ]] || user=(--allow-root)
  # In compressed kernels any letters occur.
  [[ -z ${CUDA_ARCHS-} ]] || unfit+=,spelling-error-in-binary
  lintian "${user[@]}" --display-info --fail-on error,warning,info --suppress-tags "$unfit" \
    "$scratch"/gst-cudasepconv_*.changes
}

holds_kernels() {
  dpkg-deb --fsys-tarfile "$(deb_of gstreamer1.0-cudasepconv)" | tar -xC "$scratch" --wildcards '*.so'
  readelf --sections --wide "$scratch"/usr/lib/*/gstreamer-1.0/libgstcudasepconv.so | grep nv_fatbin
}

# Where packages put files; the system's own records and caches are left out.
installed_files() {
  find /etc /usr /opt /var -xdev \( -path /var/cache -o -path /var/log -o -path /var/lib/dpkg \
    -o -path /var/lib/apt -o -path /var/tmp \) -prune -o -print | sort
}

installs() {
  local debs=()
  for package in "${packages[@]}"; do
    debs+=("$(deb_of "$package")")
  done
  installed_files >"$scratch/before"
  dpkg -i "${debs[@]}"
  dpkg -L "${packages[@]}" | grep -E '/(bin|gstreamer-1.0|pkgconfig|man1)/'
}

# installed_test NAME: a test of debian/tests, with what is installed alone.
installed_test() {
  mkdir -p "$scratch/$1"
  cd "$tree"
  env -u GST_PLUGIN_PATH -u PYTHONPATH AUTOPKGTEST_TMP="$scratch/$1" \
    GST_REGISTRY="$scratch/registry" "debian/tests/$1"
}

man_pages() {
  local page
  for page in $(dpkg -L gst-cudasepconv-tools | grep '/man1/.*\.gz$'); do
    man --warnings -l "$page" 2>&1 >"$scratch/page" | tee -a "$scratch/man-warnings"
    grep EXAMPLES "$scratch/page"
  done
  [[ ! -s $scratch/man-warnings ]]
}

removes() {
  dpkg -r "${packages[@]}"
  for package in "${packages[@]}"; do
    if dpkg-query -W "$package"; then return 1; fi
  done
  installed_files >"$scratch/after"
  diff "$scratch/before" "$scratch/after"
  if env -u GST_PLUGIN_PATH GST_REGISTRY="$scratch/registry" gst-inspect-1.0 cudasepconv; then
    return 1
  fi
}

try_packages() {
  if [[ $(id -u) != 0 ]]; then
    skip "installing, using and removing packages" "that takes root"
    return
  elif dpkg-query -W "${packages[@]}" 2>/dev/null | grep . >/dev/null; then
    skip "installing, using and removing packages" "some of them are installed already"
    return
  fi
  installed=yes
  check "dpkg -i" installs
  for test in launch header typelib tools; do
    check "installed: $test" installed_test $test
  done
  check "installed: man pages" man_pages
  check "dpkg -r leaves nothing" removes
  installed=no
}

if [[ -n $given ]]; then
  try_packages
  finish
fi
if [[ -n $arch && ($(id -u) != 0 || $(uname -m) != x86_64) ]]; then
  skip "packages for $arch" "that takes root and an x86-64 machine"
  finish
fi
check "the changelogs have the project's version" same_versions
check "meson dist packs what is committed" archive
if $check_passed && [[ -n $arch ]]; then
  register_qemu
  check "dpkg-buildpackage for $arch" builds_for_arm64
elif $check_passed; then
  check "dpkg-buildpackage" builds
fi
if $check_passed; then
  check "lintian" lintian_clean
  [[ -z ${CUDA_ARCHS-} ]] || check "GPU kernels are in the package" holds_kernels
  if [[ -z $arch ]]; then
    try_packages
  else
    check "a Debian for arm64" arm64_system
    ! $check_passed || tries_on_arm64
  fi
fi
if [[ -n $keep ]]; then
  mkdir -p "$keep"
  find "$scratch" -maxdepth 1 -name '*gst*cudasepconv*.*' -type f -exec cp -t "$keep" {} +
fi
finish
