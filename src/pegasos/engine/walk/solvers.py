"""Solvers: a walk, and the scaling of its raw vectors to predictors, for all classes and λ at once.

A solver has `advance(stop)`, `predictors()` (vectors and bias, one row for each class and λ,
class by class) and `scores(index)` (the decision values of chosen rows). Stops are steps for
Pegasos and epochs for the Perceptron and SDCA.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasos.engine.runtime.interruption import deadline_reached
from pegasos.engine.walk.walk import Walk

Array = np.ndarray[Any, Any]


def advance_together(solvers: Sequence[Solver], stop: int) -> None:
    """Advance solvers over the same draws in step: they may share kernel values of a block."""
    block = solvers[0].walk.steps_a_block
    for solver in solvers:
        solver.prepare()
    for milestone in max((solver.milestones(stop) for solver in solvers), key=len):
        begin = min(solver.walk.step for solver in solvers)
        for step in range(begin // block * block + block, solvers[0].steps_at(milestone), block):
            for solver in solvers:
                if not solver.finished:
                    solver.walk_on(step)
        for solver in solvers:
            solver.advance(milestone)


class Solver:
    """Base of all solvers: read predictors and scores of a walk."""

    finished = False

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def milestones(self, stop: int) -> Sequence[int]:
        """Return the stops up to `stop` at which the solver makes decisions."""
        return [stop]

    def steps_at(self, stop: int) -> int:
        """Return the steps of the walk at a stop."""
        return stop

    def walk_on(self, stop: int) -> None:
        """Walk to a step on the way to the next milestone."""
        self.walk.advance(stop)

    @property
    def gaps(self) -> Array | None:
        """The relative duality gap of each member, where the solver has certificates."""
        return None

    def prepare(self) -> None:
        """Prepare the next step."""

    def advance(self, stop: int) -> None:
        """Continue until `stop`."""
        raise NotImplementedError

    def complete(self) -> None:
        """Finish predictors of a walk that ends here; a walk that continues is not changed."""

    def predictors(self) -> tuple[Array, Array]:
        """Return the current vectors (members x width) and biases (members)."""
        raise NotImplementedError

    def scores(self, index: Array) -> Array:
        """Return decision values of these rows, members x rows."""
        vectors, bias = self.predictors()
        constant = (self.walk.method.constant * bias)[:, None]
        return self.walk.rows.evaluate(index, vectors) + constant.astype(vectors.dtype)

    def support(self) -> Array:
        """Tell which coefficients are not zero, members x rows; only for kernels."""
        return np.asarray((self.walk.coefficients() != 0)[self.member_columns()])

    def member_columns(self) -> Array:
        """Return the column of each member in the walk, class by class."""
        return self.walk.column_of().reshape(-1)


class PegasosSolver(Solver):
    """Pegasos: the predictor after t steps is V/(λ k t), or a mean of those up to known stops."""

    def __init__(
        self, walk: Walk, lams: Array, batch: int, average: bool | float, stops: list[int]
    ) -> None:
        super().__init__(walk)
        self._units = np.tile(np.asarray(lams, dtype=np.float64) * batch, len(walk.classes))
        # the mean is over the vectors after steps start+1..stop: all of them, or the last fraction
        share = 1.0 if isinstance(average, bool | np.bool_) else float(average)
        self._starts = {stop: stop - math.ceil(share * stop) for stop in stops} if average else {}
        self._sums: dict[int, tuple[Array, Array]] = {}
        self._average = bool(average)

    def advance(self, stop: int) -> None:
        """Continue until `stop`."""
        for start in sorted(set(self._starts.values())):
            if self.walk.step < start <= stop:
                self.walk.advance(start)
                self._sums[start] = self._members(self.walk.sums())
        self.walk.advance(stop)

    walk_on = advance

    def _members(self, pair: tuple[Array, Array]) -> tuple[Array, Array]:
        columns = self.member_columns()
        return pair[0][columns], pair[1][columns]

    def predictors(self) -> tuple[Array, Array]:
        """Return the current vectors and biases."""
        step = self.walk.step
        if not self._average:
            vectors, bias = self._members(self.walk.vectors())
            scale = self._units * step
            return vectors / scale[:, None].astype(vectors.dtype), bias / scale
        start = self._starts[step]
        total, bias = self._members(self.walk.sums())
        if start > 0:
            before, bias_before = self._sums[start]
            total, bias = total - before, bias - bias_before
        scale = self._units * (step - start)
        return (total / scale[:, None]).astype(self.walk.rows.dtype), bias / scale

    def scores(self, index: Array) -> Array:
        """Return decision values of these rows, members x rows."""
        if self._average or not self.walk.rows.dual:
            return super().scores(index)
        columns = self.member_columns()
        scale = (self._units * self.walk.step)[:, None]
        return self.walk.scores(index)[columns] / scale.astype(self.walk.rows.dtype)


class EpochSolver(Solver):
    """Solver that decides after each epoch of m steps which columns are frozen."""

    def __init__(self, walk: Walk, m: int) -> None:
        super().__init__(walk)
        self.m = m
        self.epoch = walk.step // m

    def milestones(self, stop: int) -> Sequence[int]:
        """Return every epoch up to `stop`."""
        return range(self.epoch + 1, stop + 1)

    def steps_at(self, stop: int) -> int:
        """Return the number of steps in `stop` epochs."""
        return stop * self.m

    def advance(self, stop: int) -> None:
        """Continue until `stop`."""
        self.prepare()
        while self.epoch < stop and not self.finished and not deadline_reached():
            self.walk_epoch()

    def walk_epoch(self) -> None:
        """Run an epoch."""
        raise NotImplementedError


class PerceptronSolver(EpochSolver):
    """Perceptron: epochs until a column makes no mistake; the last vector, or the mean of all."""

    def __init__(
        self,
        walk: Walk,
        m: int,
        average: bool,
        done: Array | None = None,
        steps: Array | None = None,
    ) -> None:
        super().__init__(walk, m)
        columns = len(walk.classes)
        self.average = average
        self.steps = np.zeros(columns, dtype=np.int64) if steps is None else steps
        self.frozen = np.zeros(columns, dtype=bool) if done is None else done
        self.mistakes: list[Array] = []
        self.losses: list[Array] = []

    @property
    def finished(self) -> bool:  # type: ignore[override]
        """Whether all columns have had an epoch without mistakes."""
        return bool(self.frozen.all())

    def walk_epoch(self) -> None:
        """Run an epoch; columns that made no mistake in it are frozen."""
        walk = self.walk
        walk.advance(walk.step + self.m)
        self.epoch += 1
        self.steps = self.steps + np.where(self.frozen, 0, self.m)
        mistakes = walk.take_mistakes()
        self.mistakes.append(mistakes)
        self.losses.append(walk.take_losses() / self.m)
        self.frozen = self.frozen | (mistakes == 0)
        walk.freeze(self.frozen)

    def predictors(self) -> tuple[Array, Array]:
        """Return the current vectors and biases."""
        if not self.average:
            return self.walk.vectors()
        total, bias = self.walk.sums()
        return (total / self.steps[:, None]).astype(self.walk.rows.dtype), bias / self.steps

    def scores(self, index: Array) -> Array:
        """Return decision values of these rows, members x rows."""
        if self.average or not self.walk.rows.dual:
            return super().scores(index)
        return self.walk.scores(index)
