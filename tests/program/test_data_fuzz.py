"""Fuzz the readers with a few hundred files; `python -m tests.fuzz_data` runs more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")


def _fuzz(*arguments: str) -> None:
    """Run the fuzzer in a process of its own, whose memory is measured."""
    command = [sys.executable, "-m", "tests.fuzz_data", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert "0 failures" in done.stdout


def test_damaged_files() -> None:
    _fuzz("--count", "150", "--hostile", "none")


@pytest.mark.slow
def test_hostile_files() -> None:
    _fuzz("--count", "1000", "--seed", "1")
