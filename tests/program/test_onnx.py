"""Test that exported ONNX files predict as the model does, for all contents of model files."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import polars as pl
import pytest
from scipy import sparse
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from test_cli_practice import churn

import pegasos
from command_line import call, fine, messy, written
from pegasos import SDCA, Nystroem, Pegasos, Perceptron, SweepCV
from pegasos.engine.kernels.standard import KERNELS
from pegasos.explaining.responses import class_probabilities
from pegasos.kernels import Gaussian
from pegasos.learners.calibration import Calibration, fit_calibration
from pegasos.preprocessing import DropOutliers
from pegasos.program.errors import BadModel
from pegasos.program.modelfile import BadModel as SameBadModel
from pegasos.program.onnxfile import export_onnx, graph
from pegasos.program.onnxfile.model import Agreement, OnnxModel
from pegasos.search.anatomy import anatomy
from samples import digits, passing_polars_on, usps


def compare(model, X, path: Path, **options) -> Agreement:
    """Compare an exported file with its model; labels must be equal."""
    exported = export_onnx(model, path / "model.onnx", **options)
    fitted = getattr(model, "best_estimator_", model)
    scores = fitted.decision_function(X)
    p = class_probabilities(fitted, X, scores)
    found = OnnxModel(exported).agreement(anatomy(fitted, fitted=True).learner, X, scores, p)
    assert found.rows == len(X) if not sparse.issparse(X) else X.shape[0]
    assert found.labels == 0
    return found


def rows(count: int = 120, classes: int = 3, seed: int = 0):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=count)
    return random.normal(size=(count, 4)) + y[:, None] * [1.5, -1.0, 0.5, 0.0], y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", [None, *KERNELS])
def test_every_kernel(kernel, classes, tmp_path):
    X, y = rows(classes=classes)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        model = SDCA(kernel=kernel, lam=1e-2, random_state=0).fit(X.astype(dtype), y)
        assert (
            compare(model, X.astype(dtype), tmp_path).scores
            < tolerance * np.abs(model.decision_function(X)).max()
        )


@pytest.mark.parametrize(
    "model", [Pegasos(n_iter=300, lam=0.01, random_state=0), Perceptron(random_state=0)]
)
def test_every_learner(model, tmp_path):
    X, y = rows()
    assert compare(model.fit(X, y), X, tmp_path).scores < 1e-9


@pytest.mark.parametrize("kernel", [None, Gaussian(2.0)])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_votes_and_coupled_probabilities_of_pairs(loss, kernel, tmp_path):
    X, y = rows(classes=5)
    learner = SDCA(loss, lam=1e-3, kernel=kernel, multiclass="one-vs-one", random_state=0)
    found = compare(learner.fit(X, y), X, tmp_path)
    assert found.scores < 1e-9
    assert found.probabilities is None if loss == "hinge" else found.probabilities < 1e-9
    sweep = SweepCV(learner, {"lam": [1e-3]}, cv=3).fit(X, y)
    sweep.calibrate()
    found = compare(sweep, X, tmp_path)
    assert found.probabilities < 1e-9


def test_equal_rows_are_at_distance_0(tmp_path):
    """A support vector far from the center has distance 0 to itself despite rounding."""
    X, y = rows()
    X[0] += 1e6
    model = SDCA(kernel="exponential", lam=1e-4, random_state=0).fit(X, y)
    assert compare(model, X, tmp_path).scores < 1e-6


def test_all_rows_of_digits(tmp_path):
    X, y = digits()
    some = slice(0, None, 6)
    for model in (
        SDCA(lam=1e-3, random_state=0),
        SDCA(kernel=Gaussian(300.0), lam=1e-4, loss="logistic", random_state=0),
    ):
        for labels in (y, y == 3):
            found = compare(model.fit(X[some], labels[some]), X, tmp_path)
            assert found.rows == 1797
            assert found.probabilities is None or found.probabilities < 1e-9


def in_float64(model):
    """Return a copy of the model that computes in float64."""
    found = copy.deepcopy(model)
    for name in ("coef_", "dual_coef_", "support_vectors_", "intercept_"):
        if hasattr(found, name):
            setattr(found, name, getattr(found, name).astype(np.float64))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [None, "polynomial", Gaussian(60.0)])
def test_all_rows_of_usps(kernel, tmp_path):
    """Labels equal those of a model fitted in float32, probabilities those of a copy in float64."""
    X, y = usps()
    for labels in (y, y == 8):
        model = Pegasos(kernel=kernel, lam=1e-4, n_iter=5000, random_state=0, loss="logistic").fit(
            X[:7291], labels[:7291]
        )
        assert compare(model, X, tmp_path).rows == 9298
        exported = OnnxModel(export_onnx(model, tmp_path / "model.onnx"))
        exact = in_float64(model)
        rows = X.astype(np.float64)
        scores = exact.decision_function(rows)
        p = class_probabilities(exact, rows, scores)
        found = exported.agreement(exact, X, scores, p)
        assert (found.labels, found.probabilities < 1e-5) == (0, True)


SCALERS = [
    preprocessing.StandardScaler(),
    preprocessing.StandardScaler(with_mean=False),
    preprocessing.StandardScaler(with_std=False),
    preprocessing.MinMaxScaler((-1, 2), clip=True),
    preprocessing.MaxAbsScaler(),
    preprocessing.RobustScaler(),
    preprocessing.RobustScaler(with_centering=False, with_scaling=False),
    *(preprocessing.Normalizer(norm) for norm in ("l1", "l2", "max")),
    preprocessing.PolynomialFeatures(3),
    preprocessing.PolynomialFeatures((2, 3), include_bias=False),
    preprocessing.PolynomialFeatures(2, interaction_only=True),
    Nystroem("laplacian", landmarks=30, random_state=0, dtype="float64"),
]


@pytest.mark.parametrize("step", SCALERS, ids=lambda step: type(step).__name__)
def test_every_step(step, tmp_path):
    X, y = rows()
    X[:3] = 0.0
    model = make_pipeline(step, "passthrough", SDCA(lam=1e-2, loss="logistic", random_state=0)).fit(
        X[10:], y[10:]
    )
    found = compare(model, 1.5 * X, tmp_path)
    assert found.scores < 1e-9
    assert found.probabilities < 1e-12


def test_nystroem_in_float32_and_sparse_rows(tmp_path):
    X, y = rows()
    mapped = make_pipeline(
        Nystroem(landmarks=40, random_state=0), SDCA(lam=1e-2, loss="logistic", random_state=0)
    ).fit(X, y)
    assert compare(mapped, X, tmp_path).probabilities < 1e-5
    thin = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0))
    assert (
        compare(SDCA(kernel="gaussian", random_state=0).fit(thin, y), thin, tmp_path).scores < 1e-9
    )


def test_precomputed_kernels_outliers_and_empty_models(tmp_path):
    X, y = rows(classes=2)
    K = X @ X.T
    assert (
        compare(SDCA(kernel="precomputed", lam=1e-2, random_state=0).fit(K, y), K, tmp_path).scores
        < 1e-9
    )
    dropping = DropOutliers(
        make_pipeline(preprocessing.StandardScaler(), SDCA(random_state=0)), 2.5
    ).fit(X, y)
    assert compare(dropping, X, tmp_path).scores < 1e-9
    empty = SDCA(kernel="gaussian", lam=1e-2, random_state=0).fit(X, y)
    empty.support_, empty.support_vectors_, empty.dual_coef_ = (
        empty.support_[:0],
        X[:0],
        empty.dual_coef_[:, :0],
    )
    assert compare(empty, X, tmp_path).scores == 0


def table_with_missing_values() -> tuple[pl.DataFrame, np.ndarray]:
    """Return text and numbers with missing values, an empty column, and numeric categories."""
    random = np.random.default_rng(3)
    table = messy(200, seed=3)
    years = random.choice([2019.0, 2020.0, 2021.0], 200)
    colour = random.choice(["red", "green", "blue"], 200)
    more = table.drop("species").with_columns(
        year=years, colour=colour, never=pl.lit(None, pl.Float64)
    )
    return more, table["species"].to_numpy()


def test_a_table_with_text_missing_values_and_dropped_columns(tmp_path):
    table, y = table_with_missing_values()
    numbers = make_pipeline(SimpleImputer(add_indicator=True), preprocessing.StandardScaler())
    named = make_pipeline(SimpleImputer(strategy="most_frequent"), preprocessing.OneHotEncoder())
    encode = ColumnTransformer(
        [
            ("numbers", numbers, ["length", "width", "never"]),
            (
                "words",
                preprocessing.OneHotEncoder(
                    handle_unknown="ignore", drop="first", sparse_output=False
                ),
                ["city", "year"],
            ),
            (
                "ordered",
                preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                ["colour"],
            ),
            ("filled", named, ["colour"]),
        ],
        transformer_weights={"words": 2.0},
        sparse_threshold=0,
    )
    model = make_pipeline(encode, SDCA(kernel="gaussian", lam=1e-3, random_state=0)).fit(
        table[:150], y[:150]
    )
    found = compare(model, table, tmp_path)
    assert (found.rows, found.scores < 1e-12) == (200, True)
    kinds = {
        each.name: each.type.tensor_type.elem_type
        for each in onnx.load(tmp_path / "model.onnx").graph.input
    }
    number, text = onnx.TensorProto.DOUBLE, onnx.TensorProto.STRING
    assert kinds == {
        "length": number,
        "width": number,
        "city": text,
        "year": number,
        "colour": text,
        "never": number,
    }
    new = table.with_columns(city=pl.lit("paris"), year=pl.lit(1999.0))
    assert compare(model, new, tmp_path).scores < 1e-12


def test_unused_columns_are_not_inputs(tmp_path):
    table, y = table_with_missing_values()
    encode = ColumnTransformer(
        [
            ("words", preprocessing.OneHotEncoder(sparse_output=False), ["colour"]),
            ("number", "passthrough", ["length"]),
        ]
    )
    model = make_pipeline(encode, SDCA(random_state=0)).fit(table, y)
    assert compare(model, table, tmp_path).scores < 1e-12
    assert [each.name for each in onnx.load(tmp_path / "model.onnx").graph.input] == [
        "length",
        "colour",
    ]


def test_missing_numbers_keep_one_matrix(tmp_path):
    X, y = rows()
    X[::7, 1] = np.nan
    for fill in (
        SimpleImputer(add_indicator=True),
        SimpleImputer(missing_values=0.5, fill_value=2.0, strategy="constant"),
    ):
        data = np.where(np.isnan(X), fill.missing_values, X)
        assert (
            compare(make_pipeline(fill, SDCA(random_state=0)).fit(data, y), data, tmp_path).scores
            < 1e-12
        )
    assert [each.name for each in onnx.load(tmp_path / "model.onnx").graph.input] == ["X"]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_calibration_and_threshold(kind, classes, tmp_path):
    X, y = rows(300, classes)
    sweep = SweepCV(SDCA(random_state=0, kernel="gaussian"), {"lam": [1e-2]}, cv=3).fit(X, y)
    model = sweep.best_estimator_
    model.calibration_ = fit_calibration(kind, model.decision_function(X), y)
    model.threshold_ = 0.3 if classes == 2 else 0.0
    assert compare(sweep, X, tmp_path).probabilities < 1e-9
    facts = {each.key: each.value for each in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert facts["pegasos.calibration"] == kind
    assert facts.get("pegasos.threshold") == ("0.3" if classes == 2 else None)


def test_knots_at_their_ends(tmp_path):
    """Calibrations may have one or two knots, and scores beyond and exactly at them."""
    X, y = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]]), np.array([0, 0, 0, 1, 1])
    model = SDCA(random_state=0).fit(X, y)
    scores = np.sort(model.decision_function(X))
    steps = np.column_stack([scores[:4], [0.0, 0.1, 0.5, 1.0]])
    for knots in (steps[1:2], steps[1:3], steps):
        model.calibration_ = Calibration("isotonic", (knots,))
        assert compare(model, X, tmp_path).probabilities < 1e-12


def test_probabilities_of_extreme_scores_are_finite(tmp_path):
    X, y = rows()
    model = SDCA(loss="logistic", random_state=0).fit(X, y)
    assert compare(model, 1e5 * X, tmp_path).probabilities < 1e-9


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [False, True], [-1, 7], np.array([3, 200], dtype=np.uint8), ["ä", "日本"]],
)
def test_labels_keep_their_type(labels, tmp_path):
    X, y = rows(classes=2)
    model = SDCA(random_state=0).fit(X, np.array(labels)[y])
    compare(model, X, tmp_path)
    answers = OnnxModel(export_onnx(model, tmp_path / "model.onnx"))(X)
    assert answers["label"].tolist() == model.predict(X).tolist()


@passing_polars_on
def test_output_names_differ_from_column_names(tmp_path):
    table = pl.DataFrame(
        {"label": ["a", "b"] * 20, "t0": np.arange(40.0), "scores": np.arange(40.0) % 7}
    )
    encode = ColumnTransformer(
        [
            ("words", preprocessing.OneHotEncoder(), ["label"]),
            ("rest", "passthrough", ["t0", "scores"]),
        ],
        sparse_threshold=0,
    )
    model = make_pipeline(encode, SDCA(random_state=0)).fit(table, np.arange(40) % 2)
    compare(model, table, tmp_path)
    file = onnx.load(tmp_path / "model.onnx")
    assert [each.name for each in file.graph.output] == ["label_", "scores_"]


def test_float32_inputs_and_metadata(tmp_path):
    X, y = rows()
    X = X.astype(np.float32).astype(np.float64)
    model = make_pipeline(preprocessing.StandardScaler(), SDCA(random_state=0)).fit(X, y)
    assert compare(model, X, tmp_path, float32=True).scores < 1e-12
    file = onnx.load(tmp_path / "model.onnx")
    assert file.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    facts = {each.key: each.value for each in file.metadata_props}
    assert facts["pegasos.version"] == pegasos.__version__
    assert facts["pegasos.steps"] == "StandardScaler -> SDCA"
    assert json.loads(facts["pegasos.classes"]) == [0, 1, 2]
    assert json.loads(facts["pegasos.inputs"]) == [
        {"name": "X", "kind": "number", "columns": ["x1", "x2", "x3", "x4"], "place": None}
    ]
    assert "Written by pegasos" in file.doc_string


def test_what_cannot_be_exported_is_refused(tmp_path, monkeypatch):
    X, y = rows()
    path = tmp_path / "model.onnx"
    with pytest.raises(BadModel, match="not fitted yet"):
        export_onnx(SDCA(), path)
    with pytest.raises(BadModel, match="which model files do not support"):
        export_onnx(
            make_pipeline(
                preprocessing.QuantileTransformer(n_quantiles=9), SDCA(random_state=0)
            ).fit(X, y),
            path,
        )
    with pytest.raises(BadModel, match="is a function, which model files do not support"):
        export_onnx(SDCA(kernel=lambda A, B: A @ B.T, random_state=0).fit(X, y), path)
    table = pl.DataFrame({"a": pl.Series(["x", None, ""] * 20, dtype=pl.String)})
    encoded = make_pipeline(
        ColumnTransformer([("a", preprocessing.OneHotEncoder(), ["a"])], sparse_threshold=0),
        SDCA(random_state=0),
    )
    with pytest.raises(BadModel, match="two categories for missing values"):
        export_onnx(encoded.fit(table, np.arange(60) % 3), path)
    monkeypatch.setattr(graph, "_MOST_BYTES", 1000)
    with pytest.raises(BadModel, match="files hold at most 2 GB"):
        export_onnx(SDCA(kernel="gaussian", random_state=0).fit(X, y), path)
    assert not path.exists()
    assert BadModel is SameBadModel


def test_agreements_add_up():
    one, other = Agreement(10, 1, 0.5, 0.1), Agreement(5, 2, 0.1, None)
    assert one + other == Agreement(15, 3, 0.5, 0.1)
    assert Agreement() + replace(other, labels=0) == Agreement(5, 0, 0.1, None)


def test_export_on_the_command_line(place):
    churn(400).write_csv("churn.csv")
    fine(
        "tune",
        "churn.csv",
        "--drop",
        "customer",
        "--kernel",
        "linear",
        "--lam",
        "1e-2",
        "--threshold",
        "f1",
        "--no-page",
    )
    told = fine("export", "runs/churn/best.model", "churn.onnx", "--check", "churn.csv")
    assert "since     float64, days since 1970  rows x 1" in told.out
    assert "checked: 400 rows, 0 labels differ" in told.out
    answer = fine(
        "export",
        "runs/churn/best.model",
        "churn.onnx",
        "--check",
        "churn.csv",
        "--float32",
        "--json",
    ).json
    assert answer["checked"]["labels"] == 0
    assert answer["checked"]["probabilities"] < 1e-5
    assert [each["kind"] for each in answer["inputs"]] == ["date", "number", "number", "text"]
    assert answer["bytes"] == Path("churn.onnx").stat().st_size
    assert call("export", "runs/churn/best.model", "runs").code == 2
    assert (
        "options for reading"
        in call("export", "runs/churn/best.model", "a.onnx", "--label", "y").err
    )
    assert call("export", "churn.csv", "a.onnx").code == 4
    assert not Path("a.onnx").exists()


def test_a_saved_model_with_text_columns(place):
    written(messy(), Path("t.csv"))
    fine("train", "t.csv", "--kernel", "exponential", "--lam", "1e-3", "-o", "t.model")
    assert (
        fine("export", "t.model", "t.onnx", "--check", "t.csv", "--json").json["checked"]["labels"]
        == 0
    )
    exported = pegasos.export_onnx("t.model", "t.onnx")
    assert [each.name for each in exported.inputs] == ["length", "width", "city"]
