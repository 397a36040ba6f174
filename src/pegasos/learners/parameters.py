"""Parameters, callbacks and warnings that all learners share, and the parameter `client`."""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from pegasos.engine.runtime.interruption import deadline, listening

_FOREIGN_NAMES = {
    "C": "it has no regularization",
    "alpha": "use lam, which is SGDClassifier's alpha, or C",
    "cache_size": "use memory",
    "coef0": "give the kernel as pegasos.kernels.Polynomial(degree, coef0)",
    "decision_function_shape": "decision values have one column per class, as with 'ovr'",
    "degree": "give the kernel as pegasos.kernels.Polynomial(degree, coef0)",
    "eta0": "Perceptron has learning_rate",
    "gamma": "give the kernel as pegasos.kernels.Gaussian.from_gamma(gamma)",
    "kernel": "put pegasos.dask.DaskNystroem before it",
    "max_iter": "use max_epochs (SDCA), n_iter or epochs (Pegasos), epochs (Perceptron)",
    "multiclass": "use scikit-learn's OneVsOneClassifier",
    "n_jobs": "one fit uses all cores; threadpoolctl limits them",
    "penalty": "the penalty is always the squared L2 norm",
    "probability": "use SweepCV.calibrate() or CalibratedClassifierCV",
    "solver": "the method is chosen by the problem",
}


@dataclass(eq=False, repr=False)
class SharedParameters(BaseEstimator):
    """Parameters and fitted attributes of all learners.

    The lines of the sections below stand in the documentation of each learner where its docstring
    has <Parameters> and <Attributes>.

    Parameters
    ----------
    kernel : None, Kernel, str or callable, default=None
        None (linear: `coef_`), a kernel object or its name ("rbf" and "poly" are SVC's),
        "precomputed", or a function (X, Z) -> matrix.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, which multiply `sample_weight`.
    checkpoints : list of int, optional
        Numbers of steps (Pegasos) or epochs at which the predictors are kept for
        `staged_decision_function`.
    memory : int or str, optional
        Bytes (or "2GB") for all arrays of the engine, X excluded; by default half of the memory.
    random_state : int, RandomState or None, optional
        Seed of the draws.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_, intercept_ : ndarray
        Vectors of a linear model and intercepts, one per class (one for two classes).
    support_, support_vectors_, dual_coef_, kernel_
        Support vectors and their coefficients, with a kernel.
    plan_ : Plan
        Storage and order of the rows, and the methods of SDCA.
    """

    _: KW_ONLY
    fit_intercept: bool | str = True
    class_weight: Any = None
    checkpoints: Any = None
    warm_start: bool = False
    memory: Any = None
    random_state: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Insert the shared documentation."""
        super().__init_subclass__(**options)
        shared = inspect.getdoc(SharedParameters) or ""
        text = inspect.cleandoc(cls.__doc__ or "")
        for section, lines in re.findall(r"(\w+)\n-{4,}\n(.+?)(?=\n\n|$)", shared, re.DOTALL):
            text = text.replace(f"<{section}>", lines)
        cls.__doc__ = text

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Refuse parameters of scikit-learn's classifiers that have another name here."""
        own, foreign = cls._get_param_names(), _FOREIGN_NAMES
        for name in params:
            if name in foreign and name not in own:
                raise TypeError(f"{cls.__name__} has no parameter {name!r}: {foreign[name]}.")
        return super().__new__(cls)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # NumPy's numbers, as grids pass them, are printed as numbers.
        return re.sub(r"np\.(?:float|int)\d+\(([^()]*)\)", r"\1", super().__repr__(N_CHAR_MAX))


class Connected:
    """Estimator with a connection to a cluster as `client`, which clones keep and pickles lack."""

    client: Any

    def __sklearn_clone__(self) -> Any:
        given = self.get_params(deep=False)  # type: ignore[attr-defined]
        copies = {name: clone(given[name], safe=False) for name in given if name != "client"}
        return type(self)(**{**given, **copies})

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # type: ignore[dict-item]


@contextmanager
def reporting(estimator: Any, X: Any, y: Any) -> Iterator[None]:
    """Report a fit to the callbacks of an estimator: one task, with a subtask for each gap.

    Subtasks have the metadata "gap" and "tol". A callback that returns True at the end of one stops
    the fit, which returns its current predictors.
    """
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        yield
        return
    fit, stack = estimator._init_callback_context(max_subtasks=None), ExitStack()
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def report(gap: float, tol: float) -> None:
        part = fit.subcontext(task_name="gap")
        part.call_on_fit_task_begin(estimator=estimator)
        if part.call_on_fit_task_end(estimator=estimator, metadata={"gap": gap, "tol": tol}):
            stack.enter_context(deadline(0.0))

    with stack, listening(report):
        yield
    fit.call_on_fit_task_end(estimator=estimator, X=X, y=y)


def warn_user(warning: Warning) -> None:
    """Warn at the line of the user's code that called pegasos, possibly through scikit-learn."""
    level, frame, inside = 2, sys._getframe(1), ("pegasos", "sklearn")
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in inside:
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


@dataclass(eq=False)
class NotConverged(ConvergenceWarning):
    """A fit, or some cells of a search, did not reach the tolerance; with advice for Python."""

    fact: str
    advice: str
    #: Whether float64 instead of float32 would help.
    single: bool = False

    def __str__(self) -> str:
        precision = ", or use float64 (float32 cannot show gaps below about 1e-5)"
        return f"{self.fact} {self.advice}{precision if self.single else ''}."
