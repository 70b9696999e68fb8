# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page of monitor-streams, as Chromium draws it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from browser import Browser
from conftest import Monitor, make_clip

# The mean of R, G and B in the middle of the picture of a card, and how many pixels of a histogram are drawn.
MIDDLE = """(() => {
  const canvas = document.querySelectorAll('.picture canvas')[%d];
  const at = canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data;
  return [canvas.width, canvas.height, ...at].join();
})()"""
DRAWN = """(() => {
  const canvas = document.querySelectorAll('.histogram')[%d];
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return data.filter((value, i) => i %% 4 === 3 && value > 0).length;
})()"""
TEXT = "document.querySelectorAll('%s')[%d].textContent"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (375, "light")])
def test_it_shows_all_there_is(tmp_path: Path, width: int, scheme: str) -> None:
    name = "<img src=x onerror=alert(1)> of a length that no card has room for, whatever it may be.mkv"
    clip = make_clip(tmp_path / name, "pattern=smpte75", frames=100)
    inputs = ["test:green", "covered=test:black", clip, "door=rtsp://127.0.0.1:9/x"]
    with Monitor("--picture-width", 320, *inputs) as monitor, Browser(width, scheme) as browser:
        browser.open(monitor.address)
        browser.wait_for("document.querySelectorAll('article').length === 4")
        for i in range(3):
            browser.wait_for(f"{MIDDLE % i}.startsWith('{160 if i == 2 else 320},')")
            browser.wait_for(f"{DRAWN % i} > 50")
        browser.wait_for(f"/^320,240,[0-9],25[0-9],[0-9],255$/.test({MIDDLE % 0})")
        assert browser.value(TEXT % ("h2", 2)) == name
        assert browser.value("document.querySelectorAll('main img').length") == 0
        browser.wait_for(f"{TEXT % ('.state', 0)} === 'playing' && /^2[0-9]\\./.test({TEXT % ('.rate', 0)})")
        on = "[...document.querySelectorAll('article:nth-child(2) .alarms .on')].map(e => e.textContent).join()"
        browser.wait_for(f"{on} === 'too dark,flat'")
        browser.wait_for(f"/^Lost: .*(Next try after|Trying again)/.test({TEXT % ('.notice', 3)})")
        browser.wait_for(f"/^History: 1, last input lost at .*:/.test({TEXT % ('summary', 3)})")
        browser.wait_for("document.getElementById('summary').textContent === '3 of 4 playing, 4 alarms'")
        browser.wait_for("document.title === '(4) Streams'")
        assert browser.value("getComputedStyle(document.body).backgroundColor") == (
            "rgb(19, 22, 21)" if scheme == "dark" else "rgb(244, 245, 244)")
        # Nothing sticks out to the right, and a phone has one card beside the other nowhere.
        assert browser.value("document.documentElement.scrollWidth") == width
        lefts = "new Set([...document.querySelectorAll('article')].map(e => e.getBoundingClientRect().left)).size"
        assert browser.value(lefts) == (1 if width == 375 else 2)
        # Something is wrong where the browser complains: of the policy, of the script.
        assert not browser.complaints()


def test_it_says_that_the_program_is_gone() -> None:
    with Browser(1280) as browser:
        with Monitor("test") as monitor:
            browser.open(monitor.address)
            browser.wait_for("document.querySelector('.state.playing')")
        browser.wait_for("document.getElementById('summary').textContent.startsWith('No connection')")
        assert browser.value("document.title") == "Streams: no connection"


def test_it_takes_the_token() -> None:
    """Once, from the address, where it does not stay."""
    with Monitor("--host", "127.0.0.2", "test") as monitor, Browser(375) as browser:
        browser.open(monitor.address)
        browser.wait_for("document.querySelector('.state.playing')")
        browser.wait_for(f"{MIDDLE % 0}.startsWith('640,')")
        assert browser.value("location.href") == f"http://127.0.0.2:{monitor.port}/"
        assert browser.value("document.cookie") == ""
        status, _, _ = monitor.end(signal.SIGTERM)
        assert status == 143


def test_a_picture_alone_is_a_click_away() -> None:
    """The browser itself draws it, over and over."""
    with Monitor("--picture-width", 320, "test:ball") as monitor, Browser(1280) as browser:
        browser.open(monitor.address)
        browser.wait_for(f"{MIDDLE % 0}.startsWith('320,')")
        browser.value("document.querySelector('.picture').click()")
        browser.wait_for("location.pathname === '/pictures/1' && document.images.length === 1"
                         " && document.images[0].naturalWidth === 320")
        first = browser.screenshot()
        assert any(browser.screenshot() != first for _ in range(50))
        assert not browser.complaints()


@pytest.mark.parametrize(("inputs", "columns"), [(1, 1), (2, 2), (9, 3), (16, 4)])
def test_sixteen_inputs_share_one_page(inputs: int, columns: int) -> None:
    """All of them live, though browsers make no more than six connections to a host."""
    with Monitor("--picture-width", 64, "--picture-rate", 1, "--interval", 2,
                 *["test:white"] * inputs) as monitor, Browser(1280) as browser:
        browser.open(monitor.address)
        browser.wait_for("document.querySelectorAll('.state.playing').length"
                         f" === {inputs}")
        for i in range(inputs):
            browser.wait_for(f"/^64,48,25[0-9],25[0-9],25[0-9]/.test({MIDDLE % i})")
        lefts = "new Set([...document.querySelectorAll('article')].map(e => e.getBoundingClientRect().left)).size"
        assert browser.value(lefts) == columns
