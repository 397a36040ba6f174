"""Test single charts: Altair charts that show the model, the sweep or the rows."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pegasos
from pegasos import SDCA, Pegasos, Perceptron, SweepCV, load_set
from pegasos.kernels import Gaussian

altair = pytest.importorskip("altair")
pytestmark = pytest.mark.xdist_group(
    "charts"
)  # with the tests of reports: what draws takes a while to start
MOONS = load_set("moons", rows=120, return_X_y=True)
BLOBS = load_set("blobs", rows=120, return_X_y=True)
LAMS = [1e-3, 1e-2, 1e-1]


def rows_of(chart) -> list[dict]:
    """Return the rows of the data embedded in a chart."""
    spec = chart.to_dict()
    return spec["datasets"][spec["data"]["name"]] if "datasets" in spec else spec["data"]["values"]


@pytest.fixture(scope="module")
def sweep():
    grid = {"kernel": [Gaussian(0.3), Gaussian(3.0)], "lam": LAMS, "n_iter": [50, 500]}
    return SweepCV(Pegasos(random_state=0), grid, cv=3).fit(*MOONS)


def test_a_boundary_has_margins_and_rings_where_the_hinge_loss_decides():
    X, y = MOONS
    model = SDCA(kernel=Gaussian(0.5), lam=1e-2).fit(X, y)
    chart = pegasos.plot.boundary(model, X, y)
    assert isinstance(chart, altair.LayerChart)
    rows = rows_of(chart)
    assert {row["class"] for row in rows} == {"0", "1"}
    margins = np.abs(model.decision_function([[row["x"], row["y"]] for row in rows]))
    held = np.array([row["holds"] for row in rows])
    assert 0 < held.sum() < len(held)
    assert margins[held].max() < margins[~held].max()
    logistic = pegasos.plot.boundary(SDCA("logistic", kernel=Gaussian(0.5)).fit(X, y), X, y)
    assert not any(row["holds"] for row in rows_of(logistic))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_boundary_of_a_pipeline_on_a_frame_of_three_classes(frame, recwarn):
    X, y = BLOBS
    table = frame({"length": X[:, 0], "width": X[:, 1]})
    names = np.array(["one", "two", "three"])[y]
    model = make_pipeline(StandardScaler(), SDCA(lam=1e-2)).fit(table, names)
    spec = pegasos.plot.boundary(model, table, names).to_dict()
    titles = {layer["encoding"][axis]["title"] for layer in spec["layer"][1:] for axis in "xy"}
    assert titles == {"length", "width"}
    assert {row["class"] for row in rows_of(pegasos.plot.boundary(model, table, names))} == {
        "one",
        "two",
        "three",
    }
    assert not [each for each in recwarn if "feature names" in str(each.message)]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_chosen_by_name_have_a_boundary_and_a_report(frame):
    X, y = MOONS
    table = frame({"length": X[:, 0], "width": X[:, 1]})
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["width", "length"])), SDCA()
    ).fit(table, y)
    drawn = rows_of(pegasos.plot.boundary(model, table, y))
    assert len(drawn) > 100
    page = pegasos.report(model, table, y, tsne=False)
    assert page.charts()["boundary"]["data"]["values"] == drawn


def test_models_without_a_boundary_are_explained():
    X, y = MOONS
    with pytest.raises(ValueError, match="needs two features"):
        pegasos.plot.boundary(SDCA().fit(X[:, :1], y), X[:, :1], y)
    with pytest.raises(NotFittedError, match="this SDCA is not fitted yet"):
        pegasos.plot.boundary(SDCA(), X, y)
    with pytest.raises(
        ValueError,
        match=r"plots show a SweepCV, a learner of pegasos, or a pipeline .* got LogisticRegression",
    ):
        pegasos.plot.boundary(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        pegasos.plot.boundary(SDCA().fit(X, y), X, y[:-1])
    without = SweepCV(SDCA(), {"lam": LAMS}, cv=2, refit=False).fit(X, y)
    with pytest.raises(ValueError, match="refit=False"):
        pegasos.plot.boundary(without, X, y)


def test_a_heatmap_shows_the_errors_around_the_choice(sweep):
    rows = rows_of(pegasos.plot.heatmap(sweep))
    assert len(rows) == 6
    for row in rows:
        assert row["value"] == pytest.approx(
            1 - sweep.cv_results_["mean_test_score"][row["cell"]], abs=1e-6
        )
    (choice,) = [row for row in rows if row["mark"] == "choice"]
    assert choice["cell"] == sweep.best_index_


def test_a_heatmap_by_named_axes(sweep):
    spec = pegasos.plot.heatmap(sweep, x="lam", y="gaussian variance").to_dict()
    encoding = spec["layer"][0]["encoding"]
    assert (encoding["x"]["title"], encoding["y"]["title"]) == ("λ", "gaussian variance")
    for name in ("lam", "pegasos__lam"):
        assert (
            pegasos.plot.heatmap(sweep, x=name).to_dict()["layer"][0]["encoding"]["y"]["title"]
            == "steps (T)"
        )
    with pytest.raises(
        ValueError,
        match="'gamma' is no parameter that varies in this grid; those are 'lam', 'n_iter'",
    ):
        pegasos.plot.heatmap(sweep, x="gamma")
    with pytest.raises(ValueError, match="shows the cells of a SweepCV, not of a SDCA"):
        pegasos.plot.heatmap(SDCA())


def test_a_confusion_counts_rows():
    X, y = BLOBS
    names = np.array(["a", "b", "c"])[y]
    predicted = SDCA(lam=1.0).fit(X[:, :1], names).predict(X[:, :1])
    counts = np.zeros((3, 3), dtype=int)
    for row in rows_of(pegasos.plot.confusion(names, predicted)):
        counts[row["tr"], row["gr"]] = row["count"]
    np.testing.assert_array_equal(counts, confusion_matrix(names, predicted))
    rates = rows_of(pegasos.plot.confusion(names, predicted, rates=True))
    of_a = [float(row["label"]) for row in rates if row["true"] == "a"]
    assert sum(of_a) == pytest.approx(100, abs=1)


def test_curves_of_a_sweep_go_along_a_parameter(sweep):
    rows = rows_of(pegasos.plot.curves(sweep))
    assert sorted({row["at"] for row in rows}) == LAMS
    assert sorted({row["at"] for row in rows_of(pegasos.plot.curves(sweep, along="n_iter"))}) == [
        50,
        500,
    ]
    words = SweepCV(SDCA(), {"kernel": ["linear", "gaussian"]}, cv=2).fit(*MOONS)
    with pytest.raises(ValueError, match="no parameter of this grid has numbers"):
        pegasos.plot.curves(words)


def test_curves_of_a_model_with_checkpoints_are_errors_on_rows():
    X, y = MOONS
    model = make_pipeline(
        StandardScaler(), Pegasos(n_iter=500, checkpoints=[5, 50, 500], random_state=0)
    ).fit(X, y)
    rows = rows_of(pegasos.plot.curves(model, X, y))
    assert [row["x"] for row in rows] == [5, 50, 500]
    assert rows[-1]["y"] == pytest.approx(1 - model.score(X, y))
    with pytest.raises(ValueError, match="the model has no stages"):
        pegasos.plot.curves(Perceptron().fit(X, y), X, y)


def test_curves_of_a_model_alone_are_what_it_recorded():
    X, y = MOONS
    model = Perceptron(epochs=7, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        [row["y"] for row in rows_of(pegasos.plot.curves(model))],
        model.loss_curve_[:, 0],
        rtol=1e-3,
    )
    exact = SDCA("logistic").fit(X, y)
    course, _ = pegasos.plot.curves(exact).hconcat
    rows = rows_of(course)
    np.testing.assert_allclose(
        [rows[-1]["y"], rows[-1]["bound"]], exact.objective_curve_[-1, 1:], rtol=1e-5
    )
    exact.objective_curve_ = exact.objective_curve_[:0]  # as older model files have it
    with pytest.raises(
        ValueError, match=r"recorded no curve .*: fit it with `checkpoints`, and give rows X, y"
    ):
        pegasos.plot.curves(exact)


def test_thresholds_as_curves():
    X, y = MOONS
    sweep = SweepCV(SDCA(), {"lam": LAMS}, cv=3).fit(X, y)
    for found in (
        rows_of(pegasos.plot.roc(sweep)),
        rows_of(pegasos.plot.precision_recall(sweep.best_estimator_, X, y)),
    ):
        recalls = [row["recall"] for row in found]
        assert recalls == sorted(recalls) and recalls[-1] == 1
    with pytest.raises(ValueError, match="for two classes; there are 3"):
        pegasos.plot.roc(SDCA().fit(*BLOBS), *BLOBS)
    with pytest.raises(ValueError, match="give rows X, y"):
        pegasos.plot.roc(SDCA().fit(X, y))


def test_without_altair_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(
        ModuleNotFoundError,
        match=r"pegasos.plot needs the package altair: pip install '.\[plot\]' in a clone",
    ):
        pegasos.plot.confusion([0, 1], [0, 1])


def test_charts_are_drawn(tmp_path, sweep):
    """Vega renders the charts to images of the expected size."""
    for number, chart in enumerate(
        (pegasos.plot.heatmap(sweep), pegasos.plot.boundary(sweep, *MOONS))
    ):
        chart.save(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 3000
