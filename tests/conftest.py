"""Hypothesis looks at the same cases in every run of the suite: a test that fails by chance teaches people to ignore tests.

`HYPOTHESIS_PROFILE=explore make tests` looks at new ones; what it finds becomes an explicit example.
"""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)  # a busy machine is slow, and no fault
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and one for temporary files, which must be empty in the end."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
