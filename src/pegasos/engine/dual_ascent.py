"""Dual ascent with certificates: epochs of SDCA; each (class, λ) stops by itself, slow ones are finished by pair steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.engine.certificate import Certificate, box, certificate_of
from pegasos.engine.pair_steps import active_rows, finish_round
from pegasos.engine.solvers import EpochSolver
from pegasos.engine.walk import Walk

Array = np.ndarray[Any, Any]

#: Walked epochs before a column may be finished by pair steps, and the fewest more that it must be expected to need.
WALKED_EPOCHS = 5
EPOCHS_WORTH_FINISHING = 15
#: Rows of the set on which pair steps are made.
LARGEST_SET = 1000


class DualAscent(EpochSolver):
    """The state of all predictors (classes x λ): who has reached tol, and with which gap.

    `codes` and `weights` (ω) are those of the training rows, in the order of the walk's members.
    """

    def __init__(self, walk: Walk, lams: Array, weights: Array, codes: Array, tol: float, finish: bool = True) -> None:
        self.rows = np.arange(walk.rows.count) if walk.members is None else walk.members
        super().__init__(walk, len(self.rows))
        self.weights, self.codes, self.tol, self.finish = weights, codes, tol, finish
        self.lams = np.asarray(lams, dtype=np.float64)
        shape = (len(walk.classes), len(self.lams))
        self.labels = np.where(self.codes[None, :] == walk.classes[:, None], 1.0, -1.0)
        self._signs = np.repeat(self.labels, len(self.lams), axis=0)
        self._member_lams = np.tile(self.lams, len(self.labels))
        self.done = np.zeros(shape, dtype=bool)
        self.epochs = np.zeros(shape, dtype=np.int64)
        self.relative = np.full(shape, np.inf)
        self.finishing = np.zeros(shape, dtype=bool)
        self.history: list[Array] = []
        self._verified = False
        self._kept: dict[int, tuple[Array, float, Array]] = {}

    @property
    def finished(self) -> bool:  # type: ignore[override]
        """Whether all members have reached tol, by exact scores."""
        return bool(self.done.all()) and self.verify()

    @property
    def gaps(self) -> Array:
        return self.relative.reshape(-1)

    def walk_epoch(self) -> None:
        """One more epoch: walk the columns that walk, finish those that are being finished, and look at all gaps."""
        self.epoch += 1
        self.walk.advance(self.epoch * self.m)
        changes = self.walk.take_mistakes()[self.walk.column_of()]
        for row, number in np.argwhere(self.finishing & ~self.done):
            self._finish_column(int(row), int(number))
        state = self.certificate()
        self.relative = np.where(self.done, self.relative, state.relative.reshape(self.done.shape))
        self.epochs[~self.done] = self.epoch
        self.history.append(self.relative.copy())
        self._finish_members(self.relative <= self.tol)
        if self.finish:
            self._choose_finishing(changes)
        self._rest()

    def certificate(self) -> Certificate:
        """P and D of each member (class by class), from the walk's own scores and coefficients."""
        scores, bias = self.walk.settled_scores()
        values = (self._member_lams, self.weights, self._signs, scores, self.walk.coefficients())
        return certificate_of(self.walk.method.loss, *values, bias=bias, columns=self.member_columns(), rows=self.rows)

    def verify(self) -> bool:
        """Whether all are done by scores free of the walk's rounding; those that are not go on."""
        if self._verified:
            return True
        self.walk.refresh()
        relative = self.certificate().relative
        kept = list(self._kept)  # their columns went on for others: their own gap is the one they had
        relative[kept] = self.relative.reshape(-1)[kept]
        self.relative = relative.reshape(self.done.shape)
        self.done = self.relative <= self.tol
        for member in np.flatnonzero(~self.done.reshape(-1)):
            self._kept.pop(int(member), None)
        self._rest()
        self._verified = bool(self.done.all())
        return self._verified

    def predictors(self) -> tuple[Array, Array]:
        """The dual coefficients (or weights) of each member, as they were when it was done."""
        vectors, bias = self.walk.vectors()
        columns = self.member_columns()
        vectors, bias = vectors[columns], bias[columns]
        for member, (kept, kept_bias, _) in self._kept.items():
            vectors[member], bias[member] = kept, kept_bias
        return vectors, bias

    def scores(self, index: Array) -> Array:
        scores = self.walk.scores(index)[self.member_columns()]
        for member, (_, _, kept) in self._kept.items():
            scores[member] = kept[index]
        return scores

    def _finish_members(self, reached: Array) -> None:
        """Note who has reached tol; a member whose column goes on for others keeps what it has now."""
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
                member = row * len(self.lams) + number
                self._kept[int(member)] = (vectors[column].copy(), float(bias[column]), scores[column].copy())

    def _rest(self) -> None:
        """A column walks as long as one of its λ is neither done nor being finished."""
        resting = np.ones(self.walk.active, dtype=bool)
        resting[self.walk.column_of()[~(self.done | self.finishing)]] = False
        self.walk.rest(resting)

    def _choose_finishing(self, changes: Array) -> None:
        """Columns for which walking on, at the pace of their last epochs, would take longer than pair steps."""
        if not self.walk.method.loss.linear_dual or len(self.history) < WALKED_EPOCHS:
            return
        past, now = self.history[-3], self.history[-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            pace = np.log(now / past) / 2
            needed = np.where(pace < 0, np.log(self.tol / now) / pace, math.inf)
        # nanoseconds, roughly: an epoch of a column (each change costs a row), and ten rounds of pair steps
        epoch = 20.0 * self.m + 0.3 * self.walk.rows.width * changes
        rounds = 150.0 * min(LARGEST_SET, self.m) ** 2
        self.finishing |= ~self.done & (needed > EPOCHS_WORTH_FINISHING) & (needed * epoch > rounds)

    def _finish_column(self, row: int, number: int) -> None:
        """Pair steps on the rows of one predictor that are worth moving."""
        walk = self.walk
        walk.separate(row, number)
        column = int(walk.column_of()[row, number])
        labels = self.labels[row]
        bounds = box(self.lams[[number]], self.weights)[0]
        scores = walk.column_scores(column)[self.rows]
        a = np.clip(labels * walk.coefficients()[column][self.rows], 0.0, bounds)
        gradient = 1.0 - labels * scores
        chosen = active_rows(a, gradient, bounds, LARGEST_SET)
        if not len(chosen):
            return
        index = self.rows[chosen]
        signs = labels[chosen]
        cross = walk.rows.cross(index).astype(np.float64) + walk.method.constant**2
        loss = bounds @ np.maximum(gradient, 0.0)
        squared_norm = (labels * a) @ scores
        gap = max(0.0, squared_norm + loss - a.sum())
        # a coordinate whose gradient is g gains g²/(2K): ask for gradients that, over all bounds, leave a tenth of the gap
        curvature = 2.0 * max(float(cross.diagonal().max()), np.finfo(float).tiny)
        needed = (gap / (10.0 * bounds[chosen].sum())) ** 2 / curvature
        rounding = (np.finfo(walk.rows.dtype).eps * (1.0 + np.abs(scores).max())) ** 2 / curvature
        least = max(min(1e-6 * gap / len(chosen), needed), rounding)
        after = finish_round(cross * np.outer(signs, signs), a[chosen], gradient[chosen], bounds[chosen], least)
        walk.move(column, index, signs * (after - a[chosen]))
