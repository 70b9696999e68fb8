# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# To be sourced by scripts that run many checks and go on after a failure.
# They print "ok NAME", "FAIL NAME" with the output, or "SKIP NAME: reason".

passed=0
failed=0
skipped=0

# Seconds that a check may take, the longest build on two cores included.
check_limit=1200

# end_processes PROCESS: it and all that it has started.
end_processes() {
  local child
  for child in $(pgrep -P "$1"); do
    end_processes "$child"
  done
  kill "$1" 2>/dev/null || true
}

# end_late PROCESS: ends the process, and all that it has started, after $check_limit.
end_late() {
  local child
  read -rt "$check_limit" <> <(:) || true
  echo "ended: it took longer than $check_limit s"
  for child in $(pgrep -P "$1"); do
    [[ $child = "$BASHPID" ]] || end_processes "$child"
  done
  kill "$1"
}

# check NAME COMMAND...: one check. The command, which may be a function, runs
# with errexit in a shell of its own; its output shows if it fails. Returns 0;
# $check_passed is the verdict, "true" or "false". Not for use in a condition,
# where the shell would ignore errexit.
check_log=$(mktemp)
check_passed=false
check() {
  local name=$1 status
  shift
  check_passed=false
  if ! type -t "$1" >/dev/null; then
    skip "$name" "there is no $1"
    return 0
  fi
  set +e
  (
    self=$BASHPID
    end_late "$self" &
    # shellcheck disable=SC2064 # this process
    trap "kill $! 2>/dev/null || true" EXIT
    set -e
    "$@"
  ) >"$check_log" 2>&1 </dev/null
  status=$?
  set -e
  if [[ $status = 0 ]]; then
    echo "ok $name"
    passed=$((passed + 1))
    # shellcheck disable=SC2034 # for the caller
    check_passed=true
  else
    echo "FAIL $name (status $status)"
    sed 's/^/  /' "$check_log"
    failed=$((failed + 1))
  fi
}

skip() {
  echo "SKIP $1: $2"
  skipped=$((skipped + 1))
}

# count_log NAME STATUS FILE: adds the last "...: N passed, N failed, N skipped"
# that a test binary wrote, and shows what it skipped and failed. One that ended
# badly without saying what failed is one failure. Status 1 if anything failed.
count_log() {
  local name=$1 status=$2 file=$3 tally
  local pattern='^(kerncheck|elements|restart|bench-pipeline|python|trace): ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'
  touch "$file"
  grep '^SKIP ' "$file" | sed "s|^|  |" || true
  tally=$(sed -nE "s/$pattern/\2 \3 \4/p" "$file" | tail -n 1)
  read -r p f s <<<"${tally:-0 0 0}"
  [[ -n $tally && ($status = 0 || $f != 0) ]] || f=$((f + 1))
  passed=$((passed + p))
  failed=$((failed + f))
  skipped=$((skipped + s))
  if [[ $f = 0 ]]; then
    echo "ok $name: $p passed, $s skipped"
    return 0
  fi
  echo "FAIL $name: $p passed, $f failed, $s skipped (status $status)"
  grep -vE '^(ok|SKIP) ' "$file" | tail -n 100 | sed 's/^/  /' || true
  return 1
}

# count_script NAME LOG [PATTERN]: adds the last "N passed, N failed, N skipped" of a script that
# this file was sourced by, and shows its other lines, but for those of PATTERN. One that wrote no
# such line is one failure. Leaves the numbers in $p, $f and $s.
count_script() {
  local name=$1 file=$2 tally
  tally=$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$file" | tail -n 1)
  read -r p f s <<<"${tally:-0 1 0}"
  grep -vE "^[0-9]+ passed, ${3:+|$3}" "$file" || true
  [[ -n $tally ]] || echo "FAIL $name: it did not come to its end"
  passed=$((passed + p))
  failed=$((failed + f))
  skipped=$((skipped + s))
}

# The last line and the exit status of everything.
finish() {
  rm -f "$check_log"
  echo "$passed passed, $failed failed, $skipped skipped"
  [[ $failed = 0 ]] || exit 1
  exit 0
}
