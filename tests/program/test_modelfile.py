"""Test model files: exact round trips, refusals that name the part, damage, and atomic writes."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from hostile_models import apart, fields, signed, together
from pegasos import SDCA, Nystroem, Pegasos, Perceptron, SweepCV
from pegasos.engine.kernels.standard import KERNELS, Gaussian
from pegasos.preprocessing import DropOutliers
from pegasos.program.modelfile import BadModel, NotAModel, load, read_model, save
from samples import passing_polars_on, quadric_like, usps

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

KERNEL_CHOICES = [None, *KERNELS, "precomputed"]


def data(classes: int = 3, m: int = 40, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    X = random.normal(size=(m, 4)).astype(dtype)
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2, [0.5] if classes == 2 else [0.0, 1.0])


def round_trip(estimator: Any, folder: Path, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(estimator, folder / "a.model", **more)
        return load(folder / "a.model")


def same_answers(one: Any, other: Any, X: Any) -> None:
    """Assert that predictions, scores, probabilities and stages are bitwise equal."""
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    for method in ("decision_function", "predict_proba"):
        assert hasattr(one, method) == hasattr(other, method)
        if hasattr(one, method):
            expected, got = getattr(one, method)(X), getattr(other, method)(X)
            assert expected.dtype == got.dtype
            np.testing.assert_array_equal(expected, got)
    if getattr(one, "checkpoints_", []):
        for expected, got in zip(
            one.staged_decision_function(X), other.staged_decision_function(X), strict=True
        ):
            np.testing.assert_array_equal(expected, got)


# learners


def learners(kernel: Any) -> list[Any]:
    some = {"kernel": kernel, "random_state": 0, "checkpoints": [2, 5]}
    return [
        Pegasos(loss="hinge", n_iter=40, **some),
        Pegasos(loss="logistic", n_iter=40, class_weight="balanced", projection=True, **some),
        Perceptron(epochs=6, **some),
        SDCA(loss="hinge", max_epochs=8, **some),
        SDCA(loss="logistic", max_epochs=8, fit_intercept=False, **some),
        SDCA(loss="logistic", max_epochs=8, multiclass="one-vs-one", **some),
    ]


def _cases() -> list[tuple[Any, ...]]:
    """Return each kernel with each form of rows; dtypes and numbers of classes alternate."""
    forms = ("dense", "csr_matrix", "csr_array")
    pairs = [(kernel, form) for kernel in range(len(KERNEL_CHOICES)) for form in range(3)]
    return [
        (
            2 + (kernel // 2 + form) % 2,
            KERNEL_CHOICES[kernel],
            forms[form],
            (np.float64, np.float32)[(kernel + form) % 2],
        )
        for kernel, form in pairs
    ]


@pytest.mark.parametrize(("classes", "kernel", "form", "dtype"), _cases())
def test_loaded_learners_predict_equally(
    classes: int, kernel: str | None, form: str, dtype: Any, tmp_path: Path
) -> None:
    X, y = data(classes, dtype=dtype)
    X = X @ X.T if kernel == "precomputed" else X
    rows = (
        X
        if form == "dense"
        else getattr(sparse, form)(X * (np.abs(X) > 0.5) if kernel != "precomputed" else X)
    )
    for learner in learners(kernel):
        learner.fit(rows, y)
        found = round_trip(learner, tmp_path)
        same_answers(learner, found, rows)
        assert found.get_params() == learner.get_params()
        for name, value in vars(learner).items():
            if name.endswith("_") and not name.startswith("_") and not sparse.issparse(value):
                assert type(getattr(found, name)) is type(value), name
                np.testing.assert_array_equal(
                    np.asarray(getattr(found, name), dtype=object), np.asarray(value, dtype=object)
                )
        if hasattr(learner, "certificate") and kernel != "precomputed":
            expected, got = learner.certificate(rows, y), found.certificate(rows, y)
            np.testing.assert_array_equal(expected.primal, got.primal)
            np.testing.assert_array_equal(expected.dual, got.dual)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([-1, 1], dtype=np.int8),
        np.array([False, True]),
        np.array([3, 2**63 + 1, 2**64 - 1], dtype=np.uint64),
        np.array([0.1, 2.0], dtype=np.float32).round(),
        np.array(["a", "bé", "日本"]),
        np.array(["no", "yes, 100%\n\x1b[31m"], dtype=object),
    ],
)
def test_classes_of_all_kinds(labels: np.ndarray, tmp_path: Path) -> None:
    X, codes = data(len(labels))
    y = labels[codes]
    model = Perceptron(epochs=3).fit(X, y)
    found = round_trip(model, tmp_path)
    np.testing.assert_array_equal(model.predict(X), found.predict(X))
    assert found.classes_.dtype == (
        model.classes_.dtype if labels.dtype != object else np.array(labels.tolist()).dtype
    )


def test_labels_that_were_python_text_can_be_certified(tmp_path: Path) -> None:
    X, codes = data(3)
    y = np.array(["a", "b", "c"], dtype=object)[codes]
    model = SDCA(random_state=0, class_weight={"a": 1, "b": 2.5, "c": 1.0}).fit(X, y)
    found = round_trip(model, tmp_path)
    np.testing.assert_array_equal(found.certificate(X, y).dual, model.certificate(X, y).dual)
    assert found.class_weight == {"a": 1, "b": 2.5, "c": 1.0}


def test_settings_come_back(tmp_path: Path) -> None:
    X, y = data()
    model = Pegasos(
        kernel=Gaussian(variance=np.float64(2)),
        class_weight={0: 1.0, 1: 2, 2: 0.5},
        checkpoints=range(3, 9, 2),
    )
    found = round_trip(model.fit(X, y), tmp_path)
    assert found.kernel == Gaussian(2.0) == found.kernel_
    assert found.class_weight == {0: 1.0, 1: 2, 2: 0.5} and all(
        type(key) is int for key in found.class_weight
    )
    assert found.checkpoints == [3, 5, 7] == found.checkpoints_
    assert str(found.plan_) == str(model.plan_)
    for width in ("scale", "0.5 scale"):
        scaled = round_trip(Pegasos(kernel=Gaussian(width)).fit(X, y), tmp_path)
        assert scaled.kernel == Gaussian(width) and isinstance(scaled.kernel_.variance, float)


def test_a_generator_is_kept_as_its_seed(tmp_path: Path) -> None:
    X, y = data()
    model = Pegasos(random_state=np.random.RandomState(5), n_iter=30).fit(X, y)
    found = round_trip(model, tmp_path)
    np.testing.assert_array_equal(clone(found).fit(X, y).coef_, model.coef_)


def test_partial_fit_of_a_loaded_model_is_refused(tmp_path: Path) -> None:
    X, y = data()
    for model in (
        Pegasos(n_iter=30, average=True, warm_start=True, random_state=0),
        Perceptron(warm_start=True, random_state=0),
    ):
        fresh = clone(model).fit(X, y).coef_
        found = round_trip(model.fit(X, y), tmp_path)
        with pytest.raises(ValueError, match="partial_fit cannot continue from a loaded model"):
            found.partial_fit(X, y)
        same_answers(model, found, X)  # the refusal changed nothing
        np.testing.assert_array_equal(found.fit(X, y).coef_, fresh)
        found.partial_fit(X, y)  # from a fit of its own it does


def test_searches_save_their_best_estimator(tmp_path: Path) -> None:
    X, y = data(m=60)
    for search in (
        SweepCV(Pegasos(random_state=0), {"lam": [1e-3, 1e-1]}, cv=2),
        GridSearchCV(Pegasos(), {"lam": [0.1]}, cv=2),
    ):
        with pytest.raises(BadModel, match="has no best estimator to save: fit it with"):
            save(search, tmp_path / "no.model")
        same_answers(search.fit(X, y), round_trip(search, tmp_path), X)


# pipelines

STEPS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler((-1, 2), clip=True),
    MaxAbsScaler(),
    RobustScaler(quantile_range=(10.0, 90.0), unit_variance=True),
    RobustScaler(with_centering=False),
    Normalizer("l1"),
    PolynomialFeatures(2),
    PolynomialFeatures((1, 3), interaction_only=True, include_bias=False, order="F"),
    SimpleImputer(),
    SimpleImputer(strategy="median", add_indicator=True),
    SimpleImputer(strategy="constant", fill_value=2.5, keep_empty_features=True),
    SimpleImputer(strategy="most_frequent", missing_values=0),
    "passthrough",
    ColumnTransformer(
        [("a", StandardScaler(), [0, 2]), ("b", "drop", [1])], remainder=MinMaxScaler()
    ),
    ColumnTransformer(
        [("a", "passthrough", slice(0, 2)), ("b", PolynomialFeatures(), [True, True, False, False])]
    ),
    ColumnTransformer(
        [("a", Normalizer(), [1, 0, 1])], remainder="passthrough", transformer_weights={"a": 0.5}
    ),
    ColumnTransformer([("a", OneHotEncoder(), [0])], sparse_threshold=1.0),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: str(step).replace("\n", "")[:60])
def test_loaded_steps_predict_equally(step: Any, tmp_path: Path) -> None:
    X, y = data()
    X = X.round(1)
    model = Pipeline(
        [
            ("first", clone(step) if step != "passthrough" else step),
            ("last", Pegasos(random_state=0, n_iter=50)),
        ]
    )
    found = round_trip(model.fit(X, y), tmp_path)
    same_answers(model, found, X)
    assert str(found) == str(model) or isinstance(step, ColumnTransformer)
    if step != "passthrough":
        np.testing.assert_array_equal(
            found[0].get_feature_names_out(), model[0].get_feature_names_out()
        )
        before, after = vars(model[0]), vars(found[0])
        for name in before:
            if name.endswith("_") and isinstance(before[name], np.ndarray):
                np.testing.assert_array_equal(before[name], after[name])
                assert before[name].dtype == after[name].dtype
    # a second trip changes nothing any more
    same_answers(model, round_trip(found, tmp_path), X)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_pipeline(data: Any, tmp_path_factory: Any) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    X = (
        random.normal(size=(30, 4))
        .astype(data.draw(st.sampled_from([np.float32, np.float64])))
        .round(1)
    )
    if data.draw(st.booleans()):
        X[random.random(X.shape) < 0.1] = np.nan
    if data.draw(st.booleans()):
        X[:, 3] = np.nan  # a column without any value
    y = np.array(["a", "b", "c"])[random.permutation(30) % data.draw(st.integers(2, 3))]
    scalers = st.sampled_from(
        [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), None]
    )
    steps = [
        data.draw(scalers),
        SimpleImputer(add_indicator=data.draw(st.booleans())),
        data.draw(scalers),
    ]
    steps.append(data.draw(st.sampled_from([None, PolynomialFeatures(2), Normalizer()])))
    steps = [clone(step) for step in steps if step is not None]
    last = data.draw(
        st.sampled_from(
            [
                Pegasos(n_iter=20),
                Perceptron(epochs=2),
                SDCA(max_epochs=3),
                Pegasos("logistic", kernel="rbf"),
            ]
        )
    )
    last = DropOutliers(last, 9.0) if data.draw(st.booleans()) else last
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(*steps, last)
        model = (
            DropOutliers(model, 50.0)
            if data.draw(st.booleans()) and not np.isnan(X).any()
            else model
        )
        model.fit(X, y)
        found = round_trip(model, tmp_path_factory.getbasetemp())
        same_answers(model, found, X)


def persons(m: int = 60) -> tuple[pl.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "age": [
                None if i % 7 == 0 else float(v) for i, v in enumerate(random.integers(18, 80, m))
            ],
            "city": [
                None if i % 11 == 0 else str(v)
                for i, v in enumerate(random.choice(["Oslo", "Rome", "Łódź"], m))
            ],
            "height": random.normal(170, 10, m),
            "member": random.random(m) > 0.5,
            "size": random.choice(["S", "M", "L"], m),
        }
    )
    return frame, np.where(random.random(m) > 0.4, "stays", "leaves")


def table_model(**more: Any) -> Pipeline:
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="?", missing_values=None),
        OneHotEncoder(**more),
    )
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    order = OrdinalEncoder(categories=[["S", "M", "L"]])
    table = ColumnTransformer(
        [
            ("numbers", numbers, ["age", "height"]),
            ("words", words, ["city"]),
            ("size", order, ["size"]),
        ]
    )
    return make_pipeline(table.set_params(remainder="passthrough"), SDCA(random_state=0))


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"handle_unknown": "ignore"}, marks=passing_polars_on),
        {"handle_unknown": "ignore", "drop": "first", "sparse_output": False},
    ],
)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_tables_by_name(more: dict[str, Any], tmp_path: Path) -> None:
    frame, y = persons()
    model = table_model(**more).fit(frame, y)
    save(model, tmp_path / "a.model")
    found = read_model(tmp_path / "a.model")
    assert found.feature_names == frame.columns
    tables = [
        frame,
        frame.select(frame.columns[::-1]),
        frame.with_columns(other=pl.lit(1.0)).select("other", *frame.columns[::-1]),
        frame.with_columns(city=pl.lit("Atlantis")),
        frame.with_columns(age=pl.lit(None, dtype=pl.Float64)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Found unknown categories")
        for table in tables:
            same_answers(model, found.estimator, table)
    with pytest.raises(ValueError, match=r"columns are missing: \{'age'\}"):
        found.estimator.predict(frame.drop("age"))
    again = clone(found.estimator).fit(frame.select(frame.columns[::-1]), y)  # names stay names
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_pandas_frames_by_name(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame, y = persons()
    numbers = pandas.DataFrame(frame.select("age", "height").fill_null(40).to_dict(as_series=False))
    by_kind = ColumnTransformer(
        [("n", StandardScaler(), make_column_selector(dtype_include=float))]
    )
    model = make_pipeline(by_kind, Pegasos(random_state=0)).fit(numbers, y)
    found = round_trip(model, tmp_path)
    same_answers(model, found, numbers[["height", "age"]])


def test_encoders_with_missing_and_mixed_values(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = np.empty((40, 3), dtype=object)
    X[:, 0] = random.choice(np.array(["a", "b", None], dtype=object), 40)
    X[:, 1] = random.choice([1.5, 2.0, np.nan], 40)
    X[:, 2] = random.choice([0, 1, 5], 40)
    y = random.random(40) > 0.5
    encoders = [
        OneHotEncoder(),
        OneHotEncoder(drop="if_binary", dtype=np.float32),
        OneHotEncoder(drop=["a", 2.0, 5]),
        OrdinalEncoder(encoded_missing_value=-2),
    ]
    for encoder in encoders:
        model = make_pipeline(encoder, Pegasos(random_state=0, n_iter=40)).fit(X, y)
        found = round_trip(model, tmp_path)
        same_answers(model, found, X)
        np.testing.assert_array_equal(
            found[0].get_feature_names_out(), model[0].get_feature_names_out()
        )


def test_outliers_are_dropped_inside_and_outside(tmp_path: Path) -> None:
    X, y = data()
    for model in (
        make_pipeline(StandardScaler(), DropOutliers(Pegasos(random_state=0), 2.0)),
        DropOutliers(
            make_pipeline(StandardScaler(), Pegasos("logistic", random_state=0)), threshold=2.5
        ),
    ):
        found = round_trip(model.fit(X, y), tmp_path)
        same_answers(model, found, X)
        dropped, again = (
            part if isinstance(part, DropOutliers) else part[-1] for part in (model, found)
        )
        np.testing.assert_array_equal(dropped.kept_, again.kept_)
        assert again.threshold == dropped.threshold


@passing_polars_on
def test_another_process_gives_the_same_labels(tmp_path: Path) -> None:
    frame, y = persons()
    model = table_model(handle_unknown="ignore").fit(frame, y)
    X, codes = quadric_like(200)
    mapped = make_pipeline(
        StandardScaler(), Nystroem(landmarks=20, random_state=0), SDCA(random_state=0)
    ).fit(X, codes)
    save(model, tmp_path / "a.model")
    save(mapped, tmp_path / "b.model")
    frame.write_ipc(tmp_path / "a.arrow")
    np.save(tmp_path / "b.npy", X)
    code = (
        "import numpy, polars, pegasos\n"
        "print(*pegasos.load('a.model').predict(polars.read_ipc('a.arrow')))\n"
        "print(*pegasos.load('b.model').predict(numpy.load('b.npy')))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    words, numbers = answer.stdout.splitlines()
    assert words.split() == model.predict(frame).tolist()
    assert numbers.split() == mapped.predict(X).astype(str).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadric", "usps"])
def test_another_process_gives_the_same_labels_of_a_set(name: str, tmp_path: Path) -> None:
    if name == "usps":
        X, y = usps()
    else:
        X, y = quadric_like(600)
    model = make_pipeline(
        StandardScaler(), Pegasos(kernel="gaussian", n_iter=3000, random_state=0)
    ).fit(X[::3], y[::3])
    save(model, tmp_path / "a.model")
    np.save(tmp_path / "rows.npy", X)
    code = "import sys, numpy, pegasos\nnumpy.save(sys.argv[3], pegasos.load(sys.argv[1]).predict(numpy.load(sys.argv[2])))"
    files = [str(tmp_path / each) for each in ("a.model", "rows.npy", "labels.npy")]
    subprocess.run([sys.executable, "-c", code, *files], check=True)
    np.testing.assert_array_equal(np.load(files[2]), model.predict(X))


# card, rows, header


def test_card_rows_and_versions(tmp_path: Path) -> None:
    X, y = data()
    card = {
        "errors": {"cv": 0.25, "none": None},
        "fingerprint": "ab" * 32,
        "folds": [1, 2.5, True, "é\n"],
        "empty": {},
    }
    hashes = np.array([2**64 - 1, 0, 7], dtype=np.uint64)
    save(Pegasos().fit(X, y), tmp_path / "a.model", card=card, rows=hashes)
    model = read_model(str(tmp_path / "a.model"), limit="10MB")
    assert model.card == card
    np.testing.assert_array_equal(model.rows, np.sort(hashes))
    assert model.rows is not None and model.rows.dtype == np.uint64
    assert model.format == 5 and set(model.versions) >= {
        "pegasos",
        "scikit-learn",
        "numpy",
        "python",
    }
    assert (
        model.feature_names is None
        and model.n_features == 4
        and model.classes.tolist() == [0, 1, 2]
    )
    save(Pegasos().fit(X, y), tmp_path / "a.model", card={"n": np.int64(3), "t": (1, 2)})
    assert read_model(tmp_path / "a.model").card == {"n": 3, "t": [1, 2]}
    assert read_model(tmp_path / "a.model").rows is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"card": {"a": {"b": float("nan")}}},
            "card cannot be written as JSON: .* not JSON compliant",
        ),
        (
            {"card": {"f": print}},
            "card cannot be written as JSON: .* 'builtin_function_or_method'",
        ),
        ({"card": [1]}, "could not be read again: its parts cannot be put together"),
        ({"card": {"a": "x" * 17_000_000}}, "could not be read again: the header has"),
        ({"card": {"a": "\ud800"}}, "could not be read again: .* surrogates not allowed"),
        ({"rows": np.zeros(3)}, "could not be read again: its rows are not sorted 64-bit hashes"),
    ],
)
def test_cards_and_rows_that_are_refused(
    more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    X, y = data()
    with pytest.raises(BadModel, match=message):
        save(Perceptron(epochs=2).fit(X, y), tmp_path / "a.model", **more)
    assert not list(tmp_path.iterdir())


# what cannot be saved


class OwnScaler(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            make_pipeline(FunctionTransformer(), Pegasos()),
            "steps/functiontransformer is a FunctionTransformer, which model files",
        ),
        (make_pipeline(KNNImputer(), Pegasos()), "steps/knnimputer is a KNNImputer"),
        (make_pipeline(OwnScaler(), Pegasos()), "steps/ownscaler is a OwnScaler"),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "steps/logisticregression is a LogisticRegression",
        ),
        (make_pipeline(StandardScaler()), "does not end with a learner"),
        (StandardScaler(), "does not end with a learner"),
        (
            Pegasos(kernel=lambda X, Z: X @ Z.T),
            r"model/kernel is a function, which model files do not support: <function",
        ),
        (
            make_pipeline(OneHotEncoder(min_frequency=2), Pegasos()),
            "steps/onehotencoder: model files do not support groups of rare",
        ),
        (
            make_pipeline(OneHotEncoder(max_categories=3), Pegasos()),
            "steps/onehotencoder: model files do not support groups of rare",
        ),
        (
            make_pipeline(OneHotEncoder(feature_name_combiner=lambda name, value: name), Pegasos()),
            "feature_name_combiner is a function, which model files do not support",
        ),
        (
            make_pipeline(SimpleImputer(strategy=np.mean), Pegasos()),
            "strategy is a .*, which model files do not support",
        ),
        (
            make_pipeline(ColumnTransformer([("c", FunctionTransformer(), [0])]), Pegasos()),
            "columns/c/0 is a FunctionTransformer",
        ),
        (
            make_pipeline(
                ColumnTransformer(
                    [("c", "passthrough", [0])], verbose_feature_names_out="{feature_name.real}"
                ),
                Pegasos(),
            ),
            "could not be read again: .* verbose_feature_names_out is neither True nor False",
        ),
        (make_pipeline(StandardScaler().set_output(transform="polars"), Pegasos()), "set_output"),
    ],
)
def test_parts_that_are_refused_by_name(estimator: Any, message: str, tmp_path: Path) -> None:
    X, y = data()
    estimator.fit(X.round(), y)
    with pytest.raises(BadModel, match=message):
        save(estimator, tmp_path / "a.model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "estimator",
    [
        Pegasos(),
        SDCA(kernel="rbf"),
        make_pipeline(StandardScaler(), Perceptron()),
        DropOutliers(SDCA()),
    ],
)
def test_unfitted_models_are_refused(estimator: Any, tmp_path: Path) -> None:
    with pytest.raises(BadModel, match="is not fitted yet: there is nothing to save"):
        save(estimator, tmp_path / "a.model")


def test_other_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadModel, match="a str is not an estimator"):
        save("text", tmp_path / "a.model")
    with pytest.raises(BadModel, match="is not an estimator; save a fitted learner"):
        save(Pegasos, tmp_path / "a.model")


# damage


def test_no_flipped_bit_loads(tmp_path: Path) -> None:
    """A flipped bit in any byte of one model, and 1,500 in another one, are refused."""
    X, y = data()
    random = np.random.default_rng(0)
    path = tmp_path / "a.model"
    for model, places in (
        (Perceptron(epochs=2, random_state=0), None),
        (make_pipeline(StandardScaler(), SDCA(kernel="rbf", random_state=0)), 1500),
    ):
        save(model.fit(X, y), path, card={"error": 0.25}, rows=np.arange(5, dtype=np.uint64))
        content = path.read_bytes()
        for place in (
            range(len(content)) if places is None else random.integers(len(content), size=places)
        ):
            flipped = bytearray(content)
            flipped[place] ^= 1 << int(random.integers(8))
            path.write_bytes(flipped)
            with pytest.raises(BadModel):
                load(path)


def test_the_checksum_names_the_damage(tmp_path: Path) -> None:
    X, y = data()
    path = tmp_path / "a.model"
    save(Perceptron(epochs=2).fit(X, y), path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadModel, match="its checksum does not match its content"):
        load(path)


def test_files_of_earlier_formats_are_refused(tmp_path: Path) -> None:
    """Format 3 began with the format instead of a checksum."""
    head = {"format": 4, "versions": {}, "model": {}, "card": {}}
    (tmp_path / "a.model").write_bytes(together({}, head, b""))
    with pytest.raises(BadModel, match=r"an older pegasos .* fit the model again and save it"):
        load(tmp_path / "a.model")
    text = json.dumps(head | {"format": 3}, separators=(",", ":"))
    (tmp_path / "a.model").write_bytes(safetensors.numpy.save({}, metadata={"pegasos": text}))
    with pytest.raises(BadModel, match=r"its checksum does not match .* fit the model again"):
        load(tmp_path / "a.model")


# files that are none


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a model of pegasos"),
        (pickle.dumps({"a": 1}), "not a model of pegasos, which never opens pickles"),
        (b"a,b\n1,2\n", "not a model of pegasos"),
        (b"\x02" + bytes(7) + b"{}", "not a model of pegasos"),
        (b"\xff" * 8 + b"{}", "not a model of pegasos"),
        (safetensors.numpy.save({"a": np.ones(2)}), "not a model of pegasos"),
    ],
)
def test_other_formats_are_no_models(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.model").write_bytes(content)
    with pytest.raises(BadModel, match=message):
        load(tmp_path / "a.model")


def test_folders_pipes_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(BadModel, match="this is a folder"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.model")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(BadModel, match="not a regular file"):
            load(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda head: head.update(format=6),
            r"written by a newer pegasos \(format 6; this one reads 5\): upgrade",
        ),
        (lambda head: head.update(format="5"), "cannot be put together"),
        (lambda head: head.pop("card"), "cannot be put together .*KeyError: 'card'"),
        (
            lambda head: head.update(model={"os.system": {"command": "ls"}}),
            "of the unknown type 'os.system'",
        ),
        (
            lambda head: fields(head["model"]).update(loss="mine"),
            "one of 'hinge', 'logistic', 'log_loss', got 'mine'",
        ),
        (lambda head: fields(head["model"]).update(tool=1), "Pegasos has no setting 'tool'"),
        (
            lambda head: fields(head["model"]).update(kernel={"mine": {}}),
            "of the unknown type 'mine'",
        ),
        (
            lambda head: fields(head["model"]).update(n_features_in_=5),
            r"has the shape \(\d+, 4\) instead of \(\d+, 5\)",
        ),
        (
            lambda head: fields(head["model"]).update(classes_={"text": ["a", "b"]}),
            r"has the shape \(3,\) instead of \(1,\)",
        ),
        (
            lambda head: fields(head["model"]).update(classes_={"text": ["a", "c", "b"]}),
            "not finite or not in order",
        ),
        (lambda head: fields(head["model"]).update(_m=3), "beyond its training rows"),
        (
            lambda head: fields(head["model"])["plan_"]["Plan"].pop("walk"),
            "cannot be put together .* 'walk'",
        ),
        (
            lambda head: fields(head["model"])["plan_"]["Plan"].update(walk=3),
            "plan_=Plan.* is not possible",
        ),
        (
            lambda head: fields(head["model"]).update(kernel="linear"),
            r"kernel_=Gaussian.* is not possible",
        ),
    ],
)
def test_inconsistent_headers_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    X, y = data()
    model = Pegasos(kernel="rbf", n_iter=400, random_state=0)
    save(model.fit(X, y), tmp_path / "a.model")
    header, head, arrays = apart((tmp_path / "a.model").read_bytes())
    changed = copy.deepcopy(head)
    change(changed)
    (tmp_path / "a.model").write_bytes(together(header, changed, arrays))
    with pytest.raises(BadModel, match=message):
        load(tmp_path / "a.model")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "name", ["mean_", "statistics_", "intercept_", "dual_coef_", "support_vectors_"]
)
def test_numbers_that_are_not_finite_are_refused(name: str, value: float, tmp_path: Path) -> None:
    X, y = data()
    model = make_pipeline(
        StandardScaler(), SimpleImputer(), Pegasos(kernel="rbf", n_iter=50, random_state=0)
    ).fit(X, y)
    save(model, tmp_path / "a.model")
    content = (tmp_path / "a.model").read_bytes()
    header, _, arrays = apart(content)
    (place,) = [
        entry["data_offsets"][0] for path, entry in header.items() if path.endswith(f"/{name}")
    ]
    place += len(content) - len(arrays)
    (tmp_path / "a.model").write_bytes(
        signed(content[:place] + np.float64(value).tobytes() + content[place + 8 :])
    )
    # a fill that is nan means that the column goes, which is one column too few for the learner
    with pytest.raises(
        BadModel,
        match="does not take 3 features"
        if name == "statistics_" and np.isnan(value)
        else "not finite",
    ):
        load(tmp_path / "a.model")


def test_a_column_without_values_is_valid(tmp_path: Path) -> None:
    X, y = data()
    X[:, 2] = np.nan
    for scaler in (StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(
                scaler, SimpleImputer(), Perceptron(epochs=2, random_state=0)
            ).fit(X, y)
            same_answers(model, round_trip(model, tmp_path), X)


def test_not_a_model_is_a_separate_error(tmp_path: Path) -> None:
    X, y = data()
    save(Perceptron(epochs=2).fit(X, y), tmp_path / "a.model")
    (tmp_path / "cut.model").write_bytes((tmp_path / "a.model").read_bytes()[:-8])
    (tmp_path / "table.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(NotAModel, match=r"table\.csv': this is not a model of pegasos"):
        load(tmp_path / "table.csv")
    with pytest.raises(BadModel, match="damaged or cut off") as error:
        load(tmp_path / "cut.model")
    assert type(error.value) is BadModel


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    X, y = data()
    save(Pegasos().fit(X, y), tmp_path / "a.model")
    with pytest.raises(BadModel, match=r"more than the limit of 0.0 MB. If you trust the file"):
        read_model(tmp_path / "a.model", limit=1000)


# writing


def test_a_failing_save_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data()
    path = tmp_path / "a.model"
    save(Pegasos(random_state=0).fit(X, y), path)
    before = path.read_bytes()

    def fails(*_: Any) -> None:
        raise OSError("the disk is full")

    for name in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fails)
            with pytest.raises(OSError, match="the disk is full"):
                save(Perceptron().fit(X, y), path)
        assert path.read_bytes() == before
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.model"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    X, y = data()
    model = Perceptron(epochs=2).fit(X, y)
    for umask, mode in ((0o077, 0o600), (0o022, 0o644)):
        old = os.umask(umask)
        try:
            save(model, tmp_path / "a.model")
        finally:
            os.umask(old)
        assert (tmp_path / "a.model").stat().st_mode & 0o777 == mode


def test_links_are_kept_and_folders_refused(tmp_path: Path) -> None:
    X, y = data()
    model = Perceptron(epochs=2).fit(X, y)
    (tmp_path / "real").mkdir()
    (tmp_path / "link.model").symlink_to(tmp_path / "real" / "a.model")
    save(model, tmp_path / "link.model")
    assert (tmp_path / "link.model").is_symlink() and (tmp_path / "real" / "a.model").is_file()
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        save(model, tmp_path)
    with pytest.raises(FileNotFoundError):
        save(model, tmp_path / "nowhere" / "a.model")
