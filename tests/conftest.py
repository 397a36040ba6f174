"""Fixtures, and a fixed set of hypothesis examples for every run of the suite.

`HYPOTHESIS_PROFILE=explore make tests` draws new examples; a failure becomes an explicit one.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

# Programs that tests start would otherwise compile the whole package again, each of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Programs that a shell starts in the background ignore Ctrl-C, and so do their children.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Collecting doctests imports every file, and this one fits models for the workers of a cluster.
collect_ignore = ["worker_code.py"]

settings.register_profile(
    "same", derandomize=True, deadline=None
)  # a busy machine is slow, and no fault
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_configure(config: pytest.Config) -> None:
    """Limit BLAS threads where several test processes share the cores.

    The limit is set before worker processes start, because they load BLAS early. Tests that
    need two threads ask for them with threadpool_limits.
    """
    processes = getattr(config.option, "numprocesses", None) or 1
    if processes > 1:
        os.environ.setdefault(
            "OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes))
        )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Put tests of pages into one group, because browsers start more slowly than most of them."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """Start three workers for tests of the group "dask"; tests that remove workers restore them."""
    from clusters import start_cluster

    with start_cluster(3) as made:
        yield made


@pytest.fixture(scope="session")
def client(cluster: LocalCluster) -> Iterator[Client]:
    from distributed import Client

    with Client(cluster, set_as_default=False) as made:
        yield made


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Start headless Chromium, or skip where it or its driver is not installed."""
    pytest.importorskip("selenium", reason="the browser tests need selenium: pip install selenium")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip(
            "needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"
        )
    options = ChromeOptions()
    options.binary_location = program
    quiet = ["background-networking", "component-update", "sync", "gpu", "dev-shm-usage"]
    for flag in (
        "headless=new",
        "no-sandbox",
        "no-first-run",
        *(f"disable-{each}" for each in quiet),
    ):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder, with a temporary folder that must be empty at the end."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
