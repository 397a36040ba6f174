"""Pegasos: stochastic sub-gradient steps of length 1/(λt) on a regularized loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from pegasos.engine.walk import rules
from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.rules import Method
from pegasos.learners.catalogue import PEGASOS
from pegasos.learners.one_vs_all import OTHER_ROWS, is_linear, resume
from pegasos.learners.regularized import RegularizedClassifier
from pegasos.learners.task import Task, check_stops, draw_seed, one_of, positive, whole_number

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.walk.solvers import Solver
    from pegasos.engine.walk.walk import Walk

Array = np.ndarray[Any, Any]

DEFAULT_EPOCHS = 20
CURVE_POINTS = 100


class Pegasos(RegularizedClassifier):
    """Primal estimated sub-gradient solver, linear or with a kernel, one-vs-all.

    Minimizes λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω. At step t it draws k examples and goes from the shrunk vector v = (1 - 1/t) w to
    w = v - (1/(λ t k)) Σ ω_i ℓ'(y_i v·x_i) y_i x_i, with ω scaled to mean 1.

    Parameters
    ----------
    loss : "hinge" (SVM) or "logistic" (also called "log_loss").
    lam, C : strength of regularization: λ > 0, SGDClassifier's alpha, or SVC's C, λ = 1/(C Σω); at most one of them. Neither:
        λ = 1e-3 when linear, with a kernel 1e-4 (hinge) or 1e-5 (logistic).
    kernel : None (linear: `coef_`), a kernel object or its name, "precomputed", or a function (X, Z) -> matrix.
    n_iter, epochs : steps in all, or passes (of m/k steps); at most one of them. Neither: 20 epochs.
    batch_size : examples a step, k.
    sampling : "permutation" (a new order each epoch), "fixed-permutation" (one order, kept), "in-order", "uniform" (with
        replacement),
        an array of row indices in the order in which they are visited, or a callable m -> indices for cross-validation,
        where the number m of training rows differs between folds. Each step consumes `batch_size` indices; a smaller
        n_iter is a prefix. Without n_iter and epochs, all indices of an array are visited.
    draws : "shared" (all classes see the same examples) or "independent" (each class has its own).
    projection : after each step, bring w back into the ball ‖w‖ <= 1/√λ, in which the optimum lies.
    average : False (the last vector), True (the mean of all), or a fraction (the mean of the last part of the steps).
    fit_intercept : True (a constant feature, regularized: K + 1 with a kernel) or False.
    class_weight : None, "balanced" or {class: weight}; multiplies sample_weight.
    checkpoints : steps at which to keep the predictor for `staged_decision_function`.
    warm_start : go on from the last fit: T1 steps and then T2 steps equal T1 + T2 steps.
    memory : bytes (or "2GB") for all arrays of the engine, X excluded; None: half of the machine's memory.
    random_state : seed of the draws.

    Attributes
    ----------
    classes_, coef_, intercept_ : as in scikit-learn; with a kernel `support_`, `support_vectors_`, `dual_coef_`, `kernel_`.
    lam_ : λ. n_iter_ : steps done. plan_ : where rows came from.
    loss_curve_, loss_curve_steps_ : mean loss of the drawn examples before their step (points x columns), and up to which step.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = Pegasos(kernel="gaussian", random_state=0).fit(X[:1000] / 16, y[:1000])
    >>> round(clf.score(X[1000:] / 16, y[1000:]), 2)
    0.96
    """

    declaration = PEGASOS
    accepts_explicit_draws = True
    loss_curve_: Any
    loss_curve_steps_: Any

    def __init__(
        self,
        loss: str = "hinge",
        lam: float | None = None,
        kernel: Any = None,
        n_iter: int | None = None,
        epochs: int | None = None,
        *,
        C: float | None = None,
        batch_size: int = 1,
        sampling: Any = "permutation",
        draws: str = "shared",
        projection: bool = False,
        average: bool | float = 0.5,
        fit_intercept: bool = True,
        class_weight: Any = None,
        checkpoints: Any = None,
        warm_start: bool = False,
        memory: Any = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.lam = lam
        self.C = C
        self.kernel = kernel
        self.n_iter = n_iter
        self.epochs = epochs
        self.batch_size = batch_size
        self.sampling = sampling
        self.draws = draws
        self.projection = projection
        self.average = average
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.checkpoints = checkpoints
        self.warm_start = warm_start
        self.memory = memory
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Pegasos:
        """Learn from rows X (dense or CSR) and labels y; `sample_weight` >= 0, one a row."""
        task = self._open(X, y, sample_weight)
        steps = self._planned_stop(task.m)
        saved = self._resumable(task)
        if saved is None:
            self._seed = draw_seed(self.random_state)
            self.loss_curve_ = self.loss_curve_steps_ = None
        start = 0 if saved is None else saved[0]["step"]
        stops = check_stops(self.checkpoints, start, start + steps, "steps")
        walks = self._walks(task, np.array([self.lam_]), self._seed, start + steps)
        for walk, state in zip(walks, saved or (), strict=saved is not None):
            resume(walk, state)
        runs = [self._run(walk, start, start + steps, stops, self.average) for walk in walks]
        self._finish(task, walks, runs, stops)
        return self

    @available_if(is_linear)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Pegasos:
        """Walk once over these rows, in their order, from where the last call ended; weights count as they are.

        Rows are visited in their order, whatever `sampling` is.

        `classes` must name all classes at the first call. A step takes `batch_size` rows; the last is filled up from the first.
        How many rows will come is not known, so a fraction for `average` means the mean of all steps here.
        """
        if self.C is not None:
            raise ValueError(
                "C needs the weight of all rows, which partial_fit does not know: give lam."
            )
        task, first = self._open_part(X, y, classes, sample_weight)
        self.lam_ = self._lam_for(task.total_weight)
        steps = math.ceil(task.m / self.batch_size)
        start = 0 if first else self._saved[0]["step"]
        walk = self._walk(
            task,
            task.columns,
            Draws("in-order", task.m),
            task.weights,
            np.array([self.lam_]),
            origin=start,
        )
        if first:
            self.loss_curve_ = self.loss_curve_steps_ = None
        else:
            resume(walk, _joined(self._saved))
        self._mark = OTHER_ROWS
        self._finish(
            task, [walk], [self._run(walk, start, start + steps, [], bool(self.average))], []
        )
        return self

    # -- the run -----------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("draws", self.draws, ("shared", "independent"))
        whole_number("batch_size", self.batch_size)
        if self.n_iter is not None and self.epochs is not None:
            raise ValueError(
                f"give n_iter or epochs, not both; got n_iter={self.n_iter!r}, epochs={self.epochs!r}."
            )
        if not isinstance(self.average, bool | np.bool_):
            if not 0 < positive("average", self.average) <= 1:
                raise ValueError(
                    f"average must be False, True or a fraction in (0, 1], got {self.average!r}."
                )
        if not isinstance(self.sampling, str):
            self._check_explicit_draws()

    @property
    def _usual_strength(self) -> tuple[str, float]:
        # 1e-3 and the λ of each loss: measured in docs/defaults.md
        return "lam", (1e-3 if self.kernel is None else self._loss.default_kernel_lam) or 1e-3

    def _check_explicit_draws(self) -> None:
        if self.draws != "shared":
            raise ValueError('explicit row indices in `sampling` need draws="shared".')
        if self.n_iter is not None or self.epochs is not None:
            return
        if callable(self.sampling):
            raise ValueError("a callable `sampling` needs n_iter or epochs.")
        if np.ndim(self.sampling) != 1 or len(self.sampling) < self.batch_size:
            raise ValueError(
                "sampling must be a distribution's name or a one-dimensional array of row indices, at least "
                f"batch_size={self.batch_size} of them; got {self.sampling!r}."
            )

    @property
    def _stop(self) -> tuple[str, int]:
        if self.n_iter is not None:
            return "n_iter", whole_number("n_iter", self.n_iter)
        if self.epochs is None and not isinstance(self.sampling, str):
            return "n_iter", len(self.sampling) // self.batch_size
        return "epochs", DEFAULT_EPOCHS if self.epochs is None else whole_number(
            "epochs", self.epochs
        )

    def _planned_stop(self, m: int) -> int:
        name, count = self._stop
        return count if name == "n_iter" else math.ceil(count * m / self.batch_size)

    def _groups(self, task: Task) -> list[Array]:
        """The columns that share draws."""
        return (
            [task.columns]
            if self.draws == "shared"
            else [np.array([code]) for code in task.columns]
        )

    def _walk(
        self,
        task: Task,
        columns: Array,
        draws: Draws,
        weights: Array,
        lams: Array,
        tracking: bool = True,
        origin: int = 0,
    ) -> Walk:
        switches = {
            "projecting": bool(self.projection),
            "averaging": bool(self.average),
            "tracking": tracking,
        }
        method = Method(rules.PEGASOS, self._loss, self.batch_size, task.constant, **switches)
        radius = np.sqrt(lams) * self.batch_size
        return task.walk(
            method, draws, lams * self.batch_size, weights, columns, radius=radius, origin=origin
        )

    def _walks(
        self, task: Task, lams: Array, seed: int, stop: int, tracking: bool = True
    ) -> list[Walk]:
        """Return one walk for all columns, or one per column where each has draws of its own."""
        sampling = self.sampling
        if not isinstance(sampling, str):
            sampling = explicit_draws(sampling, task.m)
            if stop * self.batch_size > len(sampling):
                raise ValueError(
                    f"{stop} steps with batch_size={self.batch_size} need {stop * self.batch_size} "
                    f"row indices, `sampling` has {len(sampling)}. Take fewer steps or give more indices."
                )
        groups = [
            (columns, Draws(sampling, task.m, seed, stream))
            for stream, columns in enumerate(self._groups(task))
        ]
        return [
            self._walk(task, columns, draws, task.relative_weights, lams, tracking)
            for columns, draws in groups
        ]

    def _run(
        self, walk: Walk, start: int, end: int, stops: list[int], average: bool | float
    ) -> tuple[list[tuple[Array, Array]], Array, list[int]]:
        """Walk to the end; the stages at the stops and at the end, and the mean losses on the way."""
        wanted = [*stops, end]
        from pegasos.engine.walk.solvers import PegasosSolver

        solver = PegasosSolver(walk, np.array([self.lam_]), self.batch_size, average, wanted)
        points = sorted(
            {
                start + math.ceil((end - start) * p / CURVE_POINTS)
                for p in range(1, CURVE_POINTS + 1)
            }
        )
        stages = {}
        losses, before = [], start
        for mark in sorted({*wanted, *points}):
            solver.advance(mark)
            if mark in points:
                losses.append(walk.take_losses() / ((mark - before) * self.batch_size))
                before = mark
            if mark in wanted:
                stages[mark] = solver.predictors()
        return [stages[stop] for stop in wanted], np.array(losses), points

    def _finish(self, task: Task, walks: list[Walk], runs: list[Any], stops: list[int]) -> None:
        moments = zip(*(run[0] for run in runs), strict=True)
        stages = [
            (np.concatenate([v for v, _ in each]), np.concatenate([bias for _, bias in each]))
            for each in moments
        ]
        curve = np.concatenate([run[1] for run in runs], axis=1)
        points = np.array(runs[0][2])
        if self.loss_curve_ is not None:
            curve, points = (
                np.concatenate([self.loss_curve_, curve]),
                np.concatenate([self.loss_curve_steps_, points]),
            )
        self.loss_curve_, self.loss_curve_steps_ = curve, points
        self.n_iter_ = walks[0].step
        self._saved = (
            [walk.save() for walk in walks] if self.warm_start or task.kernel is None else None
        )
        self._publish(task, stages, stops)

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        walks = self._walks(task, lams, seed, max(stops), tracking=False)
        from pegasos.engine.walk.solvers import PegasosSolver

        return [PegasosSolver(walk, lams, self.batch_size, self.average, stops) for walk in walks]

    # -- going on ----------------------------------------------------------------------------------------------------

    def _resumable(self, task: Task) -> list[dict[str, Any]] | None:
        """Return the state of the last fit, if this one continues it."""
        if not self._goes_on:
            return None
        if not isinstance(self.average, bool | np.bool_):
            raise ValueError(
                "warm_start needs average=True or False: a fraction of all steps cannot be known before the end."
            )
        if len(self._saved) != len(self._groups(task)):
            raise ValueError(
                "warm_start goes on with the same `draws`; refit with warm_start=False for others."
            )
        return list(self._saved)


def explicit_draws(sampling: Any, m: int) -> Array:
    """Return the row indices that `sampling` lists, or returns for m training rows, as a checked array."""
    indices = np.asarray(sampling(m) if callable(sampling) else sampling)
    if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer) or not len(indices):
        raise ValueError(
            "sampling must be the name of a distribution, a one-dimensional array of row indices, "
            f"or a callable m -> indices; got {indices!r}."
        )
    low, high = indices.min(), indices.max()
    if low < 0 or high >= m:
        hint = "" if callable(sampling) else " In cross-validation, pass a callable m -> indices."
        raise ValueError(
            f"sampling has the row index {low if low < 0 else high}, but there are {m} training rows.{hint}"
        )
    return indices.astype(np.int64)


def _joined(saved: list[dict[str, Any]]) -> dict[str, Any]:
    """The states of walks with one class each as the state of one walk."""
    arrays = {
        key: np.concatenate([part[key] for part in saved]) for key in saved[0] if key != "step"
    }
    return {**arrays, "step": saved[0]["step"]}
