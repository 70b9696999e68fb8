#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/mutation.sh [--count N] [--seed S] [--file GLOB] [--limit SECONDS] [--jobs N] [--list] [--fresh]
#
# Do the tests notice mistakes? Makes small ones in the C sources of engine and plugin, one at a
# time: a comparison, an operator or a constant changed, a condition negated, a statement deleted,
# another value returned. Each such mutant is built, without CUDA, and has to fail kerncheck or
# elements, on the CPU or on the emulated GPU; what kerncheck does not free fails, too, where gcc has
# LeakSanitizer. Those that the compiler refuses, or makes the same
# code of, do not count, nor those in lines that no test runs, which tests/coverage.sh is about.
#
#   --count N        until N mutants count (100)
#   --seed S         chooses them; the same mutants for the same seed, as long as the code stays (1)
#   --file GLOB      only of these sources, as 'plugin/*' or 'cuda/ring.c'
#   --limit SECONDS  of tests for a mutant (600); then it has survived
#   --jobs N         compilers at once, and programs of tests (one a core)
#   --list           print the mutants and build nothing
#   --fresh          forget former results, in build/mutation/results.jsonl. Otherwise a mutant that
#                    was found is not tried again while its file is the same, nor one that survived
#                    while nothing has changed
#
# Each that survives is shown as a diff. Either a test is missing, or the mutant does what the
# original does: then tests/mutation/equivalent.txt says why, and it is left out from there on. All
# happens in a copy of the checkout, with its uncommitted changes, in build/mutation. The last line
# is the score: the share that was found. Which tests reach a line is measured first, with gcov,
# which takes a quarter of an hour; then a hundred mutants take about as long.
# Exit status: 0; 1 if something could not be built; 77 where there is no gcov.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh

if [[ ${1:-} = --help || ${1:-} = -h ]]; then
  sed -n '4,/^set /s/^#[ ]\{0,1\}//p' "$0"
  exit
fi
set_up python3-venv
command -v gcov >/dev/null || {
  echo "SKIP: there is no gcov" >&2
  exit 77
}

# The parser of C comes from pip, into an environment of its own in the user's cache.
environment=${XDG_CACHE_HOME:-$HOME/.cache}/cudasepconv/mutation
python=$environment/bin/python
[[ -x $python ]] || python3 -m venv "$environment"
"$python" -c 'import tree_sitter, tree_sitter_c' 2>/dev/null \
  || "$environment/bin/pip" --quiet --disable-pip-version-check install tree-sitter tree-sitter-c
exec "$python" -B tests/mutation/run.py "$@"
