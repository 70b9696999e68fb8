# SPDX-License-Identifier: LGPL-2.1-or-later
"""Debian's Chromium without a window, for one page."""

from __future__ import annotations

import tempfile
import time
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import JavascriptException
from selenium.webdriver.chrome.service import Service


class Browser:
    """A `with` statement ends it. `scheme` is light or dark."""

    def __init__(self, width: int, scheme: str = "light") -> None:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                         "--disable-background-networking", "--disable-component-update",
                         f"--user-data-dir={self.profile.name}"):
            options.add_argument(argument)
        options.page_load_strategy = "none"  # pages of pictures are never complete
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=800,
                     deviceScaleFactor=1, mobile=width < 600)
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": scheme}])

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.quit()
        self.profile.cleanup()

    def command(self, name: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, parameters)

    def open(self, address: str) -> None:
        self.driver.get(address)

    def value(self, expression: str) -> Any:
        return self.driver.execute_script(f"return {expression}")

    def wait_for(self, expression: str, seconds: float = 60) -> None:
        """Until the expression in JavaScript is true, which may have no value before the page is there."""
        end = time.monotonic() + seconds
        while not self._is_true(expression):
            assert time.monotonic() < end, f"{expression}\n{self.complaints()}"
            time.sleep(0.1)

    def _is_true(self, expression: str) -> bool:
        try:
            return bool(self.value(expression))
        except JavascriptException:
            return False

    def complaints(self) -> list[str]:
        """What the browser has written to its console since the last call, but for the pixels that tests
        read."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if "willReadFrequently" not in entry["message"]]

    def screenshot(self) -> str:
        """The whole page as PNG, in base64."""
        return str(self.command("Page.captureScreenshot", captureBeyondViewport=True)["data"])
