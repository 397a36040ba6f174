"""Exact kernel predictor on all 60,000 training rows of MNIST and Fashion-MNIST, against SVC.

Width and C are those of `nystroem`, chosen on rows held out from the training rows. SVC runs in a
process of its own and is stopped after BENCHMARK_PATIENCE seconds (1,200 by default).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.harness import Benchmark, Row, largest
from benchmarks.nystroem import CASES, Case, compile_once
from pegasos import SDCA
from pegasos.kernels import Gaussian

TABLES = {case.name: case for case in CASES if case.name != "covtype"}


def fit_svc(name: str) -> None:
    """Fit SVC, and print seconds and test error as JSON."""
    from sklearn.svm import SVC

    case = TABLES[name]
    X, y, test, expected = case.rows(largest())
    model = SVC(C=case.C, gamma=1 / (2 * case.variance), cache_size=2000)
    start = time.perf_counter()
    model.fit(X, y)
    took = time.perf_counter() - start
    print(
        json.dumps(
            {"seconds": took, "error": 100 * float((model.predict(test) != expected).mean())}
        )
    )


def svc(name: str, patience: float) -> dict[str, Any] | None:
    """Return the results of SVC, or None if it was stopped."""
    code = f"from benchmarks.images import fit_svc; fit_svc({name!r})"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=patience,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return None
    return dict(json.loads(done.stdout))


def ours(case: Case, repeats: int) -> Iterator[Row]:
    """Fit the hinge loss one-vs-rest to a gap of 1e-3."""
    compile_once()
    X, y, test, expected = case.rows(largest())
    learner = SDCA(kernel=Gaussian(case.variance), lam=1 / (case.C * len(y)), random_state=0)
    start = time.perf_counter()
    learner.fit(X, y)
    took = time.perf_counter() - start
    error = 100 * float((learner.predict(test) != expected).mean())
    note = f"gap {learner.gap_:.1e}, {len(learner.support_):,} support vectors; "
    note += f"{learner.plan_.method}; {learner.plan_.reason}"
    yield Row(
        f"{case.name}, {len(y):,} rows, Gaussian of variance {case.variance:g}, C = {case.C:g}",
        error,
        "% errors",
        ours_seconds=took,
        note=note,
    )


def theirs(case: Case, repeats: int) -> Iterator[Row]:
    """Fit SVC with the same kernel and C."""
    patience = float(os.environ.get("BENCHMARK_PATIENCE", "1200"))
    found = svc(case.name, patience)
    rows = min(60_000, largest())
    name = f"{case.name}, at most {rows:,} rows: SVC, one-vs-one, equal kernel and C"
    if found is None:
        yield Row(
            name,
            float("nan"),
            "% errors",
            theirs_seconds=patience,
            note=f"stopped after {patience:g} s",
        )
    else:
        yield Row(name, found["error"], "% errors", theirs_seconds=found["seconds"])


BENCHMARK = Benchmark.of_cases(
    "images",
    "Gaussian kernel on 60,000 rows of 784 pixels, hinge loss, gap 1e-3: test errors and seconds, "
    "ours and SVC's",
    {
        **{name: partial(ours, case) for name, case in TABLES.items()},
        **{f"{name}-svc": partial(theirs, case) for name, case in TABLES.items()},
    },
)
