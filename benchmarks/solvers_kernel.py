"""Part of `solvers`: Gaussian kernel and hinge loss against two implementations of SVC."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from benchmarks.data import binary10, generated, shuffled, standardized, usps
from benchmarks.harness import Row, in_turns, peak_memory
from pegasos import SDCA
from pegasos.kernels import Gaussian

Array = np.ndarray[Any, Any]

C_VALUES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
SIZES = (2000, 8000, 20_000)
#: Memory touched before each measurement: kernel matrices, and bytes at most.
MATRICES, MOST_MEMORY = 2, 3 * 2**30
#: Seconds of a case up to which one more fit of each side measures peak memory.
BRIEF_SECONDS = 30.0


def intelex() -> Any:
    """Return scikit-learn-intelex's SVC, or None if it is not installed."""
    try:
        from sklearnex import svm
    except ImportError:
        return None
    return svm.SVC


class Fit:
    """Fit of a learner, and whether it gave a ConvergenceWarning."""

    def __init__(self, learner: SDCA, X: Any, y: Array) -> None:
        self.learner, self._X, self._y, self.warned = learner, X, y, False

    def __call__(self) -> None:
        """Fit, and record whether there was a warning."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.learner.fit(self._X, self._y)
        self.warned = any(issubclass(each.category, ConvergenceWarning) for each in caught)


@dataclass(frozen=True)
class Measured:
    """Case: seconds and peak memory of all sides, our gap, whether we warned, and a note."""

    times: dict[str, float]
    peaks: dict[str, int | None]
    gap: float
    warned: bool
    note: str

    @property
    def ours(self) -> float:
        """Seconds of our fit."""
        return self.times["ours"]

    @property
    def faster(self) -> float:
        """Seconds of the faster peer."""
        return min(time for name, time in self.times.items() if name != "ours")

    @property
    def allowed(self) -> float:
        """Seconds allowed for our fit: 1.5 times those of the faster peer, and 0.1 s."""
        return 1.5 * self.faster + 0.1

    def row(self, case: str, goal: float | None, group: str) -> Row:
        """Return the row of the results."""
        return Row(
            case,
            self.faster / self.ours,
            "x",
            goal,
            ours_seconds=self.ours,
            theirs_seconds=self.faster,
            note=self.note,
            ours_bytes=self.peaks.get("ours"),
            theirs_bytes=self.peaks.get("SVC"),
            group=group,
        )


def measure(X: Array, y: Array, variance: float | str, C: float, repeats: int) -> Measured:
    """Solve one problem with all sides, in turns."""
    gamma = variance if isinstance(variance, str) else 1 / (2 * variance)
    ours = Fit(SDCA(kernel=Gaussian(variance), lam=1 / (C * len(y)), random_state=0), X, y)
    peers = {"SVC": SVC(C=C, gamma=gamma, cache_size=1000)}
    Fast = intelex()
    if Fast is not None:
        peers["intelex"] = Fast(C=C, gamma=gamma, cache_size=1000)
    works = {"ours": ours, **{name: partial(peer.fit, X, y) for name, peer in peers.items()}}
    times = in_turns(
        works, repeats, memory=min(MATRICES * X.dtype.itemsize * len(y) ** 2, MOST_MEMORY)
    )
    brief = sum(times.values()) < BRIEF_SECONDS
    peaks = {name: peak_memory(works[name]) if brief else None for name in ("ours", "SVC")}
    note = ", ".join(f"{name} {time:.3g} s" for name, time in times.items()) + (
        "" if Fast else " (intelex is not installed)"
    )
    note += f"; gap {ours.learner.gap_:.1e}, {len(ours.learner.support_):,} support vectors; "
    note += ours.learner.plan_.method
    return Measured(
        times,
        peaks,
        ours.learner.gap_,
        ours.warned,
        note + ("; ConvergenceWarning" if ours.warned else ""),
    )


def compile_all() -> None:
    """Compile and load the code of all sides before the first measurement."""
    X, y = generated(5000)
    for m in (500, 2500, 5000):
        for C in (0.01, 1000.0):
            measure(X[:m], y[:m], 100.0, C, 1)
    for dtype in (np.float32, np.float64):
        measure(X.astype(dtype), np.arange(len(y)) % 3, 100.0, 0.01, 1)


def covtype(m: int) -> tuple[Array, Array]:
    """Return rows of covtype, class 2 against the rest."""
    X, y = shuffled("covtype")
    return standardized(X[:m]), (y[:m] == 2).astype(np.int64)


def generated_rows(m: int) -> tuple[Array, Array]:
    """Return the first rows of the largest generated table."""
    X, y = generated(60_000)
    return X[:m], y[:m]


def binary10_rows(m: int) -> tuple[Array, Array]:
    """Return the first rows of binary10."""
    X, y = binary10()
    return X[:m], y[:m]


TABLES: dict[str, tuple[Callable[[int], tuple[Array, Array]], float | str, tuple[int, ...]]] = {
    "generated": (generated_rows, 100.0, SIZES),
    "binary10": (binary10_rows, 16.0, SIZES[:2]),
    "covtype, class 2": (covtype, "scale", SIZES),
}


def binary_rows(repeats: int, largest: int) -> Iterator[Row]:
    """Measure all binary cases, and yield their rows and a summary."""
    compile_all()
    cases = [
        (name, m, C)
        for m in SIZES
        for name, (_, _, sizes) in TABLES.items()
        if m in sizes
        for C in C_VALUES
    ]
    cases += [("generated", 50_000, C) for C in (1.0, 100.0)]
    found: list[Measured] = []
    for name, m, C in dict.fromkeys((name, min(m, largest), C) for name, m, C in cases):
        make, variance, _ = TABLES[name]
        case = measure(*make(m), variance, C, repeats)
        found.append(case)
        yield case.row(
            f"{name}, {m:,} rows, C = {C:g}", case.faster / case.allowed, "kernel, 2 classes"
        )
    yield from summary(found)


def summary(found: list[Measured]) -> Iterator[Row]:
    """Yield medians and extremes over all cases."""
    count = f"of {len(found)} cases"
    yield Row(
        f"median {count}: the faster peer / ours",
        statistics.median(each.faster / each.ours for each in found),
        "x",
        1.5,
    )
    yield Row(
        f"median {count}: SVC / ours",
        statistics.median(each.times["SVC"] / each.ours for each in found),
        "x",
    )
    worst = max(each.ours / each.allowed for each in found)
    yield Row(
        f"worst {count}: ours / (1.5 times the faster peer + 0.1 s)", worst, "times", 1, False
    )
    yield Row(f"largest gap {count}", max(each.gap for each in found), "", 1e-3, False)
    yield Row(f"warnings {count}", sum(each.warned for each in found), "", 0, False)


def images(name: str, m: int) -> tuple[Array, Array]:
    """Return the first images of a set, with pixels from 0 to 1."""
    X, y = shuffled(name)
    return X[:m].astype(np.float32) / 255, y[:m]


def multiclass_rows(repeats: int, largest: int) -> Iterator[Row]:
    """Measure ten classes: ours one-vs-rest, SVC one-vs-one, each by its default."""
    compile_all()
    X, y = load_digits(return_X_y=True)
    sets: dict[str, Callable[[], tuple[Array, Array]]] = {
        "digits": lambda: (X / 16, y),
        "USPS": lambda: (usps()[0][:7291], usps()[1][:7291]),
        "MNIST": lambda: images("mnist", 8000),
        "Fashion-MNIST": lambda: images("fashion", 8000),
    }
    for name, make in sets.items():
        rows, labels = (each[:largest] for each in make())
        for C in (1.0, 10.0, 100.0):
            case = measure(rows, labels, "scale", C, repeats)
            yield case.row(
                f"{name}, {len(labels):,} rows, 10 classes, C = {C:g}", None, "kernel, 10 classes"
            )
