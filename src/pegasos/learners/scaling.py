"""A warning about columns of very different sizes, which one step size cannot serve."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.sparsefuncs import min_max_axis

from pegasos.learners.warning import warn_user

#: Warn if the largest numbers of two columns differ by this factor. Harm begins earlier: on wine, a
#: factor of 2.5e3, Pegasos is right in 61 % of the rows, and in 98 % after standardization. But in
#: a million standardized rows a rare indicator already has a factor of 1e3.
MOST = 1e6


class BadlyScaled(UserWarning):
    """The largest numbers of columns `large` and `small` differ by a factor `ratio`."""

    def __init__(self, learner: str, ratio: float, large: int, small: int) -> None:
        super().__init__(learner, ratio, large, small)
        self.learner, self.ratio, self.large, self.small = learner, ratio, large, small

    @property
    def fact(self) -> str:
        """The problem in one clause."""
        size = f"a factor of 1e{math.floor(math.log10(self.ratio))}"
        columns = f"the largest numbers in columns {self.large} and {self.small}"
        return f"{columns} differ by {size}, and {self.learner} has one step size"

    def __str__(self) -> str:
        return (
            f"{self.fact}: it learns from the large columns only. Scale X (for example "
            "StandardScaler), or use SDCA."
        )


def warn_if_badly_scaled(learner: Any, X: Any) -> None:
    """Warn if a linear learner that takes steps gets such columns; columns of zeros do not count.

    >>> import warnings
    >>> from pegasos import Perceptron
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_if_badly_scaled(Perceptron(), np.array([[1.0, 1e8], [2.0, -1e8]]))
    >>> caught[0].message.ratio, caught[0].message.large
    (50000000.0, 1)
    """
    if learner.kernel is not None or learner.declaration.tolerance is not None or not X.shape[0]:
        return
    dense = isinstance(X, np.ndarray)
    least, most = (X.min(axis=0), X.max(axis=0)) if dense else min_max_axis(X, axis=0)
    sizes = np.maximum(most, -least)
    known = np.flatnonzero(sizes > 0)
    if len(known) < 2:
        return
    large, small = int(known[sizes[known].argmax()]), int(known[sizes[known].argmin()])
    ratio = float(sizes[large]) / float(sizes[small])
    if MOST <= ratio < math.inf:
        warn_user(BadlyScaled(type(learner).__name__, ratio, large, small))
