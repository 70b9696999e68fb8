#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# docs/site.sh [--serve]
#
# Builds the site of the pages of this checkout, README included, into build/site/html/, and
# fails where a link leads nowhere. MkDocs and its theme come from PyPI into
# build/site/venv/.
#
#   --serve   then show it at http://127.0.0.1:8000/
#
# Example:
#   docs/site.sh
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1-} in
  '' | --serve) ;;
  -h | --help) sed -n '/^# docs/,/^#   docs/s/^#[ ]\{0,1\}//p' "$0"; exit ;;
  *) echo "usage: docs/site.sh [--serve]" >&2; exit 2 ;;
esac

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

site=build/site
theme='mkdocs-material==9.*'

if [[ ! -x $site/venv/bin/mkdocs ]]; then
  ! command -v apt-get >/dev/null || [[ -z $(missing_packages python3-venv) ]] \
    || install_packages python3-venv
  echo "Installing MkDocs into $site/venv"
  mkdir -p "$site"
  quietly python3 -m venv "$site/venv"
  quietly "$site/venv/bin/pip" install "$theme"
fi

quietly tests/links.py
# The pages as they lie here, with the sources and the data that they link to.
echo "Building $site/html"
rm -rf "$site/pages"
mkdir -p "$site/pages"
{
  git ls-files '*.md' 'docs/performance/*'
  echo docs/site.css
  tests/links.py --targets
} | sort -u | while read -r file; do
  [[ ! -d $file ]] || continue
  install -D -m 644 "$file" "$site/pages/$file"
done
NO_MKDOCS_2_WARNING=1 quietly "$site/venv/bin/mkdocs" build --strict
echo "site     $site/html/index.html"
if [[ ${1-} = --serve ]]; then
  exec python3 -m http.server --bind 127.0.0.1 --directory "$site/html" 8000
fi
