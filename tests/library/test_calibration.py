"""Test probabilities from out-of-fold scores, thresholds, and both in model files."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as theirs
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pegasos
from pegasos import SDCA, Perceptron, SweepCV
from pegasos.estimates import expected_calibration_error, reliability
from pegasos.learners.calibration import ISOTONIC, SIGMOID, Calibration, carry_over, fit_calibration
from pegasos.learners.one_vs_all import probabilities
from pegasos.metrics import Metric, answers
from pegasos.program.errors import BadModel
from pegasos.program.pages.wording import decision_lines
from pegasos.program.records.codec import to_json
from pegasos.program.records.runs import CalibrationRecord
from pegasos.search.decisions import (
    OWN,
    Aim,
    Rates,
    ScaleWarning,
    choose_calibration,
    choose_threshold,
)

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed the global generator before each test."""
    monkeypatch.setitem(globals(), "RANDOM", np.random.default_rng(0))


def table(rows: int, share: float = 0.85):
    X, y = make_classification(
        rows, 8, n_informative=5, weights=[share], flip_y=0.1, random_state=3
    )
    return X, np.array(["stayed", "churned"])[y]


def swept(X, y, loss: str = "hinge", **options):
    model = make_pipeline(StandardScaler(), SDCA(loss, tol=0.01, random_state=0))
    return SweepCV(model, {"sdca__lam": [1e-3, 1e-2]}, cv=5, **options).fit(X, y)


@pytest.mark.parametrize("kind", [SIGMOID, ISOTONIC])
def test_maps_are_those_of_scikit_learn(kind):
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import RidgeClassifier

    X, y = load_digits(return_X_y=True)
    model = RidgeClassifier().fit(X[:900], y[:900])
    theirs_ = CalibratedClassifierCV(FrozenEstimator(model), method=kind, cv=3).fit(
        X[900:], y[900:]
    )
    ours = replace(fit_calibration(kind, model.decision_function(X[900:]), y[900:]), power=1.0)
    assert ours.probabilities(model.decision_function(X[:99])) == pytest.approx(
        theirs_.predict_proba(X[:99]), abs=1e-6
    )


@pytest.mark.parametrize("columns", [1, 3])
def test_probabilities_are_some(columns):
    scores, codes = RANDOM.normal(size=(200, columns)), np.arange(200) % max(2, columns)
    for kind in (SIGMOID, ISOTONIC):
        p = fit_calibration(kind, scores, codes).probabilities(
            scores if columns > 1 else scores[:, 0]
        )
        assert p.shape == (200, max(2, columns))
        assert p.min() >= 0
        assert p.sum(axis=1) == pytest.approx(np.ones(200))
    nowhere = Calibration(ISOTONIC, tuple(np.array([[0.0, 0.0]]) for _ in range(3))).probabilities(
        np.zeros((1, 3))
    )
    assert nowhere == pytest.approx(np.full((1, 3), 1 / 3))


def sets():
    yield "digits", *load_digits(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "unbalanced", *table(4000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "X", "y"), list(sets()), ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_calibrated_probabilities_mean_what_they_say(name, X, y, loss):
    """On holdout rows the Brier score does not rise, and the calibration error is below 0.05."""
    train, test, labels, truth = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    sweep = swept(train, labels, loss)
    before = probabilities(sweep.decision_function(test))
    found = sweep.calibrate()
    assert found.briers[found.kind] <= min(found.briers.values()) + 0.005
    assert (OWN in found.briers) == (loss == "logistic")
    after = sweep.predict_proba(test)
    brier = [
        Metric("brier").value(answers(sweep.classes_, truth, truth, None, p))
        for p in (before, after)
    ]
    assert brier[1] <= brier[0] + 0.002  # no worse; where nothing was to be mended, within noise
    codes = np.searchsorted(sweep.classes_, truth)
    one, true = (
        (after[:, 1], codes == 1)
        if after.shape[1] == 2
        else (after.max(axis=1), after.argmax(axis=1) == codes)
    )
    chance = np.mean(
        [
            expected_calibration_error(reliability(one, RANDOM.random(len(one)) < one))
            for _ in range(50)
        ]
    )  # what perfect probabilities would show
    assert expected_calibration_error(reliability(one, true)) < 0.05 + chance


def test_a_model_has_probabilities_only_after_it_was_calibrated():
    X, y = table(600)
    sweep = swept(X, y)
    with pytest.raises(AttributeError, match="predict_proba") as refused:
        sweep.best_estimator_[-1].predict_proba(X)
    assert "or after SweepCV.calibrate()" in str(refused.value.__cause__)
    sweep.calibrate()
    assert sweep.predict_proba(X).shape == (600, 2)
    learner = sweep.best_estimator_[-1]
    assert learner.calibration_ is not None
    learner.fit(X, y)
    assert learner.calibration_ is None  # another fit forgets
    walker = SweepCV(Perceptron(random_state=0), {"epochs": [5, 20]}, cv=3).fit(X, y)
    assert walker.calibrate().kind in (SIGMOID, ISOTONIC)
    assert walker.predict_proba(X).shape == (600, 2)


def test_few_rows_of_a_class_are_not_calibrated():
    with pytest.raises(ValueError, match="two classes with 10 scored rows"):
        choose_calibration(RANDOM.normal(size=40), np.repeat([0, 1], [35, 5]))


@pytest.mark.parametrize("name", ["error", "balanced-error", "f1", "cost"])
def test_the_threshold_is_the_best_of_all(name):
    random = np.random.default_rng(0)
    positive = random.random(150) < 0.3
    scores = (random.normal(size=150) + positive).round(1)
    costs = ((True, False, 7.0), (False, True, 1.0)) if name == "cost" else ()
    metric = Metric(name, positive=True, costs=costs)

    def value(cut: float) -> float:
        found = metric.value(answers([False, True], positive, scores > cut))
        return found if metric.kind.least else -found

    found = choose_threshold(Aim(metric), scores, positive)
    assert value(found.value) == pytest.approx(
        min(value(cut) for cut in np.arange(-5.05, 5.0, 0.1))
    )
    assert found.low <= found.value <= found.high


def test_wished_precision_and_recall():
    positive = RANDOM.random(400) < 0.3
    scores = RANDOM.normal(size=400) + 2 * positive
    for wish in ("precision", "recall"):
        found = choose_threshold(Aim(wish=wish, least=0.9), scores, positive)
        called = scores > found.value
        assert theirs.precision_score(positive, called) == pytest.approx(found.precision)
        assert theirs.recall_score(positive, called) == pytest.approx(found.recall)
        assert getattr(found, wish) >= 0.9
        assert called.mean() == pytest.approx(found.share)
    with pytest.raises(
        ValueError, match=r"no threshold gives precision 0\.9 here; the most is 0\.5"
    ):
        choose_threshold(Aim(wish="precision", least=0.9), np.zeros(10), np.arange(10) < 5)


def test_rates_are_those_of_scikit_learn():
    positive, scores = RANDOM.random(300) < 0.4, RANDOM.normal(size=300).round(1)
    rates = Rates.of(scores, positive)
    false, true, _ = theirs.roc_curve(positive, scores, drop_intermediate=False)
    assert rates.hits / rates.positives == pytest.approx(true)
    assert rates.alarms / rates.negatives == pytest.approx(false)


def test_a_threshold_decides_for_either_class():
    X, y = table(900)
    for positive in ("churned", "stayed"):
        sweep = swept(X, y, scoring=Metric("f1", positive=positive))
        plain = sweep.out_of_fold_metric().value
        found = sweep.choose_threshold(Aim(Metric("f1", positive=positive)))
        assert sweep.out_of_fold_metric().value >= plain
        assert (sweep.predict(X) == positive).mean() == pytest.approx(found.share, abs=0.1)
    by_text = sweep.choose_threshold("precision=0.8")
    assert by_text == sweep.choose_threshold(Aim(wish="precision", least=0.8))
    for text in ("precision=2", "precision", "speed=0.9"):
        with pytest.raises(ValueError, match="or recall="):
            sweep.choose_threshold(text)
    with pytest.raises(ValueError, match="for two classes"):
        SweepCV(SDCA(random_state=0), {"lam": [0.1]}, cv=3).fit(
            X, np.arange(900) % 3
        ).choose_threshold(Aim(Metric("error")))


def test_scores_without_a_common_scale_are_reported():
    """If no row is likely positive, hinge scores are all alike and a warning says so."""
    random = np.random.default_rng(3)
    X = random.normal(size=(1500, 3))
    y = np.where(X @ [0.7, -0.5, 0.3] + random.logistic(size=1500) > 3.4, "churned", "stayed")
    aim = Aim(wish="recall", least=0.6)
    hinge = SweepCV(SDCA(random_state=0), {"lam": [1e-3]}, scoring=Metric("average-precision")).fit(
        X, y
    )
    with pytest.warns(ScaleWarning, match="scores have no common scale.*try the logistic loss"):
        hinge.choose_threshold(aim)
    assert hinge.scale_warning_.fact.startswith("scores have no common scale")
    logistic = SweepCV(
        SDCA("logistic", random_state=0), {"lam": [1e-3]}, scoring=Metric("average-precision")
    ).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        found = logistic.choose_threshold(aim)
        logistic.calibrate()
    assert logistic.scale_warning_ is None
    assert (logistic.predict(X) == "churned").mean() == pytest.approx(found.share, abs=0.05)


def test_doubts_stand_beside_probabilities():
    """The warning appears on the terminal, on the page and in JSON."""
    record = CalibrationRecord(
        "sigmoid",
        {"sigmoid": 0.1},
        0.02,
        0.01,
        [(0.1, 0.12, 50)],
        None,
        "scores have no common scale",
    )
    assert decision_lines(record, None)[1] == "doubt: scores have no common scale"
    assert to_json(record)["doubt"] == "scores have no common scale"
    assert len(decision_lines(replace(record, doubt=None), None)) == 1


@pytest.mark.parametrize("kind", [SIGMOID, ISOTONIC])
def test_scales_are_brought_together(kind):
    known, fresh = SDCA(), SDCA()
    known.classes_ = fresh.classes_ = np.arange(2)
    scores = RANDOM.normal(size=500)
    known.calibration_ = fit_calibration(
        kind, scores, (scores + RANDOM.normal(size=500) > 0).astype(int)
    )
    known.threshold_ = 0.3
    carry_over(known, fresh, scores, 0.001 * scores - 1)
    assert fresh.probabilities_of(0.001 * scores - 1) == pytest.approx(
        known.probabilities_of(scores)
    )
    assert fresh.threshold_ == pytest.approx(0.001 * 0.3 - 1)


@pytest.mark.parametrize("kind", [SIGMOID, ISOTONIC])
def test_model_files_keep_both(tmp_path, kind):
    X, y = table(600)
    sweep = swept(X, y)
    learner = sweep.best_estimator_[-1]
    found = sweep.out_of_fold_answers()
    learner.calibration_ = fit_calibration(kind, found.scores[:, 1], found.truth)
    sweep.choose_threshold(Aim(Metric("f1", positive="churned")))
    pegasos.save(sweep, tmp_path / "m.model")
    loaded = pegasos.load(tmp_path / "m.model")
    assert np.array_equal(loaded.predict_proba(X), sweep.predict_proba(X))
    assert np.array_equal(loaded.predict(X), sweep.predict(X))
    assert loaded[-1].threshold_ == learner.threshold_ != 0


@pytest.mark.parametrize(
    "columns",
    [
        np.array([[0.0, 0.1], [1.0, 1.4]]),
        np.empty((0, 2)),
    ],
)
def test_damaged_calibrations_are_refused(tmp_path, columns):
    X, y = table(200)
    model = SDCA(random_state=0).fit(X, y)
    model.calibration_ = Calibration(ISOTONIC, (columns,))
    with pytest.raises(BadModel, match="knots of its calibration"):
        pegasos.save(model, tmp_path / "m.model")
