"""Run suites of scikit-learn's tests with our learners in place of its classifiers.

`python tests/sklearn_suites.py` runs all suites and lists tests that pass or are left out; `python
tests/sklearn_suites.py test_sgd` runs one. The exit code is 1 if a test fails without a reason in
tests/left_out.py, or if a test with a reason passes.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from left_out import REASONS
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


class Recorder:
    """Outcome of each test: passed, left out, failed, or unrelated; `needed` are used reasons."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.needed: set[str] = set()

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
        # Node ids of files outside of pytest's root directory have no path.
        suite, name = Path(report.location[0]).stem, report.nodeid.partition("::")[2]
        used = dict(report.user_properties).get("used", [])
        test = f"{suite}::{name.partition('[')[0]}"
        if report.outcome == "skipped":
            words = (
                report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            )
            kind, why = "left out" if used else "none of ours", words.removeprefix("Skipped: ")
        elif not used:
            kind, why = "none of ours", ""
        elif report.outcome == "passed":
            kind, why = "passed", ""
        elif test in REASONS:
            kind, why = "left out", REASONS[test]
            self.needed.add(test)
        else:
            kind, why = "failed", _last_line(report)
        self.found[suite][kind].append((name, why))


def _last_line(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(report.longrepr)[-200:] if crash is None else crash.message.splitlines()[0][:200]


def run(suites: list[str]) -> Recorder:
    """Run the suites with our learners, after importing scikit-learn's own modules unchanged."""
    for module in (
        "calibration",
        "ensemble",
        "feature_selection",
        "multiclass",
        "pipeline",
        "svm",
        "linear_model",
        "conftest",
    ):
        import_module(f"sklearn.{module}")
    for place, classes in PLACES.items():
        for each in classes:
            setattr(import_module(place), each.__name__, each)
    recorder = Recorder()
    quiet = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
        "-p",
        "no:xdist",
        "-W",
        "ignore",
        "-c",
        "/dev/null",
    ]
    pytest.main(["--pyargs", *suites, *quiet], plugins=[recorder])
    return recorder


def tell(recorder: Recorder) -> bool:
    """Print the outcomes; return whether all are explained."""
    for suite, kinds in recorder.found.items():
        counts = ", ".join(f"{len(kinds[kind])} {kind}" for kind in sorted(kinds))
        print(f"\n{suite}: {counts}")
        reasons = Counter((name.partition("[")[0], why) for name, why in kinds["left out"])
        for (name, why), count in reasons.items():
            print(f"  left out  {name}{f' ({count} cases)' if count > 1 else ''}: {why}")
        for name, why in kinds["failed"]:
            print(f"  FAILED    {name}: {why}")
    stale = [
        test
        for test in REASONS
        if test.partition("::")[0] in recorder.found and test not in recorder.needed
    ]
    for test in stale:
        print(f"\n{test} has a reason to fail, and passes")
    counts = [
        sum(len(kinds[kind]) for kinds in recorder.found.values())
        for kind in ("passed", "left out", "failed")
    ]
    print(
        f"\n{counts[0]} tests of scikit-learn pass with our learners, {counts[1]} are left out, {counts[2]} are unexplained"
    )
    return counts[0] > 0 and not counts[2] and not stale


if __name__ == "__main__":
    wanted = sys.argv[1:]
    chosen = [suite for suite in SUITES if not wanted or suite.rpartition(".")[2] in wanted]
    sys.exit(0 if tell(run(chosen)) else 1)
