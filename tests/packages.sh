#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/packages.sh [--cuda ARCHS] [--keep FOLDER]
#
# Builds the Debian packages of the last commit as a user would, from the archive that
# `meson dist` makes; looks them over with lintian, installs them on this machine, runs
# debian/tests with what is installed, removes them, and looks for what is left.
# Some minutes, and root for what comes after lintian; not part of run.sh.
#
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
keep=
while (($# > 0)); do
  case $1 in
    -h | --help) usage; exit ;;
    --cuda) DEB_BUILD_OPTIONS='' CUDA_ARCHS=${2:?} ;;
    --keep) keep=${2:?} ;;
    *) usage >&2; exit 2 ;;
  esac
  shift 2
done
[[ -z ${CUDA_ARCHS-} ]] || export CUDA_ARCHS

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
# shellcheck source=tests/tally.sh
. tests/tally.sh
# shellcheck source=tests/release.sh
. tests/release.sh
# shellcheck disable=SC2034 # of tally.sh; kernels for all GPUs take long
check_limit=7200
if ! command -v apt-get >/dev/null; then
  skip "packages" "this is no Debian"
  finish
fi
set_up lintian dpkg-dev debhelper dh-python fakeroot git gobject-introspection man-db \
  python3-gi python3-numpy gir1.2-gst-plugins-base-1.0

scratch=$(mktemp -d)
installed=no
# Also when it is ended early, nothing stays installed.
clean_up() {
  [[ $installed = no ]] || dpkg -r "${packages[@]}" >/dev/null 2>&1 || true
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
version=$(project_version)
packages=(gstreamer1.0-cudasepconv libgstcudasepconv-meta-1.0-0
  gir1.2-gstcudasepconv-1.0 libgstcudasepconv-dev gst-cudasepconv-tools)
tree=$scratch/gst-cudasepconv-$version

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

# deb_of PACKAGE: its file.
deb_of() {
  find "$scratch" -maxdepth 1 -name "$1_*.deb" | grep .
}

# Without a word, hints of mere information included, but for the version of Debian's policy:
# the packages keep to that of the oldest Debian that they are for.
lintian_clean() {
  local user=() unfit=out-of-date-standards-version
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

check "the changelogs have the project's version" same_versions
check "meson dist packs what is committed" archive
if $check_passed; then
  check "dpkg-buildpackage" builds
fi
if $check_passed; then
  check "lintian" lintian_clean
  [[ -z ${CUDA_ARCHS-} ]] || check "GPU kernels are in the package" holds_kernels
  if [[ $(id -u) != 0 ]]; then
    skip "installing, using and removing packages" "that takes root"
  elif dpkg-query -W "${packages[@]}" 2>/dev/null | grep -q .; then
    skip "installing, using and removing packages" "some of them are installed already"
  else
    installed=yes
    check "dpkg -i" installs
    for test in launch header typelib tools; do
      check "installed: $test" installed_test $test
    done
    check "installed: man pages" man_pages
    check "dpkg -r leaves nothing" removes
    installed=no
  fi
fi
if [[ -n $keep ]]; then
  mkdir -p "$keep"
  find "$scratch" -maxdepth 1 -name '*gst*cudasepconv*.*' -type f -exec cp -t "$keep" {} +
fi
finish
