"""Test other parts of pages: boundaries, weights, certificates, thresholds."""

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
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from test_report import study_results

from pegasos import SDCA, save
from pegasos.kernels import Gaussian
from pegasos.program.pages import report
from pegasos.program.pages.blocks import Table, Text, Thresholds
from pegasos.program.pages.fit_section import curves_of
from pegasos.program.pages.labeled_rows import LabeledRows, as_dataset
from pegasos.program.pages.panel_section import worst_mistakes
from pegasos.program.pages.plane_section import HEIGHT, WIDTH, fields, find_boundary, picture
from pegasos.program.pages.study_page import figure_blocks, study_page
from pegasos.program.pages.vega import CLASSES, class_colors
from pegasos.studies import Claim, Figure, judge

pl = pytest.importorskip("polars")
vl_convert = pytest.importorskip("vl_convert")


@pytest.fixture(scope="module")
def ring():
    """Return two classes, one around the other, and their model."""
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = np.where((X**2).sum(axis=1) > 1.3, "out", "in")
    return X, y, SDCA(lam=0.01, kernel=Gaussian(1.0), tol=1e-4, random_state=0).fit(X, y)


def boundary_of(model, X, y):
    return find_boundary(model, LabeledRows(as_dataset(X, y, {})))


def test_the_boundary_is_that_of_the_scores(ring):
    X, y, model = ring
    edge = boundary_of(model, X, y)
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
    edge = boundary_of(model, X, y)
    rows = [int(np.abs(X - place).sum(axis=1).argmin()) for place in edge.points]
    ringed = {row for row, holds in zip(rows, edge.holding, strict=True) if holds}
    support = set(model.support_.tolist())
    weak = np.abs(model.dual_coef_).ravel() < 0.01 * np.abs(model.dual_coef_).max()
    assert set(rows) & support - set(model.support_[weak].tolist()) <= ringed
    margins = np.where(y == "out", 1, -1) * model.decision_function(X)
    assert {row for row in ringed if margins[row] < 0.98} <= support and len(ringed) < len(rows)
    # others than hinge losses have no margin
    logistic = SDCA("logistic", lam=0.01).fit(X, y)
    assert boundary_of(logistic, X, y).holding is None


def test_pages_of_models_have_thresholds_and_certificates(ring):
    X, y, model = ring
    page = report(model, X, y, tsne=False)
    (table,) = (each for each in page.tables() if each.name == "certificates")
    (row,) = table.rows
    ends = model.objective_[0], model.dual_objective_[0]
    assert (row["of"], row["objective"], row["bound"]) == ("out", *ends)
    rare = min("in", "out", key=list(y).count)
    for named, seen in ((None, rare), ("out", "out"), ("in", "in")):
        again = report(model, X, y, tsne=False, positive=named)
        (block,) = (b for b in again.section("decisions").blocks if isinstance(b, Thresholds))
        rates = block.data
        found = np.sum((model.predict(X) == seen) & (y == seen))
        assert (rates["positive"], rates["positives"]) == (seen, np.sum(y == seen))
        assert rates["rows"][rates["chosen"]]["hits"] == found
        assert rates["rows"][rates["chosen"]]["threshold"] == 0.0
    assert {"roc", "precision-recall", "boundary"} <= set(page.charts())
    assert "Counted on these rows." in page.html
    assert {"certificates", "boundary"} <= {table.name for table in page.tables()}


def test_model_files_keep_their_curve(ring, tmp_path):
    """Model files keep the objective with its lower bound and the gap."""
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


def test_bounds_on_the_way_are_bounds(ring):
    """Lower bounds are at least 0 and never decrease."""
    X, y, _ = ring
    model = SDCA(lam=0.001, random_state=0).fit(X, y)
    model.objective_curve_ = np.array(
        [[1, 1.0, -5.0], [2, 0.5, 0.3], [3, 0.4, 0.2], [4, 0.35, 0.34]]
    )
    objective, gap = curves_of(model)
    assert [row["bound"] for row in objective.table.rows] == [0.0, 0.3, 0.3, 0.34]
    gaps = [row["y"] for row in gap.table.rows]
    np.testing.assert_allclose(gaps, [1.0, 0.4, 0.25, 0.01 / 0.35], rtol=1e-3)


def test_sample_weights_of_tables_with_text():
    rows = pl.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0] * 5, "city": ["nancy", "Lyon", "nancy", None] * 5}
    )
    parts = [
        ("numbers", StandardScaler(), ["age"]),
        ("words", OneHotEncoder(sparse_output=False), ["city"]),
    ]
    model = Pipeline(
        [("encode", ColumnTransformer(parts, sparse_threshold=0)), ("learner", SDCA(lam=0.1))]
    )
    model.fit(rows, np.array(["a", "b", "a", "b"] * 5))
    rows = report(model).charts()["weights"]["data"]["values"]
    names = ["age", "city_Lyon", "city_nancy", "city missing"]
    assert [row["feature"] for row in rows] == names
    np.testing.assert_allclose([row["weight"] for row in rows], model[-1].coef_[0], rtol=1e-3)


def test_two_classes_have_one_score():
    found = worst_mistakes(
        np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([[0.5], [-2.0], [1.0]])
    )
    assert [(each["row"], each["codes"], each["scores"]) for each in found] == [
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


#: Simulation of dichromacy by Machado, Oliveira and Fernandes (2009), in linear light.
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
def test_class_colors_are_distinct_for_color_blind_readers(vision):
    seen = [lab(np.array(VISIONS[vision]) @ linear(colour)) for colour in CLASSES]
    assert min(np.linalg.norm(one - two) for one, two in itertools.combinations(seen, 2)) > 12


def test_classes_can_be_seen_in_the_dark():
    def light(colour):
        return linear(colour) @ [0.2126, 0.7152, 0.0722]

    dark = light("#12161c")
    assert min((light(colour) + 0.05) / (dark + 0.05) for colour in CLASSES) > 2.5
    assert len(set(class_colors(40))) == 40


def test_no_line_of_a_table_ends_within_a_value():
    claim = Claim("c", "holds", "best at λ = 1e-8 (C 7)")
    page = study_page(replace(study_results(), claims=[claim]))
    assert 'best at λ\u00a0=\u00a0<span class="whole">1e-8</span> (C\u00a07)' in page.html


def test_labels_of_a_study_are_white_on_dark_cells_only():
    errors = [0.02, 0.03, 0.05, 0.09, 0.3]  # equal steps of a logarithmic scale, roughly
    rows = [{"T": T, "λ": 1, "error": error} for T, error in enumerate(errors)]
    figure = Figure("heatmap", "Errors", rows, x="T", y="λ", color="error")
    (chart,) = figure_blocks(figure, "figure-1")
    svg = vl_convert.vegalite_to_svg({**chart.spec, "width": 480})
    inks = {text: ink for ink, text in re.findall(r'fill="(#fff|#111)"[^>]*>([\d.]+)</text>', svg)}
    assert [inks[f"{error:.3f}"] for error in errors] == ["#111"] * 3 + ["#fff"] * 2


def test_captions_of_tables_and_printed_digits():
    figure = Figure("table", "Rows", [{"a": 1}], caption="all rows")
    assert [type(each) for each in figure_blocks(figure, "figure-1")] == [Table, Text]
    one = replace(study_results(), numbers=[judge("id", "0.54525", 0.7)])
    table, words = study_page(one).section("numbers").blocks
    assert words.text.startswith("Exact: all printed digits")
    assert table.cells(table.rows[0])[1] == ("0.54525", True)
