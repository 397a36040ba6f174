"""Warnings that learning ended before its tolerance, with their numbers as attributes."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class NotConverged(ConvergenceWarning):
    """A fit ended with a gap above its tolerance in `late` of `columns` columns.

    Attributes
    ----------
    learner : str
        Name of the learner.
    epochs, gap, tolerance, late, columns
        Epochs done, largest gap, `tol`, and numbers of columns.
    single : bool
        Whether the rows were float32.
    finished : bool
        Whether all methods were allowed, so that rounding is the limit.
    seconds : float or None
        The time limit that stopped the fit, if one did.
    """

    def __init__(
        self,
        learner: str,
        epochs: int,
        gap: float,
        tolerance: float,
        late: int,
        columns: int,
        single: bool,
        finished: bool = False,
        seconds: float | None = None,
    ) -> None:
        given = (learner, epochs, gap, tolerance, late, columns, single, finished, seconds)
        super().__init__(*given)
        self.learner, self.epochs, self.gap, self.tolerance = learner, epochs, gap, tolerance
        self.late, self.columns, self.single = late, columns, single
        self.finished, self.seconds = finished, seconds

    @property
    def fact(self) -> str:
        """The event in one clause."""
        epochs = "1 epoch" if self.epochs == 1 else f"{self.epochs} epochs"
        return f"{self.learner} ended after {epochs} with a relative gap of {self.gap:.2g}"

    def __str__(self) -> str:
        where = f"{self.fact} (tol={self.tolerance:g}) in {self.late} of {self.columns} columns."
        if self.seconds is not None:
            return f"{where} It was stopped after max_time={self.seconds:g} seconds."
        remedy = (
            "Rounding lets it get no further: scale the features, raise lam, accept a larger tol"
            if self.finished
            else "Raise max_epochs or lam, scale the features, accept a larger tol, or leave "
            "finish=True, which gets there"
        )
        single = ", or use float64 (float32 cannot show gaps below about 1e-5)"
        return f"{where} {remedy}{single if self.single else ''}."


class CellsNotConverged(ConvergenceWarning):
    """In a search, `late` of `cells` cells ended above their tolerance."""

    def __init__(self, late: int, cells: int) -> None:
        super().__init__(late, cells)
        self.late, self.cells = late, cells

    @property
    def fact(self) -> str:
        """The event in one clause."""
        return f"{self.late} of {self.cells} cells did not reach their tolerance in some fold"

    def __str__(self) -> str:
        return (
            f"{self.fact} (see cv_results_['mean_gap']): scale the features, raise lam or tol, or "
            "leave finish=True."
        )
