"""Compare one-vs-one with separate fits of all pairs, scikit-learn and references."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.calibration import _SigmoidCalibration
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

from pegasos import SDCA, Nystroem, Pegasos, Perceptron, SweepCV
from pegasos.kernels import Gaussian
from pegasos.learners.one_vs_one import class_scores, couple_probabilities
from pegasos.learners.parameters import NotConverged
from pegasos.metrics import Metric

RNG = np.random.default_rng(0)
DIGITS, DIGIT = load_digits(return_X_y=True)
#: Five classes of unequal size.
ROWS = np.concatenate([np.flatnonzero(k == DIGIT)[: 30 + 15 * k] for k in range(5)])
X, Y = DIGITS[ROWS] / 16, DIGIT[ROWS]
C = 2.0
TIGHT = {"tol": 1e-7, "random_state": 0}


def ours(y=Y, weight=None, **params):
    total = len(y) if weight is None else weight.sum()
    return SDCA(**{"lam": 1 / (C * total), "multiclass": "one-vs-one", **TIGHT, **params})


def separate_scores(X_train, y, X_test, weight=None, **params):
    """Decision values of separate fits for all pairs, each at the same C."""
    weight = np.ones(len(y)) if weight is None else weight
    columns = []
    for pair in combinations(np.unique(y), 2):
        rows = np.isin(y, pair)
        learner = SDCA(**{**TIGHT, **params, "lam": 1 / (C * weight[rows].sum())})
        if isinstance(X_train, np.ndarray) and params.get("kernel") == "precomputed":
            own, new = X_train[np.ix_(rows, rows)], X_test[:, rows]
        else:
            own, new = X_train[rows], X_test
        columns.append(learner.fit(own, y[rows], weight[rows]).decision_function(new))
    return np.column_stack(columns)


def votes(scores, n_classes):
    return _ovr_decision_function(scores > 0, scores, n_classes)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kernel", [None, Gaussian(4.0), "precomputed"], ids=str)
@pytest.mark.parametrize("intercept", [True, "free", False])
def test_equals_separate_fits(loss, kernel, intercept):
    rows = Gaussian(4.0).matrix(X, X) if kernel == "precomputed" else X
    params = {"loss": loss, "kernel": kernel, "fit_intercept": intercept}
    found = ours(**params).fit(rows, Y)
    assert found.gap_ <= 1e-7
    assert found.intercept_.shape == found.objective_.shape == (10,)
    expected = votes(separate_scores(rows, Y, rows, **params), 5)
    assert found.decision_function(rows).shape == (len(Y), 5)
    np.testing.assert_allclose(found.decision_function(rows), expected, atol=2e-4)
    assert (found.predict(rows) == expected.argmax(axis=1)).all()


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_weights_and_sparse_rows(loss):
    weight = RNG.uniform(0.2, 3.0, len(Y))
    found = ours(weight=weight, loss=loss).fit(sparse.csr_matrix(X), Y, weight)
    expected = votes(separate_scores(X, Y, X, weight, loss=loss), 5)
    np.testing.assert_allclose(found.decision_function(X), expected, atol=2e-4)


def test_weights_of_classes_are_those_of_all_rows():
    each = {k: 1.0 + k for k in range(5)}
    weight = np.array([each[label] for label in Y])
    found = ours(weight=weight, kernel=Gaussian(4.0), class_weight=each).fit(X, Y)
    expected = votes(separate_scores(X, Y, X, weight, kernel=Gaussian(4.0)), 5)
    np.testing.assert_allclose(found.decision_function(X), expected, atol=2e-4)


def test_equals_svc_and_its_decision_values():
    svc = SVC(C=C, gamma=0.125, tol=1e-7, decision_function_shape="ovr").fit(X, Y)
    found = ours(kernel=Gaussian(4.0), fit_intercept="free").fit(X, Y)
    np.testing.assert_allclose(found.decision_function(X), svc.decision_function(X), atol=1e-3)
    assert (found.predict(X) == svc.predict(X)).all()
    assert set(svc.support_) <= set(found.support_)


def test_equals_one_vs_one_classifier_where_all_pairs_have_one_size():
    iris, kind = load_iris(return_X_y=True)
    wrapped = OneVsOneClassifier(SDCA(lam=1 / (C * 100), kernel=Gaussian(1.0), **TIGHT))
    found = ours(y=kind, kernel=Gaussian(1.0)).fit(iris, kind)
    wrapped.fit(iris, kind)
    np.testing.assert_allclose(
        found.decision_function(iris), wrapped.decision_function(iris), atol=1e-3
    )


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_equals_one_vs_one_classifier_at_the_same_c(kernel):
    wrapped = OneVsOneClassifier(SDCA(C=C, kernel=Gaussian(4.0) if kernel else None, **TIGHT))
    found = clone(wrapped.estimator).set_params(multiclass="one-vs-one").fit(X, Y)
    wrapped.fit(X, Y)
    np.testing.assert_allclose(found.decision_function(X), wrapped.decision_function(X), atol=2e-4)
    assert (found.predict(X) == wrapped.predict(X)).all()


def test_a_grid_over_c():
    grid = {"C": [0.1, 10.0]}
    learner = SDCA(multiclass="one-vs-one", kernel=Gaussian(4.0), class_weight="balanced", **TIGHT)
    sweep = SweepCV(learner, grid, cv=StratifiedKFold(3)).fit(X, Y)
    plain = GridSearchCV(learner, grid, cv=StratifiedKFold(3)).fit(X, Y)
    for fold in range(3):
        name = f"split{fold}_test_score"
        np.testing.assert_allclose(sweep.cv_results_[name], plain.cv_results_[name])


def test_a_deadline_leaves_the_true_gap():
    learner = ours(kernel=Gaussian(4.0), max_time=1e-9)
    with pytest.warns(NotConverged):
        learner.fit(X, Y)
    assert learner.gap_ > 1e-7
    state = learner.certificate(X, Y)
    np.testing.assert_allclose(state.primal, learner.objective_, rtol=1e-6)


def test_computed_features():
    pipeline = make_pipeline(Nystroem(Gaussian(4.0), 40, random_state=0), ours(tol=1e-4))
    pipeline.fit(X, Y)
    features = np.asarray(pipeline[0].transform(X))
    np.testing.assert_allclose(
        pipeline.decision_function(X),
        ours(tol=1e-4).fit(features, Y).decision_function(features),
        atol=1e-2,
    )


def test_two_classes_have_one_predictor():
    rows = Y < 2
    one = ours(y=Y[rows]).fit(X[rows], Y[rows])
    rest = clone(one).set_params(multiclass="one-vs-rest").fit(X[rows], Y[rows])
    assert np.array_equal(one.coef_, rest.coef_)
    assert np.array_equal(one.decision_function(X), rest.decision_function(X))


def test_votes_are_those_of_scikit_learn():
    for classes in (3, 4, 7):
        scores = RNG.normal(size=(50, classes * (classes - 1) // 2))
        scores[::7] = 0.0
        np.testing.assert_allclose(class_scores(scores), votes(scores, classes), atol=1e-12)


def coupled_by_descent(p, classes):
    """Minimize Σ (r_ji p_i - r_ij p_j)² over the simplex, as the paper defines it."""
    r = np.zeros((classes, classes))
    for place, (i, j) in enumerate(combinations(range(classes), 2)):
        r[j, i], r[i, j] = p[place], 1 - p[place]

    def loss(z):
        share = np.exp(z - z.max())
        share /= share.sum()
        return sum(
            (r[j, i] * share[i] - r[i, j] * share[j]) ** 2
            for i, j in combinations(range(classes), 2)
        )

    z = minimize(loss, np.zeros(classes), method="BFGS", options={"gtol": 1e-12}).x
    share = np.exp(z - z.max())
    return share / share.sum()


def test_coupled_probabilities_minimize_the_objective_of_the_paper():
    for classes in (3, 5):
        p = RNG.uniform(0.02, 0.98, size=(8, classes * (classes - 1) // 2))
        expected = np.array([coupled_by_descent(row, classes) for row in p])
        np.testing.assert_allclose(couple_probabilities(p), expected, atol=1e-4)


def test_consistent_pairs_give_their_probabilities_back():
    true = RNG.dirichlet(np.ones(6), size=20)
    pairs = np.array(list(combinations(range(6), 2)))
    p = true[:, pairs[:, 1]] / true[:, pairs].sum(axis=2)
    np.testing.assert_allclose(couple_probabilities(p), true, atol=1e-9)


def test_probabilities_of_sure_pairs_are_finite():
    p = couple_probabilities(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]))
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_logistic_probabilities_are_coupled():
    found = ours(loss="logistic").fit(X, Y)
    p = found.predict_proba(X)
    pairs = separate_scores(X, Y, X, loss="logistic")
    np.testing.assert_allclose(p, couple_probabilities(1 / (1 + np.exp(-pairs))), atol=1e-4)
    assert (p.argmax(axis=1) == Y).mean() > 0.95
    assert not hasattr(ours().fit(X, Y), "predict_proba")


def test_the_kernel_matrix_is_computed_once(monkeypatch):
    computed = []
    between, matrix = Gaussian.__call__, Gaussian.matrix
    monkeypatch.setattr(Gaussian, "matrix", lambda *a: computed.append(1) or matrix(*a))
    monkeypatch.setattr(Gaussian, "__call__", lambda *a: computed.append(1) or between(*a))
    for loss in ("hinge", "logistic"):
        computed.clear()
        ours(loss=loss, kernel=Gaussian(4.0), tol=1e-3).fit(X, Y)
        assert len(computed) == 1


def test_a_kernel_that_does_not_fit_is_computed_on_the_fly():
    rows, y = np.tile(DIGITS[DIGIT < 5] / 16, (3, 1)), np.tile(DIGIT[DIGIT < 5], 3)
    stored = ours(y, kernel=Gaussian(4.0), tol=1e-5).fit(rows, y)
    flying = ours(y, kernel=Gaussian(4.0), tol=1e-5, memory="45 MB").fit(rows, y)
    assert (stored.plan_.rows, flying.plan_.rows) == ("gram", "on the fly")
    scores = [each.decision_function(rows[:901]) for each in (stored, flying)]
    np.testing.assert_allclose(*scores, atol=5e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("params", [{"finish": False, "max_epochs": 3}, {"kernel": Gaussian(4.0)}])
@pytest.mark.parametrize("intercept", [True, False])
def test_certificate_holds_for_each_pair(params, intercept):
    found = ours(fit_intercept=intercept, tol=1e-3, **params)
    found.fit(X, Y)
    state = found.certificate(X, Y)
    np.testing.assert_allclose(state.primal, found.objective_, rtol=1e-6)
    best = ours(fit_intercept=intercept, tol=1e-9, **{**params, "finish": True}).fit(X, Y)
    assert (state.dual <= best.objective_ * (1 + 1e-9)).all()
    assert (found.dual_objective_ <= best.objective_ * (1 + 1e-9)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", [None, Gaussian(4.0)], ids=str)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_warm_start_goes_on(kernel, loss):
    params = {"loss": loss, "kernel": kernel, "finish": False, "tol": 1e-6}
    whole = ours(max_epochs=6, **params).fit(X, Y)
    parts = ours(max_epochs=2, warm_start=True, **params).fit(X, Y)
    parts.set_params(max_epochs=4).fit(X, Y)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-6)
    assert len(parts.gap_curve_) == 6


@pytest.mark.parametrize("kernel", [None, Gaussian(4.0)], ids=str)
def test_warm_start_with_another_c(kernel):
    model = ours(kernel=kernel, warm_start=True, lam=None, C=1.0).fit(X, Y)
    model.set_params(C=30.0).fit(X, Y)
    plain = ours(kernel=kernel, lam=None, C=30.0).fit(X, Y)
    assert model.gap_ <= model.tol
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=2 * model.tol)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_checkpoints_are_separate_fits():
    params = {"finish": False, "tol": 1e-6}
    staged = ours(max_epochs=5, checkpoints=[2, 4], **params).fit(X, Y)
    for epochs, scores in zip((2, 4), staged.staged_decision_function(X), strict=True):
        alone = ours(max_epochs=epochs, **params).fit(X, Y)
        np.testing.assert_allclose(scores, alone.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kernel", [None, Gaussian(4.0)], ids=str)
@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_sweep_equals_separate_fits(loss, kernel, scoring):
    if loss == "hinge" and scoring:
        pytest.skip("hinge has no probabilities of its own")
    grid = {"lam": [1e-2, 1e-3, 1e-4]}
    learner = ours(loss=loss, kernel=kernel, tol=1e-6)
    cv = StratifiedKFold(3)
    sweep = SweepCV(learner, grid, cv=cv, scoring=scoring).fit(X, Y)
    plain = GridSearchCV(learner, grid, cv=cv, scoring=scoring).fit(X, Y)
    for fold in range(3):
        name = f"split{fold}_test_score"
        np.testing.assert_allclose(
            sweep.cv_results_[name], plain.cv_results_[name], atol=1e-5 if scoring else 1e-12
        )
    scores = sweep.out_of_fold_scores(sweep.best_index_)
    assert scores.shape == (len(Y), 5)
    assert (scores.argmax(axis=1) == sweep.labels_[sweep.best_index_]).all()


def test_sweep_over_both_ways():
    grid = {"multiclass": ["one-vs-rest", "one-vs-one"], "lam": [1e-3]}
    sweep = SweepCV(ours(kernel=Gaussian(4.0)), grid, cv=3).fit(X, Y)
    plain = GridSearchCV(ours(kernel=Gaussian(4.0)), grid, cv=3).fit(X, Y)
    np.testing.assert_allclose(
        sweep.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    assert len(sweep.best_estimator_.intercept_) == (
        10 if sweep.best_params_["multiclass"] == "one-vs-one" else 5
    )


def test_calibrated_probabilities_of_pairs_are_coupled():
    sweep = SweepCV(ours(kernel=Gaussian(4.0)), {"lam": [1e-4]}, cv=StratifiedKFold(3)).fit(X, Y)
    found = sweep.calibrate()
    learner = sweep.best_estimator_
    p = learner.predict_proba(X)
    pairs = np.empty((len(Y), 10))
    for train, test in StratifiedKFold(3).split(X, Y):
        pairs[test] = clone(learner).fit(X[train], Y[train]).predictor_scores(X[test])
    expected = []
    for k, pair in enumerate(combinations(range(5), 2)):
        rows = np.isin(Y, pair)
        platt = _SigmoidCalibration().fit(pairs[rows, k], Y[rows] == pair[1])
        expected.append(platt.predict(learner.predictor_scores(X)[:, k]))
    expected = couple_probabilities(np.column_stack(expected))
    assert found.kind == "sigmoid"
    np.testing.assert_allclose(p, expected, atol=2e-3)
    assert found.briers["sigmoid"] < 0.1


def test_calibration_of_a_logistic_model_keeps_its_own_probabilities():
    sweep = SweepCV(ours(loss="logistic"), {"lam": [1e-3]}, cv=3).fit(X, Y)
    found = sweep.calibrate()
    p = sweep.best_estimator_.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert set(found.briers) == {"own", "sigmoid"}
    assert (p.argmax(axis=1) == Y).mean() > 0.95


def test_metrics_of_probabilities_use_pairs():
    grid = {"lam": [1e-3], "multiclass": ["one-vs-rest", "one-vs-one"]}
    learner = SDCA(kernel=Gaussian(4.0), random_state=0)
    sweep = SweepCV(learner, grid, cv=3, scoring=Metric("log-loss")).fit(X, Y)
    assert (np.abs(sweep.cv_results_["mean_test_score"]) < 0.5).all()


def test_pairs_without_weight_are_refused():
    weight = np.where(np.isin(Y, (1, 3)), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"classes_\[1\] and classes_\[3\] have weight zero"):
        ours().fit(X, Y, weight)


def test_unknown_values_and_other_learners_are_refused():
    with pytest.raises(ValueError, match="one-vs-rest"):
        ours(multiclass="ovo").fit(X, Y)
    for other in (Pegasos, Perceptron):
        with pytest.raises(TypeError, match="multiclass"):
            other(multiclass="one-vs-one")


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("kernel", [None, Gaussian(4.0)], ids=str)
def test_weights_equal_repetition(loss, kernel):
    weight = RNG.integers(0, 4, len(Y))
    learner = SDCA(loss, C=C, kernel=kernel, multiclass="one-vs-one", **TIGHT)
    weighted = clone(learner).fit(X, Y, weight)
    repeated = clone(learner).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-3
    )
