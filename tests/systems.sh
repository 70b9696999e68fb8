# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# To be sourced after setup.sh, as root: Debian systems in folders, for matrix.sh and packages.sh.

# The mirror of Debian that this machine uses; none if it is no Debian.
debian_mirror() {
  apt-get indextargets 'Created-By: Packages' --format "\$(ORIGIN)/\$(LABEL) \$(REPO_URI)" \
    | sed -n 's|^Debian/Debian ||p' | head -n 1
}

# make_system FOLDER RELEASE [MMDEBSTRAP-OPTION...]: a minimal Debian, unless the folder is there.
# Half of one never stays. A mirror may lag behind sid, and a system for tests need not survive
# a power cut.
make_system() {
  local root=$1 release=$2 missing mirror
  [[ ! -d $root ]] || return 0
  mapfile -t missing < <(missing_packages mmdebstrap)
  [[ ${#missing[@]} = 0 ]] || install_packages "${missing[@]}"
  mirror=$(debian_mirror)
  rm -rf "$root.part"
  mmdebstrap --mode=root --variant=apt --components=main,contrib,non-free \
    --aptopt='Acquire::Check-Valid-Until "false"' --dpkgopt=force-unsafe-io "${@:3}" \
    "$release" "$root.part" ${mirror:+"$mirror"} || return
  # No package starts a service.
  printf '#!/bin/sh\nexit 101\n' >"$root.part/usr/sbin/policy-rc.d"
  chmod +x "$root.part/usr/sbin/policy-rc.d"
  mv "$root.part" "$root"
}

# in_system FOLDER TOOLKIT COMMAND...: with namespaces of its own, so that no process and no mount
# outlives it. A toolkit for CUDA, which may be '', shows as /usr/local/cuda. The environment is
# empty but for what `env` before the command sets, and the number of processes at once.
in_system() {
  # shellcheck disable=SC2016 # for the shell in there
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    root=$1 toolkit=$2
    shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mkdir -p "$root/usr/local/cuda"
    [[ -z $toolkit ]] || mount --bind -o ro "$toolkit" "$root/usr/local/cuda"
    trap "exit 143" TERM
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
      DEBIAN_FRONTEND=noninteractive OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(nproc)}" chroot "$root" "$@" &
    wait $!' - "$@"
}
