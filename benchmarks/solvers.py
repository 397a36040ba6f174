"""SDCA to its certificate at every C and every shape, against the solvers of scikit-learn and scikit-learn-intelex."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import solvers_grids, solvers_kernel, solvers_linear
from benchmarks.harness import Benchmark, NotHereError, Row, largest

PARTS: tuple[Callable[[int, int], Iterator[Row]], ...] = (
    solvers_kernel.binary_rows,
    solvers_kernel.multiclass_rows,
    solvers_linear.rows,
    solvers_grids.rows,
)


def run(repeats: int) -> Iterator[Row]:
    for part in PARTS:
        try:
            yield from part(repeats, largest())
        except NotHereError as reason:
            yield Row(f"left out: {part.__module__.rpartition('.')[2]}", float("nan"), "", note=str(reason))


BENCHMARK = Benchmark(
    "solvers",
    "SDCA with its defaults (tol 1e-3), C from 0.01 to 1000, against SVC (cache 1 GB), scikit-learn-intelex's SVC, LinearSVC, "
    "LogisticRegression and GridSearchCV: fits by turns, medians where a turn takes less than 2 s, else one turn",
    run,
)
