"""Import time."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Benchmark, Row, alternate, child

OURS, THEIRS = "from pegasos import Pegasos", "from sklearn.linear_model import SGDClassifier"


def run(repeats: int) -> Iterator[Row]:
    """Measure, and yield the rows."""
    ours, theirs = alternate(lambda: child(OURS), lambda: child(THEIRS), repeats)
    yield Row("in fresh processes", ours - theirs, "s", 0.5, False, ours, theirs)


BENCHMARK = Benchmark("imports", f"How much longer `{OURS}` takes than `{THEIRS}`", run)
