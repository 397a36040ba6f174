"""Column-wise view of arrays, sparse matrices, pandas and polars frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray[Any, Any]

#: Largest number of values of a sparse table that is converted to a dense one.
_MOST_NUMBERS = 50_000_000


class Columns:
    """Columns of a table by position.

    `names` are the table's own names, else the given ones, else x1, x2, ...
    """

    def __init__(self, X: Any, names: Any = None) -> None:
        if sparse.issparse(X):
            if X.shape[0] * X.shape[1] > _MOST_NUMBERS:
                raise ValueError(
                    f"{X.shape[0]} sparse rows of {X.shape[1]} columns are too many to explain: "
                    "give fewer rows."
                )
            X = X.toarray()
        self.frame = hasattr(X, "columns")
        self.X: Any = X if self.frame else np.asarray(X)
        given = X.columns if self.frame else names
        known = [] if given is None else [str(each) for each in given]
        self.names = known or [f"x{place + 1}" for place in range(self.X.shape[1])]

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def rows(self, places: Array) -> Columns:
        """Return a table of some of the rows."""
        from pegasos.sklearn_private import safe_indexing

        return Columns(safe_indexing(self.X, places), self.names)

    def values(self, place: int) -> Array:
        """Return a column; missing values are None or NaN."""
        if not self.frame:
            return np.asarray(self.X[:, place])
        return np.array(list(self.X[self.X.columns[place]]), dtype=object)

    def known(self, place: int) -> Array:
        """Return the present values of a column, as numbers if none of them is a string."""
        values = self.values(place)
        values = values[~gaps(values)]
        if values.dtype != object or any(isinstance(each, str) for each in values):
            return values
        try:
            return values.astype(np.float64)
        except (ValueError, TypeError):
            return values

    def replaced(self, place: int, values: Any) -> Any:
        """Return a copy of the table with one column replaced; its type is kept."""
        if not self.frame:
            changed = self.X.copy()
            changed[:, place] = values
            return changed
        name = self.X.columns[place]
        column = self.X[name]
        if hasattr(self.X, "with_columns"):  # polars
            values = type(column)(name, list(values), dtype=column.dtype, strict=False)
            return self.X.with_columns(values)
        changed = self.X.copy(deep=False)
        changed[name] = type(column)(list(values), index=self.X.index, dtype=column.dtype)
        return changed

    def repeated(self, times: int) -> Columns:
        """Return a table of all rows, `times` in a row."""
        return self.rows(np.tile(np.arange(len(self)), times))

    def constant(self, place: int, values: list[Any]) -> Any:
        """Return the rows once for each value, with one column set to that value."""
        each = [value for value in values for _ in range(len(self))]
        return self.repeated(len(values)).replaced(place, each)


def gaps(values: Array) -> Array:
    """Return a mask of missing values."""
    from pegasos.learners.task import is_missing  # pages of runs import no learner

    return np.array([is_missing(each) for each in values.tolist()], dtype=bool)


def is_number(values: Array) -> bool:
    """Return whether values are numeric or boolean."""
    return values.dtype.kind in "iufb"
