"""Columns of very different sizes: one step size for all learns from the largest only. A warning, before the first step."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from scipy import sparse

#: The largest numbers of two columns may differ by this factor. Harm begins earlier: on scikit-learn's wine, a factor of 2.5e3,
#: Pegasos is right in 61 % of the rows, and in 98 % where they are standardized. But tables that are in order differ, too: of a
#: million standardized rows a rare mark is 1e3.
MOST = 1e6


class BadlyScaled(UserWarning):
    """Columns whose largest numbers differ by `ratio`: `large` and `small` are two of them, `learner` cannot cope with it."""

    def __init__(self, learner: str, ratio: float, large: int, small: int) -> None:
        super().__init__(learner, ratio, large, small)
        self.learner, self.ratio, self.large, self.small = learner, ratio, large, small

    @property
    def fact(self) -> str:
        """Describe the problem, in one clause."""
        size = f"a factor of 1e{math.floor(math.log10(self.ratio))}"
        columns = f"the largest numbers in columns {self.large} and {self.small}"
        return f"{columns} differ by {size}, and {self.learner} has one step size"

    def __str__(self) -> str:
        return f"{self.fact}: it learns from the large columns only. Scale X (for example StandardScaler), or use SDCA."


def warn_if_badly_scaled(learner: Any, X: Any) -> None:
    """Warn if a linear learner that takes steps is given such columns; those that are all zero do not count.

    >>> from pegasos import Perceptron
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_if_badly_scaled(Perceptron(), np.array([[1.0, 1e8], [2.0, -1e8]]))
    >>> caught[0].message.ratio, caught[0].message.large
    (50000000.0, 1)
    """
    if learner.kernel is not None or learner.declaration.tolerance is not None or not X.shape[0]:
        return
    if sparse.issparse(X):
        sizes = np.maximum(X.max(axis=0).toarray(), -X.min(axis=0).toarray()).ravel()
    else:
        sizes = np.maximum(X.max(axis=0), -X.min(axis=0))
    known = np.flatnonzero(sizes > 0)
    if len(known) < 2:
        return
    large, small = int(known[sizes[known].argmax()]), int(known[sizes[known].argmin()])
    ratio = float(sizes[large]) / float(sizes[small])
    if MOST <= ratio < math.inf:
        warnings.warn(BadlyScaled(type(learner).__name__, ratio, large, small), stacklevel=4)
