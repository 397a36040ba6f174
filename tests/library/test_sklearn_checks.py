"""Run scikit-learn's estimator checks on every learner, loss and kind of kernel."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_class_weight_classifiers, parametrize_with_checks

from pegasos import SDCA, Pegasos, Perceptron
from pegasos.kernels import Gaussian

KERNELS = (None, "gaussian")


def learners(**options: Any) -> list[Any]:
    """Return one learner of each kind, with its defaults but for these options."""
    losses = [kind(loss, **options) for kind in (Pegasos, SDCA) for loss in ("hinge", "logistic")]
    return [*losses, Perceptron(**options)]


_DRAWS = (
    "a row of weight 2 is drawn once, two equal rows are drawn twice: the objective is the same, the random walk is not "
    "(as for SGDClassifier and SVC); SDCA ends within tol of that objective's optimum, not on it"
)
_STEPS = (
    "the check sets n_iter=100 and means passes; here these are steps, two passes over its 50 rows"
)


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return checks that fail, with reasons; unexpected passes fail the suite."""
    reasons = dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        _DRAWS,
    )
    if isinstance(estimator, SDCA) and estimator.kernel is None and estimator.loss == "logistic":
        reasons = {}  # Newton's method draws nothing, and ends far below tol
    if isinstance(estimator, Pegasos) and estimator.kernel is None:
        reasons["check_class_weight_classifiers"] = _STEPS
    return reasons


def is_usual(learner: Any) -> bool:
    """Select one case per code path: hinge without a kernel, logistic with one."""
    return isinstance(learner, Perceptron) or (learner.kernel is None) == (learner.loss == "hinge")


ALL = [learner for kernel in KERNELS for learner in learners(kernel=kernel)]


@parametrize_with_checks(
    [each for each in ALL if is_usual(each)], expected_failed_checks=expected_failures
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [each for each in ALL if not is_usual(each)], expected_failed_checks=expected_failures
)
def test_scikit_learn_accepts_the_others(estimator: Any, check: Any) -> None:
    check(estimator)


class CountsPasses(Pegasos):
    """Interpret n_iter as passes, as check_class_weight_classifiers does."""

    def set_params(self, **params: Any) -> CountsPasses:
        if "n_iter" in params:
            params["epochs"] = params.pop("n_iter")
        super().set_params(**params)
        return self


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_class_weights_rule_when_steps_are_passes(loss: str) -> None:
    """Check the stated reason of one expected failure."""
    check_class_weight_classifiers("Pegasos", CountsPasses(loss))


@pytest.mark.parametrize("learner", learners(kernel=Gaussian(1.0)), ids=repr)
@pytest.mark.filterwarnings("ignore:.*similar only to itself")
def test_class_weights_decide_where_the_kernel_is_zero(learner: Any) -> None:
    """Rows 20 apart have K = 0, so the intercept alone decides, as in SVC."""
    check_class_weight_classifiers(type(learner).__name__, learner)
