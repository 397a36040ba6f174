"""Test the grid of a report: kernel families, axes of heatmaps, and their cells."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from test_report import fake, grid_of, panel_of

from pegasos import SDCA, TwoStageSearchCV
from pegasos.kernels import Gaussian, Polynomial
from pegasos.metrics import Measure, measure_of
from pegasos.program.pages import report
from pegasos.program.pages.blocks import Chart
from pegasos.program.pages.grid import NO_AXIS, Grid, axes_of, points_of, view
from pegasos.program.pages.grid_section import color_scale, grid_blocks, lines
from pegasos.program.records.runs import CellRecord
from pegasos.program.tables.dataset import Dataset
from pegasos.search.settings import Setting

pytest.importorskip("vl_convert")


def heat_rows(grid):
    """Return the rows of each heatmap by family."""
    blocks = grid_blocks(grid, clickable=False)
    charts = {block.name: block.spec for block in blocks if isinstance(block, Chart)}
    return {name.removeprefix("heat "): spec["data"]["values"] for name, spec in charts.items()}


def test_each_family_of_kernels_has_a_complete_heatmap():
    kernels = [None, Gaussian(1.0), Gaussian(3.0), Polynomial(2), Polynomial(3), Polynomial(4)]
    settings = [Setting("sdca", kernel, lam) for kernel in kernels for lam in (0.1, 0.2)]
    grid = grid_of(settings)
    rows = heat_rows(grid)
    assert {name: len(each) for name, each in rows.items()} == {
        "linear": 2,
        "gaussian": 4,
        "polynomial": 6,
    }
    cells = [row["cell"] for each in rows.values() for row in each]
    assert sorted(cells) == list(range(12))
    assert [row["cell"] for each in rows.values() for row in each if row["mark"]] == [0]


def test_lam_stands_down_and_other_numbers_across():
    grid = grid_of([cell.setting for cell in fake(9).cells])
    across, down = view(axes_of(grid.points))
    assert (across.name, down.name) == ("n_iter", "lam")
    many = [cell.setting for cell in fake(100).cells if cell.setting.lam > 1e-3]
    across, down = view(axes_of(grid_of(many).points))
    assert (across.name, down.name) == ("lam", "n_iter")  # ten steps would be many columns
    assert view(axes_of(grid_of(many[:1]).points)) == (NO_AXIS, NO_AXIS)


def test_a_place_shows_the_best_over_all_other_parameters():
    settings = [
        replace(cell.setting, options=(("sampling", kind),))
        for cell in fake(4).cells
        for kind in ("uniform", "permutation")
    ]
    (rows,) = heat_rows(grid_of(settings, [0.5, 0.2, 0.3, 0.4, 0.3, 0.1, 0.6, 0.5])).values()
    found = {row["cell"]: row["value"] for row in rows}
    assert found == {0: 0.5, 2: 0.3, 5: 0.1, 7: 0.5}  # the choice has precedence


def test_the_color_scale_is_shared_and_spans_two_standard_errors():
    cells = [replace(cell, folds=[0.1] * 4, deviation=0.04) for cell in fake(4).cells]
    close = [replace(cell, value=0.1 + cell.number / 1000) for cell in cells]
    scale = color_scale(Grid(points_of(close), measure_of(None), 0, 0))
    low, high = scale["domain"]
    assert high - low == pytest.approx(2 * 0.04 / math.sqrt(4))
    assert low < 0.1 < 0.103 < high
    wide = color_scale(Grid(points_of(cells), measure_of(None), 0, 0))
    assert wide["domain"] == [cells[0].value, cells[-1].value]
    scores = color_scale(Grid(points_of(cells), Measure("f1", False), 3, 3))
    assert scale["reverse"] and not scores["reverse"]


def test_heatmaps_show_estimates_on_the_rows_of_the_first_stage():
    """Stage-2 estimates are in the table, and their cells are marked."""
    cells = [replace(cell, first=cell.value + 0.3, folds=[0.1] * 2) for cell in fake(4).cells]
    cells[1] = replace(cells[1], stage=2, value=0.01)
    half = replace(cells[1], number=4, stage=3, value=0.005, first=None)
    half = replace(half, setting=replace(half.setting, lam=half.setting.lam * 2))
    grid = Grid(points_of([*cells, half]), measure_of(None), 4, 1)
    (rows,) = heat_rows(grid).values()
    assert [row["value"] for row in rows] == pytest.approx(
        [cells[row["cell"]].first for row in rows]
    )
    assert {row["cell"] for row in rows} == {0, 1, 2, 3}  # half steps are no places of the grid
    marks = {row["cell"]: (row["mark"], row["label"].endswith("*")) for row in rows}
    assert marks == {0: ("", False), 1: ("choice", True), 2: ("", False), 3: ("", False)}
    remark, *_, table = grid_blocks(grid, clickable=True)
    assert "the choice is a variation (0.50\u00a0%)" in remark.text and "stage 1" in remark.text
    assert [row["cell"] for row in table.rows][:2] == [4, 1]
    assert [row["stage"] for row in table.rows][:3] == [2, 2, 1]


def test_variants_with_a_preparation_of_their_own_join_the_family_that_they_vary():
    cells = fake(4).cells
    robust = replace(cells[0].setting, preparation=(("scale", "robust"),))
    variant = replace(cells[0], number=4, stage=3, setting=robust)
    grid = Grid(points_of([*cells, variant]), measure_of(None), 0, 0)
    assert [[point.cell.number for point in family] for family in grid.families()] == [
        [0, 1, 2, 3, 4]
    ]
    (rows,) = heat_rows(grid).values()
    assert {row["cell"] for row in rows} == {0, 1, 2, 3}


def test_the_page_of_a_search_in_two_stages():
    X, y = make_blobs(400, centers=3, cluster_std=4.0, random_state=0)
    grid = {"kernel": [None, Gaussian(1.0), Gaussian(10.0)], "lam": [1e-3, 1e-2, 1e-1]}
    learner = SDCA(tol=0.01, random_state=0)
    search = TwoStageSearchCV(learner, grid, cv=3, first_rows=150, refinements=1).fit(X, y)
    page = report(search, Dataset("blobs", X, [], y), tsne=False)
    charts = page.charts()
    rows = [row for f in ("linear", "gaussian") for row in charts[f"heat {f}"]["data"]["values"]]
    assert sorted(row["cell"] for row in rows) == list(range(9))
    for row in rows:
        first = search.cv_results_["mean_first_score"][row["cell"]]
        assert row["value"] == pytest.approx(1 - first, abs=1e-6)
    assert sum(row["mark"] == "choice" for row in rows) == 1
    marked = {row["cell"] for row in rows if row["label"].endswith("*")}
    assert marked >= set(np.flatnonzero(search.cv_results_["stage"] == 2).tolist())
    second = set(np.flatnonzero(search.cv_results_["stage"] > 1).tolist())
    kept = set(map(int, panel_of(page)["kept"]))
    assert kept <= second and search.best_index_ in kept


def test_a_lam_has_its_c_beside_it():
    cells = [replace(cell, cost=1 / (100 * cell.setting.lam)) for cell in fake(4).cells]
    down = axes_of(points_of(cells))[0]
    assert down.labels == ["0.01 (C 1)", "0.1 (C 0.1)"]


def test_the_cost_is_an_axis_where_kernels_have_lam_of_their_own():
    kernels = {Polynomial(2, 28.0): 1.5e4, Polynomial(3, 28.0): 1.04e6, Polynomial(4, 28.0): 9e7}
    cells, typical = [], []
    for kernel, own in kernels.items():
        for cost in (1.0, 10.0, 100.0):
            lam = float(f"{own / (cost * 500):.1e}")
            setting = Setting("sdca", kernel, lam)
            cells.append(CellRecord(len(cells), setting, 0.1, None, cost=1 / (lam * 500)))
            typical.append(own)
    cost, degree = axes_of(points_of(cells, typical=typical))
    assert (cost.name, cost.values, cost.labels) == ("cost", [1.0, 10.0, 100.0], ["1", "10", "100"])
    assert (degree.title, degree.values) == ("polynomial degree", [2, 3, 4])
    (rows,) = heat_rows(Grid(points_of(cells, typical=typical), measure_of(None), 0, 0)).values()
    assert len(rows) == 9
    assert axes_of(points_of(cells))[0].name == "lam"  # K(x, x) is not known


def test_widths_are_an_axis_of_numbers():
    settings = [Setting("sdca", Gaussian(width), lam) for width in (1.0, 3.0) for lam in (0.1, 0.2)]
    axes = {axis.name: axis.values for axis in axes_of(grid_of(settings).points)}
    assert axes == {"lam": [0.1, 0.2], "gaussian variance": [1.0, 3.0]}


def test_linear_cells_have_no_number_of_support_vectors():
    settings = [Setting("sdca", None, 0.1), Setting("sdca", Gaussian(1.0), 0.1)]
    cells = [
        CellRecord(number, each, 0.1, None, support_vectors=7.0 * number)
        for number, each in enumerate(settings)
    ]
    *_, table = grid_blocks(Grid(points_of(cells), measure_of(None), 0, 0), clickable=False)
    assert [row["support_vectors"] for row in table.rows] == [None, 7.0]


def test_curves_of_scores_do_not_start_at_zero():
    for measure, zero in ((Measure("error"), True), (Measure("roc-auc", False, False), False)):
        grid = replace(grid_of([cell.setting for cell in fake(9).cells]), measure=measure)
        chart = lines(grid, grid.points, *axes_of(grid.points))
        assert chart["layer"][1]["encoding"]["y"]["scale"]["zero"] is zero
