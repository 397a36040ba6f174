"""Test explanations on generated data with known answers, the command and the page."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import reference
from command_line import call, fine, messy, numbers, written
from pegasos import SDCA, Nystroem, explain, report
from pegasos.explaining.importance import importances
from pegasos.explaining.responses import effects
from pegasos.explaining.tables import Columns
from pegasos.metrics import Metric
from samples import digits


def rows(count: int = 400, seed: int = 0):
    """Return rows of which column 2 decides, 1 helps, 3 is noise and 4 is constant."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 4))
    X[:, 3] = 7.0
    return X, np.where(3 * X[:, 1] + X[:, 0] + 0.5 * random.normal(size=count) > 0, "yes", "no")


def table(count: int = 300, seed: int = 1):
    """Return a number and a text with gaps, which the label follows, and a noise column."""
    random = np.random.default_rng(seed)
    size, kind, other = (
        random.normal(50, 10, count),
        random.choice(["a", "b", "c"], count),
        random.normal(size=count),
    )
    y = np.where(
        (size - 50) / 10 + 2.0 * (kind == "a") - 0.7 + 0.3 * random.normal(size=count) > 0, 1, 0
    )
    gaps = random.random(count) < 0.1
    frame = {
        "size": [None if gap else each for gap, each in zip(gaps, size, strict=True)],
        "kind": kind.tolist(),
        "other": other,
    }
    frame["kind"] = [None if random.random() < 0.05 else each for each in frame["kind"]]
    return pl.DataFrame(frame), y


def encoder():
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer(
        (numbers, ["size", "other"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["kind"]),
    )


def test_what_decides_comes_first_and_noise_is_noise():
    X, y = rows()
    model = SDCA(lam=1e-3, random_state=0).fit(X[:200], y[:200])
    found = explain(model, X[200:], y[200:])
    assert [each.column for each in found.importance[:2]] == ["x2", "x1"]
    first, second, *rest = found.importance
    assert first.sure and second.sure
    assert first.low < first.value < first.high
    assert first.value > 0.2 > second.value
    assert not any(each.sure for each in rest)
    never = next(each for each in rest if each.column == "x4")
    assert (never.value, never.low, never.high) == (0.0, 0.0, 0.0)
    assert found.figure.value == pytest.approx((model.predict(X[200:]) != y[200:]).mean())


def test_importance_is_what_a_textbook_computes():
    X, y = rows(150)
    model = SDCA(kernel="gaussian", lam=1e-2, random_state=0).fit(X, y)
    found = {
        each.place: each.value
        for each in importances(model, Columns(X), y, Metric("error"), 3, seed=5)
    }
    np.testing.assert_allclose(
        [found[j] for j in range(4)],
        reference.permutation_importance(model.predict, X, y, 3, seed=5),
    )


def test_importance_is_in_units_of_the_metric():
    X, y = rows()
    model = SDCA("logistic", lam=1e-3, random_state=0).fit(X[:200], y[:200])
    found = explain(model, X[200:], y[200:], metric=Metric("roc-auc", positive="yes"), repeats=2)
    assert found.metric == "roc-auc"
    assert found.importance[0].column == "x2"
    assert found.importance[0].value > 0.2, "a score that falls is a loss, too"
    curve = found.dependence[0]
    assert (curve.what, curve.classes, curve.numeric) == ("probability", ["yes"], True)
    assert all(np.diff(curve.means[0]) > 0)


@pytest.mark.parametrize("kernel", [None, "gaussian"])
def test_effects_refer_to_the_positive_class(kernel):
    """Effects refer to the positive class of the metric."""
    X, y = rows()
    model = SDCA("logistic", kernel=kernel, lam=1e-2, random_state=0).fit(X[:200], y[:200])
    metrics = [Metric("roc-auc", positive=label) for label in ("no", "yes")]
    no, yes = (
        explain(model, X[200:], y[200:], metric=metric, repeats=1, features=1) for metric in metrics
    )
    assert (no.classes, no.dependence[0].classes, yes.classes) == (["no"], ["no"], ["yes"])
    np.testing.assert_allclose(no.dependence[0].means, 1 - np.array(yes.dependence[0].means))
    assert [each.gains for each in no.effects] == [[-each.gains[0]] for each in yes.effects]
    assert bool(no.effects) == (kernel is None)
    assert not any(math.copysign(1, each.gains[0]) < 0 for each in no.effects if each.gains[0] == 0)


def test_dependence_is_the_mean_answer():
    X, y = rows(200)
    model = SDCA(kernel="gaussian", lam=1e-2, random_state=0).fit(X, y)
    curve = explain(model, X, y, features=1).dependence[0]
    place = int(curve.column[1:]) - 1
    for value, mean in zip(curve.values[::5], curve.means[0][::5], strict=True):
        moved = X.copy()
        moved[:, place] = value
        assert mean == pytest.approx(model.decision_function(moved).mean())


@pytest.mark.parametrize("kind", ["polars", "pandas"])
def test_frames_are_shuffled_by_original_column(kind):
    frame, y = table()
    X = frame if kind == "polars" else frame.to_pandas()
    fitted = make_pipeline(encoder(), SDCA(lam=1e-3, random_state=0))
    if kind == "pandas":
        X = X.assign(kind=X["kind"].astype(object).where(pd.notna(X["kind"]), None))
    model = fitted.fit(X[:200], y[:200])
    found = explain(model, X[200:], y[200:])
    assert {each.column for each in found.importance[:2]} == {"size", "kind"}
    assert found.importance[2].column == "other"
    words = next(each for each in found.dependence if each.column == "kind")
    assert (words.numeric, words.values) == (False, ["a", "b", "c"])
    assert words.means[0][0] == max(words.means[0])


def test_coefficients_are_in_the_units_of_the_columns():
    frame, y = table()
    model = make_pipeline(encoder(), SDCA(lam=1e-3, random_state=0)).fit(frame, y)
    found = {(each.column, each.value): each.gains[0] for each in effects(model, Columns(frame))}
    scaler, learner = model[0].named_transformers_["pipeline"][-1], model[-1]
    assert found["size", None] == pytest.approx(learner.coef_[0, 0] / scaler.scale_[0], rel=1e-6)
    assert found["other", None] == pytest.approx(learner.coef_[0, 1] / scaler.scale_[1], rel=1e-6)
    gap = learner.coef_[0, 2] / scaler.scale_[2]
    fill = (np.nanmean(frame["size"].to_numpy()) - np.nanmedian(frame["size"].to_numpy())) * found[
        "size", None
    ]
    assert found["size", "(missing)"] == pytest.approx(gap + fill, rel=1e-6)
    difference = learner.coef_[0, 3] - learner.coef_[0, 4]
    assert found["kind", "a"] - found["kind", "b"] == pytest.approx(difference, rel=1e-6)
    shares = frame["kind"].drop_nulls().value_counts()
    mean = (
        sum(found["kind", word] * count for word, count in shares.iter_rows())
        / shares["count"].sum()
    )
    assert mean == pytest.approx(0.0, abs=1e-9)
    assert found["kind", "(missing)"] - found["kind", "a"] == pytest.approx(
        learner.coef_[0, 6] - learner.coef_[0, 3], rel=1e-6
    )


@pytest.mark.parametrize(
    "step",
    [PolynomialFeatures(2), Normalizer(), Nystroem(landmarks=20, random_state=0)],
    ids=lambda step: type(step).__name__,
)
def test_there_are_no_coefficients_where_nothing_is_affine(step):
    X, y = rows(100)
    assert effects(make_pipeline(step, SDCA(random_state=0)).fit(X, y), Columns(X)) == []
    assert (
        len(effects(make_pipeline(MinMaxScaler(), SDCA(random_state=0)).fit(X, y), Columns(X))) == 3
    )
    assert effects(SDCA(kernel="gaussian", random_state=0).fit(X, y), Columns(X)) == []


def test_sparse_rows_many_rows_and_wrong_calls(monkeypatch):
    X, y = rows()
    model = SDCA(lam=1e-3, random_state=0).fit(X, y)
    assert explain(model, sparse.csr_matrix(X), y).importance[0].column == "x2"
    monkeypatch.setattr("pegasos.explaining.PREDICTIONS", 3000)
    assert explain(model, X, y).rows == 150
    with pytest.raises(ValueError, match="they must be as many"):
        explain(model, X, y[:5])
    with pytest.raises(ValueError, match="repeats must be at least 1"):
        explain(model, X, y, repeats=0)
    monkeypatch.setattr("pegasos.explaining.tables._MOST_NUMBERS", 10)
    with pytest.raises(ValueError, match="too many to explain"):
        explain(model, sparse.csr_matrix(X), y)


def test_explain_on_the_command_line(place):
    written(messy(300), Path("t.csv"))
    fine("train", "t.csv", "--kernel", "gaussian", "--lam", "1e-3", "-o", "t.model")
    told = fine("explain", "t.model", "t.csv", "-o", "t.html")
    assert "t.model on 60 rows of t.csv that are not training rows: error " in told.out
    assert told.out.index("city") < told.out.index("length")
    page = Path("t.html").read_text(encoding="utf-8")
    for part in (
        "Which columns matter",
        "Permutation importance",
        "Partial dependence on city",
    ):
        assert part in page
    answer = fine(
        "explain", "t.model", "t.csv", "--json", "--metric", "f1-macro", "--features", "1"
    ).json
    assert answer["new_rows"] is True
    assert answer["explanation"]["metric"] == "f1-macro"
    assert answer["explanation"]["importance"][0]["column"] == "city"
    assert len(answer["explanation"]["dependence"]) == 1


def test_the_page_of_a_tuning_run_shows_feature_importance(place):
    """The choice is explained on test rows; without test rows the section is missing."""
    written(messy(300), Path("t.csv"))
    grid = ["--kernel", "gaussian", "--lam", "1e-3,1e-2", "--cv", "3"]
    fine("tune", "t.csv", *grid, "-o", "with")
    page = Path("with/report.html").read_text(encoding="utf-8")
    assert "Which columns matter" in page and "On 60 rows" in page
    assert "Partial dependence on city" in page
    fine("tune", "t.csv", *grid, "--test-size", "0", "-o", "without")
    page = Path("without/report.html").read_text(encoding="utf-8")
    assert "Which columns matter" not in page


def test_columns_of_numbers_keep_their_names(place):
    """A model of numeric columns is fitted to an array, which has no names."""
    written(numbers(120), Path("t.csv"))
    fine("train", "t.csv", "-o", "t.model")
    answer = fine("explain", "t.model", "t.csv", "-o", "t.html", "--json").json["explanation"]
    assert answer["columns"] == ["a", "b", "c"] and {
        each["column"] for each in answer["effects"]
    } == {"a", "b", "c"}
    assert "Partial dependence on x1" not in Path("t.html").read_text(encoding="utf-8")


def test_explaining_known_rows_and_others(place):
    written(messy(120), Path("t.csv"))
    fine("train", "t.csv", "--test-size", "0", "-o", "t.model")
    told = fine("explain", "t.model", "t.csv")
    assert "nearly all of these rows are training rows" in told.err
    assert "per unit" in told.out
    messy(50).with_columns(species=pl.lit("kind 9")).write_csv("odd.csv")
    assert "is no class of the model" in call("explain", "t.model", "odd.csv").err
    messy(50).drop("species").write_csv("unlabelled.csv")
    assert "has no labels" in call("explain", "t.model", "unlabelled.csv").err
    assert (
        "--metric must be one of"
        in call("explain", "t.model", "t.csv", "--metric", "jaccard_macro").err
    )


def test_the_page_of_a_model_in_python():
    X, y = rows(150)
    page = report(SDCA(lam=1e-3, random_state=0).fit(X, y), X, y)
    assert {"importance", "dependence-1", "effects"} <= {table.name for table in page.tables()}
    assert "importance" in page.charts()
    pictures, labels = digits()
    model = SDCA(lam=1e-2, random_state=0).fit(pictures[:200], labels[:200])
    assert (
        "Which columns matter" not in report(model, pictures[:200], labels[:200], image=(8, 8)).html
    )


def _whole_numbers(kind: str):
    """Return whole-number ages and a boolean, with effects 0.1 per year and 2."""
    random = np.random.default_rng(3)
    ages, married = random.integers(18, 90, 200), random.random(200) > 0.5
    y = np.where(0.1 * (ages - 50) + 2.0 * married > 1.0, 1, 0)
    columns = {"age": ages, "married": married}
    if kind == "array":
        return np.column_stack([ages, married.astype(int)]), y
    if kind == "polars":
        return pl.DataFrame(columns), y
    if kind == "numbered":
        return pd.DataFrame(columns).set_axis([0, 1], axis=1), y
    return pd.DataFrame(columns).astype({"age": "Int64" if kind == "nullable" else "int64"}), y


@pytest.mark.parametrize("kind", ["array", "polars", "pandas", "numbered", "nullable"])
def test_integer_and_boolean_columns_have_effects(kind):
    """Values put into integer and boolean columns are valid values of these columns."""
    X, y = _whole_numbers(kind)
    model = make_pipeline(StandardScaler(), SDCA("logistic", lam=1e-3, random_state=0)).fit(X, y)
    found = explain(model, X, y)
    slopes = (model[-1].coef_[0] / model[0].scale_).tolist()
    assert [each.value for each in found.effects] == [None, None]
    np.testing.assert_allclose([each.gains[0] for each in found.effects], slopes, rtol=1e-3)
    ages = next(each for each in found.dependence if each.column == found.columns[0]).values
    assert len(ages) > 10 and all(each == int(each) for each in ages)


def test_boolean_arrays_are_not_text():
    X = np.random.default_rng(0).random((100, 2)) > 0.5
    found = explain(SDCA("logistic", lam=1e-3, random_state=0).fit(X, X[:, 0]), X, X[:, 0])
    assert [each.value for each in found.effects] == [None, None] and found.effects[0].gains[
        0
    ] > 1.0


def test_text_that_looks_like_numbers_stays_text():
    kinds = np.where(np.arange(100) % 3 == 0, "01", "02").astype(object)
    X, y = pd.DataFrame({"kind": kinds}), np.where(kinds == "01", "yes", "no")
    model = make_pipeline(OneHotEncoder(), SDCA("logistic", lam=1e-3, random_state=0)).fit(X, y)
    found = explain(model, X, y)
    gains = {each.value: each.gains[0] for each in found.effects}
    assert gains["01"] > 1.0 > -1.0 > gains["02"]
    assert found.dependence[0].values == ["01", "02"] and not found.dependence[0].numeric
    assert found.dependence[0].means[0][0] > 0.9 > 0.1 > found.dependence[0].means[0][1]


def test_missing_values_of_pandas_are_gaps():
    ages = pd.array(
        [None if place % 9 == 0 else 20 + place % 50 for place in range(200)], dtype="Int64"
    )
    X, y = pd.DataFrame({"age": ages}), np.arange(200) % 50 > 25
    model = make_pipeline(
        SimpleImputer(add_indicator=True), SDCA("logistic", lam=1e-3, random_state=0)
    ).fit(X, y)
    found = explain(model, X, y)
    assert [each.value for each in found.effects] == [None, "(missing)"]
