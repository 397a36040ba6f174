"""What a few epochs of coordinate ascent on a sample of the rows tell of the whole: how hard it is, and how many rows will count.

Epochs that leave a large gap on a sample crawl on all rows. The share of rows that become support vectors falls with the number
of rows n like a power of it, n^-e: e is near 0 where classes overlap, and near 1 where they do not. Two samples tell e.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.engine.optimum.certificate import stretched
from pegasos.engine.optimum.problem import Target
from pegasos.engine.runtime.compiling import announced, compiled

Array = np.ndarray[Any, Any]

#: Rows of a sample, and halvings for the length of w there.
SAMPLE, HALVINGS = 1000, 12
#: One row in so many makes the smaller sample; epochs after which support vectors are counted.
SMALLER, COUNTED_EPOCHS = 4, 5


@compiled
def walk_epochs(
    K: Array, labels: Array, bounds: Array, constant: float, epochs: int
) -> tuple[Array, Array]:
    """Coefficients y·a and scores after epochs of coordinate ascent for the hinge loss on K's rows, in their order."""
    size = labels.size
    scores, c, all_changes = np.zeros(size), np.zeros(size), 0.0
    for _ in range(epochs):
        for i in range(size):
            line, y = K[i], labels[i]
            own = line[i] + constant
            wanted = (
                y * c[i] + (1.0 - y * (scores[i] + constant * all_changes)) / own
                if own > 0.0
                else bounds[i]
            )
            change = y * min(max(wanted, 0.0), bounds[i]) - c[i]
            if change != 0.0:
                c[i] += change
                all_changes += change
                for j in range(size):
                    scores[j] += change * line[j]
    scores += constant * all_changes
    return c, scores


@compiled
def gap_after_epoch(K: Array, labels: Array, bounds: Array, constant: float) -> float:
    """The relative gap after one epoch."""
    c, scores = walk_epochs(K, labels, bounds, constant, 1)
    squared, linear = 0.0, 0.0
    for i in range(c.size):
        squared += c[i] * scores[i]
        linear += labels[i] * c[i]
    primal = stretched(labels, bounds, scores, 0.0, squared, HALVINGS)[1]
    return (primal - linear + 0.5 * squared) / primal if primal > 0.0 else 0.0


class Pilot:
    """A sample of `count` rows whose kernel is K; `constant` is that of the constant feature."""

    def __init__(self, sample: Array, count: int, K: Array, constant: float) -> None:
        self._sample, self._count, self._constant = sample, count, constant
        self._K = np.ascontiguousarray(K)

    def gap(self, target: Target) -> float:
        """The relative gap that one epoch leaves."""
        with announced("pilot"):
            return float(
                gap_after_epoch(
                    self._K,
                    target.labels[self._sample],
                    target.bounds[self._sample],
                    self._constant,
                )
            )

    def support(self, target: Target) -> float:
        """The share of all rows that will be support vectors."""
        share, fewer = self._support_of(target, 1), self._support_of(target, SMALLER)
        if not fewer or not share:
            return share
        exponent = math.log(share / fewer, SMALLER)
        return min(1.0, share * (self._count / len(self._K)) ** exponent)

    def _support_of(self, target: Target, every: int) -> float:
        """The share of every so manyth row of the sample that are support vectors after some epochs."""
        K, part = np.ascontiguousarray(self._K[::every, ::every]), self._sample[::every]
        with announced("pilot"):
            c, _ = walk_epochs(
                K, target.labels[part], target.bounds[part], self._constant, COUNTED_EPOCHS
            )
        return np.count_nonzero(c) / len(part)
