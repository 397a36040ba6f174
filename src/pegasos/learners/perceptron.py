"""The Perceptron: add misclassified examples until there are none."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.losses import LOSSES
from pegasos.engine.walk.rules import PERCEPTRON, Method
from pegasos.learners.catalogue import PERCEPTRON as DECLARED
from pegasos.learners.partial_fit import PartialFitClassifier, resume
from pegasos.learners.task import Task, check_stops, positive, whole_number

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.walk.solvers import PerceptronSolver, Solver

Array = np.ndarray[Any, Any]


@dataclass(eq=False, repr=False)
class Perceptron(PartialFitClassifier):
    """The Perceptron, linear or with a kernel: w += η ω_i y_i x_i wherever y_i w·x_i <= 0.

    Several classes are separated one-vs-rest. Each predictor stops after an epoch without a
    mistake; weights ω are scaled to mean 1.

    Parameters
    ----------
    epochs : int, default=100
        Largest number of passes over the rows.
    learning_rate : float, default=1.0
        η; it scales the vector and its intercept, and changes no decision.
    shuffle : bool, default=True
        Visit rows in a new random order in each epoch; else in their own order.
    average : bool, default=True
        Predict with the mean of the vectors after all steps, which is far steadier, instead of the
        last vector.
    fit_intercept : bool, default=True
        Add a constant feature (K + 1 with a kernel).
    warm_start : bool, default=False
        Continue the last fit: T1 epochs and then T2 equal T1 + T2 epochs.
    <Parameters>

    Attributes
    ----------
    n_iter_ : int
        Number of epochs.
    mistakes_ : ndarray of shape (n_epochs, n_columns)
        Mistakes in each epoch.
    loss_curve_ : ndarray of shape (n_epochs, n_columns)
        Mean of max(0, -y s) over each epoch.
    <Attributes>

    See Also
    --------
    Pegasos : Stochastic steps on a regularized loss.
    SDCA : The optimum of a regularized loss, with a certificate.

    References
    ----------
    Rosenblatt (1958), The perceptron.
    Freund, Schapire (1999), Large margin classification using the perceptron algorithm.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = Perceptron(random_state=0).fit(X[:1000], y[:1000])
    >>> round(clf.score(X[1000:], y[1000:]), 2)
    0.92
    """

    declaration = DECLARED

    kernel: Any = None
    epochs: int = 100
    _: KW_ONLY
    learning_rate: float = 1.0
    shuffle: bool = True
    average: bool = True

    def _check_parameters(self) -> None:
        whole_number("epochs", self.epochs)
        positive("learning_rate", self.learning_rate)
        if not isinstance(self.average, bool | np.bool_):
            raise ValueError(f"average must be True or False, got {self.average!r}.")

    def _learn(self, task: Task, saved: Any) -> None:
        solver = self._solver(task, self._seed, saved)
        last = solver.epoch + self.epochs
        stops, stages = check_stops(self.checkpoints, solver.epoch, last, "epochs"), []
        # A stop that is not reached is where a longer run would have ended, too.
        for stop in [*stops, last]:
            solver.advance(stop)
            stages.append(solver.predictors())
        self._finish(task, solver, stages, stops, saved)

    def _learn_part(self, task: Task, saved: Any) -> None:
        solver = self._solver(task, None, saved)
        solver.walk_epoch()
        self._finish(task, solver, [solver.predictors()], [], saved)

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        return [self._solver(task, seed, None)]

    def _solver(self, task: Task, seed: int | None, saved: Any) -> PerceptronSolver:
        """Return a solver of all rows; without a seed, of rows in their order (`partial_fit`)."""
        from pegasos.engine.walk.solvers import PerceptronSolver

        loss, switches = LOSSES["perceptron"], {"averaging": bool(self.average), "tracking": True}
        method = Method(PERCEPTRON, loss, constant=task.constant, **switches)
        part, rate = seed is None, np.array([float(self.learning_rate)])
        order = "permutation" if self.shuffle and not part else "in-order"
        weights = task.weights if part else task.relative_weights
        origin = saved["step"] if part and saved is not None else 0
        walk = task.walk(method, Draws(order, task.m, seed or 0), rate, weights, origin=origin)
        done, steps = None, None
        if saved is not None:
            done = np.zeros(len(walk.classes), bool) if part else saved["frozen"].copy()
            steps = self._steps
            resume(walk, {**saved, "frozen": done})
        return PerceptronSolver(walk, task.m, self.average, done, steps)

    def _finish(
        self, task: Task, solver: PerceptronSolver, stages: Any, stops: list[int], saved: Any
    ) -> None:
        before = ([], []) if saved is None else (self.mistakes_, self.loss_curve_)
        self.mistakes_ = np.array([*before[0], *solver.mistakes])
        self.loss_curve_ = np.array([*before[1], *solver.losses])
        self.n_iter_, self._steps = len(self.mistakes_), solver.steps
        self._saved = solver.walk.save() if self.warm_start or task.kernel is None else None
        self._publish(task, stages, stops)
