# SPDX-License-Identifier: LGPL-2.1-or-later
"""Brings pages from the Markdown of GitHub to that of MkDocs. What belongs to an item of a list is
indented by the width of the item's mark there, and by four blanks here. After an item of
several paragraphs, the next one begins after a blank line here."""

import re

ITEM = re.compile(r"([-*] |\d+\. )")
WANTED = 4


def on_page_markdown(markdown, **_):
    lines = []
    width = 0       # of the mark that the current item begins with; 0: no item
    loose = False   # the item has had a blank line
    for line in markdown.split("\n"):
        if item := ITEM.match(line):
            if loose and lines[-1]:
                lines.append("")
            width, loose = len(item[0]), False
        elif line and not line.startswith(" "):
            width, loose = 0, False
        elif width and line.startswith(" " * width):
            line = " " * (WANTED - width) + line
        loose = loose or (width > 0 and not line)
        lines.append(line)
    return "\n".join(lines)
