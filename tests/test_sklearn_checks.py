"""Every learner, linear and with a kernel, with each loss, passes scikit-learn's estimator checks."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from pegasos import SDCA, Pegasos, Perceptron

# check_class_weight_classifiers sets n_iter=100 and means passes, as in scikit-learn; here n_iter are steps. A default linear
# Pegasos (one row a step) does not pass it, so the two linear ones take about a pass a step; their lam was found by trying.
LEARNERS = [
    Pegasos("hinge", lam=0.1, batch_size=50),
    Pegasos("logistic", lam=1e-4, batch_size=50),
    Pegasos("hinge", kernel="gaussian"),
    Pegasos("logistic", kernel="gaussian"),
    *(Perceptron(kernel=kernel) for kernel in (None, "gaussian")),
    *(SDCA(loss, kernel=kernel) for loss in ("hinge", "logistic") for kernel in (None, "gaussian")),
]

_REASON = (
    "a row of weight 2 is drawn once, two equal rows are drawn twice: the objective is the same, the random walk is not "
    "(as for SGDClassifier and SVC); SDCA ends within tol of that objective's optimum, not on it"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": _REASON,
    "check_sample_weight_equivalence_on_sparse_data": _REASON,
}


def expected_failures(estimator: Any) -> dict[str, str]:
    return EXPECTED


@parametrize_with_checks(LEARNERS, expected_failed_checks=expected_failures)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)
