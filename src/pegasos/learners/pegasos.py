"""Pegasos: stochastic sub-gradient steps of length 1/(λt) on a regularized loss."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.engine.walk import rules
from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.rules import Method
from pegasos.learners.catalogue import PEGASOS
from pegasos.learners.partial_fit import PartialFitClassifier, resume
from pegasos.learners.regularized import RegularizedClassifier
from pegasos.learners.task import Task, check_stops, one_of, positive, whole_number

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.walk.solvers import Solver
    from pegasos.engine.walk.walk import Walk

Array = np.ndarray[Any, Any]

DEFAULT_EPOCHS = 20
CURVE_POINTS = 100


@dataclass(eq=False, repr=False)
class Pegasos(PartialFitClassifier, RegularizedClassifier):
    """Primal estimated sub-gradient solver, linear or with a kernel.

    Minimizes λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω, one-vs-rest. Step t draws k examples and goes from
    the shrunk vector v = (1 - 1/t) w to w = v - (1/(λ t k)) Σ ω_i ℓ'(y_i v·x_i) y_i x_i, with ω
    scaled to mean 1.

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        Hinge loss (SVM) or logistic loss, also called "log_loss".
    lam, C : float, optional
        Strength of regularization: λ > 0, SGDClassifier's alpha, or SVC's C, λ = 1/(C Σω); at most
        one of them. Without both, λ is 1e-3 when linear, and with a kernel 1e-4 (hinge) or 1e-5
        (logistic).
    n_iter, epochs : int, optional
        Number of steps, or of passes (m/k steps each); at most one of them. Without both, 20
        epochs.
    batch_size : int, default=1
        Examples per step, k.
    sampling : str, array of int or callable, default="permutation"
        "permutation" (a new order in each epoch), "fixed-permutation" (one order), "in-order",
        "uniform" (with replacement), an array of row indices to visit, or a callable m -> indices
        for cross-validation, where the number m of training rows differs between folds. Each step
        consumes `batch_size` indices; a smaller n_iter is a prefix. Without n_iter and epochs, all
        indices of an array are visited.
    draws : {"shared", "independent"}, default="shared"
        Whether all classes see the same examples, or each has its own.
    projection : bool, default=False
        After each step, bring w back into the ball ‖w‖ <= 1/√λ, which contains the optimum.
    average : bool or float, default=0.5
        Predict with the last vector (False), the mean of all (True), or the mean of the last part
        of the steps (a fraction).
    fit_intercept : bool, default=True
        Add a constant feature, which is regularized (K + 1 with a kernel).
    warm_start : bool, default=False
        Continue the last fit: T1 steps and then T2 equal T1 + T2 steps.
    <Parameters>

    Attributes
    ----------
    lam_ : float
        λ.
    n_iter_ : int
        Number of steps.
    loss_curve_, loss_curve_steps_ : ndarray
        Mean loss of the drawn examples before their step (points x columns), and the steps up to
        which these means go.
    <Attributes>

    See Also
    --------
    SDCA : The optimum of the same objective, with a certificate.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro, Cotter (2011), Pegasos: primal estimated sub-gradient solver for
    SVM.

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

    n_iter: int | None = None
    epochs: int | None = None
    _: KW_ONLY
    batch_size: int = 1
    draws: str = "shared"
    projection: bool = False
    average: bool | float = 0.5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("draws", self.draws, ("shared", "independent"))
        whole_number("batch_size", self.batch_size)
        if self.n_iter is not None and self.epochs is not None:
            raise ValueError("give n_iter or epochs, not both.")
        if not isinstance(self.average, bool | np.bool_) and positive("average", self.average) > 1:
            raise ValueError(f"average must be False, True or in (0, 1], got {self.average!r}.")
        if isinstance(self.sampling, str):
            return
        if self.draws != "shared":
            raise ValueError('explicit row indices in `sampling` need draws="shared".')
        if not callable(self.sampling):
            self._checked_indices(self.sampling)
        elif self.n_iter is None and self.epochs is None:
            raise ValueError("a callable `sampling` needs n_iter or epochs.")

    def _checked_indices(self, sampling: Any) -> Array:
        indices = np.asarray(sampling)
        is_list = indices.ndim == 1 and np.issubdtype(indices.dtype, np.integer)
        if not is_list or len(indices) < self.batch_size:
            raise ValueError(
                "sampling must be the name of a sampling, an array of at least "
                f"batch_size={self.batch_size} row indices, or a callable m -> indices; got "
                f"{sampling!r}."
            )
        return indices

    @property
    def _usual_strength(self) -> tuple[str, float]:
        # 1e-3 and the λ of each loss: measured in docs/defaults.md
        return "lam", (1e-3 if self.kernel is None else self._loss.default_kernel_lam) or 1e-3

    @property
    def _stop(self) -> tuple[str, int]:
        if self.n_iter is not None:
            return "n_iter", whole_number("n_iter", self.n_iter)
        if self.epochs is not None:
            return "epochs", whole_number("epochs", self.epochs)
        if not isinstance(self.sampling, str):
            return "n_iter", len(self.sampling) // self.batch_size
        return "epochs", DEFAULT_EPOCHS

    def _planned_stop(self, m: int) -> int:
        name, count = self._stop
        return count if name == "n_iter" else math.ceil(count * m / self.batch_size)

    def _learn(self, task: Task, saved: Any) -> None:
        start = 0 if saved is None else saved[0]["step"]
        end = start + self._planned_stop(task.m)
        stops = check_stops(self.checkpoints, start, end, "steps")
        walks = self._walks(task, np.array([self.lam_]), self._seed, end)
        if saved is not None:
            if not isinstance(self.average, bool | np.bool_):
                raise ValueError(
                    "warm_start needs average=True or False: a fraction needs a known last step."
                )
            if len(saved) != len(walks):
                raise ValueError(
                    "warm_start needs the `draws` of the last fit; use warm_start=False for others."
                )
            for walk, state in zip(walks, saved, strict=True):
                resume(walk, state)
        self._run(task, walks, end, stops, self.average)

    def _learn_part(self, task: Task, saved: Any) -> None:
        if self.C is not None:
            raise ValueError("partial_fit needs lam: C depends on the weight of all rows.")
        self.lam_ = self._lam_for(task.total_weight)
        start = 0 if saved is None else saved[0]["step"]
        draws, lams = Draws("in-order", task.m), np.array([self.lam_])
        walk = self._walk(task, task.columns, draws, task.weights, lams, origin=start)
        if saved is not None:
            resume(walk, _joined(saved))
        # The number of all rows is unknown: a fraction for `average` means the mean of all steps.
        end = start + math.ceil(task.m / self.batch_size)
        self._run(task, [walk], end, [], bool(self.average))

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        from pegasos.engine.walk.solvers import PegasosSolver

        walks = self._walks(task, lams, seed, max(stops), tracking=False)
        return [PegasosSolver(walk, lams, self.batch_size, self.average, stops) for walk in walks]

    def _walks(
        self, task: Task, lams: Array, seed: int, stop: int, tracking: bool = True
    ) -> list[Walk]:
        """Return one walk for all columns, or one per column where each has draws of its own."""
        by_name = isinstance(self.sampling, str)
        sampling = self.sampling if by_name else self._explicit_draws(task.m, stop)
        shared, weights = self.draws == "shared", task.relative_weights
        return [
            self._walk(
                task, columns, Draws(sampling, task.m, seed, stream), weights, lams, tracking
            )
            for stream, columns in enumerate([task.columns] if shared else task.columns[:, None])
        ]

    def _explicit_draws(self, m: int, steps: int) -> Array:
        """Return the row indices that `sampling` lists, or returns for m training rows."""
        by_size = callable(self.sampling)
        indices = self._checked_indices(self.sampling(m) if by_size else self.sampling)
        low, high = indices.min(), indices.max()
        if low < 0 or high >= m:
            hint = "" if by_size else " In cross-validation, pass a callable m -> indices."
            raise ValueError(
                f"sampling has the row index {low if low < 0 else high}, but there are {m} "
                f"training rows.{hint}"
            )
        needed = steps * self.batch_size
        if needed > len(indices):
            raise ValueError(
                f"{steps} steps with batch_size={self.batch_size} need {needed} row indices, "
                f"but `sampling` has {len(indices)}: take fewer steps, or give more indices."
            )
        return indices.astype(np.int64)

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
        switches = (bool(self.projection), bool(self.average), tracking)
        method = Method(rules.PEGASOS, self._loss, self.batch_size, task.constant, *switches)
        params = lams * self.batch_size
        radius = np.sqrt(lams) * self.batch_size
        return task.walk(method, draws, params, weights, columns, radius=radius, origin=origin)

    def _run(
        self, task: Task, walks: list[Walk], end: int, stops: list[int], average: bool | float
    ) -> None:
        """Advance the walks to the end, and publish predictors and the mean losses on the way."""
        from pegasos.engine.walk.solvers import PegasosSolver

        start, wanted, lams = walks[0].step, [*stops, end], np.array([self.lam_])
        solvers = [PegasosSolver(each, lams, self.batch_size, average, wanted) for each in walks]
        parts = range(1, CURVE_POINTS + 1)
        points = sorted({start + math.ceil((end - start) * p / CURVE_POINTS) for p in parts})
        curve, stages, before = list[Array](), dict[int, Any](), start
        for stop in sorted({*wanted, *points}):
            for solver in solvers:
                solver.advance(stop)
            if stop in points:
                drawn, before = (stop - before) * self.batch_size, stop
                curve.append(np.concatenate([walk.take_losses() / drawn for walk in walks]))
            if stop in wanted:
                vectors, bias = zip(*(solver.predictors() for solver in solvers), strict=True)
                stages[stop] = np.concatenate(vectors), np.concatenate(bias)
        earlier = ([], []) if not start else (self.loss_curve_, self.loss_curve_steps_)
        self.loss_curve_ = np.array([*earlier[0], *curve])
        self.loss_curve_steps_, self.n_iter_ = np.array([*earlier[1], *points]), end
        keeps = self.warm_start or task.kernel is None
        self._saved = [walk.save() for walk in walks] if keeps else None
        self._publish(task, [stages[stop] for stop in wanted], stops)


def _joined(saved: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the states of walks with one class each as the state of one walk."""
    names = saved[0].keys() - {"step"}
    arrays = {name: np.concatenate([part[name] for part in saved]) for name in names}
    return {**arrays, "step": saved[0]["step"]}
