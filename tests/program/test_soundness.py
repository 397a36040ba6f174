"""Test that models which load give finite scores for rows of ordinary size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import pegasos
from command_line import call, fine, numbers, written
from hostile_models import apart, fields, together
from pegasos import SDCA, Nystroem, Pegasos, Perceptron
from pegasos.kernels import Gaussian, Polynomial
from pegasos.learners.calibration import ISOTONIC, SIGMOID, Calibration, fit_calibration
from pegasos.learners.one_vs_all import NotFinite
from pegasos.program import scoring
from pegasos.program.errors import BadModel

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed the global generator before each test."""
    monkeypatch.setitem(globals(), "RANDOM", np.random.default_rng(0))


X = RANDOM.normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)


def saved(model: Any, path: Path) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    pegasos.save(model, path)
    return apart(path.read_bytes())


def with_number(path: Path, model: Any, array: str, value: float, place: int = 0) -> Path:
    """Return the model's file with one number of an array changed, of a step or the model."""
    header, head, data = saved(model, path)
    (entry,) = (header[name] for name in header if name.endswith(array))
    dtype = {"F64": "<f8", "F32": "<f4"}[entry["dtype"]]
    begin = entry["data_offsets"][0] + place * np.dtype(dtype).itemsize
    damaged = bytearray(data)
    damaged[begin : begin + np.dtype(dtype).itemsize] = np.array(value, dtype).tobytes()
    path.write_bytes(together(header, head, bytes(damaged)))
    return path


LINEAR = SDCA(random_state=0)
SCALED = {
    each: make_pipeline(each(), SDCA(random_state=0))
    for each in (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
}
LANDMARKS = make_pipeline(Nystroem("gaussian", 6, random_state=0), SDCA(random_state=0))
CASES = [
    (LINEAR, "/coef_", 1e308, "its scores are not finite for rows of the size"),
    (LINEAR, "/coef_", np.nan, "not finite"),
    (
        Pegasos(kernel=Polynomial(3), n_iter=50, random_state=0),
        "/support_vectors_",
        1e300,
        "are not finite for rows of the size",
    ),
    (SCALED[StandardScaler], "/scale_", 0.0, "numbers that are not finite"),
    (SCALED[StandardScaler], "/mean_", np.nan, "numbers that are not finite"),
    (SCALED[MinMaxScaler], "/min_", np.inf, "numbers that are not finite"),
    (SCALED[MaxAbsScaler], "/scale_", 0.0, "numbers that are not finite"),
    (SCALED[RobustScaler], "/scale_", 0.0, "numbers that are not finite"),
]
#: Numbers that give no finite score: reported when the file is loaded, or at the first row.
HUGE_SCORES = [
    (SCALED[StandardScaler], "/scale_", 1e-320),
    (SCALED[MinMaxScaler], "/scale_", 1e308),
    (SCALED[MaxAbsScaler], "/scale_", 1e-320),
    (SCALED[RobustScaler], "/scale_", 1e-320),
    (LANDMARKS, "/weights_", 1e308),
]


@pytest.mark.parametrize(("model", "array", "value", "words"), CASES)
def test_numbers_that_no_fit_has_left(
    model: Any, array: str, value: float, words: str, tmp_path: Path
) -> None:
    path = with_number(tmp_path / "my.model", clone(model).fit(X, Y), array, value)
    with pytest.raises(BadModel, match=words):
        pegasos.load(path)
    answer = call("show", path)
    assert answer.code == 4 and words in answer.err


@pytest.mark.parametrize(("model", "array", "value"), HUGE_SCORES)
def test_no_score_is_ever_infinite(model: Any, array: str, value: float, tmp_path: Path) -> None:
    path = with_number(tmp_path / "my.model", clone(model).fit(X, Y), array, value)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"finite|infinity"):
        pegasos.load(path).decision_function(X)
    rows = ["x1,x2,x3", *(",".join(map(str, row)) for row in X)]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n")
    assert call("predict", path, tmp_path / "rows.csv").code in (3, 4)


def calibrated(kind: str, classes: int) -> Any:
    """Return a model with the calibration of a search."""
    y = np.searchsorted([0.0] if classes == 2 else [-0.5, 0.5], X[:, 0])
    model = SDCA(random_state=0).fit(X, y)
    model.calibration_ = fit_calibration(kind, model.decision_function(X), y)
    model.threshold_ = 0.25 if classes == 2 else 0.0
    return model


@pytest.mark.parametrize(
    ("kind", "place", "value", "words"),
    [
        (SIGMOID, 0, np.nan, "its calibration holds numbers that are not finite"),
        (SIGMOID, 1, np.inf, "its calibration holds numbers that are not finite"),
        (ISOTONIC, 0, np.nan, "its calibration holds numbers that are not finite"),
        (
            ISOTONIC,
            1,
            1.5,
            "the knots of its calibration are not probabilities",
        ),
        (
            ISOTONIC,
            1,
            -0.1,
            "the knots of its calibration are not probabilities",
        ),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_calibrations_that_no_search_has_left(
    kind: str, place: int, value: float, words: str, classes: int, tmp_path: Path
) -> None:
    with_number(
        tmp_path / "my.model", calibrated(kind, classes), "/calibration_/columns/0", value, place
    )
    with pytest.raises(BadModel, match=words):
        pegasos.load(tmp_path / "my.model")


@pytest.mark.parametrize(
    ("classes", "calibration", "state", "words"),
    [
        (3, {"power": 1e308}, {}, "its calibration is not possible"),
        (3, {"power": 5e-324}, {}, "its calibration is not possible"),
        (3, {"power": {"float": "nan"}}, {}, "its calibration is not possible"),
        (3, {"kind": "own"}, {}, "its calibration is not possible"),
        (3, {"kind": ["own"]}, {}, "its calibration is not possible"),
        (3, {"columns": {"tuple": []}}, {}, "its calibration is not possible"),
        (3, {"kind": "isotonic"}, {}, "instead of .any, 2."),
        (2, {}, {"threshold_": {"float": "inf"}}, "threshold_=inf is not possible"),
        (2, {}, {"threshold_": True}, "threshold_=True is not possible"),
    ],
)
def test_decisions_that_no_search_has_left(
    classes: int, calibration: Any, state: Any, words: str, tmp_path: Path
) -> None:
    header, head, data = saved(calibrated(SIGMOID, classes), tmp_path / "my.model")
    fields(head["model"]).update(state)
    fields(head["model"])["calibration_"]["Calibration"].update(calibration)
    (tmp_path / "my.model").write_bytes(together(header, head, data))
    with pytest.raises(BadModel, match=words):
        pegasos.load(tmp_path / "my.model")


def test_a_length_of_learning_that_no_fit_has(tmp_path: Path) -> None:
    header, head, data = saved(Pegasos(epochs=2, random_state=0).fit(X, Y), tmp_path / "my.model")
    fields(head["model"])["epochs"] = 1e150
    (tmp_path / "my.model").write_bytes(together(header, head, data))
    for command in ("show", "report"):
        answer = call(command, tmp_path / "my.model")
        assert answer.code == 4 and "epochs must be a whole number" in answer.err


@pytest.mark.parametrize("kind", [SIGMOID, ISOTONIC])
@pytest.mark.parametrize("columns", [1, 3])
def test_any_calibration_gives_probabilities(kind: str, columns: int) -> None:
    """Extreme slopes, and knots too close for a finite line between them."""
    steep = (
        np.array([1e308, -1e308])
        if kind == SIGMOID
        else np.array([[0.0, 0.2], [1e-320, 0.8], [1e308, 1.0]])
    )
    scores = np.repeat(
        [[-1e308], [-1.0], [0.0], [5e-321], [0.5], [1.0], [1.7e308]], columns, axis=1
    )
    p = Calibration(kind, (steep,) * columns, 10.0).probabilities(scores)
    assert (
        (p >= 0).all() and (p <= 1).all() and p.sum(axis=1) == pytest.approx(np.ones(len(scores)))
    )


@pytest.mark.parametrize("params", [{"degree": 3, "coef0": 1e200}, {"degree": 5000, "coef0": 1.0}])
def test_kernels_that_are_not_finite_for_rows_of_training(
    params: dict[str, Any], tmp_path: Path
) -> None:
    header, head, data = saved(
        Pegasos(kernel=Polynomial(3), n_iter=50, random_state=0).fit(X, Y), tmp_path / "my.model"
    )
    for name in ("kernel", "kernel_"):
        fields(head["model"])[name] = {"Polynomial": params}
    (tmp_path / "my.model").write_bytes(together(header, head, data))
    with pytest.raises(
        BadModel, match=r"values of its kernel Polynomial.* are not finite for rows of the size"
    ):
        pegasos.load(tmp_path / "my.model")


@pytest.mark.parametrize(
    "kernel", [None, "linear", "gaussian", "exponential", "laplacian", Polynomial(3)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_from_far_away_predict_where_that_is_finite(
    kernel: Any, dtype: Any, tmp_path: Path
) -> None:
    model = SDCA(kernel=kernel, random_state=0).fit(X.astype(dtype), Y)
    pegasos.save(model, tmp_path / "my.model")
    model = pegasos.load(tmp_path / "my.model")
    assert np.isfinite(model.decision_function(1e8 * X.astype(dtype))).all()
    far = np.concatenate([X[:2], np.full((1, 3), 1e308), X[:1]])
    if kernel == "laplacian":  # far from everything is a number, too
        assert np.isfinite(model.decision_function(far)).all()
        return
    with pytest.raises(
        NotFinite, match="row 2 has no finite score: the row is larger than any training row"
    ) as caught:
        model.decision_function(far)
    assert caught.value.rows.tolist() == [2] and caught.value.far_away


def test_what_is_larger_than_in_training_is_known_from_every_way_to_fit() -> None:
    largest = float(np.square(X).sum(axis=1).max())
    for model in (
        clone(LINEAR).fit(X, Y),
        SDCA(kernel="gaussian").fit(X, Y),
        Perceptron().fit(sparse.csr_matrix(X), Y),
    ):
        assert model._reach == pytest.approx(largest)
    parts = Pegasos().partial_fit(X[:15], Y[:15], classes=[0, 1])
    parts.partial_fit(X[15:], Y[15:])
    assert parts._reach == pytest.approx(largest)
    assert SDCA(kernel="precomputed").fit(X @ X.T, Y)._reach == pytest.approx(np.abs(X @ X.T).max())


def test_predict_names_the_row_and_the_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = numbers(40)
    written(table, tmp_path / "table.csv")
    fine("train", "table.csv", "-m", "sdca", "--kernel", "gaussian", "-q", "-o", "my.model")
    lines = (tmp_path / "table.csv").read_text().splitlines()
    lines[6] = "1,1e308,-1e308,yes"
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    for command in ("predict", "run"):
        answer = call(command, "my.model", "odd.csv")
        assert (
            answer.code == 3
            and "odd.csv, line 7, column 'b': 1e+308 is too far from what the model was trained on"
            in answer.err
        )
    answer = call("report", "my.model", "--data", "odd.csv", "-o", "page.html")
    assert answer.code == 3 and "column 'b'" in answer.err and not (tmp_path / "page.html").exists()


def test_non_finite_scores_name_the_model_or_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has a valid checksum of changed numbers."""
    monkeypatch.chdir(tmp_path)
    written(numbers(40), tmp_path / "table.csv")
    fine("train", "table.csv", "-m", "sdca", "-q", "-o", "my.model")
    header, head, data = apart((tmp_path / "my.model").read_bytes())
    damaged = bytearray(data)
    begin = next(
        entry["data_offsets"][0] for key, entry in header.items() if key.endswith("scale_")
    )
    damaged[begin : begin + 8] = np.array(1e-308, "<f8").tobytes()
    (tmp_path / "my.model").write_bytes(together(header, head, bytes(damaged)))
    assert call("predict", "my.model", "table.csv").code == 4


def test_an_expansion_that_overflows_names_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = make_pipeline(PolynomialFeatures(5), SDCA(random_state=0)).fit(X, Y)
    pegasos.save(model, "my.model")
    (tmp_path / "rows.csv").write_text("x1,x2,x3\n1,2,3\n1e100,2,3\n")
    answer = call("predict", "my.model", "rows.csv")
    assert answer.code == 3 and "rows.csv, line 3, column 'x1': 1e+100" in answer.err


@pytest.mark.parametrize("size", [1e200, 1e305])
@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "laplacian", Gaussian(1.0)])
def test_values_near_the_largest_float(kernel: Any, size: float) -> None:
    with pytest.raises(ValueError, match="scale X"):
        Pegasos(kernel=kernel, n_iter=10).fit(size * (1 + X**2), Y)


def test_sdca_solves_columns_of_any_size() -> None:
    """A column multiplied by 1e8 has a certified and equally good optimum."""
    random = np.random.default_rng(1)
    rows = random.normal(size=(400, 5))
    labels = rows @ random.normal(size=5) > 0
    plain = SDCA(random_state=0).fit(rows, labels)
    wide = SDCA(random_state=0).fit(rows * [1e8, 1, 1, 1, 1], labels)
    assert (
        wide.gap_ <= 1e-3
        and wide.score(rows * [1e8, 1, 1, 1, 1], labels) >= plain.score(rows, labels) - 0.02
    )


@pytest.mark.parametrize("scale", ["standardize", "normalize"])
def test_sparse_rows_for_a_model_of_dense_rows(
    scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sparse rows are made dense in blocks for a scaler that shifts zeros."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scoring, "_DENSE_NUMBERS", 3 * 4)
    table = numbers(40)
    written(table, tmp_path / "table.csv")
    rows = [
        f"{label} " + " ".join(f"{j}:{v}" for j, v in enumerate(row, 1))
        for *row, label in table.rows()
    ]
    (tmp_path / "table.svm").write_text(
        "\n".join(rows).replace("yes", "1").replace("no", "0") + "\n"
    )
    fine(
        "train",
        "table.csv",
        "-m",
        "sdca",
        "--kernel",
        "gaussian",
        "--scale",
        scale,
        "-q",
        "-o",
        "my.model",
    )
    dense, thin = (
        [
            float(line.split(",")[-1])
            for line in fine("predict", "my.model", name, "--what", "scores").out.split()[1:]
        ]
        for name in ("table.csv", "table.svm")
    )
    np.testing.assert_allclose(thin, dense, rtol=1e-6)
    (tmp_path / "odd.svm").write_text(
        "\n".join([*rows[:9], "yes 1:1 2:1e308", *rows[9:]]).replace("yes", "1").replace("no", "0")
    )
    answer = call("predict", "my.model", "odd.svm")
    assert answer.code == 3 and "odd.svm, line 10, column 'b': 1e+308 is too far" in answer.err


def large_table(path: Path, value: str) -> Path:
    """Write rows beyond the memory limit of the tests, with an odd number in line 501."""
    lines = numbers(900).write_csv().splitlines()
    lines[500] = ",".join(["1", value, *lines[500].split(",")[2:]])
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("value", "options"),
    [("1e39", ("--scale", "none")), ("1e120", ("--scale", "none", "--expand", 3))],
)
def test_rows_that_cannot_be_prepared_are_named(value: str, options: Any, tmp_path: Path) -> None:
    table = large_table(tmp_path / "table.csv", value)
    answer = call(
        "train",
        table,
        "-m",
        "sdca",
        "--memory",
        "15kB",
        "-q",
        "-o",
        tmp_path / "my.model",
        *options,
    )
    assert (
        answer.code == 3
        and f"table.csv, line 501, column 'b': {float(value):g} is too far" in answer.err
    )
