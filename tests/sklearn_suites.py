"""Runs suites of scikit-learn's own tests with our learners in the place of its classifiers (tests/stand_ins.py).

    python tests/sklearn_suites.py                 # all suites: which tests pass, and which are left out and why
    python tests/sklearn_suites.py test_sgd        # some of them

A test that fails without a reason in `REASONS`, and a reason for a test that passes, end it with code 1.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from importlib import import_module
from typing import Any

import pytest

from stand_ins import PLACES, StandIn

SUITES = (
    "sklearn.linear_model.tests.test_sgd",
    "sklearn.linear_model.tests.test_perceptron",
    "sklearn.svm.tests.test_svm",
    "sklearn.tests.test_calibration",
    "sklearn.tests.test_multiclass",
    "sklearn.ensemble.tests.test_stacking",
    "sklearn.feature_selection.tests.test_from_model",
)
#: Tests that fail here, and why; the name of a test, or of one of its cases.
REASONS: dict[str, str] = {}


class Recorder:
    """What became of each test: passed, left out, failed, or none of ours was in it."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
        self._why: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        StandIn.used.clear()
        try:
            return (yield)
        finally:
            item.user_properties.append(("used", sorted(set(StandIn.used))))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        suite, _, name = report.nodeid.rpartition("/")[2].partition(".py::")
        used = dict(report.user_properties).get("used", [])
        known = REASONS.get(f"{suite}::{name}") or REASONS.get(f"{suite}::{name.partition('[')[0]}")
        if report.outcome == "skipped":
            words = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            kind, why = "left out" if used else "none of ours", words.removeprefix("Skipped: ")
        elif not used:
            kind, why = "none of ours", ""
        elif report.outcome == "passed":
            kind, why = ("passes with a reason" if known else "passed"), known or ""
        else:
            kind, why = ("left out" if known else "failed"), known or _last_line(report)
        self.found[suite][kind].append((name, why))


def _last_line(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(report.longrepr)[-200:] if crash is None else crash.message.splitlines()[0][:200]


def run(suites: list[str]) -> Recorder:
    """The suites with our learners; scikit-learn's own modules are loaded before, and keep theirs."""
    for module in ("calibration", "ensemble", "feature_selection", "multiclass", "pipeline", "svm", "linear_model", "conftest"):
        import_module(f"sklearn.{module}")
    for place, classes in PLACES.items():
        for each in classes:
            setattr(import_module(place), each.__name__, each)
    recorder = Recorder()
    quiet = ["-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:xdist", "-W", "ignore", "-c", "/dev/null"]
    pytest.main(["--pyargs", *suites, *quiet], plugins=[recorder])
    return recorder


def tell(recorder: Recorder) -> bool:
    """Print what was found; whether all is explained."""
    for suite, kinds in recorder.found.items():
        counts = ", ".join(f"{len(kinds[kind])} {kind}" for kind in sorted(kinds))
        print(f"\n{suite}: {counts}")
        reasons = Counter((name.partition("[")[0], why) for name, why in kinds["left out"])
        for (name, why), count in reasons.items():
            print(f"  left out  {name}{f' ({count} cases)' if count > 1 else ''}: {why}")
        for kind in ("failed", "passes with a reason"):
            for name, why in kinds[kind]:
                print(f"  {kind.upper()}  {name}: {why}")
    wrong = [each for kinds in recorder.found.values() for kind in ("failed", "passes with a reason") for each in kinds[kind]]
    passed = sum(len(kinds["passed"]) for kinds in recorder.found.values())
    print(f"\n{passed} tests of scikit-learn pass with our learners; {len(wrong)} are unexplained")
    return passed > 0 and not wrong


if __name__ == "__main__":
    wanted = sys.argv[1:]
    chosen = [suite for suite in SUITES if not wanted or suite.rpartition(".")[2] in wanted]
    sys.exit(0 if tell(run(chosen)) else 1)
