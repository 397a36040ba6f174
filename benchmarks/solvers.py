"""SDCA at every C and shape against the solvers of scikit-learn and scikit-learn-intelex."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import solvers_grids, solvers_kernel, solvers_linear
from benchmarks.harness import Benchmark, Row, largest


def case(measure: Callable[[int, int], Iterator[Row]]) -> Callable[[int], Iterator[Row]]:
    """Return a case whose tables have at most `largest()` rows."""
    return lambda repeats: measure(repeats, largest())


BENCHMARK = Benchmark.of_cases(
    "solvers",
    "SDCA (tol 1e-3), C from 0.01 to 1000, against SVC (cache 1 GB), scikit-learn-intelex's SVC, "
    "LinearSVC, LogisticRegression and GridSearchCV: alternating fits, medians of 5 where a turn "
    "takes less than 2 s, of 3 up to 10 s, else one turn",
    {
        "kernel": case(solvers_kernel.binary_rows),
        "multiclass": case(solvers_kernel.multiclass_rows),
        **{
            name: case(partial(solvers_linear.rows, table))
            for name, table in solvers_linear.TABLES.items()
        },
        "grid-usps": case(solvers_grids.usps_rows),
        "grid-binary10": case(solvers_grids.binary10_rows),
    },
)
