"""Dual ascent for pairs of classes, each on the rows of its two classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pegasos.engine.optimum.dual_ascent import DualAscent
from pegasos.engine.optimum.problem import Certificate, Optimum
from pegasos.engine.runtime.threads import run_each
from pegasos.engine.walk.solvers import Solver

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Pair:
    """Row numbers of a pair of classes, and a function that makes its solver.

    The function takes the state that an earlier solver has saved, if there is one.
    """

    index: Array
    make: Callable[..., DualAscent]


class PairResult:
    """Predictors of a pair (one per λ) with their certificates, copied from its solver."""

    def __init__(self, solver: DualAscent, saves: bool = False) -> None:
        self.predictors, self.certificate = solver.predictors(), solver.certificate()
        self.relative, self.done = solver.relative.copy(), solver.done.copy()
        self.gap_curve, self.histories = solver.gap_curve, solver.histories()
        self.epoch = solver.epoch
        self.solved = {member: _summary(optimum) for member, optimum in solver.solved.items()}
        self.saved = solver.save() if saves else None


class PairAscent(Solver):
    """Solver of all pairs (pairs x λ), whose predictors are returned as predictors over all rows.

    Coefficients of rows of other classes are 0. The solver of a pair uses its own rows only, so
    that its cost does not depend on the others, and is dropped once `last` is reached: besides
    those of all rows, only the kernel values of one pair per thread are stored at a time.

    Parameters
    ----------
    pairs : rows and solver of each pair.
    rows : all rows, with the kernel that the pairs share.
    last : the stop after which a pair is completed and its solver dropped; None for none.
    saves : whether the state is kept for a later fit.
    """

    def __init__(
        self, pairs: Sequence[Pair], rows: Any, last: int | None = None, saves: bool = False
    ) -> None:
        self._pairs, self.rows = pairs, rows
        self.last, self._saves = last, saves
        self._live: dict[int, DualAscent] = {}
        self._results: dict[int, PairResult] = {}
        self.untouched_until = 0

    def _solver(self, number: int) -> DualAscent:
        if number not in self._live:
            self._live[number] = self._pairs[number].make()
            self._live[number].untouched_until = self.untouched_until
        return self._live[number]

    def resume(self, saved: Sequence[dict[str, Any]]) -> None:
        """Continue from what `save` returned."""
        self._live = {k: self._pairs[k].make(state) for k, state in enumerate(saved)}

    def advance(self, stop: int) -> None:
        """Advance all pairs to this number of epochs."""
        if self.rows.dual and self.rows.stored:
            _ = self.rows.K  # computed once, by all threads, before pairs read their parts

        def advance_pair(number: int) -> None:
            if number in self._results:
                return
            solver = self._solver(number)
            solver.advance(stop)
            if stop == self.last:
                solver.complete()
                solver.refresh()
                self._results[number] = PairResult(solver, self._saves)
                del self._live[number]

        run_each(advance_pair, range(len(self._pairs)))

    def complete(self) -> None:
        """Solve all predictors that have not converged."""
        for solver in self._live.values():
            solver.complete()

    def refresh(self) -> None:
        """Recompute the scores of pairs that were not solved."""
        for solver in self._live.values():
            solver.refresh()

    def _each(self) -> list[PairResult]:
        numbers = range(len(self._pairs))
        return [self._results.get(k) or PairResult(self._solver(k)) for k in numbers]

    def predictors(self) -> tuple[Array, Array]:
        """Return vectors over all rows (pairs x λ) and biases."""
        found = [each.predictors for each in self._each()]
        if not self.rows.dual:
            return np.concatenate([v for v, _ in found]), np.concatenate([b for _, b in found])
        params = len(found[0][1])
        vectors = np.zeros((params * len(found), self.rows.count), dtype=self.rows.dtype)
        for k, (pair, (own, _)) in enumerate(zip(self._pairs, found, strict=True)):
            whole = own.shape[1] == self.rows.count
            vectors[k * params : (k + 1) * params, slice(None) if whole else pair.index] = own
        return vectors, np.concatenate([bias for _, bias in found])

    def scores(self, index: Array) -> Array:
        """Return decision values of chosen rows, predictors x rows."""
        vectors, bias = self.predictors()
        return np.asarray(
            self.rows.evaluate(index, vectors) + bias[:, None].astype(self.rows.dtype)
        )

    def support(self) -> Array:
        """Tell which coefficients are not zero."""
        return np.asarray(self.predictors()[0] != 0)

    @property
    def gaps(self) -> Array:
        """Return the relative gap of each predictor."""
        return np.concatenate([each.relative.reshape(-1) for each in self._each()])

    def certificate(self) -> Certificate:
        """Return the objective and lower bound of each predictor, in terms of its own rows."""
        found = [each.certificate for each in self._each()]
        return Certificate(
            *(np.concatenate([getattr(c, n) for c in found]) for n in ("primal", "dual"))
        )

    @property
    def gap_curve(self) -> list[Array]:
        """The relative gaps (pairs x λ) after each epoch; those of finished pairs stay."""
        curves = [each.gap_curve or [each.relative] for each in self._each()]
        longest = range(max(map(len, curves)))
        return [np.concatenate([own[min(k, len(own) - 1)] for own in curves]) for k in longest]

    def histories(self) -> list[Array]:
        """Return the objectives of each predictor after its epochs and rounds."""
        return [history for each in self._each() for history in each.histories]

    @property
    def epoch(self) -> int:
        """The largest number of epochs of a pair."""
        live = [solver.epoch for solver in self._live.values()]
        return max([*live, *(each.epoch for each in self._results.values())], default=0)

    @property
    def done(self) -> Array:
        """Whether a predictor is done (pairs x λ)."""
        return np.concatenate([each.done for each in self._each()])

    @property
    def solved(self) -> dict[int, Optimum]:
        """The predictors that methods other than coordinate ascent have solved."""
        found: dict[int, Optimum] = {}
        for number, each in enumerate(self._each()):
            found |= {number * each.done.size + m: optimum for m, optimum in each.solved.items()}
        return found

    def save(self) -> list[dict[str, Any]]:
        """Return what a later fit needs to continue."""
        return [each.saved for each in self._each() if each.saved is not None]


def _summary(optimum: Optimum) -> Optimum:
    """Return a copy without arrays: a `PairResult` already holds the predictors."""
    none = np.empty(0)
    return replace(optimum, vector=none, dual=none, scores=None, history=())
