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

    # -- parameters --------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        one_of("draws", self.draws, ("shared", "independent"))
        whole_number("batch_size", self.batch_size)
        if self.n_iter is not None and self.epochs is not None:
            raise ValueError(
                f"give n_iter or epochs, not both; got n_iter={self.n_iter!r}, "
                f"epochs={self.epochs!r}."
            )
        if not isinstance(self.average, bool | np.bool_):
            if not 0 < positive("average", self.average) <= 1:
                raise ValueError(
                    f"average must be False, True or a fraction in (0, 1], got {self.average!r}."
                )
        if not isinstance(self.sampling, str):
            self._check_explicit_draws()

    def _check_explicit_draws(self) -> None:
        if self.draws != "shared":
            raise ValueError('explicit row indices in `sampling` need draws="shared".')
        if self.n_iter is not None or self.epochs is not None:
            return
        if callable(self.sampling):
            raise ValueError("a callable `sampling` needs n_iter or epochs.")
        if np.ndim(self.sampling) != 1 or len(self.sampling) < self.batch_size:
            raise ValueError(
                "sampling must be a distribution's name or a one-dimensional array of row indices, "
                f"at least batch_size={self.batch_size} of them; got {self.sampling!r}."
            )

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

    # -- the run -----------------------------------------------------------------------------------

    def _learn(self, task: Task, saved: Any) -> None:
        if saved is not None:
            self._check_continuation(task)
        start = 0 if saved is None else saved[0]["step"]
        end = start + self._planned_stop(task.m)
        stops = check_stops(self.checkpoints, start, end, "steps")
        walks = self._walks(task, np.array([self.lam_]), self._seed, end)
        for walk, state in zip(walks, saved or (), strict=saved is not None):
            resume(walk, state)
        self._run(task, walks, end, stops, self.average, saved is None)

    def _learn_part(self, task: Task, saved: Any) -> None:
        if self.C is not None:
            raise ValueError(
                "C needs the weight of all rows, which partial_fit does not know: give lam."
            )
        self.lam_ = self._lam_for(task.total_weight)
        start = 0 if saved is None else saved[0]["step"]
        draws, lams = Draws("in-order", task.m), np.array([self.lam_])
        walk = self._walk(task, task.columns, draws, task.weights, lams, origin=start)
        if saved is not None:
            resume(walk, _joined(saved))
        # The number of all rows is unknown: a fraction for `average` means the mean of all steps.
        end = start + math.ceil(task.m / self.batch_size)
        self._run(task, [walk], end, [], bool(self.average), saved is None)

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        from pegasos.engine.walk.solvers import PegasosSolver

        walks = self._walks(task, lams, seed, max(stops), tracking=False)
        return [PegasosSolver(walk, lams, self.batch_size, self.average, stops) for walk in walks]

    def _check_continuation(self, task: Task) -> None:
        if not isinstance(self.average, bool | np.bool_):
            raise ValueError(
                "warm_start needs average=True or False: a fraction of all steps cannot be known "
                "before the end."
            )
        if len(self._saved) != len(self._groups(task)):
            raise ValueError(
                "warm_start goes on with the same `draws`; refit with warm_start=False for others."
            )

    def _groups(self, task: Task) -> list[Array]:
        """Return the columns that share draws."""
        return [task.columns] if self.draws == "shared" else list(task.columns[:, None])

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

    def _walks(
        self, task: Task, lams: Array, seed: int, stop: int, tracking: bool = True
    ) -> list[Walk]:
        """Return one walk for all columns, or one per column where each has draws of its own."""
        sampling = self.sampling
        if not isinstance(sampling, str):
            sampling, needed = explicit_draws(sampling, task.m), stop * self.batch_size
            if needed > len(sampling):
                raise ValueError(
                    f"{stop} steps with batch_size={self.batch_size} need {needed} row indices, "
                    f"`sampling` has {len(sampling)}. Take fewer steps or give more indices."
                )
        weights = task.relative_weights
        return [
            self._walk(
                task, columns, Draws(sampling, task.m, seed, stream), weights, lams, tracking
            )
            for stream, columns in enumerate(self._groups(task))
        ]

    def _run(
        self,
        task: Task,
        walks: list[Walk],
        end: int,
        stops: list[int],
        average: bool | float,
        first: bool,
    ) -> None:
        """Advance the walks to the end, and publish predictors and the mean losses on the way."""
        from pegasos.engine.walk.solvers import PegasosSolver

        start, wanted, lams = walks[0].step, [*stops, end], np.array([self.lam_])
        parts = range(1, CURVE_POINTS + 1)
        points = sorted({start + math.ceil((end - start) * p / CURVE_POINTS) for p in parts})
        stages, losses = dict[int, list[Any]](), dict[int, list[Array]]()
        for walk in walks:
            solver = PegasosSolver(walk, lams, self.batch_size, average, wanted)
            before = start
            for mark in sorted({*wanted, *points}):
                solver.advance(mark)
                if mark in points:
                    drawn, before = (mark - before) * self.batch_size, mark
                    losses.setdefault(mark, []).append(walk.take_losses() / drawn)
                if mark in wanted:
                    stages.setdefault(mark, []).append(solver.predictors())
        curve, steps = np.array([np.concatenate(losses[each]) for each in points]), np.array(points)
        if not first:
            curve = np.concatenate([self.loss_curve_, curve])
            steps = np.concatenate([self.loss_curve_steps_, steps])
        self.loss_curve_, self.loss_curve_steps_, self.n_iter_ = curve, steps, end
        keeps = self.warm_start or task.kernel is None
        self._saved = [walk.save() for walk in walks] if keeps else None
        joined = [
            (
                np.concatenate([v for v, _ in stages[stop]]),
                np.concatenate([b for _, b in stages[stop]]),
            )
            for stop in wanted
        ]
        self._publish(task, joined, stops)


def explicit_draws(sampling: Any, m: int) -> Array:
    """Return the row indices that `sampling` lists, or returns for m training rows."""
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
            f"sampling has the row index {low if low < 0 else high}, but there are {m} training "
            f"rows.{hint}"
        )
    return indices.astype(np.int64)


def _joined(saved: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the states of walks with one class each as the state of one walk."""
    names = saved[0].keys() - {"step"}
    arrays = {name: np.concatenate([part[name] for part in saved]) for name in names}
    return {**arrays, "step": saved[0]["step"]}
