#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes a screenshot of a page of monitor-streams in Chromium without a window.

    screenshot.py ADDRESS PICTURE [WIDTH [light|dark [SECONDS]]]

PICTURE (*.png) shows the whole page as a screen of WIDTH (1280) pixels does, SECONDS (3) after each of its
inputs has begun to play or is lost."""

import base64
import sys
import time

from browser import Browser

address, path = sys.argv[1:3]
width = int(sys.argv[3]) if len(sys.argv) > 3 else 1280
scheme = sys.argv[4] if len(sys.argv) > 4 else "light"
with Browser(width, scheme) as browser:
    browser.open(address)
    browser.wait_for("document.querySelector('.state') && !document.querySelector('.state.starting')")
    time.sleep(float(sys.argv[5]) if len(sys.argv) > 5 else 3)
    with open(path, "wb") as file:
        file.write(base64.b64decode(browser.screenshot()))
