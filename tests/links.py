#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Whether the relative links of all Markdown pages lead somewhere: files, and headings in them.

Example:
  tests/links.py

Prints each link that does not; exit status 1 then. With --targets it prints the files that
pages link to, one a line, instead."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def pages():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    return listed.stdout.split()


def prose(path):
    """The lines that are not code."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("    "):
                yield number, re.sub(r"`[^`]*`", lambda code: "`" * len(code[0]), line)


def anchors(path):
    """Headings as GitHub makes anchors of them."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        headings = re.findall(r"^#+ +(.*)$", file.read(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links():
    """(page, line, link) of all relative links."""
    for page in pages():
        for number, line in prose(page):
            for link in LINK.findall(line):
                if not re.match(r"[a-z]+:", link):
                    yield page, number, link


def target_of(page, link):
    name = link.partition("#")[0]
    return os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page


def fault(page, link):
    """What is wrong with a link, or None."""
    anchor = link.partition("#")[2]
    target = target_of(page, link)
    if target.startswith("..") or not os.path.exists(os.path.join(ROOT, target)):
        return "there is no such file"
    if anchor and (not target.endswith(".md") or anchor not in anchors(target)):
        return "there is no such heading"
    return None


def main():
    if sys.argv[1:] == ["--targets"]:
        print("\n".join(sorted({target_of(page, link) for page, _, link in links()})))
        return 0
    count = faults = 0
    for page, number, link in links():
        count += 1
        if why := fault(page, link):
            faults += 1
            print(f"{page}:{number}: {link}: {why}")
    print(f"{count} links, {faults} faults")
    return int(faults > 0 or count == 0)


if __name__ == "__main__":
    sys.exit(main())
