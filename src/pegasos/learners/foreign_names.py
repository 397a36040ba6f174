"""Parameters of scikit-learn's classifiers that have another name here."""

from __future__ import annotations

from collections.abc import Iterable

_OURS = {
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


def refuse_foreign_names(learner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a TypeError that names our parameter."""
    for name in given:
        if name in _OURS and name not in known:
            raise TypeError(f"{learner} has no parameter {name!r}: {_OURS[name]}.")
