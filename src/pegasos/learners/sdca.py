"""SDCA: the optimum of a regularized loss, certified by its duality gap."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pegasos.engine.optimum.problem import (
    Certificate,
    Intercept,
    empty_history,
    summarize_histories,
)
from pegasos.engine.runtime.interruption import deadline_reached
from pegasos.learners.catalogue import ONE_VS_ONE, ONE_VS_REST
from pegasos.learners.catalogue import SDCA as DECLARED
from pegasos.learners.one_vs_one import on_own_rows, split_pairs
from pegasos.learners.parameters import NotConverged, warn_user
from pegasos.learners.regularized import RegularizedClassifier, has_certificate
from pegasos.learners.task import (
    Task,
    check_stops,
    column_labels,
    intercept_of,
    one_of,
    positive,
    whole_number,
)

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.optimum.dual_ascent import DualAscent
    from pegasos.engine.optimum.pair_ascent import PairAscent
    from pegasos.engine.walk.solvers import Solver

Array = np.ndarray[Any, Any]


@dataclass(eq=False, repr=False)
class SDCA(RegularizedClassifier):
    """The optimum of a regularized loss with a certificate, linear or with a kernel.

    Minimizes P(w) = λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω by maximizing its dual D(a) over 0 <= a_i <=
    C_i = ω_i/(λ Σω), where w = Σ a_i y_i x_i. Each predictor stops when (P - D)/P <= tol: then P is
    within that share of the minimum. The method depends on the problem (`plan_` names it):
    stochastic dual coordinate ascent, interior point and Newton methods (few features), working
    sets (kernels, hinge loss), or Newton's method with conjugate gradients (logistic loss).

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        Hinge loss (SVM) or logistic loss, also called "log_loss".
    lam, C : float, optional
        Strength of regularization: λ > 0, or SVC's C, λ = 1/(C Σω); at most one of them. Without
        both, C = 1.
    tol : float, default=1e-3
        Relative duality gap at which a predictor stops.
    max_epochs : int, default=1000
        Largest number of passes of coordinate ascent.
    sampling : {"permutation", "fixed-permutation", "in-order", "uniform"}, default="permutation"
        Order of the examples: a new one in each epoch, one for all, that of the rows, or draws with
        replacement.
    finish : bool, default=True
        Allow other methods than coordinate ascent, which start after the last of `checkpoints`.
        Without them, a fit may end above `tol` with a ConvergenceWarning.
    max_time : float, optional
        Seconds after which a fit returns its current predictors with their true gap, and warns. A
        search has a limit of its own.
    fit_intercept : bool or "free", default=True
        Add a constant feature, which is regularized (K + 1 with a kernel), or with "free" an
        intercept that is not regularized, as in SVC.
    multiclass : {"one-vs-rest", "one-vs-one"}, default="one-vs-rest"
        With "one-vs-one" each pair of classes (first, second), in lexicographic order, has a
        predictor trained on their rows only, and pairs vote, as in SVC; scores above 0 are votes
        for the second. C_i = ω_i/(λ Σω) is the same for all pairs, with Σω over all rows.
    warm_start : bool, default=False
        Start from the last fit, also where C, λ or the weights have changed.
    <Parameters>

    Attributes
    ----------
    lam_ : float
        λ.
    gap_ : float
        Largest relative duality gap of a predictor; nan for kernels without a certificate.
    objective_, dual_objective_ : ndarray of shape (n_columns,)
        P and D of each predictor.
    gap_curve_ : ndarray of shape (n_iter_, n_columns)
        Relative gap after each epoch, and at the end.
    objective_curve_ : ndarray of shape (n_points, 3)
        Number of the epoch or round, and means over the predictors of P and D (at most 40 points).
    n_iter_ : int
        Number of epochs, and one for other methods.
    <Attributes>

    See Also
    --------
    Pegasos : Stochastic steps on the same objective.
    pegasos.dask.DaskSDCA : Linear fits on rows that are on a Dask cluster.

    References
    ----------
    Shalev-Shwartz, Zhang (2013), Stochastic dual coordinate ascent methods for regularized loss
    minimization.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = SDCA(C=10, kernel="rbf", random_state=0).fit(X[:1000] / 16, y[:1000])
    >>> bool(clf.gap_ <= clf.tol), round(clf.score(X[1000:] / 16, y[1000:]), 2)
    (True, 0.97)
    """

    declaration = DECLARED

    tol: float = 1e-3
    max_epochs: int = 1000
    _: KW_ONLY
    finish: bool = True
    max_time: float | None = None
    multiclass: str = ONE_VS_REST

    def _check_parameters(self) -> None:
        super()._check_parameters()
        positive("tol", self.tol)
        one_of("multiclass", self.multiclass, (ONE_VS_REST, ONE_VS_ONE))
        whole_number("max_epochs", self.max_epochs)
        if intercept_of(self) is not Intercept.FREE:
            return
        if not self.finish:
            raise ValueError("fit_intercept='free' needs finish=True.")
        if self.checkpoints is not None:
            raise ValueError("checkpoints are not available with fit_intercept='free'.")

    def _solver(
        self, task: Task, lams: Array, seed: int, certified: bool, saved: Any = None
    ) -> DualAscent | PairAscent:
        """Return the solver of all predictors, from the saved state of the last fit if given."""
        from pegasos.engine.optimum.pair_ascent import Pair, PairAscent

        if not self.has_pairs(task.columns):
            return self._ascent(task, lams, seed, certified, saved)

        def start(part: Task, own: Array, state: Any = None) -> DualAscent:
            part = on_own_rows(part, self._loss.linear_dual)
            return self._ascent(part, own, seed, certified, state)

        parts: Any = split_pairs(task, lams)
        pairs = [Pair(part.members, partial(start, part, own)) for part, own in parts]
        solver = PairAscent(pairs, task.rows, saves=self.warm_start)
        if saved is not None:
            solver.resume(saved)
        return solver

    def _ascent(
        self, task: Task, lams: Array, seed: int, certified: bool, saved: Any
    ) -> DualAscent:
        from pegasos.engine.optimum.choice import ExactSolver
        from pegasos.engine.optimum.dual_ascent import DualAscent
        from pegasos.engine.optimum.problem import Problem
        from pegasos.engine.walk import rules
        from pegasos.engine.walk.draws import Draws
        from pegasos.engine.walk.rules import Method

        method = Method(rules.SDCA, self._loss, constant=task.constant)
        weights, codes = task.training(task.weights), task.training(task.codes)
        draws = Draws(self.sampling, task.m, seed)
        walk = task.walk(method, draws, 1.0 / (lams * weights.sum()), task.weights)
        # Without a gap no predictor stops early or changes its method.
        exact, tol = None, float(self.tol) if certified else -np.inf
        if certified and self.finish:
            memory = max(0, task.plan.budget - task.plan.bytes)
            given = (intercept_of(self), tol, task.members, memory)
            problem = Problem(task.rows, method.loss, *given, needs_dual=self.warm_start)
            exact = ExactSolver(problem, task.warm_path)
        solver = DualAscent(walk, lams, weights, codes, tol, exact)
        if saved is not None:
            solver.resume(_inside_box(saved, task, lams))
        return solver

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        solver: Any = self._solver(task, lams, seed, has_certificate(task.kernel, task.X))
        solver.last = stops[-1]
        return [solver]

    def _learn(self, task: Task, saved: Any) -> None:
        certified, lams = has_certificate(task.kernel, task.X), np.array([self.lam_])
        solver: Any = self._solver(task, lams, self._seed, certified, saved)
        last = solver.epoch + self.max_epochs
        stops, stages = check_stops(self.checkpoints, solver.epoch, last, "epochs"), []
        solver.last, solver.untouched_until = last, max(stops, default=0)
        for stop in stops:
            solver.advance(stop)
            stages.append(solver.predictors())
        solver.advance(last)
        solver.complete()
        gaps, courses = [relative[:, 0] for relative in solver.gap_curve], solver.histories()
        if saved is not None:
            gaps = [*self.gap_curve_, *gaps]
            both = zip(self._courses, courses, strict=True)
            courses = [np.concatenate(each) for each in both]
        self.gap_curve_, self._courses, self.n_iter_ = np.array(gaps), courses, len(gaps)
        solver.refresh()
        self._set_certificate(solver, certified)
        predictors = solver.predictors()
        self._saved = solver.save() if self.warm_start else None
        task.plan = replace(task.plan, method=_methods(solver))
        self._publish(task, [*stages, predictors], stops)
        if certified:
            warn_if_late(self, task.X.dtype == np.float32, self.finish)
        else:
            warn_user(
                ConvergenceWarning(
                    "the kernel is not positive semidefinite: no duality gap exists, and the "
                    "result is not certified."
                )
            )

    def _set_certificate(self, solver: DualAscent | PairAscent, certified: bool) -> None:
        state = solver.certificate()
        self.objective_, self.dual_objective_ = state.primal, state.dual
        # A bound above the objective proves nothing: by rounding the kernel is indefinite.
        gaps = np.where(state.relative < -self.tol, np.inf, state.relative)
        self.gap_ = float(gaps.max()) if certified else float("nan")
        course = summarize_histories(self._courses, state.primal, state.dual)
        self.objective_curve_ = course if certified else empty_history()


def _inside_box(saved: dict[str, Any], task: Task, lam: Array) -> dict[str, Any]:
    """Return the state of the last fit, clipped to the bounds of the current λ and weights."""
    labels = column_labels(task.codes, task.columns)
    a = labels * saved["coefficients"]
    bounds = task.weights / (lam[:, None] * task.training(task.weights).sum())
    inside = np.clip(a, 0.0, bounds)
    saved = {**saved, "frozen": np.zeros(len(task.columns), dtype=bool)}
    if not np.array_equal(inside, a):
        coefficients = (labels * inside).astype(task.X.dtype)
        saved["coefficients"] = coefficients
        saved["vectors"] = coefficients if task.rows.dual else np.asarray(coefficients @ task.X)
        saved["bias"] = task.constant * coefficients.sum(axis=1, dtype=np.float64)
    return saved


def warn_if_late(learner: SDCA, single: bool, finished: bool) -> None:
    """Warn with NotConverged if a gap is above tol, unless a search has stopped the fit."""
    stopped = deadline_reached()
    if learner.gap_ <= learner.tol or (stopped and learner.max_time is None):
        return
    relative = Certificate(learner.objective_, learner.dual_objective_).relative
    late = int((np.abs(relative) > learner.tol).sum())
    epochs = "1 epoch" if learner.n_iter_ == 1 else f"{learner.n_iter_} epochs"
    fact = (
        f"{type(learner).__name__} ended after {epochs} with a relative gap of {learner.gap_:.2g} "
        f"(tol={learner.tol:g}) in {late} of {len(relative)} predictors."
    )
    advice = "Scale the features, raise max_epochs, lam or tol, or leave finish=True"
    if finished:
        advice = "Rounding prevents further progress: scale the features, raise lam or tol"
    if stopped:
        advice = f"It was stopped after max_time={learner.max_time:g} seconds"
    warn_user(NotConverged(fact, advice, single and not stopped))


def _methods(solver: DualAscent | PairAscent) -> str:
    """Return the epochs of coordinate ascent, and the methods that solved the other columns."""
    walked = f"coordinate ascent, {solver.epoch} epochs" if solver.epoch else ""
    names = dict.fromkeys(each.method for each in solver.solved.values() if each.method)
    if not names:
        return walked
    rounds = max(optimum.rounds for optimum in solver.solved.values())
    share = f"{len(solver.solved)} of {solver.done.size} columns by " if walked else ""
    solved = f"{share}{' and '.join(names)}, up to {rounds} rounds"
    return f"{walked}, then {solved}" if walked else solved
