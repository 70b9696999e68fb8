#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# restart.sh PROGRAM
#
# Checks what the suite makes of tests that fail, hang and crash: PROGRAM runs those
# of test-restart.c. Where the program sees a CUDA device, its tests without one run
# in a child.
# shellcheck disable=SC2317 # check calls functions by name
set -euo pipefail

program=$1
# shellcheck source=tests/tally.sh
. "$(dirname "$0")/../tally.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect STATUS OPTION...: the program ends with this status, and prints what stdin
# says; lines of the source are left out.
expect() {
  local wanted=$1 status=0
  shift
  "$program" "$@" </dev/null >"$scratch/output" || status=$?
  echo "status $status"
  sed -E 's/ \([a-z-]+\.c:[0-9]+\)$//' "$scratch/output" >"$scratch/lines"
  diff -u - "$scratch/lines"
  [[ $status = "$wanted" ]]
}

all_kinds() {
  # Of the tests, one hangs; the others take no time.
  CK_DEFAULT_TIMEOUT=3 expect 1 --backend any <<'END'
ok elements/any/passes-first
FAIL elements/any/fails [backend=cpu on purpose]: it fails (expected FALSE)
ok elements/any/passes-after-failure
FAIL elements/any/fails-holding-a-sink [backend=cpu ]: it fails (expected FALSE)
ok elements/any/passes-after-held-sink
SKIP elements/any/skips: on purpose
FAIL elements/any/hangs [backend=cpu waiting]: timed out
ok elements/any/passes-after-hang
said before the end
FAIL elements/any/aborts [backend=cpu ]: Aborted
FAIL elements/any/aborts-in-thread [backend=cpu ]: Aborted
ok elements/any/passes-after-abort
FAIL elements/any/traps-last [backend=cpu ]: Trace/breakpoint trap
elements: 5 passed, 6 failed, 1 skipped
END
}

# The options hold in the process that takes over, too.
chosen() {
  expect 1 --backend any --skip passes-after-abort aborts passes- <<'END'
ok elements/any/passes-first
ok elements/any/passes-after-failure
ok elements/any/passes-after-held-sink
ok elements/any/passes-after-hang
said before the end
FAIL elements/any/aborts [backend=cpu ]: Aborted
FAIL elements/any/aborts-in-thread [backend=cpu ]: Aborted
SKIP elements/any/passes-after-abort: this run leaves it out
elements: 4 passed, 2 failed, 1 skipped
END
}

nothing_wrong() {
  expect 0 --backend any passes- <<'END'
ok elements/any/passes-first
ok elements/any/passes-after-failure
ok elements/any/passes-after-held-sink
ok elements/any/passes-after-hang
ok elements/any/passes-after-abort
elements: 5 passed, 0 failed, 0 skipped
END
}

# The mark of a process that was started for one test; it reports to the one that
# started it.
in_child() {
  ELEMENTS_WITHOUT_DEVICE=1 expect 1 --backend bare bare-aborts <<'END'
said before the end
FAIL elements/bare/bare-aborts [backend=cpu ]: Aborted
elements: 0 passed, 1 failed, 0 skipped
END
}

# By way of a child or not.
without_device() {
  local status=0
  "$program" --backend bare </dev/null >"$scratch/output" || status=$?
  cat "$scratch/output"
  [[ $status = 1 ]]
  grep -c '^FAIL elements/bare/bare-aborts .*: Aborted$' "$scratch/output" | grep -x 1
  grep -x 'ok elements/bare/bare-passes' "$scratch/output"
  [[ $(tail -n 1 "$scratch/output") = "elements: 1 passed, 1 failed, 0 skipped" ]]
}

check "a test that fails, hangs or crashes fails alone" all_kinds
check "the tests behind a crash are those chosen" chosen
check "nothing fails where nothing is wrong" nothing_wrong
check "a crash in a child is reported" in_child
check "a crash without a device fails alone" without_device
printf 'restart: '
finish
