"""Our learners under the names and parameters of scikit-learn's classifiers.

A stand-in only translates parameters: SGDClassifier(alpha=...) is Pegasos(lam=...), SVC(C=...) is
SDCA(C=...). A parameter without counterpart leaves a test out, with the reason in `WITHOUT`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

import pegasos
from pegasos.kernels import Gaussian, Polynomial

_STEPS = "steps of Pegasos have the length 1/(λt); there are no other schedules"
_PENALTY = "the penalty is λ/2 |w|²; there is no other one"
_EARLY = "nothing is held out to stop early: Pegasos does its steps, SDCA ends by its certificate"
_METHODS = "SDCA chooses its method by the problem"
#: Parameter values with the same meaning here, or none; any other value leaves the test out.
WITHOUT: dict[str, tuple[tuple[Any, ...], str]] = {
    "penalty": (("l2", "deprecated"), _PENALTY),
    "l1_ratio": ((0.15, 0.0, None), _PENALTY),
    "learning_rate": (("optimal",), _STEPS),
    "power_t": ((0.5,), _STEPS),
    "early_stopping": ((False,), _EARLY),
    "n_iter_no_change": ((5,), _EARLY),
    "multi_class": (("ovr",), "one-vs-all is the only way to more than two classes"),
    "decision_function_shape": (("ovr",), "one-vs-all is the only way to more than two classes"),
    "break_ties": ((False,), "one-vs-all has no votes to break ties of"),
    "intercept_scaling": ((1, 1.0), "the constant feature is 1"),
    "probability": (
        (False, "deprecated"),
        "probabilities come from SweepCV.calibrate or CalibratedClassifierCV",
    ),
}


class StandIn(ClassifierMixin, BaseEstimator):
    """Estimator that forwards to one of our learners, made in `fit`; it counts its uses."""

    used: ClassVar[list[str]] = []
    #: Parameters with the same name and meaning.
    same: ClassVar[tuple[str, ...]] = (
        "fit_intercept",
        "class_weight",
        "warm_start",
        "random_state",
    )

    def _keep(self, given: dict[str, Any]) -> None:
        """Store parameters unchanged, which is all that __init__ may do."""
        StandIn.used.append(type(self).__name__)
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _learner(self, X: Any, y: Any, weights: Any) -> Any:
        raise AssertionError("each stand-in has its own learner")

    def _known(self) -> dict[str, Any]:
        """Return parameters that need no translation; a test of any other one is left out."""
        given = self.get_params(deep=False)
        for name, (known, reason) in WITHOUT.items():
            value = given.get(name, known[0])
            if not any(
                value is each or (type(value) is type(each) and value == each) for each in known
            ):
                pytest.skip(f"{name}={value!r}: {reason}")
        return {name: given[name] for name in self.same if name in given}

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> Any:
        if coef_init is not None or intercept_init is not None:
            pytest.skip("coef_init: a fit starts from zero, or with warm_start from the last one")
        made = self._learner(X, y, sample_weight)
        goes_on = made.warm_start and "_ours" in vars(self)
        learner = self._ours.set_params(**made.get_params(deep=False)) if goes_on else made
        self._ours = learner.fit(X, y, sample_weight=sample_weight)
        return self

    def decision_function(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._ours.decision_function(X)

    def predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._ours.labels_of(self.decision_function(X))

    def _has_probabilities(self) -> bool:
        if self.get_params().get("loss", "log_loss") != "log_loss" or isinstance(
            self, SVC | Perceptron
        ):
            raise AttributeError("there are probabilities with the logistic loss only")
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._ours.probabilities_of(self.decision_function(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        return np.log(self.predict_proba(X))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_ours" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._ours, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "_ours" in vars(self) and hasattr(self._ours, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags


class _InParts(StandIn):
    """Estimator with `partial_fit`."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        if "_ours" not in vars(self):
            self._ours = self._learner(X, y, sample_weight)
        self._ours.partial_fit(X, y, classes, sample_weight)
        return self


class SGDClassifier(_InParts):
    """Pegasos: `alpha` is λ, `max_iter` counts epochs, and `tol` is ignored."""

    def __init__(
        self,
        loss: str = "hinge",
        *,
        penalty: str = "l2",
        alpha: float = 1e-4,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: bool | int = False,
    ) -> None:
        self._keep(locals())

    def _learner(self, X: Any, y: Any, weights: Any) -> Any:
        same = self._known()
        if self.loss not in ("hinge", "log_loss"):
            pytest.skip(f"loss={self.loss!r}: the losses are hinge and logistic")
        if not isinstance(self.average, bool):
            pytest.skip(
                f"average={self.average!r}: the mean is over all steps or a last part of them, not from a step on"
            )
        loss = "hinge" if self.loss == "hinge" else "logistic"
        same["epochs"] = min(self.max_iter, 200)
        same["sampling"] = "permutation" if self.shuffle else "in-order"
        return pegasos.Pegasos(loss, self.alpha, average=self.average, **same)


class Perceptron(_InParts):
    """Perceptron: `max_iter` counts epochs."""

    def __init__(
        self,
        *,
        penalty: Any = None,
        alpha: float = 1e-4,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
    ) -> None:
        self._keep(locals())

    def _learner(self, X: Any, y: Any, weights: Any) -> Any:
        if self.penalty is not None:
            pytest.skip(f"penalty={self.penalty!r}: a perceptron has no penalty here")
        given = {
            name: value for name, value in self.get_params(deep=False).items() if name in self.same
        }
        options = {"shuffle": self.shuffle, "learning_rate": self.eta0}
        return pegasos.Perceptron(epochs=self.max_iter, average=False, **options, **given)


class _Exact(StandIn):
    """SDCA: a row of weight w costs C w times its loss, as in scikit-learn."""

    same: ClassVar[tuple[str, ...]] = (
        "C",
        "tol",
        "fit_intercept",
        "class_weight",
        "random_state",
    )


class LinearSVC(_Exact):
    """SDCA with the hinge loss, which tests must request explicitly."""

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
    ) -> None:
        self._keep(locals())

    def _learner(self, X: Any, y: Any, weights: Any) -> Any:
        same = self._known()
        if self.loss != "hinge":
            pytest.skip(f"loss={self.loss!r}: the losses are hinge and logistic")
        return pegasos.SDCA(**same)


class LogisticRegression(_Exact):
    """SDCA with the logistic loss and a free intercept, one-vs-rest."""

    def __init__(
        self,
        penalty: str = "l2",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "lbfgs",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self._keep(locals())

    def _learner(self, X: Any, y: Any, weights: Any) -> Any:
        same = self._known()
        same["fit_intercept"] = "free" if self.fit_intercept is True else self.fit_intercept
        return pegasos.SDCA("log_loss", **same)


class SVC(_Exact):
    """SDCA with a kernel and a free intercept, one-vs-rest."""

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
    ) -> None:
        self._keep(locals())

    def _learner(self, X: Any, y: Any, weights: Any) -> Any:
        return pegasos.SDCA(kernel=self._kernel(X), fit_intercept="free", **self._known())

    def _kernel(self, X: Any) -> Any:
        named = self.kernel in ("rbf", "poly") and (self.gamma, self.degree, self.coef0) == (
            "scale",
            3,
            0,
        )
        if callable(self.kernel) or self.kernel in ("linear", "precomputed") or named:
            return self.kernel
        dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
        named = {"scale": 1 / (dense.shape[1] * (dense.var() or 1.0)), "auto": 1 / dense.shape[1]}
        gamma = named[self.gamma] if isinstance(self.gamma, str) else self.gamma
        if self.kernel == "rbf":
            return Gaussian(1 / (2 * gamma))
        if self.kernel == "poly":
            return Polynomial(self.degree, self.coef0, gamma)
        return pytest.skip(f"kernel={self.kernel!r}: there is no kernel of that name")


#: Where scikit-learn's classes stand, and who takes their place.
PLACES = {
    "sklearn.linear_model": (SGDClassifier, Perceptron, LogisticRegression),
    "sklearn.svm": (LinearSVC, SVC),
}
