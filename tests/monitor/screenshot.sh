#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/monitor/screenshot.sh PICTURE WIDTH light|dark ARGUMENT...
#
# Runs pipelines/monitor-streams with the arguments, and takes a screenshot of its page as a screen of WIDTH
# pixels shows it, into PICTURE (*.png). Installs Debian's Chromium, which is large, where it is missing.
# GST_PLUGIN_PATH names the folder of the plugin.
#
# Example:
#   tests/monitor/screenshot.sh /tmp/phone.png 375 dark test:ball test:black
set -euo pipefail
cd "$(dirname "$0")/../.."

if (($# < 4)); then
  sed -n '/^# tests/,/^#   tests/s/^#[ ]\{0,1\}//p' "$0" >&2
  exit 2
fi
picture=$1 width=$2 scheme=$3
shift 3

# shellcheck source=pipelines/setup.sh
. pipelines/setup.sh
set_up chromium chromium-driver python3-selenium fonts-dejavu-core

coproc exec pipelines/monitor-streams --port 0 "$@"
program=$COPROC_PID
trap 'kill "$program"; wait "$program" || true' EXIT
read -rt 300 _ address <&"${COPROC[0]}"
/usr/bin/python3 tests/monitor/screenshot.py "$address" "$picture" "$width" "$scheme"
