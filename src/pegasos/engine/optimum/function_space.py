"""Predictors as combinations of training rows, w = Σ c_i φ(x_i): their scores are products K·c."""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.rows.sources import Rows
from pegasos.engine.runtime.interruption import check_interruption

Array = np.ndarray[Any, Any]


class FunctionSpace:
    """The rows `members` (None: all) of any rows, with the kernel K + constant between them."""

    def __init__(self, rows: Rows, members: Array | None, constant: float) -> None:
        self.rows, self.members, self.constant = rows, members, constant
        self._index = np.arange(rows.count) if members is None else members
        self.m = len(self._index)
        self._entry, self._entry_column = rows.product_nanoseconds

    @property
    def diagonal(self) -> Array:
        """K_ii of the members, with the constant."""
        return np.asarray(self.rows.diagonal, dtype=np.float64)[self._index] + self.constant

    def scores(self, coefficients: Array, exact: bool = False) -> Array:
        """Return (K + constant)·c of all members, for columns c of float64.

        Products with a kernel are in the dtype of the rows unless they are to be exact, those with
        explicit features, which sum twice, are always in float64.
        """
        check_interruption()
        rounds = self.rows.dual and not exact
        full = self._full(coefficients, self.rows.dtype if rounds else np.float64)
        scores = self.rows.kernel_scores(full, self.members)
        return scores + self.constant * coefficients.sum(axis=1, keepdims=True)

    def nanoseconds(self, columns: int) -> float:
        """Return about the time of one product for so many columns, to weigh other work against."""
        return max(self._entry, self._entry_column * columns)

    def vectors(self, coefficients: Array) -> Array:
        """Return c for kernels, w = Σ c_i x_i for explicit features."""
        if self.rows.dual:
            return coefficients
        return self.rows.weights_of(self._full(coefficients, np.float64))

    def kernel_rows(self, chosen: Array) -> Array:
        """Return rows of K + constant, chosen among the members, as float64."""
        check_interruption()
        lines = self.rows.kernel_lines(self._index[chosen], self.members)
        return lines.astype(np.float64) + self.constant

    def _full(self, coefficients: Array, dtype: Any) -> Array:
        with np.errstate(over="ignore"):
            if self.members is None:
                return np.ascontiguousarray(coefficients, dtype=dtype)
            full = np.zeros((len(coefficients), self.rows.count), dtype=dtype)
            full[:, self.members] = coefficients
        return full
