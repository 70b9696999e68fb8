#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes a manual page of what a program prints for --help, by argparse or GOption.

    man-page.py PROGRAM PURPOSE VERSION >PROGRAM.1

Such texts are a usage, paragraphs, and headings with entries: "  NAME  meaning". What stands
under "Example:" are commands."""

import os
import re
import subprocess
import sys

LINE = "500"  # columns: each usage and each entry on one line


def escaped(text):
    """Text for roff: hyphens that may be typed, no commands."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", text)


def usage(line):
    """The program in bold, the names of arguments in italics."""
    name, _, rest = line.strip().partition(" ")
    words = re.sub(r"\b[A-Z]+\b", r"\\fI\g<0>\\fR", escaped(rest.replace("OPTION…", "options")))
    return [".SH SYNOPSIS", rf"\fB{escaped(name)}\fR {words}"]


def heading(title):
    titles = {"Help Options": "", "positional arguments": "Arguments", "options": "Options",
              "Application Options": "Options", "Example": "Examples"}
    title = titles.get(title, title)
    return [f".SH {title.upper()}"] if title else []


def entry(line):
    term, _, meaning = line.strip().partition("  ")
    return [".TP", rf"\fB{escaped(term)}\fR", *filter(None, [escaped(meaning.strip())])]


def body(lines):
    section, page = "DESCRIPTION", [".SH DESCRIPTION"]
    for line in lines:
        if match := re.fullmatch(r"(\w[\w ]*):", line):
            section = match[1]
            page += heading(section)
        elif not line:
            page += [".PP"] if section == "DESCRIPTION" else []
        elif section == "DESCRIPTION":
            page.append(escaped(line))
        elif section == "Help Options":
            continue
        elif section == "Example":
            page += [".PP", ".nf", rf"\&    {escaped(line.strip())}", ".fi"]
        elif re.match(r" {2,4}\S", line):
            page += entry(line)
        else:
            page.append(escaped(line.strip()))
    while page[-1] == ".PP":
        page.pop()
    return [line for line, after in zip(page, page[1:] + [""])
            if line != ".PP" or not after.startswith((".SH", ".PP"))]


def main():
    program, purpose, version = sys.argv[1:]
    name = os.path.basename(program)
    text = subprocess.run([program, "--help"], check=True, capture_output=True, encoding="utf-8",
                          env={**os.environ, "COLUMNS": LINE, "LC_ALL": "C.UTF-8"}).stdout
    first, rest = re.fullmatch(r"usage:\s+(.*?)\n\n(.*)", text, re.DOTALL | re.IGNORECASE).groups()
    print("\n".join([f'.TH {name.upper()} 1 "" "{version}" "User Commands"', ".SH NAME",
                     rf"{escaped(name)} \- {purpose}", *usage(first), *body(rest.split("\n")),
                     ".SH SEE ALSO", ".BR gst\\-launch\\-1.0 (1)"]))


if __name__ == "__main__":
    main()
