"""The Perceptron: add an example that is on the wrong side, until none is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.losses import LOSSES
from pegasos.engine.walk.rules import PERCEPTRON, Method
from pegasos.learners.catalogue import PERCEPTRON as DECLARED
from pegasos.learners.one_vs_all import OTHER_ROWS, OneVsAllClassifier, is_linear, resume
from pegasos.learners.task import Task, check_stops, draw_seed, positive, whole_number

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.walk.solvers import PerceptronSolver, Solver
    from pegasos.engine.walk.walk import Walk

Array = np.ndarray[Any, Any]


class Perceptron(OneVsAllClassifier):
    """The Perceptron, linear or with a kernel, one-vs-all: w += η ω_i y_i x_i wherever y_i w·x_i <= 0.

    Each column stops by itself after an epoch without a mistake; ω is scaled to mean 1.

    Parameters
    ----------
    kernel : None (linear: `coef_`), a kernel object or its name, "precomputed", or a function (X, Z) -> matrix.
    epochs : passes over the rows at most.
    learning_rate : η > 0; it scales the vector and its intercept, and changes no decision.
    shuffle : a new random order in each epoch; False: the rows' own order.
    average : True (the mean of the vectors after all steps: far steadier) or False (the last vector).
    fit_intercept : True (a constant feature; K + 1 with a kernel) or False.
    class_weight, checkpoints (in epochs), warm_start, memory, random_state : as in `Pegasos`.

    Attributes
    ----------
    classes_, coef_, intercept_ : as in scikit-learn; with a kernel `support_`, `support_vectors_`, `dual_coef_`, `kernel_`.
    n_iter_ : epochs done. mistakes_ : mistakes in each epoch (epochs x columns). plan_ : where rows came from.
    loss_curve_ : mean of max(0, -y s) over each epoch (epochs x columns).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = Perceptron(random_state=0).fit(X[:1000], y[:1000])
    >>> round(clf.score(X[1000:], y[1000:]), 2)
    0.92
    """

    declaration = DECLARED
    _mistakes: list[Array]
    _losses: list[Array]

    def __init__(
        self,
        kernel: Any = None,
        epochs: int = 100,
        *,
        learning_rate: float = 1.0,
        shuffle: bool = True,
        average: bool = True,
        fit_intercept: bool = True,
        class_weight: Any = None,
        checkpoints: Any = None,
        warm_start: bool = False,
        memory: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.shuffle = shuffle
        self.average = average
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.checkpoints = checkpoints
        self.warm_start = warm_start
        self.memory = memory
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Perceptron:
        """Learn from rows X (dense or CSR) and labels y; `sample_weight` >= 0, one a row."""
        task = self._open(X, y, sample_weight)
        saved = self._saved if self._goes_on else None
        if saved is None:
            self._seed = draw_seed(self.random_state)
            self._steps, self._mistakes, self._losses = (
                np.zeros(len(task.columns), dtype=np.int64),
                [],
                [],
            )
        walk = self._full_walk(task, self._seed)
        if saved is not None:
            resume(walk, saved)
        from pegasos.engine.walk.solvers import PerceptronSolver

        solver = PerceptronSolver(
            walk,
            task.m,
            self.average,
            None if saved is None else saved["frozen"].copy(),
            self._steps,
        )
        last = solver.epoch + self.epochs
        stops = check_stops(self.checkpoints, solver.epoch, last, "epochs")
        stages = []
        for stop in [
            *stops,
            last,
        ]:  # a stop that is not reached is where a longer run would have ended, too
            solver.advance(stop)
            stages.append(solver.predictors())
        self._finish(task, solver, stages, stops)
        return self

    @available_if(is_linear)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Perceptron:
        """Walk once over these rows, in their order, from where the last call ended; weights count as they are.

        `classes` must name all classes at the first call.
        """
        task, first = self._open_part(X, y, classes, sample_weight)
        walk = self._walk(
            task, Draws("in-order", task.m), task.weights, 0 if first else self._saved["step"]
        )
        if first:
            self._steps, self._mistakes, self._losses = (
                np.zeros(len(task.columns), dtype=np.int64),
                [],
                [],
            )
        else:
            resume(walk, {**self._saved, "frozen": np.zeros(len(task.columns), dtype=bool)})
        self._mark = OTHER_ROWS
        from pegasos.engine.walk.solvers import PerceptronSolver

        solver = PerceptronSolver(walk, task.m, self.average, steps=self._steps)
        solver.walk_epoch()
        self._finish(task, solver, [solver.predictors()], [])
        return self

    def _check_parameters(self) -> None:
        whole_number("epochs", self.epochs)
        positive("learning_rate", self.learning_rate)
        if not isinstance(self.average, bool | np.bool_):
            raise ValueError(
                f"average must be True or False (when the Perceptron ends is not known before), got {self.average!r}."
            )

    def _walk(self, task: Task, draws: Draws, weights: Array, origin: int = 0) -> Walk:
        method = Method(
            PERCEPTRON,
            LOSSES["perceptron"],
            constant=task.constant,
            averaging=bool(self.average),
            tracking=True,
        )
        return task.walk(
            method, draws, np.array([float(self.learning_rate)]), weights, origin=origin
        )

    def _full_walk(self, task: Task, seed: int) -> Walk:
        return self._walk(
            task,
            Draws("permutation" if self.shuffle else "in-order", task.m, seed),
            task.relative_weights,
        )

    def _finish(
        self, task: Task, solver: PerceptronSolver, stages: list[Any], stops: list[int]
    ) -> None:
        self._steps = solver.steps
        self._mistakes = [*self._mistakes, *solver.mistakes]
        self._losses = [*self._losses, *solver.losses]
        self.mistakes_, self.loss_curve_ = np.array(self._mistakes), np.array(self._losses)
        self.n_iter_ = len(self._mistakes)
        self._saved = solver.walk.save() if self.warm_start or task.kernel is None else None
        self._publish(task, stages, stops)

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        from pegasos.engine.walk.solvers import PerceptronSolver

        return [PerceptronSolver(self._full_walk(task, seed), task.m, self.average)]
