"""Run scikit-learn's own tests with our learners: see tests/sklearn_suites.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_scikit_learn_s_own_tests_pass_or_are_left_out_for_a_reason():
    script = Path(__file__).parents[1].joinpath("sklearn_suites.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
