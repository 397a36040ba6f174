"""Estimates from predictions: expected errors, metrics with their noise, errors of calibration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.engine.kernels.base import plain
from pegasos.metrics import Answers, Metric, baseline_answers

Array = np.ndarray[Any, Any]

#: Standard errors by which a model must beat the baseline: the best of many looks too good.
CLEARLY = 2.5
#: Bootstrap rounds: at most and at least, and rows that all rounds together may draw.
_MOST, _LEAST, _DRAWN = 200, 30, 4_000_000


@dataclass(frozen=True)
class Estimate:
    """Error with a 95 % interval, and the method of its estimation."""

    error: float
    low: float
    high: float
    method: str

    def __str__(self) -> str:
        return f"{self.error:.4f} (95 %: {self.low:.4f} to {self.high:.4f}; {self.method})"


def bootstrap_choice(wrong: Array, rounds: int = 1000, seed: int = 0) -> Estimate:
    """Estimate the error of the best cell by a bias-corrected bootstrap, without further fits.

    `wrong` (cells x rows) tells which out-of-fold predictions are errors. Each round draws rows
    with replacement, chooses the best cell on them, and tests it on the rows that were not drawn.

    References
    ----------
    Tsamardinos, Greasidou, Borboudakis (2018), Bootstrapping the out-of-sample predictions.

    Examples
    --------
    >>> wrong = np.random.default_rng(0).random((50, 400)) < 0.5
    >>> estimate = bootstrap_choice(wrong, rounds=200)
    >>> bool(wrong.mean(axis=1).min() < 0.45), bool(estimate.low < 0.5 < estimate.high)
    (True, True)
    """
    random, rows = np.random.default_rng(seed), wrong.shape[1]
    wrong, errors = wrong.astype(np.float32), np.empty(rounds)
    for start in range(0, rounds, 100):
        batch = min(100, rounds - start)
        counts = random.multinomial(rows, np.full(rows, 1 / rows), size=batch)
        inside = wrong @ counts.T.astype(np.float32)
        for number, best in enumerate(inside.argmin(axis=0)):
            outside = counts[number] == 0
            error = wrong[best, outside].mean() if outside.any() else inside[best, number] / rows
            errors[start + number] = error
    method = f"bootstrap over out-of-fold predictions, {rounds} rounds"
    low, high = np.quantile(errors, [0.025, 0.975])
    return Estimate(float(errors.mean()), float(low), float(high), method)


def held_out(wrong: Array) -> Estimate:
    """Return the error on held-out rows, with its exact binomial interval."""
    from scipy.stats import binomtest

    mistakes, rows = int(wrong.sum()), len(wrong)
    interval = binomtest(mistakes, rows).proportion_ci()
    low, high = float(interval.low), float(interval.high)
    return Estimate(mistakes / rows, low, high, f"{rows} rows held out")


@dataclass(frozen=True)
class Figure:
    """Metric on `rows` rows with a 95 % interval, compared with the best constant answer.

    `baseline` is the value of that answer and `baseline_class` its class (None for constant scores
    or class shares). `better` tells whether the model beats the baseline by more than noise.
    """

    rows: int
    value: float
    low: float
    high: float
    baseline: float
    baseline_class: Any
    better: bool

    def ahead(self, least: bool) -> bool:
        """Tell whether the value is better than the baseline; `least`: smaller is better."""
        return self.value < self.baseline if least else self.value > self.baseline


def measured(metric: Metric, found: Answers, counts: Array | None = None) -> Figure:
    """Return a metric of predictions, with its bootstrap interval and baseline.

    `counts` are the training rows of each class, which determine the baseline (by default the rows
    of the answers).

    >>> from pegasos.metrics import answers
    >>> y = np.repeat([0, 1], [90, 10])
    >>> figure = measured(Metric("error"), answers([0, 1], y, np.where(np.arange(100) == 95, 1, 0)))
    >>> round(figure.value, 2), round(figure.baseline, 2), figure.baseline_class, figure.better
    (0.09, 0.1, 0, False)
    """
    counts = np.bincount(found.truth, minlength=len(found.classes)) if counts is None else counts
    constant, baseline_class = baseline_answers(metric, found, counts)
    both = found, constant
    draws = np.array([[metric.value(of, k) for of in both] for k in resamples(len(found))])
    draws = draws[np.isfinite(draws).all(axis=1)]
    value, baseline = (metric.value(of) for of in both)
    low, high = np.quantile(draws[:, 0], [0.025, 0.975]) if len(draws) else (math.nan, math.nan)
    noise = np.std(draws[:, 1] - draws[:, 0]) if len(draws) else math.inf
    better = bool((1 if metric.kind.least else -1) * (baseline - value) > CLEARLY * noise)
    return Figure(
        len(found), value, float(low), float(high), baseline, plain(baseline_class), better
    )


def resamples(rows: int, rounds: int | None = None) -> Iterator[Array]:
    """Yield how often each row is drawn in each bootstrap round; the seed is fixed."""
    rounds = int(np.clip(_DRAWN / max(1, rows), _LEAST, _MOST)) if rounds is None else rounds
    random = np.random.default_rng(0)
    for _ in range(rounds):
        yield np.bincount(random.integers(0, rows, rows), minlength=rows).astype(float)


def reliability(p: Array, true: Array, bins: int = 10) -> list[tuple[float, float, int]]:
    """Return mean probability, share of positive rows and row count of equally large bins.

    >>> reliability(np.array([0.1, 0.1, 0.9, 0.9]), np.array([False, False, True, False]), bins=2)
    [(0.1, 0.0, 2), (0.9, 0.5, 2)]
    """
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), bins) if len(part)]
    return [(float(p[part].mean()), float(true[part].mean()), len(part)) for part in parts]


def expected_calibration_error(bins: list[tuple[float, float, int]]) -> float:
    """Return the mean absolute difference of probability and share, weighted by bin size."""
    total = sum(rows for _, _, rows in bins)
    return sum(rows * abs(p - share) for p, share, rows in bins) / total


def standard_error(values: Array) -> float:
    """Return the standard error of a mean over folds; 0 for a single fold."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
