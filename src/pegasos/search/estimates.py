"""Honest numbers about a choice: what it will do on new rows, which simpler choice is as good, whether two cells differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Estimate:
    """An error with a 95 % interval, and how it was had."""

    error: float
    low: float
    high: float
    method: str

    def __str__(self) -> str:
        return f"{self.error:.4f} (95 %: {self.low:.4f} to {self.high:.4f}; {self.method})"


def bootstrap_choice(wrong: Array, rounds: int = 1000, seed: int = 0) -> Estimate:
    """The error of "take the best cell" without a further fit: bias-corrected bootstrap over out-of-fold predictions.

    `wrong` is cells x rows. Each round draws rows with replacement, chooses the best cell on them, and tests it on the rows that
    were not drawn. After Tsamardinos, Greasidou and Borboudakis (2018).

    >>> wrong = np.random.default_rng(0).random((50, 400)) < 0.5
    >>> estimate = bootstrap_choice(wrong, rounds=200)
    >>> bool(wrong.mean(axis=1).min() < 0.45), bool(estimate.low < 0.5 < estimate.high)
    (True, True)
    """
    random = np.random.default_rng(seed)
    rows = wrong.shape[1]
    wrong = wrong.astype(np.float32)
    errors = np.empty(rounds)
    for start in range(0, rounds, 100):
        batch = min(100, rounds - start)
        counts = random.multinomial(rows, np.full(rows, 1 / rows), size=batch)
        inside = wrong @ counts.T.astype(np.float32)
        for number, best in enumerate(inside.argmin(axis=0)):
            outside = counts[number] == 0
            errors[start + number] = (
                wrong[best, outside].mean() if outside.any() else inside[best, number] / rows
            )
    low, high = np.quantile(errors, [0.025, 0.975])
    return Estimate(
        float(errors.mean()),
        float(low),
        float(high),
        f"bootstrap over out-of-fold predictions, {rounds} rounds",
    )


def held_out(wrong: Array) -> Estimate:
    """The error on rows that took no part in the choice, with the exact binomial interval."""
    from scipy.stats import beta

    mistakes, rows = int(wrong.sum()), len(wrong)
    low = float(beta.ppf(0.025, mistakes, rows - mistakes + 1)) if mistakes else 0.0
    high = float(beta.ppf(0.975, mistakes + 1, rows - mistakes)) if mistakes < rows else 1.0
    return Estimate(mistakes / rows, low, high, f"{rows} rows held out")


def one_standard_error(errors: Array, deviations: Array, complexity: list[Any], best: int) -> int:
    """The simplest cell whose error is within one standard error of the best one's; `deviations` over folds, cells x folds.

    Cells without a place in the order of complexity are not simpler than the best one.
    """
    folds = deviations.shape[1]
    error = (
        deviations[best].std(ddof=1) / np.sqrt(folds) if folds > 1 else 0.0
    )  # one split tells nothing of its noise
    good = [
        int(each)
        for each in np.flatnonzero(errors <= errors[best] + error)
        if complexity[each] is not None
    ]
    return min(good, key=lambda number: (complexity[number], errors[number]))


def mcnemar(wrong_one: Array, wrong_two: Array) -> float:
    """Exact two-sided p-value of "both cells err equally often", from the rows on which only one of them errs.

    >>> mcnemar(np.array([1, 1, 1, 1, 1, 1, 0, 0]) > 0, np.zeros(8) > 0)
    0.03125
    """
    from scipy.stats import binomtest

    only_one, discordant = int(np.sum(wrong_one & ~wrong_two)), int(np.sum(wrong_one != wrong_two))
    return 1.0 if discordant == 0 else float(binomtest(only_one, discordant, 0.5).pvalue)
