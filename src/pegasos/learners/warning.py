"""Warnings of fits: their numbers are attributes, `fact` is their event in one clause."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.sparsefuncs import min_max_axis

#: Warn if the largest numbers of two columns differ by this factor. Harm begins earlier: on wine, a
#: factor of 2.5e3, Pegasos is right in 61 % of the rows, and in 98 % after standardization. But in
#: a million standardized rows a rare indicator already has a factor of 1e3.
LARGEST_RATIO = 1e6


def warn_user(warning: Warning) -> None:
    """Warn at the line of the user's code that called pegasos, possibly through scikit-learn."""
    level, frame, inside = 2, sys._getframe(1), ("pegasos", "sklearn")
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


@dataclass(eq=False)
class NotConverged(ConvergenceWarning):
    """A fit ended with a `gap` above its `tolerance` in `late` of `columns` columns."""

    learner: str
    epochs: int
    gap: float
    tolerance: float
    late: int
    columns: int
    #: Whether the rows were float32.
    single: bool
    #: Whether all methods were allowed, so that rounding is the limit.
    finished: bool = False
    #: The time limit that stopped the fit, if one did.
    seconds: float | None = None

    @property
    def fact(self) -> str:
        """The event in one clause."""
        epochs = "1 epoch" if self.epochs == 1 else f"{self.epochs} epochs"
        return f"{self.learner} ended after {epochs} with a relative gap of {self.gap:.2g}"

    def __str__(self) -> str:
        where = f"{self.fact} (tol={self.tolerance:g}) in {self.late} of {self.columns} columns."
        if self.seconds is not None:
            return f"{where} It was stopped after max_time={self.seconds:g} seconds."
        remedy = "Scale the features, raise max_epochs, lam or tol, or leave finish=True"
        if self.finished:
            remedy = "Rounding prevents further progress: scale the features, raise lam or tol"
        single = ", or use float64 (float32 cannot show gaps below about 1e-5)"
        return f"{where} {remedy}{single if self.single else ''}."


@dataclass(eq=False)
class CellsNotConverged(ConvergenceWarning):
    """In a search, `late` of `cells` cells did not reach their tolerance."""

    late: int
    cells: int

    @property
    def fact(self) -> str:
        """The event in one clause."""
        return f"{self.late} of {self.cells} cells did not reach their tolerance in some fold"

    def __str__(self) -> str:
        remedy = "scale the features, raise lam or tol, or leave finish=True"
        return f"{self.fact} (see cv_results_['mean_gap']): {remedy}."


@dataclass(eq=False)
class BadlyScaled(UserWarning):
    """The magnitudes of the columns `large` and `small` differ by a factor `ratio`."""

    learner: str
    ratio: float
    large: int
    small: int

    @property
    def fact(self) -> str:
        """The problem in one clause."""
        size = f"a factor of 1e{math.floor(math.log10(self.ratio))}"
        columns = f"the largest numbers in columns {self.large} and {self.small}"
        return f"{columns} differ by {size}, and {self.learner} has one step size"

    def __str__(self) -> str:
        remedy = "Scale X (for example StandardScaler), or use SDCA"
        return f"{self.fact}: it learns from the large columns only. {remedy}."


def warn_if_badly_scaled(learner: str, X: Any) -> None:
    """Warn if the sizes of two columns differ too much for one step size; zeros do not count."""
    dense = isinstance(X, np.ndarray)
    least, most = (X.min(axis=0), X.max(axis=0)) if dense else min_max_axis(X, axis=0)
    sizes = np.maximum(most, -least)
    known = np.flatnonzero(sizes > 0)
    if len(known) < 2:
        return
    large, small = int(known[sizes[known].argmax()]), int(known[sizes[known].argmin()])
    ratio = float(sizes[large]) / float(sizes[small])
    if LARGEST_RATIO <= ratio < math.inf:
        warn_user(BadlyScaled(learner, ratio, large, small))
