"""Helpers for tests of pages in the browser of conftest.py."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any


def open_page(
    browser: Any,
    path: Path,
    width: int = 1280,
    height: int = 800,
    dark: bool = False,
    address: str = "",
) -> None:
    """Open a page from disk in a window of the given size, and record its log and requests."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    browser.get("about:blank")  # an address that differs after its # only would not be opened again
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(path.as_uri() + address)


def until(browser: Any, script: str, seconds: float = 10.0) -> Any:
    """Wait until a script returns a true value."""
    end = time.monotonic() + seconds
    while not (answer := browser.execute_script(script)):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {script}")
        time.sleep(0.05)
    return answer
