"""Stochastic dual coordinate ascent with certificates, followed by another exact solver.

References
----------
Shalev-Shwartz, Zhang (2013), Stochastic dual coordinate ascent methods for regularized loss.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pegasos.engine.optimum.choice import ExactSolver
from pegasos.engine.optimum.problem import Certificate, Optimum, Target, box, certificate_of
from pegasos.engine.runtime.interruption import deadline_reached, tell_gap
from pegasos.engine.walk.solvers import EpochSolver
from pegasos.engine.walk.walk import Walk

Array = np.ndarray[Any, Any]


class DualAscent(EpochSolver):
    """Dual ascent for all predictors (classes x λ), each until its relative gap is at most `tol`.

    `codes` and `weights` (ω) belong to the training rows, in the order of the walk's members.
    Predictors of one class that differ in λ share a column of the walk as long as their
    coefficients are equal. A predictor solved by the exact solver is kept in `solved`; its column
    is frozen once all predictors that share it have converged.
    """

    def __init__(
        self,
        walk: Walk,
        lams: Array,
        weights: Array,
        codes: Array,
        tol: float,
        exact: ExactSolver | None = None,
    ) -> None:
        self.rows = np.arange(walk.rows.count) if walk.members is None else walk.members
        super().__init__(walk, len(self.rows))
        self.weights, self.codes, self.tol, self.exact = weights, codes, tol, exact
        self.lams = np.asarray(lams, dtype=np.float64)
        shape = (len(walk.classes), len(self.lams))
        self.labels = np.where(self.codes[None, :] == walk.classes[:, None], 1.0, -1.0)
        self._member_lams = np.tile(self.lams, len(self.labels))
        self.done = np.zeros(shape, dtype=bool)
        self.relative = np.full(shape, np.inf)
        self.history: list[Array] = []
        #: P and D after each epoch (2 x predictors), nan for finished predictors.
        self._pairs: list[Array] = []
        self._verified = self._prepared = False
        self._snapshots: dict[int, tuple[Array, float, Array]] = {}
        self.solved: dict[int, Optimum] = {}
        #: Predictors solved only to be read at this stop; epochs continue for them afterwards.
        self._provisional: set[int] = set()
        #: Epoch until which no predictor is solved, so that every stage can be read.
        self.untouched_until = 0

    @property
    def finished(self) -> bool:  # type: ignore[override]
        """Whether all predictors have reached tol by exact scores."""
        return bool(self.done.all()) and self.verify()

    @property
    def gaps(self) -> Array:
        """Return the relative gap of each predictor."""
        return self.relative.reshape(-1)

    def prepare(self) -> None:
        """Solve predictors that skip epochs; continue those that `complete` has solved.

        `complete` solves predictors that have not converged at a stop, so that exact results can
        be read there. If the walk goes on, these solutions are dropped and epochs continue.
        """
        if self._provisional:
            self._resume_provisional()
        if self._prepared:
            return
        self._prepared = True
        if self.exact is not None and not self.done.all() and not self.untouched_until:
            todo = np.flatnonzero(~self.done.reshape(-1))
            skipping = todo[self.exact.skips_epochs([self._target(int(member)) for member in todo])]
            self._solve(skipping)
            if len(skipping) == self.done.size:
                self.history.append(self.relative.copy())
            self._freeze_finished()

    def walk_epoch(self) -> None:
        """Run an epoch, or until the deadline, and compute all gaps.

        Predictors that would need many more epochs are solved by another method.
        """
        self.epoch += 1
        end, block = self.epoch * self.m, self.walk.steps_a_block
        while self.walk.step < end and not deadline_reached():
            self.walk.advance(min(self.walk.step // block * block + block, end))
        state, walking = self.certificate(), ~self.done.reshape(-1)
        self.relative = np.where(self.done, self.relative, state.relative.reshape(self.done.shape))
        self._finish_members(self.relative <= self.tol)
        if self.exact is not None and self.epoch > self.untouched_until:
            walked = [*self.history[-2:], self.relative.copy()]
            if not deadline_reached():
                todo = self.exact.should_switch(walked) & ~self.done
                self._solve(np.flatnonzero(todo.reshape(-1)))
        self.history.append(self.relative.copy())
        self._pairs.append(np.where(walking, (state.primal, state.dual), np.nan))
        tell_gap(float(self.relative.max()), self.tol)
        self._freeze_finished()

    def complete(self) -> None:
        """Solve all predictors that have not converged, without a change to the walk."""
        if self.exact is None or deadline_reached() or self.finished:
            return
        todo = np.flatnonzero(~self.done.reshape(-1))
        self._solve(todo)
        self._provisional = set(todo.tolist())

    @property
    def gap_curve(self) -> list[Array]:
        """Relative gaps (classes x λ) after each epoch, and after the method that followed."""
        return [*self.history, self.relative.copy()] if self._provisional else self.history

    def histories(self) -> list[Array]:
        """Return P and D of each predictor (steps x 2) after epochs and rounds of its method."""
        found = []
        for member in range(self.done.size):
            history = self.solved[member].history if member in self.solved else ()
            found.append(self._member_lams[member] * np.array(history).reshape(-1, 2))
        if self._pairs:
            walked = np.array(self._pairs).transpose(2, 0, 1)
            found = [
                np.concatenate([own[~np.isnan(own[:, 0])], after])
                for own, after in zip(walked, found, strict=True)
            ]
        return found

    def certificate(self) -> Certificate:
        """Return P and D of each predictor, from the walk's scores or from its exact solver."""
        if len(self.solved) == self.done.size:  # scores of the walk are not needed
            state = Certificate(np.empty(self.done.size), np.empty(self.done.size))
        else:
            scores, bias = self.walk.settled_scores()
            signs = np.repeat(self.labels, len(self.lams), axis=0)
            values = (self._member_lams, self.weights, signs, scores, self.walk.coefficients())
            places = {"bias": bias, "columns": self.member_columns(), "rows": self.rows}
            state = certificate_of(self.walk.method.loss, *values, **places)
        for member, optimum in self.solved.items():
            lam = self._member_lams[member]
            state.primal[member], state.dual[member] = lam * optimum.primal, lam * optimum.bound
        return state

    def verify(self) -> bool:
        """Tell whether all are done by recomputed scores; reopen predictors that are not."""
        if self._verified:
            return True
        if len(self.solved) < self.done.size:
            self.refresh()
            relative = self.certificate().relative
            kept = [
                *self._snapshots,
                *self.solved,
            ]  # their columns may have changed since for others
            relative[kept] = self.relative.reshape(-1)[kept]
            self.relative = relative.reshape(self.done.shape)
            self.done = self.relative <= self.tol
            self.done.reshape(-1)[list(self.solved)] = True  # no method gets any further
            for member in np.flatnonzero(~self.done.reshape(-1)):
                self._snapshots.pop(int(member), None)
        self._freeze_finished()
        self._verified = bool(self.done.all())
        return self._verified

    def refresh(self) -> None:
        """Recompute the scores of predictors that were not solved."""
        if len(self.solved) < self.done.size:
            walking = np.setdiff1d(np.arange(self.done.size), list(self.solved))
            self.walk.refresh(np.unique(self.member_columns()[walking]))

    def predictors(self) -> tuple[Array, Array]:
        """Return dual coefficients (or weights) and biases of predictors when they finished."""
        if len(self.solved) == self.done.size:  # all columns are solved
            found = [self.solved[member] for member in range(self.done.size)]
            vectors = np.stack([self._all_rows(optimum.vector) for optimum in found])
            bias = np.array([optimum.bias for optimum in found])
            return vectors.astype(self.walk.rows.dtype, copy=False), bias
        vectors, bias = self.walk.vectors()
        columns = self.member_columns()
        vectors, bias = vectors[columns], bias[columns]
        for member, (kept, kept_bias, _) in self._snapshots.items():
            vectors[member], bias[member] = kept, kept_bias
        for member, optimum in self.solved.items():
            vectors[member], bias[member] = self._all_rows(optimum.vector), optimum.bias
        return vectors, bias

    def support(self) -> Array:
        """Tell which coefficients are not zero."""
        return self.predictors()[0] != 0

    def scores(self, index: Array) -> Array:
        """Return decision values of chosen rows, predictors x rows."""
        scores = self.walk.scores(index)[self.member_columns()]
        for member, (_, _, kept) in self._snapshots.items():
            scores[member] = kept[index]
        for member, optimum in self.solved.items():
            if optimum.scores is not None:
                scores[member] = optimum.scores[index]
        members = [member for member, optimum in self.solved.items() if optimum.scores is None]
        if members:
            vectors = np.stack([self._all_rows(self.solved[member].vector) for member in members])
            bias = np.array([self.solved[member].bias for member in members])
            own = self.walk.rows.evaluate(index, vectors.astype(scores.dtype))
            scores[members] = own + bias[:, None].astype(scores.dtype)
        return scores

    def resume(self, saved: dict[str, Any]) -> None:
        """Continue from what `save` returned; predictors that have reached tol are done at once."""
        self.walk.resume(saved)
        self.epoch = self.walk.step // self.m
        self.verify()

    def save(self) -> dict[str, Any]:
        """Return what a later fit needs to continue."""
        for member, optimum in self.solved.items():
            row, number = divmod(member, len(self.lams))
            self.walk.separate(row, number)
            coefficients = np.zeros(self.walk.rows.count)
            coefficients[self.rows] = self.labels[row] * optimum.dual
            self.walk.adopt(int(self.walk.column_of()[row, number]), coefficients)
        return self.walk.save()

    # -- active, frozen and solved predictors ------------------------------------------------------

    @cached_property
    def _bounds(self) -> Array:
        """C_i for each λ."""
        return box(self.lams, self.weights)

    def _target(self, member: int) -> Target:
        row, number = divmod(member, len(self.lams))
        return Target(self.labels[row], self._bounds[number])

    def _solve(self, members: Array) -> None:
        """Solve these predictors, starting from their coefficients in the walk."""
        if not len(members):
            return
        assert self.exact is not None
        start = None
        if self.epoch:
            columns = self.member_columns()[members]
            start = self.walk.coefficients()[columns][:, self.rows].astype(np.float64)
        targets = [self._target(int(member)) for member in members]
        if self.exact.warm_path or (not self.epoch and self.exact.follows_path):
            found = self.exact.solve_path(targets, (members // len(self.lams)).tolist())
        else:
            found = self.exact.solve(targets, start)
        for member, optimum in zip(members, found, strict=True):
            self.solved[int(member)] = optimum
            self.relative.reshape(-1)[member] = optimum.relative
        self.done.reshape(-1)[members] = True

    def _resume_provisional(self) -> None:
        """Resume epochs of predictors that were solved early only to report results."""
        for member in self._provisional:
            del self.solved[member]
        self.done.reshape(-1)[list(self._provisional)] = False
        self._provisional = set()
        self._verified = False
        self._freeze_finished()

    def _all_rows(self, vector: Array) -> Array:
        """Expand dual coefficients to all rows, with zeros elsewhere; return weights unchanged."""
        if not self.walk.rows.dual or len(vector) == self.walk.rows.count:
            return vector
        spread = np.zeros(self.walk.rows.count)
        spread[self.rows] = vector
        return spread

    def _finish_members(self, reached: Array) -> None:
        """Mark predictors that have reached tol; copy them if their shared column still changes."""
        new = reached & ~self.done
        self.done |= reached
        if not new.any():
            return
        columns = self.walk.column_of()
        vectors = scores = None
        for row, number in np.argwhere(new):
            column = columns[row, number]
            if not self.done[columns == column].all():
                if vectors is None or scores is None:
                    (vectors, bias), scores = self.walk.vectors(), self.walk.scores()
                own = (vectors[column].copy(), float(bias[column]), scores[column].copy())
                self._snapshots[int(row * len(self.lams) + number)] = own

    def _freeze_finished(self) -> None:
        """Freeze columns whose predictors have all reached tol."""
        frozen = np.ones(self.walk.active, dtype=bool)
        if not self.done.all():
            frozen[self.walk.column_of()[~self.done]] = False
        self.walk.freeze(frozen)
