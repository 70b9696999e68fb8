# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads the list of mutants that no test can tell from the original.

    FILE FUNCTION (- outside of any)
    - the line as it is
    + the line as the mutant has it
      why no test can find it

Lines count with single spaces, so that a mutant stays in the list while its line is unchanged.
"""


def read(path):
    """The mutants as a set of (file, function, before, after)."""
    found, place, before, after = set(), None, None, None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            text = " ".join(line.split())
            if not text or line.startswith("#"):
                continue
            if line.startswith("- "):
                before = text[2:]
            elif line.startswith("+ ") and before is not None:
                after = text[2:]
            elif line.startswith("  ") and after is not None:
                found.add((*place, before, after))
            elif len(text.split()) == 2:
                place, before, after = tuple(text.split()), None, None
            else:
                raise SystemExit(f"{path}:{number}: not understood: {line}")
    return found
