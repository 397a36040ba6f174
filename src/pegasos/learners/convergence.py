"""Warnings that learning ended before its tolerance, with the numbers that they tell."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class NotConverged(ConvergenceWarning):
    """A fit ended with a gap above its tolerance in `late` of `columns` columns.

    seconds: the time limit that stopped it; single: its numbers were float32
    finished: nothing more could be gained in this precision (else: by these epochs alone)
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
        self.finished, self.seconds = finished, seconds
        self.learner, self.epochs, self.gap, self.tolerance = learner, epochs, gap, tolerance
        self.late, self.columns, self.single = late, columns, single

    @property
    def fact(self) -> str:
        """Describe what happened, in one clause."""
        epochs = "1 epoch" if self.epochs == 1 else f"{self.epochs} epochs"
        return f"{self.learner} ended after {epochs} with a relative gap of {self.gap:.2g}"

    def __str__(self) -> str:
        what = f"{self.fact} (tol={self.tolerance:g}) in {self.late} of {self.columns} columns. "
        if self.seconds is not None:
            return f"{what}It was stopped after max_time={self.seconds:g} seconds."
        if self.finished:
            remedy = "Rounding lets it get no further: scale the features, raise lam, accept a larger tol"
        else:
            remedy = "Raise max_epochs or lam, scale the features, accept a larger tol, or leave finish=True, which gets there"
        return (
            what
            + remedy
            + (
                ", or use float64 (float32 cannot show gaps below about 1e-5)."
                if self.single
                else "."
            )
        )


class CellsNotConverged(ConvergenceWarning):
    """Cells of a grid ended above their tolerance."""

    def __init__(self, late: int, cells: int) -> None:
        super().__init__(late, cells)
        self.late, self.cells = late, cells

    @property
    def fact(self) -> str:
        """Describe what happened, in one clause."""
        return f"{self.late} of {self.cells} cells did not reach their tolerance in some fold"

    def __str__(self) -> str:
        return f"{self.fact} (see cv_results_['mean_gap']): scale the features, raise lam or tol, or leave finish=True."
