"""A metric on rows: its value, its noise, and beside it what always guessing would give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasos.metrics import Answers, Metric, guesses

Array = np.ndarray[Any, Any]

#: Standard errors by which a model must be better than guessing to be called that: a choice among many looks better than it is.
CLEARLY = 2.5
#: Bootstrap rounds: so many at most and at least, and rows that all of them together may draw.
_MOST, _LEAST, _DRAWN = 200, 30, 4_000_000


@dataclass(frozen=True)
class Figure:
    """A metric on so many rows with a 95 % interval; `guess` is the best constant answer's value on the same rows.

    `guessed` is the class that is always answered there; None where scores without any order, or the shares of the classes, are.
    `better`: the model beats guessing by more than noise.
    """

    rows: int
    value: float
    low: float
    high: float
    guess: float
    guessed: Any
    better: bool

    def ahead(self, least: bool) -> bool:
        """Whether the value is the better one, be it by noise; `least`: small values are good."""
        return self.value < self.guess if least else self.value > self.guess


def measured(metric: Metric, found: Answers, counts: Array | None = None) -> Figure:
    """The figure of answers on rows; `counts`: rows of each class in training, which decide what is guessed (else these rows').

    >>> from pegasos.metrics import answers
    >>> y = np.repeat([0, 1], [90, 10])
    >>> figure = measured(Metric("error"), answers([0, 1], y, np.where(np.arange(100) == 95, 1, 0)))
    >>> round(figure.value, 2), round(figure.guess, 2), figure.guessed, figure.better
    (0.09, 0.1, 0, False)
    """
    counts = np.bincount(found.truth, minlength=len(found.classes)) if counts is None else counts
    constant, guessed = guesses(metric, found, counts)
    sign = 1 if metric.kind.least else -1
    draws = np.array(
        [
            (metric.value(found, each), metric.value(constant, each))
            for each in resamples(len(found))
        ]
    ).reshape(-1, 2)
    draws = draws[np.isfinite(draws).all(axis=1)]
    value, guess = metric.value(found), metric.value(constant)
    low, high = np.quantile(draws[:, 0], [0.025, 0.975]) if len(draws) else (math.nan, math.nan)
    noise = np.std(draws[:, 1] - draws[:, 0]) if len(draws) else math.inf
    guessed = guessed.item() if isinstance(guessed, np.generic) else guessed
    return Figure(
        len(found),
        value,
        float(low),
        float(high),
        guess,
        guessed,
        bool(sign * (guess - value) > CLEARLY * noise),
    )


def resamples(rows: int, rounds: int | None = None) -> Iterator[Array]:
    """How often each row is drawn in each bootstrap round; the same draws for the same number of rows."""
    rounds = int(np.clip(_DRAWN / max(1, rows), _LEAST, _MOST)) if rounds is None else rounds
    random = np.random.default_rng(0)
    for _ in range(rounds):
        yield np.bincount(random.integers(0, rows, rows), minlength=rows).astype(float)
