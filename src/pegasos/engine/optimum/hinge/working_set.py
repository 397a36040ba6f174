"""Working-set method for the dual of the hinge loss, on any rows.

Each round selects the rows that violate optimality most, solves the problem restricted to them by
pair steps, and updates the scores of all rows with the kernel rows of the changed coefficients.
Everything is in terms of c_i = y_i a_i and of the gradient v_i = y_i - s_i.

References
----------
Joachims (1999), Making large-scale SVM learning practical.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pegasos.engine.optimum.hinge.kernel_sources import KernelSource
from pegasos.engine.optimum.hinge.set_predictor import NO_LIMIT, Limit, SetPredictor
from pegasos.engine.optimum.problem import Intercept, Optimum, Target
from pegasos.engine.runtime.compiling import announced
from pegasos.engine.runtime.interruption import check_interruption, deadline_reached, tell_gap
from pegasos.engine.runtime.threads import run_repeatedly

Array = np.ndarray[Any, Any]

#: Scores that matter at a relative error of FIRST_ERROR are recomputed exactly first; then those
#: that matter at this multiple of the largest error found.
FIRST_ERROR, ERROR_FACTOR = 0.01, 8.0


class WorkingSetSolver:
    """Solver for several predictors (classes x λ) on the same rows.

    Coefficients and scores are kept between calls, for warm starts along a path of λ.

    Parameters
    ----------
    kernel : values of K between all rows.
    diagonal : K_ii of all rows, without the constant feature.
    intercept : none, a constant feature, or free (then Σ c_i = 0).
    members : the training rows; None means all.
    """

    def __init__(
        self,
        kernel: KernelSource,
        diagonal: Array,
        intercept: Intercept,
        members: Array | None = None,
    ) -> None:
        self.kernel = kernel
        self._count = len(diagonal)
        self._rows = np.arange(self._count) if members is None else members
        self._constant = 1.0 if intercept is Intercept.AUGMENTED else 0.0
        self._free = intercept is Intercept.FREE
        self._diagonal = diagonal[self._rows] + self._constant
        # Kernel values of a set are at most 1, so that the range of float32 suffices.
        self._factor = 1.0 / (float(self._diagonal.max(initial=0.0)) or 1.0)
        self._saved: dict[int, tuple[Array, Array]] = {}

    def solve(
        self,
        targets: list[Target],
        tol: float,
        start: Array | None = None,
        names: list[int] | None = None,
        limit: Limit = NO_LIMIT,
    ) -> list[Optimum]:
        """Return the optimum of each target, certified to a relative gap of tol.

        Rounding, the limit or a deadline may leave a larger gap, which the optimum then states.

        Parameters
        ----------
        start : coefficients y·a (targets x members) to start from; with a free intercept they sum
            to 0. None means zero.
        names : keys under which scores are kept for a later call that starts near these optima.
        """
        names = list(range(len(targets))) if names is None else names
        scores = np.zeros((len(targets), self._count))
        predictors = [
            SetPredictor(target, self._diagonal, self._constant, self._free, own, self._rows)
            for target, own in zip(targets, scores, strict=True)
        ]
        with announced("sets"):
            if start is not None:
                self._start(predictors, scores, start, names)
            self._solve(predictors, scores, tol, limit)
        self._saved |= {name: (p.c, p.products) for name, p in zip(names, predictors, strict=True)}
        return [predictor.optimum(not self.kernel.rounded) for predictor in predictors]

    def _start(
        self, predictors: list[SetPredictor], scores: Array, start: Array, names: list[int]
    ) -> None:
        changes = np.array(start, dtype=np.float64)
        for predictor, own, change, name in zip(predictors, scores, changes, names, strict=True):
            predictor.c[:] = change
            if name in self._saved:
                before, own[:] = self._saved[name]
                change -= before
        used = np.flatnonzero(changes.any(axis=0))
        if len(used):
            scores += self.kernel.scores(self._rows[used], np.ascontiguousarray(changes[:, used]))

    def _solve(
        self, predictors: list[SetPredictor], scores: Array, tol: float, limit: Limit
    ) -> None:
        for predictor in predictors:
            predictor.certify(tol)
        attempts = 0
        while True:
            self._run_rounds([p for p in predictors if p.needs_round(tol, limit)], tol, limit)
            if not self.kernel.rounded:
                return
            self._make_scores_exact([p for p in predictors if not p.exact], tol)
            unconverged = [p for p in predictors if p.relative > tol and not p.has_reached(limit)]
            if not unconverged or deadline_reached():
                return
            attempts += 1
            if attempts > 1 or any(predictor.is_stuck for predictor in unconverged):
                self._unround_kernel(predictors, scores, tol)

    def _run_rounds(self, unconverged: list[SetPredictor], tol: float, limit: Limit) -> None:
        """Run rounds to convergence, in parallel if the kernel matrix is stored."""

        def run_round(number: int) -> bool:
            check_interruption()
            if deadline_reached():
                return False
            predictor = unconverged[number]
            index = predictor.select()
            rows = self._rows[index]
            kernel = self.kernel.set_kernel(rows, self._constant, self._factor, predictor.dtype)
            changes = predictor.solve_set(index, kernel)
            self.kernel.add(rows, changes, predictor.products)
            predictor.certify(tol)
            tell_gap((each.relative for each in unconverged), tol)
            return predictor.needs_round(tol, limit)

        if self.kernel.stored:
            run_repeatedly(run_round, range(len(unconverged)))
            return
        for number in range(len(unconverged)):
            while run_round(number):
                pass

    def _make_scores_exact(self, predictors: list[SetPredictor], tol: float) -> None:
        """Recompute the scores that certificates depend on.

        ‖w‖² depends on the scores of support vectors, the loss on those of rows whose margin is
        not clearly above 1. The recomputed scores show how large errors are.
        """
        wanted = [predictor.depends_on(FIRST_ERROR) for predictor in predictors]
        error = self._replace_scores(predictors, wanted)
        for predictor in predictors:
            predictor.certify(tol, exact=True)
        again = [
            predictor
            for predictor, known in zip(predictors, wanted, strict=True)
            if (predictor.depends_on(ERROR_FACTOR * error) & ~known).any()
        ]
        self._replace_scores(again, [np.ones(len(self._rows), dtype=bool)] * len(again))
        for predictor in again:
            predictor.certify(tol, exact=True)

    def _replace_scores(self, predictors: list[SetPredictor], wanted: list[Array]) -> float:
        """Replace the wanted scores by exact ones; return their largest relative change.

        Predictors are computed together if their rows overlap enough to save work.
        """
        if not predictors:
            return 0.0
        used = [predictor.c != 0.0 for predictor in predictors]
        all_used, all_wanted = np.logical_or.reduce(used), np.logical_or.reduce(wanted)
        alone = sum(_work(*each) for each in zip(used, wanted, strict=True))
        if len(predictors) > 1 and _work(all_used, all_wanted) > alone:
            pairs = zip(predictors, wanted, strict=True)
            return max(self._replace_scores([predictor], [own]) for predictor, own in pairs)
        index, places = self._rows[all_used], self._rows[all_wanted]
        coefficients = np.stack([predictor.c[all_used] for predictor in predictors])
        error = 0.0
        exact_scores = self.kernel.exact_scores(index, coefficients, places)
        for predictor, exact in zip(predictors, exact_scores, strict=True):
            change = np.abs(exact - predictor.products[places]) / (1.0 + np.abs(exact))
            error = max(error, float(change.max(initial=0.0)))
            predictor.products[places] = exact
        return error

    def _unround_kernel(self, predictors: list[SetPredictor], scores: Array, tol: float) -> None:
        """Continue with kernel values and scores in the dtype of the rows."""
        self.kernel = self.kernel.unrounded()
        self._saved.clear()
        coefficients = np.stack([predictor.c for predictor in predictors])
        used = np.flatnonzero(coefficients.any(axis=0))
        own = np.ascontiguousarray(coefficients[:, used])
        scores[:] = self.kernel.scores(self._rows[used], own)
        for predictor in predictors:
            predictor.reset_stall_count()
            predictor.certify(tol, exact=True)


def _work(used: Array, wanted: Array) -> float:
    """Count kernel values: of pairs of used rows, and of used rows with other wanted rows."""
    count = np.count_nonzero(used)
    return count * (np.count_nonzero(wanted) - 0.5 * count)
