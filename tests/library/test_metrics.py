"""Compare metrics and baselines with scikit-learn's."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn import metrics as theirs
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from pegasos import SDCA, Perceptron, SweepCV, explain
from pegasos.estimates import Figure, measured
from pegasos.learners.calibration import fit_calibration
from pegasos.metrics import (
    METRICS,
    SCORES,
    Metric,
    answers,
    as_metric,
    baseline_answers,
    measure_of,
    shown_value,
)
from pegasos.program.pages.wording import verdict_words

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed the global generator before each test."""
    monkeypatch.setitem(globals(), "RANDOM", np.random.default_rng(0))


COSTS = (("b", "a", 5.0), ("c", "a", 9.0), ("a", "b", 1.0))


def of(classes: int, rows: int = 400):
    """Return labels, predictions, scores and probabilities of a poor classifier."""
    names = np.array(list("abcd"))[:classes]
    y = RANDOM.choice(names, rows, p=np.arange(classes, 0, -1) / sum(range(1, classes + 1)))
    scores = RANDOM.normal(size=(rows, classes)) + (y[:, None] == names)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return names, y, names[scores.argmax(axis=1)], scores, p


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", METRICS)
def test_values_are_those_of_scikit_learn(name, classes, weighted):
    names, y, guess, scores, p = of(classes)
    weights = RANDOM.integers(0, 4, len(y)).astype(float) if weighted else None
    many = classes > 2
    metric = Metric(
        name,
        positive="b" if METRICS[name].one_class else None,
        costs=COSTS[: 3 if many else 1] if name == "cost" else (),
    )
    given = scores if many else scores[:, 1] - scores[:, 0]
    ours = metric.value(answers(names, y, guess, given, p), weights)
    mine = {"sample_weight": weights}
    column = scores[:, 1] if many else given
    expected = {
        "error": lambda: 1 - theirs.accuracy_score(y, guess, **mine),
        "balanced-error": lambda: 1 - theirs.balanced_accuracy_score(y, guess, **mine),
        "f1": lambda: theirs.f1_score(y == "b", guess == "b", **mine),
        "f1-macro": lambda: theirs.f1_score(y, guess, average="macro", **mine),
        "roc-auc": lambda: theirs.roc_auc_score(y == "b", column, **mine),
        "average-precision": lambda: theirs.average_precision_score(y == "b", column, **mine),
        "log-loss": lambda: theirs.log_loss(y, p, **mine),
        "brier": lambda: (
            np.average(((p - (y[:, None] == names)) ** 2).sum(axis=1), weights=weights)
            if many
            else theirs.brier_score_loss(y == "b", p[:, 1], **mine)
        ),
        "cost": lambda: np.average(
            [
                next((c for t, a, c in metric.costs if (t, a) == pair), 0.0)
                for pair in zip(y, guess, strict=True)
            ],
            weights=weights,
        ),
    }
    assert ours == pytest.approx(expected[name](), abs=1e-12)


def test_several_classes_without_a_positive_one_are_averaged():
    names, y, guess, scores, _ = of(3)
    ours = Metric("roc-auc").value(answers(names, y, guess, scores))
    assert ours == pytest.approx(
        np.mean([theirs.roc_auc_score(y == name, scores[:, k]) for k, name in enumerate(names)])
    )
    with pytest.raises(ValueError, match="if there are 3 classes: name one, or use f1-macro"):
        Metric("f1").settled(y)
    assert Metric("f1", positive="c").settled(y).positive == "c"


@pytest.mark.parametrize(
    ("y", "positive"),
    [
        ([0, 1, 1, 1], 1),
        ([-1, 1], 1),
        (["no", "no", "yes"], "yes"),
        (["churned", "stayed", "stayed"], "churned"),
        ([1, 2], 2),
    ],
)
def test_the_positive_class_is_the_rarer_one_or_1(y, positive):
    assert Metric("f1").settled(y).positive == positive


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="there is no metric 'beauty'"):
        Metric("beauty")
    with pytest.raises(ValueError, match="needs costs"):
        Metric("cost")
    with pytest.raises(ValueError, match="numbers from 0 to"):
        Metric("cost", costs=(("a", "b", -1.0),))
    with pytest.raises(ValueError, match="there is no class 'x'"):
        Metric("f1", positive="x").settled(["a", "b"])


@pytest.mark.parametrize("name", METRICS)
def test_the_baseline_is_the_best_constant_prediction(name):
    names, y, guess, scores, p = of(3)
    metric = Metric(
        name,
        positive="c" if METRICS[name].one_class else None,
        costs=COSTS if name == "cost" else (),
    )
    found = answers(names, y, guess, scores, p)
    constant, guessed = baseline_answers(metric, found, np.bincount(found.truth))
    value = metric.value(constant)
    if metric.kind.needs == "labels":
        each = [metric.value(answers(names, y, np.full(len(y), name))) for name in names]
        assert value == pytest.approx(min(each) if metric.kind.least else max(each))
        assert metric.value(answers(names, y, np.full(len(y), guessed))) == value
    elif metric.kind.needs == SCORES:
        assert value == pytest.approx(0.5 if name == "roc-auc" else np.mean(y == "c"))
    else:  # no other constant probabilities are better
        for _ in range(20):
            other = RANDOM.dirichlet(np.ones(3), size=1).repeat(len(y), axis=0)
            assert value <= metric.value(answers(names, y, guess, scores, other))


@pytest.mark.slow
def test_a_figure_accounts_for_noise():
    """A random model is not better than the baseline, an informative one is."""
    y = np.repeat(["no", "yes"], [900, 100])
    for name in ("error", "balanced-error", "f1", "roc-auc", "average-precision"):
        metric = Metric(name).settled(y)
        blind, seeing = RANDOM.normal(size=1000), RANDOM.normal(size=1000) + 3 * (y == "yes")
        for scores, better in ((blind, False), (seeing, True)):
            found = measured(
                metric, answers(["no", "yes"], y, np.where(scores > 2, "yes", "no"), scores)
            )
            assert found.better is better, name
            assert found.low <= found.value <= found.high


def test_ours_are_scorers_for_scikit_learn():
    X, y = make_classification(300, weights=[0.8], random_state=0)
    scores = cross_val_score(LogisticRegression(), X, y, scoring=Metric("f1"), cv=3)
    assert scores == pytest.approx(cross_val_score(LogisticRegression(), X, y, scoring="f1", cv=3))
    losses = cross_val_score(LogisticRegression(), X, y, scoring=Metric("log-loss"), cv=3)
    assert losses == pytest.approx(
        cross_val_score(LogisticRegression(), X, y, scoring="neg_log_loss", cv=3)
    )


def unbalanced(rows: int = 500):
    X, y = make_classification(rows, 6, n_informative=4, weights=[0.85], flip_y=0.1, random_state=1)
    return X, np.array(["stayed", "churned"])[y]


PRECISION = theirs.make_scorer(
    theirs.average_precision_score, response_method="decision_function", pos_label="stayed"
)
GRID = {"lam": [1e-3, 1e-1, 1.0], "class_weight": [None, "balanced"]}


@pytest.mark.parametrize(
    ("ours", "scorer"),
    [
        ("balanced-error", "balanced_accuracy"),
        ("f1", theirs.make_scorer(theirs.f1_score, pos_label="churned")),
        pytest.param("roc-auc", "roc_auc", marks=pytest.mark.slow),
        pytest.param(
            Metric("average-precision", positive="stayed"), PRECISION, marks=pytest.mark.slow
        ),
    ],
)
def test_a_sweep_takes_our_names(ours, scorer):
    X, y = unbalanced()
    found = SweepCV(SDCA(random_state=0), GRID, cv=3, scoring=ours, refit=False).fit(X, y)
    other = SweepCV(SDCA(random_state=0), GRID, cv=3, scoring=scorer, refit=False).fit(X, y)
    shift = 1 if found.metric_.kind.least else 0
    assert found.cv_results_["mean_test_score"] + shift == pytest.approx(
        other.cv_results_["mean_test_score"]
    )
    assert found.out_of_fold_metric().better
    assert found.out_of_fold_metric().baseline == pytest.approx(
        found.out_of_fold_metric(found.metric_).baseline
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_that_a_model_does_not_have_are_calibrated_without_the_row(classes):
    """Compare with sigmoids fitted by hand to the other parts of each fold."""
    X, y = make_classification(
        240, 6, n_informative=4, n_classes=classes, flip_y=0.2, random_state=0
    )
    sweep = SweepCV(SDCA(random_state=0), {"lam": [1.0, 1e-2]}, cv=3, scoring="brier").fit(X, y)
    scores = sweep.out_of_fold_scores(sweep.best_index_)
    scores, values = scores[:, 0] if classes == 2 else scores, []
    for _, test in StratifiedKFold(3).split(X, y):
        p = np.empty((len(test), classes))
        for rest, part in StratifiedKFold(5, shuffle=True, random_state=0).split(test, y[test]):
            p[part] = fit_calibration("sigmoid", scores[test[rest]], y[test[rest]]).probabilities(
                scores[test[part]]
            )
        values.append(
            np.square(p - np.eye(classes)[y[test]]).sum(axis=1).mean() / (2 if classes == 2 else 1)
        )
    assert -sweep.best_score_ == pytest.approx(np.mean(values))
    assert sweep.out_of_fold_metric().value == pytest.approx(np.mean(values))
    assert sweep.out_of_fold_metric().better
    found = sweep.calibrate()
    assert sweep.out_of_fold_metric().value == pytest.approx(found.briers[found.kind])


def test_calibrated_probabilities_learn_nothing_from_labels_that_mean_nothing():
    X, y = RANDOM.normal(size=(300, 20)), np.arange(300) % 2
    sweep = SweepCV(Perceptron(random_state=0), {"epochs": [1, 3]}, cv=3, scoring="log-loss").fit(
        X, y
    )
    assert -sweep.best_score_ > 0.68
    assert not sweep.out_of_fold_metric().better


def test_classes_that_a_fold_lacks_get_no_probability():
    """The fold that tests the only row of a class has no scores for the class."""
    X, y = RANDOM.normal(size=(61, 3)), np.array([*["a", "b"] * 30, "c"])
    X[::2] += 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sweep = SweepCV(
            SDCA(random_state=0), {"lam": [0.1]}, cv=3, scoring="log-loss", refit=False
        ).fit(X, y)
    assert np.isfinite(sweep.best_score_)


def test_probabilities_that_a_model_has_are_taken():
    X, y = unbalanced(60)
    y = (y == "churned").astype(int)
    found = SweepCV(
        SDCA("logistic", random_state=0), {"lam": [1.0, 1e-2]}, cv=3, scoring="brier"
    ).fit(X, y)
    other = SweepCV(
        SDCA("logistic", random_state=0), {"lam": [1.0, 1e-2]}, cv=3, scoring="neg_brier_score"
    ).fit(X, y)
    assert found.cv_results_["mean_test_score"] == pytest.approx(
        other.cv_results_["mean_test_score"]
    )


def test_how_values_are_read():
    assert shown_value(None, 0.9) == pytest.approx(0.1)
    assert shown_value("balanced-error", -0.2) == 0.2
    assert shown_value("roc-auc", 0.8) == 0.8
    assert shown_value("neg_log_loss", -0.5) == -0.5
    assert measure_of("cost").least and not measure_of("neg_log_loss").least
    assert as_metric("roc_auc") is None


def test_rows_may_lack_a_class_of_the_model():
    """The positive class and classes with costs may be missing from the rows."""
    X = np.arange(12.0)[:, None]
    y = np.where(X[:, 0] > 5, "yes", "no")
    model = SDCA("logistic", lam=0.01, random_state=0).fit(X, y)
    costs = Metric("cost", costs=(("yes", "no", 20.0), ("no", "yes", 1.0)))
    assert costs(model, X[:4], y[:4]) == 0.0
    assert Metric("f1", positive="yes")(model, X[:4], y[:4]) == 0.0
    assert math.isnan(Metric("roc-auc")(model, X[:4], y[:4]))
    assert explain(model, X[:4], y[:4], metric=costs).figure.value == 0.0
    with pytest.raises(ValueError, match="there is no class 'maybe'"):
        Metric("f1", positive="maybe")(model, X, y)


def test_rows_of_two_classes_do_not_make_a_model_of_three_binary():
    X, y = np.arange(12.0)[:, None], np.repeat(["a", "b", "c"], 4)
    model = SDCA("logistic", lam=0.01, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="there are 3"):
        Metric("f1")(model, X[:8], y[:8])
    both = [Metric("roc-auc", positive=each)(model, X[:8], y[:8]) for each in ("a", "b")]
    assert Metric("roc-auc")(model, X[:8], y[:8]) == pytest.approx(np.mean(both))


@pytest.mark.parametrize("name", ["error", "balanced-error", "roc-auc", "log-loss", "brier"])
def test_no_weight_at_all_is_no_number(name):
    X, y = np.arange(12.0)[:, None], np.arange(12) > 5
    model = SDCA("logistic", lam=0.01, random_state=0).fit(X, y)
    assert math.isnan(Metric(name)(model, X, y, sample_weight=[0] * 12))
    assert Metric(name)(model, X, y, sample_weight=[2] * 12) == pytest.approx(
        Metric(name)(model, X, y)
    )


def test_test_rows_can_refute_an_advantage_over_the_baseline():
    """Test rows override the out-of-fold comparison with the baseline."""
    measure = measure_of("error")
    good, bad = (
        Figure(900, 0.05, 0.04, 0.06, 0.1, "a", True),
        Figure(100, 0.12, 0.08, 0.2, 0.1, "a", False),
    )
    noisy = Figure(100, 0.09, 0.05, 0.2, 0.1, "a", False)
    assert verdict_words(good, measure, noisy) is None  # few test rows tell little
    assert "error 12.00\u00a0% on 100 test rows, against always predicting 'a'" in verdict_words(
        good, measure, bad
    )
    assert "on 100 out-of-fold predictions, within noise of" in verdict_words(noisy, measure, bad)
