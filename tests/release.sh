# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# To be sourced in the checkout's root: what holds of a release, for run.sh and packages.sh.

# The version of the project stands in meson.build; what else names it has to agree.
project_version() {
  sed -nE "s/^ *version: '([^']+)',$/\1/p" meson.build | head -n 1
}

# The newest entries of both changelogs are of this version.
same_versions() {
  local version debian notes
  version=$(project_version)
  debian=$(sed -nE '1s/^[^(]*\(([^)]*)\).*/\1/p' debian/changelog)
  notes=$(sed -nE 's/^## ([0-9.]+).*/\1/p' CHANGELOG.md | head -n 1)
  echo "meson.build $version, debian/changelog $debian, CHANGELOG.md $notes"
  [[ -n $version && $version = "$debian" && $version = "$notes" ]]
}

# dist_is_whole BUILD FOLDER: meson dist packs all files of the last commit and no others.
# They are unpacked into FOLDER/gst-cudasepconv-VERSION.
dist_is_whole() {
  local name
  name=gst-cudasepconv-$(project_version)
  meson dist -C "$1" --no-tests --allow-dirty
  mkdir -p "$2"
  tar -xf "$1/meson-dist/$name.tar.xz" -C "$2"
  git ls-tree -r --name-only HEAD | sort >"$2/committed"
  (cd "$2/$name" && find . -type f -o -type l) | sed 's|^\./||' | sort >"$2/packed"
  diff "$2/committed" "$2/packed"
}
