"""SDCA: exact steps on one dual coefficient at a time, until the duality gap says that the optimum is near."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pegasos.engine.optimum.history import no_course, short_course
from pegasos.engine.optimum.problem import Intercept
from pegasos.engine.runtime.interruption import deadline, deadline_reached
from pegasos.engine.walk import rules
from pegasos.engine.walk.draws import Draws
from pegasos.engine.walk.rules import Method
from pegasos.learners.catalogue import ONE_VS_ONE, ONE_VS_REST
from pegasos.learners.catalogue import SDCA as DECLARED
from pegasos.learners.convergence import NotConverged
from pegasos.learners.one_vs_one import on_own_rows, split_pairs
from pegasos.learners.regularized import RegularizedClassifier, has_certificate
from pegasos.learners.task import (
    Task,
    check_stops,
    draw_seed,
    intercept_of,
    one_of,
    positive,
    whole_number,
)

if TYPE_CHECKING:  # solvers are imported where a fit starts: predictions need none
    from pegasos.engine.optimum.dual_ascent import DualAscent
    from pegasos.engine.optimum.pair_ascent import Pair, PairAscent
    from pegasos.engine.walk.solvers import Solver

Array = np.ndarray[Any, Any]


class SDCA(RegularizedClassifier):
    """The exact optimum, linear or with a kernel, one-vs-rest or one-vs-one, with a certificate.

    Minimizes P(w) = λ/2 ‖w‖² + Σ ω_i ℓ(y_i w·x_i)/Σω by maximizing its dual D(a) over 0 <= a_i <= C_i = ω_i/(λ Σω), where
    w = Σ a_i y_i x_i. Each column stops when (P - D)/P <= tol: then P is within that share of the best possible. The method is
    chosen by the problem (`plan_` says which): stochastic dual coordinate ascent where that is fastest; where it crawls interior
    point and Newton methods (few features), working sets (kernels, hinge), Newton's method with conjugate gradients (logistic).

    Parameters
    ----------
    loss : "hinge" (SVM) or "logistic" (also called "log_loss").
    lam, C : strength of regularization: λ > 0 or SVC's C, λ = 1/(C Σω); at most one of them. Neither: C = 1.
    kernel : None (linear: `coef_`), a kernel object or its name, "precomputed", or a function (X, Z) -> matrix.
    tol : relative duality gap at which a column stops.
    max_epochs : passes of coordinate ascent at most; what has not arrived then is finished.
    sampling : "permutation" (a new order each epoch), "fixed-permutation", "in-order" or "uniform".
    max_time : seconds; then the fit returns its present point with its true gap, and warns. A search has its own limit.
    finish : whether other methods than coordinate ascent may be used; without them a ConvergenceWarning may come.
    fit_intercept : True (a constant feature, regularized: K + 1 with a kernel), "free" (not regularized, as in SVC; needs
        `finish`), or False.
    checkpoints : epochs of coordinate ascent; until the last of them nothing else is done.
    multiclass : "one-vs-rest", or "one-vs-one": a predictor for each pair of classes, trained on their rows only, as SVC has;
        pairs vote. C_i = ω_i/(λ Σω) with Σω over all rows, for all pairs alike: the C of OneVsOneClassifier and SVC.
    class_weight, warm_start, memory, random_state : as in `Pegasos`.

    Attributes
    ----------
    classes_, coef_, intercept_ : as in scikit-learn; with a kernel `support_`, `support_vectors_`, `dual_coef_`, `kernel_`.
        One-vs-one has a row for each pair of classes (first, second) in lexicographic order; scores above 0 mean the second.
    lam_ : λ.
    gap_ : the largest relative gap of a column (nan where no certificate exists); objective_, dual_objective_ : of each column.
    gap_curve_ : relative gap after each epoch, and after the finish (n_iter_ x columns).
    objective_curve_ : number of the epoch or round, objective and lower bound, means of the columns (at most 40 x 3).
    plan_ : where rows came from, and what was done.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = SDCA(C=10, kernel="rbf", random_state=0).fit(X[:1000] / 16, y[:1000])
    >>> bool(clf.gap_ <= clf.tol), round(clf.score(X[1000:] / 16, y[1000:]), 2)
    (True, 0.97)
    """

    declaration = DECLARED

    def __init__(
        self,
        loss: str = "hinge",
        lam: float | None = None,
        kernel: Any = None,
        tol: float = 1e-3,
        max_epochs: int = 1000,
        *,
        C: float | None = None,
        sampling: str = "permutation",
        finish: bool = True,
        max_time: float | None = None,
        fit_intercept: bool | str = True,
        multiclass: str = ONE_VS_REST,
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
        self.tol = tol
        self.max_epochs = max_epochs
        self.sampling = sampling
        self.finish = finish
        self.max_time = max_time
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.checkpoints = checkpoints
        self.warm_start = warm_start
        self.memory = memory
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SDCA:
        """Learn from rows X (dense or CSR) and labels y; `sample_weight` >= 0, one a row."""
        from pegasos.engine.optimum.pair_ascent import PairAscent

        limited = nullcontext() if self.max_time is None else deadline(self.max_time)
        with limited:
            task = self._open(X, y, sample_weight)
            certified = has_certificate(task.kernel, task.X)
            saved = self._resumable(task)
            if saved is None:
                self._seed = draw_seed(self.random_state)
                self._gaps: list[Array] = []
                self._courses: list[Array] = []
            solver = self._solver(task, np.array([self.lam_]), self._seed, certified)
            if saved is not None:
                solver.resume(saved)
            last = solver.epoch + self.max_epochs
            if isinstance(solver, PairAscent):
                solver.last = last
            stops = check_stops(self.checkpoints, solver.epoch, last, "epochs")
            solver.untouched_until = max(stops, default=0)
            stages = []
            for stop in stops:
                solver.advance(stop)
                stages.append(solver.predictors())
            solver.advance(last)
            solver.complete()
            self._gaps = [*self._gaps, *(relative[:, 0] for relative in solver.gap_curve)]
            courses = solver.courses()
            if self._courses:
                courses = [
                    np.concatenate(both) for both in zip(self._courses, courses, strict=True)
                ]
            self._courses = courses
            self._finish(task, solver, certified, stages, stops)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        positive("tol", self.tol)
        one_of("multiclass", self.multiclass, (ONE_VS_REST, ONE_VS_ONE))
        whole_number("max_epochs", self.max_epochs)
        if self.max_time is not None:
            positive("max_time", self.max_time)
        if intercept_of(self) is Intercept.FREE and not self.finish:
            raise ValueError(
                "fit_intercept='free' needs finish=True: coordinate ascent alone cannot fit such an intercept."
            )
        if intercept_of(self) is Intercept.FREE and self.checkpoints is not None:
            raise ValueError(
                "checkpoints are epochs of coordinate ascent, which cannot fit fit_intercept='free'."
            )

    def _ascent(self, task: Task, lams: Array, seed: int, certified: bool) -> DualAscent:
        from pegasos.engine.optimum.choice import ExactSolver
        from pegasos.engine.optimum.dual_ascent import DualAscent
        from pegasos.engine.optimum.problem import Problem

        method = Method(rules.SDCA, self._loss, constant=task.constant)
        weights = task.training(task.weights)
        draws = Draws(self.sampling, task.m, seed)
        walk = task.walk(method, draws, 1.0 / (lams * weights.sum()), task.weights)
        if not certified:  # nothing tells when to stop, or whom to finish
            return DualAscent(walk, lams, weights, task.training(task.codes), -np.inf)
        exact = None
        if self.finish:
            memory = max(0, task.plan.budget - task.plan.bytes)
            given = (intercept_of(self), float(self.tol), task.members, memory)
            exact = ExactSolver(Problem(task.rows, method.loss, *given), task.warm_path)
        return DualAscent(walk, lams, weights, task.training(task.codes), float(self.tol), exact)

    def _solver(
        self, task: Task, lams: Array, seed: int, certified: bool
    ) -> DualAscent | PairAscent:
        from pegasos.engine.optimum.pair_ascent import Pair, PairAscent

        if not self.has_pairs(task.columns):
            return self._ascent(task, lams, seed, certified)

        def pair(part: Task) -> Pair:
            assert part.members is not None
            scaled = self._pair_lams(task, part, lams)
            return Pair(
                part.members, lambda: self._ascent(self._own(part), scaled, seed, certified)
            )

        pairs = [pair(part) for part in split_pairs(task)]
        return PairAscent(pairs, task.rows, saves=self.warm_start)

    def _own(self, part: Task) -> Task:
        return on_own_rows(part, self._loss.linear_dual)

    @staticmethod
    def _pair_lams(task: Task, part: Task, lams: Array) -> Array:
        """Return λ of a pair: C = 1/(λ Σω) is the same for the pair's Σω as for that of all rows."""
        total, own = (each.total_weight for each in (task, part))
        return np.asarray(lams * (total / own))

    def _make_solvers(self, task: Task, lams: Array, stops: list[int], seed: int) -> list[Solver]:
        from pegasos.engine.optimum.pair_ascent import PairAscent

        solver = self._solver(task, lams, seed, has_certificate(task.kernel, task.X))
        if isinstance(solver, PairAscent):
            solver.last = stops[-1]
        return [solver]

    def _finish(
        self,
        task: Task,
        solver: DualAscent | PairAscent,
        certified: bool,
        stages: list[Any],
        stops: list[int],
    ) -> None:
        solver.refresh()
        state = solver.certificate()
        self.objective_, self.dual_objective_ = state.primal, state.dual
        # a bound above the objective proves nothing: rounding has made the kernel indefinite
        gaps = np.where(state.relative < -self.tol, np.inf, state.relative)
        self.gap_ = float(gaps.max()) if certified else float("nan")
        self.gap_curve_ = np.array(self._gaps)
        self.n_iter_ = len(self.gap_curve_)
        self.objective_curve_ = (
            short_course(self._courses, state.primal, state.dual) if certified else no_course()
        )
        predictors = solver.predictors()
        self._saved = solver.save() if self.warm_start else None
        task.plan = replace(task.plan, method=self._method(solver))
        self._publish(task, [*stages, predictors], stops)
        if not certified:
            message = "the kernel is not positive semidefinite: no duality gap exists, and the result is not certified."
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        elif self.gap_ > self.tol:
            late, single = int((gaps > self.tol).sum()), task.X.dtype == np.float32
            message = NotConverged(
                "SDCA",
                self.n_iter_,
                self.gap_,
                self.tol,
                late,
                len(gaps),
                single,
                bool(self.finish),
                self.max_time if deadline_reached() else None,
            )
            warnings.warn(message, stacklevel=3)

    @staticmethod
    def _method(solver: DualAscent | PairAscent) -> str:
        """Return the epochs walked and the methods that solved the other columns."""
        walked = f"coordinate ascent, {solver.epoch} epochs" if solver.epoch else ""
        names = dict.fromkeys(each.method for each in solver.solved.values() if each.method)
        if not names:
            return walked
        rounds = max(optimum.rounds for optimum in solver.solved.values())
        share = f"{len(solver.solved)} of {solver.done.size} columns by " if walked else ""
        solved = f"{share}{' and '.join(names)}, up to {rounds} rounds"
        return f"{walked}, then {solved}" if walked else solved

    def _resumable(self, task: Task) -> Any:
        """Return what the last fit left, brought into the box of the present lam and weights."""
        if not self._goes_on:
            return None
        lam = np.array([self._lam_for(task.total_weight)])
        if not self.has_pairs(task.columns):
            return self._inside_box(self._saved, task, lam)
        return [
            self._inside_box(saved, self._own(part), self._pair_lams(task, part, lam))
            for saved, part in zip(self._saved, split_pairs(task), strict=True)
        ]

    def _inside_box(self, saved: dict[str, Any], task: Task, lam: Array) -> dict[str, Any]:
        labels = task.labels()
        a = labels * saved["coefficients"]
        bounds = task.weights / (lam[:, None] * task.training(task.weights).sum())
        inside = np.clip(a, 0.0, self._loss.upper(bounds))
        saved = {**saved, "frozen": np.zeros(len(task.columns), dtype=bool)}
        if not np.array_equal(inside, a):
            coefficients = (labels * inside).astype(task.X.dtype)
            saved["coefficients"] = coefficients
            saved["vectors"] = coefficients if task.rows.dual else np.asarray(coefficients @ task.X)
            saved["bias"] = task.constant * coefficients.sum(axis=1, dtype=np.float64)
        return saved
