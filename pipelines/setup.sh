# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# To be sourced. Makes available what building and running takes:
#
#   set_up [PACKAGE...]        install what is missing of the packages below and
#                              of those named; put nvcc on PATH. Says nothing and
#                              asks for nothing when all is there.
#   build_release FOLDER [MESON-OPTION...]
#                              configure once, then build; says something only
#                              when it configures or fails. Owns the folder, and
#                              begins it anew where it was configured otherwise.
#   this_machine_only          print Meson options, one a line: kernels for the
#                              GPUs of this machine alone, so that a build is
#                              quick; none if there is no GPU. To be called in
#                              the checkout's root.
#   default_clip CACHE-FOLDER  print the path of OpenCV's street scene vtest.avi.
#
# On Debian and its relatives packages come from apt-get, as root or through
# sudo. Elsewhere commands and pkg-config modules are looked for instead.

build_packages=(build-essential meson ninja-build pkg-config
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev libgstreamer-plugins-bad1.0-dev
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
  gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly gstreamer1.0-libav
  libgirepository1.0-dev)
build_commands=(cc meson ninja pkg-config gst-launch-1.0)
build_modules=(gstreamer-1.0 gstreamer-base-1.0 gstreamer-video-1.0
  gstreamer-pbutils-1.0 gstreamer-controller-1.0 gstreamer-check-1.0)

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# quietly COMMAND...: its output only if it fails.
quietly() {
  local output status=0
  output=$("$@" 2>&1 </dev/null) || status=$?
  [[ $status = 0 ]] || printf '%s\n' "$output" >&2
  return "$status"
}

# build_with_progress FOLDER: ninja, of which only the count of steps shows, on a terminal; in a
# log a line now and then. What ninja says shows if it fails.
build_with_progress() {
  local log status=0
  log=$(mktemp)
  ninja -C "$1" </dev/null 2>&1 | tee "$log" | show_steps || status=$?
  [[ $status = 0 ]] || cat "$log" >&2
  rm -f "$log"
  return "$status"
}

show_steps() {
  local line shown=$SECONDS
  while read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    line="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps of the build"
    if [[ -t 2 ]]; then
      printf '\r\033[K%s' "$line" >&2
    elif ((SECONDS - shown >= 30)); then
      echo "$line" >&2
      shown=$SECONDS
    fi
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# One a line, those of the packages named that are not installed.
missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort) <(dpkg-query -W \
    -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null \
    | sed -n 's/^installed //p' | sort)
}

install_packages() {
  local as_root=() install=(apt-get install -y --no-install-recommends "$@")
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null \
      || die "packages are missing; run as root: ${install[*]}"
    as_root=(sudo)
  fi
  echo "Installing $*"
  # The prompt comes before the output is put aside.
  [[ ${#as_root[@]} = 0 ]] || sudo -v \
    || die "packages are missing; run as root: ${install[*]}"
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  # Package lists may be absent or too old.
  "${as_root[@]}" "${install[@]}" >/dev/null 2>&1 </dev/null || {
    quietly "${as_root[@]}" apt-get update \
      && quietly "${as_root[@]}" "${install[@]}"
  } || die "this failed: ${install[*]}"
}

# Where there is no apt-get: only what cannot be done without.
check_by_hand() {
  local item missing=()
  for item in "${build_commands[@]}"; do
    command -v "$item" >/dev/null || missing+=("$item")
  done
  for item in "${build_modules[@]}"; do
    pkg-config --exists "$item" 2>/dev/null || missing+=("$item.pc")
  done
  [[ ${#missing[@]} = 0 ]] || die "missing here: ${missing[*]}
On Debian these come with: ${build_packages[*]}"
}

set_up() {
  local missing
  if command -v apt-get >/dev/null; then
    mapfile -t missing < <(missing_packages "${build_packages[@]}" "$@")
    [[ ${#missing[@]} = 0 ]] || install_packages "${missing[@]}"
  else
    check_by_hand
  fi
  if ! command -v nvcc >/dev/null; then
    if [[ -x /usr/local/cuda/bin/nvcc ]]; then
      PATH=$PATH:/usr/local/cuda/bin
    elif [[ -e /dev/nvidia0 ]] || command -v nvidia-smi >/dev/null; then
      echo "A GPU without nvcc: building for the CPU." \
        "Install NVIDIA's CUDA Toolkit (package cuda-toolkit) for the GPU."
    fi
  fi
}

# drop_stale_kernels FOLDER: Meson 1.0 does not tell ninja what headers a CUDA source
# includes, so that what was built before one of them changed would stay.
drop_stale_kernels() {
  local newest object source
  [[ -f $1/build.ninja ]] || return 0
  newest=$(find cuda tests \( -name '*.h' -o -name '*.cuh' \) -printf '%T@ %p\n' \
    | sort -n | tail -n 1)
  newest=${newest#* }
  [[ ! $1/kernels-seen -nt $newest ]] || return 0
  touch "$1/kernels-seen"
  find "$1" -name '*.cu.o' ! -newer "$newest" -printf '%P\n' | while read -r object; do
    source=$(ninja -C "$1" -t query "$object" 2>/dev/null </dev/null \
      | grep -m 1 -o '[^ ]*\.cu$') || true
    if [[ -z $source ]] || ! (cd "$1" && is_newer_than_parts "$object" "$source" "$OLDPWD/cuda"); then
      rm "$1/$object"
    fi
  done
}

# is_newer_than_parts OBJECT SOURCE INCLUDE-FOLDER: not where parts cannot be found.
is_newer_than_parts() {
  local parts
  parts=$(c++ -MM -MG -MT "" -I "$3" -x c++ "$2" </dev/null | tr -d '\\:') || return
  # shellcheck disable=SC2086
  [[ -n $parts && -z $(find $parts -newer "$1" -print -quit 2>&1) ]]
}

# Otherwise: with other options, which Meson would keep, or before nvcc came.
build_release() {
  local folder=$1 wanted
  wanted="nvcc: $(command -v nvcc || echo none), options: ${*:2}"
  if [[ -f $folder/configured-for
      && $(<"$folder/configured-for") != "$wanted" ]]; then
    echo "Building in $folder again, for $wanted"
    rm -r "$folder"
  elif [[ ! -f $folder/build.ninja ]]; then
    echo "Building in $folder"
  fi
  if [[ ! -f $folder/build.ninja ]]; then
    quietly meson setup "$folder" --buildtype=release "${@:2}" || return
    echo "$wanted" >"$folder/configured-for"
  fi
  drop_stale_kernels "$folder"
  build_with_progress "$folder"
}

# The capabilities are named, so that a build for other GPUs is begun anew.
this_machine_only() {
  local archs
  if ! command -v nvidia-smi >/dev/null && [[ ! -e /dev/nvidia0 ]]; then
    echo -Dcuda=disabled
    return
  fi
  archs=$(cuda/native-archs.sh | paste -sd ,)
  echo "-Dcuda-archs=${archs:-all}"
}

# The package holds the clip also where the system is set to leave out
# documentation: then it is taken from the .deb.
default_clip() {
  local cache=$1 path
  if [[ ! -f $cache/vtest.avi ]]; then
    path=$(dpkg -L opencv-doc 2>/dev/null | grep -E '/vtest\.avi(\.gz)?$') \
      || die "OpenCV's vtest.avi is not here; name a video file"
    if [[ $path = *.avi && -f $path ]]; then
      echo "$path"
      return
    fi
    mkdir -p "$cache"
    if [[ -f $path ]]; then
      cat "$path"
    else
      fetch_from_package opencv-doc ".$path"
    fi | if [[ $path = *.gz ]]; then gzip -dc; else cat; fi \
      >"$cache/vtest.avi.part" || die "$path could not be had"
    mv "$cache/vtest.avi.part" "$cache/vtest.avi"
  fi
  echo "$cache/vtest.avi"
}

# fetch_from_package PACKAGE MEMBER: the member's bytes on stdout.
fetch_from_package() (
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  cd "$folder" || exit
  quietly apt-get download "$1" \
    && dpkg-deb --fsys-tarfile ./*.deb | tar -xO "$2"
)
