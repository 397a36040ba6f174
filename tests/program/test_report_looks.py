"""What pages show of models and studies besides the grid: boundaries, weights, certificates, thresholds, comparisons."""

from __future__ import annotations

import base64
import itertools
import re
import struct
from dataclasses import replace

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from test_report import data_of, save_study, study_results

from pegasos import SDCA, Pegasos, SweepCV, save
from pegasos.kernels import Gaussian, Polynomial
from pegasos.program.pages import (
    join_experiments,
    record_experiment,
    record_model,
    report,
    save_record,
)
from pegasos.program.pages.boundary_picture import HEIGHT, WIDTH, fields, picture
from pegasos.program.pages.mistakes import worst
from pegasos.program.pages.page import make_page
from pegasos.program.pages.row_samples import as_dataset
from pegasos.program.pages.vega import CLASSES, class_colours
from pegasos.program.records.studies import ExtraRecord, StudyData
from pegasos.search.settings import Opaque, Setting

pl = pytest.importorskip("polars")
pytest.importorskip("vl_convert")


@pytest.fixture(scope="module")
def ring():
    """Two classes in the plane, one around the other, and a model of them."""
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = np.where((X**2).sum(axis=1) > 1.3, "out", "in")
    return X, y, SDCA(lam=0.01, kernel=Gaussian(1.0), tol=1e-4, random_state=0).fit(X, y)


def test_the_boundary_is_that_of_the_scores(ring):
    X, y, model = ring
    edge = record_model(model, as_dataset(X, y, {}), tsne=False).boundary
    best, lead = fields(edge)
    assert best.shape == lead.shape == (HEIGHT, WIDTH)
    across, down = (
        np.linspace(edge.low[0], edge.high[0], WIDTH),
        np.linspace(edge.high[1], edge.low[1], HEIGHT),
    )
    places = np.stack(np.meshgrid(across[::40], down[::40]), axis=-1).reshape(-1, 2)
    scores = model.decision_function(places)
    assert (np.array(["in", "out"])[best[::40, ::40].ravel()] == model.predict(places))[
        np.abs(scores) > 0.02
    ].all()
    np.testing.assert_allclose(lead[::40, ::40].ravel(), np.abs(scores), atol=0.02)
    image = base64.b64decode(picture(edge, CLASSES).partition(",")[2])
    assert image[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", image[16:24]) == (
        WIDTH,
        HEIGHT,
    )


def test_rows_that_hold_the_boundary_are_its_support_vectors(ring):
    X, y, model = ring
    edge = record_model(model, as_dataset(X, y, {}), tsne=False).boundary
    rows = [int(np.abs(X - place).sum(axis=1).argmin()) for place in edge.points]
    ringed = {row for row, holds in zip(rows, edge.holding, strict=True) if holds}
    support = set(model.support_.tolist())
    weak = np.abs(model.dual_coef_).ravel() < 0.01 * np.abs(model.dual_coef_).max()
    assert set(rows) & support - set(model.support_[weak].tolist()) <= ringed
    margins = np.where(y == "out", 1, -1) * model.decision_function(X)
    assert {row for row in ringed if margins[row] < 0.98} <= support and len(ringed) < len(rows)
    # others than hinge losses have no margin
    logistic = SDCA("logistic", lam=0.01).fit(X, y)
    assert record_model(logistic, as_dataset(X, y, {}), tsne=False).boundary.holding == []


def test_pages_of_models_have_thresholds_and_certificates(ring):
    X, y, model = ring
    record = record_model(model, as_dataset(X, y, {}), tsne=False)
    (found,) = record.certificates
    assert (found.of, found.objective, found.bound) == (
        "out",
        model.objective_[0],
        model.dual_objective_[0],
    )
    rare = min("in", "out", key=list(y).count)
    for named, seen in ((None, rare), ("out", "out"), ("in", "in")):
        rates = record_model(model, as_dataset(X, y, {}), tsne=False, positive=named).rates
        found = np.sum((model.predict(X) == seen) & (y == seen))
        assert (rates.positive, rates.positives) == (seen, np.sum(y == seen))
        assert abs(rates.hits[rates.chosen] - found) <= 1
    page = make_page(record)
    assert {"roc", "precision-recall", "boundary"} <= set(page.charts())
    assert "Counted on these rows." in page.html
    assert {"certificates", "boundary"} <= {table.name for table in page.tables()}


def test_model_files_keep_their_curve(ring, tmp_path, monkeypatch):
    """The objective with the bound below it, and the gap; files from before that was kept have the gap after each epoch."""
    X, y, _ = ring
    model = SDCA(lam=0.001, kernel=Gaussian(1.0), tol=1e-3, finish=False, random_state=0).fit(X, y)
    save(model, tmp_path / "my.model")
    page = report(tmp_path / "my.model")
    tables = {table.name: table.rows for table in page.tables()}
    iterations, objectives, bounds = model.objective_curve_.T
    assert [row["x"] for row in tables["curve-1"]] == iterations.tolist()
    np.testing.assert_allclose([row["y"] for row in tables["curve-1"]], objectives, rtol=1e-5)
    np.testing.assert_allclose(
        [row["bound"] for row in tables["curve-1"]], bounds, rtol=1e-5
    )  # dual ascent: it never falls
    np.testing.assert_allclose(
        [row["y"] for row in tables["curve-2"]], (objectives - bounds) / objectives, rtol=1e-3
    )
    assert page.charts()["curve-2"]["encoding"]["y"]["scale"]["type"] == "log"
    with monkeypatch.context() as before:
        before.setattr(SDCA, "declaration", replace(SDCA.declaration, fitted_course=None))
        save(model, tmp_path / "old.model")
    (old,) = (each for each in report(tmp_path / "old.model").tables() if each.name == "curve-1")
    assert [row["x"] for row in old.rows] == list(range(1, model.n_iter_ + 1))
    np.testing.assert_allclose([row["y"] for row in old.rows], model.gap_curve_[:, 0], rtol=1e-3)


def test_bounds_on_the_way_are_bounds(ring):
    """A method's early dual points may promise less than nothing: no loss is negative, and what was proved stays proved."""
    X, y, _ = ring
    model = SDCA(lam=0.001, random_state=0).fit(X, y)
    model.objective_curve_ = np.array(
        [[1, 1.0, -5.0], [2, 0.5, 0.3], [3, 0.4, 0.2], [4, 0.35, 0.34]]
    )
    objective, gap = record_model(model, None).curves
    assert objective.bounds == [0.0, 0.3, 0.3, 0.34]
    np.testing.assert_allclose(gap.values, [1.0, 0.4, 0.25, 0.01 / 0.35], rtol=1e-3)


def test_weights_of_tables_with_words():
    rows = pl.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0] * 5, "city": ["Nice", "Lyon", "Nice", None] * 5}
    )
    parts = [
        ("numbers", StandardScaler(), ["age"]),
        ("words", OneHotEncoder(sparse_output=False), ["city"]),
    ]
    model = Pipeline(
        [("encode", ColumnTransformer(parts, sparse_threshold=0)), ("learner", SDCA(lam=0.1))]
    )
    model.fit(rows, np.array(["a", "b", "a", "b"] * 5))
    weights = record_model(model, None).weights
    assert weights.features == ["age", "city_Lyon", "city_Nice", "city missing"]
    np.testing.assert_allclose(weights.weights, model[-1].coef_, rtol=1e-3)
    assert "city_Nice" in make_page(record_model(model, None)).html


def test_two_classes_have_one_score():
    found = worst(np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([[0.5], [-2.0], [1.0]]))
    assert [(each.row, each.codes, each.scores) for each in found] == [
        (1, [1], [-2.0]),
        (0, [1], [0.5]),
    ]


def linear(colour):
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light):
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.072175],
            [0.0193339, 0.119192, 0.9503041],
        ]
    )
    parts = to_xyz @ np.clip(light, 0, 1) / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(parts > 0.008856, np.cbrt(parts), 7.787 * parts + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


#: What those see who lack one kind of cones: Machado, Oliveira and Fernandes (2009), in linear light.
VISIONS = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}


@pytest.mark.parametrize("vision", VISIONS)
def test_classes_can_be_told_apart_by_everyone(vision):
    seen = [lab(np.array(VISIONS[vision]) @ linear(colour)) for colour in CLASSES]
    assert min(np.linalg.norm(one - two) for one, two in itertools.combinations(seen, 2)) > 12


def test_classes_can_be_seen_in_the_dark():
    def light(colour):
        return linear(colour) @ [0.2126, 0.7152, 0.0722]

    dark = light("#12161c")
    assert min((light(colour) + 0.05) / (dark + 0.05) for colour in CLASSES) > 2.5
    assert len(set(class_colours(40))) == 40


def test_a_study_shows_how_its_models_learned(ring, tmp_path):
    X, y, _ = ring
    search = SweepCV(Pegasos(n_iter=60, random_state=0), {"lam": [0.1, 1.0]}, cv=2).fit(X, y)
    dataset, learned = as_dataset(X, y, {}), np.arange(80)
    parts = [record_experiment(search, dataset, name, learned=learned) for name in ("one", "two")]
    alone = Pegasos(n_iter=60, lam=search.best_params_["lam"], random_state=0).fit(X[:80], y[:80])
    np.testing.assert_allclose(
        parts[0].experiments[0].curves[0].values, alone.loss_curve_[:, 0], rtol=1e-3
    )
    course = parts[0].experiments[0].curves[1]
    certified = alone.certificate(X[:80], y[:80])
    assert course.steps[-1] == 60 and len(course.steps) >= 5
    np.testing.assert_allclose(course.values[-1], certified.primal[0], rtol=1e-3)
    assert (
        certified.dual[0] * 0.999 <= course.bounds[-1] <= min(course.values) * 1.001
    )  # what was proved on the way stays proved
    half = Pegasos(n_iter=course.steps[-2], lam=search.best_params_["lam"], random_state=0).fit(
        X[:80], y[:80]
    )
    np.testing.assert_allclose(
        course.values[-2], half.certificate(X[:80], y[:80]).primal[0], rtol=1e-3
    )
    save_study(tmp_path, study_results())
    save_record(tmp_path, join_experiments(parts))
    assert {"curve-1", "curve-2", "curve-3"} <= set(report(tmp_path).charts())
    spec = report(tmp_path).charts()["curve-1"]
    assert {row["line"] for row in spec["data"]["values"]} == {"one", "two"}
    assert record_experiment(search, dataset, "one").experiments[0].curves == []


def test_a_study_compares_its_models_with_whole_commands(tmp_path):
    results = study_results()
    cells = [replace(cell, learned=240) for cell in results.cells]
    other = [replace(cell, experiment="as in its program", error=cell.error / 2) for cell in cells]
    data = StudyData(results.data.name, 300, True, "f")
    save_study(tmp_path, replace(results, cells=[*cells, *other], data=data))
    page = report(tmp_path)
    (table,) = (each for each in page.tables() if each.name == "compared")
    assert [row["model"] for row in table.rows] == ["as in its program", "as written"]
    assert "compared" in page.charts()
    commands = [cell["command"] for cell in data_of(page)["grid"]["cells"] if cell.get("command")]
    assert commands and all("--test-size 0.2" in each and "--seed 0" in each for each in commands)
    assert all(
        re.search(r"λ\xa0=\xa0\S+ \(C\xa0\S+\)", cell["setting"])
        for cell in data_of(page)["grid"]["cells"]
    )


def test_a_study_begins_with_its_error_beside_guessing_and_what_to_do_next(tmp_path, ring):
    X, y, _ = ring
    search = SweepCV(Pegasos(n_iter=60, random_state=0), {"lam": [0.1, 1.0]}, cv=2).fit(X, y)
    save_study(tmp_path, replace(study_results(), quick=True))
    save_record(tmp_path, record_experiment(search, as_dataset(X, y, {}), "one"))
    page = report(tmp_path)
    first = page.html[: page.html.index('id="section-printed"')]
    most = max("in", "out", key=list(y).count)
    assert (
        f"{100 * np.mean(y != most):.2f}\u00a0%" in first
        and f"error of always guessing &#39;{most}&#39;" in first
    )
    assert "What to do next" in first and "pegasos study mine\npegasos train " in first


def test_a_cell_that_no_command_line_can_say_is_told_in_python(tmp_path):
    results = study_results()
    preparation = Setting.of(
        Pipeline(
            [
                ("single", FunctionTransformer(np.asarray, kw_args={"dtype": np.float32})),
                ("p", SDCA()),
            ]
        )
    )
    cells = [
        replace(each, setting=replace(each.setting, preparation=preparation.preparation))
        for each in results.cells
    ]
    save_study(tmp_path, replace(results, cells=cells, data=StudyData("moons", 300, True, "f")))
    told = data_of(report(tmp_path))["grid"]["cells"]
    assert all(cell["command"] is None for cell in told)
    names: dict[str, object] = {}
    exec(
        told[0]["python"].replace("model.fit(X, y)", "").replace("print(", "found = (lambda: "),
        names,
    )
    assert Setting.of(names["model"]).preparation == cells[0].setting.preparation
    assert len(names["X_test"]) == round(0.2 * (len(names["X"]) + len(names["X_test"])))
    nameless = replace(cells[0].setting, kernel=Opaque("mine"))
    save_study(
        tmp_path, replace(results, cells=[replace(each, setting=nameless) for each in cells])
    )
    assert "python" not in data_of(report(tmp_path))["grid"]["cells"][0]


def test_no_line_of_a_table_ends_within_a_value(tmp_path):
    claims = [replace(each, evidence="best at λ = 1e-8 (C 7)") for each in study_results().claims]
    save_study(tmp_path, replace(study_results(), claims=claims))
    assert "best at λ\u00a0=\u00a01e-8 (C\u00a07)" in report(tmp_path).html


def test_a_study_of_one_experiment_compares_its_kernels(tmp_path):
    results = study_results()
    (cell, *_) = results.cells
    pairs = ((Gaussian(1.0), 0.2), (Polynomial(2), 0.1))
    cells = [
        replace(cell, setting=replace(cell.setting, kernel=kernel), error=error)
        for kernel, error in pairs
    ]
    save_study(tmp_path, replace(results, cells=cells))
    (table,) = (each for each in report(tmp_path).tables() if each.name == "compared")
    assert [row["model"] for row in table.rows] == ["polynomial, degree 2", "gaussian, variance 1"]


def test_words_of_an_extra_end_where_its_table_begins(tmp_path):
    extra = ExtraRecord(
        "statistics",
        "Statistics",
        "8 rows have |z| >= 3.\n\n| feature |\n|---|\n| x1 |",
        {"rows": [{"feature": "x1"}]},
    )
    alone = ExtraRecord(
        "counts",
        "Class counts",
        "| class | rows |\n|---|---|\n| a | 5 |",
        {"rows": [{"class": "a", "rows": 5}]},
    )
    save_study(tmp_path, replace(study_results(), extras=[extra, alone]))
    assert "| class |" not in report(tmp_path).html
    assert "8 rows have |z| &gt;=\u00a03.</p>" in report(tmp_path).html
