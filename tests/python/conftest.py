# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where arrays lie: every test that takes `place` runs on each place that this machine has."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import places  # noqa: E402


def pytest_generate_tests(metafunc):
    if "place" in metafunc.fixturenames:
        there = [place for place in places.all_places() if place.missing is None]
        marker = metafunc.definition.get_closest_marker("needs")
        needs = marker.args if marker else ()
        there = [place for place in there if all(getattr(place, need) for need in needs)]
        if not there:
            there = [pytest.param(None, marks=pytest.mark.skip(reason="there is no GPU"))]
        metafunc.parametrize("place", there, ids=lambda place: place and place.name)


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(*what): places that have all of that")


def pytest_terminal_summary(terminalreporter):
    """As the other tests of this project report: what was skipped by name, and one line."""
    stats = terminalreporter.stats
    for report in stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        print(f"\nSKIP {report.nodeid.split('::')[-1]}: {reason.removeprefix('Skipped: ')}", end="")
    failed = len(stats.get("failed", [])) + len(stats.get("error", []))
    passed, skipped = len(stats.get("passed", [])), len(stats.get("skipped", []))
    print(f"\npython: {passed} passed, {failed} failed, {skipped} skipped")
